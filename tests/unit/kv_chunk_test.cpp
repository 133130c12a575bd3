// Chunk sizes and budgets: the examples of LMCache's documentation.
#include "tlmalloc/kv/kv_cache.h"

#include <boost/test/unit_test.hpp>

namespace {

constexpr std::uint64_t GiB = std::uint64_t{1} << 30;

std::uint64_t chunk_bytes(const tla_kv_shape &shape, bool layerwise) {
    std::uint64_t nbytes = 0;
    BOOST_REQUIRE_EQUAL(tla_kv_chunk_bytes(&shape, layerwise, &nbytes), TLA_OK);
    return nbytes;
}

std::uint64_t budget(std::uint64_t nbytes) {
    std::uint64_t chunks = 0;
    BOOST_REQUIRE_EQUAL(tla_kv_chunk_budget(5 * GiB, nbytes, 4096, &chunks), TLA_OK);
    return chunks;
}

} // namespace

BOOST_AUTO_TEST_CASE(thirty_two_layers_of_8_heads_of_128_in_bf16) {
    tla_kv_shape shape{32, 2, 256, 8, 128, 2};
    BOOST_CHECK_EQUAL(chunk_bytes(shape, false), 33554432u);
    BOOST_CHECK_EQUAL(chunk_bytes(shape, true), 1048576u);
    BOOST_CHECK_EQUAL(budget(chunk_bytes(shape, false)), 160u);
    BOOST_CHECK_EQUAL(budget(chunk_bytes(shape, true)), 5120u);
}

BOOST_AUTO_TEST_CASE(eighty_layers_of_one_head_a_rank) {
    tla_kv_shape shape{80, 2, 256, 1, 128, 2};
    BOOST_CHECK_EQUAL(chunk_bytes(shape, false), 10485760u);
    BOOST_CHECK_EQUAL(budget(chunk_bytes(shape, false)), 512u);
}

BOOST_AUTO_TEST_CASE(joint_keys_and_values_of_61_layers) { // MLA
    tla_kv_shape shape{61, 1, 256, 1, 576, 2};
    BOOST_CHECK_EQUAL(chunk_bytes(shape, false), 17989632u);
    BOOST_CHECK_EQUAL(budget(chunk_bytes(shape, false)), 298u);
}

BOOST_AUTO_TEST_CASE(a_chunk_is_rounded_up_to_the_alignment_and_there_is_no_margin) {
    std::uint64_t chunks = 0;
    BOOST_REQUIRE_EQUAL(tla_kv_chunk_budget(8192, 1, 4096, &chunks), TLA_OK);
    BOOST_CHECK_EQUAL(chunks, 2u);
    BOOST_REQUIRE_EQUAL(tla_kv_chunk_budget(8192, 4097, 4096, &chunks), TLA_OK);
    BOOST_CHECK_EQUAL(chunks, 1u);
    BOOST_REQUIRE_EQUAL(tla_kv_chunk_budget(8191, 4097, 4096, &chunks), TLA_OK);
    BOOST_CHECK_EQUAL(chunks, 0u);
}

BOOST_AUTO_TEST_CASE(products_that_overflow_and_invalid_alignments_are_rejected) {
    std::uint64_t result = 7;
    tla_kv_shape huge{std::uint64_t{1} << 40, 2, std::uint64_t{1} << 40, 1, 1, 1}, zero{32, 2, 0, 8, 128, 2};
    BOOST_CHECK_EQUAL(tla_kv_chunk_bytes(&huge, false, &result), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_chunk_bytes(&zero, false, &result), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_chunk_budget(GiB, 4096, 3000, &result), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_chunk_budget(GiB, 0, 4096, &result), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_chunk_budget(GiB, 4096, 0, &result), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(result, 7u);
}

BOOST_AUTO_TEST_CASE(a_budget_is_taken_whole_or_not_at_all) {
    tla_kv_budget budget{8, 0};
    BOOST_CHECK_EQUAL(tla_kv_budget_take(&budget, 6), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_budget_take(&budget, 6), TLA_BUSY);
    BOOST_CHECK_EQUAL(tla_kv_budget_take(&budget, 9), TLA_LIMIT); // never
    BOOST_CHECK_EQUAL(tla_kv_budget_take(&budget, 2), TLA_OK);
    BOOST_CHECK_EQUAL(budget.taken, 8u);
    BOOST_CHECK_EQUAL(tla_kv_budget_give_back(&budget, 9), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_kv_budget_give_back(&budget, 8), TLA_OK);
    BOOST_CHECK_EQUAL(tla_kv_budget_take(&budget, UINT64_MAX), TLA_LIMIT);
}
