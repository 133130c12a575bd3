// Control ports: whatever is written, in whatever pieces, a descriptor is submitted that encodes back to its bytes, or
// the write is refused.
#include "tlmalloc/command/control_port.h"
#include "tests/fuzz/fuzz.hpp"

#include <cstring>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static tla_control_port port;
    port = tla_control_port{};
    while (size >= 4) { // offset, length, then the bytes of one write
        const uint32_t offset = data[0] | static_cast<uint32_t>(data[1]) << 8;
        uint32_t length = data[2] | static_cast<uint32_t>(data[3]) << 8;
        data += 4;
        size -= 4;
        if (length > size) length = static_cast<uint32_t>(size);
        bool complete = false;
        tla_error error{};
        const tla_status status = tla_control_port_write(&port, offset, data, length, &complete, &error);
        data += length;
        size -= length;
        fuzz_require(status == TLA_OK || !complete);
        if (!complete) continue;
        static tla_command command;
        if (tla_command_decode(port.command, port.staged, &command, &error) == TLA_OK) {
            uint8_t bytes[TLA_COMMAND_MAX_BYTES];
            size_t encoded = 0;
            fuzz_require(tla_command_encode(&command, bytes, sizeof bytes, &encoded) == TLA_OK);
            fuzz_require(encoded == port.staged && std::memcmp(bytes, port.command, encoded) == 0);
        } else {
            fuzz_require(error.text[0] != '\0');
        }
        const tla_completion completion{};
        tla_control_port_complete(&port, &completion);
    }
    return 0;
}
