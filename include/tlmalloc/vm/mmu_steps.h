/* What an MMU does in steps: translations and changes of mappings.
 *
 * A walk shares the memory with others, so that nobody knows at its start how long it takes. A request is begun, the
 * caller makes its reads one after the other when their time has come, and any number of requests may be under way. The
 * same holds for changes: what they do to the memory comes out as a list. All calls come in the order of time.
 *
 * When a walk ends and its page leads elsewhere than when the walk began, its requests are neither told old knowledge
 * nor refused: they are looked up again at that time, which costs that lookup, and another walk when it misses. */
#ifndef TLMALLOC_VM_MMU_STEPS_H
#define TLMALLOC_VM_MMU_STEPS_H

#include "tlmalloc/vm/mmu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a request needs next. */
typedef enum tla_mmu_phase {
    TLA_MMU_DONE,  /* nothing: status and piece, known at at_ps, are there */
    TLA_MMU_LATER, /* tla_mmu_step at at_ps */
    TLA_MMU_READ,  /* the read_nbytes at read_pa, asked for at at_ps; tla_mmu_step when they are there */
    TLA_MMU_WAIT   /* something else has to happen first: tla_mmu_next returns the request when it continues */
} tla_mmu_phase;

/* The translation of the front of what is left of an access: the caller's memory until it is TLA_MMU_DONE. A lookup
 * shortens access.nbytes to what the piece will cover, one page or region at most unless the walk mode is
 * TLA_WALK_IDEAL, and a change may shorten it again. A lookup that is going to fail keeps the length: the rest is not
 * looked up. The caller begins the rest as soon as it sees a shorter length: after tla_mmu_begin, tla_mmu_step, and for
 * each request of tla_mmu_next. */
typedef struct tla_mmu_request {
    tla_mmu_access access; /* set by the caller */
    void *owner;           /* the caller's */
    tla_mmu_phase phase;
    uint64_t at_ps; /* may lie ahead of the call that set it, never before it */
    tla_paddr read_pa;
    uint32_t read_nbytes;
    tla_status status;   /* as of tla_mmu_probe, or TLA_BUS_ERROR: the walk could not read, or read something wrong */
    tla_mmu_piece piece; /* when a change came meanwhile, it may cover less than access.nbytes: begin the rest */
    /* The MMU's own. */
    struct tla_mmu_request *next;
    tla_walk_request walk;
    tla_walk found;
    tla_status expected;
    uint64_t limit, arrival, arrived_ps, epoch, visible_ps;
    uint32_t level;
    bool asking, holds, governed, disturbed, told;
} tla_mmu_request;

/* An access arrives. A hit needs no more than this call. A request that finds no walker holds up those after it. */
tla_mmu_phase tla_mmu_begin(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps);

/* Goes on with a request that is TLA_MMU_LATER, or with what it has read (NULL: the memory answered with an error). */
tla_mmu_phase tla_mmu_step(tla_mmu *mmu, tla_mmu_request *request, uint64_t at_ps, const void *bytes);

/* The rest of an access after the request `before`, which has been looked up: it takes the place of its access in the
 * order of arrival. A request that holds up others holds up the rest of its own access first, then later accesses. */
tla_mmu_phase tla_mmu_begin_rest(tla_mmu *mmu, tla_mmu_request *request, const tla_mmu_request *before, uint64_t at_ps);

/* The next request whose phase or length has changed because of another request; its phase may still be TLA_MMU_WAIT.
 * Call it until it returns NULL after each tla_mmu_begin, tla_mmu_begin_rest and tla_mmu_step, at the same time, and
 * handle each request before the next call. */
tla_mmu_request *tla_mmu_next(tla_mmu *mmu, uint64_t at_ps);

/* Walks under way. */
uint32_t tla_mmu_walks_in_flight(const tla_mmu *mmu);

/* What a change does to the table memory. */
typedef enum tla_mmu_duty {
    TLA_MMU_ALLOC, /* take nbytes for a table: answered by tla_mmu_change_allocated */
    TLA_MMU_WRITE, /* write nbytes at pa. If that fails, the next walk finds the entry to be wrong */
    TLA_MMU_FREE,  /* give back the table of nbytes at pa */
    TLA_MMU_DRAIN  /* nothing: walks may still read what is freed next; ask again when one has ended */
} tla_mmu_duty;

typedef struct tla_mmu_bus_work {
    tla_mmu_duty kind;
    tla_paddr pa;
    uint64_t nbytes;
    const uint8_t *bytes; /* until the next call */
} tla_mmu_bus_work;

/* Begins a change of mappings, of all entries or none: errors and receipts as tla_page_table_change; TLA_BUSY while
 * another change is under way. The pointers must stay valid until the end. What it does to the memory comes from
 * tla_mmu_change_next, one after the other, false when that was all: first what tables it takes, then, when the change
 * has been made in one step, entries to write and tables that are gone. When that is done, tla_mmu_change_end says
 * whether the change was made (else what the table memory answered when it refused a table), and the caller says
 * with tla_mmu_make_visible when it can be seen; until then accesses go where they went, also by TLB entries. */
tla_status tla_mmu_change_begin(tla_mmu *mmu, tla_table_change change, const tla_map_entry *entries, size_t count,
                                tla_work *work, tla_error *error);

/* Begins to take back a sender's last change, as a change of its own that goes on like any other: every byte of it is
 * what it was before. Once more it does nothing. TLA_NOT_ALLOCATED when the sender's last change has another tag or was
 * refused, TLA_OVERLAP when another sender has changed any of it since, or at the end what the table memory says when
 * it has no room for a table any more: nothing changes then, and it may be tried again. TLA_BUSY as above. */
tla_status tla_mmu_take_back_begin(tla_mmu *mmu, uint32_t sender, uint32_t tag, tla_work *work, tla_error *error);

bool tla_mmu_change_next(tla_mmu *mmu, tla_mmu_bus_work *todo);
void tla_mmu_change_allocated(tla_mmu *mmu, tla_status status, tla_paddr pa);
tla_status tla_mmu_change_end(tla_mmu *mmu);

#ifdef __cplusplus
}
#endif
#endif
