// Translations and changes in steps: any number under way, in a memory that takes its time, beside the versions of a
// map.
#include "tlmalloc/vm/mmu.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

const uint64_t KiB = 1024, page = 4 * KiB;

// An event queue, a memory behind it, and an MMU whose requests and changes use both.
struct platform {
    explicit platform(tla_walk_mode walk, unsigned seed,
                      const tla_walkers_config &walkers = {4, 2, 8, true, true, 100'000}, uint32_t ranges = 0)
        : random(seed) {
        tla_mmu_config c{};
        c.walk = walk;
        c.table.page_size = page;
        c.table.larger_page_sizes[0] = 64 * KiB;
        c.table.va_bits = 48;
        c.table.asids = 3;
        c.table.allow_remap = true;
        c.tlb.levels = 2;
        c.tlb.level[0] = {8, 0, 1000, TLA_REPLACE_PLRU};
        c.tlb.level[1] = {64, 4, 5000, TLA_REPLACE_LRU};
        c.walkers = walkers;
        c.ranges = ranges;
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_mmu_create(&c, &mmu, &error) == TLA_OK, error.text);
    }
    ~platform() { tla_mmu_destroy(mmu); }
    platform(const platform &) = delete;
    platform &operator=(const platform &) = delete;

    // --- events ---

    void at(uint64_t at_ps, std::function<void()> what) { events.emplace(at_ps, std::move(what)); }
    void run(uint64_t to_ps = UINT64_MAX) {
        while (!events.empty() && events.begin()->first <= to_ps) {
            now = events.begin()->first;
            const std::function<void()> what = std::move(events.begin()->second);
            events.erase(events.begin());
            what();
        }
        if (to_ps != UINT64_MAX) now = to_ps;
    }
    uint64_t memory_ps() { return 1000 * (1 + random() % 200); }

    // --- accesses ---

    struct access {
        tla_mmu_request request{};
        uint64_t arrived_ps = 0;
        std::function<void(access &)> done;
    };

    void translate(const tla_mmu_access &wanted, std::function<void(access &)> done) {
        accesses.push_back(std::make_unique<access>());
        access &a = *accesses.back();
        a.request.access = wanted;
        a.request.owner = &a;
        a.arrived_ps = now;
        a.done = std::move(done);
        under_way++;
        most = std::max(most, under_way);
        tla_mmu_begin(mmu, &a.request, now);
        go_on(a);
    }

    void go_on(access &a) {
        tla_mmu_request &r = a.request;
        BOOST_REQUIRE(r.phase == TLA_MMU_WAIT || r.at_ps >= now);
        if (r.phase == TLA_MMU_LATER) at(r.at_ps, [this, &a] { step(a, nullptr); });
        if (r.phase == TLA_MMU_DONE) {
            under_way--;
            a.done(a);
        }
        if (r.phase != TLA_MMU_READ) return;
        BOOST_REQUIRE(live(r.read_pa.value, r.read_nbytes));
        at(r.at_ps + memory_ps(), [this, &a] {
            BOOST_REQUIRE(live(a.request.read_pa.value, a.request.read_nbytes)); // not freed meanwhile
            std::vector<uint8_t> data(a.request.read_nbytes);
            for (uint32_t i = 0; i < a.request.read_nbytes; i++)
                data[i] = bytes[a.request.read_pa.value + i];
            if (failing_reads > 0) {
                failing_reads--;
                step(a, nullptr);
            } else {
                step(a, data.data());
            }
        });
    }

    void step(access &a, const void *data) {
        tla_mmu_step(mmu, &a.request, now, data);
        go_on(a);
        while (tla_mmu_request *other = tla_mmu_next(mmu, now))
            go_on(*static_cast<access *>(other->owner));
        if (draining) {
            draining = false;
            change_on();
        }
    }

    // --- changes ---

    void change(tla_table_change what, std::vector<tla_map_entry> with, uint64_t takes_ps,
                std::function<void(tla_status, uint64_t visible_ps)> done) {
        entries = std::move(with);
        change_done = std::move(done);
        change_ps = takes_ps;
        work = {};
        begun(tla_mmu_change_begin(mmu, what, entries.data(), entries.size(), &work, nullptr));
    }

    // The change before, which nobody announced.
    void take_back(uint64_t takes_ps, std::function<void(tla_status, uint64_t visible_ps)> done) {
        change_done = std::move(done);
        change_ps = takes_ps;
        work = {};
        begun(tla_mmu_take_back_begin(mmu, 0, 0, &work, nullptr));
    }

    void begun(tla_status status) {
        if (status)
            change_done(status, now);
        else
            change_on();
    }

    void change_on() {
        tla_mmu_bus_work todo{};
        if (!tla_mmu_change_next(mmu, &todo)) {
            const tla_status status = tla_mmu_change_end(mmu);
            if (!status) tla_mmu_make_visible(mmu, now + change_ps);
            change_done(status, now + change_ps);
            return;
        }
        if (todo.kind == TLA_MMU_DRAIN) {
            drains++;
            draining = true;
            return;
        }
        const std::vector<uint8_t> data(todo.bytes, todo.bytes ? todo.bytes + todo.nbytes : todo.bytes);
        at(now + memory_ps(), [this, todo, data] {
            if (todo.kind == TLA_MMU_ALLOC) {
                const tla_status status = tables_left ? TLA_OK : TLA_EXHAUSTED;
                if (!status) {
                    tables_left--;
                    tables[next_pa] = todo.nbytes;
                    for (uint64_t i = 0; i < todo.nbytes; i++)
                        bytes[next_pa + i] = 0x5a; // rubbish
                }
                tla_mmu_change_allocated(mmu, status, {next_pa});
                next_pa += (todo.nbytes + page - 1) / page * page;
            } else if (todo.kind == TLA_MMU_WRITE) {
                BOOST_REQUIRE(live(todo.pa.value, todo.nbytes));
                for (uint64_t i = 0; i < todo.nbytes; i++)
                    bytes[todo.pa.value + i] = data[i];
            } else {
                BOOST_REQUIRE_EQUAL(tables.count(todo.pa.value), 1u);
                BOOST_REQUIRE_EQUAL(tables[todo.pa.value], todo.nbytes);
                tables.erase(todo.pa.value);
                tables_left++;
            }
            change_on();
        });
    }

    bool live(uint64_t pa, uint64_t nbytes) const {
        auto table = tables.upper_bound(pa);
        return table != tables.begin() && pa + nbytes <= (--table)->first + table->second;
    }

    tla_mmu *mmu = nullptr;
    std::mt19937_64 random;
    uint64_t now = 0, under_way = 0, most = 0, drains = 0, failing_reads = 0, tables_left = UINT64_MAX;
    std::map<uint64_t, uint64_t> tables; // pa -> bytes
    uint64_t next_pa = 1 << 20;
    std::map<uint64_t, uint8_t> bytes;
    std::vector<std::unique_ptr<access>> accesses;

  private:
    std::multimap<uint64_t, std::function<void()>> events;
    std::vector<tla_map_entry> entries;
    std::function<void(tla_status, uint64_t)> change_done;
    uint64_t change_ps = 0;
    tla_work work{};
    bool draining = false;
};

// What was mapped when: from a time on, the pa of each granule of each address space, -1: nothing.
struct versions {
    static constexpr uint64_t granule = 512, count = 512;
    struct version {
        uint64_t visible_ps;
        std::vector<int64_t> pa[3];
    };
    std::vector<version> all;

