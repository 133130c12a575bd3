// The runtime on the host: tensors, launches and clean-up. It decides which commands to send or undo, and their order;
// it has no sockets.
#ifndef TLMALLOC_MODULES_RUNTIME_HPP
#define TLMALLOC_MODULES_RUNTIME_HPP

#include "tlmalloc/command/command.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/tensor.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace tlmalloc {

using retry_policy = tla_retry_policy;

// Every call blocks its caller until the work is done. The runtime works through the virtual functions below, which a
// derived class implements: `host` by transactions, a test by calls. Errors are returned as a status with a text;
// `error` may be null. A call that creates or allocates leaves nothing allocated or mapped after a failure. TLA_RESET:
// a reset of the derived class has ended the call, or is in progress.
class runtime {
  public:
    struct config : tla_host_parameters {
        config() { tla_host_defaults(this); }
        explicit config(const tla_host_parameters &parameters) : tla_host_parameters(parameters) {}

        // Every PE of the platform, in program order: ascending by SIP, cube and PE. Each lies in the address map
        // (phys_addr.h).
        std::vector<pe_location> pes;
        unsigned control_port = 0; // own port in every control window
        unsigned fault_port = 4;   // own port for the commands of page faults
        unsigned launch_port = 8;  // first own port for launches
        unsigned launch_ports = 8; // number of these ports: most launches in flight at one time
    };

    // The placement of a tensor: its PEs, and the kind of memory at these PEs. The memory is a PE's own HBM or TCM, or
    // the SRAM or M_CPU memory that the PEs of a cube share. It may also be the host's memory, which all PEs share.
    struct sharding {
        std::vector<pe_location> pes;
        spread kind = spread::split;
        tla_memory_kind memory = TLA_HBM;
        bool read_only = false; // PEs may not write it: a store by a virtual address fails with TLA_PERMISSION of the
                                // MMU
        bool fixed = false;     // its blocks never move: somebody reaches them by physical addresses
        // Empty: controller.lockstep_mode. Another than placing::lockstep requires HBM with controller.lockstep: else
        // TLA_UNSUPPORTED.
        std::optional<placing> slices{};
    };

    // Throws std::bad_alloc without host memory.
    explicit runtime(config settings);
    virtual ~runtime();

    // The sharding that splits a tensor over all PEs.
    sharding everywhere() const { return {settings_.pes}; }

