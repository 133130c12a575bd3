// The engines of model/rtl behind an arena (engine.h): Verilated C++, one instance for each.
#ifndef TLMALLOC_MODULES_MEMORY_RTL_ENGINE_HPP
#define TLMALLOC_MODULES_MEMORY_RTL_ENGINE_HPP

#include "tlmalloc/arena/engine.h"

#include <cstdint>

namespace tlmalloc {

// The engine of a policy for so many units: first fit (node_cycles 1 or 2) or worst fit (1) over a list of up to
// TLA_RTL_NODES nodes, offsets and sizes of 33 bits; or buddies of up to TLA_RTL_BUDDIES units, whatever node_cycles
// is. What has not answered after so many cycles as four walks of its list is TLA_TIMEOUT. TLA_UNSUPPORTED for another
// policy or more cycles or units, and where Verilator was not there when tlmalloc was built; TLA_NO_HOST_MEMORY;
// *engine is untouched then.
tla_status make_rtl_engine(tla_policy policy, unsigned node_cycles, std::uint64_t units, tla_engine *engine,
                           tla_error *error);

} // namespace tlmalloc
#endif
