// Trace readers: whatever the bytes are, a trace is read that can be played, or refused with a text.
#include "trace/trace.h"
#include "tests/fuzz/fuzz.hpp"
#include "torch/torch.h"

#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    alloc_trace trace{};
    tla_error error{};
    trace_read_recordings_by(torch_read_trace);
    const tla_status status = trace_parse(reinterpret_cast<const char *>(data), size, "input", &trace, &error);
    if (status == TLA_OK) {
        uint64_t time = 0;
        std::vector<bool> live(trace.allocation_count);
        for (size_t i = 0; i < trace.event_count; i++) {
            const trace_event &event = trace.events[i];
            fuzz_require(event.time_ns >= time && event.allocation < trace.allocation_count);
            time = event.time_ns;
            fuzz_require(live[event.allocation] == event.is_free);
            live[event.allocation] = !event.is_free;
        }
    } else {
        fuzz_require(error.text[0] != '\0' && trace.event_count == 0);
    }
    trace_unload(&trace);
    return 0;
}
