// Placement of a matrix by policy, beside a plain model that deals out every element by itself.
#include "tlmalloc/kernel/tensor_shards.h"

#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

tla_matrix_layout placement_of(tla_cut of_cubes, tla_cut of_pes, std::uint32_t cubes, std::uint32_t pes,
                               std::uint64_t rows, std::uint64_t columns, std::uint32_t element_bytes) {
    return {of_cubes, of_pes, 3, cubes, pes, rows, columns, element_bytes};
}

// How `total` are dealt out to n, one after the other: to whom each belongs.
std::vector<std::uint32_t> deal(std::uint64_t total, std::uint32_t n) {
    std::vector<std::uint64_t> count(n);
    for (std::uint64_t i = 0; i < total; i++)
        count[i % n]++; // the first get one more
    std::vector<std::uint32_t> owner;
    for (std::uint32_t who = 0; who < n; who++)
        owner.insert(owner.end(), count[who], who);
    return owner;
}

struct naive {
    // Of every PE its elements, row by row; and the offset of each element in the tensor.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint64_t>> of_pe;
    std::map<std::uint64_t, std::uint64_t> offset;

    explicit naive(const tla_matrix_layout &p) {
        std::vector<bool> counted(p.rows * p.columns);
        std::uint64_t at = 0;
        for (std::uint32_t cube = 0; cube < p.cubes; cube++) {
            std::vector<std::uint64_t> rows, columns;
            pick(p.of_cubes, all(p.rows), all(p.columns), p.cubes, cube, rows, columns);
            for (std::uint32_t pe = 0; pe < p.pes; pe++) {
                std::vector<std::uint64_t> own_rows, own_columns;
                pick(p.of_pes, rows, columns, p.pes, pe, own_rows, own_columns);
                for (const std::uint64_t r : own_rows)
                    for (const std::uint64_t c : own_columns) {
                        const std::uint64_t element = r * p.columns + c;
                        of_pe[{cube, pe}].push_back(element);
                        if (counted[element]) continue; // a copy
                        counted[element] = true;
                        offset[element] = p.element_bytes * at++;
                    }
            }
        }
    }

    static std::vector<std::uint64_t> all(std::uint64_t n) {
        std::vector<std::uint64_t> list(n);
        for (std::uint64_t i = 0; i < n; i++)
            list[i] = i;
        return list;
    }

    static void pick(tla_cut cut, const std::vector<std::uint64_t> &rows, const std::vector<std::uint64_t> &columns,
                     std::uint32_t n, std::uint32_t which, std::vector<std::uint64_t> &own_rows,
                     std::vector<std::uint64_t> &own_columns) {
        own_rows = rows;
        own_columns = columns;
        if (cut == TLA_REPLICATE) return;
        auto &cut_ones = cut == TLA_ROW_WISE ? own_rows : own_columns;
        const auto from = cut_ones;
        const auto owner = deal(from.size(), n);
        cut_ones.clear();
        for (std::size_t i = 0; i < from.size(); i++)
            if (owner[i] == which) cut_ones.push_back(from[i]);
    }
};

bool in(const tla_scope &scope, const tla_pe_location &pe) {
    return scope.sip_mask >> pe.sip & scope.die_mask >> pe.cube & scope.pe_mask >> pe.pe & 1;
}

} // namespace

