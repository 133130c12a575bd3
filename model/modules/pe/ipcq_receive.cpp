// The receives of a message unit for its kernel, which waits or continues meanwhile.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "kernel/element.h"
#include "kernel_stack.hpp"
#include "modules/kit/lent_payload.hpp"
#include "tile_shape.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <cinttypes>

namespace tlmalloc {

// Whether all bytes of the next piece have come.
bool pe_ipcq::front_of(const incoming &from, tla_message_piece &piece) {
    return from.has_slots && tla_message_front(&from.queue, &piece) == TLA_OK;
}

void pe_ipcq::add_receive(const receiving_ptr &what, std::uint64_t at_ps) {
    incoming &from = incoming_[what->peer];
    from.peer = what->peer;
    from.receivings.push_back(what);
    if (from.receivings.size() == 1) go_on(from, at_ps);
}

// Continues the first receive from a program with its next piece, if that has arrived.
void pe_ipcq::go_on(incoming &from, std::uint64_t at_ps) {
    if (from.serving || from.receivings.empty()) return;
    receiving &now = *from.receivings.front();
    tla_message_piece piece{};
    if (!has_piece(from, at_ps, piece)) return;
    now.arrived_ps = from.arrived_ps[piece.slot];
    now.sent_ps = from.sent_ps[piece.slot];
    const std::uint64_t nbytes = bytes_of(now.tile);
    if (const tl_dtype dtype = from.dtype[piece.slot]; piece.total != nbytes || dtype != now.tile.dtype) {
        tla_error why{};
        tla_error_set(&why, TLA_INVALID_ARGUMENT,
                      "%s: a message of %" PRIu64 " bytes of %s from program %" PRIu32
                      " does not match the tile: must be %" PRIu64 " of %s, %s",
                      now.call, piece.total, tla_type_name(dtype), now.peer, nbytes, tla_type_name(now.tile.dtype),
                      shape(now.tile).c_str());
        end_receive(from, why.status, why, at_ps);
        return;
    }
    from.serving = true;
    ledger_.depart(launch_); // something is on its way
    read_piece(from, piece, at_ps);
}

// Returns whether the next piece has arrived. If the kernel waits for this message only, its wait begins or ends here.
bool pe_ipcq::has_piece(incoming &from, std::uint64_t at_ps, tla_message_piece &piece) {
    const bool is_there = front_of(from, piece) && from.is_there[piece.slot];
    const receiving &now = *from.receivings.front();
    if (!now.waited_for) return is_there;
    const message_ledger::wait wait = waiting(now.call, now.peer, bytes_of(now.tile), false);
    const bool begins = from.since_ps == UINT64_MAX;
    if (begins) {
        from.since_ps = at_ps;
        from.waits = !is_there;
    }
    if (begins && from.waits) {
        waits_for_message_.set(at_ps, 1);
        ledger_.begin_wait(launch_, wait, [this, &from] {
            tla_message_piece next{};
            return front_of(from, next) || takes_something();
        });
    }
    const bool in_vain = !is_there && ledger_.is_deadlocked(launch_);
    if (!is_there && !in_vain) return false;
    statistics_.data_waits += from.waits;
    statistics_.data_wait_ps += at_ps - from.since_ps;
    waits_for_message_.set(at_ps, 0);
    tla_time_account_pass(account_, from.since_ps, TLA_TIME_MESSAGE);
    if (from.waits && is_there)
        charge_wait(from.peer, from.sent_ps[piece.slot], from.arrived_ps[piece.slot], TLA_TIME_MESSAGE_WAIT);
    if (from.waits) ledger_.end_wait(launch_, program_);
    from.since_ps = UINT64_MAX;
    if (is_there) return true;
    tla_time_account_pass(account_, at_ps, TLA_TIME_MESSAGE_WAIT);
    end_receive(from, TLA_DEADLOCK, deadlock(wait), at_ps);
    return false;
}

// --- a piece, from its slot into the tile ----------------------------------------------------------------------------

struct pe_ipcq::reading {
    struct run { // of the tile
        std::uint64_t at, done, nbytes;
    };

