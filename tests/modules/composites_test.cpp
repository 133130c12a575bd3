// Composites on a PE: right bytes, the time of the schedule, errors, what is left when a kernel ends.
#include "../unit/naive_stages.hpp"
#include "../unit/seeded_random.hpp"
#include "element_bench.hpp"
#include "model/kernel/element.h"
#include "model/kernel/tile_math.h"
#include "tlmalloc/kernel/pipeline.h"
#include "tlmalloc/kernel/tensor.h"

#include <string>

using namespace element_bench;

namespace {

processing_element::config settings_of(std::uint32_t m, std::uint32_t k, std::uint32_t n) {
    processing_element::config config = settings();
    config.tile_m = m;
    config.tile_k = k;
    config.tile_n = n;
    return config;
}

void check_ok(tla_status status) {
    BOOST_CHECK_EQUAL(status, TLA_OK);
}

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

// Bytes of numbers of a type in [-1, 1].
bytes numbers(seeded_random &random, tl_dtype type, std::size_t count) {
    bytes data(count * tl_dtype_bytes(type));
    for (std::size_t i = 0; i < count; i++)
        tla_element_put(data.data() + i * tl_dtype_bytes(type), type,
                        static_cast<double>(random.between(0, 2'000'000)) / 1e6 - 1);
    return data;
}

struct matrix { // in memory
    std::uint64_t at;
    std::uint32_t rows, columns;
    tl_dtype type;

    tl_tensor tensor() const { return tl_ref({hbm(at)}, rows, columns, type, 0); }
    std::uint64_t pitch() const { return std::uint64_t{columns} * tl_dtype_bytes(type); }
    tl_tile loaded(tl_context *tl) const {
        tl_tile tile{};
        check_ok(tl_alloc(tl, rows, columns, type, &tile));
        check_ok(tl_load(tl, &tile, {hbm(at)}, pitch()));
        return tile;
    }
};

// out = maximum(scale * (a * b) + bias row, 0), or without steps the product.
struct job {
    matrix a, b, bias, out;
    bool pinned_a, pinned_b, pinned_out, steps;
};

const float scale = 0.75f;

void blocking(tl_context *tl, const job &j, std::uint64_t to) {
    tl_tile a = j.a.loaded(tl), b = j.b.loaded(tl), bias = j.bias.loaded(tl), sum{}, out{}, factor{}, zero{};
    check_ok(tl_alloc(tl, j.out.rows, j.out.columns, TL_F32, &sum));
    check_ok(tl_alloc(tl, j.out.rows, j.out.columns, j.out.type, &out));
    check_ok(tl_alloc(tl, 1, 1, TL_F32, &factor));
    check_ok(tl_alloc(tl, 1, 1, TL_F32, &zero));
    check_ok(tl_fill(tl, &factor, scale));
    check_ok(tl_fill(tl, &zero, 0));
    check_ok(tl_fill(tl, &sum, 0));
    check_ok(tl_dot(tl, &sum, &a, &b));
    if (j.steps) {
        check_ok(tl_mul(tl, &sum, &sum, &factor));
        check_ok(tl_add(tl, &sum, &sum, &bias));
        check_ok(tl_maximum(tl, &sum, &sum, &zero));
    }
    check_ok(tl_convert(tl, &out, &sum));
    check_ok(tl_store(tl, {hbm(to)}, j.out.pitch(), &out));
    for (const tl_tile *tile : {&a, &b, &bias, &sum, &out, &factor, &zero})
        check_ok(tl_free(tl, tile));
}

void composed(tl_context *tl, const job &j) {
    tl_tile a{}, b{}, out{}, bias = j.bias.loaded(tl);
    const tl_tensor from_a = j.a.tensor(), from_b = j.b.tensor(), to = j.out.tensor();
    if (j.pinned_a) a = j.a.loaded(tl);
    if (j.pinned_b) b = j.b.loaded(tl);
    if (j.pinned_out) check_ok(tl_alloc(tl, j.out.rows, j.out.columns, j.out.type, &out));
    tl_composition c{};
    c.kind = TL_GEMM;
    c.a = j.pinned_a ? tl_pinned(&a) : tl_streamed(&from_a);
    c.b = j.pinned_b ? tl_pinned(&b) : tl_streamed(&from_b);
    c.out = j.pinned_out ? tl_pinned(&out) : tl_streamed(&to);
    if (j.steps) {
        c.steps[c.step_count++] = tl_step_number(TL_MUL, scale);
        c.steps[c.step_count++] = tl_step_tile(TL_ADD, &bias);
        c.steps[c.step_count++] = tl_step_number(TL_MAXIMUM, 0);
    }
    tl_handle handle{};
    check_ok(tl_composite(tl, &c, &handle));
    BOOST_CHECK_EQUAL(tl_free(tl, &bias), j.steps ? TLA_BUSY : TLA_OK);
    check_ok(tl_wait(tl, handle));
    if (j.steps) check_ok(tl_free(tl, &bias));
    if (j.pinned_out) {
        check_ok(tl_store(tl, {hbm(j.out.at)}, j.out.pitch(), &out));
        check_ok(tl_free(tl, &out));
    }
    if (j.pinned_a) check_ok(tl_free(tl, &a));
    if (j.pinned_b) check_ok(tl_free(tl, &b));
}

const std::uint64_t at_a = 0, at_b = 64 << 10, at_bias = 128 << 10, at_out = 192 << 10, at_expected = 256 << 10;

} // namespace

