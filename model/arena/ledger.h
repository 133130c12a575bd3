/* An arena that keeps no free list: the live blocks alone, which others place. Internal to model/arena and model/stack.
 */
#ifndef TLMALLOC_LEDGER_H
#define TLMALLOC_LEDGER_H

#include "tlmalloc/arena/arena.h"

/* As tla_arena_create, of a configuration that validates; its policy is not looked at. Blocks are entered by
 * tla_arena_reserve, which trusts that they do not overlap, and taken out by tla_arena_free, which validates. There is
 * no free block to say anything of. */
tla_status tla_ledger_create(const tla_arena_config *config, tla_arena **ledger);

#endif
