// processing_element: launches, what a kernel's calls do and take, and what they refuse.
#include "element_bench.hpp"

#include <csignal>
#include <stdexcept>

using namespace element_bench;

BOOST_AUTO_TEST_CASE(a_launch_runs_its_kernel_and_answers_with_its_status) {
    bench b;
    first = [](tl_context *tl) {
        BOOST_CHECK_EQUAL(tl_program_id(tl, TL_ALL), 3u);
        BOOST_CHECK_EQUAL(tl_num_programs(tl, TL_ALL), 8u);
        BOOST_CHECK_EQUAL(tl_argument(tl, 0), 77u);
        BOOST_CHECK_EQUAL(tl_argument(tl, 1), UINT64_MAX);
        BOOST_CHECK_EQUAL(tl_argument(tl, 2), 0u);
        return TLA_OK;
    };
    second = [](tl_context *) { return TLA_LIMIT; };
    b.run([&] {
        sc_core::sc_time delay;
        const tla_completion answer = b.cpu.command(0, launch(0, {77, UINT64_MAX}), delay);
        BOOST_CHECK_EQUAL(answer.status, TLA_OK);
        BOOST_CHECK_EQUAL(local_ps(delay), 2000u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1)).status, TLA_LIMIT);
        BOOST_CHECK_EQUAL(b.element.last_run().status, TLA_LIMIT);
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(2)).status, TLA_NOT_FOUND); // there is no kernel 2
        tla_command alloc = alloc_command(TLA_TCM, 1);
        alloc.target = TLA_TARGET_PROCESSING_ELEMENT;
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc).status, TLA_BAD_COMMAND);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_ends_for_want_of_tcm_is_answered_with_the_request_and_the_free_bytes) {
    bench b;
    first = [](tl_context *tl) { // 16, 16 and 16 KiB of 64, the middle one given back
        tl_tile tiles[3], more{};
        for (tl_tile &tile : tiles)
            BOOST_CHECK_EQUAL(tl_alloc(tl, 64, 64, TL_F32, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_free(tl, &tiles[1]), TLA_OK);
        const tla_status status = tl_alloc(tl, 64, 96, TL_F32, &more);
        BOOST_CHECK_EQUAL(status, TLA_FRAGMENTED);
        for (const tl_tile *tile : {&tiles[0], &tiles[2]})
            BOOST_CHECK_EQUAL(tl_free(tl, tile), TLA_OK);
        return status;
    };
    second = [](tl_context *tl) { // goes on with less, and ends well or for another reason
        tl_tile tile{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 1024, 1024, TL_F32, &tile), TLA_EXHAUSTED);
        return static_cast<tla_status>(tl_argument(tl, 0));
    };
    b.run([&] {
        tla_completion answer = b.cpu.command(0, launch(0));
        BOOST_CHECK_EQUAL(answer.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(answer.nbytes, 24u << 10);
        BOOST_CHECK_EQUAL(answer.total_free, 32u << 10);
        BOOST_CHECK_EQUAL(answer.largest_free, 16u << 10);
        for (tla_status other : {TLA_OK, TLA_LIMIT}) {
            answer = b.cpu.command(0, launch(1, {static_cast<std::uint64_t>(other)}));
            BOOST_CHECK_EQUAL(answer.status, other);
            BOOST_CHECK_EQUAL(answer.nbytes, 0u);
            BOOST_CHECK_EQUAL(answer.total_free, 0u);
        }
    });
}

BOOST_AUTO_TEST_CASE(the_calls_compute_on_real_bytes_and_their_times_add_up) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile a{}, c{}, sum{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 2, TL_F32, &a), TLA_OK);
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 2, TL_F32, &c), TLA_OK);
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 2, TL_F32, &sum), TLA_OK);
        BOOST_CHECK_EQUAL(tl_load(tl, &a, {hbm(0)}, 8), TLA_OK);
        BOOST_CHECK_EQUAL(tl_fill(tl, &c, 2.0f), TLA_OK);
        BOOST_CHECK_EQUAL(tl_fill(tl, &sum, 0.5f), TLA_OK);
        BOOST_CHECK_EQUAL(tl_dot(tl, &sum, &a, &c), TLA_OK);
        BOOST_CHECK_EQUAL(tl_add(tl, &c, &sum, &a), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store(tl, {hbm(4096)}, 100, &c), TLA_OK);
        for (const tl_tile *tile : {&a, &c, &sum})
            BOOST_CHECK_EQUAL(tl_free(tl, tile), TLA_OK);
        return TLA_OK;
    };
    b.run([&] {
        b.data.write(hbm(0), floats({1, 2, 3, 4}));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK(b.data.read(hbm(4096), 8) == floats({7.5f, 8.5f})); // [1 2; 3 4] * 2 + 0.5 + [1 2; 3 4]
        BOOST_CHECK(b.data.read(hbm(4096 + 100), 8) == floats({17.5f, 18.5f}));
    });
    const processing_element::run &run = b.element.last_run();
    BOOST_CHECK_EQUAL(run.alloc_ps, 6 * 10'000u); // three ALLOCs and three FREEs
    // Every call spends its dispatch time, and nothing is counted twice.
    BOOST_CHECK_EQUAL(run.end_ps - run.start_ps, run.alloc_ps + run.dma_ps + run.compute_ps + 12 * 1000);
    BOOST_CHECK_GT(run.dma_ps, 0u);
    BOOST_CHECK_GT(run.compute_ps, 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
}

BOOST_AUTO_TEST_CASE(references_and_pins_hold_a_tile_as_commands_do) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 2, TL_F32, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_unpin(tl, &tile), TLA_NOT_ALLOCATED); // below zero
        BOOST_CHECK_EQUAL(tl_retain(tl, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_pin(tl, &tile, 0), TLA_OK);
        BOOST_CHECK_EQUAL(tl_free(tl, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_free(tl, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_free(tl, &tile), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(tl_fill(tl, &tile, 1.0f), TLA_OK); // still there
        BOOST_CHECK_EQUAL(tl_pin(tl, &tile, UINT64_MAX), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tl_unpin(tl, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_retain(tl, &tile), TLA_NOT_ALLOCATED); // dead
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 2, TL_F32, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_pin(tl, &tile, 5000), TLA_OK); // ends after the kernel has
        return tl_free(tl, &tile);
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 16u);
        sc_core::wait(10, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).objects.timeouts, 1u);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_is_ended_leaves_neither_references_nor_pins) {
    bench b;
    first = [](tl_context *tl) -> tla_status {
        tl_tile tile{};
        tl_alloc(tl, 2, 2, TL_F32, &tile);
        tl_retain(tl, &tile);
        tl_pin(tl, &tile, 0);
        tl_pin(tl, &tile, 0);
        volatile int *nowhere = nullptr;
        return static_cast<tla_status>(*nowhere);
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_CRASHED);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).objects.references, 0u);
    });
}

