// A page table that lives in a memory: a walker that knows only the format of its entries finds what was mapped.
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/vm/page_table.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <map>
#include <random>
#include <vector>

namespace {
const uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;
const uint32_t rw = TLA_READ | TLA_WRITE;

// Table memory: an arena says where, a map holds the words; fresh memory holds rubbish.
class memory {
  public:
    explicit memory(uint64_t capacity) {
        tla_arena_config config{};
        config.base = base;
        config.capacity = capacity;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    }
    ~memory() { tla_arena_destroy(arena); }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;

    tla_table_memory interface() {
        tla_table_memory m{};
        m.alloc = [](void *self, uint64_t nbytes, tla_paddr *pa) {
            return static_cast<memory *>(self)->alloc(nbytes, pa);
        };
        m.free = [](void *self, tla_paddr pa, uint64_t nbytes) { static_cast<memory *>(self)->release(pa, nbytes); };
        m.write = [](void *self, tla_paddr pa, const uint64_t *entries, size_t count) {
            for (size_t i = 0; i < count; i++)
                static_cast<memory *>(self)->word(pa.value + 8 * i) = entries[i];
            static_cast<memory *>(self)->writes += count;
        };
        m.context = this;
        return m;
    }
    uint64_t &word(uint64_t pa) {
        auto found = words.find(pa);
        BOOST_REQUIRE_MESSAGE(found != words.end(), "access outside of every table");
        return found->second;
    }
    uint64_t used() const { return tla_arena_get_stats(arena).used; }

    static constexpr uint64_t base = uint64_t{1} << 37;
    uint64_t writes = 0;
    int fail_after = -1; // allocations that still succeed; -1: until the arena is full
    std::map<uint64_t, uint64_t> words;

  private:
    tla_status alloc(uint64_t nbytes, tla_paddr *pa) {
        if (fail_after == 0) return TLA_EXHAUSTED;
        if (fail_after > 0) fail_after--;
        tla_block block{};
        tla_status status = tla_arena_alloc(arena, nbytes, &block, nullptr);
        if (status) return status;
        pa->value = block.offset;
        for (uint64_t i = 0; i < nbytes; i += 8)
            words[block.offset + i] = 0xDEADDEADDEADDEAD;
        return TLA_OK;
    }
    void release(tla_paddr pa, uint64_t nbytes) {
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, {pa.value, nbytes}, nullptr), TLA_OK);
        for (uint64_t i = 0; i < nbytes; i += 8)
            words.erase(pa.value + i);
    }
    tla_arena *arena = nullptr;
};

tla_map_entry entry(uint64_t va, uint64_t pa, uint64_t nbytes, uint32_t asid = 0, uint32_t flags = rw) {
    return {{va}, {pa}, nbytes, flags, asid};
}

struct fixture {
    explicit fixture(uint64_t capacity = 64 * MiB, bool remap = false) : tables(capacity) {
        tla_page_table_config config{};
        config.page_size = 4 * KiB;
        config.larger_page_sizes[0] = 64 * KiB;
        config.larger_page_sizes[1] = 2 * MiB;
        config.va_bits = 48;
        config.asids = 2;
        config.allow_remap = remap;
        config.memory = tables.interface();
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
    }
    ~fixture() { tla_page_table_destroy(table); }
    fixture(const fixture &) = delete;
    fixture &operator=(const fixture &) = delete;
    tla_status map(std::vector<tla_map_entry> entries) {
        return tla_page_table_map(table, entries.data(), entries.size(), nullptr, &error);
    }
    tla_status unmap(std::vector<tla_map_entry> ranges) {
        return tla_page_table_unmap(table, ranges.data(), ranges.size(), nullptr, &error);
    }

