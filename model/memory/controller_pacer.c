/* The pace of pins in a controller's memories: accesses in flight delay the next chunk. */
#include "controller_state.h"

static tla_stack_config stack_of(const tla_controller *c, tla_memory_kind memory) {
    return tla_pe_memory_stack_config(&c->config.memory, memory);
}

void tla_controller_pace_anew(tla_controller *c) {
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++) {
        const tla_stack_config stack = stack_of(c, (tla_memory_kind)i);
        tla_submissions_clear(&c->paced[i].accesses);
        c->paced[i].controller = c;
        c->paced[i].grows = c->config.pin_wait_ps > 0 && tla_controller_has(&c->config, i) &&
                            tla_stack_front(stack.policy) == TLA_FRONT_LAZY && stack.sizes.chunk_ps > 0;
    }
}

/* Times of a stack begin at the origin. */
static uint64_t idle(void *context, uint64_t from_ps) {
    const tla_paced_memory *paced = context;
    const uint64_t origin_ps = paced->controller->origin_ps;
    const uint64_t idle_ps = tla_submissions_idle(&paced->accesses, from_ps + origin_ps);
    return idle_ps == UINT64_MAX ? idle_ps : idle_ps - origin_ps;
}

void tla_controller_pace(tla_controller *c) {
    for (int i = 0; i < TLA_MEMORY_KIND_COUNT; i++)
        if (c->paced[i].grows)
            tla_stack_pace(tla_pe_memory_stack(c->memory, (tla_memory_kind)i),
                           &(tla_lazy_pacer){c->config.pin_wait_ps, idle, &c->paced[i]});
}

void tla_controller_pin(tla_controller *c, tla_memory_kind memory, uint64_t until_ps) {
    if (!c->paced[memory].grows || until_ps < c->origin_ps) return;
    tla_stack *stack = tla_pe_memory_stack(c->memory, memory);
    uint64_t ready_ps;
    const uint64_t before_ps = tla_stack_pin_waited(stack, &ready_ps);
    tla_stack_pin(stack, until_ps - c->origin_ps);
    c->counts[memory].pin_wait_ps += tla_stack_pin_waited(stack, &ready_ps) - before_ps;
    tla_submissions_forget(&c->paced[memory].accesses, ready_ps + c->origin_ps);
}

void tla_controller_has_grown(tla_controller *c, tla_memory_kind memory) {
    uint64_t when_ps;
    if (!c->paced[memory].grows || tla_stack_next_growth(tla_pe_memory_stack(c->memory, memory), &when_ps)) return;
    c->paced[memory].grows = false;
    tla_submissions_clear(&c->paced[memory].accesses);
}

bool tla_controller_is_paced(const tla_controller *c, tla_memory_kind memory) {
    return c->paced[memory].grows;
}

tla_status tla_controller_begins_access(tla_controller *c, tla_memory_kind memory, uint64_t at_ps) {
    return c->paced[memory].grows ? tla_submissions_begin(&c->paced[memory].accesses, at_ps) : TLA_OK;
}

void tla_controller_ends_access(tla_controller *c, tla_memory_kind memory, uint64_t at_ps) {
    if (c->paced[memory].grows) tla_submissions_end(&c->paced[memory].accesses, at_ps);
}
