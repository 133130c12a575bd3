#include "payload.hpp"

#include <algorithm>
#include <cstring>

namespace tlmalloc {

namespace {

bool inside(std::uint64_t address, std::uint64_t length, std::uint64_t size) {
    return length <= size && address <= size - length;
}

void copy_run(tlm::tlm_command command, std::uint8_t *memory, std::uint8_t *data, std::uint64_t length) {
    if (command == tlm::TLM_READ_COMMAND) std::memcpy(data, memory, length);
    if (command == tlm::TLM_WRITE_COMMAND) std::memcpy(memory, data, length);
}

} // namespace

std::uint64_t payload_span(const tlm::tlm_generic_payload &payload) {
    return std::min(payload.get_streaming_width(), payload.get_data_length());
}

tlm::tlm_response_status check_payload(const tlm::tlm_generic_payload &payload, std::uint64_t size) {
    if (payload.get_data_length() == 0 || payload.get_streaming_width() == 0) return tlm::TLM_BURST_ERROR_RESPONSE;
    if (!payload.get_data_ptr() && payload.get_command() != tlm::TLM_IGNORE_COMMAND)
        return tlm::TLM_GENERIC_ERROR_RESPONSE;
    if (payload.get_byte_enable_ptr() && payload.get_byte_enable_length() == 0)
        return tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE;
    if (!inside(payload.get_address(), payload_span(payload), size)) return tlm::TLM_ADDRESS_ERROR_RESPONSE;
    return tlm::TLM_OK_RESPONSE;
}

void copy_payload(tlm::tlm_generic_payload &payload, std::uint8_t *memory) {
    std::uint8_t *data = payload.get_data_ptr();
    const std::uint8_t *enables = payload.get_byte_enable_ptr();
    const std::uint64_t length = payload.get_data_length(), width = payload_span(payload);
    const std::uint64_t enable_length = payload.get_byte_enable_length();
    memory += payload.get_address();
    for (std::uint64_t start = 0; start < length; start += width) {
        const std::uint64_t end = std::min(start + width, length);
        if (!enables) {
            copy_run(payload.get_command(), memory, data + start, end - start);
            continue;
        }
        for (std::uint64_t i = start; i < end;) { // runs of enabled bytes
            std::uint64_t run = i;
            while (run < end && enables[run % enable_length] == TLM_BYTE_ENABLED) run++;
            copy_run(payload.get_command(), memory + (i - start), data + i, run - i);
            i = run == i ? i + 1 : run;
        }
    }
}

unsigned debug_copy(tlm::tlm_generic_payload &payload, std::uint8_t *memory, std::uint64_t size) {
    const unsigned length = payload.get_data_length();
    if (length == 0 || !payload.get_data_ptr() || !inside(payload.get_address(), length, size)) return 0;
    copy_run(payload.get_command(), memory + payload.get_address(), payload.get_data_ptr(), length);
    return payload.get_command() == tlm::TLM_IGNORE_COMMAND ? 0 : length;
}

} // namespace tlmalloc
