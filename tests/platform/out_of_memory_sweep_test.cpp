// A sweep and a study on a host without memory: done whole, or refused with TLA_NO_HOST_MEMORY and a text, at whichever
// allocation memory is out; nothing is lost. (What SQLite allocates for itself does not fail here.)
#include "host_memory/failing.hpp"
#include "scratch_directory.hpp"
#include "sweep/results.h"
#include "sweep/study.h"

namespace {

const sweep_command commands[] = {
    {"run", SWEEP_PLATFORM_ARGUMENT, false, false, false, false, {{"--kernel", true, false, nullptr}}, false}, {}};

const std::string text = "name: n\nabout: a\ncommand: run\nplatform: " TLMALLOC_SOURCE_DIR
                         "/configs/npu_small.yaml\nset: {mmu.walk: flat, --kernel: gemm}\nkeys:\n"
                         "  - {key: mmu.page_size, values: [4 KiB, 64 KiB], zip: a}\n"
                         "  - {key: mmu.walkers.count, values: [1, 2], zip: a}\nconstraints: [mmu.walkers.count <= 2]\n"
                         "figures: {end: sim_time_ps}\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_sweep_is_read_whole_or_not_at_all) {
    std::size_t refused = 0;
    const std::size_t before = host_memory::live();
    for (bool all_later : {true, false})
        for (std::size_t n = 0, failed = 1; failed > 0; n++) {
            sweep s;
            char digits[17] = "";
            host_memory::fail_from(n, all_later);
            tla_status status = sweep_parse("s.yaml", text.data(), text.size(), commands, &s, nullptr, nullptr);
            tla_status hashed = status ? TLA_OK : sweep_hash(&s, 1, digits);
            failed = host_memory::stop();
            BOOST_TEST_CONTEXT("allocation " << n) {
                BOOST_CHECK(status == TLA_OK || (failed > 0 && status == TLA_NO_HOST_MEMORY));
                BOOST_CHECK(hashed == TLA_OK || (failed > 0 && hashed == TLA_NO_HOST_MEMORY));
                if (status == TLA_OK) BOOST_CHECK_EQUAL(s.count, 2u);
                refused += status != TLA_OK;
                if (status == TLA_OK) sweep_clear(&s);
                BOOST_CHECK_EQUAL(host_memory::live(), before);
            }
        }
    BOOST_CHECK_GT(refused, 40u);
}

BOOST_AUTO_TEST_CASE(rows_are_written_and_studied_or_fail_with_a_text) {
    const scratch_directory scratch;
    sweep s;
    BOOST_REQUIRE_EQUAL(sweep_parse("s.yaml", text.data(), text.size(), commands, &s, nullptr, nullptr), TLA_OK);
    const auto write = [&](const std::string &path, tla_error *error) {
        sweep_results r;
        tla_status status = results_open(path.c_str(), &s, true, &r, error);
        for (std::int64_t point = -1; point < 2 && !status; point++) {
            sweep_row_result row{};
            row.point = point;
            row.figures[0] = static_cast<double>(10 + point);
            if (!results_have(&r, point)) status = results_add(&r, &s, &row, error);
        }
        if (!status) status = results_commit(&r, error);
        if (r.database) results_close(&r, false);
        return status;
    };
    const auto study_it = [](const std::string &path, tla_error *error) {
        study studied;
        tla_status status = study_open(path.c_str(), &studied, error);
        if (status) return status;
        status = study_parse_goal(&studied, "end", &studied.goal, error);
        if (!status) status = study_work_out(&studied, error);
        if (!status) status = study_pareto(&studied, &studied.goal, 1, error);
        if (!status) BOOST_CHECK_EQUAL(studied.row_count, 2u);
        study_close(&studied);
        return status;
    };
    std::size_t refused = 0;
    const auto exhaust = [&](const auto &act) {
        const std::size_t before = host_memory::live();
        for (bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                tla_error error{};
                host_memory::fail_from(n, all_later);
                const tla_status status = act(&error);
                failed = host_memory::stop();
                BOOST_TEST_CONTEXT("allocation " << n) {
                    BOOST_CHECK_MESSAGE(status == TLA_OK || (failed > 0 && status == TLA_NO_HOST_MEMORY && *error.text),
                                        status << " " << error.text);
                    BOOST_CHECK_EQUAL(host_memory::live(), before);
                }
                refused += status != TLA_OK;
            }
    };
    const std::string path = scratch.path("r.sqlite");
    exhaust([&](tla_error *error) { return write(path, error); });
    sqlite3 *database = nullptr;
    BOOST_REQUIRE_EQUAL(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    const auto count = [&](const char *rows) {
        int n = 0;
        const auto take = [](void *to, int, char **cells, char **) {
            return *static_cast<int *>(to) = atoi(cells[0]), 0;
        };
        const std::string query = std::string("SELECT count(*) FROM point WHERE ") + rows;
        BOOST_REQUIRE_EQUAL(sqlite3_exec(database, query.c_str(), take, &n, nullptr), SQLITE_OK);
        return n;
    };
    BOOST_CHECK_EQUAL(count("true"), 3);
    BOOST_CHECK_EQUAL(count("\"mmu.page_size\" IS NULL OR \"mmu.walkers.count\" IS NULL"), 0);
    sqlite3_close(database);
    exhaust([&](tla_error *error) { return study_it(path, error); });
    BOOST_CHECK_GT(refused, 20u);
    sweep_clear(&s);
}
