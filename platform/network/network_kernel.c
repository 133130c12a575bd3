/* An op of a network as a kernel: reads all of every input, writes all of every output, through two tiles. */
#include "network/network.h"

#include "tlmalloc/kernel.h"

enum { BLOCK_WORDS = 4096, FACTOR = 33 };

/* A tensor of this program. */
typedef struct part {
    uint64_t va, words;
} part;

enum { OUT, IN, THIRTY_THREE, TILES };

size_t network_arguments(const network *n, size_t op, const network_home *homes, uint64_t *arguments) {
    const network_op *o = &n->ops[op];
    size_t count = 0;
    arguments[count++] = (uint64_t)op << 16 | o->input_count << 8 | o->output_count;
    for (size_t i = 0; i < o->input_count + o->output_count; i++) {
        const size_t t = o->tensors[i];
        arguments[count++] = homes[t].va;
        arguments[count++] = homes[t].pitch;
        arguments[count++] = n->tensors[t].nbytes;
    }
    return count;
}

static part part_of(tl_context *tl, uint32_t tensor) {
    const uint32_t first = 1 + 3 * tensor;
    return (part){tl_argument(tl, first) + tl_program_id(tl, TL_ALL) * tl_argument(tl, first + 1),
                  tl_argument(tl, first + 2) / NETWORK_WORD_BYTES};
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* Words [p, p + count) of the count from both lengths, which cross the end of neither. */
static tla_status mix_words(tl_context *tl, const tl_tile *tiles, const part *in, uint64_t p, uint32_t at,
                            uint32_t count) {
    const tl_tile out = tl_view(tl, &tiles[OUT], 0, at, 1, count), read = tl_view(tl, &tiles[IN], 0, 0, 1, count);
    const tla_vaddr source = {in->va + p % in->words * NETWORK_WORD_BYTES};
    tla_status status = tl_load(tl, &read, source, (uint64_t)count * NETWORK_WORD_BYTES);
    if (status == TLA_OK) status = tl_mul(tl, &out, &out, &tiles[THIRTY_THREE]);
    return status == TLA_OK ? tl_add(tl, &out, &out, &read) : status;
}

/* All words of an input that belong to the block of an output. */
static tla_status mix(tl_context *tl, const tl_tile *tiles, const part *in, const part *out, uint64_t block,
                      uint32_t count) {
    const uint64_t words = in->words > out->words ? in->words : out->words;
    for (uint64_t first = block; first < words; first += out->words)
        for (uint64_t p = first, end = least(first + count, words); p < end;) {
            const uint64_t step = least(end - p, in->words - p % in->words);
            const tla_status status = mix_words(tl, tiles, in, p, (uint32_t)(p - first), (uint32_t)step);
            if (status != TLA_OK) return status;
            p += step;
        }
    return TLA_OK;
}

static tla_status make_output(tl_context *tl, const tl_tile *tiles, uint64_t inputs, const part *out, float begin) {
    for (uint64_t block = 0; block < out->words; block += BLOCK_WORDS) {
        const uint32_t count = (uint32_t)least(BLOCK_WORDS, out->words - block);
        const tl_tile all = tl_view(tl, &tiles[OUT], 0, 0, 1, count);
        tla_status status = tl_fill(tl, &all, begin);
        for (uint32_t i = 0; status == TLA_OK && i < inputs; i++) {
            const part in = part_of(tl, i);
            status = mix(tl, tiles, &in, out, block, count);
        }
        if (status == TLA_OK)
            status = tl_store(tl, (tla_vaddr){out->va + block * NETWORK_WORD_BYTES},
                              (uint64_t)count * NETWORK_WORD_BYTES, &all);
        if (status != TLA_OK) return status;
    }
    return TLA_OK;
}

tla_status network_kernel(tl_context *tl) {
    const uint64_t head = tl_argument(tl, 0), op = head >> 16, inputs = head >> 8 & 255, outputs = head & 255;
    tl_tile tiles[TILES] = {[OUT] = {.rows = 1, .columns = BLOCK_WORDS, .dtype = TL_U32},
                            [IN] = {.rows = 1, .columns = BLOCK_WORDS, .dtype = TL_U32},
                            [THIRTY_THREE] = {.rows = 1, .columns = 1, .dtype = TL_U32}};
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    status = tl_fill(tl, &tiles[THIRTY_THREE], FACTOR);
    for (uint32_t o = 0; status == TLA_OK && o < outputs; o++) {
        const part out = part_of(tl, (uint32_t)inputs + o);
        status = make_output(tl, tiles, inputs, &out, (float)(16 * (op + 1) + o));
    }
    return tl_free_tiles(tl, tiles, TILES, status);
}
