/* Configurations of a controller's memories: their sizes, checks and physical addresses (ADR-0048 D3, D7). */
#include "tlmalloc/memory/pe_memory.h"

#include "base/phrase.h"
#include "tlmalloc/memory/address_windows.h"

#include <inttypes.h>

/* A memory as the configuration has it. */
static tla_memory_part part_of(const tla_pe_memory_config *c, tla_memory_kind kind) {
    return (unsigned)kind < TLA_MEMORY_KIND_COUNT ? c->of[kind] : (tla_memory_part){0};
}

static bool is_sliced(tla_memory_kind kind) {
    return tla_memory_kind_unit(kind) == TLA_UNIT_HBM;
}

/* Where it begins in its unit: slices lie one behind the other. */
static uint64_t first_of(const tla_pe_memory_config *c, tla_memory_kind kind) {
    return tla_memory_kind_first(kind) + (is_sliced(kind) ? c->pe * c->of[kind].bytes : 0);
}

/* Whether the PE's number is in its addresses. */
static bool names_pe(tla_memory_kind kind) {
    return tla_memory_scope_of(kind) == TLA_SCOPE_PE && !is_sliced(kind);
}

uint64_t tla_pe_memory_bytes(const tla_pe_memory_config *config, tla_memory_kind kind) {
    return part_of(config, kind).bytes;
}

uint64_t tla_pe_memory_capacity(const tla_pe_memory_config *config, tla_memory_kind kind) {
    const tla_memory_part part = part_of(config, kind);
    return part.bytes - part.reserved;
}

tla_status tla_pe_memory_address(const tla_pe_memory_config *c, tla_memory_kind kind, uint64_t offset, tla_paddr *pa) {
    if (offset >= part_of(c, kind).bytes) return TLA_INVALID_ARGUMENT;
    if (c->layout == TLA_LAYOUT_PLAIN) {
        pa->value = c->of[kind].base + offset;
        return TLA_OK;
    }
    const bool of_host = tla_memory_scope_of(kind) == TLA_SCOPE_HOST;
    return tla_paddr_encode(&(tla_paddr_fields){.sip = of_host ? 0 : c->sip,
                                                .die = of_host ? TLA_HOST_DIE : c->die,
                                                .unit = tla_memory_kind_unit(kind),
                                                .pe = names_pe(kind) ? c->pe : 0,
                                                .offset = first_of(c, kind) + offset},
                            pa);
}

tla_stack_config tla_pe_memory_stack_config(const tla_pe_memory_config *c, tla_memory_kind kind) {
    const tla_memory_part part = part_of(c, kind);
    return (tla_stack_config){.capacity = part.bytes - part.reserved,
                              .policy = part.policy,
                              .alignment = c->alignment,
                              .validate = c->validate || c->guarded,
                              .sizes = part.front};
}

/* The memories that there are, as windows: where none overlaps another and none goes past 2^64. */
static tla_status check_bases(const tla_pe_memory_config *c, tla_error *error) {
    tla_address_window windows[TLA_MEMORY_KIND_COUNT];
    size_t count = 0;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        const uint64_t bytes = c->of[kind].bytes, base = c->of[kind].base;
        const char *title = tla_memory_kind_title((tla_memory_kind)kind);
        if (bytes == 0) continue;
        if (c->alignment > 1 && base % c->alignment)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " is not a multiple of alignment %" PRIu64, title, base,
                                 c->alignment);
        if (base > UINT64_MAX - (bytes - 1))
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: base 0x%" PRIx64 " + %" PRIu64 " bytes ends past 2^64", title, base, bytes);
        windows[count++] = (tla_address_window){.base = base, .size = bytes, .target = (uint32_t)kind};
    }
    if (!tla_address_windows_sort(windows, count, TLA_MEMORY_KIND_COUNT)) return TLA_OK;
    size_t second = 1;
    while (windows[second].base - windows[second - 1].base >= windows[second - 1].size)
        second++;
    const tla_address_window *a = &windows[second - 1], *b = &windows[second];
    return tla_error_set(error, TLA_INVALID_ARGUMENT,
                         "%s at 0x%" PRIx64 " .. 0x%" PRIx64 " and %s at 0x%" PRIx64 " .. 0x%" PRIx64 " overlap",
                         tla_memory_kind_title(a->target), a->base, a->base + (a->size - 1),
                         tla_memory_kind_title(b->target), b->base, b->base + (b->size - 1));
}

