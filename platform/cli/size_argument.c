/* A size on the command line. */
#include "cli/size_argument.h"

#include "cli/arguments.h"
#include "tlmalloc/config.h"

#include <ctype.h>
#include <string.h>

uint64_t size_argument(const struct argp_state *state, const char *option, const char *text) {
    uint64_t value = 0;
    if (isdigit((unsigned char)text[0]) && strspn(text, "0123456789") == strlen(text)) {
        for (const char *p = text; *p; p++) {
            uint64_t digit = (uint64_t)(*p - '0');
            if (value > (UINT64_MAX - digit) / 10)
                argument_error(state, "%s: found '%s', expected at most 2^63 bytes", option, text);
            value = 10 * value + digit;
        }
    } else {
        tla_error found;
        if (tla_parse_size(text, &value, &found)) argument_error(state, "%s: %s", option, found.text);
    }
    if (value == 0 || value > (UINT64_C(1) << 63))
        argument_error(state, "%s: found '%s', expected 1 byte to 2^63 bytes", option, text);
    return value;
}
