/* Tensors and parameters of a transformer block, and the same block in double precision, sequence by sequence. */
#ifndef TLMALLOC_PLATFORM_KERNELS_TRANSFORMER_REFERENCE_H
#define TLMALLOC_PLATFORM_KERNELS_TRANSFORMER_REFERENCE_H

#include "tlmalloc/kernel.h"

#include <math.h>
#include <stdlib.h>

/* heads: of each head Wq, Wk and Wv by their columns (as rows of `width`), and the rows of Wo; mlp: of each hidden unit
 * its column of W1 and its row of W2; norms: gamma and beta of the first norm, then of the second. */
enum { X, NORMS, HEADS, MLP, KEYS, VALUES, Y };
enum { P_SEQUENCES, P_TOKENS, P_KEYS, P_WIDTH, P_HEADS, P_DEPTH, P_HIDDEN, PARAMETERS };

#define EPSILON 1e-5f

typedef struct reference {
    const uint64_t *p;
    const void *const *tensors;
    double *x, *norm;  /* tokens x width */
    double *q, *k, *v; /* of a head: tokens x depth, keys x depth */
    double *weights;   /* of a query */
    double *attended;  /* depth */
} reference;

static double element(const reference *r, uint32_t tensor, uint64_t index) {
    return tl_element(r->tensors[tensor], TL_F16, index);
}

static void reference_norm(const reference *r, uint64_t which) {
    const uint64_t width = r->p[P_WIDTH];
    for (uint64_t token = 0; token < r->p[P_TOKENS]; token++) {
        const double *const x = r->x + token * width;
        double mean = 0, variance = 0;
        for (uint64_t i = 0; i < width; i++)
            mean += x[i] / (double)width;
        for (uint64_t i = 0; i < width; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)width;
        for (uint64_t i = 0; i < width; i++)
            r->norm[token * width + i] = (x[i] - mean) / sqrt(variance + (double)EPSILON) *
                                             tl_element(r->tensors[NORMS], TL_F32, 2 * which * width + i) +
                                         tl_element(r->tensors[NORMS], TL_F32, (2 * which + 1) * width + i);
    }
}

/* A row of the norm times a row of weights; *magnitude: the sum of the products' magnitudes. */
static double product(const reference *r, uint64_t token, uint32_t tensor, uint64_t row, double *magnitude) {
    const uint64_t width = r->p[P_WIDTH];
    double sum = 0;
    *magnitude = 0;
    for (uint64_t i = 0; i < width; i++) {
        const double term = r->norm[token * width + i] * element(r, tensor, row * width + i);
        sum += term;
        *magnitude += fabs(term);
    }
    return sum;
}

/* The keys and values of a head: those of the cache, and those of the tokens, which the kernel must have written there.
 * They are f16, of a norm that is f16: two roundings of 2^-11, of the products' magnitudes at most, and little more. */
static tla_status reference_keys(const reference *r, uint64_t sequence, uint64_t head, tla_error *error) {
    const uint64_t depth = r->p[P_DEPTH], keys = r->p[P_KEYS], before = keys - r->p[P_TOKENS];
    const uint64_t cache = (sequence * r->p[P_HEADS] + head) * keys * depth;
    for (uint64_t i = 0; i < keys * depth; i++)
        for (uint32_t which = 0; which < 2; which++) {
            double *const to = which == 0 ? r->k : r->v, got = element(r, KEYS + which, cache + i);
            to[i] = got;
            if (i / depth < before) continue;
            double magnitude;
            to[i] = product(r, i / depth - before, HEADS, (head * 4 + 1 + which) * depth + i % depth, &magnitude);
            const double allowed = 0x1.2p-10 * magnitude + 0x1p-24;
            if (!(fabs(got - to[i]) <= allowed)) /* also rejects NaN */
                return tl_wrong(error,
                                "transformer_block: %s[%llu][%llu][%llu][%llu] is %.9g, expected %.9g within %.3g",
                                which == 0 ? "keys" : "values", (unsigned long long)sequence, (unsigned long long)head,
                                (unsigned long long)(i / depth), (unsigned long long)(i % depth), got, to[i], allowed);
        }
    return TLA_OK;
}

