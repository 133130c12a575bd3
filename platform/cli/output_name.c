/* Which file a path names. */
#include "cli/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINKS_MAX = 40 }; /* as Linux follows */

/* The number behind one of the names of descriptors, or -1. */
static int descriptor_named(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        size_t length = strlen(folders[i]);
        if (strncmp(path, folders[i], length) != 0) continue;
        const char *digits = path + length;
        size_t count = strspn(digits, "0123456789");
        if (count > 0 && count < 8 && !digits[count]) return atoi(digits);
    }
    return -1;
}

/* Replaces *path by the target of the symbolic link there; false with errno. */
static bool step(char **path) {
    char target[PATH_MAX];
    ssize_t length = readlink(*path, target, sizeof target - 1);
    if (length < 0) return false;
    target[length] = 0;
    const char *slash = strrchr(*path, '/');
    size_t directory = target[0] == '/' || !slash ? 0 : (size_t)(slash + 1 - *path);
    char *made = malloc(directory + (size_t)length + 1);
    if (!made) return false;
    memcpy(made, *path, directory);
    memcpy(made + directory, target, (size_t)length + 1);
    free(*path);
    *path = made;
    return true;
}

/* Follows links up to a descriptor's name or something that is no link. */
static char *follow(const char *path, int *descriptor) {
    char *at = strdup(path);
    for (int links = 0; at; links++) {
        struct stat found;
        *descriptor = descriptor_named(at);
        if (*descriptor >= 0 || lstat(at, &found) != 0 || !S_ISLNK(found.st_mode)) return at;
        if (links == LINKS_MAX) errno = ELOOP;
        if (links == LINKS_MAX || !step(&at)) {
            int reason = errno;
            free(at);
            errno = reason;
            return NULL;
        }
    }
    return at;
}

int output_descriptor(const char *path) {
    if (strcmp(path, "-") == 0) return STDOUT_FILENO;
    int descriptor = -1;
    free(follow(path, &descriptor));
    return descriptor;
}

char *output_follow(const char *path) {
    int descriptor;
    return follow(path, &descriptor);
}

output_name output_name_of(const struct stat *found) {
    return (output_name){.exists = true,
                         .shared = S_ISCHR(found->st_mode),
                         .in_place = !S_ISREG(found->st_mode),
                         .device = found->st_dev,
                         .number = found->st_ino};
}

/* The directory that a path's file stands in, and its name there. */
static bool find_in_directory(const char *path, output_name *name) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    if (!*base || strlen(base) > NAME_MAX) {
        errno = !*path ? ENOENT : *base ? ENAMETOOLONG : EISDIR;
        return false;
    }
    char *directory = slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
    struct stat found;
    bool good = directory && stat(directory, &found) == 0;
    int reason = errno;
    free(directory);
    errno = reason;
    if (!good) return false;
    *name = (output_name){.device = found.st_dev, .number = found.st_ino};
    strcpy(name->base, base);
    return true;
}

bool output_name_find(const char *path, int descriptor, output_name *name) {
    struct stat found;
    if (descriptor >= 0) {
        if (fstat(descriptor, &found) != 0) return false;
        *name = output_name_of(&found);
        return true;
    }
    char *end = output_follow(path);
    if (!end) return false;
    bool good;
    if (stat(end, &found) == 0) {
        *name = output_name_of(&found);
        good = !S_ISDIR(found.st_mode);
        if (!good) errno = EISDIR;
    } else {
        good = errno == ENOENT && find_in_directory(end, name);
    }
    int reason = errno;
    free(end);
    errno = reason;
    return good;
}

bool output_names_meet(const output_name *a, const output_name *b) {
    if (a->device != b->device || a->number != b->number || a->exists != b->exists) return false;
    return a->exists ? !a->shared : strcmp(a->base, b->base) == 0;
}
