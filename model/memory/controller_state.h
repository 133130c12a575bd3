/* What the parts of a memory controller share. Internal to model/memory. */
#ifndef TLMALLOC_MEMORY_CONTROLLER_STATE_H
#define TLMALLOC_MEMORY_CONTROLLER_STATE_H

#include "tlmalloc/memory/controller.h"

typedef struct tla_watched_memory {
    tla_controller *controller;
    tla_memory_kind memory;
} tla_watched_memory;

struct tla_controller {
    tla_controller_config config;
    tla_pe_memory *memory; /* NULL before the first command */
    tla_object_store *objects;
    tla_faults faults;
    uint64_t refused; /* by the fault plan */
    uint64_t origin_ps;
    bool uses_objects;
    tla_memory_kind first; /* of the memories that there are */
    tla_controller_counts counts[TLA_MEMORY_KIND_COUNT];
    tla_arena_stats beginning[TLA_MEMORY_KIND_COUNT];
    tla_stack_stats untouched[TLA_MEMORY_KIND_COUNT];
    tla_controller_watch watch;
    tla_watched_memory watched[TLA_MEMORY_KIND_COUNT];
    /* of the command that is carried out */
    tla_site sites[TLA_COMMAND_MAX_BLOCKS];          /* where its blocks begin */
    tla_placed_block blocks[TLA_COMMAND_MAX_BLOCKS]; /* that it has made or found */
    uint8_t result[TLA_COMMAND_MAX_BYTES];
};

static inline bool tla_controller_has(const tla_controller_config *c, int memory) {
    return tla_pe_memory_bytes(&c->memory, (tla_memory_kind)memory) > 0;
}

static inline bool tla_controller_is_owned(const tla_controller_config *c) {
    return c->owner_port != TLA_CONTROLLER_NO_OWNER;
}

#endif
