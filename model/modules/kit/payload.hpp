// The generic payload as a memory target sees it: is the access legal, and the copy itself.
#ifndef TLMALLOC_MODULES_KIT_PAYLOAD_HPP
#define TLMALLOC_MODULES_KIT_PAYLOAD_HPP

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <tlm>

namespace tlmalloc {

// Bytes of target memory that the payload touches from its address on: min(streaming width, length).
inline std::uint64_t payload_span(const tlm::tlm_generic_payload &payload) {
    return std::min(payload.get_streaming_width(), payload.get_data_length());
}

// TLM_OK_RESPONSE, or the error to answer to a payload that no memory can serve, wherever it leads: burst (length 0,
// streaming width 0), no data, byte enables (a pointer without a length).
inline tlm::tlm_response_status check_attributes(const tlm::tlm_generic_payload &payload) {
    if (payload.get_data_length() == 0 || payload.get_streaming_width() == 0) return tlm::TLM_BURST_ERROR_RESPONSE;
    if (!payload.get_data_ptr() && payload.get_command() != tlm::TLM_IGNORE_COMMAND)
        return tlm::TLM_GENERIC_ERROR_RESPONSE;
    if (payload.get_byte_enable_ptr() && payload.get_byte_enable_length() == 0)
        return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    return tlm::TLM_OK_RESPONSE;
}

// Whether [address, address + length) lies in a memory of `size` bytes.
inline bool inside(std::uint64_t address, std::uint64_t length, std::uint64_t size) {
    return length <= size && address <= size - length;
}

// TLM_OK_RESPONSE when a memory of `size` bytes can serve the payload (any command, byte enables, streaming); else the
// error to answer: that of check_attributes, or address.
inline tlm::tlm_response_status check_payload(const tlm::tlm_generic_payload &payload, std::uint64_t size) {
    const tlm::tlm_response_status status = check_attributes(payload);
    if (status != tlm::TLM_OK_RESPONSE || inside(payload.get_address(), payload_span(payload), size)) return status;
    return tlm::TLM_ADDRESS_ERROR_RESPONSE;
}

// The begin of an access to a memory of `size` bytes: one that cannot be served is answered and counted in `errors`.
// True when there is something to do for it; TLM_IGNORE is answered, too.
inline bool accept_payload(tlm::tlm_generic_payload &payload, std::uint64_t size, bool dmi, std::uint64_t &errors) {
    const tlm::tlm_response_status status = check_payload(payload, size);
    payload.set_response_status(status);
    if (status != tlm::TLM_OK_RESPONSE) {
        errors++;
        return false;
    }
    payload.set_dmi_allowed(dmi);
    return payload.get_command() != tlm::TLM_IGNORE_COMMAND;
}

// Moves the bytes of a checked payload from or to memory; byte enables and streaming width honoured. TLM_IGNORE moves
// nothing.
void copy_payload_in_parts(tlm::tlm_generic_payload &payload, std::uint8_t *memory);
inline void copy_payload(tlm::tlm_generic_payload &payload, std::uint8_t *memory) {
    const std::uint64_t length = payload.get_data_length();
    if (payload.get_byte_enable_ptr() || payload.get_streaming_width() < length)
        copy_payload_in_parts(payload, memory);
    else if (payload.is_read())
        std::memcpy(payload.get_data_ptr(), memory + payload.get_address(), length);
    else if (payload.is_write())
        std::memcpy(memory + payload.get_address(), payload.get_data_ptr(), length);
}

// Debug access: bytes moved, 0 when out of range; byte enables and streaming are ignored (IEEE 1666 11.3.4).
unsigned debug_copy(tlm::tlm_generic_payload &payload, std::uint8_t *memory, std::uint64_t size);

} // namespace tlmalloc
#endif
