/* The window between a mapping command and the moment at which its effect is visible.
 *
 * A command changes the table when it is served, and the change is visible when the command is done. Accesses before
 * that must still see what was mapped before. A map window remembers that: before a table is changed, what the change
 * will hide is kept until the change is visible. Empty most of the time, and then it costs nothing. */
#ifndef TLMALLOC_MAP_WINDOW_H
#define TLMALLOC_MAP_WINDOW_H

#include "tlmalloc/vm/page_table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_map_window tla_map_window;

/* TLA_NO_HOST_MEMORY; *window is NULL then. */
tla_status tla_map_window_create(tla_map_window **window);
void tla_map_window_destroy(tla_map_window *window);

/* Keeps what the table now says of [va, va + nbytes) in one address space. To be called before the table changes, then
 * tla_map_window_commit when it has changed, or tla_map_window_drop when it has not. TLA_NO_HOST_MEMORY: nothing more
 * is kept, drop what was. */
tla_status tla_map_window_keep(tla_map_window *window, const tla_page_table *table, uint32_t asid, tla_vaddr va,
                               uint64_t nbytes);

/* How many runs that are mapped alike, or not mapped, have been kept so far, and one of them as an entry that would
 * restore it (flags 0: not mapped). Numbers hold until something is dropped or forgotten. */
size_t tla_map_window_runs(const tla_map_window *window);
tla_map_entry tla_map_window_run(const tla_map_window *window, size_t number);

/* What was kept since the last commit or drop holds until visible_ps; before that is said, for ever. */
void tla_map_window_commit(tla_map_window *window, uint64_t visible_ps);
void tla_map_window_drop(tla_map_window *window);

/* Whether an access to va at at_ps happens before a change of its mapping is visible. If so, *status is TLA_OK and
 * *translation where it still goes, or TLA_UNMAPPED or TLA_PERMISSION; translation->nbytes says for how many bytes, at
 * most nbytes, that is so (also when it is not mapped, and when the answer is false). */
bool tla_map_window_find(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint32_t access,
                         uint64_t at_ps, tla_status *status, tla_translation *translation);

/* Until when an access to any byte of [va, va + nbytes) may see what a change, not visible yet at at_ps, has replaced;
 * 0 when none does, UINT64_MAX when that has not been said. */
uint64_t tla_map_window_until(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                              uint64_t at_ps);

/* When the next change of any mapping is visible: later than at_ps; 0 when there is none, or it has not been said. */
uint64_t tla_map_window_next(const tla_map_window *window, uint64_t at_ps);

/* What a walk for va would have found, had the change that governs it at at_ps (tla_map_window_find was true) not been
 * made: as tla_page_table_walk of a table that lives nowhere. *visible_ps = until when that is so. */
tla_status tla_map_window_walk(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t at_ps,
                               tla_walk *walk, uint64_t *visible_ps);

/* Forgets what no access at now_ps or later can need. */
void tla_map_window_advance(tla_map_window *window, uint64_t now_ps);

#ifdef __cplusplus
}
#endif
#endif
