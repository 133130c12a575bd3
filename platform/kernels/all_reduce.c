/* y of every rank = the sum of the x of all ranks, f32, by the algorithm of the configuration (collectives.algorithm,
 * kernel/collectives.h): checked bit by bit against the same order of additions. Programs that are no rank have their
 * own x. */
#include "tlmalloc/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { X, Y, WORLD };

/* The words of the tensor `world`: the places of the ranks. */
enum { PASSAGE, RANKS, MIDDLE, DIMENSIONS, EXTENTS, WORLD_WORDS = EXTENTS + TL_WORLD_DIMENSIONS_MAX };

enum { TO_MIDDLE, AROUND, AROUND_SIPS };

static uint32_t passage_of(const tl_world *world) {
    if (tl_goes_round(world)) return AROUND;
    const bool rings = world->between_sips == TL_SIPS_RINGS && world->sips_joined;
    return world->algorithm == TL_HIERARCHICAL && rings ? AROUND_SIPS : TO_MIDDLE;
}

static tla_status tell_world(tl_context *tl, const tl_world *world, const tl_tile *words, tla_vaddr to) {
    uint32_t values[WORLD_WORDS] = {[PASSAGE] = passage_of(world),
                                    [RANKS] = world->size,
                                    [MIDDLE] = tl_middle(world),
                                    [DIMENSIONS] = world->dimensions};
    memcpy(&values[EXTENTS], world->extent, sizeof world->extent);
    tla_status status = TLA_OK;
    for (uint32_t i = 0; status == TLA_OK && i < WORLD_WORDS; i++) {
        const tl_tile word = tl_view(tl, words, 0, i, 1, 1);
        status = tl_fill(tl, &word, (float)values[i]);
    }
    return status == TLA_OK ? tl_store(tl, to, WORLD_WORDS * 4, words) : status;
}

/* Arguments: addresses of x, y and world, elements of x. */
static tla_status run(tl_context *tl) {
    const uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    const uint32_t elements = (uint32_t)(tl_argument(tl, 3) / programs);
    const uint64_t bytes = (uint64_t)elements * 4;
    tl_world world;
    tla_status status = tl_world_init(tl, &world);
    if (status != TLA_OK) return status;
    enum { VECTOR, ROOM, WORDS, TILES };
    tl_tile tiles[TILES] = {[VECTOR] = {.rows = 1, .columns = elements, .dtype = TL_F32},
                            [ROOM] = {.rows = 1, .columns = tl_room(&world, elements), .dtype = TL_F32},
                            [WORDS] = {.rows = 1, .columns = WORLD_WORDS, .dtype = TL_I32}};
    status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    status = tl_load(tl, &tiles[VECTOR], (tla_vaddr){tl_argument(tl, X) + p * bytes}, bytes);
    if (status == TLA_OK) status = tl_all_reduce(tl, &world, &tiles[VECTOR], &tiles[ROOM]);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + p * bytes}, bytes, &tiles[VECTOR]);
    if (status == TLA_OK && p == 0) status = tell_world(tl, &world, &tiles[WORDS], (tla_vaddr){tl_argument(tl, WORLD)});
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* --- the reference: one element of all ranks, values[rank], in the order of kernel/collectives.h --- */

typedef struct grid {
    bool goes_round;
    uint32_t sums; /* that differ by their order of additions: 1, or one for each SIP */
    uint32_t ranks, middle, dimensions, extent[TL_WORLD_DIMENSIONS_MAX], stride[TL_WORLD_DIMENSIONS_MAX];
} grid;

static grid grid_of(const void *words) {
    grid g = {.goes_round = tl_element(words, TL_I32, PASSAGE) == AROUND,
              .sums = 1,
              .ranks = (uint32_t)tl_element(words, TL_I32, RANKS),
              .middle = (uint32_t)tl_element(words, TL_I32, MIDDLE),
              .dimensions = (uint32_t)tl_element(words, TL_I32, DIMENSIONS)};
    for (uint32_t d = g.dimensions, stride = 1; d-- > 0; stride *= g.extent[d]) {
        g.extent[d] = (uint32_t)tl_element(words, TL_I32, EXTENTS + d);
        g.stride[d] = stride;
    }
    if (tl_element(words, TL_I32, PASSAGE) == AROUND_SIPS) g.sums = g.extent[0] * g.extent[1];
    return g;
}

