/* A matrix over cubes and PEs by policy: rectangles, offsets, scopes. */
#include "tlmalloc/kernel/tensor_shards.h"

#include <string.h>

const char *tla_cut_name(tla_cut cut) {
    static const char *const names[TLA_CUT_COUNT] = {"column_wise", "row_wise", "replicate"};
    return (unsigned)cut < TLA_CUT_COUNT ? names[cut] : NULL;
}

tla_status tla_matrix_layout_check(const tla_matrix_layout *p, tla_error *error) {
    uint64_t elements, nbytes;
    if (!tla_cut_name(p->of_cubes) || !tla_cut_name(p->of_pes))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "matrix layout with policies %d and %d: must be 0 to %d",
                             (int)p->of_cubes, (int)p->of_pes, TLA_CUT_COUNT - 1);
    if (p->sip >= TLA_SIP_COUNT || p->cubes == 0 || p->cubes > TLA_CUBE_DIE_COUNT || p->pes == 0 ||
        p->pes > TLA_PE_COUNT)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "matrix layout on SIP %u, %u cubes of %u PEs: must be SIP 0 to %d, 1 to %d cubes and 1 to %d PEs", p->sip,
            p->cubes, p->pes, TLA_SIP_COUNT - 1, TLA_CUBE_DIE_COUNT, TLA_PE_COUNT);
    if (p->rows == 0 || p->columns == 0 || p->element_bytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "matrix layout of %llu rows and %llu columns of %u bytes: each must be at least 1",
                             (unsigned long long)p->rows, (unsigned long long)p->columns, p->element_bytes);
    if (__builtin_mul_overflow(p->rows, p->columns, &elements) ||
        __builtin_mul_overflow(elements, (uint64_t)p->element_bytes, &nbytes))
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "matrix layout of %llu rows and %llu columns of %u bytes: must be less than 2^64 bytes in total",
            (unsigned long long)p->rows, (unsigned long long)p->columns, p->element_bytes);
    return TLA_OK;
}

uint64_t tla_matrix_layout_bytes(const tla_matrix_layout *p) {
    return p->rows * p->columns * p->element_bytes;
}

/* Where part i of n begins when `total` are dealt out, the first parts one larger. */
static uint64_t begin_of(uint64_t total, uint32_t n, uint32_t i) {
    const uint64_t share = total / n, rest = total % n;
    return i * share + (i < rest ? i : rest);
}

/* The part that `at` falls into. */
static uint32_t part_of(uint64_t total, uint32_t n, uint64_t at) {
    const uint64_t share = total / n, rest = total % n, larger = rest * (share + 1);
    return (uint32_t)(at < larger ? at / (share + 1) : rest + (at - larger) / share);
}

/* Part i of n of a rectangle; *before grows by the elements of those before it, which a replica has none of. */
static tla_rectangle cut(tla_cut by, tla_rectangle whole, uint32_t n, uint32_t i, uint64_t *before) {
    tla_rectangle part = whole;
    if (by == TLA_COLUMN_WISE) {
        const uint64_t begin = begin_of(whole.columns, n, i);
        part.column += begin;
        part.columns = begin_of(whole.columns, n, i + 1) - begin;
        *before += begin * whole.rows;
    } else if (by == TLA_ROW_WISE) {
        const uint64_t begin = begin_of(whole.rows, n, i);
        part.row += begin;
        part.rows = begin_of(whole.rows, n, i + 1) - begin;
        *before += begin * whole.columns;
    }
    return part;
}

/* Which of n parts an element of the rectangle falls into; of replicas the first. */
static uint32_t part_with(tla_cut by, tla_rectangle whole, uint32_t n, uint64_t row, uint64_t column) {
    if (by == TLA_COLUMN_WISE) return part_of(whole.columns, n, column - whole.column);
    if (by == TLA_ROW_WISE) return part_of(whole.rows, n, row - whole.row);
    return 0;
}

static tla_rectangle matrix(const tla_matrix_layout *p) {
    return (tla_rectangle){0, 0, p->rows, p->columns};
}

