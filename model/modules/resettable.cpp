// When a reset begins, and when what was under way is over.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/resettable.hpp"

#include "tlmalloc/detail/time_queue.hpp"

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
    const bool was_held = held_;
    assert_reset();
    if (!was_held) release_reset();
}

void resettable::release_reset() {
    held_ = false;
    if (!clearing_) end_reset();
}

void resettable::assert_reset() {
    time_queue::keep_in_step();
    const bool is_second = in_reset();
    held_ = true;
    if (is_second) return;
    clearing_ = true;
    resets_++;
    begin_reset();
    clear_if_idle();
}

void resettable::clear_if_idle() {
    if (!clearing_ || under_way_ > 0 || is_busy()) return;
    make_new();
    clearing_ = false;
    if (!held_) end_reset();
}

// Whatever has ended may be called by what is made anew: a process looks when it has returned.
void resettable::may_be_idle() {
    if (!clearing_ || looking_) return;
    looking_ = true;
    sc_core::sc_spawn(
        [this] {
            looking_ = false;
            clear_if_idle();
        },
        sc_core::sc_gen_unique_name("reset"));
}

} // namespace tlmalloc
