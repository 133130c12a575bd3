// Pins of a memory that grows, which wait for accesses in flight at its controller.
#include "../unit/seeded_random.hpp"
#include "apart.hpp"
#include "object_commands.hpp"

using namespace object_commands;

namespace {

constexpr std::uint64_t chunk = 16 << 10, pin_ps = 300'000, initial = slice_bytes / 2;

memory_controller::config growing(std::uint64_t wait_ps, std::uint64_t in_commit = 1) {
    memory_controller::config config = priced();
    config.cost = {};
    config.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_LAZY, TLA_FIRST_FIT);
    config.memory.of[TLA_HBM].front.initial = initial;
    config.memory.of[TLA_HBM].front.chunk = chunk;
    config.memory.of[TLA_HBM].front.commit = in_commit * chunk;
    config.memory.of[TLA_HBM].front.chunk_ps = pin_ps;
    config.pin_wait_ps = wait_ps;
    return config;
}

using interval = std::pair<std::uint64_t, std::uint64_t>;

// When commits are, by the rule: each chunk waits until no access is in flight, but wait_ps at most.
std::vector<std::uint64_t> commits_beside(const std::vector<interval> &accesses, std::uint64_t wait_ps,
                                          std::uint64_t in_commit, std::uint64_t from_ps = 0) {
    std::vector<std::uint64_t> times;
    std::uint64_t ready = from_ps;
    for (std::uint64_t n = 1; n <= (slice_bytes - initial) / chunk; n++) {
        std::uint64_t start = ready;
        for (bool moved = true; moved;) {
            moved = false;
            for (const auto &[begin, end] : accesses)
                if (start >= begin && start < end) start = end, moved = true;
        }
        ready = std::min(start, ready + wait_ps) + pin_ps;
        if (n % in_commit == 0) times.push_back(ready);
    }
    return times;
}

struct pacer_bench : bench {
    explicit pacer_bench(const memory_controller::config &config) : bench(config) {
        controller.grown = [this](tla_memory_kind, const tla_arena_stats &, std::uint64_t done_ps) {
            commits.push_back(done_ps);
        };
    }
    // Writes, as part of what is in flight.
    void write(std::uint64_t nbytes, sc_core::sc_time &ahead) {
        const std::uint64_t begin = to_ps(sc_core::sc_time_stamp() + ahead);
        BOOST_CHECK_EQUAL(data.write(hbm(0), bytes(nbytes), ahead), tlm::TLM_OK_RESPONSE);
        accesses.emplace_back(begin, to_ps(sc_core::sc_time_stamp() + ahead));
    }
    std::vector<std::uint64_t> commits;
    std::vector<interval> accesses;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_chunk_waits_for_an_access_in_flight_but_not_longer_than_it_may) {
    pacer_bench b(growing(1'000'000));
    b.run({}, [&] {
        sc_core::sc_time ahead;
        b.write(128 << 10, ahead);
        sc_core::wait(ahead);
        sc_core::wait(40, sc_core::SC_US);
    });
    const std::uint64_t end = b.accesses[0].second;
    BOOST_TEST_MESSAGE("the write ends at " << end << " ps");
    BOOST_REQUIRE_EQUAL(b.commits.size(), 32u);
    BOOST_CHECK_EQUAL(b.commits[0], std::min<std::uint64_t>(end, 1'000'000) + pin_ps);
    BOOST_CHECK_EQUAL(b.commits[31], std::min<std::uint64_t>(end, 1'000'000) + 32 * pin_ps);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "pin_wait_ps"), std::min<std::uint64_t>(end, 1'000'000));
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "commits"), 32u);
}

