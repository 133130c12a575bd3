// lt_at_bridge: blocking calls in front of memories that take four phases only, whatever way they answer in.
#include "bare.hpp"
#include "bridge_bench.hpp"
#include "random_accesses.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/lt_at_bridge.hpp"

using namespace tlmalloc;
using namespace test_initiator;
using tlmalloc::testing::bridge_bench;
using tlmalloc::testing::bridge_config;
using tlmalloc::testing::bridged_bytes;
using tlmalloc::testing::coding;
using tlmalloc::testing::phased_memory;
using tlmalloc::testing::random_accesses;
using manner = phased_memory::manner;
using ending = lt_at_bridge::response_end;

namespace {

// 20,000 accesses by four initiators, three of which make blocking calls and one requests in four phases.
void random_accesses_are_right(const lt_at_bridge::config &how, const phased_memory::settings &of) {
    bridge_bench b(how, of);
    const bool merges = !how.byte_enables && how.smallest > 1; // pointers are not for writing then
    std::deque<random_accesses> all;
    for (unsigned i = 0; i < 4; i++) {
        random_accesses::settings s;
        s.base = i * (bridged_bytes / 4);
        s.size = bridged_bytes / 4;
        s.bounded = i == 3;
        s.count = 5'000;
        s.style = i == 1 ? coding::approximately_timed : coding::loosely_timed;
        s.seed = 40 + i;
        all.emplace_back(("initiator" + std::to_string(i)).c_str(), s).checker.out.bind(b.bridge.in);
    }
    sc_core::sc_start();
    for (const random_accesses &one : all) {
        one.check_all_went_well();
        BOOST_CHECK_GT(one.debug_accesses(), 50u);
        if (!merges) BOOST_CHECK_GT(one.direct_accesses(), 50u);
    }
    b.check_all_is_over();
    BOOST_CHECK_LT(b.memory.payloads.size(), b.memory.requests / 4); // they come back
    const bool is_pipelined = of.how == manner::calls || of.how == manner::request_returned || of.how == manner::mixed;
    BOOST_CHECK_LE(b.memory.peak, how.outstanding);
    if (is_pipelined) BOOST_CHECK_EQUAL(b.memory.peak, how.outstanding);
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().merged > 0, merges);
}

void random_accesses_are_right(manner how, ending end) {
    phased_memory::settings memory;
    memory.how = how;
    random_accesses_are_right(bridge_config(end), memory);
}

// What one access of 4 KiB takes with a limit, in ps; a memory that accepts a request every ns and answers 20 ns later.
std::uint64_t page_takes(unsigned outstanding) {
    lt_at_bridge::config how = bridge_config();
    how.outstanding = outstanding;
    phased_memory::settings memory;
    memory.spread = 0;
    bridge_bench b(how, memory);
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    std::uint64_t took = 0;
    cpu.body = [&] {
        bytes page(4096);
        sc_core::sc_time delay(5, sc_core::SC_NS);
        BOOST_CHECK_EQUAL(cpu.read(0, page, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(delay == sc_core::SC_ZERO_TIME);
        took = to_ps(sc_core::sc_time_stamp()) - 5'000;
    };
    simulate({&cpu});
    b.check_all_is_over();
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().peak_outstanding, std::min(outstanding, 20u));
    return took;
}

void a_bad_config_is_refused(const lt_at_bridge::config &bad, const std::string &why) {
    check_refused([&] { lt_at_bridge bridge("bridge", bad); }, "/tlmalloc/lt_at_bridge/config: " + why);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_phases_are_calls) {
    random_accesses_are_right(manner::calls, ending::updated);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_end_req_is_returned) {
    random_accesses_are_right(manner::request_returned, ending::completed);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_begin_resp_is_returned) {
    random_accesses_are_right(manner::response_returned, ending::call);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_requests_complete_early) {
    random_accesses_are_right(manner::completed, ending::updated);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_without_end_req) {
    random_accesses_are_right(manner::no_end_request, ending::call);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_whatever_comes) {
    random_accesses_are_right(manner::mixed, ending::completed);
}
BOOST_AUTO_TEST_CASE(random_accesses_are_right_in_whole_bursts_of_any_length) {
    lt_at_bridge::config how = bridge_config();
    phased_memory::settings memory;
    memory.how = manner::mixed;
    how.powers_of_two = memory.naturally_aligned = false;
    how.smallest = memory.smallest = 32;
    how.largest = memory.largest = 256;
    how.outstanding = 3;
    random_accesses_are_right(how, memory);
}

BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_the_memory_knows_no_byte_enables) {
    lt_at_bridge::config how = bridge_config();
    phased_memory::settings memory;
    how.byte_enables = memory.byte_enables = false;
    random_accesses_are_right(how, memory);
}

