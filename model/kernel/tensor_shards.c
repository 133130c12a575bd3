/* The layout of tensors: parts, mapping commands, pages on demand. */
#include "tlmalloc/kernel/tensor_shards.h"

tla_pe_location tla_memory_of_pe(tla_memory_kind kind, tla_pe_location pe) {
    switch (tla_memory_scope_of(kind)) {
    case TLA_SCOPE_PE:
        return pe;
    case TLA_SCOPE_CUBE:
        return (tla_pe_location){pe.sip, pe.cube, 0};
    default:
        return (tla_pe_location){0, 0, 0};
    }
}

static bool same_cube(const tla_pe_location *a, const tla_pe_location *b) {
    return a->sip == b->sip && a->cube == b->cube;
}

/* One copy over the PEs of pes[first]'s cube from there on, or over all of them. */
static size_t split_copy(const tla_pe_location *pes, size_t pe_count, size_t first, bool by_cube, uint64_t elements,
                         uint32_t element_bytes, tla_shard *shards) {
    uint64_t parts = 0, at = 0;
    for (size_t i = first; i < pe_count; i++)
        parts += !by_cube || same_cube(&pes[i], &pes[first]);
    const uint64_t share = elements / parts, rest = elements % parts;
    size_t made = 0;
    for (size_t i = first; i < pe_count && at < elements; i++) {
        if (by_cube && !same_cube(&pes[i], &pes[first])) continue;
        const uint64_t count = share + (made < rest);
        shards[made++] = (tla_shard){.where = pes[i], .nbytes = count * element_bytes, .offset = at * element_bytes};
        at += count;
    }
    return made;
}

size_t tla_tensor_split(tla_spread spread, const tla_pe_location *pes, size_t pe_count, uint64_t elements,
                        uint32_t element_bytes, tla_shard *shards) {
    if (spread == TLA_SPREAD_DEMAND || spread == TLA_SPREAD_MATRIX || pe_count == 0) return 0;
    if (spread == TLA_SPREAD_SPLIT) return split_copy(pes, pe_count, 0, false, elements, element_bytes, shards);
    size_t made = 0;
    for (size_t i = 0; i < pe_count; i++) {
        size_t first = 0;
        while (!same_cube(&pes[first], &pes[i]))
            first++;
        if (first == i) made += split_copy(pes, pe_count, i, true, elements, element_bytes, shards + made);
    }
    return made;
}

bool tla_tensor_is_copy(const tla_tensor *t, const tla_shard *shard) {
    if (t->spread == TLA_SPREAD_MATRIX) return tla_matrix_layout_is_copy(t->layout, shard);
    return t->spread == TLA_SPREAD_REPLICATE && !same_cube(&shard->where, &t->shards[0].where);
}

/* Which PEs see a shard. */
static tla_scope scope_of(const tla_tensor *t, const tla_shard *shard) {
    if (t->spread == TLA_SPREAD_MATRIX) return tla_matrix_layout_seen_by(t->layout, shard, t->scope);
    if (t->spread != TLA_SPREAD_REPLICATE) return t->scope;
    return (tla_scope){1u << shard->where.sip, 1u << shard->where.cube, t->scope.pe_mask};
}

static bool sees(const tla_tensor *t, const tla_shard *shard, const tla_pe_location *pe) {
    const tla_scope scope = scope_of(t, shard);
    return scope.sip_mask >> pe->sip & scope.die_mask >> pe->cube & scope.pe_mask >> pe->pe & 1;
}

size_t tla_tensor_map_command(const tla_tensor *t, size_t from, tla_opcode opcode, tla_command *command) {
    const tla_shard *first = &t->shards[from];
    command->opcode = opcode;
    command->scope = scope_of(t, first);
    command->count = 0;
    for (size_t i = from; i < t->count && command->count < TLA_COMMAND_MAX_ENTRIES; i++) {
        const tla_shard *s = &t->shards[i];
        const tla_scope scope = scope_of(t, s);
        if (scope.sip_mask != command->scope.sip_mask || scope.die_mask != command->scope.die_mask ||
            scope.pe_mask != command->scope.pe_mask)
            break;
        const uint32_t flags = t->read_only ? TLA_READ : TLA_READ | TLA_WRITE;
        command->entries[command->count++] =
            (tla_map_entry){{t->va.value + s->offset}, s->pa, s->nbytes, flags, t->asid};
    }
    return command->count;
}

tla_page_need tla_tensor_page(const tla_tensor *t, const tla_pe_location *pe, tla_vaddr va, bool again,
                              uint64_t page_size, size_t *which, tla_shard *page) {
    const uint64_t into = va.value - t->va.value, offset = into - into % page_size, left = t->nbytes - offset;
    for (size_t i = 0; i < t->count; i++) {
        const tla_shard *s = &t->shards[i];
        if (into < s->offset || into - s->offset >= s->nbytes) continue;
        if (!sees(t, s, pe)) continue;
        *which = i;
        return again ? TLA_PAGE_MAP : s->ready_ps > 0 ? TLA_PAGE_NOTHING : TLA_PAGE_TIME;
    }
    if (t->spread != TLA_SPREAD_DEMAND) return TLA_PAGE_REFUSAL;
    *page = (tla_shard){.where = *pe, .nbytes = page_size < left ? page_size : left, .offset = offset};
    return TLA_PAGE_MEMORY;
}
