/* Address traffic for one pseudo-channel: the named patterns of the reference runs, reproducible from a seed.
 *
 * Everything random comes from splitmix64 (S. Vigna, public domain algorithm); a pattern's stream is its own, so that
 * patterns do not depend on each other. */
#ifndef TLMALLOC_TRAFFIC_PATTERN_H
#define TLMALLOC_TRAFFIC_PATTERN_H

#include "tlmalloc/hbm_timing.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_traffic_pattern {
    TLA_TRAFFIC_SEQ_RD,      /* sequential reads */
    TLA_TRAFFIC_SEQ_WR,      /* sequential writes */
    TLA_TRAFFIC_STRIDE_ROW,  /* one burst from each row address */
    TLA_TRAFFIC_STRIDE_CONF, /* the same bank, the next row each time */
    TLA_TRAFFIC_RAND_RD1,    /* uniform random reads */
    TLA_TRAFFIC_RAND_WR1,    /* uniform random writes */
    TLA_TRAFFIC_MIX21_SEQ,   /* two sequential reads, one sequential write */
    TLA_TRAFFIC_CHASE,       /* random reads, one at a time */
    TLA_TRAFFIC_STR4,        /* four interleaved sequential streams in 64-byte chunks */
    TLA_TRAFFIC_TILE_P8K,    /* tiles of 64 rows of 512 bytes at a pitch of 8 KiB */
    TLA_TRAFFIC_LOAD_RAND30, /* random reads that arrive at 30 % of peak (Poisson) */
    TLA_TRAFFIC_PATTERN_COUNT
} tla_traffic_pattern;

/* Name as on the command line, "seq_rd"; NULL for a value that is none. */
const char *tla_traffic_pattern_name(tla_traffic_pattern pattern);

/* TLA_INVALID_ARGUMENT when no pattern has that name. */
tla_status tla_traffic_pattern_find(const char *name, tla_traffic_pattern *pattern);

typedef struct tla_traffic_geometry {
    uint64_t burst_bytes;
    uint64_t row_bytes;
    uint64_t conflict_bytes;   /* address distance of the next row of the same bank */
    uint64_t span_bytes;       /* addresses lie below; a multiple of everything else */
    uint64_t peak_bytes_per_s; /* for timed patterns */
} tla_traffic_geometry;

typedef struct tla_traffic_burst {
    uint64_t at_ps;
    uint64_t address;
    tla_hbm_op op;
} tla_traffic_burst;

typedef struct tla_traffic {
    tla_traffic_burst *bursts;
    size_t count;
    bool timed;      /* at_ps are arrivals; otherwise all 0 = as fast as accepted */
    uint32_t window; /* reads outstanding; the window that was asked for, but 1 for chase and 0 for timed patterns */
} tla_traffic;

/* Makes about `count` bursts (a quarter for stride_conf, an eighth for chase, half for load_rand30, which are slow).
 * TLA_INVALID_ARGUMENT for a geometry that the pattern does not fit in, TLA_NO_HOST_MEMORY; *traffic is empty then. */
tla_status tla_traffic_generate(tla_traffic_pattern pattern, uint64_t seed, size_t count, uint32_t window,
                                const tla_traffic_geometry *geometry, tla_traffic *traffic);
void tla_traffic_free(tla_traffic *traffic);

#ifdef __cplusplus
}
#endif
#endif
