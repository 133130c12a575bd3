// Figures of windows of an hbm_slice: rates of commands, and power. All windows together are the totals, windows
// without commands are shown, and the last window is shown when it is over.
#include "apart.hpp"
#include "bare.hpp"
#include "recorded_changes.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"

#include <memory>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;
using namespace recorded_changes;

namespace {

const std::uint64_t us = 1'000'000; // ps

struct bench {
    explicit bench(const char *timing, const char *energy, bool with_refreshes = true) {
        config.capacity = 1 << 22;
        config.timing.emplace();
        config.energy.emplace();
        BOOST_REQUIRE_EQUAL(tla_timing_named(timing, &*config.timing), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_dram_energy_named(energy, &*config.energy), TLA_OK);
        if (!with_refreshes)
            for (const tla_dram_constant c : {TLA_DRAM_REFRESH, TLA_DRAM_REFRESH_BANK})
                config.energy->constants[c].value = 0;
        slice = std::make_unique<hbm_slice>("slice", config);
        cpu.out.bind(slice->in);
        slice->record(wave);
    }
    void access(tlm::tlm_command command, std::uint64_t address, std::size_t length) {
        bytes data(length);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(cpu.access(command, address, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
    }
    std::uint64_t background_mw() const { // of a slice that does nothing, without refreshes
        return config.pseudo_channels * config.energy->constants[TLA_DRAM_ALL_CLOSED].value / 1000;
    }
    std::uint64_t energy_fj() const { // to now
        const tla_dram_activity activity = slice->activity();
        tla_dram_energy_sum sum{};
        BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&*config.energy, &*config.timing, &activity, &sum, nullptr), TLA_OK);
        return sum.total_fj;
    }
    std::map<std::string, changes> figures() {
        BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
        return read_vcd(scratch.path("windows.vcd"));
    }

    hbm_slice::config config = bare<hbm_slice>();
    scratch_directory scratch;
    waveform wave{scratch.path("windows.vcd")};
    initiator cpu{"cpu"};
    std::unique_ptr<hbm_slice> slice;
};

// Of windows that end by `windows` us; each change stands at the end of a window.
std::uint64_t sum_of_windows(const changes &figure, std::uint64_t windows) {
    std::uint64_t sum = 0, value = 0;
    auto next = figure.begin();
    for (std::uint64_t end = 0; end <= windows; end++) {
        for (; next != figure.end() && next->first <= end * us; ++next)
            value = next->second;
        sum += value;
    }
    for (const auto &[at_ps, shown] : figure)
        BOOST_CHECK_MESSAGE(at_ps % us == 0, shown << " is shown at " << at_ps << " ps");
    return sum;
}

// Accesses for a while, with pauses of several windows, which end within the window that ends at 20 us.
void check_sums(const char *timing, const char *energy) {
    bench b(timing, energy);
    std::mt19937 random(1);
    b.cpu.body = [&] {
        while (sc_core::sc_time_stamp() < from_ps(18 * us)) {
            for (int i = 0; i < 20; i++)
                b.access(random() % 2 ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND, random() % (1 << 14) * 64,
                         64 << random() % 6);
            sc_core::wait(from_ps(random() % (4 * us)));
        }
    };
    const std::uint64_t windows = 30;
    sc_core::sc_start(from_ps(windows * us));
    BOOST_REQUIRE(b.cpu.finished);
    const std::uint64_t whole_fj = b.energy_fj();
    const hbm_slice::statistics s = b.slice->get_statistics();
    sc_core::sc_start(from_ps(us - 1));
    const auto shown = b.figures();
    const auto sum = [&](const char *figure) { return sum_of_windows(shown.at(figure), windows); };
    BOOST_CHECK_GT(s.activates, 100u);
    BOOST_CHECK_EQUAL(sum("activates_per_us"), s.activates);
    BOOST_CHECK_EQUAL(sum("read_commands_per_us"), s.read_commands);
    BOOST_CHECK_EQUAL(sum("write_commands_per_us"), s.write_commands);
    const std::uint64_t shown_fj = sum("power") * us;
    BOOST_CHECK_LE(shown_fj, whole_fj);
    BOOST_CHECK_LT(whole_fj - shown_fj, windows * us); // each window is less than 1 mW short
    BOOST_CHECK_LE(shown.at("power").back().first, windows * us);
}

} // namespace

