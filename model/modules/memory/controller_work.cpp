// Executes the decisions of a memory controller (controller.h) at their time, and charges their price.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "controller_work.hpp"

#include "controller_accesses.hpp"
#include "controller_figures.hpp"
#include "controller_moves.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

memory_controller::work::work(memory_controller &of) : of_(of) {
    for (const tla_memory_kind kind : of.memory_kinds())
        grows_ =
            grows_ || tla_front_grows(tla_stack_front(tla_pe_memory_stack_config(&of.config_.memory, kind).policy));
    set_watch({});
    if (!grows_) return;
    sc_core::sc_spawn_options method;
    method.spawn_method();
    sc_core::sc_spawn([this] { grow_by_itself(); }, sc_core::sc_gen_unique_name("grow_by_itself"), &method);
}

void memory_controller::work::set_watch(watch who) {
    watch_ = std::move(who);
    tla_controller_watch told{};
    told.context = &of_;
    told.released = [](void *self, tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
        static_cast<memory_controller *>(self)->accesses_->released(kind, offset, nbytes);
    };
    if (of_.config_.move.mode != TLA_MOVE_OFF) {
        told.reserved = [](void *self, tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
            return static_cast<memory_controller *>(self)->accesses_->is_reserved(kind, offset, nbytes);
        };
        told.moves = [](void *self, tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
            static_cast<memory_controller *>(self)->accesses_->moves(kind, offset, nbytes);
        };
    }
    if (watch_.decided)
        told.decided = [](void *self, tla_memory_kind kind, const tla_stack_deed *deed) {
            static_cast<memory_controller *>(self)->work_->watch_.decided(kind, *deed);
        };
    tla_controller_set_watch(of_.core_.get(), told);
}

void memory_controller::work::make_new(std::uint64_t now_ps) {
    tla_controller_reset(of_.core_.get(), now_ps);
    std::fill(std::begin(list_ready_ps_), std::end(list_ready_ps_), now_ps);
}

// Nothing has used the core since make_new: only its times begin later.
void memory_controller::work::end_reset(std::uint64_t now_ps) {
    tla_controller_reset(of_.core_.get(), now_ps);
    grows_anew_.notify(sc_core::SC_ZERO_TIME);
}

// --- commands --------------------------------------------------------------------------------------------------------

// The commands that may change when pins end.
static bool counts_references(tla_opcode opcode) {
    return opcode == TLA_OP_REF || opcode == TLA_OP_UNREF || opcode == TLA_OP_PIN || opcode == TLA_OP_UNPIN;
}

std::uint64_t memory_controller::work::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_controller *const core = of_.core_.get();
    tla_status status = TLA_OK;
    if (tla_controller_refuses(core, arrival_ps)) {
        status = TLA_BUSY;
        SC_REPORT_WARNING(
            "/tlmalloc/memory_controller/fault",
            (std::string(of_.name()) + ": port " + std::to_string(port) + ": command rejected by the fault plan")
                .c_str());
    } else {
        status = tla_controller_begin(core);
        if (!status) status = commit_until(arrival_ps);
    }
    if (status) {
        tla_completion completion = control_window::answer_to(command, status);
        completion.nbytes = command.nbytes;
        of_.control.complete(port, completion, arrival_ps);
        return arrival_ps;
    }
    keep_up(arrival_ps);
    tla_controller_outcome outcome;
    tla_controller_execute(core, port, of_.control.sender(), &command, arrival_ps, &outcome);
    tell(command, arrival_ps, outcome);
    if (counts_references(command.opcode) || of_.config_.watermark.permille > 0) watch_due_work();
    if (outcome.begun) {
        const tla_service service = charge(outcome, arrival_ps);
        of_.moves_->begin(port, arrival_ps, service.done_ps);
        return service.accepted_ps;
    }
    const std::vector<std::uint8_t> result(outcome.result, outcome.result + outcome.result_length);
    outcome.completion.service_ps = begin(outcome, arrival_ps);
    const tla_service service =
        of_.control.finish(port, outcome.completion, arrival_ps, counts_[outcome.memory], result);
    end(outcome, service);
    if (of_.moves_) of_.moves_->look();
    return service.accepted_ps;
}

