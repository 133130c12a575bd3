/* Settings and versions of PyTorch's allocator on the command line. */
#ifndef TLMALLOC_PLATFORM_REPLAY_SEGMENT_ARGUMENT_H
#define TLMALLOC_PLATFORM_REPLAY_SEGMENT_ARGUMENT_H

#include <argp.h>

/* The text itself, which tla_segment_settings_parse or tla_segment_version_parse takes; anything else ends the command
 * with what was expected of `option` ("--settings"). */
const char *settings_argument(const struct argp_state *state, const char *option, const char *text);
const char *version_argument(const struct argp_state *state, const char *option, const char *text);

#endif
