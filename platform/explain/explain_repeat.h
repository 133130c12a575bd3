/* The run of a report once more, with one key of its configuration changed: advice is tried before it is given. */
#ifndef TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_REPEAT_H
#define TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_REPEAT_H

#include "explain/explain_run.h"

typedef struct run_repeater run_repeater;

/* Makes a repeater from the report's configuration and the words of its command line. A kernel of a user runs only from
 * the file that the user names: no report makes the command load a file (NULL: no file is named). NULL without host
 * memory, and where the run cannot be repeated to the picosecond: an input file is missing, or another build wrote the
 * report. */
run_repeater *run_repeater_make(const run_explained *e, const char *kernel_file);
void run_repeater_free(run_repeater *repeater);

/* Computes the time of the explained path with this value of a key. False: the configuration is rejected, or the run
 * fails. Takes as long as the run did. */
bool run_repeater_time(const run_repeater *repeater, const char *key, const char *value, uint64_t *took_ps);

#endif
