/* The version as text. */
#include "tlmalloc/version.h"

#define TEXT_OF(number) #number
#define TEXT(number) TEXT_OF(number)

const char *tla_version(void) {
    return TEXT(TLA_VERSION_MAJOR) "." TEXT(TLA_VERSION_MINOR) "." TEXT(TLA_VERSION_PATCH);
}
