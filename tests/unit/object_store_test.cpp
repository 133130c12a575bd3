// References and pins of blocks, who may give them up, and what that leaves: rules, and a naive model beside it.
#include "object_model.hpp"

#include <algorithm>
#include <iterator>

BOOST_AUTO_TEST_CASE(a_block_goes_with_its_last_reference) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000);
    BOOST_CHECK_EQUAL(b.ref(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.references, 2u);
    BOOST_CHECK_EQUAL(b.counts.nbytes, 1000u);
    BOOST_CHECK_EQUAL(b.free(pa, 1000), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.references, 1u);
    BOOST_CHECK_EQUAL(b.used(), 1000u);
    BOOST_CHECK(b.gone.empty());
    BOOST_CHECK_EQUAL(b.unref(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.references, 0u);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_REQUIRE_EQUAL(b.gone.size(), 1u);
    BOOST_CHECK_EQUAL(b.gone[0].pa, pa);
    BOOST_CHECK_EQUAL(b.gone[0].granted, 1000u);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_never_counted_is_freed_as_without_a_store) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000, asid(1)), work = b.work.metadata_lines;
    BOOST_CHECK_EQUAL(b.free(pa, 400, asid(2)), TLA_OK); // trusted: a part, by anybody
    BOOST_CHECK_EQUAL(b.free(pa + 400, 600), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.work.metadata_lines, work);
    BOOST_CHECK_EQUAL(b.free(pa, 1000), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.ref(pa), TLA_NOT_ALLOCATED); // the part took the block with it
    BOOST_CHECK_EQUAL(b.stats().references, 0u);
}

