// hbm_slice: the rules of the payload, and its time by formula.
#include "data_target.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"

using namespace tlmalloc;

namespace {

// 256 bytes at 32 GB/s: what one burst occupies its pseudo-channel for (ADR-0019, ADR-0033).
const std::uint64_t burst_ps = 8000;

struct bench {
    explicit bench(const hbm_slice::config &config = {}) : slice("slice", config) { cpu.out.bind(slice.in); }

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

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu});
    }

    hbm_slice slice;
    initiator cpu{"cpu"};
};

hbm_slice::config of_capacity(std::uint64_t capacity) {
    hbm_slice::config config;
    config.capacity = capacity;
    return config;
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
        BOOST_CHECK_EQUAL(delay, sc_core::sc_time(5, sc_core::SC_NS));
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
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 1000), 1000 + burst_ps);
        BOOST_CHECK_EQUAL(b.read_done(8 * 256, 256, 1000), 1000 + 2 * burst_ps);              // the same channel
        BOOST_CHECK_EQUAL(b.read_done(256, 256, 1000), 1000 + burst_ps);                      // its neighbour
        BOOST_CHECK_EQUAL(b.done(tlm::TLM_WRITE_COMMAND, 0, 256, 1000), 1000 + 3 * burst_ps); // writes share it
    });
}

BOOST_AUTO_TEST_CASE(a_request_that_is_simulated_late_takes_the_gap_it_would_have_found) {
    bench b;
    b.run([&] {
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 100'000), 100'000 + burst_ps);
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 20'000), 20'000 + burst_ps);
        BOOST_CHECK_EQUAL(b.read_done(0, 256, 95'000), 100'000 + 2 * burst_ps); // does not fit before
    });
}

BOOST_AUTO_TEST_CASE(two_streams_share_the_bandwidth) {
    bench b;
    const auto stream_16_kib = [&](std::uint64_t base) {
        std::uint64_t end = 0;
        for (unsigned chunk = 0; chunk < 64; chunk++)
            end = std::max(end, b.read_done(base + chunk * 256, 256, 0));
        return end;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(stream_16_kib(0), 8 * burst_ps);
        BOOST_CHECK_EQUAL(stream_16_kib(1 << 20), 16 * burst_ps);
    });
}

BOOST_AUTO_TEST_CASE(a_turn_from_read_to_write_and_the_latency_are_added) {
    hbm_slice::config config;
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

BOOST_AUTO_TEST_CASE(a_slice_that_cannot_be_built_says_why) {
    hbm_slice::config config;
    config.burst = 100;
    check_refused([&] { hbm_slice slice("slice", config); },
                  "/tlmalloc/hbm_slice/config: pseudo_channels and burst must be powers of two, "
                  "pseudo_channel_bandwidth above 0");
}

BOOST_AUTO_TEST_CASE(a_slice_without_bytes_cannot_be_built) {
    check_refused([&] { hbm_slice slice("slice", of_capacity(0)); },
                  "/tlmalloc/hbm_slice/config: the host cannot reserve address space for the capacity");
}
