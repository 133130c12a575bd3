/* The mappings that changes replaced, so that the changes can be taken back.
 *
 * Either all MMUs execute a command or none: when one rejects it, the others take it back. A take-back carries no
 * mappings. Every MMU therefore keeps the mappings that the last change of each sender replaced, until that sender's
 * next command. Commands that succeed cost no message for it. A record covers every byte of its change, unmapped bytes
 * too. Not thread safe. */
#ifndef TLMALLOC_MAP_UNDO_H
#define TLMALLOC_MAP_UNDO_H

#include "map_window.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_map_undo tla_map_undo;

/* TLA_NO_HOST_MEMORY; *undo is NULL then. */
tla_status tla_map_undo_create(tla_map_undo **undo);
void tla_map_undo_destroy(tla_map_undo *undo);

/* A command of a sender (of whatever number) with a tag begins: its record before is forgotten. TLA_NO_HOST_MEMORY. */
tla_status tla_map_undo_begin(tla_map_undo *undo, uint32_t sender, uint32_t tag);

/* The command that has begun changes so many ranges, at least: room for them is made at once. TLA_NO_HOST_MEMORY. */
tla_status tla_map_undo_expect(tla_map_undo *undo, size_t ranges);

/* Call it before the outstanding command changes the table: keeps the part of a range that the window has kept, its
 * runs from this number on. TLA_NO_HOST_MEMORY. */
tla_status tla_map_undo_keep(tla_map_undo *undo, const tla_map_window *window, size_t first_run);

/* true: the command has changed the kept mappings, and records of other senders that it overlaps are overtaken. false:
 * it has changed nothing, and its record is dropped. */
void tla_map_undo_end(tla_map_undo *undo, bool changed);

/* Finds the mappings that restore the state before the last command of a sender: entries for TLA_TABLE_RESTORE, valid
 * until the next call; no entries if this was done already. TLA_NOT_ALLOCATED when the command has another tag or
 * changed nothing, TLA_OVERLAP when it has been overtaken. */
tla_status tla_map_undo_find(const tla_map_undo *undo, uint32_t sender, uint32_t tag, const tla_map_entry **entries,
                             size_t *count);

/* It has been taken back. */
void tla_map_undo_done(tla_map_undo *undo, uint32_t sender);

#ifdef __cplusplus
}
#endif
#endif
