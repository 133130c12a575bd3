/* Faults of a memory that are injected by plan: bit errors that ECC corrects or only detects, pseudo-channels that
 * fail, commands that are rejected once. This module decides when a fault occurs; the calling module implements its
 * effect. Only the plan, its seed and the order of the queries decide. */
#ifndef TLMALLOC_DRAM_FAULT_INJECTION_H
#define TLMALLOC_DRAM_FAULT_INJECTION_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_fault_kind {
    TLA_FAULT_CORRECTABLE,   /* a read finds a bit error that ECC corrects */
    TLA_FAULT_UNCORRECTABLE, /* a read finds a bit error that ECC can only detect */
    TLA_FAULT_CHANNEL_OUT,   /* a pseudo-channel, or one bank of it, has failed */
    TLA_FAULT_REFUSE,        /* a controller rejects a command, and accepts it when it is sent again */
    TLA_FAULT_KIND_COUNT
} tla_fault_kind;

enum { TLA_FAULTS_MAX = 8, TLA_FAULT_EVERY_PE = -1 };

/* A bit error with an address is a permanently broken cell: every read of that byte finds it. With a rate, the fault is
 * drawn for every read (or command). With neither, it occurs once: with the first read or command at or after at_ps. */
typedef struct tla_fault {
    tla_fault_kind kind;
    int32_t pe;       /* the PE with the memory: its number in the platform, or TLA_FAULT_EVERY_PE */
    uint64_t at_ps;   /* no fault before this time */
    bool has_address; /* bit errors */
    uint64_t address; /* offset of a byte, counted from the slice's first byte */
    uint32_t channel; /* TLA_FAULT_CHANNEL_OUT */
    bool has_bank;    /* TLA_FAULT_CHANNEL_OUT: only this bank of the pseudo-channel */
    uint32_t bank;
    uint32_t rate; /* per million; 0: not given */
} tla_fault;

typedef struct tla_fault_injection {
    uint64_t seed;
    uint32_t count; /* 0: no faults */
    tla_fault faults[TLA_FAULTS_MAX];
} tla_fault_injection;

/* Parses a plan: "none", or up to TLA_FAULTS_MAX faults separated by ";". Each has a kind (correctable, uncorrectable,
 * channel_out, refuse) and fields, each at most once:
 *
 * - pe=N, at=TIME
 * - address=N (also 0x...; bit errors)
 * - channel=N (channel_out, required there), bank=N (channel_out: only this bank of the pseudo-channel)
 * - rate=N (per million; not with an address, not for channel_out)
 *
 * Example: "uncorrectable address=0x1000 pe=0; refuse rate=5000 at=10us". The seed is unchanged. TLA_SYNTAX with a text
 * that has the found and the expected text; *plan is then unchanged. */
tla_status tla_fault_injection_parse(const char *text, tla_fault_injection *plan, tla_error *error);

/* Returns the part of a plan for one PE, with a seed of its own. */
tla_fault_injection tla_fault_injection_for(const tla_fault_injection *plan, uint32_t pe);

/* The state of a plan; initially all zero except the plan. */
typedef struct tla_faults {
    tla_fault_injection plan;
    uint64_t draws; /* number of drawn random numbers */
    bool spent[TLA_FAULTS_MAX];
} tla_faults;

typedef struct tla_fault_hits {
    uint32_t correctable, uncorrectable;
    bool channel_out; /* the access touches a failed pseudo-channel or bank; other faults are then not checked */
} tla_fault_hits;

/* The layout of bytes: interleaved over `channels` pseudo-channels (a power of two) by `interleave` bytes. bank_of
 * returns the bank of a byte in its pseudo-channel. It is NULL without banks; faults of banks then have no effect. */
typedef struct tla_fault_geometry {
    uint32_t interleave, channels;
    uint32_t (*bank_of)(const void *context, uint64_t offset);
    const void *context;
} tla_fault_geometry;

/* Returns the faults of an access to [offset, offset + nbytes), nbytes > 0, at time_ps. */
tla_fault_hits tla_faults_access(tla_faults *faults, const tla_fault_geometry *geometry, bool write, uint64_t offset,
                                 uint64_t nbytes, uint64_t time_ps);

/* Returns whether a command that arrives at time_ps is rejected. */
bool tla_faults_refuse(tla_faults *faults, uint64_t time_ps);

#ifdef __cplusplus
}
#endif
#endif
