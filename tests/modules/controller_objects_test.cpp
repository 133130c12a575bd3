// Memory controllers count what refers to their blocks: what the store of the core says, with time, DMI, guard, list in
// memory, waveform and report.
#include "../unit/seeded_random.hpp"
#include "object_commands.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/modules/instrumented.hpp"

#include <fstream>
#include <map>
#include <sstream>

using namespace object_commands;

namespace {

void wait_until(std::uint64_t ps) {
    sc_core::wait(from_ps(ps - to_ps(sc_core::sc_time_stamp())));
}

// Holds pointers, and notes which of them it loses.
struct pointer_holder : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<pointer_holder> out{"out"};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> withdrawn;
    explicit pointer_holder(sc_core::sc_module_name name) : sc_module(name) {
        out.register_invalidate_direct_mem_ptr(this, &pointer_holder::withdraw);
    }
    void withdraw(sc_dt::uint64 first, sc_dt::uint64 last) { withdrawn.emplace_back(first, last); }
};

} // namespace

BOOST_AUTO_TEST_CASE(free_gives_up_a_reference_and_its_completion_says_what_is_left) {
    bench b(priced());
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value;
        const tla_completion two = b.cpu.command(0, count_command(TLA_OP_REF, pa));
        BOOST_CHECK_EQUAL(two.status, TLA_OK);
        BOOST_CHECK_EQUAL(two.value, 2u);
        BOOST_CHECK_EQUAL(two.nbytes, 1000u);
        BOOST_CHECK_EQUAL(two.service_ps, 10'077u);
        BOOST_CHECK_EQUAL(two.total_free, slice_bytes - 1000);
        const tla_completion one = b.cpu.command(0, free_command(pa, 1000));
        BOOST_CHECK_EQUAL(one.status, TLA_OK);
        BOOST_CHECK_EQUAL(one.value, 1u);
        BOOST_CHECK_EQUAL(one.service_ps, 10'077u); // nothing was merged
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 1000u);
        const tla_completion none = b.cpu.command(0, count_command(TLA_OP_UNREF, pa));
        BOOST_CHECK_EQUAL(none.value, 0u);
        BOOST_CHECK_EQUAL(none.service_ps, 10'377u);
        BOOST_CHECK_EQUAL(none.total_free, slice_bytes);
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, pa)).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_UNPIN, pa)).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, hbm(slice_bytes))).status, TLA_OUT_OF_RANGE);
        BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "refs"), 3u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "unrefs"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "frees"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "failed"), 3u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "references"), 0u);
}

BOOST_AUTO_TEST_CASE(a_controller_that_counts_nothing_says_nothing_of_it) {
    bench b;
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 1000)).value;
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(pa, 1000)).value, 0u);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "refs"), UINT64_MAX);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "pins"), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_pin_times_out_without_any_command) {
    bench b(priced());
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_TCM, 1000)).value;
        const std::uint64_t arrival = to_ps(sc_core::sc_time_stamp());
        const tla_completion pinned = b.cpu.command(0, count_command(TLA_OP_PIN, pa, 5'000'000));
        BOOST_CHECK_EQUAL(pinned.value, 1u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(pa, 1000)).value, 0u);
        const auto used = [&] { return b.controller.get_statistics(TLA_TCM).arena.used; };
        wait_until(arrival + 5'000'000);
        sc_core::wait(sc_core::SC_ZERO_TIME);
        BOOST_CHECK_EQUAL(used(), 1000u); // the last picosecond
        wait_until(arrival + 5'000'001);
        sc_core::wait(sc_core::SC_ZERO_TIME);
        BOOST_CHECK_EQUAL(used(), 0u);
        BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_TCM));
        // The engine works for that as for a command: what comes meanwhile waits.
        sc_core::sc_time delay;
        b.cpu.command(0, alloc_command(TLA_HBM, 1), delay);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() + delay), arrival + 5'000'001 + 10'377 + 11'000);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "failed"), 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).objects.timeouts, 1u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).objects.pins, 0u);
}

