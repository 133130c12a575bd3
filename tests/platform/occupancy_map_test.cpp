// `tlmalloc replay --map`: the picture of a replay.
#include "platform/command_line.hpp"

#include <random>

namespace {

std::string map_of(const std::string &trace, const std::string &capacity, const std::string &policy = "first_fit") {
    scratch_directory scratch;
    std::string map = scratch.path("map.svg");
    command_result run = run_tlmalloc({"replay", trace, "--capacity", capacity, "--policy", policy, "--map", map});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return read_text(map);
}

std::size_t count(const std::string &text, const std::string &part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}

// What is drawn in a shade.
std::string cells(const std::string &map, const std::string &shade) {
    std::size_t begin = map.find("<path fill=\"" + shade + "\" d=\"");
    BOOST_REQUIRE(begin != std::string::npos);
    return map.substr(begin, map.find("/>", begin) - begin);
}

const std::string darkest = "#08519c", middle = "#6daed5";

} // namespace

// The grid is 600 x 300 cells: block 1 fills the lower half all the time, block 2 the upper half for half of it.
BOOST_AUTO_TEST_CASE(a_block_covers_its_addresses_for_as_long_as_it_lives) {
    scratch_directory scratch;
    std::string trace =
        scratch.write("t.csv", "time_ns,op,id,bytes\n"
                               "100,alloc,1,4096\n100,alloc,2,4096\n600,free,2,4096\n1100,free,1,4096\n");
    std::string map = map_of(trace, "1 MiB");
    BOOST_CHECK_EQUAL(count(cells(map, darkest), "h600v1h-600z"), 150u);
    BOOST_CHECK_EQUAL(count(cells(map, darkest), "h300v1h-300z"), 150u);
    BOOST_CHECK_EQUAL(count(cells(map, darkest), "M"), 300u);
    BOOST_CHECK_EQUAL(count(cells(map, middle), "M"), 0u);
    BOOST_CHECK_MESSAGE(contains(map, ">1000 ns</text>") && contains(map, ">8 KiB</text>") && contains(map, ">0 KiB<"),
                        map);
    BOOST_CHECK(!contains(map, "failed"));
}

// 1200 blocks side by side, every second one free at once: each cell of 4 blocks is half covered.
BOOST_AUTO_TEST_CASE(a_cell_is_as_dark_as_it_is_full) {
    scratch_directory scratch;
    std::string text = "time_ns,op,id,bytes\n";
    for (int i = 0; i < 1200; i++)
        text += "0,alloc," + std::to_string(i) + ",64\n";
    for (int i = 0; i < 1200; i += 2)
        text += "0,free," + std::to_string(i) + ",64\n";
    text += "1000,free,1,64\n";
    std::string map = map_of(scratch.write("t.csv", text), "1 MiB");
    BOOST_CHECK_EQUAL(count(cells(map, middle), "h600v1h-600z"), 300u);
    BOOST_CHECK_EQUAL(count(cells(map, darkest), "M"), 0u);
}

BOOST_AUTO_TEST_CASE(failed_allocations_are_marked_where_they_happened) {
    scratch_directory scratch;
    std::string trace =
        scratch.write("a&b<c>.csv", "time_ns,op,id,bytes\n0,alloc,1,64\n500,alloc,2,65\n1000,free,1,64\n");
    std::string map = map_of(trace, "64");
    BOOST_CHECK_MESSAGE(contains(map, "d=\"M691 58v-8\"/>"), map); // column 300: 90 + 300 * 2 + 1
    BOOST_CHECK(contains(map, ">failed</text>"));
    BOOST_CHECK(contains(map, ">a&amp;b&lt;c&gt;.csv: first_fit</text>"));
}

BOOST_AUTO_TEST_CASE(the_map_of_any_trace_is_below_two_megabytes_and_the_same_each_time) {
    const std::uint64_t seed = 7;
    BOOST_TEST_INFO("seed " << seed);
    std::mt19937_64 random(seed);
    std::string text = "time_ns,op,id,bytes\n";
    std::vector<std::pair<int, std::uint64_t>> living;
    for (int i = 0; i < 200000; i++) {
        if (living.size() > 2000) {
            std::size_t victim = random() % living.size();
            text += std::to_string(i) + ",free," + std::to_string(living[victim].first) + "," +
                    std::to_string(living[victim].second) + "\n";
            living[victim] = living.back();
            living.pop_back();
        } else {
            living.emplace_back(i, 1 + random() % 5000);
            text +=
                std::to_string(i) + ",alloc," + std::to_string(i) + "," + std::to_string(living.back().second) + "\n";
        }
    }
    scratch_directory scratch;
    std::string trace = scratch.write("noise.csv", text);
    std::string map = map_of(trace, "64 MiB", "worst_fit");
    BOOST_CHECK_LT(map.size(), 2'000'000u);
    BOOST_CHECK_GT(map.size(), 50'000u);
    BOOST_CHECK(map == map_of(trace, "64 MiB", "worst_fit"));
}

BOOST_AUTO_TEST_CASE(a_trace_as_long_as_times_can_be_has_a_map) {
    scratch_directory scratch;
    std::string map =
        map_of(scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,16\n18446744073709551615,free,1,16\n"), "1 MiB");
    BOOST_CHECK(contains(map, "</svg>"));
    BOOST_CHECK_LT(map.size(), 100'000u);
}

BOOST_AUTO_TEST_CASE(a_trace_in_which_nothing_happens_has_an_empty_map) {
    scratch_directory scratch;
    std::string map = map_of(scratch.write("t.csv", "time_ns,op,id,bytes\n"), "1 KiB");
    BOOST_CHECK_EQUAL(count(cells(map, darkest), "M"), 0u);
    BOOST_CHECK(contains(map, "</svg>"));
}
