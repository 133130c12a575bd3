// `tlmalloc reproduce mooncake_allocator`: the rows of Mooncake's published tables.
#include "platform/command_line.hpp"
#include "shared_data.hpp"

#include <algorithm>
#include <sstream>

namespace {

const std::string experiments = TLMALLOC_SOURCE_DIR "/configs/experiments/";
const std::string pool_names = "rounded,size,pool,min,p99,p90,p50,max,avg,evictions";
const std::string segments_names = "paired,skewed,policy,segments,replicas,min,p99,p90,p50,max,avg,deviation,evictions,"
                                   "served";

// Runs the rows of the experiment of which `wanted` is a part of the text.
command_result run_rows(const std::string &wanted) {
    scratch_directory scratch;
    std::istringstream lines(read_text(experiments + "mooncake_allocator.yaml"));
    std::string part;
    for (std::string line; std::getline(lines, line);)
        if (!contains(line, "  - {") || contains(line, wanted)) {
            for (std::size_t at = line.find("mooncake/"); at != std::string::npos;
                 at = line.find("mooncake/", at + experiments.size() + 1))
                line.insert(at, experiments);
            part += line + "\n";
        }
    return run_tlmalloc({"reproduce", scratch.write("e.yaml", part)});
}

command_result run_table(const std::string &table, const std::string &kind, const std::string &more = "") {
    scratch_directory scratch;
    scratch.write("t.csv", table);
    return run_tlmalloc({"reproduce", scratch.write("e.yaml", "name: e\nunit: rows\nworkload: mooncake_rows\nrows:\n  "
                                                              "- {label: a, with: {table: t.csv, rows: " +
                                                                  kind + "}" + more + "}\n")});
}

std::vector<std::vector<std::string>> cells_of(const std::string &file) {
    std::istringstream lines(read_text(file));
    std::vector<std::vector<std::string>> rows;
    for (std::string line, cell; std::getline(lines, line);) {
        rows.emplace_back(1);
        bool quoted = false;
        for (const char c : line)
            if (c == '\r') // of a line's end
                continue;
            else if (c == '"')
                quoted = !quoted;
            else if (c == ',' && !quoted)
                rows.back().emplace_back();
            else
                rows.back().back() += c;
    }
    rows.erase(rows.begin());
    return rows;
}

} // namespace

BOOST_AUTO_TEST_CASE(blocks_of_one_size_have_mooncakes_digits_in_68_rows) {
    for (const char *kind : {"rows: uniform_rounded}", "rows: uniform_bins}"}) {
        const command_result run = run_rows(kind);
        BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
    }
}

BOOST_AUTO_TEST_CASE(segments_without_a_choice_have_mooncakes_digits_in_16_rows) {
    const command_result run = run_rows("rows: one_choice}");
    BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
}

BOOST_AUTO_TEST_CASE(segments_of_key_values_have_mooncakes_digits_in_48_rows) {
    const command_result run = run_rows("rows: key_values}");
    BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
}

BOOST_AUTO_TEST_CASE(pools_with_random_sizes_and_pairs_are_near_mooncakes) {
    for (const char *kind : {"rows: random_sizes}", "rows: pairs}"}) {
        const command_result run = run_rows(kind);
        BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
    }
}

BOOST_AUTO_TEST_CASE(every_row_of_mooncakes_tables_is_met) {
    const command_result run = run_tlmalloc({"reproduce", "mooncake_allocator", "--from", experiments});
    BOOST_CHECK_MESSAGE(run.status == 0 && run.err.empty(), run.out + run.err);
}

BOOST_AUTO_TEST_CASE(a_row_that_deviates_is_reported_with_its_line) {
    const std::string table = pool_names + "\ntrue,33554432,2147483648,1,,,,,1,\ntrue,33554432,2147483648,1,,,,,0.9,\n";
    const command_result run = run_table(table, "uniform_rounded", ", published: 2, bound: 0, source: s");
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_MESSAGE(contains(run.err, "t.csv:3: avg: the model has 1, published is 0.9, and 5e-07 more or less are "
                                          "allowed\n"),
                        run.err);
    BOOST_CHECK(!contains(run.err, "t.csv:2"));
    BOOST_CHECK_MESSAGE(contains(run.out, "MISSED"), run.out);
}

