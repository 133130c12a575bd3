// Owns the free lists of memories: prices what the core decides, passes data on.
#include "tlmalloc/modules/memory_controller.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/allocators/arena_snapshot.h"
#include "tlmalloc/detail/transfer_extent.hpp"
#include "tlmalloc/device/firmware_engine.h"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/rtl_engine.hpp"
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
    : instrumented(name, "memory_controller"), in("in", *this, settings.outstanding),
      control("control", "memory_controller", TLA_TARGET_MEMORY_CONTROLLER, settings.ports, *this, settings.style,
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
    slice_base_ = base(TLA_HBM);
    if (made)
        for (const tla_channel channel : channels())
            untouched_[channel] = tla_stack_get_stats(tla_pe_memory_stack(made, channel));
    for (int channel = 0; channel < TLA_CHANNEL_COUNT; channel++)
        socket_of(static_cast<tla_channel>(channel))
            .register_invalidate_direct_mem_ptr(this, &memory_controller::invalidate, channel);
    if (grows_) {
        SC_HAS_PROCESS(memory_controller);
        SC_METHOD(grow_by_itself);
    }
    if (settings.style == time_style::fast) return;
    in.serve_in_order(*this);
    resource_ = time_queue::of_simulation().new_resource();
}

memory_controller::~memory_controller() = default;

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

// --- data ------------------------------------------------------------------------------------------------------------

// False when the payload has been answered: it leads nowhere.
bool memory_controller::locate(tlm::tlm_generic_payload &payload, place &where) {
    // An access without bytes is located like one byte; the memory behind then refuses it as it should.
    const std::uint64_t address = payload.get_address(), span = std::max<std::uint64_t>(payload_span(payload), 1);
    const std::uint64_t in_slice = address - slice_base_, slice_bytes = config_.memory.hbm_slice_bytes;
    if (slice_base_ != 0 && in_slice < slice_bytes && span <= slice_bytes - in_slice) {
        where = {TLA_HBM, in_slice}; // what decoding says too, at less cost
    } else if (tla_pe_memory_locate(&config_.memory, {address}, span, &where.channel, &where.offset)) {
        data_errors_++;
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return false;
    }
    return true;
}

// The memory has answered.
void memory_controller::came_back(tlm::tlm_generic_payload &payload, std::uint64_t address) {
    payload.set_address(address);
    if (!config_.dmi) payload.set_dmi_allowed(false);
    if (payload.is_response_error()) data_errors_++;
}

void memory_controller::serve(unsigned, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const std::uint64_t address = payload.get_address();
    place where{};
    if (!locate(payload, where)) return;
    const std::uint64_t at_ps = local_ps(delay);
    bool to_note = false;
    if (config_.guard != TLA_GUARD_OFF && guard_refuses(where, payload, at_ps, to_note)) return;
    if (config_.latency_ps > 0) delay += from_ps(config_.latency_ps);
    payload.set_address(where.offset);
    socket_of(where.channel)->b_transport(payload, delay);
    if (to_note && payload.is_response_ok()) note(where, payload, at_ps);
    came_back(payload, address);
}

// Nothing is shared here but what the guard knows, so only its checks have to be made in order.
void memory_controller::begin(in_order_request &request, unsigned port) {
    if (config_.guard == TLA_GUARD_OFF) {
        arrive(request, port);
        return;
    }
    request.push(nullptr, this);
    time_queue::of_simulation().post(
        request.at_ps, resource_, port,
        [](void *context, std::uint64_t) {
            auto &r = *static_cast<in_order_request *>(context);
            static_cast<memory_controller *>(r.pop().module)->arrive(r, 0); // they come in order
        },
        &request);
}

void memory_controller::arrive(in_order_request &request, unsigned input) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const std::uint64_t address = payload.get_address();
    place where{};
    bool to_note = false;
    if (!locate(payload, where) ||
        (config_.guard != TLA_GUARD_OFF && guard_refuses(where, payload, request.at_ps, to_note))) {
        request.finish();
        return;
    }
    // Now, so that a read which arrives before the answer knows of it.
    if (to_note) note(where, payload, request.at_ps);
    request.at_ps += config_.latency_ps;
    in_order_request::frame &frame = request.push(
        [](void *self, in_order_request &r) {
            const std::uint64_t initiators = r.pop().state<std::uint64_t>();
            static_cast<memory_controller *>(self)->came_back(*r.payload, initiators);
            r.finish();
        },
        this);
    frame.state<std::uint64_t>() = address;
    payload.set_address(where.offset);
    to_memory_[where.channel].send(request, input);
}

