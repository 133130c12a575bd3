/* y = silu(x * W1) * W2: x and y rows x width, W1 width x hidden, W2 hidden x width; f16 in memory, products
 * accumulated in f32, silu(h) = h / (1 + e to the -h) computed in f32 and rounded to f16 for the second product. */
#include "tlmalloc/kernel.h"

#include <math.h>
#include <stdlib.h>

enum { X, W1, W2, Y };
enum { ROWS, WIDTH, HIDDEN };
enum { BLOCK = 32, PART = 64 }; /* rows in one step, and of them columns of the hidden layer */
enum { TILE_X, TILE_W1, TILE_H, TILE_GATE, TILE_S, TILE_W2, TILE_SUM, TILE_Y, TILES };

static uint32_t at_most(uint32_t value, uint32_t limit) {
    return value < limit ? value : limit;
}

/* sum += silu(x * W1[:, first on]) * W2[first on, :], for `part` columns of the hidden layer. */
static tla_status add_part(tl_context *tl, const tl_tile tiles[TILES], uint32_t rows, uint32_t first, uint32_t part) {
    const uint32_t width = (uint32_t)tl_argument(tl, 5), hidden = (uint32_t)tl_argument(tl, 6);
    const tl_tile x = tl_view(tl, &tiles[TILE_X], 0, 0, rows, width),
                  w1 = tl_view(tl, &tiles[TILE_W1], 0, 0, width, part),
                  h = tl_view(tl, &tiles[TILE_H], 0, 0, rows, part),
                  gate = tl_view(tl, &tiles[TILE_GATE], 0, 0, rows, part),
                  s = tl_view(tl, &tiles[TILE_S], 0, 0, rows, part),
                  w2 = tl_view(tl, &tiles[TILE_W2], 0, 0, part, width),
                  sum = tl_view(tl, &tiles[TILE_SUM], 0, 0, rows, width);
    tl_tensor of_w1 = tl_ref((tla_vaddr){tl_argument(tl, W1)}, width, hidden, TL_F16, 0),
              of_w2 = tl_ref((tla_vaddr){tl_argument(tl, W2)}, hidden, width, TL_F16, 0);
    tla_status status = tl_slice(tl, &of_w1, 1, first, part, &of_w1);
    if (status == TLA_OK) status = tl_slice(tl, &of_w2, 0, first, part, &of_w2);
    if (status == TLA_OK) status = tl_load_tensor(tl, &w1, &of_w1);
    if (status == TLA_OK) status = tl_load_tensor(tl, &w2, &of_w2);
    if (status == TLA_OK) status = tl_fill(tl, &h, 0);
    if (status == TLA_OK) status = tl_dot(tl, &h, &x, &w1);
    if (status == TLA_OK) status = tl_sigmoid(tl, &gate, &h);
    if (status == TLA_OK) status = tl_mul(tl, &s, &h, &gate);
    if (status == TLA_OK) status = tl_dot(tl, &sum, &s, &w2);
    return status;
}

/* Rows [first, first + rows). */
static tla_status forward(tl_context *tl, const tl_tile tiles[TILES], uint32_t first, uint32_t rows) {
    const uint32_t width = (uint32_t)tl_argument(tl, 5), hidden = (uint32_t)tl_argument(tl, 6);
    const uint64_t row_bytes = width * UINT64_C(2), offset = first * row_bytes;
    const tl_tile x = tl_view(tl, &tiles[TILE_X], 0, 0, rows, width),
                  sum = tl_view(tl, &tiles[TILE_SUM], 0, 0, rows, width),
                  y = tl_view(tl, &tiles[TILE_Y], 0, 0, rows, width);
    tla_status status = tl_load(tl, &x, (tla_vaddr){tl_argument(tl, X) + offset}, row_bytes);
    if (status == TLA_OK) status = tl_fill(tl, &sum, 0);
    for (uint32_t part = 0; status == TLA_OK && part < hidden; part += PART)
        status = add_part(tl, tiles, rows, part, at_most(hidden - part, PART));
    if (status == TLA_OK) status = tl_convert(tl, &y, &sum);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + offset}, row_bytes, &y);
    return status;
}

/* Arguments: addresses of x, W1, W2 and y; rows, width, hidden. Program p of P takes the rows
 * [p * rows / P, (p + 1) * rows / P). */
