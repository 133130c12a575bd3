// The front that grows with time: at any time it is the lazy arena of its configuration.
#include "seeded_random.hpp"
#include "stacks.hpp"

#include "tlmalloc/cache/buffer_pools.h"

using namespace stacks;

namespace {

tla_stack_config growing(tla_policy placement) {
    tla_stack_config config = config_of(tla_stack_policy_of(TLA_FRONT_LAZY, placement), 8 * MiB);
    config.sizes.initial = MiB;
    config.sizes.chunk = MiB / 4;
    config.sizes.commit = MiB;
    config.sizes.chunk_ps = 1000;
    return config;
}

tla_status alloc(tla_stack *stack, std::uint64_t nbytes, tla_block *granted, tla_work *work = nullptr) {
    const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
    return tla_stack_alloc(stack, &request, granted, work);
}

} // namespace

BOOST_AUTO_TEST_CASE(memory_arrives_after_it_is_pinned_and_admitted) {
    const stack_pointer stack = make(growing(TLA_FIRST_FIT));
    tla_block block{};
    std::uint64_t when = 0;
    BOOST_REQUIRE(tla_stack_next_growth(stack.get(), &when));
    BOOST_CHECK_EQUAL(when, 4000u); // a commit of four chunks
    BOOST_CHECK_EQUAL(alloc(stack.get(), 2 * MiB, &block), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_stack_advance(stack.get(), when - 1, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(alloc(stack.get(), 2 * MiB, &block), TLA_EXHAUSTED);
    tla_error error{};
    const tla_stack_request request{2 * MiB, 0, TLA_FORMAT_UNDEFINED};
    BOOST_CHECK_EQUAL(tla_stack_explain(stack.get(), "HBM", &request, &error), TLA_EXHAUSTED);
    BOOST_CHECK_NE(std::string(error.text).find("1048576 bytes of 8388608 are committed, the next at 4000 ps"),
                   std::string::npos);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(stack.get()).memory.capacity, MiB);
    BOOST_CHECK_EQUAL(tla_stack_advance(stack.get(), when, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(stack.get()).memory.capacity, 2 * MiB);
    BOOST_CHECK_EQUAL(alloc(stack.get(), 2 * MiB, &block), TLA_OK);
    BOOST_CHECK_EQUAL(tla_stack_advance(stack.get(), 0, nullptr), TLA_OK); // never back
    BOOST_CHECK_EQUAL(tla_stack_advance(stack.get(), ~std::uint64_t{0}, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(stack.get()).memory.capacity, 8 * MiB);
    BOOST_CHECK(!tla_stack_next_growth(stack.get(), &when));
    BOOST_CHECK_EQUAL(when, 4000u);
}

BOOST_AUTO_TEST_CASE(other_fronts_never_grow) {
    for (const tla_stack_policy policy : all_policies()) {
        const stack_pointer stack = make(config_of(policy, 8 * MiB)); // lazy: without a time
        std::uint64_t when = 77;
        BOOST_CHECK(!tla_stack_next_growth(stack.get(), &when));
        tla_work work{};
        BOOST_CHECK_EQUAL(tla_stack_advance(stack.get(), 1000000, &work), TLA_OK);
        BOOST_CHECK_EQUAL(work.merges + work.nodes_visited + work.splits, 0u);
        BOOST_CHECK_EQUAL(when, 77u);
        BOOST_CHECK_EQUAL(tla_stack_get_stats(stack.get()).memory.capacity, 8 * MiB);
    }
}

BOOST_AUTO_TEST_CASE(at_random_times_it_is_the_lazy_arena_of_its_configuration) {
    for (int placement = 0; placement < TLA_POLICY_COUNT; placement++)
        BOOST_TEST_CONTEXT(tla_policy_name(static_cast<tla_policy>(placement))) {
            const tla_stack_config config = growing(static_cast<tla_policy>(placement));
            const stack_pointer stack = make(config);
            tla_lazy_arena *lazy = nullptr;
            const tla_lazy_arena_config plain{
                0, MiB, 8 * MiB, MiB / 4, MiB, 1000, 0, 1, static_cast<tla_policy>(placement)};
            BOOST_REQUIRE_EQUAL(tla_lazy_arena_create(&plain, &lazy), TLA_OK);
            seeded_random random(67 + static_cast<unsigned>(placement));
            std::vector<tla_block> live;
            std::uint64_t now = 0, refused = 0;
            for (int i = 0; i < 20000; i++) {
                now += random.between(0, 3);
                tla_work work{}, expected_work{};
                BOOST_REQUIRE_EQUAL(tla_stack_advance(stack.get(), now, &work),
                                    tla_lazy_arena_advance(lazy, now, &expected_work));
                if (!live.empty() && random.one_in(2)) {
                    std::swap(live[random.between(0, live.size() - 1)], live.back());
                    BOOST_REQUIRE_EQUAL(tla_stack_free(stack.get(), live.back(), &work), TLA_OK);
                    BOOST_REQUIRE_EQUAL(tla_lazy_arena_free(lazy, now, live.back(), &expected_work), TLA_OK);
                    live.pop_back();
                } else {
                    const std::uint64_t nbytes = random.between(1, std::uint64_t{1} << random.between(1, 20));
                    tla_block granted{}, expected{};
                    const tla_status status = tla_lazy_arena_alloc(lazy, now, nbytes, &expected, &expected_work);
                    BOOST_REQUIRE_EQUAL(alloc(stack.get(), nbytes, &granted, &work), status);
                    BOOST_REQUIRE_EQUAL(granted.offset, expected.offset);
                    refused += status != TLA_OK;
                    if (!status) live.push_back({granted.offset, nbytes});
                }
                BOOST_REQUIRE_EQUAL(work.nodes_visited, expected_work.nodes_visited);
                BOOST_REQUIRE_EQUAL(work.merges, expected_work.merges);
                BOOST_REQUIRE_EQUAL(work.splits, expected_work.splits);
                BOOST_REQUIRE_EQUAL(tla_stack_get_stats(stack.get()).memory.largest_free,
                                    tla_lazy_arena_get_stats(lazy).largest_free);
            }
            BOOST_CHECK_GT(refused, 0u);
            BOOST_CHECK_EQUAL(tla_stack_get_stats(stack.get()).memory.capacity, 8 * MiB);
            tla_lazy_arena_destroy(lazy);
        }
}
