// What an lt_at_bridge makes of a target's answers: errors, mistakes against the protocol, debug accesses that are cut,
// what is withdrawn at the edges of its range.
#include "bare.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"

#include <tlm_utils/simple_target_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t base = 0x1000, capacity = 0x1000;
const sc_core::sc_time ns(1, sc_core::SC_NS);
TLM_DECLARE_EXTENDED_PHASE(of_another_protocol);

// A target that answers as a test says; requests that it accepts are answered by later calls of the test.
struct scripted_target : sc_core::sc_module {
    tlm_utils::simple_target_socket<scripted_target> in{"in"};
    std::function<tlm::tlm_sync_enum(tlm::tlm_generic_payload &, tlm::tlm_phase &, sc_core::sc_time &)> on_request;
    std::function<unsigned(tlm::tlm_generic_payload &)> on_debug;
    std::vector<tlm::tlm_generic_payload *> requests; // that came, all held

    explicit scripted_target(sc_core::sc_module_name name) : sc_module(name) {
        in.register_nb_transport_fw(this, &scripted_target::nb_transport_fw);
        in.register_transport_dbg(this, &scripted_target::transport_dbg);
        in.register_get_direct_mem_ptr(this, &scripted_target::get_direct_mem_ptr);
    }
    ~scripted_target() override {
        for (tlm::tlm_generic_payload *const one : requests)
            one->release();
    }
    tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay) {
        if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
        payload.acquire();
        requests.push_back(&payload);
        return on_request ? on_request(payload, phase, delay) : tlm::TLM_ACCEPTED;
    }
    // Calls the bridge about the latest request.
    tlm::tlm_sync_enum say(tlm::tlm_phase phase, tlm::tlm_response_status status = tlm::TLM_OK_RESPONSE) {
        sc_core::sc_time delay;
        requests.back()->set_response_status(status);
        return in->nb_transport_bw(*requests.back(), phase, delay);
    }
    unsigned transport_dbg(tlm::tlm_generic_payload &payload) { return on_debug(payload); }
    bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
        dmi.set_start_address(0);
        dmi.set_end_address(UINT64_MAX);
        dmi.allow_read_write();
        return true;
    }
};

struct scripted_bench {
    lt_at_bridge bridge;
    scripted_target target{"target"};
    initiator cpu{"cpu"};

    static lt_at_bridge::config config() {
        lt_at_bridge::config c;
        c.base = base;
        c.capacity = capacity;
        return c;
    }
    explicit scripted_bench(const lt_at_bridge::config &how = config()) : bridge("bridge", how) {
        bridge.out.bind(target.in);
        cpu.out.bind(bridge.in);
    }
    // One access of four requests, the target's answers to which say `statuses`.
    tlm::tlm_response_status answer_to(const std::vector<tlm::tlm_response_status> &statuses) {
        target.on_request = [&](tlm::tlm_generic_payload &payload, tlm::tlm_phase &, sc_core::sc_time &) {
            payload.set_response_status(statuses[(payload.get_address() - base) / 64]);
            return tlm::TLM_COMPLETED;
        };
        sc_core::sc_time delay;
        bytes data(64 * statuses.size());
        return cpu.write(base, data, delay);
    }
};

// The target says `said` about a request; the bridge tells `expected`, and the access ends as if nothing had been.
void a_mistake_is_told(const std::string &expected, const std::function<void(scripted_bench &)> &say) {
    scripted_bench b;
    sc_core::sc_report_handler::set_handler(keep_report);
    initiator other("other"); // the target's thread
    other.out.bind(b.bridge.in);
    b.cpu.body = [&] {
        b.cpu.write(base, bytes(64, 1));
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), 20'000u);
        b.target.on_request = [](auto &payload, auto &, auto &) {
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
            return tlm::TLM_COMPLETED;
        };
        sc_core::wait(20 * ns);
        b.cpu.write(base, bytes(64, 1)); // it goes on
    };
    other.body = [&] {
        sc_core::wait(10 * ns);
        say(b);
        sc_core::wait(20 * ns - sc_core::sc_time_stamp());
        if (b.target.requests.back()->get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE)
            b.target.say(tlm::BEGIN_RESP);
    };
    simulate({&b.cpu, &other});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().protocol_errors, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/lt_at_bridge/protocol: bridge: " + expected);
}

} // namespace

