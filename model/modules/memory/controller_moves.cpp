// The steps of moves (controller.h), one after the other, in a thread.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "controller_moves.hpp"

#include "controller_accesses.hpp"
#include "controller_faults.hpp"
#include "controller_figures.hpp"
#include "controller_work.hpp"
#include "modules/pe/scatter.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

namespace tlmalloc {

static std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

memory_controller::moves::moves(memory_controller &of) : of_(of) {
    if (of.config_.move_buffers == 0) of.refuse_config("move_buffers must be at least 1");
    own_.anonymous = own_.waits = true;
    own_.purpose = TLA_PURPOSE_MOVE;
    sc_core::sc_spawn([this] { run(); }, sc_core::sc_gen_unique_name("moves"));
}

void memory_controller::moves::lead_on() {
    if (of_.maps.size() == 0) of_.refuse_config("maps is not bound, but blocks can move");
    to_others_.lead_to(*of_.maps.operator->(), of_.maps.name());
}

void memory_controller::moves::begin(unsigned port, std::uint64_t arrival_ps, std::uint64_t start_ps) {
    of_.begun(); // until finish()
    of_.figures_->moves_in_flight().add(arrival_ps, 1);
    begun_[port] = {arrival_ps, start_ps};
    latest_start_ps_ = std::max(latest_start_ps_, start_ps);
    wake();
}

void memory_controller::moves::look() {
    if (of_.config_.compaction.mode == TLA_COMPACTION_BACKGROUND) wake();
}

void memory_controller::moves::wake() {
    is_woken_ = true;
    wake_.notify(sc_core::SC_ZERO_TIME);
}

void memory_controller::moves::begin_reset() {
    tla_controller_abandon_moves(of_.core_.get());
}

static void wait_until(std::uint64_t at_ps) {
    if (at_ps > now_ps()) sc_core::wait(from_ps(at_ps - now_ps()));
}

void memory_controller::moves::run() {
    for (;;) {
        is_woken_ = false;
        if (!begun_.empty()) {
            wait_until(latest_start_ps_);
            make_steps();
        } else if (!begin_compaction() && !is_woken_) {
            sc_core::wait(wake_);
        }
    }
}

// Makes the steps of one move in the background, if one is due. A move may begin when the one before is paid for.
bool memory_controller::moves::begin_compaction() {
    if (of_.config_.compaction.mode != TLA_COMPACTION_BACKGROUND || of_.in_reset()) return false;
    if (paid_ps_ > now_ps()) {
        sc_core::wait(from_ps(paid_ps_ - now_ps()), wake_);
        return true; // looks again
    }
    std::uint64_t nbytes = 0;
    tla_controller_outcome outcome;
    const tla_status status = tla_controller_compact(of_.core_.get(), now_ps(), UINT64_MAX, &nbytes, &outcome);
    if (status && !outcome.work.metadata_lines) return false;
    const resettable::visit here(&of_);
    take(outcome);
    if (status) return false;
    paid_ps_ = now_ps() + tla_transfer_ps(nbytes, of_.config_.compaction_budget);
    of_.figures_->moves_in_flight().add(now_ps(), 1);
    make_steps();
    of_.figures_->moves_in_flight().add(now_ps(), -1);
    return true;
}

// The engine has planned, or has taken a place.
void memory_controller::moves::take(const tla_controller_outcome &outcome) {
    wait_until(of_.work_->charge(outcome, now_ps()).done_ps);
}

void memory_controller::moves::make_steps() {
    tla_move_step step{};
    for (;;) {
        const tla_move_step_kind kind = tla_controller_move_next(of_.core_.get(), now_ps(), &step);
        const bool resumes = kind == TLA_MOVE_SENDS && step.command->opcode == TLA_OP_RESUME;
        if (sent_ == TLA_OP_RESUME && !resumes) end_stop();
        switch (kind) {
        case TLA_MOVE_SENDS:
            send(*step.command);
            break;
        case TLA_MOVE_FREES:
            free_place(step);
            break;
        case TLA_MOVE_ENDS:
            finish(step);
            wait_until(latest_start_ps_);
            break;
        case TLA_MOVE_COPIES:
            copy(step);
            break;
        case TLA_MOVE_TAKES:
            end_stop();
            take(step.outcome);
            break;
        case TLA_MOVE_TELLS: // REMAP has told all who know the place
            tla_controller_move_sent(of_.core_.get(), TLA_OK);
            break;
        case TLA_MOVE_WAITS:
            end_stop();
            of_.accesses_->moved();
            return;
        }
    }
}

void memory_controller::moves::send(const tla_command &command) {
    std::optional<faults::turn_at_maps> turn;
    if (of_.faults_) turn.emplace(*of_.faults_, faults::rank_of_moves);
    tla_command sent = command;
    sent.target = of_.config_.maps_target;
    sent.request_id = ++request_id_;
    if (command.opcode == TLA_OP_PAUSE && stopped_ps_ == UINT64_MAX) {
        stopped_ps_ = now_ps();
        of_.figures_->move_stops().set(stopped_ps_, 1);
    }
    tla_completion done{};
    sc_core::sc_time delay;
    const tla_status status = send_command(of_.maps, of_.config_.maps_port, sent, done, delay, &own_);
    if (delay > sc_core::SC_ZERO_TIME) sc_core::wait(delay);
    sent_ = command.opcode;
    answered_ps_ = now_ps();
    tla_controller_move_sent(of_.core_.get(), status);
}

// The old place, or the new one of a move that failed.
void memory_controller::moves::free_place(const tla_move_step &step) {
    freed_ps_ = of_.work_->charge(step.outcome, now_ps()).done_ps;
    if (!step.moved) return;
    of_.accesses_->break_reservations(step.from.memory, step.from.offset, step.nbytes); // it may not be free
    if (of_.moved)
        of_.moved({step.from, step.to, step.nbytes, step.of_compaction, step.exchanged, step.begun_ps, freed_ps_,
                   step.outcome.arena});
}

// --- copies ----------------------------------------------------------------------------------------------------------

// All chunks that are to be copied now, this first: each is written when it has been read, and then the next is read.
void memory_controller::moves::copy(const tla_move_step &first) {
    scatter accesses(of_.accesses_->to_memory(TLA_HBM)); // or to another, chunk by chunk
    std::deque<transfer> chunks(of_.config_.move_buffers);
    chunks.front().step = first;
    start_copy(accesses, chunks.front(), now_ps());
    for (auto chunk = std::next(chunks.begin()); chunk != chunks.end(); ++chunk)
        start_next_copy(accesses, *chunk, now_ps());
    accesses.gather();
}

// TLA_MEMORY_KIND_COUNT: to another controller's memory, by physical address.
outlet &memory_controller::moves::to_memory(tla_memory_kind kind) {
    return kind == TLA_MEMORY_KIND_COUNT ? to_others_ : of_.accesses_->to_memory(kind);
}

void memory_controller::moves::start_next_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps) {
    if (!tla_controller_has_copy(of_.core_.get())) return;
    tla_controller_move_next(of_.core_.get(), at_ps, &chunk.step);
    start_copy(accesses, chunk, at_ps);
}

