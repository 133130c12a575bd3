/* o = softmax(q * k^T / sqrt(width)) * v of one head: q and o queries x width, k and v keys x width, f16 in memory,
 * computed in f32. One pass over keys and values with an online softmax (kernel/layers.h): the sums are scaled down
 * whenever a larger score is found. With causal = 1 the last query sees all keys, the one before all but the last, and
 * so on. Prefill: queries = keys; decode: queries = 1. With at least two programs for a query, the programs share its
 * keys, and exchange their states. */
#include "tlmalloc/kernel.h"

#include <math.h>
#include <stdlib.h>

enum { Q, K, V, O };
enum { QUERIES, KEYS, WIDTH, CAUSAL };
enum { BLOCK = 16, PART = 64 }; /* queries in one step, and of them keys */
enum { TILE_HALF, TILE_Q, TILE_K, TILE_TURNED, TILE_V, TILE_P, TILE_ROOT, TILE_STATE, TILE_COLUMNS, TILE_OTHER, TILES };

typedef struct shape {
    uint32_t queries, keys, width, causal;
} shape;

/* The work of a program: some queries with some of their keys, as one of `members` that share them. */
typedef struct share {
    uint32_t first, end;          /* queries; none: nothing is left for this program */
    uint32_t first_key, keys_end; /* keys, as far as a query sees them */
    uint32_t member, members;
} share;

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

/* How many keys a query sees, from the first on. */
static uint32_t seen_by(const shape *s, uint32_t query) {
    return s->causal ? s->keys - s->queries + query + 1 : s->keys;
}

/* p = q * k^T for the keys from `first` on, minus infinity where a query does not see a key. */
static tla_status score(tl_context *tl, const tl_tile tiles[TILES], const shape *s, uint32_t query, uint32_t first,
                        const tl_tile *p) {
    const tl_tile k = tl_view(tl, &tiles[TILE_K], 0, 0, p->columns, s->width),
                  turned = tl_view(tl, &tiles[TILE_TURNED], 0, 0, s->width, p->columns),
                  q = tl_view(tl, &tiles[TILE_Q], 0, 0, p->rows, s->width);
    const uint64_t row_bytes = s->width * UINT64_C(2);
    tla_status status = tl_load(tl, &k, (tla_vaddr){tl_argument(tl, K) + first * row_bytes}, row_bytes);
    if (status == TLA_OK) status = tl_transpose(tl, &turned, &k);
    if (status == TLA_OK) status = tl_fill(tl, p, 0);
    if (status == TLA_OK) status = tl_dot(tl, p, &q, &turned);
    for (uint32_t row = 0; status == TLA_OK && row < p->rows; row++) {
        const uint32_t seen = seen_by(s, query + row), here = seen > first ? at_most(seen - first, p->columns) : 0;
        const tl_tile unseen = tl_view(tl, p, row, here, 1, p->columns - here);
        if (here < p->columns) status = tl_fill(tl, &unseen, -INFINITY);
    }
    return status;
}

/* The part of `keys` keys from `first` on. */
static tla_status add_part(tl_context *tl, const tl_tile tiles[TILES], const tl_attention *attention, const shape *s,
                           uint32_t query, uint32_t first, uint32_t keys) {
    const tl_tile p = tl_view(tl, &tiles[TILE_P], 0, 0, attention->state.rows, keys),
                  v = tl_view(tl, &tiles[TILE_V], 0, 0, keys, s->width);
    const uint64_t row_bytes = s->width * UINT64_C(2);
    tla_status status = score(tl, tiles, s, query, first, &p);
    if (status == TLA_OK) status = tl_load(tl, &v, (tla_vaddr){tl_argument(tl, V) + first * row_bytes}, row_bytes);
    return status == TLA_OK ? tl_attention_add(tl, attention, &p, &v) : status;
}

/* Merges the states of the members in the first one: in each round every second of the remaining members sends its
 * state to the one before. */
static tla_status gather(tl_context *tl, const share *part, const tl_attention *attention, const tl_tile *other) {
    const uint32_t program = tl_program_id(tl, TL_ALL);
    for (uint32_t step = 1; step < part->members; step *= 2) {
        if (part->member % (2 * step) != 0) return tl_send(tl, program - step, &attention->state);
        if (part->member + step >= part->members) continue;
        tla_status status = tl_recv(tl, program + step, other);
        if (status == TLA_OK) status = tl_attention_merge(tl, attention, other);
        if (status != TLA_OK) return status;
    }
    return TLA_OK;
}

