// How tensors lie: parts, mapping commands, and what a page fault needs.
#include "tlmalloc/kernel/tensor_shards.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <random>
#include <vector>

namespace {

using places = std::vector<tla_pe_location>;

std::vector<tla_shard> split(tla_spread spread, const places &pes, std::uint64_t elements, std::uint32_t bytes) {
    std::vector<tla_shard> shards(pes.size());
    shards.resize(tla_tensor_split(spread, pes.data(), pes.size(), elements, bytes, shards.data()));
    return shards;
}

tla_tensor tensor_of(tla_spread spread, const std::vector<tla_shard> &shards, std::uint64_t nbytes) {
    return {spread, {0x100000}, nbytes, shards.data(), shards.size(), {3, 3, 0xff}, 5};
}

} // namespace

BOOST_AUTO_TEST_CASE(the_first_parts_are_one_element_larger) {
    const auto shards = split(TLA_SPREAD_SPLIT, {{0, 0, 0}, {0, 0, 2}, {0, 1, 0}}, 8, 4);
    BOOST_REQUIRE_EQUAL(shards.size(), 3u);
    BOOST_CHECK_EQUAL(shards[0].nbytes, 12u);
    BOOST_CHECK_EQUAL(shards[1].nbytes, 12u);
    BOOST_CHECK_EQUAL(shards[2].nbytes, 8u);
    BOOST_CHECK_EQUAL(shards[1].offset, 12u);
    BOOST_CHECK_EQUAL(shards[2].offset, 24u);
    BOOST_CHECK_EQUAL(shards[1].where.pe, 2u);
    BOOST_CHECK_EQUAL(split(TLA_SPREAD_SPLIT, {{0, 0, 0}, {0, 0, 1}, {0, 0, 2}}, 2, 4).size(), 2u);
    BOOST_CHECK(split(TLA_SPREAD_DEMAND, {{0, 0, 0}}, 2, 4).empty());
}

BOOST_AUTO_TEST_CASE(every_copy_covers_the_tensor_once_in_every_spread) {
    const unsigned seed = 9;
    std::mt19937 random(seed);
    for (int round = 0; round < 500; round++) {
        places pes(1 + random() % 12);
        for (tla_pe_location &pe : pes)
            pe = {static_cast<std::uint32_t>(random() % 2), static_cast<std::uint32_t>(random() % 2),
                  static_cast<std::uint32_t>(random() % 3)};
        const std::uint64_t elements = 1 + random() % 40, nbytes = elements * 3;
        for (const tla_spread spread : {TLA_SPREAD_SPLIT, TLA_SPREAD_REPLICATE}) {
            const auto shards = split(spread, pes, elements, 3);
            const tla_tensor t = tensor_of(spread, shards, nbytes);
            std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> covered; // of each copy, in order
            std::uint64_t first_copy = 0;
            for (const tla_shard &s : shards) {
                const bool split_over_all = spread == TLA_SPREAD_SPLIT;
                auto &at = covered[split_over_all ? std::make_pair(0u, 0u) : std::make_pair(s.where.sip, s.where.cube)];
                BOOST_REQUIRE_EQUAL(s.offset, at);
                BOOST_REQUIRE(s.nbytes > 0 && s.nbytes % 3 == 0);
                at += s.nbytes;
                if (!tla_tensor_is_copy(&t, &s)) first_copy += s.nbytes;
            }
            for (const auto &copy : covered)
                BOOST_REQUIRE_EQUAL(copy.second, nbytes);
            BOOST_REQUIRE_EQUAL(first_copy, nbytes);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_command_maps_as_many_shards_as_fit_and_have_its_scope) {
    auto command = std::make_unique<tla_command>();
    std::vector<tla_shard> many(TLA_COMMAND_MAX_ENTRIES + 5);
    for (std::size_t i = 0; i < many.size(); i++)
        many[i] = {{0, static_cast<std::uint32_t>(i % 2), 0}, {i * 64}, 64, i * 64, 0};
    const tla_tensor split_over_all = tensor_of(TLA_SPREAD_SPLIT, many, many.size() * 64);
    BOOST_CHECK_EQUAL(tla_tensor_map_command(&split_over_all, 0, TLA_OP_MAP, command.get()),
                      static_cast<std::size_t>(TLA_COMMAND_MAX_ENTRIES));
    BOOST_CHECK_EQUAL(tla_tensor_map_command(&split_over_all, TLA_COMMAND_MAX_ENTRIES, TLA_OP_UNMAP, command.get()),
                      5u);
    BOOST_CHECK_EQUAL(command->opcode, TLA_OP_UNMAP);
    BOOST_CHECK_EQUAL(command->entries[4].va.value, 0x100000 + (many.size() - 1) * 64);
    BOOST_CHECK_EQUAL(command->entries[4].asid, 5u);
    BOOST_CHECK_EQUAL(command->scope.die_mask, 3u);

    const tla_tensor copies = tensor_of(TLA_SPREAD_REPLICATE, many, many.size() * 64);
    BOOST_CHECK_EQUAL(tla_tensor_map_command(&copies, 1, TLA_OP_MAP, command.get()), 1u);
    BOOST_CHECK_EQUAL(command->scope.sip_mask, 1u);
    BOOST_CHECK_EQUAL(command->scope.die_mask, 2u);
    BOOST_CHECK_EQUAL(command->scope.pe_mask, 0xffu);
}

BOOST_AUTO_TEST_CASE(a_fault_needs_memory_a_mapping_time_or_nothing) {
    const std::uint64_t page = 0x1000;
    const tla_pe_location here{0, 0, 1}, other_cube{0, 1, 0};
    std::size_t which = 7;
    tla_shard made{};
    const auto need = [&](const tla_tensor &t, const tla_pe_location &pe, std::uint64_t at, bool again) {
        return tla_tensor_page(&t, &pe, {0x100000 + at}, again, page, &which, &made);
    };
    std::vector<tla_shard> shards{{here, {0}, page, 0, 0}};
    tla_tensor t = tensor_of(TLA_SPREAD_DEMAND, shards, 2 * page + 100);
    BOOST_CHECK_EQUAL(need(t, other_cube, 2 * page + 99, false), TLA_PAGE_MEMORY);
    BOOST_CHECK_EQUAL(made.offset, 2 * page);
    BOOST_CHECK_EQUAL(made.nbytes, 100u); // the tensor ends there
    BOOST_CHECK_EQUAL(made.where.cube, 1u);
    BOOST_CHECK_EQUAL(need(t, here, page + 1, false), TLA_PAGE_MEMORY);
    BOOST_CHECK_EQUAL(made.nbytes, page);
    BOOST_CHECK_EQUAL(need(t, here, page - 1, false), TLA_PAGE_TIME);
    BOOST_CHECK_EQUAL(which, 0u);
    BOOST_CHECK_EQUAL(need(t, here, page - 1, true), TLA_PAGE_MAP);
    shards[0].ready_ps = 1;
    BOOST_CHECK_EQUAL(need(t, other_cube, 0, false), TLA_PAGE_NOTHING);
    BOOST_CHECK_EQUAL(need(t, other_cube, 0, true), TLA_PAGE_MAP);

    t.spread = TLA_SPREAD_REPLICATE; // another cube's copy is not there for this one
    BOOST_CHECK_EQUAL(need(t, here, 0, false), TLA_PAGE_NOTHING);
    BOOST_CHECK_EQUAL(need(t, other_cube, 0, false), TLA_PAGE_REFUSAL);
    t.spread = TLA_SPREAD_SPLIT;
    BOOST_CHECK_EQUAL(need(t, here, page, false), TLA_PAGE_REFUSAL);
}
