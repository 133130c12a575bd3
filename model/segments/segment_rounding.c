/* The sizes of blocks for requests, and of segments from the driver. */
#include "segment_pool.h"

static const uint64_t largest_request = (uint64_t)1 << 62;

uint64_t tla_segment_cache_round(uint64_t nbytes, uint32_t power2_divisions) {
    if (nbytes > largest_request) return 0;
    if (nbytes < min_block_size) return min_block_size;
    if (power2_divisions < 2 || nbytes <= (uint64_t)min_block_size * power2_divisions)
        return (nbytes + min_block_size - 1) / min_block_size * min_block_size;
    uint64_t floor = (uint64_t)1 << (63 - __builtin_clzll(nbytes));
    uint64_t step = floor >> (31 - __builtin_clz(power2_divisions));
    return (nbytes + step - 1) & ~(step - 1);
}

/* The interval of a size: 0 below 2 MiB, then one more for each power of two, the last for all that is larger. */
static int interval(uint64_t nbytes) {
    int i = nbytes ? 63 - __builtin_clzll(nbytes) - 20 : 0;
    if (i < 0) return 0;
    return i < TLA_SEGMENT_DIVISIONS ? i : TLA_SEGMENT_DIVISIONS - 1;
}

uint64_t tla_segment_cache_round_with(uint64_t nbytes, const tla_segment_cache_config *config) {
    return tla_segment_cache_round(nbytes, config->power2_divisions[interval(nbytes)]);
}

uint64_t tla_segment_cache_segment_size(uint64_t rounded) {
    return tla_segment_cache_segment_size_with(rounded, &(tla_segment_cache_config){.unit = 0});
}

uint64_t tla_segment_cache_segment_size_with(uint64_t rounded, const tla_segment_cache_config *config) {
    const uint64_t unit = tla_segment_unit(config), step = round_large * unit;
    if (rounded <= small_size * unit) return small_buffer * unit;
    if (rounded >= min_large_alloc * unit) return (rounded + step - 1) / step * step;
    return config->large_segment_size ? config->large_segment_size : large_buffer * unit;
}