/* The queries [query, query + rows), with this program's share of their keys. */
static tla_status attend(tl_context *tl, const tl_tile tiles[TILES], const shape *s, const share *part, uint32_t query,
                         uint32_t rows) {
    const tl_tile half = tl_view(tl, &tiles[TILE_HALF], 0, 0, rows, s->width),
                  q = tl_view(tl, &tiles[TILE_Q], 0, 0, rows, s->width);
    const tl_attention attention = {.state = tl_view(tl, &tiles[TILE_STATE], 0, 0, rows, s->width + 2),
                                    .larger = tl_view(tl, &tiles[TILE_COLUMNS], 0, 0, rows, 1),
                                    .scale = tl_view(tl, &tiles[TILE_COLUMNS], rows, 0, rows, 1),
                                    .part = tl_view(tl, &tiles[TILE_COLUMNS], 2 * rows, 0, rows, 1)};
    const uint64_t row_bytes = s->width * UINT64_C(2), offset = query * row_bytes;
    tla_status status = tl_load(tl, &half, (tla_vaddr){tl_argument(tl, Q) + offset}, row_bytes);
    if (status == TLA_OK) status = tl_mul(tl, &q, &half, &tiles[TILE_ROOT]);
    if (status == TLA_OK) status = tl_attention_begin(tl, &attention);
    const uint32_t end = at_most(part->keys_end, seen_by(s, query + rows - 1));
    for (uint32_t first = part->first_key; status == TLA_OK && first < end; first += PART)
        status = add_part(tl, tiles, &attention, s, query, first, at_most(part->keys_end - first, PART));
    if (status == TLA_OK) status = gather(tl, part, &attention, &tiles[TILE_OTHER]);
    if (part->member > 0) return status;
    if (status == TLA_OK) status = tl_attention_end(tl, &attention, &half);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, O) + offset}, row_bytes, &half);
    return status;
}

/* Program p of P takes the queries [p * queries / P, (p + 1) * queries / P) with all of their keys. With at least twice
 * as many programs as queries, the programs of a query share its keys, and each has at least one key. */
static share share_of(const shape *s, uint32_t p, uint32_t programs) {
    if (programs / 2 < s->queries)
        return (share){.first = (uint32_t)((uint64_t)p * s->queries / programs),
                       .end = (uint32_t)(((uint64_t)p + 1) * s->queries / programs),
                       .keys_end = s->keys,
                       .members = 1};
    const uint32_t query = p / (programs / s->queries), member = p % (programs / s->queries);
    if (query >= s->queries) return (share){.members = 1};
    const uint32_t seen = seen_by(s, query), members = at_most(programs / s->queries, seen);
    if (member >= members) return (share){.members = 1};
    return (share){.first = query,
                   .end = query + 1,
                   .first_key = (uint32_t)((uint64_t)member * seen / members),
                   .keys_end = (uint32_t)(((uint64_t)member + 1) * seen / members),
                   .member = member,
                   .members = members};
}

/* Arguments: addresses of q, k, v and o; queries, keys, width, causal. */
static tla_status run(tl_context *tl) {
    const shape s = {(uint32_t)tl_argument(tl, 4), (uint32_t)tl_argument(tl, 5), (uint32_t)tl_argument(tl, 6),
                     (uint32_t)tl_argument(tl, 7)};
    if (s.causal && s.queries > s.keys)
        return tl_refuse(
            tl, "attention: %u queries for %u keys: with causal = 1 there must be at least as many keys as queries",
            s.queries, s.keys);
    const share part = share_of(&s, tl_program_id(tl, TL_ALL), tl_num_programs(tl, TL_ALL));
    if (part.first == part.end) return TLA_OK; /* more programs than queries and their keys */
    const uint32_t rows = at_most(part.end - part.first, BLOCK), keys = at_most(part.keys_end - part.first_key, PART);
    tl_tile tiles[TILES] = {
        [TILE_HALF] = {.rows = rows, .columns = s.width, .dtype = TL_F16},
        [TILE_Q] = {.rows = rows, .columns = s.width, .dtype = TL_F32},
        [TILE_K] = {.rows = keys, .columns = s.width, .dtype = TL_F16},
        [TILE_TURNED] = {.rows = s.width, .columns = keys, .dtype = TL_F16},
        [TILE_V] = {.rows = keys, .columns = s.width, .dtype = TL_F16},
        [TILE_P] = {.rows = rows, .columns = keys, .dtype = TL_F32},
        [TILE_ROOT] = {.rows = 1, .columns = 1, .dtype = TL_F32},
        [TILE_STATE] = {.rows = rows, .columns = s.width + 2, .dtype = TL_F32},
        [TILE_COLUMNS] = {.rows = 3 * rows, .columns = 1, .dtype = TL_F32},
        [TILE_OTHER] = {.rows = rows, .columns = s.width + 2, .dtype = TL_F32},
    };
    const size_t count = part.members > 1 ? TILES : TILE_OTHER;
    tla_status status = tl_alloc_tiles(tl, tiles, count);
    if (status != TLA_OK) return status;
    status = tl_fill(tl, &tiles[TILE_ROOT], 1 / sqrtf((float)s.width));
    for (uint32_t query = part.first; status == TLA_OK && query < part.end; query += rows)
        status = attend(tl, tiles, &s, &part, query, at_most(part.end - query, rows));
    return tl_free_tiles(tl, tiles, count, status);
}

