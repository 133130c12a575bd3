/* The rules that concern several keys. */
#include "schema.h"

#include "tlmalloc/phys_addr.h"

#include <inttypes.h>

static tla_phrase size_text(uint64_t nbytes) {
    return tla_value_print(TLA_VALUE_SIZE, &(tla_value){.number = nbytes});
}

static bool too_many_cubes(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %" PRIu64 " x %" PRIu64
                          " cubes, expected cube_mesh_width * cube_mesh_height of at most %d",
                          c->system.cube_mesh_width, c->system.cube_mesh_height, TLA_CUBE_DIE_COUNT);
    return c->system.cube_mesh_width * c->system.cube_mesh_height > TLA_CUBE_DIE_COUNT;
}

static bool slice_is_not_whole(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %s for %" PRIu64
                          " PEs, expected hbm.capacity_per_cube to be a multiple of system.pes_per_cube",
                          size_text(c->hbm.capacity_per_cube).text, c->system.pes_per_cube);
    return c->hbm.capacity_per_cube % c->system.pes_per_cube != 0;
}

static bool reserve_takes_all(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found %s of %s, expected tcm.scheduler_reserve below tcm.capacity",
                          size_text(c->tcm.scheduler_reserve).text, size_text(c->tcm.capacity).text);
    return c->tcm.scheduler_reserve >= c->tcm.capacity;
}

static bool va_base_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found va.base %s, expected a multiple of va.page_size, %s", size_text(c->va.base).text,
                          size_text(c->va.page_size).text);
    return c->va.base % c->va.page_size != 0;
}

static bool va_size_is_off_page(const tla_config *c, tla_phrase *text) {
    *text = tla_phrase_of("found va.size %s, expected a multiple of va.page_size, %s", size_text(c->va.size).text,
                          size_text(c->va.page_size).text);
    return c->va.size % c->va.page_size != 0;
}

const tla_schema_rule tla_platform_rules[] = {
    {{"system.cube_mesh_width", "system.cube_mesh_height"}, too_many_cubes},
    {{"hbm.capacity_per_cube", "system.pes_per_cube"}, slice_is_not_whole},
    {{"tcm.scheduler_reserve", "tcm.capacity"}, reserve_takes_all},
    {{"va.base", "va.page_size", "mmu.page_size"}, va_base_is_off_page},
    {{"va.size", "va.page_size", "mmu.page_size"}, va_size_is_off_page},
};
const size_t tla_platform_rule_count = sizeof tla_platform_rules / sizeof tla_platform_rules[0];
