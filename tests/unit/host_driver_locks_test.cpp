// The locks of the host's driver: who is next, and what is counted, against a naive model of rows.
#include "seeded_random.hpp"
#include "tlmalloc/command/host_driver.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

namespace {

using owner = std::unique_ptr<tla_host_driver, void (*)(tla_host_driver *)>;

owner make(tla_host_driver_kind kind, std::uint32_t devices) {
    const tla_host_driver_parameters parameters{kind, 100, 30, false};
    tla_host_driver *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_host_driver_create(&parameters, devices, &made), TLA_OK);
    return owner(made, tla_host_driver_destroy);
}

void enter(const owner &driver, std::uint32_t device, std::uint64_t at, tla_host_driver_call &call) {
    BOOST_REQUIRE_EQUAL(tla_host_driver_enter(driver.get(), device, TLA_HOST_DRIVER_ALLOC, at, &call), TLA_OK);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_serial_driver_lets_calls_of_all_devices_in_one_after_the_other) {
    const owner driver = make(TLA_HOST_DRIVER_SERIAL, 3);
    tla_host_driver_call a{}, b{}, c{};
    enter(driver, 0, 10, a);
    enter(driver, 1, 11, b);
    enter(driver, 0, 12, c);
    BOOST_CHECK(a.inside && !b.inside && !c.inside);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &a, 110) == &b);
    BOOST_CHECK(b.inside && !c.inside);
    BOOST_CHECK_EQUAL(b.entered_ps, 110u);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &b, 210) == &c);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &c, 310) == nullptr);
    const tla_host_driver_stats zero = tla_host_driver_get_stats(driver.get(), 0),
                                one = tla_host_driver_get_stats(driver.get(), 1);
    BOOST_CHECK_EQUAL(zero.allocs, 2u);
    BOOST_CHECK_EQUAL(zero.waits, 1u);
    BOOST_CHECK_EQUAL(zero.foreign_waits, 1u);
    BOOST_CHECK_EQUAL(zero.waited_ps, 198u);
    BOOST_CHECK_EQUAL(zero.busy_ps, 200u);
    BOOST_CHECK_EQUAL(one.waited_ps, 99u);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 2).allocs, 0u);
}

BOOST_AUTO_TEST_CASE(with_a_lock_for_each_device_devices_never_wait_for_each_other) {
    const owner driver = make(TLA_HOST_DRIVER_PER_DEVICE, 2);
    tla_host_driver_call a{}, b{}, c{};
    enter(driver, 0, 0, a);
    enter(driver, 1, 0, b);
    enter(driver, 1, 5, c);
    BOOST_CHECK(a.inside && b.inside && !c.inside);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &a, 50) == nullptr);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &b, 60) == &c);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 1).foreign_waits, 0u);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 1).waits, 1u);
    tla_host_driver_leave(driver.get(), &c, 70);
}

BOOST_AUTO_TEST_CASE(an_asynchronous_driver_lets_everybody_in_and_its_device_works_in_order) {
    const owner driver = make(TLA_HOST_DRIVER_ASYNCHRONOUS, 2);
    tla_host_driver_call a{}, b{};
    enter(driver, 0, 0, a);
    enter(driver, 0, 0, b);
    BOOST_CHECK(a.inside && b.inside);
    BOOST_CHECK_EQUAL(tla_host_driver_ready_ps(driver.get(), 0), 0u);
    BOOST_CHECK_EQUAL(tla_host_driver_post(driver.get(), 0, TLA_HOST_DRIVER_ALLOC, 10), 110u);
    BOOST_CHECK_EQUAL(tla_host_driver_post(driver.get(), 0, TLA_HOST_DRIVER_FREE, 20), 140u);
    BOOST_CHECK_EQUAL(tla_host_driver_post(driver.get(), 1, TLA_HOST_DRIVER_FREE, 20), 50u);
    BOOST_CHECK_EQUAL(tla_host_driver_post(driver.get(), 0, TLA_HOST_DRIVER_FREE, 200), 230u);
    BOOST_CHECK_EQUAL(tla_host_driver_ready_ps(driver.get(), 0), 230u);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &b, 5) == nullptr);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &a, 5) == nullptr);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 0).busy_ps, 160u);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 0).waits, 0u);
}

