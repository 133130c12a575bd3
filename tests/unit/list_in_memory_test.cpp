// A free list in memory: the accesses of single operations, and random ones played on a model of the memory.
#include "tlmalloc/memory/pe_memory.h"

#include "seeded_random.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <set>
#include <vector>

namespace {

uint64_t number(const uint8_t *bytes, int count) {
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

// An arena, its traffic, and the memory that the traffic writes; every read must find what was written.
struct listed {
    explicit listed(uint64_t nodes = 64, uint64_t entries = 0, tla_policy policy = TLA_FIRST_FIT)
        : cache_entries(entries) {
        const tla_arena_config config{0, 1 << 16, policy, 0, false};
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_list_in_memory_create(arena, nodes, entries, &traffic), TLA_OK);
        play();
    }
    ~listed() {
        tla_list_in_memory_destroy(traffic);
        tla_arena_destroy(arena);
    }
    listed(const listed &) = delete;
    listed &operator=(const listed &) = delete;

    bool alloc(uint64_t nbytes, tla_block *block) {
        BOOST_REQUIRE_EQUAL(tla_list_in_memory_prepare(traffic, nullptr), TLA_OK);
        tla_work work{};
        const bool fits = tla_arena_alloc(arena, nbytes, block, &work) == TLA_OK;
        tla_list_in_memory_alloc(traffic, fits ? block : nullptr, &work);
        visited = work.nodes_visited;
        play();
        return fits;
    }
    uint64_t alloc(uint64_t nbytes) {
        tla_block block{};
        BOOST_REQUIRE(alloc(nbytes, &block));
        return block.offset;
    }
    tla_status free(tla_block block) {
        const tla_status status = tla_list_in_memory_prepare(traffic, &block);
        if (status) return status;
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, block, nullptr), TLA_OK);
        tla_list_in_memory_free(traffic, block);
        play();
        return TLA_OK;
    }

    void play() {
        size_t count = 0;
        const tla_list_access *accesses = tla_list_in_memory_accesses(traffic, &count);
        reads = writes = hits = 0;
        for (size_t i = 0; i < count; i++) {
            const tla_list_access &a = accesses[i];
            std::array<uint8_t, TLA_LIST_NODE_BYTES> record;
            std::memcpy(record.data(), a.record, sizeof a.record);
            if (a.write)
                memory[a.slot] = record;
            else
                BOOST_REQUIRE(memory.count(a.slot) && memory[a.slot] == record);
            (a.write ? writes : reads)++;
            hits += a.hit;
        }
        check_cache(accesses, count);
        tla_list_in_memory_clear(traffic);
    }

    // The cache as a list, the least recently used node in front; nodes that left the list leave it before the writes.
    void check_cache(const tla_list_access *accesses, size_t count) {
        const auto drop_unused = [this] {
            std::set<uint32_t> used;
            for (uint32_t slot = tla_list_in_memory_head(traffic); slot != TLA_LIST_END;
                 slot = static_cast<uint32_t>(number(memory[slot].data() + 12, 4)))
                used.insert(slot);
            cache.remove_if([&](uint32_t slot) { return used.count(slot) == 0; });
        };
        bool dropped = false;
        for (size_t i = 0; i < count; i++) {
            if (accesses[i].write && !dropped) drop_unused();
            dropped |= accesses[i].write;
            const auto at = std::find(cache.begin(), cache.end(), accesses[i].slot);
            BOOST_REQUIRE_EQUAL(accesses[i].hit, !accesses[i].write && at != cache.end());
            if (at != cache.end()) cache.erase(at);
            cache.push_back(accesses[i].slot);
            if (cache.size() > cache_entries) cache.pop_front();
        }
        if (!dropped) drop_unused();
    }

    // The list as it stands in the memory.
    std::vector<std::pair<uint64_t, uint64_t>> in_memory() {
        std::vector<std::pair<uint64_t, uint64_t>> list;
        for (uint32_t slot = tla_list_in_memory_head(traffic); slot != TLA_LIST_END;) {
            BOOST_REQUIRE(memory.count(slot) && list.size() < 100'000);
            const uint8_t *record = memory[slot].data();
            list.emplace_back(number(record, 6), number(record + 6, 6));
            slot = static_cast<uint32_t>(number(record + 12, 4));
        }
        return list;
    }
    std::vector<std::pair<uint64_t, uint64_t>> in_arena() const {
        std::vector<tla_block> blocks(100'000);
        blocks.resize(tla_arena_free_blocks(arena, 0, blocks.data(), blocks.size()));
        std::vector<std::pair<uint64_t, uint64_t>> list;
        for (const tla_block &b : blocks)
            list.emplace_back(b.offset, b.nbytes);
        return list;
    }

    const uint64_t cache_entries;
    tla_arena *arena = nullptr;
    tla_list_in_memory *traffic = nullptr;
    std::map<uint32_t, std::array<uint8_t, TLA_LIST_NODE_BYTES>> memory;
    std::list<uint32_t> cache;
    uint64_t reads = 0, writes = 0, hits = 0, visited = 0;
};

// Five holes of 100 bytes, 100 apart; the rest of the arena behind them.
void make_holes(listed &l) {
    uint64_t blocks[10];
    for (uint64_t &b : blocks)
        b = l.alloc(100);
    for (int i = 0; i < 10; i += 2)
        BOOST_REQUIRE_EQUAL(l.free({blocks[i], 100}), TLA_OK);
}

} // namespace

