// What a stack tells its watcher: enough to do the same again, on every front.
#include "seeded_random.hpp"
#include "tlmalloc/stack/stack.h"

#include <memory>
#include <string>
#include <vector>

namespace {

using owner = std::unique_ptr<tla_stack, void (*)(tla_stack *)>;

owner make(const char *name) {
    tla_stack_config config{};
    config.capacity = 8 << 20;
    config.alignment = 64;
    config.sizes = {100 << 10, 64 << 10, 1 << 20};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_stack_policy_parse(name, &config.policy, &error) == TLA_OK, error.text);
    tla_stack *made = nullptr;
    BOOST_REQUIRE_MESSAGE(tla_stack_create(&config, &made, &error) == TLA_OK, name << ": " << error.text);
    return owner(made, tla_stack_destroy);
}

std::vector<tla_stack_deed> told;

void remember(void *context, const tla_stack_deed *deed) {
    BOOST_CHECK_EQUAL(*static_cast<int *>(context), 7);
    told.push_back(*deed);
}

} // namespace

BOOST_AUTO_TEST_CASE(the_watched_calls_of_a_stack_give_the_same_placements_when_repeated) {
    for (const char *name : {"first_fit", "best_fit", "buddy", "tlsf", "first_fit_top", "caching_pool", "segment_cache",
                             "growing_pool/best_fit", "slot_pool", "mixed"}) {
        const owner watched = make(name), again = make(name);
        seeded_random random(11);
        int context = 7;
        told.clear();
        tla_stack_set_watch(watched.get(), remember, &context);
        std::vector<tla_block> live;
        std::size_t done = 0;
        for (std::uint64_t i = 0; i < 4000; i++) {
            tla_stack_set_owner(watched.get(), {i, 3, 10 * i});
            if (random.one_in(2) || live.empty()) {
                const bool buffer = std::string(name) == "mixed" && random.one_in(4);
                const tla_stack_request request{random.between(1, 60000), random.between(0, 2),
                                                buffer ? TLA_FORMAT_BINARY_BUFFER : TLA_FORMAT_UNDEFINED};
                tla_block granted{};
                const tla_status status = tla_stack_alloc(watched.get(), &request, &granted, nullptr);
                if (!status) live.push_back({granted.offset, request.nbytes});
                BOOST_REQUIRE_EQUAL(told.size(), ++done);
                BOOST_CHECK_EQUAL(told.back().status, status);
                BOOST_CHECK_EQUAL(told.back().owner.time, 10 * i);
            } else {
                const std::size_t n = random.between(0, live.size() - 1);
                BOOST_REQUIRE_EQUAL(tla_stack_free(watched.get(), live[n], nullptr), TLA_OK);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(n));
                BOOST_REQUIRE_EQUAL(told.size(), ++done);
                BOOST_CHECK(told.back().is_free);
            }
        }
        for (const tla_stack_deed &deed : told) {
            tla_block granted{};
            if (deed.is_free) {
                BOOST_REQUIRE_EQUAL(tla_stack_free(again.get(), deed.block, nullptr), TLA_OK);
            } else {
                BOOST_REQUIRE_EQUAL(tla_stack_alloc(again.get(), &deed.request, &granted, nullptr), deed.status);
                BOOST_REQUIRE_MESSAGE(granted.offset == deed.block.offset && granted.nbytes == deed.block.nbytes, name);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(a_watch_omits_invalid_allocations_and_frees_of_blocks_that_are_not_live) {
    const owner stack = make("first_fit");
    int context = 7;
    told.clear();
    tla_stack_set_watch(stack.get(), remember, &context);
    tla_block granted{};
    tla_stack_request request{};
    BOOST_CHECK_EQUAL(tla_stack_alloc(stack.get(), &request, &granted, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_NE(tla_stack_free(stack.get(), {0, 64}, nullptr), TLA_OK);
    BOOST_CHECK(told.empty());
    request.nbytes = 16 << 20;
    BOOST_CHECK_EQUAL(tla_stack_alloc(stack.get(), &request, &granted, nullptr), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(told.size(), 1u);
    tla_stack_set_watch(stack.get(), nullptr, nullptr);
    request.nbytes = 64;
    BOOST_CHECK_EQUAL(tla_stack_alloc(stack.get(), &request, &granted, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(told.size(), 1u);
}
