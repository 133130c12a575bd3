/* The queue of free blocks, references, and tables of requests. */
#include "tlmalloc/allocators/kv_blocks.h"

#include "kv_blocks_index.h"

#include <stdlib.h>
#include <string.h>

/* In the queue, block 0 stands before the head and behind the tail. */
typedef struct kv_record {
    uint32_t before, behind;
    uint32_t references; /* 0: it is in the queue */
} kv_record;

struct tla_kv_blocks {
    tla_kv_blocks_config config;
    kv_record *records;
    tla_kv_index index;
    uint32_t queued; /* blocks in the queue */
    uint32_t cached; /* those of them that are in the index */
    uint64_t references;
    uint32_t peak;
    uint64_t taken, revived, shared, evicted;
};

tla_status tla_kv_blocks_create(const tla_kv_blocks_config *config, tla_kv_blocks **out) {
    *out = NULL;
    if (config->blocks < 2 || config->blocks > TLA_KV_BLOCKS_MAX) return TLA_INVALID_ARGUMENT;
    tla_kv_blocks *made = calloc(1, sizeof *made);
    if (!made) return TLA_NO_HOST_MEMORY;
    made->config = *config;
    made->queued = config->blocks - 1;
    made->records = calloc(config->blocks, sizeof *made->records);
    if (!made->records || (config->index && tla_kv_index_init(&made->index, config->blocks))) {
        tla_kv_blocks_destroy(made);
        return TLA_NO_HOST_MEMORY;
    }
    for (uint32_t block = 0; block < config->blocks; block++) {
        made->records[block].before = block ? block - 1 : config->blocks - 1;
        made->records[block].behind = block + 1 < config->blocks ? block + 1 : 0;
    }
    *out = made;
    return TLA_OK;
}

void tla_kv_blocks_destroy(tla_kv_blocks *blocks) {
    if (!blocks) return;
    tla_kv_index_clear(&blocks->index);
    free(blocks->records);
    free(blocks);
}

/* ---- the queue ---- */

static bool is_entered(const tla_kv_blocks *b, uint32_t block) {
    return b->config.index && b->index.entries[block].entered;
}

/* The lines of a block and of those of its neighbours that are blocks. */
static void charge_link(const kv_record *record, tla_work *work) {
    if (!work) return;
    work->slots++;
    work->metadata_lines += 1u + (record->before != 0) + (record->behind != 0);
}

static void unlink_block(tla_kv_blocks *b, uint32_t block, tla_work *work) {
    const kv_record *record = &b->records[block];
    charge_link(record, work);
    b->records[record->before].behind = record->behind;
    b->records[record->behind].before = record->before;
    b->queued--;
    b->cached -= is_entered(b, block);
}

static void append_block(tla_kv_blocks *b, uint32_t block, tla_work *work) {
    kv_record *record = &b->records[block];
    record->before = b->records[0].before;
    record->behind = 0;
    b->records[record->before].behind = block;
    b->records[0].before = block;
    b->queued++;
    b->cached += is_entered(b, block);
    charge_link(record, work);
}

/* The head of the queue, for new content. */
static uint32_t take(tla_kv_blocks *b, tla_work *work) {
    const uint32_t block = b->records[0].behind;
    unlink_block(b, block, work);
    if (is_entered(b, block)) {
        tla_kv_index_remove(&b->index, block, work);
        b->evicted++;
    }
    b->taken++;
    if (work) work->nodes_visited++;
    return block;
}

static void refer(tla_kv_blocks *b, uint32_t block) {
    b->records[block].references++;
    b->references++;
    const uint32_t referenced = b->config.blocks - 1 - b->queued;
    if (referenced > b->peak) b->peak = referenced;
}

/* A block of which the content was found. */
static void reuse(tla_kv_blocks *b, uint32_t block, tla_work *work) {
    if (b->records[block].references == 0) {
        unlink_block(b, block, work);
        b->revived++;
    } else {
        b->shared++;
        if (work) work->metadata_lines++;
    }
    refer(b, block);
}

