// Streams of chunks through the MMU's front end: what merge slots and walkers are worth, what a cold lookup takes while
// a change is not visible.
#include "tlmalloc/translation/mmu.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace {

const uint64_t KiB = 1024, MiB = 1024 * KiB, page = 4 * KiB, walk_ps = 400'000;

struct setting {
    uint32_t walkers, merge_slots, tlb_entries; // entries 0: no TLB
    bool hit_under_miss = true, path_registers = false;
};

using mmu_ptr = std::unique_ptr<tla_mmu, void (*)(tla_mmu *)>;

mmu_ptr make(const setting &s) {
    tla_mmu_config c{};
    c.walk = TLA_WALK_FLAT;
    c.table.page_size = page;
    c.table.larger_page_sizes[0] = 2 * MiB;
    c.table.va_bits = 48;
    c.table.allow_remap = true;
    c.tlb.levels = s.tlb_entries ? 2 : 0;
    c.tlb.level[0] = {std::min(s.tlb_entries, 32u), 0, 1000, TLA_REPLACE_LRU};
    c.tlb.level[1] = {s.tlb_entries, 0, 5000, TLA_REPLACE_LRU};
    c.walkers.walkers = s.walkers;
    c.walkers.merge_slots = s.merge_slots;
    c.walkers.hit_under_miss = s.hit_under_miss;
    c.walkers.path_registers = s.path_registers;
    c.walkers.level_ps = walk_ps / 4;
    tla_mmu *mmu = nullptr;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_mmu_create(&c, &mmu, &error) == TLA_OK, error.text);
    return {mmu, tla_mmu_destroy};
}

void change(tla_mmu *mmu, bool map, const tla_map_entry &entry, uint64_t at_ps, uint64_t visible_ps) {
    tla_error error{};
    const tla_status status = map ? tla_mmu_map(mmu, &entry, 1, &at_ps, nullptr, &error)
                                  : tla_mmu_unmap(mmu, &entry, 1, &at_ps, nullptr, &error);
    BOOST_REQUIRE_MESSAGE(status == TLA_OK, error.text);
    tla_mmu_make_visible(mmu, visible_ps);
}

// The addresses that a DMA asks for, in its order.
enum class pattern { sequential, two_tensors, one_chunk_a_page };

std::vector<uint64_t> addresses(pattern order, uint64_t nbytes, uint64_t chunk) {
    std::vector<uint64_t> result;
    for (uint64_t i = 0; i < nbytes / chunk; i++)
        if (order == pattern::sequential)
            result.push_back(i * chunk);
        else if (order == pattern::two_tensors)
            result.push_back(i / 2 * chunk + i % 2 * nbytes / 2);
        else
            result.push_back(i * page % nbytes + i * page / nbytes * chunk);
    return result;
}

// When the last chunk is translated. One is issued every chunk / 256 GB/s, while fewer than `outstanding` are under
// way.
uint64_t stream_ps(const setting &s, const std::vector<uint64_t> &chunks, uint64_t chunk, size_t outstanding) {
    const mmu_ptr mmu = make(s);
    for (uint64_t va = 0; va < 64 * KiB; va += page) // scattered, so that they stay small
        change(mmu.get(), true, {{va}, {(MiB - va) * 2}, page, TLA_READ, 0}, 0, 0);
    std::vector<uint64_t> done(outstanding, 0);
    uint64_t next = 1, end = 0;
    for (size_t i = 0; i < chunks.size(); i++) {
        const tla_mmu_access access{0, {chunks[i]}, chunk, TLA_READ};
        uint64_t at = std::max(next, done[i % outstanding]);
        next = at + chunk * 1000 / 256;
        tla_mmu_piece piece{};
        BOOST_REQUIRE_EQUAL(tla_mmu_translate(mmu.get(), &access, &at, &piece), TLA_OK);
        done[i % outstanding] = at;
        end = std::max(end, at);
    }
    return end;
}

} // namespace

