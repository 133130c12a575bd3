// The event queue of a simulation and the method process that drives it to the kernel's time.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/detail/time_queue.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <map>

namespace tlmalloc {

namespace {

using queues = std::map<const sc_core::sc_simcontext *, std::unique_ptr<time_queue>>;

queues &all_queues() {
    static auto *const all = new queues; // the last module may ask after the program's static objects have gone
    return *all;
}

} // namespace

time_queue &time_queue::of_simulation() {
    static const sc_core::sc_simcontext *last_asked = nullptr; // every hop of a transaction asks
    static time_queue *last_given = nullptr;
    const sc_core::sc_simcontext *const simulation = sc_core::sc_get_curr_simcontext();
    if (last_given && simulation == last_asked) return *last_given;
    std::unique_ptr<time_queue> &queue = all_queues()[simulation];
    if (!queue) queue.reset(new time_queue);
    last_asked = simulation;
    last_given = queue.get();
    return *queue;
}

time_queue *time_queue::of_this_simulation_if_any() {
    const auto found = all_queues().find(sc_core::sc_get_curr_simcontext());
    return found == all_queues().end() ? nullptr : found->second.get();
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
    return acting_ ? acting_on_.at_ps : to_ps(sc_core::sc_time_stamp());
}

std::uint32_t time_queue::new_resource() {
    const std::uint32_t made = resources_++;
    if (building_) put_on_island(made, building_);
    return made;
}

void time_queue::post(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action,
                      void *context) {
    const tla_event event{at_ps, resource, port, action, context};
    const std::uint32_t island = tla_event_queue_island_of(events_.get(), resource);
    sc_assert(!acting_island_ || island == acting_island_);
    come_to(island);
    if (tla_event_queue_post(events_.get(), &event)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    if (!acting_) notify(wake_, at_ps); // an earlier notification stands
}

void time_queue::post_from_thread(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, caller who,
                                  tla_event_action action, void *context) {
    from_threads_[{at_ps, resource, port}].emplace(std::move(who), std::pair{action, context});
    post(
        at_ps, resource, port,
        [](void *self, std::uint64_t now_ps) { static_cast<time_queue *>(self)->take_from_thread(now_ps); }, this);
}

// One of those that threads have posted for the place of the event that is acted on.
void time_queue::take_from_thread(std::uint64_t at_ps) {
    const auto here = from_threads_.find({at_ps, acting_on_.resource, acting_on_.port});
    const auto first = here->second.begin();
    const auto [action, context] = first->second;
    here->second.erase(first);
    if (here->second.empty()) from_threads_.erase(here);
    action(context, at_ps);
}

void time_queue::notify(sc_core::sc_event &event, std::uint64_t at_ps) const {
    event.notify(from_ps(at_ps) - sc_core::sc_time_stamp());
}

void time_queue::notify_in_turn(sc_core::sc_event &event, std::uint64_t at_ps, caller who) {
    turns_.emplace(std::pair{at_ps, std::move(who)}, &event);
    if (!acting_) notify(wake_, at_ps);
}

// Whether there is one whose time has come.
bool time_queue::wake_next() {
    const auto first = turns_.begin();
    if (first == turns_.end() || first->first.first > to_ps(sc_core::sc_time_stamp())) return false;
    first->second->notify(sc_core::SC_ZERO_TIME);
    turns_.erase(first);
    return true;
}

void time_queue::allow_look_ahead(std::uint64_t ps) {
    look_ahead_ps_ = std::max(look_ahead_ps_, ps);
}

// Whether the kernel has nothing to do up to and at this time, so that nothing can be posted that would come before.
bool time_queue::may_run(std::uint64_t at_ps) const {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (at_ps <= now) return true;
    if (!turns_.empty() && turns_.begin()->first.first < at_ps) return false;
    if (at_ps - now > look_ahead_ps_) return false;
    return at_ps - now < to_ps(sc_core::sc_time_to_pending_activity());
}

void time_queue::act(const tla_event &event) {
    const tla_event before = acting_on_;
    const bool within = acting_;
    const std::uint32_t island = acting_island_;
    acting_ = true;
    acting_on_ = event;
    event.action(event.context, event.at_ps);
    acting_ = within;
    acting_on_ = before;
    acting_island_ = island;
}

// A method. What is due is done when all processes that are due have run, so that everything that arrives at one time
// has been posted before the first of it is taken.
void time_queue::drive() {
    if (sc_core::sc_pending_activity_at_current_time() || wake_next()) {
        wake_.notify(sc_core::SC_ZERO_TIME);
        return;
    }
    std::uint64_t next = tla_event_queue_next_ps(events_.get());
    while (next != UINT64_MAX && may_run(next)) {
        for (tla_event event; tla_event_queue_next_ps(events_.get()) == next;) {
            if (still_) tell_watchers();
            tla_event_queue_take(events_.get(), &event);
            act(event);
        }
        driven_ps_ = next;
        next = tla_event_queue_next_ps(events_.get());
    }
    if (!turns_.empty()) next = std::min(next, turns_.begin()->first.first);
    if (next != UINT64_MAX) notify(wake_, std::max(next, to_ps(sc_core::sc_time_stamp())));
}

volatile std::sig_atomic_t time_queue::still_ = 0;

void time_queue::forget_watcher(const void *watcher) {
    if (time_queue *const queue = of_this_simulation_if_any()) queue->watchers_.erase(watcher);
}

void time_queue::tell_watchers() {
    const bool again = still_ > 1;
    still_ = 0;
    if (again)
        SC_REPORT_ERROR("/tlmalloc/time/stuck", "kernels wait, and nothing has moved for twice pe.host_limit of real "
                                                "time: the simulation is given up");
    const auto told = watchers_;
    for (const auto &[watcher, what] : told)
        what();
}

// --- islands ---------------------------------------------------------------------------------------------------------

std::uint32_t time_queue::begin_island() {
    if (tla_event_queue_add_island(events_.get(), &building_))
        SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    while (absences_.size() <= building_)
        absences_.push_back({this, static_cast<std::uint32_t>(absences_.size()), 0});
    return building_;
}

std::uint32_t time_queue::island_being_built() {
    const time_queue *const queue = of_this_simulation_if_any();
    return queue ? queue->building_ : 0;
}

void time_queue::put_on_island(std::uint32_t resource, std::uint32_t island) {
    if (tla_event_queue_put_on_island(events_.get(), resource, island))
        SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
}

// Resource 0 goes before all others, so that the island has caught up when anything else happens at that time.
void time_queue::leave_until(std::uint32_t island, std::uint64_t until_ps) {
    if (in_step_ || !tla_event_queue_leave(events_.get(), island)) return;
    absence &a = absences_[island];
    a.until_ps = until_ps;
    post(
        until_ps, 0, 0,
        [](void *context, std::uint64_t at_ps) {
            const auto &over = *static_cast<absence *>(context);
            if (over.until_ps == at_ps) over.queue->come_to(over.island); // else it has caught up, and been left again
        },
        &a);
    acting_island_ = island; // for the rest of the action
}

// What would have been done by now if the island had not been left; then it is one with the rest again. Whoever comes
// from a process comes before what is due at its time, unless that has been done.
void time_queue::catch_up(std::uint32_t island) {
    sc_assert(!acting_island_);
    tla_event until = acting_on_;
    if (!acting_) {
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
        until = {driven_ps_ != UINT64_MAX && driven_ps_ >= now ? driven_ps_ + 1 : now, 0, 0, nullptr, nullptr};
    }
    acting_island_ = island;
    for (tla_event event; tla_event_queue_take_left(events_.get(), island, &until, &event);)
        act(event);
    acting_island_ = 0;
    if (tla_event_queue_join(events_.get(), island)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    const std::uint64_t next = tla_event_queue_next_ps(events_.get());
    if (!acting_ && next != UINT64_MAX) notify(wake_, std::max(next, to_ps(sc_core::sc_time_stamp())));
}

void time_queue::catch_up_all() {
    time_queue *const queue = of_this_simulation_if_any();
    for (std::uint32_t island = 1; queue && island < queue->absences_.size(); island++)
        queue->come_to(island);
}

void time_queue::keep_in_step() {
    catch_up_all();
    if (time_queue *const queue = of_this_simulation_if_any()) queue->in_step_ = true;
}

} // namespace tlmalloc
