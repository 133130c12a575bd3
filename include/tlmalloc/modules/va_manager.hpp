// The device's virtual addresses: allocates ranges, and makes mappings visible to the MMUs that need them.
#ifndef TLMALLOC_MODULES_VA_MANAGER_HPP
#define TLMALLOC_MODULES_VA_MANAGER_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/instrumented.hpp"

#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

class fan_out;

// `control` accepts VA_ALLOC, VA_FREE, MAP, UNMAP and INVALIDATE (command.h). The manager forwards the last three over
// `out`, along every route that leads to PEs in the command's scope. Either all MMUs execute a MAP or UNMAP, or no MMU
// does. If an MMU rejects the command, the first rejection is the answer, and the other MMUs take the command back.
// With map_ack posted, the manager acknowledges a mapping after sending it, and counts failures later. The first
// command creates the address space (ADR-0048 D5). A reset (resettable.hpp) restores the state before the first
// command.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/translation/VA_MANAGER.md.
class va_manager : public instrumented, public resettable, private command_handler {
  public:
    struct config : tla_va_parameters {
        config() { tla_va_defaults(this); }
        explicit config(const tla_va_parameters &parameters) : tla_va_parameters(parameters) {}

        std::vector<command_route> routes;           // the next command processors, or the MMUs themselves
        tla_target route_target = TLA_TARGET_PE_MMU; // kind of target on these routes
        unsigned ports = 16;                         // control ports, at least 1
        unsigned queue_depth = 16;                   // waiting commands, 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX
    };

    struct statistics : command_counts {
        std::uint64_t allocs = 0, frees = 0, maps = 0, unmaps = 0;
        std::uint64_t posted_failures = 0; // mappings that failed after their acknowledgement (posted)
        std::uint64_t not_restored = 0;    // routes along which the manager could not take a command back
        std::uint64_t nodes_visited = 0;
        tla_arena_stats space{};
    };

    tlm_utils::simple_initiator_socket<va_manager> out{"out"};

    control_window control;

    // Reports an error /tlmalloc/va_manager/config for a space that tla_va_space_create rejects, and for `ports` or
    // queue_depth out of range. Throws std::bad_alloc without host memory.
    va_manager(sc_core::sc_module_name name, const config &settings);
    ~va_manager() override;

    statistics get_statistics() const;
    std::vector<statistics_group> list_statistics() const override;

  private:
    void start_of_simulation() override;
    void begin_reset() override { control.end_commands(); }
    void make_new() override;
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    void settle_posted();
    bool makes_transactions(const tla_command &command) const override;
    tla_status serve_space(const tla_command &command, tla_completion &completion, tla_work &work);
    const config config_;
    std::unique_ptr<tla_va_space, void (*)(tla_va_space *)> space_{nullptr, tla_va_space_destroy};
    std::unique_ptr<fan_out> routes_;
    turnstile sending_; // operations that use routes_
    sc_core::sc_event posted_;
    std::uint64_t posted_ps_ = 0;
    outlet out_;
    statistics statistics_;
    figure used_{*this, "used_bytes", 48}, maps_in_flight_{*this, "maps_in_flight", 16};
};

} // namespace tlmalloc
#endif
