// hbm_slice: the rules of the payload, and its time by formula.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "at_once.hpp"
#include "bare.hpp"
#include "data_target.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/hbm_slice.hpp"

#include <random>

using namespace tlmalloc;
using namespace data_targets;

namespace {

// 256 bytes at 32 GB/s: what one burst occupies its pseudo-channel for (ADR-0019, ADR-0033).
const std::uint64_t burst_ps = 8000;

struct bench {
    explicit bench(const hbm_slice::config &config = bare<hbm_slice>()) : slice("slice", config) {
        cpu.out.bind(slice.in);
    }

    // Local time at which an access is done that begins at begin_ps.
    std::uint64_t done(tlm::tlm_command command, std::uint64_t address, std::size_t length, std::uint64_t begin_ps) {
        bytes data(length);
        sc_core::sc_time delay;
        set_local_ps(delay, begin_ps);
        BOOST_CHECK_EQUAL(cpu.access(command, address, data, delay), tlm::TLM_OK_RESPONSE);
        return local_ps(delay);
    }
    std::uint64_t read_done(std::uint64_t address, std::size_t length, std::uint64_t begin_ps) {
        return done(tlm::TLM_READ_COMMAND, address, length, begin_ps);
    }
    // The same of accesses of several callers.
    struct access {
        std::uint64_t address;
        std::size_t length;
        std::uint64_t begin_ps;
        tlm::tlm_command command = tlm::TLM_READ_COMMAND;
    };
    std::vector<std::uint64_t> all_done(const std::vector<access> &accesses) {
        std::vector<std::uint64_t> ends(accesses.size());
        std::vector<std::function<void()>> calls;
        for (std::size_t i = 0; i < accesses.size(); i++)
            calls.push_back([&, i] {
                const access &a = accesses[i];
                ends[i] = done(a.command, a.address, a.length, a.begin_ps);
            });
        at_once(calls);
        return ends;
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu});
    }

    hbm_slice slice;
    initiator cpu{"cpu"};
};

hbm_slice::config of_capacity(std::uint64_t capacity) {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = capacity;
    return config;
}

tla_hbm_config profile(const char *name) {
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named(name, &timing), TLA_OK);
    return timing;
}

hbm_slice::config with_banks(const tla_hbm_config &timing, std::uint32_t pseudo_channels) {
    hbm_slice::config config = of_capacity(std::uint64_t{1} << 28);
    config.pseudo_channels = pseudo_channels;
    config.timing = timing;
    return config;
}

// Pseudo-channels as cores of their own; which bursts of an access are whose is found burst by burst.
class cores {
  public:
    cores(const tla_hbm_config &timing, std::uint64_t count) : burst_(timing.burst_bytes) {
        for (std::uint64_t i = 0; i < count; i++) {
            tla_hbm *core = nullptr;
            BOOST_REQUIRE_EQUAL(tla_hbm_create(&timing, nullptr, &core, nullptr), TLA_OK);
            cores_.emplace_back(core, tla_hbm_destroy);
        }
    }

    std::uint64_t access(tla_hbm_op op, std::uint64_t address, std::uint64_t length, std::uint64_t begin_ps) {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> parts(cores_.size()); // own address, bytes
        for (std::uint64_t b = address / burst_ * burst_; b < address + length; b += burst_) {
            auto &[own, nbytes] = parts[b / burst_ % cores_.size()];
            if (nbytes == 0) own = b / burst_ / cores_.size() * burst_;
            nbytes += burst_;
        }
        std::uint64_t done = 0;
        for (std::size_t i = 0; i < parts.size(); i++) {
            if (parts[i].second == 0) continue;
            if (op == TLA_HBM_WRITE) { // ends when the write buffer has taken all of it
                done = std::max(done, submit(cores_[i].get(), parts[i].first, parts[i].second, begin_ps));
                continue;
            }
            tla_hbm_transfer t{};
            BOOST_REQUIRE_EQUAL(
                tla_hbm_access(cores_[i].get(), begin_ps, op, TLA_PURPOSE_KERNEL, parts[i].first, parts[i].second, &t),
                TLA_OK);
            done = std::max(done, t.last_end_ps);
        }
        return done;
    }

