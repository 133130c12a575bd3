/* One block on its way to another place (tests/proofs/move_protocol.pml). */
#include "block_move.h"

#include "block_bindings.h"

#include <stdlib.h>

typedef enum phase { COPYING, PAUSING, REMAPPING, UNDOING, TELLING, FREEING, RESUMING, OVER } phase;

struct tla_block_move {
    tla_block_move_config config;
    tla_site from;
    uint64_t nbytes;
    phase phase;
    tla_status status;
    bool paused, moved;
    /* chunks */
    uint8_t *dirty; /* a flag for each: to be copied */
    uint64_t chunks, dirty_count, next_chunk, under_way;
    uint32_t rounds_left; /* before the pause */
    /* mappings */
    size_t first, next;           /* those of the command that is under way; equal: none is */
    size_t paused_end, remap_end; /* behind those that are paused, and remapped */
    uint32_t tries;
    uint64_t not_restored;
    tla_command command;
};

static void mark(tla_block_move *m, uint64_t chunk) {
    m->dirty_count += !m->dirty[chunk];
    m->dirty[chunk] = true;
}

tla_status tla_block_move_create(const tla_block_move_config *config, tla_block_move **out) {
    *out = NULL;
    tla_block_move *m = calloc(1, sizeof *m);
    if (!m) return TLA_NO_HOST_MEMORY;
    m->config = *config;
    m->from = config->block->at;
    m->nbytes = config->block->nbytes;
    m->chunks = (m->nbytes - 1) / config->how.chunk + 1;
    m->dirty = m->chunks <= SIZE_MAX ? malloc((size_t)m->chunks) : NULL;
    if (!m->dirty) {
        free(m);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint64_t i = 0; i < m->chunks; i++)
        m->dirty[i] = true;
    m->dirty_count = m->chunks;
    m->rounds_left = config->how.rounds;
    m->phase = config->how.mode == TLA_MOVE_CONCURRENT ? COPYING : PAUSING;
    *out = m;
    return TLA_OK;
}

void tla_block_move_destroy(tla_block_move *m) {
    if (!m) return;
    free(m->dirty);
    free(m);
}

const tla_block_move_config *tla_block_move_get_config(const tla_block_move *m) {
    return &m->config;
}

/* ---- chunks ---- */

static uint64_t find_dirty(const tla_block_move *m) {
    uint64_t chunk = m->next_chunk;
    while (chunk < m->chunks && !m->dirty[chunk])
        chunk++;
    return chunk;
}

bool tla_block_move_has_copy(const tla_block_move *m) {
    return m->phase == COPYING && !m->status && find_dirty(m) < m->chunks;
}

static bool take_dirty(tla_block_move *m, tla_move_step *step) {
    m->next_chunk = find_dirty(m);
    if (m->next_chunk == m->chunks) return false;
    const uint64_t offset = m->next_chunk * m->config.how.chunk, left = m->nbytes - offset;
    m->dirty[m->next_chunk++] = false;
    m->dirty_count--;
    m->under_way++;
    step->from = m->from;
    step->from.offset += offset;
    step->to = m->config.block->to;
    step->to.offset += offset;
    step->nbytes = left < m->config.how.chunk ? left : m->config.how.chunk;
    step->stopped = m->paused;
    return true;
}

/* No copy is under way: another round, or what comes after the copies. */
static void end_round(tla_block_move *m) {
    m->next_chunk = 0;
    if (m->paused) {
        if (m->dirty_count == 0) m->phase = REMAPPING;
    } else if (m->dirty_count == 0 || m->rounds_left-- == 0) {
        m->phase = PAUSING;
    }
}

void tla_block_move_copied(tla_block_move *m, bool ok) {
    m->under_way--;
    if (ok || m->status) return;
    m->status = TLA_BUS_ERROR;
    m->next_chunk = m->chunks; /* no further copies */
}

void tla_block_move_wrote(tla_block_move *m, uint64_t offset, uint64_t nbytes) {
    const uint64_t first = m->from.offset, end = first + m->nbytes;
    if (m->moved || nbytes == 0 || offset >= end || offset + (nbytes - 1) < first) return;
    const uint64_t begin = offset > first ? offset - first : 0;
    const uint64_t last = (offset + nbytes < end ? offset + nbytes : end) - 1 - first;
    for (uint64_t i = begin / m->config.how.chunk; i <= last / m->config.how.chunk; i++)
        mark(m, i);
}

/* The part of a range that lies in a place of the block, as a copy to the other place. */
static bool find_twin(tla_site place, tla_site other, uint64_t length, uint64_t offset, uint64_t nbytes,
                      tla_move_step *copy) {
    const uint64_t first = offset > place.offset ? offset : place.offset;
    const uint64_t end = offset + nbytes < place.offset + length ? offset + nbytes : place.offset + length;
    if (first >= end) return false;
    *copy = (tla_move_step){.from = place, .to = other, .nbytes = end - first};
    copy->from.offset = first;
    copy->to.offset += first - place.offset;
    return true;
}

