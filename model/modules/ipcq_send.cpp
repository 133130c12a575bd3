// What a message unit sends for its kernel: the direction to a program, credits, pieces.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tile_shape.hpp"
#include "tlmalloc/allocators/pe_memory.h"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

// The direction to a program; its first use asks for slots there.
pe_ipcq::outgoing &pe_ipcq::connect(std::uint32_t peer, sc_core::sc_time &delay) {
    const auto found = outgoing_.find(peer);
    if (found != outgoing_.end()) return found->second;
    set_local_ps(delay, std::max(local_ps(delay), to_ps(sc_core::sc_time_stamp())));
    outgoing &to = outgoing_[peer];
    tla_message_sender_init(&to.queue, config_.slots, config_.slot_size);
    const pe_location &there = ledger_.unit_of(launch_, peer)->where();
    tla_paddr window{};
    tla_paddr_pe_control(there.sip, there.cube, there.pe, TLA_CONTROL_MESSAGES, 0, &window);
    to.window = window.value;
    tell(token_to(peer, message_token::kind::connect), local_ps(delay));
    return to;
}

// Until there is a credit, or will be none: delay goes on to then.
tla_status pe_ipcq::wait_for_credit(std::uint32_t peer, outgoing &to, std::uint64_t nbytes, sc_core::sc_time &delay,
                                    tla_error *error) {
    const std::uint64_t since = local_ps(delay);
    const auto can_go_on = [&to] { return to.queue.credits > 0 || to.gone || to.refusal.status; };
    const bool at_once = can_go_on() && (to.credits.empty() || to.credits.front().there_ps <= since);
    waits_for_credit_.set(since, !at_once);
    const tla_status status = wait_until(waiting("tl_send", peer, nbytes, true), can_go_on, error);
    std::uint64_t end = std::max(since, to_ps(sc_core::sc_time_stamp()));
    if (!status) end = std::max(since, to.credits.empty() ? to.answered_ps : to.credits.front().there_ps);
    if (!at_once && config_.back_pressure == TLA_BACK_PRESSURE_POLL && !status) {
        const std::uint64_t looks = (end - since + config_.poll_ps - 1) / config_.poll_ps;
        statistics_.polls += looks;
        end = since + looks * config_.poll_ps;
    }
    statistics_.credit_waits += !at_once;
    statistics_.credit_wait_ps += end - since;
    waits_for_credit_.set(end, 0);
    tla_time_account_pass(account_, since, TLA_TIME_MESSAGE);
    if (!at_once && !status && !to.credits.empty() && to.credits.front().sent_ps > 0)
        charge_wait(peer, to.credits.front().sent_ps, to.credits.front().there_ps, TLA_TIME_MESSAGE_CREDIT);
    tla_time_account_pass_parts(account_, end, to.allocation.data(), to.allocation.size(), TLA_TIME_MESSAGE_CREDIT);
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    return status;
}

tla_status pe_ipcq::explain_refusal(std::uint32_t peer, tla_error *error) {
    const message_token refusal = outgoing_[peer].refusal;
    outgoing_.erase(peer); // the next one asks again
    const pe_ipcq *const unit = ledger_.unit_of(launch_, peer);
    if (refusal.status == TLA_BUS_ERROR)
        return tla_error_set(error, TLA_BUS_ERROR,
                             "tl_send: no slots at program %" PRIu32 ", %s: port %u of the controller of its %s "
                             "answered with an error, expected one that has it (controller.ports)",
                             peer, unit ? to_string(unit->where()).c_str() : "?", config_.allocator_port,
                             tla_slot_memory_name(config_.memory));
    return tla_error_set(
        error, refusal.status,
        "tl_send: no slots at program %" PRIu32 ", %s: %s: found %" PRIu64 " bytes free in its %s, the "
        "largest block %" PRIu64 ", expected %" PRIu64 " for %" PRIu32 " slots of %" PRIu64,
        peer, unit ? to_string(unit->where()).c_str() : "?", tla_status_name(refusal.status), refusal.total_free,
        tla_slot_memory_name(config_.memory), refusal.largest_free, slots_bytes(), config_.slots, config_.slot_size);
}

void pe_ipcq::send_piece(std::uint32_t peer, const tla_message_piece &piece, const tl_tile &tile, std::uint64_t at_ps,
                         const std::shared_ptr<reading> &reads) {
    const auto made = std::make_shared<errand>();
    made->token = token_to(peer, message_token::kind::piece);
    made->token.piece = piece;
    made->token.dtype = tile.dtype;
    made->token.sent_ps = at_ps;
    made->start_ps = at_ps;
    const std::uint64_t slot = outgoing_[peer].window + piece.slot * config_.slot_size;
    for_each_run(tile, piece.offset, piece.nbytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t nbytes) {
        pe_dma::request request{};
        request.way = pe_dma::direction::write;
        request.va.value = slot + done;
        request.tile.value = at;
        request.rows = 1;
        request.row_bytes = request.pitch = nbytes;
        request.physical = true;
        made->parts.push_back(request);
    });
    reads->left++;
    const auto read = [this, reads](std::uint64_t read_ps) {
        reads->left--;
        reads->end_ps = std::max(reads->end_ps, read_ps);
        wake_at(read_ps);
    };
    made->parts.back().taken = read;
    made->ended = [read](tla_status status, std::uint64_t end_ps) {
        if (status) read(end_ps); // it has not been told
    };
    post(made);
}

tla_status pe_ipcq::send(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_send", peer, tile, error)) return status;
    used_ = true;
    const std::uint64_t nbytes = bytes_of(tile), since = local_ps(delay);
    if (!wait_for_program(peer)) return tla_error_set(error, TLA_RESET, "tl_send: %s", tla_status_text(TLA_RESET));
    outgoing &to = connect(peer, delay);
    tla_message_begin(&to.queue, nbytes);
    const auto reads = std::make_shared<reading>();
    bool told = false;
    while (tla_message_is_under_way(&to.queue)) {
        if (const tla_status status = wait_for_credit(peer, to, nbytes, delay, error)) return status;
        if (to.refusal.status) return explain_refusal(peer, error);
        if (!told) ledger_.sent(launch_, program_, peer, nbytes, since);
        told = true;
        if (to.gone) {
            tla_message_drop(&to.queue);
            break;
        }
        tla_message_piece piece{};
        tla_message_next(&to.queue, &piece);
        to.credits.pop_front();
        sent_bytes_.add(local_ps(delay), static_cast<std::int64_t>(piece.nbytes));
        tla_time_account_pass(account_, local_ps(delay), TLA_TIME_MESSAGE);
        tla_time_account_send(account_);
        send_piece(peer, piece, tile, local_ps(delay), reads);
    }
    const std::uint64_t last_ps = local_ps(delay);
    while (reads->left > 0)
        sc_core::wait(changed_);
    set_local_ps(delay, std::max({last_ps, reads->end_ps, to_ps(sc_core::sc_time_stamp())}));
    statistics_.sent++;
    statistics_.sent_bytes += nbytes;
    return TLA_OK;
}

} // namespace tlmalloc
