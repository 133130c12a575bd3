/* One transformer block, forward, f16 in memory, computed in f32:
 *
 *     h = x + sum over heads of attention(norm(x) Wq, keys, values) Wo,    y = h + silu(norm(h) W1) W2
 *
 * for `sequences` sequences of `tokens` tokens each, the last of the `keys` tokens that their attention sees. A cache
 * has the keys and values of the earlier tokens, and the kernel adds those of the new tokens. tokens = 1: a decoding
 * step; tokens = keys: prefill.
 *
 * Data parallel over SIPs: each takes some of the sequences. Tensor parallel over a SIP's PEs: heads of sequences and
 * columns of the hidden layer are distributed, and the results of the PEs are summed over the SIP (tl_all_reduce) after
 * the heads and after the MLP. Tiles are allocated from the PE's memory controller when they are needed, and then
 * freed; weights and the cache are loaded during computations. */
#include "tlmalloc/kernel.h"
#include "transformer_reference.h"

#include <math.h>
#include <stdlib.h>

enum { PART = 64 }; /* keys, and hidden units, in one step */

typedef struct block {
    uint32_t sequences, tokens, keys, width, heads, depth, hidden;
    tl_world sip;
    uint32_t first, rows; /* sequences [first, ...) of this SIP; their tokens, rows of x */
    tl_tile x;            /* f32, rows x width: the residual stream */
    tl_tile turned;       /* f16, width x rows: the norm's result, transposed */
    tl_tile sum;          /* f32, rows x width: what this program adds to x */
} block;

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

static uint32_t part_of(uint64_t total, uint64_t index, uint64_t parts) {
    return (uint32_t)(index * total / parts);
}

static tla_vaddr at(tl_context *tl, uint32_t tensor, uint64_t element) {
    return (tla_vaddr){tl_argument(tl, tensor) + element * 2};
}

/* turned = the norm of x, the first or the second; sum = 0. */
static tla_status normalise(tl_context *tl, const block *b, uint32_t which) {
    enum { COPY, SQUARES, HALF, OF_ROW, GAMMA, BETA, SHARE, SMALL, TILES };
    tl_tile tiles[TILES] = {
        [COPY] = {.rows = b->rows, .columns = b->width, .dtype = TL_F32},
        [SQUARES] = {.rows = b->rows, .columns = b->width, .dtype = TL_F32},
        [HALF] = {.rows = b->rows, .columns = b->width, .dtype = TL_F16},
        [OF_ROW] = {.rows = b->rows, .columns = 1, .dtype = TL_F32},
        [GAMMA] = {.rows = 1, .columns = b->width, .dtype = TL_F32},
        [BETA] = {.rows = 1, .columns = b->width, .dtype = TL_F32},
        [SHARE] = {.rows = 1, .columns = 1, .dtype = TL_F32},
        [SMALL] = {.rows = 1, .columns = 1, .dtype = TL_F32},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    const tl_norm norm = {tiles[GAMMA], tiles[BETA], tiles[SHARE], tiles[SMALL], tiles[SQUARES], tiles[OF_ROW]};
    const uint64_t row_bytes = b->width * UINT64_C(4), gamma = tl_argument(tl, NORMS) + 2 * which * row_bytes;
    status = tl_load(tl, &tiles[GAMMA], (tla_vaddr){gamma}, row_bytes);
    if (status == TLA_OK) status = tl_load(tl, &tiles[BETA], (tla_vaddr){gamma + row_bytes}, row_bytes);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[SHARE], 1.0f / (float)b->width);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[SMALL], EPSILON);
    if (status == TLA_OK) status = tl_convert(tl, &tiles[COPY], &b->x);
    if (status == TLA_OK) status = tl_layer_norm(tl, &tiles[HALF], &tiles[COPY], &norm);
    if (status == TLA_OK) status = tl_transpose(tl, &b->turned, &tiles[HALF]);
    if (status == TLA_OK) status = tl_fill(tl, &b->sum, 0);
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* x += the sums of all programs of the SIP. */
static tla_status add_sums(tl_context *tl, const block *b) {
    tl_tile vector = b->sum, room = {.rows = 1, .dtype = TL_F32};
    vector.columns = b->rows * b->width;
    vector.rows = 1;
    room.columns = tl_room(&b->sip, vector.columns);
    tla_status status = tl_alloc_tiles(tl, &room, 1);
    if (status != TLA_OK) return status;
    status = tl_all_reduce(tl, &b->sip, &vector, &room);
    if (status == TLA_OK) status = tl_add(tl, &b->x, &b->x, &b->sum);
    return tl_free_tiles(tl, &room, 1, status);
}

