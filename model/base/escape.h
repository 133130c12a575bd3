/* Text from outside in messages and reports: nothing in it may steer a terminal or break the text's encoding. Internal
 * to the core. */
#ifndef TLMALLOC_MODEL_BASE_ESCAPE_H
#define TLMALLOC_MODEL_BASE_ESCAPE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Whether all of it is UTF-8. */
bool tla_is_utf8(const char *text, size_t length);

/* Copies text into out[room], room > 0. Control characters (C0, DEL and C1) and bytes that are not UTF-8 become \xNN,
 * one for each byte; the rest is copied unchanged. The text is cut between two characters if it does not fit, and
 * always ends with a NUL. Returns the number of bytes of `text` that were copied. */
size_t tla_escape(const char *text, size_t length, char *out, size_t room);

#ifdef __cplusplus
}
#endif
#endif
