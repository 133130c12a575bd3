/* A free list with size classes: tt-metal's FreeListOpt, the list of a bank.
 *
 * Class 0 has the blocks below 2 KiB, class c those from 2^c KiB on; the last class is open. There are as many classes
 * as the number of KiB in the range has bits, at least 2 and at most 18. The list of a class is in address order. A
 * request goes through the classes, from its own upwards.
 *
 * The modelled engine walks the lists of classes. Its receipt has, beside splits, merges and nodes:
 *
 *     nodes_visited  nodes of each class up to the first block that is large enough; all nodes when none is
 *     class_lookups  classes that a request looks at, and those that blocks enter
 *     insert_nodes   nodes that entering blocks pass
 *
 * A free finds its neighbours without a search. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_STACK_CLASS_LIST_H
#define TLMALLOC_STACK_CLASS_LIST_H

#include "tlmalloc/stack/lockstep.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_class_list tla_class_list;

typedef enum tla_class_search {
    TLA_CLASS_FIRST, /* the lowest block of all classes that is large enough, or the highest: tt-metal's banks */
    TLA_CLASS_BEST   /* the lowest class that has such a block, and in it the first block in the direction. A smaller
                        block of the same class may fit, too */
} tla_class_search;

typedef struct tla_class_list_config {
    uint64_t base;      /* first offset; a multiple of alignment */
    uint64_t bytes;     /* a multiple of alignment, at least 1; base + bytes at most 2^63 */
    uint64_t alignment; /* offsets are multiples of it, and sizes are rounded up to it; a power of two, 0 = 1 */
    uint64_t least;     /* bytes that smaller requests receive, at most 2^63; 0 = 1 */
    tla_class_search search;
} tla_class_list_config;

typedef struct tla_class_list_stats { /* in bytes, without the bytes that tla_class_list_shrink took out */
    uint64_t used;
    uint64_t free;
    uint64_t largest_free;
    uint64_t free_blocks; /* their number */
} tla_class_list_stats;

/* TLA_INVALID_ARGUMENT for a value outside its range, TLA_NO_HOST_MEMORY; after an error *list is NULL. */
tla_status tla_class_list_create(const tla_class_list_config *config, tla_class_list **list);

/* NULL is allowed. */
void tla_class_list_destroy(tla_class_list *list);

/* Allocates nbytes (1 .. 2^63): the front of the block that the search finds, with TLA_TOP_DOWN its end. Adds its cost
 * to work (may be NULL), also that of a search in vain. TLA_INVALID_ARGUMENT for another size; TLA_EXHAUSTED if fewer
 * bytes are free, else TLA_FRAGMENTED; TLA_NO_HOST_MEMORY leaves work unchanged. After an error nothing is allocated.
 */
tla_status tla_class_list_alloc(tla_class_list *list, uint64_t nbytes, tla_fill fill, tla_block *block, tla_work *work);

/* Allocates exactly this range, its size rounded up. TLA_INVALID_ARGUMENT for 0 bytes or a misaligned offset,
 * TLA_OUT_OF_RANGE, TLA_OVERLAP when any byte is not free, TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_class_list_reserve(tla_class_list *list, tla_block block, tla_work *work);

/* Releases a block, which has its requested or its granted size (ADR-0048 D2 trusts it), and joins it with free
 * neighbours. TLA_INVALID_ARGUMENT and TLA_OUT_OF_RANGE as tla_class_list_reserve, TLA_NOT_ALLOCATED when any byte is
 * already free, TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_class_list_free(tla_class_list *list, tla_block block, tla_work *work);

/* Copies up to max free blocks that can serve nbytes, in offset order, starting with the first at or above `from`.
 * Returns the number of copied blocks. */
size_t tla_class_list_available(const tla_class_list *list, uint64_t nbytes, uint64_t from, tla_block *blocks,
                                size_t max);

/* Takes the lowest nbytes out of the range. TLA_INVALID_ARGUMENT for 0 or more bytes than the range has, a size that is
 * not a multiple of the alignment, or a list that is already smaller. TLA_OVERLAP when a byte of them is not free,
 * TLA_NO_HOST_MEMORY. After an error nothing has changed. */
tla_status tla_class_list_shrink(tla_class_list *list, uint64_t nbytes);

/* Returns these bytes to the range, free. TLA_NO_HOST_MEMORY; nothing has changed then. */
tla_status tla_class_list_unshrink(tla_class_list *list);

/* Finds the lowest live offset; false if nothing is live. */
bool tla_class_list_lowest(const tla_class_list *list, uint64_t *offset);

tla_class_list_stats tla_class_list_get_stats(const tla_class_list *list);

#ifdef __cplusplus
}
#endif
#endif
