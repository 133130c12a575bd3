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

// Grants the whole memory for reads and writes.
void grant_dmi(tlm::tlm_dmi &dmi, std::uint8_t *memory, std::uint64_t size, std::uint64_t read_latency_ps,
               std::uint64_t write_latency_ps);

// Refuses reads and writes of [start, end]; every member is set. Returns false, as get_direct_mem_ptr is to.
bool refuse_dmi(tlm::tlm_dmi &dmi, std::uint64_t start = 0, std::uint64_t end = UINT64_MAX);

// Cuts what `dmi` says to its part inside [start, end], which it must touch; the pointer follows the first byte.
void clip_dmi(tlm::tlm_dmi &dmi, std::uint64_t start, std::uint64_t end);

// Addresses of a target become those of an initiator that sees byte `from` of the target at `to`. To be clipped before.
void move_dmi(tlm::tlm_dmi &dmi, std::uint64_t from, std::uint64_t to);

} // namespace tlmalloc
#endif
