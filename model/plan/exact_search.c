/* A tree of placements without recursion: frames on a stack, and a log of their changes.
 *
 * Every plan can be pushed down until each tensor rests on another tensor or on the ground, and be rebuilt in the order
 * of offsets. A node therefore places a tensor at its lowest possible offset, and at no other. */
#include "exact_search.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

#define PLACED UINT64_MAX
#define NO_FRAME UINT32_MAX

/* Consecutive sections whose tensors live in no others. */
typedef struct part {
    plan_span sections;
    size_t first, count; /* its tensors in order[], the preferred ones first */
    uint32_t unplaced;
    uint32_t parent; /* the part that fell apart; itself: none */
    uint32_t cause;  /* the frame whose tensor made it fall apart; NO_FRAME */
} part;

/* A tensor that is placed; the candidates before it have failed. Candidates go by offset, then by preference. */
typedef struct frame {
    uint32_t part, tensor;
    uint64_t low; /* of the next candidate, at least; there from this place of order[] on */
    size_t from;
    uint64_t end; /* candidates lie below this offset; 0: not known yet */
    size_t log;   /* how long the log was before */
    bool placed;
    bool only; /* when this candidate has failed, no other can succeed */
} frame;

/* The old value of *where. */
typedef struct change {
    uint64_t *where, before;
    uint32_t tensor; /* whose low it is */
} change;

struct plan_search {
    const plan_model *model;
    uint64_t top;           /* capacity in units, for sums */
    uint64_t *limits;       /* of each tensor: its largest offset */
    uint64_t *low;          /* of each tensor: the least offset that it can have; PLACED */
    uint64_t *offsets;      /* of those that are placed */
    uint64_t *floor, *rest; /* of each section: no free byte below; sum of the unplaced bytes */
    uint32_t *joints;       /* of each section: how many tensors that are not placed live on in the next one */
    uint32_t *stamps, stamp;
    plan_preorder preorder;
    uint64_t *totals; /* of each tensor, for the preorder */
    uint32_t *order;
    size_t order_count, order_room;
    part *parts; /* a stack; the last one is being worked at */
    uint32_t part_count;
    frame *frames;
    uint32_t frame_count;
    change *log;
    size_t log_count, log_room;
};

/* Parts and nodes */

static uint64_t largest_rest(const plan_search *search, uint32_t tensor) {
    const plan_model *model = search->model;
    uint64_t largest = 0;
    for (size_t k = model->first_span[tensor]; k < model->first_span[tensor + 1]; k++)
        for (uint32_t s = model->spans[k].from; s < model->spans[k].to; s++)
            if (search->rest[s] > largest) largest = search->rest[s];
    return largest;
}

static void push_node(plan_search *search, uint64_t low, size_t from) {
    search->frames[search->frame_count++] =
        (frame){.part = search->part_count - 1, .low = low, .from = from, .log = search->log_count};
}

