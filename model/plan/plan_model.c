/* The arrays of a search. */
#include "plan_model.h"

#include "problem.h"

#include <stdlib.h>
#include <string.h>

static uint64_t divisor(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* In a plan that is pushed down, an offset is 0, fixed, or the end of another tensor, rounded up to the alignment. It
 * is therefore a multiple of every common divisor of all sizes, rounded up to granules, and all fixed offsets. Rounding
 * up to an alignment keeps such a multiple where either divides the other. */
static uint64_t find_unit(const tla_plan_problem *problem, uint64_t granule) {
    uint64_t unit = 0;
    for (size_t i = 0; i < problem->n; i++) {
        unit = divisor(unit, (problem->tensors[i].nbytes + granule - 1) & ~(granule - 1));
        if (plan_is_fixed(problem, i)) unit = divisor(unit, problem->fixed[i]);
    }
    for (size_t i = 0; i < problem->n; i++)
        if (unit % plan_alignment(problem, i) != 0) unit = divisor(unit, plan_alignment(problem, i));
    return unit ? unit : 1;
}

static void *array(size_t count, size_t nbytes) {
    return count < SIZE_MAX / 2 / nbytes ? malloc((count + 1) * nbytes) : NULL;
}

static tla_status copy_tensors(const tla_plan_problem *problem, const plan_sections *sections, plan_model *model) {
    const size_t n = problem->n, span_count = sections->first_span[n];
    model->nbytes = array(n, sizeof *model->nbytes);
    model->sizes = array(n, sizeof *model->sizes);
    model->masks = array(n, sizeof *model->masks);
    model->fixed = array(n, sizeof *model->fixed);
    model->durations = array(n, sizeof *model->durations);
    model->first_span = array(n + 1, sizeof *model->first_span);
    model->spans = array(span_count, sizeof *model->spans);
    if (!model->nbytes || !model->sizes || !model->masks || !model->fixed || !model->durations || !model->first_span ||
        !model->spans)
        return TLA_NO_HOST_MEMORY;
    const uint64_t unit = model->unit;
    for (size_t i = 0; i < n; i++) {
        const uint64_t alignment = plan_alignment(problem, i), nbytes = problem->tensors[i].nbytes;
        model->nbytes[i] = nbytes;
        model->sizes[i] = nbytes / unit + (nbytes % unit != 0);
        model->masks[i] = unit % alignment == 0 ? 0 : alignment / unit - 1;
        model->fixed[i] = plan_is_fixed(problem, i) ? problem->fixed[i] / unit : TLA_PLAN_ANYWHERE;
        model->durations[i] = problem->tensors[i].upper - problem->tensors[i].lower;
    }
    memcpy(model->first_span, sections->first_span, (n + 1) * sizeof *model->first_span);
    memcpy(model->spans, sections->spans, span_count * sizeof *model->spans);
    return TLA_OK;
}

/* Tensors by section: those that are live in it, or only those that begin to live in it. *first has an element for each
 * section and one for the end. */
static tla_status list_by_section(const plan_model *model, bool beginners, size_t **first, uint32_t **members) {
    size_t *ends = *first = calloc(model->section_count + (size_t)2, sizeof *ends), total = 0;
    if (!ends) return TLA_NO_HOST_MEMORY;
    /* A section's number of members goes two places on, so that the sums are one place too far, and the filling moves
     * each to where it belongs. */
    for (size_t k = 0; k < model->first_span[model->n]; k++) {
        const plan_span span = model->spans[k];
        const uint32_t to = beginners ? span.from + 1 : span.to;
        total += to - span.from;
        if (total > PLAN_MODEL_ENTRIES_MAX) return TLA_LIMIT;
        for (uint32_t s = span.from; s < to && s + 1 < model->section_count; s++)
            ends[s + 2]++;
    }
    *members = array(total, sizeof **members);
    if (!*members) return TLA_NO_HOST_MEMORY;
    for (uint32_t s = 0; s < model->section_count; s++)
        ends[s + 1] += ends[s];
    for (uint32_t i = 0; i < model->n; i++)
        for (size_t k = model->first_span[i]; k < model->first_span[i + 1]; k++) {
            const plan_span span = model->spans[k];
            const uint32_t to = beginners ? span.from + 1 : span.to;
            for (uint32_t s = span.from; s < to; s++)
                (*members)[ends[s + 1]++] = i;
        }
    return TLA_OK;
}

/* The state of the listing of rivals: the tensors by their beginnings, and the last tensor that found each tensor. */
typedef struct rival_search {
    size_t *first_beginner;
    uint32_t *beginners, *seen;
} rival_search;

static size_t note(const uint32_t *others, size_t count, uint32_t tensor, uint32_t *seen, uint32_t *to) {
    size_t noted = 0;
    for (size_t i = 0; i < count; i++) {
        if (seen[others[i]] == tensor + 1) continue;
        seen[others[i]] = tensor + 1;
        if (to) to[noted] = others[i];
        noted++;
    }
    return noted;
}

/* The rivals of a tensor: who lives when a span of it begins, and who begins later in it. They are counted only where
 * `to` is NULL. */
static size_t list_rivals_of(const plan_model *model, const rival_search *search, uint32_t tensor, uint32_t *to) {
    size_t count = 0;
    search->seen[tensor] = tensor + 1;
    for (size_t k = model->first_span[tensor]; k < model->first_span[tensor + 1]; k++) {
        const plan_span span = model->spans[k];
        const size_t *member = &model->first_member[span.from];
        count += note(model->members + member[0], member[1] - member[0], tensor, search->seen, to ? to + count : NULL);
        const size_t from = search->first_beginner[span.from + 1], end = search->first_beginner[span.to];
        if (end > from)
            count += note(search->beginners + from, end - from, tensor, search->seen, to ? to + count : NULL);
    }
    return count;
}

static tla_status list_rivals(plan_model *model) {
    rival_search search = {.seen = calloc(model->n + (size_t)1, sizeof *search.seen)};
    model->first_rival = array(model->n + (size_t)1, sizeof *model->first_rival);
    tla_status status = search.seen && model->first_rival ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (!status) status = list_by_section(model, true, &search.first_beginner, &search.beginners);
    size_t total = 0;
    for (uint32_t i = 0; i < model->n && !status; i++) {
        model->first_rival[i] = total;
        total += list_rivals_of(model, &search, i, NULL);
        if (total > PLAN_MODEL_ENTRIES_MAX) status = TLA_LIMIT;
    }
    if (!status) {
        model->first_rival[model->n] = total;
        model->rivals = array(total, sizeof *model->rivals);
        if (!model->rivals) status = TLA_NO_HOST_MEMORY;
        memset(search.seen, 0, model->n * sizeof *search.seen);
    }
    for (uint32_t i = 0; i < model->n && !status; i++)
        list_rivals_of(model, &search, i, model->rivals + model->first_rival[i]);
    free(search.seen);
    free(search.first_beginner);
    free(search.beginners);
    return status;
}

tla_status plan_model_create(const tla_plan_problem *problem, const plan_sections *sections, plan_model *model) {
    *model = (plan_model){.n = (uint32_t)problem->n, .section_count = sections->count};
    model->unit = find_unit(problem, sections->granule);
    tla_status status = copy_tensors(problem, sections, model);
    if (!status) status = list_by_section(model, false, &model->first_member, &model->members);
    if (!status) status = list_rivals(model);
    if (status) plan_model_clear(model);
    return status;
}

void plan_model_clear(plan_model *model) {
    free(model->nbytes);
    free(model->sizes);
    free(model->masks);
    free(model->fixed);
    free(model->durations);
    free(model->first_span);
    free(model->spans);
    free(model->first_member);
    free(model->members);
    free(model->first_rival);
    free(model->rivals);
    *model = (plan_model){0};
}