BOOST_AUTO_TEST_CASE(an_access_has_the_first_error_of_its_requests) {
    scripted_bench b;
    b.cpu.body = [&] {
        BOOST_CHECK_EQUAL(b.answer_to({tlm::TLM_OK_RESPONSE, tlm::TLM_BURST_ERROR_RESPONSE,
                                       tlm::TLM_COMMAND_ERROR_RESPONSE, tlm::TLM_OK_RESPONSE}),
                          tlm::TLM_BURST_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.answer_to({tlm::TLM_OK_RESPONSE, tlm::TLM_OK_RESPONSE, tlm::TLM_ADDRESS_ERROR_RESPONSE}),
                          tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.answer_to({tlm::TLM_OK_RESPONSE, tlm::TLM_OK_RESPONSE}), tlm::TLM_OK_RESPONSE);
    };
    simulate({&b.cpu});
    const lt_at_bridge::statistics counts = b.bridge.get_statistics();
    BOOST_CHECK_EQUAL(counts.accesses, 3u);
    BOOST_CHECK_EQUAL(counts.errors, 2u);
    BOOST_CHECK_EQUAL(counts.requests, 9u);
}

// A target that ends a request and says nothing has not made it.
BOOST_AUTO_TEST_CASE(an_answer_without_a_status_is_an_error) {
    scripted_bench b;
    b.cpu.body = [&] {
        BOOST_CHECK_EQUAL(b.answer_to({tlm::TLM_OK_RESPONSE, tlm::TLM_INCOMPLETE_RESPONSE}),
                          tlm::TLM_GENERIC_ERROR_RESPONSE);
    };
    simulate({&b.cpu});
}

BOOST_AUTO_TEST_CASE(a_second_response_is_reported) {
    a_mistake_is_told("a second response to a request", [](scripted_bench &b) {
        sc_core::wait(10 * ns);
        b.target.say(tlm::BEGIN_RESP);
        b.target.say(tlm::BEGIN_RESP);
    });
}
BOOST_AUTO_TEST_CASE(a_second_end_of_a_request_is_reported) {
    a_mistake_is_told("END_REQ for a request that has ended", [](scripted_bench &b) {
        b.target.say(tlm::END_REQ, tlm::TLM_INCOMPLETE_RESPONSE);
        sc_core::wait(1 * ns);
        b.target.say(tlm::END_REQ, tlm::TLM_INCOMPLETE_RESPONSE);
    });
}
BOOST_AUTO_TEST_CASE(an_initiators_phase_from_a_target_is_reported) {
    a_mistake_is_told("an initiator's phase on the backward path",
                      [](scripted_bench &b) { b.target.say(tlm::END_RESP, tlm::TLM_INCOMPLETE_RESPONSE); });
}
BOOST_AUTO_TEST_CASE(a_request_from_a_target_is_reported) {
    a_mistake_is_told("an initiator's phase on the backward path",
                      [](scripted_bench &b) { b.target.say(tlm::BEGIN_REQ, tlm::TLM_INCOMPLETE_RESPONSE); });
}

// The request is as good as accepted: its answer may still come.
BOOST_AUTO_TEST_CASE(an_update_to_a_phase_out_of_order_is_reported) {
    scripted_bench b;
    sc_core::sc_report_handler::set_handler(keep_report);
    initiator other("other");
    other.out.bind(b.bridge.in);
    b.target.on_request = [](auto &, tlm::tlm_phase &phase, auto &) {
        phase = tlm::END_RESP;
        return tlm::TLM_UPDATED;
    };
    b.cpu.body = [&] { b.cpu.write(base, bytes(8, 1)); };
    other.body = [&] {
        sc_core::wait(10 * ns);
        b.target.say(tlm::BEGIN_RESP);
    };
    simulate({&b.cpu, &other});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().protocol_errors, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK(reports()[0].find("TLM_UPDATED to BEGIN_REQ with a phase that cannot follow it") != std::string::npos);
}

// Phases of other protocols are ignorable (15.2.5).
BOOST_AUTO_TEST_CASE(an_unknown_phase_is_ignored) {
    scripted_bench b;
    initiator other("other");
    other.out.bind(b.bridge.in);
    b.cpu.body = [&] { b.cpu.write(base, bytes(8, 1)); };
    other.body = [&] {
        sc_core::wait(10 * ns);
        BOOST_CHECK(b.target.say(of_another_protocol, tlm::TLM_INCOMPLETE_RESPONSE) == tlm::TLM_ACCEPTED);
        sc_core::wait(10 * ns);
        b.target.say(tlm::BEGIN_RESP);
        sc_core::wait(1 * ns);
        BOOST_CHECK(b.cpu.finished);
    };
    simulate({&b.cpu, &other});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().protocol_errors, 0u);
}

