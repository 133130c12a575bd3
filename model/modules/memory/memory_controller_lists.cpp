// What stands behind a controller's free lists: memory that they lie in, engines that walk them.
#include "tlmalloc/modules/memory_controller.hpp"

#include "modules/kit/payload.hpp"
#include "rtl_engine.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/riscv/firmware_engine.h"

#include <algorithm>
#include <string>

namespace tlmalloc {

tla_status memory_controller::follow_lists(tla_pe_memory *memory) const {
    if (config_.free_list == TLA_LIST_REGISTERS) return TLA_OK;
    const std::uint64_t nodes = config_.list_reserve / TLA_LIST_NODE_BYTES;
    for (const tla_channel channel : channels()) {
        const std::uint64_t cache = channel == TLA_HBM ? config_.node_cache : 0;
        if (const tla_status status = tla_pe_memory_follow(memory, channel, nodes, cache)) return status;
    }
    return TLA_OK;
}

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
    requester own;
    own.anonymous = own.waits = true;
    payload.set_extension(&own);
    sc_core::sc_time delay;
    set_local_ps(delay, local);
    slice->b_transport(payload, delay);
    catch_up_with(delay);
    payload.clear_extension(&own);
    local = local_ps(delay);
    const bool as_written = std::equal(std::begin(record), std::end(record), std::begin(access.record));
    if (payload.is_response_ok() && as_written) return true;
    const std::string what = payload.is_response_ok() ? "is not as it was written" : payload.get_response_string();
    SC_REPORT_WARNING("/tlmalloc/memory_controller/free_list",
                      (std::string(name()) + ": node " + std::to_string(access.slot) + " " + what).c_str());
    return false;
}

// --- engines ---------------------------------------------------------------------------------------------------------

// That of the memory's policy; untouched when the model says what commands take.
tla_status memory_controller::make_engine(tla_channel channel, tla_engine *engine, tla_error *error) const {
    const tla_stack_config stack = tla_pe_memory_stack_config(&config_.memory, channel);
    const tla_policy policy = tla_stack_placement(stack.policy);
    if (config_.engine == TLA_ENGINE_RTL) {
        const std::uint64_t units = stack.capacity / std::max<std::uint64_t>(config_.memory.alignment, 1);
        return make_rtl_engine(policy, config_.engine_node_cycles, units, engine, error);
    }
    if (config_.engine != TLA_ENGINE_FIRMWARE) return TLA_OK;
    const tla_firmware *firmware = tla_firmware_of(policy);
    if (!firmware) return tla_error_set(error, TLA_UNSUPPORTED, "there is no firmware for %s", tla_policy_name(policy));
    const tla_status status = tla_firmware_engine_for_arena(firmware, &config_.firmware, engine);
    return status ? tla_error_set(error, status, "%s", tla_status_text(status)) : TLA_OK;
}

tla_status memory_controller::drive_lists(tla_pe_memory *memory, tla_error *error) const {
    for (const tla_channel channel : channels()) {
        tla_engine engine{};
        tla_status status = make_engine(channel, &engine, error);
        if (status) return status;
        status = tla_pe_memory_drive(memory, channel, engine.serve ? &engine : nullptr, config_.engine_nodes, error);
        if (status && engine.serve) engine.destroy(engine.state);
        if (status) return status;
    }
    return TLA_OK;
}

// A command that needs a list begins when that has done what goes on behind its last answer.
void memory_controller::wait_for_list(tla_channel channel, const tla_work &work) {
    if (work.list_requests > 0) control.wait_until(list_ready_ps_[channel]);
}

void memory_controller::go_on_behind(tla_channel channel, const tla_work &work, std::uint64_t done_ps) {
    if (work.list_requests > 0) list_ready_ps_[channel] = done_ps + tla_cost_behind(&config_.cost, &work);
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

} // namespace tlmalloc
