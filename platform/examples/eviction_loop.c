/* The busy loop of an eviction, and giving up instead (seed 003, LocalCPUBackend).
 *
 * A store writes chunks into a cache that holds 8. Readers find the newest chunks, hold two each for a while, and then
 * need space for a result. A retrieve may wait: its EVICT is busy while all chunks are held, and it tries again. A
 * store must not wait, because a holder of chunks may wait for it: it fails, and its chunk is lost. */
#include "senders.h"

#include <stdio.h>

enum { CHUNK = 128 << 10, CACHED = 8, STORES = 48, READERS = 4, HOLDS = 2, ATTEMPTS = 100 };
enum { STORE_EVERY_US = 2, HELD_US = 60, RESULT_US = 10, STORED = 0, LOST = 1, HELD = 2, WAITING = 3 };

static unsigned stored, lost, found, results, held, waiting;
static uint64_t newest;
static bool is_held[STORES];
static bool over;

static void store(sender *me) {
    const tla_stack_request chunk = {.nbytes = CHUNK, .format = TLA_FORMAT_KV_2LTD};
    for (uint64_t key = 0; key < STORES; key++) {
        const tla_mem_object_meta meta = {.first_position = key * 256, .positions = 256};
        tla_placed_block block = {{0}, CHUNK};
        if (tla_port_client_evict(&me->driver, TLA_HBM, &chunk, 0, &block.pa, NULL)) {
            show(LOST, ++lost);
        } else {
            tla_port_client_put(&me->driver, key, &meta, &block, 1, NULL);
            tla_port_client_unref(&me->driver, block.pa, NULL);
            newest = key;
            show(STORED, ++stored);
        }
        wait_us(STORE_EVERY_US);
    }
    over = true;
}

/* Holds the newest chunks, which their positions identify. */
static void read(sender *me) {
    const tla_stack_request result = {.nbytes = CHUNK};
    wait_us(50 + 10 * me->number);
    while (!over) {
        tla_placed_block chunks[HOLDS], room = {{0}, CHUNK};
        uint32_t count = 0, one;
        tla_mem_object_meta meta;
        uint64_t keys[HOLDS];
        for (uint64_t key = newest + 1; count < HOLDS && key-- > 0;) {
            if (is_held[key]) continue; /* another reader's */
            is_held[key] = true;
            if (tla_port_client_get(&me->driver, TLA_HBM, key, &meta, &chunks[count], 1, &one, NULL)) {
                is_held[key] = false;
                continue;
            }
            keys[count++] = key;
            found += meta.first_position == key * 256;
        }
        show(HELD, held += count);
        wait_us(HELD_US);
        show(WAITING, ++waiting);
        if (!tla_port_client_evict(&me->driver, TLA_HBM, &result, ATTEMPTS, &room.pa, NULL)) {
            results++;
            wait_us(RESULT_US);
            tla_port_client_free(&me->driver, room.pa, CHUNK, NULL);
        }
        show(WAITING, --waiting);
        for (uint32_t i = 0; i < count; i++)
            is_held[keys[i]] = tla_port_client_unref(&me->driver, chunks[i].pa, NULL) != TLA_OK;
        show(HELD, held -= count);
        wait_us(1 + me->number);
    }
}

static void run(sender *me) {
    if (me->number == 0)
        store(me);
    else
        read(me);
}

static int end(void) {
    printf("%u chunks stored, %u lost; %u found, room for %u results\n", stored, lost, found, results);
    return stored + lost == STORES && lost > 0 && found > 0 && results > 0 ? 0 : 1;
}

const bench the_bench = {.memory_bytes = CACHED * CHUNK,
                         .senders = 1 + READERS,
                         .run = run,
                         .end = end,
                         .signals = {"stored", "lost", "held", "waiting"}};
