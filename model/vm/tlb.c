/* TLB levels: sets of ways ordered by age, a hash over all of them so that a lookup need not search a set. */
#include "base/numbers.h"
#include "tlmalloc/vm/mmu.h"

#include <stdlib.h>

enum { NONE = -1 };
static const uint64_t FOREVER = UINT64_MAX, ENDING = UINT64_MAX - 1;

typedef struct way {
    uint64_t va, pa;
    uint64_t until_ps; /* UINT64_MAX: no end; ENDING: the time of its end is not known yet */
    uint32_t nbytes;   /* 0: not valid */
    uint32_t asid;
    int32_t chain; /* next of the hash bucket */
    uint32_t set;
    int32_t newer, older; /* of the set, by use (LRU) or fill; ways that are not valid are the oldest */
    uint8_t size, flags;
} way;

typedef struct set {
    int32_t newest, oldest;
    uint32_t valid;
} set;

typedef struct level {
    tla_tlb_level_config config;
    uint32_t set_count, bucket_bits, fork_words;
    way *ways; /* of set s: ways[s * config.ways ...] */
    set *sets;
    int32_t *buckets;
    uint64_t *forks;                   /* PLRU: one bit a fork, fork_words words a set */
    uint32_t live[TLA_PAGE_SIZES_MAX]; /* valid entries of each page size */
    uint32_t ending;                   /* valid entries with an end */
    int32_t last;                      /* the way that was hit or filled last */
    tla_tlb_stats stats;
} level;

struct tla_tlb {
    uint32_t levels, size_count;
    unsigned shift[TLA_PAGE_SIZES_MAX];
    uint64_t random;
    level level[TLA_TLB_LEVELS_MAX];
};

static const char *const names[TLA_REPLACEMENT_COUNT] = {[TLA_REPLACE_LRU] = "lru",
                                                         [TLA_REPLACE_FIFO] = "fifo",
                                                         [TLA_REPLACE_RANDOM] = "random",
                                                         [TLA_REPLACE_PLRU] = "plru"};

const char *tla_replacement_name(tla_replacement replacement) {
    return (unsigned)replacement < TLA_REPLACEMENT_COUNT ? names[replacement] : NULL;
}

/* ---- construction ---- */

static tla_status create_level(level *l, const tla_tlb_level_config *config) {
    l->config = *config;
    uint32_t entries = config->entries;
    if (l->config.ways == 0) l->config.ways = entries;
    uint32_t ways = l->config.ways;
    if (entries == 0 || entries > TLA_TLB_ENTRIES_MAX || entries % ways || !is_power_of_two(entries / ways) ||
        (unsigned)config->replacement >= TLA_REPLACEMENT_COUNT ||
        (config->replacement == TLA_REPLACE_PLRU && !is_power_of_two(ways)))
        return TLA_INVALID_ARGUMENT;
    l->set_count = entries / ways;
    for (l->bucket_bits = 1; UINT32_C(1) << l->bucket_bits < 2 * entries;)
        l->bucket_bits++;
    l->fork_words = (ways + 63) / 64;
    l->ways = calloc(entries, sizeof *l->ways);
    l->sets = calloc(l->set_count, sizeof *l->sets);
    l->buckets = malloc((sizeof *l->buckets) << l->bucket_bits);
    l->forks = calloc((size_t)l->set_count * l->fork_words, sizeof *l->forks);
    if (!l->ways || !l->sets || !l->buckets || !l->forks) return TLA_NO_HOST_MEMORY;
    for (uint32_t b = 0; b < UINT32_C(1) << l->bucket_bits; b++)
        l->buckets[b] = NONE;
    for (uint32_t i = 0; i < entries; i++) { /* way 0 is the oldest, so that it is filled first */
        l->ways[i].set = i / ways;
        l->ways[i].older = i % ways ? (int32_t)i - 1 : NONE;
        l->ways[i].newer = (i + 1) % ways ? (int32_t)i + 1 : NONE;
    }
    for (uint32_t s = 0; s < l->set_count; s++)
        l->sets[s] = (set){.oldest = (int32_t)(s * ways), .newest = (int32_t)(s * ways + ways - 1)};
    return TLA_OK;
}

