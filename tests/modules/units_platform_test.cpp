// Tensors in some slices of an owner, on whole platforms: single, in lockstep, in range lockstep, and common.
#include "platform_bench.hpp"

#include <map>
#include <optional>
#include <random>
#include <set>

using namespace platform_benches;

namespace {

constexpr std::uint64_t KiB = 1024;

struct bench : platform_bench {
    bench(const std::vector<std::string> &keys, const std::vector<std::string> &more = {})
        : platform_bench(keys, more), pes(platform.host().everywhere().pes) {}

    // Over the PEs with these numbers, of which the last gets half a part if `uneven`.
    tensor *make(std::optional<placing> how, std::uint64_t part, const std::vector<std::size_t> &numbers,
                 bool uneven = false) {
        tlmalloc::host::sharding where;
        for (const std::size_t number : numbers)
            where.pes.push_back(pes[number]);
        where.slices = how;
        tensor *made = nullptr;
        const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
        status = platform.host().create_tensor("t", 2 * numbers.size() - uneven, static_cast<std::uint32_t>(part / 2),
                                               where, &made, &error);
        took_ps = to_ps(sc_core::sc_time_stamp()) - begin_ps;
        return made;
    }
    tensor *must(std::optional<placing> how, std::uint64_t part, const std::vector<std::size_t> &numbers,
                 bool uneven = false) {
        tensor *const made = make(how, part, numbers, uneven);
        BOOST_REQUIRE_MESSAGE(made, error.text);
        return made;
    }
    void free(tensor *t) { BOOST_REQUIRE_MESSAGE(!platform.host().free_tensor(t, &error), error.text); }
    std::uint64_t offset(const shard &s) const {
        const memory_controller::config c = controller_config(config, s.where);
        return tla_pe_memory_find_site(&c.memory, s.pa).offset;
    }
    std::uint64_t used(std::size_t pe) const {
        return platform.pes()[pe]->controller.get_statistics(TLA_HBM).arena.used;
    }
    std::size_t number_of(const pe_location &pe) const { return pe.cube * config.system.pes_per_cube + pe.pe; }

    const std::vector<pe_location> pes;
    std::uint64_t took_ps = 0;
};

std::vector<std::size_t> range_of(std::size_t first, std::size_t end) {
    std::vector<std::size_t> all;
    for (; first < end; first++)
        all.push_back(first);
    return all;
}

} // namespace

