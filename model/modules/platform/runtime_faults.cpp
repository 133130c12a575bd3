// Page faults of tensors on demand: the memory and the mapping of a page, and the causes of failures.
#include "modules/memory/owed_frees.hpp"
#include "runtime_pager.hpp"
#include "runtime_places.hpp"
#include "runtime_text.hpp"
#include "tlmalloc/command/control_port.h"

#include <algorithm>

namespace tlmalloc {

tla_status runtime::bring_page(const pe_location &pe, std::uint64_t va, bool again, std::uint64_t &at_ps) {
    const auto holds = [&](const tensor &t) { return va >= t.va.value && va - t.va.value < t.nbytes; };
    const auto found = std::find_if(tensors_.begin(), tensors_.end(), holds);
    if (found == tensors_.end()) return TLA_UNMAPPED;
    tensor &t = *found;
    const tla_tensor all = view(t);
    std::size_t which = 0;
    shard page{};
    const tla_page_need need = tla_tensor_page(&all, &pe, {va}, again, settings_.page_size, &which, &page);
    if (need == TLA_PAGE_NOTHING) {
        at_ps = std::max(at_ps, t.shards[which].ready_ps);
        return TLA_OK;
    }
    at_ps = std::max(at_ps, faults_served_ps_) + settings_.fault_latency_ps;
    if (need == TLA_PAGE_REFUSAL) return TLA_UNMAPPED;
    const std::uint32_t correlation_id = next_correlation_++;
    tla_error why{};
    tla_status status = TLA_OK;
    if (need == TLA_PAGE_MEMORY) {
        status = has_home(t) ? pager_->bring(t, page, {correlation_id, at_ps, why})
                             : allocate_page(t, page, correlation_id, at_ps, why);
    } else {
        if (need == TLA_PAGE_MAP) status = map_page(t, t.shards[which], TLA_OP_MAP, correlation_id, at_ps, why);
        if (status == TLA_OVERLAP) status = TLA_OK; // the mapping was in flight, and has arrived
        if (!status) t.shards[which].ready_ps = faults_served_ps_ = at_ps;
    }
    note_page(pe, va, status ? why.text : "");
    return status;
}

// Records why a page of a PE failed; a page that exists, or fails again, has no older text.
void runtime::note_page(const pe_location &pe, std::uint64_t va, const std::string &refusal) {
    const auto is_it = [&](const refused_page &r) { return same(r.pe, pe) && r.va == va; };
    refused_pages_.erase(std::remove_if(refused_pages_.begin(), refused_pages_.end(), is_it), refused_pages_.end());
    if (!refusal.empty()) refused_pages_.push_back({pe, va, refusal});
}

std::string runtime::why_no_page(const pe_location &pe, std::uint64_t begin, std::uint64_t end) const {
    for (const refused_page &r : refused_pages_)
        if (same(r.pe, pe) && r.va >= begin && r.va < end) return r.why;
    return "";
}

tla_status runtime::send_for_fault(way to, addressed_command what, tla_completion &completion, std::uint64_t &at_ps) {
    what.command.request_id = next_request_++;
    return send(to, what.port_address, what.command, completion, at_ps);
}

tla_status runtime::map_page(const tensor &t, const shard &page, tla_opcode opcode, std::uint32_t correlation_id,
                             std::uint64_t &at_ps, tla_error &why) {
    tla_tensor one = view(t);
    one.shards = &page;
    one.count = 1;
    addressed_command map{settings_.fault_port * std::uint64_t{TLA_PORT_BYTES},
                          new_command(opcode, TLA_TARGET_VA_MANAGER, correlation_id), 0};
    tla_tensor_map_command(&one, 0, opcode, &map.command);
    tla_completion completion{};
    const tla_status status = send_for_fault(way::addresses, map, completion, at_ps);
    if (!status) return TLA_OK;
    completion.status = status;
    return explain_map(&why, "map in " + to_string(completion.failed_at), completion);
}

// Maps the page, and tells its controller where blocks can move: it may move from then on.
tla_status runtime::lead_to_page(const tensor &t, const shard &page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                                 tla_error &why) {
    if (const tla_status status = map_page(t, page, TLA_OP_MAP, correlation_id, at_ps, why)) return status;
    tensor one = t;
    one.shards.assign(1, page);
    for (const addressed_command &bind : list_recordings(one, TLA_OP_BIND, settings_.fault_port, correlation_id)) {
        tla_completion completion{};
        completion.status = send_for_fault(way::fabric, bind, completion, at_ps);
        if (!completion.status) continue;
        tla_error ignored{};
        map_page(t, page, TLA_OP_UNMAP, correlation_id, at_ps, ignored);
        return explain(&why, "record of the mapping at its controller", completion, 0);
    }
    return TLA_OK;
}

tla_status runtime::allocate_page(tensor &t, shard page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                                  tla_error &why) {
    tla_completion completion{};
    const auto ask_controller = [&](tla_opcode opcode) {
        return send_for_fault(way::fabric,
                              to_controller(settings_.fault_port, opcode, t.memory, page, correlation_id, t.object),
                              completion, at_ps);
    };
    if (const tla_status status = ask_controller(TLA_OP_ALLOC)) {
        completion.status = status;
        return explain_block(&why, "", t.memory, page.where, completion, page.nbytes);
    }
    faults_served_ps_ = at_ps;
    remember(t.memory, page.where, completion);
    page.pa = {completion.value};
    const std::size_t at = t.shards.size();
    t.shards.push_back(page); // before it can move
    if (const tla_status status = lead_to_page(t, page, correlation_id, at_ps, why)) {
        t.shards.erase(t.shards.begin() + static_cast<std::ptrdiff_t>(at));
        if (ask_controller(TLA_OP_FREE))
            owed_.push_back(page);
        else
            remember(t.memory, page.where, completion);
        return status == TLA_OVERLAP && is_delegated(t) ? TLA_OK : status; // a controller was faster
    }
    t.shards[at].ready_ps = faults_served_ps_ = at_ps;
    return TLA_OK;
}

// --- delegation ------------------------------------------------------------------------------------------------------

// The memories that a PE's own controller has.
bool runtime::is_delegated(const tensor &t) const {
    return settings_.delegates && t.kind == spread::demand && tla_memory_scope_of(t.memory) == TLA_SCOPE_PE;
}

// MAP delegates the tensor to all controllers, UNMAP withdraws it. A controller that refuses, because it is in a reset
// or has no memory on the host, gives no pages: the host serves its faults.
void runtime::tell_delegation(const tensor &t, tla_opcode opcode) {
    if (!is_delegated(t)) return;
    const std::uint32_t flags = t.read_only ? TLA_READ : TLA_READ | TLA_WRITE;
    std::vector<addressed_command> commands;
    for (const pe_location &pe : settings_.pes) {
        commands.push_back(to_controller(settings_.control_port, opcode, t.memory, {pe, {}, 0, 0, 0}, t.object));
        tla_command &command = commands.back().command;
        command.scope = scope_;
        command.count = 1;
        command.entries[0] = {t.va, {memory_base(pe, t.memory)}, t.nbytes, flags, settings_.asid};
    }
    send_commands(way::fabric, std::move(commands));
}

tla_status runtime::take_page(shard page, tla_vaddr va, bool mapped) {
    if (!mapped) {
        owed_.push_back(page);
        return TLA_OK;
    }
    for (std::list<tensor> *const list : {&tensors_, &freed_})
        for (tensor &t : *list)
            if (is_delegated(t) && va.value - t.va.value < t.nbytes) {
                page.offset = va.value - t.va.value;
                t.shards.push_back(page);
                return TLA_OK;
            }
    return TLA_NOT_FOUND;
}

} // namespace tlmalloc
