// `tlmalloc plan`: what it writes, its exit statuses, its columns, and what it refuses.
#include "platform/command_line.hpp"
#include "sanitized.hpp"
#include "shared_data.hpp"

#include <algorithm>
#include <jansson.h>
#include <map>
#include <memory>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

std::vector<std::string> split(const std::string &line, char at) {
    std::vector<std::string> fields;
    std::istringstream in(line + at);
    for (std::string field; std::getline(in, field, at);)
        fields.push_back(field);
    return fields;
}

// A table with a header, a line as column -> text.
std::vector<std::map<std::string, std::string>> table_of(const std::string &text) {
    std::istringstream in(text);
    std::string line;
    BOOST_REQUIRE(std::getline(in, line));
    const std::vector<std::string> head = split(line, ',');
    std::vector<std::map<std::string, std::string>> rows;
    while (std::getline(in, line)) {
        const std::vector<std::string> fields = split(line, ',');
        BOOST_REQUIRE_EQUAL(fields.size(), head.size());
        rows.emplace_back();
        for (std::size_t i = 0; i < head.size(); i++)
            rows.back()[head[i]] = fields[i];
    }
    return rows;
}

// The height of a plan in which no two buffers overlap, all pairs compared: id,lower,upper,size,offset.
std::uint64_t checked_height(const std::string &text) {
    struct buffer {
        std::uint64_t lower, upper, bottom, top;
    };
    std::vector<buffer> buffers;
    std::uint64_t height = 0;
    for (const auto &row : table_of(text)) {
        const std::uint64_t offset = std::stoull(row.at("offset")), size = std::stoull(row.at("size"));
        buffers.push_back({std::stoull(row.at("lower")), std::stoull(row.at("upper")), offset, offset + size});
        height = std::max(height, offset + size);
    }
    for (const buffer &a : buffers)
        for (const buffer &b : buffers)
            if (&a != &b && a.lower < b.upper && b.lower < a.upper)
                BOOST_REQUIRE(a.top <= b.bottom || b.top <= a.bottom);
    return height;
}

using report = std::unique_ptr<json_t, void (*)(json_t *)>;

report read_report(const std::string &path) {
    report read(json_load_file(path.c_str(), 0, nullptr), json_decref);
    BOOST_REQUIRE(read);
    return read;
}

std::string text_of(const report &r, const char *key) {
    const char *text = json_string_value(json_object_get(r.get(), key));
    return text ? text : "null";
}

json_int_t number_of(const report &r, const char *key) {
    return json_integer_value(json_object_get(r.get(), key));
}

// MiniMalloc's own example: 12 bytes are enough, and no less.
const std::string example = "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

// Never more than 2 bytes are live, but 3 are needed: b meets a, which stays at 0, and c, which stays at 1.
const std::string above_its_bound = "id,lower,upper,size,offset\na,0,3,1,0\nb,2,6,1,\nc,5,8,1,1\n";

} // namespace

BOOST_AUTO_TEST_CASE(a_plan_is_the_table_with_offsets) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", example), out = scratch.path("out.csv");
    for (const char *method : {"exact", "best", "stack", "fit_first", "size_order", "tflm_greedy", "greedy_area",
                               "greedy_lifetime", "greedy_conflicts", "lowest_first", "xnnpack", "xnnpack_repaired"}) {
        const command_result run = run_tlmalloc({"plan", trace, "--capacity", "24 B", "--method", method, "-o", out});
        BOOST_REQUIRE_MESSAGE(run.status == 0, method << ": " << run.err);
        BOOST_CHECK(contains(read_text(out), "id,lower,upper,size,offset\nb1,0,3,4,"));
        BOOST_CHECK_LE(checked_height(read_text(out)), 24u);
    }
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", trace, "--capacity", "12", "--output", out}).status, 0);
    BOOST_CHECK_EQUAL(checked_height(read_text(out)), 12u);
    BOOST_CHECK(contains(run_tlmalloc({"plan", trace, "--minimize"}).out,
                         "plan             12 bytes, +0.00 % over the bound, by fit_first; no plan is lower"));
}

