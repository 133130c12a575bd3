// Scratch tiles of kernels: where they lie, what they take, and what is refused.
#include "element_bench.hpp"

#include "tlmalloc/kernel/language.h"

using namespace element_bench;

namespace {

processing_element::config with_scratch(std::uint64_t nbytes) {
    processing_element::config config = settings();
    config.scratch = nbytes;
    return config;
}

std::uint64_t used(const bench &b) {
    return b.controller.get_statistics(TLA_TCM).arena.used;
}

} // namespace

BOOST_AUTO_TEST_CASE(scratch_tiles_are_consecutive_and_restart_with_every_launch) {
    bench b(with_scratch(4096));
    std::uint64_t base = 0;
    first = [&](tl_context *tl) {
        tl_tile a{}, z{}, last{}, other{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 1, 10, TL_U8, &other), TLA_OK); // beside it
        BOOST_CHECK_EQUAL(tl_scratch(tl, 3, 5, TL_F32, &a), TLA_OK);
        BOOST_CHECK_EQUAL(tl_scratch(tl, 1, 1, TL_U8, &z), TLA_OK);
        BOOST_CHECK_EQUAL(tl_scratch(tl, 1, 4096 - 128, TL_U8, &last), TLA_OK); // what is left
        BOOST_CHECK_EQUAL(z.pa.value - a.pa.value, 64u);
        BOOST_CHECK_EQUAL(last.pa.value - a.pa.value, 128u);
        BOOST_CHECK_EQUAL(a.rows * 10 + a.columns, 35u);
        BOOST_CHECK_EQUAL(a.dtype, TL_F32);
        if (base) BOOST_CHECK_EQUAL(a.pa.value, base);
        base = a.pa.value;
        BOOST_CHECK_EQUAL(used(b), 4096u + 10);
        BOOST_CHECK_EQUAL(tl_fill(tl, &a, 2), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store(tl, {hbm(0)}, 20, &a), TLA_OK);
        return tl_free(tl, &other);
    };
    b.run([&] {
        for (int round = 0; round < 3; round++) {
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
            BOOST_CHECK_EQUAL(used(b), 0u);
        }
        BOOST_CHECK(b.data.read(hbm(56), 4) == floats({2}));
    });
}

BOOST_AUTO_TEST_CASE(the_first_scratch_tile_takes_a_command_and_the_others_their_dispatch) {
    bench b(with_scratch(4096));
    first = [](tl_context *tl) {
        auto start = sc_core::sc_time_stamp();
        const auto took = [&start](tla_status status) {
            BOOST_CHECK_EQUAL(status, TLA_OK);
            return to_ps(sc_core::sc_time_stamp() - std::exchange(start, sc_core::sc_time_stamp()));
        };
        tl_tile tile{};
        const std::uint64_t alloc = took(tl_alloc(tl, 1, 64, TL_U8, &tile));
        took(tl_free(tl, &tile));
        BOOST_CHECK_EQUAL(took(tl_scratch(tl, 1, 64, TL_U8, &tile)), alloc);
        BOOST_CHECK_EQUAL(took(tl_scratch(tl, 1, 64, TL_U8, &tile)), 1000u);
        return TLA_OK;
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
}

BOOST_AUTO_TEST_CASE(a_request_above_the_scratch_area_fails_and_reports_the_requested_and_free_bytes) {
    bench b(with_scratch(1000));
    std::uint32_t rows = 0, columns = 0;
    first = [&](tl_context *tl) {
        tl_tile tile{};
        tl_scratch(tl, 1, 900, TL_U8, &tile);
        const tla_status status = tl_scratch(tl, rows, columns, TL_F64, &tile);
        if (status) BOOST_CHECK_EQUAL(tile.pa.value + tile.rows + tile.columns, 0u);
        return status;
    };
    const auto says = [&](std::uint32_t m, std::uint32_t n, tla_status status, const std::string &text) {
        rows = m, columns = n;
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, status);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text), text);
        BOOST_CHECK_EQUAL(used(b), 0u);
    };
    b.run([&] {
        says(2, 3, TLA_EXHAUSTED,
             "tl_scratch: requested 2 x 3 of f64, 48 bytes, but 40 are free of pe.scratch, 1000 bytes");
        says(UINT32_MAX, UINT32_MAX, TLA_EXHAUSTED,
             "tl_scratch: requested 4294967295 x 4294967295 of f64, 147573952520956936192 bytes, but 40 are free of "
             "pe.scratch, 1000 bytes");
        says(0, 3, TLA_INVALID_ARGUMENT, "tl_scratch: 0 x 3 elements: must be at least 1");
        rows = 1, columns = 5;
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); // to the last byte
    });
}

BOOST_AUTO_TEST_CASE(a_scratch_area_that_does_not_fit_the_tcm_fails_as_any_allocation) {
    bench b(with_scratch(2 * tcm_bytes));
    first = [](tl_context *tl) {
        tl_tile tile{};
        return tl_scratch(tl, 1, 1, TL_U8, &tile);
    };
    b.run([&] {
        const tla_completion completion = b.cpu.command(0, launch(0));
        BOOST_CHECK_EQUAL(completion.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(completion.nbytes, 2 * tcm_bytes);
        BOOST_CHECK_EQUAL(completion.total_free, tcm_bytes);
    });
}

BOOST_AUTO_TEST_CASE(a_scratch_tile_is_not_freed_and_not_held_by_itself) {
    bench b(with_scratch(1024));
    first = [&](tl_context *tl) {
        tl_tile tile{};
        for (int i = 0; i < 2; i++) { // the first lies where the area begins
            BOOST_CHECK_EQUAL(tl_scratch(tl, 1, 64, TL_U8, &tile), TLA_OK);
            BOOST_CHECK_EQUAL(tl_retain(tl, &tile), TLA_INVALID_ARGUMENT);
            BOOST_CHECK_EQUAL(tl_pin(tl, &tile, 0), TLA_INVALID_ARGUMENT);
            BOOST_CHECK_EQUAL(tl_unpin(tl, &tile), TLA_INVALID_ARGUMENT);
            BOOST_CHECK_EQUAL(tl_free(tl, &tile), TLA_INVALID_ARGUMENT);
        }
        return tl_free(tl, &tile);
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_unpin: must be a tile of tl_alloc, not a scratch tile: the scratch area is "
                          "released when the kernel ends"); // a tl_free that fails hides no earlier failure
        BOOST_CHECK_EQUAL(used(b), 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_is_ended_leaves_no_scratch_area) {
    bench b(with_scratch(1024));
    first = [](tl_context *tl) {
        tl_tile tile{};
        tl_alloc(tl, 1, 64, TL_U8, &tile);
        tl_scratch(tl, 1, 64, TL_U8, &tile);
        tl_end(tl, TLA_UNSUPPORTED, "enough");
        return TLA_OK;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(used(b), 0u);
    });
}