    // Walks the words of the memory. Levels of {4 KiB, 64 KiB, 2 MiB}, 48 bits: 39, 30, 21, 16, 12.
    tla_status read(uint32_t asid, uint64_t va, tla_translation &t, std::vector<uint64_t> &reads) {
        reads.clear();
        tla_paddr at{};
        if (tla_page_table_root(table, asid, &at)) return TLA_UNMAPPED;
        const unsigned shifts[] = {48, 39, 30, 21, 16, 12};
        for (int level = 1; level <= 5; level++) {
            uint64_t index = va >> shifts[level] & ((uint64_t{1} << (shifts[level - 1] - shifts[level])) - 1);
            reads.push_back(at.value + 8 * index);
            tla_pte pte{};
            BOOST_REQUIRE_EQUAL(tla_pte_decode(tables.word(reads.back()), &pte), TLA_OK);
            uint64_t offset = va & ((uint64_t{1} << shifts[level]) - 1);
            if (pte.kind == TLA_PTE_ABSENT) return TLA_UNMAPPED;
            if (pte.kind == TLA_PTE_PAGE) {
                BOOST_REQUIRE_GE(level, 3); // no page of 1 GiB is configured
                t = {{pte.pa.value + offset}, (uint64_t{1} << shifts[level]) - offset, pte.flags};
                return TLA_OK;
            }
            at = pte.pa;
            if (pte.kind == TLA_PTE_REGIONS) {
                BOOST_REQUIRE_EQUAL(level, 5);
                reads.push_back(at.value);
                uint64_t past = 0;
                for (;; at.value += 16) {
                    uint64_t where = tables.word(at.value), first = where & UINT32_MAX, nbytes = where >> 32;
                    if (where == 0) return TLA_UNMAPPED;
                    BOOST_REQUIRE_GE(first, past); // sorted, no overlap
                    past = first + nbytes;
                    if (offset < first || offset >= past) continue;
                    BOOST_REQUIRE_EQUAL(tla_pte_decode(tables.word(at.value + 8), &pte), TLA_OK);
                    t = {{pte.pa.value + (offset - first)}, past - offset, pte.flags};
                    return TLA_OK;
                }
            }
        }
        BOOST_FAIL("a table below the last level");
        return TLA_UNMAPPED;
    }

    memory tables;
    tla_page_table *table = nullptr;
    tla_error error{};
};
} // namespace

BOOST_AUTO_TEST_CASE(entries_round_trip_and_reserved_ones_are_rejected) {
    const unsigned seed = 20260112;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 100000; i++) {
        tla_pte pte{}, back{};
        pte.kind = static_cast<tla_pte_kind>(1 + random() % 3);
        pte.pa.value = random() >> (64 - TLA_PADDR_BITS);
        if (pte.kind == TLA_PTE_PAGE) pte.flags = static_cast<uint32_t>(1 + random() % 3);
        uint64_t word = 0;
        BOOST_REQUIRE_EQUAL(tla_pte_encode(&pte, &word), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_pte_decode(word, &back), TLA_OK);
        BOOST_REQUIRE(back.kind == pte.kind && back.pa.value == pte.pa.value && back.flags == pte.flags);
    }
    tla_pte pte{};
    BOOST_CHECK_EQUAL(tla_pte_decode(0, &pte), TLA_OK);
    BOOST_CHECK_EQUAL(pte.kind, TLA_PTE_ABSENT);
    uint64_t page = 0;
    tla_pte good{TLA_PTE_PAGE, {0x1000}, rw};
    BOOST_REQUIRE_EQUAL(tla_pte_encode(&good, &page), TLA_OK);
    BOOST_CHECK_EQUAL(page, uint64_t{1} << 53 | uint64_t{3} << 51 | 0x1000);
    for (int bit = 55; bit < 64; bit++)
        BOOST_CHECK_EQUAL(tla_pte_decode(page | uint64_t{1} << bit, &pte), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(tla_pte_decode(uint64_t{1} << 53 | 0x1000, &pte), TLA_BAD_COMMAND); // page without permission
    BOOST_CHECK_EQUAL(tla_pte_decode(uint64_t{1} << 54 | uint64_t{1} << 51, &pte), TLA_BAD_COMMAND); // table with one
    BOOST_CHECK_EQUAL(tla_pte_decode(0x1000, &pte), TLA_BAD_COMMAND); // absent with an address
    tla_pte far{TLA_PTE_TABLE, {uint64_t{1} << TLA_PADDR_BITS}, 0};
    BOOST_CHECK_EQUAL(tla_pte_encode(&far, &page), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(one_page_takes_one_table_a_level_and_gives_them_back) {
    fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 0x123, 4 * KiB)}), TLA_OK);
    tla_page_table_stats stats = tla_page_table_get_stats(f.table);
    BOOST_CHECK_EQUAL(stats.tables, 5u); // 9 + 9 + 9 + 5 + 4 bits
    BOOST_CHECK_EQUAL(stats.table_bytes, 3 * 4096u + 256u + 128u);
    BOOST_CHECK_EQUAL(f.tables.used(), stats.table_bytes);
    tla_walk walk{};
    BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, 0, {4 * GiB}, &walk), TLA_OK);
    BOOST_CHECK_EQUAL(walk.reads, 5u);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(4 * GiB, 0, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.tables.used(), 0u);
    BOOST_CHECK_EQUAL(tla_page_table_get_stats(f.table).tables, 0u);
    tla_paddr root{};
    BOOST_CHECK_EQUAL(tla_page_table_root(f.table, 0, &root), TLA_UNMAPPED);
}