BOOST_AUTO_TEST_CASE(random_accesses_are_right_where_the_memory_takes_whole_bursts_without_byte_enables) {
    lt_at_bridge::config how = bridge_config();
    phased_memory::settings memory;
    memory.how = manner::mixed;
    how.byte_enables = memory.byte_enables = false;
    how.smallest = memory.smallest = 32;
    random_accesses_are_right(how, memory);
}

BOOST_AUTO_TEST_CASE(a_memory_that_does_not_hear_completed_is_answered_otherwise) {
    phased_memory::settings memory;
    memory.deaf = true;
    random_accesses_are_right(bridge_config(ending::updated), memory);
}
BOOST_AUTO_TEST_CASE(a_memory_that_does_not_hear_completed_hears_a_call) {
    phased_memory::settings memory;
    memory.deaf = true;
    random_accesses_are_right(bridge_config(ending::call), memory);
}
BOOST_AUTO_TEST_CASE(a_memory_that_does_not_hear_completed_waits_forever_for_it) {
    phased_memory::settings memory;
    memory.deaf = true;
    bridge_bench b(bridge_config(ending::completed), memory);
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] { cpu.read(0, 128); };
    sc_core::sc_start();
    BOOST_CHECK(!cpu.finished);
}

BOOST_AUTO_TEST_CASE(one_request_at_a_time_takes_the_sum) {
    BOOST_CHECK_EQUAL(page_takes(1), 64 * 20'000u);
}
BOOST_AUTO_TEST_CASE(several_requests_overlap) {
    BOOST_CHECK_EQUAL(page_takes(32), 63 * 1'000 + 20'000u);
}

// What a request is a part of is said with it; what is ignored never comes.
BOOST_AUTO_TEST_CASE(requests_say_what_they_are_a_part_of) {
    bridge_bench b(bridge_config(), {});
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
    b.memory.on_request = [&](const tlm::tlm_generic_payload &p) {
        const auto *const extent = p.get_extension<transfer_extent>();
        parts.emplace_back(extent ? extent->before : 999, extent ? extent->after : 999);
    };
    cpu.body = [&] {
        cpu.read(32, 160);
        cpu.read(0, 64); // a whole
        bytes data(8);
        tlm::tlm_generic_payload p;
        p.set_command(tlm::TLM_IGNORE_COMMAND);
        p.set_data_ptr(data.data());
        p.set_data_length(8);
        p.set_streaming_width(8);
        sc_core::sc_time delay;
        cpu.out->b_transport(p, delay);
        BOOST_CHECK(p.is_response_ok());
        transfer_extent around; // the access is itself a part, as behind an MMU
        around.before = 1000;
        around.after = 500;
        p.set_read();
        p.set_address(60);
        p.set_extension(&around);
        cpu.out->b_transport(p, delay);
        p.clear_extension(&around);
    };
    simulate({&cpu});
    BOOST_CHECK((parts == decltype(parts){{0, 128}, {32, 64}, {96, 0}, {999, 999}, {1000, 504}, {1004, 500}}));
    b.check_all_is_over();
}

// Only where each of its requests has the hint.
BOOST_AUTO_TEST_CASE(an_access_has_the_hint_where_all_its_requests_have_it) {
    phased_memory::settings memory;
    memory.unhinted = 100;
    bridge_bench b(bridge_config(), memory);
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] {
        for (const auto &[address, hinted] : {std::pair<std::uint64_t, bool>{0, true}, {80, false}, {128, true}}) {
            bytes data(64);
            tlm::tlm_generic_payload p;
            p.set_read();
            p.set_address(address);
            p.set_data_ptr(data.data());
            p.set_data_length(64);
            p.set_streaming_width(64);
            sc_core::sc_time delay;
            cpu.out->b_transport(p, delay);
            BOOST_CHECK_EQUAL(p.is_dmi_allowed(), hinted);
        }
    };
    simulate({&cpu});
}

