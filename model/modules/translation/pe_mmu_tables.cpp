// Where an MMU's tables lie in memory: the writes of entries, and blocks for tables.
#include "modules/kit/payload.hpp"
#include "modules/memory/owed_frees.hpp"
#include "pe_mmu_steps.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

sc_core::sc_time delay_to(std::uint64_t at_ps) {
    sc_core::sc_time delay;
    set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
    return delay;
}

} // namespace

void pe_mmu::write_table(tla_paddr pa, const std::uint8_t *bytes, std::uint32_t nbytes, std::uint64_t &at_ps) {
    sc_core::sc_time delay = delay_to(at_ps);
    access(walk, tlm::TLM_WRITE_COMMAND, pa.value, const_cast<std::uint8_t *>(bytes), nbytes, delay,
           &requester_); // a target only reads them
    catch_up_with(delay);
    at_ps = local_ps(delay);
}

tla_status pe_mmu::allocate_table(std::uint64_t nbytes, tla_paddr &pa, std::uint64_t &at_ps) {
    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.memory = TLA_HBM;
    command.nbytes = nbytes;
    tla_completion completion{};
    const tla_status status = command_allocator(command, completion, at_ps);
    pa.value = completion.value;
    return status;
}

tla_status pe_mmu::command_allocator(tla_command &command, tla_completion &completion, std::uint64_t &at_ps) {
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    sc_core::sc_time delay = delay_to(at_ps);
    const tla_status status = send_command(allocator, config_.allocator_port * std::uint64_t{TLA_PORT_BYTES}, command,
                                           completion, delay, config_.retry, statistics_.retries, &requester_);
    catch_up_with(delay);
    at_ps = local_ps(delay);
    return status;
}

void pe_mmu::give_back_table(tla_paddr pa, std::uint64_t nbytes, std::uint64_t &at_ps) {
    tla_command command{};
    command.opcode = TLA_OP_FREE;
    command.pa = pa;
    command.nbytes = nbytes;
    if (stays_owed(free_table(command, at_ps))) owed_.push_back(command);
}

tla_status pe_mmu::free_table(tla_command command, std::uint64_t &at_ps) {
    tla_completion completion{};
    return command_allocator(command, completion, at_ps);
}

void pe_mmu::free_owed(std::uint64_t &at_ps) {
    free_owed_in_rounds(
        owed_, [&](const tla_command &command) { return in_reset() ? TLA_RESET : free_table(command, at_ps); },
        [&] { at_ps += config_.retry.delay_ps; });
}

// Checks the sockets for tables in memory: optional sockets do not check themselves. An allocator that answers debug
// accesses shows whether it has the port.
void pe_mmu::start_of_simulation() {
    steps_->lead_on();
    if (config_.walk != TLA_WALK_MEMORY) return;
    if (walk.size() == 0 || allocator.size() == 0)
        refuse_config("walk and allocator must be bound, because the tables are in memory");
    const auto has_port = [this](unsigned port) {
        std::uint8_t state[4];
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(port * std::uint64_t{TLA_PORT_BYTES} + TLA_PORT_STATE);
        payload.set_data_ptr(state);
        payload.set_data_length(sizeof state);
        return allocator->transport_dbg(payload) == sizeof state;
    };
    if (has_port(0) && !has_port(config_.allocator_port))
        refuse_config(std::string(name()) + ": allocator_port is " + std::to_string(config_.allocator_port) +
                      ", but the memory controller does not have this control port");
}

} // namespace tlmalloc