BOOST_AUTO_TEST_CASE(a_caller_that_gives_up_while_it_waits_leaves_its_place_to_the_next_callers) {
    const owner driver = make(TLA_HOST_DRIVER_SERIAL, 1);
    tla_host_driver_call a{}, b{}, c{};
    enter(driver, 0, 0, a);
    enter(driver, 0, 1, b);
    enter(driver, 0, 2, c);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &b, 3) == nullptr);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &a, 10) == &c);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &c, 20) == nullptr);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 0).allocs, 2u);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 0).waited_ps, 8u);
}

BOOST_AUTO_TEST_CASE(invalid_drivers_and_devices_are_rejected) {
    tla_host_driver_parameters parameters{TLA_HOST_DRIVER_SERIAL, 0, 0, false};
    tla_host_driver *made = nullptr;
    BOOST_CHECK_EQUAL(tla_host_driver_create(&parameters, 0, &made), TLA_INVALID_ARGUMENT);
    parameters.kind = TLA_HOST_DRIVER_KIND_COUNT;
    BOOST_CHECK_EQUAL(tla_host_driver_create(&parameters, 1, &made), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!made);
    tla_host_driver_destroy(nullptr);
    const owner driver = make(TLA_HOST_DRIVER_PER_DEVICE, 2);
    tla_host_driver_call call{};
    BOOST_CHECK_EQUAL(tla_host_driver_enter(driver.get(), 2, TLA_HOST_DRIVER_FREE, 0, &call), TLA_OUT_OF_RANGE);
    BOOST_CHECK(!call.inside);
    BOOST_CHECK(tla_host_driver_leave(driver.get(), &call, 0) == nullptr);
    BOOST_CHECK_EQUAL(tla_host_driver_get_stats(driver.get(), 2).frees, 0u);
    BOOST_CHECK_EQUAL(tla_host_driver_price(driver.get(), TLA_HOST_DRIVER_FREE), 30u);
}

// A naive driver: rows of numbers. Who is inside, and every wait, is the same.
BOOST_AUTO_TEST_CASE(random_calls_come_in_as_in_a_naive_row) {
    for (const tla_host_driver_kind kind : {TLA_HOST_DRIVER_SERIAL, TLA_HOST_DRIVER_PER_DEVICE}) {
        seeded_random random(kind);
        constexpr std::uint32_t devices = 5;
        const owner driver = make(kind, devices);
        std::deque<tla_host_driver_call> calls; // stay where they are
        std::vector<std::deque<std::size_t>> rows(kind == TLA_HOST_DRIVER_SERIAL ? 1 : devices);
        std::vector<std::uint64_t> asked, waited(devices), frees(devices);
        std::uint64_t now = 0;
        for (int i = 0; i < 20000; i++) {
            now += random.between(0, 49);
            const auto device = static_cast<std::uint32_t>(random.between(0, devices - 1));
            auto &row = rows[device % rows.size()];
            if (random.one_in(2) || row.empty()) {
                calls.emplace_back();
                asked.push_back(now);
                BOOST_REQUIRE_EQUAL(
                    tla_host_driver_enter(driver.get(), device, TLA_HOST_DRIVER_FREE, now, &calls.back()), TLA_OK);
                row.push_back(calls.size() - 1);
                BOOST_REQUIRE_EQUAL(calls.back().inside, row.size() == 1);
                frees[device] += row.size() == 1;
                continue;
            }
            const std::size_t at = random.one_in(4) ? random.between(0, row.size() - 1) : 0, gone = row[at];
            row.erase(row.begin() + static_cast<std::ptrdiff_t>(at));
            tla_host_driver_call *const next = tla_host_driver_leave(driver.get(), &calls[gone], now);
            if (at > 0 || row.empty()) {
                BOOST_REQUIRE(!next);
                continue;
            }
            BOOST_REQUIRE(next == &calls[row[0]] && next->inside);
            waited[next->device] += now - asked[row[0]];
            frees[next->device]++;
        }
        for (std::uint32_t device = 0; device < devices; device++) {
            const tla_host_driver_stats s = tla_host_driver_get_stats(driver.get(), device);
            BOOST_CHECK_EQUAL(s.waited_ps, waited[device]);
            BOOST_CHECK_EQUAL(s.frees, frees[device]);
        }
    }
}
