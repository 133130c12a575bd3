/* Arguments of pickle's protocol 0: lines of text for numbers and texts, as Python writes them. */
#ifndef TLMALLOC_PLATFORM_TORCH_PICKLE_TEXT_H
#define TLMALLOC_PLATFORM_TORCH_PICKLE_TEXT_H

#include "tlmalloc/base/status.h"
#include "trace/value.h"
#include "trace/value_store.h"

#include <stdbool.h>

/* A line without its newline. */
typedef struct pickle_line {
    const char *text;
    size_t length;
} pickle_line;

/* The value of a line; its position is the caller's. TLA_SYNTAX with the expected value, such as "a whole number";
 * TLA_NO_HOST_MEMORY when the store has no memory for the text. */
typedef tla_status pickle_line_reader(pickle_line line, value_store *store, data_value *value, const char **expected);

pickle_line_reader pickle_line_int;     /* INT: "-7"; 00 and 01 are booleans */
pickle_line_reader pickle_line_long;    /* LONG: "7L", and "7" */
pickle_line_reader pickle_line_float;   /* FLOAT: "0.5", "nan", "-inf" */
pickle_line_reader pickle_line_string;  /* STRING: a text of Python 2 in quotes, with escapes */
pickle_line_reader pickle_line_unicode; /* UNICODE: characters below 256 are one byte, \u and \U escape others */

/* The number of PUT and GET; false: the line is no number of at most 64 bits. */
bool pickle_line_index(pickle_line line, uint64_t *index);

#endif
