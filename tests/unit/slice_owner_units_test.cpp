// An owner of slices that places blocks for some of them: against a bitmap of every slice, with slices that reject
// commands.
#include "seeded_random.hpp"
#include "slice_owner_bench.hpp"

#include <algorithm>
#include <optional>

using namespace slice_owner_bench;

namespace {

struct placed {
    tla_units_mode mode;
    bench::named slices; // of lockstep: all
    std::uint64_t offset, nbytes;
    std::vector<std::uint64_t> extents{}; // in each of its slices; none: nbytes in each

    std::uint64_t bytes_in(unsigned slice) const {
        return extents.empty() ? nbytes
                               : extents[static_cast<std::size_t>(std::distance(slices.begin(), slices.find(slice)))];
    }
};

// Blocks byte by byte, from the table of units.h.
struct naive_units {
    naive_units(unsigned of_slices, std::uint64_t of_bytes) : slices(of_slices), bytes(of_bytes) {}

    static bool is_own(tla_units_mode mode) { return mode == TLA_UNITS_SINGLE || mode == TLA_UNITS_COMMON; }
    // For the part of a request in this slice.
    bool is_free(unsigned slice, std::uint64_t byte) const {
        return std::none_of(live.begin(), live.end(), [&](const placed &other) {
            if (is_own(other.mode) && other.slices.count(slice) == 0) return false;
            // Lockstep's list, which every request avoids, has nbytes.
            const std::uint64_t nbytes = is_own(other.mode) ? other.bytes_in(slice) : other.nbytes;
            return byte >= other.offset && byte < other.offset + nbytes;
        });
    }
    bool is_free(const placed &p, std::uint64_t byte) const {
        return std::all_of(p.slices.begin(), p.slices.end(), [&](unsigned slice) { return is_free(slice, byte); });
    }
    std::optional<std::uint64_t> find(const placed &p, tla_fill fill) const {
        for (std::uint64_t i = 0; i + p.nbytes <= bytes; i++) {
            const std::uint64_t at = fill == TLA_BOTTOM_UP ? i : bytes - p.nbytes - i;
            bool fits = true;
            for (const unsigned slice : p.slices)
                for (std::uint64_t byte = at; byte < at + p.bytes_in(slice); byte++)
                    fits = fits && is_free(slice, byte);
            if (fits) return at;
        }
        return std::nullopt;
    }
    std::pair<std::uint64_t, std::uint64_t> room(const placed &p) const { // free, largest
        std::uint64_t free = 0, largest = 0, run = 0;
        for (std::uint64_t byte = 0; byte < bytes; byte++) {
            const bool here = is_free(p, byte);
            run = here ? run + 1 : 0;
            free += here;
            largest = std::max(largest, run);
        }
        return {free, largest};
    }
    bench::named all() const {
        bench::named every;
        for (unsigned slice = 0; slice < slices; slice++)
            every.insert(slice);
        return every;
    }