/* --- Attention of one head of one sequence --- */

enum { WEIGHTS, QKV, TURNED_Q, K, V, NEW, SCORES_TURNED, SCORES, STATE, COLUMNS, OUT, ROOT, HEAD_TILES };

typedef struct one_head {
    tl_tile tiles[HEAD_TILES];
    tl_attention attention;
    uint64_t cache; /* the first element of its keys and values in their tensors */
    uint32_t row;   /* the first of its tokens */
} one_head;

/* scores = q k^T, and their contributions; the tokens see all of these keys, or (last) one more each. */
static tla_status see(tl_context *tl, const block *b, const one_head *h, const tl_tile *k, const tl_tile *v,
                      bool last) {
    const tl_tile turned = tl_view(tl, &h->tiles[SCORES_TURNED], 0, 0, k->rows, b->tokens),
                  scores = tl_view(tl, &h->tiles[SCORES], 0, 0, b->tokens, k->rows);
    tla_status status = tl_fill(tl, &turned, 0);
    if (status == TLA_OK) status = tl_dot(tl, &turned, k, &h->tiles[TURNED_Q]);
    if (status == TLA_OK) status = tl_transpose(tl, &scores, &turned);
    for (uint32_t row = 0; last && status == TLA_OK && row + 1 < b->tokens; row++) {
        const tl_tile unseen = tl_view(tl, &scores, row, row + 1, 1, b->tokens - row - 1);
        status = tl_fill(tl, &unseen, -INFINITY);
    }
    return status == TLA_OK ? tl_attention_add(tl, &h->attention, &scores, v) : status;
}

/* Begins to load the keys and values [first, first + count) of the cache, into one half of their tiles. */
static tla_status fetch(tl_context *tl, const block *b, const one_head *h, uint32_t first, tl_tile kv[2],
                        tl_handle handles[2]) {
    const uint32_t count = at_most(b->keys - b->tokens - first, PART);
    const uint64_t row_bytes = b->depth * UINT64_C(2);
    tla_status status = TLA_OK;
    for (uint32_t i = 0; status == TLA_OK && i < 2; i++) {
        kv[i] = tl_view(tl, &h->tiles[K + i], first / PART % 2 * PART, 0, count, b->depth);
        status =
            tl_load_async(tl, &kv[i], at(tl, KEYS + i, h->cache + (uint64_t)first * b->depth), row_bytes, &handles[i]);
    }
    return status;
}

/* Processes the keys and values before the tokens: the next part is loaded during the work on the current part. The
 * load of the first part has begun. */
static tla_status see_cache(tl_context *tl, const block *b, const one_head *h, tl_tile kv[2], tl_handle handles[2]) {
    tla_status status = TLA_OK;
    for (uint32_t first = 0; status == TLA_OK && first < b->keys - b->tokens; first += PART) {
        const tl_tile k = kv[0], v = kv[1];
        status = tl_wait(tl, handles[0]);
        if (status == TLA_OK) status = tl_wait(tl, handles[1]);
        if (status == TLA_OK && first + PART < b->keys - b->tokens) status = fetch(tl, b, h, first + PART, kv, handles);
        if (status == TLA_OK) status = see(tl, b, h, &k, &v, false);
    }
    return status;
}

/* The queries, keys and values of the tokens: q turned over and divided by the root of its depth; k and v go to the
 * cache. */
static tla_status project(tl_context *tl, const block *b, const one_head *h) {
    const tl_tile *const tiles = h->tiles;
    const tl_tile weights = tl_view(tl, &tiles[WEIGHTS], 0, 0, 3 * b->depth, b->width),
                  tokens = tl_view(tl, &b->turned, 0, h->row, b->width, b->tokens),
                  q = tl_view(tl, &tiles[QKV], 0, 0, b->depth, b->tokens);
    const uint64_t row_bytes = b->depth * UINT64_C(2);
    tla_status status = tl_fill(tl, &tiles[QKV], 0);
    if (status == TLA_OK) status = tl_dot(tl, &tiles[QKV], &weights, &tokens);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[ROOT], 1 / sqrtf((float)b->depth));
    if (status == TLA_OK) status = tl_mul(tl, &tiles[TURNED_Q], &q, &tiles[ROOT]);
    for (uint32_t i = 0; status == TLA_OK && i < 2; i++) {
        const tl_tile turned = tl_view(tl, &tiles[QKV], (1 + i) * b->depth, 0, b->depth, b->tokens),
                      mine = tl_view(tl, &tiles[NEW], i * b->tokens, 0, b->tokens, b->depth);
        status = tl_transpose(tl, &tiles[OUT], &turned);
        if (status == TLA_OK) status = tl_convert(tl, &mine, &tiles[OUT]);
        if (status == TLA_OK)
            status = tl_store_async(tl, at(tl, KEYS + i, h->cache + (uint64_t)(b->keys - b->tokens) * b->depth),
                                    row_bytes, &mine, NULL);
    }
    return status;
}

