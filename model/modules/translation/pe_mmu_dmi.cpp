// Direct memory pointers through an MMU: granted page by page, withdrawn when mappings change.
#include "modules/kit/dmi.hpp"
#include "pe_mmu_steps.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

bool pe_mmu::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!grants_dmi()) return refuse_dmi(dmi);
    dmi_asked_ = true;
    if (in_reset()) return refuse_dmi(dmi);
    const std::uint64_t va = payload.get_address();
    tla_walk page{};
    std::uint64_t until_ps = 0;
    const tla_status status =
        tla_mmu_find_page(mmu_.get(), asid_of(payload), {va}, to_ps(sc_core::sc_time_stamp()), &page, &until_ps);
    if (status == TLA_BUSY) refuse_until(va, until_ps);
    if (status) return refuse_dmi(dmi, {va, va});
    if (steps_->is_paused(asid_of(payload), page.va.value, page.nbytes)) { // a pointer leads to all of it
        refuse_until(va, UINT64_MAX);
        return refuse_dmi(dmi, {va, va});
    }
    const address_view view{page.pa.value, page.nbytes, page.va.value};
    const bool readable = page.flags & TLA_READ, writable = page.flags & TLA_WRITE;
    if ((payload.is_read() && !readable) || (payload.is_write() && !writable)) {
        refuse_dmi(dmi, {page.va.value, page.va.value + (page.nbytes - 1)});
        payload.is_read() ? dmi.allow_read() : dmi.allow_write();
        return false;
    }
    payload.set_address(va - page.va.value + page.pa.value);
    bool granted = out->get_direct_mem_ptr(payload, dmi);
    payload.set_address(va);
    const tla_tlb_level_config &nearest = config_.tlb_l1.entries > 0 ? config_.tlb_l1 : config_.tlb_l2;
    const bool has_tlb = config_.walk != TLA_WALK_IDEAL && nearest.entries > 0;
    const std::uint64_t tlb_ps = has_tlb ? nearest.latency_ps : 0;
    granted = translate_dmi(dmi, granted, view, overhead_ps() + tlb_ps);
    const byte_range told{dmi.get_start_address(), dmi.get_end_address()};
    dmi_told_->add(told, told.first - view.to + view.from);
    if (!granted) return false;
    if (!writable && dmi.is_read_allowed()) dmi.allow_read();
    if (!readable && dmi.is_write_allowed()) dmi.allow_write();
    return true;
}

void pe_mmu::invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
    for (const byte_range &range : dmi_told_->take({first, last}))
        in.withdraw_dmi(range.first, range.last);
}

// The mappings in a command have changed: pointers are void, and declined requests may be granted.
void pe_mmu::withdraw_dmi(const tla_command &command) {
    if (!dmi_asked_) return;
    for (std::uint32_t i = 0; i < command.count; i++) {
        const std::uint64_t first = command.entries[i].va.value, last = first + (command.entries[i].nbytes - 1);
        dmi_told_->forget({first, last});
        in.withdraw_dmi(first, last);
    }
}

void pe_mmu::refuse_until(std::uint64_t va, std::uint64_t until_ps) {
    dmi_refused_.insert(va);
    if (until_ps == UINT64_MAX) return; // the end of the command that is under way, or RESUME, sees to it
    window_closed_.notify(from_ps(until_ps) - sc_core::sc_time_stamp()); // unless that is to happen sooner anyway
}

void pe_mmu::withdraw_refusals() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::set<std::uint64_t> refused;
    refused.swap(dmi_refused_);
    for (const std::uint64_t va : refused) {
        tla_walk page{};
        std::uint64_t until_ps = 0;
        if (steps_->is_paused(0, va, 1))
            refuse_until(va, UINT64_MAX);
        else if (tla_mmu_find_page(mmu_.get(), 0, {va}, now_ps, &page, &until_ps) == TLA_BUSY)
            refuse_until(va, until_ps);
        else
            in.withdraw_dmi(va, va);
    }
}

} // namespace tlmalloc
