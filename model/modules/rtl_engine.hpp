// The engine of model/rtl behind an arena (engine.h): Verilated C++, one instance for each.
#ifndef TLMALLOC_MODEL_MODULES_RTL_ENGINE_HPP
#define TLMALLOC_MODEL_MODULES_RTL_ENGINE_HPP

#include "tlmalloc/allocators/engine.h"

namespace tlmalloc {

// First fit over a list of TLA_RTL_NODES nodes, which take node_cycles each, 1 or 2; offsets and sizes are of 33 bits.
// What has not answered after so many cycles as four walks of its list is TLA_TIMEOUT. TLA_INVALID_ARGUMENT for other
// cycles, TLA_UNSUPPORTED where Verilator was not there when tlmalloc was built, TLA_NO_HOST_MEMORY; *engine is
// untouched then.
tla_status make_rtl_engine(unsigned node_cycles, tla_engine *engine, tla_error *error);

} // namespace tlmalloc
#endif
