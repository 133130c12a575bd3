// Units with a memory each: tt-metal's modes, against its published cases, a bitmap, and bad requests.
#include "golden_cases.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/stack/units.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace {

constexpr std::uint64_t KiB = 1024;

using numbers = std::vector<std::uint32_t>;

// A request with its lists.
struct wanted {
    tla_units_mode mode;
    std::uint64_t nbytes;
    numbers units;
    std::vector<std::uint64_t> extents;
    tla_fill fill;

    tla_units_request request() const {
        return {mode, fill, nbytes, units.data(), units.size(), extents.empty() ? nullptr : extents.data()};
    }
};

wanted single(std::uint32_t unit, std::uint64_t nbytes, tla_fill fill = TLA_BOTTOM_UP) {
    return {TLA_UNITS_SINGLE, nbytes, {unit}, {}, fill};
}
wanted lockstep(std::uint64_t nbytes, tla_fill fill = TLA_BOTTOM_UP) {
    return {TLA_UNITS_LOCKSTEP, nbytes, {}, {}, fill};
}
wanted range(std::uint64_t nbytes, const numbers &units, tla_fill fill = TLA_BOTTOM_UP) {
    return {TLA_UNITS_RANGE, nbytes, units, {}, fill};
}
wanted common(const numbers &units, const std::vector<std::uint64_t> &extents, tla_fill fill = TLA_BOTTOM_UP) {
    return {TLA_UNITS_COMMON, 0, units, extents, fill};
}

struct bench {
    explicit bench(const tla_units_config &config) { BOOST_REQUIRE_EQUAL(tla_units_create(&config, &u), TLA_OK); }
    bench(const bench &) = delete;
    ~bench() { tla_units_destroy(u); }

    std::optional<std::uint64_t> alloc(const wanted &w, tla_work *work = nullptr) {
        const tla_units_request request = w.request();
        std::uint64_t address = 0;
        status = tla_units_alloc(u, &request, &address, work);
        return status ? std::nullopt : std::optional(address);
    }
    tla_status reserve(const wanted &w, std::uint64_t address, tla_work *work = nullptr) {
        const tla_units_request request = w.request();
        return tla_units_reserve(u, &request, address, work);
    }
    tla_status free(const wanted &w, std::uint64_t address, tla_work *work = nullptr) {
        const tla_units_request request = w.request();
        return tla_units_free(u, &request, address, work);
    }
    tla_error explain(const wanted &w) {
        const tla_units_request request = w.request();
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_units_explain(u, "L1", &request, &error), error.status);
        return error;
    }
    tla_units_stats stats(std::uint32_t unit) const {
        tla_units_stats result{};
        BOOST_REQUIRE_EQUAL(tla_units_get_stats(u, unit, &result), TLA_OK);
        return result;
    }

    tla_units *u = nullptr;
    tla_status status = TLA_OK;
};

tla_units_config one_mib(std::uint32_t units) {
    return {units, 0, 1024 * KiB, KiB};
}

void check(bench &b, const wanted &w, std::uint64_t address) {
    const auto placed = b.alloc(w);
    BOOST_REQUIRE(placed);
    BOOST_CHECK_EQUAL(*placed, address);
}

// The request that an operation of a golden case makes.
wanted request_of(const std::vector<golden::value> &op) {
    const std::string mode = op[0].text();
    const tla_fill fill = op.back().is_true() ? TLA_BOTTOM_UP : TLA_TOP_DOWN;
    if (mode == "per_unit") return single(static_cast<std::uint32_t>(op[1].number()), op[2].number(), fill);
    if (mode == "lockstep") return lockstep(op[1].number(), fill);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> parts;
    for (const golden::value &part : op[mode == "range" ? 2 : 1].items())
        if (mode == "range")
            parts.emplace_back(part.number(), 0);
        else
            parts.emplace_back(part.items()[0].number(), part.items()[1].number());
    std::sort(parts.begin(), parts.end());
    wanted w = mode == "range" ? range(op[1].number(), {}, fill) : common({}, {}, fill);
    for (const auto &[unit, nbytes] : parts) {
        w.units.push_back(unit);
        if (mode != "range") w.extents.push_back(nbytes);
    }
    return w;
}

