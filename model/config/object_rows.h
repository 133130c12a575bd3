/* The rows of objects under keys (object_store.h). For platform_keys.c, which defines ROW_STRUCT. */
#ifndef TLMALLOC_MODEL_CONFIG_OBJECT_ROWS_H
#define TLMALLOC_MODEL_CONFIG_OBJECT_ROWS_H

#include "row.h"

#define OBJECT_ROWS                                                                                                    \
    {BOOLEAN(controller.object_signals, controller.object_signals), "tlmalloc's choice", "false",                      \
     "true: waveforms show references to blocks, pins on blocks, and objects cached under keys"},                      \
    {                                                                                                                  \
        NAMED(controller.object_eviction, controller.object_eviction, tla_victim_rule), "LMCache's LocalCPUBackend",   \
            "lru",                                                                                                     \
            "object under a key that leaves when an EVICT lacks memory. lru: the one that was used longest ago; "      \
            "tenant_lru: the same among the objects of the sender's address space; arc: of those used once or of "     \
            "those used again, by keys that have left and return"                                                      \
    }

#endif
