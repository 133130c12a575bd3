/* A recorded program, and what other settings make of it. */
#include "torch/program.h"

#include <stdlib.h>
#include <string.h>

/* Making it */

typedef struct mention {
    uint64_t address;
    size_t entry;
} mention;

static int by_address(const void *a, const void *b) {
    const mention *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return (x->entry > y->entry) - (x->entry < y->entry);
}

typedef struct maker {
    const torch_device *device;
    const torch_start *start;
    const torch_inferred *inferred;
    size_t end;
    torch_program *program;
    uint32_t *ids; /* of the block that an entry is about */
} maker;

static const torch_start_block *older_at(const torch_start *start, uint64_t address, uint32_t *id) {
    size_t low = 0, high = start->block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (start->blocks[middle].address < address)
            low = middle + 1;
        else
            high = middle;
    }
    *id = (uint32_t)low;
    return low < start->block_count && start->blocks[low].address == address ? &start->blocks[low] : NULL;
}

/* Which block every entry is about: of one address the allocations follow each other. */
static bool find_blocks(maker *m) {
    mention *mentions = malloc((m->end + 1) * sizeof *mentions);
    size_t count = 0;
    if (!mentions) return false;
    for (size_t i = 0; i < m->end; i++)
        if (m->device->entries[i].action <= TORCH_FREE_COMPLETED)
            mentions[count++] = (mention){m->device->entries[i].address, i};
    qsort(mentions, count, sizeof *mentions, by_address);
    uint32_t id = 0;
    for (size_t i = 0; i < count; i++) {
        const torch_entry *e = &m->device->entries[mentions[i].entry];
        if (i == 0 || mentions[i - 1].address != e->address) older_at(m->start, e->address, &id);
        if (e->action == TORCH_ALLOC) {
            id = (uint32_t)m->program->block_count++;
            m->program->blocks[id] = (torch_program_block){e->nbytes, e->stream, e->pool};
        }
        m->ids[mentions[i].entry] = id;
    }
    free(mentions);
    return true;
}

static bool is_marked(const maker *m, size_t entry, uint8_t mark) {
    return m->inferred && (m->inferred->marks[entry] & mark);
}

static void add(maker *m, torch_op_kind kind, uint32_t block) {
    m->program->ops[m->program->op_count++] = (torch_op){(uint32_t)kind, block};
}

/* By address, the pending ones freed at once. */
static void add_older(maker *m) {
    const torch_start *start = m->start;
    size_t segment = 0;
    for (size_t i = 0; i < start->block_count; i++) {
        const torch_start_block *b = &start->blocks[i];
        while (segment + 1 < start->segment_count && start->segments[segment + 1].address <= b->address)
            segment++;
        const torch_start_segment *s = start->segment_count ? &start->segments[segment] : NULL;
        m->program->blocks[i] =
            (torch_program_block){b->requested ? b->requested : b->nbytes, s ? s->stream : 0, s ? s->pool : 0};
        add(m, TORCH_OP_ALLOC, (uint32_t)i);
        if (b->pending) add(m, TORCH_OP_PENDING, (uint32_t)i);
    }
    m->program->block_count = start->block_count;
    m->program->late = start->block_count > 0;
}

/* The frees for which a request waited complete behind it at the latest: with other settings it need not wait. */
static void add_waited(maker *m, size_t *first, size_t request) {
    for (; *first < request; ++*first)
        if (is_marked(m, *first, TORCH_MARK_WAITED)) add(m, TORCH_OP_COMPLETE, m->ids[*first]);
    ++*first;
}

/* A request, which is the block's last mention in the program if it fails. */
static void add_request(maker *m, torch_op_kind kind, size_t entry) {
    const torch_entry *e = &m->device->entries[entry];
    const bool captured = is_marked(m, entry, TORCH_MARK_CAPTURED);
    const uint32_t block = (uint32_t)m->program->block_count++;
    m->program->blocks[block] = (torch_program_block){e->nbytes, e->stream, e->pool};
    if (captured) add(m, TORCH_OP_CAPTURE, 0);
    add(m, kind, block);
    if (captured) add(m, TORCH_OP_RECORDED, 0);
}