BOOST_AUTO_TEST_CASE(an_access_past_the_end_never_reaches_the_memory) {
    lt_at_bridge::config how = bridge_config();
    how.base = 0x1000;
    how.capacity = 0x2000;
    bridge_bench b(how, {});
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] {
        sc_core::sc_time delay;
        bytes data(64, 7);
        for (const std::uint64_t address : {0xfffull, 0x0ull, 0x3000ull, 0x2fc1ull, ~0ull, ~0ull - 62})
            BOOST_CHECK_EQUAL(cpu.write(address, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(cpu.debug(tlm::TLM_WRITE_COMMAND, 0x2fc1, data), 0u);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_address(0x3000);
        BOOST_CHECK(!cpu.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK(delay == sc_core::SC_ZERO_TIME);
        BOOST_CHECK_EQUAL(b.memory.requests, 0u);
        cpu.write(0x2fc0, data);
        cpu.write(0x1000, data);
    };
    simulate({&cpu});
    b.check_all_is_over();
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().errors, 6u);
}

BOOST_AUTO_TEST_CASE(an_access_fails_where_one_of_its_requests_does) {
    phased_memory::settings memory;
    memory.broken = 1000;
    bridge_bench b(bridge_config(), memory);
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] {
        sc_core::sc_time delay;
        bytes data(512, 0x3c);
        BOOST_CHECK_EQUAL(cpu.read(768, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE); // and brings nothing
        BOOST_CHECK(data == bytes(512, 0x3c));
        BOOST_CHECK_EQUAL(cpu.write(768, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK(cpu.read(1024, 256) == bytes(256, 0x3c));
    };
    simulate({&cpu});
}

BOOST_AUTO_TEST_CASE(direct_memory_is_clipped_and_withdrawn_and_debug_is_cut) {
    lt_at_bridge::config how = bridge_config();
    how.base = 0x1000;
    how.capacity = 0x2000;
    bridge_bench b(how, {});
    tlmalloc::testing::initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    std::vector<std::uint64_t> lost;
    cpu.on_invalidate = [&](std::uint64_t first, std::uint64_t last) { lost.insert(lost.end(), {first, last}); };
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    tlm::tlm_generic_payload payload;
    tlm::tlm_dmi dmi;
    payload.set_address(0x1234);
    BOOST_CHECK(cpu.out->get_direct_mem_ptr(payload, dmi));
    BOOST_CHECK_EQUAL(dmi.get_start_address(), 0x1000u);
    BOOST_CHECK_EQUAL(dmi.get_end_address(), 0x2fffu);
    BOOST_CHECK(dmi.get_dmi_ptr() == b.memory.bytes.data() + 0x1000);
    b.memory.withdraw(0, 0x17ff);
    b.memory.withdraw(0x4000, 0x4fff);
    BOOST_CHECK(lost == (std::vector<std::uint64_t>{0x1000, 0x17ff}));
    bytes data = pattern(300);
    payload.set_write();
    payload.set_data_ptr(data.data());
    payload.set_data_length(300);
    BOOST_CHECK_EQUAL(cpu.out->transport_dbg(payload), 300u);
    BOOST_CHECK(std::equal(data.begin(), data.end(), &b.memory.bytes[0x1234]));
    BOOST_CHECK(b.memory.faults.empty());
}

// Where the end is the target's, pointers reach to the last byte that there can be.
BOOST_AUTO_TEST_CASE(direct_memory_without_an_end_reaches_the_last_byte) {
    struct endless : sc_core::sc_module {
        tlm_utils::simple_target_socket<endless> in{"in"};
        explicit endless(sc_core::sc_module_name name) : sc_module(name) {
            in.register_get_direct_mem_ptr(this, &endless::get_direct_mem_ptr);
        }
        bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
            dmi.allow_read_write();
            dmi.set_start_address(0);
            dmi.set_end_address(UINT64_MAX);
            return true;
        }
    } memory("memory");
    lt_at_bridge::config how = bridge_config();
    how.base = 0x1000;
    how.capacity = lt_at_bridge::no_end;
    lt_at_bridge bridge("bridge", how);
    bridge.out.bind(memory.in);
    tlmalloc::testing::initiator cpu("cpu");
    cpu.out.bind(bridge.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    tlm::tlm_generic_payload payload;
    tlm::tlm_dmi dmi;
    payload.set_address(UINT64_MAX);
    BOOST_CHECK(cpu.out->get_direct_mem_ptr(payload, dmi));
    BOOST_CHECK_EQUAL(dmi.get_start_address(), 0x1000u);
    BOOST_CHECK_EQUAL(dmi.get_end_address(), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(extensions_are_lent_to_every_request) {
    bridge_bench b(bridge_config(), {});
    initiator cpu("cpu");
    requester who;
    cpu.as = &who;
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] { // the initiator's own checks see that the payload keeps what it had
        cpu.write(64, bytes(64));
        const auto &seen = b.memory.seen_extensions;
        BOOST_CHECK(std::find(seen.begin(), seen.end(), static_cast<const void *>(&who)) != seen.end());
        BOOST_CHECK_EQUAL(seen.size(), 2u); // and the one that no module knows
        cpu.as = nullptr;
        cpu.write(64, bytes(64));
        BOOST_CHECK_EQUAL(b.memory.seen_extensions.size(), 1u);
    };
    simulate({&cpu});
}

// A write arrives whole, and nothing of the caller is touched afterwards.
BOOST_AUTO_TEST_CASE(requests_complete_after_their_caller_is_killed) {
    bridge_bench b(bridge_config(), {});
    initiator cpu("cpu"), other("other");
    cpu.out.bind(b.bridge.in);
    other.out.bind(b.bridge.in);
    sc_core::sc_process_handle thread;
    cpu.body = [&] {
        thread = sc_core::sc_get_current_process_handle();
        bytes data(4096, 0x5a);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_data_ptr(data.data());
        payload.set_data_length(4096);
        payload.set_streaming_width(4096);
        sc_core::sc_time delay;
        cpu.out->b_transport(payload, delay);
        BOOST_CHECK(false);
    };
    other.body = [&] {
        sc_core::wait(sc_core::sc_time(30, sc_core::SC_NS));
        thread.kill();
        BOOST_CHECK(other.read(0, 4096) == bytes(4096, 0x5a));
        other.write(0, bytes(4096, 1));
        BOOST_CHECK(other.read(0, 4096) == bytes(4096, 1));
    };
    sc_core::sc_start();
    BOOST_CHECK(other.finished);
    b.check_all_is_over();
}

// What has been sent is answered, also where its caller is gone; what comes meanwhile is refused; pointers go.
BOOST_AUTO_TEST_CASE(a_reset_waits_for_the_requests_that_are_under_way) {
    bridge_bench b(bridge_config(), {});
    tlmalloc::testing::initiator holder("holder");
    initiator cpu("cpu"), other("other");
    holder.out.bind(b.bridge.in);
    cpu.out.bind(b.bridge.in);
    other.out.bind(b.bridge.in);
    std::vector<std::uint64_t> lost;
    holder.on_invalidate = [&](std::uint64_t first, std::uint64_t last) { lost.insert(lost.end(), {first, last}); };
    cpu.body = [&] { cpu.write(0, bytes(4096, 0x5a)); };
    other.body = [&] {
        sc_core::wait(sc_core::sc_time(10, sc_core::SC_NS));
        b.bridge.reset();
        BOOST_CHECK(b.bridge.in_reset());
        BOOST_CHECK(lost == (std::vector<std::uint64_t>{0, bridged_bytes - 1}));
        sc_core::sc_time delay;
        bytes data(4);
        BOOST_CHECK_EQUAL(other.write(0, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        BOOST_CHECK(!other.out->get_direct_mem_ptr(payload, dmi));
        sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
        BOOST_CHECK(!b.bridge.in_reset());
        BOOST_CHECK(other.read(0, 4096) == bytes(4096, 0x5a));
    };
    simulate({&cpu, &other});
    b.check_all_is_over();
}

// Mistakes of the target are counted and told.
BOOST_AUTO_TEST_CASE(responses_without_a_request_are_reported) {
    bridge_bench b(bridge_config(), {});
    initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    sc_core::sc_report_handler::set_handler(keep_report);
    cpu.body = [&] {
        cpu.read(0, 64);
        tlm::tlm_generic_payload foreign;
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay;
        BOOST_CHECK(b.memory.in->nb_transport_bw(foreign, phase, delay) == tlm::TLM_ACCEPTED);
    };
    simulate({&cpu});
    BOOST_CHECK_EQUAL(b.bridge.get_statistics().protocol_errors, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/lt_at_bridge/protocol: bridge: a response to a request that is not outstanding");
}

BOOST_AUTO_TEST_CASE(a_bridge_without_a_limit_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.outstanding = 0;
    a_bad_config_is_refused(c, "outstanding: the limit of outstanding requests must be at least 1, not 0");
}
BOOST_AUTO_TEST_CASE(a_bridge_without_an_end_is_rejected) {
    a_bad_config_is_refused({}, "capacity: must be the bytes of the memory behind the bridge, not 0, or no_end if the "
                                "target itself rejects accesses past its end");
}
BOOST_AUTO_TEST_CASE(a_memory_past_all_addresses_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.base = 0 - bridged_bytes + 1;
    a_bad_config_is_refused(c, "base + capacity: the last byte must be below 2^64");
}
BOOST_AUTO_TEST_CASE(a_largest_size_that_is_not_a_power_of_two_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.largest = 48;
    a_bad_config_is_refused(c, "largest: must be a power of two up to 2^31, not 48");
}
BOOST_AUTO_TEST_CASE(a_smallest_size_above_the_largest_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.smallest = 128;
    a_bad_config_is_refused(c, "smallest: must be a power of two up to largest = 64, not 128");
}
BOOST_AUTO_TEST_CASE(an_end_inside_a_request_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.smallest = 32;
    c.capacity = 1000;
    a_bad_config_is_refused(c, "base and capacity must be multiples of smallest = 32");
}
BOOST_AUTO_TEST_CASE(a_base_inside_a_request_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.smallest = 32;
    c.base = 1000;
    a_bad_config_is_refused(c, "base and capacity must be multiples of smallest = 32");
}
BOOST_AUTO_TEST_CASE(a_largest_size_above_that_of_a_payload_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.largest = std::uint64_t{1} << 32;
    a_bad_config_is_refused(c, "largest: must be a power of two up to 2^31, not 4294967296");
}
BOOST_AUTO_TEST_CASE(a_smallest_size_that_is_not_a_power_of_two_is_rejected) {
    lt_at_bridge::config c = bridge_config();
    c.smallest = 24;
    a_bad_config_is_refused(c, "smallest: must be a power of two up to largest = 64, not 24");
}
