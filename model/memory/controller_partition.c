/* The parts of a controller's memory. */
#include "controller_state.h"

#include <inttypes.h>

const char *tla_divided_memory_name(tla_divided_memory memory) {
    return memory == TLA_DIVIDED_NONE ? "off" : tla_memory_kind_name((tla_memory_kind)(memory - 1));
}

tla_status tla_controller_parts(const tla_pe_memory_config *memory, const tla_controller_partition *p,
                                tla_partition *parts) {
    const tla_memory_kind kind = (tla_memory_kind)(p->memory - 1);
    if (p->memory == TLA_DIVIDED_NONE || tla_pe_memory_bytes(memory, kind) == 0) return TLA_NOT_FOUND;
    const tla_partition_config config = {.nbytes = tla_pe_memory_capacity(memory, kind),
                                         .permille = p->permille,
                                         .chunk = p->chunk,
                                         .prefetches = p->prefetches,
                                         .writes = p->writes};
    const tla_status status = tla_partition_of(&config, parts);
    return !status && parts->l1 == 0 ? TLA_EXHAUSTED : status;
}

tla_status tla_controller_check_partition(const tla_controller_config *c, tla_error *error) {
    const tla_controller_partition *p = &c->partition;
    if (!tla_divided_memory_name(p->memory))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "partition.memory: unknown memory %d", (int)p->memory);
    tla_partition parts;
    const tla_status status = tla_controller_parts(&c->memory, p, &parts);
    if (status == TLA_NOT_FOUND) return TLA_OK;
    if (status == TLA_INVALID_ARGUMENT)
        return tla_error_set(error, status, "partition.permille: %" PRIu32 " permille: must be 1 .. 999", p->permille);
    if (status)
        return tla_error_set(error, status,
                             "partition: L1, %" PRIu32 " permille of the %s, is smaller than %" PRIu32
                             " prefetches and %" PRIu32 " writes of chunks of %" PRIu64 " bytes need",
                             p->permille, tla_memory_kind_title((tla_memory_kind)(p->memory - 1)), p->prefetches,
                             p->writes, p->chunk);
    if (c->move.mode != TLA_MOVE_OFF)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "partition: move.mode must be off, because a move needs two places");
    if (p->memory == TLA_DIVIDED_HBM && tla_controller_is_owned(c))
        return tla_error_set(error, TLA_UNSUPPORTED, "partition: the owner of the slice decides about its bytes");
    return TLA_OK;
}

void tla_controller_divide(tla_controller *c) {
    tla_partition parts;
    if (!tla_controller_parts(&c->config.memory, &c->config.partition, &parts))
        tla_object_divide(c->objects, (tla_memory_kind)(c->config.partition.memory - 1), &parts);
}
