// A controller that moves blocks so that an ALLOC has its hole, or in the background.
#include "compaction_heaps.hpp"
#include "moving_world.hpp"

#include <numeric>

using namespace moving;

namespace {

constexpr tla_compaction_config on_demand = {TLA_COMPACTION_ON_DEMAND, 0, nullptr, 0};

tla_pe_memory_config one_memory(std::uint64_t nbytes, tla_policy policy = TLA_FIRST_FIT, bool guarded = false) {
    tla_pe_memory_config config = two_memories(guarded);
    config.of[TLA_HBM].bytes = nbytes;
    config.of[TLA_HBM].policy = policy;
    return config;
}

// A block with a mapping, which finds it wherever it is.
struct tensor {
    std::uint64_t pa, nbytes, va;
    std::vector<std::uint8_t> bytes;
};

struct heap : world {
    heap(std::uint64_t nbytes, const tla_compaction_config &compaction, tla_policy policy = TLA_FIRST_FIT,
         bool guarded = false, tla_move_mode mode = TLA_MOVE_CONCURRENT)
        : world(mode, 16, 1, one_memory(nbytes, policy, guarded), compaction) {}

    std::vector<tensor> live;
    std::uint64_t next_va = 0x10000;

    void add(std::uint64_t pa, std::uint64_t nbytes) {
        live.push_back({pa, nbytes, next_va, std::vector<std::uint8_t>(nbytes)});
        std::iota(live.back().bytes.begin(), live.back().bytes.end(), static_cast<std::uint8_t>(next_va >> 12));
        next_va += 0x1000;
        std::copy(live.back().bytes.begin(), live.back().bytes.end(), hbm.begin() + static_cast<std::ptrdiff_t>(pa));
        BOOST_REQUIRE_EQUAL(mapping(TLA_OP_BIND, live.back().va, pa, nbytes).status, TLA_OK);
    }
    tensor &make(std::uint64_t nbytes) {
        add(take(nbytes), nbytes);
        return live.back();
    }
    void drop(std::size_t i) {
        BOOST_REQUIRE_EQUAL(about(TLA_OP_FREE, live[i].pa, live[i].nbytes, me).status, TLA_OK);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
    }
    // What programs see.
    void check_accesses() {
        for (const tensor &t : live)
            for (std::uint64_t i = 0; i < t.nbytes; i += 3)
                if (!mmus[0].paused.count(t.va + i)) BOOST_REQUIRE_EQUAL(byte(mmus[0].table.at(t.va + i)), t.bytes[i]);
    }
    tla_completion ask(std::uint64_t nbytes) { return alloc(TLA_HBM, {nbytes, 0, TLA_FORMAT_UNDEFINED}, me); }
    // What the holder does with what it is told.
    void learn() {
        for (const auto &[from, to] : told)
            for (tensor &t : live)
                if (t.pa == from) {
                    t.pa = to;
                    break;
                }
        told.clear();
    }
    void check() {
        learn();
        for (const tensor &t : live)
            for (std::uint64_t i = 0; i < t.nbytes; i++) {
                BOOST_REQUIRE_EQUAL(mmus[0].table.at(t.va + i), t.pa + i);
                BOOST_REQUIRE_EQUAL(byte(t.pa + i), t.bytes[i]);
            }
    }
    tla_controller_counts counts() const { return tla_controller_get_counts(controller, TLA_HBM); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_fragmented_alloc_waits_for_the_moves_that_make_its_hole) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT}) {
        heap h(160, on_demand, TLA_FIRST_FIT, false, mode);
        for (int i = 0; i < 4; i++)
            h.make(40);
        h.drop(2);
        h.drop(0); // 0 .. 40 and 80 .. 120 are free
        tla_completion done = h.ask(80);
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK(h.outcome.begun);
        BOOST_CHECK_GT(h.outcome.work.probes, 0u); // the search for the plan
        BOOST_CHECK_EQUAL(h.outcome.work.metadata_lines, 2u);
        h.finish();
        BOOST_REQUIRE_EQUAL(h.ended.size(), 1u); // of the ALLOC alone
        done = h.ended[0];
        BOOST_CHECK_EQUAL(done.opcode, TLA_OP_ALLOC);
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.value, 0u);
        BOOST_CHECK_EQUAL(done.nbytes, 80u);
        BOOST_CHECK_EQUAL(done.total_free, 0u);
        BOOST_REQUIRE_EQUAL(h.told.size(), 1u);
        BOOST_CHECK(h.told[0] == std::make_pair(std::uint64_t{40}, std::uint64_t{80}));
        BOOST_CHECK_EQUAL(h.taken, 1u);
        h.check();
        const tla_controller_counts counts = h.counts();
        BOOST_CHECK_EQUAL(counts.compactions, 1u);
        BOOST_CHECK_EQUAL(counts.compacted_allocs, 1u);
        BOOST_CHECK_EQUAL(counts.compacted_blocks, 1u);
        BOOST_CHECK_EQUAL(counts.compacted_bytes, 40u);
        BOOST_CHECK_EQUAL(counts.moved_bytes, 40u);
        BOOST_CHECK_EQUAL(counts.moves, 0u); // commands
        BOOST_CHECK_EQUAL(counts.allocs, 5u);
        BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, done.value, 80, me).status, TLA_OK);
    }
}

