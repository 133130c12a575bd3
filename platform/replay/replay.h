/* The options of `tlmalloc replay`, and its reports. */
#ifndef TLMALLOC_PLATFORM_REPLAY_REPLAY_H
#define TLMALLOC_PLATFORM_REPLAY_REPLAY_H

#include "replay/allocator_option.h"
#include "replay/replay_result.h"
#include "replay/trace_replay.h"
#include "tlmalloc/config.h"

#include <jansson.h>

typedef struct replay_request {
    const char *trace_path;
    char policy[ALLOCATOR_NAME_MAX]; /* name of a stack */
    allocator_config arena;
    const char *snapshot_path; /* NULL: an empty arena */
    double speed;
    bool simulated;          /* on the controller of `config` */
    tla_memory_kind memory;  /* the first of its kind there */
    allocator_list compared; /* none: no comparison */
    tla_config config;
} replay_request;

/* The report of one replay, for a person, and as JSON (a new reference; NULL without host memory). */
void replay_print(FILE *out, const replay_request *request, const alloc_trace *trace, const replay_result *result);
json_t *replay_to_json(const replay_request *request, const replay_result *result);

/* The first failures, one a line. */
void replay_print_failures(FILE *out, const alloc_trace *trace, const replay_result *result);

/* id,offset,bytes,nodes_visited for each allocation in order; - where it failed. */
void replay_write_placements(FILE *out, const alloc_trace *trace, const replay_result *result);

/* Prints the trace and the allocators: the beginning of both reports. */
void replay_print_request(FILE *out, const replay_request *request, const alloc_trace *trace);
json_t *replay_request_to_json(const replay_request *request);

struct replay_files;

/* Replays a trace on every allocator of the request and prints one table; *report (may be NULL) is the same as JSON.
 * `files` has one element for each allocator; `table` (NULL: none) gets the rows as markdown, without what depends on
 * the host. */
tla_status replay_compare(FILE *out, const replay_request *request, const alloc_trace *trace,
                          struct replay_files *files, FILE *table, json_t **report, tla_error *error);

#endif
