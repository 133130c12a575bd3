// The sends of a message unit for its kernel: the direction to a program, credits, pieces.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "modules/platform/runtime_text.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

// The direction to a program; its first use asks for slots there.
pe_ipcq::outgoing &pe_ipcq::connect(std::uint32_t peer, std::uint64_t at_ps) {
    const auto found = outgoing_.find(peer);
    if (found != outgoing_.end()) return found->second;
    outgoing &to = outgoing_[peer];
    tla_message_sender_init(&to.queue, config_.slots, config_.slot_size);
    const pe_location &there = ledger_.unit_of(launch_, peer)->where();
    tla_paddr window{};
    tla_paddr_pe_control(there.sip, there.cube, there.pe, TLA_CONTROL_MESSAGES, 0, &window);
    to.window = window.value;
    tell(token_to(peer, message_token::kind::connect), at_ps);
    return to;
}

// Returns whether a credit has arrived, or can never arrive; otherwise the kernel waits. A sender that polls continues
// at its next poll.
bool pe_ipcq::has_credit(sending &what, outgoing &to, std::uint64_t at_ps) {
    const auto is_there = [&to] { return to.queue.credits > 0 || to.gone || to.refusal.status; };
    const auto account = [&](bool charged) {
        statistics_.credit_waits += what.waits;
        statistics_.credit_wait_ps += at_ps - what.since_ps;
        waits_for_credit_.set(at_ps, 0);
        tla_time_account_pass(account_, what.since_ps, TLA_TIME_MESSAGE);
        if (charged && what.waits && !to.credits.empty() && to.credits.front().sent_ps > 0)
            charge_wait(what.peer, to.credits.front().sent_ps, to.credits.front().there_ps, TLA_TIME_MESSAGE_CREDIT);
        tla_time_account_pass_parts(account_, at_ps, to.allocation.data(), to.allocation.size(),
                                    TLA_TIME_MESSAGE_CREDIT);
    };
    const message_ledger::wait wait = waiting("tl_send", what.peer, bytes_of(what.tile), true);
    if (!what.waits) {
        what.since_ps = at_ps;
        what.look_ps = 0;
        if (!is_there()) {
            what.waits = true;
            waits_for_credit_.set(at_ps, 1);
            ledger_.begin_wait(launch_, wait, [this, is_there] { return is_there() || takes_something(); });
        }
    }
    if (!is_there()) {
        if (!ledger_.is_deadlocked(launch_)) return false;
        account(false);
        end_call(TLA_DEADLOCK, at_ps, deadlock(wait));
        return false;
    }
    if (what.waits && config_.back_pressure == TLA_BACK_PRESSURE_POLL && what.look_ps == 0) {
        const std::uint64_t looks = (at_ps - what.since_ps + config_.poll_ps - 1) / config_.poll_ps;
        statistics_.polls += looks;
        what.look_ps = what.since_ps + looks * config_.poll_ps;
        post(what.look_ps, turn::kernel_looks, [this](std::uint64_t now_ps) { look(now_ps); });
    }
    if (at_ps < what.look_ps) return false;
    account(true);
    if (what.waits) ledger_.end_wait(launch_, program_);
    what.waits = false;
    return true;
}

tla_error pe_ipcq::explain_refusal(std::uint32_t peer) {
    const message_token refusal = outgoing_[peer].refusal;
    outgoing_.erase(peer); // the next one asks again
    const pe_ipcq *const unit = ledger_.unit_of(launch_, peer);
    const std::string where = unit ? to_string(unit->where()) : "?";
    tla_error why{};
    if (refusal.status == TLA_BUS_ERROR)
        tla_error_set(
            &why, TLA_BUS_ERROR,
            "tl_send: no slots at program %" PRIu32
            ", %s: port %u of the controller of its %s returned an error response: controller.ports must include it",
            peer, where.c_str(), config_.allocator_port, tla_slot_memory_name(config_.memory));
    else if (refusal.status == TLA_BUSY)
        tla_error_set(&why, TLA_BUSY, "tl_send: no slots at program %" PRIu32 ", %s: its %s: %s", peer, where.c_str(),
                      tla_slot_memory_name(config_.memory), refusal_text(refusal.status));
    else
        tla_error_set(&why, refusal.status,
                      "tl_send: no slots at program %" PRIu32 ", %s: %s: %" PRIu64
                      " bytes free in its %s, largest free block %" PRIu64 ", but %" PRIu64 " needed for %" PRIu32
                      " slots of %" PRIu64,
                      peer, where.c_str(), tla_status_name(refusal.status), refusal.total_free,
                      tla_slot_memory_name(config_.memory), refusal.largest_free, slots_bytes(), config_.slots,
                      config_.slot_size);
    return why;
}

