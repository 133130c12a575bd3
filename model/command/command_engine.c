/* An engine behind a command queue. */
#include "tlmalloc/command/command_engine.h"
#include "base/numbers.h"

static uint64_t next_edge(uint64_t ps, uint64_t clock_ps) {
    const uint64_t past = clock_ps ? ps % clock_ps : 0;
    return past ? ps + (clock_ps - past) : ps;
}

tla_service tla_command_engine_look(const tla_command_engine *engine, uint64_t arrival_ps) {
    /* `depth` commands ago: once that one has started, there is room in the queue for this one. */
    uint64_t room_at = engine->starts[engine->next];
    tla_service service = {.accepted_ps = later(arrival_ps, room_at)};
    service.start_ps = service.done_ps = next_edge(later(service.accepted_ps, engine->free_at), engine->clock_ps);
    return service;
}

void tla_command_engine_wait(tla_command_engine *engine, uint64_t until_ps) {
    engine->free_at = later(engine->free_at, until_ps);
}

tla_service tla_command_engine_serve(tla_command_engine *engine, uint64_t arrival_ps, uint64_t service_ps) {
    tla_service service = tla_command_engine_look(engine, arrival_ps);
    service.done_ps += service_ps;
    engine->starts[engine->next] = service.start_ps;
    engine->next = (engine->next + 1) % engine->depth;
    engine->free_at = service.done_ps;
    engine->busy_ps += service_ps;
    engine->commands++;
    return service;
}
