// The whole platform, from one configuration: SIPs of cubes of PEs, their fabric, the VA manager and the host.
#ifndef TLMALLOC_MODULES_NPU_HPP
#define TLMALLOC_MODULES_NPU_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/command_processor.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/end_point.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <memory>
#include <vector>

namespace tlmalloc {

// The kernels of a platform: numbers in LAUNCH commands are indexes here. The table outlives the platform.
struct kernel_table {
    const tl_kernel *kernels = nullptr;
    std::size_t count = 0;
};

// Return the parameters of one PE's parts for a configuration.
hbm_slice::config slice_config(const tla_config &config, const pe_location &where);
tcm::config tcm_config(const tla_config &config);
memory_controller::config controller_config(const tla_config &config, const pe_location &where);

// Return the parameters of a cube's memory for a configuration (`kind` must be a memory of a cube).
tcm::config cube_memory_config(const tla_config &config, tla_memory_kind kind);
memory_controller::config cube_controller_config(const tla_config &config, unsigned sip, unsigned cube,
                                                 tla_memory_kind kind);

// Return the parameters of the host's memory for a configuration (host_memory.capacity above 0).
hbm_slice::config host_memory_config(const tla_config &config);
memory_controller::config host_controller_config(const tla_config &config);

// Returns the fabric's nodes, links and windows for a configuration.
interconnect::config fabric_config(const tla_config &config);

// One PE with its memory: tile DMA -> MMU -> fabric, and the memory controller in front of HBM slice and TCM.
class pe_unit : public sc_core::sc_module {
  public:
    pe_unit(sc_core::sc_module_name name, const tla_config &config, const pe_location &where,
            const kernel_table &kernels, message_ledger &messages);

    const pe_location where;
    const std::uint32_t island; // island of its resources (time_queue.hpp); 0: no island
    hbm_slice slice;
    tlmalloc::tcm tcm;
    memory_controller controller;
    pe_mmu mmu;
    pe_dma dma;
    processing_element element;
    pe_ipcq ipcq;
};

// A memory of a cube that belongs to no PE (ADR-0048 D7): the cube's SRAM, or the memory of its M_CPU.
class cube_memory : public sc_core::sc_module {
  public:
    cube_memory(sc_core::sc_module_name name, const tla_config &config, unsigned sip, unsigned cube,
                tla_memory_kind kind);

    const unsigned sip, cube;
    const tla_memory_kind kind;
    tcm memory;
    memory_controller controller;
};

// The memory of the host: DDR on its side of the link, with an allocation engine like every other memory. PEs reach it
// through their SIP's PCIe end point and the host.
class host_memory : public sc_core::sc_module {
  public:
    host_memory(sc_core::sc_module_name name, const tla_config &config);

    hbm_slice memory; // its channels are the channels of a slice
    memory_controller controller;
};

// The topology of the configuration (topology.h) defines the fabric. Mappings and launches go from the host to a SIP's
// IO_CPU, a cube's M_CPU, and a PE's MMU or element. Their answers return the same way. A reset (resettable.hpp) resets
// all parts, from senders to servers. All parts stay in reset until the last part has completed. Then the platform is
// as one that was never used: without tensors, and without snapshots (age). Counts continue.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/NPU.md.
class npu : public sc_core::sc_module, public resettable {
  public:
    // `config` must be a configuration that tla_config_load accepted. Reports an error /tlmalloc/npu/topology for plain
    // controller addresses, and for a topology that cannot be built. Its parts report their own errors.
    npu(sc_core::sc_module_name name, const tla_config &config, const kernel_table &kernels);
    ~npu() override;

    const std::vector<pe_unit *> &pes() const { return pes_; }
    // The SRAM and the M_CPU's memory of each cube, in program order.
    const std::vector<cube_memory *> &cube_memories() const { return cube_memories_; }
    // The host's memory; null if the platform has none.
    tlmalloc::host_memory *memory_of_host() { return host_memory_.get(); }
    const tlmalloc::host_memory *memory_of_host() const { return host_memory_.get(); }
    // The end point of a SIP below system.sips.
    end_point &end_point_of(unsigned sip) { return *end_points_[sip]; }
    tlmalloc::host &host() { return *host_; }
    const tlmalloc::host &host() const { return *host_; }
    va_manager &addresses() { return *va_manager_; }
    const va_manager &addresses() const { return *va_manager_; }
    // Nodes and links by their names, with their numbers in the fabric.
    const tla_topology &graph() const { return *graph_; }
    const interconnect &fabric() const { return *fabric_; }
    // Messages that kernels have sent each other.
    message_ledger &messages() { return messages_; }
    const message_ledger &messages() const { return messages_; }
    interconnect &fabric() { return *fabric_; }
    // The IO_CPU of each SIP, followed by the M_CPUs of its cubes.
    const std::vector<std::unique_ptr<command_processor>> &processors() const { return processors_; }

    // Statistics of the VA manager, with the routes that the command processors could not restore.
    va_manager::statistics mapping_statistics() const;

    // Starts the HBM free list of every controller in a recorded state (arena.h) instead of as one block. Call it
    // before the simulation runs. Errors as tla_controller_restore. After an error some lists may be in that state: do
    // not run the platform.
    tla_status age(const std::string &snapshot, tla_error *error);

    // Everything unreleased, with its bytes: memories whose free list differs from its initial state, MMUs with mapped
    // bytes, virtual addresses, and living tensors. Empty if the platform is as at its beginning.
    std::vector<std::string> leaked() const;
    std::uint64_t leaks() const; // their number

    // Sum of the latencies in ps of all chunks that the host and the DMA engines moved.
    std::uint64_t transfer_latency_ps() const;

    // Every module with figures or statistics, in the order of waveforms and reports.
    const std::vector<instrumented *> &modules() const { return modules_; }

    // Declares every module's figures in an ordered VCD. Call it before the simulation runs.
    void record(waveform &wave);
    void trace(sc_core::sc_trace_file *file) const override;

  private:
    void tell_ways(const tla_config &config);
    void name_parts();
    void look_ahead(const sc_core::sc_time &at_most);
    void begin_reset() override {}
    void make_new() override;

    const bool many_free_blocks_; // also without an aged heap

    message_ledger messages_;
    std::vector<std::unique_ptr<sc_core::sc_module>> sips_;
    std::vector<pe_unit *> pes_; // in program order
    std::vector<cube_memory *> cube_memories_;
    std::unique_ptr<tlmalloc::host_memory> host_memory_;         // or null
    std::vector<std::unique_ptr<command_processor>> processors_; // per SIP: the IO_CPU, then the M_CPUs
    std::vector<std::unique_ptr<end_point>> end_points_;         // one per SIP
    std::unique_ptr<va_manager> va_manager_;
    std::unique_ptr<tlmalloc::host> host_;
    std::unique_ptr<tla_topology, void (*)(tla_topology *)> graph_{nullptr, tla_topology_destroy};
    std::unique_ptr<interconnect> fabric_;
    std::vector<instrumented *> modules_;
};

} // namespace tlmalloc
#endif
