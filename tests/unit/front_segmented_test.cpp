// The front of segments: when they appear, what never fits, and regions behind a stack.
#include "seeded_random.hpp"
#include "stacks.hpp"

#include <algorithm>
#include <vector>

using namespace stacks;

namespace {

constexpr std::uint64_t s = 1000000000000, none = UINT64_MAX; // ps

// 2, 2 and 1 MiB from the beginning, and 2 and 1 MiB by attempts of 1.5 s each (LMCache's 5, 8 and 2 GiB).
tla_stack_config growing(std::uint64_t failures) {
    tla_stack_config config = config_of(tla_stack_policy_of(TLA_FRONT_SEGMENTED, TLA_FIRST_FIT), 8 * MiB);
    config.sizes.initial = 5 * MiB;
    config.sizes.segment = 2 * MiB;
    config.sizes.chunk_ps = 3 * s / 2;
    config.sizes.failures = failures;
    return config;
}

struct one {
    explicit one(const tla_stack_config &config) : stack(make(config)) {}
    // The offset of a block, or `none`.
    std::uint64_t alloc(std::uint64_t nbytes) {
        const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
        tla_block granted{};
        status = tla_stack_alloc(stack.get(), &request, &granted, &work);
        return status ? none : granted.offset;
    }
    void free(std::uint64_t offset, std::uint64_t nbytes) {
        BOOST_REQUIRE_EQUAL(tla_stack_free(stack.get(), {offset, nbytes}, nullptr), TLA_OK);
    }
    std::uint64_t next() const {
        std::uint64_t when = 0;
        return tla_stack_next_growth(stack.get(), &when) ? when : none;
    }
    std::uint64_t mib_at(std::uint64_t now_ps) {
        BOOST_REQUIRE_EQUAL(tla_stack_advance(stack.get(), now_ps, &work), TLA_OK);
        return tla_stack_get_stats(stack.get()).memory.capacity / MiB;
    }
    std::string why(std::uint64_t nbytes) const {
        const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_stack_explain(stack.get(), "HBM", &request, &error), status);
        BOOST_CHECK_EQUAL(error.requested, nbytes);
        return error.text;
    }
    stack_pointer stack;
    tla_status status = TLA_OK;
    tla_work work{};
};

} // namespace

BOOST_AUTO_TEST_CASE(segments_appear_one_after_the_other_at_the_ends_of_attempts) {
    one m(growing(0));
    BOOST_CHECK_EQUAL(m.mib_at(0), 5u);
    BOOST_CHECK_EQUAL(m.next(), 3 * s / 2);
    BOOST_CHECK_EQUAL(m.mib_at(m.next() - 1), 5u);
    BOOST_CHECK_EQUAL(m.work.nodes_created, 0u);
    BOOST_CHECK_EQUAL(m.mib_at(m.next()), 7u);
    BOOST_CHECK_EQUAL(m.work.nodes_created, 1u);
    BOOST_CHECK_EQUAL(m.next(), 3 * s);
    BOOST_CHECK_EQUAL(m.mib_at(100 * s), 8u);
    BOOST_CHECK_EQUAL(m.next(), none);
    BOOST_CHECK_EQUAL(m.mib_at(0), 8u); // never back
}

BOOST_AUTO_TEST_CASE(attempts_that_fail_are_repeated_after_10_and_60_seconds_and_the_third_ends_growth) {
    one first(growing(1)); // fails at 1.5; 13 for the first segment, 24.5 + 1.5 for the second
    BOOST_CHECK_EQUAL(first.next(), 3 * s / 2);
    BOOST_CHECK_EQUAL(first.mib_at(2 * s), 5u);
    BOOST_CHECK_EQUAL(first.next(), 13 * s);
    BOOST_CHECK_EQUAL(first.mib_at(13 * s), 7u);
    BOOST_CHECK_EQUAL(first.next(), 29 * s / 2);
    BOOST_CHECK_EQUAL(first.mib_at(26 * s - 1), 7u);
    BOOST_CHECK_EQUAL(first.mib_at(26 * s), 8u);
    one second(growing(2));
    BOOST_CHECK_EQUAL(second.mib_at(149 * s / 2 - 1), 5u);
    BOOST_CHECK_EQUAL(second.mib_at(149 * s / 2), 7u); // 1.5 + 10 + 1.5 + 60 + 1.5
    one third(growing(3));
    BOOST_CHECK_EQUAL(third.mib_at(149 * s / 2 - 1), 5u);
    BOOST_CHECK_EQUAL(third.next(), 149 * s / 2);
    BOOST_CHECK_EQUAL(third.mib_at(1000 * s), 5u);
    BOOST_CHECK_EQUAL(third.next(), none);
    BOOST_CHECK_EQUAL(third.work.nodes_created, 0u);
}

