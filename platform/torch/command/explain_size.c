/* Sizes in the reports of `tlmalloc explain`. */
#include "torch/command/explained.h"

#include <inttypes.h>
#include <stdio.h>

explain_text explain_size(uint64_t nbytes) {
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    explain_text s;
    int unit = 0;
    double value = (double)nbytes / 1024;
    for (; value >= 1024 && unit < 3; unit++)
        value /= 1024;
    if (nbytes < 1024)
        snprintf(s.text, sizeof s.text, "%" PRIu64, nbytes);
    else
        snprintf(s.text, sizeof s.text, "%" PRIu64 " (%.2f %s)", nbytes, value, units[unit]);
    return s;
}
