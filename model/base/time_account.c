/* Accounts of time: sums for each stretch, and the chains that explain the waits. */
#include "tlmalloc/base/time_account.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

const char *tla_time_kind_name(tla_time_kind kind) {
    static const char *const names[TLA_TIME_KIND_COUNT] = {
        "other",      "dispatch",     "alloc",      "alloc_queue",  "engine_queue",   "issue",
        "lookup",     "walk",         "fault",      "move",         "link",           "bank",
        "tcm",        "tile",         "arithmetic", "message_wait", "message_credit", "message",
        "host_alloc", "host_command", "host_map",   "host_copy",    "host_launch"};
    return (unsigned)kind < TLA_TIME_KIND_COUNT ? names[kind] : NULL;
}

/* --- chains ------------------------------------------------------------------------------------------------------- */

typedef struct chain {
    uint64_t from_ps, at_ps; /* everything behind at_ps has been visited */
    tla_time_visit visit;
    void *context;
} chain;

/* Goes back to begin_ps. */
static void go_back(chain *c, uint64_t begin_ps, tla_time_charge charge) {
    tla_time_part part = {charge, begin_ps > c->from_ps ? begin_ps : c->from_ps, c->at_ps};
    if (part.begin_ps >= c->at_ps) return;
    c->at_ps = part.begin_ps;
    c->visit(c->context, &part);
}

static tla_time_charge of_kind(tla_time_kind kind) {
    return (tla_time_charge){kind, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE};
}

/* An access waits for a moving block before its page faults, or after them. */
static void go_back_through_mmu(chain *c, const tla_access_times *chunk) {
    const tla_time_charge mmu = of_kind(chunk->walked ? TLA_TIME_WALK : TLA_TIME_LOOKUP), move = of_kind(TLA_TIME_MOVE);
    const bool waited_after = chunk->resumed_ps && chunk->entered_ps >= chunk->resumed_ps;
    const bool waited_before = chunk->entered_ps && (!chunk->resumed_ps || chunk->entered_ps <= chunk->faulted_ps);
    if (waited_after) go_back(c, chunk->entered_ps, mmu);
    if (chunk->resumed_ps) {
        go_back(c, chunk->resumed_ps, waited_after ? move : mmu);
        go_back(c, chunk->faulted_ps, of_kind(TLA_TIME_FAULT));
    }
    if (waited_before) go_back(c, chunk->entered_ps, mmu);
    go_back(c, chunk->sent_ps, waited_before ? move : mmu);
}

static void go_back_through(chain *c, const tla_access_times *chunk) {
    const tla_time_charge tcm = of_kind(TLA_TIME_TCM), link = {TLA_TIME_LINK, chunk->link, TLA_TIME_NOWHERE};
    const tla_time_charge bank = {TLA_TIME_BANK, chunk->memory, chunk->unit};
    if (chunk->returned_ps) go_back(c, chunk->returned_ps, tcm);
    if (chunk->served_ps) go_back(c, chunk->served_ps, link);
    if (chunk->arrived_ps) go_back(c, chunk->arrived_ps, bank);
    if (chunk->translated_ps) go_back(c, chunk->translated_ps, link);
    if (chunk->translated_ps || chunk->entered_ps || chunk->resumed_ps) go_back_through_mmu(c, chunk);
    go_back(c, chunk->sent_ps, link);
    go_back(c, chunk->start_ps, tcm);
}

void tla_time_chain_of_transfer(const tla_access_times *chunks, size_t count, size_t window, uint64_t from_ps,
                                uint64_t to_ps, tla_time_visit visit, void *context) {
    chain c = {from_ps, to_ps, visit, context};
    size_t i = 0;
    for (size_t j = 1; j < count; j++)
        if (chunks[j].end_ps >= chunks[i].end_ps) i = j;
    if (count > 0) {
        go_back(&c, chunks[i].end_ps, of_kind(TLA_TIME_ISSUE));
        go_back_through(&c, &chunks[i]);
    }
    while (count > 0 && c.at_ps > from_ps) {
        if (i >= window && chunks[i - window].end_ps == chunks[i].start_ps) {
            i -= window;
            go_back_through(&c, &chunks[i]);
        } else if (i > 0) {
            i--;
            go_back(&c, chunks[i].start_ps, of_kind(TLA_TIME_ISSUE));
        } else {
            break;
        }
    }
    go_back(&c, from_ps, of_kind(TLA_TIME_ENGINE_QUEUE));
}

static int compare(const void *left, const void *right) {
    const tla_time_span *const a = left, *const b = right;
    if (a->end_ps != b->end_ps) return a->end_ps < b->end_ps ? -1 : 1;
    return a->begin_ps < b->begin_ps ? -1 : a->begin_ps > b->begin_ps;
}

