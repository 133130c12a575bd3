// The engines of model/rtl behind an arena (engine.h): Verilated C++, one instance for each.
#ifndef TLMALLOC_MODULES_MEMORY_RTL_ENGINE_HPP
#define TLMALLOC_MODULES_MEMORY_RTL_ENGINE_HPP

#include "tlmalloc/arena/engine.h"

#include <cstdint>

namespace tlmalloc {

// Makes the engine of a policy for so many units: first fit (node_cycles 1 or 2) or worst fit (1) over a list of up to
// TLA_RTL_NODES nodes, with offsets and sizes of 33 bits; buddies of up to TLA_RTL_BUDDIES units, or offset bins of up
// to TLA_RTL_BINS units and TLA_RTL_NODES nodes, for any node_cycles. A request without an answer after the cycles of
// four walks of its list returns TLA_TIMEOUT. TLA_UNSUPPORTED for another policy, more cycles or more units, and if
// tlmalloc was built without Verilator; TLA_NO_HOST_MEMORY; *engine is unchanged then.
tla_status make_rtl_engine(tla_policy policy, unsigned node_cycles, std::uint64_t units, tla_engine *engine,
                           tla_error *error);

} // namespace tlmalloc
#endif
