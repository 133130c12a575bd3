/* Settings and versions of PyTorch's allocator on the command line. */
#ifndef TLMALLOC_PLATFORM_REPLAY_SEGMENT_OPTION_H
#define TLMALLOC_PLATFORM_REPLAY_SEGMENT_OPTION_H

#include "cli/options.h"

/* const char *: the text itself, which tla_segment_settings_parse or tla_segment_version_parse takes. */
option_reader option_segment_settings, option_segment_version;

#endif