BOOST_AUTO_TEST_CASE(the_holder_learns_of_the_new_place_before_the_old_one_is_free) {
    heap h(160, on_demand);
    for (int i = 0; i < 4; i++)
        h.make(40);
    h.drop(2);
    h.drop(0);
    h.ask(80);
    BOOST_REQUIRE(h.go_on()); // the block moves from now on
    while (h.told.empty()) {
        BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, 40, 40, me).status, TLA_BUSY);
        BOOST_REQUIRE(h.go_on() || h.arrive());
    }
    for (const std::uint64_t pa : {40u, 80u}) { // the holder may use either
        BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, pa, 40, me).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(h.about(TLA_OP_PIN, pa, 0, me).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(h.mapping(TLA_OP_UNBIND, 0x11000, pa, 40).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(h.mapping(TLA_OP_BIND, 0x90000, pa + 8, 8).status, TLA_BUSY);
    }
    BOOST_CHECK_EQUAL(h.gone.size(), 2u); // those that the test has freed
    BOOST_REQUIRE(h.go_on());
    BOOST_CHECK_EQUAL(h.gone.back().offset, 40u);
    h.finish();
    BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, 80, 40, me).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(an_alloc_that_no_moves_can_serve_fails_at_once) {
    heap h(160, on_demand);
    for (int i = 0; i < 4; i++)
        h.make(40);
    h.drop(2);
    h.drop(0);
    BOOST_CHECK_EQUAL(h.ask(81).status, TLA_EXHAUSTED);
    for (const tensor &t : h.live)
        BOOST_CHECK_EQUAL(h.about(TLA_OP_PIN, t.pa, 0, me).status, TLA_OK);
    const tla_completion failed = h.ask(80);
    BOOST_CHECK_EQUAL(failed.status, TLA_FRAGMENTED);
    BOOST_CHECK(!h.outcome.begun);
    BOOST_CHECK_EQUAL(failed.nbytes, 80u);
    BOOST_CHECK(!h.go_on());
    BOOST_CHECK_EQUAL(h.about(TLA_OP_UNPIN, 120, 0, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_OK); // the other block is enough
    BOOST_CHECK(h.outcome.begun);
    h.finish();
    BOOST_CHECK_EQUAL(h.ended.at(0).value, 80u);
}

// Without a mapping, with several holders, or with reserved bytes.
BOOST_AUTO_TEST_CASE(compaction_moves_no_block_that_others_reach) {
    heap h(120, on_demand);
    const std::uint64_t first = h.take(40), second = h.take(40);
    BOOST_REQUIRE_EQUAL(first, 0u);
    BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, first, 40, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_FRAGMENTED);
    h.mapping(TLA_OP_BIND, 0x1000, second, 40);
    BOOST_CHECK_EQUAL(h.about(TLA_OP_REF, second, 0, other).status, TLA_OK);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(h.about(TLA_OP_UNREF, second, 0, other).status, TLA_OK);
    tla_controller_watch watch{};
    watch.reserved = [](void *, tla_memory_kind, std::uint64_t offset, std::uint64_t) { return offset == 40; };
    tla_controller_set_watch(h.controller, watch);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_FRAGMENTED);
    tla_controller_set_watch(h.controller, {});
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_OK);
    h.finish();
    BOOST_CHECK_EQUAL(h.ended.at(0).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(requests_wait_in_their_order_and_others_overtake) {
    heap h(240, on_demand);
    for (int i = 0; i < 6; i++)
        h.make(40);
    for (int i = 4; i >= 0; i -= 2)
        h.drop(static_cast<std::size_t>(i)); // 0, 80 and 160 are free
    tla_command first{};
    first.opcode = TLA_OP_ALLOC;
    first.nbytes = 80;
    first.correlation_id = 1;
    BOOST_CHECK_EQUAL(h.run(first, me).status, TLA_OK);
    BOOST_CHECK(h.outcome.begun);
    first.correlation_id = 2;
    first.nbytes = 100; // 40 are left for it
    BOOST_CHECK_EQUAL(h.run(first, me).status, TLA_OK);
    BOOST_CHECK(h.outcome.begun);
    BOOST_CHECK_EQUAL(h.about(TLA_OP_FREE, 200, 40, me).status, TLA_OK); // now 80
    h.finish();
    BOOST_REQUIRE_EQUAL(h.ended.size(), 2u);
    BOOST_CHECK_EQUAL(h.ended[0].correlation_id, 1u);
    BOOST_CHECK_EQUAL(h.ended[0].status, TLA_OK);
    BOOST_CHECK_EQUAL(h.ended[1].correlation_id, 2u);
    BOOST_CHECK_EQUAL(h.ended[1].status, TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(a_heap_that_changes_meanwhile_is_planned_again) {
    heap h(240, on_demand);
    for (int i = 0; i < 6; i++)
        h.make(40);
    h.drop(4);
    h.drop(2);
    h.drop(0);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_OK);
    h.go_on(); // the place at 160 or 0 is taken
    BOOST_CHECK_EQUAL(h.ask(40).status, TLA_OK);
    BOOST_CHECK(!h.outcome.begun); // it overtakes, and takes a part of the hole
    h.finish();
    BOOST_REQUIRE_EQUAL(h.ended.size(), 1u);
    BOOST_CHECK_EQUAL(h.ended[0].status, TLA_OK);
    BOOST_CHECK_GE(h.counts().compactions, 1u);
    h.check();
}

BOOST_AUTO_TEST_CASE(an_alloc_whose_moves_fail_again_and_again_fails_as_fragmented) {
    heap h(160, on_demand);
    for (int i = 0; i < 4; i++)
        h.make(40);
    h.drop(2);
    h.drop(0);
    h.refuse = [](const tla_command &c) { return c.opcode == TLA_OP_PAUSE ? TLA_LIMIT : TLA_OK; };
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_OK);
    h.finish();
    BOOST_REQUIRE_EQUAL(h.ended.size(), 1u);
    BOOST_CHECK_EQUAL(h.ended[0].status, TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(h.ended[0].nbytes, 80u);
    BOOST_CHECK_EQUAL(std::count(h.sent.begin(), h.sent.end(), TLA_OP_PAUSE), TLA_COMPACTION_PLANS);
    BOOST_CHECK_EQUAL(h.used(), 80u);
    h.check();
}

BOOST_AUTO_TEST_CASE(a_reset_ends_the_requests_that_wait) {
    heap h(160, on_demand);
    for (int i = 0; i < 4; i++)
        h.make(40);
    h.drop(2);
    h.drop(0);
    h.ask(80);
    h.ask(80);
    h.go_on();
    tla_controller_abandon_moves(h.controller);
    h.finish();
    BOOST_REQUIRE_EQUAL(h.ended.size(), 2u);
    for (const tla_completion &done : h.ended)
        BOOST_CHECK_EQUAL(done.status, TLA_RESET);
    BOOST_CHECK_EQUAL(h.used(), 80u);
    BOOST_CHECK_EQUAL(h.ask(80).status, TLA_OK); // as before
    h.finish();
    BOOST_CHECK_EQUAL(h.ended.back().status, TLA_OK);
}

// All placements, guarded or not: whatever order blocks were freed in, a request is served if the exact planner can.
BOOST_AUTO_TEST_CASE(every_placement_serves_what_moves_can_serve) {
    seeded_random random(20264);
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        for (const bool guarded : {false, true}) {
            if (!tla_policy_takes_ranges(static_cast<tla_policy>(policy))) continue;
            std::size_t waited = 0;
            for (int i = 0; i < 60; i++) {
                heap h(512, on_demand, static_cast<tla_policy>(policy), guarded,
                       random.one_in(2) ? TLA_MOVE_STOP : TLA_MOVE_CONCURRENT);
                for (;;) {
                    const std::uint64_t nbytes = random.between(1, 60);
                    const tla_completion done = h.ask(nbytes);
                    if (done.status || h.outcome.begun) break;
                    h.add(done.value, nbytes);
                }
                h.finish();
                if (!h.ended.empty() && !h.ended[0].status)
                    BOOST_REQUIRE_EQUAL(h.about(TLA_OP_FREE, h.ended[0].value, h.ended[0].nbytes, me).status, TLA_OK);
                h.check();
                for (std::size_t t = h.live.size(); t-- > 0;)
                    if (random.one_in(2)) h.drop(t);
                h.ended.clear();
                const std::uint64_t free = tla_controller_get_stats(h.controller, TLA_HBM).memory.free;
                const tla_completion done = h.ask(random.between(1, free));
                const bool begun = h.outcome.begun;
                h.finish();
                h.check();
                if (!begun) continue;
                waited++;
                BOOST_REQUIRE_EQUAL(h.ended.size(), 1u);
                BOOST_REQUIRE_EQUAL(h.ended[0].status, TLA_OK);
                h.add(h.ended[0].value, h.ended[0].nbytes);
                h.check();
                while (!h.live.empty())
                    h.drop(0);
                BOOST_REQUIRE(tla_controller_is_as_at_the_beginning(h.controller, TLA_HBM));
                BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
            }
            BOOST_CHECK_GT(waited, 10u);
        }
}

// TLSF rounds a search up to its next class, and then finds no block although one is large enough.
BOOST_AUTO_TEST_CASE(a_request_whose_hole_exists_is_served_without_moves) {
    heap h(4096, on_demand, TLA_TLSF);
    h.take(4096 - 1000);
    const tla_completion done = h.ask(999);
    BOOST_CHECK_EQUAL(done.status, TLA_OK);
    BOOST_REQUIRE(h.outcome.begun);
    h.finish();
    BOOST_REQUIRE_EQUAL(h.ended.size(), 1u);
    BOOST_CHECK_EQUAL(h.ended[0].status, TLA_OK);
    BOOST_CHECK_EQUAL(h.counts().compactions, 0u);
}

// ---- in the background ----

namespace {

tla_compaction_config background(std::uint64_t threshold) {
    return {TLA_COMPACTION_BACKGROUND, threshold, nullptr, 0};
}

} // namespace

BOOST_AUTO_TEST_CASE(above_its_threshold_a_memory_is_compacted_within_a_budget) {
    heap h(400, background(300));
    for (int i = 0; i < 10; i++)
        h.make(40);
    for (int i = 9; i >= 0; i -= 2)
        h.drop(static_cast<std::size_t>(i)); // five holes of 40: 800 permille
    std::uint64_t nbytes = 0, moves = 0;
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 39, &nbytes, &h.outcome), TLA_LIMIT);
    BOOST_CHECK_EQUAL(nbytes, 40u);
    BOOST_CHECK_GT(h.outcome.work.probes, 0u);
    BOOST_CHECK_EQUAL(h.used(), 200u);
    while (!tla_controller_compact(h.controller, 0, 40, &nbytes, &h.outcome)) {
        BOOST_CHECK_EQUAL(h.outcome.work.allocs, 1u);
        BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 40, &nbytes, &h.outcome), TLA_NOT_FOUND);
        h.finish();
        moves++;
    }
    h.check();
    BOOST_CHECK(h.ended.empty());
    const tla_arena_stats stats = tla_controller_get_stats(h.controller, TLA_HBM).memory;
    BOOST_CHECK_LE(tla_arena_fragmentation_permille(&stats), 300u);
    BOOST_CHECK_EQUAL(h.counts().compacted_blocks, moves);
    BOOST_CHECK_EQUAL(moves, 2u); // a hole of 140: two blocks of four holes
    BOOST_CHECK_EQUAL(h.counts().compactions, 1u);
    BOOST_CHECK_EQUAL(h.ask(170).status, TLA_FRAGMENTED); // no request waits
}