BOOST_AUTO_TEST_CASE(a_dot_takes_two_operations_for_each_product_on_the_gemm_engine) {
    processing_element::config config = settings();
    config.gemm_rate = 1'000'000'000'000; // one operation a ps
    config.dispatch_ps = 0;
    bench b(config);
    first = [](tl_context *tl) {
        tl_tile a{}, c{}, sum{};
        tl_alloc(tl, 8, 16, TL_F16, &a);
        tl_alloc(tl, 16, 4, TL_F16, &c);
        tl_alloc(tl, 8, 4, TL_F32, &sum);
        return tl_dot(tl, &sum, &a, &c);
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
    // three operands of 256, 128 and 128 bytes are fetched at 512 GB/s, one is written back
    BOOST_CHECK_EQUAL(b.element.last_run().compute_ps, 2u * 8 * 16 * 4 + 500 + 250 + 250 + 250);
}

BOOST_AUTO_TEST_CASE(a_launch_while_a_kernel_runs_is_busy) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        return tl_alloc(tl, 1, 1, TL_F32, &tile);
    };
    b.run([&] {
        sc_core::sc_time one, two;
        BOOST_CHECK_EQUAL(b.cpu.post(0, launch(0), one), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.command(TLA_PORT_BYTES, launch(0), two).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, one).status, TLA_OK);
        BOOST_CHECK_EQUAL(local_ps(one), 13'000u);
        BOOST_CHECK_EQUAL(b.cpu.command(TLA_PORT_BYTES, launch(0), one).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_ran_ahead_of_the_kernel_of_systemc_is_busy_until_its_own_time) {
    processing_element::config config = settings();
    config.quantum_ps = 1'000'000;
    bench b(config);
    first = [](tl_context *tl) {
        tl_tile tile{};
        return tl_alloc(tl, 1, 1, TL_F32, &tile);
    };
    b.run([&] {
        sc_core::sc_time one, two;
        b.cpu.post(0, launch(0), one);
        sc_core::wait(5, sc_core::SC_NS); // the kernel has returned at 2 ns, but ends at 13 ns
        BOOST_CHECK_EQUAL(b.cpu.command(TLA_PORT_BYTES, launch(0), two).status, TLA_BUSY);
        set_local_ps(two, 13'000);
        BOOST_CHECK_EQUAL(b.cpu.command(TLA_PORT_BYTES, launch(0), two).status, TLA_OK);
        BOOST_CHECK_EQUAL(local_ps(two), 26'000u);
    });
}

BOOST_AUTO_TEST_CASE(calls_return_their_failures_and_the_kernel_continues) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{{1}, 2, 3, TL_F16}, wide{}, narrow{}, sum{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 1, tcm_bytes, TL_F32, &tile), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(tile.pa.value, 0u); // all zero
        BOOST_CHECK_EQUAL(tile.rows, 0u);
        BOOST_CHECK_EQUAL(tl_alloc(tl, 4, 8, TL_F16, &wide), TLA_OK);
        BOOST_CHECK_EQUAL(tl_alloc(tl, 4, 4, TL_F16, &narrow), TLA_OK);
        BOOST_CHECK_EQUAL(tl_alloc(tl, 4, 4, TL_F32, &sum), TLA_OK);
        BOOST_CHECK_EQUAL(tl_dot(tl, &sum, &wide, &narrow), TLA_INVALID_ARGUMENT);      // 8 columns, 4 rows
        BOOST_CHECK_EQUAL(tl_dot(tl, &narrow, &narrow, &narrow), TLA_INVALID_ARGUMENT); // sums are f32
        BOOST_CHECK_EQUAL(tl_add(tl, &sum, &wide, &narrow), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tl_convert(tl, &wide, &sum), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tl_load(tl, &narrow, {hbm(slice_bytes)}, 8), TLA_BUS_ERROR); // past the end of the slice
        BOOST_CHECK_EQUAL(tl_store(tl, {0x123456789}, 8, &narrow), TLA_BUS_ERROR);
        tl_tile gone = narrow;
        BOOST_CHECK_EQUAL(tl_free(tl, &gone), TLA_OK);
        BOOST_CHECK_EQUAL(tl_free(tl, &gone), TLA_NOT_ALLOCATED);
        gone.pa.value = hbm(slice_bytes);
        BOOST_CHECK_EQUAL(tl_free(tl, &gone), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(tl_fill(tl, &gone, 1.0f), TLA_BUS_ERROR);
        return TLA_OK;
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
}

BOOST_AUTO_TEST_CASE(a_kernel_that_faults_is_answered_with_its_reason_and_the_next_one_runs) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        tl_alloc(tl, 16, 16, TL_F32, &tile);
        *reinterpret_cast<volatile int *>(tl_argument(tl, 0)) = 1;
        return TLA_OK;
    };
    second = [](tl_context *tl) {
        tl_tile tile{};
        const tla_status status = tl_alloc(tl, 64, 256, TL_F32, &tile); // all of the TCM: nothing is held any more
        return status ? status : tl_free(tl, &tile);
    };
    b.run([&] {
        for (int round = 0; round < 3; round++) {
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0, {24})).status, TLA_CRASHED);
            BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                              "segmentation fault at address 0x18 in its own code after tl_alloc, its call 1");
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1)).status, TLA_OK);
            BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text), "");
        }
    });
}

