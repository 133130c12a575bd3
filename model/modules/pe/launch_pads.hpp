// The host's record of launches: the PEs of every SIP, the launches in flight on them, and their ports.
#ifndef TLMALLOC_MODULES_PE_LAUNCH_PADS_HPP
#define TLMALLOC_MODULES_PE_LAUNCH_PADS_HPP

#include "command/dispatch.h"
#include "tlmalloc/modules/runtime.hpp"

#include <map>

namespace tlmalloc {

class runtime::launch_pads {
  public:
    explicit launch_pads(const config &settings);

    // Returns the first port (0 .. ports() - 1) without a launch in flight; ports() if every port has one.
    unsigned take_port();
    void leave_port(unsigned port) { taken_[port] = false; }
    unsigned ports() const { return static_cast<unsigned>(taken_.size()); }

    using pad = std::unique_ptr<tla_dispatcher, void (*)(tla_dispatcher *)>;
    std::map<std::uint32_t, pad> sips;           // each with one route, to its IO_CPU
    std::map<std::uint32_t, unsigned> under_way; // launches on each SIP

  private:
    std::vector<bool> taken_;
};

} // namespace tlmalloc
#endif
