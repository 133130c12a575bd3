// A snapshot of PyTorch on a host without memory: read, undone, replayed and played under other settings, or refused
// with a text, at whichever allocation memory is out; nothing is lost.
#include "host_memory/failing.hpp"
#include "tests/torch/old_pickle.hpp"
#include "torch/program.h"
#include "torch/recorded.h"
#include "torch/usage.h"

using namespace naive_torch;

namespace {

struct outcome {
    tla_status status;
    std::string text; // what was found, or the error's
};

std::string found(const torch_recorded &r, const torch_outcome &o, u64 capacity, const char *frames) {
    return std::to_string(r.equal) + " of " + std::to_string(r.entries) + " " + r.first.replayed + " " +
           std::to_string(r.end_state_equal) + " " + std::to_string(o.stats.peak_reserved) + " " +
           std::to_string(capacity) + " " + frames;
}

// Everything that the commands do with a snapshot.
outcome use(const std::string &text) {
    torch_snapshot snapshot{};
    tla_error error{};
    tla_status status = torch_snapshot_read(text.data(), text.size(), "t", &snapshot, &error);
    if (status) return {status, error.text};
    torch_start start{};
    torch_recorded recorded{};
    torch_program program{};
    torch_outcome played{};
    u64 capacity = 0;
    char frames[100] = "";
    torch_inferred inferred{};
    torch_recorded_options options{};
    options.inferred = &inferred;
    torch_what_if how{};
    how.settings = snapshot.settings;
    torch_usage_report usage{};
    status = torch_usage_find(&snapshot, 0, &usage, &error);
    torch_usage_clear(&usage);
    if (!status) status = torch_inferred_create(&snapshot, 0, &inferred, &error);
    if (!status) status = torch_start_find(&snapshot, 0, &start, &error);
    if (!status) status = torch_replay_recorded(&snapshot, 0, &start, &options, &recorded, &error);
    if (!status)
        status = torch_program_make(&snapshot, 0, &start, &inferred, snapshot.devices[0].entry_count, &program, &error);
    if (!status) status = torch_program_play(&program, &how, 0, &played, nullptr, &error);
    if (!status) status = torch_program_least_capacity(&program, &how, 0, &capacity, &error);
    torch_frames(&snapshot, snapshot.devices[0].entries[0].source, 2, frames, sizeof frames);
    torch_program_clear(&program);
    torch_inferred_clear(&inferred);
    torch_start_clear(&start);
    torch_snapshot_clear(&snapshot);
    return {status, status ? error.text : found(recorded, played, capacity, frames)};
}

void check(const std::string &text) {
    const outcome whole = use(text);
    BOOST_REQUIRE_MESSAGE(whole.status == TLA_OK, whole.text);
    const std::size_t before = host_memory::live();
    std::size_t refused = 0;
    for (bool all_later : {true, false})
        for (std::size_t n = 0, failed = 1; failed > 0; n++) {
            host_memory::fail_from(n, all_later);
            const outcome o = use(text);
            failed = host_memory::stop();
            BOOST_REQUIRE_EQUAL(host_memory::live(), before);
            if (o.status == TLA_OK && failed == 0) BOOST_CHECK_EQUAL(o.text, whole.text);
            if (o.status == TLA_OK) continue; // only who asked for a block, which is told when it can be
            BOOST_REQUIRE_MESSAGE(o.status == TLA_NO_HOST_MEMORY,
                                  "allocation " << n << ": " << tla_status_name(o.status) << ", " << o.text);
            BOOST_REQUIRE(!o.text.empty());
            refused++;
        }
    BOOST_CHECK_GT(refused, 20u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_snapshot_without_host_memory_is_used_or_fails_at_every_allocation) {
    for (u64 seed = 1; seed <= 4; seed++) {
        BOOST_TEST_CONTEXT("seed " << seed) {
            settings s;
            s.expandable = seed % 2;
            device d;
            d.random.seed(seed);
            d.bytes = d.capacity = 400 * MiB;
            allocator a(s, d);
            workload w;
            w.operations = 120;
            w.streams = 2;
            if (seed > 2) w.owners = {{0, 0}, {0, 5}};
            run(a, w, seed);
            const value snapshot = snapshot_of({&a}, a.trace.size() * 2 / 3, seed == 3);
            check(seed == 3 ? old_pickle::of(snapshot, 0) : to_pickle(snapshot));
            check(to_json(snapshot));
        }
    }
}
