// Firmware of an M_CPU allocates in its cube: a host sends requests, and writes and reads the blocks.
#include "m_cpu_cube.hpp"

#include "tlmalloc/modules/command_sender.hpp"

#include <iostream>

SC_MODULE(asking_host) {
    tlm_utils::simple_initiator_socket<asking_host> data{"data"};
    m_cpu_cube *cube = nullptr;

    SC_CTOR(asking_host) {
        SC_THREAD(run);
    }

    // A request, its result, and the time of the M_CPU.
    template <typename Request>
    void tell(const char *what, Request request) {
        const tlmalloc::riscv_core &core = cube->processor.core;
        const tlmalloc::riscv_core::statistics before = core.get_statistics();
        const sc_core::sc_time begin = sc_core::sc_time_stamp();
        const tla_status status = request();
        const tlmalloc::riscv_core::statistics after = core.get_statistics();
        std::cout << what << ": " << tla_status_name(status) << ", " << after.instructions - before.instructions
                  << " instructions, " << after.cycles - before.cycles << " cycles, "
                  << after.reads + after.writes - before.reads - before.writes << " accesses, "
                  << sc_core::sc_time_stamp() - begin << '\n';
    }

    void run() {
        m_cpu &processor = cube->processor;
        tla_paddr blocks[2] = {};
        tell("begun, and 4096 bytes of PE 0", [&] { return processor.alloc(0, 4096, blocks[0]); });
        tell("4096 bytes of PE 1", [&] { return processor.alloc(1, 4096, blocks[1]); });
        tell("a mebibyte more of PE 1", [&] { return processor.alloc(1, 1 << 20, blocks[1]); });
        sc_core::sc_time delay;
        char out[] = "by way of the fabric into the slice of PE 1", in[sizeof out] = "";
        tlmalloc::access(data, tlm::TLM_WRITE_COMMAND, blocks[1].value, out, sizeof out, delay);
        tlmalloc::access(data, tlm::TLM_READ_COMMAND, blocks[1].value, in, sizeof in, delay);
        std::cout << in << '\n';
        for (const tla_paddr block : blocks)
            tell("freed", [&] { return processor.free(block, 4096); });
        tell("freed twice", [&] { return processor.free(blocks[1], 4096); });
    }
};

int sc_main(int, char **) {
    tlmalloc::memory_controller::config settings;
    settings.memory.of[TLA_HBM].bytes = 1 << 20;
    asking_host host{"host"};
    m_cpu_cube cube{"cube", host.data, 2, settings};
    host.cube = &cube;
    sc_core::sc_start();
    return 0;
}
