/* The rows of blocks that move, and of compaction (memory/controller.h). For platform_keys.c, which defines
 * ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_MOVE_ROWS_H
#define TLMALLOC_MODEL_CONFIG_MOVE_ROWS_H

#include "row.h"

#define MOVE_ROWS                                                                                                      \
    {NAMED(controller.move, controller.move.mode, tla_move_mode), "tlmalloc's choice: KernBench moves no blocks",      \
     "off",                                                                                                            \
     "whether a block can move while programs use it. off: it cannot; stop: accesses to the block wait while it is "   \
     "copied; concurrent: it is copied before, and accesses wait while chunks that were written meanwhile are copied " \
     "again. With both, the host tells the controllers every mapping of its tensors"},                                 \
        {SIZE(controller.move_chunk, controller.move.chunk, 1, GIB), "tlmalloc's choice: the smallest page", "4 KiB",  \
         "bytes of a moving block that are read, and then written, at once"},                                          \
        {COUNT(controller.move_rounds, controller.move.rounds, 0, 1000), CHOICE, "2",                                  \
         "concurrent: how often chunks that were written meanwhile are copied again before accesses wait"},            \
        {COUNT(controller.move_buffers, controller.move_buffers, 1, 1024), CHOICE, "2",                                \
         "chunks of a moving block that are read or written at the same time"},                                        \
        {NAMED(controller.compaction, controller.compaction.mode, tla_compaction_mode), "tlmalloc's choice", "off",    \
         "moves by which a controller joins free bytes; requires controller.move, and no front. off: none; "           \
         "on_demand: an allocation that would fail as fragmented waits for them; background: they run while a "        \
         "memory is fragmented"},                                                                                      \
        {COUNT(controller.compaction_threshold, controller.compaction.threshold, 0, 999), CHOICE, "250",               \
         "background: fragmentation in permille that is left alone, 1000 * (1 - largest free block / free bytes)"},    \
    {                                                                                                                  \
        BANDWIDTH(controller.compaction_budget, controller.compaction_budget),                                         \
            "tlmalloc's choice: 1000 bytes each us", "1 GB/s",                                                         \
            "background: bytes that may be moved in a time; the next move waits until the last one is paid for"        \
    }

#endif
