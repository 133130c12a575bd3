// Stacks one call at a time: names, receipts, errors, what validation knows, snapshots, trimming.
#include "stacks.hpp"

#include "tlmalloc/arena/arena.h"

#include <map>

using namespace stacks;

// The names of all placements.
static std::string placements(const std::string &between) {
    std::string names;
    for (int i = 0; i < TLA_POLICY_COUNT; i++)
        names += (i ? between : "") + tla_policy_name(static_cast<tla_policy>(i));
    return names;
}

BOOST_AUTO_TEST_CASE(a_stack_is_named_by_a_front_a_placement_or_both) {
    BOOST_CHECK_EQUAL(all_policies().size(), 8u * TLA_POLICY_COUNT + 2);
    for (const tla_stack_policy policy : all_policies()) {
        tla_stack_policy read = ~0u;
        BOOST_REQUIRE_EQUAL(tla_stack_policy_parse(name_of(policy).c_str(), &read, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(read, policy);
    }
    BOOST_CHECK_EQUAL(name_of(TLA_TLSF), "tlsf");
    BOOST_CHECK_EQUAL(name_of(tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT)), "caching_pool");
    BOOST_CHECK_EQUAL(name_of(tla_stack_policy_of(TLA_FRONT_MIXED, TLA_BEST_FIT)), "mixed/best_fit");
    tla_stack_policy read = 0;
    BOOST_CHECK_EQUAL(tla_stack_policy_parse("caching_pool/first_fit", &read, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(name_of(read), "caching_pool");
    std::string names;
    for (std::uint64_t i = 0; tla_stack_name(i); i++)
        names += std::string(" ") + tla_stack_name(i);
    BOOST_CHECK_EQUAL(names, " " + placements(" ") +
                                 " caching_pool segment_cache growing_pool slot_pool mixed lazy segmented "
                                 "linear_regions interleaving_regions");
    BOOST_CHECK_EQUAL(name_of(TLA_POLICY_COUNT), "?");
    BOOST_CHECK_EQUAL(name_of(tla_stack_policy_of(TLA_FRONT_COUNT, TLA_FIRST_FIT)), "?");
    BOOST_CHECK_EQUAL(name_of(tla_stack_policy_of(TLA_FRONT_SLOT_POOL, TLA_BEST_FIT)), "?");
    char cut[8];
    BOOST_CHECK_EQUAL(tla_stack_policy_print(tla_stack_policy_of(TLA_FRONT_MIXED, TLA_TLSF), cut, sizeof cut), 10u);
    BOOST_CHECK_EQUAL(cut, "mixed/t");
}

BOOST_AUTO_TEST_CASE(an_unknown_stack_is_rejected_with_the_expected_names) {
    const std::map<std::string, std::string> texts{
        {"chaching_pool",
         "found \"chaching_pool\", expected " + placements(" or ") +
             ", slot_pool or segmented, or caching_pool or segment_cache or growing_pool or mixed or lazy "
             "or linear_regions or interleaving_regions, these alone or as FRONT/PLACEMENT, did you mean "
             "\"caching_pool\"?"},
        {"first_fit/best_fit", "found \"first_fit/best_fit\", expected before the / caching_pool or segment_cache or "
                               "growing_pool or mixed or lazy or linear_regions or interleaving_regions"},
        {"/best_fit", "found \"/best_fit\", expected before the / caching_pool or segment_cache or growing_pool or "
                      "mixed or lazy or linear_regions or interleaving_regions"},
        {"mixed/", "found \"mixed/\", expected after the / " + placements(" or ")},
        {"mixed/slot_pool", "found \"mixed/slot_pool\", expected after the / " + placements(" or ")},
        {"slot_pool/first_fit", "found \"slot_pool/first_fit\", expected slot_pool alone: this front has no placement"},
    };
    for (const auto &[text, expected] : texts) {
        tla_stack_policy policy = 77;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_stack_policy_parse(text.c_str(), &policy, &error), TLA_SYNTAX);
        BOOST_CHECK_EQUAL(error.text, expected);
        BOOST_CHECK_EQUAL(policy, 77u);
    }
    tla_stack_policy policy = 77;
    BOOST_CHECK_EQUAL(tla_stack_policy_parse("", &policy, nullptr), TLA_SYNTAX);
}

namespace {

// Receipts as a price list sees them.
void check_work(const tla_work &work, std::uint64_t class_lookups, std::uint64_t list_pops, std::uint64_t list_pushes,
                std::uint64_t slots, std::uint64_t driver_calls, std::uint64_t splits) {
    BOOST_CHECK_EQUAL(work.class_lookups, class_lookups);
    BOOST_CHECK_EQUAL(work.list_pops, list_pops);
    BOOST_CHECK_EQUAL(work.list_pushes, list_pushes);
    BOOST_CHECK_EQUAL(work.slots, slots);
    BOOST_CHECK_EQUAL(work.driver_calls, driver_calls);
    BOOST_CHECK_EQUAL(work.splits, splits);
}

tla_stack_policy over_first_fit(tla_front front) {
    return tla_stack_policy_of(front, TLA_FIRST_FIT);
}

struct one {
    explicit one(const tla_stack_config &config) : stack(make(config)) {}
    explicit one(tla_front front) : one(config_of(over_first_fit(front), 64 * MiB)) {}
    tla_block alloc(std::uint64_t nbytes, tla_memory_format format = TLA_FORMAT_UNDEFINED) {
        tla_block granted{};
        tla_stack_request request{};
        request.nbytes = nbytes;
        request.format = format;
        work = tla_work{};
        status = tla_stack_alloc(stack.get(), &request, &granted, &work);
        return granted;
    }
    tla_status free(std::uint64_t offset, std::uint64_t nbytes) {
        work = tla_work{};
        return tla_stack_free(stack.get(), {offset, nbytes}, &work);
    }
    stack_pointer stack;
    tla_work work{};
    tla_status status = TLA_OK;
};

} // namespace

BOOST_AUTO_TEST_CASE(each_front_tells_on_its_receipt_what_it_did) {
    one pool(TLA_FRONT_CACHING_POOL);
    tla_block block = pool.alloc(1000);
    check_work(pool.work, 1, 0, 0, 0, 1, 1); // a miss: the arena is asked and splits
    pool.free(block.offset, 1000);
    check_work(pool.work, 1, 0, 1, 0, 0, 0);
    pool.alloc(700);
    check_work(pool.work, 1, 1, 0, 0, 0, 0); // a hit

    one cache(TLA_FRONT_SEGMENT_CACHE);
    block = cache.alloc(1000);
    check_work(cache.work, 1, 0, 0, 0, 1, 2); // the arena's block, and the segment
    cache.alloc(1000);
    check_work(cache.work, 1, 0, 0, 0, 0, 1);

    one grown(TLA_FRONT_GROWING_POOL);
    grown.alloc(1000);
    check_work(grown.work, 0, 0, 0, 0, 1, 1); // as large as the request: nothing to split
    block = grown.alloc(1000);
    check_work(grown.work, 0, 0, 0, 0, 1, 1);

    one slot(TLA_FRONT_SLOT_POOL);
    block = slot.alloc(1000);
    check_work(slot.work, 0, 0, 0, 1, 0, 0);
    slot.free(block.offset, 1000);
    check_work(slot.work, 0, 0, 0, 1, 0, 0);
}

BOOST_AUTO_TEST_CASE(a_free_of_what_is_not_live_or_of_another_size_changes_nothing) {
    for (const bool validate : {false, true})
        for (const tla_stack_policy policy : all_policies()) {
            const tla_front front = tla_stack_front(policy);
            if ((front == TLA_FRONT_NONE || front >= TLA_FRONT_LAZY) && !validate) continue; // trusts (ADR-0048 D2)
            BOOST_TEST_CONTEXT(name_of(policy) << (validate ? ", validated" : "")) {
                tla_stack_config config = config_of(policy, 64 * MiB);
                config.validate = validate;
                one s(config);
                s.alloc(30000);
                const tla_block block = s.alloc(5000);
                const auto used = [&] { return tla_stack_get_stats(s.stack.get()).memory.used; };
                const std::uint64_t before = used();
                BOOST_CHECK_NE(s.free(block.offset, 2 * MiB), TLA_OK); // larger than it is
                if (validate || (front != TLA_FRONT_MIXED && front != TLA_FRONT_SLOT_POOL))
                    BOOST_CHECK_EQUAL(s.free(block.offset, 8200), TLA_SIZE_MISMATCH);
                BOOST_CHECK_NE(s.free(block.offset + 32 * MiB, 5000), TLA_OK);
                BOOST_CHECK_NE(s.free(128 * MiB, 5000), TLA_OK);
                BOOST_CHECK_EQUAL(s.free(block.offset, 0), TLA_INVALID_ARGUMENT);
                BOOST_CHECK_EQUAL(used(), before);
                BOOST_CHECK_EQUAL(s.free(block.offset, 5000), TLA_OK);
                BOOST_CHECK_EQUAL(s.free(block.offset, 5000), TLA_NOT_ALLOCATED); // a second time
                BOOST_CHECK_LT(used(), before);
            }
        }
}

BOOST_AUTO_TEST_CASE(validation_knows_blocks_as_they_were_asked_for_and_their_owners) {
    tla_stack_config config = config_of(over_first_fit(TLA_FRONT_CACHING_POOL), 64 * MiB);
    config.validate = true;
    one s(config);
    tla_stack_set_owner(s.stack.get(), {5, 6, 7});
    const tla_block block = s.alloc(1000); // 1024 in its class
    tla_block found{};
    tla_owner owner{};
    BOOST_REQUIRE(tla_stack_live(s.stack.get()) != nullptr);
    BOOST_CHECK_EQUAL(tla_arena_find(tla_stack_live(s.stack.get()), block.offset + 999, &found, &owner), TLA_OK);
    BOOST_CHECK_EQUAL(found.nbytes, 1000u);
    BOOST_CHECK_EQUAL(owner.tag, 5u);
    BOOST_CHECK_EQUAL(tla_arena_find(tla_stack_live(s.stack.get()), block.offset + 1000, &found, &owner),
                      TLA_NOT_ALLOCATED); // seed 004: what lies between nbytes and capacity belongs to nobody
    BOOST_CHECK_EQUAL(s.free(block.offset, 900), TLA_SIZE_MISMATCH);
    BOOST_CHECK_EQUAL(tla_stack_last_error(s.stack.get())->text,
                      "free of 900 bytes at 0 (tag 5, by 6 at time 7): wrong size for 1000 bytes at 0 (tag 5, "
                      "allocated by 6 at time 7)");
    BOOST_CHECK(tla_stack_live(one(TLA_FRONT_CACHING_POOL).stack.get()) == nullptr);
}

BOOST_AUTO_TEST_CASE(mixed_takes_plain_buffers_from_the_end_and_every_tensor_from_the_front) {
    one s(TLA_FRONT_MIXED); // 64 MiB, the last 16 are for buffers
    BOOST_CHECK_EQUAL(s.alloc(100, TLA_FORMAT_BINARY_BUFFER).offset, 48 * MiB);
    BOOST_CHECK_EQUAL(s.alloc(100).offset, 0u);
    BOOST_CHECK_EQUAL(s.alloc(100, TLA_FORMAT_KV_MLA).offset, 4096u);
    BOOST_CHECK_EQUAL(s.alloc(100, TLA_FORMAT_EC_TD).offset, 8192u);
    BOOST_CHECK_EQUAL(s.alloc(100, TLA_FORMAT_BINARY_BUFFER).offset, 48 * MiB + 100);
    s.alloc(17 * MiB, TLA_FORMAT_BINARY_BUFFER);
    BOOST_CHECK_EQUAL(s.status, TLA_EXHAUSTED); // though 48 MiB of tensors are free
    s.alloc(100, TLA_FORMAT_BINARY);
    BOOST_CHECK_EQUAL(s.status, TLA_INVALID_ARGUMENT);
    s.alloc(100, TLA_FORMAT_COUNT);
    BOOST_CHECK_EQUAL(s.status, TLA_INVALID_ARGUMENT);
    tla_stack_config config = config_of(over_first_fit(TLA_FRONT_MIXED), 64 * MiB);
    config.sizes.buffers = 0;
    one none(config);
    none.alloc(1, TLA_FORMAT_BINARY_BUFFER);
    BOOST_CHECK_EQUAL(none.status, TLA_EXHAUSTED);
}

BOOST_AUTO_TEST_CASE(a_request_larger_than_a_slot_is_exhausted_or_fragmented) {
    one s(TLA_FRONT_SLOT_POOL); // 64 slots of 1 MiB
    s.alloc(MiB + 1);
    BOOST_CHECK_EQUAL(s.status, TLA_FRAGMENTED);
    tla_error error{};
    tla_stack_request request{};
    request.nbytes = MiB + 1;
    BOOST_CHECK_EQUAL(tla_stack_explain(s.stack.get(), "HBM", &request, &error), TLA_FRAGMENTED);
    BOOST_CHECK_EQUAL(error.text, "HBM overflow: requested 1048577 bytes, a slot has 1048576; 64 slots free of 64");
    s.alloc(65 * MiB);
    BOOST_CHECK_EQUAL(s.status, TLA_EXHAUSTED);
    for (int i = 0; i < 64; i++)
        s.alloc(1);
    BOOST_CHECK_EQUAL(s.status, TLA_OK);
    s.alloc(1);
    BOOST_CHECK_EQUAL(s.status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.free_blocks, 0u);
}

BOOST_AUTO_TEST_CASE(sizes_that_a_front_does_not_support_are_rejected) {
    const auto refused = [](tla_stack_config config, const std::string &expected) {
        tla_stack *stack = nullptr;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_stack_create(&config, &stack, &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!stack);
        BOOST_CHECK_EQUAL(error.text, expected);
    };
    tla_stack_config config = config_of(over_first_fit(TLA_FRONT_SLOT_POOL), 10 * MiB);
    config.sizes.slot = 3 * MiB;
    refused(config, "slots of 3145728 bytes: must divide the 10485760 bytes of the memory");
    config.sizes.slot = 0;
    refused(config, "slots of 0 bytes: must divide the 10485760 bytes of the memory");
    config.capacity = 32 * MiB;
    config.sizes.slot = 1;
    refused(config, "33554432 slots of 1 bytes: must be at most 16777216 slots");
    config.capacity = 10 * MiB;
    config.sizes.slot = MiB;
    config.alignment = 2 * MiB;
    refused(config, "slots of 1048576 bytes: must be a multiple of the alignment, 2097152");
    config = config_of(over_first_fit(TLA_FRONT_MIXED), 10 * MiB);
    config.sizes.buffers = 10 * MiB;
    refused(config, "10485760 bytes for plain buffers: must be less than the 10485760 bytes of the memory");
    config.sizes.buffers = 1000;
    config.alignment = 512;
    refused(config, "plain buffers begin at byte 10484760 of the memory: must be a multiple of the alignment, 512");
    config = config_of(over_first_fit(TLA_FRONT_LAZY), 10 * MiB);
    config.sizes.chunk_ps = 1;
    config.alignment = 2 * MiB;
    config.sizes.chunk = MiB;
    refused(config, "chunks of 1048576 bytes: must be a multiple of the alignment, 2097152");
    config.alignment = 1;
    config.sizes.chunk = 0;
    refused(config, "chunks of 0 bytes: must be a multiple of the alignment, 1");
    config.sizes.chunk = 3 * MiB;
    refused(config, "chunks of 3145728 bytes: must divide the 10485760 bytes of the memory");
    config.sizes.chunk = MiB;
    config.sizes.initial = 11 * MiB;
    refused(
        config,
        "11534336 initial bytes: must be a multiple of a chunk, 1048576, and at most the 10485760 bytes of the memory");
    config.sizes.initial = 1;
    refused(config,
            "1 initial bytes: must be a multiple of a chunk, 1048576, and at most the 10485760 bytes of the memory");
    config.sizes.initial = 0;
    config.sizes.commit = 3 << 19;
    refused(config, "a commit of 1572864 bytes: must be a multiple of a chunk, 1048576");
    for (const tla_front front : {TLA_FRONT_SEGMENTED, TLA_FRONT_LINEAR_REGIONS, TLA_FRONT_INTERLEAVING_REGIONS}) {
        config = config_of(over_first_fit(front), 10 * MiB);
        config.alignment = 2 * MiB;
        config.sizes.segment = 3 * MiB;
        refused(config, "segments of 3145728 bytes: must be a multiple of the alignment, 2097152");
        config.alignment = 1;
        config.sizes.segment = 2560; // 4,096 of them, but a border may cut two more
        refused(config, "segments of 2560 bytes in a memory of 10485760: must be at most 4096 segments");
        config.sizes.segment = MiB;
        config.base = MiB;
        refused(config, "segments begin at 1048576: must begin at 0");
    }
    config = config_of(over_first_fit(TLA_FRONT_SEGMENTED), 10 * MiB);
    config.sizes.chunk_ps = 1;
    refused(config, "0 initial bytes: must be at least 1");
    config = config_of(over_first_fit(TLA_FRONT_SEGMENT_CACHE), 10 * MiB);
    config.sizes.segment = MiB;
    refused(config,
            "a segment of 1048576 bytes: must be a multiple of 10 KiB, so that 1/20 of it is a multiple of 512 bytes");
    config = config_of(TLA_FIRST_FIT, MiB);
    config.alignment = 3;
    refused(config, "alignment 3 must be a power of two");
    config = config_of(TLA_POLICY_COUNT, MiB);
    refused(config, "unknown policy " + std::to_string(TLA_POLICY_COUNT) + ": use a tla_stack_policy that exists");
    for (const tla_stack_policy policy : all_policies()) // a memory that is none has a stack, which serves nothing
        if (tla_stack_front(policy) != TLA_FRONT_SLOT_POOL) {
            one s(config_of(policy, 0));
            s.alloc(1);
            BOOST_CHECK_EQUAL(s.status, TLA_EXHAUSTED);
            BOOST_CHECK_NE(s.free(0, 1), TLA_OK);
        }
}

BOOST_AUTO_TEST_CASE(a_front_may_stand_over_a_list_that_a_snapshot_left) {
    one aged(TLA_FRONT_NONE);
    aged.alloc(1000);
    char text[1000];
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(tla_stack_arena(aged.stack.get()), text, sizeof text, &length), TLA_OK);
    one s(TLA_FRONT_CACHING_POOL);
    BOOST_REQUIRE_EQUAL(tla_stack_restore(s.stack.get(), text, length, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.used, 1000u);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).held, 0u);
    const tla_block block = s.alloc(600);
    BOOST_CHECK_EQUAL(block.offset, 1000u);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.used, 2024u);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_stack_restore(s.stack.get(), text, length, &error), TLA_BUSY);
    BOOST_CHECK_EQUAL(error.text,
                      "caching_pool has already allocated blocks: restore a snapshot before the first allocation");
    s.free(block.offset, 600);
    tla_stack_trim(s.stack.get(), nullptr, nullptr);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.used, 1000u);
    BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.free_blocks, 1u);
    for (int number = 0; number < TLA_FRONT_COUNT; number++) {
        const auto front = static_cast<tla_front>(number);
        if (!tla_front_has_own_lists(front)) continue;
        one none(front);
        BOOST_CHECK_EQUAL(tla_stack_restore(none.stack.get(), text, length, &error), TLA_UNSUPPORTED);
    }
    BOOST_CHECK_EQUAL(error.text, "interleaving_regions cannot restore the snapshot of a free list");
    for (const tla_front front : {TLA_FRONT_NONE, TLA_FRONT_CACHING_POOL, TLA_FRONT_COUNT})
        BOOST_CHECK(!tla_front_has_own_lists(front) && !tla_front_grows(front));
    BOOST_CHECK(tla_front_has_own_lists(TLA_FRONT_SLOT_POOL) && tla_front_has_own_lists(TLA_FRONT_LAZY));
}

BOOST_AUTO_TEST_CASE(trim_gives_back_what_is_wholly_free_and_keeps_what_lives) {
    for (const tla_front front : {TLA_FRONT_CACHING_POOL, TLA_FRONT_SEGMENT_CACHE, TLA_FRONT_GROWING_POOL}) {
        one s(front);
        const tla_block a = s.alloc(1000), b = s.alloc(3 * MiB);
        s.free(b.offset, 3 * MiB);
        std::uint64_t given_back = 0;
        BOOST_CHECK_EQUAL(tla_stack_trim(s.stack.get(), &given_back, nullptr), TLA_OK);
        BOOST_CHECK_GE(given_back, 3 * MiB);
        BOOST_CHECK_EQUAL(tla_stack_trim(s.stack.get(), &given_back, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(given_back, 0u);
        BOOST_CHECK_EQUAL(s.free(a.offset, 1000), TLA_OK);
        BOOST_CHECK_EQUAL(tla_stack_trim(s.stack.get(), nullptr, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.free_blocks, 1u);
        BOOST_CHECK_EQUAL(tla_stack_get_stats(s.stack.get()).memory.largest_free, 64 * MiB);
    }
}
