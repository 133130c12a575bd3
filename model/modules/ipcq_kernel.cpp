// What a kernel and its message unit have to do with each other: begin, end, peers, waits.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

void pe_ipcq::begin_kernel(std::uint32_t launch, std::uint32_t program, std::uint32_t programs) {
    active_ = has_kernel_ = true;
    launch_ = launch;
    program_ = program;
    programs_ = programs;
    send_failure_ = TLA_OK;
    last_end_ps_ = 0;
    ledger_.enter(launch, program, programs, *this);
}

tla_status pe_ipcq::end_kernel(sc_core::sc_time &delay, tla_error *error) {
    const auto settle = [&] {
        const std::uint64_t begin_ps = local_ps(delay);
        while (errands_ > 0 || forwarding_ > 0 || making_slots_ || !asked_.empty())
            sc_core::wait(changed_);
        set_local_ps(delay, std::max({begin_ps, last_end_ps_, slots_free_ps_, to_ps(sc_core::sc_time_stamp())}));
    };
    active_ = false;
    settle();
    for (const auto &[from, queue] : incoming_)
        if (queue.has_slots && ledger_.unit_of(launch_, from))
            tell(token_to(from, message_token::kind::gone), local_ps(delay));
    settle();
    for (const auto &[from, queue] : incoming_) {
        if (!queue.has_slots) continue;
        tla_command command{};
        tla_completion completion{};
        command.opcode = TLA_OP_FREE;
        command.pa = queue.slots;
        command.nbytes = slots_bytes();
        if (const tla_status status = slots_command(command, completion, delay))
            if (!send_failure_) send_failure_ = status;
        slots_taken_.add(local_ps(delay), -static_cast<std::int64_t>(tla_message_taken(&queue.queue)));
        slots_allocated_.add(local_ps(delay), -static_cast<std::int64_t>(config_.slots));
    }
    incoming_.clear();
    outgoing_.clear();
    const tla_status status = send_failure_;
    ledger_.leave(launch_, program_);
    has_kernel_ = false;
    may_be_idle();
    if (!status) return TLA_OK;
    return tla_error_set(error, status,
                         "a write of a message was answered with an error, or its slots not taken back: %s",
                         tla_status_text(status));
}

std::uint32_t pe_ipcq::program_at(const pe_location &place) {
    while (!ledger_.is_complete(launch_) && !in_reset())
        ledger_.wait_for_programs();
    return ledger_.is_complete(launch_) ? ledger_.program_at(launch_, place) : message_ledger::none;
}

pe_location pe_ipcq::place_of(std::uint32_t program) {
    return wait_for_program(program) ? ledger_.unit_of(launch_, program)->where() : config_.where;
}

// False when a reset has come first: the kernel is ended.
bool pe_ipcq::wait_for_program(std::uint32_t program) {
    while (!ledger_.unit_of(launch_, program) && !in_reset())
        ledger_.wait_for_programs();
    return ledger_.unit_of(launch_, program) != nullptr;
}

tla_status pe_ipcq::check_peer(const char *call, std::uint32_t peer, const tl_tile &tile, tla_error *error) const {
    if (peer >= programs_)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found program %" PRIu32 ", expected one below %" PRIu32,
                             call, peer, programs_);
    if (peer == program_)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found program %" PRIu32 ", this one, expected another",
                             call, peer);
    if (bytes_of(tile) == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found a tile of %s, expected some elements", call,
                             shape(tile).c_str());
    return TLA_OK;
}

message_ledger::wait pe_ipcq::waiting(const char *call, std::uint32_t peer, std::uint64_t nbytes,
                                      bool for_credit) const {
    const pe_ipcq *const unit = ledger_.unit_of(launch_, peer);
    return {config_.where, unit ? unit->where() : config_.where, program_, peer, call, for_credit, nbytes};
}

tla_status pe_ipcq::wait_until(const message_ledger::wait &what, const std::function<bool()> &can_go_on,
                               tla_error *error) {
    if (can_go_on()) return TLA_OK;
    ledger_.begin_wait(launch_, what, [this, &can_go_on] { return can_go_on() || takes_something() || in_reset(); });
    while (!can_go_on() && !ledger_.is_deadlocked(launch_) && !in_reset())
        sc_core::wait(changed_);
    ledger_.end_wait(launch_, program_);
    if (in_reset()) return tla_error_set(error, TLA_RESET, "%s: %s", what.call, tla_status_text(TLA_RESET));
    if (can_go_on()) return TLA_OK;
    return tla_error_set(error, TLA_DEADLOCK, "deadlock: %s", message_ledger::text(what).c_str());
}

} // namespace tlmalloc
