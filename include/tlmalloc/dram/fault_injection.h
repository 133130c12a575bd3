/* Faults of a memory that are injected by plan: bit errors that ECC corrects or only detects, pseudo-channels that are
 * out, commands that are refused for once. What a fault does is for the module that asks; this says when there is one.
 * Everything is decided by the plan, its seed and the order of the questions. */
#ifndef TLMALLOC_DRAM_FAULT_INJECTION_H
#define TLMALLOC_DRAM_FAULT_INJECTION_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_fault_kind {
    TLA_FAULT_CORRECTABLE,   /* a read finds a bit error that ECC corrects */
    TLA_FAULT_UNCORRECTABLE, /* a read finds one that ECC can only detect */
    TLA_FAULT_CHANNEL_OUT,   /* a pseudo-channel, or one bank of it, serves nothing any more */
    TLA_FAULT_REFUSE,        /* a controller refuses a command, and takes it when it is sent again */
    TLA_FAULT_KIND_COUNT
} tla_fault_kind;

enum { TLA_FAULTS_MAX = 8, TLA_FAULT_EVERY_PE = -1 };

/* A bit error with an address is a cell that stays broken: every read of that byte finds it. With a rate, it is drawn
 * for every read (or command); with neither, it comes once: with the first one at or after at_ps. */
typedef struct tla_fault {
    tla_fault_kind kind;
    int32_t pe;       /* whose memory: the number of the PE in the platform, or TLA_FAULT_EVERY_PE */
    uint64_t at_ps;   /* nothing happens before */
    bool has_address; /* bit errors */
    uint64_t address; /* of a byte, from the slice's first */
    uint32_t channel; /* TLA_FAULT_CHANNEL_OUT */
    bool has_bank;    /* TLA_FAULT_CHANNEL_OUT: only this bank of the pseudo-channel */
    uint32_t bank;
    uint32_t rate; /* of a million; 0: none given */
} tla_fault;

typedef struct tla_fault_injection {
    uint64_t seed;
    uint32_t count; /* 0: nothing is ever wrong */
    tla_fault faults[TLA_FAULTS_MAX];
} tla_fault_injection;

/* Reads a plan: "none", or up to TLA_FAULTS_MAX faults between ";", each a kind (correctable, uncorrectable,
 * channel_out, refuse) and fields: pe=N, at=TIME, address=N (also 0x...; bit errors), channel=N (channel_out, where it
 * must stand), bank=N (channel_out: of the pseudo-channel only this bank), rate=N (of a million; not with an address,
 * not for channel_out), each at most once: "uncorrectable address=0x1000 pe=0; refuse rate=5000 at=10us". The seed is
 * not touched. TLA_SYNTAX with a text that says what was found and expected; *plan is not touched then. */
tla_status tla_fault_injection_parse(const char *text, tla_fault_injection *plan, tla_error *error);

/* The part of a plan that concerns one PE, with a seed of its own. */
tla_fault_injection tla_fault_injection_for(const tla_fault_injection *plan, uint32_t pe);

/* Where a plan stands; all zero but the plan at the beginning. */
typedef struct tla_faults {
    tla_fault_injection plan;
    uint64_t draws; /* random numbers drawn so far */
    bool spent[TLA_FAULTS_MAX];
} tla_faults;

typedef struct tla_fault_hits {
    uint32_t correctable, uncorrectable;
    bool channel_out; /* the access touches a pseudo-channel or bank that is out: nothing else is looked at then */
} tla_fault_hits;

/* How bytes are spread: interleaved over `channels` pseudo-channels (a power of two) by `interleave` bytes; bank_of
 * tells the bank of its pseudo-channel in which a byte lies, NULL where there are no banks (faults of banks do nothing
 * then). */
typedef struct tla_fault_geometry {
    uint32_t interleave, channels;
    uint32_t (*bank_of)(const void *context, uint64_t offset);
    const void *context;
} tla_fault_geometry;

/* What an access to [offset, offset + nbytes), nbytes > 0, meets at time_ps. */
tla_fault_hits tla_faults_access(tla_faults *faults, const tla_fault_geometry *geometry, bool write, uint64_t offset,
                                 uint64_t nbytes, uint64_t time_ps);

/* Whether a command that arrives at time_ps is refused. */
bool tla_faults_refuse(tla_faults *faults, uint64_t time_ps);

#ifdef __cplusplus
}
#endif
#endif
