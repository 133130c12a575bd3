// The list with size classes: tt-metal's published sequences and golden cases, a bitmap, bad requests.
#include "golden_cases.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/stack/class_list.h"

#include <map>
#include <optional>

namespace {

constexpr std::uint64_t KiB = 1024, GiB = KiB * KiB * KiB;

struct bench {
    explicit bench(const tla_class_list_config &config) {
        BOOST_REQUIRE_EQUAL(tla_class_list_create(&config, &list), TLA_OK);
    }
    bench(const bench &) = delete;
    ~bench() { tla_class_list_destroy(list); }

    std::optional<std::uint64_t> alloc(std::uint64_t nbytes, tla_fill fill = TLA_BOTTOM_UP, tla_work *work = nullptr) {
        tla_block block{};
        status = tla_class_list_alloc(list, nbytes, fill, &block, work);
        return status ? std::nullopt : std::optional(block.offset);
    }
    tla_status reserve(std::uint64_t offset, std::uint64_t nbytes) {
        return tla_class_list_reserve(list, {offset, nbytes}, nullptr);
    }
    tla_status free(std::uint64_t offset, std::uint64_t nbytes, tla_work *work = nullptr) {
        return tla_class_list_free(list, {offset, nbytes}, work);
    }
    std::optional<std::uint64_t> lowest() const {
        std::uint64_t offset = 0;
        return tla_class_list_lowest(list, &offset) ? std::optional(offset) : std::nullopt;
    }
    std::string available(std::uint64_t nbytes) const {
        tla_block blocks[64];
        std::string text;
        const std::size_t count = tla_class_list_available(list, nbytes, 0, blocks, 64);
        for (std::size_t i = 0; i < count; i++)
            text += std::to_string(blocks[i].offset) + ".." + std::to_string(blocks[i].offset + blocks[i].nbytes) + " ";
        return text;
    }
    tla_class_list_stats stats() const { return tla_class_list_get_stats(list); }