BOOST_AUTO_TEST_CASE(an_allocation_reads_the_nodes_that_first_fit_visits_and_writes_the_one_it_cuts) {
    listed l;
    make_holes(l);
    l.alloc(200); // past five holes
    BOOST_CHECK_EQUAL(l.reads, 6u);
    BOOST_CHECK_EQUAL(l.writes, 1u);
    l.alloc(40);
    BOOST_CHECK_EQUAL(l.reads, 1u);
    BOOST_CHECK_EQUAL(l.writes, 1u);
}

BOOST_AUTO_TEST_CASE(a_node_that_is_used_up_is_unlinked_by_a_write_to_the_one_in_front) {
    listed l;
    make_holes(l);
    BOOST_CHECK_EQUAL(l.alloc(100), 0u); // the first: the head register is all that changes
    BOOST_CHECK_EQUAL(l.writes, 0u);
    l.alloc(40); // cuts the hole at 200
    BOOST_CHECK_EQUAL(l.alloc(100), 400u);
    BOOST_CHECK_EQUAL(l.reads, 2u);
    BOOST_CHECK_EQUAL(l.writes, 1u);
}

BOOST_AUTO_TEST_CASE(a_free_walks_to_its_place_and_writes_what_it_joins_or_links) {
    listed l;
    make_holes(l);                                 // free: 0, 200, 400, 600, 800 and the rest from 1000 on
    BOOST_CHECK_EQUAL(l.free({500, 100}), TLA_OK); // between 400 and 600: three become one
    BOOST_CHECK_EQUAL(l.reads, 4u);
    BOOST_CHECK_EQUAL(l.writes, 1u);
    BOOST_CHECK_EQUAL(l.free({740, 20}), TLA_OK); // alone: its own node and the link in front
    BOOST_CHECK_EQUAL(l.reads, 4u);               // 0, 200, 400, and 800 behind the place
    BOOST_CHECK_EQUAL(l.writes, 2u);
    BOOST_CHECK(l.in_memory() == l.in_arena());
}

BOOST_AUTO_TEST_CASE(a_failed_allocation_reads_the_whole_list) {
    listed l;
    make_holes(l);
    tla_block block{};
    BOOST_CHECK(!l.alloc(1 << 16, &block));
    BOOST_CHECK_EQUAL(l.reads, 6u);
    BOOST_CHECK_EQUAL(l.writes, 0u);
}

BOOST_AUTO_TEST_CASE(a_cache_that_holds_the_list_serves_every_read_and_a_smaller_one_thrashes) {
    listed large(64, 8), small(64, 4);
    for (listed *l : {&large, &small}) {
        make_holes(*l);
        l->alloc(200);
        l->alloc(200);
        BOOST_CHECK_EQUAL(l->reads, 6u);
        BOOST_CHECK_EQUAL(l->hits,
                          l == &large ? 6u : 0u); // least recently used first out: a walk in circles never hits
    }
}

BOOST_AUTO_TEST_CASE(a_free_without_a_node_for_it_fails_and_changes_nothing) {
    listed l(4);
    uint64_t blocks[8];
    for (uint64_t &b : blocks)
        b = l.alloc(100);
    BOOST_CHECK_EQUAL(l.free({blocks[1], 100}), TLA_OK);
    BOOST_CHECK_EQUAL(l.free({blocks[3], 100}), TLA_OK); // three nodes; one is kept for an allocation's tail
    const auto before = l.in_memory();
    BOOST_CHECK_EQUAL(l.free({blocks[5], 100}), TLA_LIMIT);
    BOOST_CHECK(l.in_memory() == before);
    BOOST_CHECK_EQUAL(l.free({blocks[2], 100}), TLA_OK); // joins two
    BOOST_CHECK_EQUAL(l.free({blocks[5], 100}), TLA_OK);
}

BOOST_AUTO_TEST_CASE(policies_without_a_list_from_the_front_are_unsupported) {
    for (tla_policy policy : {TLA_BUDDY, TLA_TLSF, TLA_FIRST_FIT_TOP}) {
        const tla_arena_config config{0, 1 << 16, policy, 0, false};
        tla_arena *arena = nullptr;
        tla_list_in_memory *traffic = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_CHECK_EQUAL(tla_list_in_memory_create(arena, 64, 0, &traffic), TLA_UNSUPPORTED);
        BOOST_CHECK(!traffic);
        tla_arena_destroy(arena);
    }
}

BOOST_AUTO_TEST_CASE(the_list_in_memory_is_the_arenas_after_every_operation) {
    seeded_random random(99);
    for (tla_policy policy : {TLA_FIRST_FIT, TLA_BEST_FIT, TLA_NEXT_FIT, TLA_WORST_FIT}) {
        listed l(1 << 12, 40, policy); // sometimes the whole list, sometimes not
        std::vector<tla_block> live;
        for (int step = 0; step < 6000; step++) {
            tla_block block{};
            if (live.size() < 400 && !random.one_in(3)) {
                if (l.alloc(random.between(1, 400), &block)) live.push_back(block);
                BOOST_REQUIRE_EQUAL(l.reads, l.visited);
            } else if (!live.empty()) {
                const size_t i = random.between(0, live.size() - 1);
                BOOST_REQUIRE_EQUAL(l.free(live[i]), TLA_OK);
                live[i] = live.back();
                live.pop_back();
            }
            if (step % 7 == 0) BOOST_REQUIRE(l.in_memory() == l.in_arena());
        }
    }
}
