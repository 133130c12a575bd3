/* The kinds of memory, by name and by address. */
#include "tlmalloc/base/memory_kind.h"

#include <stddef.h>

static const struct {
    const char *name, *title, *part;
    tla_channel_scope scope;
    tla_unit unit;
    uint64_t first, most;
    tla_unit control;
} channels[TLA_CHANNEL_COUNT] = {
#define ROW(kind, ...) [kind] = {__VA_ARGS__},
    TLA_MEMORY_KINDS(ROW)
#undef ROW
};

const char *tla_channel_name(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channels[channel].name : NULL;
}

const char *tla_channel_title(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channels[channel].title : NULL;
}

const char *tla_channel_part(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channels[channel].part : NULL;
}

tla_channel_scope tla_channel_scope_of(tla_channel channel) {
    return channels[channel].scope;
}

tla_unit tla_channel_unit(tla_channel channel) {
    return channels[channel].unit;
}

uint64_t tla_channel_first(tla_channel channel) {
    return channels[channel].first;
}

uint64_t tla_channel_bytes_max(tla_channel channel) {
    return channels[channel].most;
}

tla_status tla_channel_control(tla_channel channel, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                               tla_paddr *pa) {
    if ((unsigned)channel >= TLA_CHANNEL_COUNT) return TLA_INVALID_ARGUMENT;
    const bool of_host = channels[channel].scope == TLA_SCOPE_HOST;
    return tla_paddr_encode(&(tla_paddr_fields){.sip = of_host ? 0 : sip,
                                                .die = of_host ? TLA_HOST_DIE : die,
                                                .unit = channels[channel].control,
                                                .pe = channels[channel].scope == TLA_SCOPE_PE ? pe : 0,
                                                .block = TLA_CONTROL_MEMORY_CONTROLLER,
                                                .offset = offset},
                            pa);
}

tla_status tla_channel_of_fields(const tla_paddr_fields *f, tla_channel *channel) {
    if (f->unit == TLA_UNIT_M_CPU && f->offset < TLA_CONTROL_BLOCK_BYTES) return TLA_OUT_OF_RANGE; /* its window */
    for (int i = 0; i < TLA_CHANNEL_COUNT; i++)
        if (channels[i].unit == f->unit) {
            *channel = (tla_channel)i;
            return TLA_OK;
        }
    return TLA_OUT_OF_RANGE;
}

tla_status tla_channel_of(tla_paddr pa, tla_channel *channel) {
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    return status ? status : tla_channel_of_fields(&f, channel);
}
