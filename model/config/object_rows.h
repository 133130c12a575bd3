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
        {SHORT_TIME(controller.watermark_interval, controller.watermark.interval_ps, 1, 1000 * S),                     \
         "LMCache of 2026: every second", "1 s", "time between two passes"},                                           \
        {NAMED(controller.partition, controller.partition.memory, tla_divided_memory),                                 \
         "tlmalloc's choice: KernBench divides no memory", "off",                                                      \
         "memory in two parts, in each controller that has it: L1 for the blocks of objects (allocated by EVICT, or "  \
         "under a key), L2 for all others. A block for which its part has no room is refused; an EVICT evicts "        \
         "objects then"},                                                                                              \
        {COUNT(controller.partition_l1, controller.partition.permille, 1, 999), "LMCache of 2026: 0.3", "300",         \
         "permille of the divided memory's bytes that L1 has at the beginning; a register of the control port "        \
         "changes it"},                                                                                                \
        {SIZE(controller.partition_chunk, controller.partition.chunk, 0, GIB), "tlmalloc's choice: no least size",     \
         "0 B",                                                                                                        \
         "bytes that are staged at once. L1 has at least 2.5 chunks for each prefetch and one for each write; 0 B: "   \
         "it may be of any size"},                                                                                     \
        {COUNT(controller.partition_prefetches, controller.partition.prefetches, 0, 1 << 20), "LMCache of 2026", "8",  \
         "prefetches that L1 must have room for at once"},                                                             \
    {                                                                                                                  \
        COUNT(controller.partition_writes, controller.partition.writes, 0, 1 << 20), "LMCache of 2026", "1",           \
            "writes that L1 must have room for at once"                                                                \
    }

#endif
