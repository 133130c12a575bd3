/* Fronts whose memory is cut into ranges that no block crosses. Internal to model/stack. */
#ifndef TLMALLOC_STACK_FRONT_RANGES_H
#define TLMALLOC_STACK_FRONT_RANGES_H

#include "front.h"

/* Checks the segments: a multiple of the alignment, from address 0 on, and at most TLA_FRONT_SEGMENTS_MAX. */
tla_status tla_front_check_segments(const tla_stack_config *config, tla_error *error);

enum { TLA_FRONT_SEGMENTS_MAX = 4096 };

/* Adds the free blocks and the bytes of a range, or of several. */
void tla_front_add_stats(tla_arena_stats *all, const tla_arena_stats *of);

/* The statistics of a front over these ranges, which keeps no block. */
tla_stack_stats tla_front_stats_of_ranges(const tla_stack *stack, tla_arena_stats all);

/* Explains a request that no range serves now; returns whether bytes or a hole are lacking. */
tla_status tla_front_explain_ranges(const tla_stack *stack, const char *what, uint64_t nbytes, uint32_t ranges,
                                    tla_error *error);

#endif
