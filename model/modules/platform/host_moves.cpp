// Blocks of the host's tensors that move: its transfers wait while a block is paused, and its tables change.
#include "host_passage.hpp"

namespace tlmalloc {

// --- transfers -------------------------------------------------------------------------------------------------------

host::passage::passage(host &of, const tensor &t, bool write) : of_(of) {
    if (!of_.pauses_) return;
    passage_.access = {of_.config_.asid, t.va, t.nbytes, static_cast<std::uint32_t>(write ? TLA_WRITE : TLA_READ)};
    passage_.owner = this;
    {
        const arrival_gate::passage order(of_.tables_gate_, 0);
        entered_ = tla_pauses_enter(of_.pauses_.get(), &passage_);
    }
    while (!entered_ && !of_.in_reset())
        sc_core::wait(of_.let_in_ | of_.reset_began_);
}

host::passage::~passage() {
    if (!of_.pauses_) return;
    tla_pauses_leave(of_.pauses_.get(), &passage_);
    of_.drained_.notify(sc_core::SC_ZERO_TIME);
    of_.let_in();
}

void host::let_in() {
    while (tla_passage *next = tla_pauses_next(pauses_.get())) {
        static_cast<passage *>(next->owner)->enter();
        let_in_.notify(sc_core::SC_ZERO_TIME);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

tla_status host::pause(const tla_command &command) {
    tla_status status = TLA_OK;
    {
        const arrival_gate::passage order(tables_gate_, 1);
        status = tla_pauses_begin(pauses_.get(), command.entries, command.count, nullptr);
    }
    if (status) return status;
    while (!in_reset() && !tla_pauses_are_drained(pauses_.get(), command.entries, command.count))
        sc_core::wait(drained_ | reset_began_);
    return TLA_OK;
}

tla_status host::resume(const tla_command &command) {
    const tla_status status = tla_pauses_end(pauses_.get(), command.entries, command.count, nullptr);
    let_in();
    return status;
}

// A REMAP keeps the addresses before it, for a TAKE_BACK.
tla_status host::change_tables(const tla_command &command) {
    switch (command.opcode) {
    case TLA_OP_PAUSE:
        return pause(command);
    case TLA_OP_REMAP:
        remapped_ = command;
        change_places(remapped_.scope, remapped_.entries, remapped_.count);
        return TLA_OK;
    case TLA_OP_TAKE_BACK:
        if (remapped_.request_id != command.request_id || remapped_.correlation_id != command.correlation_id)
            return TLA_NOT_FOUND;
        change_places(remapped_.scope, remapped_.entries, remapped_.count);
        return TLA_OK;
    case TLA_OP_RESUME:
        return resume(command);
    default:
        return TLA_BAD_COMMAND;
    }
}

std::uint64_t host::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    wait_for_answers(arrival_ps);
    tla_completion completion = control_window::answer_to(command, change_tables(command));
    if (!completion.status) completion.nbytes = command.count;
    tables_->complete(port, completion, now_ps());
    return arrival_ps;
}

} // namespace tlmalloc
