/* Every allocator and what stands on one: arenas and their placement, caches, pools, objects with counts, plans. */
#ifndef TLMALLOC_ALLOCATORS_H
#define TLMALLOC_ALLOCATORS_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/arena_snapshot.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/arena/fragmentation.h"
#include "tlmalloc/cache/caching_pool.h"
#include "tlmalloc/cache/growing_pool.h"
#include "tlmalloc/cache/hot_cache.h"
#include "tlmalloc/cache/lazy_arena.h"
#include "tlmalloc/cache/mem_object.h"
#include "tlmalloc/cache/mixed_pool.h"
#include "tlmalloc/cache/shortage.h"
#include "tlmalloc/cache/slot_pool.h"
#include "tlmalloc/cache/upstream.h"
#include "tlmalloc/kv/kv_blocks.h"
#include "tlmalloc/kv/kv_chunk.h"
#include "tlmalloc/kv/kv_layers.h"
#include "tlmalloc/kv/kv_mapped.h"
#include "tlmalloc/kv/kv_reservation.h"
#include "tlmalloc/plan/exact_plan.h"
#include "tlmalloc/plan/lifetime_plan.h"
#include "tlmalloc/plan/record_table.h"
#include "tlmalloc/segments/segment_cache.h"
#include "tlmalloc/segments/segment_gap.h"
#include "tlmalloc/segments/segment_settings.h"
#include "tlmalloc/stack/lockstep.h"
#include "tlmalloc/stack/stack.h"
#include "tlmalloc/stack/stack_watch.h"

#endif
