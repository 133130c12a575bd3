// Injected faults at a slice and its controller: times, answers, counts, warnings.
#include "bare.hpp"
#include "controller_bench.hpp"
#include "tlmalloc/config.h"

using namespace controller_bench;

namespace {

tla_fault_injection plan_of(const char *text) {
    tla_fault_injection plan{};
    BOOST_REQUIRE_EQUAL(tla_fault_injection_parse(text, &plan, nullptr), TLA_OK);
    return plan;
}

struct slice_bench {
    explicit slice_bench(const char *plan) : slice_bench(config(plan)) {}
    explicit slice_bench(const hbm_slice::config &config) : slice("slice", config) { data.out.bind(slice.in); }
    static hbm_slice::config config(const char *plan) {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = slice_bytes;
        config.faults = plan_of(plan);
        config.ecc_latency_ps = 3000;
        return config;
    }
    void run(std::function<void()> body) {
        data.body = std::move(body);
        simulate({&data});
    }
    // The time of a read of 64 bytes at 0, long after their write; the bytes must be right.
    std::uint64_t run_read_ps() {
        std::uint64_t took_ps = 0;
        run([&] {
            data.write(0, pattern(64));
            sc_core::wait(1, sc_core::SC_US);
            sc_core::sc_time delay;
            const std::uint64_t begin_ps = local_ps(delay);
            bytes found(64);
            BOOST_CHECK_EQUAL(data.read(0, found, delay), tlm::TLM_OK_RESPONSE);
            BOOST_CHECK(found == pattern(64));
            took_ps = local_ps(delay) - begin_ps;
        });
        return took_ps;
    }
    hbm_slice slice;
    initiator data{"data"};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_correctable_error_adds_its_latency_and_is_counted_and_the_data_are_right) {
    slice_bench b("correctable address=10");
    BOOST_CHECK_EQUAL(b.run_read_ps(), 8000u + 3000);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().corrected, 1u);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().errors, 0u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(an_uncorrectable_error_is_answered_reported_and_counted_and_gives_no_data) {
    slice_bench b("uncorrectable at=5ns");
    b.run([&] {
        b.data.write(512, pattern(64));
        sc_core::wait(2, sc_core::SC_NS); // after the write's 8
        sc_core::sc_time delay;
        bytes data(64);
        BOOST_CHECK_EQUAL(b.data.read(512, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE); // checks the data too
        BOOST_CHECK(b.data.read(512, 64) == pattern(64));                                  // it came once
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().uncorrectable, 1u);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().errors, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/hbm_slice/ecc: slice: an uncorrectable bit error: read of 64 bytes at 512 "
                      "at 10000 ps");
}

BOOST_AUTO_TEST_CASE(each_of_two_correctable_errors_in_a_read_adds_its_latency_and_is_counted) {
    slice_bench b("correctable address=10; correctable address=20");
    BOOST_CHECK_EQUAL(b.run_read_ps(), 8000u + 2 * 3000);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().corrected, 2u);
}

BOOST_AUTO_TEST_CASE(two_uncorrectable_errors_in_a_read_are_two_errors_of_one_access) {
    slice_bench b("uncorrectable at=5ns; uncorrectable at=5ns");
    b.run([&] {
        b.data.write(512, pattern(64));
        sc_core::wait(2, sc_core::SC_NS); // after the write's 8
        sc_core::sc_time delay;
        bytes data(64);
        BOOST_CHECK_EQUAL(b.data.read(512, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().uncorrectable, 2u);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().errors, 1u);
    BOOST_CHECK_EQUAL(reports().size(), 1u);
}

BOOST_AUTO_TEST_CASE(a_failed_channel_fails_reads_and_writes_and_the_other_channels_continue) {
    slice_bench b("channel_out channel=1 at=1us");
    b.run([&] {
        b.data.write(0, pattern(2048));
        sc_core::wait(1, sc_core::SC_US);
        sc_core::sc_time delay;
        bytes data(64);
        BOOST_CHECK_EQUAL(b.data.read(300, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.data.write(200, pattern(100), delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(delay, sc_core::SC_ZERO_TIME);
        BOOST_CHECK_EQUAL(b.data.read(512, data, delay), tlm::TLM_OK_RESPONSE);
        bytes untouched(64);
        b.data.debug(tlm::TLM_READ_COMMAND, 200, untouched);
        const bytes written = pattern(2048);
        BOOST_CHECK(untouched == bytes(written.begin() + 200, written.begin() + 264));
    });
    BOOST_CHECK_EQUAL(b.slice.get_statistics().channel_errors, 2u);
    BOOST_CHECK_EQUAL(reports().size(), 2u);
}

BOOST_AUTO_TEST_CASE(no_pointer_goes_past_the_faults) {
    slice_bench b("correctable rate=1");
    b.run([&] {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_command(tlm::TLM_READ_COMMAND);
        BOOST_CHECK(!b.data.out->get_direct_mem_ptr(payload, dmi));
    });
}

BOOST_AUTO_TEST_CASE(a_failed_command_changes_nothing_and_succeeds_when_it_is_repeated) {
    memory_controller::config config = small();
    config.faults = plan_of("refuse at=1ns");
    bench b(config);
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 100)).value, hbm(0));
        sc_core::wait(1, sc_core::SC_NS);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 100)).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 100)).value, hbm(100));
    });
    BOOST_CHECK_EQUAL(b.controller.refused(), 1u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 200u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/memory_controller/fault: controller: port 0: command rejected by the fault plan");
}

BOOST_AUTO_TEST_CASE(a_failed_bank_fails_its_rows_and_the_other_banks_continue) {
    tla_hbm_config profile{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &profile), TLA_OK);
    hbm_slice::config config = slice_bench::config("channel_out channel=0 bank=4");
    config.timing = profile;
    slice_bench b(config);
    unsigned refused = 0;
    b.run([&] {
        sc_core::sc_time delay;
        for (std::uint64_t offset = 0; offset < slice_bytes; offset += 32) {
            bytes data(32);
            refused += b.data.read(offset, data, delay) == tlm::TLM_GENERIC_ERROR_RESPONSE;
        }
    });
    // One of 16 banks of one of 8 pseudo-channels; the slice holds every bank equally often.
    BOOST_CHECK_EQUAL(refused, slice_bytes / 32 / 8 / 16);
    BOOST_CHECK_EQUAL(b.slice.get_statistics().channel_errors, refused);
}
