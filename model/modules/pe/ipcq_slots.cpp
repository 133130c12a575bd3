// The slots for received messages: the programs that ask for slots, and the commands that allocate and free the slots.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "tlmalloc/config/platform.h"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

// Serves the programs that have asked, one after the other.
void pe_ipcq::make_next_slots(std::uint64_t at_ps) {
    while (!making_slots_ && !asked_.empty()) {
        if (active_) {
            making_slots_ = true;
            time_queue::of_simulation().notify(asked_event_, at_ps);
            return;
        }
        tell(token_to(asked_.front(), message_token::kind::gone), at_ps);
        asked_.pop_front();
        ledger_.arrive(launch_);
    }
}

// A thread sends the commands.
void pe_ipcq::serve_connections() {
    for (;;) {
        sc_core::wait(asked_event_);
        static const tla_memory_kind kinds[] = {TLA_TCM, TLA_HBM, TLA_SRAM};
        tla_command command{};
        tla_completion completion{};
        command.opcode = TLA_OP_ALLOC;
        command.memory = kinds[config_.memory];
        command.nbytes = slots_bytes();
        sc_core::sc_time delay;
        message_token answer = token_to(asked_.front(), message_token::kind::credit);
        answer.asked_ps = local_ps(delay);
        answer.status = slots_command(command, completion, delay);
        answer.done_ps = local_ps(delay);
        answer.served_ps = answer.done_ps - std::min(completion.service_ps, answer.done_ps - answer.asked_ps);
        post(answer.done_ps, turn::slots_are_there,
             [this, completion, answer](std::uint64_t at_ps) { slots_came(completion, answer, at_ps); });
    }
}

void pe_ipcq::slots_came(const tla_completion &completion, message_token answer, std::uint64_t at_ps) {
    statistics_.slot_allocs++;
    if (answer.status) {
        statistics_.slot_failures++;
        answer.what = message_token::kind::refused;
        answer.total_free = completion.total_free;
        answer.largest_free = completion.largest_free;
    } else {
        incoming &from = incoming_[answer.to];
        from.peer = answer.to;
        tla_message_receiver_init(&from.queue, config_.slots, config_.slot_size);
        from.has_slots = true;
        from.slots.value = completion.value;
        slots_allocated_.add(at_ps, config_.slots);
        answer.credits = config_.slots;
    }
    tell(answer, at_ps);
    ledger_.arrive(launch_);
    asked_.pop_front();
    making_slots_ = false;
    make_next_slots(at_ps);
    look(at_ps);
    may_be_idle();
}

// To the controller of the memory in which slots lie.
tla_status pe_ipcq::slots_command(tla_command &descriptor, tla_completion &completion, sc_core::sc_time &delay) {
    descriptor.target = TLA_TARGET_MEMORY_CONTROLLER;
    descriptor.correlation_id = launch_;
    descriptor.request_id = next_request_++;
    const std::uint64_t port = config_.allocator_port * std::uint64_t{TLA_PORT_BYTES};
    tla_paddr control{port};
    if (config_.memory == TLA_SLOTS_SRAM)
        tla_memory_kind_control(TLA_SRAM, config_.where.sip, config_.where.cube, 0, port, &control);
    const forward_path path = config_.memory == TLA_SLOTS_SRAM ? forward_path(memory) : forward_path(allocator);
    const tla_status status =
        send_command(path, control.value, descriptor, completion, delay, config_.retry, retries_, &requester_);
    catch_up_with(delay);
    return status;
}

} // namespace tlmalloc
