/* The checked sequence of events behind every trace reader. Ids are found through an open-addressed hash table whose
 * slots hold the latest allocation of an id. */
#include "trace/builder.h"
#include "model/base/grow.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The data that the checks need about an allocation beside the trace. */
typedef struct origin {
    uint64_t allocated_at, freed_at; /* freed_at 0: it lives */
} origin;

struct trace_builder {
    alloc_trace trace;
    size_t event_room, allocation_room;
    origin *origins;   /* one an allocation, allocation_room of them */
    size_t *slots;     /* allocation index + 1; 0 = empty */
    size_t slot_count; /* a power of two, at least twice the number of ids */
    size_t id_count;
    const char *place_unit;
};

tla_status trace_builder_create(trace_builder **out) {
    *out = NULL;
    trace_builder *builder = calloc(1, sizeof *builder);
    size_t *slots = calloc(1024, sizeof *slots);
    if (!builder || !slots) {
        free(builder);
        free(slots);
        return TLA_NO_HOST_MEMORY;
    }
    builder->slots = slots;
    builder->slot_count = 1024;
    builder->place_unit = "line";
    *out = builder;
    return TLA_OK;
}

void trace_builder_destroy(trace_builder *builder) {
    if (!builder) return;
    trace_unload(&builder->trace);
    free(builder->origins);
    free(builder->slots);
    free(builder);
}

void trace_builder_finish(trace_builder *builder, alloc_trace *trace) {
    *trace = builder->trace;
    builder->trace = (alloc_trace){0};
    builder->event_room = builder->allocation_room = 0;
}

void trace_unload(alloc_trace *trace) {
    free(trace->events);
    free(trace->allocations);
    free(trace->id_texts);
    *trace = (alloc_trace){0};
}

void trace_builder_place_unit(trace_builder *builder, const char *unit) {
    builder->place_unit = unit;
}

void trace_builder_name(trace_builder *builder, const char *id_text) {
    builder->trace.allocations[builder->trace.allocation_count - 1].id_text = id_text;
}

void trace_builder_stream(trace_builder *builder, uint64_t stream) {
    builder->trace.allocations[builder->trace.allocation_count - 1].stream = stream;
}

void trace_builder_format(trace_builder *builder, uint32_t format) {
    builder->trace.allocations[builder->trace.allocation_count - 1].format = format;
}

void trace_builder_put_at(trace_builder *builder, uint64_t offset) {
    trace_allocation *last = &builder->trace.allocations[builder->trace.allocation_count - 1];
    last->is_placed = true;
    last->offset = offset;
}

void trace_builder_settings(trace_builder *builder, const char *settings) {
    snprintf(builder->trace.settings, sizeof builder->trace.settings, "%s", settings);
}

void trace_builder_keep(trace_builder *builder, char *text) {
    builder->trace.id_texts = text;
}

void trace_builder_remark(trace_builder *builder, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(builder->trace.remark, sizeof builder->trace.remark, format, arguments);
    va_end(arguments);
}

/* The slot of an id: the one that holds it, or the empty one where it belongs. */
static size_t *find_slot(const trace_builder *builder, uint64_t id) {
    size_t mask = builder->slot_count - 1;
    size_t i = (size_t)((id * UINT64_C(0x9E3779B97F4A7C15)) >> 20) & mask; /* Fibonacci hashing */
    while (builder->slots[i] && builder->trace.allocations[builder->slots[i] - 1].id != id)
        i = (i + 1) & mask;
    return &builder->slots[i];
}

bool trace_builder_lives(const trace_builder *builder, uint64_t id, uint64_t *nbytes) {
    const size_t index = *find_slot(builder, id);
    if (!index || builder->origins[index - 1].freed_at) return false;
    *nbytes = builder->trace.allocations[index - 1].nbytes;
    return true;
}

static bool grow_slots(trace_builder *builder) {
    size_t *old = builder->slots, old_count = builder->slot_count;
    size_t *slots = calloc(2 * old_count, sizeof *slots);
    if (!slots) return false;
    builder->slots = slots;
    builder->slot_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i]) *find_slot(builder, builder->trace.allocations[old[i] - 1].id) = old[i];
    free(old);
    return true;
}

static bool make_room_for_event(trace_builder *builder) {
    alloc_trace *const trace = &builder->trace;
    return tla_grow(&trace->events, &builder->event_room, trace->event_count + 1, sizeof *trace->events);
}

