// Logs of RMM (RAPIDS Memory Manager) as traces.
#include "platform/command_line.hpp"
#include "shared_data.hpp"
#include "trace/trace.h"

#include <jansson.h>
#include <memory>
#include <sstream>
#include <vector>

namespace {

const std::string header = "Thread,Time,Action,Pointer,Size,Stream\n";

// Of a text that is read in this process.
struct reading {
    explicit reading(const std::string &text) { status = trace_parse(text.data(), text.size(), "t", &trace, &error); }
    reading(const reading &) = delete;
    ~reading() { trace_unload(&trace); }

    alloc_trace trace{};
    tla_error error{};
    tla_status status;
};

std::string failure_of(const std::string &text) {
    const reading read(text);
    return read.status ? read.error.text : "";
}

// Offsets of a replay on a pool as RMM's: best fit in units of 256 bytes. -1: it did not fit.
std::vector<long long> places_of(const std::string &log, long long pool_bytes) {
    const scratch_directory scratch;
    const std::string trace = scratch.path("log.csv"), placements = scratch.path("p.csv");
    write_text(trace, log);
    const command_result run = run_tlmalloc({"replay", trace, "--policy", "best_fit", "--align", "256", "--capacity",
                                             std::to_string(pool_bytes) + "B", "--placements", placements});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    std::vector<long long> places;
    std::istringstream lines(read_text(placements));
    std::string line;
    for (std::getline(lines, line); std::getline(lines, line);) {
        const std::string offset = line.substr(line.find(',') + 1);
        places.push_back(offset[0] == '-' ? -1 : std::stoll(offset));
    }
    return places;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_log_of_rmm_is_replayed_as_rmm_does) {
    if (!shared_data_is_here("data/allocators")) return;
    const std::string file = shared_data + "data/allocators/rmm_log.json";
    const std::shared_ptr<json_t> golden(json_load_file(file.c_str(), 0, nullptr), json_decref);
    BOOST_REQUIRE(golden);
    const auto number = [](const json_t *value) {
        return json_is_string(value) ? std::stoll(json_string_value(value)) : json_integer_value(value);
    };
    std::size_t i = 0;
    const json_t *one = nullptr;
    json_array_foreach(json_object_get(golden.get(), "cases"), i, one) {
        const std::string name = json_string_value(json_object_get(one, "name"));
        const long long base = number(json_object_get(one, "pool_base"));
        std::vector<long long> expected;
        std::size_t k = 0;
        const json_t *place = nullptr;
        json_array_foreach(json_object_get(json_object_get(one, "expect"), "places"), k, place) {
            if (!json_is_null(place) && number(place) == 0) continue; // of 0 bytes
            expected.push_back(json_is_null(place) ? -1 : number(place) - base);
        }
        std::vector<long long> found =
            places_of(json_string_value(json_object_get(one, "csv")), number(json_object_get(one, "pool_bytes")));
        BOOST_REQUIRE_MESSAGE(found.size() >= expected.size() && !expected.empty(), name);
        if (expected.back() == -1) found.resize(expected.size()); // there RMM's replay ends
        BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
    }
    BOOST_CHECK_GE(i, 5u);
}

// The last of them, by hand.
BOOST_AUTO_TEST_CASE(a_log_may_have_a_pointer_twice_unknown_frees_failures_and_empty_blocks) {
    const reading read(header + "7,10:00:00.000001,allocate,0x1000,512,0\n"
                                "7,10:00:00.000002,allocate,0x1000,256,0x2a\n"
                                "8,10:00:00.000003,free,0x1000,512,0x1\n"
                                "7,10:00:00.000004,free,0x9000,256,0\n"
                                "7,10:00:00.000005,allocate failure,(nil),99999,0\n"
                                "7,10:00:00.000006,allocate,0x2000,0,0\n"
                                "7,10:00:00.000007,free,0x2000,0,0\n");
    BOOST_REQUIRE_MESSAGE(!read.status, read.error.text);
    BOOST_REQUIRE_EQUAL(read.trace.event_count, 3u);
    BOOST_REQUIRE_EQUAL(read.trace.allocation_count, 2u);
    BOOST_CHECK(read.trace.events[2].is_free && read.trace.events[2].allocation == 0);
    BOOST_CHECK_EQUAL(read.trace.events[2].time_ns, 2000u);
    BOOST_CHECK_EQUAL(read.trace.allocations[0].id, 0x1000u);
    BOOST_CHECK_EQUAL(read.trace.allocations[1].id, 0x1000u); // lost, but known by its pointer
    BOOST_CHECK_EQUAL(read.trace.allocations[1].stream, 0x2au);
    BOOST_CHECK_EQUAL(read.trace.remark,
                      "RMM log: skipped lines: 1 allocate failure, 1 allocate of 0 bytes, 1 free of an unknown "
                      "pointer; 1 allocate of a pointer that was live already (never freed)");
}

BOOST_AUTO_TEST_CASE(lost_allocations_are_reported_by_their_pointers) {
    const scratch_directory scratch;
    const std::string log = scratch.path("log.csv"), out = scratch.path("out.csv");
    write_text(log, header + "7,10:00:00.000001,allocate,0x1000,512,0\n7,10:00:00.000002,allocate,0x1000,256,0\n"
                             "7,10:00:00.000003,allocate,0x1000,4096,0\n7,10:00:00.000004,free,0x1000,512,0\n"
                             "7,10:00:00.000005,allocate,0x1000,64,0\n7,10:00:00.000006,free,0x1000,64,0\n");
    const command_result run = run_tlmalloc({"replay", log, "--capacity", "1 KiB", "--placements", out});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.err, "id 4096: "), run.err);
    BOOST_CHECK_MESSAGE(!contains(run.err, "1844674407"), run.err);
    BOOST_CHECK(contains(read_text(out), "\n4096,0,512,1\n4096,512,256,1\n4096,-,4096,"));
    BOOST_CHECK(contains(read_text(out), "\n4096,0,64,1\n"));
}

