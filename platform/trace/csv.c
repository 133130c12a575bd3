/* Reads the recorder's own format: the header line time_ns,op,id,bytes, then one event a line in time order.
 * Strict: nothing is skipped, nothing is guessed. Lines end in LF or CR LF, the last one too. */
#include "trace/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char header[] = "time_ns,op,id,bytes";

/* One line of the text, and where its fields begin and end. */
typedef struct line {
    const char *name; /* of the file */
    uint64_t number;  /* from 1 */
    const char *begin, *end;
} line;

typedef struct field {
    const char *begin, *end;
} field;

enum { TIME, OP, ID, BYTES, FIELDS };

/* Text for a message: at most 40 characters, what is not printable as '?'. */
typedef struct shown {
    char text[44];
} shown;

static shown show(const char *begin, const char *end) {
    shown out;
    size_t length = (size_t)(end - begin), n = length < 40 ? length : 40;
    for (size_t i = 0; i < n; i++)
        out.text[i] = begin[i] >= 0x20 && begin[i] < 0x7f ? begin[i] : '?';
    strcpy(out.text + n, length > n ? "..." : "");
    return out;
}

static tla_status fail_at(const line *at, const char *where, tla_status status, const char *what, tla_error *error) {
    return tla_error_set(error, status, "%s:%" PRIu64 ":%td: %s", at->name, at->number, where - at->begin + 1, what);
}

static tla_status fail_found(const line *at, field found, const char *expected, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX, "%s:%" PRIu64 ":%td: found '%s', expected %s", at->name, at->number,
                         found.begin - at->begin + 1, show(found.begin, found.end).text, expected);
}

static bool parse_number(field text, uint64_t *number) {
    uint64_t value = 0;
    if (text.begin == text.end) return false;
    for (const char *p = text.begin; p < text.end; p++) {
        if (*p < '0' || *p > '9') return false;
        uint64_t digit = (uint64_t)(*p - '0');
        if (value > (UINT64_MAX - digit) / 10) return false;
        value = 10 * value + digit;
    }
    *number = value;
    return true;
}

static bool equals(field text, const char *word) {
    size_t length = (size_t)(text.end - text.begin);
    return length == strlen(word) && memcmp(text.begin, word, length) == 0;
}

static tla_status read_fields(const line *at, field fields[FIELDS], tla_error *error) {
    int count = 0;
    const char *begin = at->begin;
    for (const char *p = at->begin;; p++) {
        if (p < at->end && *p != ',') continue;
        if (count == FIELDS) return fail_found(at, (field){begin, at->end}, "the end of the line", error);
        fields[count++] = (field){begin, p};
        begin = p + 1;
        if (p == at->end) break;
    }
    if (count == FIELDS) return TLA_OK;
    char what[96];
    snprintf(what, sizeof what, "found %d column%s, expected 4: %s", count, count == 1 ? "" : "s", header);
    return fail_at(at, at->end, TLA_SYNTAX, what, error);
}

static tla_status read_event(const line *at, trace_builder *builder, tla_error *error) {
    field fields[FIELDS];
    tla_status status = read_fields(at, fields, error);
    if (status) return status;
    uint64_t time_ns, id, nbytes;
    if (!parse_number(fields[TIME], &time_ns))
        return fail_found(at, fields[TIME], "a time in ns, 0 .. 2^64 - 1", error);
    bool is_free = equals(fields[OP], "free");
    if (!is_free && !equals(fields[OP], "alloc")) return fail_found(at, fields[OP], "alloc or free", error);
    if (!parse_number(fields[ID], &id)) return fail_found(at, fields[ID], "an id, 0 .. 2^64 - 1", error);
    if (!parse_number(fields[BYTES], &nbytes) || nbytes == 0 || nbytes > TRACE_MAX_BYTES)
        return fail_found(at, fields[BYTES], "a number of bytes, 1 .. 2^63", error);
    tla_error inner;
    status = (is_free ? trace_builder_free : trace_builder_alloc)(builder, time_ns, id, nbytes, at->number, &inner);
    if (!status) return TLA_OK;
    bool about_time = status == TLA_SYNTAX, about_bytes = status == TLA_SIZE_MISMATCH;
    return fail_at(at, fields[about_time ? TIME : about_bytes ? BYTES : ID].begin, status, inner.text, error);
}

tla_status trace_read_csv(const char *text, size_t length, const char *name, trace_builder *builder, tla_error *error) {
    const char *end = text + length;
    line at = {.name = name, .begin = text};
    while (at.begin < end || at.number == 0) {
        at.number++;
        const char *newline = at.begin < end ? memchr(at.begin, '\n', (size_t)(end - at.begin)) : NULL;
        at.end = newline ? newline : end;
        if (newline && at.end > at.begin && at.end[-1] == '\r') at.end--;
        if (at.number == 1 && !equals((field){at.begin, at.end}, header)) {
            char expected[64];
            snprintf(expected, sizeof expected, "the header line %s", header);
            return fail_found(&at, (field){at.begin, at.end}, expected, error);
        }
        if (!newline)
            return fail_at(&at, at.end, TLA_SYNTAX,
                           "found the end of the file, expected the end of the line: truncated", error);
        tla_status status = at.number == 1 ? TLA_OK : read_event(&at, builder, error);
        if (status) return status;
        at.begin = newline + 1;
    }
    return TLA_OK;
}