/* The pools whose graphs ended up to an entry. */
static void add_retirements(maker *m, size_t *next, size_t entry) {
    const torch_inferred *inferred = m->inferred;
    for (; inferred && *next < inferred->retirement_count && inferred->retirements[*next].entry <= entry; ++*next)
        add(m, TORCH_OP_RETIRE, inferred->retirements[*next].pool);
}

static void add_entries(maker *m) {
    size_t waited = 0; /* the first entry of which the waits were not added */
    size_t retired = 0;
    for (size_t i = 0; i < m->end; i++) {
        const torch_entry *e = &m->device->entries[i];
        size_t next = i + 1;
        add_retirements(m, &retired, i);
        if (is_marked(m, i, TORCH_MARK_EMPTIED)) add(m, TORCH_OP_EMPTY, 0);
        switch (e->action) {
        case TORCH_ALLOC:
            add(m, TORCH_OP_ALLOC, m->ids[i]);
            add_waited(m, &waited, i);
            break;
        case TORCH_OOM:
            add_request(m, TORCH_OP_TRY, i);
            add_waited(m, &waited, i);
            break;
        case TORCH_FREE_REQUESTED:
            while (next < m->end && m->device->entries[next].action == TORCH_SNAPSHOT)
                next++;
            if (next < m->end && m->device->entries[next].action == TORCH_FREE_COMPLETED &&
                m->device->entries[next].address == e->address && !is_marked(m, next, TORCH_MARK_WAITED)) {
                add(m, TORCH_OP_FREE, m->ids[i]);
                i = next;
            } else {
                add(m, TORCH_OP_PENDING, m->ids[i]);
            }
            break;
        case TORCH_FREE_COMPLETED:
            if (!is_marked(m, i, TORCH_MARK_WAITED)) add(m, TORCH_OP_COMPLETE, m->ids[i]);
            break;
        default:
            break;
        }
    }
    add_retirements(m, &retired, m->end);
}

tla_status torch_program_make(const torch_snapshot *snapshot, size_t device, const torch_start *start,
                              const torch_inferred *inferred, size_t end, torch_program *program, tla_error *error) {
    *program = (torch_program){.snapshot = snapshot};
    maker m = {&snapshot->devices[device], start, inferred, end, program, NULL};
    const size_t most = 2 * start->block_count + 4 * m.device->entry_count + snapshot->pool_count + 2;
    program->ops = malloc(most * sizeof *program->ops);
    program->blocks = malloc((start->block_count + m.device->entry_count + 2) * sizeof *program->blocks);
    m.ids = malloc((m.device->entry_count + 1) * sizeof *m.ids);
    bool good = program->ops && program->blocks && m.ids;
    if (good) {
        add_older(&m);
        good = find_blocks(&m);
    }
    if (good) {
        add_entries(&m);
        if (end < m.device->entry_count) add_request(&m, TORCH_OP_ALLOC, end);
    }
    free(m.ids);
    if (good) return TLA_OK;
    torch_program_clear(program);
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory for the program", snapshot->name);
}

void torch_program_clear(torch_program *program) {
    free(program->ops);
    free(program->blocks);
    *program = (torch_program){0};
}

/* The device */

typedef struct simple_device {
    uint64_t capacity, used, next;
} simple_device;

static tla_status take(simple_device *d, uint64_t nbytes) {
    if (nbytes > d->capacity - d->used) return TLA_EXHAUSTED;
    d->used += nbytes;
    return TLA_OK;
}

static tla_status give_addresses(simple_device *d, uint64_t nbytes, uint64_t *address) {
    *address = d->next;
    d->next += nbytes;
    return TLA_OK;
}

static tla_status device_alloc(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work) {
    (void)device, (void)work;
    tla_status status = take(context, nbytes);
    return status ? status : give_addresses(context, nbytes, address);
}

static tla_status device_free(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)device, (void)address, (void)work;
    ((simple_device *)context)->used -= nbytes;
    return TLA_OK;
}

static tla_status device_reserve(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                                 tla_work *work) {
    (void)device, (void)granule, (void)work;
    return give_addresses(context, nbytes, address);
}