    // Buffered writes go to their banks, too, and refreshes follow.
    void drain(std::uint64_t until_ps) {
        for (const auto &core : cores_) {
            tla_hbm_drain(core.get());
            tla_hbm_advance(core.get(), until_ps);
        }
    }

    tla_hbm_open_time open_time(std::uint64_t until_ps) const {
        tla_hbm_open_time total{};
        for (const auto &core : cores_) {
            const tla_hbm_open_time time = tla_hbm_get_open_time(core.get(), until_ps);
            total.all_closed_ps += time.all_closed_ps;
            total.open_bank_ps += time.open_bank_ps;
        }
        return total;
    }

    std::uint64_t sum(std::uint64_t tla_hbm_stats::*figure) const {
        std::uint64_t total = 0;
        for (const auto &core : cores_)
            total += tla_hbm_get_stats(core.get()).*figure;
        return total;
    }

  private:
    std::uint64_t submit(tla_hbm *core, std::uint64_t first, std::uint64_t nbytes, std::uint64_t begin_ps) const {
        std::uint64_t accepted_ps = 0;
        for (std::uint64_t own = first; own < first + nbytes; own += burst_) {
            const tla_hbm_request burst{begin_ps, own, 0, TLA_HBM_WRITE};
            BOOST_REQUIRE_EQUAL(tla_hbm_submit(core, &burst, &accepted_ps), TLA_OK);
        }
        return accepted_ps;
    }

    std::uint64_t burst_;
    std::vector<std::unique_ptr<tla_hbm, void (*)(tla_hbm *)>> cores_;
};

// Sequential traffic, then random traffic, of one initiator, through a slice and through cores alone.
void check_against_cores(const tla_hbm_config &timing, std::uint32_t pseudo_channels) {
    const unsigned seed = 11;
    std::mt19937 random(seed);
    bench b(with_banks(timing, pseudo_channels));
    cores alone(timing, pseudo_channels);
    b.run([&] {
        std::uint64_t t = 0;
        const auto both = [&](bool write, std::uint64_t address, std::size_t length) {
            const std::uint64_t done =
                b.done(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, address, length, t);
            BOOST_REQUIRE_MESSAGE(done == alone.access(write ? TLA_HBM_WRITE : TLA_HBM_READ, address, length, t),
                                  "seed " << seed << ", " << length << " bytes at " << address << ", " << t << " ps");
            BOOST_REQUIRE_GE(done, t);
            t = done;
        };
        for (std::uint64_t i = 0; i < 2000; i++, t += i % 3 * 4321)
            both(i / 500 % 2 == 1, i * 256, 256);
        for (unsigned i = 0; i < 2000; i++, t += random() % 40000)
            both(random() % 3 == 0, random() % ((1u << 28) - 5000), 1 + random() % (i % 10 == 0 ? 5000 : 70));
    });
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    alone.drain(now_ps);
    const hbm_slice::statistics s = b.slice.get_statistics();
    BOOST_CHECK_GT(s.row_hits, 2000u);
    BOOST_CHECK_GT(s.row_conflicts, 500u);
    BOOST_CHECK_GT(s.refreshes, 5u);
    BOOST_CHECK_EQUAL(s.row_hits, alone.sum(&tla_hbm_stats::row_hits));
    BOOST_CHECK_EQUAL(s.row_misses, alone.sum(&tla_hbm_stats::row_misses));
    BOOST_CHECK_EQUAL(s.row_conflicts, alone.sum(&tla_hbm_stats::row_conflicts));
    BOOST_CHECK_EQUAL(s.refreshes + s.idle_refreshes, alone.sum(&tla_hbm_stats::refreshes));
    BOOST_CHECK_EQUAL(s.activates, alone.sum(&tla_hbm_stats::activates));
    BOOST_CHECK_EQUAL(s.precharges, alone.sum(&tla_hbm_stats::precharges) + alone.sum(&tla_hbm_stats::precharges_all));
    BOOST_CHECK_EQUAL(s.read_commands, alone.sum(&tla_hbm_stats::read_commands));
    BOOST_CHECK_EQUAL(s.write_commands, alone.sum(&tla_hbm_stats::write_commands));
    BOOST_CHECK_EQUAL(s.open_time.all_closed_ps, alone.open_time(now_ps).all_closed_ps);
    BOOST_CHECK_EQUAL(s.open_time.open_bank_ps, alone.open_time(now_ps).open_bank_ps);
    const std::uint64_t bursts =
        alone.sum(&tla_hbm_stats::reads) + alone.sum(&tla_hbm_stats::writes) - alone.sum(&tla_hbm_stats::forwarded);
    BOOST_CHECK_EQUAL(s.busy_ps, bursts * timing.burst_cycles * timing.tck_ps);
}

} // namespace

