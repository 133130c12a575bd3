// One list for many slices: what they are told, and that a block is in all of them or in none.
#include "naive_first_fit.hpp"
#include "seeded_random.hpp"
#include "slice_owner_bench.hpp"

using namespace slice_owner_bench;

BOOST_AUTO_TEST_CASE(a_block_is_at_one_offset_in_every_slice) {
    bench b(8);
    BOOST_CHECK_EQUAL(b.alloc(100).offset, 0u);
    BOOST_CHECK_EQUAL(b.rounds, 1u);
    BOOST_CHECK_GT(b.work.nodes_visited, 0u);
    const tla_slice_owner_result second = b.alloc(1000);
    BOOST_CHECK_EQUAL(second.status, TLA_OK);
    BOOST_CHECK_EQUAL(second.offset, 128u);
    for (const auto &of_slice : b.blocks)
        BOOST_CHECK((of_slice == std::map<std::uint64_t, std::uint64_t>{{0, 100}, {128, 1000}}));
    BOOST_CHECK_EQUAL(tla_slice_owner_get_stats(b.owner.get()).allocated, 128u + 1024);
    const tla_slice_owner_result freed = b.free(0, 100);
    BOOST_CHECK_EQUAL(freed.status, TLA_OK);
    BOOST_CHECK_EQUAL(b.alloc(128).offset, 0u);
    BOOST_CHECK_EQUAL(bench(3, TLA_TOP_DOWN).alloc(100).offset, capacity - 128);
}

BOOST_AUTO_TEST_CASE(the_owner_sends_no_slice_an_allocation_that_does_not_fit_or_an_invalid_command) {
    bench b(2);
    BOOST_CHECK_EQUAL(b.alloc(capacity + 1).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.alloc(~std::uint64_t{0}).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.alloc(0).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.free(0, 0).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.free(capacity, 1).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.free(64, ~std::uint64_t{0}).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(b.run(TLA_OP_TRIM, 0, 1).status, TLA_BAD_COMMAND);
    *b.command = {};
    b.command->opcode = TLA_OP_ALLOC;
    b.command->memory = TLA_TCM;
    b.command->nbytes = 1;
    BOOST_CHECK_EQUAL(tla_slice_owner_decide(b.owner.get(), b.command.get(), nullptr), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(b.rounds, 0u);
    BOOST_CHECK_EQUAL(b.free(0, 64).status, TLA_NOT_ALLOCATED); // which the slices know
    BOOST_CHECK_EQUAL(b.alloc(capacity).offset, 0u);
}

BOOST_AUTO_TEST_CASE(the_owner_undoes_a_command_that_one_slice_fails_in_the_other_slices) {
    bench b(4);
    b.alloc(64);
    const auto before = b.blocks;
    b.refuse = [](unsigned slice, const tla_command &) { return slice == 2 ? TLA_BUS_ERROR : TLA_OK; };
    const tla_slice_owner_result refused = b.alloc(64);
    BOOST_CHECK_EQUAL(refused.status, TLA_BUS_ERROR);
    BOOST_CHECK_EQUAL(refused.failed_at.kind, TLA_LOCATION_PE);
    BOOST_CHECK_EQUAL(refused.failed_at.pe, 2u);
    BOOST_CHECK(b.blocks == before);
    BOOST_CHECK_EQUAL(b.rounds, 2u);
    BOOST_CHECK_EQUAL(b.free(0, 64).status, TLA_BUS_ERROR);
    BOOST_CHECK(b.blocks == before);
    BOOST_CHECK_EQUAL(tla_slice_owner_get_stats(b.owner.get()).allocated, 64u);
    b.refuse = [](unsigned, const tla_command &) { return TLA_BUSY; };
    BOOST_CHECK_EQUAL(b.alloc(64).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(b.rounds, 1u); // nothing to undo
    BOOST_CHECK_EQUAL(tla_slice_owner_not_restored(b.owner.get()), 0u);
    // A slice that cannot undo is asked so often, and then counted.
    b.refuse = [](unsigned slice, const tla_command &c) {
        return slice == 3 || c.opcode == TLA_OP_FREE ? TLA_BUSY : TLA_OK;
    };
    BOOST_CHECK_EQUAL(b.alloc(64).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(b.rounds, 1u + TLA_SLICE_OWNER_UNDO_TRIES);
    BOOST_CHECK_EQUAL(tla_slice_owner_not_restored(b.owner.get()), 3u);
}

BOOST_AUTO_TEST_CASE(random_commands_and_failures_leave_all_slices_alike_and_the_list_as_the_naive_list) {
    seeded_random random(71);
    bench b(5);
    tla_arena_config config{};
    config.capacity = capacity;
    config.alignment = alignment;
    naive_first_fit naive(config);
    bool refusing = false;
    b.refuse = [&](unsigned, const tla_command &c) {
        const bool first = c.opcode == (b.command->opcode == TLA_OP_ALLOC ? TLA_OP_PLACE : TLA_OP_FREE);
        return refusing && random.one_in(first ? 5 : 3) ? TLA_BUSY : TLA_OK; // three times in a row is rare, 16 never
    };
    std::map<std::uint64_t, std::uint64_t> live;
    std::uint64_t refusals = 0, full = 0;
    for (int i = 0; i < 20000; i++) {
        refusing = random.one_in(4);
        if (!live.empty() && random.one_in(2)) {
            const auto victim = std::next(live.begin(), static_cast<long>(random.between(0, live.size() - 1)));
            const tla_status status = b.free(victim->first, victim->second).status;
            refusals += status != TLA_OK;
            if (!status) {
                tla_work ignored{};
                BOOST_REQUIRE_EQUAL(naive.free({victim->first, victim->second}, ignored), TLA_OK);
                live.erase(victim);
            }
        } else {
            const std::uint64_t nbytes = random.between(1, std::uint64_t{1} << random.between(1, 19));
            const auto list = naive.list;
            tla_block expected{};
            tla_work ignored{};
            const tla_status wanted = naive.alloc(nbytes, 1, expected, ignored);
            const tla_slice_owner_result result = b.alloc(nbytes);
            if (result.status == TLA_BUSY) {
                refusals++;
                if (!wanted) naive.free({expected.offset, nbytes}, ignored);
            } else {
                BOOST_REQUIRE_EQUAL(result.status, wanted);
                full += wanted != TLA_OK;
                if (!wanted) {
                    BOOST_REQUIRE_EQUAL(result.offset, expected.offset);
                    live[expected.offset] = nbytes;
                }
            }
        }
        for (const auto &of_slice : b.blocks)
            BOOST_REQUIRE(of_slice == live);
    }
    BOOST_CHECK_GT(refusals, 100u);
    BOOST_CHECK_GT(full, 100u);
    BOOST_CHECK_EQUAL(tla_slice_owner_not_restored(b.owner.get()), 0u);
}