BOOST_AUTO_TEST_CASE(a_product_has_the_bytes_of_its_dots) {
    seeded_random random(4);
    bench b(settings_of(8, 16, 8));
    job j{};
    first = [&](tl_context *tl) {
        composed(tl, j);
        return TLA_OK;
    };
    second = [&](tl_context *tl) {
        blocking(tl, j, at_expected);
        return TLA_OK;
    };
    b.run([&] {
        const tl_dtype factors[] = {TL_F16, TL_BF16, TL_F32};
        const tl_dtype results[] = {TL_F16, TL_F32, TL_BF16, TL_I16, TL_F64};
        for (int round = 0; round < 40; round++) {
            BOOST_TEST_CONTEXT("round " << round) {
                const auto below = [&](std::uint64_t n) {
                    return static_cast<std::uint32_t>(random.between(0, n - 1));
                };
                const std::uint32_t m = 1 + below(36), k = 1 + below(60), n = 1 + below(36);
                j = {{at_a, m, k, factors[below(3)]},
                     {at_b, k, n, factors[below(3)]},
                     {at_bias, 1, n, TL_F32},
                     {at_out, m, n, results[below(5)]},
                     below(2) == 1,
                     below(2) == 1,
                     below(3) == 0,
                     below(2) == 1};
                for (const matrix *input : {&j.a, &j.b, &j.bias})
                    b.data.write(hbm(input->at),
                                 numbers(random, input->type, std::size_t{input->rows} * input->columns));
                const bytes before(j.out.pitch() * m + 64, 0xCC);
                b.data.write(hbm(at_out), before);
                check_ok(b.cpu.command(0, launch(0)).status);
                check_ok(b.cpu.command(0, launch(1)).status);
                const bytes got = b.data.read(hbm(at_out), before.size());
                bytes expected = b.data.read(hbm(at_expected), j.out.pitch() * m);
                expected.resize(before.size(), 0xCC); // and nothing behind it is written
                BOOST_CHECK(got == expected);
                BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
            }
        }
    });
}

