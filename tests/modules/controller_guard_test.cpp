// Guarded memory at the memory controller: what is reported, what is answered, what DMI sees, poison.
#include "controller_bench.hpp"
#include "tlmalloc/modules/extensions.hpp"

#include <algorithm>
#include <tlm_utils/simple_target_socket.h>

using namespace controller_bench;

namespace {

memory_controller::config guarded(tla_guard_mode mode) {
    memory_controller::config config = small();
    config.guard = mode;
    return config;
}

std::uint64_t allocate(bench &b, std::uint64_t nbytes, tla_memory_kind kind = TLA_HBM) {
    const tla_completion answer = b.cpu.command(0, alloc_command(kind, nbytes));
    BOOST_REQUIRE_EQUAL(answer.status, TLA_OK);
    return answer.value;
}

tlm::tlm_response_status write_status(bench &b, std::uint64_t address, std::size_t nbytes) {
    sc_core::sc_time delay;
    const tlm::tlm_response_status status = b.data.write(address, pattern(nbytes), delay);
    sc_core::wait(delay);
    return status;
}

tlm::tlm_response_status read_status(bench &b, std::uint64_t address, std::size_t nbytes) {
    sc_core::sc_time delay;
    bytes data(nbytes);
    const tlm::tlm_response_status status = b.data.read(address, data, delay);
    sc_core::wait(delay);
    return status;
}

const std::string id = "/tlmalloc/memory_controller/guard: controller: ";

} // namespace

