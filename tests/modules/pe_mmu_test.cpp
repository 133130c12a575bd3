// pe_mmu: translation, splitting, faults, mappings by command.
#include "bare.hpp"
#include "data_target.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

using namespace tlmalloc;
using namespace data_targets;

namespace {

const std::uint64_t page = 4096, memory_bytes = 1 << 20;

pe_mmu::config small() {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    return config;
}

// `cpu` accesses by virtual address, `driver` commands; behind the MMU a memory that begins at physical address 0.
struct bench {
    explicit bench(const pe_mmu::config &config = small()) : mmu("mmu", config) {
        mmu.out.bind(memory.in);
        cpu.out.bind(mmu.in);
        driver.out.bind(mmu.control);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &driver});
    }

    tla_completion map(std::initializer_list<mapping> entries, tla_opcode opcode = TLA_OP_MAP) {
        return driver.command(0, map_command(TLA_TARGET_PE_MMU, opcode, entries));
    }
    tla_completion unmap(std::initializer_list<mapping> entries) { return map(entries, TLA_OP_UNMAP); }

    static hbm_slice::config memory_config() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = memory_bytes;
        return config;
    }

    hbm_slice memory{"memory", memory_config()};
    pe_mmu mmu;
    initiator cpu{"cpu"}, driver{"driver"};
};

// `count` pages from va on, whose physical pages stand in reverse order: no two are adjacent.
void map_reversed(bench &b, std::uint64_t va, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        b.map({{va + i * page, (count - 1 - i) * page, page}});
}

} // namespace

// --- data ------------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(one_mapping_is_accessed_as_the_payload_rules_say) {
    bench b;
    b.run([&] {
        b.map({{0x100000000, 1000, 10000}}); // no alignment is needed: pages and regions
        data_target{b.cpu, 0x100000000, 10000}.check_everything();
    });
}

BOOST_AUTO_TEST_CASE(pages_in_reverse_order_are_accessed_as_the_payload_rules_say) {
    bench b;
    b.run([&] {
        map_reversed(b, 0, 4);
        data_target target{b.cpu, 0, 4 * page};
        target.check_bad_accesses();
        target.check_the_last_byte();
        target.check_ignore();
        target.check_debug();
    });
}

BOOST_AUTO_TEST_CASE(streaming_and_byte_enables_over_scattered_pages_are_served_as_the_payload_rules_say) {
    bench b;
    b.run([&] {
        // small regions out of order, so that every access is split several times
        const std::uint64_t sizes[] = {3, 1, 5, 2, 7, 4, 300, 6};
        std::uint64_t va = 0x10000, pa = 5000;
        for (std::uint64_t nbytes : sizes) {
            b.map({{va, pa, nbytes}});
            va += nbytes;
            pa -= 500;
        }
        data_target target{b.cpu, 0x10000, va - 0x10000};
        target.check_streaming();
        target.check_byte_enables();
    });
    BOOST_CHECK_GT(b.mmu.get_statistics().splits, 20u);
}

// Every part of a split access that streams moves all its passes: the sum is the length, and it takes what it moves.
BOOST_AUTO_TEST_CASE(a_streaming_access_over_two_pages_moves_all_its_bytes) {
    bench b;
    b.run([&] {
        map_reversed(b, 0, 2);
        bytes data = pattern(20);
        data_target target{b.cpu, 0, 2 * page};
        BOOST_CHECK_EQUAL(target.send(tlm::TLM_WRITE_COMMAND, page - 3, data.data(), 20, 8), tlm::TLM_OK_RESPONSE);
        bytes last{data[16], data[17], data[18], data[19], data[12], data[13], data[14], data[15]};
        BOOST_CHECK(b.cpu.read(page - 3, 8) == last);
    });
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 2u);
    BOOST_CHECK_EQUAL(b.memory.get_statistics().bytes_written, 20u);
}

BOOST_AUTO_TEST_CASE(an_access_over_scattered_pages_is_split_and_every_byte_arrives) {
    bench b;
    b.run([&] {
        map_reversed(b, 0x40000, 3);
        const bytes data = pattern(page + 20);
        b.cpu.write(0x40000 + page - 10, data); // ten bytes, a page, ten bytes
        BOOST_CHECK(b.cpu.read(0x40000 + page - 10, data.size()) == data);
        bytes physical(10);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(3 * page - 10);
        payload.set_data_ptr(physical.data());
        payload.set_data_length(10);
        BOOST_CHECK_EQUAL(b.mmu.out->transport_dbg(payload), 10u);
        BOOST_CHECK(physical == bytes(data.begin(), data.begin() + 10)); // the first virtual page is the last physical
    });
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 3u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().splits, 2u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().lookups, 2u);
}

BOOST_AUTO_TEST_CASE(physically_adjacent_pages_and_regions_are_one_access) {
    bench b;
    b.run([&] {
        b.map({{0, 8 * page, page}, {page, 9 * page, page}});
        b.map({{2 * page, 10 * page, 100}, {2 * page + 100, 10 * page + 100, 200}});
        const bytes data = pattern(2 * page + 300);
        b.cpu.write(0, data);
        BOOST_CHECK(b.cpu.read(0, data.size()) == data);
    });
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 1u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().splits, 0u);
}

