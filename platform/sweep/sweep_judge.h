/* The parts of the judgement of a sweep's file: the command, its factors, the rest. Internal to sweep_judge*.c. */
#ifndef TLMALLOC_PLATFORM_SWEEP_SWEEP_JUDGE_H
#define TLMALLOC_PLATFORM_SWEEP_SWEEP_JUDGE_H

#include "sweep_file.h"

#include <string.h>

typedef struct judge {
    tla_loader *loader;
    sweep_reading *r;
    sweep *s;
    void *scratch; /* a configuration that values are tried on */
} judge;

#define FIND(j, at, ...) tla_loader_find((j)->loader, at, __VA_ARGS__)

static inline bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Judges the settings of all points, and the swept keys: a row of keys, or the points one by one. Findings are
 * reported. */
void judge_settings(judge *j);
void judge_row(judge *j, const sweep_row *row);
void judge_points(judge *j);

#endif
