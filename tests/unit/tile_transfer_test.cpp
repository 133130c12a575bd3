// What is moved between tensors and tiles: every element once and to its place, beside a naive walk; what touches at
// once.
#include "model/kernel/tile_transfer.h"
#include "seeded_random.hpp"
#include "tlmalloc/kernel/tensor.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

namespace {

std::vector<tla_tile_part> parts_of(const tl_tile &tile, const tl_tensor &tensor, const uint8_t *mask = nullptr) {
    std::vector<tla_tile_part> parts;
    tla_tile_transfer transfer;
    tla_tile_transfer_begin(&transfer, &tile, &tensor, mask);
    for (tla_tile_part part; tla_tile_transfer_next(&transfer, &part);)
        parts.push_back(part);
    return parts;
}

// Of every byte of the tile, from where it comes.
using sources = std::map<uint64_t, uint64_t>;

sources moved(const std::vector<tla_tile_part> &parts) {
    sources result;
    for (const tla_tile_part &part : parts)
        for (uint64_t row = 0; row < part.rows; row++)
            for (uint64_t byte = 0; byte < part.row_bytes; byte++) {
                const bool once =
                    result.emplace(part.offset + row * part.row_bytes + byte, part.va + row * part.pitch + byte).second;
                BOOST_REQUIRE(once);
            }
    return result;
}

sources expected(const tl_tile &tile, const tl_tensor &tensor, const uint8_t *mask) {
    sources result;
    const uint64_t size = tl_dtype_bytes(tensor.dtype), pitch = tile.pitch ? tile.pitch : tile.columns;
    for (uint64_t element = 0; element < uint64_t(tile.rows) * tile.columns; element++) {
        if (mask && !mask[element]) continue;
        uint64_t va = tensor.va.value, left = element;
        for (uint32_t dim = tensor.rank; dim-- > 0; left /= tensor.shape[dim])
            va += left % tensor.shape[dim] * tensor.stride[dim];
        for (uint64_t byte = 0; byte < size; byte++)
            result[(element / tile.columns * pitch + element % tile.columns) * size + byte] = va + byte;
    }
    return result;
}

tl_tile tile_of(uint32_t rows, uint32_t columns, tl_dtype dtype, uint32_t pitch = 0) {
    return {{0}, rows, columns, dtype, pitch};
}

tl_tensor tensor_of(std::vector<uint32_t> shape, std::vector<uint64_t> stride, tl_dtype dtype) {
    tl_tensor tensor{{0x10000}, uint32_t(shape.size()), {}, {}, dtype};
    for (size_t dim = 0; dim < shape.size(); dim++)
        tensor.shape[dim] = shape[dim], tensor.stride[dim] = stride[dim];
    return tensor;
}

void check_one(const tla_tile_part &part, uint64_t rows, uint64_t row_bytes, uint64_t pitch) {
    BOOST_CHECK_EQUAL(part.rows, rows);
    BOOST_CHECK_EQUAL(part.row_bytes, row_bytes);
    BOOST_CHECK_EQUAL(part.pitch, pitch);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_element_is_moved_once_and_to_its_place) {
    seeded_random random(20);
    const auto below = [&random](uint64_t end) { return random.between(0, end - 1); };
    const tl_dtype types[] = {TL_U8, TL_F16, TL_F32, TL_F64};
    for (int round = 0; round < 20'000; round++) {
        const tl_dtype type = types[below(4)];
        const uint64_t size = tl_dtype_bytes(type);
        tl_tensor tensor{{uint64_t{1} << 40}, uint32_t(1 + below(4)), {}, {}, type};
        uint64_t packed = size;
        for (uint32_t dim = tensor.rank; dim-- > 0;) {
            tensor.shape[dim] = uint32_t(below(20) ? 1 + below(4) : 0);
            tensor.stride[dim] = below(3) ? packed : size * below(40) - size * 10;
            packed = tensor.shape[dim] * tensor.stride[dim];
        }
        uint32_t rows = 1, columns = tensor.shape[tensor.rank - 1];
        for (uint32_t dim = 0; dim + 1 < tensor.rank; dim++)
            rows *= tensor.shape[dim];
        const tl_tile tile = tile_of(rows, columns, type, below(2) ? columns + uint32_t(below(3)) : 0);
        tla_error error{};
        BOOST_REQUIRE_EQUAL(tla_tile_transfer_check("", &tile, &tensor, &error), TLA_OK);
        std::vector<uint8_t> mask(size_t(rows) * columns + 1);
        for (uint8_t &holds : mask)
            holds = uint8_t(below(3));
        BOOST_REQUIRE(moved(parts_of(tile, tensor)) == expected(tile, tensor, nullptr));
        BOOST_REQUIRE(moved(parts_of(tile, tensor, mask.data())) == expected(tile, tensor, mask.data()));
    }
}

BOOST_AUTO_TEST_CASE(adjacent_dimensions_form_one_row) {
    const auto only = [](const tl_tile &tile, const tl_tensor &tensor) {
        const auto parts = parts_of(tile, tensor);
        BOOST_REQUIRE_EQUAL(parts.size(), 1u);
        return parts[0];
    };
    check_one(only(tile_of(6, 4, TL_F32), tl_ref({64}, 6, 4, TL_F32, 0)), 1, 96, 96);
    check_one(only(tile_of(6, 4, TL_F32), tl_ref({64}, 6, 4, TL_F32, 100)), 6, 16, 100);
    check_one(only(tile_of(6, 1, TL_F32), tl_ref({64}, 6, 1, TL_F32, 100)), 6, 4, 100); // a column
    check_one(only(tile_of(1, 6, TL_F32), tensor_of({6}, {100}, TL_F32)), 6, 4, 100);
    check_one(only(tile_of(24, 5, TL_F16), tensor_of({2, 3, 4, 5}, {120, 40, 10, 2}, TL_F16)), 1, 240, 240);
    // Some heads of every row: those of one row touch.
    check_one(only(tile_of(6, 8, TL_F16), tensor_of({3, 2, 8}, {128, 16, 2}, TL_F16)), 3, 32, 128);
    // Rows that do not touch in the tile are a part each.
    const auto apart = parts_of(tile_of(3, 4, TL_F32, 7), tl_ref({64}, 3, 4, TL_F32, 0));
    BOOST_REQUIRE_EQUAL(apart.size(), 3u);
    BOOST_CHECK_EQUAL(apart[2].offset, 2u * 7 * 4);
    check_one(apart[2], 1, 16, 16);
    // Turned over: single elements, the rows of the tile one after the other.
    const auto turned = parts_of(tile_of(3, 4, TL_F32), tensor_of({3, 4}, {4, 12}, TL_F32));
    BOOST_REQUIRE_EQUAL(turned.size(), 3u);
    check_one(turned[1], 4, 4, 12);
}

BOOST_AUTO_TEST_CASE(with_a_mask_each_run_is_a_part) {
    const std::vector<uint8_t> mask{0,   1, 1, 1, //
                                    255, 1, 0, 0, //
                                    0,   0, 0, 0, //
                                    1,   0, 1, 0};
    const auto touching = parts_of(tile_of(4, 4, TL_F32), tl_ref({64}, 4, 4, TL_F32, 0), mask.data());
    BOOST_REQUIRE_EQUAL(touching.size(), 3u);
    check_one(touching[0], 1, 20, 20); // into the second row
    BOOST_CHECK_EQUAL(touching[2].va, 64u + 14 * 4);
    BOOST_CHECK_EQUAL(parts_of(tile_of(4, 4, TL_F32), tl_ref({64}, 4, 4, TL_F32, 20), mask.data()).size(), 4u);
    BOOST_CHECK_EQUAL(parts_of(tile_of(4, 4, TL_F32, 5), tl_ref({64}, 4, 4, TL_F32, 0), mask.data()).size(), 4u);
    BOOST_CHECK_EQUAL(parts_of(tile_of(4, 4, TL_F32), tensor_of({4, 4}, {4, 16}, TL_F32), mask.data()).size(), 7u);
    const std::vector<uint8_t> all(16, 1), none(16, 0);
    BOOST_CHECK_EQUAL(parts_of(tile_of(4, 4, TL_F32), tl_ref({64}, 4, 4, TL_F32, 0), all.data()).size(), 1u);
    BOOST_CHECK(parts_of(tile_of(4, 4, TL_F32), tl_ref({64}, 4, 4, TL_F32, 0), none.data()).empty());
}

BOOST_AUTO_TEST_CASE(a_tile_that_does_not_fit_is_rejected_with_a_text) {
    const auto says = [](const tl_tile &tile, const tl_tensor &tensor) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_tile_transfer_check("tl_load_tensor", &tile, &tensor, &error), TLA_INVALID_ARGUMENT);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(says(tile_of(2, 15, TL_F32), tensor_of({2, 3, 5}, {60, 20, 4}, TL_F32)),
                      "tl_load_tensor: the tile is 2 x 15, but must be 6 x 5: the product of all dimensions of the "
                      "tensor but the last, and the last");
    BOOST_CHECK_EQUAL(says(tile_of(6, 5, TL_F16), tensor_of({6, 5}, {20, 4}, TL_F32)),
                      "tl_load_tensor: a tile of f16 for a tensor of f32: the types must be equal");
    tl_tensor crooked = tensor_of({6, 5}, {20, 4}, TL_F32);
    for (uint32_t rank : {0u, 5u, UINT32_MAX}) {
        crooked.rank = rank;
        BOOST_CHECK(says(tile_of(6, 5, TL_F32), crooked).find("rank " + std::to_string(rank)) != std::string::npos);
    }
    const uint32_t most = UINT32_MAX; // the product of three wraps 2^64
    says(tile_of(most, 1, TL_F32), tensor_of({most, most, most, 1}, {0, 0, 0, 4}, TL_F32));
    says(tile_of(0, 1, TL_F32), tensor_of({1u << 31, 1u << 31, 4, 1}, {0, 0, 0, 4}, TL_F32));
}