unsigned memory_controller::debug(tlm::tlm_generic_payload &payload) {
    tla_channel channel = TLA_HBM;
    std::uint64_t offset = 0;
    const std::uint64_t address = payload.get_address();
    if (tla_pe_memory_locate(&config_.memory, {address}, payload.get_data_length(), &channel, &offset)) return 0;
    payload.set_address(offset);
    const unsigned moved = socket_of(channel)->transport_dbg(payload);
    payload.set_address(address);
    if (memory_ && moved > 0 && payload.is_write()) tla_pe_memory_trust(memory_.get(), channel, {offset, moved});
    return moved;
}

// First byte of a memory in physical addresses; 0 when the configuration names none.
std::uint64_t memory_controller::base(tla_channel channel) const {
    tla_paddr pa{};
    tla_pe_memory_address(&config_.memory, channel, 0, &pa);
    return pa.value;
}

bool memory_controller::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    const std::uint64_t address = payload.get_address();
    tla_channel channel = TLA_HBM;
    std::uint64_t offset = 0;
    if (!config_.dmi) return refuse_dmi(dmi);
    if (tla_pe_memory_locate(&config_.memory, {address}, 1, &channel, &offset))
        return refuse_dmi(dmi, {address, address});
    tla_block visible{0, bytes_of(channel)};
    if (config_.guard != TLA_GUARD_OFF) {
        const tla_guard_access any{true, offset, 1, 1, nullptr, 0, who_asks(payload), 0};
        if (ensure_allocators() || tla_pe_memory_find(memory_.get(), channel, offset, &visible, nullptr) ||
            tla_pe_memory_look(memory_.get(), channel, &any, nullptr))
            return refuse_dmi(dmi, {address, address});
    }
    payload.set_address(offset);
    bool granted = socket_of(channel)->get_direct_mem_ptr(payload, dmi);
    payload.set_address(address);
    const address_view view{visible.offset, visible.nbytes, base(channel) + visible.offset};
    granted = translate_dmi(dmi, granted, view, config_.latency_ps);
    if (granted && config_.guard != TLA_GUARD_OFF) tla_pe_memory_trust(memory_.get(), channel, visible);
    dmi_granted_ = dmi_granted_ || granted;
    return granted;
}

void memory_controller::invalidate(int number, sc_dt::uint64 first, sc_dt::uint64 last) {
    const auto channel = static_cast<tla_channel>(number);
    if (!has(channel)) return;
    if (const auto seen = address_view{0, bytes_of(channel), base(channel)}.translate({first, last}))
        in.withdraw_dmi(seen->first, seen->last);
}

// --- free lists in memory --------------------------------------------------------------------------------------------

tla_status memory_controller::follow_lists(tla_pe_memory *memory) const {
    if (config_.free_list == TLA_LIST_REGISTERS) return TLA_OK;
    const std::uint64_t nodes = config_.list_reserve / TLA_LIST_NODE_BYTES;
    for (const tla_channel channel : channels()) {
        const std::uint64_t cache = channel == TLA_HBM ? config_.node_cache : 0;
        if (const tla_status status = tla_pe_memory_follow(memory, channel, nodes, cache)) return status;
    }
    return TLA_OK;
}

// --- engines ---------------------------------------------------------------------------------------------------------

// Of a memory; untouched when the model says what commands take.
tla_status memory_controller::make_engine(tla_engine *engine, tla_error *error) const {
    if (config_.engine == TLA_ENGINE_RTL) return make_rtl_engine(config_.engine_node_cycles, engine, error);
    if (config_.engine != TLA_ENGINE_FIRMWARE) return TLA_OK;
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    const tla_status status = tla_firmware_engine_for_arena(&tla_firmware_first_fit, &timing, engine);
    return status ? tla_error_set(error, status, "%s", tla_status_text(status)) : TLA_OK;
}

