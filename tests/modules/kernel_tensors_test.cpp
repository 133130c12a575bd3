// What kernels move between tensors and tiles on a processing_element: bytes, time, and what is refused.
#include "element_bench.hpp"

#include "tlmalloc/kernel/tensor.h"

#include <numeric>

using namespace element_bench;

namespace {

bytes counted(std::size_t count) {
    bytes data(count);
    std::iota(data.begin(), data.end(), std::uint8_t{0});
    return data;
}

std::string told(const bench &b) {
    return b.element.last_run().problem.text;
}

tl_tile tile_of(tl_context *tl, std::uint32_t rows, std::uint32_t columns, tl_dtype dtype) {
    tl_tile tile{};
    BOOST_REQUIRE_EQUAL(tl_alloc(tl, rows, columns, dtype, &tile), TLA_OK);
    return tile;
}

// Writes values into a tile by way of memory at hbm(64 KiB).
void set(tl_context *tl, const tl_tile &tile) {
    const std::uint64_t row_bytes = std::uint64_t{tile.columns} * tl_dtype_bytes(tile.dtype);
    BOOST_REQUIRE_EQUAL(tl_load(tl, &tile, {hbm(65536)}, row_bytes), TLA_OK);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_of_rank_4_is_loaded_and_stored_where_its_strides_lead) {
    bench b;
    const std::uint32_t shape[] = {2, 3, 2, 5};
    const std::uint64_t from[] = {200, 64, 7, 1}, to[] = {1, 2, 6, 12}; // the latter turned over
    first = [&](tl_context *tl) {
        const tl_tile tile = tile_of(tl, 12, 5, TL_U8);
        tl_tensor source{}, target{};
        tl_ref_strided(tl, {hbm(0)}, 4, shape, from, TL_U8, &source);
        tl_ref_strided(tl, {hbm(4096)}, 4, shape, to, TL_U8, &target);
        tla_status status = tl_load_tensor(tl, &tile, &source);
        if (!status) status = tl_store_tensor(tl, &target, &tile);
        tl_free(tl, &tile);
        return status;
    };
    b.run([&] {
        b.data.write(hbm(0), counted(400));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        const bytes out = b.data.read(hbm(4096), 60);
        for (std::uint32_t i = 0; i < 60; i++) {
            const std::uint32_t index[] = {i / 30, i / 10 % 3, i / 5 % 2, i % 5};
            std::uint64_t a = 0, z = 0;
            for (unsigned dim = 0; dim < 4; dim++)
                a += index[dim] * from[dim], z += index[dim] * to[dim];
            BOOST_CHECK_EQUAL(out[z], static_cast<std::uint8_t>(a));
        }
    });
}

BOOST_AUTO_TEST_CASE(a_matrix_by_its_handle_takes_the_time_of_a_plain_load_and_elements_apart_take_one_chunk_each) {
    bench b;
    first = [&](tl_context *tl) {
        const tl_tile tile = tile_of(tl, 8, 16, TL_F32), column = tile_of(tl, 1, 16, TL_F32);
        auto time = [start = sc_core::sc_time_stamp()](tla_status status) mutable {
            BOOST_CHECK_EQUAL(status, TLA_OK);
            return to_ps(sc_core::sc_time_stamp() - std::exchange(start, sc_core::sc_time_stamp()));
        };
        auto chunks = [&, before = std::uint64_t{0}]() mutable {
            return b.dma.get_statistics().chunks - std::exchange(before, b.dma.get_statistics().chunks);
        };
        for (const std::uint64_t pitch : {64u, 256u}) {
            const tl_tensor matrix = tl_ref({hbm(0)}, 8, 16, TL_F32, pitch);
            time(tl_load(tl, &tile, {hbm(0)}, pitch));
            const std::uint64_t plain = time(tl_load(tl, &tile, {hbm(0)}, pitch));
            BOOST_CHECK_EQUAL(time(tl_load_tensor(tl, &tile, &matrix)), plain);
            const std::uint64_t stored = time(tl_store(tl, {hbm(0)}, pitch, &tile));
            BOOST_CHECK_EQUAL(time(tl_store_tensor(tl, &matrix, &tile)), stored);
        }
        tl_tensor down = tl_ref({hbm(0)}, 16, 16, TL_F32, 0);
        std::swap(down.stride[0], down.stride[1]);
        tl_slice(tl, &down, 0, 3, 1, &down);
        chunks();
        time(tl_load_tensor(tl, &column, &down));
        BOOST_CHECK_EQUAL(chunks(), 16u);
        tl_free(tl, &column);
        return tl_free(tl, &tile);
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
}

BOOST_AUTO_TEST_CASE(masks_of_any_form_load_runs_alone_and_store_nowhere_else) {
    bench b;
    const bytes mask{1, 0, 0, 7, //
                     1, 0, 1, 0, //
                     0, 0, 0, 0};
    std::uint64_t loaded = 0;
    first = [&](tl_context *tl) {
        const tl_tile tile = tile_of(tl, 3, 4, TL_F32), holds = tile_of(tl, 3, 4, TL_U8);
        set(tl, holds);
        const tl_tensor source = tl_ref({hbm(0)}, 3, 4, TL_F32, 0), all = tl_ref({hbm(4096)}, 3, 4, TL_F32, 0),
                        some = tl_ref({hbm(8192)}, 3, 4, TL_F32, 32);
        const std::uint64_t before = b.dma.get_statistics().bytes_read;
        BOOST_CHECK_EQUAL(tl_load_where(tl, &tile, &source, &holds, -1), TLA_OK);
        loaded = b.dma.get_statistics().bytes_read - before;
        BOOST_CHECK_EQUAL(tl_store_tensor(tl, &all, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store_where(tl, &some, &tile, &holds), TLA_OK);
        tl_free(tl, &holds);
        return tl_free(tl, &tile);
    };
    b.run([&] {
        b.data.write(hbm(65536), mask);
        b.data.write(hbm(0), floats({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
        b.data.write(hbm(8192), bytes(96, 0x55));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK_EQUAL(loaded, 4u * 4);
        BOOST_CHECK(b.data.read(hbm(4096), 48) == floats({1, -1, -1, 4, 5, -1, 7, -1, -1, -1, -1, -1}));
        const bytes out = b.data.read(hbm(8192), 96);
        for (std::size_t row = 0; row < 3; row++)
            for (std::size_t byte = 0; byte < 32; byte++) {
                const bool written = byte < 16 && mask[row * 4 + byte / 4];
                const float value = static_cast<float>(row * 4 + byte / 4 + 1);
                std::uint8_t bits[4];
                std::memcpy(bits, &value, 4);
                BOOST_CHECK_EQUAL(out[row * 32 + byte], written ? bits[byte % 4] : 0x55);
            }
    });
}

BOOST_AUTO_TEST_CASE(a_mask_that_is_true_everywhere_costs_its_reading_and_one_that_is_false_moves_nothing) {
    bench b;
    first = [&](tl_context *tl) {
        const tl_tile tile = tile_of(tl, 3, 4, TL_F32), holds = tile_of(tl, 3, 4, TL_U8);
        const tl_tensor source = tl_ref({hbm(0)}, 3, 4, TL_F32, 0),
                        nowhere = tl_ref({hbm(slice_bytes)}, 3, 4, TL_F32, 0);
        auto start = sc_core::sc_time_stamp();
        const auto time = [&start](tla_status status) {
            BOOST_CHECK_EQUAL(status, TLA_OK);
            return to_ps(sc_core::sc_time_stamp() - std::exchange(start, sc_core::sc_time_stamp()));
        };
        tl_fill(tl, &holds, 1);
        time(tl_load_tensor(tl, &tile, &source));
        const std::uint64_t plain = time(tl_load_tensor(tl, &tile, &source));
        const std::uint64_t masked = time(tl_load_where(tl, &tile, &source, &holds, 0));
        BOOST_CHECK_GT(masked, plain);
        BOOST_CHECK_LT(masked, plain + 2000); // 12 bytes at 512 GB/s, and a dispatch for both
        tl_fill(tl, &holds, 0);
        const std::uint64_t transfers = b.dma.get_statistics().transfers;
        BOOST_CHECK_EQUAL(tl_load_where(tl, &tile, &nowhere, &holds, 5), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store_where(tl, &nowhere, &tile, &holds), TLA_OK);
        BOOST_CHECK_EQUAL(b.dma.get_statistics().transfers, transfers);
        tl_store(tl, {hbm(4096)}, 16, &tile);
        tl_free(tl, &holds);
        return tl_free(tl, &tile);
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK(b.data.read(hbm(4096), 16) == floats({5, 5, 5, 5}));
    });
}

BOOST_AUTO_TEST_CASE(rows_are_gathered_by_index_tiles_of_every_integer_type) {
    bench b;
    first = [&](tl_context *tl) {
        const tl_tensor table = tl_ref({hbm(0)}, 16, 8, TL_U8, 0);
        const std::uint32_t shape[] = {8, 2, 8};
        tl_tensor pairs{};
        tl_ref_strided(tl, {hbm(0)}, 3, shape, nullptr, TL_U8, &pairs);
        const tl_tile index = tile_of(tl, 1, 4, TL_U8), wide = tile_of(tl, 4, 1, TL_I64),
                      rows = tile_of(tl, 4, 8, TL_U8), twice = tile_of(tl, 8, 8, TL_U8);
        set(tl, index);
        BOOST_CHECK_EQUAL(tl_gather_rows(tl, &rows, &table, &index), TLA_OK);
        tl_store(tl, {hbm(4096)}, 8, &rows);
        const tl_tile column = {wide.pa, 1, 4, TL_I64, 0};
        BOOST_CHECK_EQUAL(tl_convert(tl, &column, &index), TLA_OK);
        BOOST_CHECK_EQUAL(tl_gather_rows(tl, &twice, &pairs, &wide), TLA_OK);
        tl_store(tl, {hbm(8192)}, 8, &twice);
        const tl_tile part = tl_view(tl, &twice, 1, 2, 4, 4); // rows that do not touch
        const tl_tensor narrow = tl_ref({hbm(2)}, 16, 4, TL_U8, 8);
        BOOST_CHECK_EQUAL(tl_gather_rows(tl, &part, &narrow, &index), TLA_OK);
        tl_store(tl, {hbm(12288)}, 8, &twice);
        for (const tl_tile *tile : {&index, &wide, &rows, &twice})
            tl_free(tl, tile);
        return TLA_OK;
    };
    b.run([&] {
        const std::size_t index[] = {7, 0, 3, 3};
        b.data.write(hbm(0), counted(128));
        b.data.write(hbm(65536), {7, 0, 3, 3});
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        const bytes rows = b.data.read(hbm(4096), 32), twice = b.data.read(hbm(8192), 64),
                    part = b.data.read(hbm(12288), 64);
        for (std::size_t i = 0; i < 32; i++)
            BOOST_CHECK_EQUAL(rows[i], index[i / 8] * 8 + i % 8);
        for (std::size_t i = 0; i < 64; i++) {
            BOOST_CHECK_EQUAL(twice[i], index[i / 16] * 16 + i % 16);
            const std::size_t row = i / 8, column = i % 8;
            const bool gathered = row >= 1 && row < 5 && column >= 2 && column < 6;
            BOOST_CHECK_EQUAL(part[i], gathered ? index[row - 1] * 8 + column : twice[i]);
        }
    });
}

BOOST_AUTO_TEST_CASE(transposed_tiles_have_their_elements_turned_over_and_cost_one_operation_each) {
    processing_element::config config = settings();
    config.vector_rate = 1'000'000'000'000; // one operation a ps
    bench b(config);
    first = [&](tl_context *tl) {
        const tl_tile a = tile_of(tl, 8, 16, TL_F32), out = tile_of(tl, 16, 8, TL_F32);
        tl_load(tl, &a, {hbm(0)}, 64);
        const auto start = sc_core::sc_time_stamp();
        BOOST_CHECK_EQUAL(tl_transpose(tl, &out, &a), TLA_OK);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() - start), 1000u + 1000 + 128 + 1000); // as any other operation
        tl_store(tl, {hbm(4096)}, 32, &out);
        const tl_tile over = {a.pa, 16, 8, TL_F32, 0};
        BOOST_CHECK_EQUAL(tl_transpose(tl, &over, &a), TLA_OK); // over its operand
        tl_store(tl, {hbm(8192)}, 32, &over);
        tl_free(tl, &out);
        return tl_free(tl, &a);
    };
    b.run([&] {
        b.data.write(hbm(0), counted(512));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        const bytes a = b.data.read(hbm(0), 512), out = b.data.read(hbm(4096), 512);
        for (std::size_t row = 0; row < 8; row++)
            for (std::size_t column = 0; column < 16; column++)
                BOOST_CHECK(std::memcmp(&out[(column * 8 + row) * 4], &a[(row * 16 + column) * 4], 4) == 0);
        BOOST_CHECK(b.data.read(hbm(8192), 512) == out);
    });
}

BOOST_AUTO_TEST_CASE(a_tile_that_does_not_fit_its_tensor_is_rejected_and_nothing_moves) {
    bench b;
    const auto refused = [&](std::function<tla_status(tl_context *)> call, const std::string &says) {
        first = std::move(call);
        const std::uint64_t transfers = b.dma.get_statistics().transfers;
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(told(b), says);
        BOOST_CHECK_EQUAL(b.dma.get_statistics().transfers, transfers);
    };
    const tl_tensor matrix = tl_ref({hbm(0)}, 4, 4, TL_F32, 0);
    const tl_tile tile{{0x1000}, 4, 4, TL_F32, 0}; // refused before it is accessed
    b.run([&] {
        refused(
            [&](tl_context *tl) {
                const tl_tile flat{{0}, 1, 16, TL_F32, 0};
                return tl_load_tensor(tl, &flat, &matrix);
            },
            "tl_load_tensor: the tile is 1 x 16, but must be 4 x 4: the product of all dimensions of the tensor but "
            "the last, and the last");
        refused(
            [&](tl_context *tl) {
                const tl_tile half{{0}, 4, 4, TL_F16, 0};
                return tl_store_tensor(tl, &matrix, &half);
            },
            "tl_store_tensor: a tile of f16 for a tensor of f32: the types must be equal");
        refused(
            [&](tl_context *tl) {
                const tl_tile mask{{0}, 4, 3, TL_U8, 0};
                return tl_load_where(tl, &tile, &matrix, &mask, 0);
            },
            "tl_load_where: the mask is 4 x 3 of u8, but must be 4 x 4 of u8");
        refused(
            [&](tl_context *tl) {
                const tl_tile mask{{0}, 4, 4, TL_F32, 0};
                return tl_store_where(tl, &matrix, &tile, &mask);
            },
            "tl_store_where: the mask is 4 x 4 of f32, but must be 4 x 4 of u8");
        refused(
            [&](tl_context *tl) {
                const tl_tile index{{0}, 2, 2, TL_U8, 0};
                return tl_gather_rows(tl, &tile, &matrix, &index);
            },
            "tl_gather_rows: indices of 2 x 2 of u8: must be a row or a column of integers");
        refused(
            [&](tl_context *tl) {
                const tl_tile index{{0}, 1, 4, TL_F32, 0};
                return tl_gather_rows(tl, &tile, &matrix, &index);
            },
            "tl_gather_rows: indices of 1 x 4 of f32: must be a row or a column of integers");
        refused(
            [&](tl_context *tl) {
                const tl_tile index{{0}, 1, 3, TL_U8, 0};
                return tl_gather_rows(tl, &tile, &matrix, &index);
            },
            "tl_gather_rows: the tile is 4 x 4, but must be 3 x 4: the product of all dimensions of the tensor but the "
            "last, and the last");
        refused(
            [&](tl_context *tl) {
                tl_tensor line = matrix;
                line.rank = 1;
                return tl_gather_rows(tl, &tile, &line, &tile);
            },
            "tl_gather_rows: indices of 4 x 4 of f32: must be a row or a column of integers");
        refused(
            [&](tl_context *tl) {
                const tl_tile out{{0}, 4, 4, TL_F16, 0};
                return tl_transpose(tl, &out, &tile);
            },
            "tl_transpose: 4 x 4 of f16 from 4 x 4 of f32: must have rows and columns exchanged, and the same type");
    });
}

BOOST_AUTO_TEST_CASE(an_index_out_of_range_is_rejected_before_any_transfer) {
    bench b;
    std::uint64_t transfers = 0;
    first = [&](tl_context *tl) {
        const tl_tensor table = tl_ref({hbm(0)}, 16, 8, TL_U8, 0);
        const tl_tile index = tile_of(tl, 1, 4, TL_I8), rows = tile_of(tl, 4, 8, TL_U8);
        set(tl, index);
        const std::uint64_t before = b.dma.get_statistics().transfers;
        const tla_status status = tl_gather_rows(tl, &rows, &table, &index);
        transfers = b.dma.get_statistics().transfers - before;
        tl_free(tl, &index);
        tl_free(tl, &rows);
        return status;
    };
    b.run([&] {
        b.data.write(hbm(65536), {15, 0, 16, 3});
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(told(b), "tl_gather_rows: index 16 at 2 must be 0 to 15");
        b.data.write(hbm(65536), {15, 0xFE, 16, 3});
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(told(b), "tl_gather_rows: index -2 at 1 must be 0 to 15");
        BOOST_CHECK_EQUAL(transfers, 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_tensor_where_no_memory_is_ends_in_the_words_of_its_call) {
    bench b;
    first = [](tl_context *tl) {
        const tl_tile tile = tile_of(tl, 4, 4, TL_F32);
        const tl_tensor nowhere = tl_ref({hbm(slice_bytes)}, 4, 4, TL_F32, 0);
        const tla_status status =
            tl_argument(tl, 0) ? tl_store_tensor(tl, &nowhere, &tile) : tl_load_tensor(tl, &tile, &nowhere);
        tl_free(tl, &tile);
        return status;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0, {0})).status, TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(
            told(b),
            "tl_load_tensor from 0x2000100000: a transaction returned an error response: the memory must be mapped");
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0, {1})).status, TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(told(b).substr(0, 31), "tl_store_tensor to 0x2000100000");
    });
}
