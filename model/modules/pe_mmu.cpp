#include "tlmalloc/modules/pe_mmu.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <sstream>

namespace tlmalloc {

pe_mmu::pe_mmu(sc_core::sc_module_name name, const config &settings)
    : sc_module(name), window_("control", "pe_mmu", TLA_TARGET_PE_MMU, settings.ports, *this), config_(settings),
      at_(
          "in", settings.outstanding, [this](int, auto &payload, auto &delay) { b_transport(payload, delay); },
          [this](int, auto &payload, auto &phase, auto &delay) { return in->nb_transport_bw(payload, phase, delay); }) {
    require_ps_resolution();
    tla_page_table_config table{};
    table.page_size = settings.page_size;
    table.allow_remap = settings.allow_remap;
    tla_page_table *made = nullptr;
    if (tla_page_table_create(&table, &made))
        SC_REPORT_ERROR("/tlmalloc/pe_mmu/config", "page_size must be a power of two, 4 KiB .. 1 GiB");
    table_.reset(made);
    if (settings.ports == 0 || settings.queue_depth == 0 || settings.queue_depth > TLA_ENGINE_DEPTH_MAX)
        SC_REPORT_ERROR("/tlmalloc/pe_mmu/config", "ports must be at least 1, queue_depth 1 .. 256");
    engine_.depth = settings.queue_depth;
    in.register_b_transport(this, &pe_mmu::b_transport);
    in.register_nb_transport_fw(this, &pe_mmu::nb_transport_fw);
    in.register_transport_dbg(this, &pe_mmu::transport_dbg);
    in.register_get_direct_mem_ptr(this, &pe_mmu::get_direct_mem_ptr);
    out.register_invalidate_direct_mem_ptr(this, &pe_mmu::invalidate_direct_mem_ptr);
}

// --- data ------------------------------------------------------------------------------------------------------------

tla_status pe_mmu::translate(std::uint64_t va, std::uint64_t nbytes, std::uint32_t access,
                             std::vector<piece> &pieces) const {
    pieces.clear();
    if (nbytes > 0 && va > UINT64_MAX - (nbytes - 1)) return TLA_OUT_OF_RANGE; // does not wrap to address 0
    while (nbytes > 0) {
        tla_translation found{};
        const tla_status status = tla_page_table_translate(table_.get(), {va}, nbytes, access, &found, nullptr);
        piece next{found.pa.value, found.nbytes, false};
        if (status == TLA_UNMAPPED && config_.unmapped == TLA_UNMAPPED_PA_FALLBACK)
            next = {va, std::min(nbytes, config_.page_size - va % config_.page_size), true};
        else if (status)
            return status;
        pieces.push_back(next);
        va += next.nbytes;
        nbytes -= next.nbytes;
    }
    return TLA_OK;
}

void pe_mmu::b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const std::uint64_t va = payload.get_address(), span = payload_span(payload);
    std::uint32_t access = 0;
    if (payload.is_read()) access = TLA_READ;
    if (payload.is_write()) access = TLA_WRITE;
    delay += from_ps(config_.overhead_ps);
    statistics_.lookups++;
    lookups_.add(local_ps(delay), 1);
    std::vector<piece> pieces;
    if (const tla_status status = translate(va, std::max<std::uint64_t>(span, 1), access, pieces)) {
        statistics_.faults++;
        faults_.add(local_ps(delay), 1);
        std::ostringstream text;
        text << name() << ": " << (payload.is_write() ? "write" : "read") << " of " << span << " bytes at VA 0x"
             << std::hex << va << ": " << tla_status_text(status);
        SC_REPORT_WARNING(status == TLA_PERMISSION ? "/tlmalloc/pe_mmu/permission" : "/tlmalloc/pe_mmu/unmapped",
                          text.str().c_str());
        payload.set_response_status(status == TLA_PERMISSION ? tlm::TLM_COMMAND_ERROR_RESPONSE
                                                             : tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return;
    }
    for (const piece &p : pieces)
        if (p.fallback) {
            statistics_.pa_fallbacks++;
            pa_fallbacks_.add(local_ps(delay), 1);
        }
    if (pieces.size() == 1) {
        payload.set_address(pieces[0].pa);
        out->b_transport(payload, delay);
        payload.set_address(va);
        if (!config_.dmi || pieces[0].fallback) payload.set_dmi_allowed(false);
    } else {
        statistics_.splits++;
        transport_pieces(payload, pieces, delay);
    }
}

// Each piece is a transaction of its own; all start together and the access ends with the last of them.
void pe_mmu::transport_pieces(tlm::tlm_generic_payload &payload, const std::vector<piece> &pieces,
                              sc_core::sc_time &delay) {
    tlm::tlm_response_status status = check_attributes(payload);
    if (status == tlm::TLM_OK_RESPONSE && payload.get_streaming_width() < payload.get_data_length())
        status = tlm::TLM_BURST_ERROR_RESPONSE; // a wrap inside a split is not worth building
    if (status != tlm::TLM_OK_RESPONSE) {
        payload.set_response_status(status);
        return;
    }
    const std::uint64_t start = local_ps(delay);
    std::uint64_t end = start, offset = 0;
    std::uint8_t *const data = payload.get_data_ptr(); // may be null in TLM_IGNORE
    std::vector<std::uint8_t> enables;
    for (const piece &p : pieces) {
        tlm::tlm_generic_payload part;
        part.set_command(payload.get_command());
        part.set_address(p.pa);
        part.set_data_ptr(data ? data + offset : nullptr);
        part.set_data_length(static_cast<unsigned>(p.nbytes));
        part.set_streaming_width(static_cast<unsigned>(p.nbytes));
        if (const std::uint8_t *all = payload.get_byte_enable_ptr()) {
            enables.resize(p.nbytes);
            for (std::uint64_t i = 0; i < p.nbytes; i++)
                enables[i] = all[(offset + i) % payload.get_byte_enable_length()];
            part.set_byte_enable_ptr(enables.data());
            part.set_byte_enable_length(static_cast<unsigned>(p.nbytes));
        }
        sc_core::sc_time part_delay;
        set_local_ps(part_delay, std::max(start, to_ps(sc_core::sc_time_stamp())));
        out->b_transport(part, part_delay);
        end = std::max(end, local_ps(part_delay));
        if (part.is_response_error() && status == tlm::TLM_OK_RESPONSE) status = part.get_response_status();
        offset += p.nbytes;
    }
    set_local_ps(delay, end);
    payload.set_response_status(status);
}

tlm::tlm_sync_enum pe_mmu::nb_transport_fw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                           sc_core::sc_time &delay) {
    return at_.nb_transport_fw(0, payload, phase, delay);
}

