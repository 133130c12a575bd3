// A training step out of a recorded program.
#include "experiments/training_step.hpp"

#include "trace/trace.h"

#include <memory>

namespace tlmalloc {

namespace {

constexpr std::size_t never = SIZE_MAX;

// When every allocation of the trace was made and freed, as numbers of events.
struct lives {
    explicit lives(const alloc_trace &trace)
        : made(trace.allocation_count, never), freed(trace.allocation_count, never) {
        for (std::size_t i = 0; i < trace.event_count; i++)
            (trace.events[i].is_free ? freed : made)[trace.events[i].allocation] = i;
    }
    std::vector<std::size_t> made, freed;
};

class reader {
  public:
    reader(const alloc_trace &trace, std::size_t first, std::size_t calls, training_step &into)
        : trace_(trace), lives_(trace), first_(first), calls_(calls), into_(into), left_behind_(calls, false) {}

    // False: these events are no cycle.
    bool read() {
        for (std::size_t i = first_; i < first_ + calls_; i++) {
            const std::size_t which = trace_.events[i].allocation;
            if (!trace_.events[i].is_free) left_behind_[i - first_] = lives_.freed[which] >= first_ + calls_;
        }
        std::vector<std::size_t> places(trace_.allocation_count, never); // of the opening
        for (std::size_t i = 0; i < first_; i++)
            if (!add_to_opening(i, places)) return false;
        for (std::size_t i = first_; i < first_ + calls_; i++)
            add_to_step(i);
        for (const bool without_a_free : left_behind_)
            if (without_a_free) return false;
        return into_.allocs == into_.frees;
    }

  private:
    std::uint64_t bytes_of(std::size_t event) const {
        return trace_.allocations[trace_.events[event].allocation].nbytes;
    }

    // The first step frees it: it stands where the step before the first would have left it.
    bool add_to_opening(std::size_t event, std::vector<std::size_t> &places) {
        const std::size_t which = trace_.events[event].allocation, freed = lives_.freed[which];
        const bool is_free = trace_.events[event].is_free;
        if (freed < first_ || freed >= first_ + calls_) { // gone before, or there for ever
            if (!is_free) places[which] = into_.opening_slots++;
            into_.opening.push_back({is_free, training_step::kept::opening, places[which], bytes_of(event)});
            if (freed >= first_) into_.living.push_back(into_.opening.back());
            return true;
        }
        const std::size_t again = event + calls_; // when a step makes it
        if (again < first_ || trace_.events[again].is_free || bytes_of(again) != bytes_of(event) ||
            !left_behind_[again - first_])
            return false;
        left_behind_[again - first_] = false;
        into_.opening.push_back({false, training_step::kept::last, again - first_, bytes_of(event)});
        into_.living.push_back(into_.opening.back());
        return true;
    }

    void add_to_step(std::size_t event) {
        const std::size_t made = lives_.made[trace_.events[event].allocation];
        const bool is_free = trace_.events[event].is_free;
        const auto where = made < first_ ? training_step::kept::last : training_step::kept::now;
        const std::size_t slot = made < first_ ? made + calls_ - first_ : made - first_;
        into_.step.push_back({is_free, where, slot, bytes_of(event)});
        ++(is_free ? into_.frees : into_.allocs);
    }

    const alloc_trace &trace_;
    const lives lives_;
    const std::size_t first_, calls_;
    training_step &into_;
    std::vector<bool>
        left_behind_; // by slot: a step leaves it to the next one, and no older block was found for it yet
};

} // namespace

tla_status load_training_step(const std::string &path, std::uint64_t first, std::uint64_t calls, training_step &made,
                              tla_error *error) {
    alloc_trace trace{};
    if (const tla_status status = trace_load(path.c_str(), &trace, error)) return status;
    const std::unique_ptr<alloc_trace, void (*)(alloc_trace *)> loaded(&trace, trace_unload);
    made = {};
    if (calls == 0 || first > trace.event_count || calls > trace.event_count - first)
        return tla_error_set(
            error, TLA_INVALID_ARGUMENT,
            "%s has %zu events: a step of %llu events from event %llu on must lie inside them and not be empty",
            path.c_str(), trace.event_count, static_cast<unsigned long long>(calls),
            static_cast<unsigned long long>(first));
    if (!reader(trace, first, calls, made).read())
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: the %llu events from event %llu on cannot repeat as a step: the blocks that they "
                             "free are not the blocks that they leave",
                             path.c_str(), static_cast<unsigned long long>(calls),
                             static_cast<unsigned long long>(first));
    return TLA_OK;
}

} // namespace tlmalloc
