// Readers of requests: whatever the bytes are, requests are read that can be served, or refused with a text.
#include "serving/requests.h"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tla_serving_requests requests;
    tla_error error{};
    const tla_status status =
        tla_serving_requests_parse(reinterpret_cast<const char *>(data), size, "input", &requests, &error);
    if (status == TLA_OK) {
        uint64_t time = 0;
        fuzz_require(requests.count > 0);
        for (size_t i = 0; i < requests.count; i++) {
            const tla_serving_request &request = requests.items[i];
            fuzz_require(request.arrival_ns >= time && request.prompt_tokens > 0 && request.output_tokens > 0);
            fuzz_require((request.block_count > 0) == (request.blocks != nullptr));
            fuzz_require(request.block_count == 0 || requests.block_tokens > 0);
            time = request.arrival_ns;
        }
    } else {
        fuzz_require(error.text[0] != '\0' && requests.count == 0);
    }
    tla_serving_requests_free(&requests);
    return 0;
}
