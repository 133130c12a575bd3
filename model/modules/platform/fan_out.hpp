// Moves what fan_out.h decides: one command to several control ports, and the gathering of their answers.
#ifndef TLMALLOC_MODULES_PLATFORM_FAN_OUT_HPP
#define TLMALLOC_MODULES_PLATFORM_FAN_OUT_HPP

#include "command/fan_out.h"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/in_order.hpp"

#include <memory>
#include <vector>

namespace tlmalloc {

class fan_out {
  public:
    explicit fan_out(const std::vector<command_route> &routes);

    // As tla_fan_out_send and tla_fan_out_settle. The calling thread waits.
    tla_fan_out_result send(outlet &out, const tla_command &command, tla_target target, std::uint64_t at_ps,
                            bool gather);
    std::uint64_t settle(outlet &out, std::uint64_t at_ps);

    std::uint64_t lost() const { return tla_fan_out_lost(decisions_.get()); }
    std::uint64_t not_restored() const { return tla_fan_out_not_restored(decisions_.get()); }

  private:
    tla_fan_out_result make(outlet &out);

    std::unique_ptr<tla_fan_out, void (*)(tla_fan_out *)> decisions_{nullptr, tla_fan_out_destroy};
};

} // namespace tlmalloc
#endif
