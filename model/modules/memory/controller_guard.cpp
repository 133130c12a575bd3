// The guard of a controller's memories (guard.h): its look at every access, and poison in freed bytes.
#include "controller_accesses.hpp"

#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tlmalloc {

tla_guard_access memory_controller::accesses::guarded_access(const tlm::tlm_generic_payload &payload,
                                                             const place &where, std::uint64_t at_ps) const {
    const std::uint64_t end = where.offset + payload_span(payload), size = bytes_of(where.memory);
    std::uint64_t before = 0, after = 0;
    if (const transfer_extent *whole = payload.get_extension<transfer_extent>()) { // what lies in this memory
        before = std::min(whole->before, where.offset);
        after = end < size ? std::min(whole->after, size - end) : 0;
    }
    return {payload.is_write(),
            where.offset,
            payload.get_data_length(),
            payload_span(payload),
            payload.get_byte_enable_ptr(),
            payload.get_byte_enable_length(),
            who_asks(payload),
            at_ps,
            before,
            after};
}

// An access has been made.
void memory_controller::accesses::note(const place &where, const tlm::tlm_generic_payload &payload,
                                       std::uint64_t at_ps) {
    const tla_guard_access access = guarded_access(payload, where, at_ps);
    tla_pe_memory_note(memory(), where.memory, &access);
}

// Checks an access with the guard; a wrong access is counted and reported. Returns true if the access has an error as
// its answer. Otherwise `to_note` is set if its effect must be noted.
bool memory_controller::accesses::guard_refuses(const place &where, tlm::tlm_generic_payload &payload,
                                                std::uint64_t at_ps, bool &to_note) {
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND || check_attributes(payload) != tlm::TLM_OK_RESPONSE)
        return false; // touches nothing
    const tla_guard_access access = guarded_access(payload, where, at_ps);
    tla_error error{};
    tla_status status = tla_controller_begin(of_.core_.get());
    if (!status) status = tla_pe_memory_look(memory(), where.memory, &access, &error);
    const bool no_such_place = status == TLA_USE_AFTER_FREE || status == TLA_OUT_OF_BOUNDS;
    to_note = memory() && !no_such_place;
    // A write that a foreign memory has not answered yet may be done when the read arrives there.
    const std::uint64_t last = where.offset + (std::max<std::uint64_t>(payload_span(payload), 1) - 1);
    if (status == TLA_NEVER_WRITTEN && is_being_written(where.memory, where.offset, last, false)) return false;
    if (!status) return false;
    guard_counts &counts = wrong_[where.memory];
    counts.use_after_free += status == TLA_USE_AFTER_FREE;
    counts.out_of_bounds += status == TLA_OUT_OF_BOUNDS;
    counts.not_owner += status == TLA_NOT_OWNER;
    counts.never_written += status == TLA_NEVER_WRITTEN;
    SC_REPORT_WARNING("/tlmalloc/memory_controller/guard", (std::string(of_.name()) + ": " + tla_status_name(status) +
                                                            ": " + (*error.text ? error.text : tla_status_text(status)))
                                                               .c_str());
    if (of_.config_.guard != TLA_GUARD_ERROR) return false;
    data_errors_++;
    payload.set_response_status(no_such_place ? tlm::TLM_ADDRESS_ERROR_RESPONSE : tlm::TLM_GENERIC_ERROR_RESPONSE);
    return true;
}

void memory_controller::accesses::poison(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
    std::vector<std::uint8_t> bytes(std::min<std::uint64_t>(nbytes, 65536), 0xdd);
    for (std::uint64_t done = 0; done < nbytes; done += bytes.size()) {
        tlm::tlm_generic_payload payload;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(offset + done);
        payload.set_data_ptr(bytes.data());
        payload.set_data_length(static_cast<unsigned>(std::min<std::uint64_t>(bytes.size(), nbytes - done)));
        socket_of(kind)->transport_dbg(payload);
    }
}

} // namespace tlmalloc
