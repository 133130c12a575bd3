// The host's driver and its pool: threads that wait for locks, and tensors that are allocated by way of them.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"
#include "tlmalloc/modules/time.hpp"

#include <map>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

host_driver::config driver_config(tla_host_driver_kind kind, std::uint32_t devices, bool synchronous = false) {
    host_driver::config c;
    c.kind = kind;
    c.alloc_ps = 1000;
    c.free_ps = 300;
    c.synchronous = synchronous;
    c.devices = devices;
    return c;
}

// Threads that call a driver at times of their own: when each call came back.
struct threads {
    explicit threads(const host_driver::config &c) : driver("driver", c) {}

    sc_core::sc_process_handle call(std::uint64_t at_ps, std::uint32_t device, tla_host_driver_operation what,
                                    std::uint64_t work_ps = 0) {
        const std::size_t n = back.size();
        back.push_back(0);
        begun.push_back(0);
        return sc_core::sc_spawn([=] {
            sc_core::wait(from_ps(at_ps));
            const tla_status status = driver.call(device, what, [=] {
                begun[n] = now();
                if (work_ps > 0) sc_core::wait(from_ps(work_ps));
                return TLA_OK;
            });
            BOOST_CHECK_EQUAL(status, TLA_OK);
            back[n] = now();
        });
    }

    host_driver driver;
    std::vector<std::uint64_t> back, begun;
};

using times = std::vector<std::uint64_t>;

tla_config settings(std::vector<const char *> overrides) {
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                        TLA_OK);
    return config;
}

// A platform whose host does `body`.
template <typename Body>
void on_platform(const std::vector<const char *> &overrides, Body body) {
    npu platform("npu", settings(overrides), {nullptr, 0});
    bool finished = false;
    tla_error error{};
    platform.host().main = [&] {
        body(platform);
        BOOST_CHECK_MESSAGE(platform.host().cleanup(&error) == TLA_OK, error.text);
        finished = true;
    };
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(finished);
    BOOST_CHECK_EQUAL(platform.leaks(), 0u);
}

std::uint64_t commands(const npu &platform, std::size_t pe) {
    const memory_controller::statistics s = platform.pes()[pe]->controller.get_statistics(TLA_HBM);
    return s.allocs + s.frees;
}

} // namespace

BOOST_AUTO_TEST_CASE(calls_of_a_serial_driver_follow_one_another_in_the_order_in_which_they_came) {
    threads t(driver_config(TLA_HOST_DRIVER_SERIAL, 2));
    t.call(0, 0, TLA_HOST_DRIVER_ALLOC);
    t.call(10, 1, TLA_HOST_DRIVER_FREE);
    t.call(20, 0, TLA_HOST_DRIVER_ALLOC, 1500); // its command takes longer than the call's time
    t.call(30, 1, TLA_HOST_DRIVER_FREE, 200);
    sc_core::sc_start();
    BOOST_CHECK(t.back == (times{1000, 1300, 2800, 3100}));
    BOOST_CHECK_EQUAL(t.driver.get_statistics(1).foreign_waits, 2u);
    BOOST_CHECK_EQUAL(t.driver.get_statistics(1).waited_ps, 990u + 2770u);
}

BOOST_AUTO_TEST_CASE(with_a_lock_for_each_device_calls_of_two_devices_run_side_by_side) {
    threads t(driver_config(TLA_HOST_DRIVER_PER_DEVICE, 2));
    t.call(0, 0, TLA_HOST_DRIVER_ALLOC);
    t.call(10, 1, TLA_HOST_DRIVER_ALLOC);
    t.call(20, 1, TLA_HOST_DRIVER_FREE);
    sc_core::sc_start();
    BOOST_CHECK(t.back == (times{1000, 1010, 1310}));
}

BOOST_AUTO_TEST_CASE(a_synchronous_call_holds_the_lock_while_it_waits_for_its_device) {
    threads t(driver_config(TLA_HOST_DRIVER_SERIAL, 2, true));
    t.driver.wait_for_device = [](std::uint32_t device) {
        if (device == 0 && now() < 5000) sc_core::wait(from_ps(5000 - now()));
    };
    t.call(0, 0, TLA_HOST_DRIVER_FREE);
    t.call(10, 1, TLA_HOST_DRIVER_FREE);
    sc_core::sc_start();
    BOOST_CHECK(t.back == (times{5300, 5600}));
    BOOST_CHECK_EQUAL(t.driver.get_statistics(0).busy_ps, 5300u);
}

