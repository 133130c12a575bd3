// Any text as a snapshot: refused with a status and nothing changed, or taken and then written as the same state.
#include "fuzz.hpp"
#include "tlmalloc/arena/arena.h"

#include <string>

static std::string snapshot(const tla_arena *arena) {
    size_t length = 0;
    tla_arena_snapshot(arena, nullptr, 0, &length);
    std::string text(length + 1, '\0');
    fuzz_require(tla_arena_snapshot(arena, &text[0], text.size(), &length) == TLA_OK);
    text.resize(length);
    return text;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = reinterpret_cast<const char *>(data);
    tla_arena_config config{};
    tla_error error{};
    tla_status status = tla_arena_snapshot_config(text, size, &config, &error);
    if (status != TLA_OK) {
        fuzz_require(status == TLA_SYNTAX && error.text[0] != '\0');
        return 0;
    }
    tla_arena *arena = nullptr;
    fuzz_require(tla_arena_create(&config, &arena) == TLA_OK);
    std::string before = snapshot(arena);
    status = tla_arena_restore(arena, text, size, &error);
    if (status != TLA_OK) {
        fuzz_require(status == TLA_UNSUPPORTED && snapshot(arena) == before);
    } else {
        fuzz_require(tla_arena_check(arena, &error) == TLA_OK);
        std::string once = snapshot(arena);
        fuzz_require(tla_arena_restore(arena, once.data(), once.size(), &error) == TLA_OK);
        fuzz_require(snapshot(arena) == once);
    }
    tla_arena_destroy(arena);
    return 0;
}