BOOST_AUTO_TEST_CASE(an_exception_passes_a_kernel_and_reaches_the_waiting_caller) {
    bench b;
    first = [](tl_context *) -> tla_status { throw std::runtime_error("out of the kernel"); };
    BOOST_CHECK_THROW(b.run([&] { b.cpu.command(0, launch(0)); }), std::exception);
}

BOOST_AUTO_TEST_CASE(handlers_of_signals_are_those_of_before_when_no_kernel_runs) {
    const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGRTMAX - 2};
    const auto handlers = [&] {
        std::vector<void (*)(int)> all;
        for (const int number : numbers) {
            struct sigaction action {};
            sigaction(number, nullptr, &action);
            all.push_back(action.sa_handler);
        }
        return all;
    };
    bench b;
    const auto before = handlers();
    std::vector<void (*)(int)> inside;
    first = [&](tl_context *) {
        inside = handlers();
        return TLA_OK;
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
    BOOST_CHECK(handlers() == before);
    BOOST_CHECK(inside != before);
}

BOOST_AUTO_TEST_CASE(a_view_is_a_part_of_its_tile_for_engines_and_dma) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 3, 4, TL_F32, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_fill(tl, &tile, 1), TLA_OK);
        const tl_tile middle = tl_view(tl, &tile, 1, 1, 2, 2), corner = tl_view(tl, &middle, 1, 1, 1, 1);
        BOOST_CHECK_EQUAL(tl_load(tl, &middle, {hbm(0)}, 8), TLA_OK); // rows that touch there, and not here
        BOOST_CHECK_EQUAL(tl_add(tl, &corner, &corner, &corner), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store(tl, {hbm(4096)}, 16, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store(tl, {hbm(8192)}, 8, &middle), TLA_OK);
        tl_tile crooked = tile;
        crooked.pitch = 3;
        BOOST_CHECK_EQUAL(tl_fill(tl, &crooked, 1), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tl_load(tl, &crooked, {hbm(0)}, 16), TLA_INVALID_ARGUMENT);
        return tl_free(tl, &tile);
    };
    b.run([&] {
        b.data.write(hbm(0), floats({2, 3, 4, 5}));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK(b.data.read(hbm(4096), 48) == floats({1, 1, 1, 1, 1, 2, 3, 1, 1, 4, 10, 1}));
        BOOST_CHECK(b.data.read(hbm(8192), 16) == floats({2, 3, 4, 10}));
    });
}

