// The runtime on the host: tensors, launches and clean-up. What is sent, in which order, what is undone; no sockets.
#ifndef TLMALLOC_MODULES_RUNTIME_HPP
#define TLMALLOC_MODULES_RUNTIME_HPP

#include "tlmalloc/command/command.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/kernel/tensor_shards.h"
#include "tlmalloc/modules/systemc.hpp" // for the C++ standard that it asks for

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace tlmalloc {

using pe_location = tla_pe_location; // which PE
using shard = tla_shard;
using retry_policy = tla_retry_policy;

// How a tensor comes to lie where its placement says (tensor.h).
enum class spread {
    split = TLA_SPREAD_SPLIT,
    replicate = TLA_SPREAD_REPLICATE,
    demand = TLA_SPREAD_DEMAND,
    matrix = TLA_SPREAD_MATRIX
};

struct tensor {
    std::string name;
    tla_vaddr va;
    std::uint64_t nbytes;
    std::vector<shard> shards;
    std::uint64_t alloc_ps, map_ps; // time the host waited for its allocations, and for its mappings
    spread kind;
    std::uint32_t object = 0;           // of its blocks' ALLOCs (guard.h)
    tla_matrix_layout layout{};         // spread::matrix
    tla_memory_kind memory = TLA_HBM;   // where its blocks are
    bool read_only = false;             // to PEs
    std::uint64_t alloc_service_ps = 0; // of alloc_ps what the engine took whose command was served longest
};

// A tensor of a plan (plan.h): in every PE's slice `nbytes`, `offset` above where the plan begins there.
struct planned_tensor {
    std::string name;
    std::uint64_t nbytes, offset;
};

// A plan in memory. A tensor of it has a part in every PE's slice: it is written and read as any tensor, but its parts
// do not touch. Its `va` is that of its first part; the next PE's is `height` above.
struct deployment {
    tensor *arena = nullptr; // of `height` bytes in every slice; free_tensor(arena) ends the deployment
    std::uint64_t height = 0;
    std::vector<tensor> tensors; // in the order of the plan
};

// Every call blocks its caller until the work is done, by way of the functions below, which whoever derives from it
// brings: `host` by transactions, a test by calls. Errors come back as a status with a text; a call that fails leaves
// nothing allocated or mapped. TLA_RESET: a reset of whoever derives from it has ended the call, or is under way.
class runtime {
  public:
    struct config : tla_host_parameters {
        config() { tla_host_defaults(this); }
        explicit config(const tla_host_parameters &parameters) : tla_host_parameters(parameters) {}

        std::vector<pe_location> pes; // every PE of the platform, in program order: ascending by SIP, cube and PE
        unsigned control_port = 0;    // its port in every control window
        unsigned fault_port = 4;      // its port for what page faults ask for
        unsigned launch_port = 8;     // its first port for launches
        unsigned launch_ports = 8;    // how many: launches that can be under way at the same time
    };

    // Where a tensor goes: to which PEs, and there into which memory: a PE's own HBM or TCM, or what the PEs of a cube
    // share, its SRAM or the memory of its M_CPU, or into the host's, which all share.
    struct sharding {
        std::vector<pe_location> pes;
        spread kind = spread::split;
        tla_memory_kind memory = TLA_HBM;
        bool read_only = false; // PEs may not write it: a store by a virtual address is TLA_PERMISSION of the MMU
    };

    explicit runtime(config settings);
    virtual ~runtime();

    // The sharding that splits a tensor over all PEs.
    sharding everywhere() const { return {settings_.pes}; }

    // A tensor of `elements` elements: a VA range, a block in the memory of each PE that gets a part (whole elements),
    // and mappings (KernBench ADR-0011: sharded tensors are broadcast, replicated ones mapped cube by cube). A PE may
    // get several parts; one that is not in the configuration is TLA_INVALID_ARGUMENT.
    tla_status create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                             const sharding &where, tensor **made, tla_error *error);

    // A matrix over cubes and PEs of one SIP by policy (tensor_shards.h), in the order of its shards: bytes that are
    // written and read are in that order too (tla_matrix_layout_pack). TLA_NOT_FOUND for a PE that is not in the
    // configuration.
    tla_status create_tensor(const std::string &name, const tla_matrix_layout &where, tensor **made, tla_error *error);

    // Memory for a plan of `height` bytes, in a single block of each PE's slice that is mapped once; its tensors have
    // fixed addresses until the arena is freed, and cost no command. Whether tensors overlap is up to the plan
    // (tla_plan_check). TLA_INVALID_ARGUMENT for a plan of no height or no tensor, a tensor of no bytes, and anything
    // but spread::split; TLA_OUT_OF_RANGE for a tensor that ends above the height; and as create_tensor.
    tla_status deploy(const std::string &name, std::uint64_t height, const std::vector<planned_tensor> &tensors,
                      const sharding &where, deployment *made, tla_error *error);

    // Unmaps, waits until every MMU has said so, and frees. A block whose FREE is refused in spite of all retries is
    // freed by cleanup().
    tla_status free_tensor(tensor *which, tla_error *error);

    // A block in a memory of a PE, of its cube, or of the host, for whoever keeps its own: of `made`, where, pa and
    // nbytes. As of a tensor's parts, it comes from the pool (host.pool) if there is one, else from the memory's
    // controller, by a call of the driver (host.driver) if there is one; to both the host's memory is one of SIP 0's.
    // Several threads may allocate and free at a time.
    // TLA_INVALID_ARGUMENT for a PE or a memory that is not in the configuration and for 0 bytes.
    tla_status allocate(const pe_location &pe, tla_memory_kind memory, std::uint64_t nbytes, shard *made,
                        tla_error *error);

    // Gives it back to where it came from: where, pa and nbytes as they were made.
    tla_status release(const shard &block, tla_error *error);

    // What the pool did, of all memories; all zero without one. misses: those that asked the driver.
    struct pool_counts {
        std::uint64_t hits = 0, misses = 0, driver_frees = 0, cached_bytes = 0, peak_reserved_bytes = 0;
    };
    pool_counts pool_statistics() const;

    // When the kernels of a launch began (the last of them), and how long the longest took.
    struct launched {
        std::uint64_t start_ps = 0, duration_ps = 0;
        std::uint32_t correlation_id = 0;
    };

    // Runs a kernel as one program on each of these PEs, whatever their order is here: program 0 is on the first in
    // ascending order of SIP, cube and PE, program 1 on the second. One message for each SIP goes to its IO_CPU, which
    // has the M_CPUs pass it on. All begin at one time: the IO_CPU says when, or the host, where there are several SIPs
    // and their ways are known (expect_way). Returns when the last has answered; the first failure in program order is
    // the status, and the text says which PE's. Several threads may have a launch under way each, also beside calls of
    // other kinds.
    //
    // Nothing is sent for no PE, one twice (TLA_INVALID_ARGUMENT), one that is not in the configuration
    // (TLA_NOT_FOUND), one on which a launch of this host is under way (TLA_BUSY), too many arguments
    // (TLA_INVALID_ARGUMENT) or launches (TLA_LIMIT).
    tla_status launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments,
                      const std::vector<pe_location> &pes, tla_error *error, launched *result = nullptr);

    // The DMA engine of each of these PEs writes `nbytes` of `pattern` at a physical address, or reads what is there,
    // which is dropped (KernBench's PeDmaMsg). Goes and begins as a launch does, with its errors; a PE that runs a
    // kernel is busy. The result's duration is from the engine's first access to its last answer.
    tla_status pe_dma(tla_paddr pa, std::uint64_t nbytes, bool write, std::uint8_t pattern,
                      const std::vector<pe_location> &pes, tla_error *error, launched *result = nullptr);

    // On every PE.
    tla_status launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments, tla_error *error,
                      launched *result = nullptr) {
        return launch(kernel, arguments, settings_.pes, error, result);
    }

    // How long it takes from the sending of a launch to a SIP until the farthest PE there is ready to begin.
    void expect_way(unsigned sip, std::uint64_t way_ps);

    // Has the fronts of a memory (stack.h) at these PEs, or in their cubes, give what they keep free back to the lists
    // below them; the lists of memories without a front are as they were.
    tla_status trim(tla_memory_kind memory, const std::vector<pe_location> &where, tla_error *error);

    // Frees every living tensor and trims every front; then every free list that was used must be one block again:
    // TLA_LEAK if not (that is not looked at after expect_many_free_blocks).
    tla_status cleanup(tla_error *error);

    // The controllers do not begin with one free block each: their heaps are aged, buddies of a capacity that is no
    // power of two, slots, or two regions.
    void expect_many_free_blocks(bool many = true) { many_free_blocks_ = many; }

    // Why the last page fault of a PE at a byte from `begin` on and before `end` was refused; "" when none was, or none
    // of a tensor.
    std::string why_no_page(const pe_location &pe, std::uint64_t begin, std::uint64_t end) const;

    const std::list<tensor> &tensors() const { return tensors_; }
    std::uint64_t retries() const { return retries_; } // commands that were sent again

  protected:
    // A call of somebody begins, ends; and whether those under way are to end, with TLA_RESET, and others not to begin.
    // What is asked for below is refused with TLA_RESET then.
    virtual void call_begins() {}
    virtual void call_ends() {}
    virtual bool ends_calls() const { return false; }

    // One call, from beginning to end, also of a thread that is killed; `what` is for the error of one that is ended.
    class call {
      public:
        call(runtime &host, std::string what, tla_error *error);
        ~call();
        call(const call &) = delete;
        call &operator=(const call &) = delete;

        bool may_begin() const;

        // The status of the call, which did its work with `status`: TLA_RESET, with a text, if it is ended.
        tla_status result(tla_status status) const;

      private:
        runtime &host_;
        const std::string what_;
        tla_error *const error_;
    };

    // Drops tensors, blocks and what the pool keeps, and numbers commands from 1 again; nobody is told. No call is
    // under way. What has been counted goes on, but for the pool's counts.
    void forget_all();

    // Where a command goes: to a port of the physical address space, or of the VA manager.
    enum class way { fabric, addresses };

    virtual std::uint64_t now_ps() const = 0;
    virtual void wait_for_ps(std::uint64_t duration_ps) = 0;

    // Sends commands to different ports, all now; returns when all have been answered.
    virtual void post(way to, const std::vector<tla_sent_command *> &commands) = 0;

    // Sends one for a page fault, at *at_ps of its own, and again if it is refused for now; *at_ps becomes the time of
    // the answer. Errors of send_command (command_sender.hpp).
    virtual tla_status send(way to, std::uint64_t port_address, const tla_command &command, tla_completion &completion,
                            std::uint64_t &at_ps) = 0;

    // Calls `change` while no page fault is being served.
    virtual void between_faults(const std::function<void()> &change) = 0;

    // Runs `work`, which sends commands to controllers of a SIP, as a call of the driver.
    virtual tla_status in_driver(std::uint32_t sip, tla_host_driver_operation operation,
                                 const std::function<tla_status()> &work) {
        (void)sip;
        (void)operation;
        return work();
    }

    // Runs `work`, which uses a SIP's part of the pool, while no other thread does.
    virtual void in_pool(std::uint32_t sip, const std::function<void()> &work) {
        (void)sip;
        work();
    }

    // Returns when a SIP has done what the driver has posted to it.
    virtual void wait_for_driver(std::uint32_t sip) { (void)sip; }

    // How many launches have been sent to a SIP and not been answered; a launch has been answered.
    unsigned launches_on(std::uint32_t sip) const;
    virtual void launch_ended() {}

    // Serves a page fault of a PE, which is known at *at_ps; it is answered at *at_ps then. One at a time. Allocates
    // and maps the page of a tensor on demand, unless another PE's fault did it before; `again` as pe_mmu.hpp has
    // it.
    tla_status bring_page(const pe_location &pe, std::uint64_t va, bool again, std::uint64_t &at_ps);

    // The tensor as tensor.h has it, while its shards stay.
    tla_tensor view(const tensor &t) const;

    // For messages of whoever derives from it.
    std::uint32_t new_correlation() { return next_correlation_++; }
    std::uint32_t new_request() { return next_request_++; }

    std::uint64_t retries_ = 0;

  private:
    struct addressed_command {
        std::uint64_t port_address;
        tla_command command;
        std::uint32_t sip; // whose memory it is about: a device of the driver
    };
    struct refused_page {
        pe_location pe;
        std::uint64_t va; // of the byte
        std::string why;
    };
    struct free_list { // what a memory controller last said of a memory
        tla_memory_kind memory;
        pe_location where;
        std::uint64_t total_free, largest_free;
    };

    tla_status try_to_dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what,
                               tla_error *error, launched *result);

    tla_status dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what, tla_error *error,
                        launched *result);

    // A command of the call with this number.
    static tla_command new_command(tla_opcode opcode, tla_target target, std::uint32_t correlation_id);

    // One about a block, to a port of the controller of its memory; `object` is for an ALLOC (guard.h).
    static addressed_command to_controller(unsigned port, tla_opcode opcode, tla_memory_kind memory, const shard &s,
                                           std::uint32_t correlation_id, std::uint32_t object = 0);

    // Numbers the commands and sends them all at once, but for those to one port: the second is sent when the first is
    // answered. Those that are refused for now are sent again. Completions in their order; the status of one whose
    // write was refused is TLA_BUS_ERROR.
    std::vector<tla_completion> send_commands(way to, std::vector<addressed_command> commands);

    // One ALLOC or FREE as a call of the driver; without a driver, when its port is free.
    tla_completion call_driver(const addressed_command &what);
    bool has_driver() const { return settings_.driver.kind != TLA_HOST_DRIVER_NONE; }
    tla_status va_command(const tla_command &command, tla_completion &completion);
    tla_status free_addresses(const tensor &t, std::uint32_t correlation_id, tla_completion &completion);
    bool knows(const pe_location &pe) const;
    tla_status make_tensor(tensor t, const std::vector<shard> &wanted, tensor **made, tla_error *error);
    tla_status add_shards(tensor &t, const std::vector<shard> &wanted, const std::vector<tla_completion> &completions,
                          std::uint32_t correlation_id, tla_error *error);
    void tell_shortage(tla_memory_kind memory, const std::vector<shard> &wanted,
                       const std::vector<tla_completion> &completions, tla_error *error) const;
    bool in_lockstep(tla_memory_kind memory) const {
        return memory == TLA_HBM && settings_.lockstep != TLA_LOCKSTEP_OFF;
    }
    std::vector<tla_completion> allocate_in_lockstep(const tensor &t, const std::vector<shard> &wanted,
                                                     std::uint32_t correlation_id);
    std::vector<tla_completion> free_in_lockstep(const std::vector<shard> &shards, std::uint32_t correlation_id);
    addressed_command to_owner(const pe_location &where, tla_command command) const;
    std::uint64_t slice_base(const pe_location &where) const;
    tla_status free_shards(tensor &t, std::uint32_t correlation_id, tla_error *error);
    tla_status free_owed(tla_error *error);
    std::vector<tla_completion> allocate_blocks(const tensor &t, const std::vector<shard> &wanted,
                                                std::uint32_t correlation_id);
    std::vector<tla_completion> free_blocks(const tensor &t, std::uint32_t correlation_id);
    tla_completion free_block(const shard &s, std::uint32_t correlation_id);
    tla_status check_memory(tla_memory_kind memory, tla_error *error) const;
    tla_status explain_block(tla_error *error, const std::string &what, tla_memory_kind memory,
                             const pe_location &where, const tla_completion &completion, std::uint64_t nbytes) const;
    tla_status empty_pool(tla_error *error);
    tla_status trim_fronts(tla_error *error);
    tla_status map(const tensor &t, tla_opcode opcode, std::uint32_t correlation_id, tla_error *error);
    tla_status send_for_fault(way to, addressed_command what, tla_completion &completion, std::uint64_t &at_ps);
    void note_page(const pe_location &pe, std::uint64_t va, const std::string &refusal);
    tla_status map_page(const tensor &t, const shard &page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                        tla_error &why);
    tla_status allocate_page(tensor &t, shard page, std::uint32_t correlation_id, std::uint64_t &at_ps, tla_error &why);
    void remember(tla_memory_kind memory, const pe_location &where, const tla_completion &completion);

    const config settings_;
    tla_scope scope_{};
    std::list<tensor> tensors_;
    std::vector<free_list> free_lists_;
    std::uint32_t next_request_ = 1, next_correlation_ = 1;
    class launch_pads;
    class launch_under_way;
    class pool;
    std::unique_ptr<pool> pool_;         // host.pool; or none
    std::unique_ptr<launch_pads> pads_;  // what launches are under way
    std::uint64_t faults_served_ps_ = 0; // when the last page fault was answered
    std::vector<refused_page> refused_pages_;
    bool many_free_blocks_ = false;
    std::vector<shard> owed_; // blocks whose FREE was refused in spite of all retries, or for want of a list node
};

// "sip0.cube3.pe5"
std::string to_string(const pe_location &pe);

} // namespace tlmalloc
#endif
