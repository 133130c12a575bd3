/* Which file a path names: whether two paths, however they are spelt, would be written over one another. */
#ifndef TLMALLOC_PLATFORM_CLI_OUTPUT_NAME_H
#define TLMALLOC_PLATFORM_CLI_OUTPUT_NAME_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>

/* A file that exists by its number, one that does not by its directory and its name there. */
typedef struct output_name {
    bool exists;
    bool shared;   /* a character device: several may write to it (/dev/null) */
    bool in_place; /* it exists and is no regular file */
    dev_t device;  /* of the file, or of its directory */
    ino_t number;
    char base[NAME_MAX + 1]; /* of a file that does not exist */
} output_name;

/* The descriptor that a path names ("-", /dev/stdout, /dev/fd/3, /proc/self/fd/3, a link to one), or -1. */
int output_descriptor(const char *path);

/* Returns the path at the end of all symbolic links of `path`, whether or not a file exists there. From malloc; NULL
 * with errno. */
char *output_follow(const char *path);

/* Finds the destination of an output: a descriptor, or with -1 a path. False with errno when it cannot be written: a
 * missing directory, or a directory itself. */
bool output_name_find(const char *path, int descriptor, output_name *name);

/* The name of a file that exists. */
output_name output_name_of(const struct stat *found);

/* Whether both are one file, and no device that several may write to. */
bool output_names_meet(const output_name *a, const output_name *b);

#endif