BOOST_AUTO_TEST_CASE(a_command_that_arrives_ahead_of_the_clock_finds_pins_ended_that_have_timed_out_by_then) {
    bench b;
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, slice_bytes)).value;
        b.cpu.command(0, count_command(TLA_OP_PIN, pa, 1'000'000));
        b.cpu.command(0, free_command(pa, slice_bytes));
        sc_core::sc_time ahead = from_ps(1'000'000);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1), ahead).status, TLA_EXHAUSTED);
        ahead = from_ps(1'000'001);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 1), ahead).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(the_last_pin_sets_the_timeout_and_a_pin_without_a_timeout_cancels_it) {
    bench b;
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 64)).value;
        b.cpu.command(0, count_command(TLA_OP_PIN, pa, 1'000));
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_PIN, pa, 9'000)).value, 2u);
        sc_core::wait(from_ps(5'000));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.pins, 2u);
        b.cpu.command(0, count_command(TLA_OP_PIN, pa));
        sc_core::wait(from_ps(50'000));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.pins, 3u);
        for (std::uint64_t left : {2u, 1u, 0u})
            BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_UNPIN, pa)).value, left);
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_UNPIN, pa)).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(pa, 64)).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(a_pin_that_ends_before_those_that_were_set_earlier_times_out_by_itself) {
    bench b;
    b.run([&] {
        const auto pinned = [&](std::uint64_t nbytes, std::uint64_t timeout_ps) {
            const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, nbytes)).value;
            b.cpu.command(0, count_command(TLA_OP_PIN, pa, timeout_ps));
            b.cpu.command(0, free_command(pa, nbytes));
            sc_core::wait(from_ps(1'000));
        };
        pinned(1000, 90'000);
        pinned(64, 2'000);
        sc_core::wait(from_ps(2'000));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 1000u);
        sc_core::wait(from_ps(90'000));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(pointers_and_bytes_stay_until_the_last_reference_goes) {
    memory_controller::config config = small();
    config.poison = true;
    bench b(config);
    pointer_holder holder("holder");
    holder.out.bind(b.controller.in);
    const auto &withdrawn = holder.withdrawn;
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 256)).value;
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_address(pa);
        payload.set_write();
        BOOST_REQUIRE(holder.out->get_direct_mem_ptr(payload, dmi));
        b.data.write(pa, bytes(256, 5));
        b.cpu.command(0, count_command(TLA_OP_REF, pa));
        b.cpu.command(0, free_command(pa, 256));
        BOOST_CHECK(withdrawn.empty());
        BOOST_CHECK(b.data.read(pa, 256) == bytes(256, 5));
        b.cpu.command(0, free_command(pa, 256));
        BOOST_REQUIRE_EQUAL(withdrawn.size(), 1u);
        BOOST_CHECK_EQUAL(withdrawn[0].first, pa);
        BOOST_CHECK_EQUAL(withdrawn[0].second, pa + 255);
        BOOST_CHECK(b.data.read(pa, 256) == bytes(256, 0xdd));
    });
}

BOOST_AUTO_TEST_CASE(a_foreign_context_gives_up_nothing_and_holders_may_access) {
    memory_controller::config config = small();
    config.guard = TLA_GUARD_ERROR;
    bench b(config);
    b.run([&] {
        requester first(1, 10), second(2, 11);
        const auto writes = [&](requester &who, std::uint64_t pa) {
            b.data.as = &who;
            sc_core::sc_time delay;
            const tlm::tlm_response_status status = b.data.write(pa, bytes(8, 1), delay);
            sc_core::wait(delay);
            return status;
        };
        const std::uint64_t pa = b.command_as(first, alloc_command(TLA_HBM, 64)).value;
        BOOST_CHECK_EQUAL(b.command_as(second, count_command(TLA_OP_UNREF, pa)).status, TLA_NOT_OWNER);
        BOOST_CHECK_EQUAL(b.command_as(second, free_command(pa, 64)).status, TLA_NOT_OWNER);
        BOOST_CHECK_EQUAL(writes(second, pa), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.command_as(second, count_command(TLA_OP_REF, pa)).value, 2u);
        BOOST_CHECK_EQUAL(writes(second, pa), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.command_as(first, free_command(pa, 64)).value, 1u);
        BOOST_CHECK_EQUAL(writes(first, pa), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.command_as(first, count_command(TLA_OP_UNREF, pa)).status, TLA_NOT_OWNER);
        BOOST_CHECK_EQUAL(b.command_as(second, free_command(pa, 64)).status, TLA_OK);
        BOOST_CHECK_EQUAL(writes(second, pa), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.not_owner, 5u);
    BOOST_CHECK_EQUAL(s.use_after_free, 1u);
    bool told = false;
    for (const std::string &report : reports())
        told = told || report.find("/tlmalloc/memory_controller/reference: controller: UNREF of 0x") == 0;
    BOOST_CHECK(told);
}

BOOST_AUTO_TEST_CASE(a_list_in_memory_follows_released_counts_and_keeps_pins_that_it_rejects) {
    memory_controller::config config = priced();
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = 3 * TLA_LIST_NODE_BYTES; // two holes and the rest
    bench b(config);
    b.run([&] {
        std::uint64_t pa[8];
        for (std::uint64_t &each : pa)
            each = b.cpu.command(0, alloc_command(TLA_HBM, 1024)).value;
        b.cpu.command(0, free_command(pa[0], 1024));
        b.cpu.command(0, count_command(TLA_OP_PIN, pa[2], 1'000'000));
        b.cpu.command(0, free_command(pa[2], 1024));
        const std::uint64_t writes = b.controller.get_statistics(TLA_HBM).list_writes;
        b.cpu.command(0, count_command(TLA_OP_REF, pa[4]));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).list_writes, writes); // no node changes
        sc_core::wait(from_ps(2'000'000));
        // No node is left for a second hole: the pin stays, and the block.
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.pins, 1u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 7u * 1024);
        b.cpu.command(0, free_command(pa[1], 1024)); // joins the first hole, and then so can the other
        b.cpu.command(0, alloc_command(TLA_TCM, 1));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.pins, 0u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 5u * 1024);
        BOOST_CHECK_GT(b.controller.get_statistics(TLA_HBM).list_writes, writes);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).list_errors, 0u);
}

BOOST_AUTO_TEST_CASE(a_fault_plan_refuses_counts_as_every_command_and_nothing_has_changed) {
    memory_controller::config config = small();
    BOOST_REQUIRE_EQUAL(tla_fault_injection_parse("refuse at=1ns", &config.faults, nullptr), TLA_OK);
    bench b(config);
    b.run([&] {
        const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 64)).value;
        sc_core::wait(from_ps(2000));
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, pa)).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, pa)).value, 2u);
    });
}

