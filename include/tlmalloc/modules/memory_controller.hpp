// The memory controller: an allocation engine whose free lists own the bytes of an HBM slice and a TCM, of a memory of
// the cube, or of the host's.
#ifndef TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP
#define TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP

#include "tlmalloc/arena/arena_snapshot.h"
#include "tlmalloc/config/memory.h"
#include "tlmalloc/dram/fault_plan.h"
#include "tlmalloc/memory/exclusive_monitor.h"
#include "tlmalloc/memory/object_store.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/shared_resource.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"
#include "tlmalloc/stack/stack_watch.h"

#include <functional>
#include <list>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

// `in` takes accesses by physical address and passes them to the memory that they lead to, each of which has a socket;
// `control` takes ALLOC, FREE, TRIM, batches, and what counts and caches blocks (command.h), queues them, charges the
// price of the receipt and answers with a completion. The free lists come into being with the first command (ADR-0048
// D5). The socket of a memory of 0 bytes may stay unbound, `in` when only commands are sent. A memory that is smaller
// than the configuration says cannot be built, where it answers debug accesses; nor can a PE that the address map has
// not.
//
// Commands are carried out one after the other (control_window.hpp), each with all the transactions that it makes to
// the slice, also where the slice waits; data accesses go past them.
//
// Addresses, in commands as in accesses, are those of memory.layout: KernBench's 51 bits (phys_addr.h), or with
// TLA_LAYOUT_PLAIN a base of each memory plus the offset, which is what a platform of one's own has, below 4 GiB too.
//
// An owned slice (owner_port) has its blocks placed by somebody else, for many slices alike (command_processor.hpp):
// PLACE and FREE of HBM are taken at that port alone and cost what a command without work does; every other command
// about HBM is TLA_UNSUPPORTED. What a slice has is counted, shown, freed and withdrawn as ever.
//
// Data errors: TLM_ADDRESS_ERROR_RESPONSE for an address that is not in these memories or an access that runs off its
// end; else what the memory answers. `in` is approximately timed too (target_socket.hpp), and then calls the memories'
// b_transport. Allocation failures are completions: status, total free and largest free block. So is an ALLOC from a
// memory of 0 bytes.
//
// Blocks are counted by the rules of object_store.h, for the address space of who sends the command (requester.hpp): a
// FREE or an UNREF gives one reference up, and what follows a free (DMI, guard, poison) follows the last one. Pins that
// time out are ended by a process of the controller 1 ps behind the last time at which they hold, or before the next
// command that arrives later; that takes the engine as a command does, and is in no count of commands.
//
// DMI: what the memories grant, at physical addresses, latency_ps added. Every initiator loses it for the bytes of a
// block that is freed, as granted (rounded up), at the moment when the free is decided; it may ask again.
//
// Guarded (guard.h), every access through `in`, with the transfer that it is part of (transfer_extent.hpp), must lie in
// one live block of the requester's address space (requester.hpp; who is unknown or trusted is held to none), and a
// read must find bytes that were written. A block belongs to the address space of who sent its ALLOC; adjacent blocks
// of one that were allocated with the same tag, not 0, are one block to an access. Report: what is wrong is counted and
// a warning /tlmalloc/memory_controller/guard; error: it is also answered with TLM_ADDRESS_ERROR_RESPONSE (use after
// free, out of bounds) or TLM_GENERIC_ERROR_RESPONSE, and nothing is touched. A guarded controller refuses to free
// anything but whole live blocks, and what belongs to another address space (TLA_NOT_OWNER), and narrows DMI to the
// block, whose bytes count as written from then on. Debug accesses are not checked; what they write counts as written.
//
// The free lists may lie in memory (list_in_memory.h): sram, every access to a node takes node_latency_ps; hbm, the
// HBM's list lies in the top list_reserve bytes of the slice, which are never allocated, and every access that the node
// cache does not serve is a transaction to the slice, one after the other (a hit takes node_latency_ps; other memories'
// lists are as with sram). That time adds to the price of the command. Placements are the same. A node that is not as
// it was written, or cannot be read, is counted and a warning /tlmalloc/memory_controller/free_list; the engine goes on
// with what it wrote.
//
// With an engine (engine.h) every list has one of its own, which is asked what the core decides and says what the
// command takes. An answer that is not the core's is a completion TLA_ENGINE_DIFFERS, which is counted, and with the
// first of a channel a warning /tlmalloc/memory_controller/engine. An owned slice has none.
//
// A memory with the front `lazy` grows by itself, from the beginning of time on: a commit that is due waits for the
// engine behind the commands that arrived before it, and costs the price of its receipt; a command that arrives later
// finds its bytes. Nobody is told: an ALLOC that failed is to be sent again.
//
// A command that the fault plan refuses (fault_plan.h) is answered with TLA_BUSY at once and changes nothing; it is
// counted and a warning /tlmalloc/memory_controller/fault. Sent again, it is a command like any other.
//
// Exclusive accesses (requester.hpp, access_rights.hpp) through `in`: a read reserves its bytes for its initiator,
// until somebody writes one of them through `in`, frees their block, or resets the controller; DMI to them is
// withdrawn, and refused meanwhile. A write is made while the reservation stands; else nothing is written and the flag
// is cleared. Exclusive accesses with byte enables or streaming are answered with TLM_BYTE_ENABLE_ERROR_RESPONSE and
// TLM_BURST_ERROR_RESPONSE. Whoever reaches the memory past the controller breaks no reservation.
//
// An access is checked when it arrives, and goes on to the memory then; commands are decided in the order in
// which they arrive.
//
// A reset (resettable.hpp): every free list is one block again, nothing is counted, pinned or under a key, what a front
// kept is gone, a memory with the front `lazy` grows from the beginning; a fault plan begins anew. A snapshot that was
// restored is gone, too.
class memory_controller : public instrumented,
                          public resettable,
                          private command_handler,
                          private untimed_target,
                          private in_order_target {
  public:
    // By default SIP 0, cube 0, PE 0: with a slice and a TCM, and nothing of the cube or of the host.
    struct config : tla_controller_parameters {
        config() { tla_controller_defaults(this); }
        explicit config(const tla_controller_parameters &parameters) : tla_controller_parameters(parameters) {}

        std::uint64_t latency_ps = 0; // added to every data access
        unsigned outstanding = 64;    // AT: accepted requests of an initiator without END_RESP; more wait for END_REQ
        bool dmi = true;              // pass on DMI
        tla_fault_plan faults{};
        static constexpr unsigned no_owner = ~0u;
        unsigned owner_port = no_owner; // where the owner of the slice's blocks sends its commands
    };

    // Of one channel.
    struct statistics : command_counts {
        std::uint64_t allocs = 0, frees = 0;           // commands, refused ones included; PLACE is an ALLOC
        std::uint64_t nodes_visited = 0;               // free-list nodes, all commands
        std::uint64_t list_reads = 0, list_writes = 0; // nodes, where the list is in memory
        std::uint64_t list_hits = 0;                   // reads that the node cache served
        std::uint64_t list_errors = 0;                 // nodes that were not as written, or could not be accessed
        std::uint64_t engine_differences = 0;          // commands that the engine answered otherwise than the core
        std::uint64_t list_ps = 0;                     // part of busy_ps that the accesses took
        // with a front (stack.h)
        std::uint64_t held = 0;          // bytes of arena.free that it keeps
        std::uint64_t peak_reserved = 0; // bytes that it had from the list below, at most
        std::uint64_t driver_calls = 0;  // to the list below
        std::uint64_t trims = 0;         // commands, refused ones included
        std::uint64_t commits = 0;       // of lazy, each of them work of the engine
        // counted blocks (object_store.h)
        std::uint64_t refs = 0, unrefs = 0, pins = 0, unpins = 0;               // commands, refused ones included
        std::uint64_t batches = 0, puts = 0, gets = 0, removes = 0, evicts = 0; // likewise; evicts: EVICT
        tla_object_stats objects{};
        // guard: accesses, and of not_owner also FREEs and UNREFs
        std::uint64_t use_after_free = 0, out_of_bounds = 0, not_owner = 0, never_written = 0;
        tla_arena_stats arena{};
    };

    target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> in;
    using memory_socket = optional_initiator_socket<tlm_utils::simple_initiator_socket_tagged<memory_controller>>;
    memory_socket slice{"slice"}, tcm{"tcm"}, sram{"sram"}, m_cpu_memory{"m_cpu_memory"}, host_memory{"host_memory"};

    control_window control;

    memory_controller(sc_core::sc_module_name name, const config &settings);
    ~memory_controller() override;

    // Those that it has: of which there are bytes, ascending.
    std::vector<tla_channel> channels() const;

    // Of the channel; the arena's are those of an untouched memory before the first command.
    statistics get_statistics(tla_channel channel) const;
    std::uint64_t refused() const { return refused_; } // commands, by the fault plan
    std::uint64_t data_errors() const { return data_errors_; }
    bool has_allocators() const { return memory_ != nullptr; }

    // Told of every request that a memory has decided (stack_watch.h), and of every command that leaves a block with
    // this many references; to be set before the first command and before restore(). For recordings.
    struct watch {
        std::function<void(tla_channel, const tla_stack_deed &)> decided;
        std::function<void(tla_channel, std::uint64_t offset, bool one_more, std::uint64_t references,
                           std::uint64_t at_ps)>
            counted;
    };
    void set_watch(watch who) { watch_ = std::move(who); }

    // Called after every commit of a memory that grows by itself (front `lazy`), with its free list and the time in ps
    // at which the commit is done. It must neither wait nor send commands. Empty: not called.
    std::function<void(tla_channel, const tla_arena_stats &, std::uint64_t done_ps)> grown;

    // Puts a channel's free list into a recorded state (arena_snapshot.h), before the simulation runs. Errors as
    // tla_arena_restore.
    tla_status restore(tla_channel channel, const std::string &snapshot, tla_error *error);

    // Whether everything that was allocated since the beginning (or since restore) has been given back and joined, but
    // for what a front keeps until it is trimmed.
    bool is_as_at_the_beginning(tla_channel channel) const;

    std::vector<statistics_part> list_statistics() const override;

  private:
    struct channel_figures {
        figure used, largest_free, free_blocks, fragmentation, held, committed;
    };
    struct place { // where an access goes
        tla_channel channel;
        std::uint64_t offset;
    };
    void start_of_simulation() override;
    void check_size(const char *member, memory_socket &memory, std::uint64_t nbytes);
    void begin(in_order_request &request, unsigned port) override;
    void arrive(in_order_request &request, unsigned input, requester *who);
    void go_on(in_order_request &request, unsigned input, const place &where, bool to_note, requester *who);
    void go_on_behind_exclusive_writes(std::uint64_t at_ps);
    bool locate(tlm::tlm_generic_payload &payload, place &where);
    class write_under_way;
    struct passed_on { // what an access was when it came
        std::uint64_t address;
        place where;
        bool exclusive;
        write_under_way *write; // of a write to a memory that makes callers wait
    };
    struct held { // an access behind an exclusive write
        place where;
        std::uint64_t nbytes;
        in_order_request *request;
        unsigned input;
        bool to_note;
    };
    static passed_on pass_on(tlm::tlm_generic_payload &payload, const place &where, requester *who);
    void came_back(tlm::tlm_generic_payload &payload, const passed_on &what);
    bool answers_exclusive(tlm::tlm_generic_payload &payload, const place &where, requester &who);
    void break_reservations(tla_channel channel, std::uint64_t offset, std::uint64_t nbytes);
    void drop_reservation(std::uint32_t core);
    void not_made(const tlm::tlm_generic_payload &payload);
    void offer_unreserved(tla_channel channel);
    bool is_being_written(tla_channel channel, std::uint64_t first, std::uint64_t last, bool exclusively) const;
    bool has_to_wait(const place &where, std::uint64_t nbytes, bool write) const;
    bool arrives_in_order(const in_order_request &request, const requester *who);

    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned input, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void invalidate(int channel, sc_dt::uint64 first, sc_dt::uint64 last);
    memory_socket &socket_of(tla_channel channel);
    std::uint64_t base(tla_channel channel) const;
    std::uint64_t bytes_of(tla_channel channel) const { return tla_pe_memory_bytes(&config_.memory, channel); }
    bool has(tla_channel channel) const { return bytes_of(channel) > 0; }
    bool has_front(tla_channel channel) const {
        return tla_stack_front(tla_pe_memory_stack_config(&config_.memory, channel).policy) != TLA_FRONT_NONE;
    }
    tla_stack_stats front_statistics(tla_channel channel) const;
    void tell_shortage(tla_channel channel, const tla_stack_request &request, tla_completion &completion) const;
    tla_channel first_channel() const { return channels().empty() ? TLA_HBM : channels().front(); }
    bool list_is_in_slice(tla_channel channel) const {
        return config_.free_list == TLA_LIST_HBM && channel == TLA_HBM && has(TLA_HBM);
    }
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &) const override { return list_is_in_slice(TLA_HBM); }
    void begin_reset() override;
    void make_new() override;
    void show_memory(tla_channel channel, const tla_arena_stats &stats, std::uint64_t at_ps);
    tla_status ensure_allocators();
    bool grows(tla_channel channel) const {
        return has(channel) &&
               tla_stack_front(tla_pe_memory_stack_config(&config_.memory, channel).policy) == TLA_FRONT_LAZY;
    }
    std::uint64_t saturated(std::uint64_t since_origin_ps) const { // UINT64_MAX: never
        return since_origin_ps > UINT64_MAX - origin_ps_ ? UINT64_MAX : since_origin_ps + origin_ps_;
    }
    tla_status grow(std::uint64_t until_ps);
    tla_status commit(tla_channel channel, std::uint64_t when_ps);
    void grow_by_itself();
    void given_back(tla_channel channel, tla_paddr pa, std::uint64_t granted);
    tla_channel channel_at(tla_paddr pa) const;
    void execute_count(const tla_command &command, std::uint64_t arrival_ps, tla_completion &completion,
                       tla_work &work);
    tla_channel execute_group(const tla_command &command, tla_completion &completion, tla_work &work,
                              std::vector<std::uint8_t> &result);
    void tell_refusal(const tla_completion &completion, tla_channel channel);
    void end_pins(std::uint64_t at_ps);
    void watch_pins();
    std::vector<statistic> object_statistics(const statistics &of) const;
    bool guard_refuses(const place &where, tlm::tlm_generic_payload &payload, std::uint64_t at_ps, bool &to_note);
    tla_guard_access guarded_access(const tlm::tlm_generic_payload &payload, const place &where,
                                    std::uint64_t at_ps) const;
    void note(const place &where, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps);
    tla_status follow_lists(tla_pe_memory *memory) const;
    tla_status make_engine(tla_channel channel, tla_engine *engine, tla_error *error) const;
    tla_status drive_lists(tla_pe_memory *memory, tla_error *error) const;
    void tell_difference(tla_channel channel);
    void wait_for_list(tla_channel channel, const tla_work &work);
    void go_on_behind(tla_channel channel, const tla_work &work, std::uint64_t done_ps);
    bool is_owned() const { return config_.owner_port != config::no_owner; }
    bool is_about_owned(const tla_command &command) const;
    tla_status place_block(const tla_command &command);
    std::uint64_t walk_list(tla_channel channel, std::uint64_t start_ps);
    bool access_node(const tla_list_access &access, std::uint64_t &local);
    void poison(tla_channel channel, std::uint64_t offset, std::uint64_t nbytes);
    void show_begin(const tla_service &service);
    void show_end(tla_channel channel, const tla_service &service, const tla_arena_stats &stats, std::uint64_t nodes);

    struct watched {
        memory_controller *self;
        tla_channel channel;
    };
    void follow_requests();

    const config config_;
    const bool grows_ =
        grows(TLA_HBM) || grows(TLA_TCM) || grows(TLA_SRAM) || grows(TLA_M_CPU_MEMORY) || grows(TLA_HOST_MEMORY);
    watch watch_;
    watched watched_[TLA_CHANNEL_COUNT];
    std::unique_ptr<tla_pe_memory, void (*)(tla_pe_memory *)> memory_{nullptr, tla_pe_memory_destroy};
    std::unique_ptr<tla_object_store, void (*)(tla_object_store *)> objects_{nullptr, tla_object_store_destroy};
    bool objects_used_ = false; // a command has counted something
    bool watches_pins_ = false; // there is a process that does
    sc_core::sc_event pins_changed_;
    outlet to_memory_[TLA_CHANNEL_COUNT];
    shared_resource resource_{shared_resource::kind::controller, name()};
    std::uint64_t origin_ps_ = 0; // of the time in which memories grow: the end of the last reset
    sc_core::sc_event grows_anew_;
    tla_exclusive_monitor monitors_[TLA_CHANNEL_COUNT]{};
    bool reserved_refused_[TLA_CHANNEL_COUNT]{}; // somebody may remember that DMI was refused for a reservation there
    write_under_way *writes_ = nullptr;          // of callers who wait for their memory
    std::list<held> held_;                       // in the order in which they came
    bool keeps_order_ = false;                   // an exclusive access has come
    std::uint64_t written_until_ps_ = 0;         // when the latest write comes that came before it
    bool dmi_granted_ = false;                   // somebody may hold a pointer
    tla_faults faults_{};
    std::uint64_t refused_ = 0;
    statistics statistics_[TLA_CHANNEL_COUNT];
    tla_arena_stats beginning_[TLA_CHANNEL_COUNT]{};
    tla_stack_stats untouched_[TLA_CHANNEL_COUNT]{};
    std::uint64_t list_ready_ps_[TLA_CHANNEL_COUNT]{}; // when what a list does behind its last answer is done
    std::uint64_t slice_base_ = 0;                     // physical address of the slice's first byte, if there is one
    std::uint64_t data_errors_ = 0;
    channel_figures channel_figures_[TLA_CHANNEL_COUNT]{
        {{*this, "hbm_used_bytes", 48, has(TLA_HBM)},
         {*this, "hbm_largest_free_bytes", 48, has(TLA_HBM)},
         {*this, "hbm_free_blocks", 32, has(TLA_HBM)},
         {*this, "hbm_fragmentation_permille", 10, has(TLA_HBM)},
         {*this, "hbm_held_bytes", 48, has(TLA_HBM) && has_front(TLA_HBM)},
         {*this, "hbm_committed_bytes", 48, grows(TLA_HBM)}},
        {{*this, "tcm_used_bytes", 48, has(TLA_TCM)},
         {*this, "tcm_largest_free_bytes", 48, has(TLA_TCM)},
         {*this, "tcm_free_blocks", 32, has(TLA_TCM)},
         {*this, "tcm_fragmentation_permille", 10, has(TLA_TCM)},
         {*this, "tcm_held_bytes", 48, has(TLA_TCM) && has_front(TLA_TCM)},
         {*this, "tcm_committed_bytes", 48, grows(TLA_TCM)}},
        {{*this, "sram_used_bytes", 48, has(TLA_SRAM)},
         {*this, "sram_largest_free_bytes", 48, has(TLA_SRAM)},
         {*this, "sram_free_blocks", 32, has(TLA_SRAM)},
         {*this, "sram_fragmentation_permille", 10, has(TLA_SRAM)},
         {*this, "sram_held_bytes", 48, has(TLA_SRAM) && has_front(TLA_SRAM)},
         {*this, "sram_committed_bytes", 48, grows(TLA_SRAM)}},
        {{*this, "m_cpu_used_bytes", 48, has(TLA_M_CPU_MEMORY)},
         {*this, "m_cpu_largest_free_bytes", 48, has(TLA_M_CPU_MEMORY)},
         {*this, "m_cpu_free_blocks", 32, has(TLA_M_CPU_MEMORY)},
         {*this, "m_cpu_fragmentation_permille", 10, has(TLA_M_CPU_MEMORY)},
         {*this, "m_cpu_held_bytes", 48, has(TLA_M_CPU_MEMORY) && has_front(TLA_M_CPU_MEMORY)},
         {*this, "m_cpu_committed_bytes", 48, grows(TLA_M_CPU_MEMORY)}},
        {{*this, "host_used_bytes", 48, has(TLA_HOST_MEMORY)},
         {*this, "host_largest_free_bytes", 48, has(TLA_HOST_MEMORY)},
         {*this, "host_free_blocks", 32, has(TLA_HOST_MEMORY)},
         {*this, "host_fragmentation_permille", 10, has(TLA_HOST_MEMORY)},
         {*this, "host_held_bytes", 48, has(TLA_HOST_MEMORY) && has_front(TLA_HOST_MEMORY)},
         {*this, "host_committed_bytes", 48, grows(TLA_HOST_MEMORY)}}};
    struct object_figures {
        figure references, pins, cached, evicted;
    };
    object_figures object_figures_[TLA_CHANNEL_COUNT]{
        {{*this, "hbm_references", 32, has(TLA_HBM) && config_.object_signals},
         {*this, "hbm_pins", 32, has(TLA_HBM) && config_.object_signals},
         {*this, "hbm_cached_objects", 32, has(TLA_HBM) && config_.object_signals},
         {*this, "hbm_evicted_objects", 32, has(TLA_HBM) && config_.object_signals}},
        {{*this, "tcm_references", 32, has(TLA_TCM) && config_.object_signals},
         {*this, "tcm_pins", 32, has(TLA_TCM) && config_.object_signals},
         {*this, "tcm_cached_objects", 32, has(TLA_TCM) && config_.object_signals},
         {*this, "tcm_evicted_objects", 32, has(TLA_TCM) && config_.object_signals}},
        {{*this, "sram_references", 32, has(TLA_SRAM) && config_.object_signals},
         {*this, "sram_pins", 32, has(TLA_SRAM) && config_.object_signals},
         {*this, "sram_cached_objects", 32, has(TLA_SRAM) && config_.object_signals},
         {*this, "sram_evicted_objects", 32, has(TLA_SRAM) && config_.object_signals}},
        {{*this, "m_cpu_references", 32, has(TLA_M_CPU_MEMORY) && config_.object_signals},
         {*this, "m_cpu_pins", 32, has(TLA_M_CPU_MEMORY) && config_.object_signals},
         {*this, "m_cpu_cached_objects", 32, has(TLA_M_CPU_MEMORY) && config_.object_signals},
         {*this, "m_cpu_evicted_objects", 32, has(TLA_M_CPU_MEMORY) && config_.object_signals}},
        {{*this, "host_references", 32, has(TLA_HOST_MEMORY) && config_.object_signals},
         {*this, "host_pins", 32, has(TLA_HOST_MEMORY) && config_.object_signals},
         {*this, "host_cached_objects", 32, has(TLA_HOST_MEMORY) && config_.object_signals},
         {*this, "host_evicted_objects", 32, has(TLA_HOST_MEMORY) && config_.object_signals}}};
    figure queue_depth_{*this, "queue_depth", 16}, busy_{*this, "engine_busy", 1},
        nodes_visited_{*this, "nodes_visited", 32};
};

} // namespace tlmalloc
#endif
