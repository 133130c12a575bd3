/* Counts times constants, for all parts but DRAM. */
#include "tlmalloc/dram/parts_energy.h"

#include "base/wide.h"

static const struct {
    const char *name, *unit;
} constants[TLA_PARTS_CONSTANT_COUNT] = {
    [TLA_PARTS_TCM_READ] = {"tcm_read", "byte"},
    [TLA_PARTS_TCM_WRITE] = {"tcm_write", "byte"},
    [TLA_PARTS_SRAM_READ] = {"sram_read", "byte"},
    [TLA_PARTS_SRAM_WRITE] = {"sram_write", "byte"},
    [TLA_PARTS_M_CPU_READ] = {"m_cpu_read", "byte"},
    [TLA_PARTS_M_CPU_WRITE] = {"m_cpu_write", "byte"},
    [TLA_PARTS_HOST_READ] = {"host_read", "byte"},
    [TLA_PARTS_HOST_WRITE] = {"host_write", "byte"},
    [TLA_PARTS_WIRE] = {"wire", "bit mm"},
    [TLA_PARTS_ROUTER] = {"router", "bit"},
    [TLA_PARTS_UCIE] = {"ucie", "bit"},
    [TLA_PARTS_PCIE] = {"pcie", "bit"},
    [TLA_PARTS_HOST_MEMORY_LINK] = {"host_memory_link", "bit"},
    [TLA_PARTS_TLB_LOOKUP] = {"tlb_lookup", "event"},
    [TLA_PARTS_WALK_STEP] = {"walk_step", "event"},
    [TLA_PARTS_TABLE_WRITE] = {"table_write", "event"},
    [TLA_PARTS_ENGINE_CYCLE] = {"engine_cycle", "event"},
    [TLA_PARTS_INSTRUCTION] = {"instruction", "event"},
};

const char *tla_parts_constant_name(tla_parts_constant constant) {
    return (unsigned)constant < TLA_PARTS_CONSTANT_COUNT ? constants[constant].name : NULL;
}

const char *tla_parts_constant_unit(tla_parts_constant constant) {
    return (unsigned)constant < TLA_PARTS_CONSTANT_COUNT ? constants[constant].unit : NULL;
}

void tla_parts_count_access(tla_parts_activity *activity, tla_memory_kind kind, tla_purpose purpose, bool write,
                            uint64_t nbytes) {
    static const tla_parts_constant reads[TLA_MEMORY_KIND_COUNT] = {[TLA_TCM] = TLA_PARTS_TCM_READ,
                                                                    [TLA_SRAM] = TLA_PARTS_SRAM_READ,
                                                                    [TLA_M_CPU_MEMORY] = TLA_PARTS_M_CPU_READ,
                                                                    [TLA_HOST_MEMORY] = TLA_PARTS_HOST_READ};
    if (kind != TLA_HBM) activity->counts[reads[kind] + write][tla_energy_cause_of(purpose, write)] += nbytes;
}

tla_status tla_parts_energy_add_up(const tla_parts_energy *profile, const tla_parts_activity *activity,
                                   tla_parts_energy_sum *sum, tla_error *error) {
    *sum = (tla_parts_energy_sum){0};
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++) {
        for (int cause = 0; cause < TLA_ENERGY_CAUSE_COUNT; cause++) {
            enum { UM_PER_MM = 1000 };
            uint64_t rest;
            const uint64_t fj = wide_quotient(wide_product(activity->counts[i][cause], profile->constants[i].value),
                                              i == TLA_PARTS_WIRE ? UM_PER_MM : 1, &rest);
            if (fj == UINT64_MAX || __builtin_add_overflow(sum->total_fj, fj, &sum->total_fj)) {
                *sum = (tla_parts_energy_sum){0};
                return tla_error_set(error, TLA_LIMIT, "the energy exceeds 2^64 fJ");
            }
            sum->by_constant_fj[i] += fj;
            sum->by_standing_fj[profile->constants[i].standing] += fj;
            sum->by_cause_fj[cause] += fj;
        }
    }
    return TLA_OK;
}
