/* Resident pages: for each memory an array, in the order of the hand's circle (clock), or of use (lru). */
#include "kernel/resident_pages.h"

#include <stdlib.h>
#include <string.h>

const char *tla_eviction_name(tla_eviction eviction) {
    static const char *const names[] = {"off", "clock", "lru"};
    return (unsigned)eviction < TLA_EVICTION_COUNT ? names[eviction] : NULL;
}

typedef struct page {
    tla_vaddr va;
    bool referenced; /* clock: its bit was read before the hand came to it; lru: this search has found it referenced */
} page;

typedef struct memory {
    uint32_t number;
    page *pages; /* of twice the capacity: lru sorts in the second half */
    size_t count, capacity;
    size_t hand; /* clock: the next page that it meets; count is the same as 0 */
} memory;

struct tla_resident_pages {
    tla_eviction policy;
    memory *memories;
    size_t memory_count;
    /* The search. */
    memory *in;
    size_t passed; /* pages that it has decided about */
    size_t asked;  /* of the pages behind them, whose bits are being read */
    bool found;
    tla_vaddr victim;
};

tla_status tla_resident_pages_create(tla_eviction policy, tla_resident_pages **out) {
    *out = NULL;
    if (policy != TLA_EVICTION_CLOCK && policy != TLA_EVICTION_LRU) return TLA_INVALID_ARGUMENT;
    tla_resident_pages *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->policy = policy;
    *out = made;
    return TLA_OK;
}

void tla_resident_pages_destroy(tla_resident_pages *p) {
    if (!p) return;
    for (size_t i = 0; i < p->memory_count; i++)
        free(p->memories[i].pages);
    free(p->memories);
    free(p);
}

static memory *find(const tla_resident_pages *p, uint32_t number) {
    for (size_t i = 0; i < p->memory_count; i++)
        if (p->memories[i].number == number) return &p->memories[i];
    return NULL;
}

static memory *find_or_make(tla_resident_pages *p, uint32_t number) {
    memory *const found = find(p, number);
    if (found) return found;
    memory *const grown = realloc(p->memories, (p->memory_count + 1) * sizeof *grown);
    if (!grown) return NULL;
    p->memories = grown;
    grown[p->memory_count] = (memory){.number = number};
    return &grown[p->memory_count++];
}

tla_status tla_resident_pages_add(tla_resident_pages *p, uint32_t number, tla_vaddr va) {
    memory *const m = find_or_make(p, number);
    if (!m) return TLA_NO_HOST_MEMORY;
    if (m->count == m->capacity) {
        const size_t capacity = m->capacity ? 2 * m->capacity : 16;
        page *const grown = realloc(m->pages, 2 * capacity * sizeof *grown);
        if (!grown) return TLA_NO_HOST_MEMORY;
        m->pages = grown;
        m->capacity = capacity;
    }
    const size_t at = p->policy == TLA_EVICTION_CLOCK ? m->hand : m->count; /* behind the hand, or last used */
    if (m->count > at) memmove(&m->pages[at + 1], &m->pages[at], (m->count - at) * sizeof m->pages[0]);
    m->pages[at] = (page){va, false};
    m->count++;
    m->hand += p->policy == TLA_EVICTION_CLOCK;
    return TLA_OK;
}

void tla_resident_pages_remove(tla_resident_pages *p, tla_vaddr va, uint64_t nbytes) {
    for (size_t i = 0; i < p->memory_count; i++) {
        memory *const m = &p->memories[i];
        size_t kept = 0, hand = m->hand;
        for (size_t j = 0; j < m->count; j++) {
            const bool goes = m->pages[j].va.value - va.value < nbytes;
            hand -= goes && j < m->hand;
            if (!goes) m->pages[kept++] = m->pages[j];
        }
        m->count = kept;
        m->hand = hand;
    }
}

void tla_resident_pages_search(tla_resident_pages *p, uint32_t number) {
    p->in = find(p, number);
    p->passed = p->asked = 0;
    p->found = false;
}

/* The i-th page that a search has not decided about. */
static page *next_page(const tla_resident_pages *p, size_t i) {
    memory *const m = p->in;
    return &m->pages[p->policy == TLA_EVICTION_CLOCK ? (m->hand + i) % m->count : p->passed + i];
}

/* Lru: moves the pages that this search has found referenced behind the others, in their order. */
static void sort_by_use(memory *m) {
    page *const used = &m->pages[m->capacity];
    size_t kept = 0, moved = 0;
    for (size_t i = 0; i < m->count; i++)
        if (m->pages[i].referenced)
            used[moved++] = (page){m->pages[i].va, false};
        else
            m->pages[kept++] = m->pages[i];
    memcpy(&m->pages[kept], used, moved * sizeof *used);
}

size_t tla_resident_pages_ask(tla_resident_pages *p, tla_vaddr asked[TLA_RESIDENT_PAGES_ASKED_MAX]) {
    if (!p->in || p->in->count == 0 || p->found) return 0;
    const size_t left = p->in->count - p->passed;
    p->asked = left < TLA_RESIDENT_PAGES_ASKED_MAX ? left : TLA_RESIDENT_PAGES_ASKED_MAX;
    for (size_t i = 0; i < p->asked; i++)
        asked[i] = next_page(p, i)->va;
    if (p->asked > 0) return p->asked;
    memory *const m = p->in;
    if (p->policy == TLA_EVICTION_LRU) sort_by_use(m);
    p->found = true;
    p->victim = m->pages[p->policy == TLA_EVICTION_LRU ? 0 : m->hand % m->count].va;
    if (p->policy == TLA_EVICTION_CLOCK) m->hand = m->hand % m->count + 1;
    return 0;
}

void tla_resident_pages_answer(tla_resident_pages *p, uint64_t referenced) {
    memory *const m = p->in;
    for (size_t i = 0; i < p->asked; i++)
        next_page(p, i)->referenced |= referenced >> i & 1;
    if (p->policy == TLA_EVICTION_LRU) p->passed += p->asked;
    for (size_t i = 0; p->policy == TLA_EVICTION_CLOCK && i < p->asked && !p->found; i++) {
        page *const met = next_page(p, 0);
        p->found = !met->referenced;
        p->victim = met->va;
        met->referenced = false;
        m->hand = m->hand % m->count + 1;
        p->passed++;
    }
}

bool tla_resident_pages_victim(tla_resident_pages *p, tla_vaddr *va) {
    *va = p->victim;
    return p->found;
}

size_t tla_resident_pages_count(const tla_resident_pages *p) {
    size_t count = 0;
    for (size_t i = 0; i < p->memory_count; i++)
        count += p->memories[i].count;
    return count;
}
