/* How long the bytes of a program are kept: from the last tensor to the first, each view keeps its sources. */
#include "program.h"

static void keep(tla_lifetime *kept, tla_lifetime by) {
    if (by.lower < kept->lower) kept->lower = by.lower;
    if (by.upper > kept->upper) kept->upper = by.upper;
}

/* The sources of a concat live as one. The literal rule forgets other uses of a reshaped tensor. */
static void join(const tla_plan_program *program, size_t concat, tla_lifetime *live) {
    tla_lifetime all = live[concat];
    const size_t count = program->views[concat].count;
    for (size_t i = 0; i < count; i++)
        keep(&all, live[program_source(program, concat, i)]);
    for (size_t i = 0; i < count; i++) {
        const size_t source = program_source(program, concat, i), base = program_reshaped(program, source);
        keep(&live[source], all);
        if (program->literal && program_io(program, base) != TLA_PLAN_INPUT) live[base].upper = all.upper;
        keep(&live[base], all);
        live[base].nbytes = i == 0 ? program_aligned(program, program->tensors[concat].nbytes) : 0;
    }
}

/* What keeps a source of a concat keeps its holder. */
static void repair(const tla_plan_program *program, tla_lifetime *live) {
    for (size_t i = 0; i < program->n; i++) {
        if (!program_is_concat(program, i)) continue;
        tla_lifetime *holder = &live[program_reshaped(program, program_source(program, i, 0))];
        for (size_t k = 1; k < program->views[i].count; k++)
            keep(holder, live[program_reshaped(program, program_source(program, i, k))]);
    }
}

static void find_live(const tla_plan_program *program, tla_lifetime *live) {
    const tla_lifetime whole = program_whole(program);
    size_t tagged[TLA_ADDRESS_TAGS];
    for (size_t i = 0; i < program->n; i++) {
        live[i] = program_lifetime(program, i, whole);
        live[i].nbytes = program->views[i].count ? 0 : program_aligned(program, program->tensors[i].nbytes);
    }
    for (size_t i = program->n; i-- > 0;) {
        if (program_is_concat(program, i))
            join(program, i, live);
        else if (program->views[i].count == 1 && live[i].upper > live[program_source(program, i, 0)].upper)
            live[program_source(program, i, 0)].upper = live[i].upper;
    }
    if (!program->literal) repair(program, live);
    for (size_t i = 0; i < program->n; i++) {
        if (program_stays(program, i) && live[i].nbytes == 0 && program->views[i].count == 0)
            live[i].nbytes = program_aligned(program, program->tensors[i].nbytes);
        if (program->literal) live[i].nbytes = (uint32_t)live[i].nbytes;
    }
    for (size_t i = program_tagged(program, tagged); i-- > 0;)
        live[tagged[i]].nbytes = 0;
}

tla_status tla_plan_live(const tla_plan_program *program, tla_lifetime *live) {
    const tla_status status = program_check(program);
    if (!status) find_live(program, live);
    return status;
}