BOOST_AUTO_TEST_CASE(the_exit_status_says_plan_impossible_or_not_found) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", example), out = scratch.path("out.csv"),
                      json = scratch.path("r.json"), map = scratch.path("m.svg");
    const auto run = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.end(), {"-o", out, "--json", json, "--map", map});
        return run_tlmalloc(arguments);
    };
    // Below the bound: at once, with the buffers that make it.
    command_result result = run({"plan", trace, "--capacity", "11"});
    BOOST_CHECK_EQUAL(result.status, 1);
    BOOST_CHECK_EQUAL(
        result.err,
        "tlmalloc plan: " + trace +
            ": no plan exists in 11 bytes: the lower bound is 12, of 3 buffers that are live at once: b1, b3, b5\n");
    BOOST_CHECK_EQUAL(scratch.file_count(), 2u); // the table and the report
    report r = read_report(json);
    BOOST_CHECK_EQUAL(text_of(r, "status"), "impossible");
    BOOST_CHECK_EQUAL(number_of(r, "lower_bound"), 12);
    BOOST_CHECK_EQUAL(number_of(r, "nodes"), 0);
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(r.get(), "bound_buffers")), 3u);

    // Above it: by search.
    const std::string hard = scratch.write("h.csv", above_its_bound);
    result = run({"plan", hard, "--capacity", "2"});
    BOOST_CHECK_EQUAL(result.status, 1);
    BOOST_CHECK(contains(result.err, ": no plan exists in 2 bytes: the search tried all placements ("));
    r = read_report(json);
    BOOST_CHECK_EQUAL(text_of(r, "status"), "impossible");
    BOOST_CHECK_EQUAL(number_of(r, "lower_bound"), 2);
    BOOST_CHECK_EQUAL(number_of(r, "height"), 3); // of a heuristic, above the capacity
    BOOST_CHECK_EQUAL(scratch.file_count(), 3u);
    result = run({"plan", hard, "--minimize"});
    BOOST_CHECK_EQUAL(result.status, 0);
    r = read_report(json);
    BOOST_CHECK_EQUAL(text_of(r, "status"), "plan");
    BOOST_CHECK_EQUAL(number_of(r, "height"), 3);
    BOOST_CHECK_EQUAL(number_of(r, "proved_bound"), 3); // by search
    BOOST_CHECK(json_is_true(json_object_get(r.get(), "optimal")));
    std::filesystem::remove(out);
    std::filesystem::remove(map);

    // Heuristics give up.
    result = run({"plan", hard, "--capacity", "2", "--method", "best"});
    BOOST_CHECK_EQUAL(result.status, 3);
    BOOST_CHECK_EQUAL(result.err, "tlmalloc plan: " + hard +
                                      ": no plan found in 2 bytes by --method best; the best "
                                      "height is 3; the lower bound is 2\n");
    result = run({"plan", hard, "--capacity", "2", "--time-limit", "0"});
    BOOST_CHECK_EQUAL(result.status, 3);
    BOOST_CHECK(
        contains(result.err, ": no plan found in 2 bytes within 0 s; the best height is 3; the lower bound is 2"));
    r = read_report(json);
    BOOST_CHECK_EQUAL(text_of(r, "status"), "none_found");
    BOOST_CHECK_EQUAL(scratch.file_count(), 3u); // no plan above the capacity, no map
}

BOOST_AUTO_TEST_CASE(an_instance_that_is_open_ends_in_the_time_with_what_was_found) {
    if (!shared_data_is_here("data/minimalloc")) return;
    const std::string trace = shared_data + "data/minimalloc/D.1048576.csv";
    scratch_directory scratch;
    const std::string json = scratch.path("r.json"), out = scratch.path("out.csv");
    command_result run =
        run_tlmalloc({"plan", trace, "--capacity", "986112", "--time-limit", "0.3", "--json", json, "-o", out});
    BOOST_CHECK_EQUAL(run.status, 3);
    BOOST_CHECK(contains(run.err, ": no plan found in 986112 bytes within 0.3 s; the best height is 1107968; the lower "
                                  "bound is 986112\n"));
    BOOST_CHECK(!std::filesystem::exists(out));
    run = run_tlmalloc({"plan", trace, "--minimize", "--time-limit", "500 ms", "--json", json, "-o", out});
    BOOST_CHECK_EQUAL(run.status, 0);
    const report r = read_report(json);
    BOOST_CHECK(json_is_false(json_object_get(r.get(), "optimal")));
    BOOST_CHECK_EQUAL(checked_height(read_text(out)), static_cast<std::uint64_t>(number_of(r, "height")));
    BOOST_CHECK_LE(number_of(r, "height"), 1107968);
}

BOOST_AUTO_TEST_CASE(the_instances_have_one_plan_each_whatever_the_time_limit) {
    if (!shared_data_is_here("data/minimalloc")) return;
    scratch_directory scratch;
    std::vector<const char *> names{"C", "G", "H", "J", "K"};
    if (!is_sanitized()) names.insert(names.end(), {"A", "B", "D", "E", "F", "I"}); // it takes thirty times as long
    for (const char *name : names) {
        const std::string trace = shared_data + "data/minimalloc/" + name + ".1048576.csv";
        const std::string first = scratch.path("first.csv"), second = scratch.path("second.csv");
        BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", trace, "--capacity", "1 MiB", "-o", first}).status, 0);
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc({"plan", trace, "--capacity", "1 MiB", "--time-limit", "200", "-o", second}).status, 0);
        BOOST_CHECK(read_text(first) == read_text(second));
        BOOST_CHECK_LE(checked_height(read_text(first)), 1048576u);
    }
}

