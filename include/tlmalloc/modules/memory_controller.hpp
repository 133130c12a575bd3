// The memory controller: an allocation engine. Its free lists own the bytes of an HBM slice and a TCM, of a cube's
// memory, or of the host's memory.
#ifndef TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP
#define TLMALLOC_MODULES_MEMORY_CONTROLLER_HPP

#include "tlmalloc/memory/controller.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/controller_hooks.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

// `in` accepts accesses by physical address, and forwards each access to the memory at that address. `control` accepts
// ALLOC, FREE, TRIM, batches, and commands that count and cache blocks (command.h). It queues commands, charges the
// price of the receipt, and answers with a completion. tla_controller (controller.h) decides the result of a command.
// The controller executes commands one after the other, each with all its transactions to the slice; data accesses
// bypass commands.
//
// A memory of 0 bytes does not exist: its socket may stay unbound. A memory that answers debug accesses must be as
// large as configured. Data errors: an address outside these memories, or an access that runs past the end of its
// memory, gets TLM_ADDRESS_ERROR_RESPONSE. Other errors are the memory's answers.
//
// With config::fault_page_size it serves page faults in ranges that the host delegates by MAP (command.h): ALLOC of the
// page, MAP over `maps`, and a notice for the host. It passes all other faults on.
//
// With config::move, MOVE leads a block to another place while others use it. Its MMUs get commands over `maps`.
//
// Moves, fronts, guard, exclusive accesses, DMI, lists, engines, faults, resets:
// model/modules/memory/MEMORY_CONTROLLER.md.
class memory_controller : public instrumented, public resettable, public controller_hooks, private command_handler {
    class accesses; // accesses through `in`
    std::unique_ptr<accesses> accesses_;

  public:
    // By default SIP 0, cube 0, PE 0: with a slice and a TCM, without memories of the cube or of the host.
    struct config : tla_controller_parameters {
        config() { tla_controller_defaults(this); }
        explicit config(const tla_controller_parameters &parameters) : tla_controller_parameters(parameters) {}

        std::uint64_t latency_ps = 0; // added to every data access, ps
        // AT: accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
        bool dmi = true; // forward DMI
        tla_fault_injection faults{};
        engine_maker engines = make_engine; // makes the engine of its free lists; set it to use your own
        static constexpr unsigned no_owner = TLA_CONTROLLER_NO_OWNER;
        unsigned owner_port = no_owner;             // port at which the owner of the slice's blocks sends its commands
        std::uint64_t maps_port = 0;                // address of its control port at `maps`
        tla_target maps_target = TLA_TARGET_PE_MMU; // kind of target there
        std::uint64_t fault_page_size = 0;          // bytes of the pages that it gives to page faults; 0: serves none
        std::uint64_t fault_pool = 0;               // bytes of these pages in all delegated tensors; 0: no limit
        unsigned fault_port = no_owner;             // own control port for the commands about them
    };

    // Statistics of one memory; counts, or ps or bytes where said. The page explains each.
    struct statistics : command_counts, tla_controller_counts {
        std::uint64_t list_reads = 0, list_writes = 0, list_hits = 0, list_errors = 0; // nodes of a list in memory
        std::uint64_t list_ps = 0;                                                     // part of busy_ps for these
        std::uint64_t held = 0, peak_reserved = 0;                                     // bytes of a front
        tla_object_stats objects{};                                                    // counted blocks
        std::uint64_t stop_ps = 0, longest_stop_ps = 0; // moves: time in which accesses waited, sum and largest
        std::uint64_t use_after_free = 0, out_of_bounds = 0, never_written = 0; // guard: accesses
        tla_arena_stats arena{};
    };

    target_socket<0, sc_core::SC_ZERO_OR_MORE_BOUND> in;
    using memory_socket = optional_initiator_socket<tlm_utils::simple_initiator_socket_tagged<accesses>>;
    std::deque<memory_socket> memories = one_of_each_kind(); // by tla_memory_kind, named like the parts of a platform
    memory_socket &slice = memories[TLA_HBM], &tcm = memories[TLA_TCM], &sram = memories[TLA_SRAM],
                  &m_cpu_memory = memories[TLA_M_CPU_MEMORY], &host_memory = memories[TLA_HOST_MEMORY];
    optional_initiator_socket<tlm_utils::simple_initiator_socket<memory_controller>> maps{"maps"};
    // To the host, for page faults that it has to serve, and for notices of pages (pe_mmu.hpp).
    optional_initiator_socket<tlm_utils::simple_initiator_socket<memory_controller>> host_faults{"host_faults"};
    control_window control;

    // With config::fault_page_size, the socket `faults` for the page faults of the PE's MMU; or null.
    target_socket<1, sc_core::SC_ZERO_OR_MORE_BOUND> *page_faults();

    // Reports an error /tlmalloc/memory_controller/config for a configuration that tla_controller_check_config rejects,
    // for an engine without `engines`, and for `ports` or queue_depth out of range (control_window.hpp). The same error
    // reports, at the start of the simulation, a memory that is not bound or is too small. May throw std::bad_alloc.
    memory_controller(sc_core::sc_module_name name, const config &settings);
    ~memory_controller() override;

    // The memories that it has: kinds with bytes, ascending.
    std::vector<tla_memory_kind> memory_kinds() const;

    // Statistics of a memory of memory_kinds(). Before the first command, the arena's statistics are those of an
    // untouched arena.
    statistics get_statistics(tla_memory_kind kind) const;
    std::uint64_t refused() const { return tla_controller_get_refused(core_.get()); } // commands, by the fault plan
    std::uint64_t data_errors() const;
    bool can_move() const { return config_.move.mode != TLA_MOVE_OFF; } // blocks can
    bool has_allocators() const { return tla_controller_memory(core_.get()) != nullptr; }
    void set_watch(watch who);

    // As tla_controller_restore, before the simulation runs, and as tla_controller_is_as_at_the_beginning.
    tla_status restore(tla_memory_kind kind, const std::string &snapshot, tla_error *error);
    bool is_as_at_the_beginning(tla_memory_kind kind) const;

    std::vector<statistics_group> list_statistics() const override;

  private:
    static std::deque<memory_socket> one_of_each_kind();
    void start_of_simulation() override;
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &) const override;
    std::uint64_t l1() const override { return tla_controller_get_l1(core_.get()); }
    tla_status set_l1(std::uint64_t l1, std::uint64_t at_ps, tla_error &error) override;
    void begin_reset() override;
    void make_new() override;
    void end_reset() override;
    class figures; // of waveforms
    class work;    // commands and spontaneous work, with their time
    class moves;   // blocks that move
    class faults;  // page faults
    const config config_;
    std::unique_ptr<tla_controller, void (*)(tla_controller *)> core_{nullptr, tla_controller_destroy};
    std::unique_ptr<work> work_;
    std::unique_ptr<moves> moves_;
    std::unique_ptr<figures> figures_;
    std::unique_ptr<faults> faults_; // or null
};

} // namespace tlmalloc
#endif
