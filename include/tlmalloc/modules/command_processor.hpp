// IO_CPU and M_CPU: take mapping commands from above, fan them out to what lies below, gather the answers.
#ifndef TLMALLOC_MODULES_COMMAND_PROCESSOR_HPP
#define TLMALLOC_MODULES_COMMAND_PROCESSOR_HPP

#include "tlmalloc/detail/in_order.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/parameters/execution.h"

#include <memory>
#include <tlm_utils/simple_initiator_socket.h>

namespace tlmalloc {

class fan_out;

// `control` takes MAP, UNMAP, INVALIDATE and TAKE_BACK (command.h), spends `overhead_ps` on each, and passes it on over
// `out` along every route that leads to PEs in its scope. The command is done when all have answered; a MAP that one of
// them refuses is taken back from the others (KernBench ADR-0035/0036: fan-out and aggregation). A scope that reaches
// nobody is refused with TLA_INVALID_ARGUMENT.
class command_processor : public instrumented, private command_handler {
  public:
    struct config : tla_command_processor_parameters {
        config() { tla_m_cpu_defaults(this); } // an M_CPU
        explicit config(const tla_command_processor_parameters &parameters)
            : tla_command_processor_parameters(parameters) {}

        tla_target kind = TLA_TARGET_M_CPU;          // what it answers to: TLA_TARGET_IO_CPU or TLA_TARGET_M_CPU
        std::vector<command_route> routes;           // what lies below
        tla_target route_target = TLA_TARGET_PE_MMU; // what kind of targets those are
        unsigned ports = 16;
        unsigned queue_depth = 16;
        time_style style = time_style::fast;
    };

    struct statistics : command_counts {
        std::uint64_t commands = 0;
        std::uint64_t not_restored = 0; // routes along which a command could not be taken back
    };

    tlm_utils::simple_initiator_socket<command_processor> out{"out"};

    control_window control;

    command_processor(sc_core::sc_module_name name, const config &settings);
    ~command_processor() override;

    statistics get_statistics() const;
    std::vector<statistics_part> list_statistics() const override;

  private:
    void start_of_simulation() override;
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    bool makes_transactions(const tla_command &command) const override;
    outlet *way_out() { return config_.style == time_style::exact ? &out_ : nullptr; }

    const config config_;
    std::unique_ptr<fan_out> routes_;
    outlet out_; // exact
    statistics statistics_;
    figure in_flight_{*this, "commands_in_flight", 16};
};

} // namespace tlmalloc
#endif