BOOST_AUTO_TEST_CASE(a_heap_that_cannot_be_improved_is_looked_at_again_after_the_next_command) {
    heap h(160, background(0));
    for (int i = 0; i < 4; i++)
        h.make(40);
    h.drop(2);
    h.drop(0);
    for (const tensor &t : h.live)
        h.about(TLA_OP_PIN, t.pa, 0, me);
    std::uint64_t nbytes = 0;
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_NOT_FOUND);
    BOOST_CHECK_GT(h.outcome.work.metadata_lines, 0u);
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(h.outcome.work.metadata_lines, 0u);
    h.about(TLA_OP_UNPIN, h.live[0].pa, 0, me);
    h.refuse = [](const tla_command &) { return TLA_LIMIT; };
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_OK);
    h.finish();
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_NOT_FOUND);
    h.refuse = nullptr;
    BOOST_CHECK_EQUAL(h.about(TLA_OP_REF, h.live[0].pa, 0, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_OK);
    h.finish();
    h.check();
    BOOST_CHECK_EQUAL(tla_controller_compact(h.controller, 0, 1000, &nbytes, &h.outcome), TLA_NOT_FOUND);
}

// ---- random programs ----

namespace {

// Allocates, frees, writes and compacts in random order, while commands and copies fail now and then.
void check_random_programs(tla_compaction_config compaction, tla_move_mode mode, std::uint64_t seed) {
    seeded_random random(seed);
    compaction.nodes = 200;
    heap h(512, compaction, random.one_in(2) ? TLA_FIRST_FIT : TLA_BEST_FIT, true, mode);
    bool hostile = true;
    std::uint64_t served = 0, failed = 0, busy = 0;
    h.refuse = [&](const tla_command &c) {
        const bool undoes = c.opcode == TLA_OP_RESUME;
        return hostile && !undoes && random.one_in(15) ? TLA_LIMIT : TLA_OK;
    };
    const auto take_ends = [&] {
        h.learn();
        for (const tla_completion &done : h.ended) {
            BOOST_REQUIRE_EQUAL(done.opcode, TLA_OP_ALLOC);
            if (!done.status) h.add(done.value, done.nbytes);
            ++*(done.status ? &failed : &served);
        }
        h.ended.clear();
    };
    for (int i = 0; i < 20000; i++) {
        switch (random.between(0, 9)) {
        case 0: {
            const std::uint64_t nbytes = random.between(1, 80);
            const tla_completion done = h.ask(nbytes);
            if (!done.status && !h.outcome.begun) h.add(done.value, nbytes);
            break;
        }
        case 1: {
            if (h.live.empty()) break;
            const std::size_t t = random.between(0, h.live.size() - 1);
            const tla_status status = h.about(TLA_OP_FREE, h.live[t].pa, h.live[t].nbytes, me).status;
            BOOST_REQUIRE_MESSAGE(status == TLA_OK || status == TLA_BUSY, tla_status_name(status));
            if (!status) h.live.erase(h.live.begin() + static_cast<std::ptrdiff_t>(t));
            busy += status == TLA_BUSY;
            break;
        }
        case 2:
        case 3: {
            if (h.live.empty()) break;
            tensor &t = h.live[random.between(0, h.live.size() - 1)];
            const std::uint64_t at = random.between(0, t.nbytes - 1);
            const auto value = static_cast<std::uint8_t>(random.between(0, 255));
            if (h.write(0, t.va + at, value)) t.bytes[at] = value;
            break;
        }
        case 4: {
            std::uint64_t nbytes = 0;
            tla_controller_outcome outcome{};
            tla_controller_compact(h.controller, 0, random.between(1, 80), &nbytes, &outcome);
            break;
        }
        case 5:
            if (hostile && random.one_in(40) && !h.on_the_way.empty()) {
                h.on_the_way.erase(h.on_the_way.begin());
                tla_controller_move_copied(h.controller, false);
            } else {
                h.arrive();
            }
            break;
        case 6:
            if (random.one_in(200)) tla_controller_abandon_moves(h.controller);
            h.check_accesses();
            break;
        default:
            h.go_on();
            take_ends();
        }
    }
    hostile = false;
    h.finish();
    take_ends();
    h.check();
    while (!h.live.empty())
        h.drop(0);
    BOOST_CHECK(tla_controller_is_as_at_the_beginning(h.controller, TLA_HBM));
    BOOST_TEST_MESSAGE(served << " served, " << failed << " failed, " << busy << " busy, "
                              << h.counts().compacted_blocks << " blocks moved");
    BOOST_CHECK_GT(h.counts().compacted_blocks, 50u);
    if (compaction.mode == TLA_COMPACTION_ON_DEMAND) BOOST_CHECK(served > 20 && failed > 5);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_programs_lose_no_byte_while_requests_wait_for_moves) {
    check_random_programs(on_demand, TLA_MOVE_STOP, 11);
    check_random_programs(on_demand, TLA_MOVE_CONCURRENT, 12);
}

BOOST_AUTO_TEST_CASE(random_programs_lose_no_byte_while_memory_is_compacted_in_the_background) {
    check_random_programs(background(200), TLA_MOVE_STOP, 13);
    check_random_programs(background(200), TLA_MOVE_CONCURRENT, 14);
}

BOOST_AUTO_TEST_CASE(configurations_that_cannot_be_compacted_are_rejected) {
    const auto good = [] {
        tla_controller_config config{};
        config.memory = two_memories();
        config.owner_port = TLA_CONTROLLER_NO_OWNER;
        config.move = {TLA_MOVE_STOP, 64, 0};
        config.compaction = on_demand;
        return config;
    };
    const auto check = [&](tla_status expected, const char *text, auto spoil) {
        tla_controller_config config = good();
        tla_error error{};
        spoil(config);
        BOOST_CHECK_EQUAL(tla_controller_check_config(&config, &error), expected);
        BOOST_CHECK_EQUAL(std::string(error.text), text);
    };
    check(TLA_OK, "", [](tla_controller_config &c) { c.compaction.planner = "slide"; });
    check(TLA_INVALID_ARGUMENT, "compaction.planner: unknown planner best: must be exact, window or slide",
          [](tla_controller_config &c) { c.compaction.planner = "best"; });
    check(TLA_INVALID_ARGUMENT, "compaction.threshold: 1000 permille: must be below 1000",
          [](tla_controller_config &c) { c.compaction.threshold = 1000; });
    check(TLA_INVALID_ARGUMENT, "compaction.mode: unknown mode 3",
          [](tla_controller_config &c) { c.compaction.mode = TLA_COMPACTION_MODE_COUNT; });
    check(TLA_INVALID_ARGUMENT, "compaction: blocks do not move: move.mode must be stop or concurrent",
          [](tla_controller_config &c) { c.move.mode = TLA_MOVE_OFF; });
    check(TLA_UNSUPPORTED, "compaction: a slice with an owner, and a free list in memory, are not compacted",
          [](tla_controller_config &c) { c.owner_port = 0; });
    check(TLA_UNSUPPORTED,
          "compaction: the TCM has a front, which chooses the places of its blocks itself: remove the front",
          [](tla_controller_config &c) {
              c.memory.of[TLA_TCM].policy = tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT);
          });
    check(TLA_UNSUPPORTED,
          "compaction: offset_bins chooses the places of the blocks of the TCM itself: use another policy",
          [](tla_controller_config &c) { c.memory.of[TLA_TCM].policy = TLA_OFFSET_BINS; });
    check(TLA_UNSUPPORTED,
          "engine: it chooses the places of its blocks itself, so that compaction cannot be used with it",
          [](tla_controller_config &c) {
              c.engine_maker.make = [](void *, tla_policy, std::uint64_t, tla_engine *engine, tla_error *) {
                  engine->serve = [](void *, const tla_engine_request *, tla_engine_answer *, tla_error *) {
                      return TLA_OK;
                  };
                  engine->destroy = [](void *) {};
                  return TLA_OK;
              };
          });
    BOOST_CHECK_EQUAL(tla_compaction_mode_name(TLA_COMPACTION_ON_DEMAND), "on_demand");
    BOOST_CHECK(!tla_compaction_mode_name(TLA_COMPACTION_MODE_COUNT));
}