bool tla_block_move_has_twin(const tla_block_move *m, tla_memory_kind memory, uint64_t offset, uint64_t nbytes,
                             tla_move_step *copy) {
    const tla_site from = m->from, to = m->config.block->to;
    if (m->phase != REMAPPING && m->phase != UNDOING) return false;
    return (memory == from.memory && find_twin(from, to, m->nbytes, offset, nbytes, copy)) ||
           (memory == to.memory && find_twin(to, from, m->nbytes, offset, nbytes, copy));
}

/* ---- commands ---- */

/* The next command of a phase, about mappings before `end`; false: they are all done. */
static bool build(tla_block_move *m, tla_opcode opcode, tla_paddr pa, size_t end) {
    m->first = m->next;
    if (m->next >= end) return false;
    return tla_object_mappings(m->config.block, opcode, pa, &m->next, &m->command);
}

static void enter(tla_block_move *m, phase next) {
    m->phase = next;
    m->first = m->next = 0;
    m->tries = 0;
}

/* Whether there is a command to be sent in this phase; else the next phase begins. */
static bool has_command(tla_block_move *m) {
    const tla_paddr from = m->from.pa, to = m->config.block->to.pa;
    switch (m->phase) {
    case PAUSING:
        if (build(m, TLA_OP_PAUSE, from, SIZE_MAX)) return true;
        m->paused = true;
        enter(m, COPYING);
        return false;
    case REMAPPING:
        if (build(m, TLA_OP_REMAP, to, SIZE_MAX)) return true;
        m->moved = true;
        enter(m, m->config.of_compaction ? TELLING : FREEING);
        return false;
    case UNDOING:
        if (build(m, TLA_OP_REMAP, from, m->remap_end)) return true;
        enter(m, FREEING);
        return false;
    default:
        if (build(m, TLA_OP_RESUME, from, m->paused_end)) return true;
        enter(m, OVER);
        return false;
    }
}

static void fail(tla_block_move *m, tla_status status) {
    if (!m->status) m->status = status;
    enter(m, m->phase == REMAPPING ? UNDOING : FREEING);
}

void tla_block_move_sent(tla_block_move *m, tla_status status) {
    if (m->phase == TELLING) {
        enter(m, FREEING);
        return;
    }
    const bool undoes = m->phase == UNDOING || m->phase == RESUMING;
    if (undoes && status == TLA_BUSY && ++m->tries < TLA_MOVE_TRIES) {
        m->next = m->first; /* again */
        return;
    }
    m->tries = 0;
    if (undoes)
        m->not_restored += status != TLA_OK;
    else if (status)
        fail(m, status);
    else
        *(m->phase == PAUSING ? &m->paused_end : &m->remap_end) = m->next;
    m->first = m->next;
}

void tla_block_move_abandon(tla_block_move *m) {
    if (m->status || m->moved) return;
    m->status = TLA_RESET;
    m->next_chunk = m->chunks;
}

/* ---- steps ---- */

tla_move_step_kind tla_block_move_next(tla_block_move *m, tla_move_step *step) {
    for (;;) {
        const bool begun = m->first != m->next;
        if (m->status && !m->moved && !begun && m->under_way == 0 && m->phase < UNDOING)
            enter(m, m->phase == REMAPPING && m->remap_end > 0 ? UNDOING : FREEING); /* abandoned */
        switch (m->phase) {
        case COPYING:
            if (take_dirty(m, step)) return TLA_MOVE_COPIES;
            if (m->under_way > 0) return TLA_MOVE_WAITS;
            end_round(m);
            break;
        case TELLING:
            if (m->config.block->told) return TLA_MOVE_WAITS;
            m->config.block->told = true;
            step->from = m->from;
            step->to = m->config.block->to;
            step->nbytes = m->nbytes;
            return TLA_MOVE_TELLS;
        case FREEING:
            if (!m->moved && (m->config.other || m->config.block->to.memory == TLA_MEMORY_KIND_COUNT)) {
                /* the sender frees it */
                enter(m, RESUMING);
                break;
            }
            step->from = m->moved ? m->from : m->config.block->to;
            step->nbytes = m->nbytes;
            enter(m, RESUMING);
            return TLA_MOVE_FREES;
        case OVER:
            step->nbytes = m->nbytes;
            return TLA_MOVE_ENDS;
        default:
            if (begun) return TLA_MOVE_WAITS;
            if (!has_command(m)) break;
            step->command = &m->command;
            return TLA_MOVE_SENDS;
        }
    }
}

tla_site tla_block_move_from(const tla_block_move *m) {
    return m->from;
}

bool tla_block_move_has_moved(const tla_block_move *m) {
    return m->moved;
}

tla_status tla_block_move_status(const tla_block_move *m) {
    return m->status;
}

uint64_t tla_block_move_not_restored(const tla_block_move *m) {
    return m->not_restored;
}
