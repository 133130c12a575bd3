// A stream of operations on an arena of one policy (TLMALLOC_FUZZ_POLICY), with validation on and with a map of the
// live blocks beside it: whatever the bytes say, both agree, and what validation must catch it catches.
#include "fuzz.hpp"
#include "tlmalloc/arena/arena.h"

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace {

class input {
  public:
    input(const uint8_t *data, size_t size) : at(data), end(data + size) {}
    bool empty() const { return at == end; }
    unsigned byte() { return at == end ? 0u : *at++; }
    uint64_t number() { // mostly small, sometimes of any size
        unsigned first = byte();
        if (first < 0xf0) return first * 16 + byte() % 16;
        uint64_t n = 0;
        for (unsigned i = 0; i < first - 0xe8; i++)
            n = n << 8 | byte();
        return n;
    }

  private:
    const uint8_t *at, *end;
};

struct state {
    tla_arena *arena;
    std::map<uint64_t, uint64_t> live; // offset -> bytes
    uint64_t alignment;
};

bool touches_live(const state &s, uint64_t offset, uint64_t nbytes) {
    auto next = s.live.lower_bound(offset);
    if (next != s.live.end() && next->first - offset < nbytes) return true;
    return next != s.live.begin() && offset - std::prev(next)->first < std::prev(next)->second;
}

void took(state &s, tla_block block, uint64_t nbytes, uint64_t alignment) {
    tla_arena_config c = tla_arena_get_config(s.arena);
    fuzz_require(block.nbytes >= nbytes && block.offset >= c.base && block.nbytes <= c.capacity);
    fuzz_require(block.offset - c.base <= c.capacity - block.nbytes);
    fuzz_require(block.offset % alignment == 0 && block.nbytes % s.alignment == 0);
    fuzz_require(!touches_live(s, block.offset, block.nbytes));
    s.live[block.offset] = block.nbytes;
}

// A list policy says no only when no block is large enough.
void refused(const state &s, tla_status status, uint64_t nbytes, uint64_t alignment) {
    const bool ranges = tla_policy_takes_ranges(TLMALLOC_FUZZ_POLICY);
    bool exact = TLMALLOC_FUZZ_POLICY != TLA_BUDDY && TLMALLOC_FUZZ_POLICY != TLA_TLSF && ranges;
    tla_arena_stats stats = tla_arena_get_stats(s.arena);
    if (nbytes == 0 || nbytes > uint64_t{1} << 63)
        fuzz_require(status == TLA_INVALID_ARGUMENT || (!ranges && alignment > s.alignment));
    else if (!ranges && alignment > s.alignment)
        fuzz_require(status == TLA_UNSUPPORTED);
    else if (exact && alignment == s.alignment)
        fuzz_require(stats.largest_free < (nbytes + s.alignment - 1) / s.alignment * s.alignment &&
                     status == (stats.free < (nbytes + s.alignment - 1) / s.alignment * s.alignment ? TLA_EXHAUSTED
                                                                                                    : TLA_FRAGMENTED));
    else
        fuzz_require(status == TLA_EXHAUSTED || status == TLA_FRAGMENTED);
}

std::pair<uint64_t, uint64_t> some_live(const state &s, unsigned which) {
    auto at = s.live.begin();
    std::advance(at, which % s.live.size());
    return *at;
}

std::string snapshot(const tla_arena *arena) {
    size_t length = 0;
    tla_arena_snapshot(arena, nullptr, 0, &length);
    std::string text(length + 1, '\0');
    fuzz_require(tla_arena_snapshot(arena, &text[0], text.size(), &length) == TLA_OK);
    text.resize(length);
    return text;
}

void free_wrongly(state &s, input &in) {
    uint64_t offset = in.number(), nbytes = in.number();
    if (!s.live.empty() && in.byte() % 2) offset = some_live(s, in.byte()).first + offset % 64;
    auto exact = s.live.find(offset);
    tla_status status = tla_arena_free(s.arena, {offset, nbytes}, nullptr);
    if (status != TLA_OK) return;
    fuzz_require(exact != s.live.end() && nbytes > 0 && nbytes <= exact->second);
    s.live.erase(exact);
}

void step(state &s, input &in) {
    tla_block block{}, blocks[12];
    unsigned what = in.byte() % 16;
    if (what < 5) {
        uint64_t nbytes = in.number();
        tla_status status = tla_arena_alloc(s.arena, nbytes, &block, nullptr);
        status == TLA_OK ? took(s, block, nbytes, s.alignment) : refused(s, status, nbytes, s.alignment);
    } else if (what == 5) {
        uint64_t nbytes = in.number(), alignment = uint64_t{1} << in.byte() % 64;
        tla_status status = tla_arena_alloc_aligned(s.arena, nbytes, alignment, &block, nullptr);
        status == TLA_OK ? took(s, block, nbytes, alignment) : refused(s, status, nbytes, alignment);
    } else if (what < 10) {
        if (s.live.empty()) return;
        auto victim = some_live(s, in.byte());
        fuzz_require(tla_arena_free(s.arena, {victim.first, victim.second}, nullptr) == TLA_OK);
        s.live.erase(victim.first);
        fuzz_require(tla_arena_free(s.arena, {victim.first, victim.second}, nullptr) == TLA_NOT_ALLOCATED);
    } else if (what == 10) {
        free_wrongly(s, in);
    } else if (what == 11) {
        tla_block range = {in.number(), in.number()};
        uint64_t rounded = (range.nbytes + s.alignment - 1) / s.alignment * s.alignment;
        bool busy = range.nbytes > 0 && range.nbytes < 1 << 30 && touches_live(s, range.offset, rounded);
        if (tla_arena_reserve(s.arena, range, nullptr) != TLA_OK) return;
        fuzz_require(!busy);
        fuzz_require(tla_arena_find(s.arena, range.offset, &block, nullptr) == TLA_OK);
        took(s, block, range.nbytes, 1);
    } else if (what == 12) {
        uint64_t nbytes = in.number();
        if (tla_arena_get_config(s.arena).capacity < 1 << 16 || nbytes > 1 << 20)
            tla_arena_grow(s.arena, nbytes % (uint64_t{1} << 62), nullptr);
    } else if (what < 15) {
        uint64_t nbytes = in.number();
        size_t n = in.byte() % 12;
        tla_batch kind = what == 13 ? TLA_BATCH_CONTIGUOUS : TLA_BATCH_CARVED;
        if (tla_arena_alloc_batch(s.arena, nbytes, n, kind, blocks, nullptr) == TLA_OK)
            for (size_t i = 0; i < n; i++)
                took(s, blocks[i], nbytes, s.alignment);
    } else {
        std::vector<tla_block> batch;
        for (unsigned n = in.byte() % 12; n > 0 && !s.live.empty(); n--) {
            auto victim = some_live(s, in.byte());
            batch.push_back({victim.first, victim.second});
        }
        tla_status status = tla_arena_free_batch(s.arena, batch.data(), batch.size(), nullptr);
        bool twice = false; // sorted by the call
        for (size_t i = 1; i < batch.size(); i++)
            twice |= batch[i].offset == batch[i - 1].offset;
        fuzz_require(status == (twice ? TLA_NOT_ALLOCATED : TLA_OK));
        for (size_t i = 0; i < batch.size() && status == TLA_OK; i++)
            s.live.erase(batch[i].offset);
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in(data, size);
    state s{nullptr, {}, uint64_t{1} << in.byte() % 8};
    tla_arena_config config{in.byte() % 4 * s.alignment, in.number() % 4096, TLMALLOC_FUZZ_POLICY, s.alignment, true};
    fuzz_require(tla_arena_create(&config, &s.arena) == TLA_OK);
    while (!in.empty()) {
        step(s, in);
        uint64_t used = 0;
        for (auto &block : s.live)
            used += block.second;
        fuzz_require(tla_arena_get_stats(s.arena).used == used);
        fuzz_require(tla_arena_check(s.arena, nullptr) == TLA_OK);
    }
    std::string text = snapshot(s.arena);
    fuzz_require(tla_arena_restore(s.arena, text.data(), text.size(), nullptr) == TLA_OK);
    fuzz_require(snapshot(s.arena) == text);
    for (auto &block : s.live)
        fuzz_require(tla_arena_free(s.arena, {block.first, block.second}, nullptr) == TLA_OK);
    fuzz_require(tla_arena_check_leaks(s.arena, nullptr) == TLA_OK);
    tla_arena_stats stats = tla_arena_get_stats(s.arena);
    fuzz_require(stats.free == stats.capacity);
    fuzz_require(TLMALLOC_FUZZ_POLICY == TLA_BUDDY || stats.free_blocks == (stats.capacity > 0));
    tla_arena_destroy(s.arena);
    return 0;
}
