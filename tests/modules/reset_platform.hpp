// A PE's memory with an MMU that walks in it, all of it on one reset line.
#ifndef TLMALLOC_TESTS_MODULES_RESET_PLATFORM_HPP
#define TLMALLOC_TESTS_MODULES_RESET_PLATFORM_HPP

#include "bare.hpp"
#include "controller_bench.hpp"
#include "fault_handler.hpp"

namespace reset_platform {

using namespace controller_bench;

constexpr std::uint64_t ns = 1000;

// Initiator -> MMU -> controller -> slice and TCM, and a DMA engine at the controller; the MMU walks in the slice and
// allocates there. One reset line for all.
struct platform : sc_core::sc_module {
    struct config {
        memory_controller::config controller = small();
        pe_mmu::config mmu = bare<pe_mmu>();
        bool alone = false; // the line leads to the MMU and to nobody else
    };

    static config walking() {
        config c;
        c.controller.memory.sip = c.controller.memory.die = c.controller.memory.pe = 0;
        c.controller.cost.fixed_ps = 10 * ns;
        c.controller.latency_ps = 3 * ns;
        c.mmu.page_size = 4096;
        c.mmu.va_bits = 48;
        c.mmu.walk = TLA_WALK_MEMORY;
        c.mmu.tlb_l1 = {16, 0, 1000, TLA_REPLACE_LRU};
        c.mmu.allocator_port = 1;
        return c;
    }

    static hbm_slice::config slice_of() {
        hbm_slice::config c = bench::slice_config();
        c.latency_ps = 40 * ns;
        return c;
    }
    static tcm::config tcm_of() {
        tcm::config c = bench::tcm_config();
        return c;
    }
    platform(sc_core::sc_module_name name, const config &c)
        : sc_module(name), slice("slice", slice_of()), local("local", tcm_of()), controller("controller", c.controller),
          mmu("mmu", c.mmu), dma("dma", bare<pe_dma>()) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        mmu.out.bind(controller.in);
        mmu.walk.bind(controller.in);
        mmu.allocator.bind(controller.control);
        mmu.fault.bind(faults.in);
        data.out.bind(controller.in);
        through.out.bind(mmu.in);
        cpu.out.bind(controller.control);
        other.out.bind(controller.control);
        driver.out.bind(mmu.control);
        dma.out.bind(controller.in);
        dma.local.bind(controller.in);
        for (reset_input *input :
             {&slice.reset_in, &local.reset_in, &controller.reset_in, &mmu.reset_in, &dma.reset_in})
            if (!c.alone || input == &mmu.reset_in) input->bind(line);
    }

    std::uint64_t hbm(std::uint64_t offset) const { return TLA_KERNBENCH_HBM_BASE + offset; }

    tla_completion map(std::initializer_list<mapping> entries) {
        return driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, entries));
    }

    hbm_slice slice;
    tcm local;
    memory_controller controller;
    pe_mmu mmu;
    pe_dma dma;
    fault_handler faults{"faults"};
    initiator data{"data"}, through{"through"}, cpu{"cpu"}, other{"other"}, driver{"driver"};
    sc_core::sc_signal<bool> line{"line"};
};

inline void run(platform &s) {
    simulate({&s.data, &s.through, &s.cpu, &s.other, &s.driver});
}

inline void at(std::uint64_t ps) {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (ps > now) sc_core::wait(from_ps(ps - now));
}

} // namespace reset_platform

#endif
