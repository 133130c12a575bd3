/* Lists of files and their states. */
#include "run/watch_files.h"

#include "cli/read_text.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEPTH_MAX = 3, TEXT_BYTES_MAX = 1 << 20 };

/* The slot of a path, or the free one where it belongs. */
static size_t find_slot(const watch_files *files, const char *path) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = path; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    size_t slot = (hash ^ hash >> 32) % WATCH_FILES_SLOTS;
    while (files->slots[slot] && strcmp(files->paths[files->slots[slot] - 1], path) != 0)
        slot = (slot + 1) % WATCH_FILES_SLOTS;
    return slot;
}

static bool has(const watch_files *files, const char *path) {
    return files->slots[find_slot(files, path)] != 0;
}

static bool is_skipped(const watch_files *files, const char *path) {
    struct stat found;
    if (!files->skipped_count || stat(path, &found) != 0) return false;
    for (size_t i = 0; i < files->skipped_count; i++)
        if (found.st_dev == files->skipped[i].device && found.st_ino == files->skipped[i].number) return true;
    return false;
}

void watch_files_skip(watch_files *files, const char *path) {
    struct stat found;
    if (files->skipped_count == WATCH_FILES_SKIPPED_MAX || stat(path, &found) != 0) return;
    files->skipped[files->skipped_count++] = (struct watch_file){found.st_dev, found.st_ino};
}

bool watch_files_has_file(const watch_files *files, const char *path) {
    struct stat own, found;
    if (stat(path, &own) != 0) return false;
    for (size_t i = 0; i < files->count; i++)
        if (stat(files->paths[i], &found) == 0 && found.st_dev == own.st_dev && found.st_ino == own.st_ino) return true;
    return false;
}

bool watch_files_add(watch_files *files, const char *path) {
    const size_t slot = find_slot(files, path);
    if (files->slots[slot] || is_skipped(files, path)) return true;
    if (files->count == WATCH_FILES_MAX) return false;
    char **const grown = realloc(files->paths, (files->count + 1) * sizeof *grown);
    if (!grown) return false;
    files->paths = grown;
    files->paths[files->count] = strdup(path);
    if (!files->paths[files->count]) return false;
    files->slots[slot] = (uint16_t)++files->count;
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
    if ((!exists && !may_be_missing) || has(files, path) || is_skipped(files, path)) return;
    if (watch_files_add(files, path) && exists && depth < DEPTH_MAX) add_text(files, path, depth + 1);
}

static void add_text(watch_files *files, const char *path, int depth) {
    char *text = NULL, *rest = NULL, place[PATH_MAX];
    size_t length = 0;
    tla_error error;
    if (read_text(path, TEXT_BYTES_MAX, &text, &length, &error)) return;
    for (char *word = strtok_r(text, " \t\r\n\"'<>(){}[],:;=", &rest); word && files->count < WATCH_FILES_MAX;
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
