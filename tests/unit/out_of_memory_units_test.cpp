// Units with a memory each, and a list with classes, on a host without memory: a call does all or nothing.
#include "host_memory/owner.hpp"

#include "tlmalloc/stack/class_list.h"
#include "tlmalloc/stack/units.h"

using namespace host_memory;

namespace {

constexpr std::uint64_t room = 4096;

// Two units with holes of a byte, so many that a list's next node needs host memory.
struct units {
    explicit units(std::uint64_t holes) {
        const tla_units_config config{2, 0, room, 1};
        BOOST_REQUIRE_EQUAL(tla_units_create(&config, &u.made), TLA_OK);
        for (std::uint64_t i = 0; i < holes; i++)
            BOOST_REQUIRE_EQUAL(tla_units_reserve(u.made, &both, room - 2 * (i + 1), nullptr), TLA_OK);
    }
    std::string look() const {
        std::string text;
        for (const std::uint32_t list : {0u, 1u, TLA_UNITS_ALL}) {
            tla_units_stats s{};
            tla_units_get_stats(u.made, list, &s);
            text += line(s.used, s.free, s.largest_free, s.free_blocks);
        }
        return text;
    }

    const std::uint32_t names[2] = {0, 1};
    const std::uint64_t bytes[2] = {1, 1}, uneven[2] = {1, 2};
    const tla_units_request both{TLA_UNITS_COMMON, TLA_BOTTOM_UP, 0, names, 2, bytes};
    const tla_units_request more{TLA_UNITS_COMMON, TLA_BOTTOM_UP, 0, names, 2, uneven};
    owner<tla_units, tla_units_destroy> u;
};

const auto look = [](auto &object) { return object.look(); };

} // namespace

BOOST_AUTO_TEST_CASE(units_that_cannot_be_made_are_none) {
    check_creation<owner<tla_units, tla_units_destroy>>("units", [](tla_units **made) {
        const tla_units_config config{8, 0, 1 << 20, 32};
        return tla_units_create(&config, made);
    });
}

BOOST_AUTO_TEST_CASE(a_common_buffer_comes_and_goes_in_all_units_or_in_none) {
    std::size_t asked_for = 0;
    for (std::uint64_t holes = 0; holes < 80; holes++) {
        const auto make = [&] { return std::make_unique<units>(holes); };
        asked_for += exhaust(
            "reserve", make, [](units &o) { return tla_units_reserve(o.u.made, &o.more, 100, nullptr); }, look);
        asked_for += exhaust(
            "alloc", make,
            [](units &o) {
                std::uint64_t address = 0;
                return tla_units_alloc(o.u.made, &o.more, &address, nullptr);
            },
            look);
        const auto live = [&] {
            auto o = make();
            for (std::uint64_t at = 100; at <= 102; at++)
                BOOST_REQUIRE_EQUAL(tla_units_reserve(o->u.made, &o->both, at, nullptr), TLA_OK);
            return o;
        };
        asked_for += exhaust(
            "free", live, [](units &o) { return tla_units_free(o.u.made, &o.both, 101, nullptr); }, look);
    }
    BOOST_CHECK_GT(asked_for, 0u);
}

namespace {

// Blocks of a byte with holes of a byte between them.
struct classes {
    explicit classes(std::uint64_t holes) {
        const tla_class_list_config config{0, room, 1, 1, TLA_CLASS_FIRST};
        BOOST_REQUIRE_EQUAL(tla_class_list_create(&config, &list.made), TLA_OK);
        for (std::uint64_t i = 0; i < holes; i++)
            reserve(room - 2 * (i + 1));
    }
    void reserve(std::uint64_t at) { BOOST_REQUIRE_EQUAL(tla_class_list_reserve(list.made, {at, 1}, nullptr), TLA_OK); }
    std::string look() const {
        const tla_class_list_stats s = tla_class_list_get_stats(list.made);
        return line(s.used, s.free, s.largest_free, s.free_blocks);
    }
    owner<tla_class_list, tla_class_list_destroy> list;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_list_with_classes_that_cannot_be_made_is_none) {
    check_creation<owner<tla_class_list, tla_class_list_destroy>>("class_list", [](tla_class_list **made) {
        const tla_class_list_config config{0, 1 << 20, 32, 32, TLA_CLASS_BEST};
        return tla_class_list_create(&config, made);
    });
}

BOOST_AUTO_TEST_CASE(a_list_with_classes_serves_and_shrinks_or_says_that_there_is_no_host_memory) {
    std::size_t asked_for = 0;
    for (std::uint64_t holes = 0; holes < 80; holes++) {
        const auto make = [&] { return std::make_unique<classes>(holes); };
        asked_for += exhaust(
            "reserve", make,
            [](classes &o) {
                return tla_class_list_reserve(o.list.made, {100, 1}, nullptr);
            },
            look);
        asked_for += exhaust(
            "alloc", make,
            [](classes &o) {
                tla_block block;
                return tla_class_list_alloc(o.list.made, 3, TLA_BOTTOM_UP, &block, nullptr);
            },
            look);
        const auto live = [&] {
            auto o = make();
            for (std::uint64_t at = 100; at <= 102; at++)
                o->reserve(at);
            return o;
        };
        asked_for += exhaust(
            "free", live,
            [](classes &o) {
                return tla_class_list_free(o.list.made, {101, 1}, nullptr);
            },
            look);
        asked_for += exhaust(
            "shrink", live, [](classes &o) { return tla_class_list_shrink(o.list.made, 50); }, look);
        const auto shrunk = [&] {
            auto o = std::make_unique<classes>(holes);
            o->reserve(50); // the returned bytes are a block of their own
            BOOST_REQUIRE_EQUAL(tla_class_list_shrink(o->list.made, 50), TLA_OK);
            return o;
        };
        asked_for += exhaust(
            "unshrink", shrunk, [](classes &o) { return tla_class_list_unshrink(o.list.made); }, look);
    }
    BOOST_CHECK_GT(asked_for, 0u);
}
