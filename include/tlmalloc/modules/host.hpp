// The runtime on the host: tensors, launches and clean-up, all of it by transactions.
#ifndef TLMALLOC_MODULES_HOST_HPP
#define TLMALLOC_MODULES_HOST_HPP

#include "tlmalloc/detail/arrival_gate.hpp"
#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/detail/turnstile.hpp"
#include "tlmalloc/device/command.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlmalloc {

// Which PE.
struct pe_location {
    unsigned sip, cube, pe;
};

// A part of a tensor in one PE's HBM slice.
struct shard {
    pe_location where;
    tla_paddr pa;
    std::uint64_t nbytes, offset; // offset: of its first byte in the tensor
    std::uint64_t ready_ps = 0;   // when the first page fault in it was answered; 0 = there was none
};

// How a tensor comes to lie where its placement says.
enum class spread {
    split,     // contiguous equal parts, one for each PE of the placement in its order; every MMU maps all of them
    replicate, // a whole copy in every cube of the placement, split over the PEs there; mapped in its own cube only
    demand     // nothing at first: a page comes into the HBM of the PE that touches it first, mapped in every MMU
};

struct tensor {
    std::string name;
    tla_vaddr va;
    std::uint64_t nbytes;
    std::vector<shard> shards;
    std::uint64_t alloc_ps, map_ps; // time the host waited for its allocations, and for its mappings
    spread kind;
    std::uint32_t tag = 0; // of its blocks' ALLOCs: they are one object (guard.h)
};

// Every call of the runtime blocks its thread (`main`) until the simulated work is done; call them from there only.
// `out` leads into the fabric, `va` to va_manager.control. Errors come back as a status with a text; a call that fails
// leaves nothing allocated or mapped. What it sends says that the host asks, initiator 0, trusted, on behalf of the
// address space of its tensors (requester.hpp).
class host : public sc_core::sc_module {
  public:
    struct config {
        std::vector<pe_location> pes;   // every PE of the platform, in program order
        std::uint32_t dma_chunk = 4096; // bytes of one transaction when tensors are written or read
        unsigned outstanding = 1024;    // such transactions under way, far more than links hold; exact
        unsigned control_port = 0;      // the host's port in every control window
        unsigned fault_port = 4;        // its port for what page faults ask for
        std::uint32_t asid = 0;         // the address space that tensors are mapped in
        std::uint64_t page_size = std::uint64_t{2} << 20; // what a page fault brings
        std::uint64_t fault_latency_ps = 45'000'000;      // to the host and back (UVMSmart: 45 us)
        retry_policy retry{};                             // of every command but LAUNCH
        std::uint64_t hbm_reserved = 0, tcm_reserved = 0; // bytes of a PE's memories that are never given, for messages
        time_style style = time_style::fast;
    };

    // Where a tensor goes.
    struct placement {
        std::vector<pe_location> pes;
        spread kind = spread::split;
    };

    tlm_utils::simple_initiator_socket<host> out{"out"};
    tlm_utils::simple_initiator_socket<host> va{"va"};

    // Page faults (page_fault.hpp) of the MMUs, bound in the order of config::pes; answered with OK when there is
    // memory. One is served at a time, in the order in which they come: fault_latency_ps, then ALLOC and MAP as they
    // come. A fault of a page that is under way already is answered when that is there; one of a tensor that is mapped,
    // but not visibly where the fault is, after fault_latency_ps: the MMU waits for what it has been sent.
    tlm_utils::multi_passthrough_target_socket<host, 32, tlm::tlm_base_protocol_types, 0,
                                               sc_core::SC_ZERO_OR_MORE_BOUND>
        faults{"faults"};

    // What the host does; runs as a SystemC thread from time 0.
    std::function<void()> main;

    host(sc_core::sc_module_name name, config settings);

    // The placement that splits a tensor over all PEs.
    placement everywhere() const { return {config_.pes}; }

