/* An ordered VCD recorder.
 *
 * A loosely timed model runs ahead of the kernel: changes are known with their local time (kernel time + delay), not in
 * time order. The recorder takes changes in any order, keeps them until the kernel has passed their time, and writes a
 * VCD (IEEE 1364) in time order, with a timescale of 1 ps and no date: the same run writes the same bytes. */
#ifndef TLMALLOC_WAVE_H
#define TLMALLOC_WAVE_H

#include "tlmalloc/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_wave tla_wave;
typedef uint32_t tla_wave_signal;

/* Opens path for writing. TLA_IO (the error says why), TLA_NO_HOST_MEMORY; *wave is NULL then. */
tla_status tla_wave_open(const char *path, tla_wave **wave, tla_error *error);

/* As tla_wave_open on a file that is open for writing. It stays the caller's, who flushes and closes it after the
 * recorder. TLA_NO_HOST_MEMORY; *wave is NULL then. */
tla_status tla_wave_create(FILE *file, tla_wave **wave);

/* A signal that was declared and not selected: its changes are taken and not recorded. */
#define TLA_WAVE_HIDDEN UINT32_MAX

/* Before the first declaration: of all signals only those are recorded for which this pattern, or another one that was
 * selected, matches the whole name, SCOPE.NAME, or one of the scopes that it is in. As in fnmatch(3), * stands for any
 * characters, dots too, ? for any one and [...] for one of several. TLA_INVALID_ARGUMENT for an empty pattern, and
 * after the first declaration (the error, which may be NULL, says what); TLA_NO_HOST_MEMORY. Nothing has changed then.
 */
tla_status tla_wave_select(tla_wave *wave, const char *pattern, tla_error *error);

/* The first pattern that was selected and has matched no signal yet; NULL when there is none. The wave's. */
const char *tla_wave_unmatched(const tla_wave *wave);

/* Declares a signal, before the first change or advance: scope is dot-separated ("sip0.cube0.pe3.mmu"), bits 1 .. 64,
 * names are of letters, digits and _. It starts at 0, or as tla_wave_start says. *signal is TLA_WAVE_HIDDEN when others
 * were selected. TLA_INVALID_ARGUMENT when one of this is not so or the name stands in the scope already (the error,
 * which may be NULL, says what); TLA_NO_HOST_MEMORY. */
tla_status tla_wave_declare(tla_wave *wave, const char *scope, const char *name, uint32_t bits, tla_wave_signal *signal,
                            tla_error *error);

/* The signal starts with `value` in place of 0: before the first change or advance. TLA_INVALID_ARGUMENT when it is
 * later than that, or the value has more bits than the signal; the signal starts as before then. */
tla_status tla_wave_start(tla_wave *wave, tla_wave_signal signal, uint64_t value);

/* The signal has `value` from at_ps on. Of several changes at one moment the last call wins; a change to the value that
 * it has already is not written. TLA_INVALID_ARGUMENT when the value has more bits than the signal, or at_ps has been
 * passed (tla_wave_advance); TLA_NO_HOST_MEMORY. The change is not recorded then. */
tla_status tla_wave_set(tla_wave *wave, tla_wave_signal signal, uint64_t at_ps, uint64_t value);

/* The signal grows by delta at at_ps, modulo 2^bits: for counters and queue depths whose changes are known out of
 * order. A signal is used either with set or with add: TLA_INVALID_ARGUMENT; else errors as tla_wave_set. */
tla_status tla_wave_add(tla_wave *wave, tla_wave_signal signal, uint64_t at_ps, int64_t delta);

/* No change before now_ps will follow: everything before it is written. A later change with an earlier time is
 * TLA_INVALID_ARGUMENT and is not recorded. */
tla_status tla_wave_advance(tla_wave *wave, uint64_t now_ps);

/* Writes what is left, also after end_ps, and end_ps as the last time stamp, and closes the file that tla_wave_open
 * opened. TLA_IO when any write failed since the opening. The recorder is gone afterwards in any case. NULL is allowed.
 */
tla_status tla_wave_close(tla_wave *wave, uint64_t end_ps);

#ifdef __cplusplus
}
#endif
#endif
