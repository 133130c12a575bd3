/* Where the time of a kernel went: every picosecond of it is charged to one kind of work, without gap or overlap.
 *
 * The account stands at a time and only goes forwards: what is charged begins there. Whoever waited for something that
 * went on elsewhere (a transfer, a composite) charges what that did meanwhile, along the chain that decided its end:
 * backwards from the end, what ended last, then what had to end before that could begin.
 *
 * An account is a list of stretches. One ends where a message leaves, or where one has arrived that was waited for, so
 * that the critical path of several programs can follow a message back to where its sender stood. */
#ifndef TLMALLOC_BASE_TIME_ACCOUNT_H
#define TLMALLOC_BASE_TIME_ACCOUNT_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_time_kind {
    TLA_TIME_OTHER,          /* none of the others: what a kernel that was ended gives back, say */
    TLA_TIME_DISPATCH,       /* of calls */
    TLA_TIME_ALLOC,          /* in the allocation engine */
    TLA_TIME_ALLOC_QUEUE,    /* before it: other commands, refusals that were sent again */
    TLA_TIME_ENGINE_QUEUE,   /* before an engine of the PE that does something else: DMA, accelerator, composites */
    TLA_TIME_ISSUE,          /* DMA: chunks are issued one after the other */
    TLA_TIME_LOOKUP,         /* DMA: the MMU, without a walk */
    TLA_TIME_WALK,           /* DMA: the MMU, with walks or page faults */
    TLA_TIME_LINK,           /* DMA: in the fabric */
    TLA_TIME_BANK,           /* DMA: in a memory, waits for its banks included */
    TLA_TIME_TCM,            /* DMA: the TCM of the PE */
    TLA_TIME_TILE,           /* arithmetic: tiles from the TCM and to it */
    TLA_TIME_ARITHMETIC,     /* the accelerator computes */
    TLA_TIME_MESSAGE_WAIT,   /* for a message that had not been sent */
    TLA_TIME_MESSAGE_CREDIT, /* for a slot at the receiver */
    TLA_TIME_MESSAGE,        /* on its way, and what sends and receives take themselves */
    TLA_TIME_HOST_ALLOC,     /* before the launch: the host waits for an allocation engine */
    TLA_TIME_HOST_COMMAND,   /* for allocations otherwise: ways there and back, virtual addresses, a driver */
    TLA_TIME_HOST_MAP,       /* for mappings */
    TLA_TIME_HOST_COPY,      /* for inputs */
    TLA_TIME_HOST_LAUNCH,    /* from the launch to the first kernel's begin */
    TLA_TIME_KIND_COUNT
} tla_time_kind;

/* As in reports: "alloc_queue"; NULL for none. */
const char *tla_time_kind_name(tla_time_kind kind);

#define TLA_TIME_NOWHERE UINT32_MAX

/* What time is charged to. `place` is a link's number (LINK) or the number of a memory's node (BANK), `unit` of a
 * memory the pseudo-channel of an access's last byte and its bank (tla_time_unit); TLA_TIME_NOWHERE: not known. */
typedef struct tla_time_charge {
    tla_time_kind kind;
    uint32_t place, unit;
} tla_time_charge;

static inline uint32_t tla_time_unit(uint32_t pseudo_channel, uint32_t bank) {
    return pseudo_channel << 16 | bank;
}

typedef struct tla_time_part {
    tla_time_charge charge;
    uint64_t begin_ps, end_ps;
} tla_time_part;

/* ---- chains ---- */

/* One access of a transfer, from the chunk's issue on. Points in time that were not met are 0: what lies before the
 * next known one counts for that. */
typedef struct tla_access_times {
    uint64_t start_ps;              /* issued */
    uint64_t sent_ps;               /* to the MMU: of a write, the TCM has been read */
    uint64_t translated_ps;         /* left the MMU */
    uint64_t arrived_ps, served_ps; /* at the memory, and answered there */
    uint64_t returned_ps;           /* the answer is back: of a read, the TCM is still to be written */
    uint64_t end_ps;
    bool walked;
    uint32_t link, memory, unit; /* which of each decided, as in a charge */
} tla_access_times;

typedef void (*tla_time_visit)(void *context, const tla_time_part *part);

/* The chain of a transfer that lasted from from_ps to to_ps, chunk by chunk in the order of issue; a chunk is issued
 * when the one before has been, and the one `window` before has ended. Parts come backwards, touch each other and cover
 * all of [from_ps, to_ps). */
void tla_time_chain_of_transfer(const tla_access_times *chunks, size_t count, size_t window, uint64_t from_ps,
                                uint64_t to_ps, tla_time_visit visit, void *context);

/* Something that an engine did. */
typedef struct tla_time_span {
    uint64_t begin_ps, end_ps;
    size_t what; /* the caller's */
} tla_time_span;

/* The chain of work that several engines share, from the end backwards: of what ended at that time or last before it
 * the span that began last. `on` is called for each with the part of it that belongs to the chain; what lies between
 * them, when nothing was done, is left out. Sorts the spans. */
void tla_time_chain_of_spans(tla_time_span *spans, size_t count, uint64_t from_ps, uint64_t to_ps,
                             void (*on)(void *context, size_t what, uint64_t begin_ps, uint64_t end_ps), void *context);

/* ---- accounts ---- */

typedef struct tla_time_account tla_time_account;

typedef struct tla_time_sum {
    tla_time_charge charge;
    uint64_t ps;
} tla_time_sum;

typedef struct tla_time_stretch {
    uint64_t begin_ps, end_ps;
    size_t first, count;  /* of its sums, which make end_ps - begin_ps */
    bool after_a_message; /* it could begin when one had arrived ... */
    uint32_t program;     /* ... from here, */
    uint64_t sent_ps;     /* which was sent then */
} tla_time_stretch;

/* TLA_NO_HOST_MEMORY: *account is NULL. All other functions take NULL and do nothing then. */
tla_status tla_time_account_create(tla_time_account **account);
void tla_time_account_destroy(tla_time_account *account);

/* Forgets everything; stands at at_ps. */
void tla_time_account_begin(tla_time_account *account, uint64_t at_ps);

/* Has `visit` called for every part that is charged from now on, in the order of time: they touch each other. It must
 * not change the account. NULL: nobody. */
void tla_time_account_watch(tla_time_account *account, tla_time_visit visit, void *context);

/* Goes on to until_ps, if it is not there or further. */
void tla_time_account_pass(tla_time_account *account, uint64_t until_ps, tla_time_kind kind);

/* Goes on to until_ps: what of it lies in one of the parts, which do not overlap, is charged to that, the rest to
 * `rest`. */
void tla_time_account_pass_parts(tla_time_account *account, uint64_t until_ps, const tla_time_part *parts, size_t count,
                                 tla_time_kind rest);

/* A message leaves now. */
void tla_time_account_send(tla_time_account *account);

/* A message that was waited for has arrived now. */
void tla_time_account_receive(tla_time_account *account, uint32_t program, uint64_t sent_ps);

/* Where it stands; how many stretches there are, the last of which ends there, and all sums. Without host memory a
 * stretch or a sum can be lost: `complete` is false then. */
uint64_t tla_time_account_now(const tla_time_account *account);
size_t tla_time_account_stretches(const tla_time_account *account, const tla_time_stretch **stretches,
                                  const tla_time_sum **sums);
bool tla_time_account_is_complete(const tla_time_account *account);

#ifdef __cplusplus
}
#endif
#endif