BOOST_AUTO_TEST_CASE(more_merge_slots_never_make_a_stream_slower) {
    unsigned gains = 0;
    const auto sweep = [&](const setting &base, std::vector<uint32_t> slots, pattern order, uint64_t chunk,
                           size_t outstanding) {
        const std::vector<uint64_t> chunks = addresses(order, 64 * KiB, chunk);
        uint64_t fewer = UINT64_MAX;
        for (uint32_t merge_slots : slots) {
            setting s = base;
            s.merge_slots = merge_slots;
            const uint64_t took = stream_ps(s, chunks, chunk, outstanding);
            BOOST_CHECK_MESSAGE(took <= fewer, "pattern " << static_cast<int>(order) << ", chunks of " << chunk << ", "
                                                          << s.walkers << " walkers, TLB of " << s.tlb_entries << ", "
                                                          << outstanding << " outstanding, hit under miss "
                                                          << s.hit_under_miss << ", path registers " << s.path_registers
                                                          << ": " << merge_slots << " slots take " << took
                                                          << " ps, fewer took " << fewer);
            gains += took < fewer && fewer != UINT64_MAX;
            fewer = took;
        }
    };
    for (pattern order : {pattern::sequential, pattern::two_tensors, pattern::one_chunk_a_page})
        for (uint64_t chunk : {64u, 256u, 1024u})
            for (uint32_t walkers : {1u, 2u, 3u, 8u, 128u})
                for (uint32_t entries : {0u, 8u, 2048u})
                    for (size_t outstanding : {8u, 256u, 65536u}) {
                        sweep({walkers, 0, entries}, {0, 1, 2, 15, 32, 63, 1024}, order, chunk, outstanding);
                        sweep({walkers, 0, entries, false}, {0, 1, 32}, order, chunk, outstanding);
                        // Walks that merging saves would have warmed the registers of more walkers: not from 0 on.
                        sweep({walkers, 0, entries, true, true}, {1, 32}, order, chunk, outstanding);
                    }
    BOOST_CHECK_GT(gains, 100u);
}

BOOST_AUTO_TEST_CASE(chunks_of_64_bytes_get_a_page_for_every_walk_with_32_merge_slots) {
    const std::vector<uint64_t> chunks = addresses(pattern::sequential, 64 * KiB, 64); // 16 pages of 64 chunks
    const uint64_t issue_ps = 63 * 250, lookup_ps = 6000;
    BOOST_CHECK_EQUAL(stream_ps({16, 32, 2048}, chunks, 64, 65536), 1 + 15 * 64 * 250 + lookup_ps + walk_ps);
    BOOST_CHECK_EQUAL(stream_ps({8, 32, 2048}, chunks, 64, 65536), // the ninth page waits for the first walker
                      1 + 2 * walk_ps + lookup_ps + 7 * 64 * 250);
    BOOST_CHECK_GT(stream_ps({8, 0, 2048}, chunks, 64, 65536), 16 * walk_ps - issue_ps); // a page at a time
}

BOOST_AUTO_TEST_CASE(an_access_without_a_merge_slot_holds_up_its_own_page_and_no_other) {
    const mmu_ptr mmu = make({2, 1, 64});
    change(mmu.get(), true, {{0}, {MiB}, 4 * page, TLA_READ, 0}, 0, 0);
    const auto done = [&](uint64_t va, uint64_t at) {
        const tla_mmu_access access{0, {va}, 64, TLA_READ};
        tla_mmu_piece piece{};
        BOOST_REQUIRE_EQUAL(tla_mmu_translate(mmu.get(), &access, &at, &piece), TLA_OK);
        return at;
    };
    BOOST_CHECK_EQUAL(done(2 * page, 1000), 1000 + 6000 + walk_ps);
    const uint64_t t = 1'000'000, ends = t + 6000 + walk_ps;
    BOOST_CHECK_EQUAL(done(0, t), ends);
    BOOST_CHECK_EQUAL(done(64, t + 1), ends);                     // merged
    BOOST_CHECK_EQUAL(done(128, t + 2), ends);                    // no slot
    BOOST_CHECK_EQUAL(done(192, t + 3), ends);                    // behind it
    BOOST_CHECK_EQUAL(done(2 * page, t + 4), t + 4 + 1000);       // a hit passes
    BOOST_CHECK_EQUAL(done(page, t + 5), t + 5 + 6000 + walk_ps); // so does a miss of another page
    BOOST_CHECK_EQUAL(done(page + 64, t + 6), t + 5 + 6000 + walk_ps);
    const tla_mmu_stats s = tla_mmu_get_stats(mmu.get());
    BOOST_CHECK_EQUAL(s.walkers.walks, 3u);
    BOOST_CHECK_EQUAL(s.walkers.merged, 2u);
    BOOST_CHECK_EQUAL(s.walkers.stalls, 2u);
}