    tla_class_list *list = nullptr;
    tla_status status = TLA_OK;
};

tla_class_list_config one_gib(tla_class_search search) {
    return {0, GiB, KiB, KiB, search};
}

void check(bench &b, std::uint64_t nbytes, std::uint64_t offset, tla_fill fill = TLA_BOTTOM_UP) {
    const auto placed = b.alloc(nbytes, fill);
    BOOST_REQUIRE(placed);
    BOOST_CHECK_EQUAL(*placed, offset);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_list_with_classes_places_every_golden_case_as_tt_metal_does) {
    if (!shared_data_is_here("data/allocators")) return;
    golden::file file("data/allocators/ttmetal_free_list.json");
    for (const golden::value &c : file.cases()) {
        BOOST_TEST_CONTEXT(c["name"].text()) {
            bench b({c["offset"].number(), c["size"].number(), c["align"].number(), c["least"].number(),
                     c["policy"].text() == "best" ? TLA_CLASS_BEST : TLA_CLASS_FIRST});
            std::map<std::uint64_t, std::uint64_t> live;
            const std::vector<golden::value> expected = c["expect"].items();
            std::size_t i = 0;
            for (const golden::value &line : c["ops"].items()) {
                const std::vector<golden::value> op = line.items();
                const golden::value expect = expected.at(i++);
                if (op[0].text() == "f") {
                    const std::uint64_t offset = op[1].number();
                    BOOST_REQUIRE_EQUAL(b.free(offset, live.at(offset)), TLA_OK);
                    live.erase(offset);
                    const std::vector<golden::value> after = expect.items();
                    const auto lowest = b.lowest();
                    BOOST_REQUIRE_EQUAL(lowest.has_value(), !after[0].is_null());
                    if (lowest) BOOST_REQUIRE_EQUAL(*lowest, after[0].number());
                    BOOST_REQUIRE_EQUAL(b.stats().used, after[1].number());
                    BOOST_REQUIRE_EQUAL(b.stats().free, after[2].number());
                    BOOST_REQUIRE_EQUAL(b.stats().largest_free, after[3].number());
                    continue;
                }
                std::optional<std::uint64_t> placed;
                if (op[0].text() == "at") {
                    if (!b.reserve(op[1].number(), op[2].number())) placed = op[1].number();
                } else {
                    placed = b.alloc(op[1].number(), op[2].is_true() ? TLA_BOTTOM_UP : TLA_TOP_DOWN);
                }
                BOOST_REQUIRE_EQUAL(placed.has_value(), !expect.is_null());
                if (!placed) continue;
                BOOST_REQUIRE_EQUAL(*placed, expect.number());
                live[*placed] = op[op[0].text() == "at" ? 2 : 1].number();
            }
            std::string available;
            for (const golden::value &hole : c["available"].items())
                available += hole.items()[0].text() + ".." + hole.items()[1].text() + " ";
            BOOST_CHECK_EQUAL(b.available(1), available);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_list_with_classes_places_the_published_sequences) {
    for (const tla_class_search search : {TLA_CLASS_FIRST, TLA_CLASS_BEST}) {
        bench b(one_gib(search));
        BOOST_REQUIRE_EQUAL(b.reserve(32 * KiB, KiB), TLA_OK); // a wedge
        check(b, 1, 0);
        check(b, KiB, search == TLA_CLASS_BEST ? 31 * KiB : GiB - KiB, TLA_TOP_DOWN);
        check(b, 1, KiB);
    }
    {
        bench b(one_gib(TLA_CLASS_FIRST));
        const std::uint64_t sizes[] = {1, 3, 1, 1, 1}, places[] = {0, 1, 4, 5, 6};
        for (int i = 0; i < 5; i++)
            check(b, sizes[i] * KiB, places[i] * KiB);
        BOOST_REQUIRE_EQUAL(b.free(KiB, 3 * KiB), TLA_OK);
        BOOST_REQUIRE_EQUAL(b.free(5 * KiB, KiB), TLA_OK);
        check(b, KiB, KiB);
    }
    {
        bench b(one_gib(TLA_CLASS_FIRST));
        for (std::uint64_t i = 0; i < 3; i++)
            check(b, KiB, i * KiB);
        BOOST_REQUIRE_EQUAL(b.free(KiB, KiB), TLA_OK);
        BOOST_CHECK_EQUAL(b.available(KiB), "1024..2048 3072..1073741824 ");
        BOOST_CHECK_EQUAL(b.available(10 * KiB), "3072..1073741824 ");
    }
    {
        bench b(one_gib(TLA_CLASS_FIRST));
        check(b, KiB, 0);
        check(b, KiB, KiB);
        BOOST_REQUIRE_EQUAL(b.free(KiB, KiB), TLA_OK);
        BOOST_REQUIRE_EQUAL(b.free(0, KiB), TLA_OK);
        check(b, 2 * KiB, 0);
    }
    {
        bench b(one_gib(TLA_CLASS_FIRST));
        check(b, GiB, 0);
        BOOST_CHECK(!b.alloc(1));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
    }
    bench b(one_gib(TLA_CLASS_FIRST));
    BOOST_CHECK(!b.lowest());
    check(b, KiB, 0);
    check(b, KiB, KiB);
    BOOST_CHECK_EQUAL(*b.lowest(), 0u);
    BOOST_REQUIRE_EQUAL(b.free(0, KiB), TLA_OK);
    BOOST_CHECK_EQUAL(*b.lowest(), KiB);
    BOOST_CHECK_EQUAL(tla_class_list_shrink(b.list, 2 * KiB), TLA_OVERLAP);
    BOOST_REQUIRE_EQUAL(tla_class_list_shrink(b.list, KiB), TLA_OK);
    BOOST_CHECK_EQUAL(tla_class_list_shrink(b.list, KiB), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.reserve(0, KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.reserve(KiB, KiB), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(b.free(0, KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.stats().used, KiB);
    BOOST_CHECK_EQUAL(b.stats().free, GiB - 2 * KiB);
    BOOST_CHECK_EQUAL(*b.lowest(), KiB);
    BOOST_REQUIRE_EQUAL(tla_class_list_unshrink(b.list), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_class_list_unshrink(b.list), TLA_OK); // nothing to return
    BOOST_REQUIRE_EQUAL(b.free(KiB, KiB), TLA_OK);
    BOOST_CHECK(!b.lowest());
    check(b, 2 * KiB, 0);
}

BOOST_AUTO_TEST_CASE(best_takes_the_first_block_of_the_lowest_class_not_the_smallest) {
    bench b({0, 8192, 4, 4, TLA_CLASS_BEST});
    BOOST_REQUIRE_EQUAL(b.reserve(1900, 100), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.reserve(2000 + 1100, 8192 - 3100), TLA_OK); // free: 1900 bytes at 0, 1100 at 2000
    check(b, 1088, 0);
}

BOOST_AUTO_TEST_CASE(receipts_of_a_list_with_classes_count_its_walks) {
    bench b({0, 64 * KiB, KiB, KiB, TLA_CLASS_FIRST}); // 64: 7 classes
    BOOST_REQUIRE_EQUAL(b.reserve(KiB, KiB), TLA_OK);  // 1 KiB at 0 (class 0), 62 KiB at 2 KiB (class 5)
    tla_work work{};
    BOOST_REQUIRE(b.alloc(KiB, TLA_TOP_DOWN, &work) == 63 * KiB);
    BOOST_CHECK_EQUAL(work.nodes_visited, 2u);
    BOOST_CHECK_EQUAL(work.class_lookups, 7u + 1u); // all classes, and that of the rest
    BOOST_CHECK_EQUAL(work.splits, 1u);
    BOOST_CHECK_EQUAL(work.list_length, 2u);
    work = {};
    BOOST_REQUIRE_EQUAL(b.free(KiB, KiB, &work), TLA_OK);
    BOOST_CHECK_EQUAL(work.merges, 2u);
    BOOST_CHECK_EQUAL(work.class_lookups, 1u);
    BOOST_CHECK_EQUAL(work.nodes_released, 1u);
}

BOOST_AUTO_TEST_CASE(bad_requests_to_a_list_with_classes_have_their_own_status_and_change_nothing) {
    bench b({64 * KiB, 64 * KiB, KiB, KiB, TLA_CLASS_FIRST});
    tla_block block{};
    BOOST_CHECK_EQUAL(tla_class_list_alloc(b.list, 0, TLA_BOTTOM_UP, &block, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_class_list_alloc(b.list, ~std::uint64_t{0}, TLA_BOTTOM_UP, &block, nullptr),
                      TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.reserve(64 * KiB, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.reserve(64 * KiB + 1, KiB), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.reserve(63 * KiB, KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.free(128 * KiB, KiB), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(b.free(64 * KiB, KiB), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.free(64 * KiB, 0), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(b.reserve(96 * KiB, KiB), TLA_OK);
    BOOST_CHECK(!b.alloc(40 * KiB));
    BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
    for (const std::uint64_t nbytes : {std::uint64_t{0}, KiB + 1, 65 * KiB})
        BOOST_CHECK_EQUAL(tla_class_list_shrink(b.list, nbytes), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.stats().used, KiB);
    BOOST_CHECK_EQUAL(b.available(0), "");
    for (const tla_class_list_config &config :
         {tla_class_list_config{0, 0, 1, 1, TLA_CLASS_FIRST}, tla_class_list_config{0, KiB, 3, 1, TLA_CLASS_FIRST},
          tla_class_list_config{1, KiB, 2, 1, TLA_CLASS_FIRST}, tla_class_list_config{0, KiB + 1, 2, 1, TLA_CLASS_BEST},
          tla_class_list_config{1, std::uint64_t{1} << 63, 1, 1, TLA_CLASS_BEST}}) {
        tla_class_list *none = nullptr;
        BOOST_CHECK_EQUAL(tla_class_list_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!none);
    }
    tla_class_list_destroy(nullptr);
}

namespace {

// The class of a block, by counting.
unsigned naive_class(std::uint64_t nbytes, unsigned classes) {
    unsigned i = 0;
    for (std::uint64_t limit = 2 * KiB; limit <= nbytes; limit *= 2)
        i++;
    return std::min(i, classes - 1);
}

// The place in a bitmap of units of 512 bytes; end when nothing fits.
std::uint64_t naive_place(const std::vector<bool> &live, std::uint64_t nbytes, tla_fill fill, tla_class_search search) {
    constexpr std::uint64_t unit = 512;
    const std::uint64_t end = live.size();
    std::uint64_t best = end;
    unsigned best_class = 99;
    for (std::uint64_t i = 0; i < end; i++) {
        if (live[i] || (i > 0 && !live[i - 1])) continue; // not the begin of a free block
        std::uint64_t j = i;
        while (j < end && !live[j])
            j++;
        if ((j - i) * unit < nbytes) continue;
        const unsigned of = search == TLA_CLASS_BEST ? naive_class((j - i) * unit, 7) : 0;
        if (of < best_class || (of == best_class && fill == TLA_TOP_DOWN)) {
            best = fill == TLA_TOP_DOWN ? j - nbytes / unit : i;
            best_class = of;
        }
    }
    return best == end ? best : best * unit;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_blocks_of_a_list_with_classes_agree_with_a_bitmap) {
    constexpr std::uint64_t unit = 512, room = 64 * KiB;
    seeded_random random(54479);
    for (const tla_class_search search : {TLA_CLASS_FIRST, TLA_CLASS_BEST}) {
        bench b({0, room, unit, unit, search});
        std::vector<bool> live(room / unit);
        std::vector<tla_block> blocks;
        const auto set = [&](tla_block block, bool value) {
            for (std::uint64_t i = 0; i < block.nbytes / unit; i++)
                live[block.offset / unit + i] = value;
        };
        for (int i = 0; i < 50000; i++) {
            if (blocks.empty() || random.between(1, 9) <= 5) {
                const std::uint64_t units = random.one_in(4) ? random.between(1, 20) : random.between(1, 5);
                const tla_fill fill = random.one_in(2) ? TLA_TOP_DOWN : TLA_BOTTOM_UP;
                const std::uint64_t expected = naive_place(live, units * unit, fill, search);
                const auto placed = b.alloc(units * unit - random.between(0, unit - 1), fill);
                BOOST_REQUIRE_EQUAL(placed.value_or(live.size()), expected);
                if (!placed) continue;
                blocks.push_back({*placed, units * unit});
                set(blocks.back(), true);
            } else {
                std::swap(blocks[random.between(0, blocks.size() - 1)], blocks.back());
                BOOST_REQUIRE_EQUAL(b.free(blocks.back().offset, blocks.back().nbytes), TLA_OK);
                set(blocks.back(), false);
                blocks.pop_back();
            }
        }
        for (const tla_block block : blocks)
            BOOST_REQUIRE_EQUAL(b.free(block.offset, block.nbytes), TLA_OK);
        BOOST_CHECK_EQUAL(b.stats().free_blocks, 1u);
    }
}