// A write of the register takes no time of the engine.
tla_status memory_controller::work::set_l1(std::uint64_t l1, std::uint64_t at_ps, tla_error &error) {
    tla_controller *const core = of_.core_.get();
    tla_status status = tla_controller_begin(core);
    if (!status) status = commit_until(at_ps);
    if (status) return tla_error_set(&error, status, "L1: the host has no memory for the allocators");
    keep_up(at_ps);
    status = tla_controller_set_l1(core, l1, at_ps, &error);
    if (!status) of_.figures_->show_l1(at_ps);
    watch_due_work();
    return status;
}

// Reports warnings to the user, and references to the watch.
void memory_controller::work::tell(const tla_command &command, std::uint64_t arrival_ps,
                                   const tla_controller_outcome &outcome) const {
    const bool is_free = command.opcode == TLA_OP_FREE;
    if (outcome.refusal)
        SC_REPORT_WARNING(is_free ? "/tlmalloc/memory_controller/free" : "/tlmalloc/memory_controller/reference",
                          (std::string(of_.name()) + ": " + outcome.refusal->text).c_str());
    if (outcome.difference)
        SC_REPORT_WARNING(
            "/tlmalloc/memory_controller/engine",
            (std::string(of_.name()) + ": " + tla_memory_kind_title(outcome.memory) + ": " + outcome.difference->text)
                .c_str());
    const bool of_references = command.opcode == TLA_OP_REF || command.opcode == TLA_OP_UNREF || is_free;
    if (watch_.counted && of_references && !outcome.completion.status && outcome.completion.value > 0)
        watch_.counted(outcome.memory, outcome.offset, command.opcode == TLA_OP_REF, outcome.completion.value,
                       arrival_ps);
}

// The engine begins work that arrived at arrival_ps. Returns the duration of the work. A command that needs a list
// begins after the work that the list does behind its last answer.
std::uint64_t memory_controller::work::begin(const tla_controller_outcome &outcome, std::uint64_t arrival_ps) {
    if (outcome.engine.requests > 0) of_.control.wait_until(list_ready_ps_[outcome.memory]);
    of_.figures_->begin(of_.control.look(arrival_ps));
    std::uint64_t service_ps = tla_cost_price(&of_.config_.cost, &outcome.work);
    if (of_.config_.free_list != TLA_LIST_REGISTERS)
        service_ps += walk_list(outcome.memory, of_.control.look(arrival_ps).start_ps);
    return service_ps;
}

void memory_controller::work::end(const tla_controller_outcome &outcome, const tla_service &service) {
    if (outcome.engine.requests > 0)
        list_ready_ps_[outcome.memory] = service.done_ps + tla_cost_behind(&of_.config_.cost, &outcome.work);
    of_.figures_->end(outcome.memory, service, outcome.arena, outcome.work.nodes_visited);
}

// --- work without a command ------------------------------------------------------------------------------------------

// It takes the engine as a command does.
tla_service memory_controller::work::charge(const tla_controller_outcome &outcome, std::uint64_t at_ps) {
    const std::uint64_t service_ps = begin(outcome, at_ps);
    const tla_service service = of_.control.occupy(at_ps, service_ps);
    counts_[outcome.memory].busy_ps += service_ps;
    end(outcome, service);
    return service;
}

// Work that is about no list: it may come before the memories exist.
std::uint64_t memory_controller::work::begin_alone(const tla_work &receipt, std::uint64_t arrival_ps) {
    of_.figures_->begin(of_.control.look(arrival_ps));
    return tla_cost_price(&of_.config_.cost, &receipt);
}

void memory_controller::work::end_alone(const tla_work &receipt, const tla_service &service) {
    tla_controller_outcome outcome{};
    outcome.memory = of_.memory_kinds().front();
    outcome.work = receipt;
    outcome.arena = of_.get_statistics(outcome.memory).arena;
    end(outcome, service);
}

std::uint64_t memory_controller::work::charge_alone(const tla_work &receipt, std::uint64_t at_ps) {
    const std::uint64_t service_ps = begin_alone(receipt, at_ps);
    const tla_service service = of_.control.occupy(at_ps, service_ps);
    counts_[of_.memory_kinds().front()].busy_ps += service_ps;
    end_alone(receipt, service);
    return service.done_ps;
}

