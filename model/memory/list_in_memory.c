/* A free list in memory: its nodes in offset order, their slots, and the cache in front. */
#include "tlmalloc/memory/pe_memory.h"

#include "base/host_array.h"
#include "base/little_endian.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

typedef struct {
    tla_block block;
    uint32_t slot;
} node;

/* A slot's place in the cache: a ring through `slots[ring]`, the least recently used node behind it. */
typedef struct {
    uint32_t older, newer;
    bool cached;
} cached_slot;

struct tla_list_in_memory {
    tla_policy policy;
    uint64_t capacity_nodes, cache_entries, cached;
    node *nodes; /* in offset order */
    uint32_t count, room;
    uint32_t *given_up; /* slots, the last one on top */
    uint32_t given_up_count, fresh;
    cached_slot *slots; /* [room] and, in slots[room], the ring's anchor */
    tla_list_access *accesses;
    size_t access_count, access_room;
};

const char *tla_free_list_place_name(tla_free_list_place place) {
    static const char *const names[] = {"registers", "sram", "hbm"};
    return (unsigned)place < TLA_LIST_PLACE_COUNT ? names[place] : NULL;
}

/* --- host memory --- */

static tla_status grow_nodes(tla_list_in_memory *t) {
    uint32_t room = t->room + t->room / 2 + 64;
    node *nodes = host_array_resize(t->nodes, room, sizeof *nodes);
    if (nodes) t->nodes = nodes;
    uint32_t *given_up = host_array_resize(t->given_up, room, sizeof *given_up);
    if (given_up) t->given_up = given_up;
    cached_slot *slots = host_array_resize(t->slots, room + UINT64_C(1), sizeof *slots);
    if (slots) t->slots = slots;
    if (!nodes || !given_up || !slots) return TLA_NO_HOST_MEMORY;
    /* the anchor moves to the new end */
    cached_slot anchor = t->room ? slots[t->room] : (cached_slot){room, room, false};
    for (uint32_t slot = t->room; slot < room; slot++)
        slots[slot] = (cached_slot){NONE, NONE, false};
    slots[room] = anchor;
    if (t->room && anchor.older == t->room) slots[room] = (cached_slot){room, room, false};
    if (slots[room].older != room) {
        slots[slots[room].older].newer = room;
        slots[slots[room].newer].older = room;
    }
    t->room = room;
    return TLA_OK;
}

static tla_status make_access_room(tla_list_in_memory *t, size_t more) {
    if (t->access_room - t->access_count >= more) return TLA_OK;
    size_t room = (t->access_count + more) * 3 / 2;
    tla_list_access *accesses = realloc(t->accesses, room * sizeof *accesses);
    if (!accesses) return TLA_NO_HOST_MEMORY;
    t->accesses = accesses;
    t->access_room = room;
    return TLA_OK;
}

/* --- the cache --- */

static void leave_cache(tla_list_in_memory *t, uint32_t slot) {
    cached_slot *s = &t->slots[slot];
    if (!s->cached) return;
    t->slots[s->older].newer = s->newer;
    t->slots[s->newer].older = s->older;
    *s = (cached_slot){NONE, NONE, false};
    t->cached--;
}

/* The node is used; true when it was in the cache. */
static bool use(tla_list_in_memory *t, uint32_t slot) {
    if (t->cache_entries == 0) return false;
    bool hit = t->slots[slot].cached;
    leave_cache(t, slot);
    uint32_t anchor = t->room;
    if (t->cached == t->cache_entries) leave_cache(t, t->slots[anchor].newer); /* behind the anchor: the oldest */
    uint32_t newest = t->slots[anchor].older;
    t->slots[slot] = (cached_slot){newest, anchor, true};
    t->slots[newest].newer = slot;
    t->slots[anchor].older = slot;
    t->cached++;
    return hit;
}

/* --- accesses --- */

static void access_node(tla_list_in_memory *t, uint32_t index, bool write) {
    const node *n = &t->nodes[index];
    tla_list_access *access = &t->accesses[t->access_count++];
    *access = (tla_list_access){.slot = n->slot, .write = write};
    put_little_endian(access->record, n->block.offset, 6);
    put_little_endian(access->record + 6, n->block.nbytes, 6);
    put_little_endian(access->record + 12, index + 1 < t->count ? t->nodes[index + 1].slot : TLA_LIST_END, 4);
    bool hit = use(t, n->slot);
    access->hit = hit && !write;
}

static void walk(tla_list_in_memory *t, uint64_t start, uint64_t length) {
    for (uint64_t i = 0; i < length && i < t->count; i++)
        access_node(t, (uint32_t)((start + i) % t->count), false);
}

/* --- the list --- */