    reading(pe_ipcq &of, incoming &queue, const tla_message_piece &what)
        : unit(of), from(queue), piece(what), slot(queue.slots.value + what.slot * of.config_.slot_size) {}

    pe_ipcq &unit;
    incoming &from;
    const tla_message_piece piece;
    const std::uint64_t slot;
    std::vector<run> runs{};
    std::vector<std::uint8_t> bytes{};
    std::size_t accesses = 0; // that have been made: of the slot, then of the runs
    in_order_request request{};
    lent_payload payload{};

    void end(tla_status status, std::uint64_t at_ps) {
        unit.post(at_ps, turn::receive_goes_on, [&u = unit, &f = from, p = piece, status](std::uint64_t now_ps) {
            u.piece_was_read(f, p, status, now_ps);
        });
    }
};

// From the TCM a read and a write of the whole piece, else a DMA transfer; with tables it occupies nothing. Without the
// time of the read, the writes of the tile remain, wherever the slot lies.
void pe_ipcq::read_piece(incoming &from, const tla_message_piece &piece, std::uint64_t at_ps) {
    const tl_tile tile = from.receivings.front()->tile;
    from.read = std::make_shared<reading>(*this, from, piece);
    reading &r = *from.read;
    for_each_run(tile, piece.offset, piece.nbytes, [&r](std::uint64_t at, std::uint64_t done, std::uint64_t nbytes) {
        r.runs.push_back({at, done, nbytes});
    });
    r.bytes.resize(piece.nbytes);
    const auto copy = [&r](auto &socket, tlm::tlm_command command, std::uint64_t address, std::uint64_t done,
                           std::uint64_t nbytes) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(r.bytes.data() + done);
        payload.set_data_length(static_cast<unsigned>(nbytes));
        return socket->transport_dbg(payload) == nbytes;
    };
    bool ok = true;
    if (has_tables() || !config_.read_slot)
        ok = config_.memory == TLA_SLOTS_TCM ? copy(local, tlm::TLM_READ_COMMAND, r.slot, 0, piece.nbytes)
                                             : copy(memory, tlm::TLM_READ_COMMAND, r.slot, 0, piece.nbytes);
    if (has_tables()) {
        for (const reading::run &run : r.runs)
            ok = ok && copy(local, tlm::TLM_WRITE_COMMAND, run.at, run.done, run.nbytes);
        const std::uint64_t read_ps =
            config_.read_slot ? tla_slot_cost_ps(config_.costs, config_.memory, piece.nbytes) : 0;
        r.end(ok ? TLA_OK : TLA_BUS_ERROR, at_ps + read_ps);
    } else if (!config_.read_slot) {
        r.accesses = 1; // the slot has been read
        if (ok)
            copy_out(r, at_ps);
        else
            r.end(TLA_BUS_ERROR, at_ps);
    } else if (config_.memory == TLA_SLOTS_TCM) {
        copy_out(r, at_ps);
    } else {
        load_out(from.read, at_ps);
    }
}

// The next access: of the slot, or of a run of the tile.
void pe_ipcq::copy_out(reading &r, std::uint64_t at_ps) {
    const bool of_slot = r.accesses == 0;
    const reading::run run = of_slot ? reading::run{r.slot, 0, r.piece.nbytes} : r.runs[r.accesses - 1];
    r.accesses++;
    r.payload.set_command(of_slot ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND);
    r.payload.set_address(run.at);
    r.payload.set_data_ptr(r.bytes.data() + run.done);
    r.payload.set_data_length(static_cast<unsigned>(run.nbytes));
    r.payload.set_streaming_width(static_cast<unsigned>(run.nbytes));
    r.payload.set_dmi_allowed(false);
    r.payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    r.payload.set_extension(&trusted_);
    r.request.payload = &r.payload;
    r.request.at_ps = at_ps;
    r.request.push(
        [](void *self, in_order_request &request) {
            request.pop();
            auto &read = *static_cast<reading *>(self);
            read.payload.give_back();
            const bool ok = read.payload.is_response_ok();
            if (ok && read.accesses <= read.runs.size())
                read.unit.copy_out(read, request.at_ps);
            else
                read.end(ok ? TLA_OK : TLA_BUS_ERROR, request.at_ps);
        },
        &r);
    to_local_.send(r.request);
}

