// The memory controller: an allocation engine whose free lists own the bytes of an HBM slice and a TCM, of a memory of
// the cube, or of the host's.
#ifndef TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP
#define TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

// As tla_engine_maker: makes the engine of parameters.engine. make_engine makes those that this library was built with,
// and is TLA_UNSUPPORTED, with a text, for another.
using engine_maker = std::function<tla_status(const tla_controller_parameters &parameters, tla_policy placement,
                                              std::uint64_t units, tla_engine *engine, tla_error *error)>;
tla_status make_engine(const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                       tla_engine *engine, tla_error *error);

// `in` takes accesses by physical address and passes each to the memory that it leads to; `control` takes ALLOC, FREE,
// TRIM, batches, and what counts and caches blocks (command.h), queues them, charges the price of the receipt and
// answers with a completion. What a command does is decided by tla_controller (controller.h). Commands are carried out
// one after the other, each with all transactions that it makes to the slice; data accesses go past them.
//
// A memory of 0 bytes is none: its socket may stay unbound. A memory that answers debug accesses must be as large as
// the configuration says. Data errors: TLM_ADDRESS_ERROR_RESPONSE for an address that is not in these memories or an
// access that runs off its end; else what the memory answers.
//
// Fronts, guard, exclusive accesses, DMI, lists, engines, faults, resets: model/modules/memory/MEMORY_CONTROLLER.md.
class memory_controller : public instrumented, public resettable, private command_handler {
    class accesses; // what comes in by `in`
    class figures;  // what waveforms show
    std::unique_ptr<accesses> accesses_;

  public:
    // By default SIP 0, cube 0, PE 0: with a slice and a TCM, and nothing of the cube or of the host.
    struct config : tla_controller_parameters {
        config() { tla_controller_defaults(this); }
        explicit config(const tla_controller_parameters &parameters) : tla_controller_parameters(parameters) {}

        std::uint64_t latency_ps = 0; // added to every data access
        unsigned outstanding = 64;    // AT: accepted requests of an initiator without END_RESP; more wait for END_REQ
        bool dmi = true;              // pass on DMI
        tla_fault_injection faults{};
        engine_maker engines = make_engine; // of its free lists, or one of your own
        static constexpr unsigned no_owner = TLA_CONTROLLER_NO_OWNER;
        unsigned owner_port = no_owner; // where the owner of the slice's blocks sends its commands
    };

    // Of one memory.
    struct statistics : command_counts, tla_controller_counts {
        std::uint64_t list_reads = 0, list_writes = 0; // nodes, where the list is in memory
        std::uint64_t list_hits = 0;                   // reads that the node cache served
        std::uint64_t list_errors = 0;                 // nodes that were not as written, or could not be accessed
        std::uint64_t list_ps = 0;                     // part of busy_ps that the accesses took
        std::uint64_t held = 0;                        // bytes of arena.free that a front keeps (stack.h)
        std::uint64_t peak_reserved = 0;               // bytes that it had from the list below, at most
        tla_object_stats objects{};                    // counted blocks (object_store.h)
        // guard: accesses; of not_owner also commands
        std::uint64_t use_after_free = 0, out_of_bounds = 0, never_written = 0;
        tla_arena_stats arena{};
    };

    target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> in;
    using memory_socket = optional_initiator_socket<tlm_utils::simple_initiator_socket_tagged<accesses>>;
    std::deque<memory_socket> memories = one_of_each_kind(); // by tla_memory_kind, named as parts of a platform are
    memory_socket &slice = memories[TLA_HBM], &tcm = memories[TLA_TCM], &sram = memories[TLA_SRAM],
                  &m_cpu_memory = memories[TLA_M_CPU_MEMORY], &host_memory = memories[TLA_HOST_MEMORY];
    control_window control;

    memory_controller(sc_core::sc_module_name name, const config &settings);
    ~memory_controller() override;

    // Those that it has: of which there are bytes, ascending.
    std::vector<tla_memory_kind> memory_kinds() const;

    // Of the memory; the arena's are those of an untouched one before the first command.
    statistics get_statistics(tla_memory_kind kind) const;
    std::uint64_t refused() const { return tla_controller_get_refused(core_.get()); } // commands, by the fault plan
    std::uint64_t data_errors() const;
    bool has_allocators() const { return tla_controller_memory(core_.get()) != nullptr; }

    // Told of every request that a memory has decided (stack.h), and of every command that leaves a block with
    // this many references; to be set before the first command and before restore(). For recordings.
    struct watch {
        std::function<void(tla_memory_kind, const tla_stack_deed &)> decided;
        std::function<void(tla_memory_kind, std::uint64_t offset, bool one_more, std::uint64_t references,
                           std::uint64_t at_ps)>
            counted;
    };
    void set_watch(watch who);

    // Called after every commit of a memory that grows by itself (front `lazy`), with its free list and the time in ps
    // at which the commit is done. It must neither wait nor send commands. Empty: not called.
    std::function<void(tla_memory_kind, const tla_arena_stats &, std::uint64_t done_ps)> grown;

    // Puts a memory's free list into a recorded state (arena.h), before the simulation runs. Errors as
    // tla_controller_restore.
    tla_status restore(tla_memory_kind kind, const std::string &snapshot, tla_error *error);

    // As tla_controller_is_as_at_the_beginning.
    bool is_as_at_the_beginning(tla_memory_kind kind) const;

    std::vector<statistics_group> list_statistics() const override;

  private:
    static std::deque<memory_socket> one_of_each_kind();
    void start_of_simulation() override;
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &) const override;
    void begin_reset() override;
    void make_new() override;
    class work; // commands and what is due by itself, with their time

    const config config_;
    std::unique_ptr<tla_controller, void (*)(tla_controller *)> core_{nullptr, tla_controller_destroy};
    std::unique_ptr<work> work_;
    std::unique_ptr<figures> figures_;
};

} // namespace tlmalloc
#endif