/* ---- requests ---- */

uint32_t tla_kv_blocks_find(const tla_kv_blocks *b, const uint64_t *hashes, uint32_t count, uint32_t *found,
                            tla_work *work) {
    uint32_t hits = 0;
    if (!b->config.index) return 0;
    while (hits < count && (found[hits] = tla_kv_index_find(&b->index, hashes[hits], work)) != 0)
        hits++;
    return hits;
}

uint32_t tla_kv_blocks_needed(const tla_kv_blocks *b, const tla_kv_table *table, const uint32_t *found,
                              uint32_t found_count, uint32_t count) {
    const uint32_t held = table->count + found_count;
    uint32_t needed = count > held ? count - held : 0;
    for (uint32_t i = 0; i < found_count; i++)
        needed += b->records[found[i]].references == 0;
    return needed;
}

static tla_status make_room(tla_kv_table *table, uint32_t count) {
    if (count <= table->room) return TLA_OK;
    const uint32_t room = count < 8 ? 8 : count + count / 2;
    uint32_t *grown = realloc(table->blocks, room * sizeof *grown);
    if (!grown) return TLA_NO_HOST_MEMORY;
    table->blocks = grown;
    table->room = room;
    return TLA_OK;
}

tla_status tla_kv_blocks_allocate(tla_kv_blocks *b, tla_kv_table *table, const uint32_t *found, uint32_t found_count,
                                  uint32_t count, tla_work *work) {
    if (count > TLA_KV_BLOCKS_MAX || (found_count && (table->count || found_count > count)))
        return TLA_INVALID_ARGUMENT;
    if (work) work->list_length += b->queued;
    if (tla_kv_blocks_needed(b, table, found, found_count, count) > b->queued) return TLA_EXHAUSTED;
    const tla_status status = make_room(table, count);
    if (status) return status;
    for (uint32_t i = 0; i < found_count; i++) {
        reuse(b, found[i], work);
        table->blocks[table->count++] = found[i];
    }
    table->entered += found_count;
    while (table->count < count) {
        const uint32_t block = take(b, work);
        refer(b, block);
        table->blocks[table->count++] = block;
    }
    return TLA_OK;
}

tla_status tla_kv_blocks_enter(tla_kv_blocks *b, tla_kv_table *table, const uint64_t *hashes, uint32_t full,
                               tla_work *work) {
    if (full > table->count) return TLA_INVALID_ARGUMENT;
    if (!b->config.index) return TLA_OK;
    for (; table->entered < full; table->entered++)
        tla_kv_index_enter(&b->index, table->blocks[table->entered], hashes[table->entered], work);
    return TLA_OK;
}

void tla_kv_blocks_release(tla_kv_blocks *b, tla_kv_table *table, tla_work *work) {
    while (table->count) {
        const uint32_t block = table->blocks[--table->count];
        b->references--;
        if (--b->records[block].references == 0)
            append_block(b, block, work);
        else if (work)
            work->metadata_lines++;
    }
    table->entered = 0;
}

void tla_kv_table_clear(tla_kv_table *table) {
    free(table->blocks);
    *table = (tla_kv_table){0};
}

tla_status tla_kv_blocks_references(const tla_kv_blocks *b, uint32_t block, uint32_t *references) {
    if (block >= b->config.blocks) return TLA_OUT_OF_RANGE;
    *references = b->records[block].references;
    return TLA_OK;
}

tla_kv_blocks_stats tla_kv_blocks_get_stats(const tla_kv_blocks *b) {
    return (tla_kv_blocks_stats){.usable = b->config.blocks - 1,
                                 .free = b->queued - b->cached,
                                 .cached = b->cached,
                                 .referenced = b->config.blocks - 1 - b->queued,
                                 .references = b->references,
                                 .peak = b->peak,
                                 .taken = b->taken,
                                 .revived = b->revived,
                                 .shared = b->shared,
                                 .evicted = b->evicted};
}