static tla_status reserve_order(plan_search *search, size_t n) {
    const size_t need = search->order_count + n;
    return tla_grow(&search->order, &search->order_room, need, sizeof *search->order) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* Begins with the next part of `whole` from section `from` on; *more is false where nothing there is unplaced. */
static tla_status open_part(plan_search *search, uint32_t whole, uint32_t from, uint32_t cause, bool *more) {
    const part enclosing = search->parts[whole];
    while (from < enclosing.sections.to && search->rest[from] == 0)
        from++;
    *more = from < enclosing.sections.to;
    if (!*more) return TLA_OK;
    uint32_t to = from + 1;
    while (to < enclosing.sections.to && search->joints[to - 1] > 0)
        to++;
    tla_status status = reserve_order(search, enclosing.count);
    if (status) return status;
    part made = {{from, to}, search->order_count, 0, 0, whole, cause};
    uint32_t *order = search->order + made.first;
    for (size_t i = 0; i < enclosing.count; i++) {
        uint32_t tensor = search->order[enclosing.first + i];
        uint32_t first = search->model->spans[search->model->first_span[tensor]].from;
        if (search->low[tensor] == PLACED || first < from || first >= to) continue;
        search->totals[tensor] = largest_rest(search, tensor);
        order[made.count++] = tensor;
    }
    plan_preference_sort((plan_preference){search->model, search->preorder, search->totals}, order, made.count);
    made.unplaced = (uint32_t)made.count;
    search->order_count += made.count;
    search->parts[search->part_count++] = made;
    push_node(search, 0, 0);
    return TLA_OK;
}

/* The next candidate of a node. Passed over is what lies so high that another one fits below it, or that the fullest
 * section would not fit above. */
static bool find_candidate(const plan_search *search, frame *node) {
    const part *own = &search->parts[node->part];
    const uint32_t *order = search->order + own->first;
    const uint64_t *low = search->low, *sizes = search->model->sizes;
    uint64_t best = PLACED, end = UINT64_MAX;
    size_t at = 0;
    for (size_t i = 0; i < own->count; i++) {
        const uint64_t offset = low[order[i]];
        if (offset == PLACED) continue;
        if (offset + sizes[order[i]] < end) end = offset + sizes[order[i]];
        if (offset >= best || offset < node->low || (offset == node->low && i < node->from)) continue;
        best = offset;
        at = i;
    }
    if (node->end == 0) {
        uint64_t most = 0;
        for (uint32_t s = own->sections.from; s < own->sections.to; s++)
            if (search->rest[s] > most) most = search->rest[s];
        node->end = end <= search->top - most ? end : search->top - most + 1;
    }
    if (best >= node->end) return false;
    node->tensor = order[at];
    node->low = best;
    node->from = at + 1;
    return true;
}

/* Placing */

/* There is room: reserve_log. */
static void write_down(plan_search *search, uint64_t *where, uint32_t tensor) {
    search->log[search->log_count++] = (change){where, *where, tensor};
}

/* Nothing that is not placed lies below this in a section. False: it does not fit any more. */
static bool lift_floor(plan_search *search, uint32_t section) {
    const plan_model *model = search->model;
    const uint64_t rest = search->rest[section];
    uint64_t least = PLACED;
    if (rest == 0) return true;
    for (size_t m = model->first_member[section]; m < model->first_member[section + 1]; m++)
        if (search->low[model->members[m]] < least) least = search->low[model->members[m]];
    if (least > search->floor[section]) {
        write_down(search, &search->floor[section], 0);
        search->floor[section] = least;
    }
    return least <= search->top - rest;
}

static bool raise(plan_search *search, uint32_t tensor, uint64_t offset) {
    const plan_model *model = search->model;
    const uint64_t low = (offset + model->masks[tensor]) & ~model->masks[tensor];
    if (low > search->limits[tensor] || model->fixed[tensor] != TLA_PLAN_ANYWHERE) return false;
    write_down(search, &search->low[tensor], tensor);
    search->low[tensor] = low;
    return true;
}

/* Raises what lives together with the node's tensor above it. */
static bool raise_rivals(plan_search *search, frame *node) {
    const plan_model *model = search->model;
    const uint64_t end = node->low + model->sizes[node->tensor];
    node->only = true;
    bool good = true;
    for (size_t r = model->first_rival[node->tensor]; r < model->first_rival[node->tensor + 1]; r++) {
        const uint32_t rival = model->rivals[r];
        if (search->low[rival] == PLACED) continue;
        node->only = false;
        if (search->low[rival] < end && !(good = raise(search, rival, end))) break;
    }
    if (model->fixed[node->tensor] != TLA_PLAN_ANYWHERE) node->only = true;
    return good;
}

/* Floors rise in the sections of the tensor, and where one was raised that lay on the floor. */
static bool lift_floors(plan_search *search, const frame *node) {
    const plan_model *model = search->model;
    const size_t raised_end = search->log_count;
    const uint32_t stamp = ++search->stamp;
    for (size_t k = model->first_span[node->tensor]; k < model->first_span[node->tensor + 1]; k++)
        for (uint32_t s = model->spans[k].from; s < model->spans[k].to; s++) {
            search->stamps[s] = stamp;
            if (!lift_floor(search, s)) return false;
        }
    for (size_t i = node->log; i < raised_end; i++) {
        const uint32_t tensor = search->log[i].tensor;
        for (size_t k = model->first_span[tensor]; k < model->first_span[tensor + 1]; k++)
            for (uint32_t s = model->spans[k].from; s < model->spans[k].to; s++) {
                if (search->stamps[s] == stamp || search->log[i].before > search->floor[s]) continue;
                search->stamps[s] = stamp;
                if (!lift_floor(search, s)) return false;
            }
    }
    return true;
}

static void count(plan_search *search, const frame *node, bool placed) {
    const plan_model *model = search->model;
    const uint32_t tensor = node->tensor;
    const uint64_t size = model->sizes[tensor];
    for (size_t k = model->first_span[tensor]; k < model->first_span[tensor + 1]; k++)
        for (uint32_t s = model->spans[k].from; s < model->spans[k].to; s++)
            search->rest[s] += placed ? -size : size;
    const plan_span hull = plan_hull(model, tensor);
    for (uint32_t s = hull.from; s + 1 < hull.to; s++)
        search->joints[s] += placed ? UINT32_MAX : 1;
    search->parts[node->part].unplaced += placed ? UINT32_MAX : 1;
}

/* False: no plan has this placement. The changes stay until undo, in either case. */
static bool place(plan_search *search, frame *node) {
    node->placed = true;
    search->low[node->tensor] = PLACED;
    search->offsets[node->tensor] = node->low;
    count(search, node, true);
    return raise_rivals(search, node) && lift_floors(search, node);
}

static void undo(plan_search *search, frame *node) {
    while (search->log_count > node->log) {
        const change *last = &search->log[--search->log_count];
        *last->where = last->before;
    }
    count(search, node, false);
    search->low[node->tensor] = node->low;
    node->placed = false;
}

/* A log that is long enough for one placement: every tensor and every section changes once. */
static tla_status reserve_log(plan_search *search) {
    const size_t n = search->model->n + (size_t)search->model->section_count;
    const size_t need = search->log_count + n;
    return tla_grow(&search->log, &search->log_room, need, sizeof *search->log) ? TLA_OK : TLA_NO_HOST_MEMORY;
}

/* The tree */

static bool has_rest(const plan_search *search, uint32_t from, uint32_t to) {
    for (uint32_t s = from; s < to; s++)
        if (search->rest[s] > 0) return true;
    return false;
}

/* Whether the part of a node has fallen apart by its tensor. */
static bool falls_apart(const plan_search *search, const frame *node) {
    const plan_span hull = plan_hull(search->model, node->tensor), whole = search->parts[node->part].sections;
    for (uint32_t s = hull.from; s + 1 < hull.to; s++)
        if (search->joints[s] == 0 && has_rest(search, whole.from, s + 1) && has_rest(search, s + 1, whole.to))
            return true;
    return false;
}

/* All tensors of the last part are placed: continues with its neighbour, or with the neighbour of a part around it.
 * TLA_OK: no part is left; TLA_LIMIT: the search continues. */
static tla_status leave_part(plan_search *search) {
    for (uint32_t done = search->part_count - 1; search->parts[done].parent != done;) {
        const part left = search->parts[done];
        bool more;
        tla_status status = open_part(search, left.parent, left.sections.to, left.cause, &more);
        if (status || more) return status ? status : TLA_LIMIT;
        done = left.parent;
    }
    return TLA_OK;
}

/* After a placement. As leave_part. */
static tla_status descend(plan_search *search, const frame *node) {
    if (search->parts[node->part].unplaced == 0) return leave_part(search);
    if (falls_apart(search, node)) {
        bool more;
        tla_status status =
            open_part(search, node->part, search->parts[node->part].sections.from, search->frame_count - 1, &more);
        return status ? status : TLA_LIMIT;
    }
    push_node(search, node->low, node->from);
    return TLA_LIMIT;
}

/* The last node has no candidate left. False: it was the root. */
static bool ascend(plan_search *search) {
    const frame failed = search->frames[--search->frame_count];
    if (search->frame_count > 0 && search->frames[search->frame_count - 1].part == failed.part) return true;
    const uint32_t cause = search->parts[failed.part].cause;
    if (cause == NO_FRAME) return false;
    /* A part has failed, and with it the placement that made it one; neighbours do not matter. */
    while (search->frame_count - 1 > cause)
        undo(search, &search->frames[--search->frame_count]);
    search->part_count = search->frames[cause].part + 1;
    search->order_count = search->parts[search->part_count - 1].first + search->parts[search->part_count - 1].count;
    return true;
}

tla_status plan_search_run(plan_search *search, uint64_t nodes, uint64_t *placed) {
    *placed = 0;
    tla_status status = search->model->n == 0 ? TLA_OK : TLA_LIMIT;
    while (status == TLA_LIMIT && *placed < nodes) {
        frame *node = &search->frames[search->frame_count - 1];
        bool only = node->placed && node->only;
        if (node->placed) undo(search, node);
        if (only || !find_candidate(search, node)) {
            if (!ascend(search)) return TLA_EXHAUSTED;
            continue;
        }
        if (reserve_log(search)) return TLA_NO_HOST_MEMORY;
        ++*placed;
        if (place(search, node)) status = descend(search, node);
    }
    return status;
}

void plan_search_offsets(const plan_search *search, uint64_t *offsets) {
    for (uint32_t i = 0; i < search->model->n; i++)
        offsets[i] = search->offsets[i] * search->model->unit;
}

/* Beginning and end */

static tla_status allocate(plan_search *search) {
    const size_t n = search->model->n + (size_t)2, sections = search->model->section_count + (size_t)1;
    search->limits = malloc(n * sizeof *search->limits);
    search->low = malloc(n * sizeof *search->low);
    search->offsets = malloc(n * sizeof *search->offsets);
    search->totals = malloc(n * sizeof *search->totals);
    search->order = malloc(n * sizeof *search->order);
    search->order_room = n;
    search->parts = malloc(n * sizeof *search->parts);
    search->frames = malloc(n * sizeof *search->frames);
    search->floor = calloc(sections, sizeof *search->floor);
    search->rest = calloc(sections, sizeof *search->rest);
    search->joints = calloc(sections, sizeof *search->joints);
    search->stamps = calloc(sections, sizeof *search->stamps);
    return search->limits && search->low && search->offsets && search->totals && search->order && search->parts &&
                   search->frames && search->floor && search->rest && search->joints && search->stamps
               ? TLA_OK
               : TLA_NO_HOST_MEMORY;
}

static tla_status begin(plan_search *search, uint64_t capacity) {
    const plan_model *model = search->model;
    for (uint32_t i = 0; i < model->n; i++) {
        search->limits[i] = (capacity - model->nbytes[i]) / model->unit;
        search->low[i] = model->fixed[i] == TLA_PLAN_ANYWHERE ? 0 : model->fixed[i];
        search->order[i] = i;
        if (search->limits[i] + model->sizes[i] > search->top) search->top = search->limits[i] + model->sizes[i];
        for (size_t k = model->first_span[i]; k < model->first_span[i + 1]; k++)
            for (uint32_t s = model->spans[k].from; s < model->spans[k].to; s++)
                search->rest[s] += model->sizes[i];
        const plan_span hull = plan_hull(model, i);
        for (uint32_t s = hull.from; s + 1 < hull.to; s++)
            search->joints[s]++;
    }
    search->order_count = model->n;
    search->parts[search->part_count++] = (part){{0, model->section_count}, 0, model->n, model->n, 0, NO_FRAME};
    bool more;
    return open_part(search, 0, 0, NO_FRAME, &more);
}

tla_status plan_search_create(const plan_model *model, plan_preorder preorder, uint64_t capacity, plan_search **out) {
    *out = NULL;
    plan_search *search = calloc(1, sizeof *search);
    if (!search) return TLA_NO_HOST_MEMORY;
    search->model = model;
    search->preorder = preorder;
    tla_status status = allocate(search);
    if (!status) status = begin(search, capacity);
    if (status) {
        plan_search_destroy(search);
        return status;
    }
    *out = search;
    return TLA_OK;
}

void plan_search_destroy(plan_search *search) {
    if (!search) return;
    free(search->limits);
    free(search->low);
    free(search->offsets);
    free(search->totals);
    free(search->order);
    free(search->parts);
    free(search->frames);
    free(search->floor);
    free(search->rest);
    free(search->joints);
    free(search->stamps);
    free(search->log);
    free(search);
}
