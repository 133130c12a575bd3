// Firmware on a processor (model/riscv) behind an arena (engine.h), one instance for each.
#ifndef TLMALLOC_MODULES_MEMORY_FIRMWARE_ENGINE_HPP
#define TLMALLOC_MODULES_MEMORY_FIRMWARE_ENGINE_HPP

#include "tlmalloc/arena/engine.h"

namespace tlmalloc {

// The engine of a policy whose instructions take so long. TLA_UNSUPPORTED for a policy without firmware, and where
// tlmalloc was built without (TLMALLOC_FIRMWARE); TLA_NO_HOST_MEMORY; *engine is untouched then, and the error has a
// text.
tla_status make_firmware_engine(tla_policy policy, const tla_riscv_timing &timing, tla_engine *engine,
                                tla_error *error);

} // namespace tlmalloc
#endif
