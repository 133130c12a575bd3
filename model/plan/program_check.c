/* Whether the tensors of a program keep their bytes: views lie in their sources, and tensors that are no parts of one
 * tensor do not overlap while both live. */
#include "program.h"

#include <stdlib.h>

typedef struct fault_list {
    tla_plan_fault *faults;
    size_t room, count;
} fault_list;

static void add(fault_list *list, size_t a, size_t b) {
    if (list->count < list->room) list->faults[list->count] = (tla_plan_fault){a < b ? a : b, a < b ? b : a};
    list->count++;
}

static void check_views(const tla_plan_program *program, const uint64_t *addresses, fault_list *list) {
    for (size_t i = 0; i < program->n; i++) {
        const tla_plan_view *view = &program->views[i];
        uint64_t at = view->count == 1 ? addresses[i] - view->offset : addresses[i];
        for (size_t k = 0; k < view->count; k++) {
            const size_t source = program_source(program, i, k);
            if (addresses[source] != at) add(list, source, i);
            at += program->tensors[source].nbytes;
        }
    }
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

static void check_overlaps(const tla_plan_program *program, const uint64_t *addresses, const size_t *owners,
                           const need *needs, fault_list *list) {
    for (size_t i = 0; i < program->n; i++)
        for (size_t k = i + 1; k < program->n && needs[k].lower < needs[i].upper; k++) {
            const size_t a = needs[i].tensor, b = needs[k].tensor;
            if (owners[a] != owners[b] && meet(program, addresses, a, b)) add(list, a, b);
        }
}

tla_status tla_plan_find_faults(const tla_plan_program *program, const uint64_t *addresses, tla_plan_fault *faults,
                                size_t room, size_t *count) {
    const size_t n = program->n;
    const tla_status status = program_check(program);
    if (status) return status;
    fault_list list = {faults, room, 0};
    size_t *owners = malloc((n + 1) * sizeof *owners), *other = malloc((n + 1) * sizeof *other);
    need *needs = malloc((n + 1) * sizeof *needs);
    const bool has_memory = owners && other && needs;
    if (has_memory) {
        find_owners(program, owners, other);
        find_needs(program, needs);
        check_views(program, addresses, &list);
        check_overlaps(program, addresses, owners, needs, &list);
        *count = list.count;
    }
    free(owners);
    free(other);
    free(needs);
    return has_memory ? TLA_OK : TLA_NO_HOST_MEMORY;
}

tla_status tla_plan_check_program(const tla_plan_program *program, const uint64_t *addresses, size_t *first,
                                  size_t *second) {
    tla_plan_fault fault;
    size_t count;
    const tla_status status = tla_plan_find_faults(program, addresses, &fault, 1, &count);
    if (status || count == 0) return status;
    if (first) *first = fault.first;
    if (second) *second = fault.second;
    return TLA_OVERLAP;
}
