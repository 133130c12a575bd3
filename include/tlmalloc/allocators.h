/* Every allocator and what stands on one: arenas and their placement, caches, pools, objects with counts, plans. */
#ifndef TLMALLOC_ALLOCATORS_H
#define TLMALLOC_ALLOCATORS_H

#include "tlmalloc/allocators/arena.h"
#include "tlmalloc/allocators/arena_snapshot.h"
#include "tlmalloc/allocators/caching_pool.h"
#include "tlmalloc/allocators/engine.h"
#include "tlmalloc/allocators/exact_plan.h"
#include "tlmalloc/allocators/fragmentation.h"
#include "tlmalloc/allocators/growing_pool.h"
#include "tlmalloc/allocators/hot_cache.h"
#include "tlmalloc/allocators/kv_blocks.h"
#include "tlmalloc/allocators/kv_chunk.h"
#include "tlmalloc/allocators/kv_layers.h"
#include "tlmalloc/allocators/kv_mapped.h"
#include "tlmalloc/allocators/kv_reservation.h"
#include "tlmalloc/allocators/lazy_arena.h"
#include "tlmalloc/allocators/lifetime_plan.h"
#include "tlmalloc/allocators/lockstep.h"
#include "tlmalloc/allocators/mem_object.h"
#include "tlmalloc/allocators/mixed_pool.h"
#include "tlmalloc/allocators/pe_memory.h"
#include "tlmalloc/allocators/record_table.h"
#include "tlmalloc/allocators/segment_cache.h"
#include "tlmalloc/allocators/segment_settings.h"
#include "tlmalloc/allocators/shortage.h"
#include "tlmalloc/allocators/slot_pool.h"
#include "tlmalloc/allocators/stack.h"
#include "tlmalloc/allocators/stack_watch.h"
#include "tlmalloc/allocators/upstream.h"

#endif
