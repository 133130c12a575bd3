/* `tlmalloc explain REPORT`: where the time of a run's kernels went, and what to change first. */
#ifndef TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_RUN_H
#define TLMALLOC_PLATFORM_EXPLAIN_EXPLAIN_RUN_H

#include "tlmalloc/base/status.h"
#include "tlmalloc/base/time_account.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A topic for saving time: a kind of work, or several kinds that one change reduces. */
typedef enum time_topic {
    TOPIC_ALLOCATION,
    TOPIC_ALLOCATION_QUEUE,
    TOPIC_COMMANDS,
    TOPIC_MAPPING,
    TOPIC_WALKS,
    TOPIC_LOOKUPS,
    TOPIC_FAULTS,
    TOPIC_MOVES,
    TOPIC_MEMORY,
    TOPIC_LINKS,
    TOPIC_ISSUE,
    TOPIC_TCM,
    TOPIC_ENGINES,
    TOPIC_ARITHMETIC,
    TOPIC_TILES,
    TOPIC_MESSAGE_WAIT,
    TOPIC_CREDIT,
    TOPIC_MESSAGES,
    TOPIC_DISPATCH,
    TOPIC_COPIES,
    TOPIC_LAUNCH,
    TOPIC_OTHER,
    TOPIC_COUNT
} time_topic;

const char *time_topic_title(time_topic topic);
const char *time_topic_name(time_topic topic); /* in JSON */

enum { TOPIC_PLACES_MAX = 3 };

/* A place that has part of a topic's time. */
typedef struct topic_place {
    const char *name; /* the report's */
    uint64_t ps;
    bool has_unit; /* of a memory: a pseudo-channel and a bank of it */
    uint64_t channel, bank, unit_ps;
} topic_place;

typedef struct topic_share {
    time_topic topic;
    uint64_t ps;
    topic_place places[TOPIC_PLACES_MAX]; /* those with most of it, the first with most */
    size_t place_count;                   /* of all, which may be more */
} topic_share;

/* The subject of an explanation: the critical path of a run, or a kernel of one PE. */
typedef struct run_explained {
    const char *path;
    const json_t *report, *config; /* of the run */
    const char *kernel, *pe;       /* pe: where the path ends, or the one that was asked for */
    bool of_one_pe;
    int64_t pe_number; /* of one PE; -1: the critical path */
    uint64_t begin_ps, end_ps;
    topic_share shares[TOPIC_COUNT]; /* of those that have any, the largest first */
    size_t share_count;
} run_explained;

/* A change that a share suggests. */
typedef struct run_change {
    char key[64];           /* of the configuration, where a run with it was shorter; "": no key was found to help */
    char value[64], to[64]; /* that it has, and in that run */
    uint64_t took_ps;       /* the time of the subject in that run */
    char text[600];         /* why, without keys */
} run_change;

struct run_repeater;

/* Whether a file begins as a report does, and not as a recording of PyTorch. False where it cannot be read, or could
 * not be read once more. */
bool is_run_report(const char *path);

/* Explains a report. kernel NULL: any; the file of a kernel: the runs that try changes use it, too; pe -1: the critical
 * path. TLA_SYNTAX with file and line for a report that is cut, of another version or of another command; TLA_NOT_FOUND
 * for an unknown kernel or PE. */
tla_status explain_run(const char *path, const char *kernel, int64_t pe, FILE *table, FILE *json, tla_error *error);

/* Reads the report and the subject; the caller releases *report, also after a failure (NULL then). */
tla_status explain_run_read(const char *path, const char *kernel, int64_t pe, json_t **report, run_explained *out,
                            tla_error *error);

/* Why a share takes its time, and a change that was tried and helps. repeater NULL: nothing can be tried. */
run_change explain_run_change(const run_explained *e, const struct run_repeater *repeater, const topic_share *share);

#endif