BOOST_AUTO_TEST_CASE(columns_are_found_by_name_and_thread_and_time_may_be_missing) {
    const reading read("Size,Stream,Extra,Pointer,Action\r\n"
                       "64,FF,x,0xAb00,allocate\r\n"
                       "64,ff,x,ab00,free\r\n");
    BOOST_REQUIRE_MESSAGE(!read.status, read.error.text);
    BOOST_REQUIRE_EQUAL(read.trace.event_count, 2u);
    BOOST_CHECK_EQUAL(read.trace.allocations[0].stream, 0xffu);
    BOOST_CHECK_EQUAL(read.trace.events[1].time_ns, 0u);
    BOOST_CHECK_EQUAL(read.trace.remark, "");
}

BOOST_AUTO_TEST_CASE(the_clock_of_a_log_passes_midnight_and_does_not_run_backwards) {
    const reading read(header + "1,23:59:59.999999,allocate,0x100,8,0\n"
                                "1,00:00:00:000001,allocate,0x200,8,0\n"
                                "2,23:59:59.999998,allocate,0x300,8,0\n"
                                "1,00:00:01.000000,allocate,0x400,8,0\n");
    BOOST_REQUIRE_MESSAGE(!read.status, read.error.text);
    const std::uint64_t expected[] = {0, 2000, 2000, 1000001000};
    for (std::size_t i = 0; i < 4; i++)
        BOOST_CHECK_EQUAL(read.trace.events[i].time_ns, expected[i]);
}

