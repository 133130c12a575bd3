/* The named address patterns, generated burst by burst from splitmix64. */
#include "traffic/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* stream: the pattern's own random stream; fraction: bursts made of `count`, 1 / fraction. As the reference traces. */
static const struct {
    const char *name;
    uint64_t stream;
    size_t fraction;
} patterns[TLA_TRAFFIC_PATTERN_COUNT] = {
    [TLA_TRAFFIC_SEQ_RD] = {"seq_rd", 0, 1},
    [TLA_TRAFFIC_SEQ_WR] = {"seq_wr", 1, 1},
    [TLA_TRAFFIC_STRIDE_ROW] = {"stride_row", 2, 1},
    [TLA_TRAFFIC_STRIDE_CONF] = {"stride_conf", 3, 4},
    [TLA_TRAFFIC_RAND_RD1] = {"rand_rd1", 4, 1},
    [TLA_TRAFFIC_RAND_WR1] = {"rand_wr1", 7, 1},
    [TLA_TRAFFIC_MIX21_SEQ] = {"mix21_seq", 8, 1},
    [TLA_TRAFFIC_CHASE] = {"chase", 10, 8},
    [TLA_TRAFFIC_STR4] = {"str4", 12, 1},
    [TLA_TRAFFIC_TILE_P8K] = {"tile_p8k", 17, 1},
    [TLA_TRAFFIC_LOAD_RAND30] = {"load_rand30", 21, 2},
};

enum { STREAMS = 4, STREAM_CHUNK_BYTES = 64, TILE_ROWS = 64, TILE_ROW_BYTES = 512, TILE_PITCH_BYTES = 8192 };

/* gen_traces.py's seed of a pattern: seed * 1000003 + stream * 7919 */
enum { SEED_FACTOR = 1000003, STREAM_FACTOR = 7919 };

static const double load_rand30 = 0.30; /* of peak */

struct generator {
    const tla_traffic_geometry *geometry;
    tla_traffic *traffic;
    size_t wanted;
    uint64_t random;
};