/* Along a line that begins at values[0]: around it, ending at place `end`, or from both ends to it. */
static void sum_line(const grid *g, float *values, uint32_t d, uint32_t end) {
    const uint32_t n = g->extent[d], stride = g->stride[d];
    float *sum = &values[end * stride];
    if (g->goes_round) {
        float total = values[(end + 1) % n * stride];
        for (uint32_t step = 2; step <= n; step++)
            total = total + values[(end + step) % n * stride];
        *sum = total;
        return;
    }
    for (uint32_t i = 1; i < end; i++)
        values[i * stride] = values[i * stride] + values[(i - 1) * stride];
    for (uint32_t i = n - 1; i-- > end + 1;)
        values[i * stride] = values[i * stride] + values[(i + 1) * stride];
    if (end > 0) *sum = *sum + values[(end - 1) * stride];
    if (end + 1 < n) *sum = *sum + values[(end + 1) * stride];
}

/* Each SIP adds the sums of those before it to its own: of its row, then of its column. */
static void pass_rings(const grid *g, float *sums, float *before) {
    for (uint32_t d = TL_SIP_DIMENSIONS; d-- > 0;) {
        const uint32_t n = g->extent[d], stride = d + 1 == TL_SIP_DIMENSIONS ? 1 : g->extent[d + 1];
        memcpy(before, sums, g->sums * sizeof *sums);
        for (uint32_t sip = 0; sip < g->sums; sip++) {
            const uint32_t place = sip / stride % n;
            for (uint32_t step = 1; step < n; step++)
                sums[sip] = sums[sip] + before[sip - place * stride + (place + n - step) % n * stride];
        }
    }
}

/* The sum is at the rank that has the element's part, or in the middle, of every SIP if each has its own. `sums` has
 * room for twice the sums. */
static void sum(const grid *g, float *values, uint32_t part, float *sums) {
    const uint32_t end = g->goes_round ? part : g->middle, of_sip = g->ranks / g->sums;
    for (uint32_t i = 0; i < g->dimensions - (g->sums > 1 ? TL_SIP_DIMENSIONS : 0); i++) {
        const uint32_t d = g->goes_round ? i : g->dimensions - 1 - i, n = g->extent[d], stride = g->stride[d];
        for (uint32_t rank = 0; rank < g->ranks; rank++)
            if (rank / stride % n == 0) sum_line(g, &values[rank], d, end / stride % n);
    }
    for (uint32_t i = 0; i < g->sums; i++)
        sums[i] = values[g->sums > 1 ? i * of_sip + end % of_sip : end];
    if (g->sums > 1) pass_rings(g, sums, sums + g->sums);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const float *x = tensors[X], *y = tensors[Y];
    const grid g = grid_of(tensors[WORLD]);
    const uint64_t elements = workload->elements_per_pe;
    if (g.ranks == 0 || g.ranks > workload->programs)
        return tl_wrong(error,
                        "all_reduce: %u ranks for %u programs: there must be 1 rank at least, and one program for each",
                        g.ranks, workload->programs);
    if (g.sums == 0 || g.ranks % g.sums != 0)
        return tl_wrong(error, "all_reduce: %u SIPs for %u ranks: each SIP must have the same number of ranks", g.sums,
                        g.ranks);
    float *values = calloc(g.ranks, sizeof *values), *sums = calloc(2 * (size_t)g.sums, sizeof *sums);
    tla_status status = values && sums ? TLA_OK : tl_wrong(error, "all_reduce: no host memory for the reference");
    for (uint32_t part = 0; status == TLA_OK && part < g.ranks; part++)
        for (uint64_t i = part * elements / g.ranks; status == TLA_OK && i < (part + 1) * elements / g.ranks; i++) {
            for (uint64_t p = 0; p < g.ranks; p++)
                values[p] = x[p * elements + i];
            sum(&g, values, part, sums);
            for (uint64_t p = 0; status == TLA_OK && p < workload->programs; p++) {
                const float expected = p < g.ranks ? sums[p / (g.ranks / g.sums)] : x[p * elements + i];
                if (memcmp(&y[p * elements + i], &expected, sizeof expected) != 0)
                    status = tl_wrong(error, "all_reduce: y[%llu][%llu] is %.9g, expected %.9g, bit by bit",
                                      (unsigned long long)p, (unsigned long long)i, (double)y[p * elements + i],
                                      (double)expected);
            }
        }
    free(sums);
    free(values);
    return status;
}

TL_KERNEL(.name = "all_reduce", .description = "the sum of a vector of every rank, in all of them (collectives.*)",
          .run = run, .uses = TL_USES_TRANSFERS | TL_USES_VECTOR | TL_USES_MESSAGES | TL_USES_COLLECTIVES,
          .tensors = {[X] = {.name = "x", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}},
                      [Y] = {.name = "y", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}, .use = TL_OUT},
                      [WORLD] = {.name = "world", .dtype = TL_I32, .shape = {WORLD_WORDS}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_ADDRESS_OF(WORLD), TL_ELEMENTS_OF(X)}, .check = check);