BOOST_AUTO_TEST_CASE(a_view_that_is_not_inside_its_tile_ends_the_kernel_and_writes_nowhere) {
    const struct {
        std::uint32_t row, column, rows, columns;
    } outside[] = {{3, 0, 1, 4}, {0, 4, 1, 1},          {2, 0, 2, 4},
                   {0, 1, 3, 4}, {UINT32_MAX, 0, 2, 1}, {0, 2, 1, UINT32_MAX}};
    bench b;
    const tl_tile *seen = nullptr;
    std::size_t round = 0;
    first = [&](tl_context *tl) {
        tl_tile tile{};
        tl_alloc(tl, 3, 4, TL_F32, &tile);
        tl_fill(tl, &tile, 1);
        const auto &o = outside[round];
        const tl_tile part = tl_view(tl, &tile, o.row, o.column, o.rows, o.columns);
        seen = &part;
        return tl_fill(tl, &part, 2);
    };
    b.run([&] {
        for (; round < std::size(outside); round++) {
            BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
            BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
            if (round == 2)
                BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                                  "tl_view: a view of 2 x 4 from row 2 and column 0: must be inside the tile of 3 x 4");
        }
        BOOST_CHECK(!seen);
    });
}

BOOST_AUTO_TEST_CASE(a_program_is_numbered_along_every_axis_and_along_no_other) {
    processing_element::config config = settings();
    config.places[TL_PE] = {5, 8};
    config.places[TL_CUBE] = {11, 16};
    config.places[TL_SIP] = {1, 2};
    bench b(config);
    first = [](tl_context *tl) {
        const std::uint32_t ids[] = {5, 11, 1, 3}, counts[] = {8, 16, 2, 8};
        for (std::uint32_t axis = 0; axis < TL_AXIS_COUNT; axis++) {
            BOOST_CHECK_EQUAL(tl_program_id(tl, axis), ids[axis]);
            BOOST_CHECK_EQUAL(tl_num_programs(tl, axis), counts[axis]);
        }
        return tl_num_programs(tl, UINT32_MAX) ? TLA_OK : TLA_OK;
    };
    second = [](tl_context *tl) { return tl_program_id(tl, 4) ? TLA_OK : TLA_OK; };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_num_programs: axis 4294967295 must be TL_PE, TL_CUBE, TL_SIP or TL_ALL");
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_program_id: axis 4 must be TL_PE, TL_CUBE, TL_SIP or TL_ALL");
    });
}

