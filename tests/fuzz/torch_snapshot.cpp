// Snapshots of PyTorch, pickle or JSON: whatever the bytes are, they are read and replayed as recorded, or refused with
// a text; nothing is lost and nothing crashes.
#include "tests/fuzz/fuzz.hpp"
#include "torch/recorded.h"
#include "torch/usage.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    torch_snapshot snapshot{};
    tla_error error{};
    tla_status status = torch_snapshot_read(reinterpret_cast<const char *>(data), size, "input", &snapshot, &error);
    if (status != TLA_OK) {
        fuzz_require(error.text[0] != '\0' && snapshot.device_count == 0);
        return 0;
    }
    for (size_t device = 0; device < snapshot.device_count && device < 4; device++) {
        torch_usage_report usage{};
        if (torch_usage_find(&snapshot, device, &usage, &error) == TLA_OK)
            fuzz_require(usage.all.reserved ==
                         usage.all.allocated + usage.all.pending + usage.all.whole + usage.all.pieces);
        else
            fuzz_require(error.text[0] != '\0');
        torch_usage_clear(&usage);
        torch_start start{};
        fuzz_require(torch_start_find(&snapshot, device, &start, &error) == TLA_OK);
        torch_recorded result{};
        const torch_recorded_options options{};
        status = torch_replay_recorded(&snapshot, device, &start, &options, &result, &error);
        fuzz_require(status == TLA_OK || error.text[0] != '\0');
        fuzz_require(result.equal <= result.entries);
        fuzz_require(status != TLA_OK || result.differs || result.equal == result.entries);
        char frames[64];
        for (size_t i = 0; i < snapshot.devices[device].entry_count && i < 8; i++)
            torch_frames(&snapshot, snapshot.devices[device].entries[i].source, 2, frames, sizeof frames);
        torch_start_clear(&start);
    }
    torch_snapshot_clear(&snapshot);
    return 0;
}
