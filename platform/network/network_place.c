/* Offsets for a network's tensors: lifetimes in steps of ops for the planners, ops for TPU-MLIR's record table. */
#include "network/network.h"

#include "tlmalloc/plan/plan.h"

#include <stdlib.h>

/* The tensors that need memory: problem.tensors[i] is the lifetime of which[i]. */
typedef struct lives {
    tla_lifetime *tensors;
    uint64_t *alignments, *offsets;
    size_t *which;
    tla_plan_problem problem;
} lives;

bool network_needs_memory(const network *n, size_t tensor) {
    return !n->tensors[tensor].is_input && n->tensors[tensor].bytes_of == tensor;
}

static void clear(lives *l) {
    free(l->tensors);
    free(l->alignments);
    free(l->offsets);
    free(l->which);
}

static bool make_lives(const network *n, uint64_t alignment, lives *l) {
    const size_t room = n->tensor_count + 1; /* never 0 */
    *l = (lives){calloc(room, sizeof *l->tensors),
                 calloc(room, sizeof *l->alignments),
                 calloc(room, sizeof *l->offsets),
                 calloc(room, sizeof *l->which),
                 {0}};
    if (!l->tensors || !l->alignments || !l->offsets || !l->which) return false;
    size_t count = 0;
    for (size_t t = 0; t < n->tensor_count; t++) {
        if (!network_needs_memory(n, t)) continue;
        l->which[count] = t;
        l->alignments[count] = alignment;
        l->tensors[count++] = (tla_lifetime){n->tensors[t].made_at, n->tensors[t].end, n->tensors[t].nbytes};
    }
    l->problem = (tla_plan_problem){.tensors = l->tensors, .n = count, .alignments = l->alignments};
    return true;
}

static tla_status plan(lives *l, uint64_t *height) {
    tla_plan_method method;
    tla_status status = tla_plan_best(&l->problem, l->offsets, height, &method, NULL);
    if (status) return status;
    const tla_plan_limits limits = {.nodes = NETWORK_PLAN_NODES};
    tla_plan_range range;
    status = tla_plan_minimize(&l->problem, &limits, l->offsets, &range);
    if (status && status != TLA_LIMIT) return status;
    *height = range.height;
    return TLA_OK;
}

/* Adds the op in the form of the table. A tensor that lives to the end has one more use, by the return of the network.
 * */
static tla_status add_op(tla_record_table *table, const network *n, const network_op *op) {
    uint64_t operands[NETWORK_OP_TENSORS_MAX];
    tla_op_output outputs[NETWORK_OP_TENSORS_MAX];
    for (size_t i = 0; i < op->input_count; i++)
        operands[i] = op->tensors[i];
    for (size_t i = 0; i < op->output_count; i++) {
        const network_tensor *t = &n->tensors[op->tensors[op->input_count + i]];
        outputs[i] = (tla_op_output){op->tensors[op->input_count + i], t->nbytes, t->users + t->is_output};
    }
    const tla_op made = {op->reshape ? TLA_OP_RESHAPE : TLA_OP_COMPUTE, operands, op->input_count, outputs,
                         op->output_count};
    return tla_record_table_add(table, &made);
}

static tla_status fill_table(const network *n, uint64_t alignment, lives *l, uint64_t *height) {
    const tla_record_table_config config = {.alignment = alignment, .count_offsets = true};
    tla_record_table *table;
    tla_status status = tla_record_table_create(&config, &table);
    for (size_t op = 0; op < n->op_count && !status; op++)
        status = add_op(table, n, &n->ops[op]);
    for (size_t i = 0; i < l->problem.n && !status; i++)
        status = tla_record_table_find(table, l->which[i], &l->offsets[i]);
    if (!status) *height = tla_record_table_size(table);
    tla_record_table_destroy(table);
    return status;
}

tla_status network_place(const network *n, network_method method, uint64_t alignment, uint64_t *offsets,
                         uint64_t *height, tla_error *error) {
    lives l;
    tla_status status = make_lives(n, alignment, &l) ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) status = method == NETWORK_PLAN ? plan(&l, height) : fill_table(n, alignment, &l, height);
    size_t first = 0, second = 0;
    if (!status) {
        status = tla_plan_check_problem(&l.problem, l.offsets, *height, &first, &second);
        if (status && status != TLA_NO_HOST_MEMORY)
            tla_error_set(error, status, "network %s: %s and %s overlap", n->name, n->tensors[l.which[first]].name,
                          n->tensors[l.which[second]].name);
    } else
        tla_error_set(error, status, "network %s cannot be placed: %s", n->name, tla_status_text(status));
    for (size_t i = 0; i < l.problem.n && !status; i++)
        offsets[l.which[i]] = l.offsets[i];
    for (size_t t = 0; t < n->tensor_count && !status; t++)
        if (!network_needs_memory(n, t)) offsets[t] = n->tensors[t].is_input ? 0 : offsets[n->tensors[t].bytes_of];
    clear(&l);
    return status;
}
