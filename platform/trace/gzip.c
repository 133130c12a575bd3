/* The bytes of a file, decompressed if it is gzip. */
#include "trace/gzip.h"

#include "model/base/phrase.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BYTES = 1 << 15, GZIP_OF_ANY_WINDOW = 15 + 16 };

struct gzip_file {
    int descriptor;
    char *name;
    bool compressed;         /* of a file that is not, bytes are copied */
    bool in_member;          /* its end has not come */
    bool at_end;             /* of the file: nothing more can be read */
    tla_error failure;       /* what ended it, for good */
    uint64_t taken, decoded; /* bytes of the file, and of the text */
    z_stream stream;         /* next_in, avail_in: bytes of the file that are read and not used yet */
    unsigned char input[INPUT_BYTES];
};

/* Reads until `wanted` bytes wait, or the file ends. */
static tla_status fill(gzip_file *f, unsigned wanted, tla_error *error) {
    if (f->stream.avail_in >= wanted || f->at_end) return TLA_OK;
    memmove(f->input, f->stream.next_in, f->stream.avail_in);
    f->stream.next_in = f->input;
    while (f->stream.avail_in < wanted && !f->at_end) {
        ssize_t count = read(f->descriptor, f->input + f->stream.avail_in, INPUT_BYTES - f->stream.avail_in);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return tla_error_set(error, TLA_IO, "%s: %s", f->name, tla_cannot_read(errno).text);
        f->at_end = count == 0;
        f->stream.avail_in += (unsigned)count;
    }
    return TLA_OK;
}

static bool at_magic(const gzip_file *f) {
    return f->stream.avail_in >= 2 && f->stream.next_in[0] == 0x1f && f->stream.next_in[1] == 0x8b;
}

static void skip(gzip_file *f, unsigned count) {
    f->stream.next_in += count;
    f->stream.avail_in -= count;
    f->taken += count;
}

tla_status gzip_open(const char *path, gzip_file **file, tla_error *error) {
    gzip_file *f = calloc(1, sizeof *f);
    *file = NULL;
    if (!f || !(f->name = strdup(path))) {
        free(f);
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
    }
    f->descriptor = open(path, O_RDONLY | O_CLOEXEC);
    f->stream.next_in = f->input;
    tla_status status =
        f->descriptor >= 0 ? TLA_OK : tla_error_set(error, TLA_IO, "%s: %s", path, tla_cannot_read(errno).text);
    if (!status) status = fill(f, 2, error);
    if (!status && at_magic(f)) {
        f->compressed = f->in_member = inflateInit2(&f->stream, GZIP_OF_ANY_WINDOW) == Z_OK;
        if (!f->compressed) status = tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", path);
    }
    if (status)
        gzip_close(f);
    else
        *file = f;
    return status;
}

void gzip_close(gzip_file *f) {
    if (!f) return;
    if (f->compressed) inflateEnd(&f->stream);
    if (f->descriptor >= 0) close(f->descriptor);
    free(f->name);
    free(f);
}

/* Between members: the next one, padding up to the end, or something that does not belong there. */
static tla_status begin_member(gzip_file *f, bool *more, tla_error *error) {
    tla_status status = fill(f, 2, error);
    *more = !status && f->stream.avail_in > 0;
    if (!*more) return status;
    f->in_member = at_magic(f);
    if (f->in_member) {
        inflateReset(&f->stream);
        return TLA_OK;
    }
    const uint64_t end = f->taken;
    while (!status && f->stream.avail_in > 0 && *f->stream.next_in == 0) {
        skip(f, 1);
        status = fill(f, 1, error);
    }
    *more = false;
    if (status || f->stream.avail_in == 0) return status;
    return tla_error_set(error, TLA_SYNTAX,
                         "%s: found data after the end of the compressed data, byte %" PRIu64
                         " of the file, expected zeros, the end of the file or another gzip member",
                         f->name, end);
}

/* Returns the status of an inflate that has stopped. */
static tla_status refuse(const gzip_file *f, int code, tla_error *error) {
    if (code == Z_MEM_ERROR) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", f->name);
    if (code == Z_OK || code == Z_BUF_ERROR)
        return tla_error_set(error, TLA_SYNTAX,
                             "%s: the compressed data end early, after %" PRIu64
                             " bytes of text: the file is truncated",
                             f->name, f->decoded);
    return tla_error_set(error, TLA_SYNTAX, "%s: not valid gzip after %" PRIu64 " bytes of text: %s", f->name,
                         f->decoded, f->stream.msg ? f->stream.msg : "a preset dictionary is needed");
}

/* Inflates some of the current member. */
static tla_status inflate_some(gzip_file *f, char *to, size_t room, size_t *got, tla_error *error) {
    const unsigned most = room < (1u << 30) ? (unsigned)room : 1u << 30;
    tla_status status = fill(f, 1, error);
    if (status) return status;
    const unsigned before = f->stream.avail_in;
    f->stream.next_out = (unsigned char *)to;
    f->stream.avail_out = most;
    const int code = inflate(&f->stream, Z_NO_FLUSH);
    *got = most - f->stream.avail_out;
    f->taken += before - f->stream.avail_in;
    f->decoded += *got;
    f->in_member = code != Z_STREAM_END;
    if (f->decoded > GZIP_INSIDE_FREE && f->decoded / GZIP_RATIO_MAX > f->taken)
        return tla_error_set(
            error, TLA_LIMIT,
            "%s: %" PRIu64 " bytes of text in %" PRIu64
            " compressed bytes exceed the limit of %d times as many: decompress the file to read it anyway",
            f->name, f->decoded, f->taken, GZIP_RATIO_MAX);
    const bool stuck = *got == 0 && f->stream.avail_in == 0 && f->at_end;
    return code == Z_STREAM_END || ((code == Z_OK || code == Z_BUF_ERROR) && !stuck) ? TLA_OK : refuse(f, code, error);
}

tla_status gzip_read(gzip_file *f, char *to, size_t room, size_t *got, tla_error *error) {
    tla_status status = f->failure.status;
    bool more = true;
    *got = 0;
    while (!status && more && *got == 0) {
        if (f->compressed && f->in_member) {
            status = inflate_some(f, to, room, got, &f->failure);
        } else if (f->compressed) {
            status = begin_member(f, &more, &f->failure);
        } else {
            status = fill(f, 1, &f->failure);
            *got = f->stream.avail_in < room ? f->stream.avail_in : room;
            memcpy(to, f->stream.next_in, *got);
            skip(f, (unsigned)*got);
            more = *got > 0;
        }
    }
    return status ? tla_error_set(error, status, "%s", f->failure.text) : TLA_OK;
}
