// target_socket: who may bind, what a target gets that says nothing, and what reaches its initiators.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <tlm_utils/multi_passthrough_initiator_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

// Answers every access, and remembers whose it was.
struct answering : sc_core::sc_module, private access_target {
    target_socket<0> in{"in", *this, 4};
    std::vector<unsigned> inputs;
    explicit answering(sc_core::sc_module_name name) : sc_module(name) {}

  private:
    void serve(unsigned input, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) override {
        inputs.push_back(input);
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        delay += sc_core::sc_time(7, sc_core::SC_NS);
    }
};

struct pointer_holder : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<pointer_holder> out{"out"};
    std::vector<std::uint64_t> lost;
    explicit pointer_holder(sc_core::sc_module_name name) : sc_module(name) {
        out.register_invalidate_direct_mem_ptr(this, &pointer_holder::withdraw);
    }
    void withdraw(sc_dt::uint64 first, sc_dt::uint64 last) { lost.insert(lost.end(), {first, last}); }
};

// A memory that somebody wraps: the socket of the outer module is that of the inner one.
struct wrapper : sc_core::sc_module {
    tlm::tlm_target_socket<32> in{"in"};
    tcm memory;
    wrapper(sc_core::sc_module_name name, const tcm::config &config) : sc_module(name), memory("memory", config) {
        in.bind(memory.in);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_memory_inside_a_module_is_reached_through_its_socket) {
    tcm::config config = bare<tcm>();
    config.latency_ps = 250;
    wrapper outer("outer", config);
    initiator cpu("cpu");
    cpu.out.bind(outer.in);
    cpu.body = [&] {
        const bytes data = pattern(512);
        sc_core::sc_time delay;
        const std::uint64_t begin = local_ps(delay);
        BOOST_CHECK_EQUAL(cpu.write(64, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay) - begin, 1250u); // 512 B at 512 GB/s
        sc_core::wait(delay);
        BOOST_CHECK(cpu.read(64, 512) == data);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_read();
        BOOST_CHECK(cpu.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(dmi.get_dmi_ptr()[64], data[0]);
    };
    simulate({&cpu});
}

BOOST_AUTO_TEST_CASE(a_socket_numbers_its_initiators_in_the_order_of_binding) {
    answering target("target");
    initiator first("first"), second("second");
    second.out.bind(target.in);
    first.out.bind(target.in);
    for (initiator *from : {&first, &second})
        from->body = [&target, from, &first] {
            sc_core::sc_time delay;
            bytes data(4);
            BOOST_CHECK_EQUAL(from->read(0, data, delay), tlm::TLM_OK_RESPONSE);
            BOOST_CHECK_EQUAL(to_ps(delay), 7000u);
            BOOST_CHECK_EQUAL(target.inputs.back(), from == &first ? 1u : 0u);
        };
    simulate({&first, &second});
    BOOST_CHECK_EQUAL(target.inputs.size(), 2u);
}

// A multi initiator socket finds out in a way of its own what it has been bound to.
BOOST_AUTO_TEST_CASE(a_multi_initiator_socket_gets_numbers_of_its_own) {
    struct many : sc_core::sc_module {
        tlm_utils::multi_passthrough_initiator_socket<many> out{"out"};
        explicit many(sc_core::sc_module_name name) : sc_module(name) {
            out.register_invalidate_direct_mem_ptr(this, &many::withdraw);
        }
        void withdraw(int socket, sc_dt::uint64, sc_dt::uint64) { withdrawn.push_back(socket); }
        std::vector<int> withdrawn;
    };
    answering target("target");
    initiator first("first");
    many rest("rest");
    first.out.bind(target.in);
    rest.out.bind(target.in);
    rest.out.bind(target.in);
    first.body = [&] {
        for (int socket : {1, 0}) {
            tlm::tlm_generic_payload payload;
            sc_core::sc_time delay;
            rest.out[socket]->b_transport(payload, delay);
        }
        target.in.withdraw_dmi(0, 1);
    };
    simulate({&first});
    BOOST_CHECK(target.inputs == (std::vector<unsigned>{2, 1}));
    BOOST_CHECK(rest.withdrawn == (std::vector<int>{0, 1}));
}

BOOST_AUTO_TEST_CASE(a_target_without_callbacks_declines_pointers_and_moves_no_byte_for_debug) {
    answering target("target");
    initiator cpu("cpu");
    cpu.out.bind(target.in);
    cpu.body = [&] {
        tlm::tlm_generic_payload payload;
        payload.set_read();
        tlm::tlm_dmi dmi;
        BOOST_CHECK(!cpu.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(dmi.get_start_address(), 0u);
        BOOST_CHECK_EQUAL(dmi.get_end_address(), UINT64_MAX);
        bytes data(4);
        BOOST_CHECK_EQUAL(cpu.debug(tlm::TLM_READ_COMMAND, 0, data), 0u);
    };
    simulate({&cpu});
    BOOST_CHECK(target.inputs.empty());
}

BOOST_AUTO_TEST_CASE(a_target_withdraws_pointers_from_every_initiator) {
    answering target("target");
    pointer_holder one("one"), two("two");
    one.out.bind(target.in);
    two.out.bind(target.in);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    target.in.withdraw_dmi(100, 199);
    for (const pointer_holder *holder : {&one, &two})
        BOOST_CHECK(holder->lost == (std::vector<std::uint64_t>{100, 199}));
}

BOOST_AUTO_TEST_CASE(a_socket_for_one_initiator_rejects_a_second_initiator) {
    sc_core::sc_report_handler::set_handler(keep_report);
    tcm memory("memory", {});
    pointer_holder one("one"), two("two");
    one.out.bind(memory.in);
    BOOST_CHECK_THROW(
        {
            two.out.bind(memory.in);
            sc_core::sc_start(sc_core::SC_ZERO_TIME);
        },
        sc_core::sc_report);
}