BOOST_AUTO_TEST_CASE(slice_answers_every_access_as_the_payload_rules_say) {
    bench b(of_capacity(10000));
    b.run([&] { data_target{b.cpu, 0, 10000}.check_everything(); });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(errors_take_no_time_occupy_nothing_and_are_counted) {
    bench b(of_capacity(1024));
    b.run([&] {
        bytes data(16);
        sc_core::sc_time delay(5, sc_core::SC_NS);
        BOOST_CHECK_EQUAL(b.cpu.read(1020, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 5000u);
    });
    const hbm_slice::statistics s = b.slice.get_statistics();
    BOOST_CHECK_EQUAL(s.errors, 1u);
    BOOST_CHECK_EQUAL(s.reads, 0u);
    BOOST_CHECK_EQUAL(s.bytes_read, 0u);
    BOOST_CHECK_EQUAL(s.busy_ps, 0u);
}

BOOST_AUTO_TEST_CASE(six_gibibytes_read_as_zero_until_they_are_written) {
    bench b;
    const std::uint64_t last = (std::uint64_t{6} << 30) - 256;
    b.run([&] {
        BOOST_CHECK(b.cpu.read(last, 256) == bytes(256, 0));
        b.cpu.write(last, bytes(256, 0x77));
        BOOST_CHECK(b.cpu.read(last, 256) == bytes(256, 0x77));
        BOOST_CHECK(b.cpu.read(0, 256) == bytes(256, 0));
    });
}

BOOST_AUTO_TEST_CASE(bursts_of_consecutive_addresses_use_eight_channels_at_once) {
    bench b;
    b.run([&] {
        std::uint64_t t = 0;
        const auto takes = [&](std::uint64_t address, std::size_t length) {
            t += 1'000'000; // everything is idle again
            return b.read_done(address, length, t) - t;
        };
        BOOST_CHECK_EQUAL(takes(0, 1), burst_ps); // a whole burst whatever part of it is wanted
        BOOST_CHECK_EQUAL(takes(0, 256), burst_ps);
        BOOST_CHECK_EQUAL(takes(128, 256), burst_ps);           // two bursts in two channels
        BOOST_CHECK_EQUAL(takes(0, 8 * 256), burst_ps);         // one burst in each
        BOOST_CHECK_EQUAL(takes(0, 8 * 256 + 1), 2 * burst_ps); // the ninth comes to the first channel again
        BOOST_CHECK_EQUAL(takes(4096, 16384), 8 * burst_ps);    // 64 ns: KernBench's stream of 16 KiB
        BOOST_CHECK_EQUAL(takes(1, 16384), 9 * burst_ps);       // 65 bursts
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().busy_ps, (1 + 1 + 2 + 8 + 9 + 64 + 65) * burst_ps);
}

BOOST_AUTO_TEST_CASE(one_channel_serves_one_burst_at_a_time_and_others_do_not_wait_for_it) {
    bench b;
    b.run([&] {
        const std::vector<std::uint64_t> ends = b.all_done({{0, 256, 1000},
                                                            {8 * 256, 256, 1000}, // the same channel
                                                            {256, 256, 1000},     // its neighbour
                                                            {0, 256, 1000, tlm::TLM_WRITE_COMMAND}});
        BOOST_CHECK_EQUAL(ends[0], 1000 + burst_ps);
        BOOST_CHECK_EQUAL(ends[1], 1000 + 2 * burst_ps);
        BOOST_CHECK_EQUAL(ends[2], 1000 + burst_ps);
        BOOST_CHECK_EQUAL(ends[3], 1000 + 3 * burst_ps); // writes share it
    });
}

BOOST_AUTO_TEST_CASE(two_streams_share_the_bandwidth) {
    bench b;
    b.run([&] {
        std::vector<bench::access> chunks; // of 16 KiB, and behind them of another 16 KiB
        for (const unsigned base : {0u, 1u << 20})
            for (unsigned chunk = 0; chunk < 64; chunk++)
                chunks.push_back({base + chunk * 256, 256, 0});
        const std::vector<std::uint64_t> ends = b.all_done(chunks);
        BOOST_CHECK_EQUAL(*std::max_element(ends.begin(), ends.begin() + 64), 8 * burst_ps);
        BOOST_CHECK_EQUAL(*std::max_element(ends.begin() + 64, ends.end()), 16 * burst_ps);
    });
}

BOOST_AUTO_TEST_CASE(a_turn_from_read_to_write_and_the_latency_are_added) {
    hbm_slice::config config = bare<hbm_slice>();
    config.direction_switch_ps = 3000;
    config.latency_ps = 500;
    bench b(config);
    b.run([&] {
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 0), 500 + burst_ps);
        std::uint64_t t = 1'000'000;
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 0, 256, t), t + 500 + 3000 + burst_ps);
        t += 1'000'000;
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 0, 256, t), t + 500 + burst_ps);
        t += 1'000'000;
        BOOST_CHECK_EQUAL(b.read_done(0, 256, t), t + 500 + 3000 + burst_ps);
    });
}

