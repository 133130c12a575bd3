// The generic payload as a memory target sees it: is the access legal, and the copy itself.
#ifndef TLMALLOC_MODEL_MODULES_PAYLOAD_HPP
#define TLMALLOC_MODEL_MODULES_PAYLOAD_HPP

#include <cstdint>
#include <tlm>

namespace tlmalloc {

// Bytes of target memory that the payload touches from its address on: min(streaming width, length).
std::uint64_t payload_span(const tlm::tlm_generic_payload &payload);

// TLM_OK_RESPONSE, or the error to answer to a payload that no memory can serve, wherever it leads: burst (length 0,
// streaming width 0), no data, byte enables (a pointer without a length).
tlm::tlm_response_status check_attributes(const tlm::tlm_generic_payload &payload);

// TLM_OK_RESPONSE when a memory of `size` bytes can serve the payload (any command, byte enables, streaming); else the
// error to answer: that of check_attributes, or address.
tlm::tlm_response_status check_payload(const tlm::tlm_generic_payload &payload, std::uint64_t size);

// Moves the bytes of a checked payload from or to memory; byte enables and streaming width honoured. TLM_IGNORE moves
// nothing.
void copy_payload(tlm::tlm_generic_payload &payload, std::uint8_t *memory);

// Debug access: bytes moved, 0 when out of range; byte enables and streaming are ignored (IEEE 1666 11.3.4).
unsigned debug_copy(tlm::tlm_generic_payload &payload, std::uint8_t *memory, std::uint64_t size);

} // namespace tlmalloc
#endif
