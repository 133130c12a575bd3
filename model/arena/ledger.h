/* An arena that keeps no free list: the live blocks alone, which others place. Internal to model/arena and model/stack.
 */
#ifndef TLMALLOC_LEDGER_H
#define TLMALLOC_LEDGER_H

#include "tlmalloc/arena/arena.h"

/* As tla_arena_create, of a configuration that validates; its policy is ignored. tla_arena_reserve enters blocks, and
 * trusts that they do not overlap; tla_arena_free removes them, and validates. The ledger has no free blocks to report.
 * */
tla_status tla_ledger_create(const tla_arena_config *config, tla_arena **ledger);

#endif
