// An arena that a test can write down in a line.
#ifndef TLMALLOC_TESTS_PLACEMENT_ARENA_HPP
#define TLMALLOC_TESTS_PLACEMENT_ARENA_HPP

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/base/work.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>

class placement_arena {
  public:
    placement_arena(tla_policy policy, std::uint64_t capacity, std::uint64_t base = 0, std::uint64_t alignment = 1) {
        tla_arena_config config{};
        config.base = base;
        config.capacity = capacity;
        config.policy = policy;
        config.alignment = alignment;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~placement_arena() { tla_arena_destroy(arena); }
    placement_arena(const placement_arena &) = delete;
    placement_arena &operator=(const placement_arena &) = delete;

    // The offset; `work` is the receipt of this call alone.
    std::uint64_t alloc(std::uint64_t nbytes, std::uint64_t alignment = 1) {
        tla_block block{};
        begin();
        BOOST_REQUIRE_EQUAL(tla_arena_alloc_aligned(arena, nbytes, alignment, &block, &work), TLA_OK);
        return block.offset;
    }
    tla_status try_alloc(std::uint64_t nbytes, std::uint64_t alignment = 1) {
        tla_block block{};
        begin();
        return tla_arena_alloc_aligned(arena, nbytes, alignment, &block, &work);
    }
    void free(std::uint64_t offset, std::uint64_t nbytes) {
        begin();
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, {offset, nbytes}, &work), TLA_OK);
    }
    // The whole range in use but for these blocks.
    void leave_free(std::initializer_list<tla_block> holes) {
        tla_arena_config config = tla_arena_get_config(arena);
        BOOST_REQUIRE_EQUAL(tla_arena_reserve(arena, {config.base, config.capacity}, nullptr), TLA_OK);
        for (tla_block hole : holes)
            free(hole.offset, hole.nbytes);
    }
    std::uint64_t free_blocks() const { return tla_arena_get_stats(arena).free_blocks; }

    tla_arena *arena = nullptr;
    tla_engine_work engine{}; // its receipt
    tla_work work{};

    // An empty receipt.
    void begin() {
        engine = {};
        work = {};
        work.engine = &engine;
    }
};

#endif
