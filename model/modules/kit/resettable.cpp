// The beginning of a reset, and its end after all outstanding work.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/resettable.hpp"

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

reset_input::reset_input(const char *name, std::function<void(bool)> changed)
    : sc_port(name), changed_(std::move(changed)) {}

void reset_input::end_of_elaboration() {
    if (size() == 0) return;
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.set_sensitivity(&(*this)->value_changed_event());
    sc_core::sc_spawn([this] { changed_((*this)->read()); }, sc_core::sc_gen_unique_name("reset_input"), &options);
}

void resettable::reset() {
    if (sc_core::sc_get_status() < sc_core::SC_RUNNING) {
        const auto *const object = dynamic_cast<const sc_core::sc_object *>(this);
        SC_REPORT_ERROR("/tlmalloc/reset/elaboration",
                        ((object ? std::string(object->name()) + ": " : std::string()) +
                         "reset() has no effect before the simulation runs: the module is still in its initial state")
                            .c_str());
        return;
    }
    hold(by_call);
    let_go(by_call);
}

void resettable::wait_for_reset() {
    while (in_reset()) {
        if (!over_) over_ = std::make_unique<sc_core::sc_event>();
        sc_core::wait(*over_);
    }
}

void resettable::reset_with(resettable &part) {
    part.whole_ = this;
    parts_.push_back(&part);
}

void resettable::hold(holder who) {
    time_queue::keep_in_step();
    const bool is_second = in_reset();
    holders_ |= who;
    if (is_second) return;
    clearing_ = true;
    resets_++;
    begin_reset();
    for (resettable *part : parts_)
        part->hold(by_whole);
    clear_if_idle();
}

void resettable::let_go(holder who) {
    const bool was_in_reset = in_reset();
    holders_ &= ~unsigned{who};
    if (was_in_reset && !in_reset()) is_over();
}

void resettable::clear_if_idle() {
    if (!clearing_ || under_way_ > 0 || is_busy()) return;
    for (const resettable *part : parts_)
        if (part->clearing_) return;
    make_new();
    clearing_ = false;
    if (whole_) whole_->may_be_idle();
    if (holders_ == 0) is_over();
}

void resettable::is_over() {
    for (resettable *part : parts_)
        part->let_go(by_whole);
    end_reset();
    if (over_) over_->notify(sc_core::SC_ZERO_TIME);
}

// The caller of this function may belong to a part that make_new() rebuilds: a process therefore checks after the
// return. The activity may have ended in an action that runs ahead of the kernel, which must not end the reset earlier
// than without running ahead.
void resettable::may_be_idle() {
    if (!clearing_) return;
    idle_ps_ = std::max(idle_ps_, time_queue::of_simulation().now_ps());
    if (looking_) return;
    looking_ = true;
    sc_core::sc_spawn(
        [this] {
            for (std::uint64_t now = 0; (now = to_ps(sc_core::sc_time_stamp())) < idle_ps_;)
                sc_core::wait(from_ps(idle_ps_ - now));
            looking_ = false;
            clear_if_idle();
        },
        sc_core::sc_gen_unique_name("reset"));
}

} // namespace tlmalloc