BOOST_AUTO_TEST_CASE(debug_transport_counts_nothing) {
    bench b(of_capacity(4096));
    b.run([&] {
        bytes data(64);
        b.cpu.debug(tlm::TLM_WRITE_COMMAND, 0, data);
        b.cpu.debug(tlm::TLM_READ_COMMAND, 5000, data);
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 0), burst_ps);
    });
    const hbm_slice::statistics s = b.slice.get_statistics();
    BOOST_CHECK_EQUAL(s.writes, 0u);
    BOOST_CHECK_EQUAL(s.errors, 0u);
    BOOST_CHECK_EQUAL(s.reads, 1u);
    BOOST_CHECK_EQUAL(s.bytes_read, 256u);
}

BOOST_AUTO_TEST_CASE(a_slice_with_invalid_parameters_reports_the_cause) {
    hbm_slice::config config = bare<hbm_slice>();
    config.burst = 100;
    check_refused([&] { hbm_slice slice("slice", config); },
                  "/tlmalloc/hbm_slice/config: pseudo_channels and burst must be powers of two, "
                  "pseudo_channel_bandwidth above 0");
}

BOOST_AUTO_TEST_CASE(a_slice_without_a_profile_needs_a_bandwidth) {
    hbm_slice::config config = bare<hbm_slice>();
    config.pseudo_channel_bandwidth = 0;
    check_refused([&] { hbm_slice slice("slice", config); },
                  "/tlmalloc/hbm_slice/config: pseudo_channels and burst must be powers of two, "
                  "pseudo_channel_bandwidth above 0");
}

BOOST_AUTO_TEST_CASE(a_slice_without_bytes_cannot_be_built) {
    check_refused([&] { hbm_slice slice("slice", of_capacity(0)); },
                  "/tlmalloc/hbm_slice/config: the capacity must be at least 1 byte");
}

BOOST_AUTO_TEST_CASE(one_pseudo_channel_with_banks_takes_what_the_core_alone_takes) {
    check_against_cores(profile("hbm2"), 1);
}

BOOST_AUTO_TEST_CASE(eight_pseudo_channels_with_banks_take_what_eight_cores_take) {
    check_against_cores(profile("hbm3"), 8);
}

