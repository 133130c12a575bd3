// What tests of stacks share: all there are, with small sizes.
#ifndef TLMALLOC_TESTS_STACKS_HPP
#define TLMALLOC_TESTS_STACKS_HPP

#include "tlmalloc/stack/stack.h"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace stacks {

inline constexpr std::uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB;

inline std::string name_of(tla_stack_policy policy) {
    char text[64];
    tla_stack_policy_print(policy, text, sizeof text);
    return text;
}

inline std::vector<tla_stack_policy> all_policies() {
    std::vector<tla_stack_policy> result;
    for (int front = 0; front < TLA_FRONT_COUNT; front++)
        for (int placement = 0; placement < TLA_POLICY_COUNT; placement++) {
            const auto policy = tla_stack_policy_of(static_cast<tla_front>(front), static_cast<tla_policy>(placement));
            if (tla_stack_policy_exists(policy)) result.push_back(policy);
        }
    return result;
}

inline tla_stack_config config_of(tla_stack_policy policy, std::uint64_t capacity) {
    tla_stack_config config{};
    config.capacity = capacity;
    config.policy = policy;
    config.sizes.slot = 1 * MiB;
    config.sizes.buffers = capacity / 4;
    return config;
}

using stack_pointer = std::unique_ptr<tla_stack, void (*)(tla_stack *)>;

inline stack_pointer make(const tla_stack_config &config) {
    tla_stack *stack = nullptr;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_stack_create(&config, &stack, &error) == TLA_OK, name_of(config.policy)
                                                                                   << ": " << error.text);
    return {stack, tla_stack_destroy};
}

} // namespace stacks
#endif