// What is answered is what a debugger may rely on: the bytes up to the first that was not reached.
BOOST_AUTO_TEST_CASE(a_debug_access_ends_where_the_target_ends_it) {
    scripted_bench b;
    std::vector<std::uint64_t> asked;
    b.target.on_debug = [&](tlm::tlm_generic_payload &payload) {
        asked.push_back(payload.get_address());
        return payload.get_address() == base + 64 ? 10u : payload.get_data_length();
    };
    b.cpu.body = [&] {
        bytes data(256);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, base, data), 74u);
        BOOST_TEST(asked == (std::vector<std::uint64_t>{base, base + 64}), boost::test_tools::per_element());
        asked.clear();
        data.resize(60);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_WRITE_COMMAND, base + 130, data), 60u);
        BOOST_TEST(asked == (std::vector<std::uint64_t>{base + 130}), boost::test_tools::per_element());
    };
    simulate({&b.cpu});
}

BOOST_AUTO_TEST_CASE(an_invalidation_at_an_edge_is_forwarded_and_one_outside_is_not) {
    scripted_bench b;
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const std::uint64_t last = base + capacity - 1;
    b.target.in->invalidate_direct_mem_ptr(0, base - 1);
    b.target.in->invalidate_direct_mem_ptr(last + 1, UINT64_MAX);
    BOOST_CHECK(b.cpu.lost.empty());
    b.target.in->invalidate_direct_mem_ptr(0, base);
    b.target.in->invalidate_direct_mem_ptr(last, UINT64_MAX);
    b.target.in->invalidate_direct_mem_ptr(base + 5, base + 5);
    b.target.in->invalidate_direct_mem_ptr(0, UINT64_MAX);
    BOOST_CHECK((b.cpu.lost == decltype(b.cpu.lost){{base, base}, {last, last}, {base + 5, base + 5}, {base, last}}));
}

BOOST_AUTO_TEST_CASE(a_bridge_without_dmi_gives_neither_hints_nor_pointers) {
    lt_at_bridge::config how = scripted_bench::config();
    how.dmi = false;
    scripted_bench b(how);
    b.target.on_request = [](tlm::tlm_generic_payload &payload, auto &, auto &) {
        payload.set_dmi_allowed(true);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        return tlm::TLM_COMPLETED;
    };
    b.cpu.body = [&] {
        bytes data(4);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_read();
        payload.set_address(base);
        payload.set_data_ptr(data.data());
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        sc_core::sc_time delay;
        b.cpu.out->b_transport(payload, delay);
        BOOST_CHECK(payload.is_response_ok() && !payload.is_dmi_allowed());
        BOOST_CHECK(!b.cpu.out->get_direct_mem_ptr(payload, dmi));
    };
    simulate({&b.cpu});
}

// What was moved of the access, not what the requests are made wider by.
BOOST_AUTO_TEST_CASE(the_bytes_that_are_counted_are_those_of_accesses) {
    lt_at_bridge::config how = scripted_bench::config();
    how.smallest = 32;
    scripted_bench b(how);
    b.cpu.body = [&] {
        b.target.on_request = [](auto &payload, auto &, auto &) {
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
            return tlm::TLM_COMPLETED;
        };
        b.cpu.write(base + 3, bytes(100, 1));
        b.cpu.read(base + 64, 7);
    };
    simulate({&b.cpu});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().bytes, 107u);
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().requests, 5u); // four of 32 bytes and one
}

// What a target hangs on a payload goes with it, and the next request has none of it.
BOOST_AUTO_TEST_CASE(an_extension_that_the_target_leaves_goes_with_its_request) {
    scripted_bench b;
    unsigned came = 0, with = 0;
    b.target.on_request = [&](auto &payload, auto &, auto &) {
        came++;
        with += payload.template get_extension<transfer_extent>() != nullptr;
        payload.set_auto_extension(new transfer_extent);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        b.target.requests.pop_back();
        payload.release();
        return tlm::TLM_COMPLETED;
    };
    b.cpu.body = [&] {
        for (unsigned i = 0; i < 10; i++)
            b.cpu.write(base, bytes(64, 1));
    };
    simulate({&b.cpu});
    BOOST_CHECK_EQUAL(came, 10u);
    BOOST_CHECK_EQUAL(with, 0u);
}

