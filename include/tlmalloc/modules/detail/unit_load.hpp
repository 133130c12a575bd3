// How long an engine of a module works: a signal while it does, and a sum.
#ifndef TLMALLOC_MODULES_DETAIL_UNIT_LOAD_HPP
#define TLMALLOC_MODULES_DETAIL_UNIT_LOAD_HPP

#include "tlmalloc/modules/instrumented.hpp"

#include <cstdint>

namespace tlmalloc {

class unit_load {
  public:
    // The signal counts what the engine has been given and not ended: more than 1 waits for it, as accesses to a port.
    unit_load(instrumented &of, const char *name) : under_way_(of, name, 4) {}

    void begin(std::uint64_t at_ps) { under_way_.add(at_ps, 1); }
    void end(std::uint64_t since_ps, std::uint64_t at_ps) {
        under_way_.add(at_ps, -1);
        busy_ps_ += at_ps - since_ps;
    }
    std::uint64_t busy_ps() const { return busy_ps_; }

  private:
    figure under_way_;
    std::uint64_t busy_ps_ = 0;
};

} // namespace tlmalloc
#endif
