/* f16 and f32 arithmetic on bytes. The library is built without contraction of a * b + c to a fused operation, so that
 * results are the same on every host. */
#include "tlmalloc/device/tile_math.h"

#include <string.h>

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float tla_f16_to_f32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 0x1Fu, fraction = half & 0x3FFu;
    if (exponent == 0x1F) return float_of(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13); /* 112 = 127 - 15 */
    float magnitude = (float)fraction * 0x1p-24f;                                       /* zero and subnormals */
    return sign ? -magnitude : magnitude;
}

uint16_t tla_f32_to_f16(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return (uint16_t)(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu)); /* quiet NaN */
    if (magnitude >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* 65520, half-way past the largest, and above */
    if (magnitude < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, which an addition rounds to */
        float rounded = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(rounded) - bits_of(0.5f)));
    }
    uint32_t odd = magnitude >> 13 & 1; /* of the last bit that stays */
    return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xFFFu + odd) >> 13));
}

static float load(const uint8_t *bytes, tl_dtype type) {
    if (type == TL_F16) return tla_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
    return float_of(bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

static void store(uint8_t *bytes, tl_dtype type, float value) {
    uint32_t bits = type == TL_F16 ? tla_f32_to_f16(value) : bits_of(value);
    bytes[0] = (uint8_t)bits;
    bytes[1] = (uint8_t)(bits >> 8);
    if (type == TL_F16) return;
    bytes[2] = (uint8_t)(bits >> 16);
    bytes[3] = (uint8_t)(bits >> 24);
}

static void load_all(float *out, const uint8_t *bytes, tl_dtype type, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = load(bytes + i * tl_dtype_bytes(type), type);
}

static void store_all(uint8_t *bytes, tl_dtype type, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        store(bytes + i * tl_dtype_bytes(type), type, in[i]);
}

/* b is converted once for each block of it, instead of once for each row of a. */
enum { BLOCK = 64 };

void tla_tile_dot(void *sum, const void *a, tl_dtype a_type, const void *b, tl_dtype b_type, uint32_t m, uint32_t k,
                  uint32_t n) {
    const size_t a_bytes = tl_dtype_bytes(a_type), b_bytes = tl_dtype_bytes(b_type), sum_bytes = sizeof(float);
    float block[BLOCK][BLOCK], row[BLOCK];
    for (size_t column = 0; column < n; column += BLOCK) {
        size_t columns = n - column < BLOCK ? n - column : BLOCK;
        for (size_t depth = 0; depth < k; depth += BLOCK) {
            size_t depths = k - depth < BLOCK ? k - depth : BLOCK;
            for (size_t d = 0; d < depths; d++)
                load_all(block[d], (const uint8_t *)b + ((depth + d) * n + column) * b_bytes, b_type, columns);
            for (size_t i = 0; i < m; i++) {
                uint8_t *sums = (uint8_t *)sum + (i * n + column) * sum_bytes;
                load_all(row, sums, TL_F32, columns);
                for (size_t d = 0; d < depths; d++) {
                    float factor = load((const uint8_t *)a + (i * k + depth + d) * a_bytes, a_type);
                    for (size_t j = 0; j < columns; j++)
                        row[j] += factor * block[d][j];
                }
                store_all(sums, TL_F32, row, columns);
            }
        }
    }
}

void tla_tile_add(void *out, tl_dtype out_type, const void *a, tl_dtype a_type, const void *b, tl_dtype b_type,
                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        float sum = load((const uint8_t *)a + i * tl_dtype_bytes(a_type), a_type) +
                    load((const uint8_t *)b + i * tl_dtype_bytes(b_type), b_type);
        store((uint8_t *)out + i * tl_dtype_bytes(out_type), out_type, sum);
    }
}

void tla_tile_fill(void *out, tl_dtype out_type, float value, size_t count) {
    for (size_t i = 0; i < count; i++)
        store((uint8_t *)out + i * tl_dtype_bytes(out_type), out_type, value);
}

void tla_tile_convert(void *out, tl_dtype out_type, const void *in, tl_dtype in_type, size_t count) {
    for (size_t i = 0; i < count; i++)
        store((uint8_t *)out + i * tl_dtype_bytes(out_type), out_type,
              load((const uint8_t *)in + i * tl_dtype_bytes(in_type), in_type));
}