BOOST_AUTO_TEST_CASE(tables_that_cannot_be_are_refused_with_their_line) {
    const auto check = [](const std::string &table, const std::string &kind, const std::string &finding) {
        const command_result run = run_table(table, kind);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, finding), run.err);
    };
    check("size\n1\n", "uniform", "t.csv:1: found \"size\", expected \"rounded,size,");
    check(pool_names + "\ntrue,8\n", "uniform", "t.csv:2: found 2 values, expected 10\n");
    check(pool_names + "\nyes,8,134217728,1,,,,,1,\n", "uniform", "t.csv:2: rounded: found \"yes\", expected false or");
    check(pool_names + "\ntrue,7,134217728,1,,,,,1,\n", "uniform", "size: found \"7\", expected 8 .. 67108864\n");
    check(pool_names + "\ntrue,8,1,1,,,,,1,\n", "uniform", "pool: found \"1\", expected 67108864 .. 1099511627776\n");
    check(pool_names + "\ntrue,8,134217728,x,,,,,1,\n", "uniform", "min: found \"x\", expected a number from 0 on\n");
    check(pool_names + "\ntrue,8,134217728,1,,,,,1,\n", "uniform", "t.csv: found no row of uniform, expected one at");
    check(segments_names + "\ntrue,true,first,1,1,,,,,,,,,\n", "paired", "t.csv:2: policy: found \"first\", expected");
    check(segments_names + "\ntrue,true,random,0,1,,,,,,,,,\n", "paired",
          "segments: found \"0\", expected 1 .. 1024\n");
}

BOOST_AUTO_TEST_CASE(the_tables_are_those_that_mooncake_publishes) {
    if (!shared_data_is_here("data/allocators")) return;
    const std::string data = shared_data + "data/allocators/";
    const auto pools = cells_of(experiments + "mooncake/pool.csv");
    const auto published = cells_of(data + "mooncake_offset_allocator_uniform.csv");
    BOOST_REQUIRE_EQUAL(published.size(), 110u);
    for (std::size_t i = 0; i < published.size(); i++) {
        BOOST_CHECK_EQUAL(pools[i][0], contains(published[i][1], "After") ? "true" : "false");
        BOOST_CHECK_EQUAL(pools[i][1], published[i][2]);
        BOOST_CHECK_EQUAL(pools[i][3], published[i][3]);
        BOOST_CHECK_EQUAL(pools[i][8], published[i][4]);
    }
    const auto segments = cells_of(experiments + "mooncake/segments.csv");
    const auto strategies = cells_of(data + "mooncake_allocation_strategy.csv");
    BOOST_REQUIRE_EQUAL(segments.size(), 96u);
    BOOST_REQUIRE_EQUAL(strategies.size(), 96u);
    for (std::size_t i = 0; i < strategies.size(); i++) {
        BOOST_CHECK_EQUAL(segments[i][0] == "true", contains(strategies[i][0], "Paired"));
        BOOST_CHECK_EQUAL(segments[i][1] == "true", contains(strategies[i][0], "Skewed=yes"));
        BOOST_CHECK_EQUAL(segments[i][2] == "random", contains(strategies[i][0], "Random"));
        BOOST_CHECK_EQUAL(segments[i][3], strategies[i][2]);
        BOOST_CHECK_EQUAL(segments[i][4], strategies[i][1]);
        for (std::size_t column = 0; column < 6; column++)
            BOOST_CHECK_EQUAL(segments[i][5 + column], strategies[i][5 + column]);
        BOOST_CHECK_EQUAL(segments[i][11], strategies[i][16]);
        BOOST_CHECK_EQUAL(segments[i][12], strategies[i][17]);
        BOOST_CHECK_EQUAL(segments[i][13] + "/" + segments[i][13], strategies[i][18]);
    }
}
