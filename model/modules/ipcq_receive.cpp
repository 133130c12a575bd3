// What a message unit receives for its kernel, which waits for it or goes on meanwhile.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tile_shape.hpp"
#include "tlmalloc/device/element.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

// Whether the next piece is there.
bool pe_ipcq::front_of(const incoming &from, tla_message_piece &piece) {
    return from.has_slots && tla_message_front(&from.queue, &piece) == TLA_OK;
}

// Until it is: delay goes on to then.
tla_status pe_ipcq::wait_for_piece(std::uint32_t peer, incoming &from, std::uint64_t nbytes, sc_core::sc_time &delay,
                                   tla_message_piece &piece, tla_error *error) {
    const std::uint64_t since = local_ps(delay);
    const auto can_go_on = [&from, &piece] { return front_of(from, piece); };
    const bool at_once = can_go_on() && from.arrived_ps[piece.slot] <= since;
    waits_for_message_.set(since, !at_once);
    const tla_status status = wait_until(waiting("tl_recv", peer, nbytes, false), can_go_on, error);
    const std::uint64_t there = status ? 0 : from.arrived_ps[piece.slot];
    const std::uint64_t end = std::max({since, there, status ? to_ps(sc_core::sc_time_stamp()) : 0});
    statistics_.data_waits += !at_once;
    statistics_.data_wait_ps += end - since;
    waits_for_message_.set(end, 0);
    tla_time_account_pass(account_, since, TLA_TIME_MESSAGE);
    if (!at_once && !status) charge_wait(peer, from.sent_ps[piece.slot], there, TLA_TIME_MESSAGE_WAIT);
    if (status) tla_time_account_pass(account_, end, TLA_TIME_MESSAGE_WAIT); // in vain
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    return status;
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

// Copies a piece from its slot into the tile.
tla_status pe_ipcq::read_piece(const incoming &from, const tla_message_piece &piece, const tl_tile &tile,
                               sc_core::sc_time &delay) {
    const std::uint64_t slot = from.slots.value + piece.slot * config_.slot_size;
    tla_status status = TLA_OK;
    if (config_.memory != TLA_SLOTS_TCM && !has_tables()) {
        for_each_run(tile, piece.offset, piece.nbytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t nbytes) {
            pe_dma::request request{};
            request.way = pe_dma::direction::read;
            request.va.value = slot + done;
            request.tile.value = at;
            request.rows = 1;
            request.row_bytes = request.pitch = nbytes;
            request.physical = true;
            if (!status) status = dma_.transfer(request, delay);
        });
        return status;
    }
    std::vector<std::uint8_t> bytes(piece.nbytes);
    const auto move = [&](tlm::tlm_command command, std::uint64_t address, std::uint8_t *data, std::uint64_t nbytes) {
        if (!has_tables())
            return access(*local.operator->(), command, address, data, static_cast<std::uint32_t>(nbytes), delay,
                          &trusted_);
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data);
        payload.set_data_length(static_cast<unsigned>(nbytes));
        const bool in_slot = command == tlm::TLM_READ_COMMAND && config_.memory != TLA_SLOTS_TCM;
        return (in_slot ? memory->transport_dbg(payload) : local->transport_dbg(payload)) == nbytes;
    };
    bool ok = move(tlm::TLM_READ_COMMAND, slot, bytes.data(), piece.nbytes);
    for_each_run(tile, piece.offset, piece.nbytes, [&](std::uint64_t at, std::uint64_t done, std::uint64_t nbytes) {
        ok = ok && move(tlm::TLM_WRITE_COMMAND, at, bytes.data() + done, nbytes);
    });
    delay += from_ps(tla_slot_cost_ps(config_.costs, config_.memory, piece.nbytes));
    return ok ? TLA_OK : TLA_BUS_ERROR;
}

// A credit goes back to the sender; with tables, the kernel waits until it is there.
void pe_ipcq::give_credit(std::uint32_t peer, bool by_kernel, sc_core::sc_time &delay) {
    if (!ledger_.unit_of(launch_, peer)) return;
    message_token credit = token_to(peer, message_token::kind::credit);
    credit.credits = 1;
    if (by_kernel) {
        credit.sent_ps = local_ps(delay);
        tla_time_account_pass(account_, credit.sent_ps, TLA_TIME_MESSAGE);
        tla_time_account_send(account_);
    }
    if (!has_tables()) {
        tell(credit, local_ps(delay));
        return;
    }
    bool there = false;
    std::uint64_t there_ps = local_ps(delay);
    tell(credit, there_ps, [&](tla_status, std::uint64_t end_ps) {
        there = true;
        there_ps = end_ps;
    });
    while (!there)
        sc_core::wait(changed_);
    set_local_ps(delay, std::max(there_ps, to_ps(sc_core::sc_time_stamp())));
}

