/* Arenas that have been used: a trace is played, and what lives then stays occupied. */
#ifndef TLMALLOC_PLATFORM_REPLAY_AGING_H
#define TLMALLOC_PLATFORM_REPLAY_AGING_H

#include "replay/trace_replay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Events up to and including the one after which most is in use, by the trace's own sizes. */
size_t aging_events_to_peak(const alloc_trace *trace);

/* Replays the first `events` of a trace on an arena of this policy. *made and *result are the caller's to destroy and
 * clear, with every status. */
tla_status aging_play(const alloc_trace *trace, size_t events, tla_policy policy, const allocator_config *config,
                      trace_allocator *made, replay_result *result, tla_error *error);

/* The state of an arena, as text (arena.h). The caller sets *text to NULL before, and frees it after any status. */
tla_status aging_text(const tla_arena *arena, char **text, size_t *length, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
