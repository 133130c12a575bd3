// Virtual ranges by command, and mapping commands passed on to every MMU concerned.
#include "tlmalloc/modules/va_manager.hpp"

#include "modules/platform/fan_out.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

va_manager::va_manager(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "va_manager"),
      control("control", "va_manager", TLA_TARGET_VA_MANAGER, settings.ports, *this, settings.queue_depth),
      config_(settings), routes_(std::make_unique<fan_out>(settings.routes)) {
    tla_va_space *trial = nullptr; // the real one comes into being with the first command
    if (tla_va_space_create(&settings.space, &trial)) refuse_config("base and size must be multiples of page_size");
    tla_va_space_destroy(trial);
    control.serve_for(*this);
    TLMALLOC_HAS_PROCESS(va_manager);
    SC_THREAD(settle_posted);
}

va_manager::~va_manager() = default;

void va_manager::make_new() {
    space_.reset();
    routes_ = std::make_unique<fan_out>(config_.routes);
    control.make_new();
    used_.set(to_ps(sc_core::sc_time_stamp()), 0);
}

void va_manager::start_of_simulation() {
    out_.lead_to(*out.operator->(), out.name());
}

bool va_manager::makes_transactions(const tla_command &command) const {
    return tla_opcode_has_entries(command.opcode) || command.opcode == TLA_OP_VA_FREE;
}

std::uint64_t va_manager::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_completion completion = control_window::answer_to(command);
    if (tla_opcode_has_entries(command.opcode) && command.opcode != TLA_OP_TAKE_BACK) {
        if (command.opcode == TLA_OP_MAP) statistics_.maps++;
        if (command.opcode == TLA_OP_UNMAP) statistics_.unmaps++;
        maps_in_flight_.add(arrival_ps, 1);
        // A block that moves is copied when its pages are paused, and its old place is freed when they are remapped.
        const bool gather = config_.map_ack == TLA_MAP_ACK_VISIBLE || tla_opcode_is_of_a_move(command.opcode);
        const turnstile::turn turn(sending_);
        const tla_fan_out_result sent = routes_->send(out_, command, config_.route_target, arrival_ps, gather);
        if (!gather) {
            posted_ps_ = sent.written_ps;
            posted_.notify(sc_core::SC_ZERO_TIME);
        }
        completion.status = sent.status;
        completion.failed_at = sent.failed_at;
        completion.nbytes = sent.status ? 0 : command.count;
        completion.value = sent.status ? 0 : sent.value;
        completion.service_ps = sent.done_ps - arrival_ps;
        maps_in_flight_.add(sent.done_ps, -1);
        statistics_.failed += completion.status != TLA_OK;
        control.complete(port, completion, sent.done_ps);
        return arrival_ps;
    }
    if (command.opcode == TLA_OP_VA_FREE) {
        const turnstile::turn turn(sending_);
        arrival_ps = routes_->settle(out_, arrival_ps);
    }
    tla_work work{};
    completion.status = serve_space(command, completion, work);
    completion.nodes_visited = work.nodes_visited;
    completion.service_ps = tla_cost_price(&config_.cost, &work);
    const tla_service service = control.finish(port, completion, arrival_ps, statistics_);
    statistics_.nodes_visited += work.nodes_visited;
    used_.set(service.done_ps, get_statistics().space.used);
    return service.accepted_ps;
}

// Finds out what became of posted commands, and takes back what not every MMU did, also when no other command comes.
void va_manager::settle_posted() {
    for (;;) {
        sc_core::wait(posted_);
        const resettable::visit here(this);
        const turnstile::turn turn(sending_);
        routes_->settle(out_, posted_ps_);
    }
}

tla_status va_manager::serve_space(const tla_command &command, tla_completion &completion, tla_work &work) {
    if (!space_) {
        tla_va_space *made = nullptr;
        if (const tla_status status = tla_va_space_create(&config_.space, &made)) return status;
        space_.reset(made);
    }
    tla_status status = TLA_BAD_COMMAND;
    if (command.opcode == TLA_OP_VA_ALLOC) {
        tla_vaddr va{};
        status = tla_va_space_alloc(space_.get(), command.nbytes, &va, &work);
        completion.value = va.value;
        statistics_.allocs++;
    } else if (command.opcode == TLA_OP_VA_FREE) {
        status = tla_va_space_free(space_.get(), command.va, command.nbytes, &work);
        statistics_.frees++;
    }
    const tla_arena_stats stats = tla_va_space_get_stats(space_.get());
    completion.nbytes = command.nbytes;
    completion.total_free = stats.free;
    completion.largest_free = stats.largest_free;
    return status;
}

va_manager::statistics va_manager::get_statistics() const {
    statistics result = statistics_;
    result.posted_failures = routes_->lost();
    result.not_restored = routes_->not_restored();
    if (space_)
        result.space = tla_va_space_get_stats(space_.get());
    else
        result.space = {config_.space.nbytes, 0, 0, config_.space.nbytes, config_.space.nbytes, 1};
    return result;
}

std::vector<statistics_group> va_manager::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"allocs", s.allocs, "commands", "VA_ALLOC"},
              {"frees", s.frees, "commands", "VA_FREE"},
              {"maps", s.maps, "commands", "MAP"},
              {"unmaps", s.unmaps, "commands", "UNMAP"},
              {"failed", s.failed, "commands", "failed"},
              {"posted_failures", s.posted_failures, "commands", "that failed on a route after the acknowledgement"},
              {"not_restored", s.not_restored, "routes", "on which a command could not be undone"},
              {"busy_ps", s.busy_ps, "ps", "busy time of VA_ALLOC and VA_FREE"}}}};
}

} // namespace tlmalloc