BOOST_AUTO_TEST_CASE(blocks_of_a_snapshot_have_no_owner) {
    bench b;
    tla_arena *aged = nullptr;
    const tla_arena_config config{0, slice_bytes, TLA_FIRST_FIT, 0, false};
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &aged), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_arena_reserve(aged, {4096, 4096}, nullptr), TLA_OK);
    std::string text(1000, '\0');
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(aged, text.data(), text.size(), &length), TLA_OK);
    text.resize(length);
    tla_arena_destroy(aged);
    BOOST_REQUIRE_EQUAL(b.controller.restore(TLA_HBM, text, nullptr), TLA_OK);
    b.run([&] {
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, hbm(4096))).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_HBM, 4096)).value, hbm(0));
        BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(TLA_OP_REF, hbm(0))).value, 2u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(hbm(4096), 4096)).status, TLA_OK); // trusted, as ever
    });
}

static std::string recorded(bool asked) {
    const std::string file = "controller_objects_" + std::to_string(asked) + ".vcd";
    memory_controller::config config = priced();
    config.object_signals = asked;
    {
        bench b(config);
        waveform wave(file);
        b.controller.record(wave);
        b.run([&] {
            const std::uint64_t pa = b.cpu.command(0, alloc_command(TLA_HBM, 64)).value;
            b.cpu.command(0, count_command(TLA_OP_REF, pa));
            b.cpu.command(0, count_command(TLA_OP_PIN, pa, 1'000'000));
        });
        wave.close();
    }
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

BOOST_AUTO_TEST_CASE(a_waveform_shows_references_and_pins_if_asked_for) {
    const std::string with = recorded(true);
    BOOST_CHECK_NE(with.find("hbm_references"), std::string::npos);
    BOOST_CHECK_NE(with.find("tcm_pins"), std::string::npos);
    BOOST_CHECK_NE(with.find("b10 "), std::string::npos); // two references
    BOOST_CHECK_NE(with.find("#1031155"), std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_waveform_shows_no_references_if_not_asked_for) {
    const std::string without = recorded(false);
    BOOST_CHECK_NE(without.find("hbm_used"), std::string::npos);
    BOOST_CHECK_EQUAL(without.find("references"), std::string::npos);
    BOOST_CHECK_EQUAL(without.find("pins"), std::string::npos);
}
