// at_lt_bridge: initiators in four phases in front of a target that takes blocking calls only, and waits in them.
#include "phased_memory.hpp"
#include "random_accesses.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/at_lt_bridge.hpp"

using namespace tlmalloc;
using namespace test_initiator;
using namespace tlmalloc::testing;

namespace {

// Somebody else's memory: no phases; every other call waits, the rest annotate.
struct blocking_memory : sc_core::sc_module {
    tlm_utils::simple_target_socket<blocking_memory> in{"in"};
    std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(1 << 18);
    std::uint64_t calls = 0;
    unsigned inside = 0, peak = 0; // calls that wait

    explicit blocking_memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &blocking_memory::b_transport);
        in.register_transport_dbg(this, &blocking_memory::transport_dbg);
        in.register_get_direct_mem_ptr(this, &blocking_memory::get_direct_mem_ptr);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) {
        return debug_copy(payload, bytes.data(), bytes.size());
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.set_dmi_ptr(bytes.data());
        dmi.set_start_address(0);
        dmi.set_end_address(bytes.size() - 1);
        dmi.allow_read_write();
        return true;
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        payload.set_response_status(check_payload(payload, bytes.size()));
        if (payload.is_response_ok()) copy_payload(payload, bytes.data());
        delay += sc_core::sc_time(10, sc_core::SC_NS);
        if (calls++ % 2) return;
        peak = std::max(peak, ++inside);
        sc_core::wait(delay);
        inside--;
        delay = sc_core::SC_ZERO_TIME;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_in_four_phases_are_right) {
    at_lt_bridge::config how;
    how.outstanding = 3; // of each initiator, which has 6 together
    at_lt_bridge bridge("bridge", how);
    blocking_memory memory("memory");
    bridge.out.bind(memory.in);
    std::deque<random_accesses> all;
    for (unsigned i = 0; i < 4; i++) {
        random_accesses::settings s;
        s.base = i * 0x10000;
        s.bounded = i == 3;
        s.count = i == 0 ? 5'000 : 20'000;
        s.style = i == 0 ? coding::loosely_timed : coding::approximately_timed;
        s.seed = 50 + i;
        all.emplace_back(("initiator" + std::to_string(i)).c_str(), s).checker.out.bind(bridge.in);
    }
    sc_core::sc_start();
    for (const random_accesses &one : all) {
        one.check_all_went_well();
        BOOST_CHECK_GT(one.debug_accesses(), 100u);
        BOOST_CHECK_GT(one.direct_accesses(), 100u);
    }
    BOOST_CHECK(memory.calls == 65'000);
    BOOST_CHECK_GT(memory.peak, 3u);  // together
    BOOST_CHECK_LE(memory.peak, 10u); // of three initiators three each, and the blocking one
}

// A memory that answers the first byte of a request after as many ns as it says, by annotation or by waiting.
struct slow_memory : sc_core::sc_module {
    tlm_utils::simple_target_socket<slow_memory> in{"in"};
    unsigned inside = 0, peak = 0;

    explicit slow_memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &slow_memory::b_transport);
        in.register_get_direct_mem_ptr(this, &slow_memory::get_direct_mem_ptr);
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const double ns = *payload.get_data_ptr();
        peak = std::max(peak, ++inside);
        if (payload.get_address() == 0)
            delay += sc_core::sc_time(ns, sc_core::SC_NS);
        else
            sc_core::wait(sc_core::sc_time(ns, sc_core::SC_NS));
        inside--;
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.allow_read_write();
        return true;
    }
};

