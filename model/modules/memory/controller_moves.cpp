// The steps of moves (controller.h), one after the other, in a thread.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "controller_moves.hpp"

#include "controller_accesses.hpp"
#include "controller_figures.hpp"
#include "controller_work.hpp"
#include "modules/pe/scatter.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>

namespace tlmalloc {

static std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

memory_controller::moves::moves(memory_controller &of) : of_(of) {
    if (of.config_.move_buffers == 0) of.refuse_config("move_buffers must be at least 1");
    own_.anonymous = own_.waits = true;
    sc_core::sc_spawn([this] { run(); }, sc_core::sc_gen_unique_name("moves"));
}

void memory_controller::moves::lead_on() {
    if (of_.maps.size() == 0) of_.refuse_config("maps is not bound, but blocks can move");
}

void memory_controller::moves::begin(std::uint64_t arrival_ps, std::uint64_t start_ps) {
    of_.begun(); // until finish()
    of_.figures_->moves_in_flight().add(arrival_ps, 1);
    begun_.push_back({arrival_ps, start_ps});
    wake_.notify(sc_core::SC_ZERO_TIME);
}

void memory_controller::moves::begin_reset() {
    tla_controller_abandon_moves(of_.core_.get());
}

void memory_controller::moves::run() {
    for (;;) {
        while (begun_.empty())
            sc_core::wait(wake_);
        const std::uint64_t start_ps = begun_.front().start_ps;
        if (start_ps > now_ps()) sc_core::wait(from_ps(start_ps - now_ps()));
        move();
    }
}

// The first that has begun.
void memory_controller::moves::move() {
    tla_move_step step{};
    for (;;) {
        switch (tla_controller_move_next(of_.core_.get(), now_ps(), &step)) {
        case TLA_MOVE_SENDS:
            send(*step.command);
            break;
        case TLA_MOVE_FREES:
            freed_ps_ = of_.work_->charge(step.outcome, now_ps()).done_ps;
            break;
        case TLA_MOVE_ENDS:
            finish(step);
            return;
        case TLA_MOVE_COPIES:
            copy(step);
            break;
        case TLA_MOVE_TAKES: // never: compaction is off
        case TLA_MOVE_TELLS:
        case TLA_MOVE_WAITS: // never: every result has been reported
            return;
        }
    }
}

void memory_controller::moves::send(const tla_command &command) {
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
    tla_controller_move_sent(of_.core_.get(), status);
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
        accesses.lead_to(of_.accesses_->to_memory(to.memory));
        accesses.access(tlm::TLM_WRITE_COMMAND, to.offset, chunk.bytes.data(), nbytes, end_ps, &own_, nullptr, written);
    };
    accesses.lead_to(of_.accesses_->to_memory(step.from.memory));
    accesses.access(tlm::TLM_READ_COMMAND, step.from.offset, chunk.bytes.data(), nbytes, at_ps, &own_, nullptr, read);
}

// --- end -------------------------------------------------------------------------------------------------------------

void memory_controller::moves::finish(const tla_move_step &step) {
    const std::uint64_t end_ps = now_ps(), done_ps = std::max(end_ps, freed_ps_);
    const accepted &of = begun_.front();
    if (stopped_ps_ != UINT64_MAX) {
        const std::uint64_t took_ps = end_ps - stopped_ps_;
        stop_ps_ += took_ps;
        longest_stop_ps_ = std::max(longest_stop_ps_, took_ps);
        of_.figures_->move_stops().set(end_ps, 0);
    }
    tla_completion completion = step.outcome.completion;
    completion.service_ps = done_ps - of.start_ps;
    if (completion.status) of_.work_->count_failure(step.outcome.memory);
    of_.figures_->moves_in_flight().add(done_ps, -1);
    of_.figures_->show_objects(step.outcome.memory, done_ps); // the references have moved with the block
    of_.control.complete(step.port, completion, done_ps);
    of_.accesses_->moved();
    stopped_ps_ = UINT64_MAX;
    freed_ps_ = 0;
    begun_.pop_front();
    of_.ended();
}

} // namespace tlmalloc
