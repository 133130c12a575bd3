// The order of threads that arrive at one time.
#include "tlmalloc/modules/detail/time_queue.hpp"

#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

arrival_gate::passage::passage(arrival_gate &gate, unsigned port) : place_(gate.new_place()) {
    time_queue::of_simulation().post_from_thread(
        to_ps(sc_core::sc_time_stamp()), gate.resource_.number(), port, acting_for::current_caller(),
        [](void *context, std::uint64_t at_ps) {
            place &arriving = *static_cast<place *>(context);
            arriving.gate.admit(arriving, at_ps);
        },
        place_);
    try {
        while (!place_->arrived || gate.inside_.front() != place_)
            sc_core::wait(place_->go);
    } catch (...) { // a thread that is killed or reset
        leave();
        throw;
    }
}

void arrival_gate::passage::leave() {
    if (place_) place_->gate.leave(*place_);
    place_ = nullptr;
}

arrival_gate::place *arrival_gate::new_place() {
    if (idle_.empty()) {
        places_.push_back(std::make_unique<place>(*this));
        return places_.back().get();
    }
    place *again = idle_.back();
    idle_.pop_back();
    again->arrived = again->left = false;
    return again;
}

// The queue's action: all threads that are due at this time have posted.
void arrival_gate::admit(place &arriving, std::uint64_t at_ps) {
    arriving.arrived = true;
    if (arriving.left) { // its thread has gone meanwhile
        idle_.push_back(&arriving);
        return;
    }
    inside_.push_back(&arriving);
    if (inside_.front() == &arriving) time_queue::of_simulation().notify(arriving.go, at_ps);
}

void arrival_gate::leave(place &leaving) {
    leaving.left = true;
    if (!leaving.arrived) return; // the queue still holds it
    const bool was_first = inside_.front() == &leaving;
    inside_.erase(std::find(inside_.begin(), inside_.end(), &leaving));
    idle_.push_back(&leaving);
    if (was_first && !inside_.empty()) inside_.front()->go.notify(sc_core::SC_ZERO_TIME);
}

} // namespace tlmalloc
