// Offset bins beside the cases of ../shared/data/allocators: OffsetAllocator's operations, and Mooncake's 64-bit face.
#include "model/arena/float_bin.h"
#include "platform/command_line.hpp"
#include "shared_data.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"

#include <jansson.h>
#include <map>
#include <sstream>

namespace {

std::uint64_t number(const json_t *value) {
    return static_cast<std::uint64_t>(json_integer_value(value));
}

std::uint64_t member(const json_t *object, const char *key) {
    return number(json_object_get(object, key));
}

// An arena as a case describes it, with its live blocks by the case's numbers.
struct played {
    played(const json_t *of, tla_policy policy, std::uint64_t base) {
        tla_arena_config config{};
        config.base = base;
        config.capacity = member(of, "size");
        config.policy = policy;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_drive(arena, nullptr, member(of, "nodes"), nullptr), TLA_OK);
    }
    ~played() { tla_arena_destroy(arena); }
    played(const played &) = delete;
    played &operator=(const played &) = delete;

    // False: refused.
    bool alloc(std::uint64_t id, std::uint64_t nbytes) {
        tla_block block{};
        work = {};
        if (tla_arena_alloc(arena, nbytes, &block, &work) != TLA_OK) return false;
        live[id] = {block.offset, nbytes};
        return true;
    }
    // The bytes of the joined region.
    std::uint64_t free(std::uint64_t id) {
        const tla_block block = live.at(id);
        live.erase(id);
        work = {};
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, block, &work), TLA_OK);
        std::uint64_t joined = 0;
        for (const tla_block &region : regions())
            if (region.offset <= block.offset) joined = region.nbytes;
        return joined;
    }
    std::vector<tla_block> regions() const {
        std::vector<tla_block> found(tla_arena_get_stats(arena).free_blocks);
        tla_arena_free_blocks(arena, 0, found.data(), found.size());
        return found;
    }
    tla_arena_stats stats() const { return tla_arena_get_stats(arena); }

    tla_arena *arena = nullptr;
    std::map<std::uint64_t, tla_block> live;
    tla_work work{};
};

template <class Check>
void for_every_case(const char *file, Check check) {
    json_t *all = json_load_file((shared_data + "data/allocators/" + file).c_str(), 0, nullptr), *of;
    BOOST_REQUIRE(all);
    std::size_t i;
    json_array_foreach(json_object_get(all, "cases"), i, of)
        BOOST_TEST_CONTEXT(json_string_value(json_object_get(of, "name"))) check(of);
    BOOST_CHECK_EQUAL(i, 5u);
    json_decref(all);
}

// Calls `each` with every operation's letter, number, bytes (0 of a free), and with what is expected.
template <class Each>
void for_every_operation(const json_t *of, Each each) {
    const json_t *expected = json_object_get(of, "expect");
    json_t *op;
    std::size_t i;
    json_array_foreach(json_object_get(of, "ops"), i, op) BOOST_TEST_CONTEXT("operation " << i)
        each(*json_string_value(json_array_get(op, 0)), number(json_array_get(op, 1)), number(json_array_get(op, 2)),
             json_array_get(expected, i));
}

