/* The state of an arena as text, so that a platform can start with an aged heap.
 *
 *     tlmalloc-arena 1          format and its version
 *     policy first_fit
 *     base 0                    bytes, decimal, as all numbers
 *     capacity 65536
 *     alignment 1
 *     peak 8192
 *     cursor 4096               where the next search of next fit begins; 0 for the others
 *     free 1                    how many lines follow: offset nbytes, in the order in which the placement keeps them
 *     8192 57344
 *     live 1                    only with validation: offset nbytes tag who time, by offset
 *     0 8192 7 0 120000
 *     end
 */
#ifndef TLMALLOC_ARENA_ARENA_SNAPSHOT_H
#define TLMALLOC_ARENA_ARENA_SNAPSHOT_H

#include "tlmalloc/arena/arena.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes the snapshot and a final 0, as snprintf does: at most room bytes, and *length is the length of the whole text
 * without the 0. TLA_LIMIT when it did not fit (the text is cut then), TLA_NO_HOST_MEMORY. */
tla_status tla_arena_snapshot(const tla_arena *arena, char *text, size_t room, size_t *length);

/* The configuration that a snapshot was taken with; validate says whether it lists live blocks. TLA_SYNTAX with the
 * line in error (may be NULL). */
tla_status tla_arena_snapshot_config(const char *text, size_t length, tla_arena_config *config, tla_error *error);

/* Replaces the state of an arena with a snapshot's. The range must be the same (TLA_INVALID_ARGUMENT); the policy may
 * be another, which then takes over the free blocks. The same policy continues exactly as the original would have.
 * TLA_SYNTAX for damaged text, with line, what was found and what was expected; TLA_UNSUPPORTED when the arena
 * validates and the snapshot has no live blocks, or when the snapshot's sizes are off the arena's alignment;
 * TLA_NO_HOST_MEMORY. The arena is as it was then. */
tla_status tla_arena_restore(tla_arena *arena, const char *text, size_t length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
