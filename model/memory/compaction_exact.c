/* The exact planner: sets of blocks in the order of their bytes, and for each set the question whether its blocks and
 * the hole fit between the blocks that stay.
 *
 * A plan that moves each block once is such a set, places for it (a packing of bins with the hole as one more item),
 * and an order in which every place is free when its block moves. Few sets come up: if an item fits in no bin, more
 * blocks must move so that a bin joins its neighbours, and only the shortest runs of blocks that do so are added. If
 * every item fits alone but not all fit together, each other block is added in turn.
 *
 * Every plan can be pushed down, the lowest item first, until each item lies on a block that stays, on another item, or
 * on the old place of a block that moves later. No other places are tried. In a bin without old places the largest item
 * comes first: sizes are multiples of alignments, so that no other order has more room.
 *
 * If a set has places but no order, blocks may have to move more than once. compaction_sequence.c searches for such
 * plans where they could be cheaper. */
#include "compaction_search.h"

#include "base/grow.h"
#include "cache/live_addresses.h"

#include <stdlib.h>

enum { ITEMS_MAX = TLA_COMPACTION_EXACT_MAX + 1, STAYS = 255 };
static const size_t NONE = SIZE_MAX;

/* Bytes between blocks that stay; for buddies a part of them that is a buddy. */
typedef struct bin {
    uint64_t begin, end;
    size_t first, sources; /* the blocks that it contains, and that move */
    uint64_t used;         /* by the items in it */
} bin;

typedef struct item {
    uint64_t nbytes, alignment;
    size_t block; /* NONE: the hole */
    size_t bin;
    uint64_t at;
    bool placed; /* in a bin with sources */
} item;

typedef struct search {
    const tla_compaction_problem *problem;
    tla_compaction_plan *plan;
    size_t movers[TLA_COMPACTION_EXACT_MAX]; /* blocks that can move, the largest first */
    size_t mover_count;
    uint8_t *mover_of; /* of each block: its number in movers, or STAYS */
    uint64_t set;      /* that is looked at: a bit for each mover */
    uint64_t nbytes;   /* its bytes */
    bin *bins;
    size_t bin_count, bin_room;
    item items[ITEMS_MAX]; /* the hole, then the set, the largest first */
    size_t item_count;
    bool without_order; /* the set has places, but no order */
    uint64_t twice;     /* no plan that moves a block more than once has fewer bytes */
    tla_candidates sets;
    tla_live_addresses seen;
    tla_status status;
} search;

/* Ends the search. */
static bool stop(search *s, tla_status status) {
    s->status = status;
    return true;
}

static bool has_no_try(search *s) {
    return !tla_compaction_try(s->problem, s->plan) && stop(s, TLA_LIMIT);
}

static bool is_in_set(const search *s, size_t block) {
    return s->mover_of[block] != STAYS && s->set >> s->mover_of[block] & 1;
}

/* ---- bins ---- */

static tla_status add_bin(search *s, bin added) {
    if (!tla_grow(&s->bins, &s->bin_room, s->bin_count + 1, sizeof *s->bins)) return TLA_NO_HOST_MEMORY;
    s->bins[s->bin_count++] = added;
    return TLA_OK;
}

/* The bytes between two blocks that stay; `sources` blocks from `first` on lie in them. */
static tla_status add_bins(search *s, uint64_t begin, uint64_t end, size_t first, size_t sources) {
    const tla_compaction_problem *p = s->problem;
    tla_status status = TLA_OK;
    begin = tla_compaction_round_up(begin, p->alignment);
    if (begin >= end) return TLA_OK;
    if (!p->buddies) return add_bin(s, (bin){begin, end, first, sources, 0});
    while (begin < end && !status) {
        uint64_t nbytes = tla_compaction_largest_buddy(begin, end);
        bin added = {begin, begin + nbytes, first, 0, 0};
        while (added.sources < sources && p->blocks[first + added.sources].at.offset < added.end)
            added.sources++;
        first += added.sources;
        sources -= added.sources;
        begin = added.end;
        status = add_bin(s, added);
    }
    return status;
}