unsigned pe_mmu::transport_dbg(tlm::tlm_generic_payload &payload) {
    const std::uint64_t va = payload.get_address();
    const unsigned length = payload.get_data_length();
    std::uint8_t *const data = payload.get_data_ptr();
    std::vector<piece> pieces;
    if (length == 0 || !data || translate(va, length, 0, pieces)) return 0;
    unsigned moved = 0;
    for (const piece &p : pieces) {
        payload.set_address(p.pa);
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

// --- direct memory access --------------------------------------------------------------------------------------------

bool pe_mmu::get_direct_mem_ptr(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!config_.dmi) return refuse_dmi(dmi);
    dmi_asked_ = true;
    const std::uint64_t va = payload.get_address();
    tla_walk page{};
    if (tla_page_table_walk(table_.get(), 0, {va}, &page)) return refuse_dmi(dmi, {va, va});
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
    granted = translate_dmi(dmi, granted, view, config_.overhead_ps);
    if (!granted) return false;
    if (!writable && dmi.is_read_allowed()) dmi.allow_read();
    if (!readable && dmi.is_write_allowed()) dmi.allow_write();
    dmi_grants_[page.va.value] = {page.nbytes, page.pa.value};
    return true;
}

void pe_mmu::invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
    std::vector<byte_range> lost;
    for (const auto &[va, grant] : dmi_grants_)
        if (const auto seen = address_view{grant.pa, grant.nbytes, va}.translate({first, last})) lost.push_back(*seen);
    for (const byte_range &range : lost)
        in->invalidate_direct_mem_ptr(range.first, range.last);
}

// The mappings in a command have changed: pointers are void, and refusals too.
void pe_mmu::withdraw_dmi(const tla_command &command) {
    if (!dmi_asked_) return;
    for (std::uint32_t i = 0; i < command.count; i++) {
        const std::uint64_t first = command.entries[i].va.value, last = first + (command.entries[i].nbytes - 1);
        in->invalidate_direct_mem_ptr(first, last);
        // A grant that is cut stays in the list: its rest is still somebody's, and withdrawing too much does no harm.
        for (auto grant = dmi_grants_.lower_bound(first); grant != dmi_grants_.end() && grant->first <= last;)
            grant = grant->second.nbytes - 1 <= last - grant->first ? dmi_grants_.erase(grant) : std::next(grant);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

std::uint64_t pe_mmu::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_completion completion{};
    completion.tag = command.tag;
    completion.opcode = command.opcode;
    tla_work work{};
    tla_error error{};
    if (command.opcode == TLA_OP_MAP)
        completion.status = tla_page_table_map(table_.get(), command.entries, command.count, &work, &error);
    else if (command.opcode == TLA_OP_UNMAP)
        completion.status = tla_page_table_unmap(table_.get(), command.entries, command.count, &work, &error);
    else
        completion.status = tla_error_set(&error, TLA_BAD_COMMAND, "opcode %d is not for a pe_mmu", command.opcode);
    if (completion.status) {
        statistics_.failed++;
        SC_REPORT_WARNING("/tlmalloc/pe_mmu/command", (std::string(name()) + ": " + error.text).c_str());
    } else {
        completion.nbytes = command.count;
        withdraw_dmi(command);
        (command.opcode == TLA_OP_MAP ? statistics_.maps : statistics_.unmaps) += command.count;
    }
    completion.service_ps = tla_cost_price(&config_.cost, &work);
    const tla_service service = tla_engine_serve(&engine_, arrival_ps, completion.service_ps);
    statistics_.busy_ps += completion.service_ps;
    maps_in_flight_.add(service.accepted_ps, 1);
    maps_in_flight_.add(service.done_ps, -1);
    mapped_bytes_.set(service.done_ps, tla_page_table_get_stats(table_.get()).mapped_bytes);
    window_.complete(port, completion, service.done_ps);
    return service.accepted_ps;
}

pe_mmu::statistics pe_mmu::get_statistics() const {
    statistics result = statistics_;
    result.table = tla_page_table_get_stats(table_.get());
    return result;
}

void pe_mmu::record(waveform &wave) {
    for (figure *f : {&lookups_, &maps_in_flight_, &mapped_bytes_, &faults_, &pa_fallbacks_})
        f->record(wave, name());
}

void pe_mmu::trace(sc_core::sc_trace_file *file) const {
    for (const figure *f : {&lookups_, &maps_in_flight_, &mapped_bytes_, &faults_, &pa_fallbacks_})
        f->trace(file, name());
}

} // namespace tlmalloc
