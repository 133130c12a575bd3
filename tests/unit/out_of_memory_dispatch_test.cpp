// Dispatchers and owners of slices on a host without memory: a launch that cannot be made has not begun, and can be
// made again.
#include "host_memory/owner.hpp"

#include "model/command/dispatch.h"
#include "model/command/slice_owner.h"

using namespace host_memory;

namespace {

tla_dispatch_route route_of(std::uint32_t cube) {
    tla_dispatch_route route{(cube + 1ull) << 24, {}, 100, 1};
    route.pes.cubes[cube] = 0xFF;
    return route;
}

struct launching {
    launching() {
        const tla_dispatch_route routes[] = {route_of(0), route_of(1)};
        BOOST_REQUIRE_EQUAL(tla_dispatcher_create(routes, 2, 0, 0, &dispatcher.made), TLA_OK);
        command->opcode = TLA_OP_LAUNCH;
        command->programs = 16;
        command->pes.cubes[0] = command->pes.cubes[1] = 0xFF;
    }
    ~launching() { tla_dispatch_destroy(begun); }

    tla_status begin() {
        tla_location at{};
        return tla_dispatch_begin(dispatcher.made, command.get(), TLA_TARGET_M_CPU, 0, 7, &begun, &at);
    }
    // Nothing is under way, and the PEs are free; or all of it.
    std::string look() {
        tla_location at{};
        return line(begun != nullptr, tla_dispatcher_check(dispatcher.made, command.get(), 7, &at));
    }

    owner<tla_dispatcher, tla_dispatcher_destroy> dispatcher;
    std::unique_ptr<tla_command> command = std::make_unique<tla_command>();
    tla_dispatch *begun = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_launch_without_host_memory_begins_nowhere) {
    const tla_dispatch_route routes[] = {route_of(0), route_of(1)};
    check_creation<owner<tla_dispatcher, tla_dispatcher_destroy>>(
        "dispatcher", [&](tla_dispatcher **made) { return tla_dispatcher_create(routes, 2, 0, 0, made); });
    BOOST_CHECK_EQUAL(exhaust(
                          "begin", [] { return std::make_unique<launching>(); }, [](launching &l) { return l.begin(); },
                          [](launching &l) { return l.look(); }),
                      3u);
}

BOOST_AUTO_TEST_CASE(an_owner_of_slices_without_host_memory_is_none) {
    const tla_owned_slice slices[] = {{0x1000, {1ull << 32}, {TLA_LOCATION_PE, 0, 0, 0}},
                                      {0x2000, {2ull << 32}, {TLA_LOCATION_PE, 0, 0, 1}}};
    const tla_lockstep_config config{2, 0, 1 << 20, 64, TLA_BOTTOM_UP};
    check_creation<owner<tla_slice_owner, tla_slice_owner_destroy>>(
        "slice_owner", [&](tla_slice_owner **made) { return tla_slice_owner_create(slices, &config, made); });
}
