// The event queue of a simulation and the method process that drives it to the kernel's time.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/detail/time_queue.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <map>

namespace tlmalloc {

time_queue &time_queue::of_simulation() {
    // Never destroyed: the last module may ask after the program's static objects have gone.
    static auto *const queues = new std::map<const sc_core::sc_simcontext *, std::unique_ptr<time_queue>>;
    static const sc_core::sc_simcontext *last_asked = nullptr; // every hop of a transaction asks
    static time_queue *last_given = nullptr;
    const sc_core::sc_simcontext *const simulation = sc_core::sc_get_curr_simcontext();
    if (last_given && simulation == last_asked) return *last_given;
    std::unique_ptr<time_queue> &queue = (*queues)[simulation];
    if (!queue) queue.reset(new time_queue);
    last_asked = simulation;
    last_given = queue.get();
    return *queue;
}

time_queue::time_queue() {
    require_ps_resolution();
    tla_event_queue *made = nullptr;
    if (tla_event_queue_create(&made)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    events_.reset(made);
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.dont_initialize();
    options.set_sensitivity(&wake_);
    sc_core::sc_spawn([this] { drive(); }, sc_core::sc_gen_unique_name("tlmalloc_time"), &options);
}

std::uint64_t time_queue::now_ps() const {
    return acting_ ? acting_ps_ : to_ps(sc_core::sc_time_stamp());
}

void time_queue::post(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action,
                      void *context) {
    const tla_event event{at_ps, resource, port, action, context};
    if (tla_event_queue_post(events_.get(), &event)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    if (!acting_) notify(wake_, at_ps); // an earlier notification stands
}

void time_queue::notify(sc_core::sc_event &event, std::uint64_t at_ps) const {
    event.notify(from_ps(at_ps) - sc_core::sc_time_stamp());
}

void time_queue::allow_look_ahead(std::uint64_t ps) {
    look_ahead_ps_ = std::max(look_ahead_ps_, ps);
}

// Whether the kernel has nothing to do up to and at this time, so that nothing can be posted that would come before.
bool time_queue::may_run(std::uint64_t at_ps) const {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (at_ps <= now) return true;
    if (at_ps - now > look_ahead_ps_) return false;
    return at_ps - now < to_ps(sc_core::sc_time_to_pending_activity());
}

// A method. What is due is done when all processes that are due have run, so that everything that arrives at one time
// has been posted before the first of it is taken.
void time_queue::drive() {
    if (sc_core::sc_pending_activity_at_current_time()) {
        wake_.notify(sc_core::SC_ZERO_TIME);
        return;
    }
    std::uint64_t next = tla_event_queue_next_ps(events_.get());
    while (next != UINT64_MAX && may_run(next)) {
        acting_ = true;
        acting_ps_ = next;
        for (tla_event event; tla_event_queue_next_ps(events_.get()) == next;) {
            tla_event_queue_take(events_.get(), &event);
            event.action(event.context, next);
        }
        acting_ = false;
        next = tla_event_queue_next_ps(events_.get());
    }
    if (next != UINT64_MAX) notify(wake_, std::max(next, to_ps(sc_core::sc_time_stamp())));
}

} // namespace tlmalloc
