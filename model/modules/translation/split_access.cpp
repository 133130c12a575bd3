// Split accesses: which data of the whole are a part's, there and back.
#include "split_access.hpp"

#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <utility>

namespace tlmalloc {

void access_part::begin(tlm::tlm_generic_payload &whole, std::uint64_t offset, std::uint64_t nbytes, tla_paddr pa,
                        transfer_extent *extent, lent_payload &part) {
    whole_ = &whole;
    passes_ = {whole.get_data_length(), payload_span(whole), offset, nbytes};
    streams_ = passes_.span < passes_.length;
    const auto length = static_cast<unsigned>(tla_passes_bytes(&passes_));
    data_.resize(streams_ && whole.get_data_ptr() ? length : 0);
    // Disabled bytes keep their values, so the data of a read are gathered too.
    if (!data_.empty()) tla_passes_pack(&passes_, data_.data(), whole.get_data_ptr());
    const std::uint8_t *const enables = whole.get_byte_enable_ptr();
    enables_.resize(enables ? length : 0);
    if (enables) tla_passes_pack_pattern(&passes_, enables_.data(), enables, whole.get_byte_enable_length());
    part.set_command(whole.get_command());
    part.set_address(pa.value);
    part.set_data_length(length);
    part.set_streaming_width(static_cast<unsigned>(nbytes));
    part.set_byte_enable_ptr(enables ? enables_.data() : nullptr);
    part.set_byte_enable_length(enables ? length : 0);
    part.set_dmi_allowed(false);
    part.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    part.set_extension(extent);
    lead_to_whole(part);
}

// Gives the part the whole's data, unless they are gathered, and its requester, transaction and message.
void access_part::lead_to_whole(lent_payload &part) {
    std::uint8_t *const first = whole_->get_data_ptr(); // none in TLM_IGNORE
    part.set_data_ptr(!first ? nullptr : streams_ ? data_.data() : first + passes_.offset);
    part.set_extension(whole_->get_extension<requester>());
    part.set_extension(whole_->get_extension<transaction_part>());
    part.set_extension(whole_->get_extension<message_token>()); // which counts the bytes of its payload
}

void access_part::move(tlm::tlm_generic_payload &whole, lent_payload &part) {
    whole_ = &whole;
    lead_to_whole(part);
}

void access_part::end(lent_payload &part) {
    part.give_back();
    tlm::tlm_generic_payload &whole = *std::exchange(whole_, nullptr);
    if (!streams_ || !whole.is_read() || !part.is_response_ok()) return;
    tla_passes_unpack(&passes_, data_.data(), whole.get_data_ptr());
}

} // namespace tlmalloc