// PR 54479's case, as its golden file builds it: 24 of 32 units have three buffers each, in the holes of lockstep's.
struct fragmented_l1 : bench {
    fragmented_l1() : bench({32, 0, 1360 * KiB, KiB}) {
        const std::uint64_t holes[] = {300, 672, 1082}, ends[] = {422, 859, 1360}, sizes[] = {86, 110, 160};
        const std::uint64_t taken[][2] = {{0, 300}, {422, 250}, {859, 223}};
        for (const auto &[at, nbytes] : taken)
            BOOST_REQUIRE_EQUAL(reserve(lockstep(nbytes * KiB), at * KiB), TLA_OK);
        for (std::uint32_t unit = 8; unit < 32; unit++)
            for (int i = 0; i < 3; i++) {
                const std::uint64_t at = unit % 2 ? ends[i] - sizes[i] : holes[i];
                BOOST_REQUIRE_EQUAL(reserve(single(unit, sizes[i] * KiB), at * KiB), TLA_OK);
            }
    }
};

const numbers idle_units{0, 1, 2, 3, 4, 5, 6, 7};

} // namespace

BOOST_AUTO_TEST_CASE(units_place_every_golden_case_as_tt_metal_does) {
    if (!shared_data_is_here("data/allocators")) return;
    golden::file file("data/allocators/ttmetal_units.json");
    for (const golden::value &c : file.cases()) {
        BOOST_TEST_CONTEXT(c["name"].text()) {
            bench b({static_cast<std::uint32_t>(c["units"].number()), 0, c["bytes"].number(), c["align"].number()});
            std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> live; // bytes, by list and address
            std::vector<golden::value> expected;
            for (const char *key : {"expect", "expect_of_requests"})
                if (c.has(key)) expected = c[key].items();
            const bool only_requests = c.has("expect_of_requests");
            auto expect = expected.begin();
            for (const golden::value &line : c["ops"].items()) {
                const std::vector<golden::value> op = line.items();
                const auto list = [](const golden::value &name) {
                    return name.text() == "all" ? TLA_UNITS_ALL : static_cast<std::uint32_t>(name.number());
                };
                const auto in = [](std::uint32_t unit, std::uint64_t nbytes) {
                    return unit == TLA_UNITS_ALL ? lockstep(nbytes) : single(unit, nbytes);
                };
                if (op[0].text() == "reserve") {
                    BOOST_REQUIRE_EQUAL(b.reserve(in(list(op[1]), op[3].number()), op[2].number()), TLA_OK);
                } else if (op[0].text() == "f") {
                    for (const golden::value &name : op[1].items()) {
                        const auto block = live.find({list(name), op[2].number()});
                        BOOST_REQUIRE(block != live.end());
                        BOOST_REQUIRE_EQUAL(b.free(in(block->first.first, block->second), block->first.second), TLA_OK);
                        live.erase(block);
                    }
                } else {
                    const wanted w = request_of(op);
                    const auto placed = b.alloc(w);
                    BOOST_REQUIRE(expect != expected.end());
                    BOOST_REQUIRE_EQUAL(placed.has_value(), !expect->is_null());
                    if (placed) BOOST_REQUIRE_EQUAL(*placed, expect->number());
                    if (placed && (w.mode == TLA_UNITS_LOCKSTEP || w.mode == TLA_UNITS_RANGE))
                        live[{TLA_UNITS_ALL, *placed}] = w.nbytes;
                    else if (placed)
                        for (std::size_t i = 0; i < w.units.size(); i++)
                            live[{w.units[i], *placed}] = w.extents.empty() ? w.nbytes : w.extents[i];
                }
                if (!only_requests || op.back().is_text()) expect += op[0].text() != "reserve";
            }
            BOOST_CHECK(expect == expected.end());
        }
    }
}

BOOST_AUTO_TEST_CASE(units_place_as_the_tests_of_tt_metal_say) {
    {
        bench b(one_mib(110));
        check(b, single(0, 4 * KiB), 0);
        check(b, single(1, 2 * KiB), 0);
        check(b, lockstep(KiB), 4 * KiB);
    }
    {
        bench b(one_mib(2));
        check(b, lockstep(4 * KiB), 0);
        check(b, single(0, KiB), 4 * KiB);
        check(b, single(1, KiB), 4 * KiB);
    }
    {
        bench b(one_mib(110));
        for (std::uint32_t i = 0; i < 110; i++)
            check(b, single(i, (i + 1) * KiB), 0);
        check(b, lockstep(KiB), 110 * KiB);
    }
    {
        bench b(one_mib(3));
        check(b, common({0, 1}, {4 * KiB, 4 * KiB}), 0);
        check(b, common({2}, {4 * KiB}), 0);
        check(b, common({1, 2}, {KiB, KiB}), 4 * KiB);
    }
    {
        bench b(one_mib(2));
        check(b, lockstep(2 * KiB), 0);
        check(b, single(1, 3 * KiB), 2 * KiB);
        check(b, common({0, 1}, {KiB, KiB}), 5 * KiB);
    }
    bench b({2, 0, 16 * KiB, KiB});
    check(b, common({0, 1}, {4 * KiB, 8 * KiB}, TLA_TOP_DOWN), 8 * KiB);
    BOOST_REQUIRE_EQUAL(b.free(common({0, 1}, {4 * KiB, 8 * KiB}), 8 * KiB), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.reserve(single(0, 8 * KiB), 0), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.reserve(single(0, 4 * KiB), 12 * KiB), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.reserve(single(1, 8 * KiB), 0), TLA_OK);
    BOOST_CHECK(!b.alloc(common({0, 1}, {8 * KiB, 8 * KiB})));
    check(b, common({0, 1}, {4 * KiB, 8 * KiB}), 8 * KiB);
}