BOOST_AUTO_TEST_CASE(one_more_page_in_a_table_is_one_entry_written) {
    fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB, 0, 4 * KiB)}), TLA_OK);
    f.tables.writes = 0;
    BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB + 4 * KiB, 0x9000, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.tables.writes, 1u);
    BOOST_REQUIRE_EQUAL(f.unmap({entry(4 * GiB + 4 * KiB, 0, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.tables.writes, 2u);
}

BOOST_AUTO_TEST_CASE(destroying_a_table_gives_its_memory_back) {
    memory tables(16 * MiB);
    tla_page_table_config config{};
    config.page_size = 4 * KiB;
    config.memory = tables.interface();
    tla_page_table *table = nullptr;
    BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
    tla_map_entry e = entry(0x1800, 0x5, 3 * MiB);
    BOOST_REQUIRE_EQUAL(tla_page_table_map(table, &e, 1, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_GT(tables.used(), 0u);
    tla_page_table_destroy(table);
    BOOST_CHECK_EQUAL(tables.used(), 0u);
}

BOOST_AUTO_TEST_CASE(table_memory_that_ends_half_way_leaves_nothing_of_the_batch) {
    // Every single allocation of a batch fails once; words, translations and counts are as before each time.
    std::vector<tla_map_entry> batch;
    for (uint64_t i = 0; i < 6; i++) {
        batch.push_back(entry(4 * GiB + i * 3 * MiB + 0x200 * i, 0x10000 * i + 7, 0x4800));
        batch.push_back(entry(9 * GiB + i * GiB, 2 * MiB * i, 4 * MiB + 64 * KiB, 1));
    }
    for (bool remap : {false, true}) {
        fixture f(64 * MiB, remap);
        BOOST_REQUIRE_EQUAL(f.map({entry(4 * GiB + 8 * MiB, 0, 4 * KiB), entry(9 * GiB + 8 * MiB, 0, 2 * MiB, 1)}),
                            TLA_OK);
        if (remap) BOOST_REQUIRE_EQUAL(f.map({entry(9 * GiB + 0x700, 3, 0x200, 1)}), TLA_OK);
        const std::map<uint64_t, uint64_t> words = f.tables.words;
        const tla_page_table_stats before = tla_page_table_get_stats(f.table);
        int allocations = 0;
        for (;; allocations++) {
            f.tables.fail_after = allocations;
            tla_status status = f.map(batch);
            if (!status) break;
            BOOST_REQUIRE_EQUAL(status, TLA_EXHAUSTED);
            BOOST_REQUIRE(std::strstr(f.error.text, "a page table cannot be allocated: out of memory") != nullptr);
            BOOST_REQUIRE(f.tables.words == words);
            tla_page_table_stats after = tla_page_table_get_stats(f.table);
            BOOST_REQUIRE_EQUAL(after.mapped_bytes, before.mapped_bytes);
            BOOST_REQUIRE_EQUAL(after.pages, before.pages);
            BOOST_REQUIRE_EQUAL(after.regions, before.regions);
            BOOST_REQUIRE_EQUAL(after.tables, before.tables);
            BOOST_REQUIRE_EQUAL(after.remaps, before.remaps);
            for (const tla_map_entry &e : batch) {
                tla_translation t{};
                tla_status found = tla_page_table_translate_in(f.table, e.asid, e.va, 1, 0, &t, nullptr);
                BOOST_REQUIRE_EQUAL(found, TLA_UNMAPPED);
            }
        }
        BOOST_CHECK_GT(allocations, 20);
        // And the other way: an unmap that must break pages and finds no memory for it.
        const std::map<uint64_t, uint64_t> mapped = f.tables.words;
        f.tables.fail_after = 0;
        BOOST_CHECK_EQUAL(f.unmap({entry(10 * GiB, 0, 4 * KiB, 1), entry(4 * GiB + 8 * MiB, 0, 4 * KiB)}),
                          TLA_EXHAUSTED);
        BOOST_CHECK(f.tables.words == mapped);
        f.tables.fail_after = -1;
        BOOST_CHECK_EQUAL(f.unmap({entry(10 * GiB, 0, 4 * KiB, 1), entry(4 * GiB + 8 * MiB, 0, 4 * KiB)}), TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(random_maps_are_found_by_a_walk_over_the_words) {
    const unsigned seed = 20260113;
    BOOST_TEST_MESSAGE("seed " << seed);
    for (bool remap : {false, true}) {
        std::mt19937 random(seed);
        fixture f(6 * 4096 + 40 * 1024, remap); // small enough to run out now and then
        int limits = 0, done = 0;
        for (int step = 0; step < 20000; step++) {
            const uint64_t units[] = {100, 4 * KiB, 64 * KiB, 2 * MiB};
            uint64_t unit = units[random() % 4];
            auto asid = static_cast<uint32_t>(random() % 2);
            uint64_t va = 4 * GiB - 4 * MiB + random() % (8 * MiB / unit) * unit, nbytes = (1 + random() % 3) * unit;
            if (random() % 2)
                done += f.map({entry(va, va + (random() % 3) * 4 * KiB, nbytes, asid)}) == TLA_OK;
            else
                done += f.unmap({entry(va, 0, nbytes, asid)}) == TLA_OK;
            limits += f.error.status == TLA_EXHAUSTED || f.error.status == TLA_FRAGMENTED;
            f.error = {};
            for (int i = 0; i < 4; i++) {
                uint64_t at = 4 * GiB - 4 * MiB + random() % (8 * MiB);
                tla_translation by_words{}, by_table{};
                std::vector<uint64_t> reads;
                tla_walk walk{};
                tla_status status = f.read(asid, at, by_words, reads);
                BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, asid, {at}, &walk), status);
                BOOST_REQUIRE_EQUAL(walk.reads, reads.size());
                for (size_t r = 0; r < reads.size(); r++)
                    BOOST_REQUIRE_EQUAL(walk.read[r].pa.value, reads[r]);
                BOOST_REQUIRE_EQUAL(tla_page_table_translate_in(f.table, asid, {at}, 1, 0, &by_table, nullptr), status);
                if (status) continue;
                BOOST_REQUIRE_EQUAL(by_words.pa.value, by_table.pa.value);
                BOOST_REQUIRE_EQUAL(by_words.flags, by_table.flags);
                BOOST_REQUIRE_EQUAL(by_words.nbytes, walk.nbytes - (at - walk.va.value));
            }
            BOOST_REQUIRE_EQUAL(tla_page_table_get_stats(f.table).table_bytes, f.tables.used());
        }
        tla_page_table_destroy(f.table); // nothing is left behind
        f.table = nullptr;
        BOOST_CHECK_EQUAL(f.tables.used(), 0u);
        BOOST_CHECK_GT(limits, 10);
        BOOST_CHECK_GT(done, 1000);
    }
}

// Changes that lead mapped addresses elsewhere, and back.

namespace {
tla_status change(fixture &f, tla_table_change what, std::vector<tla_map_entry> entries) {
    const tla_status status = tla_page_table_change(f.table, what, entries.data(), entries.size(), nullptr, &f.error);
    uint64_t words[TLA_TABLE_WRITE_ENTRIES];
    const tla_table_memory memory = f.tables.interface();
    for (tla_table_duty duty; !status && tla_page_table_next(f.table, &duty, words);) {
        if (duty.write)
            memory.write(memory.context, duty.pa, words, duty.nbytes / 8);
        else
            memory.free(memory.context, duty.pa, duty.nbytes);
    }
    return status;
}
} // namespace

BOOST_AUTO_TEST_CASE(a_remap_of_the_only_page_of_a_table_writes_one_entry) {
    fixture f;
    BOOST_REQUIRE_EQUAL(f.map({entry(0, GiB, 4 * KiB)}), TLA_OK);
    const uint64_t writes = f.tables.writes, used = f.tables.used();
    f.tables.fail_after = 0;
    BOOST_REQUIRE_EQUAL(change(f, TLA_TABLE_REMAP, {entry(0, 2 * GiB + 4 * KiB, 4 * KiB)}), TLA_OK);
    BOOST_CHECK_EQUAL(f.tables.writes, writes + 1);
    BOOST_CHECK_EQUAL(f.tables.used(), used);
}

// Sizes and alignments are such that pages of all sizes, and regions, are cut and joined.
BOOST_AUTO_TEST_CASE(a_remap_can_be_taken_back_when_the_memory_is_full) {
    std::mt19937_64 random(7);
    const auto below = [&](uint64_t n) { return random() % n; };
    const uint64_t units[] = {256, 4 * KiB, 64 * KiB, 2 * MiB};
    unsigned remaps = 0, refused = 0;
    for (int round = 0; round < 300; round++) {
        fixture f;
        std::map<uint64_t, tla_map_entry> mapped; // by va
        for (int i = 0; i < 12; i++) {
            const uint64_t unit = units[below(4)];
            tla_map_entry e =
                entry(below(16 * MiB / unit) * unit, GiB + below(16 * MiB / unit) * unit, (1 + below(6)) * unit);
            e.flags = below(4) ? rw : uint32_t{TLA_READ};
            if (f.map({e}) == TLA_OK) mapped[e.va.value] = e;
        }
        // Some parts of what is mapped, each at another place; a command remaps no byte twice.
        std::vector<tla_map_entry> old, moved;
        for (const auto &[va, whole] : mapped) {
            if (below(2)) continue;
            tla_map_entry e = whole;
            if (below(2)) {
                const uint64_t cut = below(e.nbytes / 256) * 256;
                e = entry(va + cut, e.pa.value + cut, (1 + below((e.nbytes - cut) / 256)) * 256, 0, e.flags);
            }
            old.push_back(e);
            e.pa.value = 4 * GiB + below(16 * MiB / 256) * units[below(4)];
            moved.push_back(e);
        }
        f.tables.fail_after = static_cast<int>(below(12));
        const tla_status status = change(f, TLA_TABLE_REMAP, moved);
        refused += status != TLA_OK;
        remaps += status == TLA_OK;
        f.tables.fail_after = 0;
        if (!status) BOOST_REQUIRE_EQUAL(change(f, TLA_TABLE_RESTORE, old), TLA_OK);
        f.tables.fail_after = -1;
        uint64_t mapped_bytes = 0;
        for (const auto &[va, e] : mapped) {
            mapped_bytes += e.nbytes;
            for (uint64_t offset = 0; offset < e.nbytes;) {
                tla_translation t{};
                std::vector<uint64_t> reads;
                BOOST_REQUIRE_EQUAL(f.read(0, va + offset, t, reads), TLA_OK);
                BOOST_REQUIRE_EQUAL(t.pa.value, e.pa.value + offset);
                BOOST_REQUIRE_EQUAL(t.flags, e.flags);
                offset += t.nbytes;
            }
        }
        BOOST_REQUIRE_EQUAL(tla_page_table_get_stats(f.table).mapped_bytes, mapped_bytes);
        BOOST_REQUIRE_EQUAL(f.tables.used(), tla_page_table_get_stats(f.table).table_bytes);
        for (const auto &[va, e] : mapped)
            BOOST_REQUIRE_EQUAL(f.unmap({e}), TLA_OK);
        BOOST_REQUIRE_EQUAL(f.tables.used(), 0u);
        const tla_page_table_stats s = tla_page_table_get_stats(f.table);
        BOOST_REQUIRE_EQUAL(s.pages + s.regions + s.tables + s.mapped_bytes, 0u);
    }
    BOOST_CHECK_GT(remaps, 100u);
    BOOST_CHECK_GT(refused, 10u);
}