static tla_status make_bins(search *s) {
    const tla_compaction_problem *p = s->problem;
    uint64_t begin = p->heap.offset;
    size_t first = 0;
    tla_status status = TLA_OK;
    s->bin_count = 0;
    for (size_t i = 0; i <= p->count && !status; i++) {
        if (i < p->count && is_in_set(s, i)) continue;
        status = add_bins(s, begin, tla_compaction_gap_end(p, i), first, i - first);
        if (i < p->count) begin = tla_compaction_end(p->blocks[i].at);
        first = i + 1;
    }
    return status;
}

static void make_items(search *s) {
    const tla_compaction_problem *p = s->problem;
    s->items[0] = (item){p->hole, tla_compaction_hole_alignment(p), NONE, 0, 0, false};
    s->item_count = 1;
    for (size_t i = 0; i < s->mover_count; i++) {
        const uint64_t nbytes = p->blocks[s->movers[i]].at.nbytes;
        if (s->set >> i & 1)
            s->items[s->item_count++] = (item){nbytes, tla_compaction_alignment(p, nbytes), s->movers[i], 0, 0, false};
    }
}

/* An item that is too large for every bin; NULL: there is none. */
static const item *find_homeless(const search *s) {
    for (size_t i = 0; i < s->item_count; i++) {
        const item *it = &s->items[i];
        uint64_t at;
        size_t b = 0;
        while (b < s->bin_count &&
               !tla_compaction_fits(s->bins[b].begin, s->bins[b].end, it->nbytes, it->alignment, &at))
            b++;
        if (b == s->bin_count) return it;
    }
    return NULL;
}

/* ---- places and order of a set ---- */

static const tla_block *place_of(const search *s, const item *it) {
    return &s->problem->blocks[it->block].at;
}

/* Whether bytes of a block that has not moved lie in the new place of an item. */
static bool is_in_the_way(const search *s, const item *it, const item *other) {
    const tla_block *old = place_of(s, other);
    return tla_compaction_overlap(it->at, it->nbytes, old->offset, old->nbytes);
}

/* All items have places: moves each as soon as its place is free. */
static bool find_order(search *s) {
    uint64_t waiting = s->item_count == ITEMS_MAX ? UINT64_MAX : ((uint64_t)1 << (s->item_count - 1)) - 1;
    tla_compaction_drop(s->plan);
    s->plan->hole = (tla_block){s->items[0].at, s->items[0].nbytes};
    for (bool moved = true; waiting && moved;) {
        moved = false;
        for (uint64_t left = waiting; left; left &= left - 1) {
            const unsigned i = (unsigned)__builtin_ctzll(left);
            const item *it = &s->items[i + 1];
            uint64_t others = waiting;
            while (others && !is_in_the_way(s, it, &s->items[__builtin_ctzll(others) + 1]))
                others &= others - 1;
            if (others) continue;
            waiting &= ~((uint64_t)1 << i);
            moved = true;
            if (tla_compaction_add(s->problem, s->plan, it->block, it->at)) return stop(s, TLA_NO_HOST_MEMORY);
        }
    }
    if (waiting == 0) return stop(s, TLA_OK);
    s->without_order = true;
    return false;
}

static bool place_all(search *s, size_t b);

static uint64_t count_unplaced(const search *s, size_t b) {
    uint64_t nbytes = 0;
    for (size_t i = 0; i < s->item_count; i++)
        if (s->items[i].bin == b && !s->items[i].placed) nbytes += s->items[i].nbytes;
    return nbytes;
}

