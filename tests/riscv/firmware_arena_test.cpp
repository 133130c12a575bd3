// Firmware behind an arena: the core decides, the firmware answers the same, and its cycles are the price.
#include "engine_behind_arena.hpp"
#include "firmware_beside_core.hpp"
#include "unit/seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace {

using an_arena = std::unique_ptr<tla_arena, void (*)(tla_arena *)>;

an_arena arena_of(const tla_firmware &firmware, std::uint64_t units) {
    tla_arena_config config{};
    config.base = firmware.policy == TLA_BUDDY ? 256 * units : 256 * 77; // buddies begin at a multiple of their largest
    config.capacity = 256 * units;
    config.alignment = 256;
    config.policy = firmware.policy;
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    return {arena, tla_arena_destroy};
}

void drive(tla_arena *arena, const tla_firmware &firmware) {
    tla_riscv_timing timing;
    tla_riscv_timing_defaults(&timing);
    tla_engine engine{};
    tla_error error{};
    BOOST_REQUIRE_EQUAL(tla_firmware_engine_for_arena(&firmware, &timing, &engine), TLA_OK);
    BOOST_REQUIRE_MESSAGE(tla_arena_drive(arena, &engine, 0, &error) == TLA_OK, error.text);
}

// Of prices in picoseconds: the p-th of a hundred.
std::uint64_t quantile(std::vector<std::uint64_t> &prices, unsigned p) {
    const auto at = prices.begin() + static_cast<std::ptrdiff_t>((prices.size() - 1) * p / 100);
    std::nth_element(prices.begin(), at, prices.end());
    return *at;
}

