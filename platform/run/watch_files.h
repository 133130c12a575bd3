/* The files that a build and a run of a kernel read, and whether one of them has changed. */
#ifndef TLMALLOC_PLATFORM_RUN_WATCH_FILES_H
#define TLMALLOC_PLATFORM_RUN_WATCH_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A hash table of paths, in the order in which they came. Zero is empty. */
enum { WATCH_FILES_MAX = 4096, WATCH_FILES_SLOTS = 2 * WATCH_FILES_MAX, WATCH_FILES_SKIPPED_MAX = 2 };

typedef struct watch_files {
    char **paths;
    size_t count;
    uint16_t slots[WATCH_FILES_SLOTS]; /* 1 + the index of a path; 0: none */
    struct watch_file {
        dev_t device;
        ino_t number;
    } skipped[WATCH_FILES_SKIPPED_MAX]; /* files that the watch itself writes */
    size_t skipped_count;
} watch_files;

/* From now on this file, by whatever path, is not added, nor is what it names. A file that is missing is not noted. */
void watch_files_skip(watch_files *files, const char *path);

/* Whether a path of the list leads to this file. */
bool watch_files_has_file(const watch_files *files, const char *path);

/* Adds a path, whether or not a file exists there. False without host memory, and when the list has WATCH_FILES_MAX
 * paths. */
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