BOOST_AUTO_TEST_CASE(a_kernel_ends_itself_with_its_own_status_and_words) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        tl_alloc(tl, 2, 2, TL_F32, &tile);
        tl_end(tl, TLA_UNSUPPORTED, "the moon is full");
        return TLA_OK;
    };
    second = [](tl_context *tl) {
        tl_end(tl, TLA_OK, "nothing"); // not a status to end with
        return TLA_OK;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text), "the moon is full");
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1)).status, TLA_INVALID_ARGUMENT);
        second = [](tl_context *) { return TLA_OK; }; // the next one is not concerned
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(1)).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(masks_keep_ragged_edges_and_masks_outside_their_range_are_rejected) {
    bench b;
    first = [](tl_context *tl) {
        tl_tile tile{};
        BOOST_CHECK_EQUAL(tl_alloc(tl, 2, 3, TL_F32, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_load_masked(tl, &tile, {hbm(0)}, 12, 1, 2, -1), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store(tl, {hbm(4096)}, 12, &tile), TLA_OK);
        BOOST_CHECK_EQUAL(tl_load_masked(tl, &tile, {hbm(slice_bytes)}, 12, 2, 0, 7), TLA_OK); // nothing is read
        BOOST_CHECK_EQUAL(tl_store_masked(tl, {hbm(8192)}, 12, &tile, 2, 1), TLA_OK);
        BOOST_CHECK_EQUAL(tl_store_masked(tl, {hbm(8192)}, 12, &tile, 3, 1), TLA_INVALID_ARGUMENT);
        const tla_status status = tl_load_masked(tl, &tile, {hbm(0)}, 12, 2, 4, 0);
        BOOST_CHECK_EQUAL(tl_free(tl, &tile), TLA_OK);
        return status;
    };
    b.run([&] {
        b.data.write(hbm(0), floats({2, 3, 4, 5, 6, 7}));
        b.data.write(hbm(8192), floats({1, 1, 1, 1, 1, 1}));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(std::string(b.element.last_run().problem.text),
                          "tl_load_masked: a mask of 2 x 4 for a tile of 2 x 3: must not exceed the tile");
        BOOST_CHECK(b.data.read(hbm(4096), 24) == floats({2, 3, -1, -1, -1, -1}));
        BOOST_CHECK(b.data.read(hbm(8192), 24) == floats({7, 1, 1, 7, 1, 1}));
    });
}

BOOST_AUTO_TEST_CASE(an_operation_of_the_vector_engine_takes_its_dispatch_its_operands_and_its_elements) {
    processing_element::config config = settings();
    config.vector_rate = 1'000'000'000'000; // one operation a ps
    bench b(config);
    std::uint64_t start = 0;
    const auto took = [&](tla_status status) {
        BOOST_CHECK_EQUAL(status, TLA_OK);
        const std::uint64_t now = to_ps(sc_core::sc_time_stamp()), time = now - start;
        start = now;
        return time;
    };
    first = [&](tl_context *tl) {
        tl_tile a{}, row{}, out{}, sums{};
        tl_alloc(tl, 8, 16, TL_F32, &a);
        tl_alloc(tl, 1, 16, TL_F16, &row);
        tl_alloc(tl, 8, 16, TL_F32, &out);
        tl_alloc(tl, 8, 1, TL_F32, &sums);
        took(tl_fill(tl, &a, 2));
        took(tl_fill(tl, &row, 3));
        // Dispatch; 512 and 32 bytes are read at 512 GB/s, 512 are written, and 128 operations are done.
        BOOST_CHECK_EQUAL(took(tl_mul(tl, &out, &a, &row)), 1000u + 1000 + 63 + 128 + 1000);
        BOOST_CHECK_EQUAL(took(tl_sum(tl, 1, &sums, &out)), 1000u + 1000 + 128 + 63);
        BOOST_CHECK_EQUAL(took(tl_softmax(tl, &out, &out)), 1000u + 1000 + 5 * 128 + 1000);
        BOOST_CHECK_EQUAL(took(tl_where(tl, &out, &sums, &a, &row)), 1000u + 63 + 1000 + 63 + 128 + 1000);
        BOOST_CHECK_EQUAL(took(tl_store(tl, {hbm(0)}, 4, &sums)) > 0, true);
        BOOST_CHECK_EQUAL(tl_exp(tl, &row, &a), TLA_INVALID_ARGUMENT);
        return TLA_OK;
    };
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
        BOOST_CHECK(b.data.read(hbm(0), 8) == floats({96, 96}));
    });
}

