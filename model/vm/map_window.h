/* The window between a mapping command and the moment at which its effect is visible.
 *
 * A command changes the table when it is served, and the change is visible when the command is done. Earlier accesses
 * must still use the old mappings. A map window keeps these: before a change of the table it stores the mappings that
 * the change hides, until the change is visible. The window is empty most of the time, and then costs nothing. */
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

/* Keeps the present mappings of [va, va + nbytes) in one address space. Call it before the table changes, then
 * tla_map_window_commit when the table has changed, or tla_map_window_drop otherwise. TLA_NO_HOST_MEMORY: nothing more
 * is kept; call tla_map_window_drop. */
tla_status tla_map_window_keep(tla_map_window *window, const tla_page_table *table, uint32_t asid, tla_vaddr va,
                               uint64_t nbytes);

/* How many runs that are mapped alike, or not mapped, have been kept so far, and one of them as an entry that would
 * restore it (flags 0: not mapped). Numbers hold until something is dropped or forgotten. */
size_t tla_map_window_runs(const tla_map_window *window);
tla_map_entry tla_map_window_run(const tla_map_window *window, size_t number);

/* Sets the time until which the mappings hold that were kept since the last commit or drop; without this call they hold
 * forever. */
void tla_map_window_commit(tla_map_window *window, uint64_t visible_ps);
void tla_map_window_drop(tla_map_window *window);

/* Returns whether an access to va at at_ps precedes the visibility of a change of its mapping. If so, *status is TLA_OK
 * and *translation its old destination, or TLA_UNMAPPED or TLA_PERMISSION. translation->nbytes is the number of bytes,
 * at most nbytes, for which the result holds (also for unmapped bytes, and for the result false). */
bool tla_map_window_find(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes, uint32_t access,
                         uint64_t at_ps, tla_status *status, tla_translation *translation);

/* Returns the time until which an access to any byte of [va, va + nbytes) may use a mapping that a change, invisible at
 * at_ps, has replaced; 0: no such change, UINT64_MAX: the time is not known yet. */
uint64_t tla_map_window_until(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t nbytes,
                              uint64_t at_ps);

/* Returns the time at which the next change of any mapping is visible, later than at_ps; 0: no such change, or the time
 * is not known yet. */
uint64_t tla_map_window_next(const tla_map_window *window, uint64_t at_ps);

/* Returns the result of a walk for va without the change that governs it at at_ps (tla_map_window_find was true): as
 * tla_page_table_walk of a table outside any memory. *visible_ps is the end of this result. */
tla_status tla_map_window_walk(const tla_map_window *window, uint32_t asid, tla_vaddr va, uint64_t at_ps,
                               tla_walk *walk, uint64_t *visible_ps);

/* Forgets what no access at now_ps or later can need. */
void tla_map_window_advance(tla_map_window *window, uint64_t now_ps);

#ifdef __cplusplus
}
#endif
#endif