static tla_status run(tl_context *tl) {
    const uint64_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL), rows = tl_argument(tl, 4);
    const uint32_t end = (uint32_t)((p + 1) * rows / programs), width = (uint32_t)tl_argument(tl, 5);
    uint32_t first = (uint32_t)(p * rows / programs);
    if (first == end) return TLA_OK; /* more programs than rows */
    const uint32_t most = at_most(end - first, BLOCK), part = at_most((uint32_t)tl_argument(tl, 6), PART);
    tl_tile tiles[TILES] = {
        [TILE_X] = {.rows = most, .columns = width, .dtype = TL_F16},
        [TILE_W1] = {.rows = width, .columns = part, .dtype = TL_F16},
        [TILE_H] = {.rows = most, .columns = part, .dtype = TL_F32},
        [TILE_GATE] = {.rows = most, .columns = part, .dtype = TL_F32},
        [TILE_S] = {.rows = most, .columns = part, .dtype = TL_F16},
        [TILE_W2] = {.rows = part, .columns = width, .dtype = TL_F16},
        [TILE_SUM] = {.rows = most, .columns = width, .dtype = TL_F32},
        [TILE_Y] = {.rows = most, .columns = width, .dtype = TL_F16},
    };
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    for (; status == TLA_OK && first < end; first += most)
        status = forward(tl, tiles, first, at_most(end - first, most));
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* Returns the rounding error of one element of the hidden layer. The product before it has an error of (width + 1) *
 * 2^-24 of magnitudes (see product.h), which silu, whose slope is less than 1.1, makes 1.1 times that. The sigmoid and
 * the product with it round by 3 * 2^-24, and the last rounding, to f16, by 2^-11 or, where it is subnormal, 2^-25. */
static double hidden_error(double silu, double magnitude, double width) {
    const double before = 1.1 * (width + 1) * 0x1p-24 * magnitude + 3 * 0x1p-24 * fabs(silu);
    return before + fmax((fabs(silu) + before) * 0x1p-11, 0x1p-25);
}

/* silu(x * W1) of one row, and by how much each may be off. */
static void hidden_layer(const tl_workload *workload, const void *const *tensors, uint64_t row, double *silu,
                         double *error) {
    const uint64_t width = workload->parameters[WIDTH], hidden = workload->parameters[HIDDEN];
    for (uint64_t j = 0; j < hidden; j++) {
        double h = 0, magnitude = 0;
        for (uint64_t i = 0; i < width; i++) {
            const double product =
                tl_element(tensors[X], TL_F16, row * width + i) * tl_element(tensors[W1], TL_F16, i * hidden + j);
            h += product;
            magnitude += fabs(product);
        }
        silu[j] = h / (1 + exp(-h));
        error[j] = hidden_error(silu[j], magnitude, (double)width);
    }
}

static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const uint64_t rows = workload->parameters[ROWS], width = workload->parameters[WIDTH],
                   hidden = workload->parameters[HIDDEN];
    double *const silu = malloc(2 * hidden * sizeof *silu);
    if (!silu) return tl_wrong(error, "mlp: no host memory for the check");
    tla_status status = TLA_OK;
    for (uint64_t i = 0; status == TLA_OK && i < rows * width; i++) {
        if (i % width == 0) hidden_layer(workload, tensors, i / width, silu, silu + hidden);
        double exact = 0, off = 0, magnitude = 0;
        for (uint64_t j = 0; j < hidden; j++) {
            const double w = tl_element(tensors[W2], TL_F16, j * width + i % width);
            exact += silu[j] * w;
            off += silu[hidden + j] * fabs(w);
            magnitude += (fabs(silu[j]) + silu[hidden + j]) * fabs(w);
        }
        off += ((double)hidden + 1) * 0x1p-24 * magnitude;
        const double got = tl_element(tensors[Y], TL_F16, i),
                     allowed = off + fmax((fabs(exact) + off) * 0x1p-11, 0x1p-25);
        if (!(fabs(got - exact) <= allowed)) /* also rejects NaN */
            status = tl_wrong(error, "mlp: y[%llu][%llu] is %.9g, expected %.9g within %.3g",
                              (unsigned long long)(i / width), (unsigned long long)(i % width), got, exact, allowed);
    }
    free(silu);
    return status;
}

TL_KERNEL(.name = "mlp", .description = "silu(x * W1) * W2, 256 rows, 64 wide, 256 hidden, f16 storage", .run = run,
          .uses = TL_USES_TRANSFERS | TL_USES_GEMM | TL_USES_VECTOR,
          .parameters = {[ROWS] = {"rows", 256, .least = 1},
                         [WIDTH] = {"width", 64, .least = 1},
                         [HIDDEN] = {"hidden", 256, .least = 1}},
          .tensors =
              {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(WIDTH)}},
               [W1] = {.name = "w1",
                       .dtype = TL_F16,
                       .spread = TL_REPLICATED,
                       .shape = {TL_PARAMETER(WIDTH), TL_PARAMETER(HIDDEN)}},
               [W2] = {.name = "w2",
                       .dtype = TL_F16,
                       .spread = TL_REPLICATED,
                       .shape = {TL_PARAMETER(HIDDEN), TL_PARAMETER(WIDTH)}},
               [Y] = {.name = "y", .dtype = TL_F16, .shape = {TL_PARAMETER(ROWS), TL_PARAMETER(WIDTH)}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(W1), TL_ADDRESS_OF(W2), TL_ADDRESS_OF(Y), TL_VALUE_OF(ROWS),
                        TL_VALUE_OF(WIDTH), TL_VALUE_OF(HIDDEN)},
          .check = check);
