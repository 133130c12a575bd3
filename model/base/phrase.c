/* Short texts by value. */
#include "phrase.h"

#include "escape.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

tla_phrase tla_phrase_of(const char *format, ...) {
    tla_phrase phrase;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(phrase.text, sizeof phrase.text, format, arguments);
    va_end(arguments);
    return phrase;
}

tla_phrase tla_quote(const char *text) {
    enum { SHOWN_MAX = 48 };
    tla_phrase phrase;
    char shown[4 * (SHOWN_MAX + 4)];
    size_t length = strnlen(text, SHOWN_MAX);
    while ((text[length] & 0xc0) == 0x80 && length < SHOWN_MAX + 3)
        length++; /* never cut inside a UTF-8 character */
    tla_escape(text, length, shown, sizeof shown);
    snprintf(phrase.text, sizeof phrase.text, "\"%s%s\"", shown, text[length] ? "..." : "");
    return phrase;
}

tla_phrase tla_cannot_read(int reason) {
    return tla_phrase_of("cannot be read: %s", strerror(reason));
}
