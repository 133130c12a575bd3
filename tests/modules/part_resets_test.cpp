// Resets of single modules at random moments of a job, on random platforms, with both transports. Every call returns
// the same at the same time whatever the quantum is, with a waveform, with an observer of links, and if the simulation
// runs in slices. The platform is reset after that, leaks nothing, and does the job in the time of the first one.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "resetting_job.hpp"
#include "tests/unit/seeded_random.hpp"

using namespace resetting_job;

namespace {

// How the simulation runs, which must not matter.
struct manner {
    const char *quantum;
    bool observed, in_slices;
};
constexpr manner manners[] = {
    {"0 ns", false, false}, {"1 us", false, false}, {"37 ns", true, false}, {"100 us", true, true}};

struct part_resets {
    std::size_t count;
    std::uint64_t numbers[4000];
    unsigned ended, given_up, differences, leaks;
    char error[500];
};

std::vector<std::string> random_keys(seeded_random &random) {
    std::vector<std::string> keys{std::string("links.transport=") + (random.one_in(4) ? "per_flit" : "once"),
                                  std::string("messages.back_pressure=") + (random.one_in(2) ? "poll" : "sleep")};
    const auto maybe = [&](std::uint64_t n, const std::vector<std::string> &some) {
        if (random.one_in(n)) keys.insert(keys.end(), some.begin(), some.end());
    };
    maybe(2, {"mmu.overhead_at=call"});
    maybe(2, {"hbm.timing=flat"});
    maybe(2, {"links.routing=shortest"});
    maybe(2, {"links.wire=10 ps"});
    maybe(2, {"messages.overhead=9.5 ns"});
    maybe(2, {"messages.read_slot=false"});
    maybe(3, {"messages.memory=hbm"});
    maybe(3, {"messages.costs=kernbench"});
    maybe(2, {"dma.outstanding=2"});
    maybe(2, {"dma.chunk=64 B"});
    maybe(3, {"system.sips=2"});
    maybe(3, {"system.cube_mesh_width=2"});
    maybe(3, {"mmu.walk=memory", "mmu.unmapped=demand", "mmu.fault_latency=5 us", "host.retries=5"});
    maybe(4, {"controller.guard=error"});
    maybe(4, {"host_memory.capacity=1 MiB"});
    maybe(4, {"controller.free_list=hbm", "controller.list_reserve=4 KiB"});
    return keys;
}

struct course {
    course(std::uint64_t seed, const manner &how) : random(seed), job(keys_of(random, how.quantum)) {
        for (const instrumented *m : job.platform.modules())
            if (auto *r = dynamic_cast<resettable *>(const_cast<instrumented *>(m)))
                if (r != &job.platform) {
                    parts.push_back(r);
                    lines.push_back(std::make_unique<sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS>>());
                    r->reset_in.bind(*lines.back());
                }
        job.host().main = [this] { run(); };
    }

    static std::vector<std::string> keys_of(seeded_random &random, const char *quantum) {
        std::vector<std::string> keys = random_keys(random);
        keys.push_back(std::string("simulation.quantum=") + quantum);
        return keys;
    }

    void run() {
        BOOST_CHECK(job.job());
        job.first = said = job.said;
        whole_ps = now();
        for (unsigned round = 0; round < 3 && job.differences == 0; round++) {
            for (std::uint64_t left = random.between(1, 4); left > 0; left--)
                reset_a_part();
            interrupted_job();
            sc_core::wait(from_ps(whole_ps + 3 * us)); // until all resets are over
            job.platform.reset();
            job.platform.wait_for_reset();
            note(now() - job.start);
            leaks += job.platform.leaks() > 0;
            job.as_at_the_beginning("round " + std::to_string(round));
        }
        finished = true;
    }

