// The memory of platform/examples/qbox behind a router that follows QBox's conventions, without CCI and Lua (tests/qbox
// has both).
#include "../../platform/examples/qbox/bus_memory.hpp"
#include "random_initiator.hpp"
#include "router.hpp"

#include <boost/test/unit_test.hpp>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

namespace {

// The memory has `bytes` from `base` on, the first address that arrives at target_socket.
struct settings {
    tlmalloc::memory_controller::config controller;
    tlmalloc::hbm_slice::config slice;

    settings(std::uint64_t base, std::uint64_t bytes) {
        controller.memory.layout = TLA_LAYOUT_PLAIN;
        controller.memory.of[TLA_HBM].base = base;
        controller.memory.of[TLA_HBM].bytes = slice.capacity = bytes;
        controller.memory.of[TLA_TCM].bytes = controller.memory.of[TLA_TCM].reserved = 0; // `tcm` stays unbound
    }
};

// Passes accesses on to a memory, and its withdrawals of pointers only if told so.
struct filter : sc_core::sc_module {
    tlm_utils::simple_target_socket<filter> target_socket{"target_socket"};
    tlm_utils::simple_initiator_socket<filter> memory{"memory"};
    const bool withdraws;

    filter(const sc_core::sc_module_name &name, bool withdraws_pointers)
        : sc_module(name), withdraws(withdraws_pointers) {
        target_socket.register_b_transport(this, &filter::b_transport);
        target_socket.register_transport_dbg(this, &filter::transport_dbg);
        target_socket.register_get_direct_mem_ptr(this, &filter::get_direct_mem_ptr);
        memory.register_invalidate_direct_mem_ptr(this, &filter::withdraw);
    }

  private:
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        memory->b_transport(payload, delay);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) { return memory->transport_dbg(payload); }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        return memory->get_direct_mem_ptr(payload, dmi);
    }
    void withdraw(sc_dt::uint64 first, sc_dt::uint64 last) {
        if (withdraws) target_socket->invalidate_direct_mem_ptr(first, last);
    }
};

// 20,000 random accesses while blocks come and go; the memory lies at the initiator's base. Returns the pointers that
// were kept after the FREE of their block.
unsigned access_at_random(bool relative, bool withdraws = true) {
    qbox::random_initiator initiator("initiator");
    filter between("between", withdraws);
    bus_memory<settings> memory("memory", relative ? 0 : initiator.base, initiator.bytes);
    qbox::router router("router", [&](const std::string &socket) {
        if (socket == between.target_socket.name())
            return qbox::router::place{initiator.base, initiator.bytes, relative};
        return qbox::router::place{qbox::random_initiator::control, 0x1000, true};
    });
    initiator.mem.bind(router.target_socket);
    router.initiator_socket.bind(between.target_socket);
    between.memory.bind(memory.target_socket);
    router.initiator_socket.bind(memory.control_socket);
    initiator.blocks_are_relative = relative;
    sc_core::sc_start();
    const qbox::random_initiator::counts &counted = initiator.counted;
    BOOST_CHECK(initiator.done);
    BOOST_CHECK_EQUAL(counted.by_call + counted.by_pointer + counted.debug, qbox::random_initiator::accesses);
    BOOST_CHECK_EQUAL(counted.wrong + counted.outside + counted.misplaced, 0);
    BOOST_CHECK_GT(counted.by_pointer, 1000);
    BOOST_CHECK_GT(counted.granted, 10);
    BOOST_CHECK_EQUAL(counted.withdrawn > 10, withdraws);
    BOOST_CHECK_GT(counted.freed, 10);
    return counted.stale;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_through_a_router_match_a_plain_memory) {
    BOOST_CHECK_EQUAL(access_at_random(false), 0);
}

BOOST_AUTO_TEST_CASE(random_accesses_at_relative_addresses_match_a_plain_memory) {
    BOOST_CHECK_EQUAL(access_at_random(true), 0);
}

BOOST_AUTO_TEST_CASE(a_memory_whose_pointers_stay_is_found) {
    BOOST_CHECK_GT(access_at_random(false, false), 0);
}