tla_status tla_tlb_create(const tla_tlb_config *config, tla_tlb **out) {
    *out = NULL;
    if (config->levels > TLA_TLB_LEVELS_MAX) return TLA_INVALID_ARGUMENT;
    tla_tlb *tlb = calloc(1, sizeof *tlb);
    if (!tlb) return TLA_NO_HOST_MEMORY;
    tlb->random = config->seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    if (tlb->random == 0) tlb->random = 1; /* the one state that xorshift does not leave */
    tla_status status = TLA_OK;
    uint64_t previous = 1;
    for (size_t i = 0; i < TLA_PAGE_SIZES_MAX && config->page_sizes[i] && !status; i++) {
        uint64_t size = config->page_sizes[i];
        if (!is_power_of_two(size) || size <= previous || size > UINT64_C(1) << 30) status = TLA_INVALID_ARGUMENT;
        tlb->shift[tlb->size_count++] = (unsigned)__builtin_ctzll(size);
        previous = size;
    }
    if (tlb->size_count == 0) status = TLA_INVALID_ARGUMENT;
    for (uint32_t i = 0; i < config->levels && !status; i++) {
        tlb->levels++; /* a partly built TLB is destroyed with it */
        status = create_level(&tlb->level[i], &config->level[i]);
    }
    if (status) {
        tla_tlb_destroy(tlb);
        return status;
    }
    *out = tlb;
    return TLA_OK;
}

void tla_tlb_destroy(tla_tlb *tlb) {
    if (!tlb) return;
    for (uint32_t i = 0; i < tlb->levels; i++) {
        free(tlb->level[i].ways);
        free(tlb->level[i].sets);
        free(tlb->level[i].buckets);
        free(tlb->level[i].forks);
    }
    free(tlb);
}

/* ---- age ---- */

static set *set_of(level *l, int32_t i) {
    return &l->sets[(uint32_t)i / l->config.ways];
}

static void unlink_way(level *l, int32_t i) {
    way *w = &l->ways[i];
    set *s = set_of(l, i);
    *(w->newer == NONE ? &s->newest : &l->ways[w->newer].older) = w->older;
    *(w->older == NONE ? &s->oldest : &l->ways[w->older].newer) = w->newer;
}

static void make_newest(level *l, int32_t i) {
    if (l->ways[i].newer == NONE) return;
    set *s = set_of(l, i);
    unlink_way(l, i);
    l->ways[i].newer = NONE;
    l->ways[i].older = s->newest;
    l->ways[s->newest].newer = i;
    s->newest = i;
}

static void make_oldest(level *l, int32_t i) {
    if (l->ways[i].older == NONE) return;
    set *s = set_of(l, i);
    unlink_way(l, i);
    l->ways[i].older = NONE;
    l->ways[i].newer = s->oldest;
    l->ways[s->oldest].older = i;
    s->oldest = i;
}

/* PLRU forks are numbered as a heap: below fork n are 2n and 2n + 1, from 1 on; a bit gives the next side. */
static void point_away(level *l, int32_t i) {
    uint32_t ways = l->config.ways, s = l->ways[i].set;
    uint64_t *forks = l->forks + (size_t)s * l->fork_words;
    for (uint32_t n = (uint32_t)i - s * ways + ways; n > 1; n /= 2) {
        uint32_t fork = n / 2;
        uint64_t bit = UINT64_C(1) << fork % 64;
        if (n % 2)
            forks[fork / 64] &= ~bit;
        else
            forks[fork / 64] |= bit;
    }
}

static int32_t pointed_at(const level *l, uint32_t s) {
    const uint64_t *forks = l->forks + (size_t)s * l->fork_words;
    uint32_t n = 1;
    while (n < l->config.ways)
        n = 2 * n + (forks[n / 64] >> n % 64 & 1);
    return (int32_t)(s * l->config.ways + n - l->config.ways);
}

static void use(level *l, int32_t i) {
    l->last = i;
    if (l->config.replacement == TLA_REPLACE_LRU) make_newest(l, i);
    if (l->config.replacement == TLA_REPLACE_PLRU) point_away(l, i);
}