    unsigned slices;
    std::uint64_t bytes;
    std::vector<placed> live;
};

void check_random_commands(tla_fill fill) {
    constexpr unsigned slices = 5;
    constexpr std::uint64_t bytes = 80;
    seeded_random random(fill == TLA_BOTTOM_UP ? 391 : 392);
    bench b(slices, fill, bytes, 1);
    naive_units naive(slices, bytes);
    bool refusing = false;
    b.refuse = [&](unsigned, const tla_command &c) {
        const bool first = c.opcode == (b.command->opcode == TLA_OP_ALLOC ? TLA_OP_PLACE : TLA_OP_FREE);
        return refusing && random.one_in(first ? 5 : 3) ? TLA_BUSY : TLA_OK;
    };
    const auto send = [&](tla_opcode opcode, const placed &p) {
        const bool lockstep = p.mode == TLA_UNITS_LOCKSTEP;
        return b.run(opcode, p.offset, p.nbytes, p.mode, lockstep ? bench::named{} : p.slices, p.extents);
    };
    std::uint64_t refusals = 0, full = 0, with_sizes = 0, served[4] = {};
    for (int i = 0; i < 20000; i++) {
        refusing = random.one_in(4);
        if (!naive.live.empty() && random.one_in(2)) {
            const auto victim =
                naive.live.begin() + static_cast<std::ptrdiff_t>(random.between(0, naive.live.size() - 1));
            const tla_status status = send(TLA_OP_FREE, *victim).status;
            BOOST_REQUIRE(!status || status == TLA_BUSY);
            refusals += status != TLA_OK;
            if (!status) naive.live.erase(victim);
        } else {
            placed p{static_cast<tla_units_mode>(random.between(0, 3)), naive.all(), 0, random.between(1, 14)};
            if (p.mode == TLA_UNITS_SINGLE) p.slices = {static_cast<unsigned>(random.between(0, slices - 1))};
            if (p.mode == TLA_UNITS_RANGE || p.mode == TLA_UNITS_COMMON)
                while (p.slices.size() == slices || (p.slices.size() > 1 && random.one_in(2)))
                    p.slices.erase(
                        std::next(p.slices.begin(), static_cast<long>(random.between(0, p.slices.size() - 1))));
            if (p.mode == TLA_UNITS_COMMON && random.one_in(2)) {
                for (std::size_t slice = 0; slice < p.slices.size(); slice++)
                    p.extents.push_back(random.between(1, 14));
                p.nbytes = *std::max_element(p.extents.begin(), p.extents.end());
            }
            with_sizes += !p.extents.empty();
            const auto expected = naive.find(p, fill);
            const auto [free, largest] = naive.room(p);
            const tla_slice_owner_result result = send(TLA_OP_ALLOC, p);
            if (result.status == TLA_BUSY) {
                refusals++;
            } else if (!expected) {
                BOOST_REQUIRE_EQUAL(result.status, free < p.nbytes ? TLA_EXHAUSTED : TLA_FRAGMENTED);
                const tla_bank_stats room = tla_slice_owner_get_room(b.owner.get());
                BOOST_REQUIRE_EQUAL(room.free, free);
                BOOST_REQUIRE_EQUAL(room.largest_free, largest);
                BOOST_REQUIRE_EQUAL(b.rounds, 0u);
                full++;
            } else {
                BOOST_REQUIRE_EQUAL(result.status, TLA_OK);
                BOOST_REQUIRE_EQUAL(result.offset, *expected);
                p.offset = *expected;
                naive.live.push_back(p);
                served[p.mode]++;
            }
        }
        for (unsigned slice = 0; slice < slices; slice++) {
            std::map<std::uint64_t, std::uint64_t> wanted; // a slice has the blocks that name it, and no others
            for (const placed &p : naive.live)
                if (p.slices.count(slice)) wanted[p.offset] = p.bytes_in(slice);
            BOOST_REQUIRE(b.blocks[slice] == wanted);
            const tla_bank_stats stats = tla_slice_owner_get_slice_stats(b.owner.get(), slice);
            BOOST_REQUIRE_EQUAL(stats.free, naive.room({TLA_UNITS_SINGLE, {slice}, 0, 1}).first);
            BOOST_REQUIRE_EQUAL(stats.allocated, bytes - stats.free);
        }
        const tla_bank_stats all = tla_slice_owner_get_stats(b.owner.get());
        BOOST_REQUIRE_EQUAL(all.free, naive.room({TLA_UNITS_LOCKSTEP, naive.all(), 0, 1}).first);
    }
    BOOST_CHECK_GT(refusals, 100u);
    BOOST_CHECK_GT(full, 100u);
    BOOST_CHECK_GT(with_sizes, 100u);
    for (const std::uint64_t count : served)
        BOOST_CHECK_GT(count, 100u);
    BOOST_CHECK_EQUAL(tla_slice_owner_not_restored(b.owner.get()), 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_blocks_of_some_slices_lie_where_a_bitmap_says_from_below) {
    check_random_commands(TLA_BOTTOM_UP);
}

BOOST_AUTO_TEST_CASE(random_blocks_of_some_slices_lie_where_a_bitmap_says_from_above) {
    check_random_commands(TLA_TOP_DOWN);
}

BOOST_AUTO_TEST_CASE(an_owner_sends_nothing_for_slices_that_are_not_its_own_or_an_invalid_set) {
    bench b(2);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 64, TLA_UNITS_RANGE, {1, 2}).status, TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 64, TLA_UNITS_RANGE).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 64, TLA_UNITS_SINGLE, {0, 1}).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 0, 64, TLA_UNITS_SINGLE, {2}).status, TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 0, 64, TLA_UNITS_RANGE).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 0, 64, TLA_UNITS_SINGLE, {0, 1}).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.rounds, 0u);
    BOOST_CHECK_EQUAL(tla_slice_owner_get_stats(b.owner.get()).free, capacity);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, capacity, TLA_UNITS_SINGLE, {1}).status, TLA_OK);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, capacity, TLA_UNITS_RANGE, {0}).status, TLA_OK); // above the other's
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 0, capacity, TLA_UNITS_SINGLE, {0}).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_slice_owner_get_stats(b.owner.get()).free, 0u);
    for (const auto &of_slice : b.blocks)
        BOOST_CHECK_EQUAL(of_slice.size(), 1u);
}

