// Collectives on whole platforms: bit by bit beside a reference that adds in the documented order, messages counted,
// over random grids, types and lengths.
#include "apart.hpp"
#include "message_bench.hpp"
#include "model/kernel/element.h"

#include <algorithm>
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/test_unit.hpp>
#include <cstdlib>
#include <random>

using namespace message_bench;

namespace {

// --- the reference: what each rank has in the end, from what the words of collectives.h say ---

using row = std::vector<bytes>; // of one element, by the rank

struct plain_grid {
    std::string algorithm;
    std::vector<std::uint32_t> extent; // outermost first
    tl_dtype dtype;
    bool between_rings = false, sips_are_mesh = false; // hierarchical, between SIPs

    bool rings() const { return algorithm == "ring" || algorithm == "torus_2d"; }
    std::uint32_t size() const {
        std::uint32_t all = 1;
        for (const std::uint32_t n : extent)
            all *= n;
        return all;
    }
    std::vector<std::uint32_t> coordinates(std::uint32_t rank) const {
        std::vector<std::uint32_t> c(extent.size());
        for (std::size_t d = extent.size(); d-- > 0; rank /= extent[d])
            c[d] = rank % extent[d];
        return c;
    }
    std::uint32_t rank(const std::vector<std::uint32_t> &c) const {
        std::uint32_t number = 0;
        for (std::size_t d = 0; d < extent.size(); d++)
            number = number * extent[d] + c[d];
        return number;
    }
    std::vector<std::uint32_t> middle() const {
        std::vector<std::uint32_t> c;
        for (const std::uint32_t n : extent)
            c.push_back(n / 2);
        if (algorithm == "hierarchical") c.back() = 0;
        return c;
    }

    bytes add(const bytes &a, const bytes &b) const {
        bytes sum(a.size());
        if (tla_is_integer(dtype))
            tla_element_put_integer(
                sum.data(), dtype, tla_element_get_integer(a.data(), dtype) + tla_element_get_integer(b.data(), dtype));
        else
            tla_element_put(sum.data(), dtype, tla_element_get(a.data(), dtype) + tla_element_get(b.data(), dtype));
        return sum;
    }

    // Around rings: the value of the rank at c after dimensions [0, d], for the element that it is to have.
    bytes around(const row &x, std::vector<std::uint32_t> c, std::size_t d) const {
        if (d == 0) return x[rank(c)];
        const std::uint32_t n = extent[d - 1], end = c[d - 1];
        bytes total;
        for (std::uint32_t step = 1; step <= n; step++) {
            c[d - 1] = (end + step) % n;
            const bytes next = around(x, c, d - 1);
            total = step == 1 ? next : add(total, next);
        }
        return total;
    }

    // To the middle: the value at c when dimensions [d, ...] have been reduced.
    bytes inward(const row &x, std::vector<std::uint32_t> c, std::size_t d) const {
        if (d == extent.size()) return x[rank(c)];
        const std::uint32_t here = c[d];
        const auto chain = [&](std::int64_t from, std::int64_t to, std::int64_t way) {
            bytes total;
            for (std::int64_t i = from; i != to; i += way) {
                c[d] = static_cast<std::uint32_t>(i);
                const bytes own = inward(x, c, d + 1);
                total = total.empty() ? own : add(own, total);
            }
            return total;
        };
        bytes total = inward(x, c, d + 1);
        if (const bytes before = chain(0, here, 1); !before.empty()) total = add(total, before);
        if (const bytes behind = chain(extent[d] - 1, here, -1); !behind.empty()) total = add(total, behind);
        return total;
    }

    // Around rings of SIPs: the value of the SIP at (r, c) after dimensions [d, 2): it adds those before it to its own.
    bytes of_sip(const row &x, std::uint32_t r, std::uint32_t c, std::size_t d) const {
        if (d == 2) {
            std::vector<std::uint32_t> root = middle();
            root[0] = r;
            root[1] = c;
            return inward(x, root, 2);
        }
        bytes total = of_sip(x, r, c, d + 1);
        for (std::uint32_t step = 1, n = extent[d]; step < n; step++)
            total = add(total, d == 1 ? of_sip(x, r, (c + n - step) % n, 2) : of_sip(x, (r + n - step) % n, c, 1));
        return total;
    }