// Responses come when they are due, whether the target annotates or waits; with END_RESP 5 ns after each the next one
// is that much later.
void responses_come_when_they_are_due(std::uint64_t address, std::vector<std::uint64_t> expected,
                                      const sc_core::sc_time &response_delay, unsigned outstanding, unsigned peak) {
    at_lt_bridge::config how;
    how.outstanding = outstanding;
    at_lt_bridge bridge("bridge", how);
    slow_memory memory("memory");
    bridge.out.bind(memory.in);
    base_protocol_checker checker("checker");
    checker.out.bind(bridge.in);
    tlmalloc::testing::initiator from("from");
    from.out.bind(checker.in);
    from.style = coding::approximately_timed;
    from.ending = tlmalloc::testing::response_end::updated;
    from.response_delay = response_delay;
    test_initiator::initiator thread("thread");
    slow_memory unused("unused"); // for the thread's socket
    thread.out.bind(unused.in);
    std::vector<std::uint64_t> came;
    thread.body = [&] {
        std::uint8_t data[] = {90, 30, 60};
        std::vector<tlm::tlm_generic_payload *> all;
        for (std::uint8_t &ns : data) {
            all.push_back(&from.make(tlm::TLM_WRITE_COMMAND, address, &ns, 1));
            from.begin(*all.back());
        }
        for (tlm::tlm_generic_payload *const one : all) {
            came.push_back(to_ps(from.finish(*one)) / 1'000);
            from.give_back(*one);
        }
    };
    simulate({&thread});
    BOOST_TEST(came == expected, boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(memory.peak, peak);
    BOOST_TEST(checker.report() == "");
}

BOOST_AUTO_TEST_CASE(a_bridge_without_a_limit_is_rejected) {
    check_refused([] { at_lt_bridge bridge("bridge", {0}); }, "/tlmalloc/at/config: outstanding must be at least 1");
}

BOOST_AUTO_TEST_CASE(responses_come_in_the_order_of_their_times) {
    responses_come_when_they_are_due(0, {90, 30, 60}, sc_core::SC_ZERO_TIME, 64, 1);
}
BOOST_AUTO_TEST_CASE(responses_of_targets_that_wait_come_in_the_order_of_their_times) {
    responses_come_when_they_are_due(4, {90, 30, 60}, sc_core::SC_ZERO_TIME, 64, 3);
}
BOOST_AUTO_TEST_CASE(a_response_waits_for_the_end_of_the_one_before) {
    responses_come_when_they_are_due(4, {120, 30, 75}, sc_core::sc_time(45, sc_core::SC_NS), 64, 3);
}
// Two wait for the end of the first: the one that was due first is next, not the latest.
BOOST_AUTO_TEST_CASE(responses_that_wait_for_one_come_in_the_order_of_their_times) {
    responses_come_when_they_are_due(4, {230, 30, 130}, sc_core::sc_time(100, sc_core::SC_NS), 64, 3);
}
BOOST_AUTO_TEST_CASE(no_more_than_the_limit_are_served_together) {
    responses_come_when_they_are_due(4, {90, 30, 90}, sc_core::SC_ZERO_TIME, 2, 2); // the third begins at 30
}
BOOST_AUTO_TEST_CASE(one_at_a_time_takes_the_sum) {
    responses_come_when_they_are_due(4, {90, 120, 180}, sc_core::SC_ZERO_TIME, 1, 1);
}

// END_RESP may be sent ahead of its time: the next response does not come before it.
BOOST_AUTO_TEST_CASE(a_response_waits_for_the_end_that_is_announced_by_a_call) {
    at_lt_bridge bridge("bridge", {});
    slow_memory memory("memory");
    bridge.out.bind(memory.in);
    struct caller : sc_core::sc_module {
        tlm_utils::simple_initiator_socket<caller> out{"out"};
        std::vector<std::uint64_t> came; // BEGIN_RESP, in ns
        explicit caller(sc_core::sc_module_name name) : sc_module(name) {
            out.register_nb_transport_bw(this, &caller::nb_transport_bw);
        }
        tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                           sc_core::sc_time &delay) {
            if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
            came.push_back(to_ps(sc_core::sc_time_stamp() + delay) / 1'000);
            tlm::tlm_phase end = tlm::END_RESP;
            sc_core::sc_time later(45, sc_core::SC_NS);
            out->nb_transport_fw(payload, end, later);
            return tlm::TLM_ACCEPTED;
        }
    } from("from");
    from.out.bind(bridge.in);
    test_initiator::initiator thread("thread");
    slow_memory unused("unused"); // for the thread's socket
    thread.out.bind(unused.in);
    std::uint8_t data[] = {30, 31, 90};
    std::deque<tlm::tlm_generic_payload> all;
    thread.body = [&] {
        for (std::uint8_t &ns : data) {
            tlm::tlm_generic_payload &one = all.emplace_back();
            one.set_write();
            one.set_address(4);
            one.set_data_ptr(&ns);
            one.set_data_length(1);
            one.set_streaming_width(1);
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay;
            from.out->nb_transport_fw(one, phase, delay);
            sc_core::wait(sc_core::SC_ZERO_TIME); // END_REQ comes
            sc_core::wait(sc_core::SC_ZERO_TIME);
        }
    };
    simulate({&thread});
    BOOST_TEST(from.came == (std::vector<std::uint64_t>{30, 75, 120}), boost::test_tools::per_element());
}

// Calls that have come are answered; others are refused, and pointers go, until then.
BOOST_AUTO_TEST_CASE(a_reset_waits_for_the_calls_that_are_under_way) {
    at_lt_bridge bridge("bridge", {});
    slow_memory memory("memory");
    bridge.out.bind(memory.in);
    test_initiator::initiator cpu("cpu"), other("other");
    cpu.out.bind(bridge.in);
    other.out.bind(bridge.in);
    cpu.body = [&] { cpu.write(4, bytes(1, 50)); };
    other.body = [&] {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        BOOST_CHECK(other.out->get_direct_mem_ptr(payload, dmi));
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        bridge.reset();
        BOOST_CHECK(bridge.in_reset());
        BOOST_CHECK((other.lost == decltype(other.lost){{0, UINT64_MAX}}));
        sc_core::sc_time delay;
        bytes data(1);
        BOOST_CHECK_EQUAL(other.write(4, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK(!other.out->get_direct_mem_ptr(payload, dmi));
        sc_core::wait(sc_core::sc_time(50, sc_core::SC_NS));
        BOOST_CHECK(cpu.finished && !bridge.in_reset());
        BOOST_CHECK(other.out->get_direct_mem_ptr(payload, dmi));
        other.write(4, data);
    };
    simulate({&cpu, &other});
}
