/* Text from outside, made harmless. */
#include "escape.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The bytes of the character at text, 1 .. 4, and its number; 0 when they are no UTF-8: the shortest form of a number
 * below 0x110000 that is no surrogate. */
static size_t decode(const char *text, size_t length, uint32_t *number) {
    const unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        *number = first;
        return 1;
    }
    const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    if (first < 0xc0 || first > 0xf7 || bytes > length) return 0;
    *number = first & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        const unsigned char next = (unsigned char)text[i];
        if ((next & 0xc0) != 0x80) return 0;
        *number = *number << 6 | (next & 0x3fu);
    }
    const bool surrogate = *number >= 0xd800 && *number < 0xe000;
    return *number < least[bytes] || *number > 0x10ffff || surrogate ? 0 : bytes;
}

bool tla_is_utf8(const char *text, size_t length) {
    uint32_t number;
    for (size_t i = 0, bytes; i < length; i += bytes)
        if (!(bytes = decode(text + i, length - i, &number))) return false;
    return true;
}

size_t tla_escape(const char *text, size_t length, char *out, size_t room) {
    enum { ESCAPED = 4 }; /* characters of \xNN */
    size_t taken = 0, made = 0;
    while (taken < length) {
        uint32_t number = 0;
        const size_t bytes = decode(text + taken, length - taken, &number);
        const bool plain = bytes && number >= 0x20 && (number < 0x7f || number > 0x9f);
        const size_t whole = bytes ? bytes : 1, needed = plain ? bytes : ESCAPED * whole;
        if (needed >= room - made) break;
        if (plain)
            memcpy(out + made, text + taken, bytes);
        else
            for (size_t i = 0; i < whole; i++)
                snprintf(out + made + ESCAPED * i, ESCAPED + 1, "\\x%02x", (unsigned char)text[taken + i]);
        taken += whole;
        made += needed;
    }
    out[made] = '\0';
    return taken;
}