/* How many nodes lie before an offset. */
static uint32_t rank_of(const tla_list_in_memory *t, uint64_t offset) {
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (t->nodes[middle].block.offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t end_of(tla_block block) {
    return block.offset + block.nbytes;
}

/* The neighbour in front of the place, or behind it, touches the block. */
static bool joins_previous(const tla_list_in_memory *t, uint32_t rank, tla_block block) {
    return rank > 0 && end_of(t->nodes[rank - 1].block) == block.offset;
}

static bool joins_next(const tla_list_in_memory *t, uint32_t rank, tla_block block) {
    return rank < t->count && t->nodes[rank].block.offset == end_of(block);
}

static void insert(tla_list_in_memory *t, uint32_t rank, tla_block block) {
    memmove(&t->nodes[rank + 1], &t->nodes[rank], (t->count - rank) * sizeof *t->nodes);
    uint32_t slot = t->given_up_count ? t->given_up[--t->given_up_count] : t->fresh++;
    t->nodes[rank] = (node){block, slot};
    t->count++;
}

static void erase(tla_list_in_memory *t, uint32_t rank) {
    leave_cache(t, t->nodes[rank].slot);
    t->given_up[t->given_up_count++] = t->nodes[rank].slot;
    memmove(&t->nodes[rank], &t->nodes[rank + 1], (t->count - rank - 1) * sizeof *t->nodes);
    t->count--;
}

static void write_node_and_link(tla_list_in_memory *t, uint32_t rank, bool node_stays) {
    if (node_stays) access_node(t, rank, true);
    if (rank > 0) access_node(t, rank - 1, true);
}

/* --- calls --- */

tla_status tla_list_in_memory_create(const tla_arena *arena, uint64_t nodes, uint64_t cache_entries,
                                     tla_list_in_memory **out) {
    *out = NULL;
    tla_arena_config config = tla_arena_get_config(arena);
    tla_policy p = config.policy;
    if (p != TLA_FIRST_FIT && p != TLA_BEST_FIT && p != TLA_NEXT_FIT && p != TLA_WORST_FIT) return TLA_UNSUPPORTED;
    if (config.base != 0 || config.capacity > UINT64_C(1) << 48 || nodes < 2 || nodes > UINT64_C(1) << 31)
        return TLA_INVALID_ARGUMENT;
    if (tla_arena_get_stats(arena).free_blocks > nodes) return TLA_LIMIT;
    tla_list_in_memory *t = calloc(1, sizeof *t);
    if (!t) return TLA_NO_HOST_MEMORY;
    t->policy = p;
    t->capacity_nodes = nodes;
    t->cache_entries = cache_entries;
    tla_status status = grow_nodes(t);
    tla_block block = {0, 0};
    for (uint64_t from = 0; !status && tla_arena_free_blocks(arena, from, &block, 1) == 1; from = end_of(block)) {
        if (t->count + 1 >= t->room) status = grow_nodes(t);
        if (!status) insert(t, t->count, block);
    }
    if (!status) status = make_access_room(t, t->count);
    for (uint32_t i = 0; !status && i < t->count; i++)
        access_node(t, i, true);
    if (status) {
        tla_list_in_memory_destroy(t);
        return status;
    }
    *out = t;
    return TLA_OK;
}

void tla_list_in_memory_destroy(tla_list_in_memory *t) {
    if (!t) return;
    free(t->nodes);
    free(t->given_up);
    free(t->slots);
    free(t->accesses);
    free(t);
}

tla_status tla_list_in_memory_prepare(tla_list_in_memory *t, const tla_block *freed) {
    if (freed) {
        uint32_t rank = rank_of(t, freed->offset);
        /* one slot is kept for the tail that an allocation may leave behind it */
        if (t->count + 1 >= t->capacity_nodes && !joins_previous(t, rank, *freed) && !joins_next(t, rank, *freed))
            return TLA_LIMIT;
    }
    if (t->count + 1 >= t->room && grow_nodes(t)) return TLA_NO_HOST_MEMORY;
    return make_access_room(t, t->count + (size_t)4);
}

tla_status tla_list_in_memory_prepare_batch(tla_list_in_memory *t, size_t n, bool frees) {
    if (frees && t->count + (uint64_t)n >= t->capacity_nodes) return TLA_LIMIT;
    while (t->count + n >= t->room)
        if (grow_nodes(t)) return TLA_NO_HOST_MEMORY;
    return make_access_room(t, n * (t->count + n + 4));
}

void tla_list_in_memory_alloc(tla_list_in_memory *t, const tla_block *block, const tla_work *work) {
    if (!block) {
        walk(t, 0, work->nodes_visited);
        return;
    }
    uint32_t taken = rank_of(t, block->offset + 1) - 1;
    bool roving = t->policy == TLA_NEXT_FIT; /* its walk ends at the node that it takes */
    walk(t, roving ? taken + UINT64_C(1) + t->count - work->nodes_visited : 0, work->nodes_visited);
    tla_block whole = t->nodes[taken].block;
    tla_block front = {whole.offset, block->offset - whole.offset};
    tla_block back = {end_of(*block), end_of(whole) - end_of(*block)};
    if (front.nbytes && back.nbytes) {
        t->nodes[taken].block = front;
        insert(t, taken + 1, back);
        write_node_and_link(t, taken + 1, true);
    } else if (front.nbytes || back.nbytes) {
        t->nodes[taken].block = front.nbytes ? front : back;
        access_node(t, taken, true);
    } else {
        erase(t, taken);
        write_node_and_link(t, taken, false);
    }
}

void tla_list_in_memory_free(tla_list_in_memory *t, tla_block block) {
    uint32_t rank = rank_of(t, block.offset);
    walk(t, 0, rank + UINT64_C(1));
    bool previous = joins_previous(t, rank, block), next = joins_next(t, rank, block);
    if (previous) {
        t->nodes[rank - 1].block.nbytes += block.nbytes + (next ? t->nodes[rank].block.nbytes : 0);
        if (next) erase(t, rank);
        access_node(t, rank - 1, true);
    } else if (next) {
        t->nodes[rank].block = (tla_block){block.offset, block.nbytes + t->nodes[rank].block.nbytes};
        access_node(t, rank, true);
    } else {
        insert(t, rank, block);
        write_node_and_link(t, rank, true);
    }
}

const tla_list_access *tla_list_in_memory_accesses(const tla_list_in_memory *t, size_t *count) {
    *count = t->access_count;
    return t->accesses;
}

void tla_list_in_memory_clear(tla_list_in_memory *t) {
    t->access_count = 0;
}

uint32_t tla_list_in_memory_head(const tla_list_in_memory *t) {
    return t->count ? t->nodes[0].slot : TLA_LIST_END;
}
