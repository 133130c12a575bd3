// Compaction in a platform: allocations that wait for moves, moves in the background, and kernels meanwhile.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "test_initiator.hpp"

#include <random>

namespace {

using namespace platform_benches;

constexpr std::uint64_t slice = 1 << 20, eighth = slice / 8;

// All tensors lie in the slice of one PE.
struct bench : platform_bench {
    explicit bench(const std::vector<std::string> &more)
        : platform_bench({"system.pes_per_cube=1", "hbm.capacity_per_cube=1 MiB", "controller.move=stop"}, more) {}

    memory_controller::statistics statistics() { return platform.pes()[0]->controller.get_statistics(TLA_HBM); }

    // Fills the slice with eight tensors, and frees every other one.
    void fragment() {
        for (unsigned i = 0; i < 8; i++) {
            tensors.push_back(make(eighth, TLA_HBM));
            BOOST_REQUIRE(tensors.back());
            write(tensors.back(), bytes(eighth, static_cast<std::uint8_t>(i + 1)));
        }
        for (unsigned i = 0; i < 8; i += 2)
            BOOST_CHECK_EQUAL(platform.host().free_tensor(tensors[i], &error), TLA_OK);
    }
    void check_bytes() {
        for (unsigned i = 1; i < 8; i += 2)
            BOOST_CHECK(read(tensors[i]) == bytes(eighth, static_cast<std::uint8_t>(i + 1)));
    }

    std::vector<tensor *> tensors;
};

// The controller begins a move whenever it likes, also of a block whose tensor is about to be freed.
void free_while_blocks_move(const char *way) {
    bench b({way, "controller.compaction=background", "controller.compaction_threshold=0", "mmu.page_size=64 KiB",
             "controller.compaction_budget=100 GB/s"});
    sc_core::sc_report_handler::set_handler(test_initiator::keep_report);
    std::mt19937 random{1};
    b.run_and_clean_up([&] {
        for (unsigned round = 0; round < 20; round++) {
            while (b.tensors.size() < 12) {
                b.tensors.push_back(b.make((1 + random() % 4) << 14, TLA_HBM));
                BOOST_REQUIRE(b.tensors.back());
            }
            while (b.tensors.size() > 4) {
                std::swap(b.tensors[random() % b.tensors.size()], b.tensors.back());
                BOOST_CHECK_EQUAL(b.platform.host().free_tensor(b.tensors.back(), &b.error), TLA_OK);
                b.tensors.pop_back();
            }
        }
    });
    BOOST_CHECK_GT(b.statistics().compacted_blocks, 20u);
    BOOST_CHECK_EQUAL(test_initiator::reports().size(), 0u);
    for (const std::string &report : test_initiator::reports())
        BOOST_TEST_MESSAGE(report);
}

} // namespace

BOOST_AUTO_TEST_CASE(without_compaction_a_fragmented_slice_refuses_a_tensor) {
    bench b({});
    b.run_and_clean_up([&] {
        b.fragment();
        BOOST_CHECK(!b.make(2 * eighth, TLA_HBM));
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        b.check_bytes();
    });
    BOOST_CHECK_EQUAL(b.statistics().moved_bytes, 0u);
}

BOOST_AUTO_TEST_CASE(on_demand_a_tensor_waits_for_the_moves_of_fewest_bytes) {
    bench b({"controller.compaction=on_demand"});
    b.run_and_clean_up([&] {
        b.fragment();
        tensor *t = b.make(2 * eighth, TLA_HBM);
        BOOST_REQUIRE(t);
        BOOST_CHECK_EQUAL(b.statistics().compacted_bytes, eighth);
        BOOST_CHECK_EQUAL(b.statistics().compacted_allocs, 1u);
        b.check_bytes();
        b.write(t, bytes(2 * eighth, 99));
        BOOST_CHECK(b.read(t) == bytes(2 * eighth, 99));
        tensor *rest = b.make(2 * eighth, TLA_HBM); // all that is free
        BOOST_REQUIRE(rest);
        BOOST_CHECK(!b.make(1, TLA_HBM));
        BOOST_CHECK_EQUAL(b.status, TLA_EXHAUSTED);
        b.check_bytes();
    });
    BOOST_CHECK_GT(b.statistics().stop_ps, 0u);
}