/* x += attention of one head. */
static void reference_head(const reference *r, uint64_t head) {
    const uint64_t depth = r->p[P_DEPTH], tokens = r->p[P_TOKENS], width = r->p[P_WIDTH];
    for (uint64_t token = 0; token < tokens; token++) {
        const uint64_t seen = r->p[P_KEYS] - tokens + token + 1;
        double total = 0, largest = -INFINITY, magnitude;
        for (uint64_t i = 0; i < depth; i++)
            r->q[i] = product(r, token, HEADS, head * 4 * depth + i, &magnitude) / sqrt((double)depth);
        for (uint64_t key = 0; key < seen; key++) {
            r->weights[key] = 0;
            for (uint64_t i = 0; i < depth; i++)
                r->weights[key] += r->q[i] * r->k[key * depth + i];
            largest = fmax(largest, r->weights[key]);
        }
        for (uint64_t i = 0; i < depth; i++)
            r->attended[i] = 0;
        for (uint64_t key = 0; key < seen; key++) {
            const double weight = exp(r->weights[key] - largest);
            total += weight;
            for (uint64_t i = 0; i < depth; i++)
                r->attended[i] += weight * r->v[key * depth + i];
        }
        for (uint64_t i = 0; i < depth; i++)
            for (uint64_t column = 0; column < width; column++)
                r->x[token * width + column] +=
                    r->attended[i] / total * element(r, HEADS, ((head * 4 + 3) * depth + i) * width + column);
    }
}

static void reference_mlp(const reference *r) {
    const uint64_t width = r->p[P_WIDTH];
    for (uint64_t token = 0; token < r->p[P_TOKENS]; token++)
        for (uint64_t unit = 0; unit < r->p[P_HIDDEN]; unit++) {
            double magnitude;
            const double h = product(r, token, MLP, 2 * unit, &magnitude), silu = h / (1 + exp(-h));
            for (uint64_t column = 0; column < width; column++)
                r->x[token * width + column] += silu * element(r, MLP, (2 * unit + 1) * width + column);
        }
}

/* Checks one sequence. Between x and y numbers are rounded to f16 at four places (both norms, keys and values, silu),
 * by 2^-11 of each at most. Hundreds of such roundings with either sign change a sum by about as much as one rounding
 * of its largest number. The check therefore allows 2^-9 of the largest number of the row, four such roundings. It is
 * no bound of the worst case, an error in every term with the worst sign: such a bound would miss mistakes. */
static tla_status check_sequence(const reference *r, uint64_t sequence, tla_error *error) {
    const uint64_t width = r->p[P_WIDTH], count = r->p[P_TOKENS] * width;
    for (uint64_t i = 0; i < count; i++)
        r->x[i] = element(r, X, sequence * count + i);
    reference_norm(r, 0);
    for (uint64_t head = 0; head < r->p[P_HEADS]; head++) {
        const tla_status status = reference_keys(r, sequence, head, error);
        if (status != TLA_OK) return status;
        reference_head(r, head);
    }
    reference_norm(r, 1);
    reference_mlp(r);
    for (uint64_t token = 0; token < r->p[P_TOKENS]; token++) {
        double largest = 0;
        for (uint64_t i = token * width; i < (token + 1) * width; i++)
            largest = fmax(largest, fabs(r->x[i]));
        for (uint64_t i = token * width; i < (token + 1) * width; i++) {
            const double got = element(r, Y, sequence * count + i);
            if (!(fabs(got - r->x[i]) <= largest * 0x1p-9)) /* also rejects NaN */
                return tl_wrong(error, "transformer_block: y[%llu][%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)sequence, (unsigned long long)token,
                                (unsigned long long)(i % width), got, r->x[i], largest * 0x1p-9);
        }
    }
    return TLA_OK;
}

static tla_status reference_check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t *const p = workload->parameters;
    const uint64_t row = p[P_TOKENS] * p[P_WIDTH], cache = p[P_KEYS] * p[P_DEPTH];
    double *const room = malloc((2 * row + 2 * cache + 2 * p[P_DEPTH] + p[P_KEYS]) * sizeof *room);
    if (!room) return tl_wrong(error, "transformer_block: no host memory for the check");
    const reference r = {.p = p,
                         .tensors = tensors,
                         .x = room,
                         .norm = room + row,
                         .k = room + 2 * row,
                         .v = room + 2 * row + cache,
                         .q = room + 2 * row + 2 * cache,
                         .attended = room + 2 * row + 2 * cache + p[P_DEPTH],
                         .weights = room + 2 * row + 2 * cache + 2 * p[P_DEPTH]};
    tla_status status = TLA_OK;
    for (uint64_t sequence = 0; status == TLA_OK && sequence < p[P_SEQUENCES]; sequence++)
        status = check_sequence(&r, sequence, error);
    free(room);
    return status;
}

#define CACHE TL_PARAMETER(P_SEQUENCES), TL_PARAMETER(P_HEADS), TL_PARAMETER(P_KEYS), TL_PARAMETER(P_DEPTH)
#define TOKENS TL_PARAMETER(P_SEQUENCES), TL_PARAMETER(P_TOKENS), TL_PARAMETER(P_WIDTH)

#endif
