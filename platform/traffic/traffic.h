/* Address traffic for a pseudo-channel: the named patterns of the reference runs, reproducible from a seed, and a run
 * of any traffic against a timing.
 *
 * Everything random comes from splitmix64 (S. Vigna, public domain algorithm); a pattern's stream is its own, so that
 * patterns do not depend on each other. */
#ifndef TLMALLOC_PLATFORM_TRAFFIC_H
#define TLMALLOC_PLATFORM_TRAFFIC_H

#include "tlmalloc/dram/channels.h"

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

/* Returns the name as on the command line, "seq_rd"; NULL for an unknown value. */
const char *tla_traffic_pattern_name(tla_traffic_pattern pattern);

/* TLA_INVALID_ARGUMENT when no pattern has that name. */
tla_status tla_traffic_pattern_find(const char *name, tla_traffic_pattern *pattern);

/* Arrivals, and the end of everything, lie below: past it times could not be added up. 106 days. */
#define TLA_TRAFFIC_PS_MAX (UINT64_C(1) << 63)

typedef struct tla_traffic_geometry {
    uint64_t burst_bytes;
    uint64_t row_bytes;
    uint64_t conflict_bytes;   /* address distance of the next row of the same bank */
    uint64_t span_bytes;       /* addresses lie below; a multiple of everything else */
    uint64_t peak_bytes_per_s; /* for timed patterns */
} tla_traffic_geometry;

typedef struct tla_traffic_access {
    uint64_t at_ps; /* < TLA_TRAFFIC_PS_MAX */
    uint64_t address;
    uint32_t nbytes; /* > 0 */
    tla_hbm_op op;
} tla_traffic_access;

typedef struct tla_traffic {
    tla_traffic_access *accesses;
    size_t count;
    bool timed;      /* at_ps are arrivals, in order; otherwise all 0 = as fast as accepted */
    uint32_t window; /* reads outstanding, of two pseudo-channels together; the window that was asked for, but 1 for
                        chase and 0 for timed patterns */
} tla_traffic;

/* The bandwidth of the data bus, or of the two of pseudo-channels that share a row-command bus, in GB/s. */
double tla_traffic_peak_gb_s(const tla_hbm_config *timing);

/* The geometry of a timing that tla_hbm_check has accepted. Without banks it is that of the reference traces. */
tla_traffic_geometry tla_traffic_geometry_of(const tla_hbm_config *timing);

/* Makes about `count` accesses of one burst (a quarter for stride_conf, an eighth for chase, half for load_rand30,
 * which are slow). TLA_INVALID_ARGUMENT for a geometry that the pattern does not fit in, TLA_NO_HOST_MEMORY; *traffic
 * is empty then. */
tla_status tla_traffic_generate(tla_traffic_pattern pattern, uint64_t seed, size_t count, uint32_t window,
                                const tla_traffic_geometry *geometry, tla_traffic *traffic);
void tla_traffic_free(tla_traffic *traffic);

typedef struct tla_traffic_result {
    tla_hbm_stats stats;
    tla_hbm_open_time open_time; /* until end_ps */
    uint64_t nbytes;             /* moved, in whole bursts */
    uint64_t end_ps;             /* of the last data */
    /* One for each read, in the order of their ends: from acceptance (in timed traffic from arrival) to the end of the
     * data of its last burst, in ps. */
    uint64_t *latencies_ps;
    size_t latency_count;
} tla_traffic_result;

/* Addresses that a timing, which tla_hbm_check has accepted, reaches lie below: those of its banks, or 2^63. */
uint64_t tla_traffic_capacity(const tla_hbm_config *timing);

/* Drives a fresh channel of this timing with the traffic: each access as its bursts, in order, at most one in each
 * clock, with the traffic's window instead of the timing's. Two pseudo-channels (row_bus_sharers) are driven at the
 * same time, each with its bursts by the address map. TLA_OUT_OF_RANGE for an access past the capacity or
 * TLA_TRAFFIC_PS_MAX (its number in *bad), TLA_INVALID_ARGUMENT as tla_hbm_check or for an access of 0 bytes (its
 * number likewise), TLA_LIMIT when a burst would end at TLA_TRAFFIC_PS_MAX or later, TLA_NO_HOST_MEMORY; *result is
 * empty then. */
tla_status tla_traffic_run(const tla_hbm_config *timing, const tla_traffic *traffic, tla_traffic_result *result,
                           size_t *bad, tla_error *error);
void tla_traffic_result_free(tla_traffic_result *result);

typedef struct tla_traffic_latency {
    double mean_ns, p50_ns, p99_ns; /* nearest rank; 0 when there was no read */
} tla_traffic_latency;

/* Sorts the latencies. */
tla_traffic_latency tla_traffic_summarize(tla_traffic_result *result);

#ifdef __cplusplus
}
#endif
#endif
