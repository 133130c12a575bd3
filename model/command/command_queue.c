/* An queue behind a command queue. */
#include "base/numbers.h"
#include "tlmalloc/command/control_port.h"

static uint64_t next_edge(uint64_t ps, uint64_t clock_ps) {
    const uint64_t past = clock_ps ? ps % clock_ps : 0;
    return past ? ps + (clock_ps - past) : ps;
}

tla_service tla_command_queue_look(const tla_command_queue *queue, uint64_t arrival_ps) {
    /* `depth` commands ago: once that one has started, there is room in the queue for this one. */
    uint64_t room_at = queue->starts[queue->next];
    tla_service service = {.accepted_ps = later(arrival_ps, room_at)};
    service.start_ps = service.done_ps = next_edge(later(service.accepted_ps, queue->free_at), queue->clock_ps);
    return service;
}

void tla_command_queue_wait(tla_command_queue *queue, uint64_t until_ps) {
    queue->free_at = later(queue->free_at, until_ps);
}

tla_service tla_command_queue_serve(tla_command_queue *queue, uint64_t arrival_ps, uint64_t service_ps) {
    tla_service service = tla_command_queue_look(queue, arrival_ps);
    service.done_ps += service_ps;
    queue->starts[queue->next] = service.start_ps;
    queue->next = (queue->next + 1) % queue->depth;
    queue->free_at = service.done_ps;
    queue->busy_ps += service_ps;
    queue->commands++;
    return service;
}
