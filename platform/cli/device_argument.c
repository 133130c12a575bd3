/* The number of a device on the command line. */
#include "cli/device_argument.h"

#include "cli/arguments.h"

#include <stdlib.h>

int device_argument(const struct argp_state *state, const char *text, const char *or_else) {
    enum { DEVICE_MAX = 4095 };
    char *end;
    const long device = strtol(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || device > DEVICE_MAX)
        argument_error(state, "--device: found '%s', expected the number of a device, 0 .. %d%s", text, DEVICE_MAX,
                       or_else);
    return (int)device;
}
