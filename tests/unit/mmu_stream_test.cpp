// Streams of chunks through the MMU's front end: what merge slots and walkers are worth, what a cold lookup takes while
// a change is not visible.
#include "lone_mmu.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
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

// For tables that are in none.
struct no_memory {
    void read(tla_paddr, uint8_t *, uint32_t) { BOOST_FAIL("nothing is read"); }
    void write(tla_paddr, const uint8_t *, uint64_t) { BOOST_FAIL("nothing is written"); }
    tla_status alloc(uint64_t, tla_paddr *) { return TLA_EXHAUSTED; }
    void free(tla_paddr, uint64_t) { BOOST_FAIL("nothing is freed"); }
} none;

void change(tla_mmu *mmu, bool map, const tla_map_entry &entry, uint64_t at_ps, uint64_t visible_ps) {
    tla_error error{};
    const tla_status status = lone::change(mmu, none, map ? TLA_TABLE_MAP : TLA_TABLE_UNMAP, &entry, 1, &at_ps, &error);
    BOOST_REQUIRE_MESSAGE(status == TLA_OK, error.text);
    tla_mmu_make_visible(mmu, visible_ps);
}

// Accesses inside of pages, any number under way.
class accesses {
  public:
    explicit accesses(tla_mmu *mmu) : mmu_(mmu) {}

    // At a time that has not come yet; known(when) is called at that time.
    void at(uint64_t at_ps, uint64_t va, uint64_t nbytes, std::function<void(uint64_t)> known) {
        all_.push_back({{}, std::move(known), false});
        all_.back().request.access = {0, {va}, nbytes, TLA_READ};
        all_.back().request.owner = &all_.back();
        events_.emplace(at_ps, &all_.back());
    }
    void run() {
        while (!events_.empty()) {
            const uint64_t now = events_.begin()->first;
            access &a = *events_.begin()->second;
            events_.erase(events_.begin());
            if (a.request.phase == TLA_MMU_DONE && a.begun) {
                BOOST_REQUIRE_EQUAL(a.request.status, TLA_OK);
                a.known(now);
                continue;
            }
            if (a.begun)
                tla_mmu_step(mmu_, &a.request, now, nullptr);
            else
                tla_mmu_begin(mmu_, &a.request, now);
            a.begun = true;
            go_on(a);
            while (tla_mmu_request *other = tla_mmu_next(mmu_, now))
                go_on(*static_cast<access *>(other->owner));
        }
    }

  private:
    struct access {
        tla_mmu_request request;
        std::function<void(uint64_t)> known;
        bool begun;
    };
    void go_on(access &a) {
        if (a.request.phase != TLA_MMU_WAIT) events_.emplace(a.request.at_ps, &a);
    }

    tla_mmu *mmu_;
    std::deque<access> all_;
    std::multimap<uint64_t, access *> events_;
};

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

// When the last chunk is translated. One is issued every chunk / 256 GB/s, when the one `outstanding` before it has
// been translated.
uint64_t stream_ps(const setting &s, const std::vector<uint64_t> &chunks, uint64_t chunk, size_t outstanding) {
    const mmu_ptr mmu = make(s);
    for (uint64_t va = 0; va < 64 * KiB; va += page) // scattered, so that they stay small
        change(mmu.get(), true, {{va}, {(MiB - va) * 2}, page, TLA_READ, 0}, 0, 0);
    accesses under_way(mmu.get());
    std::vector<uint64_t> done(chunks.size(), 0); // 0: not yet
    uint64_t next_ps = 1, end = 0;
    size_t issued = 0;
    const std::function<void()> issue = [&] {
        for (; issued < chunks.size(); issued++) {
            uint64_t at = next_ps;
            if (issued >= outstanding) {
                if (done[issued - outstanding] == 0) return;
                at = std::max(at, done[issued - outstanding]);
            }
            next_ps = at + chunk * 1000 / 256;
            under_way.at(at, chunks[issued], chunk, [&, i = issued](uint64_t now) {
                done[i] = now;
                end = std::max(end, now);
                issue();
            });
        }
    };
    issue();
    under_way.run();
    BOOST_REQUIRE_EQUAL(issued, chunks.size());
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
    accesses under_way(mmu.get());
    const uint64_t t = 1'000'000, ends = t + 6000 + walk_ps;
    const auto expect = [&](uint64_t at, uint64_t va, uint64_t expected) {
        under_way.at(at, va, 64, [=](uint64_t now) { BOOST_CHECK_EQUAL(now, expected); });
    };
    expect(1000, 2 * page, 1000 + 6000 + walk_ps);
    expect(t, 0, ends);
    expect(t + 1, 64, ends);                     // merged
    expect(t + 2, 128, ends);                    // no slot
    expect(t + 3, 192, ends);                    // behind it
    expect(t + 4, 2 * page, t + 4 + 1000);       // a hit passes
    expect(t + 5, page, t + 5 + 6000 + walk_ps); // so does a miss of another page
    expect(t + 6, page + 64, t + 5 + 6000 + walk_ps);
    under_way.run();
    const tla_mmu_stats s = tla_mmu_get_stats(mmu.get());
    BOOST_CHECK_EQUAL(s.walkers.walks, 3u);
    BOOST_CHECK_EQUAL(s.walkers.merged, 2u);
    BOOST_CHECK_EQUAL(s.walkers.stalls, 2u);
}