static uint64_t next_random(tla_tlb *tlb) { /* xorshift64* (Vigna 2016) */
    uint64_t x = tlb->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    tlb->random = x;
    return x * UINT64_C(0x2545F4914F6CDD1D);
}

static int32_t victim(tla_tlb *tlb, level *l, uint32_t s) {
    uint32_t ways = l->config.ways;
    if (l->sets[s].valid < ways) return l->sets[s].oldest; /* not valid */
    if (l->config.replacement == TLA_REPLACE_PLRU) return pointed_at(l, s);
    if (l->config.replacement == TLA_REPLACE_RANDOM)
        return (int32_t)(s * ways + (uint32_t)((next_random(tlb) >> 32) * ways >> 32));
    return l->sets[s].oldest;
}

/* ---- entries ---- */

static int32_t *bucket(const tla_tlb *tlb, const level *l, uint32_t asid, uint64_t va, uint32_t size) {
    uint64_t key = (va >> tlb->shift[size]) * 4 + size + ((uint64_t)asid << 48);
    return &l->buckets[key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - l->bucket_bits)];
}

static bool holds(const way *w, uint32_t asid, uint64_t va) {
    return va - w->va < w->nbytes && w->asid == asid;
}

static int32_t find(const tla_tlb *tlb, const level *l, uint32_t asid, uint64_t va) {
    if (holds(&l->ways[l->last], asid, va)) return l->last;
    for (uint32_t size = 0; size < tlb->size_count; size++) {
        if (l->live[size] == 0) continue;
        for (int32_t i = *bucket(tlb, l, asid, va, size); i != NONE; i = l->ways[i].chain)
            if (holds(&l->ways[i], asid, va)) return i;
    }
    return NONE;
}

static void drop(const tla_tlb *tlb, level *l, int32_t i) {
    way *w = &l->ways[i];
    int32_t *link = bucket(tlb, l, w->asid, w->va, w->size);
    while (*link != i)
        link = &l->ways[*link].chain;
    *link = w->chain;
    l->live[w->size]--;
    l->ending -= w->until_ps != FOREVER;
    w->nbytes = 0;
    set_of(l, i)->valid--;
    l->stats.valid--;
    make_oldest(l, i);
}

/* The effect of an invalidation on an entry; returns 1 when it counts. */
typedef uint64_t (*way_action)(const tla_tlb *tlb, level *l, int32_t i);

static uint64_t drop_way(const tla_tlb *tlb, level *l, int32_t i) {
    uint64_t counts = l->ways[i].until_ps == FOREVER; /* else it was counted when its end was decided */
    drop(tlb, l, i);
    return counts;
}

static uint64_t end_way(const tla_tlb *tlb, level *l, int32_t i) {
    (void)tlb;
    way *w = &l->ways[i];
    if (w->until_ps != FOREVER) return 0;
    w->until_ps = ENDING;
    l->ending++;
    return 1;
}

/* Does so to what overlaps va .. last among the entries of one page; returns how many counted. */
static uint64_t act_in_page(const tla_tlb *tlb, level *l, way_action act, uint32_t asid, uint64_t va, uint64_t last,
                            uint32_t size, uint64_t page_va) {
    uint64_t count = 0;
    for (int32_t i = *bucket(tlb, l, asid, page_va, size), next; i != NONE; i = next) {
        const way *w = &l->ways[i];
        next = w->chain;
        if (w->asid != asid || w->size != size || w->va > last || w->va + (w->nbytes - 1) < va) continue;
        count += act(tlb, l, i);
    }
    return count;
}

/* Finds the entry with exactly this translation. */
static int32_t find_same(const tla_tlb *tlb, const level *l, const way *entry) {
    int32_t i = *bucket(tlb, l, entry->asid, entry->va, entry->size);
    for (; i != NONE; i = l->ways[i].chain) {
        const way *w = &l->ways[i];
        if (w->va == entry->va && w->nbytes == entry->nbytes && w->asid == entry->asid && w->size == entry->size &&
            w->pa == entry->pa && w->flags == entry->flags)
            break;
    }
    return i;
}

