/* Settings of the segment cache as PyTorch writes them: PYTORCH_CUDA_ALLOC_CONF, "expandable_segments:True,
 * max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:4]". */
#ifndef TLMALLOC_SEGMENTS_SEGMENT_SETTINGS_H
#define TLMALLOC_SEGMENTS_SEGMENT_SETTINGS_H

#include "tlmalloc/segments/segment_cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Puts PyTorch's defaults, and what `text` sets, into *config; the drivers, the device and its bytes and the versions
 * stay. Keys: expandable_segments, max_split_size_mb, max_non_split_rounding_mb, large_segment_size_mb,
 * garbage_collection_threshold, roundup_power2_divisions, per_process_memory_fraction; keys that say nothing about
 * placement are read over. What PyTorch refuses is refused: TLA_SYNTAX with the column, what was found and what was
 * expected; *config is as it was then. */
tla_status tla_segment_settings_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

/* Writes the settings that differ from the defaults, as tla_segment_settings_parse reads them; "" for none. `text` is
 * terminated and cut to room; returns the length of the whole, as snprintf does. */
size_t tla_segment_settings_print(const tla_segment_cache_config *config, char *text, size_t room);

/* Sets what PyTorch's versions do differently, and nothing else: "newest"; a version from 2.1 on as torch.__version__
 * tells it ("2.4.1+cu121"; 2.9 and later are as the newest); "193400", the newest with the change that #193400
 * proposes. To be called before tla_segment_settings_parse, which reads a key by it. TLA_SYNTAX with what was found and
 * what was expected; *config is as it was then. */
tla_status tla_segment_version_parse(const char *text, tla_segment_cache_config *config, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