BOOST_AUTO_TEST_CASE(before_a_change_is_visible_a_lookup_takes_what_a_tlb_or_a_walk_takes) {
    for (const bool remap : {true, false}) {
        const mmu_ptr mmu = make({4, 4, 64});
        change(mmu.get(), true, {{0}, {4 * MiB + page}, 4 * page, TLA_READ, 0}, 0, 0); // not aligned: small pages
        const auto took = [&](uint64_t va, uint64_t at, tla_status expected, bool stale) {
            const tla_mmu_access access{0, {va}, 64, TLA_READ};
            tla_mmu_piece piece{};
            uint64_t done = at;
            BOOST_CHECK_EQUAL(tla_mmu_translate(mmu.get(), &access, &done, &piece), expected);
            BOOST_CHECK_EQUAL(piece.stale, stale);
            if (stale) BOOST_CHECK_EQUAL(piece.pa.value, va + 4 * MiB + page);
            return done - at;
        };
        const uint64_t cold = 6000 + walk_ps, warm = 1000;
        BOOST_CHECK_EQUAL(took(0, 1'000'000, TLA_OK, false), cold);
        const uint64_t decided = 2'000'000, visible = 3'000'000;
        change(mmu.get(), remap, {{0}, {8 * MiB + page}, 4 * page, TLA_READ, 0}, decided, visible);
        BOOST_CHECK_EQUAL(took(64, decided, TLA_OK, true), warm);             // the TLB has not been told yet
        BOOST_CHECK_EQUAL(took(page, decided, TLA_OK, true), cold);           // and never held this page
        BOOST_CHECK_EQUAL(took(page, decided + 500'000, TLA_OK, true), warm); // now it does
        BOOST_CHECK_EQUAL(took(2 * page, visible - 100'000, TLA_OK, true),
                          cold); // a walk that ends too late to be kept
        const tla_status after = remap ? TLA_OK : TLA_UNMAPPED;
        for (uint64_t i = 0; i < 3; i++)
            BOOST_CHECK_EQUAL(took(i * page, visible + 500'000 * i, after, false), cold);
        BOOST_CHECK_EQUAL(took(0, visible + 5'000'000, after, false), remap ? warm : cold);
        tla_mmu_advance(mmu.get(), visible + 5'000'000);
        BOOST_CHECK_EQUAL(tla_mmu_get_stats(mmu.get()).tlb[1].valid, remap ? 3u : 0u);
    }
}

BOOST_AUTO_TEST_CASE(finding_nothing_before_a_map_is_visible_takes_a_walk) {
    const mmu_ptr mmu = make({4, 4, 64});
    change(mmu.get(), true, {{0}, {2 * MiB}, 2 * MiB, TLA_READ, 0}, 0, 1'000'000);
    const tla_mmu_access access{0, {64}, 64, TLA_READ};
    tla_mmu_piece piece{};
    uint64_t at = 0;
    BOOST_CHECK_EQUAL(tla_mmu_translate(mmu.get(), &access, &at, &piece), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(at, 6000 + walk_ps);
    at = 1'000'000; // a page of 2 MiB is found one level earlier
    BOOST_CHECK_EQUAL(tla_mmu_translate(mmu.get(), &access, &at, &piece), TLA_OK);
    BOOST_CHECK_EQUAL(at, 1'000'000 + 6000 + walk_ps / 4 * 3);
    uint64_t cut = 2'000'000; // so it is when a part of it is unmapped, until that is visible
    change(mmu.get(), false, {{page}, {0}, page, 0, 0}, cut, cut + 1'000'000);
    tla_mmu_advance(mmu.get(), cut);
    const tla_map_entry all{{0}, {0}, 0, 0, 0};
    BOOST_REQUIRE_EQUAL(tla_mmu_invalidate(mmu.get(), &all, 1, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mmu_translate(mmu.get(), &access, &cut, &piece), TLA_OK);
    const tla_mmu_access in_cut{0, {page}, 64, TLA_READ};
    cut = 2'100'000;
    BOOST_CHECK_EQUAL(tla_mmu_translate(mmu.get(), &in_cut, &cut, &piece), TLA_OK);
    BOOST_CHECK_EQUAL(cut, 2'100'000 + 6000 + walk_ps / 4 * 3);
}
