/* Buffers with lifetimes, as MiniMalloc's tables and its planners have them. */
#ifndef TLMALLOC_PLATFORM_TRACE_LIFETIMES_H
#define TLMALLOC_PLATFORM_TRACE_LIFETIMES_H

#include "tlmalloc/plan/views.h"
#include "trace/trace.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lifetime_list {
    size_t count;
    tla_lifetime *buffers;
    uint64_t *alignments;
    uint64_t *fixed; /* offsets; TLA_PLAN_ANYWHERE */
    tla_plan_gap *gaps;
    size_t gap_count;
    tla_plan_view *views;                    /* of a program (tlmalloc/plan/views.h); NULL: this is none */
    size_t *sources, source_count;           /* likewise: operands, value by value, also of those that are no views */
    tla_plan_io *io;                         /* likewise */
    uint64_t first_line;                     /* of a program in its file: row i is line first_line + i */
    char *header;                            /* of the table */
    int columns;                             /* of it */
    int offset_column;                       /* which one; as many as there are columns: none */
    char *texts;                             /* ids and lines, each with a 0 at its end */
    size_t *ids, *lines;                     /* where in texts, for each buffer; lines NULL: not kept */
    size_t gap_room, text_length, text_room; /* of the arrays; for the readers */
    size_t source_room;                      /* likewise */
    size_t *slots, slot_count;               /* ids by hash, likewise */
} lifetime_list;

/* Reads MiniMalloc's table, or any other trace with its actual lifetimes: the table is id,lower,upper,size then, ids
 * count the allocations, and times count the events, so that everything keeps its order. An allocation that is never
 * freed lives to the end. A table with the column operands is a program (platform/plan/README.md): row i lives from
 * time i to its last use. Errors as trace_load_device; *list is empty then. */
tla_status lifetimes_load(const char *path, int device, lifetime_list *list, tla_error *error);
void lifetimes_clear(lifetime_list *list);

/* All of it stays the list's. */
tla_plan_problem lifetimes_problem(const lifetime_list *list);

static inline const char *lifetimes_id(const lifetime_list *list, size_t buffer) {
    return list->texts + list->ids[buffer];
}

/* The operands of a value of a program. */
static inline const size_t *lifetimes_operands(const lifetime_list *list, size_t value, size_t *count) {
    const size_t first = list->views[value].first;
    *count = (value + 1 < list->count ? list->views[value + 1].first : list->source_count) - first;
    return list->sources + first;
}

/* The list as events: at equal times frees come before allocations, and both in the order of the list. A buffer is
 * freed at the beginning of a gap and allocated at its end. An allocation's id is the index of its buffer. */
tla_status lifetimes_to_trace(const lifetime_list *list, alloc_trace *trace, tla_error *error);

/* The table with the offsets in its column `offset`, the last one where it had none. Write errors stay in the stream.
 */
void lifetimes_write(const lifetime_list *list, const uint64_t *offsets, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
