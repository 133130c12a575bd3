/* Parts of networks that several kernels are made of: the layer norm of rows, and attention that sees keys and values
 * part by part.
 *
 * Each is a function of tiles that the kernel has allocated; what a call costs is what the calls of language.h that it
 * makes cost. What fails returns the status of the call that failed; what the tiles hold is undefined then. */
#ifndef TLMALLOC_KERNEL_LAYERS_H
#define TLMALLOC_KERNEL_LAYERS_H

#include "tlmalloc/kernel/language.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- Layer norm --- */

/* Room and constants of a layer norm. */
typedef struct tl_norm {
    tl_tile gamma, beta;    /* one row of the columns of x */
    tl_tile share, epsilon; /* one element of f32 each: 1 / columns, and what keeps the root from 0 */
    tl_tile squares;        /* f32, the shape of x */
    tl_tile of_row;         /* f32, one column with the rows of x */
} tl_norm;

/* out = (x - mean) / sqrt(variance + epsilon) * gamma + beta, row by row; x is of f32 and holds (x - mean) /
 * sqrt(variance + epsilon) then. out has the shape of x and any real type. */
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
 * softmax(scores) * values without all scores at a time (online softmax: Milakov, Gimelshein: Online normalizer
 * calculation for softmax, 2018). What was seen so far is a matrix of sums and two columns; parts may be seen by
 * several programs, whose states are merged (Dao et al.: Flash-Decoding for long-context inference, 2023). */

/* What a program has seen: one tile of f32, a row for each query, of `width` + 2 columns, so that one message takes it
 * to another program, and the room to go on. */
typedef struct tl_attention {
    tl_tile state;  /* f32, queries x (width + 2): sums, the largest score, the total of the weights */
    tl_tile larger; /* f32, a column of the queries, as the next two */
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

/* Nothing seen yet. */
static inline tla_status tl_attention_begin(tl_context *tl, const tl_attention *attention) {
    const tl_tile largest = tl_attention_largest(tl, &attention->state);
    tla_status status = tl_fill(tl, &attention->state, 0);
    if (status == TLA_OK) status = tl_fill(tl, &largest, -__builtin_inff());
    return status;
}

/* Makes `larger` the largest score of those seen and of a column of others; scales what was seen down to it. */
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

/* Sees the values (keys x width, f16, bf16 or f32) of more keys, whose scores are queries x keys, of f32: minus
 * infinity where a query does not see a key; each query must have seen one with this part. The scores become weights.
 */
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

/* Adds what another program has seen of other keys, for the same queries; its state is scaled. */
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

/* out (queries x width, any real type) = the sums divided by the totals. */
static inline tla_status tl_attention_end(tl_context *tl, const tl_attention *attention, const tl_tile *out) {
    const tl_tile sums = tl_attention_sums(tl, &attention->state), total = tl_attention_total(tl, &attention->state);
    return tl_div(tl, out, &sums, &total);
}

#ifdef __cplusplus
}
#endif
#endif