BOOST_AUTO_TEST_CASE(without_hit_under_miss_nothing_passes_an_access_that_waits_for_its_walk) {
    for (const bool hit_under_miss : {true, false}) {
        const mmu_ptr mmu = make({2, 1, 64, hit_under_miss});
        change(mmu.get(), true, {{0}, {MiB}, 4 * page, TLA_READ, 0}, 0, 0);
        accesses under_way(mmu.get());
        std::vector<uint64_t> done(3);
        const auto access = [&](uint64_t at, uint64_t va, uint64_t &known) {
            under_way.at(at, va, 64, [&](uint64_t now) { known = now; });
        };
        const uint64_t t = 1'000'000, ends = t + 6000 + walk_ps;
        access(0, page, done[0]);
        access(t, 0, done[1]);
        access(t + 10, page, done[2]); // a hit
        under_way.run();
        BOOST_CHECK_EQUAL(done[1], ends);
        if (hit_under_miss)
            BOOST_CHECK_EQUAL(done[2], t + 10 + 1000);
        else
            BOOST_CHECK_GE(done[2], ends);
    }
}

BOOST_AUTO_TEST_CASE(before_a_change_is_visible_a_lookup_takes_what_a_tlb_or_a_walk_takes) {
    for (const bool remap : {true, false}) {
        const mmu_ptr mmu = make({4, 4, 64});
        change(mmu.get(), true, {{0}, {4 * MiB + page}, 4 * page, TLA_READ, 0}, 0, 0); // not aligned: small pages
        const auto took = [&](uint64_t va, uint64_t at, tla_status expected, bool stale) {
            tla_mmu_piece piece{};
            uint64_t done = at;
            BOOST_CHECK_EQUAL(lone::translate(mmu.get(), none, {0, {va}, 64, TLA_READ}, &done, &piece), expected);
            BOOST_CHECK_EQUAL(piece.stale, stale);
            if (stale) BOOST_CHECK_EQUAL(piece.pa.value, va + 4 * MiB + page);
            return done - at;
        };
        const uint64_t cold = 6000 + walk_ps, warm = 1000;
        BOOST_CHECK_EQUAL(took(0, 1'000'000, TLA_OK, false), cold);
        const uint64_t decided = 2'000'000, visible = 4'000'000;
        change(mmu.get(), remap, {{0}, {8 * MiB + page}, 4 * page, TLA_READ, 0}, decided, visible);
        BOOST_CHECK_EQUAL(took(64, decided, TLA_OK, true), warm);             // the TLB has not been told yet
        BOOST_CHECK_EQUAL(took(page, decided + 10'000, TLA_OK, true), cold);  // and never held this page
        BOOST_CHECK_EQUAL(took(page, decided + 500'000, TLA_OK, true), warm); // now it does
        const tla_status after = remap ? TLA_OK : TLA_UNMAPPED;
        // A walk that ends when the change is visible is looked up again.
        BOOST_CHECK_EQUAL(took(2 * page, visible - 100'000, after, false), 2 * cold);
        BOOST_CHECK_EQUAL(tla_mmu_get_stats(mmu.get()).repeated, 1u);
        for (uint64_t i = 0; i < 2; i++)
            BOOST_CHECK_EQUAL(took(i * page, visible + 1'000'000 + 500'000 * i, after, false), cold);
        BOOST_CHECK_EQUAL(took(0, visible + 5'000'000, after, false), remap ? warm : cold);
        tla_mmu_advance(mmu.get(), visible + 6'000'000);
        BOOST_CHECK_EQUAL(tla_mmu_get_stats(mmu.get()).tlb[1].valid, remap ? 3u : 0u);
    }
}

BOOST_AUTO_TEST_CASE(finding_nothing_before_a_map_is_visible_takes_a_walk) {
    const mmu_ptr mmu = make({4, 4, 64});
    change(mmu.get(), true, {{0}, {2 * MiB}, 2 * MiB, TLA_READ, 0}, 0, 1'000'000);
    const auto took = [&](uint64_t va, uint64_t at, tla_status expected) {
        tla_mmu_piece piece{};
        uint64_t done = at;
        BOOST_CHECK_EQUAL(lone::translate(mmu.get(), none, {0, {va}, 64, TLA_READ}, &done, &piece), expected);
        return done - at;
    };
    const auto forget = [&] {
        const tla_map_entry all{{0}, {0}, 0, 0, 0};
        BOOST_REQUIRE_EQUAL(tla_mmu_invalidate(mmu.get(), &all, 1, nullptr, nullptr), TLA_OK);
    };
    BOOST_CHECK_EQUAL(took(64, 0, TLA_UNMAPPED), 6000 + walk_ps);
    // A page of 2 MiB is found one level earlier.
    BOOST_CHECK_EQUAL(took(64, 1'000'000, TLA_OK), 6000 + walk_ps / 4 * 3);
    // So it is when a part of it is unmapped, until that is visible.
    change(mmu.get(), false, {{page}, {0}, page, 0, 0}, 2'000'000, 4'000'000);
    forget();
    took(64, 2'000'000, TLA_OK);
    forget();
    BOOST_CHECK_EQUAL(took(page, 3'000'000, TLA_OK), 6000 + walk_ps / 4 * 3);
}
