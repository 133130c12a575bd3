// IO_CPU and M_CPU: take commands from above, fan them out to what lies below, gather the answers.
#ifndef TLMALLOC_MODULES_COMMAND_PROCESSOR_HPP
#define TLMALLOC_MODULES_COMMAND_PROCESSOR_HPP

#include "tlmalloc/base/work.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/stack/lockstep.h"

#include <list>
#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

struct tla_dispatch;
struct tla_dispatcher;
struct tla_slice_owner;
struct tla_slice_owner_result;

namespace tlmalloc {

class fan_out;

using dispatch_route = tla_dispatch_route;

// `control` takes MAP, UNMAP, INVALIDATE, TAKE_BACK, LAUNCH and PE_DMA (command.h), spends `overhead_ps` on each, and
// passes it on over `out`. A mapping goes along every route that leads to PEs in its scope; a MAP that one target
// rejects is taken back from the others (KernBench ADR-0035/0036). A LAUNCH goes to the PEs that it names and is done
// when all their kernels have returned; other commands pass meanwhile. It fails as a whole, and no kernel begins, for
// no PE (TLA_INVALID_ARGUMENT), a PE without a route or an unknown kernel (TLA_NOT_FOUND), and a PE that still runs a
// kernel of this processor (TLA_BUSY). With `slices` it owns their free list (lockstep.h) and takes ALLOC and FREE of
// HBM for all. A reset (resettable.hpp) ends every command at once, and waits for the answers below.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/COMMAND_PROCESSOR.md.
class command_processor : public instrumented, public resettable, private command_handler {
  public:
    struct config : tla_command_processor_parameters {
        config() { tla_m_cpu_defaults(this); } // an M_CPU
        explicit config(const tla_command_processor_parameters &parameters)
            : tla_command_processor_parameters(parameters) {}

        tla_target kind = TLA_TARGET_M_CPU;          // what it answers to: TLA_TARGET_IO_CPU or TLA_TARGET_M_CPU
        std::vector<command_route> routes;           // what lies below
        tla_target route_target = TLA_TARGET_PE_MMU; // what kind of targets those are
        std::vector<dispatch_route> dispatch_routes; // what lies below, for LAUNCH
        tla_target dispatch_target = TLA_TARGET_PROCESSING_ELEMENT; // what kind of targets those are
        unsigned sip = 0;                                           // where it is, for completions
        std::uint32_t kernels = 0;                                  // numbers of kernels are below; 0: not known
        std::vector<tla_owned_slice> slices;                        // whose blocks it places; none: they are their own
        tla_lockstep_config list{};                                 // of these slices; banks and base follow
        tla_cost_profile cost{};                                    // of a decision about them
        unsigned ports = 16;
        unsigned queue_depth = 16;
    };

    struct statistics : command_counts {
        std::uint64_t commands = 0;
        std::uint64_t launches = 0;     // of the commands
        std::uint64_t not_restored = 0; // routes along which a command could not be taken back, and slices in which
                                        // one could not be undone
        std::uint64_t allocs = 0, frees = 0; // of the commands: for all slices, refused ones included
        tla_bank_stats list{};               // of every slice that it owns
    };

    tlm_utils::simple_initiator_socket<command_processor> out{"out"};

    control_window control;

    command_processor(sc_core::sc_module_name name, const config &settings);
    ~command_processor() override;

    // The way and the spacing of a dispatch route (command.h), where they are known only when the fabric is; before
    // the simulation runs.
    void expect_way(std::size_t route, std::uint64_t way_ps, std::uint64_t spacing_ps);

    // From its sending of a launch until the farthest of these PEs is ready to begin; 0 when not known.
    std::uint64_t way_ps(const tla_pe_set &pes) const;

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

  private:
    void start_of_simulation() override;
    void begin_reset() override { control.end_commands(); }
    void make_new() override;
    bool is_busy() const override { return !dispatched_.empty(); }
    void make_owner();
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &command) const override;
    bool is_for_slices(const tla_command &command) const;
    std::uint64_t execute_for_slices(unsigned port, const tla_command &command, std::uint64_t arrival_ps);
    tla_slice_owner_result tell_slices(std::uint64_t at_ps);
    void dispatch(unsigned port, const tla_command &command, const tla_service &service);
    void finish(unsigned port, const tla_completion &completion, std::uint64_t done_ps);
    void gather(unsigned port, tla_dispatch *launched);

    const config config_;
    std::unique_ptr<fan_out> routes_;
    std::unique_ptr<tla_dispatcher, void (*)(tla_dispatcher *)> dispatcher_;
    std::list<tla_dispatch *> dispatched_;                                // under way
    std::unique_ptr<tla_slice_owner, void (*)(tla_slice_owner *)> owner_; // of slices; or none
    outlet out_;
    statistics statistics_;
    figure in_flight_{*this, "commands_in_flight", 16};
};

} // namespace tlmalloc
#endif