BOOST_AUTO_TEST_CASE(in_error_mode_bad_accesses_are_answered_with_errors_and_touch_nothing) {
    bench b(guarded(TLA_GUARD_ERROR));
    b.run([&] {
        const std::uint64_t block = allocate(b, 100);
        BOOST_CHECK_EQUAL(write_status(b, block, 100), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(write_status(b, block + 96, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(read_status(b, block + 100, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        bytes seen(8);
        b.data.debug(tlm::TLM_READ_COMMAND, block + 96, seen);
        const bytes written = pattern(100);
        BOOST_CHECK(std::equal(written.begin() + 96, written.end(), seen.begin()) && seen[4] == 0);
        b.cpu.command(0, free_command(block, 100));
        BOOST_CHECK_EQUAL(read_status(b, block, 100), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        const std::uint64_t fresh = allocate(b, 100);
        BOOST_CHECK_EQUAL(read_status(b, fresh, 4), tlm::TLM_GENERIC_ERROR_RESPONSE);
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.out_of_bounds, 2u);
    BOOST_CHECK_EQUAL(s.use_after_free, 1u);
    BOOST_CHECK_EQUAL(s.never_written, 1u);
    BOOST_CHECK_EQUAL(s.not_owner, 0u);
    BOOST_CHECK_EQUAL(b.controller.data_errors(), 4u);
    BOOST_REQUIRE_EQUAL(reports().size(), 4u);
    BOOST_CHECK_EQUAL(reports()[0], id +
                                        "TLA_OUT_OF_BOUNDS: write of 8 bytes at 96 of HBM by an unknown initiator at "
                                        "8000 ps: 4 bytes past the end of the block of 100 bytes at 0, allocated by an "
                                        "unknown initiator at 0 ps");
}

BOOST_AUTO_TEST_CASE(in_report_mode_bad_accesses_are_counted_and_reported_and_made) {
    bench b(guarded(TLA_GUARD_REPORT));
    b.run([&] {
        const std::uint64_t block = allocate(b, 64, TLA_TCM);
        BOOST_CHECK_EQUAL(read_status(b, block, 64), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(write_status(b, block + 60, 8), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(b.data.read(block + 60, 4) != bytes(4, 0)); // out of bounds as a whole, and so not known as written
    });
    const memory_controller::statistics s = b.controller.get_statistics(TLA_TCM);
    BOOST_CHECK_EQUAL(s.never_written, 2u);
    BOOST_CHECK_EQUAL(s.out_of_bounds, 1u);
    BOOST_CHECK_EQUAL(b.controller.data_errors(), 0u);
    BOOST_CHECK_EQUAL(reports().size(), 3u);
}

BOOST_AUTO_TEST_CASE(a_use_after_free_names_block_owners_and_times) {
    memory_controller::config config = guarded(TLA_GUARD_ERROR);
    bench b(config);
    requester one{1, 10}, other{1, 11};
    b.run([&] {
        b.cpu.as = &one;
        const std::uint64_t block = allocate(b, 256);
        sc_core::wait(3, sc_core::SC_NS);
        b.cpu.as = &other;
        b.cpu.command(0, free_command(block, 256));
        sc_core::wait(4, sc_core::SC_NS);
        b.data.as = &one;
        BOOST_CHECK_EQUAL(read_status(b, block + 16, 16), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      id +
                          "TLA_USE_AFTER_FREE: read of 16 bytes at 16 of HBM by initiator 10 of asid 1 at 7000 ps: the "
                          "block of 256 bytes at 0, allocated by initiator 10 of asid 1 at 0 ps was freed by initiator "
                          "11 of asid 1 at 3000 ps");
}

BOOST_AUTO_TEST_CASE(access_to_a_block_of_another_address_space_is_denied) {
    bench b(guarded(TLA_GUARD_ERROR));
    requester owner{7, 0}, stranger{8, 0};
    b.run([&] {
        b.cpu.as = &owner;
        const std::uint64_t block = allocate(b, 64);
        b.data.as = &owner;
        BOOST_CHECK_EQUAL(write_status(b, block, 64), tlm::TLM_OK_RESPONSE);
        b.data.as = &stranger;
        BOOST_CHECK_EQUAL(write_status(b, block, 64), tlm::TLM_GENERIC_ERROR_RESPONSE);
        b.data.as = nullptr; // nobody says who: held to bounds only
        BOOST_CHECK_EQUAL(read_status(b, block, 64), tlm::TLM_OK_RESPONSE);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).not_owner, 1u);
}

BOOST_AUTO_TEST_CASE(a_guarded_controller_frees_whole_blocks_only) {
    bench b(guarded(TLA_GUARD_REPORT));
    b.run([&] {
        const std::uint64_t block = allocate(b, 64);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, 32)).status, TLA_SIZE_MISMATCH);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, 64)).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(the_schedulers_reserve_is_not_guarded) {
    bench b(guarded(TLA_GUARD_ERROR));
    b.run([&] { BOOST_CHECK_EQUAL(read_status(b, tcm_at(tcm_bytes - reserve), 64), tlm::TLM_OK_RESPONSE); });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(good_traffic_takes_no_longer_under_guard) {
    bench b(guarded(TLA_GUARD_ERROR));
    b.run([&] {
        sc_core::sc_time delay;
        const std::uint64_t block = b.cpu.command(0, alloc_command(TLA_HBM, 1000), delay).value;
        BOOST_CHECK_EQUAL(block, hbm(0));
        b.data.write(block, pattern(1000), delay);
        bytes back(1000);
        b.data.read(block, back, delay);
        BOOST_CHECK(back == pattern(1000));
        BOOST_CHECK_EQUAL(local_ps(delay), 2u * 8000); // one burst in each of four pseudo-channels, twice
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(dmi_is_granted_for_one_block_and_its_bytes_count_as_written) {
    bench b(guarded(TLA_GUARD_ERROR));
    b.run([&] {
        allocate(b, 100);
        const std::uint64_t block = allocate(b, 200);
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        payload.set_address(block + 50);
        BOOST_REQUIRE(b.data.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(dmi.get_start_address(), block);
        BOOST_CHECK_EQUAL(dmi.get_end_address(), block + 199);
        dmi.get_dmi_ptr()[0] = 0x5a;
        BOOST_CHECK(b.data.read(block, 1) == bytes{0x5a});
        payload.set_address(block + 200); // nothing there
        BOOST_CHECK(!b.data.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(dmi.get_start_address(), block + 200);
        BOOST_CHECK_EQUAL(dmi.get_end_address(), block + 200);
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(freed_bytes_are_poisoned_and_their_neighbours_are_not) {
    memory_controller::config config = small();
    config.poison = true;
    bench b(config);
    b.run([&] {
        const std::uint64_t left = allocate(b, 100), middle = allocate(b, 100'000), right = allocate(b, 100);
        for (std::uint64_t block : {left, right})
            b.data.write(block, bytes(100, 0x11));
        b.data.write(middle, bytes(100'000, 0x22));
        b.cpu.command(0, free_command(middle, 100'000));
        BOOST_CHECK(b.data.read(left, 100) == bytes(100, 0x11));
        BOOST_CHECK(b.data.read(middle, 100'000) == bytes(100'000, 0xdd));
        BOOST_CHECK(b.data.read(right, 100) == bytes(100, 0x11));
    });
}

BOOST_AUTO_TEST_CASE(a_denied_write_does_not_count_as_written) {
    bench b(guarded(TLA_GUARD_ERROR));
    requester owner{7, 0}, stranger{8, 0};
    b.run([&] {
        b.cpu.as = b.data.as = &owner;
        const std::uint64_t block = allocate(b, 64);
        b.data.as = &stranger;
        BOOST_CHECK_EQUAL(write_status(b, block, 64), tlm::TLM_GENERIC_ERROR_RESPONSE);
        for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
            tlm::tlm_generic_payload payload;
            tlm::tlm_dmi dmi;
            payload.set_command(command);
            payload.set_address(block);
            payload.set_extension(&stranger);
            BOOST_CHECK(!b.data.out->get_direct_mem_ptr(payload, dmi));
            payload.clear_extension(&stranger);
        }
        b.data.as = &owner;
        BOOST_CHECK_EQUAL(read_status(b, block, 1), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(write_status(b, block, 64), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(read_status(b, block, 64), tlm::TLM_OK_RESPONSE);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).never_written, 1u);
}

namespace {

// Somebody else's memory behind a controller: it takes writes or refuses them, after a time.
struct foreign_bench {
    struct moody : sc_core::sc_module {
        tlm_utils::simple_target_socket<moody> in{"in"};
        bool takes = true;
        sc_core::sc_time takes_time;
        explicit moody(sc_core::sc_module_name name) : sc_module(name) {
            in.register_b_transport(this, &moody::b_transport);
        }
        void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &) {
            sc_core::wait(takes_time);
            payload.set_response_status(takes || payload.is_read() ? tlm::TLM_OK_RESPONSE
                                                                   : tlm::TLM_GENERIC_ERROR_RESPONSE);
        }
    } slice{"moody"};
    tcm memory{"memory", bench::tcm_config()};
    memory_controller controller{"controller", guarded(TLA_GUARD_ERROR)};
    initiator cpu{"cpu"}, data{"data"};

    foreign_bench() {
        controller.slice.bind(slice.in);
        controller.tcm.bind(memory.in);
        cpu.out.bind(controller.control);
        data.out.bind(controller.in);
    }
    std::uint64_t never_written() { return controller.get_statistics(TLA_HBM).never_written; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_write_that_the_memory_rejects_does_not_count_as_written) {
    foreign_bench b;
    b.slice.takes = false;
    b.cpu.body = [&] {
        const std::uint64_t block = b.cpu.command(0, alloc_command(TLA_HBM, 64)).value;
        sc_core::sc_time delay;
        bytes out(64), in(64);
        BOOST_CHECK_EQUAL(b.data.write(block, out, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.data.read(block, in, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        b.slice.takes = true;
        BOOST_CHECK_EQUAL(b.data.write(block, out, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.data.read(block, in, delay), tlm::TLM_OK_RESPONSE);
    };
    simulate({&b.cpu, &b.data});
    BOOST_CHECK_EQUAL(b.never_written(), 1u);
}

// The memory makes the read after the write.
BOOST_AUTO_TEST_CASE(a_read_after_an_outstanding_write_finds_its_bytes_written) {
    foreign_bench b;
    b.slice.takes_time = sc_core::sc_time(100, sc_core::SC_NS);
    std::uint64_t block = 0;
    b.cpu.body = [&] {
        block = b.cpu.command(0, alloc_command(TLA_HBM, 64)).value;
        b.data.write(block, bytes(64));
    };
    b.data.body = [&] {
        sc_core::wait(50, sc_core::SC_NS);
        BOOST_CHECK_NE(block, 0u);
        b.data.read(block, 64);
    };
    simulate({&b.cpu, &b.data});
    BOOST_CHECK_EQUAL(b.never_written(), 0u);
}

namespace {

// A block that is rounded up from `asked` to `granted` bytes is poisoned, and withdrawn from DMI, as a whole.
void check_rounded_free(const memory_controller::config &config, std::uint64_t asked, std::uint64_t granted) {
    struct listener : sc_core::sc_module {
        tlm_utils::simple_initiator_socket<listener> out{"out"};
        std::vector<std::pair<std::uint64_t, std::uint64_t>> withdrawn;
        explicit listener(sc_core::sc_module_name name) : sc_module(name) {
            out.register_invalidate_direct_mem_ptr(this, &listener::invalidate);
        }
        void invalidate(sc_dt::uint64 first, sc_dt::uint64 last) { withdrawn.emplace_back(first, last); }
    } holder("holder");
    bench b(config);
    holder.out.bind(b.controller.in);
    b.run([&] {
        allocate(b, asked);
        const std::uint64_t block = allocate(b, asked), next = allocate(b, asked);
        BOOST_REQUIRE_EQUAL(next, block + granted);
        b.data.write(block, bytes(granted, 0x22));
        b.data.write(next, bytes(1, 0x33));
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_address(block);
        BOOST_REQUIRE(holder.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, asked)).status, TLA_OK);
        bytes seen(granted + 1);
        b.data.debug(tlm::TLM_READ_COMMAND, block, seen);
        bytes expected(granted, 0xdd);
        expected.push_back(0x33);
        BOOST_CHECK(seen == expected);
        BOOST_REQUIRE_EQUAL(holder.withdrawn.size(), 1u);
        BOOST_CHECK_EQUAL(holder.withdrawn[0].first, block);
        BOOST_CHECK_EQUAL(holder.withdrawn[0].second, block + granted - 1);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_block_that_alignment_rounds_up_is_poisoned_and_withdrawn_as_a_whole) {
    memory_controller::config config = small();
    config.poison = true;
    config.memory.alignment = 256;
    check_rounded_free(config, 300, 512);
}

BOOST_AUTO_TEST_CASE(a_block_of_buddies_is_poisoned_and_withdrawn_as_a_whole) {
    memory_controller::config config = small();
    config.poison = true;
    config.memory.of[TLA_HBM].policy = TLA_BUDDY;
    check_rounded_free(config, 700, 1024);
}

BOOST_AUTO_TEST_CASE(a_guarded_block_that_is_rounded_up_is_poisoned_and_withdrawn_as_a_whole) {
    memory_controller::config config = guarded(TLA_GUARD_ERROR);
    config.poison = true;
    config.memory.alignment = 64;
    check_rounded_free(config, 65, 128);
}

BOOST_AUTO_TEST_CASE(another_context_cannot_free_a_block_in_any_mode) {
    bench b(guarded(TLA_GUARD_REPORT));
    requester owner{7, 1}, stranger{8, 2}, trusted{8, 3, true};
    b.run([&] {
        b.cpu.as = &owner;
        const std::uint64_t block = allocate(b, 64), other = allocate(b, 64);
        b.cpu.as = &stranger;
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, 64)).status, TLA_NOT_OWNER);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 128u);
        b.cpu.as = &trusted;
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(other, 64)).status, TLA_OK);
        b.cpu.as = &owner;
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block, 64)).status, TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).not_owner, 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(
        reports()[0],
        "/tlmalloc/memory_controller/free: controller: free of 0 of HBM by initiator 2 of asid 8 at 0 ps: the "
        "initiator does not own the block of 64 bytes at 0, allocated by initiator 1 of asid 7 at 0 ps");
}

BOOST_AUTO_TEST_CASE(trusted_hardware_reaches_every_block) {
    bench b(guarded(TLA_GUARD_ERROR));
    requester owner{7, 1}, trusted{0, 3, true};
    b.run([&] {
        b.cpu.as = &owner;
        const std::uint64_t block = allocate(b, 64);
        b.data.as = &trusted;
        BOOST_CHECK_EQUAL(write_status(b, block, 64), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(write_status(b, block, 65), tlm::TLM_ADDRESS_ERROR_RESPONSE);
    });
}

// The last block of the slice: what a transfer reaches in the next memory is not this one's to judge.
BOOST_AUTO_TEST_CASE(a_transfer_is_judged_as_far_as_it_lies_in_the_memory) {
    bench b(guarded(TLA_GUARD_ERROR));
    b.run([&] {
        const std::uint64_t block = allocate(b, slice_bytes);
        transfer_extent extent{slice_bytes + 100, 5000};
        bytes data(8);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(block + slice_bytes - 8);
        payload.set_data_ptr(data.data());
        payload.set_data_length(8);
        payload.set_streaming_width(8);
        payload.set_extension(&extent);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.data.send(payload, delay), tlm::TLM_OK_RESPONSE);
        payload.clear_extension(&extent);
    });
    BOOST_CHECK(reports().empty());
}
