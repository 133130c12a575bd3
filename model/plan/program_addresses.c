/* Addresses of views and of inputs and outputs, when the rest is planned. */
#include "program.h"

#include <stdlib.h>

typedef struct placing {
    const tla_plan_program *program;
    bool *stays; /* tensors that no view moves */
    uint64_t *addresses;
    uint64_t limit;
} placing;

static void place_tags(placing *p) {
    size_t tagged[TLA_ADDRESS_TAGS];
    for (size_t i = program_tagged(p->program, tagged); i-- > 0;) {
        p->addresses[tagged[i]] = p->program->tags[i];
        p->stays[tagged[i]] = true;
    }
}

static void fuse(placing *p) {
    uint64_t next[] = {[TLA_PLAN_INPUT] = p->program->tags[0], [TLA_PLAN_OUTPUT] = p->program->tags[1]};
    for (size_t i = 0; i < p->program->n; i++) {
        const tla_plan_io io = program_io(p->program, i);
        if (io == TLA_PLAN_INNER) continue;
        p->addresses[i] = next[io];
        next[io] += p->program->tensors[i].nbytes;
    }
}

static void place_concat(placing *p, size_t concat) {
    uint64_t next = p->addresses[program_reshaped(p->program, program_source(p->program, concat, 0))];
    if (!p->stays[concat]) p->addresses[concat] = next;
    for (size_t i = 0; i < p->program->views[concat].count; i++) {
        const size_t source = program_source(p->program, concat, i), base = program_reshaped(p->program, source);
        if (i > 0 && p->stays[base]) continue;
        p->addresses[base] = next;
        next += p->program->tensors[source].nbytes;
    }
}

/* Concats first: they decide where their sources are. */
static void place_views(placing *p) {
    for (size_t i = 0; i < p->program->n; i++)
        if (program_is_concat(p->program, i)) place_concat(p, i);
    for (size_t i = 0; i < p->program->n; i++)
        if (p->program->views[i].count == 1 && !p->stays[i])
            p->addresses[i] = p->addresses[program_source(p->program, i, 0)] + p->program->views[i].offset;
}

/* The aligned end of the last input or output; by the repaired rule no tensor lies across it. */
static uint64_t io_limit(const placing *p) {
    uint64_t limit = p->program->start;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < p->program->n; i++) {
            const bool counts =
                program_io(p->program, i) != TLA_PLAN_INNER || (!p->program->literal && p->addresses[i] < limit);
            const uint64_t end = program_aligned(p->program, p->addresses[i] + p->program->tensors[i].nbytes);
            if (!counts || end <= limit) continue;
            limit = end;
            more = !p->program->literal;
        }
    }
    return limit < p->limit ? limit : p->limit;
}

static tla_plan_regions set_alone(placing *p) {
    const uint64_t start = p->program->start, limit = io_limit(p), io_start = p->program->io_start;
    if (io_start == TLA_PLAN_ANYWHERE) return (tla_plan_regions){start, limit - start, limit, p->limit - limit};
    for (size_t i = 0; i < p->program->n; i++)
        p->addresses[i] += p->addresses[i] < limit ? io_start - start : start - limit;
    return (tla_plan_regions){io_start, limit - start, start, p->limit - limit};
}

static void move_inside(placing *p, uint64_t from, uint64_t nbytes, uint64_t to) {
    for (size_t i = 0; i < p->program->n; i++) {
        const uint64_t inside = p->addresses[i] - from, own = p->program->tensors[i].nbytes;
        if (inside < nbytes && own <= nbytes - inside) p->addresses[i] = to + inside;
    }
}

static void relocate(placing *p) {
    for (int kind = TLA_PLAN_INPUT; kind <= TLA_PLAN_OUTPUT; kind++)
        for (size_t i = 0; i < p->program->n; i++) {
            if (program_io(p->program, i) != (tla_plan_io)kind) continue;
            const uint64_t nbytes = p->program->tensors[i].nbytes, to = p->limit;
            move_inside(p, p->addresses[i], nbytes, to);
            p->limit += program_aligned(p->program, nbytes);
        }
}

static tla_plan_regions place_all(placing *p) {
    const tla_address_mode mode = p->program->mode;
    for (size_t i = 0; i < p->program->n; i++)
        p->stays[i] = program_stays(p->program, i);
    if (mode == TLA_ADDRESS_IO_TAG) place_tags(p);
    if (mode == TLA_ADDRESS_IO_TAG_FUSE) fuse(p);
    place_views(p);
    if (mode == TLA_ADDRESS_IO_ALONE) return set_alone(p);
    if (mode == TLA_ADDRESS_IO_RELOC) relocate(p);
    return (tla_plan_regions){0, 0, p->program->start, p->limit - p->program->start};
}

tla_status tla_plan_addresses(const tla_plan_program *program, uint64_t limit, uint64_t *addresses,
                              tla_plan_regions *regions) {
    placing p = {.program = program, .addresses = addresses, .limit = limit};
    tla_lifetime *live = malloc((program->n + 1) * sizeof *live);
    p.stays = malloc((program->n + 1) * sizeof *p.stays);
    tla_status status = live && p.stays ? tla_plan_live(program, live) : TLA_NO_HOST_MEMORY;
    if (!status && (limit < program->start || limit > 2 * PROGRAM_LARGEST)) status = TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < program->n && !status; i++)
        if (live[i].nbytes &&
            (addresses[i] < program->start || addresses[i] > limit || live[i].nbytes > limit - addresses[i]))
            status = TLA_INVALID_ARGUMENT;
    for (size_t i = 0; i < program->n && !status; i++)
        if (live[i].nbytes == 0) addresses[i] = program->start;
    if (!status) {
        const tla_plan_regions found = place_all(&p);
        if (regions) *regions = found;
    }
    free(live);
    free(p.stays);
    return status;
}
