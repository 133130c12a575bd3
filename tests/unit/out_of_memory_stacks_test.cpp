// Stacks on a host without memory: a call that fails has done nothing that an owner of blocks can see, and can be made
// again.
#include "host_memory/owner.hpp"
#include "stacks.hpp"

#include "tlmalloc/arena/arena.h"

using namespace host_memory;
using namespace stacks;

namespace {

struct made_stack {
    made_stack(tla_stack_policy policy, bool validate) {
        tla_stack_config config = config_of(policy, 64 * MiB);
        config.validate = validate;
        BOOST_REQUIRE_EQUAL(tla_stack_create(&config, &stack.made, nullptr), TLA_OK);
    }
    tla_status alloc(std::uint64_t nbytes, tla_memory_format format = TLA_FORMAT_UNDEFINED) {
        tla_stack_request request{};
        request.nbytes = nbytes;
        request.format = format;
        tla_block granted{};
        const tla_status status = tla_stack_alloc(stack.made, &request, &granted, nullptr);
        if (!status) blocks.push_back({granted.offset, nbytes});
        return status;
    }
    tla_status free(std::size_t which) { return tla_stack_free(stack.made, blocks[which], nullptr); }
    // What owners see: what is used, and of a validated stack which blocks live, and whose they are.
    std::string look() const {
        std::string text = line(tla_stack_get_stats(stack.made).memory.used, blocks.size());
        const tla_arena *live = tla_stack_live(stack.made);
        for (std::size_t i = 0; live && i < blocks.size(); i++) {
            tla_block found{};
            tla_owner owner{};
            const bool lives = tla_arena_find(live, blocks[i].offset, &found, &owner) == TLA_OK;
            text += lives ? line(found.offset, found.nbytes, owner.tag) : "none\n";
        }
        return text;
    }
    owner<tla_stack, tla_stack_destroy> stack;
    std::vector<tla_block> blocks;
};

// A stack with holes, whose list grows with one more.
std::unique_ptr<made_stack> with_holes(tla_stack_policy policy, bool validate) {
    auto s = std::make_unique<made_stack>(policy, validate);
    for (unsigned i = 0; i < 64; i++) {
        tla_stack_set_owner(s->stack.made, {i, 0, 0});
        BOOST_REQUIRE_EQUAL(s->alloc(1000 + i, i % 5 ? TLA_FORMAT_UNDEFINED : TLA_FORMAT_BINARY_BUFFER), TLA_OK);
    }
    for (unsigned i = 0; i < 64; i += 3)
        BOOST_REQUIRE_EQUAL(s->free(i), TLA_OK);
    return s;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_stack_is_made_or_nothing_is) {
    for (const tla_stack_policy policy : all_policies())
        for (const bool validate : {false, true})
            check_creation<owner<tla_stack, tla_stack_destroy>>(name_of(policy), [&](tla_stack **made) {
                tla_stack_config config = config_of(policy, 64 * MiB);
                config.validate = validate;
                return tla_stack_create(&config, made, nullptr);
            });
}

BOOST_AUTO_TEST_CASE(a_request_is_served_or_nothing_is_taken) {
    for (const tla_stack_policy policy : all_policies())
        for (const bool validate : {false, true})
            for (const std::uint64_t nbytes : {600u, 1u << 20})
                exhaust(
                    name_of(policy), [&] { return with_holes(policy, validate); },
                    [&](made_stack &s) { return s.alloc(nbytes); }, [](made_stack &s) { return s.look(); });
}

BOOST_AUTO_TEST_CASE(a_block_is_given_back_or_lives_as_before) {
    for (const tla_stack_policy policy : all_policies())
        for (const bool validate : {false, true})
            exhaust(
                name_of(policy), [&] { return with_holes(policy, validate); }, [](made_stack &s) { return s.free(31); },
                [](made_stack &s) { return s.look(); });
}

BOOST_AUTO_TEST_CASE(a_trim_can_be_made_again) {
    for (const tla_stack_policy policy : all_policies())
        exhaust(
            name_of(policy), [&] { return with_holes(policy, false); },
            [](made_stack &s) { return tla_stack_trim(s.stack.made, nullptr, nullptr); },
            [](made_stack &s) { return s.look(); });
}

BOOST_AUTO_TEST_CASE(a_snapshot_is_taken_over_or_nothing_lives) {
    made_stack aged(TLA_FIRST_FIT, true);
    BOOST_REQUIRE_EQUAL(aged.alloc(1000), TLA_OK);
    char text[1000];
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(tla_stack_arena(aged.stack.made), text, sizeof text, &length), TLA_OK);
    for (const tla_stack_policy policy : {tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT),
                                          tla_stack_policy_of(TLA_FRONT_NONE, TLA_FIRST_FIT)})
        exhaust(
            name_of(policy), [&] { return std::make_unique<made_stack>(policy, false); },
            [&](made_stack &s) { return tla_stack_restore(s.stack.made, text, length, nullptr); },
            [](made_stack &s) { return s.look(); });
}
