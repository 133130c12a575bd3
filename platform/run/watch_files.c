/* Lists of files and their states. */
#include "run/watch_files.h"

#include "cli/read_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 4096, DEPTH_MAX = 3, TEXT_BYTES_MAX = 4 << 20 };

static bool has(const watch_files *files, const char *path) {
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->paths[i], path) == 0) return true;
    return false;
}

bool watch_files_add(watch_files *files, const char *path) {
    if (has(files, path)) return true;
    if (files->count == FILES_MAX) return false;
    char **const grown = realloc(files->paths, (files->count + 1) * sizeof *grown);
    if (!grown) return false;
    files->paths = grown;
    files->paths[files->count] = strdup(path);
    if (!files->paths[files->count]) return false;
    files->count++;
    return true;
}

void watch_files_clear(watch_files *files) {
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    free(files->paths);
    *files = (watch_files){0};
}

static bool is_regular(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

/* The path of a word that is in a file; false when it is too long, or is the word itself. */
static bool beside(const char *file, const char *word, char path[PATH_MAX]) {
    const char *const slash = strrchr(file, '/');
    if (!slash || *word == '/') return false;
    const int length = snprintf(path, PATH_MAX, "%.*s%s", (int)(slash + 1 - file), file, word);
    return length > 0 && length < PATH_MAX;
}

static void add_text(watch_files *files, const char *path, int depth);

static void add_place(watch_files *files, const char *path, bool may_be_missing, int depth) {
    const bool exists = is_regular(path);
    if (has(files, path) || (!exists && !may_be_missing)) return;
    if (watch_files_add(files, path) && exists && depth < DEPTH_MAX) add_text(files, path, depth + 1);
}

static void add_text(watch_files *files, const char *path, int depth) {
    char *text = NULL, *rest = NULL, place[PATH_MAX];
    size_t length = 0;
    tla_error error;
    if (read_text(path, TEXT_BYTES_MAX, &text, &length, &error)) return;
    for (char *word = strtok_r(text, " \t\r\n\"'<>(){}[],:;=", &rest); word;
         word = strtok_r(NULL, " \t\r\n\"'<>(){}[],:;=", &rest)) {
        const char *const mark = strpbrk(word, "./");
        /* A path that may appear later; not a number, nor the end of a sentence. */
        const bool may_be_missing = mark && mark[1] && strcspn(word, "abcdefghijklmnopqrstuvwxyz") < strlen(word);
        if (strlen(word) >= PATH_MAX) continue;
        add_place(files, word, may_be_missing, depth);
        if (beside(path, word, place)) add_place(files, place, may_be_missing, depth);
    }
    free(text);
}

void watch_files_add_named(watch_files *files, const char *path) {
    watch_files_add(files, path);
    add_text(files, path, 0);
}

void watch_files_add_rule(watch_files *files, const char *rule, const char *source) {
    const char *at = strchr(rule, ':');
    char path[PATH_MAX], place[PATH_MAX];
    while (at && *at) {
        size_t length = 0;
        at += strspn(at, ": \t\r\n");
        while (*at && !strchr(" \t\r\n", *at)) {
            if ((at[0] == '\\' && (at[1] == ' ' || at[1] == '#' || at[1] == '\n')) || (at[0] == '$' && at[1] == '$'))
                at++;
            if (*at == '\n') break;
            if (length + 1 < sizeof path) path[length++] = *at;
            at++;
        }
        path[length] = 0;
        if (!length) continue;
        watch_files_add(files, path);
        if (!is_regular(path) && beside(source, path, place)) watch_files_add(files, place);
    }
}

static uint64_t add(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

uint64_t watch_files_state(const watch_files *files) {
    uint64_t hash = files->count;
    for (size_t i = 0; i < files->count; i++) {
        struct stat found;
        const bool exists = stat(files->paths[i], &found) == 0 && S_ISREG(found.st_mode);
        hash = add(hash, exists);
        if (!exists) continue;
        hash = add(add(add(hash, found.st_ino), found.st_dev), (uint64_t)found.st_size);
        hash = add(add(hash, (uint64_t)found.st_mtim.tv_sec), (uint64_t)found.st_mtim.tv_nsec);
        hash = add(add(hash, (uint64_t)found.st_ctim.tv_sec), (uint64_t)found.st_ctim.tv_nsec);
    }
    return hash;
}

bool watch_files_new_since(const watch_files *files, const watch_files *before, struct timespec time) {
    enum { CLOCK_NS = 20000000, SECOND_NS = 1000000000 };
    struct stat found;
    time.tv_nsec -= CLOCK_NS;
    if (time.tv_nsec < 0) {
        time.tv_nsec += SECOND_NS;
        time.tv_sec--;
    }
    for (size_t i = 0; i < files->count; i++) {
        if (has(before, files->paths[i]) || stat(files->paths[i], &found) != 0) continue;
        const struct timespec changed = found.st_ctim;
        if (changed.tv_sec > time.tv_sec || (changed.tv_sec == time.tv_sec && changed.tv_nsec >= time.tv_nsec))
            return true;
    }
    return false;
}
