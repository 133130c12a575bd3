/* Programs: what is planned of them, and what their plan means for all values. */
#include "plan/plan_program.h"

#include "cli/config_json.h"
#include "cli/message.h"
#include "trace/lifetime_readers.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Addresses of the modes with tags. */
#define TAG_DISTANCE ((uint64_t)1 << 36)

void plan_program_clear(plan_program *made) {
    lifetimes_clear(&made->planned);
    free(made->values);
    free(made->addresses);
    *made = (plan_program){.list = NULL};
}

/* What is planned */

static tla_status no_memory(tla_error *error) {
    return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the program");
}

/* Tags lie behind the plan, and tensors do not reach from one to the next. */
static tla_status check_tags(const plan_request *request, const lifetime_list *list, tla_error *error) {
    const uint64_t mask = request->alignment ? request->alignment - 1 : 0;
    uint64_t sum = 0;
    if (request->mode != TLA_ADDRESS_IO_TAG && request->mode != TLA_ADDRESS_IO_TAG_FUSE) return TLA_OK;
    for (size_t i = 0; i < list->count; i++) {
        const uint64_t nbytes = (list->buffers[i].nbytes + mask) & ~mask;
        if (nbytes > TAG_DISTANCE - sum)
            return tla_error_set(
                error, TLA_INVALID_ARGUMENT,
                "%s:%" PRIu64 ": the values up to '%s' have more than 64 GiB together, the distance of "
                "two tags of --address-mode %s",
                request->trace_path, list->first_line + i, lifetimes_id(list, i), tla_address_mode_name(request->mode));
        sum += nbytes;
    }
    return TLA_OK;
}

static bool add_planned(plan_program *made, size_t value, tla_lifetime live) {
    const char *id = lifetimes_id(made->list, value);
    const size_t index = made->planned.count;
    if (!lifetimes_add(&made->planned, live, (table_field){id, id + strlen(id)}, NULL)) return false;
    made->planned.alignments[index] = made->program.alignment;
    made->values[index] = value;
    return true;
}

static tla_status reduce(plan_program *made, const char *path, tla_error *error) {
    const size_t n = made->list->count;
    tla_lifetime *live = malloc((n + 1) * sizeof *live);
    made->values = malloc((n + 1) * sizeof *made->values);
    made->addresses = calloc(n + 1, sizeof *made->addresses);
    tla_status status =
        live && made->values && made->addresses ? tla_plan_live(&made->program, live) : TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < n && !status; i++)
        if (live[i].nbytes && !add_planned(made, i, live[i])) status = TLA_NO_HOST_MEMORY;
    free(live);
    if (status == TLA_NO_HOST_MEMORY) return no_memory(error);
    return status ? tla_error_set(error, status,
                                  "%s: the sizes, rounded up to --align, are more than 2^62 bytes together", path)
                  : TLA_OK;
}

tla_status plan_program_reduce(const plan_request *request, const lifetime_list *list, plan_program *made,
                               tla_error *error) {
    *made = (plan_program){.list = list};
    made->program = (tla_plan_program){.tensors = list->buffers,
                                       .views = list->views,
                                       .sources = list->sources,
                                       .io = list->io,
                                       .n = list->count,
                                       .alignment = request->alignment,
                                       .literal = request->literal,
                                       .mode = request->mode,
                                       .io_start = request->io_start ? request->io_start : TLA_PLAN_ANYWHERE};
    for (uint64_t i = 0; i < TLA_ADDRESS_TAGS; i++)
        made->program.tags[i] = (i + 1) * TAG_DISTANCE;
    const tla_status status = check_tags(request, list, error);
    return status ? status : reduce(made, request->trace_path, error);
}

/* What the plan means */

static bool is_source(const plan_program *made, size_t source, size_t view) {
    const tla_plan_view *v = &made->program.views[view];
    for (size_t i = 0; i < v->count; i++)
        if (made->program.sources[v->first + i] == source) return true;
    return false;
}

/* What a pair of values means: the later one overwrites bytes of the other, or is a view without the bytes of its
 * source. */
typedef struct loss {
    size_t overwritten, overwriter;
    uint64_t address, nbytes; /* of the overwritten value; 0 bytes: its view lies elsewhere */
} loss;

/* Inputs are there before all others. */
static loss loss_of(const plan_program *made, const tla_plan_fault *fault) {
    const size_t first = fault->first, second = fault->second;
    const bool input_second = made->program.io[second] == TLA_PLAN_INPUT && made->program.io[first] != TLA_PLAN_INPUT;
    loss found = {.overwritten = input_second ? second : first, .overwriter = input_second ? first : second};
    if (is_source(made, first, second)) return found;
    const uint64_t a = made->addresses[first], b = made->addresses[second];
    const uint64_t a_end = a + made->program.tensors[first].nbytes, b_end = b + made->program.tensors[second].nbytes;
    found.address = a > b ? a : b;
    found.nbytes = (a_end < b_end ? a_end : b_end) - found.address;
    return found;
}

static uint64_t line_of(const plan_program *made, size_t value) {
    return made->list->first_line + value;
}

typedef struct loss_text {
    char text[700];
} loss_text;

static loss_text tell_loss(const plan_program *made, const loss *lost) {
    const char *by = lifetimes_id(made->list, lost->overwriter), *id = lifetimes_id(made->list, lost->overwritten);
    const uint64_t by_line = line_of(made, lost->overwriter), line = line_of(made, lost->overwritten);
    loss_text told;
    if (lost->nbytes == 0)
        snprintf(told.text, sizeof told.text,
                 "%s (line %" PRIu64 ") does not have the bytes of its operand %s (line %" PRIu64 ")", by, by_line, id,
                 line);
    else
        snprintf(told.text, sizeof told.text,
                 "%s (line %" PRIu64 ") overwrites %" PRIu64 " bytes of %s (line %" PRIu64 ") at %" PRIu64, by, by_line,
                 lost->nbytes, id, line, lost->address);
    return told;
}

