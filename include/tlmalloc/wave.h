/* An ordered VCD recorder.
 *
 * A loosely timed model runs ahead of the kernel: changes arrive with their local time (kernel time + delay), not in
 * time order. The recorder accepts changes in any order and keeps them until the kernel has passed their time. It
 * writes a VCD (IEEE 1364) in time order, with a timescale of 1 ps and no date: the same run writes the same bytes. */
#ifndef TLMALLOC_WAVE_H
#define TLMALLOC_WAVE_H

#include "tlmalloc/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_wave tla_wave;
typedef uint32_t tla_wave_signal;

/* Opens path for writing. TLA_IO (the error has the cause), TLA_NO_HOST_MEMORY; *wave is NULL then. */
tla_status tla_wave_open(const char *path, tla_wave **wave, tla_error *error);

/* As tla_wave_open on a file that is open for writing. The caller still owns the file, and flushes and closes it after
 * the recorder. TLA_NO_HOST_MEMORY; *wave is NULL then. */
tla_status tla_wave_create(FILE *file, tla_wave **wave);

/* A signal that was declared but not selected: the recorder accepts its changes and does not record them. */
#define TLA_WAVE_HIDDEN UINT32_MAX

/* Selects signals, before the first declaration. The recorder then records only signals that match this pattern or
 * another selected pattern. A pattern matches the whole name, SCOPE.NAME, or one of the scopes around the signal. As in
 * fnmatch(3), * matches any characters, dots too, ? any single character and [...] one of several. TLA_INVALID_ARGUMENT
 * for an empty pattern, and after the first declaration (the error, which may be NULL, has the cause);
 * TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_wave_select(tla_wave *wave, const char *pattern, tla_error *error);

/* Returns the first selected pattern that has matched no signal yet; NULL when every pattern has. The wave owns the
 * text. */
const char *tla_wave_unmatched(const tla_wave *wave);

/* Declares a signal, before the first change or advance. The scope is dot-separated ("sip0.cube0.pe3.mmu"), bits are 1
 * .. 64, and names consist of letters, digits and _. The signal starts at 0, or with the value of tla_wave_start.
 * *signal is TLA_WAVE_HIDDEN when others were selected. TLA_INVALID_ARGUMENT when an argument breaks one of these
 * rules, or when the scope already has the name; the error (may be NULL) has the cause. TLA_NO_HOST_MEMORY. */
tla_status tla_wave_declare(tla_wave *wave, const char *scope, const char *name, uint32_t bits, tla_wave_signal *signal,
                            tla_error *error);

/* Lets the signal start with `value` instead of 0; to be called before the first change or advance.
 * TLA_INVALID_ARGUMENT after that, or when the value has more bits than the signal; the start value is then
 * unchanged. */
tla_status tla_wave_start(tla_wave *wave, tla_wave_signal signal, uint64_t value);

/* Sets the signal to `value` from at_ps on. Among several changes at one time the last call wins. A change to the
 * current value is not written. TLA_INVALID_ARGUMENT when the value has more bits than the signal, or when at_ps has
 * already passed (tla_wave_advance); TLA_NO_HOST_MEMORY. After an error the change is not recorded. */
tla_status tla_wave_set(tla_wave *wave, tla_wave_signal signal, uint64_t at_ps, uint64_t value);

/* Adds delta to the signal at at_ps, modulo 2^bits: for counters and queue depths whose changes are known out of order.
 * A signal uses either set or add (else TLA_INVALID_ARGUMENT). Other errors are those of tla_wave_set. */
tla_status tla_wave_add(tla_wave *wave, tla_wave_signal signal, uint64_t at_ps, int64_t delta);

/* Writes all changes before now_ps; no change before now_ps may follow. A later change with an earlier time returns
 * TLA_INVALID_ARGUMENT and is not recorded. */
tla_status tla_wave_advance(tla_wave *wave, uint64_t now_ps);

/* Writes the remaining changes, also those after end_ps, and end_ps as the last time stamp. Closes the file that
 * tla_wave_open opened, and destroys the recorder in any case. TLA_IO when any write since the opening failed. NULL is
 * allowed. */
tla_status tla_wave_close(tla_wave *wave, uint64_t end_ps);

#ifdef __cplusplus
}
#endif
#endif
