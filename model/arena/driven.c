/* The placement of an arena with a limit of its nodes, or with an engine: it wraps the arena's own placement, and sends
 * the core's decisions to the engine. */
#include "driven.h"

#include "base/phrase.h"
#include "tlmalloc/base/work.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const answers[] = {
    [TLA_ENGINE_DONE] = "done",
    [TLA_ENGINE_NO_BLOCK] = "no block",
    [TLA_ENGINE_NOT_TAKEN] = "not allocated",
    [TLA_ENGINE_NO_NODE] = "no node",
};

static tla_status differ(tla_driven *d, const tla_engine_request *request, const char *found, const char *expected) {
    char at[40] = "";
    if (request->give_back) snprintf(at, sizeof at, " at %" PRIu64, request->offset);
    tla_error_set(&d->difference, TLA_ENGINE_DIFFERS,
                  "engine %s, operation %" PRIu64 ": %s %" PRIu64 "%s, in units of %" PRIu64
                  " bytes: the engine answers %s, the core %s",
                  d->engine.name, d->served, request->give_back ? "release" : "allocate", request->size, at, d->unit,
                  found, expected);
    *d->error = d->difference;
    return TLA_ENGINE_DIFFERS;
}

static tla_engine_status as_engine(tla_status decided) {
    switch (decided) {
    case TLA_OK:
        return TLA_ENGINE_DONE;
    case TLA_FRAGMENTED:
        return TLA_ENGINE_NO_BLOCK;
    case TLA_LIMIT:
        return TLA_ENGINE_NO_NODE;
    default:
        return TLA_ENGINE_NOT_TAKEN;
    }
}

tla_phrase tla_driven_words(tla_engine_status status, bool give_back, uint64_t offset) {
    if ((unsigned)status > TLA_ENGINE_NO_NODE) return tla_phrase_of("status %d", (int)status);
    if (status || give_back) return tla_phrase_of("%s", answers[status]);
    return tla_phrase_of("done at %" PRIu64, offset);
}

/* Adds to the engine's receipt, if the caller wants it; in a batch each request waits for the previous request. */
static void tell(tla_engine_work *to, const tla_engine_answer *answer, uint64_t nodes) {
    if (!to) return;
    to->cycles += to->cycles_behind + answer->cycles;
    to->cycles_behind = answer->behind;
    to->instructions += answer->instructions;
    to->requests++;
    to->nodes += nodes;
}

/* Sends a request that the core has already decided; `offset` is the core's choice, and *walked its receipt. */
static tla_status ask(tla_driven *d, tla_engine_request request, tla_status decided, uint64_t offset,
                      const tla_work *walked, tla_work *work) {
    if (d->difference.status) {
        *d->error = d->difference;
        return TLA_ENGINE_DIFFERS;
    }
    d->served++;
    tla_engine_answer answer = {.status = TLA_ENGINE_DONE};
    tla_error why = {.text = ""};
    const tla_status status = d->engine.serve(d->engine.state, &request, &answer, &why);
    const tla_engine_status expected = as_engine(decided);
    const tla_phrase expectation = tla_driven_words(expected, request.give_back, offset);
    if (status)
        return differ(d, &request,
                      tla_phrase_of("with an error (%s)", why.text[0] ? why.text : tla_status_text(status)).text,
                      expectation.text);
    const bool takes = expected == TLA_ENGINE_DONE && !request.give_back;
    if (answer.status != expected || (takes && answer.offset != offset))
        return differ(d, &request, tla_driven_words(answer.status, request.give_back, answer.offset).text,
                      expectation.text);
    tell(work->engine, &answer, walked->nodes_visited);
    work->nodes_visited += walked->nodes_visited;
    work->list_length += walked->list_length;
    return decided;
}

/* ---- the list ---- */

static bool has_engine(const tla_driven *d) {
    return tla_driven_has_engine(d);
}

static bool is_buddy(const tla_driven *d) {
    return d->list->whole_blocks;
}

/* Engines of whole blocks do not detect free ranges, and get no release that the core rejects. */
static bool takes_whole_blocks(const tla_driven *d) {
    return is_buddy(d) || d->list->regions;
}

/* Returns whether the list has more nodes than its limit. */
static bool is_over(const tla_driven *d) {
    return d->list->count(d->list_state) > d->nodes;
}

static tla_status no_node(tla_driven *d, const char *what, tla_block range) {
    return tla_error_set(d->error, TLA_LIMIT,
                         "%s of %" PRIu64 " bytes at %" PRIu64 ": needs a free-list node, but all %" PRIu64
                         " nodes are in use",
                         what, range.nbytes, range.offset, d->nodes);
}

/* Undo the last operation: the range is allocated, or free, as before; all else is as after it. */
static void take_back(tla_driven *d, tla_block range) {
    const uint64_t cursor = d->list->cursor ? d->list->cursor(d->list_state) : 0;
    d->list->reserve(d->list_state, range, &(tla_work){0});
    if (d->list->set_cursor) d->list->set_cursor(d->list_state, cursor);
}