/* The first input or output that a view has moved from its place behind a tag; as many as there are values: none. */
static size_t find_unfused(const plan_program *made) {
    const tla_plan_program *p = &made->program;
    uint64_t next[] = {[TLA_PLAN_INPUT] = p->tags[0], [TLA_PLAN_OUTPUT] = p->tags[1]};
    if (p->mode != TLA_ADDRESS_IO_TAG_FUSE || p->literal) return p->n;
    for (size_t i = 0; i < p->n; i++) {
        if (p->io[i] == TLA_PLAN_INNER) continue;
        if (made->addresses[i] != next[p->io[i]]) return i;
        next[p->io[i]] += p->tensors[i].nbytes;
    }
    return p->n;
}

static tla_status refuse(const plan_request *request, const plan_program *made, size_t value, const char *reason,
                         tla_error *error) {
    return tla_error_set(error, TLA_UNSUPPORTED, "%s:%" PRIu64 ": --address-mode %s has no place for '%s': %s",
                         request->trace_path, line_of(made, value), tla_address_mode_name(made->program.mode),
                         lifetimes_id(made->list, value), reason);
}

tla_status plan_program_complete(const plan_request *request, const plan_result *result, plan_program *made,
                                 tla_error *error) {
    for (size_t i = 0; i < made->planned.count; i++)
        made->addresses[made->values[i]] = result->offsets[i];
    tla_status status = tla_plan_addresses(&made->program, result->height, made->addresses, &made->regions);
    if (!status)
        status =
            tla_plan_find_faults(&made->program, made->addresses, made->faults, PLAN_FAULTS_SHOWN, &made->fault_count);
    if (status == TLA_NO_HOST_MEMORY) return no_memory(error);
    if (status) return tla_error_set(error, status, "cannot plan the program: %s", tla_status_text(status));
    if (made->fault_count > 0 && !made->program.literal) {
        const loss lost = loss_of(made, &made->faults[0]);
        return refuse(request, made, lost.overwriter, tell_loss(made, &lost).text, error);
    }
    const size_t unfused = find_unfused(made);
    return unfused < made->program.n ? refuse(request, made, unfused, "its bytes are those of another value", error)
                                     : TLA_OK;
}

/* The report */

static const char *rule_name(const plan_program *made) {
    return made->program.literal ? "literal" : "repaired";
}

static size_t shown(const plan_program *made) {
    return made->fault_count < PLAN_FAULTS_SHOWN ? made->fault_count : PLAN_FAULTS_SHOWN;
}

void plan_program_print(FILE *out, const plan_program *made, bool found) {
    const tla_plan_regions *r = &made->regions;
    fprintf(out, "program          %zu value%s, %s rule, address mode %s\n", made->list->count,
            made->list->count == 1 ? "" : "s", rule_name(made), tla_address_mode_name(made->program.mode));
    if (!found) return;
    if (r->io_nbytes) fprintf(out, "inputs, outputs  %" PRIu64 " bytes at %" PRIu64 "\n", r->io_nbytes, r->io_start);
    fprintf(out, "other values     %" PRIu64 " bytes at %" PRIu64 "\n", r->neuron_nbytes, r->neuron_start);
    for (size_t i = 0; i < shown(made); i++) {
        const loss lost = loss_of(made, &made->faults[i]);
        print_escaped(out, "wrong            %s", tell_loss(made, &lost).text);
        fputc('\n', out);
    }
    if (made->fault_count > shown(made))
        fprintf(out, "wrong            and %zu more of %zu pairs of values\n", made->fault_count - shown(made),
                made->fault_count);
}

static json_t *losses_to_json(const plan_program *made) {
    json_t *losses = json_array();
    for (size_t i = 0; i < shown(made); i++) {
        const loss lost = loss_of(made, &made->faults[i]);
        json_t *row = json_object();
        json_object_set_new(row, "id", json_from_text(lifetimes_id(made->list, lost.overwritten)));
        json_object_set_new(row, "line", json_from_u64(line_of(made, lost.overwritten)));
        json_object_set_new(row, "by", json_from_text(lifetimes_id(made->list, lost.overwriter)));
        json_object_set_new(row, "by_line", json_from_u64(line_of(made, lost.overwriter)));
        json_object_set_new(row, "address", lost.nbytes ? json_from_u64(lost.address) : json_null());
        json_object_set_new(row, "bytes", json_from_u64(lost.nbytes));
        json_array_append_new(losses, row);
    }
    return losses;
}

json_t *plan_program_to_json(const plan_program *made, bool found) {
    const tla_plan_regions *r = &made->regions;
    json_t *part = json_object();
    json_object_set_new(part, "values", json_from_u64(made->list->count));
    json_object_set_new(part, "rule", json_string(rule_name(made)));
    json_object_set_new(part, "address_mode", json_string(tla_address_mode_name(made->program.mode)));
    json_object_set_new(part, "io_start", found && r->io_nbytes ? json_from_u64(r->io_start) : json_null());
    json_object_set_new(part, "io_bytes", found ? json_from_u64(r->io_nbytes) : json_null());
    json_object_set_new(part, "start", found ? json_from_u64(r->neuron_start) : json_null());
    json_object_set_new(part, "bytes", found ? json_from_u64(r->neuron_nbytes) : json_null());
    json_object_set_new(part, "overwritten_pairs", json_from_u64(made->fault_count));
    json_object_set_new(part, "overwritten", losses_to_json(made));
    return part;
}