// The next transfer.
void pe_ipcq::load_out(const std::shared_ptr<reading> &r, std::uint64_t at_ps) {
    const reading::run run = r->runs[r->accesses++];
    pe_dma::request request{};
    request.way = pe_dma::direction::read;
    request.va.value = r->slot + run.done;
    request.tile.value = run.at;
    request.rows = 1;
    request.row_bytes = request.pitch = run.nbytes;
    request.physical = true;
    request.purpose = TLA_PURPOSE_MESSAGE;
    dma_.begin(request, at_ps, [this, r](tla_status status, std::uint64_t end_ps) {
        if (status || r->accesses == r->runs.size()) {
            r->end(status, end_ps);
            return;
        }
        post(end_ps, turn::receive_goes_on, [this, r](std::uint64_t now_ps) { load_out(r, now_ps); });
    });
}

// The slot is free, and a credit returns to the sender; with tables, the kernel continues when the credit has arrived.
void pe_ipcq::piece_was_read(incoming &from, const tla_message_piece &piece, tla_status status, std::uint64_t at_ps) {
    const receiving &now = *from.receivings.front();
    if (!status) status = tla_message_release(&from.queue);
    if (status) {
        tla_error why{};
        tla_error_set(&why, status, "%s: reading the slot, or writing the tile, failed: %s", now.call,
                      tla_status_text(status));
        from.serving = false;
        end_receive(from, status, why, at_ps);
        ledger_.arrive(launch_);
        return;
    }
    kernel_stack::has_moved();
    from.is_there[piece.slot] = false;
    slots_taken_.add(at_ps, -1);
    received_bytes_.add(at_ps, static_cast<std::int64_t>(piece.nbytes));
    message_token credit = token_to(from.peer, message_token::kind::credit);
    credit.credits = 1;
    if (now.waited_for) {
        credit.sent_ps = at_ps;
        tla_time_account_pass(account_, at_ps, TLA_TIME_MESSAGE);
        tla_time_account_send(account_);
    }
    if (has_tables()) {
        tell(credit, at_ps, [this, &from, piece](std::uint64_t there_ps) { piece_is_over(from, piece, there_ps); });
        return;
    }
    tell(credit, at_ps);
    piece_is_over(from, piece, at_ps);
}

void pe_ipcq::piece_is_over(incoming &from, const tla_message_piece &piece, std::uint64_t at_ps) {
    const receiving &now = *from.receivings.front();
    from.serving = false;
    if (tla_message_piece_is_last(&piece)) {
        ledger_.received(launch_, from.peer, program_, at_ps);
        statistics_.received++;
        statistics_.received_bytes += bytes_of(now.tile);
        end_receive(from, TLA_OK, {}, at_ps);
    } else if (now.dropped) {
        end_receive(from, TLA_NOT_RECEIVED, {}, at_ps);
    } else {
        go_on(from, at_ps);
    }
    ledger_.arrive(launch_);
}

// The first of them is over; the kernel may have waited for that.
void pe_ipcq::end_receive(incoming &from, tla_status status, const tla_error &why, std::uint64_t at_ps) {
    receiving &over = *from.receivings.front();
    over.status = status;
    over.why = why;
    over.done = true;
    from.since_ps = UINT64_MAX;
    from.receivings.pop_front();
    go_on(from, at_ps);
    look(at_ps);
}

// --- calls -----------------------------------------------------------------------------------------------------------

tla_status pe_ipcq::receive(std::uint32_t peer, const tl_tile &tile, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer("tl_recv", peer, tile, error)) return status;
    used_ = true;
    const auto mine = std::make_shared<receiving>();
    mine->call = "tl_recv";
    mine->peer = peer;
    mine->tile = tile;
    const auto receives = std::make_shared<kernel_call>();
    receives->go = [this, mine](std::uint64_t at_ps) {
        mine->waited_for = incoming_[mine->peer].receivings.empty(); // otherwise it follows the earlier receives
        call_->go = mine->waited_for ? step([this, mine](std::uint64_t now_ps) {
            if (!mine->done) go_on(incoming_[mine->peer], now_ps);
            if (mine->done && !call_->done) end_call(mine->status, now_ps, mine->why);
        })
                                     : collecting(mine, "tl_recv");
        add_receive(mine, at_ps);
        look(at_ps);
    };
    return perform(receives, delay, error);
}

