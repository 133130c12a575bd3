// What the parts of a platform but its slices have done, for their energy.
#ifndef TLMALLOC_PLATFORM_RUN_PARTS_ACTIVITY_HPP
#define TLMALLOC_PLATFORM_RUN_PARTS_ACTIVITY_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

namespace tlmalloc {

// Bytes of memories, bits of links, lookups and walks of MMUs, and cycles of allocators, to now. Links carry bits for
// every cause, and count as links. A link between UCIe ports, or of PCIe, is no wire.
tla_parts_activity parts_activity(const npu &platform, const tla_config &config);

} // namespace tlmalloc
#endif