BOOST_AUTO_TEST_CASE(columns_may_come_in_any_order_and_are_kept) {
    scratch_directory scratch;
    const std::string out = scratch.path("out.csv");
    // end is inclusive: x and y meet at time 4; y is aligned, z stays where it is, w lives in the gap of z.
    const std::string trace = scratch.write("t.csv", "size,id,start,end,alignment,hint,gaps,offset\r\n"
                                                     "5,x,0,4,,-1,,\r\n"
                                                     "4,y,4,6,8,3,,\r\n"
                                                     "4,z,0,9,1,,2-3 5-8,20\r\n"
                                                     "4,w,5,7,4,,,\r\n");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", trace, "--minimize", "-o", out}).status, 0);
    const std::string text = read_text(out);
    const auto rows = table_of(text);
    BOOST_CHECK_EQUAL(text.substr(0, text.find('\n')), "size,id,start,end,alignment,hint,gaps,offset");
    BOOST_REQUIRE_EQUAL(rows.size(), 4u);
    BOOST_CHECK_EQUAL(rows[2].at("gaps"), "2-3 5-8");
    BOOST_CHECK_EQUAL(rows[2].at("offset"), "20");
    BOOST_CHECK_EQUAL(rows[1].at("hint"), "3");
    BOOST_CHECK_EQUAL(std::stoi(rows[1].at("offset")) % 8, 0);
    const int x = std::stoi(rows[0].at("offset")), y = std::stoi(rows[1].at("offset"));
    BOOST_CHECK(x + 5 <= y || y + 4 <= x);
    // With all offsets given there is nothing left to plan, and the table is as it was.
    const std::string again = scratch.path("again.csv");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", out, "--capacity", "24", "-o", again}).status, 0);
    BOOST_CHECK_EQUAL(read_text(again), text);
    // end inclusive: without the gap, z and w do not fit below 24 - 4 + 4 bytes side by side at 20.
    const std::string clash = scratch.write("c.csv", "id,begin,end,size,offset\na,0,4,4,0\nb,4,6,4,2\n");
    const command_result run = run_tlmalloc({"plan", clash, "--capacity", "100"});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK(contains(run.err, ": no plan exists: buffers a and b are live at once and overlap at their offsets\n"));
}

BOOST_AUTO_TEST_CASE(a_replay_frees_a_buffer_for_its_gaps) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "id,lower,upper,size,gaps\nb1,0,9,4,3-6\nb2,3,5,4,\n");
    const std::string placements = scratch.path("p.csv");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"replay", trace, "--capacity", "4", "--placements", placements}).status, 0);
    BOOST_CHECK_EQUAL(read_text(placements), "id,offset,bytes,nodes_visited\nb1,0,4,1\nb2,0,4,1\nb1,0,4,1\n");
}

BOOST_AUTO_TEST_CASE(recordings_are_planned_with_lifetimes_as_they_happened) {
    scratch_directory scratch;
    const std::string json = scratch.path("r.json"), out = scratch.path("out.csv"),
                      trace = source + "tests/data/lm_train.csv.gz";
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", trace, "--method", "best", "--json", json, "-o", out}).status, 0);
    const report r = read_report(json);
    BOOST_CHECK_EQUAL(checked_height(read_text(out)), static_cast<std::uint64_t>(number_of(r, "height")));
    // Beside it what the dynamic policies need, as replay says.
    const std::string replayed = scratch.path("replay.json");
    for (std::size_t i = 0; i < 2; i++) {
        json_t *row = json_array_get(json_object_get(r.get(), "dynamic"), i);
        const char *policy = json_string_value(json_object_get(row, "policy"));
        BOOST_REQUIRE_EQUAL(
            run_tlmalloc({"replay", trace, "--capacity", "1 TiB", "--policy", policy, "--json", replayed}).status, 0);
        BOOST_CHECK_EQUAL(json_integer_value(json_object_get(row, "height")),
                          number_of(read_report(replayed), "reserved_bytes"));
    }
    const std::string snapshot = source + "tests/data/torch_snapshot_protocol4.pickle";
    BOOST_CHECK_EQUAL(run_tlmalloc({"plan", snapshot, "--minimize", "--time-limit", "1", "-o", out}).status, 0);
    checked_height(read_text(out));
}

