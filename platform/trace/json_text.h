/* JSON (RFC 8259, and NaN, Infinity and -Infinity as Python writes them) read one value at a time, as the values that a
 * pickle would hold. A recording has millions of small
 * objects in lists: they are read into memory that is used again, and what that may be has a limit.
 *
 * Why not a library: the reader must return single entries, know the byte of each of their values, keep 64 bits, and
 * name the expected text. A recording of 200 MB with 1.12e6 entries, all entries made and dropped, takes here 0.70 s of
 * CPU.
 * - yajl 2.1.0: 0.68 s for its calls alone. Values, numbers, the limit of depth, places and messages would still be
 * own code, two thirds of this reader. It reports the byte after an unexpected one, and half a surrogate pair becomes
 * '?'. Its last release is of 2014; distributions have fixed three vulnerabilities since.
 * - json-c 0.16: 3.2 s; no places; accepts 1e400, control characters in texts, and clamps numbers of more than 64
 * bits.
 * - jansson 2.14: 5.7 s; no places; no whole number from 2^63 on. The tests compare with it. */
#ifndef TLMALLOC_PLATFORM_TRACE_JSON_TEXT_H
#define TLMALLOC_PLATFORM_TRACE_JSON_TEXT_H

#include "tlmalloc/base/status.h"
#include "trace/value.h"
#include "trace/value_store.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct json_text {
    const char *text; /* not NUL-terminated; must outlive the values */
    size_t length;
    size_t at;            /* the next byte; after TLA_SYNTAX the one that was not expected */
    const char *expected; /* after TLA_SYNTAX: "a value" */
    /* Its own. */
    value_store store;
    data_value **open; /* items of the lists and objects that have not ended */
    size_t open_count, open_room;
    int depth;
} json_text;

/* Begins at byte `at` of a text. Nothing is taken yet. */
json_text json_text_of(const char *text, size_t length, size_t at);
void json_text_clear(json_text *json);

/* The next byte that is no white space; 0 at the end. */
char json_peek(json_text *json);

/* Goes past it; TLA_SYNTAX when it is another one. `expected` is for the message. */
tla_status json_take(json_text *json, char c, const char *expected);

/* Reads a value, which is valid until the next call. Objects are dictionaries, whose keys differ; whole
 * numbers have 64 bits; half a surrogate pair becomes U+FFFD. Real numbers may be NaN or infinite: a caller that uses
 * one must check it. TLA_SYNTAX; TLA_LIMIT for a value that needs more than
 * data_memory_max of the text; TLA_NO_HOST_MEMORY. */
tla_status json_read(json_text *json, const data_value **value);

#ifdef __cplusplus
}
#endif
#endif