static uint64_t random_u64(struct generator *g) {
    g->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = g->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static uint64_t random_below(struct generator *g, uint64_t limit) {
    return random_u64(g) % limit;
}

/* (0, 1] */
static double random_unit(struct generator *g) {
    return (double)((random_u64(g) >> 11) + 1) / 0x1p53;
}

static uint64_t random_row(struct generator *g) {
    return random_below(g, g->geometry->span_bytes / g->geometry->row_bytes) * g->geometry->row_bytes;
}

static bool add(struct generator *g, uint64_t address, tla_hbm_op op) {
    if (g->traffic->count == g->wanted) return false;
    g->traffic->accesses[g->traffic->count++] = (tla_traffic_access){
        .address = address % g->geometry->span_bytes, .nbytes = (uint32_t)g->geometry->burst_bytes, .op = op};
    return g->traffic->count < g->wanted;
}

static void sequential(struct generator *g, tla_hbm_op op) {
    for (uint64_t address = random_row(g); add(g, address, op);)
        address += g->geometry->burst_bytes;
}

/* After each round through the span the column moves on by a burst. */
static void strided(struct generator *g, uint64_t stride) {
    const uint64_t base = random_row(g);
    uint64_t i = 0;
    do {
        i = g->traffic->count;
    } while (add(g, base + i * stride + i * stride / g->geometry->span_bytes * g->geometry->burst_bytes, TLA_HBM_READ));
}

static void uniform(struct generator *g, tla_hbm_op op) {
    uint64_t address;
    do {
        address = random_below(g, g->geometry->span_bytes / g->geometry->burst_bytes) * g->geometry->burst_bytes;
        if (op == TLA_HBM_WRITE) random_u64(g); /* the reference draws the direction of each burst of a write trace */
    } while (add(g, address, op));
}

static void mixed_sequential(struct generator *g) {
    const uint64_t burst = g->geometry->burst_bytes;
    uint64_t read = random_row(g), write = random_row(g);
    while (add(g, read, TLA_HBM_READ) && add(g, read + burst, TLA_HBM_READ) && add(g, write, TLA_HBM_WRITE)) {
        read += 2 * burst;
        write += burst;
    }
}

static void interleaved_streams(struct generator *g) {
    const uint64_t share = g->geometry->span_bytes / STREAMS;
    uint64_t at[STREAMS];
    for (uint64_t i = 0; i < STREAMS; i++)
        at[i] = share * i + random_below(g, share / g->geometry->row_bytes / 2) * g->geometry->row_bytes;
    for (size_t i = 0;; i = (i + 1) % STREAMS) {
        for (uint64_t k = 0; k < STREAM_CHUNK_BYTES / g->geometry->burst_bytes; k++) {
            if (!add(g, at[i], TLA_HBM_READ)) return;
            at[i] += g->geometry->burst_bytes;
        }
    }
}

static void tiles(struct generator *g) {
    const uint64_t base = random_row(g);
    uint64_t column = 0, row = 0;
    for (;;) {
        for (uint64_t y = 0; y < TILE_ROWS; y++)
            for (uint64_t x = 0; x < TILE_ROW_BYTES; x += g->geometry->burst_bytes)
                if (!add(g, base + (row + y) * TILE_PITCH_BYTES + column + x, TLA_HBM_READ)) return;
        column += TILE_ROW_BYTES;
        if (column + TILE_ROW_BYTES > TILE_PITCH_BYTES) {
            column = 0;
            row += TILE_ROWS;
        }
    }
}

static void poisson_arrivals(struct generator *g, double load) {
    const double gap_ps = (double)g->geometry->burst_bytes * 1e12 / ((double)g->geometry->peak_bytes_per_s * load);
    double at = 0;
    for (size_t i = 0; i < g->traffic->count; i++) {
        at += -gap_ps * log(random_unit(g));
        g->traffic->accesses[i].at_ps = (uint64_t)at;
    }
    g->traffic->timed = true;
}

const char *tla_traffic_pattern_name(tla_traffic_pattern pattern) {
    return (unsigned)pattern < TLA_TRAFFIC_PATTERN_COUNT ? patterns[pattern].name : NULL;
}

tla_status tla_traffic_pattern_find(const char *name, tla_traffic_pattern *pattern) {
    for (unsigned i = 0; i < TLA_TRAFFIC_PATTERN_COUNT; i++) {
        if (strcmp(name, patterns[i].name) != 0) continue;
        *pattern = (tla_traffic_pattern)i;
        return TLA_OK;
    }
    return TLA_INVALID_ARGUMENT;
}

static bool divides(uint64_t part, uint64_t whole) {
    return part != 0 && whole % part == 0;
}

tla_status tla_traffic_generate(tla_traffic_pattern pattern, uint64_t seed, size_t count, uint32_t window,
                                const tla_traffic_geometry *geometry, tla_traffic *traffic) {
    *traffic = (tla_traffic){0};
    const uint64_t span = geometry->span_bytes;
    if ((unsigned)pattern >= TLA_TRAFFIC_PATTERN_COUNT || !divides(geometry->burst_bytes, geometry->row_bytes) ||
        !divides(geometry->row_bytes, span) || !divides(geometry->conflict_bytes, span) || span > UINT64_C(1) << 48 ||
        span / STREAMS / geometry->row_bytes < 2 || count / patterns[pattern].fraction == 0 || count > SIZE_MAX / 64)
        return TLA_INVALID_ARGUMENT;
    if (pattern == TLA_TRAFFIC_STR4 && !divides(geometry->burst_bytes, STREAM_CHUNK_BYTES)) return TLA_INVALID_ARGUMENT;
    if (pattern == TLA_TRAFFIC_TILE_P8K && !divides(geometry->burst_bytes, TILE_ROW_BYTES)) return TLA_INVALID_ARGUMENT;
    if (pattern == TLA_TRAFFIC_LOAD_RAND30 && geometry->peak_bytes_per_s == 0) return TLA_INVALID_ARGUMENT;
    struct generator g = {.geometry = geometry,
                          .traffic = traffic,
                          .wanted = count / patterns[pattern].fraction,
                          .random = seed * SEED_FACTOR + patterns[pattern].stream * STREAM_FACTOR};
    traffic->accesses = malloc(g.wanted * sizeof *traffic->accesses);
    if (traffic->accesses == NULL) return TLA_NO_HOST_MEMORY;
    traffic->window = window;
    switch (pattern) {
    case TLA_TRAFFIC_SEQ_RD:
        sequential(&g, TLA_HBM_READ);
        break;
    case TLA_TRAFFIC_SEQ_WR:
        sequential(&g, TLA_HBM_WRITE);
        break;
    case TLA_TRAFFIC_STRIDE_ROW:
        strided(&g, geometry->row_bytes);
        break;
    case TLA_TRAFFIC_STRIDE_CONF:
        strided(&g, geometry->conflict_bytes);
        break;
    case TLA_TRAFFIC_RAND_RD1:
        uniform(&g, TLA_HBM_READ);
        break;
    case TLA_TRAFFIC_RAND_WR1:
        uniform(&g, TLA_HBM_WRITE);
        break;
    case TLA_TRAFFIC_MIX21_SEQ:
        mixed_sequential(&g);
        break;
    case TLA_TRAFFIC_CHASE:
        uniform(&g, TLA_HBM_READ);
        traffic->window = 1;
        break;
    case TLA_TRAFFIC_STR4:
        interleaved_streams(&g);
        break;
    case TLA_TRAFFIC_TILE_P8K:
        tiles(&g);
        break;
    default: /* TLA_TRAFFIC_LOAD_RAND30 */
        uniform(&g, TLA_HBM_READ);
        poisson_arrivals(&g, load_rand30);
        traffic->window = 0;
        break;
    }
    return TLA_OK;
}

void tla_traffic_free(tla_traffic *traffic) {
    free(traffic->accesses);
    *traffic = (tla_traffic){0};
}

double tla_traffic_peak_gb_s(const tla_hbm_config *timing) {
    const uint32_t channels = timing->model == TLA_HBM_BANKS ? timing->row_bus_sharers : 1;
    return channels * timing->burst_bytes * 1000.0 / ((double)timing->burst_cycles * timing->tck_ps);
}

tla_traffic_geometry tla_traffic_geometry_of(const tla_hbm_config *timing) {
    enum { SPAN_BYTES = 1 << 28, ROW_BYTES = 1024, BANKS = 16 };
    const bool banks = timing->model == TLA_HBM_BANKS;
    tla_traffic_geometry geometry = {
        .burst_bytes = timing->burst_bytes,
        .row_bytes = banks                             ? timing->row_bytes
                     : timing->burst_bytes > ROW_BYTES ? timing->burst_bytes
                                                       : ROW_BYTES,
        .span_bytes = banks ? tla_traffic_capacity(timing) : SPAN_BYTES,
        .peak_bytes_per_s = (uint64_t)(tla_traffic_peak_gb_s(timing) * 1e9 + 0.5),
    };
    geometry.conflict_bytes = geometry.row_bytes * BANKS;
    if (banks) geometry.conflict_bytes = timing->burst_bytes;
    for (uint32_t i = 0; i < timing->map.count && timing->map.pieces[i].field != TLA_HBM_FIELD_ROW; i++)
        geometry.conflict_bytes <<= timing->map.pieces[i].bits;
    return geometry;
}