BOOST_AUTO_TEST_CASE(columns_over_cubes_and_rows_over_pes_are_these_shards) {
    const tla_matrix_layout p = placement_of(TLA_COLUMN_WISE, TLA_ROW_WISE, 2, 2, 3, 5, 4);
    BOOST_CHECK_EQUAL(tla_matrix_layout_bytes(&p), 60u);
    tla_shard shards[4];
    BOOST_REQUIRE_EQUAL(tla_matrix_layout_split(&p, shards), 4u);
    const std::uint64_t nbytes[] = {24, 12, 16, 8}, offsets[] = {0, 24, 36, 52}; // 2x3, 1x3, 2x2, 1x2 elements
    for (std::size_t i = 0; i < 4; i++) {
        BOOST_CHECK_EQUAL(shards[i].nbytes, nbytes[i]);
        BOOST_CHECK_EQUAL(shards[i].offset, offsets[i]);
        BOOST_CHECK_EQUAL(shards[i].where.sip, 3u);
        BOOST_CHECK_EQUAL(shards[i].where.cube, i / 2);
        BOOST_CHECK_EQUAL(shards[i].where.pe, i % 2);
    }
    std::uint64_t offset = 0;
    tla_pe_location where{};
    BOOST_CHECK_EQUAL(tla_matrix_layout_find(&p, 1, 4, &offset, &where), TLA_OK);
    BOOST_CHECK_EQUAL(offset, 36u + 3 * 4); // row 1, the second of its two columns
    BOOST_CHECK_EQUAL(where.cube, 1u);
    BOOST_CHECK_EQUAL(where.pe, 0u);
    BOOST_CHECK_EQUAL(tla_matrix_layout_find(&p, 3, 0, &offset, &where), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_matrix_layout_find(&p, 0, 5, &offset, &where), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(rows_throughout_lie_in_virtual_memory_row_by_row) {
    const tla_matrix_layout p = placement_of(TLA_ROW_WISE, TLA_ROW_WISE, 3, 4, 50, 7, 2);
    for (std::uint64_t row = 0; row < p.rows; row++)
        for (std::uint64_t column = 0; column < p.columns; column++) {
            std::uint64_t offset = 0;
            tla_pe_location where{};
            BOOST_REQUIRE_EQUAL(tla_matrix_layout_find(&p, row, column, &offset, &where), TLA_OK);
            BOOST_REQUIRE_EQUAL(offset, (row * p.columns + column) * p.element_bytes);
        }
}

// Every byte of the matrix has exactly one home in each copy, every PE that sees a part sees each byte of it once, and
// packing moves each element to where it is found.
BOOST_AUTO_TEST_CASE(every_byte_has_one_home_in_every_copy) {
    seeded_random random(11);
    for (int round = 0; round < 400; round++) {
        const auto cut = [&] { return static_cast<tla_cut>(random.between(0, TLA_CUT_COUNT - 1)); };
        const tla_cut of_cubes = cut(), of_pes = cut();
        const auto cubes = static_cast<std::uint32_t>(random.between(1, 5)),
                   pes = static_cast<std::uint32_t>(random.between(1, 5));
        const tla_matrix_layout p =
            placement_of(of_cubes, of_pes, cubes, pes, random.between(1, 20), random.between(1, 20),
                         static_cast<std::uint32_t>(random.between(1, 8)));
        BOOST_REQUIRE_EQUAL(tla_matrix_layout_check(&p, nullptr), TLA_OK);
        const naive model(p);
        const std::uint64_t elements = p.rows * p.columns, bytes = p.element_bytes;
        BOOST_REQUIRE_EQUAL(tla_matrix_layout_bytes(&p), elements * bytes);

        std::vector<tla_shard> shards(std::size_t{cubes} * pes);
        shards.resize(tla_matrix_layout_split(&p, shards.data()));
        BOOST_REQUIRE_EQUAL(shards.size(), model.of_pe.size());
        std::vector<unsigned> homes(elements * bytes), first_homes(elements * bytes);
        std::size_t at = 0;
        for (const auto &[where, own] : model.of_pe) {
            const tla_shard &s = shards[at++];
            BOOST_REQUIRE_EQUAL(s.where.cube, where.first);
            BOOST_REQUIRE_EQUAL(s.where.pe, where.second);
            BOOST_REQUIRE_EQUAL(s.nbytes, own.size() * bytes);
            for (std::size_t i = 0; i < own.size(); i++)
                BOOST_REQUIRE_EQUAL(model.offset.at(own[i]), s.offset + i * bytes);
            for (std::uint64_t b = s.offset; b < s.offset + s.nbytes; b++) {
                homes[b]++;
                first_homes[b] += !tla_matrix_layout_is_copy(&p, &s);
            }
        }
        const unsigned copies = (of_cubes == TLA_REPLICATE ? cubes : 1) * (of_pes == TLA_REPLICATE ? pes : 1);
        for (std::uint64_t b = 0; b < elements * bytes; b++) {
            BOOST_REQUIRE_EQUAL(homes[b], copies);
            BOOST_REQUIRE_EQUAL(first_homes[b], 1u);
        }

        const tla_scope all{0xF, 0x3F, 0x7F}; // 4 SIPs of 6 cubes of 7 PEs
        for (std::uint32_t sip = 0; sip < 4; sip++)
            for (std::uint32_t cube = 0; cube < 6; cube++)
                for (std::uint32_t pe = 0; pe < 7; pe++) {
                    std::vector<unsigned> seen(elements * bytes);
                    for (const tla_shard &s : shards)
                        if (in(tla_matrix_layout_seen_by(&p, &s, all), {sip, cube, pe}))
                            for (std::uint64_t b = s.offset; b < s.offset + s.nbytes; b++)
                                seen[b]++;
                    const bool sees = of_cubes != TLA_REPLICATE || (sip == p.sip && cube < cubes);
                    for (const unsigned n : seen)
                        BOOST_REQUIRE_EQUAL(n, sees ? 1u : 0u);
                }
        for (const tla_shard &s : shards) // every PE sees its own copy
            BOOST_REQUIRE(in(tla_matrix_layout_seen_by(&p, &s, all), s.where));

        std::vector<std::uint8_t> matrix(elements * bytes), packed(elements * bytes), back(elements * bytes);
        for (std::uint8_t &byte : matrix)
            byte = static_cast<std::uint8_t>(random.between(0, 255));
        tla_matrix_layout_pack(&p, matrix.data(), packed.data());
        tla_matrix_layout_unpack(&p, packed.data(), back.data());
        BOOST_REQUIRE(back == matrix);
        for (std::uint64_t e = 0; e < elements; e++) {
            std::uint64_t offset = 0;
            tla_pe_location where{};
            BOOST_REQUIRE_EQUAL(tla_matrix_layout_find(&p, e / p.columns, e % p.columns, &offset, &where), TLA_OK);
            BOOST_REQUIRE_EQUAL(offset, model.offset.at(e));
            BOOST_REQUIRE_EQUAL(where.sip, p.sip);
            const auto &own = model.of_pe.at({where.cube, where.pe});
            BOOST_REQUIRE(std::find(own.begin(), own.end(), e) != own.end());
            BOOST_REQUIRE_EQUAL(std::memcmp(&packed[offset], &matrix[e * bytes], bytes), 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(mapping_commands_hold_the_shards_that_the_same_pes_see) {
    auto command = std::make_unique<tla_command>();
    for (const tla_cut of_cubes : {TLA_COLUMN_WISE, TLA_REPLICATE})
        for (const tla_cut of_pes : {TLA_ROW_WISE, TLA_REPLICATE}) {
            const tla_matrix_layout p = placement_of(of_cubes, of_pes, 3, 4, 24, 24, 4);
            std::vector<tla_shard> shards(12);
            shards.resize(tla_matrix_layout_split(&p, shards.data()));
            const tla_tensor t{TLA_SPREAD_MATRIX,
                               {0x1000},
                               tla_matrix_layout_bytes(&p),
                               shards.data(),
                               shards.size(),
                               {0xF, 0xF, 0xFF},
                               5,
                               &p};
            std::size_t mapped = 0, commands = 0;
            for (; mapped < shards.size(); commands++) {
                const std::size_t count = tla_tensor_map_command(&t, mapped, TLA_OP_MAP, command.get());
                BOOST_REQUIRE_GT(count, 0u);
                for (std::size_t i = 0; i < count; i++) {
                    const tla_scope seen = tla_matrix_layout_seen_by(&p, &shards[mapped + i], t.scope);
                    BOOST_CHECK_EQUAL(seen.sip_mask, command->scope.sip_mask);
                    BOOST_CHECK_EQUAL(seen.die_mask, command->scope.die_mask);
                    BOOST_CHECK_EQUAL(seen.pe_mask, command->scope.pe_mask);
                    BOOST_CHECK_EQUAL(command->entries[i].va.value, 0x1000 + shards[mapped + i].offset);
                }
                mapped += count;
            }
            BOOST_CHECK_EQUAL(commands, of_pes == TLA_REPLICATE ? 12u : of_cubes == TLA_REPLICATE ? 3u : 1u);
        }
}

BOOST_AUTO_TEST_CASE(impossible_placements_are_rejected_with_the_expected_placement) {
    const tla_matrix_layout good = placement_of(TLA_ROW_WISE, TLA_COLUMN_WISE, 2, 2, 4, 4, 4);
    const auto refused = [](const tla_matrix_layout &p, const char *text) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_matrix_layout_check(&p, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(text) != std::string::npos, error.text);
    };
    tla_matrix_layout p = good;
    p.of_pes = TLA_CUT_COUNT;
    refused(p, "must be 0 to 2");
    for (std::uint32_t tla_matrix_layout::*member : {&tla_matrix_layout::cubes, &tla_matrix_layout::pes})
        for (const std::uint32_t bad : {0u, 17u}) {
            p = good;
            p.*member = bad;
            refused(p, "1 to 16 cubes");
        }
    p = good;
    p.sip = 16;
    refused(p, "SIP 0 to 15");
    p = good;
    p.columns = 0;
    refused(p, "each must be at least 1");
    p = good;
    p.rows = std::uint64_t{1} << 40;
    p.columns = std::uint64_t{1} << 23;
    refused(p, "less than 2^64 bytes");
    BOOST_CHECK_EQUAL(tla_cut_name(TLA_REPLICATE), std::string("replicate"));
    BOOST_CHECK(tla_cut_name(TLA_CUT_COUNT) == nullptr);
}
