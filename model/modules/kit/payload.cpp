// The rules of a generic payload for every memory: the checks, the copy, byte enables, streaming.
#include "payload.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tlmalloc {

namespace {

void copy_run(tlm::tlm_command command, std::uint8_t *memory, std::uint8_t *data, std::uint64_t length) {
    if (command == tlm::TLM_READ_COMMAND) std::memcpy(data, memory, length);
    if (command == tlm::TLM_WRITE_COMMAND) std::memcpy(memory, data, length);
}

// Copies the bytes that are enabled, whatever the pattern, without a branch: whole words at a time once vectorised.
void copy_enabled(std::uint8_t *to, const std::uint8_t *from, const std::uint8_t *enables, std::uint64_t length) {
    for (std::uint64_t i = 0; i < length; i++) {
        const std::uint8_t taken = from[i], kept = to[i]; // both loaded, or it would not be vectorised
        to[i] = enables[i] == TLM_BYTE_ENABLED ? taken : kept;
    }
}

// The byte enables of a payload; a short pattern is written out several times, so that it is passed in long runs.
class enable_pattern {
  public:
    enable_pattern(const std::uint8_t *enables, std::uint64_t length, std::uint64_t wanted)
        : enables_(enables), length_(length) {
        if (length >= repeated_.size() / 2 || length >= wanted) return;
        length_ = std::min(repeated_.size() / length, (wanted + length - 1) / length) * length;
        std::memcpy(repeated_.data(), enables, length);
        for (std::uint64_t filled = length; filled < length_; filled *= 2)
            std::memcpy(&repeated_[filled], repeated_.data(), std::min(filled, length_ - filled));
        enables_ = repeated_.data();
    }
    enable_pattern(const enable_pattern &) = delete;
    enable_pattern &operator=(const enable_pattern &) = delete;

    std::uint64_t length() const { return length_; }
    const std::uint8_t *at(std::uint64_t i) const { return enables_ + i % length_; }

  private:
    std::array<std::uint8_t, 256> repeated_;
    const std::uint8_t *enables_;
    std::uint64_t length_;
};

} // namespace

void copy_payload_in_parts(tlm::tlm_generic_payload &payload, std::uint8_t *memory) {
    std::uint8_t *data = payload.get_data_ptr();
    const std::uint64_t length = payload.get_data_length(), width = payload_span(payload);
    memory += payload.get_address();
    if (!payload.get_byte_enable_ptr()) {
        for (std::uint64_t start = 0; start < length; start += width)
            copy_run(payload.get_command(), memory, data + start, std::min(width, length - start));
        return;
    }
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND) return;
    const enable_pattern enables(payload.get_byte_enable_ptr(), payload.get_byte_enable_length(), length);
    for (std::uint64_t start = 0; start < length; start += width) {
        const std::uint64_t end = std::min(start + width, length);
        for (std::uint64_t i = start; i < end;) {
            const std::uint64_t run = std::min(end - i, enables.length() - i % enables.length());
            const std::uint8_t *enabled = enables.at(i);
            if (payload.is_write())
                copy_enabled(memory + (i - start), data + i, enabled, run);
            else
                copy_enabled(data + i, memory + (i - start), enabled, run);
            i += run;
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
