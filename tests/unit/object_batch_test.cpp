// Batches of blocks: all or nothing, over placements, fronts, guarded memory and lists that are followed.
#include "object_store_bench.hpp"
#include "stacks.hpp"
#include "tlmalloc/stack/stack.h"

#include <algorithm>
#include <map>

namespace {

const tla_stack_request hundred{100, 0, TLA_FORMAT_UNDEFINED};

std::vector<tla_placed_block> take(object_bench &b, std::size_t n, std::uint64_t nbytes = 100,
                                   std::uint64_t who = nobody, tla_status expected = TLA_OK) {
    std::vector<tla_placed_block> blocks(n);
    const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
    tla_pe_memory_set_owner(b.memory, {0, who, b.now});
    BOOST_REQUIRE_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &request, n, TLA_BATCH_CARVED, who, blocks.data(), &b.work), expected);
    return blocks;
}

struct given_up {
    tla_status status;
    std::size_t freed, failed;
};

given_up give(object_bench &b, const std::vector<tla_placed_block> &blocks, std::uint64_t who = nobody) {
    given_up result{};
    tla_pe_memory_set_owner(b.memory, {0, who, b.now});
    result.status = tla_object_free_batch(b.store, b.sites(blocks).data(), blocks.data(), blocks.size(), who,
                                          &result.freed, &result.failed, &b.work);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_batch_is_carved_from_the_holes_in_one_walk_and_goes_back_in_runs) {
    object_bench b;
    const auto first = take(b, 6);
    for (std::size_t i : {0u, 2u, 4u})
        b.free(first[i].pa.value, 100);
    b.work = {};
    const auto again = take(b, 4);
    for (std::size_t i : {0u, 1u, 2u})
        BOOST_CHECK_EQUAL(again[i].pa.value, first[2 * i].pa.value);
    BOOST_CHECK_EQUAL(again[3].pa.value, first[5].pa.value + 100);
    BOOST_CHECK_EQUAL(b.work.nodes_visited, 4u);
    BOOST_CHECK_EQUAL(b.stats().references, 7u);
    b.work = {};
    std::vector<tla_placed_block> all = again;
    for (std::size_t i : {1u, 3u, 5u})
        all.push_back(first[i]);
    const given_up done = give(b, all);
    BOOST_CHECK_EQUAL(done.status, TLA_OK);
    BOOST_CHECK_EQUAL(done.freed, 7u);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.work.metadata_lines, 7u);
    BOOST_CHECK_EQUAL(b.work.merges, 1u); // one run, joined with the rest
    BOOST_CHECK_EQUAL(b.gone.size(), 3u + 7);
}

BOOST_AUTO_TEST_CASE(a_batch_that_does_not_fit_takes_nothing) {
    object_bench b;
    const std::uint64_t most = (1 << 20) / 1000;
    take(b, most + 1, 1000, nobody, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.stats().references, 0u);
    const auto all = take(b, most, 1000);
    BOOST_CHECK_EQUAL(all.size(), most);
    for (std::size_t i = 0; i < most; i += 2)
        b.free(all[i].pa.value, 1000);
    std::vector<tla_placed_block> none(3);
    const tla_stack_request twice{2000, 0, TLA_FORMAT_UNDEFINED};
    BOOST_CHECK_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &twice, 3, TLA_BATCH_CARVED, nobody, none.data(), nullptr),
        TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(tla_object_alloc_batch(b.store, TLA_HBM, &hundred, 0, TLA_BATCH_CARVED, nobody, nullptr, nullptr),
                      TLA_OK);
    const tla_stack_request nothing{0, 0, TLA_FORMAT_UNDEFINED};
    BOOST_CHECK_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &nothing, 2, TLA_BATCH_CARVED, nobody, none.data(), nullptr),
        TLA_INVALID_ARGUMENT);
    std::vector<tla_placed_block> together(4);
    BOOST_CHECK_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &hundred, 4, TLA_BATCH_CONTIGUOUS, nobody, together.data(), nullptr),
        TLA_OK);
    BOOST_CHECK_EQUAL(together[3].pa.value - together[0].pa.value, 300u);
}