BOOST_AUTO_TEST_CASE(bad_tables_are_rejected_with_their_place) {
    const std::string head = "id,lower,upper,size,alignment,gaps,offset\n";
    const std::map<std::string, std::string> bad{
        {head + "a,5,3,1,,,\n", "t.csv:2:5: found '3', expected a time later than lower"},
        {head + "a,5,5,1,,,\n", "t.csv:2:5: found '5', expected a time later than lower"},
        {head + "a,-5,3,1,,,\n", "t.csv:2:3: found '-5', expected a time, 0 .. 2^64 - 1"},
        {head + "a,0,3,0,,,\n", "t.csv:2:7: found '0', expected a number of bytes, 1 .. 2^63"},
        {head + "a,0,3,9223372036854775809,,,\n", "expected a number of bytes, 1 .. 2^63"},
        {head + "a,0,3,1,,,\nb,0,3,1,,,\na,5,6,1,,,\n", "t.csv:4:1: found 'a', expected another id than in line 2"},
        {head + "\"a,0,3,1,,,\n", "t.csv:2:1: found '\"a', expected an id in quotes or without any"},
        {head + "\"a\"\"b\",0,3,1,,,\n", "t.csv:2:2: found 'a\"\"b', expected an id in quotes or without any"},
        {head + "\"a,b\",0,3,1,,,\n",
         "t.csv:2:15: found '', expected the end of the line; quoted text cannot contain commas"},
        {head + "a,0,3,1,3,,\n", "t.csv:2:9: found '3', expected an alignment, a power of two"},
        {head + "a,0,3,1,0,,\n", "t.csv:2:9: found '0', expected an alignment, a power of two"},
        {head + "a,0,3,1,4,,6\n", "t.csv:2:12: found '6', expected a multiple of the alignment"},
        {head + "a,0,3,1,,,9223372036854775808\n", "expected an offset at which the buffer ends by 2^63"},
        {head + "a,0,9,1,,3-5 4-7,\n",
         "t.csv:2:14: found '4-7', expected gaps in the order of time, inside the lifetime"},
        {head + "a,0,9,1,,3-12,\n", "t.csv:2:10: found '3-12', expected gaps in the order of time"},
        {head + "a,0,9,1,,5-3,\n", "t.csv:2:10: found '5-3', expected a gap LOWER-UPPER, such as 3-5"},
        {head + "a,0,9,1,,0-9,\n", "expected gaps shorter than the buffer's lifetime"},
        {head + "a,0,9,1,,3-5@0:64,\n", "because windows (@) are unsupported"},
        {"id,lower,upper,size,colour\n", "t.csv:1:21: found 'colour', expected a column: id, lower"},
        {"id,lower,size\n", "expected a header line with id, lower, upper and size"},
        {"id,lower,upper,size,end\n", "t.csv:1:21: found 'end', expected each column once"},
        {"id,lower,begin,upper,size\n", "t.csv:1:10: found 'begin', expected each column once"},
        {"id,lower,upper,size,hint\na,0,1,1,soon\n", "t.csv:2:9: found 'soon', expected a number as hint"},
        {"id,lower,end,size\na,4,3,1\n", "t.csv:2:5: found '3', expected a time not before the start"},
        {"id,lower,end,size\na,4,18446744073709551615,1\n", "expected a time not before the start"},
    };
    for (const auto &[text, message] : bad) {
        scratch_directory scratch;
        const std::string trace = scratch.write("t.csv", text);
        const command_result run = run_tlmalloc({"plan", trace, "--capacity", "10", "-o", scratch.path("out.csv")});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, message), "found " << run.err << ", expected " << message);
        BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
    }
}