static tla_status device_release(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

static tla_status device_map(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                             tla_work *work) {
    (void)device, (void)address, (void)granule, (void)work;
    return take(context, nbytes);
}

static tla_status device_unmap(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                               tla_work *work) {
    (void)granule;
    return device_free(context, device, address, nbytes, work);
}

/* Playing it */

typedef struct player {
    const torch_program *program;
    const torch_what_if *how;
    simple_device device;
    tla_segment_cache *cache;
    uint64_t *addresses; /* of blocks */
    uint32_t *pending;   /* `waits` + 1 of a block when it was freed and another stream still used it */
    uint32_t waits;      /* how often the cache has waited for all streams */
} player;

/* The cache waits for all streams, and completes pending frees itself. */
static void forget_pending(void *context) {
    ((player *)context)->waits++;
}

static bool end_pending(player *p, uint32_t id) {
    bool pending = p->pending[id] == p->waits + 1;
    p->pending[id] = 0;
    return pending;
}

static tla_status make_cache(player *p, uint64_t capacity) {
    static const uint64_t unlimited = UINT64_C(1) << 60, first_address = UINT64_C(1) << 30;
    p->device = (simple_device){capacity ? capacity : unlimited, 0, first_address};
    tla_segment_cache_config c = p->how->settings;
    c.driver = (tla_upstream){.alloc = device_alloc, .free = device_free, .context = &p->device};
    c.ranges = (tla_upstream_ranges){device_reserve, device_release, device_map, device_unmap, &p->device};
    if (!c.device_bytes) c.device_bytes = capacity;
    if (!c.device_bytes) c.memory_fraction = 0; /* of nothing that is known */
    tla_status status = tla_segment_cache_create(&c, &p->cache);
    if (!status) tla_segment_cache_on_synchronize(p->cache, forget_pending, p);
    const torch_snapshot *s = p->program->snapshot;
    for (size_t i = 1; i < s->pool_count && !status; i++)
        status = tla_segment_cache_add_pool(p->cache, s->pools[i], (tla_segment_pool_options){0});
    return status;
}

static bool wants_memory(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED || status == TLA_LIMIT || status == TLA_UNSUPPORTED;
}

static tla_status alloc_block(player *p, uint32_t id) {
    const torch_program_block *b = &p->program->blocks[id];
    const tla_segment_pool_id owner = p->program->snapshot->pools[b->pool];
    const uint64_t stream = p->how->one_stream ? 0 : b->stream;
    tla_block block;
    tla_status status = tla_segment_cache_alloc_from(p->cache, owner, stream, b->nbytes, &block, NULL);
    if (wants_memory(status) && p->how->second_search &&
        tla_segment_cache_can_serve_from(p->cache, owner, stream, b->nbytes))
        status = tla_segment_cache_alloc_from(p->cache, owner, stream, b->nbytes, &block, NULL);
    if (!status) p->addresses[id] = block.offset;
    return status;
}

/* false: the request failed, for want of memory if *status is TLA_OK. */
static bool play_op(player *p, const torch_op *op, tla_status *status) {
    const uint64_t address = op->kind < TORCH_OP_EMPTY ? p->addresses[op->block] : 0;
    switch (op->kind) {
    case TORCH_OP_ALLOC:
        *status = alloc_block(p, op->block);
        if (wants_memory(*status)) {
            *status = TLA_OK;
            return false;
        }
        break;
    case TORCH_OP_TRY:
        *status = alloc_block(p, op->block);
        if (!*status)
            *status = tla_segment_cache_free(p->cache, p->addresses[op->block], NULL);
        else if (wants_memory(*status))
            *status = TLA_OK;
        break;
    case TORCH_OP_PENDING: /* on one stream no other stream uses it */
        if (!p->how->one_stream) *status = tla_segment_cache_begin_use(p->cache, address);
        if (!*status) *status = tla_segment_cache_free(p->cache, address, NULL);
        if (!p->how->one_stream) p->pending[op->block] = p->waits + 1;
        break;
    case TORCH_OP_FREE:
        *status = tla_segment_cache_free(p->cache, address, NULL);
        break;
    case TORCH_OP_COMPLETE: /* unless the cache had to wait for it before */
        if (end_pending(p, op->block)) *status = tla_segment_cache_end_use(p->cache, address, NULL);
        break;
    case TORCH_OP_RETIRE:
        *status = tla_segment_cache_retire_pool(p->cache, p->program->snapshot->pools[op->block]);
        break;
    case TORCH_OP_CAPTURE:
        tla_segment_cache_begin_capture(p->cache);
        break;
    case TORCH_OP_RECORDED:
        tla_segment_cache_end_capture(p->cache);
        break;
    default:
        *status = tla_segment_cache_empty(p->cache, NULL);
    }
    return *status == TLA_OK;
}

tla_status torch_program_play(const torch_program *program, const torch_what_if *how, uint64_t capacity,
                              torch_outcome *outcome, tla_segment_cache **cache, tla_error *error) {
    *outcome = (torch_outcome){.served = true};
    player p = {.program = program, .how = how};
    if (cache) *cache = NULL;
    p.addresses = calloc(program->block_count + 1, sizeof *p.addresses);
    p.pending = calloc(program->block_count + 1, sizeof *p.pending);
    tla_status status = p.addresses && p.pending ? make_cache(&p, capacity) : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < program->op_count && !status && outcome->served; i++)
        outcome->served = play_op(&p, &program->ops[i], &status);
    if (p.cache) {
        outcome->stats = tla_segment_cache_get_stats(p.cache);
        const tla_segment_cache_stats *s = &outcome->stats;
        outcome->driver_calls = s->driver_allocs + s->driver_frees + s->maps + s->unmaps;
    }
    free(p.addresses);
    free(p.pending);
    if (p.cache) tla_segment_cache_on_synchronize(p.cache, NULL, NULL);
    if (cache && !status)
        *cache = p.cache;
    else
        tla_segment_cache_abandon(p.cache);
    if (status) return tla_error_set(error, status, "cannot replay the program: %s", tla_status_text(status));
    return TLA_OK;
}

