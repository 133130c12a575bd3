// Sweeps: whatever the bytes are, they are refused with a place, or have points whose values and hashes are the same
// whenever they are asked for.
#include "sweep/sweep.h"
#include "sweep/constraint.h"
#include "tests/fuzz/fuzz.hpp"

#include <cstring>
#include <string>

namespace {

sweep_command command(const char *name, sweep_platform platform, bool input) {
    sweep_command c{};
    c.name = name;
    c.platform = platform;
    c.input = c.input_needed = input;
    c.options[0].name = "--policy";
    c.options[1].name = "--capacity";
    c.options[2].name = "--method";
    c.options[3].name = "--parameter";
    c.options[4].name = "--kernel";
    c.options[4].is_file = true;
    return c;
}

const sweep_command commands[] = {command("run", SWEEP_PLATFORM_ARGUMENT, false),
                                  command("replay", SWEEP_PLATFORM_OPTION, true),
                                  command("plan", SWEEP_NO_PLATFORM, true),
                                  {}};

std::string values_of(const sweep &s, std::int64_t point) {
    std::string text;
    for (std::size_t i = 0; i < s.factor_count; i++) {
        tla_phrase value;
        text += sweep_value(&s, point, i, &value) ? value.text : "-";
        text += '|';
    }
    char hash[17];
    sweep_hash(&s, point, hash);
    fuzz_require(std::strlen(hash) == 16);
    return text + hash;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    sweep s;
    size_t findings = 0;
    const auto count = [](void *context, const tla_config_finding *finding) {
        fuzz_require(finding->text[0] != '\0');
        ++*static_cast<size_t *>(context);
    };
    const tla_status status =
        sweep_parse("input", reinterpret_cast<const char *>(data), size, commands, &s, count, &findings);
    fuzz_require((status == TLA_OK) == (findings == 0));
    if (status != TLA_OK) return 0;
    fuzz_require(s.factor_count > 0 && s.figure_count > 0);
    sweep_constraints *constraints = nullptr;
    size_t bad = 0;
    tla_error error{};
    fuzz_require(constraints_compile(&s, &constraints, &bad, &error) == TLA_OK);
    for (const std::uint64_t point : {std::uint64_t{0}, s.count / 2, s.count - 1}) {
        if (point >= s.count) continue;
        const auto number = static_cast<std::int64_t>(point);
        fuzz_require(values_of(s, number) == values_of(s, number));
        fuzz_require(constraints_hold(constraints, number) == constraints_hold(constraints, number));
    }
    char first[17], second[17];
    sweep_fingerprint(&s, first);
    sweep_fingerprint(&s, second);
    fuzz_require(std::strcmp(first, second) == 0);
    constraints_free(constraints);
    sweep_clear(&s);
    return 0;
}
