// The smallest top-level around a module of one's own: an initiator, a kv_scratchpad, its statistics, its waveform.
// usage: kv_scratchpad WAVEFORM.vcd
#include "kv_scratchpad.hpp"
#include "tlmalloc/modules/command_sender.hpp"

#include <iostream>
#include <tlm_utils/simple_initiator_socket.h>

SC_MODULE(token_writer) {
    tlm_utils::simple_initiator_socket<token_writer> data{"data"}, control{"control"};

    SC_CTOR(token_writer) {
        SC_THREAD(run);
    }

    void run() {
        for (unsigned token = 0; token < 3; token++) {
            sc_core::sc_time delay;
            tla_command command{};
            tla_completion page{};
            command.opcode = TLA_OP_ALLOC;
            command.target = TLA_TARGET_MEMORY_CONTROLLER;
            command.nbytes = 1024;
            const tla_status status = tlmalloc::send_command(control, 0, command, page, delay);
            std::cout << "token " << token << ": " << tla_status_name(status);
            if (!status) {
                std::uint8_t key_and_value[1024] = {};
                tlmalloc::access(data, tlm::TLM_WRITE_COMMAND, page.value, key_and_value, sizeof key_and_value, delay);
                std::cout << ", page at " << page.value;
            }
            std::cout << ", " << delay << '\n';
            sc_core::wait(delay);
        }
    }
};

int sc_main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: kv_scratchpad WAVEFORM.vcd\n";
        return 2;
    }
    kv_scratchpad::config config;
    config.pages = 2;
    config.cost.fixed_ps = 5000; // of a command
    token_writer writer{"writer"};
    kv_scratchpad pages{"pages", config};
    writer.data.bind(pages.in);
    writer.control.bind(pages.control);
    tlmalloc::waveform wave(argv[1]);
    pages.record(wave);
    sc_core::sc_start();
    pages.print_statistics(std::cout);
    return wave.close() == TLA_OK ? 0 : 1;
}
