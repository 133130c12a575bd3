/* Programs that a watch starts, and what they print. */
#ifndef TLMALLOC_PLATFORM_RUN_WATCH_PROCESS_H
#define TLMALLOC_PLATFORM_RUN_WATCH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { WATCH_SAID_BYTES = 8 << 10, WATCH_CANNOT_START = 127 /* as of a shell */ };

/* What a program has printed on standard error: its first and its last bytes. Zero is empty. */
typedef struct watch_said {
    char begin[WATCH_SAID_BYTES], end[WATCH_SAID_BYTES]; /* end: a ring */
    uint64_t count;                                      /* of all bytes */
} watch_said;

/* Adds a line of this process. */
void watch_say(watch_said *said, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As a text from malloc, with a line for what is left out; NULL without host memory. */
char *watch_said_text(const watch_said *said);

/* Whether a program shall end. Asked every 40 ms, and after a signal. */
typedef bool watch_is_over(void *context);

/* Runs a program whose standard output is `out` (-1: /dev/null). What it prints on standard error goes to this
 * process's, while it runs, and replaces *said. Returns its exit status; 128 and the number of a signal that ended it;
 * WATCH_CANNOT_START with the reason in *said; -1 when `is_over` has ended it, by SIGTERM, or after 3 s by SIGKILL. */
int watch_run_program(const char *const words[], int out, watch_is_over *is_over, void *context, watch_said *said);

/* What a program prints on standard output, as a text from malloc. NULL when it cannot run, fails, takes longer than
 * `limit_ms`, or is ended. */
char *watch_program_output(const char *const words[], int limit_ms, watch_is_over *is_over, void *context);

#ifdef __cplusplus
}
#endif
#endif