BOOST_AUTO_TEST_CASE(buffered_writes_are_counted_when_they_have_gone_to_their_banks) {
    bench b(with_banks(profile("hbm2"), 1));
    const auto served = [&] {
        const hbm_slice::statistics s = b.slice.get_statistics();
        return s.row_hits + s.row_misses + s.row_conflicts;
    };
    b.run([&] {
        for (unsigned i = 0; i < 20; i++)
            b.cpu.write(i * 32, bytes(32));
        BOOST_CHECK_LT(served(), 20u);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(served(), 20u);
    });
}

BOOST_AUTO_TEST_CASE(bandwidth_follows_the_profile) {
    bench b(with_banks(profile("hbm2"), 8));
    b.run([&] {
        const std::uint64_t megabyte = 1 << 20, once = b.read_done(0, megabyte, 0);
        const std::uint64_t peak_ps = megabyte * 1000 / (8 * 16); // 16 GB/s a pseudo-channel (configs/timing/hbm2.yaml)
        BOOST_CHECK_GT(once, peak_ps);
        BOOST_CHECK_LT(once, peak_ps + peak_ps / 8); // refresh takes 220 of 3900 cycles
    });
}

BOOST_AUTO_TEST_CASE(a_flat_profile_takes_the_latency_of_the_controller_only) {
    hbm_slice::config config = of_capacity(1 << 20);
    config.latency_ps = 700;
    config.timing = profile("flat");
    bench b(config);
    b.run([&] {
        const std::vector<std::uint64_t> ends = b.all_done({{0, 256, 0}, {100, 60'000, 10}, {4096, 1, 10}});
        BOOST_CHECK((ends == std::vector<std::uint64_t>{700, 710, 710}));
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().busy_ps, 0u);
}

BOOST_AUTO_TEST_CASE(a_profile_of_channels_takes_what_the_timelines_take) {
    hbm_slice::config config = of_capacity(1 << 20);
    tla_flat_channels *made = nullptr;
    const tla_flat_channels_config timelines{config.pseudo_channels, config.burst, 8000, 0, 0};
    BOOST_REQUIRE_EQUAL(tla_flat_channels_create(&timelines, &made), TLA_OK);
    std::unique_ptr<tla_flat_channels, void (*)(tla_flat_channels *)> channels(made, tla_flat_channels_destroy);
    config.timing = profile("kernbench");
    bench b(config);
    const unsigned seed = 3;
    std::mt19937 random(seed);
    b.run([&] {
        std::vector<bench::access> accesses;
        for (std::uint64_t i = 0, t = 0; i < 1000; i++, t += random() % 60000)
            accesses.push_back({random() % 900'000, 1 + random() % 6000, t});
        const std::vector<std::uint64_t> ends = b.all_done(accesses);
        for (std::size_t i = 0; i < ends.size(); i++) {
            const bench::access &a = accesses[i];
            BOOST_REQUIRE_EQUAL(ends[i],
                                tla_flat_channels_access(channels.get(), false, a.address, a.length, a.begin_ps));
        }
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().busy_ps, tla_flat_channels_busy_ps(channels.get()));
    BOOST_CHECK(!b.slice.has_banks());
}

BOOST_AUTO_TEST_CASE(a_slice_that_is_larger_than_its_profile_has_more_rows) {
    hbm_slice::config config = with_banks(profile("hbm2"), 8); // 8 x 256 MiB
    config.capacity = std::uint64_t{6} << 30;
    bench b(config);
    b.run([&] {
        const std::vector<std::uint64_t> ends =
            b.all_done({{0, 32, 0}, {32, 32, 0}, {(std::uint64_t{6} << 30) - 32, 32, 0}});
        BOOST_CHECK_EQUAL(ends[0], ends[1]);
        b.read_done(std::uint64_t{2} << 30, 32, 1'000'000); // the first bank again, another row
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().row_conflicts, 1u);
}

BOOST_AUTO_TEST_CASE(dmi_latencies_of_banks_are_those_of_a_closed_row_in_an_idle_slice) {
    hbm_slice::config config = with_banks(profile("hbm2"), 8);
    config.latency_ps = 3000; // whole cycles: commands begin with one
    bench b(config);
    b.run([&] {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_command(tlm::TLM_READ_COMMAND);
        payload.set_address(0);
        BOOST_REQUIRE(b.cpu.out->get_direct_mem_ptr(payload, dmi));
        // both in pseudo-channels and banks that nothing has touched
        const std::vector<std::uint64_t> ends = b.all_done({{0, 4, 0}, {32, 4, 0, tlm::TLM_WRITE_COMMAND}});
        BOOST_CHECK_EQUAL(to_ps(dmi.get_read_latency()), ends[0]);
        BOOST_CHECK_EQUAL(to_ps(dmi.get_write_latency()), ends[1]);
    });
}

BOOST_AUTO_TEST_CASE(a_slice_with_an_unsupported_profile_reports_the_cause) {
    check_refused([&] { hbm_slice slice("slice", with_banks(profile("hbm2"), 3)); },
                  "/tlmalloc/hbm_slice/config: timing: 3 pseudo-channels: must be a power of two, at least the 1 that "
                  "share a row-command bus");
}

BOOST_AUTO_TEST_CASE(a_slice_with_an_inconsistent_profile_reports_the_cause) {
    tla_hbm_config timing = profile("hbm2");
    timing.rc = 41;
    check_refused([&] { hbm_slice slice("slice", with_banks(timing, 8)); },
                  "/tlmalloc/hbm_slice/config: timing: rc 41 is less than ras 28 + rp 14");
}

// The second pass needs one pseudo-channel, which is free; the first one waits for another.
BOOST_AUTO_TEST_CASE(an_access_that_streams_ends_with_its_slowest_pass) {
    bench b;
    b.run([&] {
        std::vector<std::function<void()>> calls;
        for (unsigned i = 0; i < 6; i++)
            calls.push_back([&] { b.read_done(5 * 256, 256, 0); });
        std::uint64_t end_ps = 0;
        calls.push_back([&] {
            bytes data(7 * 256);
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_data_ptr(data.data());
            payload.set_data_length(7 * 256);
            payload.set_streaming_width(6 * 256);
            sc_core::sc_time delay;
            set_local_ps(delay, 1);
            BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_OK_RESPONSE);
            end_ps = local_ps(delay);
        });
        at_once(calls);
        BOOST_CHECK_EQUAL(end_ps, 7 * burst_ps);
    });
}

// The passes of an access that streams take what they take as accesses of their own, in the slice as in the TCM.
BOOST_AUTO_TEST_CASE(an_access_that_streams_is_charged_for_all_its_passes) {
    bench b;
    hbm_slice other("other", bare<hbm_slice>());
    initiator cpu("other_cpu");
    cpu.out.bind(other.in);
    b.run([&] {
        for (const unsigned width : {4u, 256u, 300u, 1000u})
            for (const unsigned length : {1000u, 1024u}) {
                sc_core::wait(1, sc_core::SC_MS); // both are idle
                const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
                bytes data(length);
                tlm::tlm_generic_payload payload;
                payload.set_write();
                payload.set_address(100);
                payload.set_data_ptr(data.data());
                payload.set_data_length(length);
                payload.set_streaming_width(width);
                sc_core::sc_time delay;
                BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_OK_RESPONSE);
                BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), now);
                std::uint64_t last = 0;
                std::vector<std::function<void()>> passes;
                for (unsigned done = 0; done < length; done += width)
                    passes.push_back([&, nbytes = std::min(width, length - done)] {
                        sc_core::sc_time pass_delay;
                        BOOST_CHECK_EQUAL(cpu.write(100, bytes(nbytes), pass_delay), tlm::TLM_OK_RESPONSE);
                        last = std::max(last, local_ps(pass_delay) - now);
                    });
                at_once(passes);
                BOOST_CHECK_EQUAL(to_ps(delay), last);
                if (width == 4) BOOST_CHECK_EQUAL(to_ps(delay), length / 4 * burst_ps);
            }
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().busy_ps, other.get_statistics().busy_ps);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().bytes_written, other.get_statistics().bytes_written);
}
