/* An output file that is there whole or not at all. */
#include "cli/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget(output *out) {
    free(out->path);
    free(out->temporary);
    *out = (output){0};
}

tla_status output_open(output *out, const char *path, tla_error *error) {
    struct stat found;
    bool in_place = stat(path, &found) == 0 && !S_ISREG(found.st_mode);
    size_t room = strlen(path) + 32;
    *out = (output){.path = strdup(path), .temporary = in_place ? NULL : malloc(room)};
    if (!out->path || (!in_place && !out->temporary)) {
        forget(out);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory", path);
    }
    if (!in_place) snprintf(out->temporary, room, "%s.%ld.part", path, (long)getpid());
    out->stream = fopen(in_place ? path : out->temporary, "w");
    if (out->stream) return TLA_OK;
    forget(out);
    return tla_error_set(error, TLA_IO, "%s: cannot write: %s", path, strerror(errno));
}

tla_status output_commit(output *out, tla_error *error) {
    if (!out->stream) return TLA_OK;
    bool good = fflush(out->stream) == 0 && !ferror(out->stream);
    int reason = errno;
    if (fclose(out->stream) != 0 && good) {
        good = false;
        reason = errno;
    }
    out->stream = NULL;
    if (good && out->temporary && rename(out->temporary, out->path) != 0) {
        good = false;
        reason = errno;
    }
    tla_status status =
        good ? TLA_OK : tla_error_set(error, TLA_IO, "%s: cannot write: %s", out->path, strerror(reason));
    if (!good && out->temporary) unlink(out->temporary);
    forget(out);
    return status;
}

void output_discard(output *out) {
    if (!out->stream) return;
    fclose(out->stream);
    if (out->temporary) unlink(out->temporary);
    forget(out);
}
