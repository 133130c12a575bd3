// width_adapter between an initiator and a memory of somebody else's, which answers in every way of the protocol:
// phases come through as calls and as return values, with their times. (Modules of ours behind adapters:
// socket_names_test.)
#include "bridge_bench.hpp"
#include "random_accesses.hpp"
#include "tlmalloc/modules/width_adapter.hpp"

using namespace tlmalloc;
using namespace test_initiator;
using namespace tlmalloc::testing;
using manner = phased_memory::manner;

namespace {

random_accesses::settings accesses() {
    random_accesses::settings s;
    s.size = bridged_bytes;
    s.bounded = true;
    s.count = 20'000;
    s.seed = 77;
    return s;
}

phased_memory::settings memory_of(manner how) {
    phased_memory::settings s;
    s.how = how;
    return s;
}

// An lt_at_bridge, adapters from 32 bits to 64, to 128 and back, and a memory.
struct adapted {
    lt_at_bridge bridge{"bridge", bridge_config()};
    width_adapter<32, 64> widen{"widen"};
    width_adapter<64, 128> between{"between"};
    width_adapter<128> narrow{"narrow"};
    base_protocol_checker checker{"behind"}; // of what comes out of the adapters
    phased_memory memory;

    explicit adapted(const phased_memory::settings &of) : memory("memory", of) {
        bridge.out.bind(widen.in);
        widen.out.bind(between.in);
        between.out.bind(narrow.in);
        narrow.out.bind(checker.in);
        checker.out.bind(memory.in);
    }
    void check_all_is_over() const {
        BOOST_TEST(checker.report() == "");
        BOOST_TEST(checker.in_flight() == 0u);
        BOOST_TEST(memory.faults.size() == 0u);
        BOOST_CHECK_EQUAL(bridge.get_statistics().protocol_errors, 0u);
        BOOST_CHECK_EQUAL(bridge.get_statistics().requests, memory.requests);
    }
};

void answers_come_through(manner how) {
    adapted b(memory_of(how));
    random_accesses from("from", accesses());
    from.checker.out.bind(b.bridge.in);
    sc_core::sc_start();
    from.check_all_went_well();
    b.check_all_is_over();
}

// A page of 64 requests by a memory that accepts one every ns and answers each 20 ns later.
void a_page_takes(manner how, std::uint64_t expected_ps) {
    phased_memory::settings s = memory_of(how);
    s.spread = 0;
    adapted b(s);
    test_initiator::initiator cpu("cpu");
    cpu.out.bind(b.bridge.in);
    cpu.body = [&] {
        cpu.read(0, 4096);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), expected_ps);
    };
    simulate({&cpu});
    b.check_all_is_over();
}

} // namespace

BOOST_AUTO_TEST_CASE(phases_that_are_calls_come_through_adapters) {
    answers_come_through(manner::calls);
}
BOOST_AUTO_TEST_CASE(an_end_of_a_request_that_is_returned_comes_through_adapters) {
    answers_come_through(manner::request_returned);
}
BOOST_AUTO_TEST_CASE(a_response_that_is_returned_comes_through_adapters) {
    answers_come_through(manner::response_returned);
}
BOOST_AUTO_TEST_CASE(an_early_completion_comes_through_adapters) {
    answers_come_through(manner::completed);
}
BOOST_AUTO_TEST_CASE(answers_of_every_kind_come_through_adapters) {
    answers_come_through(manner::mixed);
}

// Eight are under way at a time, the ninth goes when the first is answered.
BOOST_AUTO_TEST_CASE(times_of_calls_come_through_adapters) {
    a_page_takes(manner::calls, 7 * 20'000 + 27'000);
}
BOOST_AUTO_TEST_CASE(times_of_returned_ends_of_requests_come_through_adapters) {
    a_page_takes(manner::request_returned, 7 * 20'000 + 27'000);
}
BOOST_AUTO_TEST_CASE(times_of_completions_come_through_adapters) {
    a_page_takes(manner::completed, 64 * 20'000);
}

BOOST_AUTO_TEST_CASE(adapters_forward_the_range_that_a_memory_withdraws_unchanged) {
    phased_memory memory("memory", {});
    width_adapter<32, 64> widen("widen");
    width_adapter<64> narrow("narrow");
    test_initiator::initiator cpu("cpu");
    cpu.out.bind(widen.in);
    widen.out.bind(narrow.in);
    narrow.out.bind(memory.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    tlm::tlm_generic_payload payload;
    tlm::tlm_dmi dmi;
    BOOST_CHECK(cpu.out->get_direct_mem_ptr(payload, dmi));
    BOOST_CHECK_EQUAL(dmi.get_end_address(), bridged_bytes - 1);
    memory.withdraw(100, 199);
    memory.withdraw(0, UINT64_MAX);
    BOOST_CHECK((cpu.lost == decltype(cpu.lost){{100, 199}, {0, UINT64_MAX}}));
}