    void reset_a_part() {
        const std::size_t part = random.between(0, parts.size() - 1);
        const std::uint64_t after_ps = random.between(0, whole_ps),
                            held_ps = random.one_in(2) ? 0 : random.between(1, 2 * us);
        sc_core::sc_spawn([this, part, after_ps, held_ps] {
            sc_core::wait(from_ps(after_ps));
            if (held_ps == 0) {
                parts[part]->reset();
                return;
            }
            *lines[part] = true;
            sc_core::wait(from_ps(held_ps));
            *lines[part] = false;
        });
    }

    // A kernel may wait for a message of a PE that was reset alone. A reset of the platform ends this.
    void interrupted_job() {
        bool over = false;
        sc_core::sc_event ends;
        sc_core::sc_spawn([this, &over, &ends] {
            sc_core::wait(from_ps(whole_ps * 3), ends);
            if (!over) job.platform.reset();
            given_up += !over;
            over = true;
            ends.notify();
        });
        job.parts_are_reset = true;
        const bool whole = job.job();
        job.parts_are_reset = false;
        ended += !whole;
        note(whole);
        said.insert(said.end(), job.said.begin(), job.said.end());
        note(job.platform.leaks());
        note(job.platform.transfer_latency_ps());
        const bool was_given_up = over;
        over = true;
        ends.notify();
        if (!was_given_up) sc_core::wait(ends);
    }

    void note(std::uint64_t number) { said.push_back(number); }

    seeded_random random;
    subject job;
    std::vector<resettable *> parts;
    std::vector<std::unique_ptr<sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS>>> lines;
    std::vector<std::uint64_t> said;
    std::uint64_t whole_ps = 0;
    unsigned ended = 0, given_up = 0, leaks = 0;
    bool finished = false;
};

void run_course(std::uint64_t seed, const manner &how, part_resets &result) {
    course c(seed, how);
    std::FILE *const file = std::tmpfile();
    waveform wave(file);
    if (how.observed) {
        c.job.platform.fabric().passed = [](const tla_fabric_passage &) {};
        c.job.platform.record(wave);
    }
    sc_core::sc_report_handler::set_handler(keep_report);
    for (unsigned i = 0; how.in_slices && i < 1000; i++)
        sc_core::sc_start(sc_core::sc_time(777'777, sc_core::SC_PS));
    sc_core::sc_start();
    wave.close();
    std::fclose(file);
    if (!c.finished) std::snprintf(result.error, sizeof result.error, "a call never returns");
    result.count = std::min(c.said.size(), std::size(result.numbers));
    std::copy_n(c.said.begin(), result.count, result.numbers);
    result.ended = c.ended;
    result.given_up = c.given_up;
    result.leaks = c.leaks;
    result.differences = c.job.differences;
}

} // namespace

BOOST_AUTO_TEST_CASE(resets_of_single_modules_are_the_same_for_every_quantum_and_leave_nothing) {
    const seeds all(12);
    unsigned ended = 0, given_up = 0;
    for (std::uint64_t seed = all.first; seed < all.first + all.count; seed++) {
        std::vector<std::uint64_t> expected;
        for (std::size_t i = 0; i < std::size(manners); i++) {
            const std::string name = "seed " + std::to_string(seed) + ", manner " + std::to_string(i);
            const auto found = apart<part_resets>(name, [&](part_resets &r) { run_course(seed, manners[i], r); });
            BOOST_CHECK_MESSAGE(!*found.error, name << ": " << found.error);
            BOOST_CHECK_MESSAGE(found.differences == 0, name << ": the platform is not as new");
            BOOST_CHECK_MESSAGE(found.leaks == 0, name << ": the platform leaks");
            const std::vector<std::uint64_t> said(found.numbers, found.numbers + found.count);
            if (i == 0) {
                expected = said;
                ended += found.ended;
                given_up += found.given_up;
            }
            BOOST_CHECK_MESSAGE(said == expected, name << ": other numbers than with a quantum of 0");
        }
    }
    BOOST_CHECK_GT(ended, all.count);
    BOOST_TEST_MESSAGE(ended << " jobs were ended by resets, " << given_up << " were given up");
}