BOOST_AUTO_TEST_CASE(a_log_that_makes_no_sense_is_rejected_with_its_place) {
    BOOST_CHECK_EQUAL(failure_of("Thread,Time,Action,Pointer,Size\n"),
                      "t:1:1: found 'Thread,Time,Action,Pointer,Size', expected the columns of an RMM log: Stream is "
                      "missing");
    BOOST_CHECK_EQUAL(
        failure_of("Action,Size,Pointer,Size,Stream\nallocate,8,0x100,16,0\n"),
        "t:1:1: found 'Action,Size,Pointer,Size,Stream', expected the columns of an RMM log: Size appears "
        "twice");
    BOOST_CHECK_EQUAL(failure_of("Time,Action,Size,Pointer,Stream,Time\n"),
                      "t:1:1: found 'Time,Action,Size,Pointer,Stream,Time', expected the columns of an RMM log: Time "
                      "appears twice");
    const auto check = [](const std::string &line, const std::string &expected) {
        BOOST_CHECK_EQUAL(failure_of(header + "1,10:00:00.000001,allocate,0x100,8,0\n" + line + "\n"), expected);
    };
    check("1,10:00:00.000001,reallocate,0x100,8,0",
          "t:3:19: found 'reallocate', expected allocate, free or allocate failure");
    check("1,10:00:60.000001,allocate,0x200,8,0",
          "t:3:3: found '10:00:60.000001', expected a time of day such as 15:47:02.841961");
    check("1,10:00:00.000001,allocate,0xg,8,0",
          "t:3:28: found '0xg', expected a pointer such as 0x7f1200000000, or (nil)");
    check("1,10:00:00.000001,allocate,0x11112222333344445,8,0",
          "t:3:28: found '0x11112222333344445', expected a pointer such as 0x7f1200000000, or (nil)");
    check("1,10:00:00.000001,allocate,0x200,-8,0", "t:3:34: found '-8', expected a number of bytes, 0 .. 2^63");
    check("1,10:00:00.000001,free,0x100,8,0x", "t:3:32: found '0x', expected a stream in hexadecimal digits");
    check("1,10:00:00.000001,free,0x100,8",
          "t:3:31: found 5 columns, expected 6: Thread,Time,Action,Pointer,Size,Stream");
}

BOOST_AUTO_TEST_CASE(a_log_of_rmm_is_a_table_of_lifetimes_too) {
    const scratch_directory scratch;
    const std::string log = scratch.path("log.csv");
    write_text(log, header + "1,10:00:00.000001,allocate,0x100,8,0\n1,10:00:00.000002,allocate,0x200,8,0\n"
                             "1,10:00:00.000003,free,0x100,8,0\n1,10:00:00.000004,allocate,0x300,8,0\n");
    const command_result run = run_tlmalloc({"plan", log, "--capacity", "16B"});
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
}

// Other tools write logs again, with every field in quotes or with times of nanoseconds.
BOOST_AUTO_TEST_CASE(fields_in_quotes_and_nanoseconds_are_read) {
    const std::vector<std::string> rows = {
        "1,10:00:00.000001,allocate,0x100,1024,0", "1,10:00:00.000002,allocate,0x500,512,0",
        "1,10:00:00.000003,free,0x100,1024,0", "1,10:00:00.000004,allocate failure,0x0,4096,0"};
    std::string plain = header, quoted = "\"Thread\",\"Time\",\"Action\",\"Pointer\",\"Size\",\"Stream\"\n",
                fine = header;
    for (const std::string &row : rows) {
        plain += row + "\n";
        std::string with_quotes = "\"", with_ns = row;
        for (const char c : row)
            with_quotes += c == ',' ? std::string("\",\"") : std::string(1, c);
        quoted += with_quotes + "\"\n";
        fine += with_ns.insert(17, "789") + "\n";
    }
    const std::vector<long long> places = places_of(plain, 4096);
    BOOST_CHECK_EQUAL(places.size(), 2u);
    BOOST_CHECK(places == places_of(quoted, 4096));
    BOOST_CHECK(places == places_of(fine, 4096));
    BOOST_CHECK_EQUAL(failure_of(header + "1,10:00:00.00000012,allocate,0x100,1024,0\n"),
                      "t:2:3: found '10:00:00.00000012', expected a time of day such as 15:47:02.841961");
}