/* sum += attention Wo, in rows of the sequence. */
static tla_status attend(tl_context *tl, const block *b, const one_head *h, tl_handle weights) {
    const tl_tile *const tiles = h->tiles;
    const tl_tile k = tl_view(tl, &tiles[NEW], 0, 0, b->tokens, b->depth),
                  v = tl_view(tl, &tiles[NEW], b->tokens, 0, b->tokens, b->depth),
                  out = tl_view(tl, &tiles[WEIGHTS], 3 * b->depth, 0, b->depth, b->width),
                  sum = tl_view(tl, &b->sum, h->row, 0, b->tokens, b->width);
    tl_tile kv[2];
    tl_handle handles[2] = {{0}, {0}};
    tla_status status = TLA_OK;
    if (b->keys > b->tokens) status = fetch(tl, b, h, 0, kv, handles);
    if (status == TLA_OK) status = tl_wait(tl, weights);
    if (status == TLA_OK) status = project(tl, b, h);
    if (status == TLA_OK) status = tl_attention_begin(tl, &h->attention);
    if (status == TLA_OK) status = see_cache(tl, b, h, kv, handles);
    if (status == TLA_OK) status = see(tl, b, h, &k, &v, true);
    if (status == TLA_OK) status = tl_attention_end(tl, &h->attention, &tiles[OUT]);
    if (status == TLA_OK) status = tl_dot(tl, &sum, &tiles[OUT], &out);
    const tla_status stored = tl_wait_all(tl); /* after any failure too: no transfer may use a freed tile */
    return status == TLA_OK ? stored : status;
}

/* One head of one sequence. */
static tla_status head_of(tl_context *tl, const block *b, uint32_t sequence, uint32_t number) {
    const uint32_t most = at_most(b->keys - b->tokens, PART), seen = most > b->tokens ? most : b->tokens;
    one_head h = {.tiles =
                      {
                          [WEIGHTS] = {.rows = 4 * b->depth, .columns = b->width, .dtype = TL_F16},
                          [QKV] = {.rows = 3 * b->depth, .columns = b->tokens, .dtype = TL_F32},
                          [TURNED_Q] = {.rows = b->depth, .columns = b->tokens, .dtype = TL_F32},
                          [K] = {.rows = 2 * PART, .columns = b->depth, .dtype = TL_F16},
                          [V] = {.rows = 2 * PART, .columns = b->depth, .dtype = TL_F16},
                          [NEW] = {.rows = 2 * b->tokens, .columns = b->depth, .dtype = TL_F16},
                          [SCORES_TURNED] = {.rows = seen, .columns = b->tokens, .dtype = TL_F32},
                          [SCORES] = {.rows = b->tokens, .columns = seen, .dtype = TL_F32},
                          [STATE] = {.rows = b->tokens, .columns = b->depth + 2, .dtype = TL_F32},
                          [COLUMNS] = {.rows = 3 * b->tokens, .columns = 1, .dtype = TL_F32},
                          [OUT] = {.rows = b->tokens, .columns = b->depth, .dtype = TL_F32},
                          [ROOT] = {.rows = 1, .columns = 1, .dtype = TL_F32},
                      },
                  .cache = ((uint64_t)sequence * b->heads + number) * b->keys * b->depth,
                  .row = (sequence - b->first) * b->tokens};
    tla_status status = tl_alloc_tiles(tl, h.tiles, HEAD_TILES);
    if (status != TLA_OK) return status;
    h.attention = (tl_attention){.state = h.tiles[STATE],
                                 .larger = tl_view(tl, &h.tiles[COLUMNS], 0, 0, b->tokens, 1),
                                 .scale = tl_view(tl, &h.tiles[COLUMNS], b->tokens, 0, b->tokens, 1),
                                 .part = tl_view(tl, &h.tiles[COLUMNS], 2 * b->tokens, 0, b->tokens, 1)};
    const uint64_t of_head = (uint64_t)number * 4 * b->depth * b->width;
    tl_handle weights;
    status = tl_load_async(tl, &h.tiles[WEIGHTS], at(tl, HEADS, of_head), b->width * UINT64_C(2), &weights);
    if (status == TLA_OK) status = attend(tl, b, &h, weights);
    return tl_free_tiles(tl, h.tiles, HEAD_TILES, status);
}

