// The interface of a kernel and its message unit: begin, end, peers, calls and their waits.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "modules/memory/owed_frees.hpp"
#include "modules/platform/runtime_text.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

void pe_ipcq::begin_kernel(std::uint32_t launch, std::uint32_t program, std::uint32_t programs, std::uint64_t at_ps) {
    has_kernel_ = true;
    launch_ = launch;
    program_ = program;
    programs_ = programs;
    send_failure_ = TLA_OK;
    launched_ps_ = at_ps;
    post(at_ps, turn::launch_comes, [this](std::uint64_t) {
        active_ = true;
        ledger_.enter(launch_, program_, programs_, *this);
    });
}

// Nothing of the kernel is on its way.
bool pe_ipcq::is_settled() const {
    return errands_ == 0 && forwarding_ == 0 && asked_.empty() && !is_taking();
}

tla_status pe_ipcq::end_kernel(sc_core::sc_time &delay, tla_error *error) {
    const auto settled = std::make_shared<kernel_call>();
    settled->lasts = true;
    settled->go = [this](std::uint64_t at_ps) {
        if (active_) {
            active_ = false;
            drop_all(at_ps);
            make_next_slots(at_ps); // answers programs that still ask: the unit allocates no slots
        }
        if (!is_settled()) return;
        for (const auto &[from, queue] : incoming_)
            if (queue.has_slots && ledger_.unit_of(launch_, from))
                tell(token_to(from, message_token::kind::gone), at_ps);
        call_->go = [this](std::uint64_t now_ps) {
            if (is_settled()) end_call(TLA_OK, now_ps);
        };
        look(at_ps);
    };
    set_local_ps(delay, std::max(local_ps(delay), launched_ps_)); // in a reset it may end before
    perform(settled, delay, nullptr);
    std::vector<tla_paddr> owed; // slots whose FREE was rejected
    tla_status refusal = TLA_OK;
    const auto free_slots = [&](const tla_paddr &slots) {
        tla_command command{};
        tla_completion completion{};
        command.opcode = TLA_OP_FREE;
        command.pa = slots;
        command.nbytes = slots_bytes();
        const tla_status status = slots_command(command, completion, delay);
        if (status) refusal = status;
        if (!send_failure_ && !stays_owed(status)) send_failure_ = status;
        return status;
    };
    for (const auto &[from, queue] : incoming_) {
        if (!queue.has_slots) continue;
        if (stays_owed(free_slots(queue.slots))) owed.push_back(queue.slots);
        slots_taken_.add(local_ps(delay), -static_cast<std::int64_t>(tla_message_taken(&queue.queue)));
        slots_allocated_.add(local_ps(delay), -static_cast<std::int64_t>(config_.slots));
    }
    if (!in_reset()) free_owed_in_rounds(owed, free_slots, [&] { delay += from_ps(config_.retry.delay_ps); });
    if (!owed.empty() && !send_failure_) send_failure_ = refusal;
    const auto left = std::make_shared<kernel_call>();
    left->lasts = true;
    left->go = [this](std::uint64_t at_ps) {
        incoming_.clear();
        outgoing_.clear();
        ledger_.leave(launch_, program_);
        end_call(TLA_OK, at_ps);
    };
    perform(left, delay, nullptr);
    const tla_status status = send_failure_;
    has_kernel_ = false;
    may_be_idle();
    if (!status) return TLA_OK;
    return tla_error_set(error, status,
                         "a write of a message returned an error response, or its slots were not released: %s",
                         refusal_text(status));
}

// --- calls -----------------------------------------------------------------------------------------------------------

// The queue decides the result of a call, from the kernel's time on; the thread waits for the result.
tla_status pe_ipcq::perform(const std::shared_ptr<kernel_call> &what, sc_core::sc_time &delay, tla_error *error) {
    if (in_reset() && !what->lasts) return tla_error_set(error, TLA_RESET, "%s", tla_status_text(TLA_RESET));
    struct hand { // also when an exception ends the thread's wait
        explicit hand(pe_ipcq &unit) : of(unit) {}
        ~hand() {
            if (!of.call_->done) of.ledger_.end_wait(of.launch_, of.program_);
            of.call_ = nullptr;
        }
        hand(const hand &) = delete;
        hand &operator=(const hand &) = delete;
        pe_ipcq &of;
    };
    call_ = what;
    const hand in_hand(*this);
    what->end_ps = local_ps(delay);
    post(what->end_ps, turn::kernel_calls, [this, what](std::uint64_t at_ps) {
        what->begun = true;
        if (call_ == what) look(at_ps);
    });
    for (std::uint64_t now = to_ps(sc_core::sc_time_stamp()); !what->done || what->end_ps > now;) {
        if (what->done)
            sc_core::wait(from_ps(what->end_ps - now));
        else
            sc_core::wait(answered_);
        now = to_ps(sc_core::sc_time_stamp());
    }
    set_local_ps(delay, what->end_ps);
    return what->status ? tla_error_set(error, what->status, "%s", what->why.text) : TLA_OK;
}

