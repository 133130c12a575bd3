// Owns the free lists of memories: prices what the core decides, passes data on.
#include "tlmalloc/modules/memory_controller.hpp"

#include "modules/kit/dmi.hpp"
#include "modules/kit/payload.hpp"
#include "tlmalloc/arena/arena_snapshot.h"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace tlmalloc {

static memory_controller::config resolved(memory_controller::config settings) {
    settings.memory.guarded = settings.guard != TLA_GUARD_OFF;
    if (settings.free_list == TLA_LIST_HBM && settings.memory.hbm_slice_bytes > 0)
        settings.memory.hbm_reserved_bytes = settings.list_reserve;
    // The slice knows what is live, and says so to its owner.
    if (settings.owner_port != memory_controller::config::no_owner) settings.memory.validate = true;
    return settings;
}

memory_controller::memory_controller(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "memory_controller"), in("in", *this, *this, settings.outstanding),
      control("control", "memory_controller", TLA_TARGET_MEMORY_CONTROLLER, settings.ports, *this,
              settings.queue_depth),
      config_(resolved(settings)) {
    tla_error error{};
    if (tla_pe_memory_check_config(&config_.memory, &error)) refuse_config(std::string("memory: ") + error.text);
    if (channels().empty()) refuse_config("memory: there is none: all have 0 bytes");
    tla_pe_memory *made = nullptr;
    const tla_status status = tla_pe_memory_create(&config_.memory, &made);
    // A trial, gone again when a report throws: the real free lists come into being with the first command.
    const decltype(memory_) trial{made, tla_pe_memory_destroy};
    if (status)
        refuse_config(std::string("memory: alignment and the policies make no free list: ") + tla_status_text(status));
    else if (follow_lists(made))
        refuse_config("a free list in memory needs first, best, next or worst fit without a front, and list_reserve "
                      "room for two nodes");
    else if (drive_lists(made, &error))
        refuse_config(std::string("engine: ") + error.text);
    if (is_owned() && !has(TLA_HBM)) refuse_config("owner_port: there is no HBM slice that somebody could own");
    if (is_owned() && (has_front(TLA_HBM) || settings.engine != TLA_ENGINE_MODEL || settings.guard != TLA_GUARD_OFF ||
                       settings.free_list != TLA_LIST_REGISTERS))
        refuse_config("owner_port: a slice with an owner has no front, no guard, no engine and no free list in memory");
    control.set_clock(settings.cost.clock_ps);
    faults_.plan = settings.faults;
    control.serve_for(*this);
    slice_base_ = base(TLA_HBM);
    if (made)
        for (const tla_channel channel : channels())
            untouched_[channel] = tla_stack_get_stats(tla_pe_memory_stack(made, channel));
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++)
        socket_of(static_cast<tla_channel>(channel))
            .register_invalidate_direct_mem_ptr(this, &memory_controller::invalidate, channel);
    if (grows_) {
        TLMALLOC_HAS_PROCESS(memory_controller);
        SC_METHOD(grow_by_itself);
    }
}

memory_controller::~memory_controller() {
    for (tla_exclusive_monitor &monitor : monitors_)
        tla_exclusive_monitor_clear(&monitor);
}

memory_controller::memory_socket &memory_controller::socket_of(tla_channel channel) {
    switch (channel) {
    case TLA_TCM:
        return tcm;
    case TLA_SRAM:
        return sram;
    case TLA_M_CPU_MEMORY:
        return m_cpu_memory;
    case TLA_HOST_MEMORY:
        return host_memory;
    default:
        return slice;
    }
}

std::vector<tla_channel> memory_controller::channels() const {
    std::vector<tla_channel> result;
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++)
        if (has(static_cast<tla_channel>(channel))) result.push_back(static_cast<tla_channel>(channel));
    return result;
}

tla_status memory_controller::ensure_allocators() {
    if (memory_) return TLA_OK;
    tla_pe_memory *made = nullptr;
    tla_status status = tla_pe_memory_create(&config_.memory, &made);
    memory_.reset(made);
    if (!status) status = follow_lists(made);
    if (!status) status = drive_lists(made, nullptr);
    const tla_object_watcher watcher{[](void *self, tla_channel channel, tla_paddr pa, std::uint64_t granted) {
                                         static_cast<memory_controller *>(self)->given_back(channel, pa, granted);
                                     },
                                     this};
    tla_object_store *objects = nullptr;
    if (!status) status = tla_object_store_create(made, &watcher, &objects);
    objects_.reset(objects);
    if (status) {
        memory_.reset();
        return status;
    }
    for (const tla_channel channel : channels())
        beginning_[channel] = tla_pe_memory_get_stats(memory_.get(), channel);
    if (watch_.decided) follow_requests();
    return TLA_OK;
}

