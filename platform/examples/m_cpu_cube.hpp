// A cube around an M_CPU: controllers with their slices of HBM, on a fabric that a host reaches, too.
#ifndef M_CPU_CUBE_HPP
#define M_CPU_CUBE_HPP

#include "m_cpu.hpp"

#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"

#include <memory>
#include <string>
#include <vector>

// Cube 0 of SIP 0. A router has a link to the host, whose socket is an argument, to the M_CPU, and to each PE.
class m_cpu_cube : public sc_core::sc_module {
  public:
    struct pe_memory : sc_core::sc_module {
        pe_memory(sc_core::sc_module_name name, const tlmalloc::memory_controller::config &settings)
            : sc_module(name), controller("controller", settings), slice("slice", slice_of(settings)) {
            controller.slice.bind(slice.in);
        }
        static tlmalloc::hbm_slice::config slice_of(const tlmalloc::memory_controller::config &settings) {
            tlmalloc::hbm_slice::config slice;
            slice.capacity = settings.memory.of[TLA_HBM].bytes;
            return slice;
        }
        tlmalloc::memory_controller controller;
        tlmalloc::hbm_slice slice;
    };

    // `settings` are those of every controller, without a TCM.
    m_cpu_cube(sc_core::sc_module_name name, tlm::tlm_initiator_socket<> &host, unsigned pes,
               tlmalloc::memory_controller::config settings)
        : sc_module(name), fabric("fabric", star(pes, settings.memory.of[TLA_HBM].bytes)),
          processor("m_cpu",
                    address_of(pes - 1, settings.memory.of[TLA_HBM].bytes - 1, settings.memory.of[TLA_HBM].bytes),
                    settings.memory.of[TLA_HBM].bytes) {
        host.bind(fabric.in);
        processor.out.bind(fabric.in);
        settings.memory.of[TLA_TCM].bytes = settings.memory.of[TLA_TCM].reserved = 0;
        for (unsigned pe = 0; pe < pes; pe++) {
            settings.memory.pe = pe;
            memories.push_back(std::make_unique<pe_memory>(("pe" + std::to_string(pe)).c_str(), settings));
            fabric.out.bind(memories.back()->controller.in);
            fabric.out.bind(memories.back()->controller.control);
        }
    }

    std::vector<std::unique_ptr<pe_memory>> memories;
    tlmalloc::interconnect fabric;
    m_cpu processor;

  private:
    enum : std::uint32_t { router, of_host, of_m_cpu, of_first_pe };

    static tla_paddr address_of(unsigned pe, std::uint64_t offset, std::uint64_t slice_bytes) {
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, pe, offset, slice_bytes, &pa);
        return pa;
    }

    static tlmalloc::interconnect::config star(unsigned pes, std::uint64_t slice_bytes) {
        tlmalloc::interconnect::config config;
        config.nodes.resize(of_first_pe + pes);
        config.sources = {of_host, of_m_cpu};
        for (std::uint32_t node = of_host; node < of_first_pe + pes; node++)
            for (const auto &ends :
                 {std::make_pair(node, std::uint32_t{router}), std::make_pair(std::uint32_t{router}, node)})
                config.links.push_back({ends.first, ends.second, 2000, 128'000'000'000, 0, 0});
        for (unsigned pe = 0; pe < pes; pe++) {
            tla_paddr control{};
            tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_MEMORY_CONTROLLER, 0, &control);
            config.windows.push_back({address_of(pe, 0, slice_bytes).value, slice_bytes, 2 * pe, false});
            config.windows.push_back({control.value, TLA_CONTROL_BLOCK_BYTES, 2 * pe + 1, true});
            config.targets.insert(config.targets.end(), 2, of_first_pe + pe);
        }
        return config;
    }
};

#endif