    // Creates a tensor of `elements` elements: a VA range, a block in the memory of each PE that gets a part (whole
    // elements), and mappings. Sharded tensors are broadcast, replicated tensors are mapped cube by cube (KernBench
    // ADR-0011). A PE may get several parts. *made belongs to the runtime, until free_tensor or a reset; after a
    // failure it is null. TLA_INVALID_ARGUMENT: no elements, elements of 0 bytes, no PE, 2^64 bytes or more,
    // spread::matrix, or a PE or a memory outside the configuration. Other errors are those of VA_ALLOC, ALLOC and MAP
    // (command.h).
    tla_status create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                             const sharding &where, tensor **made, tla_error *error);

    // Creates a matrix over cubes and PEs of one SIP by policy (tensor_shards.h), in the order of its shards. Written
    // and read bytes are in that order too (tla_matrix_layout_pack). A PE outside the configuration is TLA_NOT_FOUND.
    // Other errors are those of tla_matrix_layout_check, VA_ALLOC, ALLOC and MAP. *made as above.
    tla_status create_tensor(const std::string &name, const tla_matrix_layout &where, tensor **made, tla_error *error);

    // Allocates memory for a plan of `height` bytes: a single block in each PE's slice, which is mapped once. The
    // plan's tensors have fixed addresses, virtual and physical, until the arena is freed, and cost no command. The
    // plan decides whether tensors overlap (tla_plan_check of plan.h). TLA_INVALID_ARGUMENT: a plan without height or
    // tensors, a tensor of 0 bytes, or another spread than spread::split. TLA_OUT_OF_RANGE: a tensor that ends above
    // the height. Other errors as create_tensor. After a failure *made is empty.
    tla_status deploy(const std::string &name, std::uint64_t height, const std::vector<planned_tensor> &tensors,
                      const sharding &where, deployment *made, tla_error *error);

    // Unmaps the tensor, waits for the answers of all MMUs, and frees the blocks. TLA_NOT_ALLOCATED: a tensor that the
    // runtime does not have; nothing changes. Otherwise the tensor is invalid afterwards, also after a failure: the
    // call attempts every step and returns its first error. A FREE or UNMAP that fails with TLA_BUSY or TLA_LIMIT in
    // spite of all retries, or an UNMAP for which an MMU's table lacks memory, is repeated by cleanup(). Until then its
    // blocks and addresses are not free.
    tla_status free_tensor(tensor *which, tla_error *error);

    // Leads a block of a tensor to another place in a memory of its controller (controller.h: MOVE), while kernels use
    // it, and updates the shard. `part` is the number of the block's shard. The same virtual addresses lead to the new
    // place. Unless it is null, *done receives the completion. After an error the block is where it was:
    // - TLA_UNSUPPORTED: controller.move is off, the tensor is fixed or of a plan, its blocks come from a pool
    //   (host.pool), or the block would leave or enter slices whose blocks an owner places (controller.lockstep)
    // - TLA_NOT_ALLOCATED: a tensor that the runtime does not have
    // - TLA_OUT_OF_RANGE: a part that the tensor does not have
    // - TLA_INVALID_ARGUMENT: a memory that the platform or the controller does not have
    // - the errors of MOVE
    //
    // With controller.lockstep the block moves in all slices of its owner, with all parts of the tensor that lie in it,
    // to one new offset of the owner. If a slice fails, the parts that have moved are moved back, and the error names
    // that slice. Parts that cannot be moved back in spite of retries stay where they are, and the text says so: the
    // tensor has both places until it is freed. An error of FREE says that the block has moved.
    tla_status move(tensor *which, std::size_t part, tla_memory_kind memory, tla_error *error,
                    tla_completion *done = nullptr);

    // Leads a block of a tensor to a memory of this PE, of its cube, or of the host, which may have another controller.
    // The runtime allocates the new place there, and frees it if the MOVE fails. Errors as move(), and:
    // - TLA_UNSUPPORTED: a tensor that is replicated or a matrix, since its mappings depend on the places of its
    //   blocks; from or to another HBM slice with controller.lockstep
    // - TLA_INVALID_ARGUMENT: an unknown PE
    // - the errors of ALLOC. An error of BIND: the block has moved, and cannot move again
    tla_status move_to(tensor *which, std::size_t part, const pe_location &pe, tla_memory_kind memory, tla_error *error,
                       tla_completion *done = nullptr);

    // Allocates a block in a memory of a PE, of its cube, or of the host, for callers that manage their own blocks. It
    // sets where, pa and nbytes of `made`. As for tensors, the block comes from the pool (host.pool) if a pool exists.
    // Otherwise it comes from the memory's controller, by a call of the driver (host.driver) if a driver exists. The
    // pool and the driver treat the host's memory as a memory of SIP 0. Several threads may allocate and free at a
    // time. TLA_INVALID_ARGUMENT: a PE or a memory outside the configuration, or 0 bytes. Other errors are those of
    // ALLOC.
    tla_status allocate(const pe_location &pe, tla_memory_kind memory, std::uint64_t nbytes, shard *made,
                        tla_error *error);

    // Releases a block to its origin. where, pa and nbytes must be unchanged. Errors are those of FREE. After TLA_BUSY
    // or TLA_LIMIT the block is still allocated, and the caller may release it again.
    tla_status release(const shard &block, tla_error *error);

    // Counters of the pool, over all memories; all zero without a pool. misses: allocations that asked the driver.
    struct pool_counts {
        std::uint64_t hits = 0, misses = 0, driver_frees = 0, cached_bytes = 0, peak_reserved_bytes = 0;
    };
    pool_counts pool_statistics() const;

    // Counters of pages that leave and return (mmu.eviction); all zero without eviction.
    struct paging_counts {
        std::uint64_t evictions = 0;   // pages that left
        std::uint64_t write_backs = 0; // among them, pages whose bytes were copied to the host's memory
        std::uint64_t fetches = 0;     // pages that came back
        std::uint64_t prefetches = 0;  // pages that a fault brought beside its own
        std::uint64_t bits_read = 0;   // reference bits read and cleared
        std::uint64_t written_bytes = 0, fetched_bytes = 0;
        std::uint64_t resident = 0; // pages in memory now
    };
    paging_counts paging_statistics() const;

    // A page fault for the host, from its arrival to its answer.
    struct ended_fault {
        pe_location pe;
        std::uint64_t va, begin_ps, end_ps;
        bool served;                       // false: the access fails
        std::uint64_t fetched, prefetched; // pages that came from the host's memory; pages beside the faulting page
    };
    // A page that has left its memory, from the PAUSE to the RESUME of accesses to it.
    struct left_page {
        pe_location where;
        tla_memory_kind memory;
        std::uint64_t va, begin_ps, end_ps;
        bool written; // to the host's memory
    };
    // Called, if set, with each of them. They must neither wait nor send commands.
    std::function<void(const ended_fault &)> fault_ended;
    std::function<void(const left_page &)> page_left;

    // The start of the last kernel of a launch to begin, and the duration of the longest kernel, in ps.
    struct launched {
        std::uint64_t start_ps = 0, duration_ps = 0;
        std::uint32_t correlation_id = 0;
    };

    // Runs a kernel as one program on each of these PEs, whatever their order here. Program 0 runs on the first PE in
    // ascending order of SIP, cube and PE, program 1 on the second. One message for each SIP goes to its IO_CPU, which
    // makes the M_CPUs forward it. All programs begin at one time. The IO_CPU sets the time; the host sets it if there
    // are several SIPs and their ways are known (expect_way). The call returns after the last answer. The status is the
    // first failure in program order, and the text names its PE. Several threads may each have a launch in flight, also
    // beside calls of other kinds.
    //
    // In these cases the call sends nothing:
    // - TLA_INVALID_ARGUMENT: no PE, a PE that is named twice, or too many arguments
    // - TLA_NOT_FOUND: a PE outside the configuration
    // - TLA_BUSY: a PE on which a launch of this host is in flight
    // - TLA_LIMIT: config::launch_ports launches are in flight
    //
    // After a failure *result is unchanged. Kernels on other PEs may have run, unless the call has sent nothing.
    tla_status launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments,
                      const std::vector<pe_location> &pes, tla_error *error, launched *result = nullptr);

    // The DMA engine of each of these PEs writes `nbytes` of `pattern` at a physical address, or reads and drops the
    // bytes there (KernBench's PeDmaMsg). The command travels and begins as a launch does, with the same errors; a PE
    // that runs a kernel is busy. The result's duration is from the engine's first access to its last answer.
    tla_status pe_dma(tla_paddr pa, std::uint64_t nbytes, bool write, std::uint8_t pattern,
                      const std::vector<pe_location> &pes, tla_error *error, launched *result = nullptr);

    // Runs a kernel on every PE.
    tla_status launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments, tla_error *error,
                      launched *result = nullptr) {
        return launch(kernel, arguments, settings_.pes, error, result);
    }

    // Sets the time in ps from the sending of a launch to a SIP until the SIP's farthest PE is ready to begin; 0:
    // unknown. The last call counts, for launches that begin after it. A SIP without a PE in the configuration is
    // ignored.
    void expect_way(unsigned sip, std::uint64_t way_ps);

    // Makes the fronts of a memory (stack.h), at these PEs or in their cubes, release their free blocks to the lists
    // below. Lists of memories without a front do not change. Sends all commands, and returns the first error of a
    // TRIM.
    tla_status trim(tla_memory_kind memory, const std::vector<pe_location> &where, tla_error *error);

    // Frees every living tensor and all that earlier calls could not unmap or free, and trims every front. TLA_LEAK if
    // a free list that was used is not one block again then, unless expect_many_free_blocks was called. After an error
    // the call attempts the other steps, and returns the first error.
    tla_status cleanup(tla_error *error);

    // Declares that the controllers do not begin with one free block each. Such heaps are aged, have two regions, are
    // slots, or are buddies of a capacity that is not a power of two.
    void expect_many_free_blocks(bool many = true) { many_free_blocks_ = many; }

    // Why the last page fault of a PE at a byte in [begin, end) failed; "" if no fault failed, or no fault of a tensor.
    std::string why_no_page(const pe_location &pe, std::uint64_t begin, std::uint64_t end) const;

    const std::list<tensor> &tensors() const { return tensors_; }
    std::uint64_t retries() const { return retries_; } // repeated commands

  protected:
    // call_begins and call_ends mark a call of the runtime. ends_calls returns whether calls in progress must end with
    // TLA_RESET, and new calls must not begin. The functions below then fail with TLA_RESET.
    virtual void call_begins() {}
    virtual void call_ends() {}
    virtual bool ends_calls() const { return false; }

    // One call, from its beginning to its end, also in a thread that is killed. `what` is for the error text of a call
    // that a reset ends.
    class call {
      public:
        call(runtime &host, std::string what, tla_error *error);
        ~call();
        call(const call &) = delete;
        call &operator=(const call &) = delete;

        bool may_begin() const;

        // The status of a call whose work ended with `status`: TLA_RESET, with a text, if a reset has ended the call.
        tla_status result(tla_status status) const;

      private:
        runtime &host_;
        const std::string what_;
        tla_error *const error_;
    };

    // Drops tensors, blocks and the pool's contents without sending a command, and numbers commands from 1 again. No
    // call is in progress. Counters continue, except the pool's counters.
    void forget_all();

    // The destination of a command: a port of the physical address space, or a port of the VA manager.
    enum class way { fabric, addresses };

    virtual std::uint64_t now_ps() const = 0;
    virtual void wait_for_ps(std::uint64_t duration_ps) = 0;

    // Sends commands to different ports, all now. Returns when all commands have been answered.
    virtual void post(way to, const std::vector<tla_sent_command *> &commands) = 0;

    // Sends a command for a page fault, at its own time *at_ps, and repeats it if it is rejected for now. On return,
    // *at_ps is the time of the answer. Errors as send_command (command_sender.hpp).
    virtual tla_status send(way to, std::uint64_t port_address, const tla_command &command, tla_completion &completion,
                            std::uint64_t &at_ps) = 0;

    // Bytes by physical address, in one memory.
    struct page_bytes {
        std::uint64_t pa;
        std::uint8_t *bytes;
        std::uint64_t nbytes;
    };

    // Moves bytes for a page fault from *at_ps on, to memories if `write`, by transactions. On return, *at_ps is the
    // time of the last answer. Only called with config::eviction. TLA_BUS_ERROR if a memory answers with an error.
    virtual tla_status move_pages(bool write, const std::vector<page_bytes> &pieces, std::uint64_t &at_ps) {
        (void)write;
        (void)pieces;
        (void)at_ps;
        return TLA_UNSUPPORTED;
    }

    // Whether pages of the tensor can leave its memory.
    static bool has_home(const tensor &t) { return t.home.nbytes > 0; }

    // The bytes that a transfer of a tensor by the host reaches: its shards, and pages that are not in memory at their
    // home. A write makes the home the valid place of the latter. While pages can leave, call it between faults, and
    // transfer before the next fault.
    std::vector<shard> list_places(const tensor &t, bool write);

    // Calls `change` while no page fault is served.
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

    // Returns when a SIP has completed all work that the driver has posted to it.
    virtual void wait_for_driver(std::uint32_t sip) { (void)sip; }

    // launches_on: number of launches that were sent to a SIP and not answered yet. launch_ended: called after a
    // launch's answer.
    unsigned launches_on(std::uint32_t sip) const;
    virtual void launch_ended() {}

    // Changes the physical addresses of the shards that these entries map, for PEs in the scope of the REMAP, and those
    // in the entries to the previous addresses. Entries of other mappings stay unchanged.
    void change_places(const tla_scope &scope, tla_map_entry *entries, std::size_t count);

    // Serves a page fault of a PE, which is known at *at_ps; on return *at_ps is the time of the answer. The runtime
    // serves one fault at a time. It allocates and maps the page of a tensor on demand, unless another PE's fault has
    // already done this. `again` as in pe_mmu.hpp.
    tla_status bring_page(const pe_location &pe, std::uint64_t va, bool again, std::uint64_t &at_ps);

    // With config::delegates: a PE's controller has given this page (where, pa, nbytes, ready_ps) at va to a tensor on
    // demand. Not mapped: the block belongs to no tensor, and cleanup() frees it. TLA_NOT_FOUND: the runtime does not
    // have the tensor.
    tla_status take_page(shard page, tla_vaddr va, bool mapped);

    // The tensor as tensor.h describes it, valid while its shards stay.
    tla_tensor view(const tensor &t) const;

    // Ids for messages of a derived class.
    std::uint32_t new_correlation() { return next_correlation_++; }
    std::uint32_t new_request() { return next_request_++; }

    std::uint64_t retries_ = 0;

  private:
    struct addressed_command {
        std::uint64_t port_address;
        tla_command command;
        std::uint32_t sip; // SIP of the memory: a device of the driver
    };
    struct refused_page {
        pe_location pe;
        std::uint64_t va; // address of the byte
        std::string why;
    };
    struct free_list { // the latest report of a memory controller about a memory, or of an owner about its slices
        tla_memory_kind memory;
        pe_location where; // with an owner: the first PE of its slices
        std::uint64_t total_free, largest_free;
    };
    class owned_slices;

    tla_status try_to_dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what,
                               tla_error *error, launched *result);

    tla_status dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what, tla_error *error,
                        launched *result);

    // Creates a command of the call with this number.
    static tla_command new_command(tla_opcode opcode, tla_target target, std::uint32_t correlation_id);

    // Creates a command about a block, for a port of its memory's controller; `object` is for an ALLOC (guard.h).
    static addressed_command to_controller(unsigned port, tla_opcode opcode, tla_memory_kind memory, const shard &s,
                                           std::uint32_t correlation_id, std::uint32_t object = 0);

    // Numbers the commands and sends all at once, except commands to one port: the second is sent after the answer to
    // the first. Commands that are rejected for now are repeated. Returns the completions in the order of the commands.
    // If a write is rejected, the status of its command is TLA_BUS_ERROR.
    std::vector<tla_completion> send_commands(way to, std::vector<addressed_command> commands);

    // Sends one ALLOC or FREE as a call of the driver; without a driver, when its port is free.
    tla_completion call_driver(const addressed_command &what);
    bool has_driver() const { return settings_.driver.kind != TLA_HOST_DRIVER_NONE; }
    tla_status va_command(const tla_command &command, tla_completion &completion);
    tla_status free_addresses(const tensor &t, std::uint32_t correlation_id, tla_completion &completion);
    bool knows(const pe_location &pe) const;
    tla_status make_tensor(tensor wished, const std::vector<shard> &wanted, tensor **made, tla_error *error);
    tla_status fill(tensor &t, const std::vector<shard> &wanted, tla_error *error);
    tla_status add_shards(tensor &t, const std::vector<shard> &wanted, const std::vector<tla_completion> &completions,
                          std::uint32_t correlation_id, tla_error *error);
    void tell_shortage(tla_memory_kind memory, const std::vector<shard> &wanted,
                       const std::vector<tla_completion> &completions, tla_error *error) const;
    bool in_lockstep(tla_memory_kind kind) const { return kind == TLA_HBM && settings_.lockstep != TLA_LOCKSTEP_OFF; }
    std::uint64_t memory_base(const pe_location &where, tla_memory_kind memory) const;
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
    tla_status map(const tensor &t, tla_opcode opcode, std::uint32_t correlation_id, std::size_t &done,
                   tla_error *error);
    tla_status unmap(tensor &t, std::size_t count, std::uint32_t correlation_id, tla_error *error);
    tla_status end_tensor(tensor &t, std::uint32_t correlation_id, tla_error *error);
    std::size_t count_owed() const;
    const char *why_fixed(const tensor &t) const;
    tla_status find_part(const tensor *which, std::size_t part, tla_memory_kind memory, std::string *what,
                         tla_error *error) const;
    tla_status change_controller(tensor &t, std::size_t part, shard to, tla_memory_kind memory, const std::string &what,
                                 tla_completion &completion, tla_error *error);
    std::vector<addressed_command> list_recordings(const tensor &t, tla_opcode opcode, unsigned port,
                                                   std::uint32_t correlation_id) const;
    tla_status record_mappings(const tensor &t, std::uint32_t correlation_id, tla_error *error);
    void forget_mappings(const tensor &t, std::uint32_t correlation_id);
    bool is_delegated(const tensor &t) const;
    void tell_delegation(const tensor &t, tla_opcode opcode);
    tla_status send_for_fault(way to, addressed_command what, tla_completion &completion, std::uint64_t &at_ps);
    void note_page(const pe_location &pe, std::uint64_t va, const std::string &refusal);
    tla_status map_page(const tensor &t, const shard &page, tla_opcode opcode, std::uint32_t correlation_id,
                        std::uint64_t &at_ps, tla_error &why);
    tla_status lead_to_page(const tensor &t, const shard &page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                            tla_error &why);
    tla_status allocate_page(tensor &t, shard page, std::uint32_t correlation_id, std::uint64_t &at_ps, tla_error &why);
    void remember(tla_memory_kind memory, const pe_location &where, const tla_completion &completion);

    const config settings_;
    tla_scope scope_{};
    std::list<tensor> unfinished_, tensors_, freed_; // first and last: their creation or free is in progress
    std::vector<free_list> free_lists_;
    std::uint32_t next_request_ = 1, next_correlation_ = 1;
    class launch_pads;
    class launch_under_way;
    class pool;
    class pager;
    std::unique_ptr<pool> pool_;           // host.pool; or null
    std::unique_ptr<pager> pager_;         // mmu.eviction; or null
    std::unique_ptr<launch_pads> pads_;    // launches in flight
    std::unique_ptr<owned_slices> slices_; // with controller.lockstep: blocks that owners have placed
    std::uint64_t faults_served_ps_ = 0;   // time of the last page fault's answer
    std::vector<refused_page> refused_pages_;
    bool many_free_blocks_ = false;
    std::vector<shard> owed_;        // blocks whose FREE failed in spite of all retries, or for lack of a list node
    std::list<tensor> still_mapped_; // shards whose UNMAP failed in spite of all retries, or for lack of memory
};

// "sip0.cube3.pe5"
std::string to_string(const pe_location &pe);

} // namespace tlmalloc
#endif