void check_receipt(char op, const json_t *receipt, const tla_work &work) {
    if (!receipt) return;
    const auto at = [&](std::size_t i) { return number(json_array_get(receipt, i)); };
    if (op == 'a') {
        BOOST_CHECK_EQUAL(work.probes, at(2) + at(3));
        BOOST_CHECK_EQUAL(work.splits, at(4));
        BOOST_CHECK_EQUAL(work.allocs, 1u);
    } else {
        BOOST_CHECK_EQUAL(work.merges, at(0));
        BOOST_CHECK_EQUAL(work.frees, 1u);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(offset_bins_place_as_the_cases_of_their_source) {
    if (!shared_data_is_here("data/allocators")) return;
    for_every_case("offset_allocator.json", [](const json_t *of) {
        const bool rounds = json_is_true(json_object_get(of, "round_to_bin"));
        BOOST_REQUIRE_EQUAL(json_is_true(json_object_get(of, "spare_node")), !rounds);
        played p(of, rounds ? TLA_OFFSET_BINS_ROUNDED : TLA_OFFSET_BINS, 0);
        for_every_operation(of, [&](char op, std::uint64_t id, std::uint64_t nbytes, const json_t *expected) {
            const auto at = [&](std::size_t i) { return json_array_get(expected, i); };
            if (op == 'a') {
                BOOST_REQUIRE_EQUAL(p.alloc(id, nbytes), !json_is_null(at(0)));
                if (p.live.count(id)) BOOST_REQUIRE_EQUAL(p.live[id].offset, number(at(0)));
            } else if (!p.live.count(id)) {
                BOOST_REQUIRE(json_is_null(expected));
                return;
            } else {
                const std::uint64_t joined = p.free(id);
                BOOST_REQUIRE_EQUAL(p.stats().proven_largest ? joined : 0, number(at(0)));
            }
            BOOST_REQUIRE_EQUAL(p.stats().proven_free, number(at(1)));
            BOOST_REQUIRE_EQUAL(p.stats().proven_largest, number(at(2)));
            if (!json_is_null(at(0))) check_receipt(op, at(3), p.work);
        });
        std::map<std::string, std::uint64_t> found, expected;
        for (const tla_block &region : p.regions())
            found[std::to_string(tla_float_bin_size(tla_float_bin_of(region.nbytes)))]++;
        const char *bin;
        json_t *count;
        json_object_foreach(json_object_get(of, "free_regions_by_bin_bytes"), bin, count) expected[bin] = number(count);
        BOOST_CHECK(found == expected);
    });
}

// The hint of the largest free region is that of a segment, which asks no arena for more.
BOOST_AUTO_TEST_CASE(rounded_offset_bins_place_as_the_cases_of_mooncakes_allocator) {
    if (!shared_data_is_here("data/allocators")) return;
    for_every_case("mooncake_allocator.json", [](const json_t *of) {
        played p(of, TLA_OFFSET_BINS_ROUNDED, member(of, "base"));
        const std::uint64_t unit = tla_arena_get_config(p.arena).alignment, whole = member(of, "size") / unit * unit;
        BOOST_CHECK_EQUAL(unit, member(of, "unit"));
        std::uint64_t bytes = 0, hint = p.stats().proven_largest;
        bool tightened = false;
        for_every_operation(of, [&](char op, std::uint64_t id, std::uint64_t nbytes, const json_t *expected) {
            const auto at = [&](std::size_t i) { return json_array_get(expected, i); };
            if (op == 'a') {
                if (nbytes <= hint && !p.alloc(id, nbytes)) {
                    hint = p.stats().proven_largest;
                    tightened = hint < whole;
                }
                BOOST_REQUIRE_EQUAL(p.live.count(id) == 0, json_is_null(at(0)));
                if (p.live.count(id)) {
                    BOOST_REQUIRE_EQUAL(p.live[id].offset, number(at(0)));
                    bytes += nbytes;
                }
            } else if (!p.live.count(id)) {
                BOOST_REQUIRE(json_is_null(expected));
                return;
            } else {
                bytes -= p.live[id].nbytes;
                const std::uint64_t joined = p.free(id) / unit * unit;
                if (tightened) hint = std::max(hint, joined);
                if (joined == whole) tightened = false;
            }
            BOOST_REQUIRE_EQUAL(bytes, number(at(op == 'a' ? 1 : 0)));
            BOOST_REQUIRE_EQUAL(hint, number(at(op == 'a' ? 2 : 1)));
        });
        json_t *pair;
        std::size_t i;
        json_array_foreach(json_object_get(of, "normalized"), i, pair) BOOST_CHECK_EQUAL(
            tla_arena_granted(p.arena, number(json_array_get(pair, 0))), number(json_array_get(pair, 1)));
    });
}

BOOST_AUTO_TEST_CASE(offset_bins_are_those_of_the_table) {
    if (!shared_data_is_here("data/allocators")) return;
    std::istringstream lines(read_text(shared_data + "data/allocators/offset_bins.csv"));
    std::string line;
    std::getline(lines, line);
    std::size_t count = 0;
    for (; std::getline(lines, line); count++) {
        std::uint64_t bytes, below, above, rounded;
        char comma;
        std::istringstream(line) >> bytes >> comma >> below >> comma >> above >> comma >> rounded;
        BOOST_CHECK_EQUAL(tla_float_bin_of(bytes), below);
        BOOST_CHECK_EQUAL(tla_float_bin_from(bytes), above);
        BOOST_CHECK_EQUAL(tla_float_bin_size(tla_float_bin_from(bytes)), rounded);
    }
    BOOST_CHECK_GT(count, 100u);
}

// Of table 1 of Mooncake: blocks of one size, as many as the pool holds.
BOOST_AUTO_TEST_CASE(rounded_offset_bins_fill_a_pool_as_mooncake_publishes_it) {
    if (!shared_data_is_here("data/allocators")) return;
    std::istringstream lines(read_text(shared_data + "data/allocators/mooncake_uniform_after.csv"));
    std::string line;
    std::getline(lines, line);
    std::size_t count = 0;
    for (; std::getline(lines, line); count++) {
        tla_arena_config config{};
        std::uint64_t size, rounded;
        double utilisation, least, mean;
        char comma;
        std::istringstream(line) >> size >> comma >> config.capacity >> comma >> rounded >> comma >> utilisation >>
            comma >> least >> comma >> mean;
        config.policy = TLA_OFFSET_BINS_ROUNDED;
        tla_arena *arena = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        const std::uint64_t blocks = config.capacity / rounded;
        BOOST_CHECK_EQUAL(tla_arena_granted(arena, size), rounded);
        BOOST_CHECK(tla_arena_fits(arena, size, blocks));
        BOOST_CHECK(!tla_arena_fits(arena, size, blocks + 1));
        const double model = static_cast<double>(blocks * size) / static_cast<double>(config.capacity);
        BOOST_CHECK_SMALL(model - utilisation, 1e-9);
        BOOST_CHECK_SMALL(model - mean, 1e-6);
        BOOST_CHECK_SMALL(model - least, 1e-6);
        tla_arena_destroy(arena);
    }
    BOOST_CHECK_EQUAL(count, 55u);
}
