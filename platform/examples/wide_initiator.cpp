// An initiator with 64-bit sockets in front of a memory_controller, whose sockets have 32: an adapter for each.
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/width_adapter.hpp"

#include <iostream>

SC_MODULE(wide_initiator) {
    tlm_utils::simple_initiator_socket<wide_initiator, 64> data{"data"}, control{"control"};

    SC_CTOR(wide_initiator) {
        SC_THREAD(run);
    }

    void run() {
        sc_core::sc_time delay;
        tla_command command{};
        tla_completion done{};
        command.opcode = TLA_OP_ALLOC;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.memory = TLA_HBM;
        command.nbytes = 4096;
        tlmalloc::send_command(control, 0, command, done, delay);
        std::cout << "allocated: " << tla_status_name(done.status) << '\n';

        char out[] = "64 bits in front of 32", in[sizeof out] = "";
        tlmalloc::access(data, tlm::TLM_WRITE_COMMAND, done.value, out, sizeof out, delay);
        tlmalloc::access(data, tlm::TLM_READ_COMMAND, done.value, in, sizeof in, delay);
        std::cout << in << ", " << delay << '\n';
    }
};

int sc_main(int, char **) {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_TCM] = {}; // HBM only: `tcm` stays unbound
    wide_initiator initiator{"initiator"};
    tlmalloc::width_adapter<64> data{"data"}, control{"control"};
    tlmalloc::memory_controller controller{"controller", config};
    tlmalloc::hbm_slice slice{"slice", {}};
    initiator.data.bind(data.in);
    data.out.bind(controller.in);
    initiator.control.bind(control.in);
    control.out.bind(controller.control);
    controller.slice.bind(slice.in);
    sc_core::sc_start();
    return 0;
}
