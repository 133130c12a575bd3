/* Whether the tensors of a program keep their bytes: views lie in their sources, and tensors that are no parts of one
 * tensor do not overlap while both live. */
#include "program.h"

#include <stdlib.h>

static tla_status report(size_t a, size_t b, size_t *first, size_t *second) {
    if (first) *first = a < b ? a : b;
    if (second) *second = a < b ? b : a;
    return TLA_OVERLAP;
}

static tla_status check_views(const tla_plan_program *program, const uint64_t *addresses, size_t *first,
                              size_t *second) {
    for (size_t i = 0; i < program->n; i++) {
        const tla_plan_view *view = &program->views[i];
        uint64_t at = view->count == 1 ? addresses[i] - view->offset : addresses[i];
        for (size_t k = 0; k < view->count; k++) {
            const size_t source = program_source(program, i, k);
            if (addresses[source] != at) return report(source, i, first, second);
            at += program->tensors[source].nbytes;
        }
    }
    return TLA_OK;
}

/* The tensor that a tensor's bytes are part of: the one behind its views, or the holder that a concat has put it in. */
static void find_owners(const tla_plan_program *program, size_t *behind, size_t *owners) {
    for (size_t i = 0; i < program->n; i++) {
        behind[i] = program->views[i].count ? behind[program_source(program, i, 0)] : i;
        owners[i] = i;
    }
    for (size_t i = 0; i < program->n; i++)
        for (size_t k = 1; k < program->views[i].count; k++)
            owners[behind[program_source(program, i, k)]] = behind[i];
    for (size_t i = 0; i < program->n; i++)
        behind[i] = owners[behind[i]];
}

typedef struct need {
    uint64_t lower, upper;
    size_t tensor;
} need;

static int by_time(const void *a, const void *b) {
    const need *x = a, *y = b;
    if (x->lower != y->lower) return x->lower < y->lower ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* A view is needed when it has been made. */
static void find_needs(const tla_plan_program *program, need *needs) {
    const tla_lifetime whole = program_whole(program);
    for (size_t i = 0; i < program->n; i++) {
        const tla_lifetime own = program_lifetime(program, i, whole);
        needs[i] = (need){program->views[i].count ? program->tensors[i].lower : own.lower, own.upper, i};
    }
    qsort(needs, program->n, sizeof *needs, by_time);
}

static bool meet(const tla_plan_program *program, const uint64_t *addresses, size_t a, size_t b) {
    return addresses[a] < addresses[b] + program->tensors[b].nbytes &&
           addresses[b] < addresses[a] + program->tensors[a].nbytes;
}

tla_status tla_plan_check_program(const tla_plan_program *program, const uint64_t *addresses, size_t *first,
                                  size_t *second) {
    const size_t n = program->n;
    tla_status status = program_check(program);
    if (!status) status = check_views(program, addresses, first, second);
    if (status) return status;
    size_t *owners = malloc((n + 1) * sizeof *owners), *other = malloc((n + 1) * sizeof *other);
    need *needs = malloc((n + 1) * sizeof *needs);
    if (owners && other && needs) {
        find_owners(program, owners, other);
        find_needs(program, needs);
    } else {
        status = TLA_NO_HOST_MEMORY;
    }
    for (size_t i = 0; i < n && !status; i++)
        for (size_t k = i + 1; k < n && needs[k].lower < needs[i].upper && !status; k++) {
            const size_t a = needs[i].tensor, b = needs[k].tensor;
            if (owners[a] != owners[b] && meet(program, addresses, a, b)) status = report(a, b, first, second);
        }
    free(owners);
    free(other);
    free(needs);
    return status;
}