// The L1 of model/stack/README.md as the slices of a SIP: lockstep's buffers leave holes of 122, 187 and 278 KiB, which
// the buffers of 24 units cover together. The tensor that asks has the mode of the key, or states a mode.
static void check_what_lockstep_refuses(const std::string &key, std::optional<placing> how, std::uint64_t service_ps) {
    bench b({"system.pes_per_cube=16", "system.cube_mesh_width=2", "hbm.capacity_per_cube=21760 KiB",
             "controller.lockstep=sip", "controller.lockstep_mode=" + key});
    b.run_and_clean_up([&] {
        const std::vector<std::size_t> all = range_of(0, 32), idle = range_of(0, 8);
        std::vector<tensor *> fillers;
        for (const std::uint64_t nbytes : {300u, 122u, 250u, 187u, 223u, 278u}) {
            tensor *const t = b.must(placing::lockstep, nbytes * KiB, all);
            if (nbytes == 122 || nbytes == 187 || nbytes == 278) fillers.push_back(t);
        }
        for (tensor *t : fillers)
            b.free(t);
        for (std::size_t unit = 8; unit < 32; unit++) {
            fillers.clear();
            for (const auto &[gap, nbytes] : {std::pair{36, 86}, std::pair{77, 110}, std::pair{118, 160}}) {
                if (unit % 2) fillers.push_back(b.must(placing::single, static_cast<std::uint64_t>(gap) * KiB, {unit}));
                b.must(placing::single, static_cast<std::uint64_t>(nbytes) * KiB, {unit});
            }
            for (tensor *t : fillers)
                b.free(t);
            BOOST_REQUIRE_EQUAL(b.used(unit), (300 + 250 + 223 + 86 + 110 + 160) * KiB);
        }
        BOOST_CHECK(!b.make(placing::lockstep, 72 * KiB, idle));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        BOOST_CHECK_NE(std::string(b.error.text).find("requested 73728 bytes, 0 free"), std::string::npos);
        const std::uint64_t refused_ps = b.took_ps;
        const tensor *const served = b.must(how, 72 * KiB, idle);
        for (const shard &s : served->shards)
            BOOST_CHECK_EQUAL(b.offset(s), 300 * KiB);
        for (std::size_t unit = 0; unit < 32; unit++)
            BOOST_CHECK_EQUAL(b.used(unit), (300 + 250 + 223 + (unit < 8 ? 72 : 86 + 110 + 160)) * KiB);
        // The page of model/stack has these: with the virtual range and the ways to the IO_CPU, and for the second the
        // owner's own time, of which the PLACE in eight slices is most.
        BOOST_CHECK_EQUAL(refused_ps, 145'000u);
        BOOST_CHECK_EQUAL(served->alloc_ps - served->alloc_service_ps, 326'025u - 288'544u);
        BOOST_CHECK_EQUAL(served->alloc_service_ps, service_ps);
        const command_processor &owner = *b.platform.processors().front();
        BOOST_CHECK_EQUAL(owner.get_statistics().list.free, 0u);
        BOOST_CHECK_EQUAL(owner.slice_statistics(0).free, (587 - 72) * KiB);
        BOOST_CHECK_EQUAL(owner.slice_statistics(8).free, (587 - 86 - 110 - 160) * KiB);
    });
}

BOOST_AUTO_TEST_CASE(range_lockstep_serves_on_a_platform_what_lockstep_refuses) {
    check_what_lockstep_refuses("lockstep", placing::range, 288'544);
}

BOOST_AUTO_TEST_CASE(a_platform_in_range_lockstep_serves_what_lockstep_refuses_at_the_same_time) {
    check_what_lockstep_refuses("range", std::nullopt, 288'544);
}

BOOST_AUTO_TEST_CASE(a_common_tensor_is_served_too_and_takes_a_range_of_each_list) {
    check_what_lockstep_refuses("common", std::nullopt, 304'544);
}

static void check_mode_of_the_key(const std::string &key) {
    bench b({"system.cube_mesh_width=2", "controller.lockstep=sip", "controller.lockstep_mode=" + key});
    b.run_and_clean_up([&] {
        const bool lockstep = key == "lockstep";
        const tensor *const t = b.must(std::nullopt, KiB, {0, 2});
        BOOST_CHECK_EQUAL(tla_units_mode_name(static_cast<tla_units_mode>(t->slices)), key);
        BOOST_CHECK_EQUAL(b.used(1), lockstep ? KiB : 0u);
        const command_processor &owner = *b.platform.processors().front();
        BOOST_CHECK_EQUAL(owner.slice_statistics(1).free, (lockstep || key == "range" ? 1023 : 1024) * KiB);
        BOOST_CHECK_EQUAL(owner.get_statistics().allocs, key == "single" ? 2u : 1u);
        const tensor *const own = b.must(placing::common, KiB, {1}); // its creator states a mode
        BOOST_CHECK(own->slices == placing::common);
        BOOST_CHECK_EQUAL(b.used(1), (lockstep ? 2 : 1) * KiB);
        tensor *of_cube = nullptr;
        const tla_matrix_layout cube{TLA_ROW_WISE, TLA_ROW_WISE, 0, 1, 2, 4, 256, 1};
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("m", cube, &of_cube, &b.error), TLA_OK);
        BOOST_CHECK(of_cube->slices == t->slices);
        BOOST_CHECK_EQUAL(b.used(3), lockstep ? 3 * KiB / 2 : 0u);
        BOOST_CHECK(b.platform_bench::make(64, TLA_TCM)); // where no owner is asked
    });
}

BOOST_AUTO_TEST_CASE(tensors_without_a_mode_lie_in_lockstep_if_the_platform_says_so) {
    check_mode_of_the_key("lockstep");
}

BOOST_AUTO_TEST_CASE(tensors_without_a_mode_lie_alone_in_each_slice_if_the_platform_says_so) {
    check_mode_of_the_key("single");
}

BOOST_AUTO_TEST_CASE(tensors_without_a_mode_lie_in_range_lockstep_if_the_platform_says_so) {
    check_mode_of_the_key("range");
}

BOOST_AUTO_TEST_CASE(tensors_without_a_mode_lie_at_a_common_offset_if_the_platform_says_so) {
    check_mode_of_the_key("common");
}

BOOST_AUTO_TEST_CASE(each_slice_of_a_common_tensor_gives_the_bytes_of_its_own_part) {
    bench b({"system.cube_mesh_width=2", "controller.lockstep=sip"});
    b.run_and_clean_up([&] {
        tensor *const below = b.must(placing::single, 200 * KiB, {2});
        b.must(placing::single, 600 * KiB, {2});
        b.free(below);
        BOOST_CHECK(!b.make(placing::common, 400 * KiB, {0, 1, 2}));
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        tensor *const t = b.must(placing::common, 400 * KiB, {0, 1, 2}, true); // 200 KiB in slice 2
        for (const shard &s : t->shards)
            BOOST_CHECK_EQUAL(b.offset(s), 0u);
        for (std::size_t pe = 0; pe < 4; pe++)
            BOOST_CHECK_EQUAL(b.used(pe), (pe < 2 ? 400 : pe == 2 ? 800 : 0) * KiB);
        BOOST_CHECK_EQUAL(b.platform.processors().front()->slice_statistics(2).free, 224 * KiB);
    });
}

// Every tensor keeps its bytes and its offsets, and a slice has the blocks that name it and no others.
static void check_random_tensors(const std::vector<std::string> &keys, unsigned seed) {
    bench b({"system.cube_mesh_width=2", "controller.lockstep=sip", "controller.move=stop"}, keys);
    std::mt19937 random(seed);
    unsigned made = 0, of_sizes = 0, refused = 0, moved = 0;
    b.run_and_clean_up([&] {
        struct living {
            tensor *t;
            bytes data;
        };
        std::vector<living> live;
        const auto free = [&](std::size_t number) {
            bytes back(live[number].data.size());
            BOOST_CHECK_EQUAL(b.platform.host().read_tensor(*live[number].t, back.data(), &b.error), TLA_OK);
            BOOST_CHECK(back == live[number].data);
            b.free(live[number].t);
            live.erase(live.begin() + static_cast<std::ptrdiff_t>(number));
        };
        for (unsigned step = 0; step < 150; step++) {
            if (!live.empty() && random() % 3 == 0) {
                free(random() % live.size());
            } else if (!live.empty() && random() % 3 == 0) {
                tensor *const t = live[random() % live.size()].t;
                const tla_status status = b.platform.host().move(t, random() % t->shards.size(), TLA_HBM, &b.error);
                BOOST_CHECK(!status || status == TLA_EXHAUSTED || status == TLA_FRAGMENTED);
                moved += !status;
            } else {
                std::vector<std::size_t> numbers;
                for (std::size_t pe = 0; pe < b.pes.size(); pe++)
                    if (random() % 2) numbers.push_back(pe);
                if (numbers.empty()) numbers.push_back(random() % b.pes.size());
                const std::uint64_t part = 2 + 2 * (random() % (175 * KiB));
                tensor *const t = b.make(static_cast<placing>(random() % 4), part, numbers, random() % 2);
                refused += t == nullptr;
                if (!t) continue;
                made++;
                of_sizes += t->slices == placing::common && t->shards.front().nbytes != t->shards.back().nbytes;
                live.push_back({t, pattern(t->nbytes)});
                for (std::uint8_t &byte : live.back().data)
                    byte = static_cast<std::uint8_t>(byte + step);
                b.write(t, live.back().data);
            }
            std::map<std::size_t, std::uint64_t> used;
            const std::uint64_t mask = b.config.controller.memory.alignment - 1;
            for (const living &l : live) {
                std::set<std::uint64_t> offsets;
                const bool alike = l.t->slices == placing::lockstep || l.t->slices == placing::range;
                const std::uint64_t largest = l.t->shards.front().nbytes;
                for (const shard &s : l.t->shards) {
                    offsets.insert(b.offset(s));
                    used[b.number_of(s.where)] += ((alike ? largest : s.nbytes) + mask) & ~mask;
                }
                if (l.t->slices != placing::single) BOOST_CHECK_EQUAL(offsets.size(), 1u);
                if (l.t->slices == placing::lockstep)
                    for (std::size_t pe = 0; pe < b.pes.size(); pe++)
                        if (std::none_of(l.t->shards.begin(), l.t->shards.end(),
                                         [&](const shard &s) { return b.number_of(s.where) == pe; }))
                            used[pe] += (largest + mask) & ~mask;
            }
            for (std::size_t pe = 0; pe < b.pes.size(); pe++)
                BOOST_REQUIRE_EQUAL(b.used(pe), used[pe]);
        }
        while (!live.empty())
            free(live.size() - 1);
        for (std::size_t pe = 0; pe < b.pes.size(); pe++)
            BOOST_CHECK_EQUAL(b.platform.processors().front()->slice_statistics(pe).largest_free, 1024 * KiB);
    });
    BOOST_CHECK_GT(made, 20u);
    BOOST_CHECK_GT(of_sizes, 2u);
    BOOST_CHECK_GT(refused, 2u);
    BOOST_CHECK_GT(moved, 5u);
}

BOOST_AUTO_TEST_CASE(random_tensors_in_all_modes_keep_their_bytes_while_they_move) {
    check_random_tensors({}, 1);
}

BOOST_AUTO_TEST_CASE(random_tensors_from_the_top_keep_their_bytes_while_they_move) {
    check_random_tensors({"controller.hbm_policy=first_fit_top", "controller.alignment=64 B"}, 2);
}

BOOST_AUTO_TEST_CASE(random_tensors_keep_their_bytes_in_slices_that_reject_commands) {
    check_random_tensors({"faults.plan=refuse rate=50000", "host.retries=50", "host.retry_delay=1 ns"}, 3);
}

BOOST_AUTO_TEST_CASE(blocks_of_some_slices_need_an_owner) {
    bench without({"controller.lockstep=off"});
    without.run_and_clean_up([&] {
        BOOST_CHECK(!without.make(placing::range, KiB, {0}));
        BOOST_CHECK_EQUAL(without.status, TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(std::string(without.error.text),
                          "tensor t: no owner places blocks for slices: set controller.lockstep, in the HBM");
    });
}

BOOST_AUTO_TEST_CASE(a_reset_leaves_no_block_in_any_slice) {
    bench b({"system.cube_mesh_width=2", "controller.lockstep=cube"});
    sc_core::sc_signal<bool> line;
    b.platform.reset_in.bind(line);
    b.run_and_clean_up([&] {
        for (unsigned round = 0; round < 2; round++) {
            for (const placing how : {placing::single, placing::range, placing::common})
                b.must(how, 100 * KiB, {0, 2, 3}); // of two owners
            BOOST_CHECK_EQUAL(b.used(0), 300 * KiB);
            BOOST_CHECK_EQUAL(b.used(1), 0u);
            line = true;
            sc_core::wait(1, sc_core::SC_US);
            line = false;
            b.platform.host().wait_for_reset();
            for (std::size_t pe = 0; pe < 4; pe++)
                BOOST_CHECK_EQUAL(b.used(pe), 0u);
        }
        const tensor *const all = b.must(placing::lockstep, 1024 * KiB, {0, 1, 2, 3});
        for (const shard &s : all->shards)
            BOOST_CHECK_EQUAL(b.offset(s), 0u);
    });
}
