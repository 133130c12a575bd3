// memory_controller: commands in time, completions, and data accesses by physical address.
#include "../unit/naive_engine.hpp"
#include "controller_bench.hpp"
#include "data_target.hpp"

#include <tlm_utils/simple_target_socket.h>

using namespace controller_bench;
using namespace data_targets;

// --- commands --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(alloc_answers_with_the_lowest_address_that_fits) {
    bench b;
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value, hbm(0));
        const tla_completion second = b.cpu.command(0, alloc_command(TLA_HBM, 500));
        BOOST_CHECK_EQUAL(second.value, hbm(1000));
        BOOST_CHECK_EQUAL(second.nbytes, 500u);
        BOOST_CHECK_EQUAL(second.total_free, slice_bytes - 1500);
        BOOST_CHECK_EQUAL(second.largest_free, slice_bytes - 1500);
        BOOST_CHECK_EQUAL(second.nodes_visited, 1u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_TCM, 64)).value, tcm_at(0));
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(0), 1000)).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 2000)).nodes_visited, 2u); // past the hole
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 600)).value, hbm(0));      // into the hole
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.allocs, 4u);
    BOOST_CHECK_EQUAL(s.frees, 1u);
    BOOST_CHECK_EQUAL(s.failed, 0u);
    BOOST_CHECK_EQUAL(s.nodes_visited, 1u + 1 + 2 + 1);
    BOOST_CHECK_EQUAL(s.arena.used, 500u + 2000 + 600);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).allocs, 1u);
}