BOOST_AUTO_TEST_CASE(range_lockstep_serves_a_request_that_lockstep_refuses) {
    fragmented_l1 b;
    BOOST_CHECK_EQUAL(b.stats(TLA_UNITS_ALL).free, 587 * KiB);
    BOOST_CHECK_EQUAL(b.stats(TLA_UNITS_ALL).largest_free, 278 * KiB);
    tla_cost_profile rtl{}; // configs/costs/rtl_list_1c.yaml
    rtl.fixed_ps = rtl.node_ps = rtl.insert_node_ps = rtl.node_created_ps = rtl.node_released_ps = 1000;
    tla_work refused{}, served{};
    for (const tla_fill fill : {TLA_TOP_DOWN, TLA_BOTTOM_UP}) {
        refused = {};
        BOOST_CHECK(!b.alloc(lockstep(72 * KiB, fill), &refused));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);                // no byte is free in all units
        BOOST_CHECK_EQUAL(tla_cost_price(&rtl, &refused), 88000u); // 87 nodes of 25 lists
    }
    const tla_error error = b.explain(lockstep(72 * KiB));
    BOOST_CHECK_EQUAL(std::string(error.text),
                      "L1 overflow: requested 73728 bytes for lockstep in 32 of 32 units, 0 free in all of these at "
                      "once, largest such range 0; lockstep's list alone has 601088 free, largest block 284672: "
                      "exhausted");
    BOOST_CHECK_EQUAL(error.requested, 72 * KiB);
    BOOST_CHECK_EQUAL(error.total_free, 0u);
    BOOST_CHECK_EQUAL(b.explain(range(72 * KiB, {0, 8})).largest_free, 118 * KiB);
    const auto top = b.alloc(range(72 * KiB, idle_units, TLA_TOP_DOWN), &served);
    BOOST_REQUIRE(top);
    BOOST_CHECK_EQUAL(*top, 1288 * KiB);
    BOOST_CHECK_EQUAL(tla_cost_price(&rtl, &served), 2000u);
    BOOST_CHECK_EQUAL(served.nodes_visited, 1u); // the last node of lockstep's list; the units hold nothing
    served = {};
    BOOST_CHECK(b.alloc(range(72 * KiB, idle_units), &served) == 300 * KiB);
    BOOST_CHECK_EQUAL(tla_cost_price(&rtl, &served), 2000u);
    BOOST_CHECK(!b.alloc(range(72 * KiB, {0, 8, 9})));
}