    // Whether SIPs have the same bits.
    bool is_one_sum() const { return !between_rings || sips_are_mesh; }

    // Of an element that `owner` sums, as this rank has it.
    bytes sum(const row &x, std::uint32_t owner, std::uint32_t rank_of_it) const {
        if (rings()) return around(x, coordinates(owner), extent.size());
        const std::vector<std::uint32_t> c = coordinates(rank_of_it);
        return is_one_sum() ? inward(x, middle(), 0) : of_sip(x, c[0], c[1], 0);
    }

    // Messages of an all-reduce of a vector of at least as many elements as ranks.
    std::uint64_t messages() const {
        if (between_rings) {
            const std::uint64_t sips = extent[0] * extent[1],
                                lines = extent[0] * (extent[1] - 1) + extent[1] * (extent[0] - 1);
            return 2 * (size() - sips) + (sips_are_mesh ? 2 * lines : sips * (extent[1] - 1 + extent[0] - 1));
        }
        if (!rings()) return 2 * (size() - 1);
        std::uint64_t all = 0;
        for (const std::uint32_t n : extent)
            all += 2 * (n - 1) * std::uint64_t{size()};
        return all;
    }
};

// --- a run ---

struct shape {
    std::uint32_t sips, width, height, pes;
    std::string sip_topology = "switch";
    std::uint32_t world = 0, columns = 0;         // keys
    bool between_rings = false, in_order = false; // likewise
    std::uint32_t sip_columns = 0;                // of a torus or mesh
};

std::uint32_t square(std::uint32_t n) {
    std::uint32_t columns = 1;
    while (columns * columns < n || n % columns != 0)
        columns++;
    return columns;
}

plain_grid grid_of(const std::string &algorithm, const shape &s, tl_dtype dtype) {
    const std::uint32_t all = s.sips * s.width * s.height * s.pes, world = s.world ? s.world : all;
    const std::uint32_t columns = s.columns ? s.columns : square(world), sip_columns = s.sip_topology == "ring" ? s.sips
                                                                                       : s.sip_columns ? s.sip_columns
                                                                                                       : square(s.sips);
    plain_grid g{algorithm, {}, dtype, s.between_rings && algorithm == "hierarchical", s.sip_topology == "mesh"};
    if (algorithm == "ring")
        g.extent = {world};
    else if (algorithm == "hierarchical")
        g.extent = {s.sips / sip_columns, sip_columns, s.height, s.width, s.pes};
    else
        g.extent = {world / columns, columns};
    return g;
}

void all_reduces(const std::string &algorithm, const shape &s, tl_dtype dtype, std::uint32_t columns, unsigned seed,
                 std::vector<std::string> more = {}) {
    const plain_grid g = grid_of(algorithm, s, dtype);
    const std::uint32_t programs = s.sips * s.width * s.height * s.pes, element = tl_dtype_bytes(dtype);
    std::mt19937 random(seed);
    std::vector<bytes> x(programs, bytes(columns * element));
    for (bytes &vector : x)
        for (std::uint32_t i = 0; i < columns; i++) {
            const double value = (static_cast<double>(random()) / 2147483648.0 - 1) * (random() % 8 ? 1 : 100);
            if (tla_is_integer(dtype))
                tla_element_put_integer(vector.data() + i * element, dtype, random());
            else
                tla_element_put(vector.data() + i * element, dtype, value);
        }
    for (const std::string &key :
         {"system.sips=" + std::to_string(s.sips), "system.cube_mesh_width=" + std::to_string(s.width),
          "system.cube_mesh_height=" + std::to_string(s.height), "system.pes_per_cube=" + std::to_string(s.pes),
          "system.sip_topology=" + s.sip_topology, "system.sip_grid_width=" + std::to_string(s.sip_columns),
          "collectives.algorithm=" + algorithm,
          std::string("collectives.between_sips=") + (s.between_rings ? "rings" : "lines"),
          std::string("collectives.receives=") + (s.in_order ? "in_order" : "both"),
          "collectives.world_size=" + std::to_string(s.world), "collectives.columns=" + std::to_string(s.columns),
          "hbm.capacity_per_cube=" + std::to_string(s.pes) + " MiB"})
        more.push_back(key);
    bench b(more);
    std::vector<bytes> y(programs);
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const std::uint32_t p = tl_program_id(tl, TL_ALL);
            tl_world world{};
            if (const tla_status status = tl_world_init(tl, &world)) return status;
            tl_tile tiles[2] = {{{}, 1, columns, dtype, 0}, {{}, 1, tl_room(&world, columns), dtype, 0}};
            tla_status status = tl_alloc_tiles(tl, tiles, 2);
            if (status) return status;
            b.poke(p, tiles[0], x[p]);
            status = tl_all_reduce(tl, &world, &tiles[0], &tiles[1]);
            y[p] = b.peek(p, tiles[0]);
            return tl_free_tiles(tl, tiles, 2, status);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK_MESSAGE(b.error.status == TLA_OK, b.error.text);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    const std::string what = algorithm + (s.between_rings ? ", rings" : "") + (s.in_order ? ", in order" : "") + ", " +
                             std::to_string(s.sips) + " SIPs in a " + s.sip_topology + " of " +
                             std::to_string(s.height) + " x " + std::to_string(s.width) + " cubes of " +
                             std::to_string(s.pes) + ", " + std::to_string(columns) + " elements, seed " +
                             std::to_string(seed);
    const std::uint32_t n = g.size();
    std::size_t wrong = 0;
    for (std::uint32_t part = 0; part < n; part++)
        for (std::uint64_t i = part * std::uint64_t{columns} / n; i < (part + 1) * std::uint64_t{columns} / n; i++) {
            const auto at = static_cast<std::ptrdiff_t>(i * element);
            row of_element;
            for (std::uint32_t p = 0; p < n; p++)
                of_element.emplace_back(x[p].begin() + at, x[p].begin() + at + element);
            bytes total = g.sum(of_element, part, 0);
            for (std::uint32_t p = 0; p < n; p++) {
                if (!g.is_one_sum() && p % (n / s.sips) == 0) total = g.sum(of_element, part, p);
                wrong += !std::equal(total.begin(), total.end(), y[p].begin() + at);
            }
        }
    for (std::uint32_t p = n; p < programs; p++) // no ranks
        wrong += y[p] != x[p];
    BOOST_CHECK_MESSAGE(wrong == 0, what << ": " << wrong << " elements are wrong");
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_CHECK(b.platform->messages().never_received().empty());
    std::uint64_t sent = 0, received = 0, sent_bytes = 0, received_bytes = 0;
    for (const pe_unit *pe : b.platform->pes()) {
        const pe_ipcq::statistics &of = pe->ipcq.get_statistics();
        sent += of.sent;
        received += of.received;
        sent_bytes += of.sent_bytes;
        received_bytes += of.received_bytes;
    }
    BOOST_CHECK_EQUAL(sent, received);
    BOOST_CHECK_EQUAL(sent_bytes, received_bytes);
    if (columns >= n || !g.rings()) BOOST_CHECK_MESSAGE(sent == g.messages(), what << ": " << sent << " messages");
}

const char *const algorithms[] = {"ring", "torus_2d", "mesh_2d", "hierarchical"};

// A platform, an algorithm, a type and a length at random.
void random_all_reduce(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&random](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const tl_dtype types[] = {TL_F16, TL_F32, TL_I32};
    const char *const links[] = {"switch", "ring", "torus", "mesh"};
    shape s{1 + below(4), 1 + below(3), 1 + below(3), 1 + below(3), links[below(4)]};
    const std::string algorithm = algorithms[below(4)];
    s.between_rings = below(2);
    s.in_order = below(2);
    if (algorithm == "hierarchical" && below(2)) s.sips = 1 + below(9);
    if (s.sip_topology == "torus" || s.sip_topology == "mesh") do
            s.sip_columns = below(s.sips + 1);
        while (s.sip_columns > 0 && s.sips % s.sip_columns != 0);
    const std::uint32_t all = s.sips * s.width * s.height * s.pes;
    if (algorithm != "hierarchical" && below(3) == 0) s.world = 1 + below(all);
    if (algorithm.back() == 'd' && below(2)) {
        const std::uint32_t n = s.world ? s.world : all;
        do
            s.columns = 1 + below(n);
        while (n % s.columns != 0);
    }
    const std::uint32_t columns = below(3) ? 1 + below(70) : 1 + below(1500);
    all_reduces(algorithm, s, types[below(3)], columns, seed,
                {below(2) ? "messages.slots=1" : "messages.slots=4", "messages.slot_size=256 B"});
}

} // namespace