void memory_controller::moves::start_copy(scatter &accesses, transfer &chunk, std::uint64_t at_ps) {
    const tla_move_step &step = chunk.step;
    const auto nbytes = static_cast<std::uint32_t>(step.nbytes);
    chunk.bytes.resize(nbytes);
    const auto written = [this, &accesses, &chunk](bool ok, std::uint64_t end_ps) {
        tla_controller_move_copied(of_.core_.get(), ok);
        start_next_copy(accesses, chunk, end_ps);
    };
    const auto read = [this, &accesses, &chunk, nbytes, written](bool ok, std::uint64_t end_ps) {
        if (!ok) {
            written(false, end_ps);
            return;
        }
        const tla_site to = chunk.step.to;
        accesses.lead_to(to_memory(to.memory));
        accesses.access(tlm::TLM_WRITE_COMMAND, to.offset, chunk.bytes.data(), nbytes, end_ps, &own_, nullptr, written);
    };
    accesses.lead_to(to_memory(step.from.memory));
    accesses.access(tlm::TLM_READ_COMMAND, step.from.offset, chunk.bytes.data(), nbytes, at_ps, &own_, nullptr, read);
}

// --- end -------------------------------------------------------------------------------------------------------------

// Accesses have waited until the last answer of an MMU.
void memory_controller::moves::end_stop() {
    if (stopped_ps_ == UINT64_MAX) return;
    const std::uint64_t took_ps = answered_ps_ - stopped_ps_;
    stop_ps_ += took_ps;
    longest_stop_ps_ = std::max(longest_stop_ps_, took_ps);
    of_.figures_->move_stops().set(answered_ps_, 0);
    if (of_.stopped) of_.stopped(stopped_ps_, answered_ps_);
    stopped_ps_ = UINT64_MAX;
    sent_ = {};
}

// Answers a MOVE, or an ALLOC that has waited.
void memory_controller::moves::finish(const tla_move_step &step) {
    end_stop();
    const tla_controller_outcome &outcome = step.outcome;
    if (outcome.completion.opcode != TLA_OP_MOVE) freed_ps_ = of_.work_->charge(outcome, now_ps()).done_ps;
    const std::uint64_t done_ps = std::max(now_ps(), freed_ps_);
    tla_completion completion = outcome.completion;
    completion.service_ps = done_ps - begun_.at(step.port).start_ps;
    if (completion.status) of_.work_->count_failure(outcome.memory);
    of_.figures_->moves_in_flight().add(done_ps, -1);
    of_.figures_->show_objects(outcome.memory, done_ps); // the references have moved with the block
    of_.control.complete(step.port, completion, done_ps);
    of_.accesses_->moved();
    freed_ps_ = 0;
    begun_.erase(step.port);
    of_.ended();
}

} // namespace tlmalloc
