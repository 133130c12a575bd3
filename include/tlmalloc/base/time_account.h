/* The account of a kernel's time: every picosecond is charged to one kind of work, without gap or overlap.
 *
 * The account has a current time and only advances; a charge begins at the current time. A kernel that waits for a
 * background operation (a transfer, a composite) charges the operation's work in that time, along its critical path.
 * The path is found backwards from the end: the work that ended last, then the work that had to end before that could
 * begin.
 *
 * An account is a list of stretches. A stretch ends when a message leaves, or when an awaited message has arrived. The
 * critical path of several programs can thus follow a message back to its sender. */
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
    TLA_TIME_OTHER,          /* another kind, for example the releases of a kernel that was ended */
    TLA_TIME_DISPATCH,       /* dispatch of calls */
    TLA_TIME_ALLOC,          /* in the allocation engine */
    TLA_TIME_ALLOC_QUEUE,    /* in front of it: other commands, repeats of rejected commands */
    TLA_TIME_ENGINE_QUEUE,   /* in front of a busy engine of the PE: DMA, accelerator, composites */
    TLA_TIME_ISSUE,          /* DMA: the engine issues chunks one after the other */
    TLA_TIME_LOOKUP,         /* DMA: the MMU, without a walk */
    TLA_TIME_WALK,           /* DMA: the MMU, with walks */
    TLA_TIME_FAULT,          /* DMA: page faults, until the access is translated again */
    TLA_TIME_MOVE,           /* DMA: in front of the MMU, while a block moves (vm/pauses.h) */
    TLA_TIME_LINK,           /* DMA: in the fabric */
    TLA_TIME_BANK,           /* DMA: in a memory, including waits for its banks */
    TLA_TIME_TCM,            /* DMA: the TCM of the PE */
    TLA_TIME_TILE,           /* arithmetic: tiles to and from the TCM */
    TLA_TIME_ARITHMETIC,     /* the accelerator computes */
    TLA_TIME_MESSAGE_WAIT,   /* for a message that was not sent yet */
    TLA_TIME_MESSAGE_CREDIT, /* for a slot at the receiver */
    TLA_TIME_MESSAGE,        /* in flight, and the time of sends and receives themselves */
    TLA_TIME_HOST_ALLOC,     /* before the launch: the host waits for an allocation engine */
    TLA_TIME_HOST_COMMAND,   /* for other parts of allocations: routes, virtual addresses, a driver */
    TLA_TIME_HOST_MAP,       /* for mappings */
    TLA_TIME_HOST_COPY,      /* for inputs */
    TLA_TIME_HOST_LAUNCH,    /* from the launch to the first kernel's begin */
    TLA_TIME_KIND_COUNT
} tla_time_kind;

/* Returns the name in reports: "alloc_queue"; NULL for an unknown kind. */
const char *tla_time_kind_name(tla_time_kind kind);

#define TLA_TIME_NOWHERE UINT32_MAX

/* The target of a charge. `place` is a link's number (LINK) or the number of a memory's node (BANK). `unit` is, for a
 * memory, the pseudo-channel of an access's last byte and its bank (tla_time_unit). TLA_TIME_NOWHERE: unknown. */
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

/* One access of a transfer, starting with the chunk's issue. A time that did not occur is 0; its time is charged to the
 * next known one. */
typedef struct tla_access_times {
    uint64_t start_ps;              /* issued */
    uint64_t sent_ps;               /* to the MMU; of a write: the TCM has been read */
    uint64_t translated_ps;         /* left the MMU */
    uint64_t arrived_ps, served_ps; /* at the memory, and served there */
    uint64_t returned_ps;           /* the response has returned; of a read: the TCM still has to be written */
    uint64_t end_ps;
    bool walked;
    uint32_t link, memory, unit; /* which of each decided, as in a charge */
    uint64_t entered_ps;         /* entered the MMU, after it had waited for a block that moved */
    uint64_t faulted_ps;         /* its first page fault left the MMU, and ... */
    uint64_t resumed_ps;         /* ... its last page fault was over */
} tla_access_times;

typedef void (*tla_time_visit)(void *context, const tla_time_part *part);

/* Visits the critical path of a transfer from from_ps to to_ps, chunk by chunk in the order of issue. A chunk is issued
 * when the previous chunk has been issued, and the chunk `window` earlier has ended. The parts are in reverse order,
 * adjacent, and cover all of [from_ps, to_ps). */
void tla_time_chain_of_transfer(const tla_access_times *chunks, size_t count, size_t window, uint64_t from_ps,
                                uint64_t to_ps, tla_time_visit visit, void *context);

/* A piece of work of an engine. */
typedef struct tla_time_span {
    uint64_t begin_ps, end_ps;
    size_t what; /* the caller's number */
} tla_time_span;

/* Visits the critical path of work that several engines share, from the end backwards. Among the spans that ended at
 * that time, or last before it, it selects the span that began last. The call passes each span's part of the path to
 * `on`, and skips idle times between them. Sorts the spans. */
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
    size_t first, count;  /* its sums in the array, which add up to end_ps - begin_ps */
    bool after_a_message; /* it could begin when a message had arrived ... */
    uint32_t program;     /* ... from this program, ... */
    uint64_t sent_ps;     /* ... sent at this time */
} tla_time_stretch;

/* TLA_NO_HOST_MEMORY: *account is NULL. All other functions accept NULL, and then have no effect. */
tla_status tla_time_account_create(tla_time_account **account);
void tla_time_account_destroy(tla_time_account *account);

/* Clears the account; its current time becomes at_ps. */
void tla_time_account_begin(tla_time_account *account, uint64_t at_ps);

/* Registers `visit` for every part that is charged from now on, in the order of time; the parts are adjacent. It must
 * not change the account. NULL: no visitor. */
void tla_time_account_watch(tla_time_account *account, tla_time_visit visit, void *context);

/* Advances to until_ps and charges `kind`, if the current time is earlier. */
void tla_time_account_pass(tla_time_account *account, uint64_t until_ps, tla_time_kind kind);

/* Advances to until_ps. Time inside one of the parts, which must not overlap, is charged to that part, and the rest to
 * `rest`. */
void tla_time_account_pass_parts(tla_time_account *account, uint64_t until_ps, const tla_time_part *parts, size_t count,
                                 tla_time_kind rest);

/* A message leaves at the current time. */
void tla_time_account_send(tla_time_account *account);

/* An awaited message has arrived at the current time. */
void tla_time_account_receive(tla_time_account *account, uint32_t program, uint64_t sent_ps);

/* Return the current time; the number of stretches, the last of which ends now, and all sums. Without host memory a
 * stretch or a sum can be lost: `complete` is then false. */
uint64_t tla_time_account_now(const tla_time_account *account);
size_t tla_time_account_stretches(const tla_time_account *account, const tla_time_stretch **stretches,
                                  const tla_time_sum **sums);
bool tla_time_account_is_complete(const tla_time_account *account);

#ifdef __cplusplus
}
#endif
#endif
