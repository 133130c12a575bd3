/* y[i] = table[ids[i]]: the rows of a table that a row of tokens names, f16; gathered by DMA with an index for each. */
#include "tlmalloc/kernel.h"

enum { TABLE, IDS, Y };
enum { TOKENS, VOCABULARY, WIDTH };
enum { BLOCK = 64 }; /* tokens in one step */
enum { TILE_IDS, TILE_ROWS, TILES };

/* Arguments: addresses of table, ids and y; tokens, vocabulary, width. Program p of P takes the tokens
 * [p * tokens / P, (p + 1) * tokens / P). */
static tla_status run(tl_context *tl) {
    const uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL), tokens = tl_argument(tl, 3);
    const uint32_t width = (uint32_t)tl_argument(tl, 5), end = (uint32_t)((p + 1) * tokens / programs);
    uint32_t first = (uint32_t)(p * tokens / programs);
    if (first == end) return TLA_OK; /* more programs than tokens */
    const tl_tensor table = tl_ref((tla_vaddr){tl_argument(tl, TABLE)}, (uint32_t)tl_argument(tl, 4), width, TL_F16, 0);
    const uint32_t most = end - first < BLOCK ? end - first : BLOCK;
    tl_tile tiles[TILES] = {
        [TILE_IDS] = {.rows = 1, .columns = most, .dtype = TL_I32},
        [TILE_ROWS] = {.rows = most, .columns = width, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    for (; status == TLA_OK && first < end; first += most) {
        const uint32_t count = end - first < most ? end - first : most;
        const tl_tile ids = tl_view(tl, &tiles[TILE_IDS], 0, 0, 1, count),
                      rows = tl_view(tl, &tiles[TILE_ROWS], 0, 0, count, width);
        status = tl_load(tl, &ids, (tla_vaddr){tl_argument(tl, IDS) + first * UINT64_C(4)}, count * UINT64_C(4));
        if (status == TLA_OK) status = tl_gather_rows(tl, &rows, &table, &ids);
        if (status == TLA_OK)
            status =
                tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + first * UINT64_C(2) * width}, width * UINT64_C(2), &rows);
    }
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* Tokens of the vocabulary, in an order that follows from the seed (SplitMix64). */
static void fill_ids(const tl_workload *workload, void *bytes) {
    uint64_t state = workload->seed;
    for (uint64_t i = 0; i < workload->parameters[TOKENS]; i++) {
        uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        const uint32_t id = (uint32_t)((z ^ z >> 31) % workload->parameters[VOCABULARY]);
        for (uint32_t byte = 0; byte < 4; byte++)
            ((uint8_t *)bytes)[4 * i + byte] = (uint8_t)(id >> 8 * byte);
    }
}

/* Nothing is computed: exact. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t width = workload->parameters[WIDTH];
    for (uint64_t i = 0; i < workload->parameters[TOKENS] * width; i++) {
        const uint64_t id = (uint64_t)tl_element(tensors[IDS], TL_I32, i / width);
        const double got = tl_element(tensors[Y], TL_F16, i),
                     expected = tl_element(tensors[TABLE], TL_F16, id * width + i % width);
        if (!(got == expected))
            return tl_wrong(error, "embedding: y[%llu][%llu] is %.9g, expected %.9g of token %llu",
                            (unsigned long long)(i / width), (unsigned long long)(i % width), got, expected,
                            (unsigned long long)id);
    }
    return TLA_OK;
}

TL_KERNEL(
        .name = "embedding", .description = "rows of a table by tokens, 256 of 1000, 64 wide, f16", .run = run,
        .uses = TL_USES_TRANSFERS,
        .parameters = {[TOKENS] = {"tokens", 256, .least = 1},
                       [VOCABULARY] = {"vocabulary", 1000, .least = 1, .most = 0x7FFFFFFF},
                       [WIDTH] = {"width", 64, .least = 1}},
        .tensors =
            {[TABLE] = {.name = "table", .dtype = TL_F16, .shape = {TL_PARAMETER(VOCABULARY), TL_PARAMETER(WIDTH)}},
             [IDS] = {.name = "ids", .dtype = TL_I32, .shape = {TL_PARAMETER(TOKENS)}, .fill = fill_ids},
             [Y] = {.name = "y", .dtype = TL_F16, .shape = {TL_PARAMETER(TOKENS), TL_PARAMETER(WIDTH)}, .use = TL_OUT}},
        .arguments = {TL_ADDRESS_OF(TABLE), TL_ADDRESS_OF(IDS), TL_ADDRESS_OF(Y), TL_VALUE_OF(TOKENS),
                      TL_VALUE_OF(VOCABULARY), TL_VALUE_OF(WIDTH)},
        .check = check);