tla_status memory_controller::drive_lists(tla_pe_memory *memory, tla_error *error) const {
    for (const tla_channel channel : channels()) {
        tla_engine engine{};
        tla_status status = make_engine(&engine, error);
        if (status) return status;
        status = tla_pe_memory_drive(memory, channel, engine.serve ? &engine : nullptr, config_.engine_nodes, error);
        if (status && engine.serve) engine.destroy(engine.state);
        if (status) return status;
    }
    return TLA_OK;
}

// An engine has answered otherwise than the core.
void memory_controller::tell_difference(tla_channel channel) {
    if (statistics_[channel].engine_differences++ > 0) return;
    const tla_error *difference = tla_arena_difference(tla_pe_memory_arena(memory_.get(), channel));
    SC_REPORT_WARNING("/tlmalloc/memory_controller/engine",
                      (std::string(name()) + ": " + tla_channel_title(channel) + ": " +
                       (difference ? difference->text : tla_status_text(TLA_ENGINE_DIFFERS)))
                          .c_str());
}

// --- free lists in memory, walked ------------------------------------------------------------------------------------

// Makes the accesses of the last operation from start_ps on, one after the other; returns how long they take.
std::uint64_t memory_controller::walk_list(tla_channel channel, std::uint64_t start_ps) {
    tla_list_in_memory *traffic = tla_pe_memory_traffic(memory_.get(), channel);
    if (!traffic) return 0; // it has no bytes
    std::size_t count = 0;
    const tla_list_access *accesses = tla_list_in_memory_accesses(traffic, &count);
    const bool in_slice = list_is_in_slice(channel);
    statistics &counts = statistics_[channel];
    // No transaction begins in the kernel's past, and a command may have waited for one that did so.
    std::uint64_t local = in_slice ? std::max(start_ps, to_ps(sc_core::sc_time_stamp())) : start_ps;
    for (std::size_t i = 0; i < count; i++) {
        const tla_list_access &access = accesses[i];
        ++(access.write ? counts.list_writes : counts.list_reads);
        counts.list_hits += access.hit;
        if (!in_slice || access.hit)
            local += config_.node_latency_ps;
        else if (!access_node(access, local))
            counts.list_errors++;
    }
    tla_list_in_memory_clear(traffic);
    counts.list_ps += local - start_ps;
    return local - start_ps;
}

// One transaction to the slice at `local`, which moves on; false, and a warning, when it went wrong.
bool memory_controller::access_node(const tla_list_access &access, std::uint64_t &local) {
    std::uint8_t record[TLA_LIST_NODE_BYTES];
    std::copy(std::begin(access.record), std::end(access.record), record);
    tlm::tlm_generic_payload payload;
    payload.set_command(access.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
    payload.set_address(config_.memory.hbm_slice_bytes - config_.list_reserve +
                        std::uint64_t{access.slot} * TLA_LIST_NODE_BYTES);
    payload.set_data_ptr(record);
    payload.set_data_length(sizeof record);
    payload.set_streaming_width(sizeof record);
    sc_core::sc_time delay;
    set_local_ps(delay, local);
    slice->b_transport(payload, delay);
    local = local_ps(delay);
    const bool as_written = std::equal(std::begin(record), std::end(record), std::begin(access.record));
    if (payload.is_response_ok() && as_written) return true;
    const std::string what = payload.is_response_ok() ? "is not as it was written" : payload.get_response_string();
    SC_REPORT_WARNING("/tlmalloc/memory_controller/free_list",
                      (std::string(name()) + ": node " + std::to_string(access.slot) + " " + what).c_str());
    return false;
}

// --- guarded memory --------------------------------------------------------------------------------------------------

tla_guard_access memory_controller::guarded_access(const tlm::tlm_generic_payload &payload, const place &where,
                                                   std::uint64_t at_ps) const {
    const std::uint64_t end = where.offset + payload_span(payload), size = bytes_of(where.channel);
    std::uint64_t before = 0, after = 0;
    if (const transfer_extent *whole = payload.get_extension<transfer_extent>()) { // what lies in this memory
        before = std::min(whole->before, where.offset);
        after = end < size ? std::min(whole->after, size - end) : 0;
    }
    return {payload.is_write(),
            where.offset,
            payload.get_data_length(),
            payload_span(payload),
            payload.get_byte_enable_ptr(),
            payload.get_byte_enable_length(),
            who_asks(payload),
            at_ps,
            before,
            after};
}

// An access has been made.
void memory_controller::note(const place &where, const tlm::tlm_generic_payload &payload, std::uint64_t at_ps) {
    const tla_guard_access access = guarded_access(payload, where, at_ps);
    tla_pe_memory_note(memory_.get(), where.channel, &access);
}

// Looks at an access; one that is wrong is counted and reported. True when it has been answered with an error; else
// `to_note` says whether what it does is to be noted.
bool memory_controller::guard_refuses(const place &where, tlm::tlm_generic_payload &payload, std::uint64_t at_ps,
                                      bool &to_note) {
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND || check_attributes(payload) != tlm::TLM_OK_RESPONSE)
        return false; // touches nothing
    const tla_guard_access access = guarded_access(payload, where, at_ps);
    tla_error error{};
    tla_status status = ensure_allocators();
    if (!status) status = tla_pe_memory_look(memory_.get(), where.channel, &access, &error);
    const bool no_such_place = status == TLA_USE_AFTER_FREE || status == TLA_OUT_OF_BOUNDS;
    to_note = !no_such_place;
    if (!status) return false;
    statistics &counts = statistics_[where.channel];
    counts.use_after_free += status == TLA_USE_AFTER_FREE;
    counts.out_of_bounds += status == TLA_OUT_OF_BOUNDS;
    counts.not_owner += status == TLA_NOT_OWNER;
    counts.never_written += status == TLA_NEVER_WRITTEN;
    SC_REPORT_WARNING("/tlmalloc/memory_controller/guard",
                      (std::string(name()) + ": " + tla_status_name(status) + ": " + error.text).c_str());
    if (config_.guard != TLA_GUARD_ERROR) return false;
    data_errors_++;
    payload.set_response_status(no_such_place ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE);
    return true;
}

