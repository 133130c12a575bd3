// A schedule of stages when the host's memory ends.
#include "host_memory/failing.hpp"
#include "model/kernel/tile_schedule.h"

#include <boost/test/unit_test.hpp>

#include <memory>

using schedule_ptr = std::unique_ptr<tla_tile_schedule, void (*)(tla_tile_schedule *)>;

BOOST_AUTO_TEST_CASE(a_schedule_without_host_memory_is_not_created_or_stays_unchanged) {
    for (std::size_t n = 0; n < 2; n++) {
        const std::size_t before = host_memory::live();
        host_memory::fail_from(n, false);
        tla_tile_schedule *const none = tla_tile_schedule_create(2);
        BOOST_CHECK_EQUAL(host_memory::stop(), 1u);
        BOOST_CHECK(!none);
        BOOST_CHECK_EQUAL(host_memory::live(), before);
    }
    tla_tile_operation operation{};
    const std::uint32_t size[] = {4, 4, 4}, tile[] = {2, 2, 2};
    BOOST_REQUIRE_EQUAL(tla_tiling_make(&operation.tiling, size, tile, nullptr), TLA_OK);
    operation.gemm = true;
    const auto make = [] { return schedule_ptr(tla_tile_schedule_create(2), tla_tile_schedule_destroy); };
    const std::size_t allocations = host_memory::exhaust(
        "add", make,
        [&](tla_tile_schedule &schedule) {
            std::uint64_t number = 0;
            return tla_tile_schedule_add(&schedule, &operation, 5, &number);
        },
        [](tla_tile_schedule &schedule) { // whether there is something to feed; put back by its end
            tla_tile_task task{};
            return std::string(tla_tile_schedule_take(&schedule, TLA_STAGE_UNIT_SCHEDULER, &task) ? "work" : "none");
        });
    BOOST_CHECK_EQUAL(allocations, 2u);
}
