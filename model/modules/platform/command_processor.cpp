// IO_CPU and M_CPU: commands fan out, and their answers are gathered.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/command_processor.hpp"

#include "command/dispatch.h"
#include "command/slice_owner.h"
#include "fan_out.hpp"
#include "modules/pe/scatter.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <new>

namespace tlmalloc {

command_processor::command_processor(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "command_processor"),
      control("control", "command_processor", settings.kind, settings.ports, *this, settings.queue_depth),
      config_(settings), routes_(std::make_unique<fan_out>(settings.routes)),
      dispatcher_(nullptr, tla_dispatcher_destroy), owner_(nullptr, tla_slice_owner_destroy) {
    const auto &routes = config_.dispatch_routes;
    tla_dispatcher *made = nullptr;
    const tla_status status = tla_dispatcher_create(routes.data(), routes.size(), config_.sip, config_.kernels, &made);
    if (status == TLA_NO_HOST_MEMORY) throw std::bad_alloc();
    if (status) refuse_config("dispatch_routes: the ranges of PEs of two routes overlap");
    dispatcher_.reset(made);
    control.serve_for(*this);
    make_owner();
}

void command_processor::make_owner() {
    if (config_.slices.empty()) return;
    tla_lockstep_config list = config_.list;
    list.banks = static_cast<std::uint32_t>(config_.slices.size());
    list.base = 0;
    tla_slice_owner *owner = nullptr;
    const tla_status no_owner = tla_slice_owner_create(config_.slices.data(), &list, &owner);
    if (no_owner == TLA_NO_HOST_MEMORY) throw std::bad_alloc();
    if (no_owner) refuse_config("list: bank_bytes, alignment and fill cannot form a free list");
    owner_.reset(owner);
}

command_processor::~command_processor() {
    for (tla_dispatch *dispatch : dispatched_)
        tla_dispatch_destroy(dispatch);
}

void command_processor::make_new() {
    routes_ = std::make_unique<fan_out>(config_.routes);
    tla_dispatcher_make_idle(dispatcher_.get());
    make_owner();
    control.make_new();
}

void command_processor::start_of_simulation() {
    out_.lead_to(*out.operator->(), out.name());
}

void command_processor::expect_way(std::size_t route, std::uint64_t way_ps, std::uint64_t spacing_ps) {
    const std::size_t routes = config_.dispatch_routes.size();
    if (route >= routes)
        refuse_config("expect_way: dispatch route " + std::to_string(route) + " must be below " +
                      std::to_string(routes));
    tla_dispatcher_set_way(dispatcher_.get(), route, way_ps, spacing_ps);
}

std::uint64_t command_processor::way_ps(const tla_pe_set &pes) const {
    return tla_dispatcher_way_ps(dispatcher_.get(), &pes);
}

bool command_processor::makes_transactions(const tla_command &command) const {
    return tla_opcode_has_entries(command.opcode) || tla_opcode_names_pes(command.opcode) || is_for_slices(command);
}

bool command_processor::is_for_slices(const tla_command &command) const {
    return owner_ && (command.opcode == TLA_OP_ALLOC || command.opcode == TLA_OP_FREE);
}

std::uint64_t command_processor::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    if (is_for_slices(command)) return execute_for_slices(port, command, arrival_ps);
    const tla_service service = control.occupy(arrival_ps, config_.overhead_ps);
    in_flight_.add(service.accepted_ps, 1);
    statistics_.commands++;
    statistics_.busy_ps += config_.overhead_ps;
    if (tla_opcode_names_pes(command.opcode)) {
        dispatch(port, command, service);
        return service.accepted_ps;
    }
    tla_completion completion = control_window::answer_to(command, TLA_BAD_COMMAND);
    std::uint64_t done_ps = service.done_ps;
    if (tla_opcode_has_entries(command.opcode)) {
        const tla_fan_out_result sent = routes_->send(out_, command, config_.route_target, service.done_ps, true);
        completion.status = sent.status;
        completion.failed_at = sent.failed_at;
        completion.nbytes = sent.status ? 0 : command.count;
        completion.value = sent.status ? 0 : sent.value;
        done_ps = sent.done_ps;
    }
    completion.service_ps = done_ps - service.start_ps;
    finish(port, completion, done_ps);
    return service.accepted_ps;
}

// The command is done.
void command_processor::finish(unsigned port, const tla_completion &completion, std::uint64_t done_ps) {
    statistics_.failed += completion.status != TLA_OK;
    in_flight_.add(done_ps, -1);
    control.complete(port, completion, done_ps);
}

// Returns when the idle engine of the slices' list begins work that arrives at `ps`: at a cycle of its clock.
static std::uint64_t next_cycle(std::uint64_t ps, std::uint64_t clock_ps) {
    tla_command_queue idle{};
    idle.depth = 1;
    idle.clock_ps = clock_ps;
    return tla_command_queue_look(&idle, ps).start_ps;
}

