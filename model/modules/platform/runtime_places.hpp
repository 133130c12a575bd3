// Which PE, and the memory of which kind: what several files of the runtime compare.
#ifndef TLMALLOC_MODULES_PLATFORM_RUNTIME_PLACES_HPP
#define TLMALLOC_MODULES_PLATFORM_RUNTIME_PLACES_HPP

#include "tlmalloc/modules/runtime.hpp"

namespace tlmalloc {

inline bool same(const pe_location &a, const pe_location &b) {
    return a.sip == b.sip && a.cube == b.cube && a.pe == b.pe;
}

inline tla_memory_kind memory_of(const shard &s) {
    tla_memory_kind memory = TLA_HBM;
    tla_memory_kind_of(s.pa, &memory);
    return memory;
}

} // namespace tlmalloc
#endif
