/* Whether a program is one, and what its address mode means for its tensors. */
#include "program.h"

#include <stdlib.h>

const char *tla_address_mode_name(tla_address_mode mode) {
    static const char *const names[TLA_ADDRESS_MODE_COUNT] = {
        [TLA_ADDRESS_BASIC] = "basic",
        [TLA_ADDRESS_IO_TAG] = "io_tag",
        [TLA_ADDRESS_IO_TAG_FUSE] = "io_tag_fuse",
        [TLA_ADDRESS_IO_ALONE] = "io_alone",
        [TLA_ADDRESS_IO_RELOC] = "io_reloc",
    };
    return (unsigned)mode < TLA_ADDRESS_MODE_COUNT ? names[mode] : NULL;
}

/* The sum of a concat's sources; each is joined once, and has bytes of its own or is a reshape of what has. */
static tla_view_fault check_sources(const tla_plan_program *program, size_t tensor, bool *joined) {
    const uint64_t nbytes = program->tensors[tensor].nbytes;
    uint64_t sum = 0;
    for (size_t i = 0; i < program->views[tensor].count; i++) {
        const size_t source = program_source(program, tensor, i), base = program_reshaped(program, source);
        if (program->views[base].count > 0 || joined[base]) return TLA_VIEW_JOINED;
        joined[base] = true;
        if (program->tensors[source].nbytes > nbytes - sum) return TLA_VIEW_OUTSIDE;
        sum += program->tensors[source].nbytes;
    }
    return sum == nbytes ? TLA_VIEW_GOOD : TLA_VIEW_OUTSIDE;
}

tla_view_fault tla_plan_check_view(const tla_plan_program *program, size_t tensor, bool *joined) {
    const tla_plan_view *view = &program->views[tensor];
    const tla_lifetime *made = &program->tensors[tensor];
    for (size_t i = 0; i < view->count; i++) {
        const size_t source = program_source(program, tensor, i);
        if (source >= tensor) return TLA_VIEW_ORDER;
        if (made->lower <= program->tensors[source].lower || made->lower >= program->tensors[source].upper)
            return TLA_VIEW_DEAD;
    }
    if (view->count > 1) return check_sources(program, tensor, joined);
    if (view->count == 0) return TLA_VIEW_GOOD;
    const uint64_t nbytes = program->tensors[program_source(program, tensor, 0)].nbytes;
    return made->nbytes <= nbytes && view->offset <= nbytes - made->nbytes ? TLA_VIEW_GOOD : TLA_VIEW_OUTSIDE;
}

static bool ranges_are_good(const tla_plan_program *program) {
    if (program->alignment & (program->alignment - 1) || program->alignment > PROGRAM_LARGEST) return false;
    if ((unsigned)program->mode >= TLA_ADDRESS_MODE_COUNT || program->start > PROGRAM_LARGEST) return false;
    if (program->io_start > PROGRAM_LARGEST && program->io_start != TLA_PLAN_ANYWHERE) return false;
    for (int i = 0; i < TLA_ADDRESS_TAGS; i++)
        if (program->tags[i] > PROGRAM_LARGEST) return false;
    uint64_t sum = 0;
    for (size_t i = 0; i < program->n; i++) {
        const tla_lifetime *tensor = &program->tensors[i];
        if (tensor->lower >= tensor->upper || tensor->nbytes == 0 || tensor->nbytes > PROGRAM_LARGEST) return false;
        const uint64_t nbytes = program_aligned(program, tensor->nbytes);
        if (nbytes > PROGRAM_LARGEST - sum) return false;
        sum += nbytes;
    }
    return true;
}

tla_status program_check(const tla_plan_program *program) {
    if (!ranges_are_good(program)) return TLA_INVALID_ARGUMENT;
    bool *joined = calloc(program->n + 1, sizeof *joined);
    if (!joined) return TLA_NO_HOST_MEMORY;
    tla_view_fault fault = TLA_VIEW_GOOD;
    for (size_t i = 0; i < program->n && !fault; i++)
        fault = tla_plan_check_view(program, i, joined);
    free(joined);
    return fault ? TLA_INVALID_ARGUMENT : TLA_OK;
}

static bool is_larger(const tla_plan_program *program, size_t a, size_t b) {
    return program->tensors[a].nbytes > program->tensors[b].nbytes;
}

size_t program_tagged(const tla_plan_program *program, size_t tagged[TLA_ADDRESS_TAGS]) {
    size_t count = 0;
    if (program->mode != TLA_ADDRESS_IO_TAG) return 0;
    for (int kind = TLA_PLAN_INPUT; kind <= TLA_PLAN_OUTPUT; kind++)
        for (size_t i = 0; i < program->n; i++) {
            if (program_io(program, i) != (tla_plan_io)kind) continue;
            size_t at = count;
            while (at > 0 && is_larger(program, i, tagged[at - 1]))
                at--;
            if (at == TLA_ADDRESS_TAGS) continue;
            if (count < TLA_ADDRESS_TAGS) count++;
            for (size_t k = count - 1; k > at; k--)
                tagged[k] = tagged[k - 1];
            tagged[at] = i;
        }
    return count;
}

tla_lifetime program_whole(const tla_plan_program *program) {
    tla_lifetime whole = {UINT64_MAX, 0, 0};
    for (size_t i = 0; i < program->n; i++) {
        if (program->tensors[i].lower < whole.lower) whole.lower = program->tensors[i].lower;
        if (program->tensors[i].upper > whole.upper) whole.upper = program->tensors[i].upper;
    }
    return whole;
}

tla_lifetime program_lifetime(const tla_plan_program *program, size_t tensor, tla_lifetime whole) {
    const tla_lifetime own = program->tensors[tensor];
    const tla_plan_io io = program_io(program, tensor);
    const bool outputs_stay = program->mode == TLA_ADDRESS_IO_ALONE || program->mode == TLA_ADDRESS_IO_RELOC;
    if (io == TLA_PLAN_INNER || (io == TLA_PLAN_OUTPUT && !outputs_stay)) return own;
    return (tla_lifetime){whole.lower, whole.upper, own.nbytes};
}

bool program_stays(const tla_plan_program *program, size_t tensor) {
    return program->literal && program_io(program, tensor) == TLA_PLAN_INPUT &&
           (program->mode == TLA_ADDRESS_IO_TAG || program->mode == TLA_ADDRESS_IO_ALONE);
}
