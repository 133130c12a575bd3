// The events of a run, one by one, for logs and traces. Times are in ps; event_names lists the meanings of numbers.
#ifndef TLMALLOC_PLATFORM_EVENTS_EVENT_SINK_HPP
#define TLMALLOC_PLATFORM_EVENTS_EVENT_SINK_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/modules/npu.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

// Kinds of events, by which a log is cut and its losses are counted.
enum class event_kind { memory, mapping, launch, access, interval, transfer, message };
constexpr std::size_t event_kinds = 7;
const char *name_of(event_kind kind); // "memory"

// A module's memory, or its virtual addresses, at some time.
struct found_memory {
    std::uint32_t module;
    std::optional<tla_memory_kind> memory; // none: virtual addresses
    std::uint64_t used_bytes, free_bytes, largest_free;
};

struct event_names {
    std::vector<std::string> modules;                           // those that take commands
    std::vector<std::string> pes;                               // in program order
    std::vector<std::string> nodes;                             // of the fabric
    std::vector<std::pair<std::uint32_t, std::uint32_t>> links; // from which node, to which
    std::vector<found_memory> memories;
    bool moves = false;  // blocks can move
    bool faults = false; // pages on demand
    bool banks = false;  // slices have banks

    static event_names of(npu &platform);
};

// The sender of a command: the host, PE n - 1, or hardware without a number.
constexpr std::uint32_t sent_by_host = 0, sent_by_nobody = UINT32_MAX;

// The members of every command.
struct command_times {
    std::uint32_t module;
    tla_opcode op;
    unsigned port; // tla_platform_port
    std::uint32_t sender;
    std::uint32_t correlation, request; // its task: the creation of a tensor, a launch
    tla_status status;
    std::uint64_t arrival_ps, start_ps, done_ps; // the engine works for it from its start to its end
};

// About memory or virtual addresses. One that is about several blocks is an event for each, the first of which has
// all of its service time.
struct memory_command {
    command_times of;
    std::optional<tla_memory_kind> memory;
    std::uint32_t object; // a tensor's, 0: none
    std::optional<std::uint64_t> address;
    std::uint64_t nbytes, service_ps;
    std::optional<std::uint64_t> free_bytes, largest_free; // behind it, where the module has a free list
    std::optional<std::uint64_t> free_blocks;              // its length, if known
    std::optional<tla_arena_stats> list;                   // then too, of a memory: of both of its parts
    std::optional<std::uint64_t> block;                    // counts the allocations of the run, of all memories
    bool frees;                                            // the block is free now
};

// A block that has moved.
struct block_move {
    std::uint32_t module;
    memory_controller::moved_block what;
    std::optional<std::uint64_t> block;
    bool in_exchange; // a block of the slice's owner, which has the old place of the moved block
};

// A time in which accesses to a block that moves waited.
struct move_stop {
    std::uint32_t module;
    std::uint64_t begin_ps, end_ps;
};

// A page fault: the host's, or one that the memory controller of the PE has served.
struct fault_service {
    std::uint32_t pe;
    bool by_controller;
    runtime::ended_fault what;
};

// A page that has left its memory.
struct page_exit {
    std::uint32_t pe; // whose memory it was
    runtime::left_page what;
};

struct mapping_command {
    command_times of;
    const tla_map_entry *entries; // during the call
    std::size_t count;
};

struct launch_command {
    command_times of;
    std::uint64_t began_ps, took_ps; // of the kernel, or of the DMA of a PE_DMA
};

// An access that met no plain translation.
struct troubled_access {
    std::uint32_t module; // the MMU
    pe_mmu::trouble what;
    tla_mmu_access access;
    std::uint64_t at_ps;
};

// The activity of a kernel, or of the host before the launch.
struct time_interval {
    std::uint32_t who; // sent_by_host, or PE n - 1
    tla_time_part part;
};

struct dma_transfer {
    std::uint32_t pe;
    bool write, for_message;
    tla_status status;
    std::uint64_t start_ps, end_ps, nbytes;
    std::uint64_t address; // of its first byte: virtual, or physical
    bool physical;
    std::optional<std::uint64_t> tile;              // where it begins in the TCM, physically
    std::vector<std::uint32_t> memories;            // nodes that it reached, in the order of its chunks
    std::optional<std::uint64_t> block, tile_block; // that the first bytes lie in
};

struct message_delivery {
    std::uint32_t from, to; // PEs
    std::uint64_t nbytes, sent_ps, received_ps;
};

// The load of a link in a stretch of time.
struct link_bucket {
    std::uint64_t nbytes = 0, messages = 0; // of what began to cross it
    std::uint64_t busy_ps = 0, waited_ps = 0;
};

struct link_loads {
    std::uint64_t width_ps = 0;                    // of a bucket
    std::vector<std::vector<link_bucket>> buckets; // by link, from time 0 on, as many as it needs
};

struct event_counts {
    std::uint64_t told[event_kinds] = {}, lost[event_kinds] = {};

    std::uint64_t all_lost() const {
        std::uint64_t sum = 0;
        for (const std::uint64_t n : lost)
            sum += n;
        return sum;
    }
};

struct named_tensor {
    std::uint32_t object;
    std::string name;
    std::uint64_t va, nbytes;
};

// The DRAM commands of a PE's slice.
struct slice_commands {
    std::uint32_t pe;
    hbm_slice::statistics counts;
};

struct run_end {
    std::uint64_t end_ps;
    tla_status status;
    std::vector<named_tensor> tensors;
    std::vector<slice_commands> commands; // of slices with banks
    const link_loads &links;
    event_counts counts;
};

// The receiver of events. They arrive when they are known, in no order of time.
class event_sink {
  public:
    virtual ~event_sink() = default;
    virtual void begin(const event_names &names) = 0;
    virtual void grown(const found_memory &, std::uint64_t) {} // by itself (front `lazy`), at this time in ps
    virtual void add(const memory_command &event) = 0;
    virtual void add(const block_move &event) = 0;
    virtual void add(const move_stop &event) = 0;
    virtual void add(const fault_service &event) = 0;
    virtual void add(const page_exit &event) = 0;
    virtual void add(const mapping_command &event) = 0;
    virtual void add(const launch_command &event) = 0;
    virtual void add(const troubled_access &event) = 0;
    virtual void add(const time_interval &event) = 0;
    virtual void add(const dma_transfer &event) = 0;
    virtual void add(const message_delivery &event) = 0;
    virtual void end(const run_end &end) = 0;
};

} // namespace tlmalloc
#endif
