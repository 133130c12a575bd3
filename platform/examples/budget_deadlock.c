/* Two loaders, each holding half: the deadlock that LMCache's chunk budget is for (seed 003).
 *
 * The memory holds 8 chunks of a key-value cache. Two loaders load 6 each, and release none before all are loaded. The
 * first run has no budget: each loader allocates chunk by chunk, and tries again while no chunk is free, as a retrieve
 * does. The second run has a budget of tla_kv_chunk_budget chunks, from which a loader takes its chunks before it
 * allocates. */
#include "senders.h"
#include "tlmalloc/kv/kv_cache.h"

#include <stdio.h>

enum { LOADERS = 2, CHUNKS = 6, ATTEMPTS = 20, LOAD_US = 2, BUDGET_SIGNAL = LOADERS };

static const tla_kv_shape shape = {4, 2, 64, 2, 64, 2}; /* 128 KiB */
static tla_kv_budget budget;
static unsigned loaded[2], most[2]; /* without a budget, and with it: finished loaders; held chunks */
static unsigned held_now, phase_done;

static void hold(const sender *me, unsigned count, bool with_budget) {
    static unsigned held[LOADERS];
    held_now += count - held[me->number];
    held[me->number] = count;
    if (held_now > most[with_budget]) most[with_budget] = held_now;
    show(me->number, count);
}

/* Loads all chunks, or releases the loaded ones. */
static bool load(sender *me, bool with_budget) {
    uint64_t bytes = 0;
    tla_placed_block chunks[CHUNKS];
    uint32_t count = 0;
    tla_kv_chunk_bytes(&shape, false, &bytes);
    const tla_stack_request request = {.nbytes = bytes, .format = TLA_FORMAT_KV_2LTD};
    for (; count < CHUNKS; count++) {
        chunks[count].nbytes = bytes;
        if (tla_port_client_evict(&me->driver, TLA_HBM, &request, ATTEMPTS, &chunks[count].pa, NULL)) break;
        hold(me, count + 1, with_budget);
        wait_us(LOAD_US);
    }
    const bool complete = count == CHUNKS;
    tla_port_client_free_batch(&me->driver, chunks, count, NULL);
    hold(me, 0, with_budget);
    return complete;
}

static void run(sender *me) {
    loaded[false] += load(me, false);
    for (phase_done++; phase_done < LOADERS;) /* both begin together again */
        wait_us(1);
    tla_kv_chunk_budget(the_bench.memory_bytes, 131072, 4096, &budget.chunks);
    while (tla_kv_budget_take(&budget, CHUNKS) == TLA_BUSY)
        wait_us(1);
    show(BUDGET_SIGNAL, budget.taken);
    loaded[true] += load(me, true);
    tla_kv_budget_give_back(&budget, CHUNKS);
    show(BUDGET_SIGNAL, budget.taken);
}

static int end(void) {
    for (int with = 0; with < 2; with++)
        printf("%s a budget: %u of %d loaders came to an end, at most %u chunks held\n", with ? "with" : "without",
               loaded[with], LOADERS, most[with]);
    return loaded[false] == 0 && loaded[true] == LOADERS ? 0 : 1;
}

const bench the_bench = {
    .memory_bytes = 8 * 131072,
    .senders = LOADERS,
    .run = run,
    .end = end,
    .signals = {"chunks_of_loader0", "chunks_of_loader1", "budget_taken"},
};