BOOST_AUTO_TEST_CASE(windows_add_up_to_the_commands_and_to_the_energy_of_hbm2) {
    check_sums("hbm2", "hbm2_ayna");
}

BOOST_AUTO_TEST_CASE(windows_add_up_to_the_commands_and_to_the_energy_of_hbm4) {
    check_sums("hbm4", "hbm4_ayna");
}

BOOST_AUTO_TEST_CASE(an_idle_slice_shows_its_background_from_the_end_of_the_first_window_on) {
    bench b("hbm4", "hbm4_ayna", false);
    sc_core::sc_start(from_ps(5 * us + us / 2));
    const auto shown = b.figures();
    BOOST_REQUIRE_GT(b.background_mw(), 0u);
    BOOST_CHECK(shown.at("power") == (changes{{0, 0}, {us, b.background_mw()}}));
    BOOST_CHECK(shown.at("activates_per_us") == (changes{{0, 0}}));
}

BOOST_AUTO_TEST_CASE(a_window_that_is_not_over_is_not_shown) {
    bench b("hbm4", "hbm4_ayna");
    b.cpu.body = [&] { b.access(tlm::TLM_READ_COMMAND, 0, b.config.timing->burst_bytes); };
    sc_core::sc_start(from_ps(us - 1));
    const auto shown = b.figures();
    BOOST_CHECK(shown.at("power") == (changes{{0, 0}}));
    BOOST_CHECK(shown.at("read_commands_per_us") == (changes{{0, 0}}));
}

// The burst is in the third window, long after the first two, which nothing else shows.
BOOST_AUTO_TEST_CASE(windows_before_and_after_a_burst_are_shown_at_their_ends) {
    bench b("hbm4", "hbm4_ayna", false);
    b.cpu.body = [&] {
        sc_core::wait(from_ps(2 * us + us / 4));
        b.access(tlm::TLM_READ_COMMAND, 0, b.config.timing->burst_bytes);
    };
    sc_core::sc_start(from_ps(30 * us));
    const auto shown = b.figures();
    BOOST_CHECK(shown.at("read_commands_per_us") == (changes{{0, 0}, {3 * us, 1}, {4 * us, 0}}));
    const changes &power = shown.at("power");
    BOOST_REQUIRE_GE(power.size(), 3u);
    BOOST_CHECK(power[1] == std::pair(us, b.background_mw()));
    BOOST_CHECK_EQUAL(power[2].first, 3 * us);
    BOOST_CHECK_GT(power[2].second, b.background_mw());
}

BOOST_AUTO_TEST_CASE(a_reset_neither_adds_to_its_window_nor_takes_from_it) {
    bench b("hbm4", "hbm4_ayna", false);
    std::uint64_t reads = 0;
    b.cpu.body = [&] {
        for (int i = 0; i < 3; i++) {
            b.access(tlm::TLM_READ_COMMAND, 0, b.config.timing->burst_bytes);
            sc_core::wait(from_ps(us / 5));
            reads += b.slice->get_statistics().read_commands;
            b.slice->reset();
            BOOST_CHECK(!b.slice->in_reset());
        }
    };
    sc_core::sc_start(from_ps(4 * us));
    BOOST_REQUIRE(b.cpu.finished);
    const auto shown = b.figures();
    BOOST_CHECK_EQUAL(reads, 3u);
    BOOST_CHECK(shown.at("read_commands_per_us") == (changes{{0, 0}, {us, 3}, {2 * us, 0}}));
    BOOST_CHECK_EQUAL(shown.at("power").back().second, b.background_mw());
}

