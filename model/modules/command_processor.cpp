// IO_CPU and M_CPU: mapping commands fan out, and their answers are gathered.
#include "tlmalloc/modules/command_processor.hpp"

#include "fan_out.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

command_processor::command_processor(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "command_processor"), control("control", "command_processor", settings.kind, settings.ports,
                                                       *this, settings.style, settings.queue_depth),
      config_(settings), routes_(std::make_unique<fan_out>(settings.routes)) {}

command_processor::~command_processor() = default;

void command_processor::start_of_simulation() {
    if (config_.style == time_style::exact) out_.lead_to(*out.operator->());
}

bool command_processor::makes_transactions(const tla_command &command) const {
    return tla_opcode_has_entries(command.opcode);
}

std::uint64_t command_processor::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    const tla_service service = control.occupy(arrival_ps, config_.overhead_ps);
    in_flight_.add(service.accepted_ps, 1);
    tla_completion completion = control_window::answer_to(command, TLA_BAD_COMMAND);
    std::uint64_t done_ps = service.done_ps;
    if (tla_opcode_has_entries(command.opcode)) {
        const tla_fan_out_result sent =
            routes_->send(*out.operator->(), way_out(), command, config_.route_target, service.done_ps, true);
        completion.status = sent.status;
        completion.nbytes = sent.status ? 0 : command.count;
        done_ps = sent.done_ps;
    }
    completion.service_ps = done_ps - service.start_ps;
    statistics_.commands++;
    statistics_.failed += completion.status != TLA_OK;
    statistics_.busy_ps += config_.overhead_ps;
    in_flight_.add(done_ps, -1);
    control.complete(port, completion, done_ps);
    return service.accepted_ps;
}

command_processor::statistics command_processor::get_statistics() const {
    statistics result = statistics_;
    result.not_restored = routes_->not_restored();
    return result;
}

std::vector<statistics_part> command_processor::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"commands", s.commands, "commands", "passed on"},
              {"failed", s.failed, "commands", "refused"},
              {"busy_ps", s.busy_ps, "ps", "of overhead"},
              {"not_restored", s.not_restored, "routes", "along which a command could not be taken back"}}}};
}

} // namespace tlmalloc
