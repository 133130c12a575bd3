/* The 51-bit physical address: encode and decode. */
#include "tlmalloc/base/phys_addr.h"

enum {
    SIP_SHIFT = 47,
    DIE_SHIFT = 42,
    HOST_CONTROL_BIT = 41,
    HBM_BIT = 37,
    UNIT_SHIFT = 34,
    PE_SHIFT = 30,
    SUB_UNIT_BIT = 29,
    BLOCK_SHIFT = 24
};
enum { UNIT_FIELD_PE = 0, UNIT_FIELD_M_CPU = 1, UNIT_FIELD_SRAM = 2 };

static bool is_control_space(tla_unit unit) {
    return unit == TLA_UNIT_PE_CONTROL || unit == TLA_UNIT_M_CPU_CONTROL || unit == TLA_UNIT_SRAM_CONTROL ||
           unit == TLA_UNIT_HOST_CONTROL;
}

static bool is_of_host(tla_unit unit) {
    return unit == TLA_UNIT_HOST_MEMORY || unit == TLA_UNIT_HOST_CONTROL;
}

/* Whether a unit can stand on this die. */
static bool is_there(tla_unit unit, uint32_t sip, uint32_t die) {
    if (is_of_host(unit)) return sip == 0 && die == TLA_HOST_DIE;
    return sip < TLA_SIP_COUNT && (unit == TLA_UNIT_IO_CPU ? die == TLA_IO_DIE : die < TLA_CUBE_DIE_COUNT);
}

static uint64_t bits(uint64_t value, unsigned shift, unsigned width) {
    return value >> shift & ((UINT64_C(1) << width) - 1);
}

tla_status tla_paddr_encode(const tla_paddr_fields *f, tla_paddr *pa) {
    if (!is_there(f->unit, f->sip, f->die) || f->pe >= TLA_PE_COUNT) return TLA_INVALID_ARGUMENT;
    uint64_t limit = TLA_SUB_UNIT_BYTES, local = 0;
    if (is_control_space(f->unit)) {
        if ((unsigned)f->block >= TLA_CONTROL_BLOCK_COUNT) return TLA_INVALID_ARGUMENT;
        limit = TLA_CONTROL_BLOCK_BYTES;
        local = UINT64_C(1) << SUB_UNIT_BIT | (uint64_t)f->block << BLOCK_SHIFT;
    }
    switch (f->unit) {
    case TLA_UNIT_HBM:
        limit = TLA_HBM_WINDOW_BYTES;
        local = UINT64_C(1) << HBM_BIT;
        break;
    case TLA_UNIT_TCM:
    case TLA_UNIT_PE_CONTROL:
        local |= (uint64_t)f->pe << PE_SHIFT;
        break;
    case TLA_UNIT_M_CPU:
    case TLA_UNIT_M_CPU_CONTROL:
        local |= (uint64_t)UNIT_FIELD_M_CPU << UNIT_SHIFT;
        break;
    case TLA_UNIT_SRAM:
    case TLA_UNIT_SRAM_CONTROL:
        local |= (uint64_t)UNIT_FIELD_SRAM << UNIT_SHIFT;
        break;
    case TLA_UNIT_IO_CPU:
        limit = TLA_CONTROL_BLOCK_BYTES;
        break;
    case TLA_UNIT_HOST_MEMORY:
        limit = TLA_HOST_MEMORY_BYTES;
        break;
    case TLA_UNIT_HOST_CONTROL: /* where a cube's have the bit of a sub-unit, there are zeros */
        local = UINT64_C(1) << HOST_CONTROL_BIT | (uint64_t)f->block << BLOCK_SHIFT;
        break;
    default:
        return TLA_INVALID_ARGUMENT;
    }
    bool of_a_pe = f->unit == TLA_UNIT_TCM || f->unit == TLA_UNIT_PE_CONTROL;
    if (f->offset >= limit || (!of_a_pe && f->pe != 0)) return TLA_INVALID_ARGUMENT;
    pa->value = (uint64_t)f->sip << SIP_SHIFT | (uint64_t)f->die << DIE_SHIFT | local | f->offset;
    return TLA_OK;
}