BOOST_AUTO_TEST_CASE(a_command_takes_the_price_of_its_receipt) {
    memory_controller::config config = small();
    config.cost.fixed_ps = 10'000;
    config.cost.node_ps = 1000;
    config.cost.split_ps = 300;
    bench b(config);
    b.run([&] {
        sc_core::sc_time delay;
        const tla_completion answer = b.cpu.command(0, alloc_command(TLA_HBM, 256), delay);
        BOOST_CHECK_EQUAL(answer.service_ps, 11'300u); // one node looked at and split
        BOOST_CHECK_EQUAL(local_ps(delay), 11'300u);
        b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes - 256), delay); // taken whole: nothing is split
        BOOST_CHECK_EQUAL(local_ps(delay), 11'300u + 11'000);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).busy_ps, 22'300u);
}

BOOST_AUTO_TEST_CASE(a_second_command_waits_for_the_engine) {
    memory_controller::config config = small();
    config.cost.fixed_ps = 20'000;
    bench b(config);
    b.run([&] {
        sc_core::sc_time first, second; // two senders, both at time 0, each with a port of its own
        b.cpu.post(0, alloc_command(TLA_HBM, 256), first);
        b.cpu.post(TLA_PORT_BYTES, alloc_command(TLA_TCM, 256), second);
        BOOST_CHECK_EQUAL(local_ps(first), 0u);
        BOOST_CHECK_EQUAL(local_ps(second), 0u); // there is room in the queue
        b.cpu.completion(0, first);
        b.cpu.completion(TLA_PORT_BYTES, second);
        BOOST_CHECK_EQUAL(local_ps(first), 20'000u);
        BOOST_CHECK_EQUAL(local_ps(second), 40'000u); // one engine for both memories
    });
}

BOOST_AUTO_TEST_CASE(a_full_queue_holds_the_writer_up) {
    memory_controller::config config = small(2);
    config.cost.fixed_ps = 20'000;
    bench b(config);
    b.run([&] {
        const std::uint64_t accepted[] = {0, 0, 0, 20'000, 40'000}; // one is served, two wait, the others find no room
        for (std::uint64_t port = 0; port < 5; port++) {
            sc_core::sc_time delay;
            b.cpu.post(port * TLA_PORT_BYTES, alloc_command(TLA_HBM, 256), delay);
            BOOST_CHECK_EQUAL(local_ps(delay), accepted[port]);
        }
        sc_core::sc_time delay;
        b.cpu.completion(4 * TLA_PORT_BYTES, delay);
        BOOST_CHECK_EQUAL(local_ps(delay), 100'000u);
    });
}

BOOST_AUTO_TEST_CASE(a_failed_allocation_reports_free_and_largest_and_changes_nothing) {
    bench b;
    b.run([&] {
        for (int i = 0; i < 4; i++)
            b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 4));
        const tla_completion exhausted = b.cpu.command(0, alloc_command(TLA_HBM, 1));
        BOOST_CHECK_EQUAL(exhausted.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(exhausted.total_free, 0u);
        b.cpu.command(0, free_command(hbm(0), slice_bytes / 4));
        b.cpu.command(0, free_command(hbm(slice_bytes / 2), slice_bytes / 4));
        const tla_completion fragmented = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes / 2));
        BOOST_CHECK_EQUAL(fragmented.status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(fragmented.total_free, slice_bytes / 2);
        BOOST_CHECK_EQUAL(fragmented.largest_free, slice_bytes / 4);
        BOOST_CHECK_EQUAL(fragmented.nodes_visited, 2u); // every node was looked at
        BOOST_CHECK_EQUAL(fragmented.value, 0u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 0)).status, TLA_INVALID_ARGUMENT);
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.failed, 3u);
    BOOST_CHECK_EQUAL(s.arena.used, slice_bytes / 2);
    BOOST_CHECK_EQUAL(s.arena.free_blocks, 2u);
    BOOST_CHECK(reports().empty()); // a failed allocation is an answer, no bad transaction
}

BOOST_AUTO_TEST_CASE(bad_frees_are_answered_and_change_nothing) {
    bench b;
    b.run([&] {
        b.cpu.command(0, alloc_command(TLA_HBM, 1000));
        b.cpu.command(0, alloc_command(TLA_TCM, 1000));
        const auto freed = [&](std::uint64_t pa, std::uint64_t nbytes) {
            return b.cpu.command(0, free_command(pa, nbytes)).status;
        };
        BOOST_CHECK_EQUAL(freed(hbm(5000), 10), TLA_NOT_ALLOCATED); // never allocated
        BOOST_CHECK_EQUAL(freed(hbm(0), 0), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(freed(hbm(slice_bytes), 10), TLA_OUT_OF_RANGE);            // the next PE's
        BOOST_CHECK_EQUAL(freed(tcm_at(tcm_bytes - reserve), 10), TLA_OUT_OF_RANGE); // the scheduler's
        BOOST_CHECK_EQUAL(freed(UINT64_MAX, 10), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(freed(tcm_at(0), 1000), TLA_OK);
        BOOST_CHECK_EQUAL(freed(tcm_at(0), 1000), TLA_NOT_ALLOCATED); // double free
        BOOST_CHECK_EQUAL(freed(hbm(0), 1000), TLA_OK);
    });
    for (tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
        BOOST_CHECK_EQUAL(b.controller.get_statistics(kind).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(kind).arena.free_blocks, 1u);
    }
}

BOOST_AUTO_TEST_CASE(validated_frees_must_be_those_of_a_live_block) {
    memory_controller::config config = small();
    config.memory.validate = true;
    bench b(config);
    b.run([&] {
        BOOST_REQUIRE_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value, hbm(0));
        BOOST_REQUIRE_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value, hbm(1000));
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(0), 500)).status, TLA_SIZE_MISMATCH);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(500), 1000)).status, TLA_OVERLAP);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(0), 1000)).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(0), 1000)).status, TLA_NOT_ALLOCATED);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 1000u);
}

BOOST_AUTO_TEST_CASE(an_aged_heap_is_where_allocation_begins) {
    bench b;
    const std::string aged = "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 1048576\nalignment 1\npeak 1048576\n"
                             "cursor 0\nfree 2\n4096 100\n65536 983040\nend\n";
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(b.controller.restore(TLA_HBM, aged, &error) == TLA_OK, error.text);
    BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 100)).value, hbm(4096));
        const tla_completion second = b.cpu.command(0, alloc_command(TLA_HBM, 200));
        BOOST_CHECK_EQUAL(second.value, hbm(65536));
        BOOST_CHECK(!b.controller.is_as_at_the_beginning(TLA_HBM));
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(4096), 100)).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(65536), 200)).status, TLA_OK);
    });
    BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_changes_nothing) {
    bench b;
    tla_error error{};
    BOOST_CHECK_EQUAL(b.controller.restore(TLA_HBM, "tlmalloc-arena 1\npolicy first", &error), TLA_SYNTAX);
    BOOST_CHECK(error.text[0]);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.free_blocks, 1u);
    b.run([] {});
}

