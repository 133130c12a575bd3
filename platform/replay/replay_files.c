/* The files that a replay writes besides its report. */
#include "replay/replay_files.h"

#include "cli/output.h"
#include "cli/output_name.h"
#include "replay/occupancy_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The path with the allocator's name before its suffix, FRONT-PLACEMENT for FRONT/PLACEMENT; from malloc. */
static char *path_of(const char *path, const char *allocator) {
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t stem = dot && dot > base ? (size_t)(dot - path) : strlen(path);
    size_t room = strlen(path) + strlen(allocator) + 2;
    char *made = malloc(room);
    if (!made) return NULL;
    snprintf(made, room, "%.*s.%s%s", (int)stem, path, allocator, path + stem);
    for (char *c = made + stem + 1; c < made + stem + 1 + strlen(allocator); c++)
        if (*c == '/') *c = '-'; /* no folder */
    return made;
}

static tla_status open_one(const char *option, const char *path, const char *allocator, bool compared, FILE **stream,
                           tla_error *error) {
    if (!path || !compared) return output_open(option, path, stream, error);
    output_name name;
    const bool is_file = output_name_find(path, -1, &name) ? !name.in_place : *path && errno != EISDIR;
    const char *const end = strcmp(option, "--map") == 0 ? "svg" : "csv";
    if (output_descriptor(path) >= 0 || !is_file)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: '%s' is not a file: --compare writes one file for each policy, such as "
                             "out.first_fit.%s for out.%s",
                             option, path, end, end);
    char *own = path_of(path, allocator);
    if (!own) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    tla_status status = output_open(option, own, stream, error);
    free(own);
    return status;
}

tla_status replay_files_open(const char *placements, const char *map, const char *allocator, bool compared,
                             replay_files *files, tla_error *error) {
    *files = (replay_files){0};
    tla_status status = open_one("--placements", placements, allocator, compared, &files->placements, error);
    return status ? status : open_one("--map", map, allocator, compared, &files->map, error);
}

tla_status replay_files_write(const replay_files *files, const replay_request *request, const char *allocator,
                              const alloc_trace *trace, const replay_result *result, tla_error *error) {
    if (files->placements) replay_write_placements(files->placements, trace, result);
    if (!files->map) return TLA_OK;
    const char *slash = strrchr(request->trace_path, '/');
    char title[300];
    snprintf(title, sizeof title, "%s: %s", slash ? slash + 1 : request->trace_path, allocator);
    return occupancy_map_write(files->map, title, trace, result, error);
}

void replay_files_drop(replay_files *files) {
    output_drop(files->placements);
    output_drop(files->map);
    *files = (replay_files){0};
}
