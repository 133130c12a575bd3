/* The border between the parts of a memory, as the register of the control ports has it. */
#include "controller_state.h"

uint64_t tla_controller_get_l1(const tla_controller *c) {
    tla_partition parts;
    if (tla_controller_parts(&c->config.memory, &c->config.partition, &parts)) return 0;
    const tla_memory_kind kind = (tla_memory_kind)(c->config.partition.memory - 1);
    return c->objects ? tla_object_store_get_stats(c->objects, kind).l1 : parts.l1;
}

tla_status tla_controller_set_l1(tla_controller *c, uint64_t l1, uint64_t at_ps, tla_error *error) {
    tla_status status = tla_controller_begin(c);
    if (status) return tla_error_set(error, status, "the allocators cannot be created");
    status = tla_object_move_border(c->objects, l1, error);
    if (status) return status;
    tla_controller_compare(c, (tla_memory_kind)(c->config.partition.memory - 1), at_ps);
    return TLA_OK;
}
