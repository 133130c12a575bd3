/* A pickle read as data: dictionaries, lists, tuples, text, numbers, booleans and None, protocols 2 to 5. A pickle is a
 * program for a stack machine, and some of its instructions import and call things; those are refused by name. */
#ifndef TLMALLOC_PLATFORM_TRACE_VALUE_H
#define TLMALLOC_PLATFORM_TRACE_VALUE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOLEAN,  /* integer: 0, 1 */
    PICKLE_UNSIGNED, /* integer: 0 .. 2^64 - 1 */
    PICKLE_NEGATIVE, /* integer: two's complement, -2^63 .. -1 */
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_LIST, /* or a tuple */
    PICKLE_DICT
} pickle_kind;

typedef struct pickle_value pickle_value;
struct pickle_value {
    pickle_kind kind;
    size_t position; /* byte offset of the opcode that made it, for messages */
    size_t count;    /* bytes of text, items of a list; of a dict keys and values: 2 for each pair */
    union {
        uint64_t integer;
        double real;
        const char *text; /* points into the pickle; not NUL-terminated */
        pickle_value **items;
    };
};

typedef struct pickle_data pickle_data;

/* The memory that the values of a pickle of this length may need, in bytes: 16 MiB and 24 for each of its bytes, and 4
 * GiB at most. Recordings without any stack frames, the densest ones, need 10 for a byte. A value may be mentioned many
 * times: whoever copies what it finds must count the copies. */
uint64_t pickle_memory_max(size_t length);

/* Reads a pickle from memory, which must live as long as the values; `name` stands for the file in messages. TLA_SYNTAX
 * with the byte offset, what was found and what was expected; TLA_UNSUPPORTED for an instruction that plain data does
 * not need; TLA_LIMIT for values that need more memory than they may; TLA_NO_HOST_MEMORY. */
tla_status pickle_read(const char *bytes, size_t length, const char *name, pickle_data **out, tla_error *error);
void pickle_destroy(pickle_data *pickle);

const pickle_value *pickle_root(const pickle_data *pickle);

/* The value of a text key; NULL when `dict` is no dictionary or has no such key. */
const pickle_value *pickle_get(const pickle_value *dict, const char *key);

/* What a value is, for messages: "a list". */
const char *pickle_kind_name(pickle_kind kind);

#ifdef __cplusplus
}
#endif
#endif
