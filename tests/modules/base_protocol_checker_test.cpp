// What an initiator can do wrong is written down by the checker; what targets can do wrong, conformance_battery_test
// shows.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>

using namespace tlmalloc;
using namespace tlmalloc::testing;
using sc_core::sc_time;

namespace {

struct bench {
    initiator from{"from"};
    base_protocol_checker checker{"checker"};
    tcm memory{"memory", memory_config()};
    std::uint8_t data[8] = {};

    static tcm::config memory_config() {
        tcm::config config = bare<tcm>();
        config.capacity = 1 << 12;
        return config;
    }

    bench() {
        sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
        from.out.bind(checker.in);
        checker.out.bind(memory.in);
        sc_core::sc_start(sc_core::SC_ZERO_TIME);
    }

    tlm::tlm_generic_payload &read() { return from.make(tlm::TLM_READ_COMMAND, 0, data, sizeof data); }

    void call(tlm::tlm_generic_payload &payload, tlm::tlm_phase phase) {
        sc_time delay;
        from.out->nb_transport_fw(payload, phase, delay);
    }

    // The rules of the violations so far.
    std::string rules() const {
        std::string all;
        for (const std::string &v : checker.violations())
            all += v.substr(0, v.find(':')) + ' ';
        return all;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_used_payload_that_is_not_set_again_is_written_down) {
    bench b;
    auto &payload = b.read();
    sc_time delay;
    b.from.out->b_transport(payload, delay);
    BOOST_TEST(b.rules() == "");
    b.from.out->b_transport(payload, delay); // the status is OK and the DMI hint set
    BOOST_TEST(b.rules() == "I1 I1 ");
    b.from.give_back(payload);
}

BOOST_AUTO_TEST_CASE(a_payload_in_flight_is_not_for_b_transport) {
    bench b;
    auto &payload = b.read();
    b.from.begin(payload);
    sc_core::sc_spawn([&] {
        sc_time delay;
        b.from.out->b_transport(payload, delay);
    });
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    BOOST_TEST(b.rules() == "I4 ");
}

BOOST_AUTO_TEST_CASE(phases_need_a_memory_manager) {
    bench b;
    tlm::tlm_generic_payload payload;
    payload.set_data_ptr(b.data);
    payload.set_data_length(8);
    payload.set_streaming_width(8);
    b.call(payload, tlm::BEGIN_REQ);
    BOOST_TEST(b.rules() == "I5 ");
}

BOOST_AUTO_TEST_CASE(a_second_request_before_end_req_is_written_down) {
    bench b;
    auto &first = b.read(), &second = b.read();
    b.call(first, tlm::BEGIN_REQ);
    b.call(second, tlm::BEGIN_REQ);
    BOOST_TEST(b.rules() == "A2 ");
}

BOOST_AUTO_TEST_CASE(the_checker_records_unexpected_phases) {
    bench b;
    auto &payload = b.read();
    b.call(payload, tlm::END_RESP);
    BOOST_TEST(b.rules() == "A1 ");
    b.call(payload, tlm::END_REQ);
    BOOST_TEST(b.rules() == "A1 A1 ");
}
