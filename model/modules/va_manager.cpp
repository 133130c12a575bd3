#include "tlmalloc/modules/va_manager.hpp"

#include "command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

va_manager::va_manager(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), window_("control", "va_manager", TLA_TARGET_VA_MANAGER, settings.ports, *this),
      config_(settings) {
    require_ps_resolution();
    if (settings.sips > TLA_SIP_COUNT || settings.cubes > TLA_CUBE_DIE_COUNT || settings.pes > TLA_PE_COUNT)
        SC_REPORT_ERROR("/tlmalloc/va_manager/config", "more SIPs, cubes or PEs than a physical address can name");
    if (settings.ports == 0 || settings.queue_depth == 0 || settings.queue_depth > TLA_ENGINE_DEPTH_MAX)
        SC_REPORT_ERROR("/tlmalloc/va_manager/config", "ports must be at least 1, queue_depth 1 .. 256");
    engine_.depth = settings.queue_depth;
}

std::uint64_t va_manager::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_completion completion{};
    completion.tag = command.tag;
    completion.opcode = command.opcode;
    if (command.opcode == TLA_OP_MAP || command.opcode == TLA_OP_UNMAP) {
        (command.opcode == TLA_OP_MAP ? statistics_.maps : statistics_.unmaps)++;
        const std::vector<std::uint64_t> all = targets(command.scope);
        std::vector<std::uint64_t> done;
        std::uint64_t at = arrival_ps;
        completion.status = all.empty() ? TLA_INVALID_ARGUMENT : broadcast(command, all, at, done);
        if (completion.status && command.opcode == TLA_OP_MAP && !done.empty()) {
            tla_command undo = command;
            undo.opcode = TLA_OP_UNMAP;
            std::vector<std::uint64_t> undone;
            broadcast(undo, done, at, undone);
        }
        completion.nbytes = completion.status ? 0 : command.count;
        completion.service_ps = at - arrival_ps;
        maps_in_flight_.add(arrival_ps, 1);
        maps_in_flight_.add(at, -1);
        statistics_.failed += completion.status != TLA_OK;
        window_.complete(port, completion, at);
        return arrival_ps;
    }
    tla_work work{};
    completion.status = serve_space(command, completion, work);
    completion.nodes_visited = work.nodes_visited;
    completion.service_ps = tla_cost_price(&config_.cost, &work);
    const tla_service service = tla_engine_serve(&engine_, arrival_ps, completion.service_ps);
    statistics_.failed += completion.status != TLA_OK;
    statistics_.nodes_visited += work.nodes_visited;
    statistics_.busy_ps += completion.service_ps;
    used_.set(service.done_ps, get_statistics().space.used);
    window_.complete(port, completion, service.done_ps);
    return service.accepted_ps;
}

tla_status va_manager::serve_space(const tla_command &command, tla_completion &completion, tla_work &work) {
    if (!space_) {
        tla_va_space *made = nullptr;
        if (tla_va_space_create(&config_.space, &made)) {
            SC_REPORT_ERROR("/tlmalloc/va_manager/config", "base and size must be multiples of page_size");
            return TLA_INVALID_ARGUMENT;
        }
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

// Control addresses of the MMUs in scope, in order of SIP, cube and PE.
std::vector<std::uint64_t> va_manager::targets(const tla_scope &scope) const {
    std::vector<std::uint64_t> result;
    for (unsigned sip = 0; sip < config_.sips; sip++)
        for (unsigned die = 0; die < config_.cubes; die++)
            for (unsigned pe = 0; pe < config_.pes; pe++) {
                if (!(scope.sip_mask >> sip & 1u) || !(scope.die_mask >> die & 1u) || !(scope.pe_mask >> pe & 1u)) continue;
                tla_paddr pa{};
                tla_paddr_pe_control(sip, die, pe, TLA_CONTROL_PE_MMU, config_.mmu_port * std::uint64_t{TLA_PORT_BYTES},
                                     &pa);
                result.push_back(pa.value);
            }
    return result;
}

// Sends the command to all MMUs at at_ps and gathers the answers; at_ps becomes the time of the last, `done` the MMUs
// that did it. The first failure is returned.
tla_status va_manager::broadcast(const tla_command &command, const std::vector<std::uint64_t> &mmus,
                                 std::uint64_t &at_ps, std::vector<std::uint64_t> &done) {
    tla_command forwarded = command;
    forwarded.target = TLA_TARGET_PE_MMU;
    std::vector<std::uint64_t> written;
    std::vector<tla_status> posted;
    for (const std::uint64_t mmu : mmus) {
        sc_core::sc_time delay;
        set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
        posted.push_back(post_command(*out.operator->(), mmu, forwarded, delay));
        written.push_back(local_ps(delay));
    }
    tla_status first = TLA_OK;
    std::uint64_t end = at_ps;
    for (std::size_t i = 0; i < mmus.size(); i++) {
        tla_status status = posted[i];
        std::uint64_t answered = written[i];
        if (!status) {
            tla_completion answer{};
            sc_core::sc_time delay;
            set_local_ps(delay, std::max(answered, to_ps(sc_core::sc_time_stamp())));
            status = read_completion(*out.operator->(), mmus[i], answer, delay);
            answered = local_ps(delay);
        }
        if (!status) done.push_back(mmus[i]);
        else if (!first) first = status;
        end = std::max(end, answered);
    }
    at_ps = end;
    return first;
}

va_manager::statistics va_manager::get_statistics() const {
    statistics result = statistics_;
    if (space_) result.space = tla_va_space_get_stats(space_.get());
    else result.space = {config_.space.nbytes, 0, 0, config_.space.nbytes, config_.space.nbytes, 1};
    return result;
}

void va_manager::record(waveform &wave) {
    for (figure *f : {&used_, &maps_in_flight_}) f->record(wave, name());
}

void va_manager::trace(sc_core::sc_trace_file *file) const {
    for (const figure *f : {&used_, &maps_in_flight_}) f->trace(file, name());
}

} // namespace tlmalloc