void memory_controller::follow_requests() {
    for (const tla_channel channel : channels()) {
        watched_[channel] = {this, channel};
        tla_stack_set_watch(
            tla_pe_memory_stack(memory_.get(), channel),
            [](void *context, const tla_stack_deed *deed) {
                const watched &of = *static_cast<const watched *>(context);
                of.self->watch_.decided(of.channel, *deed);
            },
            &watched_[channel]);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

std::uint64_t memory_controller::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_completion completion = control_window::answer_to(command);
    completion.nbytes = command.nbytes;
    tla_channel channel = command.channel;
    tla_work work{};
    std::vector<std::uint8_t> result;
    if (tla_faults_refuse(&faults_, arrival_ps)) {
        refused_++;
        completion.status = TLA_BUSY;
        SC_REPORT_WARNING("/tlmalloc/memory_controller/fault",
                          (std::string(name()) + ": port " + std::to_string(port) + ": a command was refused").c_str());
    } else {
        completion.status = ensure_allocators();
        if (!completion.status && grows_) completion.status = grow(arrival_ps);
    }
    if (completion.status) {
        control.complete(port, completion, arrival_ps);
        return arrival_ps;
    }
    end_pins(arrival_ps);
    const bool guarded = config_.guard != TLA_GUARD_OFF;
    const bool takes =
        command.opcode == TLA_OP_ALLOC || command.opcode == TLA_OP_ALLOC_BATCH || command.opcode == TLA_OP_EVICT;
    const std::uint32_t what = takes ? command.object : command.request_id;
    tla_pe_memory_set_owner(memory_.get(), {what, guarded ? control.sender() : port, arrival_ps});
    const bool owned = is_about_owned(command);
    if (owned && (port != config_.owner_port || (command.opcode != TLA_OP_PLACE && command.opcode != TLA_OP_FREE))) {
        completion.status = TLA_UNSUPPORTED;
        channel = TLA_HBM;
    } else if (command.opcode == TLA_OP_PLACE) {
        completion.status = owned ? place_block(command) : TLA_UNSUPPORTED;
        channel = owned ? TLA_HBM : first_channel();
    } else if (command.opcode == TLA_OP_ALLOC) {
        tla_paddr pa{};
        const tla_stack_request request{command.nbytes, command.stream, command.format};
        completion.status = tla_object_alloc(objects_.get(), channel, &request, control.sender(), &pa, &work);
        completion.value = pa.value;
        if (completion.status) tell_shortage(channel, request, completion);
        statistics_[channel].allocs++;
    } else if (command.opcode == TLA_OP_TRIM) {
        completion.status = tla_pe_memory_trim(memory_.get(), channel, &completion.nbytes, &work);
        statistics_[channel].trims++;
    } else if (command.opcode >= TLA_OP_ALLOC_BATCH) {
        channel = execute_group(command, completion, work, result);
    } else {
        channel = channel_at(command.pa);
        execute_count(command, arrival_ps, completion, work);
        const bool of_references =
            command.opcode == TLA_OP_REF || command.opcode == TLA_OP_UNREF || command.opcode == TLA_OP_FREE;
        if (watch_.counted && of_references && !completion.status && completion.value > 0)
            watch_.counted(channel, command.pa.value - base(channel), command.opcode == TLA_OP_REF, completion.value,
                           arrival_ps);
    }
    if (owned) work = {}; // the list is its owner's
    const tla_arena_stats arena = tla_pe_memory_get_stats(memory_.get(), channel);
    completion.total_free = arena.free;
    completion.largest_free = arena.largest_free;
    completion.nodes_visited = work.nodes_visited;
    completion.service_ps = tla_cost_price(&config_.cost, &work);
    if (completion.status == TLA_ENGINE_DIFFERS) tell_difference(channel);
    wait_for_list(channel, work);
    show_begin(control.look(arrival_ps));
    if (config_.free_list != TLA_LIST_REGISTERS)
        completion.service_ps += walk_list(channel, control.look(arrival_ps).start_ps);

    const tla_service service = control.finish(port, completion, arrival_ps, statistics_[channel], result);
    go_on_behind(channel, work, service.done_ps);
    statistics_[channel].nodes_visited += work.nodes_visited;
    statistics_[channel].driver_calls += work.driver_calls;
    show_end(channel, service, arena, work.nodes_visited);
    return service.accepted_ps;
}

// Whether a command is about the slice, and somebody else places its blocks.
bool memory_controller::is_about_owned(const tla_command &command) const {
    if (!is_owned()) return false;
    switch (command.opcode) {
    case TLA_OP_ALLOC:
    case TLA_OP_TRIM:
    case TLA_OP_ALLOC_BATCH:
    case TLA_OP_EVICT:
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
        return command.channel == TLA_HBM;
    default:
        break;
    }
    const bool many = command.opcode == TLA_OP_FREE_BATCH || command.opcode == TLA_OP_PUT;
    tla_channel channel = TLA_TCM;
    std::uint64_t offset = 0;
    for (std::uint32_t i = 0; i < (many ? command.count : 1u) && channel != TLA_HBM; i++)
        tla_pe_memory_locate(&config_.memory, many ? command.blocks[i].pa : command.pa, 1, &channel, &offset);
    return channel == TLA_HBM;
}

// The block of a PLACE has been taken by the owner of the slice.
tla_status memory_controller::place_block(const tla_command &command) {
    statistics_[TLA_HBM].allocs++;
    return tla_pe_memory_place(memory_.get(), command.pa, command.nbytes, nullptr);
}

tla_status memory_controller::restore(tla_channel channel, const std::string &snapshot, tla_error *error) {
    if (is_owned() && channel == TLA_HBM)
        return tla_error_set(error, TLA_UNSUPPORTED,
                             "%s: a snapshot was found of a slice whose blocks its owner places", name());
    if (const tla_status status = ensure_allocators()) return tla_error_set(error, status, "%s: no allocators", name());
    const tla_status status =
        tla_stack_restore(tla_pe_memory_stack(memory_.get(), channel), snapshot.data(), snapshot.size(), error);
    if (status) return status;
    beginning_[channel] = tla_pe_memory_get_stats(memory_.get(), channel);
    if (const tla_status followed = follow_lists(memory_.get()))
        return tla_error_set(error, followed, "%s: list_reserve is too small for the snapshot's free blocks", name());
    return TLA_OK;
}

bool memory_controller::is_as_at_the_beginning(tla_channel channel) const {
    if (!memory_) return true;
    const tla_arena_stats now = tla_pe_memory_get_stats(memory_.get(), channel), &then = beginning_[channel];
    if (now.used == then.used && front_statistics(channel).held > 0) return true; // a TRIM would join the rest
    if (now.used == then.used && now.capacity > then.capacity) return true;       // what came in changed the list
    return now.used == then.used && now.free_blocks == then.free_blocks && now.largest_free == then.largest_free;
}

// Whether a memory is as large as the controller says, as far as it can be asked: one that answers debug accesses at
// its first byte must answer them at its last.
void memory_controller::check_size(const char *member, memory_socket &memory, std::uint64_t nbytes) {
    const auto answers = [&](std::uint64_t address) {
        std::uint8_t byte = 0;
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(address);
        payload.set_data_ptr(&byte);
        payload.set_data_length(1);
        return memory->transport_dbg(payload) == 1;
    };
    if (memory.size() == 0)
        refuse_config(std::string(memory.basename()) + " is not bound, though " + member + " is above 0");
    if (!answers(0) || answers(nbytes - 1)) return;
    refuse_config(std::string(name()) + ": the memory at " + memory.basename() + " ends before byte " +
                  std::to_string(nbytes - 1) + ", the last by " + member + " = " + std::to_string(nbytes));
}

void memory_controller::start_of_simulation() {
    static const char *const members[TLA_CHANNEL_COUNT] = {"hbm_slice_bytes", "tcm_bytes", "sram_bytes", "m_cpu_bytes",
                                                           "host_bytes"};
    for (const tla_channel channel : channels()) {
        memory_socket &memory = socket_of(channel);
        check_size(members[channel], memory, bytes_of(channel));
        to_memory_[channel].lead_to(*memory.operator->(), memory.name());
    }
    for (const tla_channel channel : channels())
        show_memory(channel, get_statistics(channel).arena, 0);
}

void memory_controller::begin_reset() {
    control.end_commands();
    for (const tla_channel channel : channels())
        in.withdraw_dmi(base(channel), base(channel) + (bytes_of(channel) - 1));
    dmi_granted_ = false;
}

void memory_controller::make_new() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    objects_.reset();
    memory_.reset();
    for (tla_exclusive_monitor &monitor : monitors_)
        tla_exclusive_monitor_clear(&monitor);
    std::fill(std::begin(reserved_refused_), std::end(reserved_refused_), false); // all pointers have been withdrawn
    const tla_fault_plan plan = faults_.plan;
    faults_ = {};
    faults_.plan = plan;
    control.make_new();
    origin_ps_ = now_ps;
    std::fill(std::begin(list_ready_ps_), std::end(list_ready_ps_), now_ps);
    grows_anew_.notify(sc_core::SC_ZERO_TIME);
    for (const tla_channel channel : channels())
        show_memory(channel, get_statistics(channel).arena, now_ps);
}

} // namespace tlmalloc
