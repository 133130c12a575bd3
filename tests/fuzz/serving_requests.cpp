// Readers of requests: whatever the bytes are, requests are read that can be served, or refused with a text.
#include "serving/requests.h"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tla_serving_requests requests, kept;
    tla_error error{}, other{};
    const char *const text = reinterpret_cast<const char *>(data);
    const tla_status status = tla_serving_requests_parse(text, size, "input", &requests, &error),
                     skipping = tla_serving_requests_parse_skipping(text, size, "input", &kept, &other);
    if (status == TLA_OK) {
        uint64_t time = 0;
        fuzz_require(requests.count > 0 && skipping == TLA_OK && kept.count == requests.count);
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
    for (size_t i = 0; i < kept.count; i++)
        fuzz_require(kept.items[i].prompt_tokens > 0 && kept.items[i].output_tokens > 0);
    if (skipping == TLA_OK)
        fuzz_require(kept.count + kept.skipped.no_output + kept.skipped.no_prompt > 0);
    else
        fuzz_require(other.text[0] != '\0' && kept.count == 0);
    tla_serving_requests_free(&kept);
    tla_serving_requests_free(&requests);
    return 0;
}
