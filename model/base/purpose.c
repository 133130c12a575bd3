/* The purposes of accesses, by name. */
#include "tlmalloc/base/purpose.h"

#include <stddef.h>

const char *tla_purpose_name(tla_purpose purpose) {
    static const char *const names[] = {"kernel", "walk", "allocator", "mapping", "move", "message", "host"};
    return (unsigned)purpose < TLA_PURPOSE_COUNT ? names[purpose] : NULL;
}