/* The weights of the keys that a query sees, not divided by their sum. Returns the relative error of each in f32. The
 * score has width + 3 roundings of a sum of magnitudes (see product.h; the scaling of q is one, 1 / sqrt(width) is
 * two). Its difference from the largest score, of at most twice the largest magnitude, has one, and exp has two. Later
 * scalings of a weight are differences of such scores, which add up to no more than that once more. */
static double weights_of(const tl_workload *workload, const void *const *tensors, uint64_t query, uint64_t seen,
                         double *weights) {
    const uint64_t width = workload->parameters[WIDTH];
    double most = 0, largest = -INFINITY;
    for (uint64_t key = 0; key < seen; key++) {
        double sum = 0, magnitude = 0;
        for (uint64_t i = 0; i < width; i++) {
            const double product =
                tl_element(tensors[Q], TL_F16, query * width + i) * tl_element(tensors[K], TL_F16, key * width + i);
            sum += product;
            magnitude += fabs(product);
        }
        weights[key] = sum / sqrt((double)width);
        largest = fmax(largest, weights[key]);
        most = fmax(most, magnitude / sqrt((double)width));
    }
    for (uint64_t key = 0; key < seen; key++)
        weights[key] = exp(weights[key] - largest);
    return (((double)width + 4) * most + 4 * most + 2) * 0x1p-24;
}

/* Checks one element: a quotient of two sums of `seen` terms with PART of them in a step. It rounds `seen` times, three
 * times more for each step, six times for each merge of two programs, and to f16 at the end. */
static tla_status check_element(const tl_workload *workload, const void *const *tensors, uint64_t index,
                                const double *weights, uint64_t seen, double off, tla_error *error) {
    const uint64_t width = workload->parameters[WIDTH];
    double exact = 0, total = 0, magnitude = 0;
    for (uint64_t key = 0; key < seen; key++) {
        const double v = tl_element(tensors[V], TL_F16, key * width + index % width);
        exact += weights[key] * v;
        magnitude += weights[key] * fabs(v);
        total += weights[key];
    }
    exact /= total;
    const double steps = (double)tl_cdiv(seen, PART), merges = ceil(log2((double)workload->programs));
    const double before = 2 * (off + ((double)seen + 3 * steps + 6 * merges + 3) * 0x1p-24) * magnitude / total;
    const double allowed = before + fmax((fabs(exact) + before) * 0x1p-11, 0x1p-25);
    const double got = tl_element(tensors[O], TL_F16, index);
    if (fabs(got - exact) <= allowed) return TLA_OK; /* rejects NaN */
    return tl_wrong(error, "attention: o[%llu][%llu] is %.9g, expected %.9g within %.3g",
                    (unsigned long long)(index / width), (unsigned long long)(index % width), got, exact, allowed);
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t queries = workload->parameters[QUERIES], keys = workload->parameters[KEYS],
                   width = workload->parameters[WIDTH];
    double *const weights = malloc(keys * sizeof *weights);
    if (!weights) return tl_wrong(error, "attention: no host memory for the check");
    tla_status status = TLA_OK;
    for (uint64_t query = 0; status == TLA_OK && query < queries; query++) {
        const uint64_t seen = workload->parameters[CAUSAL] ? keys - queries + query + 1 : keys;
        const double off = weights_of(workload, tensors, query, seen, weights);
        for (uint64_t i = 0; status == TLA_OK && i < width; i++)
            status = check_element(workload, tensors, query * width + i, weights, seen, off, error);
    }
    free(weights);
    return status;
}

TL_KERNEL(.name = "attention",
          .description = "one head, online softmax in one pass: 128 queries and keys, 64 wide, causal, f16 storage",
          .run = run, .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_VECTOR | TL_USES_MESSAGES,
          .parameters = {[QUERIES] = {"queries", 128, .least = 1},
                         [KEYS] = {"keys", 128, .least = 1},
                         [WIDTH] = {"width", 64, .least = 1},
                         [CAUSAL] = {"causal", 1, .most = 1}},
          .tensors = {[Q] = {.name = "q", .dtype = TL_F16, .shape = {TL_PARAMETER(QUERIES), TL_PARAMETER(WIDTH)}},
                      [K] = {.name = "k",
                             .dtype = TL_F16,
                             .spread = TL_REPLICATED,
                             .shape = {TL_PARAMETER(KEYS), TL_PARAMETER(WIDTH)}},
                      [V] = {.name = "v",
                             .dtype = TL_F16,
                             .spread = TL_REPLICATED,
                             .shape = {TL_PARAMETER(KEYS), TL_PARAMETER(WIDTH)}},
                      [O] = {.name = "o",
                             .dtype = TL_F16,
                             .shape = {TL_PARAMETER(QUERIES), TL_PARAMETER(WIDTH)},
                             .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(Q), TL_ADDRESS_OF(K), TL_ADDRESS_OF(V), TL_ADDRESS_OF(O), TL_VALUE_OF(QUERIES),
                        TL_VALUE_OF(KEYS), TL_VALUE_OF(WIDTH), TL_VALUE_OF(CAUSAL)},
          .check = check);
