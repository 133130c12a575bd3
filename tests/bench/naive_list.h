/* ADR-0048 D1 word for word, the yardstick of the benchmark: an array of free (offset, size) in offset order, scanned
 * from the front to allocate, bisected to free, kept in order with memmove. No receipts, no checks. */
#ifndef TLMALLOC_BENCH_NAIVE_LIST_H
#define TLMALLOC_BENCH_NAIVE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct naive_hole {
    uint64_t offset;
    uint64_t nbytes;
} naive_hole;

typedef struct naive_list {
    naive_hole *holes;
    size_t count, room;
} naive_list;

/* Sets the list to these holes (offset order), with room for `room` of them at most at any time; false: no memory. */
bool naive_list_init(naive_list *list, const naive_hole *holes, size_t count, size_t room);
void naive_list_free_memory(naive_list *list);

/* True and *offset, or false when no hole is large enough. */
bool naive_list_alloc(naive_list *list, uint64_t nbytes, uint64_t *offset);
void naive_list_free(naive_list *list, uint64_t offset, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
