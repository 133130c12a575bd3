/* An index by chains: a lookup compares the entries in the order of their insertion, so that the first match is the
 * answer. */
#include "kv_blocks_index.h"

#include "base/host_array.h"

#include <stdlib.h>

tla_status tla_kv_index_init(tla_kv_index *index, uint32_t blocks) {
    uint64_t buckets = 1;
    while (buckets < 2 * (uint64_t)blocks)
        buckets *= 2;
    *index = (tla_kv_index){.bucket_mask = buckets - 1};
    index->entries = host_array_new(blocks, sizeof *index->entries);
    index->first = host_array_new(buckets, sizeof *index->first);
    index->last = host_array_new(buckets, sizeof *index->last);
    return index->entries && index->first && index->last ? TLA_OK : TLA_NO_HOST_MEMORY;
}

void tla_kv_index_clear(tla_kv_index *index) {
    free(index->entries);
    free(index->first);
    free(index->last);
    *index = (tla_kv_index){0};
}

/* Hashes may be numbers in a row, as those of a trace are: their bits are mixed (the finalizer of MurmurHash3). */
static uint64_t bucket_of(const tla_kv_index *index, uint64_t hash) {
    hash ^= hash >> 33;
    hash *= UINT64_C(0xff51afd7ed558ccd);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xc4ceb9fe1a85ec53);
    return (hash ^ hash >> 33) & index->bucket_mask;
}

uint32_t tla_kv_index_find(const tla_kv_index *index, uint64_t hash, tla_work *work) {
    uint32_t block = index->first[bucket_of(index, hash)];
    uint64_t probes = block != 0;
    while (block && index->entries[block].hash != hash) {
        block = index->entries[block].later;
        probes += block != 0;
    }
    if (work) {
        work->class_lookups++;
        work->probes += probes;
        work->metadata_lines += 1 + probes;
    }
    return block;
}

void tla_kv_index_enter(tla_kv_index *index, uint32_t block, uint64_t hash, tla_work *work) {
    const uint64_t bucket = bucket_of(index, hash);
    const uint32_t earlier = index->last[bucket];
    index->entries[block] = (tla_kv_entry){.hash = hash, .earlier = earlier, .entered = true};
    index->last[bucket] = block;
    if (earlier)
        index->entries[earlier].later = block;
    else
        index->first[bucket] = block;
    index->entered++;
    if (!work) return;
    work->nodes_created++;
    work->metadata_lines += 2u + (earlier != 0);
}

void tla_kv_index_remove(tla_kv_index *index, uint32_t block, tla_work *work) {
    tla_kv_entry *entry = &index->entries[block];
    const uint32_t earlier = entry->earlier, later = entry->later;
    const uint64_t bucket = bucket_of(index, entry->hash);
    if (earlier)
        index->entries[earlier].later = later;
    else
        index->first[bucket] = later;
    if (later)
        index->entries[later].earlier = earlier;
    else
        index->last[bucket] = earlier;
    *entry = (tla_kv_entry){0};
    index->entered--;
    if (!work) return;
    work->nodes_released++;
    work->metadata_lines += 1u + (earlier != 0) + (later != 0) + (!earlier || !later);
}
