// A plugin of somebody else's simulator: a target of tlmalloc's behind a C function.
#include "tlmalloc/modules/hbm_slice.hpp"

extern "C" unsigned long long plugin_capacity() {
    static tlmalloc::hbm_slice slice{"slice_of_plugin", {}};
    return tlmalloc::hbm_slice::config{}.capacity + slice.get_statistics().reads;
}
