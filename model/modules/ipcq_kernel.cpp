// What a kernel asks its message unit for: sending, receiving, and the end of it all.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tile_shape.hpp"
#include "tlmalloc/allocators/pe_memory.h"
#include "tlmalloc/device/element.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/parameters/platform.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

namespace tlmalloc {

namespace {

// Calls visit(address of bytes in the TCM, offset in the piece, bytes) for each run of bytes of a tile that
// [offset, offset + nbytes) of its elements, row by row, lie in.
template <typename Visit>
void for_each_run(const tl_tile &tile, std::uint64_t offset, std::uint64_t nbytes, Visit visit) {
    const std::uint64_t element = tl_dtype_bytes(tile.dtype), row = tile.columns * element;
    if (rows_touch(tile)) {
        visit(tile.pa.value + offset, 0, nbytes);
        return;
    }
    for (std::uint64_t done = 0; done < nbytes;) {
        const std::uint64_t at = offset + done, in_row = at % row, length = std::min(row - in_row, nbytes - done);
        visit(tile.pa.value + at / row * tile.pitch * element + in_row, done, length);
        done += length;
    }
}

} // namespace

// --- launches --------------------------------------------------------------------------------------------------------

void pe_ipcq::begin_kernel(std::uint32_t launch, std::uint32_t program, std::uint32_t programs) {
    active_ = true;
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
    if (!status) return TLA_OK;
    return tla_error_set(error, status,
                         "a write of a message was answered with an error, or its slots not taken back: %s",
                         tla_status_text(status));
}

std::uint32_t pe_ipcq::program_at(const pe_location &place) {
    while (!ledger_.is_complete(launch_))
        ledger_.wait_for_programs();
    return ledger_.program_at(launch_, place);
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
    ledger_.begin_wait(launch_, what, can_go_on);
    while (!can_go_on() && !ledger_.is_deadlocked(launch_))
        sc_core::wait(changed_);
    ledger_.end_wait(launch_, program_);
    if (can_go_on()) return TLA_OK;
    return tla_error_set(error, TLA_DEADLOCK, "deadlock: %s", message_ledger::text(what).c_str());
}

// --- sending ---------------------------------------------------------------------------------------------------------

// The direction to a program; its first use asks for slots there.
pe_ipcq::outgoing &pe_ipcq::connect(std::uint32_t peer, sc_core::sc_time &delay) {
    const auto found = outgoing_.find(peer);
    if (found != outgoing_.end()) return found->second;
    while (!ledger_.unit_of(launch_, peer))
        ledger_.wait_for_programs();
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
    const bool at_once = can_go_on() && (to.credits_ps.empty() || to.credits_ps.front() <= since);
    waits_for_credit_.set(since, !at_once);
    const tla_status status = wait_until(waiting("tl_send", peer, nbytes, true), can_go_on, error);
    std::uint64_t end = std::max(since, to_ps(sc_core::sc_time_stamp()));
    if (!status) end = std::max(since, to.credits_ps.empty() ? to.answered_ps : to.credits_ps.front());
    if (!at_once && config_.back_pressure == TLA_BACK_PRESSURE_POLL && !status) {
        const std::uint64_t looks = (end - since + config_.poll_ps - 1) / config_.poll_ps;
        statistics_.polls += looks;
        end = since + looks * config_.poll_ps;
    }
    statistics_.credit_waits += !at_once;
    statistics_.credit_wait_ps += end - since;
    waits_for_credit_.set(end, 0);
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
    auto made = std::make_unique<errand>();
    made->token = token_to(peer, message_token::kind::piece);
    made->token.piece = piece;
    made->token.dtype = tile.dtype;
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
    post(std::move(made));
}

tla_status pe_ipcq::send(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_send", peer, tile, error)) return status;
    used_ = true;
    const std::uint64_t nbytes = bytes_of(tile), since = local_ps(delay);
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
        to.credits_ps.pop_front();
        sent_bytes_.add(local_ps(delay), static_cast<std::int64_t>(piece.nbytes));
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

// --- receiving -------------------------------------------------------------------------------------------------------

// Until the next piece is there: delay goes on to then.
tla_status pe_ipcq::wait_for_piece(std::uint32_t peer, incoming &from, std::uint64_t nbytes, sc_core::sc_time &delay,
                                   tla_message_piece &piece, tla_error *error) {
    const std::uint64_t since = local_ps(delay);
    const auto can_go_on = [&from, &piece] {
        return from.has_slots && tla_message_front(&from.queue, &piece) == TLA_OK;
    };
    const bool at_once = can_go_on() && from.arrived_ps[piece.slot] <= since;
    waits_for_message_.set(since, !at_once);
    const tla_status status = wait_until(waiting("tl_recv", peer, nbytes, false), can_go_on, error);
    const std::uint64_t there = status ? 0 : from.arrived_ps[piece.slot];
    const std::uint64_t end = std::max({since, there, status ? to_ps(sc_core::sc_time_stamp()) : 0});
    statistics_.data_waits += !at_once;
    statistics_.data_wait_ps += end - since;
    waits_for_message_.set(end, 0);
    set_local_ps(delay, std::max(end, to_ps(sc_core::sc_time_stamp())));
    return status;
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
void pe_ipcq::give_credit(std::uint32_t peer, sc_core::sc_time &delay) {
    if (!ledger_.unit_of(launch_, peer)) return;
    message_token credit = token_to(peer, message_token::kind::credit);
    credit.credits = 1;
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

tla_status pe_ipcq::receive(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_recv", peer, tile, error)) return status;
    used_ = true;
    const std::uint64_t nbytes = bytes_of(tile);
    incoming &from = incoming_[peer];
    tla_message_piece piece{};
    do {
        if (const tla_status status = wait_for_piece(peer, from, nbytes, delay, piece, error)) return status;
        if (piece.total != nbytes || from.dtype[piece.slot] != tile.dtype)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "tl_recv: found a message of %" PRIu64 " bytes of %s from program %" PRIu32
                                 ", expected %" PRIu64 " of %s, a tile of %s",
                                 piece.total, tla_type_name(from.dtype[piece.slot]), peer, nbytes,
                                 tla_type_name(tile.dtype), shape(tile).c_str());
        if (const tla_status status = read_piece(from, piece, tile, delay))
            return tla_error_set(error, status, "tl_recv: reading the slot, or writing the tile, failed: %s",
                                 tla_status_text(status));
        tla_message_release(&from.queue);
        slots_taken_.add(local_ps(delay), -1);
        received_bytes_.add(local_ps(delay), static_cast<std::int64_t>(piece.nbytes));
        give_credit(peer, delay);
    } while (!tla_message_piece_is_last(&piece));
    ledger_.received(launch_, peer, program_, local_ps(delay));
    statistics_.received++;
    statistics_.received_bytes += nbytes;
    return TLA_OK;
}

// --- slots -----------------------------------------------------------------------------------------------------------

void pe_ipcq::serve_connections() {
    for (;;) {
        while (asked_.empty())
            sc_core::wait(asked_event_);
        const asked next = asked_.front();
        asked_.pop_front();
        making_slots_ = true;
        make_slots(next);
        making_slots_ = false;
        wake();
    }
}

void pe_ipcq::make_slots(const asked &who) {
    const std::uint32_t launch = launch_;
    sc_core::sc_time delay;
    set_local_ps(delay, std::max({who.at_ps, slots_free_ps_, to_ps(sc_core::sc_time_stamp())}));
    message_token answer = token_to(who.from, message_token::kind::gone);
    if (active_) {
        static const tla_channel channels[] = {TLA_TCM, TLA_HBM, TLA_SRAM};
        tla_command command{};
        tla_completion completion{};
        command.opcode = TLA_OP_ALLOC;
        command.channel = channels[config_.memory];
        command.nbytes = slots_bytes();
        const tla_status status = slots_command(command, completion, delay);
        statistics_.slot_allocs++;
        if (status) {
            statistics_.slot_failures++;
            answer.what = message_token::kind::refused;
            answer.status = status;
            answer.total_free = completion.total_free;
            answer.largest_free = completion.largest_free;
        } else {
            incoming &from = incoming_[who.from];
            tla_message_receiver_init(&from.queue, config_.slots, config_.slot_size);
            from.has_slots = true;
            from.slots.value = completion.value;
            slots_allocated_.add(local_ps(delay), config_.slots);
            answer.what = message_token::kind::credit;
            answer.credits = config_.slots;
        }
    }
    slots_free_ps_ = local_ps(delay);
    tell(answer, slots_free_ps_);
    ledger_.arrive(launch);
}

// To the controller of the memory in which slots lie.
tla_status pe_ipcq::slots_command(tla_command &descriptor, tla_completion &completion, sc_core::sc_time &delay) {
    descriptor.target = TLA_TARGET_MEMORY_CONTROLLER;
    descriptor.correlation_id = launch_;
    descriptor.request_id = next_request_++;
    const std::uint64_t port = config_.allocator_port * std::uint64_t{TLA_PORT_BYTES};
    if (config_.memory != TLA_SLOTS_SRAM)
        return send_command(*allocator.operator->(), port, descriptor, completion, delay, config_.retry, retries_,
                            &requester_);
    tla_paddr control{};
    tla_channel_control(TLA_SRAM, config_.where.sip, config_.where.cube, 0, port, &control);
    return send_command(*memory.operator->(), control.value, descriptor, completion, delay, config_.retry, retries_,
                        &requester_);
}

} // namespace tlmalloc