BOOST_AUTO_TEST_CASE(a_batch_that_fails_in_the_middle_changes_nothing_and_reports_the_place) {
    object_bench b;
    const auto blocks = take(b, 6, 100, asid(1));
    b.ref(blocks[1].pa.value, asid(1));
    b.unref(blocks[4].pa.value, asid(1)); // dead
    const std::uint64_t used = b.used(), references = b.stats().references;
    const auto refused = [&](std::vector<tla_placed_block> bad, tla_status status, std::uint64_t who,
                             const std::string &text) {
        const given_up result = give(b, bad, who);
        BOOST_CHECK_EQUAL(tla_status_name(result.status), tla_status_name(status));
        BOOST_CHECK_EQUAL(result.failed, 2u);
        BOOST_CHECK_EQUAL(result.freed, 0u);
        BOOST_CHECK_MESSAGE(b.why().find(text) != std::string::npos, b.why() << ", without " << text);
        BOOST_CHECK_EQUAL(b.used(), used);
        BOOST_CHECK_EQUAL(b.stats().references, references);
    };
    refused({blocks[0], blocks[1], blocks[4], blocks[2]}, TLA_NOT_ALLOCATED, asid(1),
            "no block begins at this address");
    refused({blocks[0], blocks[1], blocks[0]}, TLA_NOT_ALLOCATED, asid(1), "the block is in the batch twice");
    refused({blocks[1], blocks[0], {blocks[2].pa, 99}}, TLA_SIZE_MISMATCH, asid(1), "of 99 bytes");
    const std::uint64_t foreign = b.alloc(100, asid(2)), local = b.alloc(100, asid(1), TLA_TCM);
    const std::uint64_t more = b.used();
    const given_up result = give(b, {blocks[0], blocks[1], {{foreign}, 100}}, asid(1));
    BOOST_CHECK_EQUAL(result.status, TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(result.failed, 2u);
    BOOST_CHECK_EQUAL(give(b, {blocks[0], {{local}, 100}}, asid(1)).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_NE(b.why().find("the block is in the TCM, but the others are in the HBM"), std::string::npos);
    BOOST_CHECK_EQUAL(b.used(), more);
    const given_up good = give(b, {blocks[0], blocks[1], blocks[2]}, asid(1));
    BOOST_CHECK_EQUAL(good.status, TLA_OK);
    BOOST_CHECK_EQUAL(good.freed, 2u); // one has a reference left
    BOOST_CHECK_EQUAL(b.free(blocks[1].pa.value, 100, asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(give(b, {}).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_pinned_block_of_a_batch_stays) {
    object_bench b;
    const auto blocks = take(b, 3);
    b.pin(blocks[1].pa.value);
    BOOST_CHECK_EQUAL(give(b, blocks).freed, 2u);
    BOOST_CHECK_EQUAL(b.used(), 100u);
    b.unpin(blocks[1].pa.value);
    BOOST_CHECK_EQUAL(b.used(), 0u);
}

BOOST_AUTO_TEST_CASE(guarded_memory_knows_the_blocks_of_a_batch) {
    tla_pe_memory_config config = object_memory();
    config.guarded = true;
    config.guard_history = 8;
    object_bench b(config);
    const auto blocks = take(b, 3, 100, asid(1));
    const auto look = [&](std::uint64_t offset, std::uint64_t length, std::uint64_t who) {
        const tla_guard_access access{true, offset, length, length, nullptr, 0, who, 0, 0, 0};
        return tla_pe_memory_look(b.memory, TLA_HBM, &access, nullptr);
    };
    BOOST_CHECK_EQUAL(look(100, 100, asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(look(100, 101, asid(1)), TLA_OUT_OF_BOUNDS);
    BOOST_CHECK_EQUAL(look(100, 100, asid(2)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(give(b, blocks, asid(1)).status, TLA_OK);
    BOOST_CHECK_EQUAL(look(100, 100, asid(1)), TLA_USE_AFTER_FREE);
}

BOOST_AUTO_TEST_CASE(a_followed_list_walks_for_every_block_and_fails_batches_that_could_need_too_many_nodes) {
    object_bench b;
    BOOST_REQUIRE_EQUAL(tla_pe_memory_follow(b.memory, TLA_HBM, 6, 0), TLA_OK);
    tla_list_in_memory *list = tla_pe_memory_traffic(b.memory, TLA_HBM);
    tla_list_in_memory_clear(list);
    const auto blocks = take(b, 8);
    std::size_t count = 0;
    tla_list_in_memory_accesses(list, &count);
    BOOST_CHECK_EQUAL(count, 16u); // read, and written, for each
    tla_list_in_memory_clear(list);
    take(b, 20000, 100, nobody, TLA_EXHAUSTED);
    tla_list_in_memory_accesses(list, &count);
    BOOST_CHECK_EQUAL(count, 1u); // a search in vain
    std::vector<tla_placed_block> none(2);
    BOOST_CHECK_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &hundred, 2, TLA_BATCH_CONTIGUOUS, nobody, none.data(), &b.work),
        TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(give(b, {blocks[0], blocks[2], blocks[4], blocks[5], blocks[7]}).status, TLA_LIMIT);
    BOOST_CHECK_EQUAL(b.used(), 800u);
    BOOST_CHECK_EQUAL(give(b, {blocks[0], blocks[2], blocks[4]}).freed, 3u);
    BOOST_CHECK_EQUAL(b.used(), 500u);
}

// Random batches against single calls on another store: with first fit a carved batch is n allocations.
static void check_batches(tla_stack_policy policy, unsigned operations) {
    object_bench b(object_memory(policy)), single(object_memory(policy));
    std::vector<tla_placed_block> live;
    seeded_random random(43);
    unsigned refused = 0;
    for (unsigned i = 0; i < operations; i++) {
        const std::size_t n = random.between(0, 12);
        if (live.size() < n || random.one_in(2)) {
            const tla_stack_request request{random.between(1, 4096), 0, TLA_FORMAT_UNDEFINED};
            std::vector<tla_placed_block> blocks(n);
            const tla_status status =
                tla_object_alloc_batch(b.store, TLA_HBM, &request, n, TLA_BATCH_CARVED, nobody, blocks.data(), nullptr);
            std::vector<std::uint64_t> singly(n);
            tla_status expected = TLA_OK;
            std::size_t taken = 0;
            while (taken < n && !(expected = single.take(TLA_HBM, request, nobody, singly[taken])))
                taken++;
            BOOST_REQUIRE_EQUAL(status == TLA_OK, expected == TLA_OK);
            for (std::size_t k = 0; k < n && !status; k++)
                BOOST_REQUIRE_EQUAL(blocks[k].pa.value, singly[k]);
            while (status && taken > 0)
                single.free(singly[--taken], request.nbytes);
            if (!status) live.insert(live.end(), blocks.begin(), blocks.end());
            refused += status != TLA_OK;
        } else {
            for (std::size_t k = 0; k < n; k++)
                std::swap(live[k], live[random.between(k, live.size() - 1)]);
            const std::vector<tla_placed_block> blocks(live.begin(), live.begin() + std::ptrdiff_t(n));
            live.erase(live.begin(), live.begin() + std::ptrdiff_t(n));
            const given_up done = give(b, blocks);
            BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
            BOOST_REQUIRE_EQUAL(done.freed, n);
            std::vector<tla_placed_block> sorted = blocks;
            std::sort(sorted.begin(), sorted.end(), [](auto x, auto y) { return x.pa.value < y.pa.value; });
            for (const tla_placed_block &block : sorted)
                BOOST_REQUIRE_EQUAL(single.free(block.pa.value, block.nbytes), TLA_OK);
        }
        BOOST_REQUIRE_EQUAL(b.used(), single.used());
        BOOST_REQUIRE_EQUAL(b.stats().references, live.size());
    }
    BOOST_CHECK_GT(refused, operations / 1000);
}

BOOST_AUTO_TEST_CASE(random_batches_are_single_calls_done_together) {
    check_batches(TLA_FIRST_FIT, 20000);
}
BOOST_AUTO_TEST_CASE(random_batches_over_slots_are_single_calls_done_together) {
    check_batches(tla_stack_policy_of(TLA_FRONT_SLOT_POOL, TLA_FIRST_FIT), 20000);
}
BOOST_AUTO_TEST_CASE(random_batches_over_a_caching_pool_are_single_calls_done_together) {
    check_batches(tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT), 20000);
}

// Where a policy carves a batch differently from single calls: its blocks are apart, and it is whole or not there.
BOOST_AUTO_TEST_CASE(random_batches_on_every_stack_are_whole_and_apart) {
    seeded_random random(44);
    for (const tla_stack_policy policy : stacks::all_policies())
        BOOST_TEST_CONTEXT(stacks::name_of(policy)) {
            tla_pe_memory_config config = object_memory(policy);
            config.of[TLA_HBM].front.segment = config.of[TLA_TCM].front.segment = 20 << 10;
            object_bench b(config);
            std::map<std::uint64_t, std::uint64_t> live; // granted bytes by address
            std::vector<tla_placed_block> all;
            for (unsigned i = 0; i < 1500; i++) {
                const std::size_t n = random.between(1, 12);
                const std::uint64_t used = b.used();
                if (all.size() < n || random.one_in(2)) {
                    const tla_stack_request request{random.between(1, 4096), 0, TLA_FORMAT_UNDEFINED};
                    std::vector<tla_placed_block> blocks(n);
                    const tla_status status = tla_object_alloc_batch(b.store, TLA_HBM, &request, n, TLA_BATCH_CARVED,
                                                                     nobody, blocks.data(), nullptr);
                    if (status) BOOST_REQUIRE_EQUAL(b.used(), used);
                    for (std::size_t k = 0; k < n && !status; k++) {
                        const tla_site at = b.site(blocks[k].pa.value);
                        const std::uint64_t granted =
                            tla_pe_memory_granted(b.memory, TLA_HBM, {at.offset, request.nbytes});
                        BOOST_REQUIRE_GE(granted, request.nbytes);
                        BOOST_REQUIRE_LE(at.offset + granted, 1u << 20);
                        const auto next = live.lower_bound(blocks[k].pa.value);
                        BOOST_REQUIRE(next == live.end() || blocks[k].pa.value + granted <= next->first);
                        if (next != live.begin())
                            BOOST_REQUIRE_LE(std::prev(next)->first + std::prev(next)->second, blocks[k].pa.value);
                        live[blocks[k].pa.value] = granted;
                        all.push_back(blocks[k]);
                    }
                } else {
                    for (std::size_t k = 0; k < n; k++)
                        std::swap(all[k], all[random.between(k, all.size() - 1)]);
                    const std::vector<tla_placed_block> blocks(all.begin(), all.begin() + std::ptrdiff_t(n));
                    all.erase(all.begin(), all.begin() + std::ptrdiff_t(n));
                    BOOST_REQUIRE_EQUAL(give(b, blocks).status, TLA_OK);
                    for (const tla_placed_block &block : blocks)
                        live.erase(block.pa.value);
                }
                std::uint64_t sum = 0;
                for (const auto &[pa, granted] : live)
                    sum += granted;
                BOOST_REQUIRE_EQUAL(b.used(), sum);
            }
        }
}

BOOST_AUTO_TEST_CASE(an_observer_of_a_memory_sees_the_blocks_of_its_batches) {
    object_bench b;
    std::vector<tla_stack_deed> deeds;
    tla_stack_set_watch(
        tla_pe_memory_stack(b.memory, TLA_HBM),
        [](void *list, const tla_stack_deed *deed) {
            static_cast<std::vector<tla_stack_deed> *>(list)->push_back(*deed);
        },
        &deeds);
    const auto blocks = take(b, 3);
    take(b, 20000, 100, nobody, TLA_EXHAUSTED);
    give(b, blocks);
    BOOST_REQUIRE_EQUAL(deeds.size(), 3u + 1 + 3);
    BOOST_CHECK_EQUAL(deeds[2].block.offset, 200u);
    BOOST_CHECK_EQUAL(deeds[3].status, TLA_EXHAUSTED);
    BOOST_CHECK(deeds[4].is_free);
    BOOST_CHECK_EQUAL(deeds[6].block.offset, 200u);
    const tla_stack_request unknown{100, 0, TLA_FORMAT_BINARY};
    std::vector<tla_placed_block> none(2);
    BOOST_CHECK_EQUAL(
        tla_object_alloc_batch(b.store, TLA_HBM, &unknown, 2, TLA_BATCH_CARVED, nobody, none.data(), &b.work),
        TLA_INVALID_ARGUMENT);
}