tla_rectangle tla_matrix_layout_shard(const tla_matrix_layout *p, uint32_t cube, uint32_t pe, uint64_t *offset) {
    uint64_t before = 0;
    const tla_rectangle block = cut(p->of_cubes, matrix(p), p->cubes, cube, &before);
    const tla_rectangle shard = cut(p->of_pes, block, p->pes, pe, &before);
    *offset = before * p->element_bytes;
    return shard;
}

size_t tla_matrix_layout_split(const tla_matrix_layout *p, tla_shard *shards) {
    size_t made = 0;
    for (uint32_t cube = 0; cube < p->cubes; cube++)
        for (uint32_t pe = 0; pe < p->pes; pe++) {
            uint64_t offset;
            const tla_rectangle part = tla_matrix_layout_shard(p, cube, pe, &offset);
            const uint64_t nbytes = part.rows * part.columns * p->element_bytes;
            if (nbytes) shards[made++] = (tla_shard){.where = {p->sip, cube, pe}, .nbytes = nbytes, .offset = offset};
        }
    return made;
}

tla_scope tla_matrix_layout_seen_by(const tla_matrix_layout *p, const tla_shard *shard, tla_scope all) {
    tla_scope scope = all;
    if (p->of_cubes == TLA_REPLICATE) {
        scope.sip_mask = 1u << shard->where.sip;
        scope.die_mask = 1u << shard->where.cube;
    }
    if (p->of_pes == TLA_REPLICATE) {
        scope.pe_mask = 0;
        for (uint32_t pe = shard->where.pe; pe < TLA_PE_COUNT; pe += p->pes)
            scope.pe_mask |= all.pe_mask & 1u << pe;
    }
    return scope;
}

bool tla_matrix_layout_is_copy(const tla_matrix_layout *p, const tla_shard *shard) {
    return (p->of_cubes == TLA_REPLICATE && shard->where.cube != 0) ||
           (p->of_pes == TLA_REPLICATE && shard->where.pe != 0);
}

tla_status tla_matrix_layout_find(const tla_matrix_layout *p, uint64_t row, uint64_t column, uint64_t *offset,
                                  tla_pe_location *where) {
    if (row >= p->rows || column >= p->columns) return TLA_OUT_OF_RANGE;
    const uint32_t cube = part_with(p->of_cubes, matrix(p), p->cubes, row, column);
    uint64_t before = 0;
    const tla_rectangle block = cut(p->of_cubes, matrix(p), p->cubes, cube, &before);
    const uint32_t pe = part_with(p->of_pes, block, p->pes, row, column);
    const tla_rectangle shard = cut(p->of_pes, block, p->pes, pe, &before);
    *offset = (before + (row - shard.row) * shard.columns + (column - shard.column)) * p->element_bytes;
    *where = (tla_pe_location){p->sip, cube, pe};
    return TLA_OK;
}

/* Moves every row of every shard of the first copy, one way or the other. */
static void move_rows(const tla_matrix_layout *p, uint8_t *to, const uint8_t *from, bool pack) {
    const uint32_t cubes = p->of_cubes == TLA_REPLICATE ? 1 : p->cubes, pes = p->of_pes == TLA_REPLICATE ? 1 : p->pes;
    for (uint32_t cube = 0; cube < cubes; cube++)
        for (uint32_t pe = 0; pe < pes; pe++) {
            uint64_t offset;
            const tla_rectangle part = tla_matrix_layout_shard(p, cube, pe, &offset);
            const size_t nbytes = (size_t)(part.columns * p->element_bytes);
            for (uint64_t row = 0; row < part.rows && nbytes; row++) {
                const uint64_t in_tensor = offset + row * nbytes;
                const uint64_t in_matrix = ((part.row + row) * p->columns + part.column) * p->element_bytes;
                memcpy(to + (pack ? in_tensor : in_matrix), from + (pack ? in_matrix : in_tensor), nbytes);
            }
        }
}

void tla_matrix_layout_pack(const tla_matrix_layout *p, const uint8_t *from, uint8_t *to) {
    move_rows(p, to, from, true);
}

void tla_matrix_layout_unpack(const tla_matrix_layout *p, const uint8_t *from, uint8_t *to) {
    move_rows(p, to, from, false);
}