BOOST_AUTO_TEST_CASE(commands_for_other_targets_are_rejected) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        tla_command command{};
        command.opcode = TLA_OP_VA_ALLOC; // meant for this kind of target, but not served by it
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.nbytes = 10;
        BOOST_CHECK_EQUAL(b.cpu.command(0, command, delay).status, TLA_BAD_COMMAND);
        command.target = TLA_TARGET_VA_MANAGER;
        BOOST_CHECK_EQUAL(b.cpu.post(0, command, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).status, TLA_MISDIRECTED);
    });
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/memory_controller/control: port 0: descriptor for target 3, but this is target 1");
}

// --- data ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(hbm_is_accessed_as_the_payload_rules_say) {
    bench b;
    b.run({}, [&] { data_target{b.data, hbm(0), slice_bytes}.check_everything(); });
}

BOOST_AUTO_TEST_CASE(tcm_is_accessed_as_the_payload_rules_say_and_its_reserve_too) {
    bench b;
    b.run({}, [&] { data_target{b.data, tcm_at(0), tcm_bytes}.check_everything(); });
}

BOOST_AUTO_TEST_CASE(addresses_outside_the_memory_are_rejected_in_no_time_and_counted) {
    memory_controller::config config = small();
    config.latency_ps = 700;
    bench b(config);
    b.run({}, [&] {
        bytes data(256);
        sc_core::sc_time delay;
        for (std::uint64_t address : {hbm(0) - 1, hbm(slice_bytes - 255), hbm(0) ^ std::uint64_t{1} << 47,
                                      tcm_at(0) ^ std::uint64_t{1} << 30, tcm_at(std::uint64_t{1} << 29), UINT64_MAX})
            BOOST_CHECK_EQUAL(b.data.read(address, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(delay, sc_core::SC_ZERO_TIME);
        BOOST_CHECK_EQUAL(b.data.read(hbm(0), data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 700u + 8000); // its latency and one burst
    });
    BOOST_CHECK_EQUAL(b.controller.data_errors(), 6u);
}

BOOST_AUTO_TEST_CASE(allocators_come_into_being_with_the_first_command) {
    bench b;
    b.run(
        [&] {
            sc_core::wait(10, sc_core::SC_NS);
            BOOST_CHECK(!b.controller.has_allocators()); // neither a data access nor a look makes them
            b.cpu.command(0, alloc_command(TLA_HBM, 1));
            BOOST_CHECK(b.controller.has_allocators());
        },
        [&] {
            bytes data(4);
            BOOST_CHECK_EQUAL(b.data.debug(tlm::TLM_READ_COMMAND, hbm(0), data), 4u);
            b.data.write(tcm_at(0), data);
            BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.free, tcm_bytes - reserve);
        });
}

// --- building --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_controller_of_impossible_sizes_cannot_be_built) {
    memory_controller::config config = small();
    config.memory.of[TLA_TCM].reserved = tcm_bytes + 1;
    check_refused(
        [&] { memory_controller controller("controller", config); },
        "/tlmalloc/memory_controller/config: memory: TCM: reserved is 65537: must be at most its bytes, 65536");
}

BOOST_AUTO_TEST_CASE(a_controller_of_an_invalid_pe_is_rejected) {
    memory_controller::config config = small();
    config.memory.pe = 16;
    check_refused([&] { memory_controller controller("controller", config); },
                  "/tlmalloc/memory_controller/config: memory: pe is 16: must be 0 .. 15");
}

BOOST_AUTO_TEST_CASE(a_controller_of_an_invalid_alignment_is_rejected) {
    memory_controller::config config = small();
    config.memory.alignment = 3;
    check_refused([&] { memory_controller controller("controller", config); },
                  "/tlmalloc/memory_controller/config: memory: HBM: alignment 3 must be a power of two");
}

BOOST_AUTO_TEST_CASE(a_controller_without_a_queue_cannot_be_built) {
    check_refused([&] { memory_controller controller("controller", small(0)); },
                  "/tlmalloc/memory_controller/config: ports must be at least 1, queue_depth 1 .. 256");
}

BOOST_AUTO_TEST_CASE(a_slice_smaller_than_configured_is_an_error_before_time_begins) {
    memory_controller::config config = small();
    config.memory.of[TLA_HBM].bytes = slice_bytes + 1;
    bench b(config);
    check_refused(
        [] { sc_core::sc_start(); },
        "/tlmalloc/memory_controller/config: controller: the memory at slice ends before byte 1048576, the last "
        "of the 1048577 bytes of the HBM");
}

BOOST_AUTO_TEST_CASE(a_tcm_smaller_than_configured_is_an_error_before_time_begins) {
    memory_controller::config config = small();
    config.memory.of[TLA_TCM].bytes = 2 * tcm_bytes;
    bench b(config);
    check_refused(
        [] { sc_core::sc_start(); },
        "/tlmalloc/memory_controller/config: controller: the memory at tcm ends before byte 131071, the last of "
        "the 131072 bytes of the TCM");
}

BOOST_AUTO_TEST_CASE(a_memory_that_is_larger_or_cannot_be_asked_is_taken_as_it_is) {
    struct mute : sc_core::sc_module { // answers no debug access
        tlm_utils::simple_target_socket<mute> in{"in"};
        explicit mute(sc_core::sc_module_name name) : sc_module(name) {
            in.register_b_transport(this, &mute::b_transport);
        }
        void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &) {
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
        }
    } foreign("foreign");
    memory_controller::config config = small();
    config.memory.of[TLA_HBM].bytes = slice_bytes / 2;
    memory_controller controller("controller", config);
    hbm_slice slice("slice", bench::slice_config());
    initiator cpu("cpu"), data("data");
    controller.slice.bind(slice.in);
    controller.tcm.bind(foreign.in);
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    cpu.body = [&] { BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_TCM, 64)).status, TLA_OK); };
    simulate({&cpu, &data});
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_tcm_that_was_forgotten_is_an_error_before_time_begins) {
    hbm_slice slice("slice", bench::slice_config());
    memory_controller controller("controller", small());
    initiator cpu("cpu"), data("data");
    controller.slice.bind(slice.in);
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    check_refused([] { sc_core::sc_start(); },
                  "/tlmalloc/memory_controller/config: tcm is not bound, but the TCM has 65536 bytes: bind it, "
                  "or set its memory.of[].bytes and .reserved to 0");
}