static void put_back(tla_driven *d, tla_block range, uint64_t cursor) {
    d->list->free(d->list_state, range, &(tla_work){0});
    if (d->list->set_cursor) d->list->set_cursor(d->list_state, cursor);
}

/* A list that is as it was is not walked behind the answer. */
static void nothing_changed(tla_work *work) {
    tla_engine_work *engine = work->engine;
    if (!engine) return;
    engine->walks -= engine->walks_behind;
    engine->walk_nodes -= engine->walk_nodes_behind;
    engine->walks_behind = engine->walk_nodes_behind = 0;
}

static tla_status unsupported(tla_driven *d, const char *what) {
    return tla_error_set(d->error, TLA_UNSUPPORTED, "engine %s: %s", d->engine.name, what);
}

static void destroy(void *state) {
    tla_driven *d = state;
    d->list->destroy(d->list_state);
    if (has_engine(d)) d->engine.destroy(d->engine.state);
    free(d);
}

/* More units than the arena has are one unit more to the engine, which may not count further and looks likewise. An
 * engine that counts just the arena's units is not asked. */
static tla_status refuse_too_large(tla_driven *d, uint64_t nbytes, tla_work *work) {
    const tla_region_nodes *regions = d->list->regions;
    const bool lacks_node = regions && regions->lacks_node(d->list_state, d->unit, 1);
    const tla_status status = lacks_node ? TLA_LIMIT : TLA_FRAGMENTED;
    const bool is_asked = d->capacity < d->engine.capacity_max;
    tla_work walked = {0};
    d->list->search_in_vain(d->list_state, nbytes, is_asked ? &walked : work);
    if (!is_asked) return status;
    return ask(d, (tla_engine_request){.size = d->capacity + 1}, status, 0, &walked, work);
}

static tla_status alloc(void *state, uint64_t nbytes, uint64_t alignment, tla_block *block, tla_work *work) {
    tla_driven *d = state;
    if (has_engine(d) && alignment > (is_buddy(d) && nbytes > d->unit ? nbytes : d->unit))
        return unsupported(d, is_buddy(d) ? "a block's alignment must not exceed its size"
                                          : "a block's alignment must not exceed the arena's alignment");
    if (has_engine(d) && !d->difference.status && nbytes / d->unit > d->capacity)
        return refuse_too_large(d, nbytes, work);
    const uint64_t cursor = d->list->cursor ? d->list->cursor(d->list_state) : 0;
    tla_block taken = {0, 0};
    tla_work walked = {0};
    tla_status status = d->list->alloc(d->list_state, nbytes, alignment, &taken, has_engine(d) ? &walked : work);
    if (status == TLA_OK && is_over(d)) {
        put_back(d, taken, cursor);
        nothing_changed(work);
        return no_node(d, "aligned allocation", taken);
    }
    if (has_engine(d) && (status == TLA_OK || status == TLA_FRAGMENTED || status == TLA_LIMIT)) {
        const tla_engine_request request = {.size = nbytes / d->unit};
        const tla_status answer = ask(d, request, status, (taken.offset - d->base) / d->unit, &walked, work);
        if (answer == TLA_ENGINE_DIFFERS && status == TLA_OK) put_back(d, taken, cursor);
        status = answer;
    }
    if (status == TLA_OK) *block = taken;
    return status;
}

static tla_status give_back(void *state, tla_block range, tla_work *work) {
    tla_driven *d = state;
    tla_work walked = {0};
    tla_status status = d->list->free(d->list_state, range, has_engine(d) ? &walked : work);
    if (status == TLA_OK && is_over(d)) {
        take_back(d, range);
        if (!has_engine(d)) {
            work->nodes_created--; /* it has walked, and created none */
            nothing_changed(work);
        }
        status = no_node(d, "free", range);
    }
    if (!has_engine(d) || status == TLA_NO_HOST_MEMORY) return status;
    if (status && takes_whole_blocks(d)) return status;
    const tla_engine_request request = {
        .give_back = true, .offset = (range.offset - d->base) / d->unit, .size = range.nbytes / d->unit};
    const tla_status answer = ask(d, request, status, 0, &walked, work);
    return status ? status : answer; /* a rejected range stays allocated, whatever the engine's answer */
}

static tla_status reserve(void *state, tla_block range, tla_work *work) {
    tla_driven *d = state;
    if (has_engine(d))
        return unsupported(d, "the engine chooses the addresses of blocks and cannot reserve a given range");
    const uint64_t cursor = d->list->cursor ? d->list->cursor(d->list_state) : 0;
    const tla_status status = d->list->reserve(d->list_state, range, work);
    if (status || !is_over(d)) return status;
    put_back(d, range, cursor);
    nothing_changed(work);
    return no_node(d, "reservation", range);
}

