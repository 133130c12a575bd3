/* The contents of SWEEP.yaml, before they are judged. Internal to the reader of sweeps. */
#ifndef TLMALLOC_PLATFORM_SWEEP_SWEEP_FILE_H
#define TLMALLOC_PLATFORM_SWEEP_SWEEP_FILE_H

#include "sweep.h"

enum {
    SWEEP_FILE_NAME,
    SWEEP_FILE_ABOUT,
    SWEEP_FILE_COMMAND,
    SWEEP_FILE_WORKLOAD,
    SWEEP_FILE_PLATFORM,
    SWEEP_FILE_INPUT,
    SWEEP_FILE_SAMPLE,
    SWEEP_FILE_COUNT,
    SWEEP_FILE_SEED,
    SWEEP_FILE_LIMIT,
    SWEEP_FILE_TIME_LIMIT,
    SWEEP_FILE_TEXTS, /* so many are texts */
    SWEEP_FILE_SET = SWEEP_FILE_TEXTS,
    SWEEP_FILE_KEYS,
    SWEEP_FILE_POINTS,
    SWEEP_FILE_CONSTRAINTS,
    SWEEP_FILE_FIGURES
};

enum {
    SWEEP_ROW_KEY,
    SWEEP_ROW_VALUES,
    SWEEP_ROW_FROM,
    SWEEP_ROW_TO,
    SWEEP_ROW_SCALE,
    SWEEP_ROW_ZIP,
    SWEEP_ROW_TEXTS /* one of them, VALUES, is a list */
};

/* A text as the file has it, NULL where it is not written; of a pair with its name. */
typedef struct sweep_written {
    char *name, *text;
    tla_place name_at, at;
} sweep_written;

/* A row of `keys`, or of `points`, whose values are pairs. */
typedef struct sweep_row {
    tla_place at;
    sweep_written texts[SWEEP_ROW_TEXTS];
    sweep_written *values;
    size_t value_count;
} sweep_row;

typedef struct sweep_reading {
    sweep *made;
    const sweep_command *commands;
    tla_config_report report;
    void *context;
    sweep_written texts[SWEEP_FILE_TEXTS];
    sweep_written *settings, *figures, *constraints;
    size_t setting_count, figure_count, constraint_count;
    sweep_row *keys, *points, *row; /* row: the one that is read */
    size_t key_count, point_count;
} sweep_reading;

/* Makes the sweep from its contents; findings go to the loader. */
void sweep_judge(tla_loader *loader, sweep_reading *r);

/* Room for one item more behind `count`; NULL, and noted in the loader, without host memory. */
void *sweep_grow(tla_loader *loader, void *items, size_t count, size_t size);

/* Texts from malloc; NULL, and noted in the loader, without host memory. The second: with the sweep's folder before
 * each of these files, since a file that a sweep names stands beside it. */
char *sweep_copy(tla_loader *loader, const char *text);
char *sweep_beside(tla_loader *loader, const sweep *s, const char *text, const sweep_path *paths, size_t count);

#endif