BOOST_AUTO_TEST_CASE(an_asynchronous_call_costs_its_caller_the_command_and_its_device_the_rest) {
    threads t(driver_config(TLA_HOST_DRIVER_ASYNCHRONOUS, 2));
    t.call(0, 0, TLA_HOST_DRIVER_ALLOC, 40);
    t.call(10, 0, TLA_HOST_DRIVER_FREE, 40); // its command waits for the port
    t.call(10, 1, TLA_HOST_DRIVER_FREE, 40);
    sc_core::sc_start();
    BOOST_CHECK(t.back == (times{40, 80, 50}));
    BOOST_CHECK_EQUAL(t.driver.ready_ps(0), 1300u);
    BOOST_CHECK_EQUAL(t.driver.ready_ps(1), 310u);
    BOOST_CHECK_EQUAL(t.driver.get_statistics(0).waits, 0u);
}

BOOST_AUTO_TEST_CASE(a_thread_that_is_killed_gives_its_lock_and_its_place_back) {
    threads t(driver_config(TLA_HOST_DRIVER_SERIAL, 1));
    sc_core::sc_process_handle inside = t.call(0, 0, TLA_HOST_DRIVER_ALLOC);
    sc_core::sc_process_handle waiting = t.call(10, 0, TLA_HOST_DRIVER_ALLOC);
    t.call(20, 0, TLA_HOST_DRIVER_FREE);
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(100));
        waiting.kill();
        sc_core::wait(from_ps(100));
        inside.kill();
    });
    sc_core::sc_start();
    BOOST_CHECK(t.back == (times{0, 0, 500}));
}