/* Places the rest of a bin's items from `from` on. */
static bool place_rest(search *s, size_t b, uint64_t from) {
    const bin *in = &s->bins[b];
    const uint64_t unplaced = count_unplaced(s, b);
    if (unplaced == 0) return place_all(s, b + 1);
    for (size_t i = 0; i < s->item_count; i++) {
        item *it = &s->items[i];
        if (it->bin != b || it->placed) continue;
        uint64_t last = UINT64_MAX, lies_on = from;
        for (size_t source = 0;; source++) {
            const uint64_t at = tla_compaction_round_up(lies_on, it->alignment);
            if (at > in->end || in->end - at < unplaced) break;
            if (at != last) {
                if (has_no_try(s)) return true;
                it->at = last = at;
                it->placed = true;
                if (it->block != NONE && is_in_the_way(s, it, it))
                    s->without_order = true;
                else if (place_rest(s, b, at + it->nbytes))
                    return true;
                it->placed = false;
            }
            while (source < in->sources && tla_compaction_end(s->problem->blocks[in->first + source].at) <= lies_on)
                source++;
            if (source >= in->sources) break;
            lies_on = tla_compaction_end(s->problem->blocks[in->first + source].at);
        }
    }
    return false;
}

/* Places the items of the bins with sources, from bin b on. */
static bool place_all(search *s, size_t b) {
    while (b < s->bin_count && (s->bins[b].sources == 0 || s->bins[b].used == 0))
        b++;
    return b == s->bin_count ? find_order(s) : place_rest(s, b, s->bins[b].begin);
}

static uint64_t room_in(const bin *b) {
    return b->end - b->begin - b->used;
}

static bool assign(search *s, size_t i);

static bool assign_to(search *s, size_t i, size_t b) {
    item *it = &s->items[i];
    if (has_no_try(s)) return true;
    it->bin = b;
    it->at = s->bins[b].begin + s->bins[b].used;
    s->bins[b].used += it->nbytes;
    const bool stopped = assign(s, i + 1);
    s->bins[b].used -= it->nbytes;
    return stopped;
}

/* Bins without sources: the fullest first. Of bins with equal room one is enough, and items of one size go into them in
 * the order of their numbers. */
static bool assign_to_gaps(search *s, size_t i) {
    const item *it = &s->items[i], *before = it - 1;
    const bool is_twin = i > 1 && before->nbytes == it->nbytes && s->bins[before->bin].sources == 0;
    for (uint64_t room = it->nbytes;; room++) {
        size_t best = NONE;
        for (size_t b = 0; b < s->bin_count; b++)
            if (s->bins[b].sources == 0 && room_in(&s->bins[b]) >= room &&
                (best == NONE || room_in(&s->bins[b]) < room_in(&s->bins[best])))
                best = b;
        if (best == NONE) return false;
        room = room_in(&s->bins[best]);
        if (is_twin && best < before->bin) continue;
        if (assign_to(s, i, best)) return true;
    }
}

/* Assigns items from number i on to bins. The hole fits in no bin without sources. */
static bool assign(search *s, size_t i) {
    if (i == s->item_count) return place_all(s, 0);
    if (i > 0 && assign_to_gaps(s, i)) return true;
    for (size_t b = 0; b < s->bin_count; b++)
        if (s->bins[b].sources > 0 && room_in(&s->bins[b]) >= s->items[i].nbytes && assign_to(s, i, b)) return true;
    return false;
}

/* ---- sets ---- */

static uint64_t bytes_of(const search *s, uint64_t set) {
    uint64_t nbytes = 0;
    for (; set; set &= set - 1)
        nbytes += s->problem->blocks[s->movers[__builtin_ctzll(set)]].at.nbytes;
    return nbytes;
}

/* Adds the present set, with more blocks, to those that are to be looked at. */
static tla_status add_set(search *s, uint64_t more) {
    const uint64_t set = s->set | more;
    if (tla_live_addresses_get(&s->seen, set)) return TLA_OK;
    if (!tla_compaction_try(s->problem, s->plan)) return TLA_LIMIT;
    const tla_status status = tla_live_addresses_reserve(&s->seen);
    if (status) return status;
    tla_live_addresses_put(&s->seen, set, s);
    return tla_candidates_push(
        &s->sets, (tla_candidate){s->nbytes + bytes_of(s, more), (uint64_t)__builtin_popcountll(set), set});
}

/* The blocks behind block i - 1 that have to leave so that an item of this size fits behind it; 0: there are none, or
 * the item also fits without block i. */
