// Configurations: whatever the bytes are, they are refused with a place, or what was read prints and reads back the
// same.
#include "tlmalloc/config.h"
#include "tests/fuzz/fuzz.hpp"

#include <cstdlib>
#include <memory>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tla_config config{}, again{};
    size_t findings = 0;
    const auto count = [](void *context, const tla_config_finding *finding) {
        fuzz_require(finding->text[0] != '\0');
        ++*static_cast<size_t *>(context);
    };
    const tla_status status =
        tla_config_parse(reinterpret_cast<const char *>(data), size, "input", nullptr, 0, &config, count, &findings);
    fuzz_require((status == TLA_OK) == (findings == 0));
    if (status != TLA_OK) return 0;
    char *text = nullptr;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    fuzz_require(out && tla_config_print(&config, out) == TLA_OK);
    std::fclose(out);
    fuzz_require(tla_config_parse(text, length, "printed", nullptr, 0, &again, nullptr, nullptr) == TLA_OK);
    fuzz_require(tla_config_equal(&config, &again));
    std::free(text);
    return 0;
}
