/* A pin that is never dropped: it times out, and its block can be evicted (seed 003, PinMonitor).
 *
 * A store leaves a chunk in the cache. A lookup finds it, pins it for 50 us so that it is not evicted before it is
 * retrieved, and is never heard of again. A second store wants the memory: its EVICT is busy until the pin is over. */
#include "senders.h"

#include <stdio.h>

enum { MEMORY = 1 << 20, KEY = 42, TIMEOUT_US = 50, ATTEMPTS = 200, PINS_SEEN = 0, STORED = 1 };

static uint64_t pinned_us, stored_us, misses;
static tla_mem_object_meta found;

static void store(sender *me) {
    static const tla_mem_object_meta meta = {.dtype = 1, .dimensions = 4, .shape = {2, 4, 64, 128}, .positions = 64};
    const tla_stack_request all = {.nbytes = MEMORY};
    tla_placed_block chunk = {{0}, MEMORY};
    if (tla_port_client_request(&me->driver, TLA_HBM, &all, &chunk.pa, NULL)) return;
    tla_port_client_put(&me->driver, KEY, &meta, &chunk, 1, NULL);
    tla_port_client_unref(&me->driver, chunk.pa, NULL); /* the cache has a reference of its own */
    show(STORED, 1);
    wait_us(30);
    if (tla_port_client_evict(&me->driver, TLA_HBM, &all, ATTEMPTS, &chunk.pa, NULL)) return;
    stored_us = now_us();
    show(STORED, 2);
    tla_mem_object_meta unwanted;
    uint32_t count = 0;
    misses += tla_port_client_get(&me->driver, TLA_HBM, KEY, &unwanted, &chunk, 1, &count, NULL) == TLA_NOT_ALLOCATED;
    tla_port_client_free(&me->driver, chunk.pa, MEMORY, NULL);
    show(STORED, 0);
}

static void look_up(sender *me) {
    tla_placed_block chunk;
    uint32_t count = 0;
    tla_completion pinned = {.value = 0};
    wait_us(20);
    if (tla_port_client_get(&me->driver, TLA_HBM, KEY, &found, &chunk, 1, &count, NULL)) return;
    pinned_us = now_us();
    tla_port_client_pin(&me->driver, chunk.pa, TIMEOUT_US * UINT64_C(1000000), &pinned);
    show(PINS_SEEN, pinned.value);
    tla_port_client_unref(&me->driver, chunk.pa, NULL);
}

static void run(sender *me) {
    if (me->number == 0)
        store(me);
    else
        look_up(me);
}

static int end(void) {
    const uint64_t waited = stored_us - pinned_us;
    printf("pinned a chunk of %u positions at %u us, evicted at %u us; the key is %s\n", (unsigned)found.positions,
           (unsigned)pinned_us, (unsigned)stored_us, misses ? "gone" : "there");
    return misses == 1 && waited >= TIMEOUT_US && waited <= TIMEOUT_US + 3 ? 0 : 1;
}

const bench the_bench = {
    .memory_bytes = MEMORY, .senders = 2, .run = run, .end = end, .signals = {"pins_seen", "stored"}};