// Random requests to an arena with the firmware behind it and to one with its profile: the same blocks and statuses,
// and prices within 2 % or two cycles of each other at the median, the 99th of a hundred and the most.
void compare(const tla_firmware &firmware, std::uint64_t units, std::uint64_t largest, std::uint64_t seed) {
    const an_arena engine = arena_of(firmware, units), model = arena_of(firmware, units);
    drive(engine.get(), firmware);
    const tla_cost_profile cost = prices_of_profile(firmware.name);
    seeded_random random(seed);
    std::vector<tla_block> live;
    std::vector<std::uint64_t> by_engine[2], by_model[2]; // of allocations and of frees
    std::uint64_t failed = 0;
    for (int i = 0; i < 100000; i++) {
        const bool frees = !live.empty() && random.one_in(2);
        tla_block one{}, other{};
        tla_engine_work asked{};
        tla_work engine_work{}, model_work{};
        engine_work.engine = &asked;
        tla_status engine_status = TLA_OK, model_status = TLA_OK;
        if (frees) {
            const std::size_t which = random.between(0, live.size() - 1);
            engine_status = tla_arena_free(engine.get(), live[which], &engine_work);
            model_status = tla_arena_free(model.get(), live[which], &model_work);
            live[which] = live.back();
            live.pop_back();
        } else {
            const std::uint64_t nbytes = random.between(1, largest);
            engine_status = tla_arena_alloc(engine.get(), nbytes, &one, &engine_work);
            model_status = tla_arena_alloc(model.get(), nbytes, &other, &model_work);
            if (model_status == TLA_OK) live.push_back(other);
            failed += model_status != TLA_OK;
        }
        BOOST_REQUIRE_MESSAGE(engine_status == model_status, tla_arena_last_error(engine.get())->text);
        BOOST_REQUIRE_EQUAL(one.offset, other.offset);
        BOOST_REQUIRE_GT(asked.cycles, 0u);
        by_engine[frees].push_back(tla_cost_price(&cost, &engine_work));
        by_model[frees].push_back(tla_cost_price(&cost, &model_work));
    }
    BOOST_CHECK_GT(failed, 100u);
    for (const int frees : {0, 1})
        for (const unsigned p : {50u, 99u, 100u}) {
            const double measured = double(quantile(by_engine[frees], p)), said = double(quantile(by_model[frees], p));
            BOOST_TEST_MESSAGE((frees ? "frees, " : "allocations, ")
                               << p << " of 100: " << measured / 1000 << " cycles, profile " << said / 1000);
            BOOST_CHECK_LE(std::fabs(measured - said), std::max(0.02 * measured, 2000.0));
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(an_arena_over_firmware_first_fit_places_as_the_model_at_the_price_of_its_profile) {
    compare(tla_firmware_first_fit, 4096, 256 * 100, 1);
}

BOOST_AUTO_TEST_CASE(a_planted_mistake_of_firmware_is_a_difference) {
    // What is left of a block that is cut begins at size - offset in place of size + offset.
    std::vector<unsigned char> bytes(tla_firmware_first_fit.bytes,
                                     tla_firmware_first_fit.bytes + tla_firmware_first_fit.nbytes);
    tla_firmware mistaken = tla_firmware_first_fit;
    mistaken.bytes = bytes.data();
    const std::uint32_t add = 0x008586b3; // add a3, a1, s0
    const auto *const word = reinterpret_cast<const unsigned char *>(&add);
    const auto at = std::search(bytes.begin(), bytes.end(), word, word + 4);
    BOOST_REQUIRE(at != bytes.end());
    at[3] |= 0x40; // sub
    const an_arena arena = arena_of(mistaken, 4096);
    drive(arena.get(), mistaken);
    tla_block block{};
    for (int i = 0; i < 2; i++) // from 0 and from the middle, which the cut before has not moved
        BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 1000, &block, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_arena_alloc(arena.get(), 1000, &block, nullptr), TLA_ENGINE_DIFFERS);
    BOOST_CHECK_EQUAL(tla_arena_last_error(arena.get())->text,
                      "engine fw_list, operation 3: allocate 4, in units of 256 bytes: the engine answers done at 0, "
                      "the core done at 8");
}

BOOST_AUTO_TEST_CASE(an_arena_over_firmware_buddies_places_as_the_model_at_the_price_of_their_profile) {
    compare(tla_firmware_buddy, tla_firmware_buddy.capacity_max, 256 * 60, 2);
}

BOOST_AUTO_TEST_CASE(an_arena_over_firmware_offset_bins_places_as_the_model_at_the_price_of_their_profile) {
    compare(tla_firmware_offset_bins, 4096, 256 * 100, 4);
    compare(tla_firmware_offset_bins_rounded, 4096, 256 * 100, 5);
}

BOOST_AUTO_TEST_CASE(every_kind_of_request_is_placed_as_without_the_firmware) {
    for (const tla_firmware *firmware :
         {&tla_firmware_first_fit, &tla_firmware_buddy, &tla_firmware_offset_bins, &tla_firmware_offset_bins_rounded}) {
        tla_riscv_timing timing;
        tla_riscv_timing_defaults(&timing);
        tla_engine engine{};
        BOOST_REQUIRE_EQUAL(tla_firmware_engine_for_arena(firmware, &timing, &engine), TLA_OK);
        arena_pair both(engine, 3000, prices_of_profile(firmware->name), false);
        both.play(5000, 3);
        BOOST_CHECK_GT(both.failed, 10u);
        BOOST_CHECK_GT(both.refused, 10u);
        BOOST_CHECK_GT(both.unaligned, 0u);
        BOOST_CHECK_GT(both.batches, 10u);
    }
}

BOOST_AUTO_TEST_CASE(buddies_as_firmware_reject_unsupported_requests) {
    const auto refused = [](std::uint64_t base, std::uint64_t units, std::uint64_t nodes) {
        tla_arena_config config{};
        config.base = base;
        config.capacity = 256 * units;
        config.alignment = 256;
        config.policy = TLA_BUDDY;
        tla_arena *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &made), TLA_OK);
        const an_arena arena{made, tla_arena_destroy};
        tla_riscv_timing timing;
        tla_riscv_timing_defaults(&timing);
        tla_engine engine{};
        tla_error error{};
        BOOST_REQUIRE_EQUAL(tla_firmware_engine_for_arena(&tla_firmware_buddy, &timing, &engine), TLA_OK);
        BOOST_CHECK_EQUAL(tla_arena_drive(arena.get(), &engine, nodes, &error), TLA_UNSUPPORTED);
        engine.destroy(engine.state); // it is the caller's still
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refused(0, 8193, 0),
                      "engine fw_buddy supports 1 .. 8192 units, but the arena has 8193 of 256 bytes");
    BOOST_CHECK_EQUAL(refused(256, 64, 0),
                      "engine fw_buddy: the arena's base 256 must be a multiple of the engine's largest block, 16384");
    BOOST_CHECK_EQUAL(refused(0, 64, 8), "buddy keeps no single list whose nodes could be limited");
}
