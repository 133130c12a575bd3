/* The rows of objects under keys (object_store.h). For platform_keys.c, which defines ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_OBJECT_ROWS_H
#define TLMALLOC_MODEL_CONFIG_OBJECT_ROWS_H

#include "row.h"

#define OBJECT_ROWS                                                                                                    \
    {BOOLEAN(controller.object_signals, controller.object_signals), "tlmalloc's choice", "false",                      \
     "true: waveforms show references to blocks, pins on blocks, and objects cached under keys"},                      \
        {NAMED(controller.object_eviction, controller.object_eviction, tla_victim_rule), "LMCache's LocalCPUBackend",  \
         "lru",                                                                                                        \
         "object under a key that leaves when an EVICT lacks memory. lru: the one that was used longest ago; "         \
         "tenant_lru: the same among the objects of the sender's address space; arc: of those used once or of "        \
         "those used again, by keys that have left and return"},                                                       \
        {COUNT(controller.watermark, controller.watermark.permille, 0, 1000),                                          \
         "tlmalloc's choice; LMCache of 2026 has 800", "0",                                                            \
         "permille of a memory's bytes. While so many are allocated, passes evict objects under keys ahead of need, "  \
         "by controller.object_eviction (lru or arc); 0: no passes"},                                                  \
        {COUNT(controller.watermark_share, controller.watermark.share, 1, 1000), "LMCache of 2026: 0.2", "200",        \
         "permille of a memory's objects under keys that a pass evicts; at least one object"},                         \
    {                                                                                                                  \
        SHORT_TIME(controller.watermark_interval, controller.watermark.interval_ps, 1, 1000 * S),                      \
            "LMCache of 2026: every second", "1 s", "time between two passes"                                          \
    }

#endif
