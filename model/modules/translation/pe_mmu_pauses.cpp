// Accesses that wait while their bytes are paused, and commands that wait for the accesses before them (pauses.h).
#include "pe_mmu_steps.hpp"

#include "tlmalloc/modules/time.hpp"

#include <utility>

namespace tlmalloc {

// --- accesses --------------------------------------------------------------------------------------------------------

pe_mmu::steps::visit *pe_mmu::steps::begin_visit(in_order_request &request) {
    if (idle_visits_.empty()) idle_visits_.push_back(&visits_.emplace_back());
    visit &of = *idle_visits_.back();
    idle_visits_.pop_back();
    of.owner = this;
    of.request = &request;
    of.passage.owner = &of;
    request.push(
        [](void *self, in_order_request &r) {
            r.pop();
            visit &over = *static_cast<visit *>(self);
            time_queue &queue = time_queue::of_simulation();
            if (r.at_ps > queue.now_ps())
                queue.post(
                    r.at_ps, over.owner->resource_.number(), 0,
                    [](void *context, std::uint64_t at_ps) {
                        visit &ends = *static_cast<visit *>(context);
                        ends.owner->end_visit(ends, at_ps);
                    },
                    &over);
            else
                over.owner->end_visit(over, queue.now_ps());
            r.finish();
        },
        &of);
    return &of;
}

// False: it waits.
bool pe_mmu::steps::enter(visit &of, std::uint64_t at_ps) {
    of.passage.access = mmu_.wanted_by(*of.request->payload);
    of.inside = true;
    of.arrived_ps = at_ps;
    if (tla_pauses_enter(pauses_.get(), &of.passage)) return true;
    mmu_.statistics_.paused++;
    mmu_.paused_.add(at_ps, 1);
    return false;
}

void pe_mmu::steps::leave(visit &of, std::uint64_t at_ps) {
    of.inside = false;
    tla_pauses_leave(pauses_.get(), &of.passage);
    if (pausing_ && tla_pauses_are_drained(pauses_.get(), pausing_->entries, pausing_->count))
        time_queue::of_simulation().notify(drained_, at_ps);
}

void pe_mmu::steps::end_visit(visit &of, std::uint64_t at_ps) {
    if (of.inside) leave(of, at_ps);
    idle_visits_.push_back(&of);
}

void pe_mmu::steps::let_in_by_queue() {
    time_queue &queue = time_queue::of_simulation();
    queue.post(
        queue.now_ps(), resource_.number(), 0,
        [](void *self, std::uint64_t at_ps) { static_cast<steps *>(self)->let_in(at_ps); }, this);
}

void pe_mmu::steps::let_in(std::uint64_t at_ps) {
    while (tla_passage *passage = tla_pauses_next(pauses_.get())) {
        visit &of = *static_cast<visit *>(passage->owner);
        mmu_.statistics_.paused_ps += at_ps - of.arrived_ps;
        mmu_.paused_.add(at_ps, -1);
        of.request->at_ps = at_ps;
        if (tla_access_times *const times = times_of(*of.request->payload)) note_time(times->entered_ps, at_ps);
        if (translation *const j = std::exchange(of.again, nullptr))
            retry(*j, at_ps);
        else
            take(*of.request, &of, at_ps);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

static tla_status refuse_without_pauses(tla_error &error) {
    return tla_error_set(&error, TLA_UNSUPPORTED, "this MMU has no pauses (config.pauses)");
}

// The engine's time for the command itself; its effect follows.
std::uint64_t pe_mmu::steps::price_of_nothing() const {
    const tla_work nothing{};
    return tla_cost_price(&mmu_.config_.cost, &nothing);
}

tla_status pe_mmu::steps::pause(const tla_command &command, std::uint64_t &at_ps, tla_error &error) {
    if (!pauses_) return refuse_without_pauses(error);
    const std::uint64_t price_ps = price_of_nothing();
    wait_until(at_ps + price_ps);
    const tla_status status = tla_pauses_begin(pauses_.get(), command.entries, command.count, &error);
    if (status) return status;
    mmu_.withdraw_dmi(command);
    pausing_ = &command;
    const std::uint64_t resets = mmu_.resets();
    while (mmu_.resets() == resets && !tla_pauses_are_drained(pauses_.get(), command.entries, command.count))
        sc_core::wait(drained_);
    pausing_ = nullptr;
    at_ps = to_ps(sc_core::sc_time_stamp()) - price_ps;
    return TLA_OK;
}

tla_status pe_mmu::steps::resume(const tla_command &command, std::uint64_t at_ps, tla_error &error) {
    if (!pauses_) return refuse_without_pauses(error);
    wait_until(at_ps + price_of_nothing());
    const tla_status status = tla_pauses_end(pauses_.get(), command.entries, command.count, &error);
    if (!status) let_in_by_queue();
    return status;
}

void pe_mmu::steps::end_pauses() {
    if (!pauses_) return;
    tla_pauses_end_all(pauses_.get());
    drained_.notify(sc_core::SC_ZERO_TIME);
    let_in_by_queue();
}

} // namespace tlmalloc
