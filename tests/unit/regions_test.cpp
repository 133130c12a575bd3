// Ordered regions: LMCache's golden cases, the cases by hand, and deficits in exact numbers.
#include "seeded_random.hpp"
#include "shared_data.hpp"
#include "tlmalloc/cache/regions.h"

#include <algorithm>
#include <boost/property_tree/json_parser.hpp>
#include <map>
#include <numeric>
#include <string>
#include <vector>

namespace {

using json = boost::property_tree::ptree;
using sizes_of = std::vector<std::uint64_t>;

constexpr std::uint64_t MiB = 1 << 20;

struct bench {
    bench(const sizes_of &sizes, tla_region_policy policy, std::uint64_t alignment = 4096) {
        for (const std::uint64_t nbytes : sizes) {
            tla_arena_config config{};
            config.capacity = nbytes;
            config.alignment = alignment;
            tla_arena *arena = nullptr;
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
            arenas.push_back(arena);
        }
        const tla_arena_set set{arenas.data(), static_cast<std::uint32_t>(arenas.size())};
        BOOST_REQUIRE_EQUAL(tla_regions_create(&set, policy, &regions), TLA_OK);
    }
    bench(const bench &) = delete;
    ~bench() {
        tla_regions_destroy(regions);
        for (tla_arena *arena : arenas)
            tla_arena_destroy(arena);
    }
    // The region of a block of one page, or -1.
    int alloc(std::uint64_t nbytes = 4096) {
        tla_region_block block{};
        return tla_regions_alloc(regions, nbytes, 1, &block, &work) ? -1 : static_cast<int>(block.region);
    }
    sizes_of counts() const {
        sizes_of found;
        for (std::uint32_t i = 0; i < arenas.size(); i++)
            found.push_back(tla_regions_count(regions, i));
        return found;
    }
    sizes_of free_bytes() const {
        sizes_of found;
        for (const tla_arena *arena : arenas)
            found.push_back(tla_arena_get_stats(arena).free);
        return found;
    }

