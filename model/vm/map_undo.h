/* What changes of mappings replaced, so that they can be taken back.
 *
 * A command that goes to several MMUs is done by all or by none: when one refuses it, those that did it take it back.
 * So that they need not be told what was there, every MMU keeps what the last change of each sender replaced, until
 * that sender's next command. Nothing is sent for it while commands go well. A record covers every byte of its change,
 * what was not mapped too. Not thread safe. */
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

/* Before the command that has begun changes the table: keeps of a range what the window has kept of it, its runs from
 * this number on. TLA_NO_HOST_MEMORY. */
tla_status tla_map_undo_keep(tla_map_undo *undo, const tla_map_window *window, size_t first_run);

/* The command has changed what was kept (true): records of other senders that it overlaps are overtaken. Or it has
 * changed nothing: its record is forgotten. */
void tla_map_undo_end(tla_map_undo *undo, bool changed);

/* What to restore to take back the last command of a sender: entries for TLA_TABLE_RESTORE, until the next call;
 * none when that has been done already. TLA_NOT_ALLOCATED when it has another tag or changed nothing, TLA_OVERLAP when
 * it has been overtaken. */
tla_status tla_map_undo_find(const tla_map_undo *undo, uint32_t sender, uint32_t tag, const tla_map_entry **entries,
                             size_t *count);

/* It has been taken back. */
void tla_map_undo_done(tla_map_undo *undo, uint32_t sender);

#ifdef __cplusplus
}
#endif
#endif
