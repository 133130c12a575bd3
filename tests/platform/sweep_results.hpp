// Sweeps for tests, and what their files say.
#ifndef TLMALLOC_TESTS_PLATFORM_SWEEP_RESULTS_HPP
#define TLMALLOC_TESTS_PLATFORM_SWEEP_RESULTS_HPP

#include "platform/command_line.hpp"

#include <sqlite3.h>

namespace sweeps {

using table = std::vector<std::vector<std::string>>;

// What a file answers, cell by cell; null is "-".
inline table ask(const std::string &path, const std::string &sql) {
    sqlite3 *database = nullptr;
    BOOST_REQUIRE_EQUAL(sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE, nullptr), SQLITE_OK);
    sqlite3_stmt *statement = nullptr;
    BOOST_REQUIRE_MESSAGE(sqlite3_prepare_v2(database, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK,
                          sqlite3_errmsg(database));
    table rows;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        rows.emplace_back();
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const auto *text = reinterpret_cast<const char *>(sqlite3_column_text(statement, i));
            rows.back().push_back(text ? text : "-");
        }
    }
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return rows;
}

// All rows in the order of the points, without the host's times.
inline std::string rows_of(const std::string &path) {
    std::string text;
    const table columns = ask(path, "SELECT name FROM pragma_table_info('point')");
    for (const auto &row : ask(path, "SELECT * FROM point ORDER BY point")) {
        for (std::size_t i = 0; i < row.size(); i++)
            if (columns[i][0] != "seconds") text += row[i] + "|";
        text += "\n";
    }
    return text;
}

inline std::string cell(const std::string &path, const std::string &sql) {
    const table answer = ask(path, sql);
    return answer.empty() ? "none" : answer[0][0];
}

// Five buffers of MiniMalloc, for points that take a millisecond.
inline const std::string buffers = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

// A plan for them by 4 methods in `capacities` sizes from 9 bytes on: some are impossible, some are not found.
inline std::string plans(int capacities, const std::string &more = "") {
    std::string sizes;
    for (int i = 0; i < capacities; i++)
        sizes += (i ? ", " : "") + std::to_string(9 + i) + " B";
    return "name: plans\ncommand: plan\ninput: buffers.csv\n" + more +
           "keys:\n  - {key: --method, values: [exact, best, stack, greedy_area]}\n  - {key: --capacity, values: [" +
           sizes + "]}\nfigures: {height: height, bound: lower_bound, optimal: optimal}\n";
}

} // namespace sweeps

#endif