static tla_status add(void *state, tla_block range, tla_work *work) {
    tla_driven *d = state;
    if (has_engine(d)) return unsupported(d, "the engine's range cannot grow");
    const tla_status status = d->list->add(d->list_state, range, work);
    if (status || !is_over(d)) return status;
    take_back(d, range);
    nothing_changed(work);
    return no_node(d, "growth", range);
}

static tla_status make_room(void *state, size_t n) {
    tla_driven *d = state;
    if (n > d->nodes - d->list->count(d->list_state))
        return tla_error_set(d->error, TLA_LIMIT,
                             "a batch of %zu frees could need more than the %" PRIu64 " nodes of the free list", n,
                             d->nodes);
    return d->list->make_room(d->list_state, n);
}

/* Queries go to the list directly. */
static void search_in_vain(const void *state, uint64_t nbytes, tla_work *work) {
    const tla_driven *d = state;
    d->list->search_in_vain(d->list_state, nbytes, work);
}

static uint64_t granted(const void *state, uint64_t nbytes) {
    const tla_driven *d = state;
    return d->list->granted(d->list_state, nbytes);
}

static uint64_t sufficient(const void *state, uint64_t nbytes) {
    const tla_driven *d = state;
    return d->list->sufficient(d->list_state, nbytes);
}

static tla_status may_free(const void *state, tla_block range) {
    const tla_driven *d = state;
    return d->list->may_free(d->list_state, range);
}

static uint64_t fits(const void *state, uint64_t nbytes, uint64_t limit) {
    const tla_driven *d = state;
    return d->list->fits(d->list_state, nbytes, limit);
}

static void carve(void *state, uint64_t nbytes, size_t n, tla_block *blocks, tla_work *work) {
    tla_driven *d = state;
    d->list->carve(d->list_state, nbytes, n, blocks, work);
}

static tla_status make_alloc_room(void *state, size_t n) {
    tla_driven *d = state;
    return d->list->make_alloc_room(d->list_state, n);
}

static uint64_t largest(const void *state) {
    const tla_driven *d = state;
    return d->list->largest(d->list_state);
}

static uint64_t count(const void *state) {
    const tla_driven *d = state;
    return d->list->count(d->list_state);
}

static size_t copy(const void *state, uint64_t from, tla_block *blocks, size_t max) {
    const tla_driven *d = state;
    return d->list->copy(d->list_state, from, blocks, max);
}

static void saved(const void *state, tla_block *blocks) {
    const tla_driven *d = state;
    d->list->saved(d->list_state, blocks);
}

static uint64_t cursor(const void *state) {
    const tla_driven *d = state;
    return d->list->cursor(d->list_state);
}

static void set_cursor(void *state, uint64_t offset) {
    tla_driven *d = state;
    d->list->set_cursor(d->list_state, offset);
}

static tla_status limit_regions(void *state, uint64_t nodes, uint64_t live) {
    tla_driven *d = state;
    return d->list->regions->limit(d->list_state, nodes, live);
}

static uint64_t live_regions(const void *state) {
    const tla_driven *d = state;
    return d->list->regions->live(d->list_state);
}

static bool lacks_node(const void *state, uint64_t nbytes, uint64_t n) {
    const tla_driven *d = state;
    return d->list->regions->lacks_node(d->list_state, nbytes, n);
}

static uint64_t largest_bin(const void *state) {
    const tla_driven *d = state;
    return d->list->regions->largest_bin(d->list_state);
}

/* An arena asks for its unit before it is driven. */
static const tla_region_nodes regions = {
    .limit = limit_regions, .live = live_regions, .lacks_node = lacks_node, .largest_bin = largest_bin};

tla_status tla_driven_may_cut(const tla_driven *d, size_t items) {
    if (!has_engine(d) || !is_buddy(d) || items < 2) return TLA_OK;
    return tla_error_set(d->error, TLA_UNSUPPORTED,
                         "engine %s: cannot release parts of a block that was allocated whole", d->engine.name);
}

tla_placement tla_driven_around(const tla_placement *list, bool engine) {
    return (tla_placement){
        .destroy = destroy,
        .granted = list->granted ? granted : NULL,
        .alloc = alloc,
        .search_in_vain = search_in_vain,
        .sufficient = list->sufficient ? sufficient : NULL,
        .reserve = reserve,
        .free = give_back,
        .add = add,
        .may_free = may_free,
        .fits = fits,
        .carve = list->carve && !engine ? carve : NULL, /* each block is asked for */
        .make_room = make_room,
        .make_alloc_room = list->make_alloc_room ? make_alloc_room : NULL,
        .largest = largest,
        .count = count,
        .copy = copy,
        .saved = list->saved ? saved : NULL,
        .cursor = list->cursor ? cursor : NULL,
        .set_cursor = list->set_cursor ? set_cursor : NULL,
        .whole_blocks = list->whole_blocks,
        .regions = list->regions ? &regions : NULL,
    };
}