BOOST_AUTO_TEST_CASE(on_demand_a_tensor_without_enough_movable_bytes_is_refused) {
    bench b({"controller.compaction=on_demand"});
    b.run_and_clean_up([&] {
        tensor *first = b.make(2 * eighth, TLA_HBM), *fixed = nullptr;
        auto where = b.platform.host().everywhere();
        where.fixed = true;
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("fixed", eighth, 1, where, &fixed, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(first, &b.error), TLA_OK);
        BOOST_CHECK(!b.make(6 * eighth, TLA_HBM)); // there are two eighths on one side of it, and five on the other
        BOOST_CHECK_EQUAL(b.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(b.statistics().moved_bytes, 0u);
    });
}

BOOST_AUTO_TEST_CASE(in_the_background_a_slice_becomes_one_free_block_within_its_budget) {
    bench b({"controller.compaction=background", "controller.compaction_threshold=0",
             "controller.compaction_budget=1 GB/s"});
    b.run_and_clean_up([&] {
        b.fragment();
        const std::uint64_t begun_ps = to_ps(sc_core::sc_time_stamp());
        while (b.statistics().arena.free_blocks > 1) {
            sc_core::wait(10, sc_core::SC_US);
            BOOST_REQUIRE_LT(to_ps(sc_core::sc_time_stamp()), begun_ps + 10'000'000'000);
        }
        const std::uint64_t moved = b.statistics().compacted_bytes;
        BOOST_CHECK_GE(moved, 2 * eighth);
        BOOST_CHECK_LE(moved, 4 * eighth);
        // 1000 bytes in a microsecond; the last move is paid for afterwards
        BOOST_CHECK_GE(to_ps(sc_core::sc_time_stamp()) - begun_ps, (moved - eighth) * 1000 - 100'000'000);
        b.check_bytes();
        BOOST_CHECK(b.make(4 * eighth, TLA_HBM));
    });
    BOOST_CHECK_EQUAL(b.statistics().compacted_allocs, 0u);
}

// The last move before the reset is paid for 13 ms after its beginning.
BOOST_AUTO_TEST_CASE(after_a_held_reset_the_background_moves_blocks_at_the_times_of_a_new_platform) {
    bench b({"controller.compaction=background", "controller.compaction_threshold=0",
             "controller.compaction_budget=10 MB/s"});
    sc_core::sc_signal<bool> line{"line"};
    b.platform.reset_in.bind(line);
    b.run_and_clean_up([&] {
        const auto times_of_moves = [&b] {
            std::vector<std::uint64_t> times;
            const std::uint64_t begun_ps = to_ps(sc_core::sc_time_stamp());
            b.tensors.clear();
            b.platform.pes()[0]->controller.moved = [&](const memory_controller::moved_block &) {
                times.push_back(to_ps(sc_core::sc_time_stamp()) - begun_ps);
            };
            b.fragment();
            while (times.size() < 2)
                sc_core::wait(1, sc_core::SC_MS);
            b.platform.pes()[0]->controller.moved = {};
            return times;
        };
        const std::vector<std::uint64_t> first = times_of_moves();
        line = true;
        sc_core::wait(2, sc_core::SC_US);
        line = false;
        b.platform.wait_for_reset();
        const std::uint64_t beyond_edge_ps = to_ps(sc_core::sc_time_stamp()) % 1000;
        sc_core::wait(from_ps(1000 - beyond_edge_ps)); // as at the beginning: an edge of all clocks
        const std::vector<std::uint64_t> again = times_of_moves();
        BOOST_CHECK_EQUAL_COLLECTIONS(again.begin(), again.end(), first.begin(), first.end());
    });
}

BOOST_AUTO_TEST_CASE(tensors_are_freed_while_the_background_stops_and_moves_them) {
    free_while_blocks_move("controller.move=stop");
}

BOOST_AUTO_TEST_CASE(tensors_are_freed_while_the_background_moves_them) {
    free_while_blocks_move("controller.move=concurrent");
}

// A plan that finds nothing takes the engine's time, and a MOVE arrives meanwhile.
BOOST_AUTO_TEST_CASE(a_move_that_arrives_while_the_controller_plans_is_executed) {
    bench b({"controller.compaction=background", "controller.compaction_threshold=0",
             "controller.cost.metadata_line=100 us"});
    b.run_and_clean_up([&] {
        auto where = b.platform.host().everywhere();
        tensor *hole = b.make(eighth, TLA_HBM), *fixed = nullptr;
        where.fixed = true;
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("fixed", eighth, 1, where, &fixed, &b.error), TLA_OK);
        where.fixed = false;
        where.memory = TLA_TCM;
        tensor *moved = nullptr;
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("moved", 4096, 1, where, &moved, &b.error), TLA_OK);
        const std::uint64_t pa = moved->shards[0].pa.value;
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(hole, &b.error), TLA_OK);
        sc_core::wait(1, sc_core::SC_US); // the controller plans
        BOOST_CHECK_EQUAL(b.platform.host().move(moved, 0, TLA_TCM, &b.error), TLA_OK);
        BOOST_CHECK(moved->shards[0].pa.value != pa);
    });
}

