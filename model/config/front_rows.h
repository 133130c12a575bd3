/* The rows of a front's sizes (stack.h), which every memory has. For platform_keys.c, which defines ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_FRONT_ROWS_H
#define TLMALLOC_MODEL_CONFIG_FRONT_ROWS_H

#include "row.h"

#define CHOICE_FRONT "assumption: one cycle for each access to a front's own table or list; no front is built in RTL"

#define CHOICE_SIZES "tlmalloc's choice: in proportion to the memory"
#define CHOICE_CLEARED "tlmalloc's choice: a chunk is cleared at 128 GB/s"
#define CHOICE_FAILURES "tlmalloc's choice: no attempt fails"

#define FRONT(section, kind, most, source, segment_default, slot_default, buffers_default, lazy_source,                \
              initial_default, chunk_default, commit_default, chunk_time_default)                                      \
    {SIZE(controller.section.segment, controller.memory.of[kind].front.segment, 10 * KIB, most), source,               \
     segment_default,                                                                                                  \
     "segment_cache: size of a segment for requests of up to half of it. Requests of up to 1/20 have segments of "     \
     "1/10; larger requests have segments of their own. A multiple of 10 KiB. segmented, linear_regions and "          \
     "interleaving_regions: size of a segment or a region, which no block crosses; a multiple of "                     \
     "controller.alignment, of which the memory has at most 4,096"},                                                   \
        {SIZE(controller.section.slot, controller.memory.of[kind].front.slot, 1, most), CHOICE_SIZES, slot_default,    \
         "slot_pool: size of a slot; divides the bytes that can be allocated"},                                        \
        {SIZE(controller.section.buffers, controller.memory.of[kind].front.buffers, 0, most), CHOICE_SIZES,            \
         buffers_default,                                                                                              \
         "mixed: bytes for plain buffers only, at the end of the memory; less than the bytes that can be allocated"},  \
        {SIZE(controller.section.initial, controller.memory.of[kind].front.initial, 0, most), CHOICE_SIZES,            \
         initial_default,                                                                                              \
         "lazy: bytes available from the beginning; a multiple of chunk. segmented: the same, in segments; at least "  \
         "1 B. linear_regions and interleaving_regions: bytes before a border between regions. The last three round "  \
         "it up to controller.alignment, and a larger value is the whole memory"},                                     \
        {SIZE(controller.section.chunk, controller.memory.of[kind].front.chunk, 1, most), lazy_source, chunk_default,  \
         "lazy: bytes pinned in one step; divides the bytes that can be allocated"},                                   \
        {SIZE(controller.section.commit, controller.memory.of[kind].front.commit, 1, most), lazy_source,               \
         commit_default,                                                                                               \
         "lazy: bytes that become available together, when all of them are pinned; a multiple of chunk"},              \
        {TIME(controller.section.chunk_time, controller.memory.of[kind].front.chunk_ps, S), CHOICE_CLEARED,            \
         chunk_time_default,                                                                                           \
         "lazy: time to pin a chunk, counted from simulated time 0; segmented: time of an attempt to add a segment; "  \
         "0: the whole memory is available from the beginning"},                                                       \
    {                                                                                                                  \
        COUNT(controller.section.failures, controller.memory.of[kind].front.failures, 0, 3), CHOICE_FAILURES, "0",     \
            "segmented: attempts that fail before each segment is added. The second attempt begins 10 s after the "    \
            "first, the third 60 s after the second; after three failures no segment is added any more"                \
    }

#endif
