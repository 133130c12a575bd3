/* The load of links, and the waits for them. */
#include "base/saturate.h"
#include "fabric/fabric_state.h"

/* Returns the part of a wait that other transfers caused, without the time of the transfer's own previous flits. */
static uint64_t wait_for_others(const link_run *run, const carriage *what) {
    const uint64_t waited_ps = what->start_ps - what->arrival_ps;
    if (what->transfer != run->transfer || what->start_ps != run->end_ps) return waited_ps;
    return waited_ps - (what->start_ps - later(what->arrival_ps, run->start_ps));
}

static void extend_run(link_run *run, const carriage *what) {
    if (what->duration_ps == 0) return;
    if (what->transfer != run->transfer || what->start_ps != run->end_ps)
        *run = (link_run){.transfer = what->transfer, .start_ps = what->start_ps};
    run->end_ps = add_saturated(what->start_ps, what->duration_ps);
}

void fabric_note_load(tla_fabric *fabric, uint32_t link, const carriage *what) {
    link_state *const state = &fabric->states[link];
    const uint64_t waited_ps = what->start_ps == what->arrival_ps ? 0 : wait_for_others(&state->run, what);
    state->load.nbytes += what->nbytes;
    state->load.messages += what->opens;
    state->load.busy_ps += what->duration_ps;
    state->load.waited_ps += waited_ps;
    extend_run(&state->run, what);
    if (!fabric->watch.passes) return;
    const tla_fabric_passage passage = {
        link,         what->arrival_ps, waited_ps, what->start_ps, add_saturated(what->start_ps, what->duration_ps),
        what->nbytes, what->opens};
    fabric->watch.passes(fabric->watch.context, &passage);
}

tla_fabric_load tla_fabric_link_load(const tla_fabric *fabric, size_t link) {
    return link < fabric->link_count ? fabric->states[link].load : (tla_fabric_load){0};
}

void tla_fabric_set_watch(tla_fabric *fabric, const tla_fabric_watch *watch) {
    fabric->watch = *watch;
}