static uint64_t find_run(const search *s, size_t i, uint64_t nbytes, uint64_t alignment) {
    const tla_compaction_problem *p = s->problem;
    const uint64_t begin = tla_compaction_gap_begin(p, i);
    uint64_t run = 0, at, stays = begin; /* the end of the first block of the run */
    for (; i < p->count && s->mover_of[i] != STAYS; i++) {
        if (!is_in_set(s, i)) {
            if (run == 0) stays = tla_compaction_end(p->blocks[i].at);
            run |= (uint64_t)1 << s->mover_of[i];
        }
        if (i + 1 < p->count && is_in_set(s, i + 1)) continue;
        if (tla_compaction_fits(begin, tla_compaction_gap_end(p, i + 1), nbytes, alignment, &at))
            return tla_compaction_fits(stays, tla_compaction_gap_end(p, i + 1), nbytes, alignment, &at) ? 0 : run;
    }
    return 0;
}

/* Adds the sets in which a place for the item exists. */
static tla_status add_runs(search *s, const item *it) {
    const tla_compaction_problem *p = s->problem;
    const uint64_t nbytes = it->nbytes, alignment = it->alignment;
    tla_status status = TLA_OK;
    for (size_t i = 0; i < p->count && !status; i++) {
        if (i > 0 && is_in_set(s, i - 1)) continue;
        const uint64_t run = find_run(s, i, nbytes, alignment);
        if (run) status = add_set(s, run);
    }
    return status;
}

static tla_status add_larger(search *s) {
    tla_status status = TLA_OK;
    for (size_t i = 0; i < s->mover_count && !status; i++)
        if (!(s->set >> i & 1)) status = add_set(s, (uint64_t)1 << i);
    return status;
}

static uint64_t smallest_of(const search *s) {
    return s->items[s->item_count - 1].nbytes;
}

/* Whether the search ends with this set. */
static bool look_at(search *s, const tla_candidate *of) {
    s->set = of->value;
    s->nbytes = of->cost;
    s->without_order = false;
    tla_status status = make_bins(s);
    if (status) return stop(s, status);
    make_items(s);
    const item *homeless = find_homeless(s);
    if (!homeless && assign(s, 0)) return true;
    if (s->without_order) s->twice = smaller(s->twice, s->nbytes + smallest_of(s));
    status = homeless ? add_runs(s, homeless) : add_larger(s);
    return status && stop(s, status);
}

/* TLA_FRAGMENTED: no plan moves each block once. */
static tla_status find_sets(search *s) {
    tla_candidate next;
    s->twice = UINT64_MAX;
    s->status = add_set(s, 0);
    if (s->status) return s->status;
    while (tla_candidates_pop(&s->sets, &next))
        if (look_at(s, &next)) return s->status;
    return TLA_FRAGMENTED;
}

/* ---- the planner ---- */

/* Finds the blocks that can move at all: a first move needs room next to blocks that cannot move before. */
static void find_movable(const tla_compaction_problem *p, tla_compaction_block *blocks) {
    for (size_t i = 0; i < p->count; i++)
        blocks[i].movable = false;
    for (bool more = true; more;) {
        uint64_t largest = 0, begin = p->heap.offset;
        more = false;
        for (size_t i = 0; i <= p->count; i++) {
            if (i < p->count && blocks[i].movable) continue;
            const uint64_t end = tla_compaction_gap_end(p, i);
            largest = later(largest, end - begin);
            if (i < p->count) begin = tla_compaction_end(p->blocks[i].at);
        }
        for (size_t i = 0; i < p->count; i++)
            if (p->blocks[i].movable && !blocks[i].movable && p->blocks[i].at.nbytes <= largest)
                more = blocks[i].movable = true;
    }
}