    versions() {
        all.emplace_back();
        for (auto &space : all.back().pa)
            space.assign(count, -1);
    }
    // Whether an access at a time in [from, to] could have been told this.
    bool could_be(uint32_t asid, uint64_t va, int64_t pa, uint64_t from, uint64_t to) const {
        for (size_t i = 0; i < all.size(); i++) {
            if (all[i].visible_ps > to || (i + 1 < all.size() && all[i + 1].visible_ps <= from)) continue;
            const int64_t base = all[i].pa[asid][va / granule];
            if (base < 0 ? pa < 0 : pa == base + static_cast<int64_t>(va % granule)) return true;
        }
        return false;
    }
};

// Random accesses, thick and thin, while mappings change one after the other.
void check_changes_under_walks(tla_walk_mode walk, unsigned seed, const tla_walkers_config &walkers,
                               uint32_t ranges = 0) {
    BOOST_TEST_MESSAGE("seed " << seed);
    platform p(walk, seed, walkers, ranges);
    versions map;
    uint64_t translated = 0, unmapped = 0, walked = 0, stale = 0, taken_back = 0;
    bool changing = false, can_take_back = false;
    versions::version before;
    const uint64_t tlb_ps = 6000;
    const auto check = [&](platform::access &a) {
        const tla_mmu_request &r = a.request;
        BOOST_REQUIRE(r.status == TLA_OK || r.status == TLA_UNMAPPED);
        const int64_t pa = r.status ? -1 : static_cast<int64_t>(r.piece.pa.value);
        // A walk ends with what is visible then; a hit answers with what was visible at its lookup.
        const uint64_t from = r.piece.walked ? r.at_ps : std::max(a.arrived_ps, r.at_ps - std::min(r.at_ps, tlb_ps));
        BOOST_REQUIRE_MESSAGE(map.could_be(r.access.asid, r.access.va.value, pa, from, r.at_ps),
                              "va " << r.access.va.value << " to " << pa << " between " << from << " and " << r.at_ps);
        if (pa >= 0) {
            BOOST_REQUIRE(r.piece.nbytes >= 1 && r.piece.nbytes <= r.access.nbytes);
            const uint64_t last = r.piece.nbytes - 1;
            BOOST_REQUIRE(
                map.could_be(r.access.asid, r.access.va.value + last, pa + static_cast<int64_t>(last), from, r.at_ps));
        }
        (r.status ? unmapped : translated)++;
        walked += r.piece.walked;
        stale += r.piece.stale;
    };
    for (unsigned step = 0; step < 20'000; step++) {
        p.run(p.now + p.random() % (step / 500 % 4 ? 1'000'000 : 20'000));
        if (!changing && can_take_back && p.random() % 32 == 0) {
            changing = true;
            can_take_back = false;
            taken_back++;
            p.take_back(p.random() % 3 * 1'000'000, [&](tla_status status, uint64_t visible_ps) {
                BOOST_REQUIRE_EQUAL(status, TLA_OK);
                before.visible_ps = visible_ps;
                map.all.push_back(before);
                p.at(visible_ps, [&] { changing = false; });
            });
        } else if (!changing && p.random() % 8 == 0) {
            const uint32_t asid = static_cast<uint32_t>(p.random() % 3);
            const uint64_t at = p.random() % map.count, room = map.count - at;
            uint64_t n = 1 + p.random() % std::min<uint64_t>(room, p.random() % 4 ? 24 : 300);
            const bool mapping = p.random() % 3 != 0;
            versions::version next = map.all.back();
            if (!mapping) // as far as it is mapped
                for (uint64_t i = 0; i < n; i++)
                    if (next.pa[asid][at + i] < 0) n = i;
            if (n == 0) continue;
            const tla_map_entry e{{at * map.granule},
                                  {(1 + p.random() % 4096) * (p.random() % 2 ? map.granule : 64 * KiB)},
                                  n * map.granule,
                                  TLA_READ,
                                  asid};
            for (uint64_t i = 0; i < n; i++)
                next.pa[asid][at + i] = mapping ? static_cast<int64_t>(e.pa.value + i * map.granule) : -1;
            changing = can_take_back = true;
            before = map.all.back();
            p.change(mapping ? TLA_TABLE_MAP : TLA_TABLE_UNMAP, {e}, p.random() % 3 * 1'000'000,
                     [&, next](tla_status status, uint64_t visible_ps) mutable {
                         BOOST_REQUIRE_EQUAL(status, TLA_OK);
                         next.visible_ps = visible_ps;
                         map.all.push_back(next);
                         p.at(visible_ps, [&] { changing = false; });
                     });
        } else if (p.random() % 64 == 0) {
            const tla_map_entry e{{0}, {0}, p.random() % 2 * page, 0, static_cast<uint32_t>(p.random() % 3)};
            tla_mmu_invalidate(p.mmu, &e, 1, nullptr, nullptr);
        } else {
            const uint32_t asid = static_cast<uint32_t>(p.random() % 3);
            const uint64_t va = p.random() % (map.count * map.granule);
            p.translate({asid, {va}, std::min(1 + p.random() % 600, map.count * map.granule - va), TLA_READ}, check);
        }
        while (map.all.size() > 1 && p.under_way == 0 && map.all[1].visible_ps + 10'000 < p.now)
            map.all.erase(map.all.begin());
    }
    p.run();
    const tla_mmu_stats s = tla_mmu_get_stats(p.mmu);
    BOOST_TEST_MESSAGE(translated << " translated, " << stale << " of them stale, " << unmapped << " not mapped, "
                                  << walked << " walked, " << s.repeated << " looked up again, at most " << p.most
                                  << " at a time, " << p.drains << " drains");
    BOOST_CHECK_EQUAL(p.under_way, 0u);
    BOOST_CHECK_EQUAL(s.walk_errors, 0u);
    BOOST_CHECK_GT(translated, 2000u);
    BOOST_CHECK_GT(unmapped, 500u);
    BOOST_CHECK_GT(walked, 1000u);
    BOOST_CHECK_GT(stale, 20u);
    BOOST_CHECK_GT(s.hits, 500u);
    BOOST_CHECK_GT(s.repeated, 5u);
    BOOST_CHECK_GT(p.most, 8u);
    BOOST_CHECK_GT(taken_back, 20u);
    BOOST_CHECK_EQUAL(s.ranges.hits > 50, ranges > 0);
    BOOST_CHECK_EQUAL(s.ranges.dropped > 50, ranges > 0);
    if (walk == TLA_WALK_MEMORY) {
        BOOST_CHECK_GT(p.drains, 0u);
        uint64_t table_bytes = 0;
        for (const auto &[pa, nbytes] : p.tables)
            table_bytes += nbytes;
        BOOST_CHECK_EQUAL(table_bytes, s.table.table_bytes);
        BOOST_CHECK_EQUAL(p.tables.size(), s.table.tables);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(accesses_during_changes_of_a_table_in_memory_see_visible_mappings) {
    check_changes_under_walks(TLA_WALK_MEMORY, 1, {4, 2, 8, true, true, 0});
    check_changes_under_walks(TLA_WALK_MEMORY, 2, {1, 0, 0, false, true, 0});
    check_changes_under_walks(TLA_WALK_MEMORY, 3, {64, 32, 0, true, true, 0});
    check_changes_under_walks(TLA_WALK_MEMORY, 4, {8, 4, 3, false, false, 0});
}

BOOST_AUTO_TEST_CASE(accesses_during_changes_see_visible_mappings_with_a_latency_for_each_level) {
    check_changes_under_walks(TLA_WALK_FLAT, 5, {4, 2, 8, true, true, 100'000});
    check_changes_under_walks(TLA_WALK_FLAT, 6, {2, 0, 0, false, true, 100'000});
    check_changes_under_walks(TLA_WALK_FLAT, 7, {8, 4, 0, false, false, 50'000});
}

BOOST_AUTO_TEST_CASE(no_range_leads_to_what_a_change_has_ended) {
    check_changes_under_walks(TLA_WALK_MEMORY, 13, {4, 2, 8, true, true, 0}, 4);
    check_changes_under_walks(TLA_WALK_MEMORY, 14, {1, 0, 0, false, true, 0}, 64);
    check_changes_under_walks(TLA_WALK_FLAT, 15, {4, 2, 8, true, true, 100'000}, 16);
    check_changes_under_walks(TLA_WALK_FLAT, 16, {2, 0, 0, false, true, 60'000}, 64);
}

BOOST_AUTO_TEST_CASE(a_wrong_table_entry_fails_all_accesses_that_wait_for_the_walk) {
    platform p(TLA_WALK_MEMORY, 10);
    p.change(TLA_TABLE_MAP, {{{0}, {64 * KiB}, 2 * page, TLA_READ, 0}}, 0, [](tla_status, uint64_t) {});
    p.run();
    const std::map<uint64_t, uint8_t> kept = p.bytes;
    unsigned wrong = 0, right = 0;
    const auto count = [&](platform::access &a) {
        BOOST_CHECK(a.request.status == TLA_OK || a.request.status == TLA_BUS_ERROR);
        (a.request.status ? wrong : right)++;
    };
    const tla_map_entry all{{0}, {0}, 0, 0, 0};
    unsigned noticed = 0;
    for (const auto &[pa, byte] : kept) {
        if (!byte) continue; // a table is empty but for the entries that are walked, and that of the second page
        for (unsigned bit = 0; bit < 8; bit++) {
            wrong = right = 0;
            p.bytes[pa] = static_cast<uint8_t>(byte ^ 1u << bit);
            tla_mmu_invalidate(p.mmu, &all, 1, nullptr, nullptr);
            for (uint64_t i = 0; i < 5; i++) // a walk, two that join it, two that wait outside
                p.translate({0, {8 * i}, 8, TLA_READ}, count);
            p.run();
            BOOST_REQUIRE(wrong == 5 || right == 5);
            noticed += wrong == 5;
        }
        p.bytes[pa] = byte;
    }
    BOOST_CHECK_GE(noticed, 8u * 4);
    BOOST_CHECK_EQUAL(tla_mmu_get_stats(p.mmu).walk_errors, noticed);
    BOOST_CHECK_EQUAL(tla_mmu_get_stats(p.mmu).walkers.merged, 2 * tla_mmu_get_stats(p.mmu).walkers.walks);
    p.failing_reads = 1; // the memory answers with an error
    wrong = right = 0;
    tla_mmu_invalidate(p.mmu, &all, 1, nullptr, nullptr);
    p.translate({0, {0}, 8, TLA_READ}, count);
    p.run();
    BOOST_CHECK_EQUAL(wrong, 1u);
    p.translate({0, {0}, 8, TLA_READ}, count);
    p.run();
    BOOST_CHECK_EQUAL(right, 1u);
}

BOOST_AUTO_TEST_CASE(a_change_that_finds_too_few_tables_gives_all_back_and_changes_nothing) {
    for (uint64_t left = 0; left < 7; left++) {
        platform p(TLA_WALK_MEMORY, 11);
        p.tables_left = left;
        tla_status outcome = TLA_OK;
        p.change(TLA_TABLE_MAP, {{{0}, {0}, page, TLA_READ, 0}, {{uint64_t{1} << 40}, {0}, page, TLA_READ, 0}}, 0,
                 [&](tla_status status, uint64_t) { outcome = status; });
        p.run();
        BOOST_CHECK_EQUAL(outcome, TLA_EXHAUSTED);
        BOOST_CHECK(p.tables.empty());
        BOOST_CHECK_EQUAL(p.tables_left, left);
        BOOST_CHECK_EQUAL(tla_mmu_get_stats(p.mmu).table.mapped_bytes, 0u);
        p.tables_left = 7;
        p.change(TLA_TABLE_MAP, {{{0}, {0}, page, TLA_READ, 0}}, 0,
                 [&](tla_status status, uint64_t) { outcome = status; });
        p.run();
        BOOST_CHECK_EQUAL(outcome, TLA_OK);
        BOOST_CHECK_EQUAL(p.tables.size(), tla_mmu_get_stats(p.mmu).table.tables);
    }
}

BOOST_AUTO_TEST_CASE(one_change_at_a_time) {
    platform p(TLA_WALK_MEMORY, 12);
    const tla_map_entry e{{0}, {0}, page, TLA_READ, 0}, bad{{0}, {0}, 0, TLA_READ, 0};
    BOOST_CHECK_EQUAL(tla_mmu_change_begin(p.mmu, TLA_TABLE_MAP, &bad, 1, nullptr, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_mmu_change_begin(p.mmu, TLA_TABLE_MAP, &e, 1, nullptr, nullptr), TLA_OK);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_mmu_change_begin(p.mmu, TLA_TABLE_MAP, &e, 1, nullptr, &error), TLA_BUSY);
    BOOST_CHECK_EQUAL(error.text, "another change is in progress");
}