// Four together and then one: the waveform has each step, the statistics the most.
BOOST_AUTO_TEST_CASE(requests_without_an_answer_are_seen) {
    scratch_directory scratch;
    scripted_bench b;
    waveform wave(scratch.path("wave.vcd"));
    b.bridge.record(wave);
    initiator other("other");
    other.out.bind(b.bridge.in);
    b.cpu.body = [&] {
        b.cpu.write(base, bytes(256, 1));
        b.cpu.write(base, bytes(64, 1));
    };
    other.body = [&] {
        for (unsigned answered = 0; answered < 5;) {
            sc_core::wait(ns);
            if (b.target.requests.size() < (answered < 4 ? 4u : 5u)) {
                b.target.say(tlm::END_REQ, tlm::TLM_INCOMPLETE_RESPONSE);
                continue;
            }
            tlm::tlm_phase phase = tlm::BEGIN_RESP;
            sc_core::sc_time delay;
            tlm::tlm_generic_payload &next = *b.target.requests[answered++];
            next.set_response_status(tlm::TLM_OK_RESPONSE);
            b.target.in->nb_transport_bw(next, phase, delay);
        }
    };
    simulate({&b.cpu, &other});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().peak_outstanding, 4u);
    BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    const std::string text = read_text(scratch.path("wave.vcd"));
    std::vector<std::string> steps;
    for (std::size_t at = text.find("\nb"); at != std::string::npos; at = text.find("\nb", at + 1))
        steps.push_back(text.substr(at + 2, text.find(' ', at) - at - 2));
    // The fifth is sent when the fourth is answered.
    BOOST_TEST(steps == (std::vector<std::string>{"0", "1", "10", "11", "100", "11", "10", "1", "0"}),
               boost::test_tools::per_element());
}

namespace {

// A store conditional of `nbytes` at `address`; whether it says that it was made.
tlm::tlm_response_status store_conditional(scripted_bench &b, std::uint64_t address, std::size_t nbytes, bool &made) {
    requester who(0, 3);
    who.exclusive = true;
    b.cpu.as = &who;
    sc_core::sc_time delay;
    const tlm::tlm_response_status status = b.cpu.write(address, bytes(nbytes, 1), delay);
    b.cpu.as = nullptr;
    made = who.exclusive;
    return status;
}

} // namespace

// Nobody ignores that an access is exclusive.
BOOST_AUTO_TEST_CASE(an_exclusive_access_is_rejected_where_the_target_keeps_no_reservations) {
    scripted_bench b;
    b.cpu.body = [&] {
        bool made = false;
        BOOST_CHECK_EQUAL(store_conditional(b, base, 8, made), tlm::TLM_COMMAND_ERROR_RESPONSE);
        requester who(0, 3);
        who.exclusive = true;
        b.cpu.as = &who;
        bytes data(8);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.read(base, data, delay), tlm::TLM_COMMAND_ERROR_RESPONSE);
        b.cpu.as = nullptr;
    };
    simulate({&b.cpu});
    BOOST_CHECK(b.target.requests.empty());
}
BOOST_AUTO_TEST_CASE(an_exclusive_access_is_one_request_or_none) {
    lt_at_bridge::config how = scripted_bench::config();
    how.exclusive = true;
    how.smallest = 4;
    scripted_bench b(how);
    bool makes = true;
    b.target.on_request = [&](auto &payload, auto &, auto &) {
        auto *const who = payload.template get_extension<requester>();
        BOOST_CHECK(who && who->exclusive && who->initiator == 3);
        who->exclusive = makes;
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        return tlm::TLM_COMPLETED;
    };
    b.cpu.body = [&] {
        bool made = false;
        BOOST_CHECK_EQUAL(store_conditional(b, base + 8, 8, made), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(made);
        makes = false;
        BOOST_CHECK_EQUAL(store_conditional(b, base + 8, 8, made), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(!made);
        BOOST_CHECK_EQUAL(b.target.requests.size(), 2u);
        for (const auto &[address, nbytes] : {std::pair<std::uint64_t, std::size_t>{base + 4, 8}, // two by alignment
                                              {base + 60, 8},                                     // over a boundary
                                              {base + 2, 2},                                      // wider
                                              {base, 128}})                                       // too long
            BOOST_CHECK_EQUAL(store_conditional(b, address, nbytes, made), tlm::TLM_COMMAND_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.target.requests.size(), 2u);
    };
    simulate({&b.cpu});
}
