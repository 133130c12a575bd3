// Memories of segments: LMCache's golden cases of placement and growth, and one free list with borders in a vector.
#include "seeded_random.hpp"
#include "shared_data.hpp"
#include "tlmalloc/cache/segmented_memory.h"

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

using json = boost::property_tree::ptree;
using numbers = std::vector<std::uint64_t>; // of blocks: start, bytes, start, bytes

struct bench {
    explicit bench(const tla_segmented_config &config) {
        BOOST_REQUIRE_EQUAL(tla_segmented_create(&config, &memory), TLA_OK);
        held.reset(memory);
    }
    tla_status alloc(std::uint64_t nbytes, std::size_t n, std::vector<tla_block> &blocks) {
        blocks.assign(n, {});
        const tla_status status = tla_segmented_alloc(memory, nbytes, n, blocks.data(), &work);
        if (status) blocks.clear();
        return status;
    }
    numbers free_list() const {
        numbers found;
        for (std::uint32_t i = 0; i < tla_segmented_present(memory); i++) {
            std::vector<tla_block> blocks(tla_arena_get_stats(tla_segmented_arena(memory, i)).free_blocks);
            blocks.resize(tla_arena_free_blocks(tla_segmented_arena(memory, i), 0, blocks.data(), blocks.size()));
            for (const tla_block &block : blocks)
                found.insert(found.end(), {block.offset, block.nbytes});
        }
        return found;
    }
    numbers sizes() const {
        numbers found;
        for (std::uint32_t i = 0; i < tla_segmented_present(memory); i++)
            found.push_back(tla_arena_get_stats(tla_segmented_arena(memory, i)).capacity);
        return found;
    }
    void grow() {
        std::uint64_t at = 0;
        while (tla_segmented_next_attempt(memory, &at))
            BOOST_REQUIRE_EQUAL(tla_segmented_attempted(memory, true, at), TLA_OK);
    }

    tla_segmented_memory *memory = nullptr;
    std::unique_ptr<tla_segmented_memory, decltype(&tla_segmented_destroy)> held{nullptr, tla_segmented_destroy};
    tla_work work{};
};