std::uint64_t memory_controller::work::answer(unsigned port, tla_completion completion, const tla_work &receipt,
                                              std::uint64_t arrival_ps) {
    completion.service_ps = begin_alone(receipt, arrival_ps);
    const tla_service service = of_.control.finish(port, completion, arrival_ps, counts_[of_.memory_kinds().front()]);
    end_alone(receipt, service);
    return service.accepted_ps;
}

// TLA_NO_HOST_MEMORY: the commits before it are done, and the rest comes with the next call.
tla_status memory_controller::work::commit_until(std::uint64_t until_ps) {
    tla_controller_outcome outcome;
    std::uint64_t at_ps = 0;
    tla_status status = TLA_OK;
    while (grows_ && !(status = tla_controller_commit(of_.core_.get(), until_ps, &at_ps, &outcome))) {
        const tla_service service = charge(outcome, at_ps);
        if (of_.grown) of_.grown(outcome.memory, outcome.arena, service.done_ps);
    }
    return status == TLA_NOT_FOUND ? TLA_OK : status;
}

// A method: runs again when the next commit is due. Without host memory it stops, and commands commit memory.
void memory_controller::work::grow_by_itself() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::uint64_t next_ps = 0;
    if (of_.in_reset() || tla_controller_begin(of_.core_.get()) || commit_until(now_ps) ||
        !tla_controller_next_commit(of_.core_.get(), &next_ps))
        sc_core::next_trigger(grows_anew_); // comes when the reset is over
    else
        sc_core::next_trigger(from_ps(next_ps - now_ps), grows_anew_);
}

// When the next pins end or the next pass is due; UINT64_MAX: never.
static std::uint64_t next_due(const tla_controller *core, bool *of_pins) {
    std::uint64_t held_ps = 0, pass_ps = 0;
    const std::uint64_t end_ps = tla_controller_next_timeout(core, &held_ps) ? held_ps + 1 : UINT64_MAX;
    if (!tla_controller_next_pass(core, &pass_ps)) pass_ps = UINT64_MAX;
    *of_pins = end_ps <= pass_ps;
    return *of_pins ? end_ps : pass_ps;
}

// Ends pins that have timed out, and makes passes that are due, in the order of their times. A block that the memory
// does not accept back stays pinned, and the work after it waits for the next command.
void memory_controller::work::keep_up(std::uint64_t until_ps) {
    tla_controller *const core = of_.core_.get();
    tla_controller_outcome outcome;
    std::uint64_t at_ps = 0;
    bool of_pins = false;
    for (std::uint64_t due_ps; (due_ps = next_due(core, &of_pins)) <= until_ps && due_ps < UINT64_MAX;) {
        if (of_pins ? tla_controller_end_pins(core, due_ps, &at_ps, &outcome)
                    : tla_controller_evict_ahead(core, due_ps, &at_ps, &outcome))
            return;
        charge(outcome, at_ps);
        if (watches_) due_changed_.notify(sc_core::SC_ZERO_TIME);
    }
}

// A process, from the first pin or reached watermark on, that looks when work is due.
void memory_controller::work::watch_due_work() {
    tla_controller *const core = of_.core_.get();
    bool of_pins = false;
    if (watches_) {
        due_changed_.notify(sc_core::SC_ZERO_TIME);
        return;
    }
    if (next_due(core, &of_pins) == UINT64_MAX) return;
    watches_ = true;
    sc_core::sc_spawn(
        [this, core] {
            for (;;) {
                bool pins = false;
                const std::uint64_t due = next_due(core, &pins);
                if (due == UINT64_MAX) {
                    sc_core::wait(due_changed_);
                    continue;
                }
                const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
                if (now < due) {
                    sc_core::wait(from_ps(due - now), due_changed_);
                    continue;
                }
                of_.control.between_commands([this, now] { keep_up(now); });
                if (next_due(core, &pins) == due)
                    sc_core::wait(due_changed_); // it failed; the next command tries again
            }
        },
        sc_core::sc_gen_unique_name("due_work"));
}

} // namespace tlmalloc
