// A mapping command for many targets: executes the rounds of fan_out.h.
#include "fan_out.hpp"

#include "modules/pe/scatter.hpp"

#include <new>

namespace tlmalloc {

fan_out::fan_out(const std::vector<command_route> &routes) {
    tla_fan_out *made = nullptr;
    if (tla_fan_out_create(routes.data(), routes.size(), &made)) throw std::bad_alloc();
    decisions_.reset(made);
}

tla_fan_out_result fan_out::send(outlet &out, const tla_command &command, tla_target target, std::uint64_t at_ps,
                                 bool gather) {
    tla_fan_out_send(decisions_.get(), &command, target, at_ps, gather);
    return make(out);
}

std::uint64_t fan_out::settle(outlet &out, std::uint64_t at_ps) {
    tla_fan_out_settle(decisions_.get(), at_ps);
    return make(out).done_ps;
}

tla_fan_out_result fan_out::make(outlet &out) {
    tla_sent_command *sent_commands = nullptr;
    while (const std::size_t count = tla_fan_out_next(decisions_.get(), &sent_commands)) {
        scatter round(out);
        for (std::size_t i = 0; i < count; i++)
            round.post(sent_commands[i]);
        round.gather();
    }
    return tla_fan_out_get_result(decisions_.get());
}

} // namespace tlmalloc
