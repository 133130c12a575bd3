// The C client on a memory-mapped window: its plain loads and stores reach a real memory_controller.
#include "bare.hpp"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/port_client.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>

namespace {

// A page of host memory that stands for the mapped port. Whenever the client relaxes, what it has stored goes to the
// controller word by word, and what the controller shows is copied back: a bus bridge that looks once a microsecond.
struct mapped_window : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<mapped_window> out{"out"}, data{"data"}; // data: bound, not used
    uint32_t page[TLA_PORT_BYTES / 4] = {};
    bool device_answers = true;
    std::function<void()> body;

    explicit mapped_window(sc_core::sc_module_name name) : sc_module(name) {
        TLMALLOC_HAS_PROCESS(mapped_window);
        SC_THREAD(run);
    }

    void run() { body(); }

    void word(tlm::tlm_command command, uint32_t index) {
        tlm::tlm_generic_payload payload;
        sc_core::sc_time delay;
        payload.set_command(command);
        payload.set_address(index * 4);
        payload.set_data_ptr(reinterpret_cast<unsigned char *>(page + index));
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        out->b_transport(payload, delay);
    }

    void look() {
        sc_core::wait(1, sc_core::SC_US);
        if (!device_answers) return;
        if (page[0]) { // a magic: a descriptor has been stored
            const uint32_t length = page[1] >> 16;
            for (uint32_t i = 0; i < length / 4; i++)
                word(tlm::TLM_WRITE_COMMAND, i);
            page[0] = 0;
        }
        word(tlm::TLM_READ_COMMAND, TLA_PORT_STATE / 4);
        for (uint32_t i = 0; i < TLA_COMPLETION_BYTES / 4; i++)
            word(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION / 4 + i);
    }
};

struct bench {
    tlmalloc::memory_controller::config config = bare<tlmalloc::memory_controller>();
    mapped_window window{"window"};
    tlmalloc::memory_controller controller;
    tlmalloc::hbm_slice slice{"slice", {}};
    tla_port_client client = mapped(window);

    static tla_port_client mapped(mapped_window &window) {
        tla_port_client d{};
        d.port = window.page;
        d.polls_max = 100;
        d.relax = [](void *context) { static_cast<mapped_window *>(context)->look(); };
        d.context = &window;
        return d;
    }

    // No page: every word is a transaction of its own.
    tla_port_client called() {
        tla_port_client d{};
        d.polls_max = 100;
        d.relax = [](void *) { sc_core::wait(1, sc_core::SC_US); };
        d.context = &window;
        d.read = [](void *context, std::uint32_t offset) {
            auto &w = *static_cast<mapped_window *>(context);
            w.word(tlm::TLM_READ_COMMAND, offset / 4);
            return w.page[offset / 4];
        };
        d.write = [](void *context, std::uint32_t offset, std::uint32_t word) {
            auto &w = *static_cast<mapped_window *>(context);
            w.page[offset / 4] = word;
            w.word(tlm::TLM_WRITE_COMMAND, offset / 4);
        };
        return d;
    }

    static tlmalloc::memory_controller::config hbm_only() {
        tlmalloc::memory_controller::config c = bare<tlmalloc::memory_controller>();
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.cost.fixed_ps = 2'500'000; // longer than a look, so that the state register is seen to run
        return c;
    }

    bench() : controller("controller", hbm_only()) {
        window.out.bind(controller.control);
        window.data.bind(controller.in);
        controller.slice.bind(slice.in);
    }

    void run(std::function<void()> body) {
        window.body = std::move(body);
        sc_core::sc_start();
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(loads_and_stores_allocate_and_free) {
    bench b;
    bool ended = false;
    b.run([&] {
        tla_paddr first{}, second{}, again{};
        tla_completion completion{};
        BOOST_REQUIRE_EQUAL(tla_port_client_alloc(&b.client, TLA_HBM, 4096, &first, &completion), TLA_OK);
        BOOST_CHECK_EQUAL(completion.service_ps, 2'500'000u);
        BOOST_REQUIRE_EQUAL(tla_port_client_alloc(&b.client, TLA_HBM, 100, &second, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(second.value - first.value, 4096u);
        BOOST_CHECK_EQUAL(tla_port_client_free(&b.client, first, 4096, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_port_client_free(&b.client, first, 4096, nullptr), TLA_NOT_ALLOCATED);
        BOOST_REQUIRE_EQUAL(tla_port_client_alloc(&b.client, TLA_HBM, 4096, &again, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(again.value, first.value);
        ended = true;
    });
    BOOST_CHECK(ended);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 4196u);
}

BOOST_AUTO_TEST_CASE(calls_for_every_word_allocate_and_free) {
    bench b;
    tla_port_client client = b.called();
    b.run([&] {
        tla_paddr pa{};
        tla_completion completion{};
        BOOST_REQUIRE_EQUAL(tla_port_client_alloc(&client, TLA_HBM, 4096, &pa, &completion), TLA_OK);
        BOOST_CHECK_EQUAL(completion.service_ps, 2'500'000u);
        BOOST_CHECK_EQUAL(tla_port_client_alloc(&client, TLA_HBM, uint64_t{7} << 30, &pa, nullptr), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(tla_port_client_free(&client, pa, 4096, nullptr), TLA_OK);
        tla_vaddr va{};
        BOOST_CHECK_EQUAL(tla_port_client_va_alloc(&client, 4096, &va, nullptr),
                          TLA_MISDIRECTED); // not a VA manager's port
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
}

BOOST_AUTO_TEST_CASE(a_failed_command_returns_its_numbers) {
    bench b;
    b.run([&] {
        tla_paddr pa{77};
        tla_completion completion{};
        BOOST_CHECK_EQUAL(tla_port_client_alloc(&b.client, TLA_HBM, uint64_t{7} << 30, &pa, &completion),
                          TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(pa.value, 77u);
        BOOST_CHECK_EQUAL(completion.total_free, uint64_t{6} << 30);
        BOOST_CHECK_EQUAL(completion.largest_free, uint64_t{6} << 30);
    });
}

BOOST_AUTO_TEST_CASE(a_device_that_never_answers_is_given_up) {
    bench b;
    b.window.device_answers = false;
    b.run([&] {
        tla_paddr pa{};
        BOOST_CHECK_EQUAL(tla_port_client_alloc(&b.client, TLA_HBM, 4096, &pa, nullptr), TLA_BUSY);
        BOOST_CHECK_EQUAL(sc_core::sc_time_stamp(), sc_core::sc_time(100, sc_core::SC_US));
    });
}
