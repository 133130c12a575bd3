/* A pickle read as data, protocols 0 to 5. A pickle is a program for a stack machine, and some of its instructions
 * import and call code; the reader rejects these by name. */
#ifndef TLMALLOC_PLATFORM_TORCH_PICKLE_H
#define TLMALLOC_PLATFORM_TORCH_PICKLE_H

#include "tlmalloc/base/status.h"
#include "trace/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pickle_data pickle_data;

/* Reads a pickle from memory, which must live as long as the values; `name` is the name of the file in messages.
 * TLA_SYNTAX with the byte offset, the found and the expected value; TLA_UNSUPPORTED for an instruction that plain data
 * do not need; TLA_LIMIT for values that need more memory than the limit (value.h); TLA_NO_HOST_MEMORY. */
tla_status pickle_read(const char *bytes, size_t length, const char *name, pickle_data **out, tla_error *error);
void pickle_destroy(pickle_data *pickle);

const data_value *pickle_root(const pickle_data *pickle);

#ifdef __cplusplus
}
#endif

#endif
