// `tlmalloc age` and `tlmalloc replay --from`: a replay that begins with an aged heap.
#include "platform/trace_events.hpp"

namespace {

const std::string recorded = TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz";
const std::vector<std::string> policies{"first_fit", "best_fit", "next_fit",    "worst_fit",          "first_fit_top",
                                        "buddy",     "tlsf",     "offset_bins", "offset_bins_rounded"};

command_result expect_success(const std::vector<std::string> &arguments) {
    command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return run;
}

std::string last_lines(const std::string &text, std::size_t count) {
    std::size_t at = text.size();
    for (std::size_t i = 0; i <= count && at != 0; i++)
        at = text.rfind('\n', at - 1);
    return text.substr(at + 1);
}

} // namespace

BOOST_AUTO_TEST_CASE(an_aged_arena_keeps_what_lives_and_offers_what_is_free) {
    scratch_directory scratch;
    std::string trace =
        scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,10\n1,alloc,2,20\n2,alloc,3,30\n3,free,2,20\n");
    std::string snapshot = scratch.path("s"), placements = scratch.path("p.csv");
    command_result run = expect_success({"age", trace, "--capacity", "100", "--output", snapshot});
    BOOST_CHECK_MESSAGE(contains(run.out, "used             40 of 100 bytes\n") &&
                            contains(run.out, "free             60 bytes in 2 blocks, the largest 40\n") &&
                            contains(run.out, "fragmentation    33.3 %"),
                        run.out);
    std::string more =
        scratch.write("more.csv", "time_ns,op,id,bytes\n0,alloc,1,41\n1,alloc,2,20\n2,alloc,3,40\n3,alloc,4,1\n");
    run = expect_success({"replay", more, "--from", snapshot, "--placements", placements});
    BOOST_CHECK_EQUAL(read_text(placements),
                      "id,offset,bytes,nodes_visited\n1,-,41,2\n2,10,20,1\n3,60,40,1\n4,-,1,0\n");
    BOOST_CHECK_MESSAGE(contains(run.err, "requested 41 bytes, 60 free of 100, largest free block 40"), run.err);
}

BOOST_AUTO_TEST_CASE(ageing_stops_after_some_events_or_at_the_peak) {
    scratch_directory scratch;
    std::string trace =
        scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,10\n1,alloc,2,20\n2,free,1,10\n3,free,2,20\n");
    std::string snapshot = scratch.path("s");
    const auto used = [&](std::vector<std::string> more) {
        std::vector<std::string> arguments{"age", trace, "--capacity", "100", "--output", snapshot};
        arguments.insert(arguments.end(), more.begin(), more.end());
        std::string out = expect_success(arguments).out;
        return out.substr(out.find("used"), out.find(" of 100") - out.find("used"));
    };
    BOOST_CHECK_EQUAL(used({}), "used             0");
    BOOST_CHECK_EQUAL(used({"--events", "3"}), "used             20");
    BOOST_CHECK_EQUAL(used({"--events", "peak"}), "used             30");
    BOOST_CHECK_EQUAL(used({"--events", "0"}), "used             0");
    BOOST_CHECK_EQUAL(used({"--events", "99999999999999999999999"}), "used             0");
    const auto says_past_end = [&](const std::string &count) {
        return contains(
            expect_success({"age", trace, "--capacity", "100", "--output", snapshot, "--events", count}).out,
            "events           4 (2 allocations, 0 of them failed), the whole trace: --events requests " + count + "\n");
    };
    BOOST_CHECK(says_past_end("5") && says_past_end("99999999999999999999999") && !says_past_end("4"));
    const std::string again = scratch.write("a.csv", "time_ns,op,id,bytes\n0,alloc,1,10\n1,free,1,10\n2,alloc,2,10\n");
    BOOST_CHECK(
        contains(expect_success({"age", again, "--capacity", "100", "--output", snapshot, "--events", "peak"}).out,
                 "events           1 (1 allocations"));
}

