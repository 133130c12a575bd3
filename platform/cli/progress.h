/* The progress of a long run: one line on stderr if it is a terminal, and the report of an interrupt. */
#ifndef TLMALLOC_PLATFORM_CLI_PROGRESS_H
#define TLMALLOC_PLATFORM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct progress_line {
    const char *what, *unit;
    bool watched, shown;
    double next;      /* host time of the next line, seconds */
    const char *note; /* a note after the share, ", 3 min left"; NULL: no note */
} progress_line;

/* Begins a run. `what` is the activity ("replay"), `unit` the counted items ("events"; NULL: none); both texts live
 * forever. Prints nothing yet: only a run of more than a second is long. */
progress_line progress_begin(const char *what, const char *unit);

/* Cheap enough to be called every few thousand steps. */
void progress_update(progress_line *progress, uint64_t done, uint64_t total);

/* For a run that cannot report: an interrupt reads how much is done from there. The counter must stay until the next
 * progress_begin or progress_end. */
void progress_watch(const size_t *done, uint64_t total);

/* Clears the line, so that it does not mix with the following text. */
void progress_end(progress_line *progress);

/* "COMMAND: SIGINT during replay, after 4096 of 7222 events; 1 unfinished file removed" on standard error. Safe in a
 * signal handler. */
void progress_tell_interrupt(const char *command, const char *signal, int removed);

/* Host time since some fixed moment, in seconds. */
double host_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