static void fill(tla_tlb *tlb, level *l, const way *entry) {
    int32_t same = find_same(tlb, l, entry);
    if (same != NONE) {
        way *w = &l->ways[same];
        if (entry->until_ps > w->until_ps) {
            w->until_ps = entry->until_ps;
            l->ending -= w->until_ps == FOREVER;
        }
        return;
    }
    act_in_page(tlb, l, drop_way, entry->asid, entry->va, entry->va + (entry->nbytes - 1), entry->size, entry->va);
    uint32_t s = (uint32_t)(entry->va >> tlb->shift[entry->size]) & (l->set_count - 1);
    int32_t i = victim(tlb, l, s);
    way *w = &l->ways[i];
    if (w->nbytes) {
        drop(tlb, l, i);
        l->stats.evictions++;
    }
    int32_t *head = bucket(tlb, l, entry->asid, entry->va, entry->size), newer = w->newer, older = w->older;
    *w = *entry;
    w->chain = *head;
    w->set = s;
    w->newer = newer;
    w->older = older;
    *head = i;
    l->live[w->size]++;
    l->ending += w->until_ps != FOREVER;
    l->sets[s].valid++;
    l->stats.valid++;
    l->stats.fills++;
    make_newest(l, i);
    use(l, i);
}

/* An entry that has ended is dropped when a lookup finds it: it may hide an entry of another page size. */
static int32_t find_valid(const tla_tlb *tlb, level *l, uint32_t asid, uint64_t va, uint64_t at_ps) {
    int32_t i = find(tlb, l, asid, va);
    while (i != NONE && l->ways[i].until_ps <= at_ps) {
        drop(tlb, l, i);
        i = find(tlb, l, asid, va);
    }
    return i;
}

bool tla_tlb_lookup(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t at_ps, tla_tlb_hit *hit) {
    uint64_t latency_ps = 0;
    for (uint32_t n = 0; n < tlb->levels; n++) {
        level *l = &tlb->level[n];
        latency_ps += l->config.latency_ps;
        l->stats.lookups++;
        int32_t i = find_valid(tlb, l, asid, va.value, at_ps);
        if (i == NONE) continue;
        l->stats.hits++;
        use(l, i);
        const way *w = &l->ways[i];
        *hit = (tla_tlb_hit){{w->va}, w->nbytes, {w->pa}, w->flags, n, latency_ps};
        for (uint32_t nearer = 0; nearer < n; nearer++)
            fill(tlb, &tlb->level[nearer], w);
        return true;
    }
    hit->level = tlb->levels;
    hit->latency_ps = latency_ps;
    return false;
}

/* Fills the nearest levels, so many. */
static tla_status fill_levels(tla_tlb *tlb, uint32_t levels, const tla_walk *walk, uint64_t until_ps) {
    uint32_t size = 0;
    while (size < tlb->size_count && UINT64_C(1) << tlb->shift[size] != walk->page_size)
        size++;
    if (size == tlb->size_count || walk->nbytes == 0 || walk->nbytes > walk->page_size) return TLA_INVALID_ARGUMENT;
    way entry = {.va = walk->va.value,
                 .pa = walk->pa.value,
                 .until_ps = until_ps,
                 .nbytes = (uint32_t)walk->nbytes,
                 .asid = walk->asid,
                 .size = (uint8_t)size,
                 .flags = (uint8_t)walk->flags};
    for (uint32_t n = 0; n < levels; n++)
        fill(tlb, &tlb->level[n], &entry);
    return TLA_OK;
}

tla_status tla_tlb_fill(tla_tlb *tlb, const tla_walk *walk) {
    return tla_tlb_fill_until(tlb, walk, FOREVER);
}

tla_status tla_tlb_fill_until(tla_tlb *tlb, const tla_walk *walk, uint64_t until_ps) {
    return fill_levels(tlb, tlb->levels, walk, until_ps);
}

tla_status tla_tlb_fill_nearer(tla_tlb *tlb, const tla_walk *walk) {
    return fill_levels(tlb, tlb->levels ? tlb->levels - 1 : 0, walk, FOREVER);
}

/* ---- invalidation ---- */