static tla_status check_number(const char *what, uint64_t value, uint64_t most, tla_error *error) {
    if (value <= most) return TLA_OK;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ": must be 0 .. %" PRIu64, what, value, most);
}

static tla_status check_size(const tla_pe_memory_config *c, tla_memory_kind kind, tla_error *error) {
    const tla_memory_part *part = &c->of[kind];
    const uint64_t there = tla_memory_kind_bytes_max(kind);
    const uint64_t most = c->layout == TLA_LAYOUT_PLAIN ? TLA_HOST_MEMORY_BYTES
                          : is_sliced(kind)             ? there / (c->pe + UINT64_C(1))
                                                        : there;
    const tla_phrase bytes = tla_phrase_of("%s: bytes", tla_memory_kind_title(kind));
    const tla_phrase reserved = tla_phrase_of("%s: reserved", tla_memory_kind_title(kind));
    const tla_status status = check_number(bytes.text, part->bytes, most, error);
    if (status || part->reserved <= part->bytes) return status;
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s is %" PRIu64 ": must be at most its bytes, %" PRIu64,
                         reserved.text, part->reserved, part->bytes);
}

tla_status tla_pe_memory_check_config(const tla_pe_memory_config *c, tla_error *error) {
    tla_status status = check_number("sip", c->sip, TLA_SIP_COUNT - 1, error);
    if (!status) status = check_number("die", c->die, TLA_CUBE_DIE_COUNT - 1, error);
    if (!status) status = check_number("pe", c->pe, TLA_PE_COUNT - 1, error);
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT && !status; kind++)
        status = check_size(c, (tla_memory_kind)kind, error);
    if (status) return status;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++) {
        const tla_stack_config stack = tla_pe_memory_stack_config(c, (tla_memory_kind)kind);
        tla_error why;
        if (tla_stack_check_config(&stack, &why))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: %s", tla_memory_kind_title((tla_memory_kind)kind),
                                 why.text);
    }
    return c->layout == TLA_LAYOUT_PLAIN ? check_bases(c, error) : TLA_OK;
}

static tla_status locate_plain(const tla_pe_memory_config *c, uint64_t address, uint64_t nbytes, tla_memory_kind *kind,
                               uint64_t *offset) {
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const uint64_t bytes = c->of[i].bytes, into = address - c->of[i].base;
        if (into >= bytes || nbytes > bytes - into) continue;
        *kind = (tla_memory_kind)i;
        *offset = into;
        return TLA_OK;
    }
    return TLA_OUT_OF_RANGE;
}

tla_status tla_pe_memory_locate(const tla_pe_memory_config *c, tla_paddr pa, uint64_t nbytes, tla_memory_kind *kind,
                                uint64_t *offset) {
    if (c->layout == TLA_LAYOUT_PLAIN) return locate_plain(c, pa.value, nbytes, kind, offset);
    tla_paddr_fields f;
    tla_status status = tla_paddr_decode(pa, &f);
    tla_memory_kind found = TLA_HBM;
    if (!status) status = tla_memory_kind_of_fields(&f, &found);
    if (status) return status;
    if (tla_memory_scope_of(found) != TLA_SCOPE_HOST && (f.sip != c->sip || f.die != c->die)) return TLA_OUT_OF_RANGE;
    if (names_pe(found) && f.pe != c->pe) return TLA_OUT_OF_RANGE;
    const uint64_t bytes = c->of[found].bytes, first = first_of(c, found);
    if (f.offset < first || f.offset - first >= bytes || nbytes > bytes - (f.offset - first)) return TLA_OUT_OF_RANGE;
    *kind = found;
    *offset = f.offset - first;
    return TLA_OK;
}

tla_site tla_pe_memory_find_site(const tla_pe_memory_config *config, tla_paddr pa) {
    tla_site at = {.pa = pa, .memory = TLA_MEMORY_KIND_COUNT};
    tla_pe_memory_locate(config, pa, 1, &at.memory, &at.offset);
    return at;
}

tla_site tla_pe_memory_site_at(const tla_pe_memory_config *config, tla_memory_kind kind, uint64_t offset) {
    tla_site at = {.memory = TLA_MEMORY_KIND_COUNT};
    if (!tla_pe_memory_address(config, kind, offset, &at.pa)) {
        at.memory = kind;
        at.offset = offset;
    }
    return at;
}