void pe_ipcq::send_piece(const sending_ptr &what, const tla_message_piece &piece, std::uint64_t at_ps) {
    const auto made = std::make_shared<errand>();
    made->token = token_to(what->peer, message_token::kind::piece);
    made->token.piece = piece;
    made->token.dtype = what->tile.dtype;
    made->token.sent_ps = at_ps;
    const std::uint64_t slot = outgoing_[what->peer].window + piece.slot * config_.slot_size;
    for_each_run(what->tile, piece.offset, piece.nbytes,
                 [&](std::uint64_t at, std::uint64_t done, std::uint64_t nbytes) {
                     pe_dma::request request{};
                     request.way = pe_dma::direction::write;
                     request.va.value = slot + done;
                     request.tile.value = at;
                     request.rows = 1;
                     request.row_bytes = request.pitch = nbytes;
                     request.physical = true;
                     request.purpose = TLA_PURPOSE_MESSAGE;
                     made->parts.push_back(request);
                 });
    what->unread++;
    const auto unread = std::make_shared<bool>(true); // reported once, also if a write fails after it was read
    const auto read = [this, what, unread](std::uint64_t now_ps) {
        if (*unread) what->unread--;
        *unread = false;
        look(now_ps);
    };
    made->parts.back().taken = [this, read](std::uint64_t read_ps) { post(read_ps, turn::write_ends, read); };
    made->ended = [read](tla_status status, std::uint64_t end_ps) {
        if (status) read(end_ps);
    };
    run(made, at_ps);
}

// As far as there are credits. The call is over when the tile has been read.
void pe_ipcq::go_on(const sending_ptr &what, std::uint64_t at_ps) {
    sending &s = *what;
    const std::uint64_t nbytes = bytes_of(s.tile);
    if (!s.begun) {
        s.called_ps = call_->end_ps;
        if (!ledger_.unit_of(launch_, s.peer)) {
            ledger_.wait_for_programs(*this);
            return;
        }
        s.begun = true;
        tla_message_begin(&connect(s.peer, at_ps).queue, nbytes);
    }
    for (;;) {
        outgoing &to = outgoing_[s.peer];
        if (!tla_message_is_under_way(&to.queue)) break;
        if (!has_credit(s, to, at_ps)) return;
        if (to.refusal.status) {
            const tla_error why = explain_refusal(s.peer);
            end_call(why.status, at_ps, why);
            return;
        }
        if (!s.told) ledger_.sent(launch_, program_, s.peer, nbytes, s.called_ps);
        s.told = true;
        if (to.gone) {
            tla_message_drop(&to.queue);
            break;
        }
        tla_message_piece piece{};
        tla_message_next(&to.queue, &piece);
        to.credits.pop_front();
        sent_bytes_.add(at_ps, static_cast<std::int64_t>(piece.nbytes));
        tla_time_account_pass(account_, at_ps, TLA_TIME_MESSAGE);
        tla_time_account_send(account_);
        send_piece(what, piece, at_ps);
    }
    if (s.unread > 0) return;
    statistics_.sent++;
    statistics_.sent_bytes += nbytes;
    end_call(TLA_OK, at_ps);
}

// The sender spends the overhead of the message before anything leaves, also the request for slots.
void pe_ipcq::begin_send(const sending_ptr &what, std::uint64_t at_ps) {
    const step sends = [this, what](std::uint64_t now_ps) { go_on(what, now_ps); };
    if (config_.overhead_ps == 0) {
        call_->go = sends;
        sends(at_ps);
        return;
    }
    call_->go = [](std::uint64_t) {}; // no event shortens it
    post(at_ps + config_.overhead_ps, turn::kernel_calls, [this, sends, call = call_](std::uint64_t now_ps) {
        if (call_ != call || call->done) return; // a reset, or a time limit, has ended the call
        call->go = sends;
        sends(now_ps);
    });
}

tla_status pe_ipcq::send(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_send", peer, tile, error)) return status;
    used_ = true;
    const auto message = std::make_shared<sending>();
    message->peer = peer;
    message->tile = tile;
    const auto sends = std::make_shared<kernel_call>();
    sends->go = [this, message](std::uint64_t at_ps) { begin_send(message, at_ps); };
    return perform(sends, delay, error);
}

} // namespace tlmalloc