void pe_ipcq::end_call(tla_status status, std::uint64_t at_ps, const tla_error &why) {
    ledger_.end_wait(launch_, program_);
    call_->done = true;
    call_->status = status;
    call_->why = why;
    call_->end_ps = std::max(call_->end_ps, at_ps);
    time_queue::of_simulation().notify(answered_, at_ps);
}

// The kernel waits no longer.
void pe_ipcq::end_early(tla_status status) {
    if (!call_ || call_->done || call_->lasts) return;
    const std::uint64_t now_ps = time_queue::of_simulation().now_ps();
    waits_for_credit_.set(now_ps, 0);
    waits_for_message_.set(now_ps, 0);
    tla_error why{};
    tla_error_set(&why, status, "%s", tla_status_text(status));
    end_call(status, now_ps, why);
}

// An event has occurred for which the current call may wait.
void pe_ipcq::look(std::uint64_t at_ps) {
    if (!call_ || !call_->begun || call_->done) return;
    const std::shared_ptr<kernel_call> looking = call_;
    const auto go = looking->go; // it may be another one afterwards
    go(at_ps);
}

void pe_ipcq::look_again() {
    post(0, turn::kernel_looks, [this](std::uint64_t at_ps) { look(at_ps); });
}

// --- peers -----------------------------------------------------------------------------------------------------------

// Waits until the ledger knows the required programs of the launch.
void pe_ipcq::wait_for_programs(const std::function<bool()> &known, sc_core::sc_time &delay) {
    if (active_ && known()) return;
    const auto knowing = std::make_shared<kernel_call>();
    knowing->go = [this, known](std::uint64_t at_ps) {
        if (known())
            end_call(TLA_OK, at_ps);
        else
            ledger_.wait_for_programs(*this);
    };
    perform(knowing, delay, nullptr);
}

std::uint32_t pe_ipcq::program_at(const pe_location &place, sc_core::sc_time &delay) {
    wait_for_programs([this] { return ledger_.is_complete(launch_); }, delay);
    return ledger_.is_complete(launch_) ? ledger_.program_at(launch_, place) : message_ledger::none;
}

pe_location pe_ipcq::place_of(std::uint32_t program, sc_core::sc_time &delay) {
    wait_for_programs([this, program] { return ledger_.unit_of(launch_, program) != nullptr; }, delay);
    const pe_ipcq *const unit = ledger_.unit_of(launch_, program);
    return unit ? unit->where() : config_.where; // the kernel is ended in a reset
}

tla_status pe_ipcq::check_peer(const char *call, std::uint32_t peer, const tl_tile &tile, tla_error *error) const {
    if (peer >= programs_)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: program %" PRIu32 " must be less than %" PRIu32, call,
                             peer, programs_);
    if (peer == program_)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%s: program %" PRIu32 " is this program: name another program", call, peer);
    if (bytes_of(tile) == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: a tile of %s: must have at least one element", call,
                             shape(tile).c_str());
    return TLA_OK;
}

message_ledger::wait pe_ipcq::waiting(const char *call, std::uint32_t peer, std::uint64_t nbytes,
                                      bool for_credit) const {
    const pe_ipcq *const unit = ledger_.unit_of(launch_, peer);
    return {config_.where, unit ? unit->where() : config_.where, program_, peer, call, for_credit, nbytes};
}

tla_error pe_ipcq::deadlock(const message_ledger::wait &what) {
    tla_error why{};
    tla_error_set(&why, TLA_DEADLOCK, "deadlock: %s", message_ledger::text(what).c_str());
    return why;
}

// The kernel has waited for a message or a credit, which was there at arrived_ps: until it was sent, and while it was
// on its way.
void pe_ipcq::charge_wait(std::uint32_t peer, std::uint64_t sent_ps, std::uint64_t arrived_ps,
                          tla_time_kind until_sent) {
    if (arrived_ps <= tla_time_account_now(account_)) return;
    tla_time_account_pass(account_, sent_ps, until_sent);
    tla_time_account_pass(account_, arrived_ps, TLA_TIME_MESSAGE);
    tla_time_account_receive(account_, peer, sent_ps);
}

} // namespace tlmalloc
