/* Products of tiles, on bytes. The library is built without contraction of a * b + c to a fused operation, so that
 * results are the same on every host. */
#include "tile_math.h"

#include "element.h"

#include <string.h>

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float load(const uint8_t *bytes, tl_dtype type) {
    if (type == TL_F16) return tla_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
    if (type == TL_BF16) return tla_bf16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
    return float_of(bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24);
}

static void load_all(float *out, const uint8_t *bytes, tl_dtype type, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = load(bytes + i * tl_dtype_bytes(type), type);
}

static void store_all(uint8_t *bytes, const float *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        tla_element_put(bytes + i * sizeof(float), TL_F32, (double)in[i]);
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
                store_all(sums, row, columns);
            }
        }
    }
}

void tla_tile_fill(void *out, tl_dtype out_type, float value, size_t count) {
    for (size_t i = 0; i < count; i++)
        tla_element_put((uint8_t *)out + i * tl_dtype_bytes(out_type), out_type, (double)value);
}

void tla_tile_convert(void *out, tl_dtype out_type, const void *in, tl_dtype in_type, size_t count) {
    for (size_t i = 0; i < count; i++)
        tla_element_convert((uint8_t *)out + i * tl_dtype_bytes(out_type), out_type,
                            (const uint8_t *)in + i * tl_dtype_bytes(in_type), in_type);
}

void tla_tile_transpose(void *out, const void *in, uint32_t element_bytes, uint32_t rows, uint32_t columns) {
    for (size_t row = 0; row < rows; row++)
        for (size_t column = 0; column < columns; column++)
            memcpy((uint8_t *)out + (column * rows + row) * element_bytes,
                   (const uint8_t *)in + (row * columns + column) * element_bytes, element_bytes);
}