// The trace is cut in two at its peak: the second part, on the aged arena, is placed as in a replay of the whole. Its
// frees of what the first part allocated are left out of both, so that the two see the same events.
BOOST_AUTO_TEST_CASE(a_replay_continues_from_a_snapshot_as_without_an_interruption) {
    scratch_directory scratch;
    const std::string text = gunzip(recorded, scratch);
    const std::vector<event> events = read_events(text);
    const std::size_t cut = events.size() / 2;
    std::string whole = "time_ns,op,id,bytes\n", second = whole;
    std::vector<bool> in_second(events.size() + 1);
    std::size_t count = 0;
    for (std::size_t i = 0; i < events.size(); i++) {
        const event &e = events[i];
        if (i >= cut && !e.is_free) in_second[e.id] = true;
        if (i >= cut && e.is_free && !in_second[e.id]) continue;
        const std::string line = std::to_string(i) + (e.is_free ? ",free," : ",alloc,") + std::to_string(e.id) + "," +
                                 std::to_string(e.nbytes) + "\n";
        whole += line;
        if (i >= cut) second += line;
        count += i >= cut && !e.is_free;
    }
    const std::string whole_path = scratch.write("whole.csv", whole), second_path = scratch.write("second.csv", second);
    for (const std::string &policy : policies) {
        std::string snapshot = scratch.path("s"), at_once = scratch.path("a.csv"), continued = scratch.path("c.csv");
        expect_success({"replay", whole_path, "--capacity", "256 MiB", "--policy", policy, "--placements", at_once});
        expect_success({"age", whole_path, "--capacity", "256 MiB", "--policy", policy, "--events", std::to_string(cut),
                        "--output", snapshot});
        expect_success({"replay", second_path, "--from", snapshot, "--placements", continued});
        BOOST_CHECK_MESSAGE(last_lines(read_text(continued), count) == last_lines(read_text(at_once), count), policy);
    }
}

BOOST_AUTO_TEST_CASE(any_policy_and_cache_can_continue_after_another) {
    scratch_directory scratch;
    std::string snapshot = scratch.path("s"), json = scratch.path("r.json");
    expect_success({"age", recorded, "--capacity", "256 MiB", "--events", "peak", "--output", snapshot});
    expect_success({"replay", recorded, "--from", snapshot, "--compare", "all", "--json", json});
    std::string report = read_text(json);
    for (std::string name : {"tlsf", "next_fit", "best_fit", "caching_pool", "segment_cache"})
        BOOST_CHECK_MESSAGE(contains(report, "\"policy\": \"" + name + "\""), name);
}

BOOST_AUTO_TEST_CASE(the_simulated_controller_continues_from_a_snapshot_like_the_core) {
    scratch_directory scratch;
    std::string snapshot = scratch.path("s"), simulated = scratch.path("simulated.csv"),
                plain = scratch.path("plain.csv");
    std::string config = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml"; // four PEs share a cube
    expect_success({"age", recorded, "--capacity", "256 MiB", "--events", "peak", "--output", snapshot});
    expect_success({"replay", recorded, "--from", snapshot, "--placements", plain});
    expect_success({"replay", recorded, "--from", snapshot, "--config", config, "--set", "hbm.capacity_per_cube=1 GiB",
                    "--placements", simulated});
    BOOST_CHECK(read_text(simulated) == read_text(plain));
    command_result other = run_tlmalloc({"replay", recorded, "--from", snapshot, "--config", config});
    BOOST_CHECK_MESSAGE(other.status == 2 && other.err.size() > 20, other.err); // another size: 6 GiB
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_is_rejected) {
    scratch_directory scratch;
    std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,10\n");
    std::string snapshot = scratch.path("s");
    expect_success({"age", trace, "--capacity", "100", "--output", snapshot});
    std::string whole = read_text(snapshot);
    for (std::size_t length = 0; length + 1 < whole.size(); length += 7) {
        command_result run = run_tlmalloc({"replay", trace, "--from", scratch.write("cut", whole.substr(0, length))});
        BOOST_CHECK_MESSAGE(run.status == 2 && contains(run.err, "cut"), length << ": " << run.err);
    }
    command_result missing = run_tlmalloc({"replay", trace, "--from", scratch.path("none")});
    BOOST_CHECK_EQUAL(missing.status, 1);
    BOOST_CHECK_MESSAGE(contains(missing.err, "none: cannot be read: No such file or directory"), missing.err);
}

BOOST_AUTO_TEST_CASE(age_usage_errors_have_status_2) {
    struct misuse {
        std::vector<std::string> arguments;
        std::string message;
    };
    const misuse misuses[] = {
        {{"age"}, "expected a TRACE"},
        {{"age", "t.csv"}, "expected --capacity SIZE"},
        {{"age", "t.csv", "--capacity", "1 KiB"}, "expected --output SNAPSHOT"},
        {{"age", "t.csv", "--capacity", "1 KiB", "--events", "half"}, "--events: found 'half'"},
        {{"age", "t.csv", "--capacity", "1 KiB", "--policy", "caching_pool"}, "--policy: found 'caching_pool'"},
        {{"replay", "t.csv", "--from", "s", "--align", "8"}, "--align contradicts --from"},
    };
    for (const misuse &m : misuses) {
        command_result run = run_tlmalloc(m.arguments);
        BOOST_CHECK_MESSAGE(run.status == 2 && contains(run.err, m.message), run.err);
    }
}
