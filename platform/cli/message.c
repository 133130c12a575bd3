/* Readable text that quotes external input. */
#include "cli/message.h"

#include "model/base/escape.h"

#include <stdarg.h>
#include <string.h>

static void print(FILE *out, const char *format, va_list arguments) {
    char text[8192], escaped[1024];
    vsnprintf(text, sizeof text, format, arguments);
    for (size_t at = 0, length = strlen(text); at < length;) {
        at += tla_escape(text + at, length - at, escaped, sizeof escaped);
        fputs(escaped, out);
    }
}

void print_escaped(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(out, format, arguments);
    va_end(arguments);
}

void print_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}