BOOST_AUTO_TEST_CASE(a_driver_without_a_kind_cannot_be_built_and_a_missing_device_is_rejected) {
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    BOOST_CHECK_THROW(host_driver("none", driver_config(TLA_HOST_DRIVER_NONE, 1)), sc_core::sc_report);
    BOOST_CHECK_THROW(host_driver("nobody", driver_config(TLA_HOST_DRIVER_SERIAL, 0)), sc_core::sc_report);
    host_driver driver("driver", driver_config(TLA_HOST_DRIVER_SERIAL, 1));
    BOOST_CHECK_EQUAL(driver.call(1, TLA_HOST_DRIVER_ALLOC, [] { return TLA_OK; }), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(a_tensor_waits_for_a_call_of_the_driver_for_each_of_its_parts) {
    on_platform({"system.pes_per_cube=4", "host.driver=serial", "host.driver_alloc=50 us", "host.driver_free=7 us"},
                [](npu &platform) {
                    tensor *made = nullptr;
                    tla_error error{};
                    BOOST_REQUIRE_EQUAL(
                        platform.host().create_tensor("t", 4096, 1, platform.host().everywhere(), &made, &error),
                        TLA_OK);
                    BOOST_CHECK_GE(made->alloc_ps, 200'000'000u);
                    BOOST_CHECK_LT(made->alloc_ps, 201'000'000u); // and the virtual addresses
                    const std::uint64_t before = now();
                    BOOST_CHECK_EQUAL(platform.host().free_tensor(made, &error), TLA_OK);
                    BOOST_CHECK_GE(now() - before, 28'000'000u);
                    const tla_host_driver_stats s = platform.host().driver()->get_statistics(0);
                    BOOST_CHECK_EQUAL(s.allocs, 4u);
                    BOOST_CHECK_EQUAL(s.frees, 4u);
                    BOOST_CHECK_EQUAL(s.busy_ps, 228'000'000u);
                });
}

BOOST_AUTO_TEST_CASE(after_an_asynchronous_driver_a_transfer_waits_until_the_device_has_its_memory) {
    on_platform({"system.pes_per_cube=1", "host.driver=asynchronous", "host.driver_alloc=50 us"}, [](npu &platform) {
        tensor *made = nullptr;
        tla_error error{};
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("t", 64, 1, platform.host().everywhere(), &made, &error),
                            TLA_OK);
        BOOST_CHECK_LT(now(), 10'000'000u);
        const bytes data(64, 3);
        BOOST_CHECK_EQUAL(platform.host().write_tensor(*made, data.data(), &error), TLA_OK);
        BOOST_CHECK_GT(now(), 50'000'000u);
    });
}

// As cudaFree waits for the kernels that run; another SIP's are no matter.
BOOST_AUTO_TEST_CASE(a_synchronous_driver_waits_for_what_its_sip_has_been_launched) {
    on_platform({"system.sips=2", "system.pes_per_cube=1", "host.driver=per_device", "host.driver_synchronous=true",
                 "host.driver_alloc=1 ns", "host.driver_free=1 ns"},
                [](npu &platform) {
                    host &h = platform.host();
                    tla_error error{};
                    shard busy{}, same{}, other{};
                    BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 1 << 20, &busy, &error), TLA_OK);
                    std::uint64_t ended = 0, had_other = 0;
                    sc_core::sc_event all;
                    sc_core::sc_spawn([&] {
                        tla_error of_dma{};
                        BOOST_CHECK_EQUAL(h.pe_dma(busy.pa, 1 << 20, true, 7, {{0, 0, 0}}, &of_dma), TLA_OK);
                        ended = now();
                    });
                    sc_core::sc_spawn([&] {
                        tla_error of_other{};
                        sc_core::wait(from_ps(500'000));
                        BOOST_CHECK_EQUAL(h.allocate({1, 0, 0}, TLA_HBM, 64, &other, &of_other), TLA_OK);
                        had_other = now();
                        all.notify(sc_core::SC_ZERO_TIME);
                    });
                    sc_core::wait(from_ps(500'000)); // the message is on its way
                    BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 64, &same, &error), TLA_OK);
                    BOOST_CHECK_GT(ended, 4'000'000u); // 1 MiB at 256 GB/s
                    BOOST_CHECK_GE(now(), ended);
                    while (had_other == 0)
                        sc_core::wait(all);
                    BOOST_CHECK_LT(had_other, ended);
                    for (const shard &s : {busy, same, other})
                        BOOST_CHECK_EQUAL(h.release(s, &error), TLA_OK);
                });
}

BOOST_AUTO_TEST_CASE(a_block_that_the_pool_keeps_is_given_out_again_without_a_command) {
    on_platform({"system.pes_per_cube=2", "host.driver=serial", "host.pool=caching_pool"}, [](npu &platform) {
        host &h = platform.host();
        tla_error error{};
        shard first{}, second{}, other{};
        BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 1}, TLA_HBM, 1000, &first, &error), TLA_OK);
        BOOST_CHECK_EQUAL(h.release(first, &error), TLA_OK);
        const std::uint64_t at = now();
        BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 1}, TLA_HBM, 1024, &second, &error), TLA_OK); // of the same class
        BOOST_CHECK_EQUAL(now(), at);
        BOOST_CHECK_EQUAL(second.pa.value, first.pa.value);
        BOOST_CHECK_EQUAL(commands(platform, 1), 1u);
        BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 1000, &other, &error), TLA_OK); // another memory's
        BOOST_CHECK_EQUAL(commands(platform, 0), 1u);
        BOOST_CHECK_EQUAL(h.release(second, &error), TLA_OK);
        BOOST_CHECK_EQUAL(h.release(second, &error), TLA_NOT_ALLOCATED); // once is enough
        BOOST_CHECK_EQUAL(h.release(other, &error), TLA_OK);
        const host::pool_counts counts = h.pool_statistics();
        BOOST_CHECK_EQUAL(counts.hits, 1u);
        BOOST_CHECK_EQUAL(counts.misses, 2u);
        BOOST_CHECK_EQUAL(counts.cached_bytes, 2048u);
        BOOST_CHECK_EQUAL(h.allocate({0, 0, 7}, TLA_HBM, 1000, &other, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 0, &other, &error), TLA_INVALID_ARGUMENT);
    });
}

// The pool learns of its memories one by one, as they are asked for.
BOOST_AUTO_TEST_CASE(a_pool_keeps_the_blocks_of_every_memory_of_a_large_platform_apart) {
    on_platform({"system.cube_mesh_width=4", "system.cube_mesh_height=2", "system.pes_per_cube=8",
                 "host_memory.capacity=64 MiB", "host.pool=caching_pool"},
                [](npu &platform) {
                    host &h = platform.host();
                    tla_error error{};
                    const tla_memory_kind memories[] = {TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY};
                    for (const pe_unit *pe : platform.pes())
                        for (const tla_memory_kind memory : memories) {
                            shard first{}, again{};
                            BOOST_REQUIRE_EQUAL(h.allocate(pe->where, memory, 1000, &first, &error), TLA_OK);
                            BOOST_REQUIRE_EQUAL(h.release(first, &error), TLA_OK);
                            BOOST_REQUIRE_EQUAL(h.allocate(pe->where, memory, 1000, &again, &error), TLA_OK);
                            BOOST_CHECK_EQUAL(again.pa.value, first.pa.value);
                            BOOST_CHECK_EQUAL(h.release(again, &error), TLA_OK);
                        }
                    // Of 64 PEs two memories each, of 8 cubes two, and the host's.
                    BOOST_CHECK_EQUAL(h.pool_statistics().misses, 64u * 2 + 8 * 2 + 1);
                    BOOST_CHECK_EQUAL(h.pool_statistics().hits, 64u * 5 * 2 - (64u * 2 + 8 * 2 + 1));
                });
}