BOOST_AUTO_TEST_CASE(around_a_ring_of_3_x_5_cubes_all_have_the_bits_of_the_order) {
    all_reduces("ring", {1, 5, 3, 1}, TL_F16, 100, 1);
}
BOOST_AUTO_TEST_CASE(around_a_torus_of_3_x_5_cubes_all_have_the_bits_of_the_order) {
    all_reduces("torus_2d", {1, 5, 3, 1, "switch", 0, 5}, TL_F16, 100, 2);
}
BOOST_AUTO_TEST_CASE(over_a_mesh_of_3_x_5_cubes_all_have_the_bits_of_the_order) {
    all_reduces("mesh_2d", {1, 5, 3, 1, "switch", 0, 5}, TL_F16, 100, 3);
}
BOOST_AUTO_TEST_CASE(over_six_sips_of_cubes_all_have_the_bits_of_the_order) {
    all_reduces("hierarchical", {6, 2, 3, 2, "torus"}, TL_F16, 77, 4);
}
BOOST_AUTO_TEST_CASE(around_3_x_2_sips_of_cubes_each_sip_has_the_bits_of_its_order) {
    all_reduces("hierarchical", {6, 2, 3, 2, "torus", 0, 0, true, true}, TL_F16, 77, 8);
}
BOOST_AUTO_TEST_CASE(around_a_ring_of_five_sips_vectors_are_longer_than_the_slots) {
    all_reduces("hierarchical", {5, 2, 1, 1, "ring", 0, 0, true, false}, TL_F16, 900, 9,
                {"messages.slots=1", "messages.slot_size=64 B"});
}
BOOST_AUTO_TEST_CASE(rows_of_a_mesh_of_sips_go_there_and_back_before_the_columns) {
    all_reduces("hierarchical", {6, 2, 2, 1, "mesh", 0, 0, true, true}, TL_F16, 50, 10);
}
BOOST_AUTO_TEST_CASE(lines_in_order_have_the_bits_of_lines) {
    all_reduces("mesh_2d", {1, 5, 3, 1, "switch", 0, 5, false, true}, TL_F16, 100, 3);
}
BOOST_AUTO_TEST_CASE(integers_and_vectors_shorter_than_the_ranks_are_reduced) {
    all_reduces("torus_2d", {1, 4, 2, 2}, TL_I32, 7, 5);
}
BOOST_AUTO_TEST_CASE(a_world_of_some_programs_leaves_the_others_alone) {
    all_reduces("mesh_2d", {1, 3, 2, 2, "switch", 7}, TL_F32, 20, 6);
}
BOOST_AUTO_TEST_CASE(one_rank_alone_sends_nothing) {
    all_reduces("hierarchical", {1, 1, 1, 1}, TL_F32, 20, 7);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_11) {
    random_all_reduce(11);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_12) {
    random_all_reduce(12);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_13) {
    random_all_reduce(13);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_14) {
    random_all_reduce(14);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_15) {
    random_all_reduce(15);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_16) {
    random_all_reduce(16);
}
BOOST_AUTO_TEST_CASE(random_worlds_reduce_without_a_deadlock_of_the_seed) {
    const char *const given = std::getenv("TLMALLOC_SEED");
    const unsigned seed = given ? static_cast<unsigned>(std::stoul(given)) : std::random_device{}();
    BOOST_TEST_MESSAGE("TLMALLOC_SEED=" << seed);
    random_all_reduce(seed);
}