tla_status pe_ipcq::begin_receive(const receiving_ptr &what, sc_core::sc_time &delay, tla_error *error) {
    if (const tla_status status = check_peer(what->call, what->peer, what->tile, error)) return status;
    used_ = true;
    const auto begins = std::make_shared<kernel_call>();
    begins->go = [this, what](std::uint64_t at_ps) {
        end_call(TLA_OK, at_ps);
        add_receive(what, at_ps);
    };
    return perform(begins, delay, error);
}

// Looks whether a message has been taken that the kernel waits for.
pe_ipcq::step pe_ipcq::collecting(const receiving_ptr &what, const char *name) {
    struct waiting_for {
        std::uint64_t since_ps = UINT64_MAX;
        bool waits = false;
    };
    const auto state = std::make_shared<waiting_for>();
    return [this, what, name, state](std::uint64_t at_ps) {
        const message_ledger::wait wait = waiting(name, what->peer, bytes_of(what->tile), false);
        if (state->since_ps == UINT64_MAX) {
            state->since_ps = at_ps;
            state->waits = !what->done;
            if (state->waits) {
                waits_for_message_.set(at_ps, 1);
                ledger_.begin_wait(launch_, wait, [this, what] { return what->done || takes_something(); });
            }
        }
        const bool in_vain = !what->done && ledger_.is_deadlocked(launch_);
        if (!what->done && !in_vain) return;
        statistics_.data_waits += state->waits;
        statistics_.data_wait_ps += at_ps - state->since_ps;
        waits_for_message_.set(at_ps, 0);
        tla_time_account_pass(account_, state->since_ps, TLA_TIME_MESSAGE);
        if (state->waits && what->done && !what->status)
            charge_wait(what->peer, what->sent_ps, what->arrived_ps, TLA_TIME_MESSAGE_WAIT);
        if (in_vain) tla_time_account_pass(account_, at_ps, TLA_TIME_MESSAGE_WAIT);
        if (in_vain)
            end_call(TLA_DEADLOCK, at_ps, deadlock(wait));
        else
            end_call(what->status, at_ps, what->why);
    };
}

tla_status pe_ipcq::wait_for(const receiving_ptr &what, const char *name, sc_core::sc_time &delay, tla_error *error) {
    const auto collects = std::make_shared<kernel_call>();
    collects->go = collecting(what, name);
    return perform(collects, delay, error);
}

void pe_ipcq::drop_receives(sc_core::sc_time &delay) {
    const auto drops = std::make_shared<kernel_call>();
    drops->lasts = true;
    drops->go = [this](std::uint64_t at_ps) {
        drop_all(at_ps);
        if (!is_taking()) end_call(TLA_OK, at_ps);
    };
    perform(drops, delay, nullptr);
}

// A piece that is being read is read to its end.
void pe_ipcq::drop_all(std::uint64_t at_ps) {
    for (auto &[peer, from] : incoming_) {
        for (const receiving_ptr &what : from.receivings)
            what->dropped = true;
        for (const std::size_t stays = from.serving; from.receivings.size() > stays;) {
            from.receivings.back()->status = TLA_NOT_RECEIVED;
            from.receivings.back()->done = true;
            from.receivings.pop_back();
        }
        if (!from.serving) from.since_ps = UINT64_MAX;
    }
    waits_for_message_.set(at_ps, 0);
}

bool pe_ipcq::is_taking() const {
    return std::any_of(incoming_.begin(), incoming_.end(), [](const auto &of) { return of.second.serving; });
}

// Returns whether a receive continues without the kernel.
bool pe_ipcq::takes_something() const {
    tla_message_piece piece{};
    return std::any_of(incoming_.begin(), incoming_.end(), [&piece](const auto &of) {
        return !of.second.receivings.empty() && front_of(of.second, piece);
    });
}

} // namespace tlmalloc
