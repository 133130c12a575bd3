// Units with lockstep buffers only are banks in lockstep: places, statuses and receipts.
#include "seeded_random.hpp"
#include "tlmalloc/stack/units.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>

namespace {

void check_same(const tla_work &ours, const tla_work &theirs) {
    BOOST_REQUIRE_EQUAL(ours.nodes_visited, theirs.nodes_visited);
    BOOST_REQUIRE_EQUAL(ours.list_length, theirs.list_length);
    BOOST_REQUIRE_EQUAL(ours.insert_nodes, theirs.insert_nodes);
    BOOST_REQUIRE_EQUAL(ours.probes, theirs.probes);
    BOOST_REQUIRE_EQUAL(ours.splits, theirs.splits);
    BOOST_REQUIRE_EQUAL(ours.merges, theirs.merges);
    BOOST_REQUIRE_EQUAL(ours.allocs, theirs.allocs);
    BOOST_REQUIRE_EQUAL(ours.frees, theirs.frees);
    BOOST_REQUIRE_EQUAL(ours.nodes_created, theirs.nodes_created);
    BOOST_REQUIRE_EQUAL(ours.nodes_released, theirs.nodes_released);
    BOOST_REQUIRE_EQUAL(ours.metadata_lines, theirs.metadata_lines);
}

void check_random(tla_fill fill, std::uint64_t bytes, std::uint64_t alignment) {
    constexpr std::uint32_t banks = 3;
    seeded_random random(bytes + std::uint64_t{fill});
    const tla_units_config of_units{banks, 0, bytes, alignment};
    const tla_lockstep_config of_lockstep{banks, 0, bytes, alignment, fill};
    tla_units *made = nullptr;
    tla_lockstep *list = nullptr;
    BOOST_REQUIRE_EQUAL(tla_units_create(&of_units, &made), TLA_OK);
    const std::unique_ptr<tla_units, void (*)(tla_units *)> units(made, tla_units_destroy);
    BOOST_REQUIRE_EQUAL(tla_lockstep_create(&of_lockstep, &list), TLA_OK);
    const std::unique_ptr<tla_lockstep, void (*)(tla_lockstep *)> lockstep(list, tla_lockstep_destroy);
    std::map<std::uint64_t, std::pair<std::uint64_t, tla_lockstep_buffer>> live;
    unsigned refused = 0;
    for (int i = 0; i < 20000; i++) {
        tla_work ours{}, theirs{};
        tla_units_request request{TLA_UNITS_LOCKSTEP, fill, random.between(1, bytes / 8), nullptr, 0, nullptr};
        if (random.one_in(50)) request.nbytes = bytes + random.between(0, 3);
        if (!live.empty() && random.one_in(2)) {
            const auto victim = std::next(live.begin(), static_cast<long>(random.between(0, live.size() - 1)));
            request.nbytes = victim->second.first;
            BOOST_REQUIRE_EQUAL(tla_units_free(units.get(), &request, victim->first, &ours), TLA_OK);
            BOOST_REQUIRE_EQUAL(tla_lockstep_free(lockstep.get(), victim->second.second, &theirs), TLA_OK);
            live.erase(victim);
        } else {
            tla_lockstep_buffer buffer{};
            std::uint64_t address = 0;
            const tla_status expected =
                tla_lockstep_alloc(lockstep.get(), banks * request.nbytes, request.nbytes, &buffer, &theirs);
            BOOST_REQUIRE_EQUAL(tla_units_alloc(units.get(), &request, &address, &ours), expected);
            refused += expected != TLA_OK;
            if (!expected) BOOST_REQUIRE_EQUAL(address, buffer.offset);
            if (!expected) live[address] = {request.nbytes, buffer};
        }
        check_same(ours, theirs);
        tla_bank_stats bank{};
        tla_lockstep_get_stats(lockstep.get(), 0, &bank);
        std::uint64_t free = 0, largest = 0;
        BOOST_REQUIRE_EQUAL(tla_units_get_room(units.get(), &request, &free, &largest), TLA_OK);
        BOOST_REQUIRE_EQUAL(free, bank.free);
        BOOST_REQUIRE_EQUAL(largest, bank.largest_free);
    }
    BOOST_CHECK_GT(refused, 100u);
}

} // namespace

BOOST_AUTO_TEST_CASE(units_in_lockstep_alone_are_banks_in_lockstep) {
    for (const tla_fill fill : {TLA_BOTTOM_UP, TLA_TOP_DOWN}) {
        check_random(fill, 4096, 1);
        check_random(fill, 4096, 64);
        check_random(fill, 4096 + 37, 64); // the last bytes are never allocated
    }
}