// What is kept for other sizes is given back before a request fails; and what cannot be served says why.
BOOST_AUTO_TEST_CASE(a_pool_gives_back_what_it_keeps_before_a_request_fails) {
    on_platform({"system.pes_per_cube=1", "hbm.capacity_per_cube=1 MiB", "host.pool=caching_pool"}, [](npu &platform) {
        host &h = platform.host();
        tla_error error{};
        std::vector<shard> small(600);
        for (shard &s : small)
            BOOST_REQUIRE_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 1024, &s, &error), TLA_OK);
        for (const shard &s : small)
            BOOST_CHECK_EQUAL(h.release(s, &error), TLA_OK);
        shard large{}, none{};
        BOOST_CHECK_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 1 << 20, &large, &error), TLA_OK);
        BOOST_CHECK_EQUAL(h.allocate({0, 0, 0}, TLA_HBM, 4096, &none, &error), TLA_EXHAUSTED);
        BOOST_CHECK_MESSAGE(
            std::string(error.text).find("HBM of sip0.cube0.pe0 overflow: requested 4096 bytes, 0 free") !=
                std::string::npos,
            error.text);
        BOOST_CHECK_EQUAL(h.release(large, &error), TLA_OK);
    });
}

namespace {

// Threads beside each other on two SIPs: nobody gets a block that another has.
void share(const char *driver, const char *pool) {
    on_platform({"system.sips=2", "system.pes_per_cube=1", driver, pool}, [](npu &platform) {
        std::map<std::uint64_t, std::uint64_t> live; // address -> bytes
        unsigned running = 6;
        sc_core::sc_event ended;
        for (std::uint32_t i = 0; i < 6; i++)
            sc_core::sc_spawn([&, i] {
                tla_error error{};
                for (std::uint32_t k = 0; k < 50; k++) {
                    shard s{};
                    const std::uint64_t nbytes = 100 + 700 * ((k * 7 + i) % 4);
                    BOOST_REQUIRE_EQUAL(platform.host().allocate({i % 2, 0, 0}, TLA_HBM, nbytes, &s, &error), TLA_OK);
                    const auto next = live.lower_bound(s.pa.value);
                    BOOST_CHECK(next == live.end() || next->first >= s.pa.value + nbytes);
                    BOOST_CHECK(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= s.pa.value);
                    live.emplace(s.pa.value, nbytes);
                    sc_core::wait(from_ps(1000 * ((k + i) % 3)));
                    live.erase(s.pa.value);
                    BOOST_REQUIRE_EQUAL(platform.host().release(s, &error), TLA_OK);
                }
                running--;
                ended.notify(sc_core::SC_ZERO_TIME);
            });
        while (running > 0)
            sc_core::wait(ended);
        const host::pool_counts counts = platform.host().pool_statistics();
        BOOST_CHECK(counts.misses == 0 || counts.hits + counts.misses == 300);
        BOOST_CHECK_LE(counts.misses, 6u * 4);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(threads_share_controllers_and_no_block_belongs_to_two) {
    share("host.driver=none", "host.pool=none");
}
BOOST_AUTO_TEST_CASE(threads_share_a_serial_driver_and_no_block_belongs_to_two) {
    share("host.driver=serial", "host.pool=none");
}
BOOST_AUTO_TEST_CASE(threads_share_an_asynchronous_driver_and_no_block_belongs_to_two) {
    share("host.driver=asynchronous", "host.pool=none");
}
BOOST_AUTO_TEST_CASE(threads_share_a_pool_and_no_block_belongs_to_two) {
    share("host.driver=per_device", "host.pool=caching_pool");
}
BOOST_AUTO_TEST_CASE(threads_share_a_pool_before_the_controllers_and_no_block_belongs_to_two) {
    share("host.driver=none", "host.pool=caching_pool");
}