static bool make_room_for_allocation(trace_builder *builder) {
    if (2 * builder->id_count >= builder->slot_count && !grow_slots(builder)) return false;
    alloc_trace *const trace = &builder->trace;
    const size_t need = trace->allocation_count + 1;
    size_t room = builder->allocation_room;
    return tla_grow(&trace->allocations, &room, need, sizeof *trace->allocations) &&
           tla_grow(&builder->origins, &builder->allocation_room, need, sizeof *builder->origins);
}

static tla_status check_event(const trace_builder *builder, uint64_t time_ns, tla_error *error) {
    size_t count = builder->trace.event_count;
    if (count == TRACE_EVENTS_MAX)
        return tla_error_set(error, TLA_LIMIT, "more events than the limit of %zu", TRACE_EVENTS_MAX);
    if (count == 0 || time_ns >= builder->trace.events[count - 1].time_ns) return TLA_OK;
    return tla_error_set(error, TLA_SYNTAX, "time goes backwards: found %" PRIu64 ", expected %" PRIu64 " or later",
                         time_ns, builder->trace.events[count - 1].time_ns);
}

static void append_event(trace_builder *builder, uint64_t time_ns, size_t allocation, bool is_free) {
    builder->trace.events[builder->trace.event_count++] = (trace_event){time_ns, allocation, is_free};
}

/* Returns TLA_OK when there is room for the event of an allocation. */
static tla_status prepare_allocation(trace_builder *builder, uint64_t time_ns, tla_error *error) {
    const tla_status status = check_event(builder, time_ns, error);
    if (status) return status;
    return make_room_for_event(builder) && make_room_for_allocation(builder)
               ? TLA_OK
               : tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for another event");
}

static size_t append_allocation(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes,
                                uint64_t place) {
    const size_t index = builder->trace.allocation_count++;
    builder->trace.allocations[index] = (trace_allocation){.id = id, .nbytes = nbytes};
    builder->origins[index] = (origin){place, 0};
    append_event(builder, time_ns, index, false);
    return index;
}

tla_status trace_builder_alloc(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t place,
                               tla_error *error) {
    const tla_status status = prepare_allocation(builder, time_ns, error);
    if (status) return status;
    size_t *slot = find_slot(builder, id);
    if (*slot && !builder->origins[*slot - 1].freed_at)
        return tla_error_set(error, TLA_OVERLAP, "id %" PRIu64 " is already live: allocated in %s %" PRIu64, id,
                             builder->place_unit, builder->origins[*slot - 1].allocated_at);
    builder->id_count += *slot == 0;
    *slot = append_allocation(builder, time_ns, id, nbytes, place) + 1;
    return TLA_OK;
}

tla_status trace_builder_alloc_lost(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes,
                                    uint64_t place, tla_error *error) {
    const tla_status status = prepare_allocation(builder, time_ns, error);
    if (!status) append_allocation(builder, time_ns, id, nbytes, place);
    return status;
}

tla_status trace_builder_free(trace_builder *builder, uint64_t time_ns, uint64_t id, uint64_t nbytes, uint64_t place,
                              tla_error *error) {
    tla_status status = check_event(builder, time_ns, error);
    if (status) return status;
    if (!make_room_for_event(builder))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for another event");
    size_t *slot = find_slot(builder, id);
    if (!*slot)
        return tla_error_set(error, TLA_NOT_ALLOCATED,
                             "free of unknown id: found %" PRIu64 ", expected the id of a live allocation", id);
    size_t index = *slot - 1;
    origin *from = &builder->origins[index];
    if (from->freed_at)
        return tla_error_set(error, TLA_NOT_ALLOCATED,
                             "double free of id %" PRIu64 ": allocated in %s %" PRIu64 ", freed in %s %" PRIu64, id,
                             builder->place_unit, from->allocated_at, builder->place_unit, from->freed_at);
    if (builder->trace.allocations[index].nbytes != nbytes)
        return tla_error_set(error, TLA_SIZE_MISMATCH,
                             "free of id %" PRIu64 " with another size: found %" PRIu64 ", expected the %" PRIu64
                             " bytes allocated in %s %" PRIu64,
                             id, nbytes, builder->trace.allocations[index].nbytes, builder->place_unit,
                             from->allocated_at);
    from->freed_at = place;
    append_event(builder, time_ns, index, true);
    return TLA_OK;
}
