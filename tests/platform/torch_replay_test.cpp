// A recording of PyTorch replayed on any policy: what is older than the trace is in place, and facts of the recording
// are used or named.
#include "platform/command_line.hpp"
#include "tests/torch/recording.hpp"

#include <cstdlib>

using namespace naive_torch;

namespace {

u64 number_of(const std::string &json, const std::string &key) {
    std::size_t at = json.find("\"" + key + "\": ");
    BOOST_REQUIRE_MESSAGE(at != std::string::npos, "no " << key << " in " << json);
    return std::strtoull(json.c_str() + at + key.size() + 4, nullptr, 10);
}

struct replayed {
    std::string report, text;
};

replayed replay(const std::string &recording, std::vector<std::string> more) {
    scratch_directory scratch;
    std::vector<std::string> arguments{"replay", scratch.write("recording", recording), "--json",
                                       scratch.path("report.json")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return {read_text(scratch.path("report.json")), run.out};
}

std::string failure(const std::string &recording, std::vector<std::string> more) {
    scratch_directory scratch;
    std::vector<std::string> arguments{"replay", scratch.write("recording", recording), "--capacity", "1 TiB"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    command_result run = run_tlmalloc(arguments);
    BOOST_CHECK_EQUAL(run.status, 2);
    return run.err;
}

// The most that was asked for at once, from `first` on, blocks counted until their free is completed.
u64 peak_of(const allocator &a, std::size_t first) {
    u64 live = 0, peak = 0;
    for (std::size_t i = 0; i < a.trace.size(); i++) {
        if (a.trace[i].action == "alloc") live += a.trace[i].size;
        if (a.trace[i].action == "free_completed") live -= a.trace[i].size;
        if (i + 1 >= first) peak = std::max(peak, live);
    }
    return peak;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_block_older_than_the_trace_that_outlives_it_counts) {
    allocator a;
    a.malloc(GiB);
    u64 temporary = *a.malloc(1024);
    a.free(temporary);
    a.malloc(512);
    value snapshot = snapshot_of({&a}, 3); // begins behind both
    for (const std::string &recording : {to_pickle(snapshot), to_json(snapshot)}) {
        replayed r = replay(recording, {"--capacity", "2 GiB"});
        BOOST_CHECK_EQUAL(number_of(r.report, "peak_requested_bytes"), GiB + 1024);
        BOOST_CHECK_MESSAGE(contains(r.text, "2 blocks older than the trace"), r.text);
    }
}

BOOST_AUTO_TEST_CASE(wherever_a_trace_begins_the_peak_is_that_of_the_program) {
    workload w;
    w.streams = 3;
    for (u64 seed = 1; seed <= 8; seed++)
        for (bool expandable : {false, true}) {
            BOOST_TEST_INFO("seed " << seed << ", expandable " << expandable);
            settings s;
            s.expandable = expandable;
            allocator a(s);
            run(a, w, seed);
            for (std::size_t keep : {a.trace.size(), a.trace.size() / 2, std::size_t{100}, std::size_t{3}}) {
                replayed r = replay(to_json(snapshot_of({&a}, keep)), {"--capacity", "1 TiB"});
                BOOST_CHECK_EQUAL(number_of(r.report, "peak_requested_bytes"), peak_of(a, a.trace.size() - keep));
                BOOST_CHECK_MESSAGE(!contains(r.text, "contradictions"), r.text);
            }
        }
}

BOOST_AUTO_TEST_CASE(a_device_can_be_chosen) {
    allocator first, second;
    first.malloc(512);
    first.malloc(1024);
    second.malloc(4096);
    second.malloc(4096);
    std::string recording = to_pickle(snapshot_of({&first, &second}));
    BOOST_CHECK_EQUAL(number_of(replay(recording, {"--capacity", "1 MiB"}).report, "peak_requested_bytes"), 1536u);
    BOOST_CHECK_EQUAL(
        number_of(replay(recording, {"--capacity", "1 MiB", "--device", "1"}).report, "peak_requested_bytes"), 8192u);
    BOOST_CHECK(contains(failure(recording, {"--device", "2"}), "device 2 has no trace, expected one of: 0, 1"));
    BOOST_CHECK(contains(failure(recording, {"--device", "-1"}), "--device: found '-1', expected"));
    BOOST_CHECK(contains(failure("time_ns,op,id,bytes\n", {"--device", "0"}), "--device needs a recording of PyTorch"));
}

BOOST_AUTO_TEST_CASE(streams_and_settings_of_the_recording_are_used_by_its_cache_and_named_for_others) {
    settings s;
    s.expandable = true;
    allocator a(s);
    u64 twelve = *a.malloc(12 * MiB, 1);
    a.free(twelve);
    a.malloc(12 * MiB, 2);
    value snapshot = snapshot_of({&a});
    // Two ranges of 20 MiB, as stream 2 cannot use what stream 1 freed; plain segments would have 12 MiB each.
    replayed own = replay(to_json(snapshot), {"--capacity", "1 GiB", "--policy", "segment_cache"});
    BOOST_CHECK_EQUAL(number_of(own.report, "reserved_bytes"), 40 * MiB);
    replayed plain = replay(to_json(snapshot), {"--capacity", "1 GiB", "--policy", "segment_cache", "--settings",
                                                "expandable_segments:False"});
    BOOST_CHECK_EQUAL(number_of(plain.report, "reserved_bytes"), 24 * MiB);
    replayed other = replay(to_json(snapshot), {"--capacity", "1 GiB"});
    BOOST_CHECK_MESSAGE(contains(other.text, "settings expandable_segments:True"), other.text);
    BOOST_CHECK_MESSAGE(contains(other.text, "only segment_cache uses settings and streams"), other.text);
}

// The cycle of #123548, 20 times; without the proposal every one reserves 138 MiB and more.
BOOST_AUTO_TEST_CASE(the_rules_of_a_version_are_used_by_the_cache_alone) {
    settings s;
    s.expandable = true;
    s.max_split = 128 * MiB;
    allocator a(s);
    a.malloc(64 * MiB);
    for (int i = 0; i <= 20; i++) {
        u64 x = *a.malloc(91 * MiB), y = *a.malloc(91 * MiB / 2);
        a.malloc(2 * MiB);
        a.free(x);
        a.free(y);
    }
    std::string recording = to_json(snapshot_of({&a}));
    const std::vector<std::string> cache{"--capacity", "80 GiB", "--policy", "segment_cache"};
    auto reserved = [&](const std::string &version) {
        std::vector<std::string> arguments = cache;
        arguments.insert(arguments.end(), {"--pytorch", version});
        return number_of(replay(recording, arguments).report, "reserved_bytes");
    };
    BOOST_CHECK_EQUAL(reserved("newest"), 2980 * MiB);
    BOOST_CHECK_EQUAL(reserved("2.4"), 2980 * MiB);
    BOOST_CHECK_EQUAL(reserved("193400"), 260 * MiB);
    BOOST_CHECK(contains(failure(recording, {"--pytorch", "2.4"}), "--pytorch needs --policy segment_cache"));
    // A device on which the older ones give up instead of giving oversize blocks back.
    scratch_directory scratch;
    const command_result old = run_tlmalloc({"replay", scratch.write("r.json", recording), "--capacity", "1 GiB",
                                             "--policy", "segment_cache", "--pytorch", "2.4"});
    BOOST_CHECK_EQUAL(old.status, 0);
    BOOST_CHECK_MESSAGE(contains(old.err, "PyTorch 2.1 to 2.4 abort when"), old.err);
}

BOOST_AUTO_TEST_CASE(an_unknown_action_is_left_out_and_reported) {
    allocator a;
    a.malloc(512);
    a.malloc(512);
    a.trace.push_back({"user_defined", 0, 0, 0, 9});
    a.trace.push_back({"user_defined", 0, 0, 0, 9});
    replayed r = replay(to_pickle(snapshot_of({&a})), {"--capacity", "1 MiB"});
    BOOST_CHECK_MESSAGE(contains(r.text, "2 entries of unknown actions left out (user_defined)"), r.text);
}

BOOST_AUTO_TEST_CASE(missing_events_are_reported) {
    allocator a;
    u64 block = *a.malloc(512);
    a.malloc(512);
    a.free(block);
    a.trace.erase(a.trace.begin() + 3); // free_requested
    replayed r = replay(to_json(snapshot_of({&a})), {"--capacity", "1 MiB"});
    BOOST_CHECK_MESSAGE(contains(r.text, "events are missing"), r.text);
}

BOOST_AUTO_TEST_CASE(damaged_json_is_rejected_with_line_and_column) {
    BOOST_CHECK(contains(failure("{\"segments\": [\n  {\"device\": 0,, }]}", {}), "recording:2:"));
    BOOST_CHECK(contains(failure("{\"device_traces\": [[{\"action\": \"alloc\"", {}), "truncated"));
    BOOST_CHECK(contains(failure("{\"device_traces\": [[{\"action\": \"alloc\"}]]}", {}),
                         "recording:1:21: found a dictionary without 'addr'"));
    BOOST_CHECK(contains(failure("{\"device_traces\": 7}", {}), "recording:1:19: found '7', expected '['"));
    BOOST_CHECK(contains(failure("{\"a\": 1}", {}), "found an object without 'device_traces'"));
    BOOST_CHECK(contains(failure("{} x", {}), "expected the end of the file"));
}

BOOST_AUTO_TEST_CASE(settings_that_pytorch_rejects_are_rejected_with_their_column) {
    const std::map<std::string, std::string> bad{
        {"max_split_size_mb:19", "column 19: found '19', expected a whole number of at least 20"},
        {"max_split_size_mb=30", "column 1: found 'max_split_size_mb=30', expected a setting"},
        {"expandable_segments:true", "column 21: found 'true', expected True or False"},
        {"expandable_segments", "found the end, expected ':'"},
        {"garbage_collection_threshold:1.0", "expected a number above 0 and below 1"},
        {"roundup_power2_divisions:3", "found '3', expected a power of two"},
        {"roundup_power2_divisions:[3:2]", "found '3', expected a power of two (MiB), or '>'"},
        {"roundup_power2_divisions:[256:1,512:2", "found the end, expected ','"},
        {"large_segment_size_mb:10", "expected a whole number of at least 11"},
        {"backend:cudaMallocAsync", "expected native"},
        {"split:1", "found 'split', expected a setting of PyTorch's allocator"},
    };
    allocator a;
    a.malloc(512);
    a.malloc(512);
    std::string recording = to_json(snapshot_of({&a}));
    for (const auto &[text, message] : bad) {
        std::string found = failure(recording, {"--policy", "segment_cache", "--settings", text});
        BOOST_CHECK_MESSAGE(contains(found, message), "found " << found << ", expected " << message);
    }
}

BOOST_AUTO_TEST_CASE(invalid_recorded_settings_are_rejected_with_their_place) {
    allocator a;
    a.malloc(512);
    a.malloc(512);
    auto with = [&](const std::string &key, const value &setting) {
        value snapshot = snapshot_of({&a});
        snapshot["allocator_settings"]["expandable_segments"] = true;
        snapshot["allocator_settings"][key] = setting;
        return to_json(snapshot);
    };
    for (const value &good : {value(-1), value(0), value(20 * MiB)})
        BOOST_CHECK(!replay(with("max_split_size", good), {"--capacity", "1 TiB"}).text.empty());
    const std::vector<std::tuple<std::string, value, std::string>> bad{
        {"max_split_size", 5, "max_split_size: found 5, expected -1, or at least 20971520 bytes"},
        {"max_non_split_rounding_size", MiB, "found 1048576, expected -1, or at least 20971520 bytes"},
        {"large_segment_size", 10 * MiB, "found 10485760, expected more than 10485760 bytes"},
        {"large_segment_size", 11 * MiB, "expected a multiple of 2097152 bytes"},
        {"garbage_collection_threshold", 1.0, "expected a number from 0 up to, but below, 1"}};
    for (const auto &[key, setting, message] : bad) {
        std::string found = failure(with(key, setting), {});
        BOOST_CHECK_MESSAGE(contains(found, message), "found " << found << ", expected " << message);
    }
}

// What a request that failed would have done later is not known: it is no event of the trace.
BOOST_AUTO_TEST_CASE(failed_requests_are_left_out_and_reported) {
    device d;
    d.capacity = 100 * MiB;
    allocator a({}, d);
    a.malloc(512);
    a.malloc(200 * MiB);
    a.malloc(300 * MiB);
    replayed r = replay(to_json(snapshot_of({&a})), {"--capacity", "1 GiB"});
    BOOST_CHECK_MESSAGE(contains(r.text, "2 requests that failed in the recording (oom) are left out"), r.text);
}

namespace {

std::string memory_event(double ts, std::int64_t bytes, u64 address, u64 allocated, u64 reserved, int type = 1,
                         int device = 0) {
    value args = value::dict{
        {"Bytes", bytes},      {"Addr", address},    {"Total Allocated", allocated}, {"Total Reserved", reserved},
        {"Device Id", device}, {"Device Type", type}};
    return to_json(value::dict{{"name", "[memory]"}, {"ph", "i"}, {"ts", ts}, {"args", args}});
}

std::string profile_of(const std::vector<std::string> &events) {
    std::string text = "{\"schemaVersion\": 1, \"traceEvents\": [{\"name\": \"aten::mm\", \"ts\": 1.5}";
    for (const std::string &event : events)
        text += ", " + event;
    return text + "]}";
}

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_of_the_profiler_gives_peaks_and_reports_that_it_has_no_addresses) {
    // Not in the order of time; a block that is older than the trace; the host's memory beside the GPU's.
    const std::string profile =
        profile_of({memory_event(30, -1024, 4096, 1536, 2097152), memory_event(10, 512, 8192, 2560, 2097152),
                    memory_event(5, 64, 4096, 64, 64, 0), memory_event(20, 1024, 9216, 3584, 4194304)});
    replayed r = replay(profile, {"--capacity", "1 MiB"});
    BOOST_CHECK_EQUAL(number_of(r.report, "peak_requested_bytes"), 2560u);
    BOOST_CHECK_MESSAGE(contains(r.text, "PyTorch profiler, GPU 0; recorded peaks: 3584 bytes allocated, 4194304 "
                                         "reserved; 1 blocks older than the trace"),
                        r.text);
    BOOST_CHECK(contains(r.text, "addresses to compare"));
    BOOST_CHECK(contains(failure(profile, {"--device", "3"}), "found no \"[memory]\" events of that device"));
    BOOST_CHECK(contains(failure(profile_of({}), {}), "expected a profile with profile_memory=True"));
    BOOST_CHECK(contains(failure("[{\"name\": \"[memory]\", \"ts\": 1}]", {}), "\"[memory]\" event: args"));
    scratch_directory scratch;
    command_result recorded = run_tlmalloc({"replay", scratch.write("p.json", profile), "--as-recorded"});
    BOOST_CHECK_EQUAL(recorded.status, 2);
    BOOST_CHECK(contains(recorded.err, "found a trace of the profiler"));
}
