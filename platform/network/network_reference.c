/* The results of a network without shared memory: word by word, as network.h defines them. */
#include "network/network.h"

#include <string.h>

void network_fill(const network *n, size_t tensor, uint32_t program, uint8_t *bytes) {
    uint64_t state = tensor << 32 | program; /* SplitMix64 */
    for (uint64_t i = 0; i < n->tensors[tensor].nbytes; i++) {
        uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        bytes[i] = (uint8_t)(z ^ z >> 31);
    }
}

static uint32_t get(const uint8_t *bytes, uint64_t word) {
    const uint8_t *b = bytes + 4 * word;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static void put(uint8_t *bytes, uint64_t word, uint32_t value) {
    for (int i = 0; i < 4; i++)
        bytes[4 * word + (uint64_t)i] = (uint8_t)(value >> 8 * i);
}

static void mix(uint8_t *out, uint64_t out_words, const uint8_t *in, uint64_t in_words) {
    for (uint64_t p = 0; p < out_words || p < in_words; p++)
        put(out, p % out_words, get(out, p % out_words) * 33 + get(in, p % in_words));
}

void network_compute_op(const network *n, size_t op, uint8_t *const *bytes) {
    const network_op *o = &n->ops[op];
    for (size_t i = 0; i < o->output_count; i++) {
        const size_t made = o->tensors[o->input_count + i];
        const uint64_t words = n->tensors[made].nbytes / NETWORK_WORD_BYTES;
        if (o->reshape) {
            memcpy(bytes[made], bytes[o->tensors[0]], n->tensors[made].nbytes);
            continue;
        }
        for (uint64_t word = 0; word < words; word++)
            put(bytes[made], word, (uint32_t)(16 * (op + 1) + i));
        for (size_t in = 0; in < o->input_count; in++)
            mix(bytes[made], words, bytes[o->tensors[in]], n->tensors[o->tensors[in]].nbytes / NETWORK_WORD_BYTES);
    }
}

void network_compute(const network *n, uint8_t *const *bytes) {
    for (size_t op = 0; op < n->op_count; op++)
        network_compute_op(n, op, bytes);
}