// Every number of SIPs, in every topology, by lines and by rings: integers, so that every rank has the very sum.
BOOST_AUTO_TEST_CASE(rings_and_lines_reduce_any_number_of_sips) {
    struct outcome {
        unsigned long failed;
        char error[400];
    };
    unsigned seed = 100;
    for (std::uint32_t sips = 1; sips <= 8; sips++)
        for (const char *const topology : {"switch", "ring", "torus", "mesh"})
            for (const std::uint32_t columns : {0u, 1u, sips}) {
                if (columns > 0 && *topology != 't' && *topology != 'm') continue;
                shape s{sips, 1 + seed % 2, 1 + seed / 2 % 2, 1, topology, 0, 0, true, seed / 4 % 2 != 0};
                s.sip_columns = columns;
                const auto how = apart<outcome>(std::string(topology) + " of " + std::to_string(sips), [&](outcome &o) {
                    all_reduces("hierarchical", s, TL_I32, 5, seed);
                    namespace ut = boost::unit_test;
                    o.failed =
                        ut::results_collector.results(ut::framework::current_test_case().p_id).p_assertions_failed;
                });
                BOOST_CHECK_MESSAGE(how.failed == 0 && !*how.error,
                                    sips << " SIPs in a " << topology << ", " << columns << " in a row: " << how.error);
                seed++;
            }
}

