/* Laws of steps that name a platform. */
#include "cli/law_argument.h"

#include <string.h>

static const char word[] = "platform ";
static const char nothing_else[] = "fixed 0 ns"; /* the default LAW */

bool platform_law_is(const char *text) {
    return strncmp(text, word, sizeof word - 1) == 0;
}

const char *platform_law_split(const char *text, const char **config, size_t *length) {
    if (!platform_law_is(text)) return NULL;
    *config = text + sizeof word - 1;
    *config += strspn(*config, " ");
    if (**config == '\0' || **config == '+') return NULL;
    const char *const plus = strstr(*config, " + ");
    *length = plus ? (size_t)(plus - *config) : strlen(*config);
    return plus ? plus + 3 + strspn(plus + 3, " ") : nothing_else;
}