void check(const numbers &found, const numbers &expected) {
    BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

// ---- golden cases ----

std::vector<json> cases_of(const std::string &name) {
    json file;
    read_json(shared_data + "data/allocators/" + name, file);
    std::vector<json> found;
    for (const auto &[key, item] : file.get_child("cases"))
        found.push_back(item);
    return found;
}

std::vector<json> items(const json &list) {
    std::vector<json> found;
    for (const auto &[name, item] : list)
        found.push_back(item);
    return found;
}

// The numbers of a list, and of lists in it.
numbers all_numbers(const json &list) {
    numbers found;
    if (list.empty() && !list.data().empty()) found.push_back(list.get_value<std::uint64_t>());
    for (const auto &[name, item] : list) {
        const numbers of = all_numbers(item);
        found.insert(found.end(), of.begin(), of.end());
    }
    return found;
}

void play_case(const json &c) {
    const auto number = [&](const char *key) { return c.get<std::uint64_t>(key); };
    bench b({number("initial"), number("final"), number("segment"), number("align"), number("page")});
    const std::vector<json> ops = items(c.get_child("ops")), expected = items(c.get_child("expect"));
    std::map<std::uint64_t, std::vector<tla_block>> live;
    check(b.sizes(), all_numbers(items(c.get_child("planned"))[0]));
    for (std::size_t i = 0; i < ops.size(); i++) {
        const std::vector<json> op = items(ops[i]);
        const std::string what = op[0].data();
        if (what == "publish") {
            std::uint64_t at = 0;
            BOOST_REQUIRE(tla_segmented_next_attempt(b.memory, &at));
            BOOST_REQUIRE_EQUAL(tla_segmented_attempted(b.memory, true, at), TLA_OK);
            BOOST_CHECK_EQUAL(b.sizes().back(), op[1].get_value<std::uint64_t>());
            std::uint64_t capacity = 0;
            for (const std::uint64_t nbytes : b.sizes())
                capacity += nbytes;
            check({capacity}, all_numbers(expected[i]));
        } else if (what == "a" || what == "batch") {
            std::vector<tla_block> &blocks = live[op[1].get_value<std::uint64_t>()];
            const tla_status status =
                b.alloc(op[2].get_value<std::uint64_t>(), what == "a" ? 1 : op[3].get_value<std::size_t>(), blocks);
            numbers found;
            for (const tla_block &block : blocks)
                found.insert(found.end(), {block.offset, block.nbytes});
            const std::string word = expected[i].empty() ? expected[i].data() : "";
            BOOST_CHECK_EQUAL(status == TLA_OUT_OF_RANGE, word == "never");
            BOOST_CHECK_EQUAL(status == TLA_EXHAUSTED || status == TLA_FRAGMENTED, word == "refused");
            if (!status) check(found, all_numbers(expected[i]));
        } else {
            for (const std::uint64_t id : all_numbers(op[1])) {
                for (const tla_block &block : live[id])
                    BOOST_REQUIRE_EQUAL(tla_segmented_free(b.memory, block, nullptr), TLA_OK);
                live[id].clear();
            }
            check(b.free_list(), all_numbers(expected[i]));
        }
    }
}

std::uint64_t ps(const json &seconds) {
    return static_cast<std::uint64_t>(std::llround(1000 * seconds.get_value<double>())) * 1000000000;
}

// Segments of any sizes do not come from a configuration: their times alone are checked.
void play_growth(const json &c) {
    const numbers sizes = all_numbers(c.get_child("sizes"));
    bench b({4096, 4096 * (1 + sizes.size()), 4096, 4096, 4096});
    const std::vector<json> expect = items(c.get_child("expect")), published = items(expect[0]);
    std::size_t appeared = 0;
    std::uint64_t now = 0, at = 0;
    for (const json &outcome : items(c.get_child("outcomes"))) {
        BOOST_REQUIRE(tla_segmented_next_attempt(b.memory, &at));
        now = at + ps(c.get_child("attempt"));
        BOOST_REQUIRE_EQUAL(tla_segmented_attempted(b.memory, outcome.data() == "true", now), TLA_OK);
        if (outcome.data() != "true") continue;
        BOOST_REQUIRE_LT(appeared, published.size());
        BOOST_CHECK_EQUAL(now, ps(items(published[appeared++])[0]));
    }
    BOOST_CHECK_EQUAL(appeared, published.size());
    BOOST_CHECK_EQUAL(tla_segmented_present(b.memory), 1 + appeared);
    BOOST_CHECK_EQUAL(now, ps(expect[1]));
    BOOST_CHECK(!tla_segmented_next_attempt(b.memory, &at));
    BOOST_CHECK_EQUAL(tla_segmented_attempted(b.memory, true, now), TLA_NOT_FOUND);
}

// ---- one free list with borders ----

struct naive_list {
    std::vector<tla_block> free{};
    numbers borders{}; // where segments begin

    void add(tla_block block) {
        const auto is_border = [&](std::uint64_t at) {
            return std::find(borders.begin(), borders.end(), at) != borders.end();
        };
        auto at = std::find_if(free.begin(), free.end(), [&](const tla_block &b) { return b.offset > block.offset; });
        at = free.insert(at, block);
        if (at + 1 != free.end() && at->offset + at->nbytes == at[1].offset && !is_border(at[1].offset)) {
            at->nbytes += at[1].nbytes;
            free.erase(at + 1);
        }
        if (at != free.begin() && at[-1].offset + at[-1].nbytes == at->offset && !is_border(at->offset)) {
            at[-1].nbytes += at->nbytes;
            free.erase(at);
        }
    }
    std::vector<tla_block> take(std::uint64_t nbytes, std::size_t n) {
        const std::vector<tla_block> before = free;
        std::vector<tla_block> found;
        for (auto at = free.begin(); at != free.end() && found.size() < n;) {
            if (at->nbytes < nbytes) {
                at++;
                continue;
            }
            found.push_back({at->offset, nbytes});
            at->offset += nbytes;
            at->nbytes -= nbytes;
            if (at->nbytes == 0) at = free.erase(at);
        }
        if (found.size() == n) return found;
        free = before;
        return {};
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(segments_are_lmcaches_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    for (const json &c : cases_of("lmcache_segmented.json"))
        play_case(c);
}

BOOST_AUTO_TEST_CASE(attempts_to_grow_are_lmcaches_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    for (const json &c : cases_of("lmcache_expansion.json"))
        play_growth(c);
}

BOOST_AUTO_TEST_CASE(a_small_segment_may_stand_in_the_middle) {
    const std::uint64_t gib = UINT64_C(1) << 30;
    bench b({5 * gib, 8 * gib, 2 * gib, 4096, 4096});
    BOOST_CHECK_EQUAL(tla_segmented_planned(b.memory), 5u);
    check(b.sizes(), {2 * gib, 2 * gib, gib});
    b.grow();
    check(b.sizes(), {2 * gib, 2 * gib, gib, 2 * gib, gib});
    std::vector<tla_block> blocks;
    BOOST_CHECK_EQUAL(b.alloc(2 * gib + 1, 1, blocks), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.alloc(2 * gib, 3, blocks), TLA_OK);
    BOOST_CHECK_EQUAL(blocks[2].offset, 5 * gib);
    BOOST_CHECK_EQUAL(b.alloc(2 * gib, 1, blocks), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(b.alloc(2 * gib, 2, blocks), TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(no_block_crosses_a_border_though_the_bytes_at_both_sides_are_free) {
    bench b({8192, 8192, 4096, 4096, 4096});
    std::vector<tla_block> both;
    BOOST_REQUIRE_EQUAL(b.alloc(4096, 2, both), TLA_OK);
    for (const tla_block &block : both)
        BOOST_CHECK_EQUAL(tla_segmented_free(b.memory, block, nullptr), TLA_OK);
    check(b.free_list(), {0, 4096, 4096, 4096});
    BOOST_CHECK_EQUAL(tla_segmented_free(b.memory, {8192, 4096}, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_segmented_free(b.memory, {0, 8192}, nullptr), TLA_OUT_OF_RANGE);
    std::vector<tla_block> none;
    BOOST_CHECK_EQUAL(b.alloc(0, 1, none), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.alloc(4096, 0, none), TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_walk_passes_the_free_blocks_of_earlier_segments) {
    bench b({16384, 16384, 8192, 4096, 4096});
    std::vector<tla_block> blocks;
    BOOST_REQUIRE_EQUAL(b.alloc(4096, 1, blocks), TLA_OK);
    b.work = {};
    BOOST_REQUIRE_EQUAL(b.alloc(8192, 1, blocks), TLA_OK); // passes 4096 of the first segment
    BOOST_CHECK_EQUAL(b.work.nodes_visited, 2u);
    b.work = {};
    BOOST_REQUIRE_EQUAL(b.alloc(8192, 1, blocks), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.work.nodes_visited, 1u);
    BOOST_CHECK_EQUAL(b.work.list_length, 1u);
}

BOOST_AUTO_TEST_CASE(an_impossible_plan_is_rejected) {
    tla_segmented_memory *made = nullptr;
    for (const tla_segmented_config &config : std::vector<tla_segmented_config>{{0, 8192, 4096, 4096, 4096},
                                                                                {4096, 0, 4096, 4096, 4096},
                                                                                {4096, 8192, 0, 4096, 4096},
                                                                                {4096, 8192, 6144, 4096, 4096},
                                                                                {4096, 8192, 4096, 8192, 4096},
                                                                                {4096, 8192, 4096, 3, 4096},
                                                                                {4096, UINT64_MAX, 4096, 1, 4096},
                                                                                {4096, UINT64_C(1) << 60, 1, 1, 1}}) {
        BOOST_CHECK_EQUAL(tla_segmented_create(&config, &made), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!made);
    }
}

BOOST_AUTO_TEST_CASE(segments_are_one_list_with_borders_over_1e5_random_operations) {
    seeded_random random(395);
    for (int round = 0; round < 50; round++) {
        const std::uint64_t segment = 16 * random.between(1, 8);
        bench b({random.between(1, 400), random.between(1, 900), segment, 16, 4});
        naive_list model;
        std::uint64_t bytes = 0, at = 0;
        std::size_t known = 0;
        const auto learn = [&] {
            for (; known < b.sizes().size(); bytes += b.sizes()[known++]) {
                model.borders.push_back(bytes);
                model.add({bytes, b.sizes()[known]});
            }
        };
        learn();
        std::vector<tla_block> live;
        for (int i = 0; i < 2000; i++) {
            if (random.one_in(100) && tla_segmented_next_attempt(b.memory, &at)) {
                BOOST_REQUIRE_EQUAL(tla_segmented_attempted(b.memory, true, at), TLA_OK);
                learn();
            } else if (!live.empty() && random.one_in(2)) {
                const std::size_t of = random.between(0, live.size() - 1);
                BOOST_REQUIRE_EQUAL(tla_segmented_free(b.memory, live[of], &b.work), TLA_OK);
                model.add(live[of]);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(of));
            } else {
                const std::uint64_t nbytes = random.between(1, segment),
                                    n = random.one_in(3) ? random.between(1, 6) : 1;
                std::vector<tla_block> blocks;
                const tla_status status = b.alloc(nbytes, n, blocks);
                if (status == TLA_OUT_OF_RANGE) continue; // a plan of short segments
                const std::vector<tla_block> expected = model.take((nbytes + 15) / 16 * 16, n);
                BOOST_REQUIRE_EQUAL(blocks.size(), expected.size());
                for (std::size_t k = 0; k < blocks.size(); k++)
                    BOOST_REQUIRE(blocks[k].offset == expected[k].offset && blocks[k].nbytes == expected[k].nbytes);
                live.insert(live.end(), blocks.begin(), blocks.end());
            }
            numbers list;
            for (const tla_block &block : model.free)
                list.insert(list.end(), {block.offset, block.nbytes});
            BOOST_REQUIRE(b.free_list() == list);
        }
    }
}
