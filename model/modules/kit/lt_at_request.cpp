// Cuts accesses into requests, and joins the answers of the requests.
#include "lt_at_request.hpp"

#include "base/request_split.h"
#include "payload.hpp"

#include <algorithm>

namespace tlmalloc {

using tlm::tlm_generic_payload;

namespace {

bool is_enabled(const tlm_generic_payload &whole, std::uint64_t index) {
    const std::uint8_t *const enables = whole.get_byte_enable_ptr();
    return !enables || enables[index % whole.get_byte_enable_length()] == TLM_BYTE_ENABLED;
}

// How many of the next bytes of the data are enabled, up to `most`.
std::uint64_t enabled_run(const tlm_generic_payload &whole, std::uint64_t index, std::uint64_t most) {
    if (!whole.get_byte_enable_ptr()) return most;
    std::uint64_t run = 0;
    while (run < most && is_enabled(whole, index + run))
        run++;
    return run;
}

} // namespace

// Makes the requests: for each pass of a streaming access those for its bytes.
void lt_at_bridge::cut(const tlm_generic_payload &whole, access &into) {
    const tla_request_shape shape{config_.largest, config_.smallest, config_.powers_of_two};
    const std::uint64_t length = whole.get_data_length(), span = payload_span(whole);
    const transfer_extent *const found = whole.get_extension<transfer_extent>();
    const transfer_extent around = found ? *found : transfer_extent();
    for (std::uint64_t pass = 0; pass < length; pass += span) {
        const std::uint64_t end = std::min(span, length - pass);
        for (std::uint64_t offset = 0; offset < end;) {
            const std::uint64_t run = run_of(whole, pass + offset, offset, end - offset);
            if (run == 0) { // disabled, and the target would not know
                offset++;
                continue;
            }
            const tla_request next = tla_request_next(&shape, whole.get_address() + offset, run);
            request &part = new_request();
            into.parts.push_back(&part);
            part.acquire(); // for the caller
            part.of = &into;
            part.index = pass + offset;
            part.lead = next.lead;
            part.wanted = next.wanted;
            part.set_address(next.address);
            fill(part, next.length, whole);
            part.lend(whole);
            if (found || next.wanted < span)
                part.say_part_of({around.before + offset, around.after + (span - offset - next.wanted)});
            if (merges() && whole.is_write() && !part.enables.empty()) read_first(part);
            offset += next.wanted;
        }
    }
}

// Returns how many bytes from `index` of the data and `offset` of the pass on, up to `most`, may become requests
// together. These are all bytes where the target accepts byte enables, or where extra bytes change nothing; otherwise
// the enabled bytes.
std::uint64_t lt_at_bridge::run_of(const tlm_generic_payload &whole, std::uint64_t index, std::uint64_t offset,
                                   std::uint64_t most) const {
    if (config_.byte_enables || !whole.get_byte_enable_ptr() || (merges() && whole.is_read())) return most;
    const std::uint64_t run = enabled_run(whole, index, std::min(most, config_.largest));
    if (!merges()) return run;
    const std::uint64_t address = whole.get_address() + offset, lead = address % config_.smallest;
    if (lead == 0 && run >= config_.smallest) return run - run % config_.smallest;
    const std::uint64_t rest = std::min(most, config_.smallest - lead); // of one that is written in part
    for (std::uint64_t i = 0; i < rest; i++)
        if (is_enabled(whole, index + i)) return rest;
    return 0;
}

// All attributes but the address; the bytes of a write, and the enables.
void lt_at_bridge::fill(request &part, std::uint64_t length, const tlm_generic_payload &whole) const {
    const std::uint8_t *const enables = whole.get_byte_enable_ptr();
    const bool all = (!config_.byte_enables && !merges()) || (!enables && part.wanted == length);
    part.bytes.assign(length, 0);
    part.enables.assign(all ? 0 : length, TLM_BYTE_DISABLED);
    if (whole.is_write()) std::copy_n(whole.get_data_ptr() + part.index, part.wanted, &part.bytes[part.lead]);
    if (!all)
        for (std::uint64_t i = 0; i < part.wanted; i++)
            part.enables[part.lead + i] = is_enabled(whole, part.index + i) ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED;
    if (std::find(part.enables.begin(), part.enables.end(), TLM_BYTE_DISABLED) == part.enables.end())
        part.enables.clear();
    part.begin(whole.get_command(), config_.byte_enables);
}

// Reads the other bytes of a request that writes only some of its bytes.
void lt_at_bridge::read_first(request &part) {
    request &first = new_request();
    first.acquire(); // until its response has ended
    part.first = &first;
    first.then = &part;
    first.lead = first.wanted = 0;
    first.bytes.assign(part.bytes.size(), 0);
    first.enables.clear();
    first.set_address(part.get_address());
    first.begin(tlm::TLM_READ_COMMAND, false);
    first.lend(part);
    counts_.merged++;
}

// The answer to the whole, and where that is OK the bytes of a read.
tlm::tlm_response_status lt_at_bridge::collect(const access &of, tlm_generic_payload &whole) const {
    bool dmi = config_.dmi && !(merges() && whole.is_write());
    for (const request *const part : of.parts) {
        if (part->get_response_status() != tlm::TLM_OK_RESPONSE)
            return part->get_response_status() == tlm::TLM_INCOMPLETE_RESPONSE ? tlm::TLM_GENERIC_ERROR_RESPONSE
                                                                               : part->get_response_status();
        dmi = dmi && part->is_dmi_allowed();
    }
    whole.set_dmi_allowed(dmi);
    if (!whole.is_read()) return tlm::TLM_OK_RESPONSE;
    for (const request *const part : of.parts)
        for (std::uint64_t i = 0; i < part->wanted; i++)
            if (part->enables.empty() || part->enables[part->lead + i] == TLM_BYTE_ENABLED)
                whole.get_data_ptr()[part->index + i] = part->bytes[part->lead + i];
    return tlm::TLM_OK_RESPONSE;
}

lt_at_bridge::request &lt_at_bridge::new_request() {
    if (free_.empty()) {
        requests_.push_back(std::make_unique<request>(static_cast<tlm::tlm_mm_interface *>(this), *this));
        free_.push_back(requests_.back().get());
    }
    request &next = *free_.back();
    free_.pop_back();
    next.is = request::state::waiting;
    next.to_end = false;
    next.first = next.then = nullptr;
    next.of = nullptr;
    next.debugged.clear();
    return next;
}

void lt_at_bridge::free(tlm_generic_payload *payload) {
    payload->reset(); // extensions that the target left to go with it
    auto *const part = static_cast<request *>(payload);
    part->is = request::state::idle;
    free_.push_back(part);
}

} // namespace tlmalloc