void tla_time_chain_of_spans(tla_time_span *spans, size_t count, uint64_t from_ps, uint64_t to_ps,
                             void (*on)(void *context, size_t what, uint64_t begin_ps, uint64_t end_ps),
                             void *context) {
    uint64_t at_ps = to_ps;
    if (count > 0) qsort(spans, count, sizeof *spans, compare);
    for (size_t i = count; i-- > 0 && at_ps > from_ps;) {
        if (spans[i].end_ps > at_ps) continue;
        const uint64_t begin_ps = spans[i].begin_ps > from_ps ? spans[i].begin_ps : from_ps;
        if (begin_ps >= spans[i].end_ps) continue;
        on(context, spans[i].what, begin_ps, spans[i].end_ps);
        at_ps = begin_ps;
    }
}

/* --- accounts ----------------------------------------------------------------------------------------------------- */

struct tla_time_account {
    uint64_t now_ps;
    tla_time_stretch *stretches; /* the last one is open */
    tla_time_sum *sums;
    size_t stretch_count, stretch_room, sum_count, sum_room;
    bool complete;
    tla_time_visit watch; /* or NULL */
    void *watch_context;
};

static void open_stretch(tla_time_account *a) {
    if (!tla_grow(&a->stretches, &a->stretch_room, a->stretch_count + 1, sizeof *a->stretches)) {
        a->complete = false;
        return;
    }
    a->stretches[a->stretch_count++] =
        (tla_time_stretch){.begin_ps = a->now_ps, .end_ps = a->now_ps, .first = a->sum_count};
}

tla_status tla_time_account_create(tla_time_account **account) {
    *account = calloc(1, sizeof **account);
    return *account ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_time_account_destroy(tla_time_account *account) {
    if (!account) return;
    free(account->stretches);
    free(account->sums);
    free(account);
}

void tla_time_account_begin(tla_time_account *account, uint64_t at_ps) {
    if (!account) return;
    account->now_ps = at_ps;
    account->stretch_count = account->sum_count = 0;
    account->complete = true;
    open_stretch(account);
}

static bool is_same(tla_time_charge a, tla_time_charge b) {
    return a.kind == b.kind && a.place == b.place && a.unit == b.unit;
}

/* Goes on by ps. */
static void charge(tla_time_account *a, uint64_t ps, tla_time_charge what) {
    if (ps == 0) return;
    const tla_time_part part = {what, a->now_ps, a->now_ps + ps};
    a->now_ps += ps;
    if (a->watch) a->watch(a->watch_context, &part);
    if (a->stretch_count == 0) return;
    tla_time_stretch *const open = &a->stretches[a->stretch_count - 1];
    open->end_ps = a->now_ps;
    for (size_t i = open->first; i < open->first + open->count; i++)
        if (is_same(a->sums[i].charge, what)) {
            a->sums[i].ps += ps;
            return;
        }
    if (!tla_grow(&a->sums, &a->sum_room, a->sum_count + 1, sizeof *a->sums)) {
        a->complete = false;
        return;
    }
    a->sums[a->sum_count++] = (tla_time_sum){what, ps};
    open->count++;
}

void tla_time_account_watch(tla_time_account *account, tla_time_visit visit, void *context) {
    if (!account) return;
    account->watch = visit;
    account->watch_context = context;
}

void tla_time_account_pass(tla_time_account *account, uint64_t until_ps, tla_time_kind kind) {
    tla_time_account_pass_parts(account, until_ps, NULL, 0, kind);
}

void tla_time_account_pass_parts(tla_time_account *account, uint64_t until_ps, const tla_time_part *parts, size_t count,
                                 tla_time_kind rest) {
    if (!account || until_ps <= account->now_ps) return;
    const uint64_t since_ps = account->now_ps;
    for (size_t i = 0; i < count; i++) {
        const uint64_t begin_ps = parts[i].begin_ps > since_ps ? parts[i].begin_ps : since_ps;
        const uint64_t end_ps = parts[i].end_ps < until_ps ? parts[i].end_ps : until_ps;
        if (begin_ps < end_ps && end_ps - begin_ps <= until_ps - account->now_ps)
            charge(account, end_ps - begin_ps, parts[i].charge);
    }
    charge(account, until_ps - account->now_ps, of_kind(rest));
}

void tla_time_account_send(tla_time_account *account) {
    if (!account || account->stretch_count == 0) return;
    const tla_time_stretch *const open = &account->stretches[account->stretch_count - 1];
    if (open->begin_ps < account->now_ps || open->after_a_message) open_stretch(account);
}

void tla_time_account_receive(tla_time_account *account, uint32_t program, uint64_t sent_ps) {
    if (!account) return;
    open_stretch(account);
    if (account->stretch_count == 0) return;
    tla_time_stretch *const open = &account->stretches[account->stretch_count - 1];
    open->after_a_message = true;
    open->program = program;
    open->sent_ps = sent_ps;
}

uint64_t tla_time_account_now(const tla_time_account *account) {
    return account ? account->now_ps : 0;
}

size_t tla_time_account_stretches(const tla_time_account *account, const tla_time_stretch **stretches,
                                  const tla_time_sum **sums) {
    *stretches = account ? account->stretches : NULL;
    *sums = account ? account->sums : NULL;
    return account ? account->stretch_count : 0;
}

bool tla_time_account_is_complete(const tla_time_account *account) {
    return account && account->complete;
}