/* The entries of an invalidation: of an ASID, or of all; entries that overlap va .. last. */
typedef struct victims {
    bool any_asid;
    uint32_t asid;
    uint64_t va, last;
} victims;

static uint64_t act_on_all(const tla_tlb *tlb, level *l, way_action act, const victims *v) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < l->config.entries; i++) {
        const way *w = &l->ways[i];
        if (w->nbytes == 0 || (!v->any_asid && w->asid != v->asid) || w->va > v->last ||
            w->va + (w->nbytes - 1) < v->va)
            continue;
        count += act(tlb, l, (int32_t)i);
    }
    return count;
}

/* The same by asking for every page of a range: cheaper than looking at all entries while the range is short. */
static uint64_t act_on_pages(const tla_tlb *tlb, level *l, way_action act, const victims *v) {
    uint64_t count = 0;
    for (uint32_t size = 0; size < tlb->size_count; size++) {
        if (l->live[size] == 0) continue;
        uint64_t first_page = v->va >> tlb->shift[size], last_page = v->last >> tlb->shift[size];
        for (uint64_t page = first_page; page <= last_page; page++)
            count += act_in_page(tlb, l, act, v->asid, v->va, v->last, size, page << tlb->shift[size]);
    }
    return count;
}

static uint64_t invalidate(tla_tlb *tlb, way_action act, const victims *v) {
    enum { PAGE_COST = 8 }; /* a page asked for costs about as much as this many entries looked at */
    uint64_t count = 0;
    for (uint32_t n = 0; n < tlb->levels; n++) {
        level *l = &tlb->level[n];
        bool few = !v->any_asid && ((v->last - v->va) >> tlb->shift[0]) < l->config.entries / PAGE_COST;
        uint64_t met = few ? act_on_pages(tlb, l, act, v) : act_on_all(tlb, l, act, v);
        l->stats.invalidated += met;
        count += met;
    }
    return count;
}

static victims in_range(uint32_t asid, tla_vaddr va, uint64_t nbytes) {
    uint64_t last = nbytes - 1 > UINT64_MAX - va.value ? UINT64_MAX : va.value + (nbytes - 1);
    return (victims){false, asid, va.value, last};
}

uint64_t tla_tlb_invalidate_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes) {
    victims v = in_range(asid, va, nbytes);
    return nbytes ? invalidate(tlb, drop_way, &v) : 0;
}

uint64_t tla_tlb_invalidate_asid(tla_tlb *tlb, uint32_t asid) {
    return invalidate(tlb, drop_way, &(victims){false, asid, 0, UINT64_MAX});
}

uint64_t tla_tlb_invalidate_all(tla_tlb *tlb) {
    return invalidate(tlb, drop_way, &(victims){true, 0, 0, UINT64_MAX});
}

void tla_tlb_end_range(tla_tlb *tlb, uint32_t asid, tla_vaddr va, uint64_t nbytes) {
    victims v = in_range(asid, va, nbytes);
    if (nbytes) invalidate(tlb, end_way, &v);
}

void tla_tlb_end_asid(tla_tlb *tlb, uint32_t asid) {
    invalidate(tlb, end_way, &(victims){false, asid, 0, UINT64_MAX});
}

void tla_tlb_end(tla_tlb *tlb, uint64_t until_ps) {
    for (uint32_t n = 0; n < tlb->levels; n++) {
        level *l = &tlb->level[n];
        for (uint32_t i = 0; l->ending && i < l->config.entries; i++)
            if (l->ways[i].nbytes && l->ways[i].until_ps == ENDING) l->ways[i].until_ps = until_ps;
    }
}

void tla_tlb_advance(tla_tlb *tlb, uint64_t now_ps) {
    for (uint32_t n = 0; n < tlb->levels; n++) {
        level *l = &tlb->level[n];
        for (uint32_t i = 0; l->ending && i < l->config.entries; i++)
            if (l->ways[i].nbytes && l->ways[i].until_ps <= now_ps) drop(tlb, l, (int32_t)i);
    }
}

tla_tlb_stats tla_tlb_get_stats(const tla_tlb *tlb, uint32_t n) {
    return n < tlb->levels ? tlb->level[n].stats : (tla_tlb_stats){0};
}
