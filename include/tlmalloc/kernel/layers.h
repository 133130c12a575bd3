/* Building blocks of networks for several kernels: the layer norm of rows, and attention over keys and values in parts.
 *
 * Each function works on tiles that the kernel has allocated, and costs as much as its calls of language.h. On failure
 * it returns the status of the failed call; the contents of the tiles are undefined then. */
#ifndef TLMALLOC_KERNEL_LAYERS_H
#define TLMALLOC_KERNEL_LAYERS_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Layer norm --- */

/* Temporary tiles and constants of a layer norm. */
typedef struct tl_norm {
    tl_tile gamma, beta;    /* one row with as many columns as x */
    tl_tile share, epsilon; /* one element of f32 each: 1 / columns, and the epsilon that keeps the root from 0 */
    tl_tile squares;        /* f32, the shape of x */
    tl_tile of_row;         /* f32, one column with the rows of x */
} tl_norm;

/* Computes out = (x - mean) / sqrt(variance + epsilon) * gamma + beta, row by row. The tile x is f32, and afterwards
 * holds (x - mean) / sqrt(variance + epsilon). The tile out has the shape of x and any real type. */
static inline tla_status tl_layer_norm(tl_context *tl, const tl_tile *out, const tl_tile *x, const tl_norm *norm) {
    tla_status status = tl_sum(tl, 1, &norm->of_row, x);
    if (status == TLA_OK) status = tl_mul(tl, &norm->of_row, &norm->of_row, &norm->share);
    if (status == TLA_OK) status = tl_sub(tl, x, x, &norm->of_row);
    if (status == TLA_OK) status = tl_mul(tl, &norm->squares, x, x);
    if (status == TLA_OK) status = tl_sum(tl, 1, &norm->of_row, &norm->squares);
    if (status == TLA_OK) status = tl_fma(tl, &norm->of_row, &norm->of_row, &norm->share, &norm->epsilon);
    if (status == TLA_OK) status = tl_rsqrt(tl, &norm->of_row, &norm->of_row);
    if (status == TLA_OK) status = tl_mul(tl, x, x, &norm->of_row);
    if (status == TLA_OK) status = tl_fma(tl, out, x, &norm->gamma, &norm->beta);
    return status;
}

/* --- Attention in parts ---
 *
 * It computes softmax(scores) * values without holding all scores at once (online softmax: Milakov, Gimelshein: Online
 * normalizer calculation for softmax, 2018). The state of the processed parts is a matrix of sums and two columns.
 * Several programs may process parts, and then merge their states (Dao et al.: Flash-Decoding for long-context
 * inference, 2023). */

/* The state of a program, and temporary tiles. The state is one tile of f32 with a row for each query and `width` + 2
 * columns. One message can therefore send it to another program. */
typedef struct tl_attention {
    tl_tile state;  /* f32, queries x (width + 2): sums, the largest score, the total of the weights */
    tl_tile larger; /* f32, a column with a row for each query, like the next two */
    tl_tile scale;
    tl_tile part;
} tl_attention;

static inline tl_tile tl_attention_sums(tl_context *tl, const tl_tile *state) {
    return tl_view(tl, state, 0, 0, state->rows, state->columns - 2);
}
static inline tl_tile tl_attention_largest(tl_context *tl, const tl_tile *state) {
    return tl_view(tl, state, 0, state->columns - 2, state->rows, 1);
}
static inline tl_tile tl_attention_total(tl_context *tl, const tl_tile *state) {
    return tl_view(tl, state, 0, state->columns - 1, state->rows, 1);
}

/* Starts with an empty state. */
static inline tla_status tl_attention_begin(tl_context *tl, const tl_attention *attention) {
    const tl_tile largest = tl_attention_largest(tl, &attention->state);
    tla_status status = tl_fill(tl, &attention->state, 0);
    if (status == TLA_OK) status = tl_fill(tl, &largest, -__builtin_inff());
    return status;
}

/* Sets `larger` to the maximum of the state's largest score and a column of other scores; scales the state down to
 * it. */
static inline tla_status tl_attention_rescale(tl_context *tl, const tl_attention *attention, const tl_tile *others) {
    const tl_tile sums = tl_attention_sums(tl, &attention->state),
                  largest = tl_attention_largest(tl, &attention->state),
                  total = tl_attention_total(tl, &attention->state);
    tla_status status = tl_maximum(tl, &attention->larger, &largest, others);
    if (status == TLA_OK) status = tl_sub(tl, &attention->scale, &largest, &attention->larger);
    if (status == TLA_OK) status = tl_exp(tl, &attention->scale, &attention->scale);
    if (status == TLA_OK) status = tl_mul(tl, &sums, &sums, &attention->scale);
    if (status == TLA_OK) status = tl_mul(tl, &total, &total, &attention->scale);
    if (status == TLA_OK) status = tl_convert(tl, &largest, &attention->larger);
    return status;
}

/* Adds the values (keys x width, f16, bf16 or f32) of further keys. The scores are queries x keys, f32; a score is
 * minus infinity where the query does not attend to the key. Each query must have attended to a key by the end of this
 * part. The scores are replaced by weights. */
static inline tla_status tl_attention_add(tl_context *tl, const tl_attention *attention, const tl_tile *scores,
                                          const tl_tile *values) {
    const tl_tile sums = tl_attention_sums(tl, &attention->state), total = tl_attention_total(tl, &attention->state);
    tla_status status = tl_max(tl, 1, &attention->part, scores);
    if (status == TLA_OK) status = tl_attention_rescale(tl, attention, &attention->part);
    if (status == TLA_OK) status = tl_sub(tl, scores, scores, &attention->larger);
    if (status == TLA_OK) status = tl_exp(tl, scores, scores);
    if (status == TLA_OK) status = tl_sum(tl, 1, &attention->part, scores);
    if (status == TLA_OK) status = tl_add(tl, &total, &total, &attention->part);
    if (status == TLA_OK) status = tl_dot(tl, &sums, scores, values);
    return status;
}

/* Adds the state of another program for the same queries and other keys; this program's state is rescaled. */
static inline tla_status tl_attention_merge(tl_context *tl, const tl_attention *attention, const tl_tile *other) {
    const tl_tile sums = tl_attention_sums(tl, &attention->state), more = tl_attention_sums(tl, other),
                  total = tl_attention_total(tl, &attention->state), its_total = tl_attention_total(tl, other),
                  its_largest = tl_attention_largest(tl, other);
    tla_status status = tl_attention_rescale(tl, attention, &its_largest);
    if (status == TLA_OK) status = tl_sub(tl, &attention->scale, &its_largest, &attention->larger);
    if (status == TLA_OK) status = tl_exp(tl, &attention->scale, &attention->scale);
    if (status == TLA_OK) status = tl_fma(tl, &sums, &more, &attention->scale, &sums);
    if (status == TLA_OK) status = tl_fma(tl, &total, &its_total, &attention->scale, &total);
    return status;
}

/* Computes out (queries x width, any real type) = the sums divided by the totals. */
static inline tla_status tl_attention_end(tl_context *tl, const tl_attention *attention, const tl_tile *out) {
    const tl_tile sums = tl_attention_sums(tl, &attention->state), total = tl_attention_total(tl, &attention->state);
    return tl_div(tl, out, &sums, &total);
}

#ifdef __cplusplus
}
#endif
#endif