BOOST_AUTO_TEST_CASE(bad_usage_of_plan_is_rejected) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", example), hard = scratch.write("h.csv", above_its_bound);
    const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
        {{}, "expected a FILE"},
        {{trace}, "expected --capacity SIZE, --minimize, or a heuristic as --method"},
        {{trace, "--capacity", "0"}, "--capacity: found '0', expected 1 byte to 2^63 bytes"},
        {{trace, "--capacity", "9223372036854775809"}, "expected 1 byte to 2^63 bytes"},
        {{trace, "--minimize", "--time-limit", "-1"}, "--time-limit: found '-1', expected seconds, or a time"},
        {{trace, "--minimize", "--time-limit", "nan"}, "--time-limit: found 'nan', expected seconds"},
        {{trace, "--minimize", "--method", "best"}, "--minimize needs --method exact"},
        {{trace, "--time-limit", "3", "--method", "best"}, "--time-limit needs --method exact"},
        {{trace, "--method", "bets"},
         "--method: found 'bets', expected one of: stack, fit_first, size_order, tflm_greedy, greedy_area, "
         "greedy_lifetime, greedy_conflicts, lowest_first, xnnpack, xnnpack_repaired, best, exact, did you mean"},
        {{trace, trace}, "found a second argument"},
        {{trace, "--minimize", "-o", trace}, "is the input"},
        {{trace, "--minimize", "--device", "0"}, "--device needs a recording of PyTorch"},
        {{hard, "--method", "lowest_first"}, "--method lowest_first does not support given offsets: use best or exact"},
    };
    for (const auto &[arguments, message] : bad) {
        std::vector<std::string> words{"plan"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, message), "found " << run.err << ", expected " << message);
    }
    BOOST_CHECK_EQUAL(run_tlmalloc({"plan", scratch.path("none"), "--minimize"}).status, 1);
}

BOOST_AUTO_TEST_CASE(a_disk_that_is_full_leaves_no_plan) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", example), json = scratch.path("r.json");
    const command_result run = run_tlmalloc({"plan", trace, "--minimize", "-o", "/dev/full", "--json", json});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK(contains(run.err, "/dev/full: cannot write: No space left on device"));
    BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
}

BOOST_AUTO_TEST_CASE(half_of_the_addresses_is_a_size_like_any) {
    scratch_directory scratch;
    const std::string out = scratch.path("out.csv"), json = scratch.path("r.json");
    const std::string trace =
        scratch.write("t.csv", "id,lower,upper,size\na,0,2,9223372036854775808\nb,2,18446744073709551615,1\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"plan", trace, "--minimize", "-o", out, "--json", json}).status, 0);
    BOOST_CHECK(contains(read_text(out), "a,0,2,9223372036854775808,0\nb,2,18446744073709551615,1,0\n"));
    const std::string more = scratch.write("m.csv", "id,lower,upper,size\na,0,2,9223372036854775808\nb,1,3,1\n");
    const command_result run = run_tlmalloc({"plan", more, "--minimize", "-o", out, "--json", json});
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK(contains(run.err, ": no plan exists: more than 2^63 bytes are live at once\n"));
}

BOOST_AUTO_TEST_CASE(an_empty_table_has_an_empty_plan) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "id,lower,upper,size\n"), out = scratch.path("out.csv"),
                      map = scratch.path("m.svg");
    BOOST_CHECK_EQUAL(run_tlmalloc({"plan", trace, "--minimize", "-o", out, "--map", map}).status, 0);
    BOOST_CHECK_EQUAL(read_text(out), "id,lower,upper,size,offset\n");
    BOOST_CHECK(contains(read_text(map), "</svg>"));
}

// The map is that of a replay whose allocations lie where the plan says: two buffers side by side fill it.
BOOST_AUTO_TEST_CASE(a_plan_can_be_drawn) {
    scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "id,lower,upper,size,offset\na,0,8,4,0\nb,0,8,4,4\n");
    const std::string map = scratch.path("m.svg"), played = scratch.path("r.svg");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"plan", trace, "--capacity", "8", "--map", map}).status, 0);
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"replay", trace, "--capacity", "8", "--map", played}).status, 0);
    std::string expected = read_text(played), found = read_text(map);
    BOOST_REQUIRE(contains(found, ">t.csv: plan by stack<"));
    found.replace(found.find(": plan by stack<"), 16, ": first_fit<");
    BOOST_CHECK_EQUAL(found, expected);
}

BOOST_AUTO_TEST_CASE(many_buffers_are_planned_in_bounded_memory) {
    scratch_directory scratch;
    std::ostringstream text;
    text << "id,lower,upper,size\n";
    std::uint64_t state = 7;
    for (int i = 0; i < 200000; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t lower = (state >> 33) % 200000, length = 1 + (state >> 20) % 2000;
        text << i << ',' << lower << ',' << lower + length << ',' << 64 * (1 + (state >> 45) % 1024) << '\n';
    }
    const std::string trace = scratch.write("t.csv", text.str()), json = scratch.path("r.json");
    const command_result run = run_tlmalloc({"plan", trace, "--method", "best", "--json", json});
    BOOST_REQUIRE_EQUAL(run.status, 0);
    const report r = read_report(json);
    BOOST_CHECK_EQUAL(text_of(r, "method"), "lowest_first");
    BOOST_CHECK_LT(number_of(r, "height"), number_of(r, "lower_bound") / 100 * 110);
    if (!is_sanitized()) BOOST_CHECK_LT(run.max_rss_kib, 200000);
}
