/* The options of `tlmalloc sweep`. */
#ifndef TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_OPTIONS_H
#define TLMALLOC_PLATFORM_SWEEP_COMMAND_SWEEP_OPTIONS_H

#include "cli/options.h"
#include "sweep/command/point_ranges.h"
#include "sweep/command/sweep_slurm.h"

typedef struct sweep_options {
    const char *path, *results, *tune;
    bool resume, retry, ranged, seeded, slurm, dry_run, merge;
    point_ranges points; /* to run, if ranged */
    slurm_options cluster;
    uint64_t jobs;         /* 0: not given */
    uint64_t budget, seed; /* of the search; budget 0: a twentieth of the points */
} sweep_options;

/* Reads a command line into sweep_options that are all zero; the caller clears `points`. */
extern const command_line sweep_command_line;

#endif
