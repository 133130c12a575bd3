/* Readable text that quotes external input: names of files, arguments, contents of inputs. */
#ifndef TLMALLOC_PLATFORM_CLI_MESSAGE_H
#define TLMALLOC_PLATFORM_CLI_MESSAGE_H

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As fprintf, for less than a line: control characters, newlines too, and bytes that are no UTF-8 are written as \xNN.
 * At most 8 KiB, the rest is cut. */
void print_escaped(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A line of its own on standard error, escaped likewise; the format has no newline at its end. */
void print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#ifdef __cplusplus
}
#endif
#endif
