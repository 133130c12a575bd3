/* The mappings that lead to blocks, and blocks that change their place. Internal to model/memory. */
#ifndef TLMALLOC_MEMORY_BLOCK_BINDINGS_H
#define TLMALLOC_MEMORY_BLOCK_BINDINGS_H

#include "object_block.h"

/* Records the mappings of a BIND, whose entries begin at these sites, or forgets those of an UNBIND: all or none. work:
 * a line of metadata for each. TLA_INVALID_ARGUMENT for an entry of 0 bytes, TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED for an
 * entry that is not in one block, TLA_BUSY for a block that moves. BIND: TLA_OVERLAP for an entry that is recorded
 * already; UNBIND: TLA_NOT_FOUND for one that is not. TLA_NO_HOST_MEMORY. The store has the text. */
tla_status tla_object_bind(tla_object_store *store, const tla_command *command, const tla_site *sites, tla_work *work);
tla_status tla_object_unbind(tla_object_store *store, const tla_command *command, const tla_site *sites,
                             tla_work *work);

/* Begins the move of the block that begins there to a memory, for `who`: until its end, other commands about it are
 * TLA_BUSY. TLA_OUT_OF_RANGE, TLA_NOT_ALLOCATED. TLA_BUSY for a block that moves or has pins, TLA_NOT_OWNER for one
 * that another context holds, TLA_UNMAPPED for one without mappings: somebody reaches it by its address.
 * TLA_UNSUPPORTED for a block under a key that is to leave its memory. TLA_NO_HOST_MEMORY. The store has the text. */
tla_status tla_object_begin_move(tla_object_store *store, tla_site at, tla_memory_kind to, uint64_t who,
                                 tla_object_block **block, tla_work *work);

/* Whether compaction may move the block: a MOVE could, and one context at most holds the block. */
bool tla_object_may_move(const tla_object_block *block);

/* The block that begins at `to` exchanges places with a block whose move has begun: until tla_object_end_move of each,
 * commands about it are TLA_BUSY too. TLA_NOT_ALLOCATED, TLA_BUSY for one that moves, TLA_SIZE_MISMATCH for one of
 * other bytes, TLA_OVERLAP for one with mappings. The store has the text. */
tla_status tla_object_begin_exchange(tla_object_store *store, const tla_object_block *block, tla_site to,
                                     tla_object_block **other);

/* The block is at `to` from now on, with its references, keys and mappings. The move has not ended. */
void tla_object_change_place(tla_object_block *block, tla_site to);

/* Likewise, and the other block is where it was. */
void tla_object_exchange_places(tla_object_block *block, tla_object_block *other);

void tla_object_end_move(tla_object_block *block);

/* Builds a command for the MMUs about mappings of the block, from number *first on: as many as have one scope and fit.
 * They lead to the block at `pa`. *first is the number behind them. False: there are no more. */
bool tla_object_mappings(const tla_object_block *block, tla_opcode opcode, tla_paddr pa, size_t *first,
                         tla_command *command);

#endif