BOOST_AUTO_TEST_CASE(the_pieces_of_a_split_start_together_and_the_last_ends_it) {
    pe_mmu::config config = small();
    config.overhead_ps = 500;
    bench b(config);
    b.run([&] {
        b.map({{0, 0, page}, {page, 16 * page, page}}); // both end on the same channels
        b.map({{8 * page, 32 * page, page}, {9 * page, 48 * page + 256, page - 256}});
        sc_core::sc_time delay;
        bytes data(512);
        BOOST_CHECK_EQUAL(b.cpu.read(page - 256, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 500u + 8000); // channel 7 and channel 0: at once
        delay = sc_core::sc_time(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.cpu.read(9 * page - 256, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 1'000'000u + 500 + 8000); // channel 7 and channel 1
    });
}

BOOST_AUTO_TEST_CASE(an_overhead_that_calls_pay_is_not_paid_by_accesses) {
    pe_mmu::config config = small();
    config.overhead_ps = 500;
    config.overhead_at = TLA_OVERHEAD_AT_CALL;
    bench b(config);
    b.run([&] {
        b.map({{0, 0, page}});
        sc_core::sc_time delay;
        bytes data(256);
        BOOST_CHECK_EQUAL(b.cpu.read(0, data, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 8000u);
    });
}

BOOST_AUTO_TEST_CASE(byte_enables_are_carried_over_a_split) {
    bench b;
    b.run([&] {
        map_reversed(b, 0, 2);
        bytes memory(24, 0x33), data = pattern(24), enables{0xff, 0, 0, 0xff, 0xff};
        b.cpu.write(page - 11, memory);
        data_target target{b.cpu, 0, 2 * page};
        BOOST_CHECK_EQUAL(target.send(tlm::TLM_WRITE_COMMAND, page - 11, data.data(), 24, 24, enables.data(), 5),
                          tlm::TLM_OK_RESPONSE);
        for (unsigned i = 0; i < 24; i++)
            if (enables[i % 5]) memory[i] = data[i];
        BOOST_CHECK(b.cpu.read(page - 11, 24) == memory);
    });
}

BOOST_AUTO_TEST_CASE(a_bad_payload_over_a_split_is_answered_and_moves_nothing) {
    bench b;
    b.run([&] {
        map_reversed(b, 0, 2);
        const bytes kept = pattern(16);
        b.cpu.write(page - 8, kept);
        bytes data(16), enables(4, 0xff);
        data_target target{b.cpu, 0, 2 * page};
        for (tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
            BOOST_CHECK_EQUAL(target.send(command, page - 8, nullptr, 16, 16), tlm::TLM_GENERIC_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(target.send(command, page - 8, data.data(), 16, 16, enables.data(), 0),
                              tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(target.send(command, page - 4, data.data(), 16, 0), tlm::TLM_BURST_ERROR_RESPONSE);
        }
        BOOST_CHECK(b.cpu.read(page - 8, 16) == kept);
        tlm::tlm_generic_payload payload; // a debug access without data
        payload.set_read();
        payload.set_address(page - 8);
        payload.set_data_length(16);
        BOOST_CHECK_EQUAL(b.cpu.out->transport_dbg(payload), 0u);
    });
}

BOOST_AUTO_TEST_CASE(an_access_with_one_unmapped_byte_is_an_error_and_moves_nothing) {
    bench b;
    b.run([&] {
        b.map({{0, 0, page}});
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.write(page - 8, bytes(9, 1), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.write(0x123456789a, bytes(4, 1), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        bytes data(9);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, page - 8, data), 0u); // not counted
    });
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 0u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 2u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().lookups, 2u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().pa_fallbacks, 0u); // off by default
    BOOST_REQUIRE_EQUAL(reports().size(), 2u);
    BOOST_CHECK_EQUAL(reports()[1],
                      "/tlmalloc/pe_mmu/unmapped: mmu: write of 4 bytes at VA 0x123456789a: the virtual address is "
                      "not mapped");
}

BOOST_AUTO_TEST_CASE(an_access_that_the_mapping_forbids_is_a_command_error) {
    bench b;
    b.run([&] {
        b.map({{0, 0, page, TLA_READ}, {page, 8 * page, page, TLA_READ | TLA_WRITE}});
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.write(0, bytes(4), delay), tlm::TLM_COMMAND_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.write(page - 4, bytes(8), delay), tlm::TLM_COMMAND_ERROR_RESPONSE);
        b.cpu.read(page - 4, 8);
        b.cpu.write(page, bytes(4));
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 2u);
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 1u);
    BOOST_CHECK_EQUAL(
        reports().at(0),
        "/tlmalloc/pe_mmu/permission: mmu: write of 4 bytes at VA 0x0: the mapping does not permit this access");
}

BOOST_AUTO_TEST_CASE(the_fallback_takes_an_unmapped_address_for_physical_and_counts_it) {
    pe_mmu::config config = small();
    config.unmapped = TLA_UNMAPPED_PA_FALLBACK;
    bench b(config);
    b.run([&] {
        b.map({{page, 100 * page, page}});
        const bytes data = pattern(3 * page);
        b.cpu.write(0, data); // unmapped, mapped, unmapped
        BOOST_CHECK(b.cpu.read(0, data.size()) == data);
        bytes unmapped(4);
        sc_core::sc_time delay; // out of the memory: that is the memory's to refuse
        BOOST_CHECK_EQUAL(b.cpu.read(memory_bytes, unmapped, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        b.cpu.debug(tlm::TLM_READ_COMMAND, 0, unmapped); // not counted
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().pa_fallbacks, 2u + 2 + 1);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 0u);
}

BOOST_AUTO_TEST_CASE(an_access_does_not_wrap_from_the_last_address_to_the_first) {
    pe_mmu::config config = small();
    config.unmapped = TLA_UNMAPPED_PA_FALLBACK;
    bench b(config);
    b.run([&] {
        b.map({{UINT64_MAX - (page - 1), 0, page}});
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.write(UINT64_MAX - 3, bytes(8, 1), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        bytes data(8);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_WRITE_COMMAND, UINT64_MAX - 3, data), 0u);
        b.cpu.write(UINT64_MAX - 3, bytes(4, 2)); // the last bytes themselves are fine
    });
    BOOST_CHECK_EQUAL(b.memory.get_statistics().writes, 1u);
}

BOOST_AUTO_TEST_CASE(debug_access_goes_over_page_borders) {
    bench b;
    b.run([&] {
        map_reversed(b, 0, 3);
        bytes data = pattern(2 * page);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_WRITE_COMMAND, 100, data), data.size());
        BOOST_CHECK(b.cpu.read(100, data.size()) == data);
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().lookups, 1u);
}

// --- commands --------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_map_of_several_entries_maps_all_or_none) {
    bench b;
    b.run([&] {
        BOOST_CHECK_EQUAL(b.map({{0, 0, page}, {page, page, 100}}).nbytes, 2u);
        const tla_completion refused = b.map({{2 * page, 0, page}, {50, 0, 10}});
        BOOST_CHECK_EQUAL(refused.status, TLA_OVERLAP);
        BOOST_CHECK_EQUAL(refused.nbytes, 0u);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().table.mapped_bytes, page + 100);
        BOOST_CHECK_EQUAL(b.unmap({{0, 0, page}, {9 * page, 0, 1}}).status, TLA_UNMAPPED);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().table.mapped_bytes, page + 100);
        BOOST_CHECK_EQUAL(b.map({{3 * page, 0, 0}}).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.unmap({{0, 0, page}, {page, 0, 100}}).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().table.mapped_bytes, 0u);
    });
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_EQUAL(s.maps, 2u);
    BOOST_CHECK_EQUAL(s.unmaps, 2u);
    BOOST_CHECK_EQUAL(s.failed, 3u);
    BOOST_CHECK_EQUAL(reports().size(), 3u);
    BOOST_CHECK(reports().at(0).rfind("/tlmalloc/pe_mmu/command: mmu: ", 0) == 0);
}

