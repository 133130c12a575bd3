// Handles of tensors: shapes, strides, slices, and what is refused.
#include "tlmalloc/kernel/tensor.h"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace {

std::string said;

const tl_context &context() {
    static const tl_calls calls = [] {
        tl_calls made{};
        made.fail = [](tl_context *, tla_status status, const char *why) {
            said = why;
            return status;
        };
        return made;
    }();
    static const tl_context made{&calls};
    return made;
}

tl_context *tl = const_cast<tl_context *>(&context());

uint64_t address_of(const tl_tensor &tensor, const std::vector<uint64_t> &index) {
    uint64_t at = tensor.va.value;
    for (size_t dim = 0; dim < index.size(); dim++)
        at += index[dim] * tensor.stride[dim];
    return at;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_handle_of_a_matrix_has_its_rows_a_pitch_apart) {
    const tl_tensor touching = tl_ref({1000}, 3, 5, TL_F16, 0), apart = tl_ref({1000}, 3, 5, TL_F64, 64);
    BOOST_CHECK_EQUAL(touching.rank, 2u);
    BOOST_CHECK_EQUAL(address_of(touching, {2, 4}), 1000u + 2 * 10 + 8);
    BOOST_CHECK_EQUAL(address_of(apart, {2, 4}), 1000u + 2 * 64 + 32);
    BOOST_CHECK_EQUAL(apart.shape[0], 3u);
    BOOST_CHECK_EQUAL(apart.shape[1], 5u);
    BOOST_CHECK_EQUAL(apart.dtype, TL_F64);
}

BOOST_AUTO_TEST_CASE(a_handle_of_any_rank_is_packed_or_has_the_strides_that_it_is_given) {
    const uint32_t shape[] = {2, 3, 4, 5};
    const uint64_t stride[] = {7, 1000, 0, UINT64_MAX - 3}; // the last leads backwards by 4
    tl_tensor tensor{};
    for (uint32_t rank = 1; rank <= 4; rank++) {
        BOOST_REQUIRE_EQUAL(tl_ref_strided(tl, {64}, rank, shape, nullptr, TL_F32, &tensor), TLA_OK);
        BOOST_CHECK_EQUAL(tensor.rank, rank);
        BOOST_CHECK_EQUAL(tensor.stride[rank - 1], 4u);
        for (uint32_t dim = 0; dim + 1 < rank; dim++)
            BOOST_CHECK_EQUAL(tensor.stride[dim], tensor.stride[dim + 1] * shape[dim + 1]);
    }
    BOOST_REQUIRE_EQUAL(tl_ref_strided(tl, {64}, 4, shape, stride, TL_F32, &tensor), TLA_OK);
    BOOST_CHECK_EQUAL(address_of(tensor, {1, 2, 3, 4}), 64u + 7 + 2000 - 16);
    for (uint32_t rank : {0u, 5u, UINT32_MAX}) {
        BOOST_CHECK_EQUAL(tl_ref_strided(tl, {0}, rank, shape, stride, TL_F32, &tensor), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tensor.va.value, 64u); // as it was
    }
    BOOST_CHECK_EQUAL(said, "tl_ref_strided: rank 4294967295 must be 1 to 4");
}

BOOST_AUTO_TEST_CASE(a_slice_has_the_elements_that_it_had_in_its_tensor) {
    const uint32_t shape[] = {6, 3, 4};
    tl_tensor tensor{}, part{};
    BOOST_REQUIRE_EQUAL(tl_ref_strided(tl, {64}, 3, shape, nullptr, TL_I16, &tensor), TLA_OK);
    BOOST_REQUIRE_EQUAL(tl_slice(tl, &tensor, 0, 2, 4, &part), TLA_OK);
    BOOST_REQUIRE_EQUAL(tl_slice(tl, &part, 2, 1, 2, &part), TLA_OK);
    BOOST_CHECK_EQUAL(part.shape[0], 4u);
    BOOST_CHECK_EQUAL(part.shape[1], 3u);
    BOOST_CHECK_EQUAL(part.shape[2], 2u);
    BOOST_CHECK_EQUAL(address_of(part, {3, 2, 1}), address_of(tensor, {5, 2, 2}));
    BOOST_CHECK_EQUAL(tl_slice(tl, &tensor, 0, 6, 0, &part), TLA_OK); // nothing, at the end
}

BOOST_AUTO_TEST_CASE(a_slice_outside_its_tensor_is_rejected_with_a_text) {
    const tl_tensor tensor = tl_ref({64}, 6, 4, TL_F32, 0);
    tl_tensor part{};
    BOOST_CHECK_EQUAL(tl_slice(tl, &tensor, 1, 2, 3, &part), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(said, "tl_slice: indices 2 to 5 of dimension 1: must be inside its 4");
    BOOST_CHECK_EQUAL(tl_slice(tl, &tensor, 0, UINT32_MAX, 2, &part), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(said, "tl_slice: indices 4294967295 to 4294967297 of dimension 0: must be inside its 6");
    BOOST_CHECK_EQUAL(tl_slice(tl, &tensor, 2, 0, 1, &part), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(said, "tl_slice: dimension 2 must be less than the tensor's rank, 2");
    BOOST_CHECK_EQUAL(part.rank, 0u); // as it was
}
