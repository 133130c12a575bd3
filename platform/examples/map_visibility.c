/* The window between "the map call returned" and "the PE sees it": stale bytes inside it, none after it. On the C core
 * alone; `map_visibility FILE.vcd` records it. waveforms/README.md walks through the picture. */
#include "tlmalloc/vm/mmu.h"
#include "tlmalloc/wave.h"

#include <stdio.h>

enum { PAGE = 4096, US = 1000000, MAP_PS = 50 * US, READ_EVERY_PS = 10 * US };

static const uint64_t va = UINT64_C(4) << 30;
static uint8_t
    memory[2 * PAGE]; /* page 0: the old destination of the address; page 1: the destination after the remap */

static tla_status map(tla_mmu *mmu, uint64_t pa, uint64_t visible_ps) {
    const tla_map_entry entry = {{va}, {pa}, PAGE, TLA_READ, 0};
    tla_mmu_bus_work todo;
    tla_status status = tla_mmu_change_begin(mmu, TLA_TABLE_MAP, &entry, 1, NULL, NULL);
    if (status != TLA_OK) return status;
    while (tla_mmu_change_next(mmu, &todo)) /* nothing: the table is in no memory that would have to be written */
        ;
    status = tla_mmu_change_end(mmu);
    tla_mmu_make_visible(mmu, visible_ps);
    return status;
}

int main(int argc, char **argv) {
    tla_mmu_config config = {.table = {.page_size = PAGE, .allow_remap = true}};
    tla_mmu *mmu;
    tla_wave *wave;
    tla_wave_signal in_flight, value, stale;
    tla_error error;
    if (argc != 2 || tla_wave_open(argv[1], &wave, &error) || tla_mmu_create(&config, &mmu, &error)) return 2;
    tla_wave_declare(wave, "mmu", "maps_in_flight", 1, &in_flight, NULL);
    tla_wave_declare(wave, "pe", "value_read", 8, &value, NULL);
    tla_wave_declare(wave, "pe", "stale_accesses", 8, &stale, NULL);
    memory[0] = 0x0d; /* old */
    memory[PAGE] = 0xe3;

    if (map(mmu, 0, 0)) return 1;
    const uint64_t acknowledged = 20 * US, visible = acknowledged + MAP_PS; /* posted: acknowledged when sent */
    tla_wave_set(wave, in_flight, acknowledged, 1);
    tla_wave_set(wave, in_flight, visible, 0);
    unsigned before = 0, inside = 0, after = 0;
    for (uint64_t t = 0; t <= visible + 3 * READ_EVERY_PS; t += READ_EVERY_PS) {
        if (t == acknowledged && map(mmu, PAGE, visible)) return 1;
        const tla_mmu_access access = {0, {va}, 1, TLA_READ};
        tla_mmu_piece piece;
        if (tla_mmu_probe(mmu, &access, t, &piece)) return 1;
        tla_wave_set(wave, value, t, memory[piece.pa.value]);
        if (piece.stale) tla_wave_add(wave, stale, t, 1);
        *(t < acknowledged ? &before : t < visible ? &inside : &after) += piece.stale;
    }
    printf("stale reads before the remap %u, from its acknowledgement on %u, once it is visible %u\n", before, inside,
           after);
    tla_mmu_destroy(mmu);
    return tla_wave_close(wave, visible + 4 * READ_EVERY_PS) ? 1 : 0;
}
