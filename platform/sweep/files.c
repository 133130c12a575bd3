/* The contents of the files that the points of a sweep read. */
#include "files.h"

#include "model/base/fnv.h"
#include "model/base/grow.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const sweep_option *option_of(const sweep *s, const char *name) {
    for (const sweep_option *o = s->command->options; o->name; o++)
        if (strcmp(o->name, name) == 0) return o;
    return NULL;
}

/* Distinguishes a profile's file from its name, as the reader of configurations does. */
static bool config_names_file(const char *text) {
    const size_t length = strlen(text);
    return strchr(text, '/') || (length > 5 && strcmp(text + length - 5, ".yaml") == 0);
}

static bool is_file(const sweep *s, sweep_kind kind, const char *name, const char *value) {
    if (kind == SWEEP_INPUT) return true;
    if (kind == SWEEP_PARAMETER) return s->command->experiment && strchr(value, '/') != NULL;
    if (kind == SWEEP_KEY) return config_names_file(value);
    const sweep_option *o = option_of(s, name);
    return o && o->is_file && strcmp(value, "none") != 0 && strpbrk(value, "/.") != NULL;
}

size_t sweep_paths(const sweep *s, sweep_kind kind, const char *name, const char *value,
                   sweep_path paths[SWEEP_PATHS_MAX]) {
    const sweep_option *o = kind == SWEEP_OPTION ? option_of(s, name) : NULL;
    if (o && o->paths) return o->paths(value, paths);
    paths[0] = (sweep_path){0, strlen(value)};
    return is_file(s, kind, name, value);
}

tla_phrase sweep_path_text(const char *value, sweep_path path) {
    return tla_phrase_of("%.*s", (int)path.length, value + path.at);
}

/* ---- digests ---- */

/* A file that is not regular, such as a pipe, could be read only once. */
static bool add_contents(const char *path, uint64_t *hash) {
    unsigned char bytes[1 << 16];
    struct stat is;
    FILE *file = stat(path, &is) == 0 && S_ISREG(is.st_mode) ? fopen(path, "rb") : NULL;
    if (!file) return false;
    for (size_t count; (count = fread(bytes, 1, sizeof bytes, file));)
        *hash = tla_fnv(*hash, bytes, count);
    const bool good = !ferror(file);
    fclose(file);
    return good;
}

static int is_visible(const struct dirent *entry) {
    return *entry->d_name != '.';
}

static bool add_folder(const char *path, uint64_t *hash) {
    struct dirent **entries;
    const int count = scandir(path, &entries, is_visible, alphasort);
    bool any = false;
    for (int i = 0; i < count; i++) {
        char inside[PATH_MAX];
        if (snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name) < (int)sizeof inside)
            any |= add_contents(inside, hash);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
    return any;
}

static tla_status read_file(sweep *s, const char *path) {
    uint64_t digest = TLA_FNV_BASIS, known;
    if (sweep_file_digest(s, path, &known)) return TLA_OK;
    if (!add_contents(path, &digest)) {
        digest = TLA_FNV_BASIS;
        if (!add_folder(path, &digest)) return TLA_OK;
    }
    if (!tla_grow_by_one(&s->files, s->file_count, sizeof *s->files)) return TLA_NO_HOST_MEMORY;
    char *name = strdup(path);
    if (!name) return TLA_NO_HOST_MEMORY;
    s->files[s->file_count++] = (sweep_file){name, digest};
    return TLA_OK;
}

bool sweep_file_digest(const sweep *s, const char *path, uint64_t *digest) {
    for (size_t i = 0; i < s->file_count; i++)
        if (strcmp(s->files[i].path, path) == 0) {
            *digest = s->files[i].digest;
            return true;
        }
    return false;
}

static bool beside_platform(const sweep *s, const char *text, char path[PATH_MAX]) {
    const char *slash = s->platform && *text != '/' ? strrchr(s->platform, '/') : NULL;
    const int folder = slash ? (int)(slash + 1 - s->platform) : 0;
    return snprintf(path, PATH_MAX, "%.*s%s", folder, folder ? s->platform : "", text) < PATH_MAX;
}

bool sweep_config_file_digest(const sweep *s, int64_t point, const char *key, const char *text, uint64_t *digest) {
    char path[PATH_MAX];
    tla_phrase swept;
    if (!config_names_file(text)) return false;
    bool set = sweep_setting_value(s, key) != NULL;
    for (size_t i = 0; i < s->factor_count && !set; i++)
        set = strcmp(s->factors[i].name, key) == 0 && sweep_value(s, point, i, &swept);
    if (set) return sweep_file_digest(s, text, digest);
    return beside_platform(s, text, path) && sweep_file_digest(s, path, digest);
}

/* ---- all of them ---- */

typedef struct reader {
    sweep *s;
    tla_status status;
} reader;

static void read_value(reader *r, sweep_kind kind, const char *name, const char *value) {
    sweep_path paths[SWEEP_PATHS_MAX];
    const size_t count = value ? sweep_paths(r->s, kind, name, value, paths) : 0;
    for (size_t i = 0; i < count && !r->status; i++)
        r->status = read_file(r->s, sweep_path_text(value, paths[i]).text);
}

static void read_beside_platform(void *context, const char *key, const char *text, bool is_number, uint64_t number) {
    (void)key;
    (void)number;
    reader *r = context;
    char path[PATH_MAX];
    if (!is_number && !r->status && config_names_file(text) && beside_platform(r->s, text, path))
        r->status = read_file(r->s, path);
}

tla_status sweep_read_files(sweep *s) {
    reader r = {.s = s};
    tla_config config;
    for (size_t i = 0; i < s->setting_count; i++)
        read_value(&r, s->settings[i].kind, s->settings[i].name, s->settings[i].value);
    for (size_t i = 0; i < s->factor_count; i++)
        for (size_t value = 0; value < s->factors[i].value_count; value++)
            read_value(&r, s->factors[i].kind, s->factors[i].name, s->factors[i].values[value]);
    read_value(&r, SWEEP_INPUT, "input", s->input);
    if (!r.status && s->platform_is_profile) r.status = read_file(s, s->platform);
    /* The platform's own files, without the swept settings. */
    if (!r.status && sweep_has_config(s) && tla_config_load(s->platform, NULL, 0, &config, NULL, NULL) == TLA_OK)
        tla_config_each(&config, read_beside_platform, &r);
    return r.status;
}