/* Returns the most bytes requested at once: with less memory no allocator serves the program. Requests that failed in
 * the recording may fail again. */
static uint64_t most_requested(const torch_program *program) {
    uint64_t live = 0, most = 0;
    for (size_t i = 0; i < program->op_count; i++) {
        const torch_op *op = &program->ops[i];
        if (op->kind == TORCH_OP_ALLOC) live += program->blocks[op->block].nbytes;
        if (op->kind == TORCH_OP_FREE || op->kind == TORCH_OP_PENDING) live -= program->blocks[op->block].nbytes;
        if (live > most) most = live;
    }
    return most;
}

tla_status torch_program_least_capacity(const torch_program *program, const torch_what_if *how, uint64_t served_by,
                                        uint64_t *capacity, tla_error *error) {
    static const uint64_t step = 2 << 20, unlimited = UINT64_C(1) << 60;
    torch_outcome outcome;
    *capacity = 0;
    tla_status status = torch_program_play(program, how, 0, &outcome, NULL, error);
    if (status || !outcome.served) return status;
    /* In steps: with `fails` the program is not served, with `serves` it was. A smaller device has shorter ranges too,
     * so that the bytes that were reserved without a limit need not be enough. */
    uint64_t most = most_requested(program), fails = most ? (most - 1) / step : 0, serves;
    serves = (outcome.stats.peak_reserved + step - 1) / step;
    if (served_by && served_by / step < serves) serves = (served_by + step - 1) / step;
    if (serves <= fails) serves = fails + 1;
    for (;; serves += serves / 8 + 1) {
        if (serves > unlimited / step) return TLA_OK;
        status = torch_program_play(program, how, serves * step, &outcome, NULL, error);
        if (status) return status;
        if (outcome.served) break;
        fails = serves;
    }
    while (serves - fails > 1) {
        uint64_t middle = fails + (serves - fails) / 2;
        status = torch_program_play(program, how, middle * step, &outcome, NULL, error);
        if (status) return status;
        if (outcome.served)
            serves = middle;
        else
            fails = middle;
    }
    *capacity = serves * step;
    return TLA_OK;
}