// A message into a tile, piece by piece; `next` waits for each.
tla_status pe_ipcq::take_message(const char *call, std::uint32_t peer, const tl_tile &tile, bool by_kernel,
                                 sc_core::sc_time &delay, const std::function<tla_status(tla_message_piece &)> &next,
                                 tla_error *error) {
    incoming &from = incoming_[peer];
    const std::uint64_t nbytes = bytes_of(tile);
    tla_message_piece piece{};
    do {
        if (const tla_status status = next(piece)) return status;
        if (piece.total != nbytes || from.dtype[piece.slot] != tile.dtype)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "%s: found a message of %" PRIu64 " bytes of %s from program %" PRIu32
                                 ", expected %" PRIu64 " of %s, a tile of %s",
                                 call, piece.total, tla_type_name(from.dtype[piece.slot]), peer, nbytes,
                                 tla_type_name(tile.dtype), shape(tile).c_str());
        if (const tla_status status = read_piece(from, piece, tile, delay))
            return tla_error_set(error, status, "%s: reading the slot, or writing the tile, failed: %s", call,
                                 tla_status_text(status));
        tla_message_release(&from.queue);
        slots_taken_.add(local_ps(delay), -1);
        received_bytes_.add(local_ps(delay), static_cast<std::int64_t>(piece.nbytes));
        give_credit(peer, by_kernel, delay);
    } while (!tla_message_piece_is_last(&piece));
    ledger_.received(launch_, peer, program_, local_ps(delay));
    statistics_.received++;
    statistics_.received_bytes += nbytes;
    return TLA_OK;
}

tla_status pe_ipcq::receive(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_recv", peer, tile, error)) return status;
    used_ = true;
    incoming &from = incoming_[peer];
    if (from.serving) { // behind those that came before
        receiving mine{"tl_recv", peer, tile, local_ps(delay)};
        from.receivings.push_back(&mine);
        return wait_for(mine, "tl_recv", delay, error);
    }
    const auto next = [&](tla_message_piece &piece) {
        return wait_for_piece(peer, from, bytes_of(tile), delay, piece, error);
    };
    return take_message("tl_recv", peer, tile, true, delay, next, error);
}

// --- receiving while the kernel goes on ------------------------------------------------------------------------------

tla_status pe_ipcq::begin_receive(receiving &what, tla_error *error) {
    if (const tla_status status = check_peer(what.call, what.peer, what.tile, error)) return status;
    used_ = true;
    incoming &from = incoming_[what.peer];
    from.receivings.push_back(&what);
    if (from.serving) return TLA_OK;
    from.serving = true;
    start([this, &from] { serve_receivings(from); });
    return TLA_OK;
}

// Those of one program, one after the other.
void pe_ipcq::serve_receivings(incoming &from) {
    while (!from.receivings.empty()) {
        receiving &now = *from.receivings.front();
        if (const std::uint64_t kernel_ps = to_ps(sc_core::sc_time_stamp()); now.asked_ps > kernel_ps)
            sc_core::wait(from_ps(now.asked_ps - kernel_ps));
        sc_core::sc_time delay;
        bool moves = false; // for the ledger: something is on its way
        const auto next = [&](tla_message_piece &piece) {
            if (moves) ledger_.arrive(launch_);
            moves = false;
            while (!now.dropped && !front_of(from, piece))
                sc_core::wait(changed_);
            if (now.dropped) return TLA_NOT_RECEIVED;
            moves = true;
            ledger_.depart(launch_);
            now.arrived_ps = from.arrived_ps[piece.slot];
            now.sent_ps = from.sent_ps[piece.slot];
            set_local_ps(delay, std::max({local_ps(delay), now.arrived_ps, to_ps(sc_core::sc_time_stamp())}));
            return TLA_OK;
        };
        now.status = take_message(now.call, now.peer, now.tile, false, delay, next, &now.why);
        now.end_ps = local_ps(delay);
        now.done = true;
        from.receivings.pop_front();
        wake();
        if (moves) ledger_.arrive(launch_);
    }
    from.serving = false;
    wake();
}

tla_status pe_ipcq::wait_for(receiving &what, const char *call, sc_core::sc_time &delay, tla_error *error) {
    const std::uint64_t since = local_ps(delay);
    const bool at_once = what.done && what.end_ps <= since;
    waits_for_message_.set(since, !at_once);
    const tla_status status = wait_until(
        waiting(call, what.peer, bytes_of(what.tile), false), [&what] { return what.done; }, error);
    if (status) drop_receives();
    const std::uint64_t end = std::max({since, what.end_ps, status ? to_ps(sc_core::sc_time_stamp()) : 0});
    statistics_.data_waits += !at_once;
    statistics_.data_wait_ps += end - since;
    waits_for_message_.set(end, 0);
    tla_time_account_pass(account_, since, TLA_TIME_MESSAGE);
    if (!at_once && !status && !what.status)
        charge_wait(what.peer, what.sent_ps, what.arrived_ps, TLA_TIME_MESSAGE_WAIT);
    if (status) tla_time_account_pass(account_, end, TLA_TIME_MESSAGE_WAIT);
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    if (status) return status;
    return what.status ? tla_error_set(error, what.status, "%s", what.why.text) : TLA_OK;
}

void pe_ipcq::drop_receives() {
    for (auto &[peer, from] : incoming_)
        for (receiving *waiting : from.receivings)
            waiting->dropped = true;
    wake();
    for (const auto &[peer, from] : incoming_)
        while (from.serving)
            sc_core::wait(changed_);
}

// Whether an asynchronous receive goes on by itself.
bool pe_ipcq::takes_something() const {
    tla_message_piece piece{};
    return std::any_of(incoming_.begin(), incoming_.end(),
                       [&piece](const auto &of) { return of.second.serving && front_of(of.second, piece); });
}

} // namespace tlmalloc