void memory_controller::poison(tla_channel channel, std::uint64_t offset, std::uint64_t nbytes) {
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(nbytes, 65536), 0xdd);
    for (std::uint64_t done = 0; done < nbytes; done += bytes.size()) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(offset + done);
        payload.set_data_ptr(bytes.data());
        payload.set_data_length(static_cast<unsigned>(std::min<std::uint64_t>(bytes.size(), nbytes - done)));
        socket_of(channel)->transport_dbg(payload);
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
        completion.value = completion.status ? front_statistics(channel).held : pa.value;
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
    show_begin(control.look(arrival_ps));
    if (config_.free_list != TLA_LIST_REGISTERS)
        completion.service_ps += walk_list(channel, control.look(arrival_ps).start_ps);

    const tla_service service = control.finish(port, completion, arrival_ps, statistics_[channel], result);
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

memory_controller::statistics memory_controller::get_statistics(tla_channel channel) const {
    statistics result = statistics_[channel];
    if (objects_) result.objects = tla_object_store_get_stats(objects_.get(), channel);
    if (has_front(channel) && has(channel)) {
        const tla_stack_stats stack = front_statistics(channel);
        result.arena = stack.memory;
        result.held = stack.held;
        result.peak_reserved = stack.peak_reserved;
    } else if (memory_) {
        result.arena = tla_pe_memory_get_stats(memory_.get(), channel);
    } else {
        const std::uint64_t capacity = tla_pe_memory_capacity(&config_.memory, channel);
        result.arena = {capacity, 0, 0, capacity, capacity, capacity > 0};
    }
    return result;
}

tla_stack_stats memory_controller::front_statistics(tla_channel channel) const {
    return memory_ ? tla_stack_get_stats(tla_pe_memory_stack(memory_.get(), channel)) : untouched_[channel];
}

