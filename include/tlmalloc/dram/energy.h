/* Energy of DRAM: the commands of pseudo-channels and the times of open rows, each multiplied by a constant.
 *
 * A profile has the constants, each with its source and its standing: a figure that somebody measured, one that
 * somebody derived from measurements of other parts, or an assumption. An unknown constant is 0. The profiles of
 * configs/energy state which model each of them follows; all models here have the form of this header. They differ in
 * what they call a background: DRAMsim3 knows one for any number of open banks, Ayna adds a share for each further one,
 * FGDRAM has none. */
#ifndef TLMALLOC_DRAM_ENERGY_H
#define TLMALLOC_DRAM_ENERGY_H

#include "tlmalloc/base/energy_cause.h"
#include "tlmalloc/dram/channels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_energy_standing {
    TLA_ENERGY_UNKNOWN,      /* the constant is 0 */
    TLA_ENERGY_ASSUMED,      /* no source measures it, or derives it */
    TLA_ENERGY_EXTRAPOLATED, /* the source derives it from other parts */
    TLA_ENERGY_MEASURED,     /* the source has measured it */
    TLA_ENERGY_STANDING_COUNT
} tla_energy_standing;

/* "unknown", "assumed", "extrapolated", "measured"; NULL for another value. */
const char *tla_energy_standing_name(tla_energy_standing standing);

typedef enum tla_dram_constant {
    TLA_DRAM_ACTIVATE,     /* fJ of an ACT and the precharge that follows */
    TLA_DRAM_READ,         /* fJ of a RD, its data included */
    TLA_DRAM_WRITE,        /* fJ of a WR, its data included */
    TLA_DRAM_REFRESH,      /* fJ of a refresh of all banks, above the background */
    TLA_DRAM_REFRESH_BANK, /* fJ of a refresh of one bank */
    TLA_DRAM_ALL_CLOSED,   /* uW of a pseudo-channel without an open row */
    TLA_DRAM_ONE_OPEN,     /* uW of a pseudo-channel with an open row */
    TLA_DRAM_NEXT_OPEN,    /* uW of each further open row */
    TLA_DRAM_CONSTANT_COUNT
} tla_dram_constant;

/* "activate", "read", "write", "refresh", "refresh_bank", "all_closed", "one_open", "next_open": the sections of a
 * profile. NULL for another value. */
const char *tla_dram_constant_name(tla_dram_constant constant);

enum { TLA_ENERGY_SOURCE_MAX = 164, TLA_ENERGY_TIMING_MAX = 68 }; /* without gaps between members */

typedef struct tla_energy_constant {
    uint64_t value; /* fJ or uW */
    tla_energy_standing standing;
    char source[TLA_ENERGY_SOURCE_MAX]; /* "" if unknown */
} tla_energy_constant;

typedef struct tla_dram_energy {
    tla_energy_constant constants[TLA_DRAM_CONSTANT_COUNT];
    uint32_t burst_bytes;               /* of a RD and a WR */
    char timing[TLA_ENERGY_TIMING_MAX]; /* names of the timing profiles for which it holds, separated by spaces */
} tla_dram_energy;

/* Commands of pseudo-channels of one timing, and times of their rows. */
typedef struct tla_dram_activity {
    tla_hbm_stats stats;
    tla_hbm_open_time open_time;
    uint64_t pseudo_channel_ps; /* the time, times the number of pseudo-channels */
} tla_dram_activity;

/* The energy of each constant, in fJ, background powers rounded down; and what it comes to by the standing of the
 * constants. */
typedef struct tla_dram_energy_sum {
    uint64_t by_constant_fj[TLA_DRAM_CONSTANT_COUNT];
    uint64_t by_standing_fj[TLA_ENERGY_STANDING_COUNT];
    uint64_t total_fj;
} tla_dram_energy_sum;

/* TLA_INVALID_ARGUMENT, with a text, for a profile whose bursts are not those of the timing, for a timing without
 * banks, or for rows that are closed for longer than the time. TLA_LIMIT for 2^64 fJ or more. *sum is zero then. */
tla_status tla_dram_energy_add_up(const tla_dram_energy *profile, const tla_hbm_config *timing,
                                  const tla_dram_activity *activity, tla_dram_energy_sum *sum, tla_error *error);

/* Adds each femtojoule of a sum to its cause: the commands to those of their bursts, the rest to refreshes and to the
 * background. All causes together grow by the total of the sum, if the activity's commands by purpose add up to its
 * commands, as in every tla_hbm_stats. `profile` and `activity` are those of the sum. */
void tla_dram_energy_charge(const tla_dram_energy *profile, const tla_dram_activity *activity,
                            const tla_dram_energy_sum *sum, uint64_t by_cause_fj[TLA_ENERGY_CAUSE_COUNT]);

/* Whether the profile says that it holds for the timing profile of that name. */
bool tla_dram_energy_is_for(const tla_dram_energy *profile, const char *timing);

#ifdef __cplusplus
}
#endif
#endif