BOOST_AUTO_TEST_CASE(with_remap_allowed_the_last_mapping_wins) {
    pe_mmu::config config = small();
    config.allow_remap = true;
    bench b(config);
    b.run([&] {
        b.map({{0, 0, page}});
        b.cpu.write(0, bytes(4, 1));
        BOOST_CHECK_EQUAL(b.map({{0, 8 * page, page}}).status, TLA_OK);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 0));
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().table.remaps, 1u);
}

BOOST_AUTO_TEST_CASE(mapping_takes_the_price_of_its_receipt_and_queues) {
    pe_mmu::config config = small();
    config.cost.fixed_ps = 10'000;
    config.cost.pte_write_ps = 1000;
    config.cost.invalidate_ps = 5000;
    bench b(config);
    b.run([&] {
        const tla_command map = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, 0, 7 * page}});
        const tla_command more = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{16 * page, 0, page}});
        sc_core::sc_time first, second;
        b.driver.post(0, map, first);
        b.driver.post(TLA_PORT_BYTES, more, second);
        BOOST_CHECK_EQUAL(b.driver.completion(0, first).service_ps, 17'000u);
        b.driver.completion(TLA_PORT_BYTES, second);
        BOOST_CHECK_EQUAL(local_ps(first), 17'000u);
        BOOST_CHECK_EQUAL(local_ps(second), 28'000u);
        const tla_completion gone =
            b.driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_UNMAP, {{0, 0, 7 * page}}), second);
        BOOST_CHECK_EQUAL(gone.service_ps, 22'000u); // seven entries cleared, one invalidation
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().busy_ps, 17'000u + 11'000 + 22'000);
}

BOOST_AUTO_TEST_CASE(an_mmu_with_an_odd_page_size_cannot_be_built) {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = 5000;
    check_refused([&] { pe_mmu mmu("mmu", config); },
                  "/tlmalloc/pe_mmu/config: page_size must be a power of two, 4 KiB .. 1 GiB");
}
