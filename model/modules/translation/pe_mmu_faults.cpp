// Page faults of accesses: the host is asked, and the access is made again when it can see the
// mapping.
#include "pe_mmu_steps.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

// With TLA_UNMAPPED_DEMAND. Returns true if the host has been asked, or has answered and its mapping may still be in
// flight. A mapping that has not arrived in that time was lost, and the MMU asks the host once more.
bool pe_mmu::steps::ask_host(translation &j, std::uint64_t va) {
    if (mmu_.config_.unmapped != TLA_UNMAPPED_DEMAND || mmu_.fault.size() == 0 || mmu_.in_reset()) return false;
    const bool again = j.asked && j.asked_va == va;
    if (again && wait_for_change(j)) return true;
    if (again && (!j.served || j.asked_again)) return false;
    j.asked = true;
    j.asked_again = again;
    j.asked_va = va;
    mmu_.statistics_.demand_faults++;
    mmu_.page_faults_.add(j.end_ps, 1);
    mmu_.tell(trouble::demand, {j.wanted.asid, {va}, 1, j.wanted.access}, j.end_ps);
    if (tla_access_times *const times = times_of(*j.request->payload); times && !times->faulted_ps)
        times->faulted_ps = j.end_ps;
    j.fault_record = page_fault{va, j.wanted.access | (again ? page_fault::again : 0), j.wanted.asid}.encode();
    j.fault_payload.set_write();
    j.fault_payload.set_address(0);
    j.fault_payload.set_data_ptr(j.fault_record.data());
    j.fault_payload.set_data_length(static_cast<unsigned>(j.fault_record.size()));
    j.fault_payload.set_streaming_width(static_cast<unsigned>(j.fault_record.size()));
    j.fault_payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    j.fault.payload = &j.fault_payload;
    j.fault.at_ps = j.end_ps;
    j.fault.push(
        [](void *self, in_order_request &request) {
            request.pop();
            time_queue::of_simulation().post(
                request.at_ps, static_cast<translation *>(self)->owner->resource_.number(), 0,
                [](void *context, std::uint64_t at_ps) {
                    translation &asking = *static_cast<translation *>(context);
                    asking.owner->host_answered(asking, at_ps);
                },
                self);
        },
        &j);
    fault_.send(j.fault);
    return true;
}

// Whether the access that faulted would find the byte for which it has asked.
bool pe_mmu::steps::is_mapped(const translation &j, std::uint64_t at_ps) const {
    tla_mmu_piece piece{};
    const tla_mmu_access asked{j.wanted.asid, {j.asked_va}, 1, 0};
    return tla_mmu_probe(mmu_.mmu_.get(), &asked, at_ps, &piece) == TLA_OK;
}

void pe_mmu::steps::host_answered(translation &j, std::uint64_t at_ps) {
    const bool served = j.served = j.fault_payload.is_response_ok() && !mmu_.in_reset();
    j.patience_ps = served ? at_ps + mmu_.config_.fault_patience_ps : at_ps;
    j.end_ps = at_ps;
    mmu_.page_faults_.add(at_ps, -1);
    if (served && is_mapped(j, at_ps))
        retry(j, at_ps);
    else
        settle(j); // waits for the change, or fails
}

// The access that faulted waits until the next change can be seen; false when it has waited long enough.
bool pe_mmu::steps::wait_for_change(translation &j) {
    if (j.end_ps >= j.patience_ps) return false;
    waiting_.push_back(&j);
    time_queue::of_simulation().post(
        j.patience_ps, resource_.number(), 0,
        [](void *self, std::uint64_t at_ps) { static_cast<steps *>(self)->lose_patience(at_ps); }, this);
    if (const std::uint64_t at_ps = j.end_ps,
        visible_ps = tla_mmu_settled_ps(mmu_.mmu_.get(), j.wanted.asid, {j.asked_va}, 1, at_ps);
        visible_ps > at_ps && visible_ps != UINT64_MAX)
        changed(visible_ps);
    return true;
}

void pe_mmu::steps::changed(std::uint64_t visible_ps) {
    if (waiting_.empty()) return;
    time_queue &queue = time_queue::of_simulation();
    queue.post(
        std::max(visible_ps, queue.now_ps()), resource_.number(), 0,
        [](void *self, std::uint64_t at_ps) {
            auto &mine = *static_cast<steps *>(self);
            const std::vector<translation *> waiting = std::exchange(mine.waiting_, {});
            for (translation *j : waiting)
                if (mine.is_mapped(*j, at_ps))
                    mine.retry(*j, at_ps);
                else
                    mine.waiting_.push_back(j);
        },
        this);
}

void pe_mmu::steps::lose_patience(std::uint64_t at_ps) {
    const std::vector<translation *> waiting = std::exchange(waiting_, {});
    for (translation *j : waiting) {
        if (at_ps < j->patience_ps) {
            waiting_.push_back(j);
            continue;
        }
        j->end_ps = at_ps;
        settle(*j);
    }
}

// Accesses that wait for a mapping cannot continue: an action of the queue answers them with an error.
void pe_mmu::steps::end_waiting() {
    for (translation *j : waiting_)
        j->patience_ps = 0;
    time_queue &queue = time_queue::of_simulation();
    if (!waiting_.empty())
        queue.post(
            queue.now_ps(), resource_.number(), 0,
            [](void *self, std::uint64_t at_ps) { static_cast<steps *>(self)->lose_patience(at_ps); }, this);
}

// For who keeps an account of its transfers' times.
void pe_mmu::steps::note_fault_is_over(const translation &j, std::uint64_t at_ps) {
    if (tla_access_times *const times = times_of(*j.request->payload)) note_time(times->resumed_ps, at_ps);
}

void pe_mmu::steps::retry(translation &j, std::uint64_t at_ps) {
    note_fault_is_over(j, at_ps);
    if (j.of && !j.of->inside) {
        j.of->again = &j;
        if (!enter(*j.of, at_ps)) return;
        j.of->again = nullptr;
    }
    recycle_parts(j);
    translate(j, at_ps);
}

} // namespace tlmalloc