    std::vector<tla_arena *> arenas{};
    tla_regions *regions = nullptr;
    tla_work work{};
};

void check(const sizes_of &found, const sizes_of &expected) {
    BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
}

std::vector<json> items(const json &list) {
    std::vector<json> found;
    for (const auto &[name, item] : list)
        found.push_back(item);
    return found;
}

sizes_of numbers(const json &list) {
    sizes_of found;
    for (const auto &[name, item] : list)
        found.push_back(item.get_value<std::uint64_t>());
    return found;
}

void play_case(const json &c) {
    bench b(numbers(c.get_child("sizes")),
            c.get<std::string>("policy") == "linear" ? TLA_REGIONS_LINEAR : TLA_REGIONS_INTERLEAVING,
            c.get<std::uint64_t>("align"));
    std::map<std::uint64_t, std::vector<tla_region_block>> live;
    const std::vector<json> ops = items(c.get_child("ops")), expected = items(c.get_child("expect"));
    for (std::size_t i = 0; i < ops.size(); i++) {
        const std::vector<json> op = items(ops[i]);
        std::vector<tla_region_block> &blocks = live[op[1].get_value<std::uint64_t>()];
        if (op[0].data() == "f") {
            for (const tla_region_block &block : blocks)
                BOOST_REQUIRE_EQUAL(tla_regions_free(b.regions, block, nullptr), TLA_OK);
            blocks.clear();
            check(b.free_bytes(), numbers(expected[i]));
            continue;
        }
        blocks.resize(op[3].get_value<std::size_t>());
        const auto act = op[0].data() == "a" ? tla_regions_alloc : tla_regions_distribute;
        if (act(b.regions, op[2].get_value<std::uint64_t>(), blocks.size(), blocks.data(), nullptr)) blocks.clear();
        sizes_of found, wanted;
        for (const tla_region_block &block : blocks)
            found.insert(found.end(), {block.region, block.block.offset});
        const std::vector<json> after = items(expected[i]);
        for (const json &block : items(after[0])) {
            const sizes_of pair = numbers(block);
            wanted.insert(wanted.end(), pair.begin(), pair.end());
        }
        check(found, wanted);
        check(b.counts(), numbers(after[1]));
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(regions_are_lmcaches_in_all_golden_cases) {
    if (!shared_data_is_here("data/allocators")) return;
    json file;
    read_json(shared_data + "data/allocators/lmcache_regions.json", file);
    for (const json &c : items(file.get_child("cases")))
        play_case(c);
}

BOOST_AUTO_TEST_CASE(interleaving_fills_regions_in_proportion_to_their_sizes) { // by hand
    bench b({7 * MiB, 3 * MiB, 2 * MiB}, TLA_REGIONS_INTERLEAVING);
    for (const int region : {0, 1, 2, 0})
        BOOST_CHECK_EQUAL(b.alloc(), region);
    for (int i = 4; i < 1200; i++)
        b.alloc();
    check(b.counts(), {700, 300, 200});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 1200u);
}

BOOST_AUTO_TEST_CASE(linear_regions_are_tried_in_their_order_and_a_batch_is_one_request) {
    bench b({MiB, 2 * MiB}, TLA_REGIONS_LINEAR);
    tla_region_block blocks[3];
    BOOST_CHECK_EQUAL(b.alloc(MiB), 0);
    BOOST_CHECK_EQUAL(tla_regions_alloc(b.regions, MiB / 2, 3, blocks, &b.work), TLA_OK);
    BOOST_CHECK_EQUAL(blocks[2].region, 1u);
    BOOST_CHECK_EQUAL(blocks[2].block.offset, MiB);
    check(b.counts(), {1, 1});
    BOOST_CHECK_EQUAL(b.work.class_lookups, 3u);
    BOOST_CHECK_EQUAL(tla_regions_alloc(b.regions, MiB, 1, blocks, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_regions_alloc(b.regions, MiB, 0, nullptr, nullptr), TLA_OK);
    check(b.counts(), {1, 1});
    BOOST_CHECK_EQUAL(tla_regions_free(b.regions, {2, {0, MiB}}, nullptr), TLA_INVALID_ARGUMENT);
    const tla_arena_set none{nullptr, 0};
    tla_regions *regions = nullptr;
    BOOST_CHECK_EQUAL(tla_regions_create(&none, TLA_REGIONS_LINEAR, &regions), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(blocks_that_a_failed_request_had_distributed_are_free_but_stay_counted) {
    bench b({MiB, MiB}, TLA_REGIONS_INTERLEAVING);
    tla_region_block blocks[3];
    BOOST_CHECK_EQUAL(tla_regions_distribute(b.regions, MiB, 3, blocks, nullptr), TLA_EXHAUSTED);
    check(b.free_bytes(), {MiB, MiB});
    check(b.counts(), {1, 1});
    BOOST_CHECK_EQUAL(tla_regions_distribute(b.regions, MiB, 2, blocks, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(blocks[0].region + blocks[1].region, 1u);
}

// Deficits of a model with sizes of a few bytes, so that numbers of 64 bits are exact; ties are frequent.
BOOST_AUTO_TEST_CASE(random_requests_go_to_the_region_of_the_largest_deficit) {
    seeded_random random(394);
    for (int round = 0; round < 200; round++) {
        sizes_of sizes(random.between(1, 12));
        for (std::uint64_t &nbytes : sizes)
            nbytes = random.between(1, 12);
        bench b(sizes, TLA_REGIONS_INTERLEAVING, 1);
        std::vector<std::int64_t> counts(sizes.size());
        std::vector<std::pair<std::uint32_t, tla_block>> live;
        for (int i = 0; i < 500; i++) {
            if (!live.empty() && random.one_in(2)) {
                const std::size_t at = random.between(0, live.size() - 1);
                BOOST_REQUIRE_EQUAL(tla_regions_free(b.regions, {live[at].first, live[at].second}, nullptr), TLA_OK);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
            const auto total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
            const auto sum = static_cast<std::int64_t>(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}));
            const auto deficit = [&](std::size_t at) {
                const auto nbytes = static_cast<std::int64_t>(sizes[at]);
                return total == 0 ? nbytes : nbytes * total - counts[at] * sum;
            };
            const sizes_of room = b.free_bytes();
            int best = -1;
            for (std::size_t at = 0; at < sizes.size(); at++)
                if (room[at] > 0 && (best < 0 || deficit(at) > deficit(static_cast<std::size_t>(best))))
                    best = static_cast<int>(at);
            std::uint64_t tried = sizes.size(); // those before it too, which have no room
            for (std::size_t at = 0; best >= 0 && at < sizes.size(); at++) {
                const std::int64_t of_best = deficit(static_cast<std::size_t>(best));
                tried -= deficit(at) < of_best || (deficit(at) == of_best && at > static_cast<std::size_t>(best));
            }
            tla_region_block block{};
            tla_work work{};
            const tla_status status = tla_regions_alloc(b.regions, 1, 1, &block, &work);
            BOOST_REQUIRE_EQUAL(status == TLA_OK, best >= 0);
            BOOST_REQUIRE_EQUAL(work.class_lookups, tried);
            if (status) continue;
            BOOST_REQUIRE_EQUAL(block.region, static_cast<std::uint32_t>(best));
            counts[block.region]++;
            live.emplace_back(block.region, block.block);
        }
    }
}