BOOST_AUTO_TEST_CASE(a_trusted_free_of_several_blocks_ends_them_all_but_not_a_counted_one) {
    object_bench b;
    const std::uint64_t first = b.alloc(100), second = b.alloc(100), third = b.alloc(100);
    BOOST_CHECK_EQUAL(b.ref(third), TLA_OK);
    BOOST_CHECK_EQUAL(b.free(first, 300), TLA_OVERLAP);
    BOOST_CHECK_NE(b.why().find("another block in this range has references"), std::string::npos);
    BOOST_CHECK_EQUAL(b.free(first + 250, 10), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(b.used(), 300u);
    BOOST_CHECK_EQUAL(b.free(first, 200), TLA_OK);
    BOOST_CHECK_EQUAL(b.ref(second), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.stats().references, 2u);
}

BOOST_AUTO_TEST_CASE(a_pin_keeps_a_block_whose_references_are_gone) { // LMCache's rule
    object_bench b;
    const std::uint64_t pa = b.alloc(4096);
    BOOST_CHECK_EQUAL(b.pin(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.pin(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.pins, 2u);
    BOOST_CHECK_EQUAL(b.free(pa, 4096), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.references, 0u);
    BOOST_CHECK_EQUAL(b.used(), 4096u);
    BOOST_CHECK_EQUAL(b.free(pa, 4096), TLA_NOT_ALLOCATED); // a double free, and still pinned
    BOOST_CHECK_NE(b.why().find("the block has no reference"), std::string::npos);
    BOOST_CHECK_EQUAL(b.unpin(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.pins, 1u);
    BOOST_CHECK_EQUAL(b.used(), 4096u);
    BOOST_CHECK_EQUAL(b.ref(pa), TLA_OK); // it lives
    BOOST_CHECK_EQUAL(b.unref(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.unpin(pa), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 0u);
    BOOST_CHECK_EQUAL(b.unpin(pa), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_dead_or_unknown_block_has_no_counts) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000);
    BOOST_CHECK_EQUAL(b.unpin(pa), TLA_NOT_ALLOCATED); // below zero
    BOOST_CHECK_NE(b.why().find("the block has no pin"), std::string::npos);
    BOOST_CHECK_EQUAL(b.ref(pa + 1), TLA_NOT_ALLOCATED); // inside a block
    BOOST_CHECK_NE(b.why().find("no block begins at this address"), std::string::npos);
    BOOST_CHECK_EQUAL(b.ref(UINT64_MAX), TLA_OUT_OF_RANGE);
    BOOST_CHECK_NE(b.why().find("outside the controller's memories"), std::string::npos);
    BOOST_CHECK_EQUAL(b.unref(pa), TLA_OK);
    for (tla_status status : {b.ref(pa), b.unref(pa), b.pin(pa), b.unpin(pa)})
        BOOST_CHECK_EQUAL(status, TLA_NOT_ALLOCATED);
    tla_object_counts counts{};
    BOOST_CHECK_EQUAL(tla_object_look(b.store, b.site(pa), &counts), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(only_a_holder_may_release_a_reference) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000, asid(1));
    BOOST_CHECK_EQUAL(b.unref(pa, asid(2)), TLA_NOT_OWNER);
    BOOST_CHECK_NE(b.why().find("by asid 2: the address space holds no reference"), std::string::npos);
    BOOST_CHECK_EQUAL(b.ref(pa, asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(pa, asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(pa, asid(1)), TLA_NOT_OWNER); // the one that is left is the other's
    BOOST_CHECK_EQUAL(b.free(pa, 1000, asid(1)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(b.pin(pa, asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.unpin(pa, asid(1)), TLA_NOT_OWNER);
    BOOST_CHECK_NE(b.why().find("by asid 1: the address space holds no pin"), std::string::npos);
    BOOST_CHECK_EQUAL(b.unref(pa, asid(2, 99)), TLA_OK); // another initiator of the same context
    BOOST_CHECK_EQUAL(b.unpin(pa, asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 0u);
}

BOOST_AUTO_TEST_CASE(unknown_and_trusted_callers_release_their_own_reference_then_an_unowned_one_then_the_first) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000, asid(1)), host = asid(3) | TLA_WHO_TRUSTED;
    for (std::uint64_t who : {asid(2), nobody, host})
        BOOST_REQUIRE_EQUAL(b.ref(pa, who), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(pa, host), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(pa, asid(3)), TLA_OK); // nobody said whose this is
    BOOST_CHECK_EQUAL(b.unref(pa, asid(3)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(b.unref(pa, nobody), TLA_OK); // of context 1, which came first
    BOOST_CHECK_EQUAL(b.unref(pa, asid(1)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(b.unref(pa, host), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 0u);
}

BOOST_AUTO_TEST_CASE(a_free_of_a_counted_block_must_say_its_size) {
    object_bench b;
    const std::uint64_t pa = b.alloc(1000);
    b.ref(pa);
    BOOST_CHECK_EQUAL(b.free(pa, 999), TLA_SIZE_MISMATCH);
    BOOST_CHECK_NE(b.why().find("FREE of 999 bytes"), std::string::npos);
    BOOST_CHECK_EQUAL(b.free(pa, 0), TLA_SIZE_MISMATCH);
    tla_pe_memory_config aligned = object_memory();
    aligned.alignment = 256;
    object_bench a(aligned);
    const std::uint64_t rounded = a.alloc(1000);
    a.ref(rounded);
    BOOST_CHECK_EQUAL(a.free(rounded, 1024), TLA_OK); // as granted, as ever without a front
    BOOST_CHECK_EQUAL(a.free(rounded, 1000), TLA_OK);
    BOOST_CHECK_EQUAL(a.gone.at(0).granted, 1024u);
}

BOOST_AUTO_TEST_CASE(pins_time_out_after_their_last_picosecond) {
    object_bench b;
    const std::uint64_t held = b.alloc(100, asid(1)), orphan = b.alloc(100, asid(1));
    b.now = 50;
    b.pin(held, asid(1), 100);
    b.pin(orphan, asid(2), 30);
    b.free(orphan, 100, asid(1));
    std::uint64_t until = 0;
    BOOST_REQUIRE(tla_object_store_next_timeout(b.store, &until));
    BOOST_CHECK_EQUAL(until, 80u);
    b.now = 80;
    BOOST_CHECK_EQUAL(b.end_pins(), TLA_NOT_FOUND);
    b.now = 500;
    BOOST_CHECK_EQUAL(b.end_pins(), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.at.pa.value, orphan);
    BOOST_CHECK_EQUAL(b.gone.size(), 1u);
    BOOST_CHECK_EQUAL(b.end_pins(), TLA_OK);
    BOOST_CHECK_EQUAL(b.counts.references, 1u);
    BOOST_CHECK_EQUAL(b.unpin(held, asid(1)), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.stats().timeouts, 2u);
    BOOST_CHECK_EQUAL(b.stats().pins, 0u);
    BOOST_CHECK(!tla_object_store_next_timeout(b.store, &until));
}

BOOST_AUTO_TEST_CASE(on_guarded_memory_those_who_hold_a_block_may_access_it) {
    tla_pe_memory_config config = object_memory();
    config.guarded = true;
    config.guard_history = 8;
    object_bench b(config);
    const auto look = [&](std::uint64_t who) {
        const tla_guard_access access{true, 10, 1, 1, nullptr, 0, who, 0, 0, 0};
        return tla_pe_memory_look(b.memory, TLA_HBM, &access, nullptr);
    };
    const std::uint64_t pa = b.alloc(1000, asid(1));
    BOOST_CHECK_EQUAL(look(asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(look(asid(2)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(b.free(pa, 1000, asid(2)), TLA_NOT_OWNER);
    b.ref(pa, asid(2));
    BOOST_CHECK_EQUAL(look(asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.free(pa, 1000, asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(look(asid(1)), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(b.unref(pa, asid(2)), TLA_OK); // though context 1 has allocated it
    BOOST_CHECK_EQUAL(look(asid(2)), TLA_USE_AFTER_FREE);
}

// ---- a naive model: every reference and pin a line of its own ----

BOOST_AUTO_TEST_CASE(a_naive_model_agrees_on_1e5_random_operations) {
    check_against_model<object_bench>(object_memory(), 100000);
}

BOOST_AUTO_TEST_CASE(a_naive_model_agrees_over_a_guarded_front) {
    tla_pe_memory_config config = object_memory(tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_BEST_FIT));
    config.guarded = true;
    config.guard_history = 16;
    check_against_model<object_bench>(config, 20000);
}
