// Two memories behind one MMU, at plain addresses of a bus: MAP, accesses over both, UNMAP, a fault, a waveform.
#include "tlmalloc/modules.hpp"

#include <iostream>

constexpr std::uint64_t page = 4096, memory_bytes = 1 << 20, control_bytes = 1 << 16, virtual_base = 0x10000;
constexpr std::uint64_t memories[] = {0x8000'0000, 0x9000'0000}, controls[] = {0xF000'0000, 0xF001'0000},
                        mmu_control = 0xF002'0000; // on the bus

SC_MODULE(processor) {
    tlm_utils::simple_initiator_socket<processor> data{"data"}, control{"control"}; // to the MMU, to the bus

    SC_CTOR(processor) {
        SC_THREAD(run);
    }

    tla_completion send(const char *what, std::uint64_t port, const tla_command &command) {
        sc_core::sc_time delay;
        tla_completion done{};
        const tla_status status = tlmalloc::send_command(control, port, command, done, delay);
        sc_core::wait(delay);
        std::cout << what << ": " << tla_status_name(status) << " at " << sc_core::sc_time_stamp() << '\n';
        return done;
    }

    void move(const char *what, tlm::tlm_command command, char *bytes, std::uint32_t nbytes) {
        sc_core::sc_time delay;
        const bool is_done = tlmalloc::access(data, command, virtual_base + page - 8, bytes, nbytes, delay);
        sc_core::wait(delay);
        std::cout << what << ": " << (is_done ? bytes : "fault") << " at " << sc_core::sc_time_stamp() << '\n';
    }

    void run() {
        tla_command command{TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER}, map{TLA_OP_MAP, TLA_TARGET_PE_MMU};
        command.nbytes = page;
        for (const std::uint64_t port : controls) { // one virtual page after the other, each in a memory of its own
            const tla_vaddr va{virtual_base + map.count * page};
            map.entries[map.count++] = {va, {send("ALLOC", port, command).value}, page, TLA_READ | TLA_WRITE, 0};
        }
        send("MAP", mmu_control, map);

        char out[] = "over the end of a page", in[sizeof out] = "";
        move("write", tlm::TLM_WRITE_COMMAND, out, sizeof out);
        move("read", tlm::TLM_READ_COMMAND, in, sizeof in);
        map.opcode = TLA_OP_UNMAP;
        send("UNMAP", mmu_control, map);
        move("read", tlm::TLM_READ_COMMAND, in, sizeof in);
        command.opcode = TLA_OP_FREE;
        for (unsigned i = 0; i < map.count; i++) {
            command.pa = map.entries[i].pa;
            send("FREE", controls[i], command);
        }
    }
};

tlmalloc::memory_controller::config memory_at(std::uint64_t base) {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_TCM] = {}; // HBM only: `tcm` stays unbound
    config.memory.of[TLA_HBM].bytes = memory_bytes;
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].base = base;
    return config;
}

int sc_main(int argc, char **argv) try {
    tlmalloc::interconnect::config bus_config;
    bus_config.nodes.resize(2);
    bus_config.links = {{0, 1, 1000, 64'000'000'000, 0, 0}, {1, 0, 1000, 64'000'000'000, 0, 0}}; // 1 ns, 64 GB/s
    bus_config.sources = {0, 0};
    bus_config.targets = {1, 1, 1, 1, 1};
    bus_config.windows = {{memories[0], memory_bytes, 0, false},
                          {controls[0], control_bytes, 1, true},
                          {memories[1], memory_bytes, 2, false},
                          {controls[1], control_bytes, 3, true},
                          {mmu_control, control_bytes, 4, true}}; // true: it sees offsets into the window
    processor cpu{"cpu"};
    tlmalloc::pe_mmu mmu{"mmu", {}};
    tlmalloc::interconnect bus{"bus", bus_config};
    tlmalloc::memory_controller first{"first", memory_at(memories[0])}, second{"second", memory_at(memories[1])};
    tlmalloc::hbm_slice first_slice{"first_slice", {}}, second_slice{"second_slice", {}};
    cpu.control.bind(bus.in);
    cpu.data.bind(mmu.in);
    mmu.out.bind(bus.in);
    tlmalloc::waveform wave(argc == 2 ? argv[1] : "own_mmu.vcd");
    mmu.record(wave);
    for (tlmalloc::memory_controller *controller : {&first, &second}) {
        bus.out.bind(controller->in); // in the order of the windows' targets
        bus.out.bind(controller->control);
        controller->record(wave);
    }
    bus.out.bind(mmu.control);
    first.slice.bind(first_slice.in);
    second.slice.bind(second_slice.in);
    sc_core::sc_start();
    return wave.close() == TLA_OK ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 2;
}