/* On the host's die. */
static tla_status decode_host(uint64_t v, tla_paddr_fields *f) {
    f->unit = TLA_UNIT_HOST_MEMORY;
    f->offset = bits(v, 0, HOST_CONTROL_BIT);
    if (f->sip != 0) return TLA_OUT_OF_RANGE;
    if (!bits(v, HOST_CONTROL_BIT, 1)) return TLA_OK;
    f->unit = TLA_UNIT_HOST_CONTROL;
    f->block = (tla_control_block)bits(v, BLOCK_SHIFT, SUB_UNIT_BIT - BLOCK_SHIFT);
    f->offset = bits(v, 0, BLOCK_SHIFT);
    return bits(v, SUB_UNIT_BIT, HOST_CONTROL_BIT - SUB_UNIT_BIT) ? TLA_OUT_OF_RANGE : TLA_OK;
}

tla_status tla_paddr_decode(tla_paddr pa, tla_paddr_fields *fields) {
    uint64_t v = pa.value;
    tla_paddr_fields f = {.sip = (uint32_t)bits(v, SIP_SHIFT, 4), .die = (uint32_t)bits(v, DIE_SHIFT, 5)};
    if (f.die == TLA_IO_DIE && !(v >> TLA_PADDR_BITS) && !bits(v, BLOCK_SHIFT, DIE_SHIFT - BLOCK_SHIFT)) {
        f.unit = TLA_UNIT_IO_CPU;
        f.offset = bits(v, 0, BLOCK_SHIFT);
        *fields = f;
        return TLA_OK;
    }
    if (f.die == TLA_HOST_DIE && !(v >> TLA_PADDR_BITS)) {
        const tla_status status = decode_host(v, &f);
        if (!status) *fields = f;
        return status;
    }
    if (v >> TLA_PADDR_BITS || f.die >= TLA_CUBE_DIE_COUNT || bits(v, HBM_BIT + 1, DIE_SHIFT - HBM_BIT - 1))
        return TLA_OUT_OF_RANGE;
    if (bits(v, HBM_BIT, 1)) {
        f.unit = TLA_UNIT_HBM;
        f.offset = bits(v, 0, HBM_BIT);
    } else {
        uint64_t unit = bits(v, UNIT_SHIFT, 3);
        uint32_t pe = (uint32_t)bits(v, PE_SHIFT, 4);
        bool control = bits(v, SUB_UNIT_BIT, 1);
        f.offset = bits(v, 0, SUB_UNIT_BIT);
        if (unit > UNIT_FIELD_SRAM || (unit != UNIT_FIELD_PE && pe != 0)) return TLA_OUT_OF_RANGE;
        static const tla_unit memories[] = {TLA_UNIT_TCM, TLA_UNIT_M_CPU, TLA_UNIT_SRAM};
        static const tla_unit controls[] = {TLA_UNIT_PE_CONTROL, TLA_UNIT_M_CPU_CONTROL, TLA_UNIT_SRAM_CONTROL};
        f.pe = pe;
        f.unit = control ? controls[unit] : memories[unit];
        if (control) {
            f.block = (tla_control_block)bits(v, BLOCK_SHIFT, SUB_UNIT_BIT - BLOCK_SHIFT);
            f.offset = bits(v, 0, BLOCK_SHIFT);
        }
    }
    *fields = f;
    return TLA_OK;
}

tla_status tla_paddr_pe_hbm(uint32_t sip, uint32_t die, uint32_t pe, uint64_t pe_local_offset, uint64_t slice_bytes,
                            tla_paddr *pa) {
    if (pe >= TLA_PE_COUNT || slice_bytes > TLA_HBM_WINDOW_BYTES / (pe + UINT64_C(1)) || pe_local_offset >= slice_bytes)
        return TLA_INVALID_ARGUMENT;
    return tla_paddr_encode(
        &(tla_paddr_fields){.sip = sip, .die = die, .unit = TLA_UNIT_HBM, .offset = pe * slice_bytes + pe_local_offset},
        pa);
}

