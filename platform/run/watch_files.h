/* The files that a build and a run of a kernel read, and whether one of them has changed. */
#ifndef TLMALLOC_PLATFORM_RUN_WATCH_FILES_H
#define TLMALLOC_PLATFORM_RUN_WATCH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Paths, without doubles. Zero is empty. */
typedef struct watch_files {
    char **paths;
    size_t count;
} watch_files;

/* Adds a path, whether or not a file exists there. False without host memory, and when the list has 4096 paths. */
bool watch_files_add(watch_files *files, const char *path);

void watch_files_clear(watch_files *files);

/* Adds a text file and every file that it names: each word of it that is the path of a regular file, from here or from
 * beside the file, and the files that those name. This finds more than a reader of the format would, but it also works
 * for a file with an error. Words with a dot or a slash are added even where no file exists yet. */
void watch_files_add_named(watch_files *files, const char *path);

/* Adds the files of a text in the form of `cc -M`: TARGET: FILE FILE \, in which a backslash precedes a blank. A path
 * that exists nowhere is looked for beside `source` too. */
void watch_files_add_rule(watch_files *files, const char *rule, const char *source);

/* A number that differs when a file of the list has appeared, has gone, was replaced or written. */
uint64_t watch_files_state(const watch_files *files);

/* Whether a file that `before` does not have was made or written after a time, as far as clocks of file systems tell:
 * up to 20 ms before it count as after it. */
bool watch_files_new_since(const watch_files *files, const watch_files *before, struct timespec time);

#ifdef __cplusplus
}
#endif
#endif
