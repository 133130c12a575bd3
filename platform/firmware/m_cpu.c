/* The firmware of an M_CPU: it allocates from the memory controllers of its cube, by the driver that hosts use
 * (port_client.h). m_cpu.h describes its requests. */
#include "m_cpu.h"

#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/port_client.h"
#include "tlmalloc/config/platform.h"

#define ANSWER tla_status
#include "serve.h"

static tla_port_client drivers[TLA_PE_COUNT]; /* of the controllers */
static tla_paddr_fields last;                 /* byte of the cube's HBM */
static uint64_t slice_bytes, pes;

__attribute__((cold)) static tla_status begin(uint64_t last_byte, uint64_t slice) {
    tla_status status = tla_paddr_decode((tla_paddr){last_byte}, &last);
    if (status) return status;
    if (last.unit != TLA_UNIT_HBM || slice == 0) return TLA_INVALID_ARGUMENT;
    slice_bytes = slice;
    pes = (last.offset + 1) / slice;
    if (pes == 0 || pes > TLA_PE_COUNT || pes * slice != last.offset + 1) return TLA_INVALID_ARGUMENT;
    for (uint32_t pe = 0; pe < pes; pe++) {
        tla_paddr port;
        status = tla_paddr_pe_control(last.sip, last.die, pe, TLA_CONTROL_MEMORY_CONTROLLER,
                                      (uint64_t)TLA_PORT_OF_ABOVE * TLA_PORT_BYTES, &port);
        if (status) return status;
        drivers[pe] = (tla_port_client){.port = (volatile uint32_t *)(M_CPU_PHYSICAL + port.value)};
    }
    return TLA_OK;
}

static tla_status take(uint64_t size, uint64_t *offset) {
    if (*offset >= pes) return TLA_OUT_OF_RANGE;
    tla_paddr pa = {0};
    const tla_status status = tla_port_client_alloc(&drivers[*offset], TLA_HBM, size, &pa, NULL);
    *offset = pa.value;
    return status;
}

static tla_status give_back(uint64_t offset, uint64_t size) {
    const tla_paddr pa = {offset};
    tla_paddr_fields at;
    if (tla_paddr_decode(pa, &at) || at.unit != TLA_UNIT_HBM || at.sip != last.sip || at.die != last.die ||
        at.offset > last.offset)
        return TLA_OUT_OF_RANGE;
    return tla_port_client_free(&drivers[at.offset / slice_bytes], pa, size, NULL);
}
