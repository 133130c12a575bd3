/* Settings and versions of PyTorch's allocator on the command line. */
#include "replay/segment_argument.h"

#include "cli/arguments.h"

#include "tlmalloc/segments/segment_settings.h"

typedef tla_status (*reader)(const char *text, tla_segment_cache_config *config, tla_error *error);

static const char *check(const struct argp_state *state, const char *option, const char *text, reader read) {
    tla_segment_cache_config config = {0};
    tla_error error;
    if (read(text, &config, &error)) argument_error(state, "%s: %s", option, error.text);
    return text;
}

const char *settings_argument(const struct argp_state *state, const char *option, const char *text) {
    return check(state, option, text, tla_segment_settings_parse);
}

const char *version_argument(const struct argp_state *state, const char *option, const char *text) {
    return check(state, option, text, tla_segment_version_parse);
}
