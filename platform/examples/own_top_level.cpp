// A memory_controller and its hbm_slice in a top-level of one's own: allocate, write, read back, free.
#include "tlmalloc/command.h"
#include "tlmalloc/control_port.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <iostream>

struct my_initiator : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<my_initiator> data{"data"}, control{"control"};
    sc_core::sc_time delay;

    explicit my_initiator(sc_core::sc_module_name name) : sc_module(name) { SC_THREAD(run); }
    SC_HAS_PROCESS(my_initiator);

    template <typename Socket>
    bool access(Socket &socket, tlm::tlm_command command, uint64_t address, void *bytes, unsigned length) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(static_cast<unsigned char *>(bytes));
        payload.set_data_length(length);
        payload.set_streaming_width(length);
        socket->b_transport(payload, delay);
        return payload.is_response_ok();
    }

    tla_completion command(const tla_command &what) { // a descriptor is written, its completion read back
        uint8_t descriptor[64], answer[TLA_COMPLETION_BYTES];
        size_t length = 0;
        tla_completion completion{};
        if (tla_command_encode(&what, descriptor, sizeof descriptor, &length) ||
            !access(control, tlm::TLM_WRITE_COMMAND, 0, descriptor, unsigned(length)) ||
            !access(control, tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, answer, sizeof answer) ||
            tla_completion_decode(answer, &completion))
            completion.status = TLA_BUS_ERROR;
        return completion;
    }

    void run() {
        tla_command alloc{};
        alloc.opcode = TLA_OP_ALLOC;
        alloc.target = TLA_TARGET_MEMORY_CONTROLLER;
        alloc.channel = TLA_HBM;
        alloc.nbytes = 4096;
        const tla_completion block = command(alloc);
        std::cout << "allocated at PA 0x" << std::hex << block.value << std::dec << " after " << delay << '\n';

        char out[] = "through the controller into the slice", in[sizeof out] = "";
        bool ok = access(data, tlm::TLM_WRITE_COMMAND, block.value, out, sizeof out) &&
                  access(data, tlm::TLM_READ_COMMAND, block.value, in, sizeof in);
        std::cout << (ok ? in : "bus error") << ", " << delay << '\n';

        tla_command release = alloc;
        release.opcode = TLA_OP_FREE;
        release.pa = {block.value};
        std::cout << "freed: " << tla_status_name(command(release).status) << '\n';
        std::cout << "freed twice: " << tla_status_name(command(release).status) << '\n';
    }
};

int sc_main(int, char **) {
    tlmalloc::memory_controller::config config;
    config.memory.tcm_bytes = config.memory.tcm_reserved_bytes = 0; // HBM only: `tcm` stays unbound
    config.cost.fixed_ps = 10000;
    config.cost.node_ps = 1000;

    my_initiator initiator{"initiator"};
    tlmalloc::memory_controller controller{"controller", config};
    tlmalloc::hbm_slice slice{"slice", {}};
    initiator.data.bind(controller.in);
    initiator.control.bind(controller.control);
    controller.slice.bind(slice.in);
    sc_core::sc_start();
    return 0;
}