// Bursts wait in the write buffer when the reset comes.
BOOST_AUTO_TEST_CASE(after_a_reset_the_energy_is_that_of_a_slice_that_was_idle_until_then) {
    bench b("hbm4", "hbm4_ayna");
    hbm_slice idle{"idle", b.config};
    initiator other{"other"};
    other.out.bind(idle.in);
    const auto fj_of = [&](const hbm_slice &slice) {
        const tla_dram_activity activity = slice.activity();
        tla_dram_energy_sum sum{};
        BOOST_CHECK_EQUAL(tla_dram_energy_add_up(&*b.config.energy, &*b.config.timing, &activity, &sum, nullptr),
                          TLA_OK);
        std::uint64_t by_cause[TLA_ENERGY_CAUSE_COUNT] = {}, all = 0;
        tla_dram_energy_charge(&*b.config.energy, &activity, &sum, by_cause);
        for (const std::uint64_t fj : by_cause)
            all += fj;
        BOOST_CHECK_EQUAL(all, sum.total_fj);
        return sum.total_fj;
    };
    std::mt19937 random(3);
    b.cpu.body = [&] {
        for (int i = 0; i < 20; i++) {
            for (int k = 0; k < 40; k++) {
                bytes data(64 << random() % 6);
                sc_core::sc_time delay;
                b.cpu.access(random() % 3 ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, random() % (1 << 14) * 64,
                             data, delay);
                sc_core::wait(delay);
            }
            BOOST_CHECK_GT(fj_of(*b.slice), fj_of(idle));
            b.slice->reset();
            BOOST_CHECK_EQUAL(fj_of(*b.slice), fj_of(idle));
            sc_core::wait(from_ps(random() % us));
            BOOST_CHECK_EQUAL(fj_of(*b.slice), fj_of(idle));
        }
    };
    sc_core::sc_start();
    BOOST_CHECK(b.cpu.finished);
}

// The slice runs ahead of the kernel as far as the quantum and the other process let it.
BOOST_AUTO_TEST_CASE(windows_are_the_same_whatever_wakes_the_kernel_and_for_every_quantum) {
    struct result {
        std::size_t changes, hash; // of power, and of the text
        char error[256];
    };
    const auto waveform_of = [](std::uint64_t quantum_ps, std::uint64_t wakes_ps) {
        return apart<result>("a run", [=](result &r) {
            bench b("hbm4", "hbm4_ayna");
            time_queue::of_simulation().allow_quantum(quantum_ps);
            hbm_slice unused{"unused", b.config};
            initiator other{"other"};
            other.out.bind(unused.in);
            other.body = [&] {
                for (std::uint64_t at_ps = 0; wakes_ps > 0 && at_ps < 20 * us; at_ps += wakes_ps)
                    sc_core::wait(from_ps(wakes_ps));
            };
            std::mt19937 random(2);
            b.cpu.body = [&] {
                for (int i = 0; i < 100; i++) {
                    bytes data(64 << random() % 6);
                    sc_core::sc_time delay = from_ps(random() % (us / 4));
                    const auto command = random() % 2 ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND;
                    BOOST_CHECK_EQUAL(b.cpu.access(command, random() % (1 << 14) * 64, data, delay),
                                      tlm::TLM_OK_RESPONSE);
                    sc_core::wait(delay);
                }
            };
            sc_core::sc_start(from_ps(30 * us));
            r.changes = b.figures().at("power").size();
            r.hash = std::hash<std::string>()(read_text(b.scratch.path("windows.vcd")));
        });
    };
    const result alone = waveform_of(0, 0);
    BOOST_CHECK_GT(alone.changes, 10u);
    for (const auto &[quantum_ps, wakes_ps] :
         {std::pair<std::uint64_t, std::uint64_t>{5 * us, 0}, {0, 70'001}, {5 * us, 70'001}, {0, 3 * us}})
        BOOST_CHECK_MESSAGE(waveform_of(quantum_ps, wakes_ps).hash == alone.hash,
                            "quantum " << quantum_ps << " ps, another process each " << wakes_ps << " ps");
}

BOOST_AUTO_TEST_CASE(a_waveform_may_end_after_the_modules_that_it_shows) {
    bench b("hbm4", "hbm4_ayna");
    sc_core::sc_start(from_ps(us / 2));
    b.slice.reset();
    BOOST_CHECK(b.figures().at("power") == (changes{{0, 0}}));
}
