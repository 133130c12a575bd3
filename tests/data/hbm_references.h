/* What DRAMsim3, Ramulator 2.1 and DRAMSys 5.5 give for one pseudo-channel: mean of the three, and their range.
 * 100,000 bursts, seed 1, map m3, parameters as configs/timing/hbm2.yaml and hbm3.yaml. */
#ifndef TLMALLOC_TESTS_DATA_HBM_REFERENCES_H
#define TLMALLOC_TESTS_DATA_HBM_REFERENCES_H

#include "traffic/traffic.h"

enum { HBM_REFERENCE_PARTS = 2, HBM_REFERENCE_COUNT = 100000, HBM_REFERENCE_SEED = 1 };

struct hbm_reference {
    double gb_s, gb_s_low, gb_s_high;
    double latency_ns; /* mean of the reads; 0 = no reads, or saturated: there the simulators differ by 63 % */
};

struct hbm_reference_part {
    const char *name;
    struct hbm_reference references[TLA_TRAFFIC_PATTERN_COUNT]; /* in the order of the patterns */
};

static const struct hbm_reference_part hbm_reference_parts[HBM_REFERENCE_PARTS] = {
    {"hbm2",
     {
         {14.95, 14.90, 14.98, 67.8},  /* seq_rd */
         {14.92, 14.88, 14.94, 0},     /* seq_wr */
         {9.85, 9.67, 9.94, 103.3},    /* stride_row */
         {0.72, 0.72, 0.72, 1424.0},   /* stride_conf */
         {7.14, 6.88, 7.39, 142.9},    /* rand_rd1 */
         {7.41, 7.36, 7.45, 0},        /* rand_wr1 */
         {12.56, 12.17, 13.31, 120.3}, /* mix21_seq */
         {0.67, 0.66, 0.68, 47.0},     /* chase */
         {14.83, 14.80, 14.88, 68.4},  /* str4 */
         {14.58, 13.93, 14.92, 69.6},  /* tile_p8k */
         {4.79, 4.79, 4.79, 91.0},     /* load_rand30 */
     }},
    {"hbm3",
     {
         {22.94, 22.69, 23.09, 88.9},  /* seq_rd */
         {22.83, 22.46, 23.02, 0},     /* seq_wr */
         {9.12, 8.90, 9.45, 224.4},    /* stride_row */
         {0.66, 0.66, 0.66, 3105.7},   /* stride_conf */
         {7.65, 7.61, 7.70, 267.1},    /* rand_rd1 */
         {7.46, 7.40, 7.55, 0},        /* rand_wr1 */
         {18.92, 18.47, 19.81, 162.0}, /* mix21_seq */
         {0.62, 0.61, 0.62, 51.6},     /* chase */
         {22.21, 21.35, 22.68, 91.9},  /* str4 */
         {16.80, 16.00, 18.08, 121.9}, /* tile_p8k */
         {7.63, 7.61, 7.64, 0},        /* load_rand30: saturated */
     }},
};

#endif