// --- the others ------------------------------------------------------------------------------------------------------

namespace {

// On six programs, with a vector that they do not divide.
void others(const std::string &algorithm) {
    bench b({"system.pes_per_cube=6", "hbm.capacity_per_cube=24 MiB", "collectives.algorithm=" + algorithm});
    const bool rings = algorithm == "ring" || algorithm == "torus_2d";
    std::size_t wrong = 0;
    std::uint64_t left_ps[6] = {};
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const std::uint32_t p = tl_program_id(tl, TL_ALL);
            tl_world world{};
            if (const tla_status status = tl_world_init(tl, &world)) return status;
            const tl_tile tile = b.tile(tl, 7), room = b.tile(tl, tl_room(&world, 7)), small = b.tile(tl, 1);
            const tl_tile all[] = {tile, room, small};
            const auto number = [&](std::uint32_t index) {
                float value = 0;
                std::memcpy(&value, b.peek(p, tile).data() + index * 4, 4);
                return value;
            };
            for (std::uint32_t root = 0; root < 6; root++) {
                tl_fill(tl, &tile, static_cast<float>(p));
                if (const tla_status status = tl_broadcast(tl, &world, root, &tile)) return status;
                for (std::uint32_t i = 0; i < 7; i++)
                    wrong += number(i) != static_cast<float>(root);
            }
            wrong += tl_broadcast(tl, &world, 6, &tile) != TLA_INVALID_ARGUMENT;
            wrong += tl_all_reduce(tl, &world, &tile, &small) != TLA_INVALID_ARGUMENT;
            if (p == 2) sc_core::wait(20, sc_core::SC_US);
            if (const tla_status status = tl_barrier(tl, &world, &small)) return status;
            left_ps[p] = b.now_ps(p);
            tl_fill(tl, &tile, static_cast<float>(1 + p));
            const tla_status scattered = tl_reduce_scatter(tl, &world, &tile, &room);
            if (!rings) {
                wrong += scattered != TLA_UNSUPPORTED || tl_all_gather(tl, &world, &tile) != TLA_UNSUPPORTED;
                return tl_free_tiles(tl, all, 3, TLA_OK);
            }
            for (std::uint32_t i = p * 7 / 6; i < (p + 1) * 7 / 6; i++)
                wrong += number(i) != 21;
            const tla_status gathered = tl_all_gather(tl, &world, &tile);
            for (std::uint32_t i = 0; i < 7; i++)
                wrong += number(i) != 21;
            return tl_free_tiles(tl, all, 3, scattered ? scattered : gathered);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(std::string(b.error.text), "");
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
    for (const std::uint64_t at : left_ps)
        BOOST_CHECK_GT(at, 20'000'000u); // nobody goes on before the last has come
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(broadcasts_barriers_and_reductions_do_what_they_say_around_a_ring) {
    others("ring");
}
BOOST_AUTO_TEST_CASE(broadcasts_barriers_and_reductions_do_what_they_say_around_a_torus) {
    others("torus_2d");
}
BOOST_AUTO_TEST_CASE(broadcasts_and_barriers_do_what_they_say_over_a_mesh) {
    others("mesh_2d");
}
BOOST_AUTO_TEST_CASE(broadcasts_and_barriers_do_what_they_say_over_places) {
    others("hierarchical");
}

namespace {

// What tl_world_init says of a world that cannot be, on a platform of 2 x 2 cubes of 2.
void refused(const std::vector<std::string> &settings, const std::vector<pe_location> &pes, const std::string &said) {
    std::vector<std::string> all = settings;
    for (const char *key : {"system.cube_mesh_width=2", "system.cube_mesh_height=2", "system.pes_per_cube=2"})
        all.push_back(key);
    bench b(all);
    b.run([&] {
        body = [](tl_context *tl) -> tla_status {
            tl_world world{};
            return tl_world_init(tl, &world);
        };
        const tla_status status =
            pes.empty() ? b.host().launch(0, {}, &b.error) : b.host().launch(0, {}, pes, &b.error);
        BOOST_CHECK_EQUAL(status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(std::string(b.of(0).problem.text), said);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_world_larger_than_the_launch_is_rejected) {
    refused({"collectives.world_size=9"}, {},
            "tl_world_init: collectives.world_size 9 must be at most the 8 programs of the launch");
}
BOOST_AUTO_TEST_CASE(columns_that_do_not_divide_the_world_are_rejected) {
    refused({"collectives.algorithm=torus_2d", "collectives.columns=3"}, {},
            "tl_world_init: collectives.columns 3 must divide the 8 ranks");
}
BOOST_AUTO_TEST_CASE(a_hierarchy_without_some_of_the_places_is_rejected) {
    refused(
        {"collectives.algorithm=hierarchical"}, {{0, 0, 0}, {0, 0, 1}, {0, 1, 0}},
        "tl_world_init: hierarchical with 3 programs, collectives.world_size 0: launch a program on each of the 8 PEs, "
        "and set the key to 0 or 8");
}

BOOST_AUTO_TEST_CASE(tl_place_of_and_tl_program_at_are_inverse) {
    bench b({"system.sips=2", "system.cube_mesh_width=2", "system.pes_per_cube=2"});
    std::size_t wrong = 0, programs = 0;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            for (std::uint32_t p = 0; p < tl_num_programs(tl, TL_ALL); p++, programs++) {
                tl_place place{};
                std::uint32_t found = 99;
                wrong += tl_place_of(tl, p, &place) != TLA_OK;
                wrong += tl_program_at(tl, place.sip, place.cube, place.pe, &found) != TLA_OK || found != p;
                wrong += place.sip != p / 4 || place.cube != p / 2 % 2 || place.pe != p % 2;
            }
            tl_place place{7, 7, 7};
            wrong += tl_place_of(tl, 8, &place) != TLA_INVALID_ARGUMENT || place.sip != 7;
            return TLA_OK;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK_EQUAL(programs, 64u);
}