tla_status tla_paddr_pe_tcm(uint32_t sip, uint32_t die, uint32_t pe, uint64_t offset, tla_paddr *pa) {
    return tla_paddr_encode(
        &(tla_paddr_fields){.sip = sip, .die = die, .unit = TLA_UNIT_TCM, .pe = pe, .offset = offset}, pa);
}

tla_status tla_paddr_pe_control(uint32_t sip, uint32_t die, uint32_t pe, tla_control_block block, uint64_t offset,
                                tla_paddr *pa) {
    return tla_paddr_encode(
        &(tla_paddr_fields){
            .sip = sip, .die = die, .unit = TLA_UNIT_PE_CONTROL, .pe = pe, .block = block, .offset = offset},
        pa);
}

static tla_status of_cube(uint32_t sip, uint32_t die, tla_unit unit, uint64_t offset, tla_paddr *pa) {
    return tla_paddr_encode(&(tla_paddr_fields){.sip = sip, .die = die, .unit = unit, .offset = offset}, pa);
}

tla_status tla_paddr_m_cpu_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa) {
    if (offset >= TLA_CONTROL_BLOCK_BYTES) return TLA_INVALID_ARGUMENT;
    return of_cube(sip, die, TLA_UNIT_M_CPU, offset, pa);
}

tla_status tla_paddr_io_cpu_control(uint32_t sip, uint64_t offset, tla_paddr *pa) {
    return tla_paddr_encode(
        &(tla_paddr_fields){.sip = sip, .die = TLA_IO_DIE, .unit = TLA_UNIT_IO_CPU, .offset = offset}, pa);
}

tla_status tla_paddr_sram(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa) {
    return of_cube(sip, die, TLA_UNIT_SRAM, offset, pa);
}

tla_status tla_paddr_m_cpu_memory(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa) {
    if (offset >= TLA_M_CPU_MEMORY_BYTES) return TLA_INVALID_ARGUMENT;
    return of_cube(sip, die, TLA_UNIT_M_CPU, TLA_CONTROL_BLOCK_BYTES + offset, pa);
}

tla_status tla_paddr_sram_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa) {
    return of_cube(sip, die, TLA_UNIT_SRAM_CONTROL, offset, pa);
}

tla_status tla_paddr_m_cpu_memory_control(uint32_t sip, uint32_t die, uint64_t offset, tla_paddr *pa) {
    return of_cube(sip, die, TLA_UNIT_M_CPU_CONTROL, offset, pa);
}

static tla_status of_host(tla_unit unit, uint64_t offset, tla_paddr *pa) {
    return tla_paddr_encode(&(tla_paddr_fields){.die = TLA_HOST_DIE, .unit = unit, .offset = offset}, pa);
}

tla_status tla_paddr_host_memory(uint64_t offset, tla_paddr *pa) {
    return of_host(TLA_UNIT_HOST_MEMORY, offset, pa);
}

tla_status tla_paddr_host_memory_control(uint64_t offset, tla_paddr *pa) {
    return of_host(TLA_UNIT_HOST_CONTROL, offset, pa);
}

/* In the control blocks from `first` on. */
static tla_status of_host_blocks(unsigned first, uint64_t offset, tla_paddr *pa) {
    const tla_control_block block = (tla_control_block)(first + offset / TLA_CONTROL_BLOCK_BYTES);
    return tla_paddr_encode(&(tla_paddr_fields){.die = TLA_HOST_DIE,
                                                .unit = TLA_UNIT_HOST_CONTROL,
                                                .block = block,
                                                .offset = offset % TLA_CONTROL_BLOCK_BYTES},
                            pa);
}

tla_status tla_paddr_va_manager_control(uint64_t offset, tla_paddr *pa) {
    return offset < TLA_VA_MANAGER_CONTROL_BYTES ? of_host_blocks(1, offset, pa) : TLA_INVALID_ARGUMENT;
}

tla_status tla_paddr_host_control(uint64_t offset, tla_paddr *pa) {
    return offset < TLA_CONTROL_BLOCK_BYTES ? of_host_blocks(3, offset, pa) : TLA_INVALID_ARGUMENT;
}
