/* All allocators and the layers above them: arenas and their placement, caches, pools, reference-counted objects,
 * plans. */
#ifndef TLMALLOC_ALLOCATORS_H
#define TLMALLOC_ALLOCATORS_H

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/driver_pools.h"
#include "tlmalloc/cache/objects.h"
#include "tlmalloc/cache/partition.h"
#include "tlmalloc/cache/regions.h"
#include "tlmalloc/cache/replicas.h"
#include "tlmalloc/cache/segmented_memory.h"
#include "tlmalloc/cache/upstream.h"
#include "tlmalloc/cache/victims.h"
#include "tlmalloc/kv/kv_cache.h"
#include "tlmalloc/plan/plan.h"
#include "tlmalloc/plan/views.h"
#include "tlmalloc/segments/segment_cache.h"
#include "tlmalloc/stack/class_list.h"
#include "tlmalloc/stack/lockstep.h"
#include "tlmalloc/stack/stack.h"
#include "tlmalloc/stack/units.h"

#endif
