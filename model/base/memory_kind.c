/* The kinds of memory, by name and by address. */
#include "tlmalloc/base/memory_kind.h"

#include <stddef.h>

static const struct {
    const char *name, *title, *part;
    tla_memory_scope scope;
    tla_unit unit;
    uint64_t first, most;
    tla_unit control;
} kinds[TLA_MEMORY_KIND_COUNT] = {
#define ROW(kind, ...) [kind] = {__VA_ARGS__},
    TLA_MEMORY_KINDS(ROW)
#undef ROW
};

const char *tla_memory_kind_name(tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? kinds[kind].name : NULL;
}

const char *tla_memory_kind_title(tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? kinds[kind].title : NULL;
}

const char *tla_memory_kind_part(tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? kinds[kind].part : NULL;
}

tla_memory_scope tla_memory_scope_of(tla_memory_kind kind) {
    return kinds[kind].scope;
}

tla_unit tla_memory_kind_unit(tla_memory_kind kind) {
    return kinds[kind].unit;
}

uint64_t tla_memory_kind_first(tla_memory_kind kind) {
    return kinds[kind].first;
}

uint64_t tla_memory_kind_bytes_max(tla_memory_kind kind) {
    return kinds[kind].most;
}

tla_status tla_memory_kind_control(tla_memory_kind kind, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                                   tla_paddr *pa) {
    if ((unsigned)kind >= TLA_MEMORY_KIND_COUNT) return TLA_INVALID_ARGUMENT;
    const bool of_host = kinds[kind].scope == TLA_SCOPE_HOST;
    return tla_paddr_encode(&(tla_paddr_fields){.sip = of_host ? 0 : sip,
                                                .die = of_host ? TLA_HOST_DIE : die,
                                                .unit = kinds[kind].control,
                                                .pe = kinds[kind].scope == TLA_SCOPE_PE ? pe : 0,
                                                .block = TLA_CONTROL_MEMORY_CONTROLLER,
                                                .offset = offset},
                            pa);
}

tla_status tla_memory_kind_of_fields(const tla_paddr_fields *f, tla_memory_kind *kind) {
    if (f->unit == TLA_UNIT_M_CPU && f->offset < TLA_CONTROL_BLOCK_BYTES) return TLA_OUT_OF_RANGE; /* its window */
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (kinds[i].unit == f->unit) {
            *kind = (tla_memory_kind)i;
            return TLA_OK;
        }
    return TLA_OUT_OF_RANGE;
}

tla_status tla_memory_kind_of(tla_paddr pa, tla_memory_kind *kind) {
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    return status ? status : tla_memory_kind_of_fields(&f, kind);
}
