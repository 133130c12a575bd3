// IO_CPU and M_CPU: receive commands from above, forward them to the targets below, and gather the answers.
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

// `control` accepts commands about entries, LAUNCH and PE_DMA (command.h). The processor spends
// `overhead_ps` on each command and forwards it over `out`. A mapping takes every route that leads to PEs in its scope.
// If one target rejects a MAP or an UNMAP, the processor takes it back from the others (KernBench ADR-0035/0036). A
// LAUNCH goes to the PEs that it names, and completes when all their kernels have returned; other commands pass
// meanwhile.
//
// These failures of a LAUNCH start no kernel: TLA_INVALID_ARGUMENT if it names no PE; TLA_NOT_FOUND for a PE without a
// route or an unknown kernel; TLA_BUSY if a PE still runs a kernel of this processor. If a PE runs a kernel of another
// sender, the LAUNCH can fail after other kernels have begun.
//
// With `slices` the processor owns their free lists (units.h), and accepts ALLOC and FREE of HBM: for all slices in
// lockstep, or for those of named PEs. A reset (resettable.hpp) ends every command at once, and waits for the answers
// from below.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/COMMAND_PROCESSOR.md.
class command_processor : public instrumented, public resettable, private command_handler {
  public:
    struct config : tla_command_processor_parameters {
        config() { tla_m_cpu_defaults(this); } // defaults of an M_CPU
        explicit config(const tla_command_processor_parameters &parameters)
            : tla_command_processor_parameters(parameters) {}

        tla_target kind = TLA_TARGET_M_CPU;          // own kind of target: TLA_TARGET_IO_CPU or TLA_TARGET_M_CPU
        std::vector<command_route> routes;           // routes to the targets below
        tla_target route_target = TLA_TARGET_PE_MMU; // kind of target on these routes
        std::vector<dispatch_route> dispatch_routes; // routes to the targets below, for LAUNCH
        tla_target dispatch_target = TLA_TARGET_PROCESSING_ELEMENT; // kind of target on these routes
        unsigned sip = 0;                                           // own SIP, below TLA_SIP_COUNT, for completions
        std::uint32_t kernels = 0;                                  // valid kernel numbers are less than this; 0:
                                                                    // unknown
        std::vector<tla_owned_slice> slices;                        // slices whose blocks it places; empty: slices
                                                                    // place their own
        tla_lockstep_config list{};                                 // for these slices, which determine banks and base
        tla_cost_profile cost{};                                    // cost of a decision about these slices
        unsigned ports = 16;                                        // control ports, at least 1
        unsigned queue_depth = 16;                                  // waiting commands, 1 ..
                                                                    // TLA_COMMAND_QUEUE_DEPTH_MAX
    };

    struct statistics : command_counts {
        std::uint64_t commands = 0;
        std::uint64_t launches = 0;     // LAUNCH among `commands`
        std::uint64_t not_restored = 0; // routes along which the processor could not take a command back, and slices in
                                        // which it could not undo a command
        std::uint64_t allocs = 0, frees = 0; // among `commands`: for all slices, failed commands included
        tla_bank_stats list{};               // of every owned slice: free are the bytes that are free in all of them
    };

    tlm_utils::simple_initiator_socket<command_processor> out{"out"};

    control_window control;

    // Reports an error /tlmalloc/command_processor/config for `ports` or `queue_depth` out of range. The same error
    // reports `dispatch_routes` whose ranges of PEs overlap, and a `list` that cannot form a free list. Throws
    // std::bad_alloc without host memory.
    command_processor(sc_core::sc_module_name name, const config &settings);
    ~command_processor() override;

    // Sets way_ps and spacing_ps, in ps, of a dispatch route (tla_dispatch_route) when the fabric determines them.
    // `route` is an index into config::dispatch_routes; another index is a configuration error. Call it before the
    // simulation runs. A later call affects only launches that the processor forwards
    // after it. A reset keeps the values.
    void expect_way(std::size_t route, std::uint64_t way_ps, std::uint64_t spacing_ps);

    // Returns the time in ps from the sending of a launch until the farthest of these PEs is ready to begin. Returns 0
    // if no route to these PEs has a known way.
    std::uint64_t way_ps(const tla_pe_set &pes) const;

    statistics get_statistics() const;

    // Returns the bytes that a block of an owned slice alone can still get. `slice` is an index into config::slices;
    // another index is a configuration error.
    tla_bank_stats slice_statistics(std::size_t slice) const;
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
    std::list<tla_dispatch *> dispatched_;                                // launches in flight
    std::unique_ptr<tla_slice_owner, void (*)(tla_slice_owner *)> owner_; // owner of the slices; or null
    outlet out_;
    statistics statistics_;
    figure in_flight_{*this, "commands_in_flight", 16};
};

} // namespace tlmalloc
#endif
