// The memory of platform/examples/qbox behind a router that follows QBox's conventions, without CCI and Lua (tests/qbox
// has both).
#include "../../platform/examples/qbox/bus_memory.hpp"
#include "random_initiator.hpp"
#include "router.hpp"

#include <boost/test/unit_test.hpp>

namespace {

// 20,000 random accesses while blocks come and go; the memory lies at the initiator's base.
void access_at_random(bool relative) {
    qbox::random_initiator initiator("initiator");
    bus_memory_settings settings;
    settings.place(relative ? 0 : initiator.base, initiator.bytes);
    bus_memory<bus_memory_settings> memory("memory", settings);
    qbox::router router("router", [&](const std::string &socket) {
        if (socket.find("control") == std::string::npos)
            return qbox::router::place{initiator.base, initiator.bytes, relative};
        return qbox::router::place{qbox::random_initiator::control, 0x1000, true};
    });
    initiator.mem.bind(router.target_socket);
    router.initiator_socket.bind(memory.target_socket);
    router.initiator_socket.bind(memory.control_socket);
    initiator.blocks_are_relative = relative;
    sc_core::sc_start();
    const qbox::random_initiator::counts &counted = initiator.counted;
    BOOST_CHECK(initiator.done);
    BOOST_CHECK_EQUAL(counted.by_call + counted.by_pointer + counted.debug, qbox::random_initiator::accesses);
    BOOST_CHECK_EQUAL(counted.wrong + counted.outside + counted.stale + counted.misplaced, 0);
    BOOST_CHECK_GT(counted.by_pointer, 1000);
    BOOST_CHECK_GT(counted.granted, 10);
    BOOST_CHECK_GT(counted.withdrawn, 10);
    BOOST_CHECK_GT(counted.freed, 10);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_through_a_router_match_a_plain_memory) {
    access_at_random(false);
}

BOOST_AUTO_TEST_CASE(random_accesses_at_relative_addresses_match_a_plain_memory) {
    access_at_random(true);
}
