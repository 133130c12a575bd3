// The event queue of a simulation and the method process that drives it to the kernel's time.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/detail/time_queue.hpp"

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

const sc_core::sc_simcontext *time_queue::last_asked_ = nullptr;
time_queue *time_queue::last_given_ = nullptr;

void time_queue::find_or_make() {
    const sc_core::sc_simcontext *const simulation = sc_core::sc_get_curr_simcontext();
    std::unique_ptr<time_queue> &queue = all_queues()[simulation];
    if (!queue) queue.reset(new time_queue);
    last_asked_ = simulation;
    last_given_ = queue.get();
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
    return acting_on_ ? acting_on_->at_ps : to_ps(sc_core::sc_time_stamp());
}

void time_queue::post(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action,
                      void *context) {
    if (!acting_on_) at_ps = not_before_latest(at_ps);
    const tla_event event{at_ps, resource, port, action, context};
    sc_assert(!acting_island_ || tla_event_queue_island_of(events_.get(), resource) == acting_island_);
    if (left_ > 0) come_to(tla_event_queue_island_of(events_.get(), resource));
    if (tla_event_queue_post(events_.get(), &event)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    if (!acting_on_ && !entered_) wake_at(at_ps);
}

// When something that a process does at at_ps comes: what runs has run.
std::uint64_t time_queue::not_before_latest(std::uint64_t at_ps) {
    return !has_driven_ || at_ps >= driven_ps_ ? at_ps : come_late(at_ps, driven_ps_);
}

std::uint64_t time_queue::admit(std::uint64_t at_ps) {
    const std::uint64_t latest_ps = std::max(has_driven_ ? driven_ps_ : 0, to_ps(sc_core::sc_time_stamp()));
    return at_ps >= latest_ps ? at_ps : come_late(at_ps, latest_ps);
}

std::uint64_t time_queue::come_late(std::uint64_t at_ps, std::uint64_t latest_ps) {
    const std::uint64_t by_ps = latest_ps - at_ps;
    late_.late++;
    late_.displaced_ps += by_ps;
    late_.worst_ps = std::max(late_.worst_ps, by_ps);
    if (late_.late == 1)
        SC_REPORT_WARNING("/tlmalloc/time/late",
                          ("a request for " + std::to_string(at_ps) + " ps arrived at " + std::to_string(latest_ps) +
                           " ps of simulated time and is served at that time. Possible causes: an access looked ahead, "
                           "a thread went back before the delay of its last response, or a process ran that SystemC "
                           "had not scheduled. print_statistics() counts all such cases (late, displaced_ps)")
                              .c_str());
    return latest_ps;
}

time_queue::late_figures time_queue::get_late() {
    const time_queue *const queue = of_this_simulation_if_any();
    return queue ? queue->late_ : late_figures{};
}

void time_queue::post_from_thread(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, caller who,
                                  tla_event_action action, void *context) {
    at_ps = not_before_latest(at_ps);
    from_threads_[{at_ps, resource, port}].emplace(std::move(who), std::pair{action, context});
    post(
        at_ps, resource, port,
        [](void *self, std::uint64_t now_ps) { static_cast<time_queue *>(self)->take_from_thread(now_ps); }, this);
}

// One of those that threads have posted for the place of the event that is acted on.
void time_queue::take_from_thread(std::uint64_t at_ps) {
    const auto here = from_threads_.find({at_ps, acting_on_->resource, acting_on_->port});
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
    if (!acting_on_) wake_at(at_ps);
}

// Wakes the next process that is due; returns whether one was due.
bool time_queue::wake_next() {
    const auto first = turns_.begin();
    if (first == turns_.end() || first->first.first > to_ps(sc_core::sc_time_stamp())) return false;
    first->second->notify(sc_core::SC_ZERO_TIME);
    turns_.erase(first);
    return true;
}

void time_queue::allow_quantum(std::uint64_t ps) {
    quantum_ps_ = std::max(quantum_ps_, ps);
}

// The first time at which a process may do something, as far as the kernel knows.
inline std::uint64_t time_queue::next_process_ps(std::uint64_t now_ps) const {
    std::uint64_t next = now_ps + to_ps(sc_core::sc_time_to_pending_activity());
    if (!turns_.empty()) next = std::min(next, turns_.begin()->first.first);
    return next;
}

// Whether nothing can be posted any more that would come before; or whether that is looked past. In its turn the queue
// has waited for the processes of the kernel's time already. A caller that has its answer is a process that is due
// then.
inline bool time_queue::may_run(std::uint64_t at_ps) const {
    if (entered_) return !*entered_ && (at_ps < entry_limit_ps_ || at_ps < next_process_ps(entered_ps_));
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    return at_ps <= now || (at_ps - now <= quantum_ps_ && at_ps < next_process_ps(now));
}

// An event that continues the running event takes its place.
void time_queue::act(tla_event &event) {
    struct state { // as it was, also where the action reports an error
        explicit state(time_queue &of) : queue(of), on(of.acting_on_), island(of.acting_island_), depth(of.depth_) {}
        ~state() {
            queue.acting_on_ = on;
            queue.acting_island_ = island;
            queue.depth_ = depth;
        }
        time_queue &queue;
        tla_event *const on;
        const std::uint32_t island;
        const unsigned depth;
    } const before(*this);
    acting_on_ = &event;
    event.action(event.context, event.at_ps);
}

void time_queue::go_on(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action,
                       void *context) {
    constexpr unsigned deepest = 16; // of a stack that is a thread's
    const bool is_next = left_ == 0 ? tla_event_queue_next_ps(events_.get()) > at_ps
                                    : tla_event_queue_would_be_next(events_.get(), at_ps, resource);
    if (depth_ == deepest || acting_island_ || !is_next || !(at_ps == acting_on_->at_ps || may_run(at_ps))) {
        post(at_ps, resource, port, action, context);
        return;
    }
    driven_ps_ = std::max(driven_ps_, at_ps);
    *acting_on_ = {at_ps, resource, port, action, context}; // in the place of the one that has nothing left to do
    depth_++;
    action(context, at_ps);
    depth_--;
}

// A method. Actions run when all processes that are due have run. Everything that arrives at one time is then posted
// before the first action of that time runs.
void time_queue::drive() {
    if (sc_core::sc_pending_activity_at_current_time() || wake_next()) {
        wake_at(to_ps(sc_core::sc_time_stamp()));
        return;
    }
    while (take_next()) {
    }
    wake_for_next();
}

// Runs all actions of the next time; false if none exist, or if they may not run yet.
bool time_queue::take_next() {
    const std::uint64_t next = tla_event_queue_next_ps(events_.get());
    if (next == UINT64_MAX || !may_run(next)) return false;
    has_driven_ = true;
    driven_ps_ = std::max(driven_ps_, next);
    tla_event event;
    do {
        if (still_) tell_watchers();
        tla_event_queue_take(events_.get(), &event);
        act(event);
    } while (tla_event_queue_next_ps(events_.get()) == next);
    return true;
}

// An earlier notification stands.
void time_queue::wake_at(std::uint64_t at_ps) {
    notify(wake_, at_ps);
    may_be_due_ = true;
}

void time_queue::wake_for_next() {
    std::uint64_t next = tla_event_queue_next_ps(events_.get());
    if (!turns_.empty()) next = std::min(next, turns_.begin()->first.first);
    if (next != UINT64_MAX) wake_at(std::max(next, to_ps(sc_core::sc_time_stamp())));
}

// This function does not wait for the method: it runs the actions that are due itself.
void time_queue::run_ahead(std::uint64_t now_ps, std::uint64_t at_ps, std::uint32_t port, caller (*who)(),
                           tla_event_action action, void *context, std::uint64_t look_ahead_ps, const bool &done) {
    struct entry {
        entry(time_queue &of, const bool &done) : queue(of) {
            if (queue.may_be_due_) queue.wake_.cancel();
            queue.may_be_due_ = false;
            queue.entered_ = &done;
        }
        ~entry() {
            queue.entered_ = nullptr;
            queue.wake_for_next();
        }
        time_queue &queue;
    } const here(*this, done);
    entered_ps_ = now_ps;
    entry_limit_ps_ = look_ahead_ps == 0                    ? 0
                      : look_ahead_ps < UINT64_MAX - now_ps ? now_ps + look_ahead_ps + 1
                                                            : UINT64_MAX;
    at_ps = not_before_latest(at_ps);
    std::uint64_t next = tla_event_queue_next_ps(events_.get());
    for (; next < at_ps && take_next(); next = tla_event_queue_next_ps(events_.get())) {
    }
    if (next <= at_ps || !may_run(at_ps)) {
        post_from_thread(at_ps, 0, port, who(), action, context);
    } else {
        has_driven_ = true;
        driven_ps_ = at_ps;
        tla_event arrival{at_ps, 0, port, action, context};
        act(arrival);
    }
    while (!done && take_next()) {
    }
}

volatile std::sig_atomic_t time_queue::still_ = 0;

void time_queue::forget_watcher(const void *watcher) {
    if (time_queue *const queue = of_this_simulation_if_any()) queue->watchers_.erase(watcher);
}

void time_queue::tell_watchers() {
    const bool again = still_ > 1;
    still_ = 0;
    if (again)
        SC_REPORT_ERROR(
            "/tlmalloc/time/stuck",
            "kernels wait without progress for twice pe.host_limit of real time: the simulation is stopped");
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
    left_++;
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

// Executes everything that would have been done by now without leaving the island, and joins the island again. A caller
// from a process precedes the actions that are due at its time, unless they have run.
void time_queue::catch_up(std::uint32_t island) {
    sc_assert(!acting_island_);
    tla_event until{};
    if (acting_on_) {
        until = *acting_on_;
    } else {
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
        until = {has_driven_ && driven_ps_ >= now ? driven_ps_ + 1 : now, 0, 0, nullptr, nullptr};
    }
    acting_island_ = island;
    for (tla_event event; tla_event_queue_take_left(events_.get(), island, &until, &event);)
        act(event);
    acting_island_ = 0;
    if (tla_event_queue_join(events_.get(), island)) SC_REPORT_ERROR("/tlmalloc/time/queue", "no host memory");
    left_--;
    const std::uint64_t next = tla_event_queue_next_ps(events_.get());
    if (!acting_on_ && next != UINT64_MAX) wake_at(std::max(next, to_ps(sc_core::sc_time_stamp())));
}

void time_queue::catch_up_all() {
    time_queue *const queue = of_this_simulation_if_any();
    for (std::uint32_t island = 1; queue && queue->left_ > 0; island++)
        queue->come_to(island);
}

void time_queue::keep_in_step() {
    catch_up_all();
    if (time_queue *const queue = of_this_simulation_if_any()) queue->in_step_ = true;
}

} // namespace tlmalloc
