// A memory_controller and its hbm_slice in a top-level of one's own: allocate, write, read back, free.
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <iostream>

SC_MODULE(my_initiator) {
    tlm_utils::simple_initiator_socket<my_initiator> data{"data"}, control{"control"};

    SC_CTOR(my_initiator) {
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
        tlmalloc::send_command(control, 0, command, done, delay); // writes it, reads the completion back
        std::cout << "allocated PA 0x" << std::hex << done.value << std::dec << " after " << delay << '\n';

        char out[] = "through the controller into the slice", in[sizeof out] = "";
        tlmalloc::access(data, tlm::TLM_WRITE_COMMAND, done.value, out, sizeof out, delay);
        tlmalloc::access(data, tlm::TLM_READ_COMMAND, done.value, in, sizeof in, delay);
        std::cout << in << ", " << delay << '\n';

        command.opcode = TLA_OP_FREE; // target and nbytes stay: a FREE states the size of its block
        command.pa.value = done.value;
        for (const char *what : {"freed: ", "freed twice: "})
            std::cout << what << tla_status_name(tlmalloc::send_command(control, 0, command, done, delay)) << '\n';
    }
};

int sc_main(int, char **) {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_TCM] = {}; // HBM only: `tcm` stays unbound
    my_initiator initiator{"initiator"};
    tlmalloc::memory_controller controller{"controller", config};
    tlmalloc::hbm_slice slice{"slice", {}};
    initiator.data.bind(controller.in);
    initiator.control.bind(controller.control);
    controller.slice.bind(slice.in);
    sc_core::sc_start();
    return 0;
}
