/* C = A * B on every PE, as one composite of its engines: f16 in memory, accumulated in f32, rounded once at the end
 * (KernBench's matmul_composite). Every program has an A, a B and a C of its own, in the memory of its PE. */
#include "product.h"
#include "tlmalloc/kernel.h"

#include <stdlib.h>

enum { A, B, C };
enum { M, K, N, VARIANT };
enum { REF_REF, LOAD_REF, LOAD_LOAD }; /* both streamed; A loaded before, B streamed; both loaded before */
enum { ELEMENT_BYTES = 2 };

/* An operand: the matrix in memory, or when it is `pinned` a tile of its size with it in the TCM. */
static tla_status operand(tl_context *tl, const tl_tensor *tensor, bool pinned, tl_tile *tile, tl_operand *made) {
    tla_status status = TLA_OK;
    if (pinned) {
        status = tl_alloc(tl, tensor->shape[0], tensor->shape[1], tensor->dtype, tile);
        if (status != TLA_OK) return status;
        status = tl_load(tl, tile, tensor->va, tensor->stride[0]);
    }
    *made = pinned ? tl_pinned(tile) : tl_streamed(tensor);
    return status;
}

/* Arguments: addresses of A, B and C, then M, K, N and the variant. */
static tla_status run(tl_context *tl) {
    const uint64_t program = tl_program_id(tl, TL_ALL), variant = tl_argument(tl, 3 + VARIANT);
    const uint32_t m = (uint32_t)tl_argument(tl, 3 + M), k = (uint32_t)tl_argument(tl, 3 + K),
                   n = (uint32_t)tl_argument(tl, 3 + N);
    tl_tensor a = tl_ref((tla_vaddr){tl_argument(tl, A) + program * m * k * ELEMENT_BYTES}, m, k, TL_F16, 0);
    tl_tensor b = tl_ref((tla_vaddr){tl_argument(tl, B) + program * k * n * ELEMENT_BYTES}, k, n, TL_F16, 0);
    tl_tensor c = tl_ref((tla_vaddr){tl_argument(tl, C) + program * m * n * ELEMENT_BYTES}, m, n, TL_F16, 0);
    tl_tile tile_a = {0}, tile_b = {0};
    tl_composition product = {.kind = TL_GEMM, .out = tl_streamed(&c)};
    tl_handle handle;

    tla_status status = operand(tl, &a, variant != REF_REF, &tile_a, &product.a);
    if (status == TLA_OK) status = operand(tl, &b, variant == LOAD_LOAD, &tile_b, &product.b);
    if (status == TLA_OK) status = tl_composite(tl, &product, &handle);
    if (status == TLA_OK) status = tl_wait(tl, handle);
    if (tile_b.rows) status = tl_free_tiles(tl, &tile_b, 1, status);
    if (tile_a.rows) status = tl_free_tiles(tl, &tile_a, 1, status);
    return status;
}

/* A matrix as numbers, which the caller frees. */
static double *numbers_of(const void *tensor, uint64_t count) {
    double *numbers = malloc(count * sizeof *numbers);
    for (uint64_t i = 0; numbers && i < count; i++)
        numbers[i] = tl_element(tensor, TL_F16, i);
    return numbers;
}

static tla_status compare(const double *a, const double *b, const void *c, const tl_workload *workload,
                          uint64_t program, tla_error *error) {
    const uint64_t m = workload->parameters[M], k = workload->parameters[K], n = workload->parameters[N];
    for (uint64_t row = 0; row < m; row++)
        for (uint64_t column = 0; column < n; column++) {
            double exact = 0, magnitude = 0, found = tl_element(c, TL_F16, row * n + column);
            for (uint64_t i = 0; i < k; i++) {
                double product = a[row * k + i] * b[i * n + column];
                exact += product;
                magnitude += fabs(product);
            }
            const double allowed = product_tolerance(exact, magnitude, k);
            if (!(fabs(found - exact) <= allowed)) /* also rejects NaN */
                return tl_wrong(error,
                                "matmul_composite: program %llu: C[%llu][%llu] is %.9g, expected %.9g within %.3g",
                                (unsigned long long)program, (unsigned long long)row, (unsigned long long)column, found,
                                exact, allowed);
        }
    return TLA_OK;
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t m = workload->parameters[M], k = workload->parameters[K], n = workload->parameters[N];
    tla_status status = TLA_OK;
    for (uint64_t p = 0; status == TLA_OK && p < workload->programs; p++) {
        double *a = numbers_of((const char *)tensors[A] + p * m * k * ELEMENT_BYTES, m * k);
        double *b = numbers_of((const char *)tensors[B] + p * k * n * ELEMENT_BYTES, k * n);
        const void *c = (const char *)tensors[C] + p * m * n * ELEMENT_BYTES;
        status = a && b ? compare(a, b, c, workload, p, error) : TLA_NO_HOST_MEMORY;
        free(a);
        free(b);
    }
    return status;
}

TL_KERNEL(.name = "matmul_composite", .description = "C = A * B as a composite, m x k x n on every PE, f16", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_COMPOSITES | TL_USES_ASYNCHRONY,
          .parameters = {[M] = {"m", 256, .least = 1, .most = 4096},
                         [K] = {"k", 256, .least = 1, .most = 65536},
                         [N] = {"n", 256, .least = 1, .most = 4096},
                         [VARIANT] = {"variant", REF_REF, .most = LOAD_LOAD}},
          .tensors = {[A] = {.name = "a", .dtype = TL_F16, .shape = {TL_PER_PROGRAM(TL_PARAMETER(M)), TL_PARAMETER(K)}},
                      [B] = {.name = "b", .dtype = TL_F16, .shape = {TL_PER_PROGRAM(TL_PARAMETER(K)), TL_PARAMETER(N)}},
                      [C] = {.name = "c",
                             .dtype = TL_F16,
                             .use = TL_OUT,
                             .shape = {TL_PER_PROGRAM(TL_PARAMETER(M)), TL_PARAMETER(N)}}},
          .arguments = {TL_ADDRESS_OF(A), TL_ADDRESS_OF(B), TL_ADDRESS_OF(C), TL_VALUE_OF(M), TL_VALUE_OF(K),
                        TL_VALUE_OF(N), TL_VALUE_OF(VARIANT)},
          .check = check);