// With everything in the TCM the time of every stage is known.
BOOST_AUTO_TEST_CASE(a_product_in_the_tcm_takes_the_time_of_the_naive_simulator) {
    seeded_random random(9);
    processing_element::config config = settings_of(8, 16, 4);
    config.pipeline_depth = 2;
    config.scheduler_ps = 1700;
    config.gemm_rate = 900'000'000'000;
    config.vector_rate = 70'000'000'000;
    config.dispatch_ps = 0;
    bench b(config);
    std::vector<naive_operation> operations;
    std::uint64_t begun = 0, ended = 0;
    std::uint32_t m = 0, k = 0, n = 0;
    bool steps = false;
    first = [&](tl_context *tl) {
        tl_tile a{}, c{}, out{};
        check_ok(tl_alloc(tl, m, k, TL_F16, &a));
        check_ok(tl_alloc(tl, k, n, TL_F16, &c));
        check_ok(tl_alloc(tl, m, n, TL_F16, &out));
        tl_composition what{};
        what.kind = TL_GEMM;
        what.a = tl_pinned(&a);
        what.b = tl_pinned(&c);
        what.out = tl_pinned(&out);
        if (steps) what.steps[what.step_count++] = tl_step_unary(TL_ABS);
        begun = now();
        tl_handle handle{};
        check_ok(tl_composite(tl, &what, &handle));
        check_ok(tl_wait(tl, handle));
        ended = now();
        for (const tl_tile *tile : {&a, &c, &out})
            check_ok(tl_free(tl, tile));
        return TLA_OK;
    };
    b.run([&] {
        for (int round = 0; round < 30; round++) {
            BOOST_TEST_CONTEXT("round " << round) {
                m = static_cast<std::uint32_t>(random.between(1, 40));
                k = static_cast<std::uint32_t>(random.between(1, 60));
                n = static_cast<std::uint32_t>(random.between(1, 20));
                steps = random.one_in(2);
                tla_tile_operation what{};
                const std::uint32_t size[] = {m, k, n}, tile[] = {8, 16, 4};
                check_ok(tla_tiling_make(&what.tiling, size, tile, nullptr));
                what.gemm = true;
                what.math = steps;
                check_ok(b.cpu.command(0, launch(0)).status);
                // Rows of a part that do not touch are accesses of their own, each rounded up to a picosecond.
                const auto port = [](std::uint64_t rows, std::uint64_t row_bytes, bool touch) {
                    return touch ? tla_transfer_ps(rows * row_bytes, 512'000'000'000)
                                 : rows * tla_transfer_ps(row_bytes, 512'000'000'000);
                };
                const stage_durations takes = [&](const stage_key &key) -> std::uint64_t {
                    const tla_tile_step s = key.stage >= TLA_STAGE_MATH ? tla_tiling_output(&what.tiling, key.index)
                                                                        : tla_tiling_step(&what.tiling, key.index);
                    const std::uint64_t elements = std::uint64_t{s.rows} * s.columns;
                    switch (key.stage) {
                    case TLA_STAGE_FEED:
                        return config.scheduler_ps;
                    case TLA_STAGE_FETCH:
                        return port(s.rows, 2 * s.depth, s.depth == k) + port(s.depth, 2 * s.columns, s.columns == n);
                    case TLA_STAGE_GEMM:
                        return tla_transfer_ps(2 * elements * s.depth, config.gemm_rate);
                    case TLA_STAGE_MATH:
                        return tla_transfer_ps(elements, config.vector_rate);
                    default:
                        return port(s.rows, 2 * s.columns, s.columns == n);
                    }
                };
                std::uint64_t end_ps = 0;
                for (const auto &[key, time] : naive_stages(2, {{what, begun}}, takes).run())
                    end_ps = std::max(end_ps, time.end_ps);
                BOOST_CHECK_EQUAL(ended, end_ps);
            }
        }
    });
}

namespace {

tl_composition product_of(tl_tensor &a, tl_tensor &b, tl_tensor &out) {
    tl_composition what{};
    what.kind = TL_GEMM;
    what.a = tl_streamed(&a);
    what.b = tl_streamed(&b);
    what.out = tl_streamed(&out);
    return what;
}

} // namespace

// out = (a * 2 + b) in tiles, and beside it what the kernel does itself.
BOOST_AUTO_TEST_CASE(a_chain_has_the_bytes_of_its_calls_while_the_kernel_makes_them) {
    seeded_random random(6);
    bench b(settings_of(8, 64, 16));
    first = [&](tl_context *tl) {
        const matrix a{at_a, 21, 37, TL_F16}, c{at_b, 21, 37, TL_BF16}, to{at_out, 21, 37, TL_F16};
        const tl_tensor from_a = a.tensor(), from_b = c.tensor(), out = to.tensor();
        tl_composition what{};
        what.kind = TL_MATH;
        what.a = tl_streamed(&from_a);
        what.b = tl_streamed(&from_b);
        what.out = tl_streamed(&out);
        what.steps[what.step_count++] = tl_step_number(TL_MUL, 2);
        what.steps[what.step_count++] = tl_step_b(TL_ADD);
        tl_handle handle{};
        check_ok(tl_composite(tl, &what, &handle));
        // Meanwhile the same by calls, on the same engines.
        tl_tile x = a.loaded(tl), y = c.loaded(tl), value{}, two{}, rounded{};
        check_ok(tl_alloc(tl, 21, 37, TL_F32, &value));
        check_ok(tl_alloc(tl, 21, 37, TL_F16, &rounded));
        check_ok(tl_alloc(tl, 1, 1, TL_F32, &two));
        check_ok(tl_fill(tl, &two, 2));
        check_ok(tl_mul(tl, &value, &x, &two));
        check_ok(tl_add(tl, &value, &value, &y));
        check_ok(tl_convert(tl, &rounded, &value));
        check_ok(tl_store(tl, {hbm(at_expected)}, 74, &rounded));
        check_ok(tl_wait(tl, handle));
        for (const tl_tile *tile : {&x, &y, &value, &rounded, &two})
            check_ok(tl_free(tl, tile));
        return TLA_OK;
    };
    b.run([&] {
        b.data.write(hbm(at_a), numbers(random, TL_F16, 21 * 37));
        b.data.write(hbm(at_b), numbers(random, TL_BF16, 21 * 37));
        check_ok(b.cpu.command(0, launch(0)).status);
        BOOST_CHECK(b.data.read(hbm(at_out), 21 * 37 * 2) == b.data.read(hbm(at_expected), 21 * 37 * 2));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
    });
}

// Several at a time, each with its own operands, in one order of waits or another.
BOOST_AUTO_TEST_CASE(many_composites_are_under_way_at_a_time) {
    const std::uint32_t count = 6, m = 12, k = 20, n = 9;
    processing_element::config config = settings_of(8, 8, 8);
    config.pipeline_depth = 1;
    bench b(config);
    seeded_random random(8);
    std::vector<bytes> expected;
    first = [&](tl_context *tl) {
        tl_handle handles[count];
        for (std::uint32_t i = 0; i < count; i++) {
            const tl_tensor x = tl_ref({hbm(at_a + i * 4096)}, m, k, TL_F32, 0),
                            y = tl_ref({hbm(at_b + i * 4096)}, k, n, TL_F32, 0),
                            z = tl_ref({hbm(at_out + i * 4096)}, m, n, TL_F32, 0);
            tl_composition what{};
            what.kind = TL_GEMM;
            what.a = tl_streamed(&x);
            what.b = tl_streamed(&y);
            what.out = tl_streamed(&z);
            check_ok(tl_composite(tl, &what, &handles[i]));
        }
        for (const std::uint32_t i : {3u, 0u, 5u})
            check_ok(tl_wait(tl, handles[i]));
        return tl_wait_all(tl);
    };
    b.run([&] {
        for (std::uint32_t i = 0; i < count; i++) {
            const bytes x = numbers(random, TL_F32, m * k), y = numbers(random, TL_F32, k * n);
            b.data.write(hbm(at_a + i * 4096), x);
            b.data.write(hbm(at_b + i * 4096), y);
            expected.emplace_back(m * n * 4, std::uint8_t{0});
            tla_tile_dot(expected.back().data(), x.data(), TL_F32, y.data(), TL_F32, m, k, n);
        }
        check_ok(b.cpu.command(0, launch(0)).status);
        for (std::uint32_t i = 0; i < count; i++)
            BOOST_CHECK(b.data.read(hbm(at_out + i * 4096), m * n * 4) == expected[i]);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_composite_that_does_not_fit_or_fails_is_reported) {
    bench b(settings_of(8, 8, 8));
    first = [&](tl_context *tl) {
        const std::uint64_t nowhere = hbm(slice_bytes);
        tl_tensor a = tl_ref({hbm(at_a)}, 32, 64, TL_F16, 0), c = tl_ref({hbm(at_b)}, 64, 32, TL_F16, 0),
                  out = tl_ref({hbm(at_out)}, 32, 32, TL_F16, 0);
        tl_handle handle{};
        tl_composition what = product_of(a, c, out);
        switch (tl_argument(tl, 0)) {
        case 0: // the operands, half way
            what.b.tensor.va.value = nowhere - 2048;
            check_ok(tl_composite(tl, &what, &handle));
            return tl_wait(tl, handle);
        case 1: // the result, and nobody waits
            what.out.tensor.va.value = nowhere;
            return tl_composite(tl, &what, nullptr);
        case 2:
            what.b.tensor.shape[0] = 63;
            return tl_composite(tl, &what, &handle);
        case 3:
            what.a.tensor.dtype = TL_I8;
            return tl_composite(tl, &what, &handle);
        case 4:
            what.steps[what.step_count++] = tl_step_b(TL_ADD);
            return tl_composite(tl, &what, &handle);
        case 5:
            what.steps[what.step_count++] = tl_step_unary(TL_ABS);
            what.steps[0].operation = 99;
            return tl_composite(tl, &what, &handle);
        case 6: {
            tl_tile row{};
            check_ok(tl_alloc(tl, 2, 32, TL_F32, &row));
            what.steps[what.step_count++] = tl_step_tile(TL_ADD, &row);
            const tla_status status = tl_composite(tl, &what, &handle);
            check_ok(tl_free(tl, &row));
            return status;
        }
        case 7: { // no room for the buffers: nothing is kept of those that there was room for
            tl_tile most{}, small{};
            check_ok(tl_alloc(tl, 1, tcm_bytes - 300, TL_U8, &most));
            const tla_status status = tl_composite(tl, &what, &handle);
            BOOST_CHECK_EQUAL(handle.value, 0u);
            check_ok(tl_alloc(tl, 1, 300, TL_U8, &small));
            check_ok(tl_free(tl, &small));
            check_ok(tl_free(tl, &most));
            return status;
        }
        case 8: // a tensor that is no matrix
            what.a.tensor.rank = 1;
            return tl_composite(tl, &what, &handle);
        default: // a tile that is nowhere
            what.a.kind = TL_PINNED;
            what.a.tile = {{0x123456789}, 32, 64, TL_F16, 0};
            check_ok(tl_composite(tl, &what, &handle));
            return tl_wait(tl, handle);
        }
    };
    b.run([&] {
        const struct {
            tla_status status;
            const char *text;
        } expected[] = {
            {TLA_BUS_ERROR,
             "tl_composite from 0x2000100000: a transaction returned an error response: the memory must be mapped"},
            {TLA_BUS_ERROR, "tl_composite to 0x2000100000: a transaction returned an error response: the memory must "
                            "be mapped and writable (of a tensor that is TL_OUT or TL_INOUT)"},
            {TLA_INVALID_ARGUMENT,
             "tl_composite: a is 32 x 64, b 63 x 32 and the result 32 x 32: must be m x k, k x n and m x n"},
            {TLA_INVALID_ARGUMENT, "tl_composite: a of i8 and b of f16: must be f16, bf16 or f32"},
            {TLA_INVALID_ARGUMENT,
             "tl_composite: step 0: a term of kind 3: must be a number, a tile, or with TL_MATH the operand b"},
            {TLA_UNSUPPORTED, "tl_composite: step 0: the vector engine does not support operation 99 of 1 operands"},
            {TLA_INVALID_ARGUMENT, nullptr},
            {TLA_EXHAUSTED, "tl_composite of 8 x 8 of f16: TCM overflow: requested 128 bytes, 44 free, largest free "
                            "block 44: exhausted; free something first, or configure more memory"},
            {TLA_INVALID_ARGUMENT, "tl_composite: the tensor (a) of rank 1 is not a matrix: must have rank 2, or size "
                                   "1 in all dimensions but the last two"},
            {TLA_BUS_ERROR, "tl_composite: a tile is outside the TCM of its PE"},
        };
        std::uint64_t which = 0;
        for (const auto &e : expected) {
            BOOST_TEST_CONTEXT("case " << which) {
                BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0, {which++})).status, e.status);
                if (e.text) BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text), e.text);
                BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
            }
        }
    });
}