BOOST_AUTO_TEST_CASE(without_a_wait_chunks_are_pinned_whatever_is_in_flight) {
    pacer_bench b(growing(0));
    b.run({}, [&] {
        sc_core::sc_time ahead;
        b.write(128 << 10, ahead);
        sc_core::wait(ahead);
        sc_core::wait(40, sc_core::SC_US);
    });
    BOOST_REQUIRE_EQUAL(b.commits.size(), 32u);
    BOOST_CHECK_EQUAL(b.commits[0], pin_ps);
    BOOST_CHECK_EQUAL(b.commits[31], 32 * pin_ps);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "pin_wait_ps"), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(after_a_reset_chunks_are_paced_anew) {
    pacer_bench b(growing(5'000'000));
    b.run({}, [&] {
        sc_core::sc_time ahead;
        b.write(64 << 10, ahead);
        sc_core::wait(2, sc_core::SC_US);
        b.commits.clear();
        b.accesses.clear();
        b.controller.reset();
        sc_core::wait(700, sc_core::SC_NS);
        ahead = {};
        b.write(64 << 10, ahead);
        sc_core::wait(40, sc_core::SC_US);
    });
    const std::vector<std::uint64_t> expected = commits_beside(b.accesses, 5'000'000, 1, 2'000'000);
    BOOST_CHECK_EQUAL_COLLECTIONS(b.commits.begin(), b.commits.end(), expected.begin(), expected.end());
}

namespace {

struct figures {
    std::uint64_t count, waited_ps, expected_count;
    std::uint64_t commits[64], expected[64];
    char error[512];
};

// Writes of an initiator that runs ahead of the clock for a quantum at most, and commands of another.
figures ahead_by(std::uint64_t quantum_ps, std::uint64_t seed) {
    const figures f = apart<figures>("accesses beside pins", [&](figures &result) {
        seeded_random random(seed);
        const std::uint64_t wait_ps = random.between(1, 2'000'000),
                            in_commit = std::uint64_t{1} << random.between(0, 2);
        pacer_bench b(growing(wait_ps, in_commit));
        b.run(
            [&] {
                for (unsigned i = 0; i < 20; i++) {
                    sc_core::wait(from_ps(1'234'567));
                    b.cpu.command(0, alloc_command(TLA_HBM, 16));
                }
            },
            [&] {
                sc_core::sc_time ahead;
                while (to_ps(sc_core::sc_time_stamp() + ahead) < 30'000'000) {
                    if (!random.one_in(4)) ahead += from_ps(random.between(0, 900'000));
                    b.write(random.between(1, 128 << 10), ahead);
                    if (to_ps(ahead) < quantum_ps) continue;
                    sc_core::wait(ahead);
                    ahead = {};
                }
                sc_core::wait(ahead);
                sc_core::wait(100, sc_core::SC_US);
            });
        const std::vector<std::uint64_t> expected = commits_beside(b.accesses, wait_ps, in_commit);
        result.count = b.commits.size(), result.expected_count = expected.size();
        std::copy(b.commits.begin(), b.commits.end(), result.commits);
        std::copy(expected.begin(), expected.end(), result.expected);
        result.waited_ps = statistic_of(b.controller, "pin_wait_ps");
    });
    BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
    return f;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_commits_are_those_of_the_rule_for_every_quantum) {
    std::uint64_t waited = 0;
    for (std::uint64_t seed = 0; seed < 12; seed++) {
        const figures without = ahead_by(0, seed);
        waited += without.waited_ps;
        for (const std::uint64_t quantum_ps : {0u, 1'000u, 777'000u, 5'000'000u, 1'000'000'000u}) {
            const figures with = ahead_by(quantum_ps, seed);
            BOOST_CHECK_EQUAL_COLLECTIONS(with.commits, with.commits + with.count, without.commits,
                                          without.commits + without.count);
            BOOST_CHECK_EQUAL_COLLECTIONS(with.commits, with.commits + with.count, with.expected,
                                          with.expected + with.expected_count);
            BOOST_CHECK_EQUAL(with.waited_ps, without.waited_ps);
        }
    }
    BOOST_CHECK_GT(waited, 1'000'000u);
}
