// Accesses that become several: where the addresses behind them part, and at the ends of pages that the host evicts.
#include "modules/kit/payload.hpp"
#include "page_marks.hpp"
#include "pe_mmu_steps.hpp"

#include <algorithm>

namespace tlmalloc {

// False: the access has its answer.
bool pe_mmu::steps::may_be_cut(translation &j) {
    tlm::tlm_generic_payload &payload = *j.request->payload;
    j.response = check_attributes(payload);
    if (refuses_exclusive(payload)) j.response = tlm::TLM_COMMAND_ERROR_RESPONSE;
    payload.set_response_status(j.response);
    if (j.response == tlm::TLM_OK_RESPONSE) return true;
    answer(j);
    return false;
}

pe_mmu::steps::part &pe_mmu::steps::begin_piece(translation &j, part *before, std::uint64_t offset,
                                                std::uint64_t nbytes, tla_paddr at, const transfer_extent *extent,
                                                std::uint64_t at_ps) {
    part &p = new_part(j, before);
    if (extent) p.extent = *extent;
    p.piece.begin(*j.request->payload, offset, nbytes, at, extent ? &p.extent : nullptr, p.payload);
    p.request.payload = &p.payload;
    p.request.at_ps = at_ps;
    p.request.push(
        [](void *self, in_order_request &request) {
            request.pop();
            part &back = *static_cast<part *>(self);
            back.of->owner->end_piece(back);
        },
        &p);
    return p;
}

// Each piece is a transaction of its own; all start together and the access ends with the last of them.
void pe_mmu::steps::pass_on_pieces(translation &j) {
    if (!may_be_cut(j)) return;
    recycle_parts(j);
    const std::uint64_t start_ps = j.end_ps;
    const std::vector<transfer_extent> extents = mmu_.extents(*j.request->payload, j.where, start_ps);
    std::uint64_t offset = 0;
    j.open = j.where.count();
    part *before = nullptr;
    for (std::size_t i = 0, count = j.where.count(); i < count; i++) { // the last answer may come within the last send
        const tla_mmu_piece &piece = j.where.at(i);
        before =
            &begin_piece(j, before, offset, piece.nbytes, piece.pa, extents.empty() ? nullptr : &extents[i], start_ps);
        offset += piece.nbytes;
        out_.send(before->request);
    }
}

// Each page of an access is translated alone, so that the access makes progress with a single page in memory.
bool pe_mmu::steps::cut_at_pages(in_order_request &request, unsigned port) {
    const std::uint64_t page = mmu_.marks_->page();
    if (page == 0) return false;
    const tla_mmu_access all = mmu_.wanted_by(*request.payload);
    const std::uint64_t first = all.va.value, span = all.nbytes;
    if (first % page + span <= page || span > UINT64_MAX - first) return false;
    translation &j = new_translation();
    j.request = &request;
    j.end_ps = request.at_ps;
    request.held_by = this;
    if (!may_be_cut(j)) return true;
    const transfer_extent *const extent = request.payload->get_extension<transfer_extent>();
    const std::uint64_t start_ps = request.at_ps;
    j.open = (first % page + span - 1) / page + 1;
    part *before = nullptr;
    for (std::size_t i = 0, count = j.open, offset = 0; i < count; i++) { // likewise
        const std::uint64_t nbytes = std::min(page - (first + offset) % page, span - offset);
        transfer_extent own{};
        if (extent) own = {extent->before + offset, extent->after + (span - offset - nbytes)};
        before = &begin_piece(j, before, offset, nbytes, {first + offset}, extent ? &own : nullptr, start_ps);
        offset += nbytes;
        before->request.called_for = request.called_for;
        begin(before->request, port);
    }
    return true;
}

void pe_mmu::steps::end_piece(part &p) {
    translation &j = *p.of;
    p.piece.end(p.payload);
    p.request.called_for = nullptr;
    if (j.response == tlm::TLM_OK_RESPONSE) j.response = p.payload.get_response_status();
    j.end_ps = std::max(j.end_ps, p.request.at_ps);
    if (--j.open > 0) return;
    j.request->payload->set_response_status(j.response);
    answer(j);
}

} // namespace tlmalloc
