/* Inputs of kernels: SplitMix64. */
#include "uniform.h"

#include "model/kernel/tile_math.h"

static uint64_t scramble(uint64_t z) {
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

void tl_fill_uniform(void *bytes, tl_dtype dtype, uint64_t count, uint64_t seed, uint32_t stream) {
    uint64_t state = scramble(seed + stream); /* scrambled: the streams of one seed are not shifts of each other */
    for (uint64_t i = 0; i < count; i++) {
        state += UINT64_C(0x9E3779B97F4A7C15);
        float value = (float)((double)(scramble(state) >> 11) * 0x1p-52 - 1);
        tla_tile_fill((uint8_t *)bytes + i * tl_dtype_bytes(dtype), dtype, value, 1);
    }
}
