/* The kinds of memory, by name and by address. */
#include "tlmalloc/base/memory_kind.h"

#include <stddef.h>

static const struct {
    const char *name, *title;
    tla_unit unit;
    tla_channel_scope scope;
} channels[TLA_CHANNEL_COUNT] = {
    [TLA_HBM] = {"hbm", "HBM", TLA_UNIT_HBM, TLA_SCOPE_PE},
    [TLA_TCM] = {"tcm", "TCM", TLA_UNIT_TCM, TLA_SCOPE_PE},
    [TLA_SRAM] = {"sram", "SRAM", TLA_UNIT_SRAM, TLA_SCOPE_CUBE},
    [TLA_M_CPU_MEMORY] = {"m_cpu", "M_CPU memory", TLA_UNIT_M_CPU, TLA_SCOPE_CUBE},
    [TLA_HOST_MEMORY] = {"host", "host memory", TLA_UNIT_HOST_MEMORY, TLA_SCOPE_HOST},
};

const char *tla_channel_name(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channels[channel].name : NULL;
}

const char *tla_channel_title(tla_channel channel) {
    return (unsigned)channel < TLA_CHANNEL_COUNT ? channels[channel].title : NULL;
}

tla_channel_scope tla_channel_scope_of(tla_channel channel) {
    return channels[channel].scope;
}

tla_unit tla_channel_unit(tla_channel channel) {
    return channels[channel].unit;
}

tla_status tla_channel_control(tla_channel channel, uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset,
                               tla_paddr *pa) {
    switch (channel) {
    case TLA_HBM:
    case TLA_TCM:
        return tla_paddr_pe_control(sip, die, pe, TLA_CONTROL_MEMORY_CONTROLLER, offset, pa);
    case TLA_SRAM:
        return tla_paddr_sram_control(sip, die, offset, pa);
    case TLA_M_CPU_MEMORY:
        return tla_paddr_m_cpu_memory_control(sip, die, offset, pa);
    case TLA_HOST_MEMORY:
        return tla_paddr_host_memory_control(offset, pa);
    default:
        return TLA_INVALID_ARGUMENT;
    }
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