BOOST_AUTO_TEST_CASE(a_fragmentation_below_the_threshold_is_left_alone) {
    bench b({"controller.compaction=background", "controller.compaction_threshold=800"});
    b.run_and_clean_up([&] {
        b.fragment(); // 4 free blocks of one size: 750 permille
        sc_core::wait(10, sc_core::SC_MS);
        BOOST_CHECK_EQUAL(b.statistics().moved_bytes, 0u);
    });
}

// Tensors come and go at random, and hold their bytes, whatever moves.
static void check_bytes_of_random_tensors(const std::vector<std::string> &more, unsigned seed) {
    bench b(more);
    std::mt19937 random(seed);
    b.run_and_clean_up([&] {
        struct held {
            tensor *t;
            std::uint8_t value;
        };
        std::vector<held> live;
        for (unsigned step = 0; step < 300; step++) {
            if (live.size() < 20 && random() % 2) {
                const std::uint64_t nbytes = 1024 * (1 + random() % 150);
                tensor *made = b.make(nbytes, TLA_HBM);
                if (!made) {
                    BOOST_CHECK(b.status == TLA_EXHAUSTED || b.status == TLA_FRAGMENTED);
                    continue;
                }
                live.push_back({made, static_cast<std::uint8_t>(random())});
                b.write(made, bytes(nbytes, live.back().value));
            } else if (!live.empty()) {
                const std::size_t i = random() % live.size();
                BOOST_CHECK(b.read(live[i].t) == bytes(live[i].t->nbytes, live[i].value));
                if (random() % 3) continue;
                BOOST_CHECK_EQUAL(b.platform.host().free_tensor(live[i].t, &b.error), TLA_OK);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        for (const held &h : live)
            BOOST_CHECK(b.read(h.t) == bytes(h.t->nbytes, h.value));
    });
    BOOST_CHECK_GT(b.statistics().compacted_bytes, 0u);
}

BOOST_AUTO_TEST_CASE(random_tensors_keep_their_bytes_while_blocks_move_on_demand) {
    check_bytes_of_random_tensors({"controller.compaction=on_demand"}, 1);
}

BOOST_AUTO_TEST_CASE(random_tensors_keep_their_bytes_while_blocks_move_on_demand_and_programs_go_on) {
    check_bytes_of_random_tensors({"controller.compaction=on_demand", "controller.move=concurrent"}, 2);
}

BOOST_AUTO_TEST_CASE(random_tensors_keep_their_bytes_while_blocks_move_in_the_background) {
    check_bytes_of_random_tensors(
        {"controller.compaction=background", "host.retries=1000", "controller.compaction_budget=100 GB/s"}, 3);
}

BOOST_AUTO_TEST_CASE(random_tensors_of_buddies_keep_their_bytes_while_blocks_move) {
    check_bytes_of_random_tensors({"controller.compaction=on_demand", "controller.hbm_policy=buddy"}, 4);
}