static tla_status find_movers(search *s) {
    const tla_compaction_problem *p = s->problem;
    tla_candidates largest = {0};
    tla_candidate next;
    tla_status status = TLA_OK;
    for (size_t i = 0; i < p->count && !status; i++) {
        s->mover_of[i] = STAYS;
        if (p->blocks[i].movable)
            status = tla_candidates_push(&largest, (tla_candidate){UINT64_MAX - p->blocks[i].at.nbytes, 0, i});
    }
    while (!status && tla_candidates_pop(&largest, &next)) {
        s->mover_of[next.value] = (uint8_t)s->mover_count;
        s->movers[s->mover_count++] = (size_t)next.value;
    }
    free(largest.heap);
    return status;
}

/* Lets only blocks move that make the cheapest holes, as many as an exact search can have. */
static tla_status choose_movable(const tla_compaction_problem *p, tla_compaction_block *blocks) {
    tla_candidates runs = {0};
    tla_candidate next;
    tla_status status = tla_compaction_list_runs(p, &runs);
    size_t count = 0;
    for (size_t i = 0; i < p->count; i++)
        blocks[i].movable = false;
    while (!status && tla_candidates_pop(&runs, &next))
        for (size_t i = (size_t)next.value; i <= next.tie && count < TLA_COMPACTION_EXACT_MAX; i++) {
            count += !blocks[i].movable;
            blocks[i].movable = true;
        }
    free(runs.heap);
    return status;
}

/* TLA_FRAGMENTED is proved; TLA_OK with a plan that is the best one, or *optimal is false. */
static tla_status find_best(search *s) {
    tla_status status = find_movers(s);
    if (!status) status = find_sets(s);
    s->plan->optimal = !status;
    if (status && status != TLA_FRAGMENTED) return status;
    const uint64_t nbytes = status ? UINT64_MAX : s->plan->nbytes;
    if (s->twice >= nbytes) return status;
    const tla_status better = tla_compaction_find_sequence(s->problem, nbytes, s->plan);
    s->plan->optimal = better == TLA_OK || (better == TLA_FRAGMENTED && !status);
    if (better == TLA_LIMIT && !status) return TLA_OK;
    return better == TLA_FRAGMENTED ? status : better;
}

/* Searches with as many of the movable blocks as it can have. */
static tla_status find_with_most(search *s, tla_compaction_problem *p, tla_compaction_block *blocks) {
    size_t movable = 0;
    find_movable(p, blocks);
    p->blocks = blocks;
    for (size_t i = 0; i < p->count; i++)
        movable += blocks[i].movable;
    if (p->nodes > 0) p->nodes = p->nodes / (p->count / TLA_COMPACTION_EXACT_MAX + 1) + 1; /* each takes longer */
    if (movable <= TLA_COMPACTION_EXACT_MAX) return find_best(s);
    tla_status status = choose_movable(p, blocks);
    if (!status) status = find_best(s);
    s->plan->optimal = false;
    return status == TLA_FRAGMENTED ? TLA_LIMIT : status;
}

static tla_status find_exact(const tla_compaction_problem *p, tla_compaction_plan *plan) {
    tla_compaction_problem reduced = *p;
    search s = {.problem = &reduced, .plan = plan};
    tla_compaction_block *blocks = malloc((p->count + 1) * sizeof *blocks);
    s.mover_of = malloc(p->count + 1);
    tla_status status = TLA_NO_HOST_MEMORY;
    if (blocks && s.mover_of) {
        for (size_t i = 0; i < p->count; i++)
            blocks[i] = p->blocks[i];
        status = find_with_most(&s, &reduced, blocks);
    }
    free(blocks);
    free(s.mover_of);
    free(s.bins);
    free(s.sets.heap);
    tla_live_addresses_clear(&s.seen);
    if (status != TLA_LIMIT) return status;
    reduced = *p;
    reduced.nodes = 0; /* these end by themselves */
    const tla_compaction_planner *const others[] = {&tla_compaction_window, &tla_compaction_slide};
    for (size_t i = 0; i < 2 && status == TLA_LIMIT; i++) {
        tla_compaction_drop(plan);
        status = others[i]->find(&reduced, plan);
    }
    return status;
}

const tla_compaction_planner tla_compaction_exact = {"exact", find_exact};
