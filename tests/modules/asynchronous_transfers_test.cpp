// Loads and stores that a kernel begins and waits for later: their order, their time, their errors, their end.
#include "../unit/seeded_random.hpp"
#include "element_bench.hpp"
#include "tlmalloc/kernel/pipeline.h"

#include <string>

using namespace element_bench;

using direction = pe_dma::direction;

namespace {

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

void check_ok(tla_status status) {
    BOOST_CHECK_EQUAL(status, TLA_OK);
}

// Four tiles of 4 KiB.
struct four_tiles {
    explicit four_tiles(tl_context *context) : tl(context) {
        for (tl_tile &tile : tiles)
            check_ok(tl_alloc(tl, 32, 32, TL_F32, &tile));
    }
    tla_status free() { return tl_free_tiles(tl, tiles, 4, TLA_OK); }

    tl_context *const tl;
    tl_tile tiles[4]{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_transfer_that_is_waited_for_at_once_takes_what_a_blocking_one_takes) {
    bench b;
    first = [](tl_context *tl) {
        four_tiles all(tl);
        check_ok(tl_load(tl, &all.tiles[0], {hbm(0)}, 128));
        check_ok(tl_store(tl, {hbm(8192)}, 256, &all.tiles[0]));
        return all.free();
    };
    second = [](tl_context *tl) {
        four_tiles all(tl);
        tl_handle handle{};
        check_ok(tl_load_async(tl, &all.tiles[0], {hbm(0)}, 128, &handle));
        BOOST_CHECK_NE(handle.value, 0u);
        check_ok(tl_wait(tl, handle));
        check_ok(tl_store_async(tl, {hbm(8192)}, 256, &all.tiles[0], &handle));
        check_ok(tl_wait(tl, handle));
        return all.free();
    };
    b.run([&] {
        std::uint64_t took[2]{};
        for (std::uint32_t kernel = 0; kernel < 2; kernel++) {
            sc_core::wait(sc_core::sc_time(100, sc_core::SC_US) * (kernel + 1) - sc_core::sc_time_stamp());
            check_ok(b.cpu.command(0, launch(kernel)).status);
            took[kernel] = b.element.last_run().end_ps - b.element.last_run().start_ps;
        }
        BOOST_CHECK_EQUAL(took[0], took[1]); // the dispatch of a wait passes while the transfer goes on
    });
}

BOOST_AUTO_TEST_CASE(bytes_come_and_go_while_an_engine_computes) {
    bench b;
    std::uint64_t apart = 0, together = 0;
    first = [&](tl_context *tl) {
        four_tiles all(tl);
        tl_handle in{}, out{};
        std::uint64_t begun = now();
        check_ok(tl_load(tl, &all.tiles[0], {hbm(0)}, 128));
        check_ok(tl_fill(tl, &all.tiles[1], 3));
        check_ok(tl_store(tl, {hbm(16384)}, 128, &all.tiles[2]));
        apart = now() - begun;
        begun = now();
        check_ok(tl_load_async(tl, &all.tiles[0], {hbm(0)}, 128, &in));
        check_ok(tl_store_async(tl, {hbm(16384)}, 128, &all.tiles[2], &out));
        check_ok(tl_fill(tl, &all.tiles[1], 3));
        check_ok(tl_wait(tl, in));
        check_ok(tl_wait(tl, out));
        together = now() - begun;
        check_ok(tl_add(tl, &all.tiles[0], &all.tiles[0], &all.tiles[1]));
        check_ok(tl_store_async(tl, {hbm(8192)}, 128, &all.tiles[0], nullptr)); // waited for at the end
        check_ok(tl_wait_all(tl));
        return all.free();
    };
    b.run([&] {
        b.data.write(hbm(0), floats({1, 2, 3, 4}));
        check_ok(b.cpu.command(0, launch(0)).status);
        BOOST_CHECK(b.data.read(hbm(8192), 16) == floats({4, 5, 6, 7}));
    });
    BOOST_CHECK_LT(together, apart);
}

BOOST_AUTO_TEST_CASE(each_engine_moves_one_transfer_at_a_time_in_the_order_of_the_calls) {
    seeded_random random(12);
    processing_element::config config = settings();
    config.outstanding = 400;
    bench b(config);
    struct moved {
        std::uint64_t va, start_ps, end_ps;
    };
    struct asked {
        std::uint64_t va, at_ps;
    };
    std::vector<moved> engines[2];
    std::vector<asked> calls[2];
    b.dma.ended = [&](const pe_dma::request &what, std::uint64_t start_ps, std::uint64_t end_ps, const auto &) {
        engines[what.way == direction::write].push_back({what.va.value, start_ps, end_ps});
    };
    first = [&](tl_context *tl) {
        const auto below = [&random](std::uint64_t n) { return static_cast<std::uint32_t>(random.between(0, n - 1)); };
        four_tiles all(tl);
        std::vector<tl_handle> handles;
        for (int i = 0; i < 400; i++) {
            const bool write = below(2) == 1;
            const tl_tile &whole = all.tiles[below(2) + (write ? 2 : 0)]; // no engine waits for the other's tiles
            const tl_tile tile = tl_view(tl, &whole, 0, 0, 1 + below(32), 32);
            const std::uint64_t va = hbm(std::uint64_t{4096} * below(slice_bytes / 8192));
            tl_handle handle{};
            switch (below(4)) {
            case 0: // blocking: asked for when its dispatch is over
                calls[write].push_back({va, now() + 1000});
                check_ok(write ? tl_store(tl, {va}, 128, &tile) : tl_load(tl, &tile, {va}, 128));
                break;
            case 1:
                if (handles.empty()) break;
                check_ok(tl_wait(tl, handles.front()));
                handles.erase(handles.begin());
                break;
            default:
                calls[write].push_back({va, now() + 1000});
                check_ok(write ? tl_store_async(tl, {va}, 128, &tile, &handle)
                               : tl_load_async(tl, &tile, {va}, 128, &handle));
                BOOST_CHECK_EQUAL(now(), calls[write].back().at_ps); // it does not wait
                handles.push_back(handle);
            }
        }
        check_ok(tl_wait_all(tl));
        return all.free();
    };
    b.run([&] { check_ok(b.cpu.command(0, launch(0)).status); });
    for (int way = 0; way < 2; way++) {
        BOOST_REQUIRE_EQUAL(engines[way].size(), calls[way].size());
        std::uint64_t free_ps = 0;
        for (std::size_t i = 0; i < calls[way].size(); i++) {
            BOOST_CHECK_EQUAL(engines[way][i].va, calls[way][i].va);
            BOOST_CHECK_EQUAL(engines[way][i].start_ps, std::max(calls[way][i].at_ps, free_ps));
            free_ps = engines[way][i].end_ps;
        }
    }
}

BOOST_AUTO_TEST_CASE(the_wait_for_a_failed_transfer_reports_the_error) {
    bench b;
    first = [](tl_context *tl) {
        four_tiles all(tl);
        tl_handle bad{}, good{}, worse{};
        check_ok(tl_load_async(tl, &all.tiles[0], {hbm(slice_bytes)}, 128, &bad)); // past the end of the slice
        check_ok(tl_load_async(tl, &all.tiles[1], {hbm(0)}, 128, &good));
        check_ok(tl_store_async(tl, {0x123456789}, 128, &all.tiles[2], &worse));
        check_ok(tl_wait(tl, good));
        BOOST_CHECK_EQUAL(tl_wait_all(tl), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(tl_wait(tl, worse), TLA_NOT_FOUND); // was waited for
        check_ok(all.free());
        return tl_argument(tl, 0) ? TLA_BUS_ERROR : TLA_NOT_FOUND;
    };
    second = [](tl_context *tl) {
        four_tiles all(tl);
        check_ok(tl_store_async(tl, {0x123456789}, 128, &all.tiles[2], nullptr));
        if (!tl_argument(tl, 0)) tl_wait_all(tl);
        tl_tile crooked = all.tiles[0];
        crooked.pitch = 3;
        tl_handle handle{77};
        BOOST_CHECK_EQUAL(tl_load_async(tl, &crooked, {hbm(0)}, 128, &handle), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(handle.value, 0u);
        check_ok(tl_wait(tl, handle)); // of nothing
        if (tl_argument(tl, 0)) tl_retain(tl, &all.tiles[2]);
        check_ok(all.free());
        return TLA_OK;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_NOT_FOUND);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_wait: handle 3 is not an outstanding operation of this kernel");
        check_ok(b.cpu.command(0, launch(1, {0})).status);
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1, {1})).status, TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_store_async to 0x123456789: a transaction returned an error response: the memory must be "
                          "mapped and writable (of a tensor that is TL_OUT or TL_INOUT)");
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_was_ended_leaves_nothing_under_way) {
    bench b;
    std::uint64_t last_end_ps = 0;
    unsigned moved = 0;
    b.dma.ended = [&](const pe_dma::request &, std::uint64_t, std::uint64_t end_ps, const auto &) {
        last_end_ps = std::max(last_end_ps, end_ps);
        moved++;
    };
    first = [](tl_context *tl) -> tla_status {
        four_tiles all(tl);
        for (int i = 0; i < 8; i++)
            check_ok(tl_store_async(tl, {hbm(static_cast<std::uint64_t>(i) * 4096)}, 128, &all.tiles[0], nullptr));
        volatile int *nowhere = nullptr;
        return static_cast<tla_status>(*nowhere);
    };
    second = [](tl_context *tl) {
        tl_tile tile{};
        check_ok(tl_alloc(tl, 64, 256, TL_F32, &tile)); // all of the TCM
        check_ok(tl_load_async(tl, &tile, {hbm(0)}, 1024, nullptr));
        check_ok(tl_wait_all(tl));
        return tl_free(tl, &tile);
    };
    b.run([&] {
        for (int round = 0; round < 2; round++) {
            moved = 0;
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_CRASHED);
            BOOST_CHECK_LE(last_end_ps, b.element.last_run().end_ps);
            BOOST_CHECK_GE(moved, 1u);
            BOOST_CHECK_LT(moved, 8u); // those in the queue were never begun
            BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
            const unsigned at_the_end = moved;
            sc_core::wait(10, sc_core::SC_US);
            BOOST_CHECK_EQUAL(moved, at_the_end);
            check_ok(b.cpu.command(0, launch(1)).status);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_tile_stays_until_what_uses_it_was_waited_for) {
    bench b;
    first = [](tl_context *tl) {
        four_tiles all(tl);
        tl_handle handle{};
        const tl_tile corner = tl_view(tl, &all.tiles[1], 30, 0, 2, 32);
        check_ok(tl_load_async(tl, &corner, {hbm(0)}, 128, &handle));
        check_ok(tl_free(tl, &all.tiles[0]));
        check_ok(tl_free(tl, &all.tiles[2]));
        BOOST_CHECK_EQUAL(tl_free(tl, &all.tiles[1]), TLA_BUSY);
        check_ok(tl_retain(tl, &all.tiles[1]));
        check_ok(tl_free(tl, &all.tiles[1])); // one reference stays
        const tla_status refused = tl_free(tl, &all.tiles[1]);
        BOOST_CHECK_EQUAL(refused, TLA_BUSY);
        check_ok(tl_wait(tl, handle));
        check_ok(tl_free(tl, &all.tiles[1]));
        check_ok(tl_free(tl, &all.tiles[3]));
        return refused;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_free: the tile is still used by tl_load_async (handle 1): call tl_wait first");
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(no_more_may_be_begun_than_the_configuration_says) {
    processing_element::config config = settings();
    config.outstanding = 3;
    bench b(config);
    first = [](tl_context *tl) {
        four_tiles all(tl);
        for (int i = 0; i < 3; i++)
            check_ok(tl_load_async(tl, &all.tiles[i], {hbm(0)}, 128, nullptr));
        const tla_status refused = tl_store_async(tl, {hbm(0)}, 128, &all.tiles[3], nullptr);
        BOOST_CHECK_EQUAL(refused, TLA_LIMIT);
        check_ok(tl_wait_all(tl));
        check_ok(tl_store_async(tl, {hbm(8192)}, 128, &all.tiles[3], nullptr));
        check_ok(tl_wait_all(tl));
        check_ok(all.free());
        return refused;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_LIMIT);
        BOOST_CHECK_EQUAL(
            std::string(b.element.last_run().problem.text),
            "tl_store_async: 4 operations are outstanding: must be at most pe.outstanding, 3; call tl_wait");
    });
}