/* This program's share of the heads of the SIP's sequences. */
static tla_status attention(tl_context *tl, const block *b) {
    const uint64_t units = (uint64_t)(b->rows / b->tokens) * b->heads;
    const uint32_t end = part_of(units, b->sip.rank + 1, b->sip.size);
    tla_status status = TLA_OK;
    for (uint32_t unit = part_of(units, b->sip.rank, b->sip.size); status == TLA_OK && unit < end; unit++)
        status = head_of(tl, b, b->first + unit / b->heads, unit % b->heads);
    return status;
}

/* --- The MLP --- */

enum { TILE_MLP, TILE_H, TILE_GATE, TILE_SILU, TILE_S, MLP_TILES };

/* sum += silu(norm(x) W1) W2 for the hidden units whose weights these are: `w`, a row of W1 and of W2 for each. */
static tla_status hidden_part(tl_context *tl, const block *b, const tl_tile tiles[MLP_TILES], const tl_tile *w) {
    const uint32_t units = w->rows;
    const tl_tile w1 = tl_view(tl, w, 0, 0, units, b->width), w2 = tl_view(tl, w, 0, b->width, units, b->width),
                  h = tl_view(tl, &tiles[TILE_H], 0, 0, units, b->rows),
                  gate = tl_view(tl, &tiles[TILE_GATE], 0, 0, units, b->rows),
                  silu = tl_view(tl, &tiles[TILE_SILU], 0, 0, units, b->rows),
                  s = tl_view(tl, &tiles[TILE_S], 0, 0, b->rows, units);
    tla_status status = tl_fill(tl, &h, 0);
    if (status == TLA_OK) status = tl_dot(tl, &h, &w1, &b->turned);
    if (status == TLA_OK) status = tl_sigmoid(tl, &gate, &h);
    if (status == TLA_OK) status = tl_mul(tl, &silu, &h, &gate);
    if (status == TLA_OK) status = tl_transpose(tl, &s, &silu);
    if (status == TLA_OK) status = tl_dot(tl, &b->sum, &s, &w2);
    return status;
}

/* Starts to load the weights of hidden units from `first` on into one half of their tile. */
static tla_status fetch_hidden(tl_context *tl, const block *b, const tl_tile *tile, uint32_t first, uint32_t end,
                               uint32_t half, tl_tile *w, tl_handle *handle) {
    *w = tl_view(tl, tile, half * PART, 0, at_most(end - first, PART), 2 * b->width);
    return tl_load_async(tl, w, at(tl, MLP, (uint64_t)first * 2 * b->width), b->width * UINT64_C(4), handle);
}