    // A tensor of `elements` elements: a VA range, a block in the HBM of each PE that gets a part (whole elements), and
    // mappings (KernBench ADR-0011: sharded tensors are broadcast, replicated ones mapped cube by cube). A PE may get
    // several parts; one that is not in the configuration is TLA_INVALID_ARGUMENT.
    tla_status create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                             const placement &where, tensor **made, tla_error *error);

    // Unmaps, waits until every MMU has said so, and frees. A block whose FREE is refused in spite of all retries is
    // freed by cleanup().
    tla_status free_tensor(tensor *which, tla_error *error);

    // Moves all bytes of a tensor over the fabric, by physical address (KernBench ADR-0016): writes every copy, reads
    // the first. Of a tensor on demand what is there is read, and nothing can be written: TLA_UNSUPPORTED.
    tla_status write_tensor(const tensor &to, const std::uint8_t *bytes, tla_error *error);
    tla_status read_tensor(const tensor &from, std::uint8_t *bytes, tla_error *error);

    // Runs a kernel as one program on every PE, and returns when the last has answered; the first failure is the
    // status.
    tla_status launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments, tla_error *error);

    // Frees every living tensor; then every free list that was used must be one block again: TLA_LEAK if not (that is
    // not looked at after expect_many_free_blocks).
    tla_status cleanup(tla_error *error);

    // The controllers do not begin with one free block each: their heaps are aged, or buddies of a capacity that is no
    // power of two.
    void expect_many_free_blocks() { many_free_blocks_ = true; }

    const std::list<tensor> &tensors() const { return tensors_; }
    std::uint64_t retries() const { return retries_; } // commands that were sent again

    // Sum of the latencies of all chunks that were moved.
    std::uint64_t transfer_latency_ps() const { return transfer_latency_ps_; }

  private:
    struct free_list { // what a memory controller last said of its HBM channel
        std::uint64_t total_free, largest_free;
    };

    void run();
    outlet *way_out() { return exact() ? &to_fabric_ : nullptr; }
    bool exact() const { return config_.style == time_style::exact; }
    void start_of_simulation() override;
    tla_status allocate_shards(tensor &t, std::uint64_t elements, std::uint32_t element_bytes, const placement &where,
                               tla_error *error);
    tla_status free_shards(tensor &t, tla_error *error);
    tla_status free_owed(tla_error *error);
    tla_scope scope_of(const tensor &t, const shard &s) const;
    void serve_fault(int pe, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay);
    tla_status bring_page(const pe_location &pe, std::uint64_t address, bool again, sc_core::sc_time &delay);
    tla_status map(const tensor &t, tla_opcode opcode, tla_error *error);
    tla_status move(const tensor &t, tlm::tlm_command command, std::uint8_t *bytes, tla_error *error);
    tla_status va_command(tla_command &command, tla_completion &completion);
    std::uint64_t controller(const pe_location &pe, tla_control_block block, unsigned port) const;
    void remember(const pe_location &pe, const tla_completion &completion);

    const config config_;
    requester requester_; // of everything that it sends: trusted, and its blocks belong to config::asid
    tla_scope scope_{};
    std::uint64_t transfer_latency_ps_ = 0;
    std::list<tensor> tensors_;
    std::vector<std::pair<pe_location, free_list>> free_lists_;
    std::uint32_t next_tag_ = 1;
    outlet to_fabric_, to_va_;                 // exact
    std::unique_ptr<arrival_gate> fault_gate_; // exact
    turnstile fault_turn_;                     // who serves a page fault, or takes a tensor away from them
    std::uint64_t faults_served_ps_ = 0;       // when the last page fault was answered
    bool many_free_blocks_ = false;
    std::uint64_t retries_ = 0;
    std::vector<shard> owed_; // blocks whose FREE was refused in spite of all retries, or for want of a list node
};

// "sip0.cube3.pe5"
std::string to_string(const pe_location &pe);

} // namespace tlmalloc
#endif