BOOST_AUTO_TEST_CASE(a_vector_engine_with_cycles_works_in_whole_ones) {
    processing_element::config config = settings();
    config.vector_rate = 1'000'000'000'000;
    config.vector_cycle_ps = 300;
    bench b(config);
    first = [](tl_context *tl) {
        tl_tile a{}, out{};
        tl_alloc(tl, 8, 16, TL_F32, &a);
        tl_alloc(tl, 8, 16, TL_F32, &out);
        const std::uint64_t before = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(tl_mul(tl, &out, &a, &a), TLA_OK); // 128 ps: a cycle
        const std::uint64_t between = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(between - before, 1000u + 2 * 1000 + 300 + 1000);
        BOOST_CHECK_EQUAL(tl_softmax(tl, &out, &a), TLA_OK); // 640 ps: three
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()) - between, 1000u + 1000 + 900 + 1000);
        return TLA_OK;
    };
    b.run([&] { BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK); });
}

// mmu.overhead_at: call. Once a call, however many chunks it has, and in the time of the DMA.
BOOST_AUTO_TEST_CASE(a_load_and_a_store_pay_their_translation_once) {
    processing_element::config config = settings();
    config.translation_ps = 700;
    bench b(config);
    std::uint64_t times[2] = {};
    first = [&](tl_context *tl) {
        tl_tile a{};
        tl_alloc(tl, 8, 128, TL_F32, &a); // 16 chunks
        tl_handle handle{};
        const std::uint64_t before = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(tl_load(tl, &a, {hbm(0)}, 512), TLA_OK);
        const std::uint64_t between = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(tl_load_async(tl, &a, {hbm(0)}, 512, &handle), TLA_OK);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()) - between, 1000u + 700);
        BOOST_CHECK_EQUAL(tl_wait(tl, handle), TLA_OK);
        times[0] = between - before;
        times[1] = to_ps(sc_core::sc_time_stamp()) - between;
        return TLA_OK;
    };
    b.run([&] {
        b.data.write(hbm(0), bytes(4096));
        BOOST_CHECK_EQUAL(b.cpu.command(0, launch(0)).status, TLA_OK);
    });
    // The call of tl_wait dispatches while the transfer is under way.
    BOOST_CHECK_EQUAL(times[0], times[1]);
    const processing_element::run &run = b.element.last_run();
    BOOST_CHECK_EQUAL(run.dma_ps, (times[0] - 1000) + (times[1] - 1000 - 700 - 1000));
}
