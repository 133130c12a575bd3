// The slots of what a message unit receives: who asks for them, and the commands that allocate and free them.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tlmalloc/allocators/pe_memory.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/parameters/platform.h"

#include <algorithm>

namespace tlmalloc {

void pe_ipcq::serve_connections() {
    for (;;) {
        while (asked_.empty())
            sc_core::wait(asked_event_);
        const asked next = asked_.front();
        asked_.pop_front();
        making_slots_ = true;
        make_slots(next);
        making_slots_ = false;
        wake();
        may_be_idle();
    }
}

void pe_ipcq::make_slots(const asked &who) {
    const std::uint32_t launch = launch_;
    sc_core::sc_time delay;
    set_local_ps(delay, std::max({who.at_ps, slots_free_ps_, to_ps(sc_core::sc_time_stamp())}));
    message_token answer = token_to(who.from, message_token::kind::gone);
    if (active_) {
        static const tla_channel channels[] = {TLA_TCM, TLA_HBM, TLA_SRAM};
        tla_command command{};
        tla_completion completion{};
        command.opcode = TLA_OP_ALLOC;
        command.channel = channels[config_.memory];
        command.nbytes = slots_bytes();
        answer.asked_ps = local_ps(delay);
        const tla_status status = slots_command(command, completion, delay);
        answer.done_ps = local_ps(delay);
        answer.served_ps = answer.done_ps - std::min(completion.service_ps, answer.done_ps - answer.asked_ps);
        statistics_.slot_allocs++;
        if (status) {
            statistics_.slot_failures++;
            answer.what = message_token::kind::refused;
            answer.status = status;
            answer.total_free = completion.total_free;
            answer.largest_free = completion.largest_free;
        } else {
            incoming &from = incoming_[who.from];
            tla_message_receiver_init(&from.queue, config_.slots, config_.slot_size);
            from.has_slots = true;
            from.slots.value = completion.value;
            slots_allocated_.add(local_ps(delay), config_.slots);
            answer.what = message_token::kind::credit;
            answer.credits = config_.slots;
        }
    }
    slots_free_ps_ = local_ps(delay);
    tell(answer, slots_free_ps_);
    ledger_.arrive(launch);
}

// To the controller of the memory in which slots lie.
tla_status pe_ipcq::slots_command(tla_command &descriptor, tla_completion &completion, sc_core::sc_time &delay) {
    descriptor.target = TLA_TARGET_MEMORY_CONTROLLER;
    descriptor.correlation_id = launch_;
    descriptor.request_id = next_request_++;
    const std::uint64_t port = config_.allocator_port * std::uint64_t{TLA_PORT_BYTES};
    if (config_.memory != TLA_SLOTS_SRAM)
        return send_command(*allocator.operator->(), port, descriptor, completion, delay, config_.retry, retries_,
                            &requester_);
    tla_paddr control{};
    tla_channel_control(TLA_SRAM, config_.where.sip, config_.where.cube, 0, port, &control);
    return send_command(*memory.operator->(), control.value, descriptor, completion, delay, config_.retry, retries_,
                        &requester_);
}

} // namespace tlmalloc
