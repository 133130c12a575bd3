/* Settings and versions of PyTorch's allocator on the command line. */
#include "replay/segment_option.h"

#include "tlmalloc/segments/segment_cache.h"

void option_segment_settings(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    tla_segment_cache_config config = {0};
    tla_error why;
    if (tla_segment_settings_parse(text, &config, &why)) argument_error(state, "--%s: %s", option->name, why.text);
    *(const char **)member = text;
}

void option_segment_version(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    tla_segment_cache_config config = {0};
    tla_error why;
    if (tla_segment_version_parse(text, &config, &why)) argument_error(state, "--%s: %s", option->name, why.text);
    *(const char **)member = text;
}