// One decision for all its slices; a FREE is on the lists when all of them have given the block back.
std::uint64_t command_processor::execute_for_slices(unsigned port, const tla_command &command,
                                                    std::uint64_t arrival_ps) {
    tla_work work{};
    tla_completion completion = control_window::answer_to(command);
    completion.status = tla_slice_owner_decide(owner_.get(), &command, &work);
    const std::uint64_t start_ps = control.look(arrival_ps).start_ps,
                        begin_ps = next_cycle(start_ps + config_.overhead_ps, config_.cost.clock_ps),
                        decision_ps = begin_ps - start_ps + tla_cost_price(&config_.cost, &work);
    const tla_service service = control.occupy(arrival_ps, decision_ps);
    in_flight_.add(service.accepted_ps, 1);
    statistics_.commands++;
    statistics_.busy_ps += decision_ps;
    ++(command.opcode == TLA_OP_ALLOC ? statistics_.allocs : statistics_.frees);
    std::uint64_t done_ps = service.done_ps;
    if (!completion.status) {
        const tla_slice_owner_result told = tell_slices(service.done_ps);
        completion.status = told.status;
        completion.failed_at = told.failed_at;
        completion.value = told.status || command.opcode == TLA_OP_FREE ? 0 : told.offset;
        work.nodes_visited += told.work.nodes_visited;
        done_ps = told.done_ps;
    }
    const tla_bank_stats list = tla_slice_owner_get_room(owner_.get());
    completion.nbytes = command.nbytes;
    completion.total_free = list.free;
    completion.largest_free = list.largest_free;
    completion.nodes_visited = work.nodes_visited;
    completion.service_ps = done_ps - service.start_ps;
    finish(port, completion, done_ps);
    return service.accepted_ps;
}

tla_slice_owner_result command_processor::tell_slices(std::uint64_t at_ps) {
    tla_slice_owner_tell(owner_.get(), at_ps);
    tla_sent_command *sent_commands = nullptr;
    while (const std::size_t count = tla_slice_owner_next(owner_.get(), &sent_commands)) {
        scatter round(out_);
        for (std::size_t i = 0; i < count; i++)
            round.post(sent_commands[i]);
        round.gather();
    }
    tla_slice_owner_result told = tla_slice_owner_get_result(owner_.get());
    const tla_work none{};
    // The list's own work for a FREE; the fixed part was charged with the decision.
    const std::uint64_t more_ps = tla_cost_price(&config_.cost, &told.work) - tla_cost_price(&config_.cost, &none);
    const std::uint64_t start_ps = control.look(told.done_ps).start_ps;
    const std::uint64_t begin_ps = more_ps ? next_cycle(start_ps, config_.cost.clock_ps) : start_ps;
    told.done_ps = control.occupy(begin_ps, more_ps).done_ps;
    statistics_.busy_ps += more_ps;
    return told;
}

// Forwards a launch, or rejects it; a thread of its own waits for the answers, so that other commands can follow.
void command_processor::dispatch(unsigned port, const tla_command &command, const tla_service &service) {
    statistics_.launches++;
    const std::uint64_t begin_ps = std::max(service.done_ps, to_ps(sc_core::sc_time_stamp()));
    tla_completion refusal = control_window::answer_to(command);
    tla_dispatch *begun = nullptr;
    refusal.status = tla_dispatch_begin(dispatcher_.get(), &command, config_.dispatch_target, port, begin_ps, &begun,
                                        &refusal.failed_at);
    if (refusal.status) {
        finish(port, refusal, begin_ps);
        return;
    }
    dispatched_.push_back(begun);
    sc_core::sc_spawn([this, port, begun] { gather(port, begun); }, sc_core::sc_gen_unique_name("launch"));
}

// A thread.
void command_processor::gather(unsigned port, tla_dispatch *launched) {
    tla_sent_command *sent_commands = nullptr;
    const std::size_t count = tla_dispatch_commands(launched, &sent_commands);
    scatter round(out_);
    for (std::size_t i = 0; i < count; i++)
        round.post(sent_commands[i]);
    round.gather();
    dispatched_.remove(launched);
    may_be_idle();
    tla_completion answer{};
    const std::uint64_t done_ps = tla_dispatch_end(launched, &answer);
    finish(port, answer, done_ps);
}

command_processor::statistics command_processor::get_statistics() const {
    statistics result = statistics_;
    result.not_restored = routes_->not_restored();
    if (!owner_) return result;
    result.not_restored += tla_slice_owner_not_restored(owner_.get());
    result.list = tla_slice_owner_get_stats(owner_.get());
    return result;
}

tla_bank_stats command_processor::slice_statistics(std::size_t slice) const {
    if (slice >= config_.slices.size())
        refuse_config("slice_statistics: slice " + std::to_string(slice) + " must be below " +
                      std::to_string(config_.slices.size()));
    return tla_slice_owner_get_slice_stats(owner_.get(), static_cast<std::uint32_t>(slice));
}

std::vector<statistics_group> command_processor::list_statistics() const {
    const statistics s = get_statistics();
    std::vector<statistics_group> parts{
        {{{"commands", s.commands, "commands", "forwarded"},
          {"launches", s.launches, "commands", "LAUNCH"},
          {"failed", s.failed, "commands", "failed"},
          {"busy_ps", s.busy_ps, "ps", "of overhead"},
          {"not_restored", s.not_restored, "routes", "on which a command could not be undone"}}}};
    if (!owner_) return parts;
    const statistic of_slices[] = {
        {"allocs", s.allocs, "commands", "ALLOC for all slices, including failed commands"},
        {"frees", s.frees, "commands", "FREE for all slices, including rejected commands"},
        {"slice_used_bytes", s.list.allocated, "bytes", "of every slice, allocated now"},
        {"slice_free_bytes", s.list.free, "bytes", "of every slice, free now"},
        {"slice_largest_free_bytes", s.list.largest_free, "bytes", "of every slice, the largest free block"}};
    parts.front().statistics.insert(parts.front().statistics.end(), std::begin(of_slices), std::end(of_slices));
    return parts;
}

} // namespace tlmalloc
