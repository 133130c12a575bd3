// Where an MMU's tables lie in memory: the accesses of walks, blocks for tables, and pages that the host is asked for.
#include "owed_frees.hpp"
#include "payload.hpp"
#include "pe_mmu_steps.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/page_fault.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

sc_core::sc_time delay_to(std::uint64_t at_ps) {
    sc_core::sc_time delay;
    set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
    return delay;
}

bool transfer(forward_path target, tlm::tlm_command command, tla_paddr pa, void *bytes, std::uint32_t nbytes,
              std::uint64_t &at_ps, requester *who = nullptr) {
    sc_core::sc_time delay = delay_to(at_ps);
    const bool ok = access(target, command, pa.value, bytes, nbytes, delay, who);
    at_ps = local_ps(delay);
    return ok;
}

} // namespace

tla_mmu_bus pe_mmu::bus() const {
    tla_mmu_bus bus{};
    bus.context = const_cast<pe_mmu *>(this);
    bus.read = [](void *self, tla_paddr pa, void *bytes, std::uint32_t nbytes, std::uint64_t *at_ps) {
        pe_mmu &mmu = *static_cast<pe_mmu *>(self);
        return transfer(mmu.walk, tlm::TLM_READ_COMMAND, pa, bytes, nbytes, *at_ps, &mmu.requester_);
    };
    bus.write = [](void *self, tla_paddr pa, const void *bytes, std::uint32_t nbytes, std::uint64_t *at_ps) {
        pe_mmu &mmu = *static_cast<pe_mmu *>(self);
        return transfer(mmu.walk, tlm::TLM_WRITE_COMMAND, pa, const_cast<void *>(bytes), nbytes, *at_ps,
                        &mmu.requester_); // a target only reads them
    };
    bus.alloc = [](void *self, std::uint64_t nbytes, tla_paddr *pa, std::uint64_t *at_ps) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.channel = TLA_HBM;
        command.nbytes = nbytes;
        tla_completion completion{};
        const tla_status status = static_cast<pe_mmu *>(self)->command_allocator(command, completion, *at_ps);
        pa->value = completion.value;
        return status;
    };
    bus.free = [](void *self, tla_paddr pa, std::uint64_t nbytes, std::uint64_t *at_ps) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.pa = pa;
        command.nbytes = nbytes;
        pe_mmu &mmu = *static_cast<pe_mmu *>(self);
        const tla_status status = mmu.free_table(command, *at_ps);
        if (stays_owed(status)) mmu.owed_.push_back(command);
        return status;
    };
    return bus;
}

tla_status pe_mmu::command_allocator(tla_command &command, tla_completion &completion, std::uint64_t &at_ps) {
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    sc_core::sc_time delay = delay_to(at_ps);
    const tla_status status = send_command(allocator, config_.allocator_port * std::uint64_t{TLA_PORT_BYTES}, command,
                                           completion, delay, config_.retry, statistics_.retries, &requester_);
    at_ps = local_ps(delay);
    return status;
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

bool pe_mmu::ask_host(const tla_mmu_access &access, std::uint64_t va, bool again, std::uint64_t &at_ps) {
    if (fault.size() == 0) return false;
    statistics_.demand_faults++;
    tell(trouble::demand, {access.asid, {va}, 1, access.access}, at_ps);
    page_fault::bytes record = page_fault{va, access.access | (again ? page_fault::again : 0), access.asid}.encode();
    return transfer(fault, tlm::TLM_WRITE_COMMAND, {0}, record.data(), record.size(), at_ps);
}

// What tables in memory need: sockets that are optional do not say so themselves, and an allocator that answers debug
// accesses can be asked for its port.
void pe_mmu::start_of_simulation() {
    if (steps_) steps_->lead_on();
    if (config_.walk != TLA_WALK_MEMORY) return;
    if (walk.size() == 0 || allocator.size() == 0)
        refuse_config("walk and allocator are not bound, though tables lie in memory");
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
                      ", a control port that the memory controller has not");
}

} // namespace tlmalloc
