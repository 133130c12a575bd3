/* The files that a replay writes besides its report: placements and a map, with --compare one of each for every
 * allocator. */
#ifndef TLMALLOC_PLATFORM_REPLAY_REPLAY_FILES_H
#define TLMALLOC_PLATFORM_REPLAY_REPLAY_FILES_H

#include "replay/replay.h"

/* The outputs of one allocator; NULL: not wanted. */
typedef struct replay_files {
    FILE *placements, *map;
} replay_files;

/* Opens the files of an allocator. `compared`: they have the allocator's name before their suffix, p.csv becomes
 * p.first_fit.csv, and must be files. Paths may be NULL. As output_open. */
tla_status replay_files_open(const char *placements, const char *map, const char *allocator, bool compared,
                             replay_files *files, tla_error *error);

/* Writes them. */
tla_status replay_files_write(const replay_files *files, const replay_request *request, const char *allocator,
                              const alloc_trace *trace, const replay_result *result, tla_error *error);

/* Drops the outputs of an allocator that cannot be replayed. */
void replay_files_drop(replay_files *files);

#endif
