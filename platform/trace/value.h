/* The values of a file that is read as data, a pickle or JSON: dictionaries, lists, tuples, text, numbers, booleans and
 * None. */
#ifndef TLMALLOC_PLATFORM_TRACE_VALUE_H
#define TLMALLOC_PLATFORM_TRACE_VALUE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum data_kind {
    DATA_NONE,
    DATA_BOOLEAN,  /* integer: 0, 1 */
    DATA_UNSIGNED, /* integer: 0 .. 2^64 - 1 */
    DATA_NEGATIVE, /* integer: two's complement, -2^63 .. -1 */
    DATA_REAL,
    DATA_TEXT,
    DATA_LIST, /* or a tuple */
    DATA_DICT
} data_kind;

typedef struct data_value data_value;
struct data_value {
    data_kind kind;
    size_t position; /* byte offset of what made it, for messages */
    size_t count;    /* bytes of text, items of a list; of a dict keys and values: 2 for each pair */
    union {
        uint64_t integer;
        double real;
        const char *text; /* points into the file; not NUL-terminated */
        data_value **items;
    };
};

/* Returns the memory that the values of a file of this length may need, in bytes: 16 MiB and 24 for each of its bytes,
 * and 4 GiB at most. Recordings without stack frames, the densest ones, need 10 for a byte. A value may be mentioned
 * many times: a caller that copies values must count the copies. */
uint64_t data_memory_max(size_t length);

/* The value of a text key; NULL when `dict` is no dictionary or has no such key. */
const data_value *data_get(const data_value *dict, const char *key);

/* Returns what a value is, for messages: "a list"; of a real number that is not finite "NaN", "Infinity" or
 * "-Infinity".
 */
const char *data_value_name(const data_value *value);

#ifdef __cplusplus
}
#endif
#endif