BOOST_AUTO_TEST_CASE(receipts_count_the_nodes_of_every_list_up_to_the_block) {
    bench b({2, 0, 64 * KiB, KiB});
    BOOST_REQUIRE_EQUAL(b.reserve(single(0, KiB), 4 * KiB), TLA_OK); // unit 0: 0 to 4, 5 to 64
    BOOST_REQUIRE_EQUAL(b.reserve(lockstep(KiB), 8 * KiB), TLA_OK);  // lockstep: 0 to 8, 9 to 64
    tla_work work{};
    BOOST_REQUIRE(b.alloc(lockstep(6 * KiB), &work) == 9 * KiB);
    BOOST_CHECK_EQUAL(work.nodes_visited, 2u + 2u);
    BOOST_CHECK_EQUAL(work.list_length, 2u + 2u);
    BOOST_CHECK_EQUAL(work.allocs, 1u);
    BOOST_CHECK_EQUAL(work.splits, 1u);
    work = {};
    BOOST_REQUIRE(b.alloc(common({0, 1}, {2 * KiB, 3 * KiB}, TLA_TOP_DOWN), &work) == 61 * KiB);
    BOOST_CHECK_EQUAL(work.nodes_visited, 3u);
    BOOST_CHECK_EQUAL(work.allocs, 2u);
    BOOST_CHECK_EQUAL(work.splits, 3u); // unit 0 keeps a byte range on both sides
    BOOST_CHECK_EQUAL(work.nodes_created, 1u);
    work = {};
    BOOST_REQUIRE_EQUAL(b.free(common({0, 1}, {2 * KiB, 3 * KiB}), 61 * KiB, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.frees, 2u);
    BOOST_CHECK_EQUAL(work.merges, 3u);
    work = {};
    BOOST_CHECK(!b.alloc(single(1, 60 * KiB), &work));
    BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(work.nodes_visited, 2u + 1u);
    BOOST_CHECK_EQUAL(work.allocs, 0u);
}

BOOST_AUTO_TEST_CASE(bad_requests_to_units_have_their_own_status_and_change_nothing) {
    bench b({3, 64 * KiB, 64 * KiB, KiB});
    const wanted bad[] = {single(3, KiB),
                          single(TLA_UNITS_ALL, KiB),
                          single(0, 0),
                          single(0, (std::uint64_t{1} << 63) + 1),
                          {TLA_UNITS_SINGLE, KiB, {0, 1}, {}, TLA_BOTTOM_UP},
                          lockstep(0),
                          range(KiB, {}),
                          range(KiB, {1, 0}),
                          range(KiB, {1, 1}),
                          range(KiB, {0, 3}),
                          common({0, 1}, {KiB, 0})};
    for (const wanted &w : bad) {
        BOOST_CHECK(!b.alloc(w));
        BOOST_CHECK_EQUAL(b.status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.reserve(w, 64 * KiB), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.free(w, 64 * KiB), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.explain(w).status, TLA_INVALID_ARGUMENT);
    }
    BOOST_CHECK_EQUAL(b.reserve(lockstep(KiB), 64 * KiB + 1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.reserve(lockstep(KiB), 63 * KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.reserve(lockstep(2 * KiB), 127 * KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.free(lockstep(KiB), 128 * KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.free(lockstep(KiB), 64 * KiB), TLA_NOT_ALLOCATED);
    check(b, common({0, 2}, {KiB, 2 * KiB}), 64 * KiB);
    BOOST_CHECK_EQUAL(b.free(common({0, 2}, {2 * KiB, 2 * KiB}), 64 * KiB), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.stats(2).used, 2 * KiB); // nothing was half done
    BOOST_CHECK_EQUAL(b.reserve(lockstep(KiB), 65 * KiB), TLA_OVERLAP);
    BOOST_CHECK(!b.alloc(single(0, 65 * KiB)));
    BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.free(common({0, 2}, {KiB, 2 * KiB}), 64 * KiB), TLA_OK);
    for (const std::uint32_t list : {0u, 1u, 2u, TLA_UNITS_ALL}) {
        BOOST_CHECK_EQUAL(b.stats(list).free, 64 * KiB);
        BOOST_CHECK_EQUAL(b.stats(list).free_blocks, 1u);
    }
    tla_units_stats stats{};
    BOOST_CHECK_EQUAL(tla_units_get_stats(b.u, 3, &stats), TLA_OUT_OF_RANGE);
    for (const tla_units_config &config :
         {tla_units_config{0, 0, KiB, 0}, tla_units_config{1, 0, 0, 0}, tla_units_config{1, 0, KiB, 3},
          tla_units_config{1, 1, KiB, 2}, tla_units_config{TLA_UNITS_ALL, 0, 1, 1},
          tla_units_config{1, 1, std::uint64_t{1} << 63, 1}}) {
        tla_units *none = nullptr;
        BOOST_CHECK_EQUAL(tla_units_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!none);
    }
    tla_units_destroy(nullptr);
}

namespace {

// Every byte of every list on its own.
struct bitmap {
    bitmap(std::uint32_t of_units, std::uint64_t of_bytes)
        : lists(of_units + 1, std::vector<bool>(of_bytes)), units(of_units), bytes(of_bytes) {}

    std::vector<std::pair<std::uint32_t, std::uint64_t>> needs(const wanted &w) const { // lists and their bytes
        std::vector<std::pair<std::uint32_t, std::uint64_t>> all;
        std::uint64_t most = w.nbytes;
        for (std::uint32_t unit = 0; unit < units; unit++) {
            const auto at = std::find(w.units.begin(), w.units.end(), unit);
            if (w.mode != TLA_UNITS_LOCKSTEP && at == w.units.end()) continue;
            const std::uint64_t nbytes =
                w.mode == TLA_UNITS_COMMON ? w.extents[static_cast<std::size_t>(at - w.units.begin())] : w.nbytes;
            most = std::max(most, nbytes);
            all.emplace_back(unit, nbytes);
        }
        all.emplace_back(units, most);
        return all;
    }
    bool fits(const wanted &w, std::uint64_t at) const {
        for (const auto &[list, nbytes] : needs(w))
            for (std::uint64_t i = at; i < at + nbytes; i++)
                if (i >= bytes || lists[list][i]) return false;
        return true;
    }
    std::optional<std::uint64_t> place(const wanted &w) const {
        for (std::uint64_t i = 0; i < bytes; i++) {
            const std::uint64_t at = w.fill == TLA_TOP_DOWN ? bytes - 1 - i : i;
            if (fits(w, at)) return at;
        }
        return std::nullopt;
    }
    std::uint64_t free_in_all(const wanted &w) const {
        std::uint64_t count = 0;
        for (std::uint64_t i = 0; i < bytes; i++) {
            bool is_free = true;
            for (const auto &need : needs(w))
                is_free = is_free && !lists[need.first][i];
            count += is_free;
        }
        return count;
    }
    void set(const wanted &w, std::uint64_t at, bool live) {
        const bool of_units = w.mode == TLA_UNITS_SINGLE || w.mode == TLA_UNITS_COMMON;
        for (const auto &[list, nbytes] : needs(w))
            if ((list < units) == of_units)
                for (std::uint64_t i = at; i < at + nbytes; i++)
                    lists[list][i] = live;
    }

    std::vector<std::vector<bool>> lists;
    std::uint32_t units;
    std::uint64_t bytes;
};

} // namespace

BOOST_AUTO_TEST_CASE(random_buffers_in_all_modes_agree_with_a_bitmap_of_every_list) {
    constexpr std::uint32_t units = 4;
    constexpr std::uint64_t bytes = 96;
    seeded_random random(39);
    bench b({units, 0, bytes, 1});
    bitmap naive(units, bytes);
    std::vector<std::pair<wanted, std::uint64_t>> live;
    std::uint64_t refused[2] = {};
    const auto draw = [&] {
        wanted w{static_cast<tla_units_mode>(random.between(0, 3)),
                 random.between(1, 12),
                 {},
                 {},
                 random.one_in(2) ? TLA_TOP_DOWN : TLA_BOTTOM_UP};
        if (w.mode == TLA_UNITS_LOCKSTEP) return w;
        const std::uint64_t chosen =
            w.mode == TLA_UNITS_SINGLE ? std::uint64_t{1} << random.between(0, units - 1) : random.between(1, 15);
        for (std::uint32_t unit = 0; unit < units; unit++)
            if (chosen >> unit & 1) w.units.push_back(unit);
        if (w.mode != TLA_UNITS_COMMON) return w;
        w.nbytes = 0;
        for (std::size_t i = 0; i < w.units.size(); i++)
            w.extents.push_back(random.between(1, 12));
        return w;
    };
    for (int i = 0; i < 100000; i++) {
        if (live.empty() || random.between(1, 9) <= 5) {
            const wanted w = draw();
            const auto expected = naive.place(w);
            const bool at_place = random.one_in(8);
            const std::uint64_t place = random.between(0, bytes - 13);
            const bool fits = naive.fits(w, place);
            if (at_place) {
                BOOST_REQUIRE_EQUAL(b.reserve(w, place), fits ? TLA_OK : TLA_OVERLAP);
                if (!fits) continue;
                naive.set(w, place, true);
                live.emplace_back(w, place);
                continue;
            }
            const auto placed = b.alloc(w);
            BOOST_REQUIRE(placed == expected);
            if (!placed) {
                std::uint64_t most = w.nbytes;
                for (const std::uint64_t nbytes : w.extents)
                    most = std::max(most, nbytes);
                const tla_status status = naive.free_in_all(w) < most ? TLA_EXHAUSTED : TLA_FRAGMENTED;
                BOOST_REQUIRE_EQUAL(b.status, status);
                refused[status == TLA_FRAGMENTED]++;
                continue;
            }
            naive.set(w, *placed, true);
            live.emplace_back(w, *placed);
        } else {
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            const auto &[w, at] = live.back();
            BOOST_REQUIRE_EQUAL(b.free(w, at), TLA_OK);
            naive.set(w, at, false);
            live.pop_back();
        }
    }
    BOOST_CHECK_GT(refused[0], 100u);
    BOOST_CHECK_GT(refused[1], 100u);
    for (const auto &[w, at] : live)
        BOOST_REQUIRE_EQUAL(b.free(w, at), TLA_OK);
    for (const std::uint32_t list : {0u, 1u, 2u, 3u, TLA_UNITS_ALL})
        BOOST_CHECK_EQUAL(b.stats(list).free_blocks, 1u);
}