std::vector<statistics_part> memory_controller::list_statistics() const {
    std::vector<statistics_part> parts;
    for (const tla_channel channel : {TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY}) {
        if (!has(channel) && statistics_[channel].allocs == 0) continue;
        const statistics s = get_statistics(channel);
        parts.push_back({{{"allocs", s.allocs, "commands", "ALLOC, refused ones included"},
                          {"frees", s.frees, "commands", "FREE, refused ones included"},
                          {"failed", s.failed, "commands", "that were refused"},
                          {"used_bytes", s.arena.used, "bytes", "allocated now"},
                          {"peak_used_bytes", s.arena.peak_used, "bytes", "allocated at once, at most"},
                          {"free_bytes", s.arena.free, "bytes", "free now"},
                          {"largest_free_bytes", s.arena.largest_free, "bytes", "the largest free block"},
                          {"free_blocks", s.arena.free_blocks, "blocks", "free now"},
                          {"nodes_visited", s.nodes_visited, "nodes", "of the free list, by all commands"},
                          {"list_reads", s.list_reads, "nodes", "read, where the list is in memory"},
                          {"list_writes", s.list_writes, "nodes", "written, where the list is in memory"},
                          {"list_hits", s.list_hits, "nodes", "read from the node cache"},
                          {"list_errors", s.list_errors, "nodes", "not as written, or not accessible"},
                          {"engine_differences", s.engine_differences, "commands",
                           "that the engine answered otherwise than the core"},
                          {"list_ps", s.list_ps, "ps", "of busy_ps, for accesses to nodes"},
                          {"use_after_free", s.use_after_free, "accesses", "guard: of a freed block"},
                          {"out_of_bounds", s.out_of_bounds, "accesses", "guard: of no block, or past its end"},
                          {"not_owner", s.not_owner, "accesses", "guard: of another address space's block; FREEs too"},
                          {"never_written", s.never_written, "accesses", "guard: reads of bytes that nobody wrote"},
                          {"busy_ps", s.busy_ps, "ps", "the engine worked for this channel"}},
                         "channel",
                         tla_channel_name(channel)});
        if (grows(channel)) {
            parts.back().statistics.push_back(
                {"committed_bytes", s.arena.capacity, "bytes", "of the memory, until now"});
            parts.back().statistics.push_back({"commits", s.commits, "commits", "that let memory in"});
        }
        const std::vector<statistic> of_objects = object_statistics(s);
        parts.back().statistics.insert(parts.back().statistics.end(), of_objects.begin(), of_objects.end());
        if (!has_front(channel)) continue;
        const statistic of_front[] = {
            {"held_bytes", s.held, "bytes", "of free_bytes, kept by the front for requests of their kind"},
            {"peak_reserved_bytes", s.peak_reserved, "bytes", "taken from the placement below the front, at most"},
            {"driver_calls", s.driver_calls, "calls", "of the front to the placement below"},
            {"trims", s.trims, "commands", "TRIM, refused ones included"}};
        parts.back().statistics.insert(parts.back().statistics.end(), std::begin(of_front), std::end(of_front));
    }
    parts.front().statistics.push_back(
        {"refused_commands", refused_, "commands", "refused by the fault plan, of all channels"});
    return parts;
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

// --- waveforms -------------------------------------------------------------------------------------------------------

void memory_controller::show_begin(const tla_service &service) {
    queue_depth_.add(service.accepted_ps, 1);
    queue_depth_.add(service.start_ps, -1);
    busy_.set(service.start_ps, 1);
}

void memory_controller::show_end(tla_channel channel, const tla_service &service, const tla_arena_stats &stats,
                                 std::uint64_t nodes) {
    busy_.set(service.done_ps, 0);
    nodes_visited_.set(service.done_ps, nodes);
    channel_figures &figures = channel_figures_[channel];
    figures.used.set(service.done_ps, stats.used);
    figures.largest_free.set(service.done_ps, stats.largest_free);
    figures.free_blocks.set(service.done_ps, stats.free_blocks);
    figures.fragmentation.set(service.done_ps, tla_arena_fragmentation_permille(&stats));
    if (has_front(channel)) figures.held.set(service.done_ps, front_statistics(channel).held);
    if (!config_.object_signals) return;
    const tla_object_stats objects = tla_object_store_get_stats(objects_.get(), channel);
    object_figures_[channel].references.set(service.done_ps, objects.references);
    object_figures_[channel].pins.set(service.done_ps, objects.pins);
    object_figures_[channel].cached.set(service.done_ps, objects.cache.entries);
    object_figures_[channel].evicted.set(service.done_ps, objects.cache.evicted);
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
        if (config_.style == time_style::exact) to_memory_[channel].lead_to(*memory.operator->());
        // what is true before the first command
        const tla_arena_stats stats = get_statistics(channel).arena;
        channel_figures_[channel].largest_free.set(0, stats.largest_free);
        channel_figures_[channel].free_blocks.set(0, stats.free_blocks);
        if (grows(channel)) channel_figures_[channel].committed.set(0, stats.capacity);
    }
}

} // namespace tlmalloc