BOOST_AUTO_TEST_CASE(a_tile_of_more_than_4_gib_finds_no_room) {
    bench b(settings_of(65536, 8, 65536));
    first = [](tl_context *tl) {
        tl_tensor a = tl_ref({hbm(at_a)}, 65536, 65536, TL_F32, 0), out = a;
        tl_composition what = product_of(a, a, out);
        what.kind = TL_MATH;
        what.b = {};
        return tl_composite(tl, &what, nullptr);
    };
    b.run([&] {
        const tla_completion answer = b.cpu.command(0, launch(0));
        BOOST_CHECK_EQUAL(answer.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(answer.nbytes, std::uint64_t{1} << 34);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_was_ended_leaves_no_composite_under_way) {
    bench b(settings_of(8, 8, 8));
    unsigned moved = 0;
    b.dma.ended = [&](const pe_dma::request &, std::uint64_t, std::uint64_t, const auto &) { moved++; };
    first = [](tl_context *tl) -> tla_status {
        tl_tensor a = tl_ref({hbm(at_a)}, 64, 64, TL_F16, 0), c = tl_ref({hbm(at_b)}, 64, 64, TL_F16, 0),
                  out = tl_ref({hbm(at_out)}, 64, 64, TL_F16, 0);
        const tl_composition what = product_of(a, c, out);
        check_ok(tl_composite(tl, &what, nullptr));
        check_ok(tl_composite(tl, &what, nullptr));
        for (std::uint64_t i = 0; i < tl_argument(tl, 0); i++) { // the engines go on meanwhile
            tl_tile tile{};
            check_ok(tl_alloc(tl, 1, 1, TL_F32, &tile));
        }
        volatile int *nowhere = nullptr;
        return static_cast<tla_status>(*nowhere);
    };
    second = [](tl_context *tl) { // needs every byte of the TCM, and engines that are free
        tl_tensor a = tl_ref({hbm(at_a)}, 16, 16, TL_F16, 0), c = tl_ref({hbm(at_b)}, 16, 16, TL_F16, 0),
                  out = tl_ref({hbm(at_out)}, 16, 16, TL_F16, 0);
        tl_tile tile{};
        check_ok(tl_alloc(tl, 64, 256, TL_F32, &tile));
        check_ok(tl_free(tl, &tile));
        const tl_composition what = product_of(a, c, out);
        tl_handle handle{};
        check_ok(tl_composite(tl, &what, &handle));
        return tl_wait(tl, handle);
    };
    b.run([&] {
        std::uint64_t took = 0;
        for (std::uint64_t meanwhile : {0u, 1u, 3u, 10u, 40u}) {
            moved = 0;
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0, {meanwhile})).status, TLA_CRASHED);
            BOOST_CHECK_LT(moved, 2u * 8 * 8 * 8 * 2);
            const unsigned at_the_end = moved;
            BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
            sc_core::wait(10, sc_core::SC_US);
            BOOST_CHECK_EQUAL(moved, at_the_end);
            check_ok(b.cpu.command(0, launch(1)).status);
            const std::uint64_t time = b.element.last_run().end_ps - b.element.last_run().start_ps;
            BOOST_CHECK_EQUAL(time, took ? took : time);
            took = time;
        }
    });
}

