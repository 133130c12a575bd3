/* When a fault plan strikes. */
#include "tlmalloc/dram/fault_injection.h"

/* The finaliser of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) over a counter: the n-th number of a seed. */
static uint64_t random_number(uint64_t seed, uint64_t n) {
    uint64_t z = seed + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

tla_fault_injection tla_fault_injection_for(const tla_fault_injection *plan, uint32_t pe) {
    tla_fault_injection part = {.seed = random_number(plan->seed, pe)};
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].pe == TLA_FAULT_EVERY_PE || (uint32_t)plan->faults[i].pe == pe)
            part.faults[part.count++] = plan->faults[i];
    return part;
}

/* A fault that strikes by rate, or once. */
static bool strikes(tla_faults *faults, uint32_t i) {
    const tla_fault *fault = &faults->plan.faults[i];
    if (fault->rate) return random_number(faults->plan.seed, faults->draws++) % 1000000 < fault->rate;
    bool first = !faults->spent[i];
    faults->spent[i] = true;
    return first;
}

/* Returns whether an access touches a failed pseudo-channel or bank. */
static bool touches(const tla_fault *fault, const tla_fault_geometry *g, uint64_t offset, uint64_t nbytes) {
    uint64_t first = offset / g->interleave, last = (offset + nbytes - 1) / g->interleave;
    uint64_t burst = first + ((fault->channel - first) & (g->channels - 1)); /* the first in that pseudo-channel */
    if (!fault->has_bank) return burst <= last;
    for (; burst <= last && g->bank_of; burst += g->channels)
        if (g->bank_of(g->context, burst * g->interleave) == fault->bank) return true;
    return false;
}

tla_fault_hits tla_faults_access(tla_faults *faults, const tla_fault_geometry *geometry, bool write, uint64_t offset,
                                 uint64_t nbytes, uint64_t time_ps) {
    const tla_fault_injection *plan = &faults->plan;
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->faults[i].kind == TLA_FAULT_CHANNEL_OUT && time_ps >= plan->faults[i].at_ps &&
            touches(&plan->faults[i], geometry, offset, nbytes))
            return (tla_fault_hits){.channel_out = true};
    tla_fault_hits hits = {0};
    for (uint32_t i = 0; i < plan->count && !write; i++) {
        const tla_fault *fault = &plan->faults[i];
        if (fault->kind > TLA_FAULT_UNCORRECTABLE || time_ps < fault->at_ps) continue;
        bool hit =
            fault->has_address ? fault->address >= offset && fault->address - offset < nbytes : strikes(faults, i);
        if (hit) (*(fault->kind == TLA_FAULT_CORRECTABLE ? &hits.correctable : &hits.uncorrectable))++;
    }
    return hits;
}

bool tla_faults_refuse(tla_faults *faults, uint64_t time_ps) {
    bool refused = false;
    for (uint32_t i = 0; i < faults->plan.count; i++)
        if (faults->plan.faults[i].kind == TLA_FAULT_REFUSE && time_ps >= faults->plan.faults[i].at_ps)
            refused |= strikes(faults, i);
    return refused;
}