/* This program's share of the hidden units: while one part is computed the weights of the next one come. */
static tla_status mlp(tl_context *tl, const block *b) {
    const uint32_t begin = part_of(b->hidden, b->sip.rank, b->sip.size),
                   end = part_of(b->hidden, b->sip.rank + 1, b->sip.size);
    if (begin == end) return TLA_OK;
    const uint32_t units = at_most(end - begin, PART);
    tl_tile tiles[MLP_TILES] = {
        [TILE_MLP] = {.rows = (end - begin > PART ? 2 : 1) * units, .columns = 2 * b->width, .dtype = TL_F16},
        [TILE_H] = {.rows = units, .columns = b->rows, .dtype = TL_F32},
        [TILE_GATE] = {.rows = units, .columns = b->rows, .dtype = TL_F32},
        [TILE_SILU] = {.rows = units, .columns = b->rows, .dtype = TL_F16},
        [TILE_S] = {.rows = b->rows, .columns = units, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, MLP_TILES);
    if (status != TLA_OK) return status;
    tl_tile w, next = {{0}, 0, 0, TL_F16, 0};
    tl_handle handle;
    status = fetch_hidden(tl, b, &tiles[TILE_MLP], begin, end, 0, &next, &handle);
    for (uint32_t first = begin, half = 1; status == TLA_OK && first < end; first += PART, half = 1 - half) {
        w = next;
        status = tl_wait(tl, handle);
        if (status == TLA_OK && end - first > PART)
            status = fetch_hidden(tl, b, &tiles[TILE_MLP], first + PART, end, half, &next, &handle);
        if (status == TLA_OK) status = hidden_part(tl, b, tiles, &w);
    }
    const tla_status waited = tl_wait_all(tl);
    return tl_free_tiles(tl, tiles, MLP_TILES, status == TLA_OK ? waited : status);
}

/* x as the SIP's tokens, f16 in memory. */
static tla_status load_x(tl_context *tl, const block *b) {
    tl_tile half = {.rows = b->rows, .columns = b->width, .dtype = TL_F16};
    tla_status status = tl_alloc_tiles(tl, &half, 1);
    if (status != TLA_OK) return status;
    const uint64_t first = (uint64_t)b->first * b->tokens * b->width;
    status = tl_load(tl, &half, at(tl, X, first), b->width * UINT64_C(2));
    if (status == TLA_OK) status = tl_convert(tl, &b->x, &half);
    return tl_free_tiles(tl, &half, 1, status);
}

/* Every program has all of y; each writes its share of the rows. */
static tla_status store_y(tl_context *tl, const block *b) {
    const uint32_t row = part_of(b->rows, b->sip.rank, b->sip.size),
                   end = part_of(b->rows, b->sip.rank + 1, b->sip.size);
    if (row == end) return TLA_OK;
    tl_tile half = {.rows = end - row, .columns = b->width, .dtype = TL_F16};
    tla_status status = tl_alloc_tiles(tl, &half, 1);
    if (status != TLA_OK) return status;
    const tl_tile mine = tl_view(tl, &b->x, row, 0, end - row, b->width);
    const uint64_t first = ((uint64_t)b->first * b->tokens + row) * b->width;
    status = tl_convert(tl, &half, &mine);
    if (status == TLA_OK) status = tl_store(tl, at(tl, Y, first), b->width * UINT64_C(2), &half);
    return tl_free_tiles(tl, &half, 1, status);
}

static tla_status forward(tl_context *tl, const block *b) {
    tla_status status = load_x(tl, b);
    if (status == TLA_OK) status = normalise(tl, b, 0);
    if (status == TLA_OK) status = attention(tl, b);
    if (status == TLA_OK) status = add_sums(tl, b);
    if (status == TLA_OK) status = normalise(tl, b, 1);
    if (status == TLA_OK) status = mlp(tl, b);
    if (status == TLA_OK) status = add_sums(tl, b);
    return status == TLA_OK ? store_y(tl, b) : status;
}

/* Arguments: addresses of the tensors up to y, then the parameters. */
static tla_status run(tl_context *tl) {
    uint32_t p[PARAMETERS];
    for (uint32_t i = 0; i < PARAMETERS; i++)
        p[i] = (uint32_t)tl_argument(tl, Y + 1 + i);
    if (p[P_TOKENS] > p[P_KEYS])
        return tl_refuse(tl, "transformer_block: %u tokens for %u keys: there must be at least as many keys as tokens",
                         p[P_TOKENS], p[P_KEYS]);
    const uint32_t sip = tl_program_id(tl, TL_SIP), sips = tl_num_programs(tl, TL_SIP);
    const uint32_t first = part_of(p[P_SEQUENCES], sip, sips), end = part_of(p[P_SEQUENCES], sip + 1, sips);
    if (first == end) return TLA_OK; /* more SIPs than sequences */
    const uint32_t rows = (end - first) * p[P_TOKENS];
    enum { TILE_X, TILE_TURNED, TILE_SUM, TILES };
    tl_tile tiles[TILES] = {
        [TILE_X] = {.rows = rows, .columns = p[P_WIDTH], .dtype = TL_F32},
        [TILE_TURNED] = {.rows = p[P_WIDTH], .columns = rows, .dtype = TL_F16},
        [TILE_SUM] = {.rows = rows, .columns = p[P_WIDTH], .dtype = TL_F32},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    const block b = {p[P_SEQUENCES], p[P_TOKENS],        p[P_KEYS],      p[P_WIDTH], p[P_HEADS],
                     p[P_DEPTH],     p[P_HIDDEN],        tl_of_sip(tl),  first,      rows,
                     tiles[TILE_X],  tiles[TILE_TURNED], tiles[TILE_SUM]};
    return tl_free_tiles(tl, tiles, TILES, forward(tl, &b));
}

/* --- The inputs --- */

/* Weights of f16 with random signs, mantissas and four exponents, the largest near 2 / sqrt(width), so that a norm's
 * row times a row of weights is of the order of 1. */
static void fill_weights(const tl_workload *workload, uint64_t count, uint64_t stream, uint8_t *bytes) {
    const uint64_t exponent = 15 - (uint64_t)(log2((double)workload->parameters[P_WIDTH]) / 2);
    uint64_t state = workload->seed * UINT64_C(0x9E3779B97F4A7C15) + stream; /* SplitMix64 */
    for (uint64_t i = 0; i < count; i++) {
        uint64_t z = state += UINT64_C(0x9E3779B97F4A7C15);
        z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
        z ^= z >> 31;
        const uint64_t few = exponent > 3 ? z >> 16 & 3 : 0;
        const uint64_t half = (z & 1) << 15 | (exponent - few) << 10 | (z >> 1 & 0x3FF);
        bytes[2 * i] = (uint8_t)half;
        bytes[2 * i + 1] = (uint8_t)(half >> 8);
    }
}

static void fill_heads(const tl_workload *workload, void *bytes) {
    const uint64_t *const p = workload->parameters;
    fill_weights(workload, p[P_HEADS] * 4 * p[P_DEPTH] * p[P_WIDTH], 1, bytes);
}

static void fill_mlp(const tl_workload *workload, void *bytes) {
    const uint64_t *const p = workload->parameters;
    fill_weights(workload, p[P_HIDDEN] * 2 * p[P_WIDTH], 2, bytes);
}

TL_KERNEL(.name = "transformer_block",
          .description = "a transformer block forward over a cache of keys and values, f16 storage", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_VECTOR | TL_USES_ASYNCHRONY | TL_USES_MESSAGES |
                  TL_USES_COLLECTIVES,
          .parameters = {[P_SEQUENCES] = {"sequences", 4, .least = 1},
                         [P_TOKENS] = {"tokens", 1, .least = 1},
                         [P_KEYS] = {"keys", 128, .least = 1},
                         [P_WIDTH] = {"width", 256, .least = 1},
                         [P_HEADS] = {"heads", 8, .least = 1},
                         [P_DEPTH] = {"depth", 32, .least = 1},
                         [P_HIDDEN] = {"hidden", 1024, .least = 1}},
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {TOKENS}},
                      [NORMS] = {.name = "norms",
                                 .dtype = TL_F32,
                                 .spread = TL_REPLICATED,
                                 .shape = {4, TL_PARAMETER(P_WIDTH)}},
                      [HEADS] = {.name = "heads",
                                 .dtype = TL_F16,
                                 .spread = TL_REPLICATED,
                                 .shape = {TL_PARAMETER(P_HEADS), 4, TL_PARAMETER(P_DEPTH), TL_PARAMETER(P_WIDTH)},
                                 .fill = fill_heads},
                      [MLP] = {.name = "mlp",
                               .dtype = TL_F16,
                               .spread = TL_REPLICATED,
                               .shape = {TL_PARAMETER(P_HIDDEN), 2, TL_PARAMETER(P_WIDTH)},
                               .fill = fill_mlp},
                      [KEYS] = {.name = "keys", .dtype = TL_F16, .use = TL_INOUT, .shape = {CACHE}},
                      [VALUES] = {.name = "values", .dtype = TL_F16, .use = TL_INOUT, .shape = {CACHE}},
                      [Y] = {.name = "y", .dtype = TL_F16, .use = TL_OUT, .shape = {TOKENS}}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(NORMS), TL_ADDRESS_OF(HEADS), TL_ADDRESS_OF(MLP),
                        TL_ADDRESS_OF(KEYS), TL_ADDRESS_OF(VALUES), TL_ADDRESS_OF(Y), TL_VALUE_OF(P_SEQUENCES),
                        TL_VALUE_OF(P_TOKENS), TL_VALUE_OF(P_KEYS), TL_VALUE_OF(P_WIDTH), TL_VALUE_OF(P_HEADS),
                        TL_VALUE_OF(P_DEPTH), TL_VALUE_OF(P_HIDDEN)},
          .check = reference_check);