// 32 x 384 x 32 with a in the TCM: DMA of b, fetch and product one after the other, and overlapped.
BOOST_AUTO_TEST_CASE(stages_overlap_so_that_the_slowest_engine_is_what_is_left) {
    bench b(settings_of(32, 64, 32));
    std::uint64_t apart = 0, together = 0, read = 0;
    first = [&](tl_context *tl) {
        tl_tensor c = tl_ref({hbm(at_b)}, 384, 32, TL_F16, 0), out = tl_ref({hbm(at_out)}, 32, 32, TL_F32, 0);
        tl_tile a{}, part{}, sum{};
        check_ok(tl_alloc(tl, 32, 384, TL_F16, &a));
        check_ok(tl_alloc(tl, 64, 32, TL_F16, &part));
        check_ok(tl_alloc(tl, 32, 32, TL_F32, &sum));
        check_ok(tl_fill(tl, &a, 1));
        std::uint64_t begun = now();
        check_ok(tl_fill(tl, &sum, 0));
        for (std::uint32_t k = 0; k < 384; k += 64) {
            const tl_tile of_a = tl_view(tl, &a, 0, k, 32, 64);
            const std::uint64_t before = now();
            check_ok(tl_load(tl, &part, {hbm(at_b + std::uint64_t{64} * k)}, 64));
            read = now() - before - 1000; // without its dispatch
            check_ok(tl_dot(tl, &sum, &of_a, &part));
        }
        check_ok(tl_store(tl, {hbm(at_out)}, 128, &sum));
        apart = now() - begun;
        tl_composition what = product_of(c, c, out);
        what.a = tl_pinned(&a);
        tl_handle handle{};
        check_ok(tl_composite(tl, &what, &handle));
        begun = now();
        check_ok(tl_wait(tl, handle));
        together = now() - begun - 4 * 11'000; // its four blocks, which are given back
        for (const tl_tile *tile : {&a, &part, &sum})
            check_ok(tl_free(tl, tile));
        return TLA_OK;
    };
    b.run([&] { check_ok(b.cpu.command(0, launch(0)).status); });
    BOOST_CHECK_LT(together, apart);
    BOOST_CHECK_GE(together, 6 * read);                            // the engine that reads is the slowest
    BOOST_CHECK_LE(together, 6 * read + 16'000 + 16'384 + 60'000); // and hides the others, but for the last tile
}
