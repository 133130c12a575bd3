// The MMU as a module: its parts, its figures, and accesses that take no time.
#include "tlmalloc/modules/pe_mmu.hpp"

#include "modules/kit/dmi.hpp"
#include "modules/kit/payload.hpp"
#include "page_marks.hpp"
#include "pe_mmu_steps.hpp"
#include "split_access.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <sstream>

namespace tlmalloc {

pe_mmu::pe_mmu(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "pe_mmu"), in("in", *this, *this, settings.outstanding),
      control("control", "pe_mmu", TLA_TARGET_PE_MMU, settings.ports, *this, settings.queue_depth), config_(settings),
      dmi_told_(std::make_unique<dmi_record>()), marks_(std::make_unique<page_marks>(settings.evicted_page)),
      requester_(TLA_ASID_HARDWARE, settings.initiator, true) {
    requester_.walker = this;
    requester_.waits = true;
    requester_.purpose = TLA_PURPOSE_MAPPING;
    const std::uint64_t page = settings.page_size;
    if (page < 4096 || page > std::uint64_t{1} << 30 || (page & (page - 1)))
        refuse_config("page_size must be a power of two, 4 KiB .. 1 GiB");
    if (settings.evicted_page & (settings.evicted_page - 1)) refuse_config("evicted_page must be a power of two, or 0");
    tla_error error{};
    if (make_front_end(&error)) refuse_config(error.text);
    control.serve_for(*this);
    out.register_invalidate_direct_mem_ptr(this, &pe_mmu::invalidate_direct_mem_ptr);
    TLMALLOC_HAS_PROCESS(pe_mmu);
    SC_METHOD(withdraw_refusals);
    sensitive << window_closed_;
    dont_initialize();
    steps_ = std::make_unique<steps>(*this);
}

pe_mmu::~pe_mmu() = default;

tla_status pe_mmu::make_front_end(tla_error *error) {
    tla_mmu *made = nullptr;
    const tla_mmu_config parts = front_end();
    const tla_status status = tla_mmu_create(&parts, &made, error);
    mmu_.reset(made);
    return status;
}

void pe_mmu::begin_reset() {
    control.end_commands();
    steps_->end_waiting();
    steps_->end_pauses();
    if (dmi_asked_) in.withdraw_dmi(0, UINT64_MAX);
    dmi_told_ = std::make_unique<dmi_record>();
    dmi_refused_.clear();
}

void pe_mmu::make_new() {
    tla_error error{};
    if (make_front_end(&error)) refuse_config(error.text); // the host has no memory any more
    control.make_new();
    owed_.clear();
    marks_->forget();
    run_ = {};
    run_from_ps_ = 0;
    dmi_asked_ = false;
    steps_->make_new();
    mapped_bytes_.set(to_ps(sc_core::sc_time_stamp()), 0);
}

tla_mmu_config pe_mmu::front_end() const {
    tla_mmu_config parts{};
    parts.walk = config_.walk;
    parts.table.page_size = config_.page_size;
    parts.table.allow_remap = config_.allow_remap;
    std::copy_n(config_.larger_page_sizes, std::size(config_.larger_page_sizes), parts.table.larger_page_sizes);
    parts.table.va_bits = config_.va_bits;
    parts.table.asids = config_.asids;
    for (const tla_tlb_level_config &level : {config_.tlb_l1, config_.tlb_l2})
        if (level.entries > 0) parts.tlb.level[parts.tlb.levels++] = level;
    parts.tlb.seed = config_.tlb_seed;
    parts.walkers = config_.walkers;
    parts.ranges = config_.ranges;
    parts.pa_fallback = config_.unmapped == TLA_UNMAPPED_PA_FALLBACK;
    return parts;
}

// --- data ------------------------------------------------------------------------------------------------------------

std::uint32_t pe_mmu::asid_of(const tlm::tlm_generic_payload &payload) {
    const requester *const who = payload.get_extension<requester>();
    return who && who->asid != TLA_ASID_HARDWARE ? who->asid : 0;
}

// The page table joins equal pages itself; a TLB returns page by page.
void pe_mmu::append(route &where, const tla_mmu_piece &found) const {
    if (config_.walk == TLA_WALK_IDEAL || !tla_mmu_piece_join(&where.last(), &found)) where.rest.push_back(found);
    cut(where);
}

void pe_mmu::cut(route &where) const {
    for (tla_mmu_piece rest{}; tla_mmu_piece_cut(&where.last(), config_.slice_bytes, &rest);)
        where.rest.push_back(rest);
}

void pe_mmu::show_lookup(const tla_mmu_piece &found, std::uint64_t at_ps) {
    if (!found.walked) (found.ranged ? range_hits_ : hits_).add(at_ps, 1);
}

void pe_mmu::refuse(tlm::tlm_generic_payload &payload, tla_status status, const sc_core::sc_time &delay) {
    const char *kind = "/tlmalloc/pe_mmu/unmapped";
    tlm::tlm_response_status response = tlm::TLM_ADDRESS_ERROR_RESPONSE;
    if (status == TLA_PERMISSION) {
        kind = "/tlmalloc/pe_mmu/permission";
        response = tlm::TLM_COMMAND_ERROR_RESPONSE;
    } else if (status == TLA_BUS_ERROR || status == TLA_BUSY) {
        kind = "/tlmalloc/pe_mmu/walk";
        response = tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    statistics_.faults++;
    faults_.add(local_ps(delay), 1);
    tell(trouble::fault, wanted_by(payload), local_ps(delay));
    std::ostringstream text;
    text << name() << ": " << (payload.is_write() ? "write" : "read") << " of " << payload_span(payload)
         << " bytes at VA 0x" << std::hex << payload.get_address() << ": "
         << (status == TLA_BUS_ERROR ? "the walk read an entry that differs from the page table"
             : status == TLA_BUSY    ? "a walk of this MMU accesses the same MMU"
                                     : tla_status_text(status));
    SC_REPORT_WARNING(kind, text.str().c_str());
    payload.set_response_status(response);
}

tla_mmu_access pe_mmu::wanted_by(const tlm::tlm_generic_payload &payload) const {
    tla_mmu_access wanted{
        asid_of(payload), {payload.get_address()}, std::max<std::uint64_t>(payload_span(payload), 1), 0};
    if (payload.is_read()) wanted.access = TLA_READ;
    if (payload.is_write()) wanted.access = TLA_WRITE;
    return wanted;
}

// An access that goes through.
void pe_mmu::count(const tla_mmu_access &wanted, const route &where, std::uint64_t at_ps) {
    marks_->note(wanted);
    if (where.stale) {
        statistics_.stale_accesses++;
        stale_.add(at_ps, 1);
        tell(trouble::stale, wanted, at_ps);
    }
    for (std::size_t i = 0; i < where.count(); i++)
        if (where.at(i).fallback) {
            statistics_.pa_fallbacks++;
            pa_fallbacks_.add(at_ps, 1);
            tell(trouble::fallback, wanted, at_ps);
        }
    if (!where.rest.empty()) statistics_.splits++;
}

// For who keeps an account of its transfers' times.
void pe_mmu::note_translation(const tlm::tlm_generic_payload &payload, const route &where, std::uint64_t at_ps) {
    tla_access_times *const times = times_of(payload);
    if (!times) return;
    note_time(times->translated_ps, at_ps);
    for (std::size_t i = 0; i < where.count(); i++)
        times->walked = times->walked || where.at(i).walked;
}

bool pe_mmu::hides_dmi(const route &where) const {
    return !grants_dmi() || where.first.fallback || where.stale;
}

void pe_mmu::begin(in_order_request &request, unsigned port) {
    steps_->begin(request, port);
}

// Returns the transfers of which the pieces of an access are parts, if the access is part of a transfer.
std::vector<transfer_extent> pe_mmu::extents(const tlm::tlm_generic_payload &payload, const route &where,
                                             std::uint64_t at_ps) {
    std::vector<transfer_extent> result;
    const transfer_extent *const extent = payload.get_extension<transfer_extent>();
    if (!extent) return result;
    const std::uint64_t va = payload.get_address(), before = std::min(extent->before, va), first = va - before,
                        span = payload_span(payload), after = std::min(extent->after, UINT64_MAX - va - span);
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < where.count(); i++) {
        const std::uint64_t nbytes = where.at(i).nbytes;
        result.push_back(cut({asid_of(payload), {first}, before + span + after, 0}, va + offset, nbytes, at_ps));
        offset += nbytes;
    }
    return result;
}

// Returns the extent of a transfer around one of its pieces, in physical addresses.
transfer_extent pe_mmu::cut(const tla_mmu_access &transfer, std::uint64_t va, std::uint64_t nbytes,
                            std::uint64_t at_ps) {
    const tla_mmu_access &known = run_.transfer;
    const bool same = known.asid == transfer.asid && known.va.value == transfer.va.value &&
                      known.nbytes == transfer.nbytes && at_ps >= run_from_ps_;
    if (!same || va < run_.first || va >= run_.end) {
        tla_vaddr first{};
        std::uint64_t length = 0;
        tla_mmu_find_run(mmu_.get(), &transfer, {va}, at_ps, &first, &length);
        run_ = {transfer, first.value, first.value + length};
    }
    if (va < run_.first || va + nbytes > run_.end) return {}; // it goes where it went before a change
    return {va - run_.first, run_.end - va - nbytes};
}

unsigned pe_mmu::debug(tlm::tlm_generic_payload &payload) {
    time_queue::catch_up_all();
    const std::uint64_t va = payload.get_address();
    const unsigned length = payload.get_data_length();
    std::uint8_t *const data = payload.get_data_ptr();
    if (length == 0 || !data) return 0;
    tla_mmu_access wanted{asid_of(payload), {va}, length, 0};
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::vector<tla_mmu_piece> pieces;
    for (; wanted.nbytes > 0; wanted.va.value += pieces.back().nbytes, wanted.nbytes -= pieces.back().nbytes) {
        pieces.emplace_back();
        if (tla_mmu_probe(mmu_.get(), &wanted, now_ps, &pieces.back())) return 0;
        tla_mmu_piece rest{};
        tla_mmu_piece_cut(&pieces.back(), config_.slice_bytes, &rest); // which is looked up next
    }
    if (payload.is_write()) marks_->note({asid_of(payload), {va}, length, TLA_WRITE});
    unsigned moved = 0;
    for (const tla_mmu_piece &p : pieces) {
        payload.set_address(p.pa.value);
        payload.set_data_ptr(data + moved);
        payload.set_data_length(static_cast<unsigned>(p.nbytes));
        const unsigned part = out->transport_dbg(payload);
        moved += part;
        if (part < p.nbytes) break;
    }
    payload.set_address(va);
    payload.set_data_ptr(data);
    payload.set_data_length(length);
    return moved;
}

// Checks the mappings page by page; a change in flight makes it fail.
bool pe_mmu::leads_into(std::uint32_t asid, tla_vaddr va, std::uint64_t nbytes, std::uint32_t access,
                        std::uint64_t at_ps, std::uint64_t first, std::uint64_t room) const {
    while (nbytes > 0) {
        tla_walk page{};
        if (tla_mmu_find_page(mmu_.get(), asid, va, at_ps, &page, nullptr) || (page.flags & access) != access)
            return false;
        const std::uint64_t skipped = va.value - page.va.value, covered = std::min(page.nbytes - skipped, nbytes);
        const std::uint64_t begin = page.pa.value + skipped - first;
        if (begin >= room || covered > room - begin) return false;
        va.value += covered;
        nbytes -= covered;
    }
    return true;
}

pe_mmu::statistics pe_mmu::get_statistics() const {
    time_queue::catch_up_all();
    statistics result = statistics_;
    const tla_mmu_stats translation = tla_mmu_get_stats(mmu_.get());
    result.hits = translation.hits;
    result.misses = translation.misses;
    result.walk_errors = translation.walk_errors;
    result.repeated = translation.repeated;
    result.ranges = translation.ranges;
    result.walkers = translation.walkers;
    result.table = translation.table;
    return result;
}

std::vector<statistics_group> pe_mmu::list_statistics() const {
    const statistics s = get_statistics();
    std::vector<statistic> rows{
        {"lookups", s.lookups, "accesses", "translated"},
        {"splits", s.splits, "accesses", "split into several accesses"},
        {"maps", s.maps, "entries", "mapped"},
        {"unmaps", s.unmaps, "ranges", "unmapped"},
        {"failed", s.failed, "commands", "failed"},
        {"faults", s.faults, "accesses", "completed with an error response"},
        {"pa_fallbacks", s.pa_fallbacks, "pieces", "whose virtual address was used as physical"},
        {"demand_faults", s.demand_faults, "faults", "sent to the host"},
        {"retries", s.retries, "commands", "ALLOC and FREE sent again"},
        {"stale_accesses", s.stale_accesses, "accesses", "through mappings whose removal was not yet visible"},
        {"hits", s.hits, "lookups", "that hit in the TLB"},
        {"misses", s.misses, "lookups", "that missed in the TLB"},
        {"walks", s.walkers.walks, "walks", "of the page table"},
        {"merged", s.walkers.merged, "lookups", "that joined an outstanding walk"},
        {"stalls", s.walkers.stalls, "lookups", "that waited for a walker"},
        {"walk_errors", s.walk_errors, "walks", "that read an entry that differs from the table"},
        {"table_bytes", s.table.table_bytes, "bytes", "of page tables now"},
        {"busy_ps", s.busy_ps, "ps", "busy time of commands"}};
    if (has_ranges_)
        for (const statistic &row : {statistic{"range_hits", s.ranges.hits, "lookups", "that a range served"},
                                     {"range_fills", s.ranges.fills, "walks", "that entered or extended a range"},
                                     {"range_drops", s.ranges.dropped, "ranges", "dropped by changes"}})
            rows.push_back(row);
    if (config_.pauses)
        for (const statistic &row : {statistic{"pauses", s.pauses, "commands", "PAUSE"},
                                     {"remaps", s.remaps, "ranges", "remapped"},
                                     {"paused", s.paused, "accesses", "that waited for a RESUME"},
                                     {"paused_ps", s.paused_ps, "ps", "for which they waited"}})
            rows.push_back(row);
    return {{rows}};
}

} // namespace tlmalloc