// tt-metal's published sequence: 8 KiB at 0 and 4 KiB at 12 KiB of slice 0, 8 KiB at 0 of slice 1.
BOOST_AUTO_TEST_CASE(a_common_block_fits_with_a_size_for_each_slice_where_the_largest_in_each_does_not) {
    constexpr std::uint64_t KiB = 1024;
    bench b(2, TLA_BOTTOM_UP, 16 * KiB, KiB);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 8 * KiB, TLA_UNITS_SINGLE, {0}).offset, 0u);
    const tla_slice_owner_result gap = b.run(TLA_OP_ALLOC, 0, 4 * KiB, TLA_UNITS_SINGLE, {0});
    BOOST_CHECK_EQUAL(gap.offset, 8 * KiB);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 4 * KiB, TLA_UNITS_SINGLE, {0}).offset, 12 * KiB);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 8 * KiB, 4 * KiB, TLA_UNITS_SINGLE, {0}).status, TLA_OK);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 8 * KiB, TLA_UNITS_SINGLE, {1}).offset, 0u);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_ALLOC, 0, 8 * KiB, TLA_UNITS_COMMON, {0, 1}).status, TLA_EXHAUSTED);
    const std::vector<std::uint64_t> sizes{4 * KiB, 8 * KiB};
    const tla_slice_owner_result fits = b.run(TLA_OP_ALLOC, 0, 8 * KiB, TLA_UNITS_COMMON, {0, 1}, sizes);
    BOOST_CHECK_EQUAL(fits.status, TLA_OK);
    BOOST_CHECK_EQUAL(fits.offset, 8 * KiB);
    BOOST_CHECK_EQUAL(b.blocks[0].at(8 * KiB), 4 * KiB);
    BOOST_CHECK_EQUAL(b.blocks[1].at(8 * KiB), 8 * KiB);
    // A FREE with another size fails in a list or a slice, and everything stays.
    BOOST_CHECK_NE(b.run(TLA_OP_FREE, 8 * KiB, 8 * KiB, TLA_UNITS_COMMON, {0, 1}).status, TLA_OK);
    BOOST_CHECK_EQUAL(b.blocks[1].at(8 * KiB), 8 * KiB);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 8 * KiB, 8 * KiB, TLA_UNITS_COMMON, {0, 1}, sizes).status, TLA_OK);
    BOOST_CHECK_EQUAL(tla_slice_owner_get_slice_stats(b.owner.get(), 1).free, 8 * KiB);
    BOOST_CHECK_EQUAL(tla_slice_owner_get_slice_stats(b.owner.get(), 0).free, 4 * KiB);
}

// As if there were one list alone.
BOOST_AUTO_TEST_CASE(lockstep_costs_what_it_costs_without_other_modes) {
    bench b(4);
    std::vector<tla_work> receipts[2];
    for (auto &list : receipts) {
        for (const std::uint64_t nbytes : {100u, 1000u, 300u}) {
            b.alloc(nbytes);
            list.push_back(b.work);
        }
        list.push_back(b.free(128, 1000).work);
        b.alloc(600);
        list.push_back(b.work);
        for (const auto &[offset, nbytes] : std::map<std::uint64_t, std::uint64_t>(b.blocks[0]))
            list.push_back(b.free(offset, nbytes).work);
        b.run(TLA_OP_ALLOC, 0, 64, TLA_UNITS_COMMON, {1, 2});
        BOOST_CHECK_EQUAL(b.work.allocs, 2u);
        BOOST_CHECK_EQUAL(b.run(TLA_OP_FREE, 0, 64, TLA_UNITS_COMMON, {1, 2}).work.frees, 2u);
    }
    for (std::size_t i = 0; i < receipts[0].size(); i++) {
        BOOST_CHECK_EQUAL(receipts[0][i].nodes_visited, receipts[1][i].nodes_visited);
        BOOST_CHECK_EQUAL(receipts[0][i].list_length, receipts[1][i].list_length);
        BOOST_CHECK_LE(receipts[0][i].nodes_visited, 2u);
    }
}
