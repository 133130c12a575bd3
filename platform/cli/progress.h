/* One line on stderr that says how far a long run is, if somebody is watching. */
#ifndef TLMALLOC_PLATFORM_CLI_PROGRESS_H
#define TLMALLOC_PLATFORM_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct progress_line {
    const char *what;
    bool watched, shown;
    double next; /* host time of the next line, seconds */
} progress_line;

/* Says nothing yet: only a run that takes more than a second is long. */
progress_line progress_begin(const char *what);

/* Cheap enough to be called every few thousand steps. */
void progress_update(progress_line *progress, uint64_t done, uint64_t total);

/* Wipes the line, so that it does not mix with what follows. */
void progress_end(progress_line *progress);

/* Host time since some fixed moment, in seconds. */
double host_seconds(void);

#ifdef __cplusplus
}
#endif
#endif