BOOST_AUTO_TEST_CASE(a_request_that_no_segment_will_hold_never_fits_and_another_is_refused_until_then) {
    one m(growing(3));
    m.alloc(2 * MiB + 1);
    BOOST_CHECK_EQUAL(m.status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(m.why(2 * MiB + 1),
                      "HBM overflow: requested 2097153 bytes, but no segment will ever have more than 2097152");
    BOOST_CHECK_EQUAL(m.alloc(2 * MiB), 0u);
    BOOST_CHECK_EQUAL(m.alloc(MiB + 1), 2 * MiB); // what is left of a segment, 1 MiB - 1, and the last one, 1 MiB
    m.alloc(2 * MiB);
    BOOST_CHECK_EQUAL(m.status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(m.why(2 * MiB), "HBM overflow: requested 2097152 bytes, 2097151 free of 5242880 in 3 ranges, "
                                      "largest free block 1048576 (2 blocks): exhausted; 3 segments of 5 are there, "
                                      "the next attempt ends at 1500000000000 ps");
    m.alloc(MiB + 1);
    BOOST_CHECK_EQUAL(m.status, TLA_FRAGMENTED);
    m.mib_at(1000 * s);
    BOOST_CHECK_EQUAL(m.why(MiB + 1), "HBM overflow: requested 1048577 bytes, 2097151 free of 5242880 in 3 ranges, "
                                      "largest free block 1048576 (2 blocks): fragmented; 3 segments of 5 are there, "
                                      "growth has ended");
}

BOOST_AUTO_TEST_CASE(no_block_crosses_a_border_of_segments_or_regions) {
    for (const tla_front front : {TLA_FRONT_SEGMENTED, TLA_FRONT_LINEAR_REGIONS, TLA_FRONT_INTERLEAVING_REGIONS}) {
        tla_stack_config config = config_of(tla_stack_policy_of(front, TLA_FIRST_FIT), 8 * MiB);
        config.sizes.segment = 2 * MiB;
        one m(config);
        BOOST_CHECK_EQUAL(tla_stack_get_stats(m.stack.get()).memory.free_blocks, 4u);
        for (std::uint64_t i = 0; i < 4; i++)
            BOOST_CHECK_EQUAL(m.alloc(3 * MiB / 2), i * 2 * MiB);
        m.alloc(MiB);
        BOOST_CHECK_EQUAL(m.status, TLA_FRAGMENTED);
        for (std::uint64_t i = 0; i < 4; i++)
            m.free(i * 2 * MiB, 3 * MiB / 2);
        m.alloc(3 * MiB);
        BOOST_CHECK_EQUAL(m.status, front == TLA_FRONT_SEGMENTED ? TLA_OUT_OF_RANGE : TLA_FRAGMENTED);
    }
}

BOOST_AUTO_TEST_CASE(interleaving_regions_fill_in_proportion_and_linear_ones_in_their_order) {
    tla_stack_config config = config_of(tla_stack_policy_of(TLA_FRONT_INTERLEAVING_REGIONS, TLA_BEST_FIT), 8 * MiB);
    config.sizes.initial = 6 * MiB;
    config.sizes.segment = 6 * MiB;
    one interleaving(config); // 6 and 2 MiB
    std::uint64_t in_the_second = 0;
    BOOST_CHECK_EQUAL(interleaving.alloc(KiB), 0u);
    BOOST_CHECK_EQUAL(interleaving.alloc(KiB), 6 * MiB);
    for (int i = 2; i < 400; i++)
        in_the_second += interleaving.alloc(KiB) >= 6 * MiB;
    BOOST_CHECK_EQUAL(in_the_second, 99u);
    BOOST_CHECK_EQUAL(interleaving.work.class_lookups, 400u);
    config.policy = tla_stack_policy_of(TLA_FRONT_LINEAR_REGIONS, TLA_BEST_FIT);
    one linear(config);
    BOOST_CHECK_EQUAL(linear.alloc(5 * MiB), 0u);
    BOOST_CHECK_EQUAL(linear.alloc(2 * MiB), 6 * MiB);
    BOOST_CHECK_EQUAL(linear.alloc(MiB), 5 * MiB);
    BOOST_CHECK_EQUAL(linear.work.class_lookups, 4u);
    linear.alloc(KiB);
    BOOST_CHECK_EQUAL(linear.why(KiB), "HBM overflow: requested 1024 bytes, 0 free of 8388608 in 2 ranges, largest "
                                       "free block 0 (0 blocks): exhausted");
}

// Byte by byte. Regions of 64, 64 and 22 bytes, 13 of 64 and one of 18.
BOOST_AUTO_TEST_CASE(regions_report_the_free_bytes_between_their_borders_after_every_operation) {
    seeded_random random(395);
    for (const tla_front front : {TLA_FRONT_LINEAR_REGIONS, TLA_FRONT_INTERLEAVING_REGIONS}) {
        tla_stack_config config = config_of(tla_stack_policy_of(front, TLA_FIRST_FIT), 1000);
        config.sizes.segment = 64;
        config.sizes.initial = 150;
        one m(config);
        std::vector<bool> used(config.capacity), border(config.capacity);
        for (std::uint64_t at = 0; at < config.capacity; at++)
            border[at] = (at < 150 ? at : at - 150) % 64 == 0;
        std::vector<tla_block> live;
        unsigned full = 0;
        for (unsigned step = 0; step < 3000; step++) {
            tla_block block{};
            if (!live.empty() && random.one_in(step < 1500 ? 4 : 2)) {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                block = live.back();
                live.pop_back();
                m.free(block.offset, block.nbytes);
            } else {
                block.nbytes = random.between(1, 40);
                block.offset = m.alloc(block.nbytes);
                full += m.status != TLA_OK;
                if (m.status) continue;
                live.push_back(block);
            }
            for (std::uint64_t at = block.offset; at < block.offset + block.nbytes; at++) {
                used[at] = !used[at];
                BOOST_REQUIRE(at == block.offset || !border[at]);
            }
            std::uint64_t free = 0, blocks = 0, run = 0, largest = 0;
            for (std::uint64_t at = 0; at < config.capacity; at++) {
                if (border[at]) run = 0;
                run = used[at] ? 0 : run + 1;
                free += run > 0;
                blocks += run == 1;
                largest = std::max(largest, run);
            }
            const tla_arena_stats stats = tla_stack_get_stats(m.stack.get()).memory;
            BOOST_REQUIRE_EQUAL(stats.capacity, config.capacity);
            BOOST_REQUIRE_EQUAL(stats.used, config.capacity - free);
            BOOST_REQUIRE_EQUAL(stats.free, free);
            BOOST_REQUIRE_EQUAL(stats.free_blocks, blocks);
            BOOST_REQUIRE_EQUAL(stats.largest_free, largest);
        }
        BOOST_CHECK_GT(full, 50u);
    }
}

BOOST_AUTO_TEST_CASE(a_border_is_rounded_up_to_the_alignment_and_may_lie_at_the_end) {
    tla_stack_config config = config_of(tla_stack_policy_of(TLA_FRONT_LINEAR_REGIONS, TLA_FIRST_FIT), 8 * MiB);
    config.alignment = 4 * KiB;
    config.sizes.segment = 8 * MiB;
    config.sizes.initial = 4 * MiB + 1;
    one m(config);
    BOOST_CHECK_EQUAL(m.alloc(4 * MiB + 4 * KiB), 0u);
    for (const std::uint64_t whole : {8 * MiB - 1, 9 * MiB}) {
        config.sizes.initial = whole;
        BOOST_CHECK_EQUAL(one(config).alloc(8 * MiB), 0u);
    }
}