BOOST_AUTO_TEST_CASE(a_controller_without_tcm_needs_none) {
    memory_controller::config config = small();
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    hbm_slice slice("slice", bench::slice_config());
    memory_controller controller("controller", config);
    initiator cpu("cpu"), data("data");
    controller.slice.bind(slice.in);
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    cpu.body = [&] {
        BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_TCM, 1)).status, TLA_EXHAUSTED);
        bytes byte(1);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(data.read(tcm_at(0), byte, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    };
    simulate({&cpu, &data});
}

BOOST_AUTO_TEST_CASE(a_controller_that_only_takes_commands_needs_no_initiator_of_data) {
    hbm_slice slice("slice", bench::slice_config());
    tcm memory("tcm", bench::tcm_config());
    memory_controller controller("controller", small());
    initiator cpu("cpu");
    controller.slice.bind(slice.in);
    controller.tcm.bind(memory.in);
    cpu.out.bind(controller.control);
    cpu.body = [&] {
        const tla_completion block = cpu.command(0, alloc_command(TLA_HBM, 64));
        BOOST_CHECK_EQUAL(block.status, TLA_OK);
        BOOST_CHECK_EQUAL(cpu.command(0, free_command(block.value, 64)).status, TLA_OK);
    };
    simulate({&cpu});
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_custom_engine_serves_a_list_and_takes_its_cycles) {
    naive_engine own;
    memory_controller::config config = small();
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.engine = TLA_ENGINE_RTL;
    config.cost.clock_ps = 1000;
    std::uint64_t asked_units = 0;
    config.engines = [&](const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                         tla_engine *engine, tla_error *) {
        BOOST_CHECK_EQUAL(parameters.engine, TLA_ENGINE_RTL);
        BOOST_CHECK_EQUAL(placement, TLA_FIRST_FIT);
        asked_units = units;
        *engine = own.as_engine();
        return TLA_OK;
    };
    bench b(config);
    BOOST_CHECK_EQUAL(asked_units, slice_bytes);
    b.run([&] {
        const tla_completion done = b.cpu.command(0, alloc_command(TLA_HBM, 1000));
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.service_ps, own.last_cycles * 1000);
    });
    BOOST_CHECK_EQUAL(own.asked, 1u);
}

BOOST_AUTO_TEST_CASE(an_engine_without_a_factory_is_rejected) {
    memory_controller::config config = small();
    config.engine = TLA_ENGINE_FIRMWARE;
    config.engines = nullptr;
    check_refused([&] { memory_controller controller("controller", config); },
                  "/tlmalloc/memory_controller/config: engines must be set for an engine other than model");
}
