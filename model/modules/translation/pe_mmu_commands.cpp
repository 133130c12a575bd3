// The commands of an MMU: they change mappings, and take time.
#include "page_marks.hpp"
#include "pe_mmu_steps.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

static bool changes_mappings(tla_opcode opcode) {
    return opcode == TLA_OP_MAP || opcode == TLA_OP_UNMAP || opcode == TLA_OP_TAKE_BACK || opcode == TLA_OP_REMAP;
}

std::uint64_t pe_mmu::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_work work{};
    tla_error error{};
    tla_status status = TLA_OK;
    // Nothing else runs in the engine until this command is done, so its start is known before its length.
    const tla_service expected = control.look(arrival_ps);
    std::uint64_t at_ps = expected.start_ps;
    maps_in_flight_.add(expected.accepted_ps, 1);
    free_owed(at_ps);
    if (changes_mappings(command.opcode))
        status = change(port, command, at_ps, work, error);
    else if (command.opcode == TLA_OP_INVALIDATE)
        status = tla_mmu_invalidate(mmu_.get(), command.entries, command.count, &work, &error);
    else if (command.opcode == TLA_OP_PAUSE)
        status = steps_->pause(command, at_ps, error);
    else if (command.opcode == TLA_OP_RESUME)
        status = steps_->resume(command, at_ps, error);
    else
        status = tla_error_set(&error, TLA_BAD_COMMAND, "unsupported opcode %d for a pe_mmu", command.opcode);
    free_owed(at_ps); // there may be no next command
    return complete(port, command, arrival_ps, at_ps - expected.start_ps, status, work, error);
}

tla_status pe_mmu::change(unsigned port, const tla_command &command, std::uint64_t &at_ps, tla_work &work,
                          tla_error &error) {
    tla_mmu *const front = mmu_.get();
    tla_mmu_advance(front, to_ps(sc_core::sc_time_stamp())); // an MMU that walks ideally does not learn of its lookups
    if (command.opcode != TLA_OP_TAKE_BACK)
        if (const tla_status status = tla_mmu_command(front, port, command.request_id))
            return tla_error_set(&error, status, "no host memory");
    return steps_->change(port, command, at_ps, work, error);
}

// Answers which pages of a command are in use, to a sender that evicts them. Pages that are mapped begin unused.
std::uint64_t pe_mmu::use_of_pages(const tla_command &command) {
    const page_marks::mark what = command.opcode == TLA_OP_PAUSE ? page_marks::dirty : page_marks::referenced;
    const bool asks = command.opcode == TLA_OP_PAUSE || command.opcode == TLA_OP_INVALIDATE;
    const std::uint64_t use = asks ? marks_->read(command.entries, command.count, what) : 0;
    if (command.opcode == TLA_OP_INVALIDATE) marks_->clear(command.entries, command.count, page_marks::referenced);
    if (command.opcode == TLA_OP_MAP)
        marks_->clear(command.entries, command.count, page_marks::referenced | page_marks::dirty);
    return use;
}

// Whether a page table found no memory.
static bool lacks_table_memory(tla_status error) {
    return error == TLA_EXHAUSTED || error == TLA_FRAGMENTED;
}

// Errors from which the sender of a page fault learns. Two controllers may give the same page. A page makes room for a
// table when it leaves.
bool pe_mmu::sender_expects(const tla_command &command, tla_status error) const {
    if (command.opcode != TLA_OP_MAP || config_.unmapped != TLA_UNMAPPED_DEMAND) return false;
    return (error == TLA_OVERLAP && config_.fault_handler == TLA_FAULT_HANDLER_CONTROLLER) ||
           (lacks_table_memory(error) && config_.evicted_page > 0);
}

// Completes a command that has been decided, after bus_ps of transactions: charges its other work, and answers.
std::uint64_t pe_mmu::complete(unsigned port, const tla_command &command, std::uint64_t arrival_ps,
                               std::uint64_t bus_ps, tla_status status, const tla_work &work, const tla_error &error) {
    tla_completion completion = control_window::answer_to(command, status);
    if (completion.status) {
        const char *where = lacks_table_memory(status) ? " in the PE's slice of HBM" : "";
        if (!sender_expects(command, status))
            SC_REPORT_WARNING(
                "/tlmalloc/pe_mmu/command",
                (std::string(name()) + ": " + error.text + where + control_window::ids_of(command)).c_str());
    } else {
        completion.nbytes = command.count;
        completion.value = use_of_pages(command);
        if (command.opcode == TLA_OP_MAP) statistics_.maps += command.count;
        if (command.opcode == TLA_OP_UNMAP) statistics_.unmaps += command.count;
        if (command.opcode == TLA_OP_INVALIDATE) statistics_.invalidates++;
        if (command.opcode == TLA_OP_TAKE_BACK) statistics_.taken_back++;
        if (command.opcode == TLA_OP_REMAP) statistics_.remaps += command.count;
        if (command.opcode == TLA_OP_PAUSE) statistics_.pauses++;
    }
    completion.service_ps = bus_ps + tla_cost_price(&config_.cost, &work);
    const tla_service service = control.finish(port, completion, arrival_ps, statistics_);
    if (!completion.status && changes_mappings(command.opcode)) {
        tla_mmu_make_visible(mmu_.get(), service.done_ps);
        steps_->changed(service.done_ps);
        run_ = {};
        run_from_ps_ = service.done_ps;
        withdraw_dmi(command); // a new request for DMI is still declined
    }
    if (!dmi_refused_.empty()) window_closed_.notify(from_ps(service.done_ps) - sc_core::sc_time_stamp());
    maps_in_flight_.add(service.done_ps, -1);
    mapped_bytes_.set(service.done_ps, tla_mmu_get_stats(mmu_.get()).table.mapped_bytes);
    return service.accepted_ps;
}

} // namespace tlmalloc
