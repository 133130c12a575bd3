// pe_mmu with TLB and walkers: tables in memory, changes that are not visible yet, address spaces,
// page faults; and random accesses through a map that changes.
#include "fault_handler.hpp"
#include "walking_mmu.hpp"

#include <algorithm>
#include <map>
#include <random>

using namespace walking_mmu;

namespace {

// cpu -> MMU -> controller -> slice; the MMU walks in the slice and allocates there; `driver` maps.
struct bench {
    explicit bench(const pe_mmu::config &config) : mmu("mmu", config) {
        mmu.out.bind(controller.in);
        mmu.walk.bind(controller.in);
        mmu.allocator.bind(controller.control);
        mmu.fault.bind(faults.in);
        controller.slice.bind(slice.in);
        cpu.out.bind(mmu.in);
        driver.out.bind(mmu.control);
        memory.out.bind(controller.in);
        allocator.out.bind(controller.control);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &driver, &memory, &allocator});
    }

    tla_completion map(std::initializer_list<mapping> entries, tla_opcode opcode = TLA_OP_MAP, std::uint32_t asid = 0) {
        tla_command command = map_command(TLA_TARGET_PE_MMU, opcode, entries);
        for (std::uint32_t i = 0; i < command.count; i++)
            command.entries[i].asid = asid;
        return driver.command(0, command);
    }

    // A read in an address space; whatever it brings goes to `data`.
    tlm::tlm_response_status access(tlm::tlm_command what, std::uint32_t asid, std::uint64_t va, bytes &data) {
        tlm::tlm_generic_payload payload;
        requester who{asid, 0};
        payload.set_command(what);
        payload.set_address(va);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
        payload.set_extension(&who);
        sc_core::sc_time delay;
        const tlm::tlm_response_status status = cpu.send(payload, delay);
        payload.clear_extension(&who);
        sc_core::wait(delay);
        return status;
    }

    tla_paddr hbm(std::uint64_t offset) const { // of this slice: PE 0 of cube 0
        tla_paddr pa{};
        tla_paddr_pe_hbm(0, 0, 0, offset, slice_bytes, &pa);
        return pa;
    }

    static memory_controller::config controller_config() {
        memory_controller::config config = bare<memory_controller>();
        config.memory.of[TLA_HBM].bytes = slice_bytes;
        config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        return config;
    }
    hbm_slice slice{"slice", slice_config()};
    memory_controller controller{"controller", controller_config()};
    fault_handler faults{"faults"};
    pe_mmu mmu;
    initiator cpu{"cpu"}, driver{"driver"}, memory{"memory"}, allocator{"allocator"};
};

} // namespace

// --- tables in memory ------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(walks_read_the_table_from_the_slice_and_give_its_memory_back) {
    bench b(walking(TLA_WALK_MEMORY));
    b.run([&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, 8 * page));
        b.map({{0x10000, block.value, 3 * page + 100}});
        BOOST_CHECK_GT(b.controller.get_statistics(TLA_HBM).arena.used, 8 * page);
        const std::uint64_t reads = b.slice.get_statistics().reads;
        b.cpu.read(0x10000, 16);
        BOOST_CHECK_EQUAL(b.slice.get_statistics().reads - reads, 4u + 1); // four levels and the data
        b.cpu.read(0x13000 + 50, 16);
        BOOST_CHECK_EQUAL(b.slice.get_statistics().reads - reads, 5u + 5 + 1); // and a list of regions
        b.map({{0x10000, 0, 3 * page + 100}}, TLA_OP_UNMAP);
        BOOST_CHECK_EQUAL(b.allocator.command(0, free_command(block.value, 8 * page)).status, TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().walk_errors, 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.free_blocks, 1u);
}

BOOST_AUTO_TEST_CASE(a_walk_that_reads_what_the_table_does_not_say_is_a_walk_error) {
    bench b(walking(TLA_WALK_MEMORY));
    b.run([&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, page));
        b.map({{0x10000, block.value, page}});
        const std::uint64_t used = b.controller.get_statistics(TLA_HBM).arena.used;
        for (std::uint64_t at = page; at < used; at += page) { // somebody writes over the tables
            const std::uint64_t address = b.hbm(at).value;
            bytes kept = b.memory.read(address, page);
            b.memory.write(address, bytes(page, 0x5a));
            sc_core::sc_time delay;
            bytes data(16);
            BOOST_CHECK_EQUAL(b.cpu.read(0x10000, data, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
            sc_core::wait(delay);
            b.memory.write(address, kept);
        }
        b.cpu.read(0x10000, 16); // nothing was remembered of the failed walks
        b.map({{0x10000, 0, page}}, TLA_OP_UNMAP);
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().walk_errors, 4u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 4u);
    BOOST_CHECK_EQUAL(reports().at(0), "/tlmalloc/pe_mmu/walk: mmu: read of 16 bytes at VA 0x10000: the walk read an "
                                       "entry that differs from the page table");
}

BOOST_AUTO_TEST_CASE(nothing_of_a_batch_remains_when_the_table_memory_ends_half_way) {
    bench b(walking(TLA_WALK_MEMORY));
    b.run([&] {
        const std::uint64_t room = slice_bytes - 6 * page;
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, room));
        BOOST_CHECK_EQUAL(block.status, TLA_OK);
        // the first entry takes four tables, the second three more
        BOOST_CHECK_EQUAL(b.map({{0, block.value, page}, {std::uint64_t{1} << 40, block.value, page}}).status,
                          TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, room);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().table.mapped_bytes, 0u);
        BOOST_CHECK_EQUAL(b.map({{0, block.value, page}}).status, TLA_OK);
        b.cpu.write(0, bytes(4, 7));
        b.map({{0, 0, page}}, TLA_OP_UNMAP);
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().walk_errors, 0u);
}

// --- visibility ------------------------------------------------------------------------------------------------------

namespace {

void check_remap_window(tla_walk_mode walk) {
    pe_mmu::config config = walking(walk);
    config.allow_remap = true;
    config.cost.fixed_ps = 1'000'000;
    bench b(config);
    b.run([&] {
        b.map({{0, b.hbm(0).value, page}});
        b.cpu.write(0, bytes(4, 1));
        b.memory.write(b.hbm(8 * page).value, bytes(4, 2));
        sc_core::sc_time delay;
        b.driver.post(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, b.hbm(8 * page).value, page}}), delay);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 1));
        bytes seen(4);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, 0, seen), 4u);
        BOOST_CHECK(seen == bytes(4, 1));
        tlm::tlm_generic_payload payload; // no pointer around the window
        payload.set_read();
        tlm::tlm_dmi dmi;
        BOOST_CHECK(!b.cpu.out->get_direct_mem_ptr(payload, dmi));
        b.driver.completion(0, delay);
        sc_core::wait(delay);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 2));
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().stale_accesses, 1u);
}

} // namespace

BOOST_AUTO_TEST_CASE(an_access_before_a_remap_is_done_reads_the_old_bytes_and_is_counted) {
    check_remap_window(TLA_WALK_IDEAL);
}

BOOST_AUTO_TEST_CASE(an_access_before_a_remap_is_done_reads_the_old_bytes_with_a_tlb_too) {
    check_remap_window(TLA_WALK_FLAT);
}

BOOST_AUTO_TEST_CASE(an_access_before_a_remap_is_taken_back_reads_the_new_bytes_and_is_counted) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.allow_remap = true;
    config.cost.fixed_ps = 1'000'000;
    bench b(config);
    b.run([&] {
        b.map({{0, b.hbm(0).value, page}});
        b.cpu.write(0, bytes(4, 1));
        b.memory.write(b.hbm(8 * page).value, bytes(4, 2));
        b.map({{0, b.hbm(8 * page).value, page}});
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 2));
        sc_core::sc_time delay;
        b.driver.post(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_TAKE_BACK, {{0, b.hbm(8 * page).value, page}}), delay);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 2));
        b.driver.completion(0, delay);
        sc_core::wait(delay);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 1));
        BOOST_CHECK_EQUAL(b.map({{0, 0, page}}, TLA_OP_TAKE_BACK).status, TLA_OK); // does nothing
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 1));
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().stale_accesses, 1u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().taken_back, 2u);
}

BOOST_AUTO_TEST_CASE(a_tlb_entry_does_not_outlive_the_acknowledgement_of_an_unmap) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.cost.fixed_ps = 1'000'000;
    bench b(config);
    b.run([&] {
        b.map({{0, b.hbm(0).value, page}});
        b.cpu.write(0, bytes(4, 1));
        sc_core::sc_time delay;
        b.driver.post(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_UNMAP, {{0, 0, page}}), delay);
        BOOST_CHECK(b.cpu.read(0, 4) == bytes(4, 1)); // still there
        b.driver.completion(0, delay);
        sc_core::wait(delay);
        bytes data(4);
        const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
        sc_core::sc_time late;
        BOOST_CHECK_EQUAL(b.cpu.read(0, data, late), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(late) - start, 1000u + 400'000); // finding that out takes a walk
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().stale_accesses, 1u);
}

BOOST_AUTO_TEST_CASE(invalidate_drops_entries_and_keeps_mappings) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.cost.invalidate_ps = 5000;
    bench b(config);
    b.run([&] {
        b.map({{0, b.hbm(0).value, 2 * page}});
        b.cpu.read(0, 4);
        b.cpu.read(page, 4);
        sc_core::wait(1, sc_core::SC_US); // the walks are over
        BOOST_CHECK_EQUAL(b.map({{0, 0, page}}, TLA_OP_INVALIDATE).service_ps, 5000u);
        b.cpu.read(page, 4);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().misses, 2u);
        b.cpu.read(0, 4);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().misses, 3u);
        b.map({{0, 0, 0}}, TLA_OP_INVALIDATE); // the whole address space
        b.cpu.read(page, 4);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().misses, 4u);
        BOOST_CHECK_EQUAL(b.map({{0, 0, page}}, TLA_OP_INVALIDATE, 1).status, TLA_INVALID_ARGUMENT);
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().invalidates, 2u);
}

// --- ranges ----------------------------------------------------------------------------------------------------------

namespace {

pe_mmu::config ranged(tla_walk_mode walk) {
    pe_mmu::config config = walking(walk);
    config.overhead_ps = 500;
    config.tlb_l1 = {1, 0, 1000, TLA_REPLACE_LRU};
    config.tlb_l2 = {1, 0, 5000, TLA_REPLACE_LRU};
    config.ranges = 2;
    return config;
}

constexpr std::uint64_t burst_ps = 8000; // 256 B at 32 GB/s: a read of the data, and of a line of entries

} // namespace

namespace {

// A lookup costs the overhead and the TLB levels until it hits. A walk of four levels costs walk_ps more.
void check_ranges(tla_walk_mode walk, std::uint64_t walk_ps) {
    bench b(ranged(walk));
    b.run([&] {
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, 16 * page));
        b.map({{0x10000, block.value, 16 * page}}); // two lines
        const auto took = [&](std::uint64_t va) {
            bytes data(16);
            sc_core::sc_time delay;
            const std::uint64_t start_ps = to_ps(sc_core::sc_time_stamp());
            BOOST_CHECK_EQUAL(b.cpu.read(va, data, delay), tlm::TLM_OK_RESPONSE);
            sc_core::wait(delay);
            return to_ps(sc_core::sc_time_stamp()) - start_ps;
        };
        const std::uint64_t first_level_ps = 500 + 1000 + burst_ps, last_level_ps = first_level_ps + 5000;
        BOOST_CHECK_EQUAL(took(0x10000 + 3 * page), last_level_ps + walk_ps);
        BOOST_CHECK_EQUAL(took(0x10000), last_level_ps);            // the range
        BOOST_CHECK_EQUAL(took(0x10000 + page), last_level_ps);     // again
        BOOST_CHECK_EQUAL(took(0x10000 + page), first_level_ps);    // the page, which the range hit has entered
        BOOST_CHECK_EQUAL(took(0x10000 + 3 * page), last_level_ps); // the second level of the TLB
        BOOST_CHECK_EQUAL(took(0x10000 + 8 * page), last_level_ps + walk_ps);
        BOOST_CHECK_EQUAL(took(0x10000 + 15 * page), last_level_ps);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().ranges.valid, 1u); // one of both lines
        b.map({{0x10000, 0, page}}, TLA_OP_UNMAP);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(took(0x10000 + 5 * page), last_level_ps + walk_ps);
        b.map({{0x10000, 0, 0}}, TLA_OP_INVALIDATE);
        BOOST_CHECK_EQUAL(took(0x10000 + 4 * page), last_level_ps + walk_ps);
        b.map({{0x10000 + page, 0, 15 * page}}, TLA_OP_UNMAP);
        b.allocator.command(0, free_command(block.value, 16 * page));
    });
    std::map<std::string, std::uint64_t> rows;
    const std::vector<statistics_group> groups = b.mmu.list_statistics();
    for (const statistic &row : groups[0].statistics)
        rows[row.name] = row.value;
    BOOST_CHECK_EQUAL(rows.at("hits"), 2u);
    BOOST_CHECK_EQUAL(rows.at("misses"), 4u);
    BOOST_CHECK_EQUAL(rows.at("range_hits"), 3u);
    BOOST_CHECK_EQUAL(rows.at("range_fills"), 4u);
    BOOST_CHECK_EQUAL(rows.at("range_drops"), 3u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_range_serves_the_neighbours_of_a_walked_page_in_the_time_of_the_last_level) {
    check_ranges(TLA_WALK_FLAT, 4 * 100'000);
}

BOOST_AUTO_TEST_CASE(a_walk_in_memory_brings_a_line_of_entries_in_the_time_of_its_reads) {
    check_ranges(TLA_WALK_MEMORY, 4 * burst_ps);
}

BOOST_AUTO_TEST_CASE(without_ranges_an_mmu_has_no_statistics_of_them) {
    bench b(walking(TLA_WALK_FLAT));
    const std::vector<statistics_group> groups = b.mmu.list_statistics();
    for (const statistic &row : groups[0].statistics)
        BOOST_CHECK_MESSAGE(std::string(row.name).rfind("range", 0) != 0, row.name);
    b.run([] {});
}

BOOST_AUTO_TEST_CASE(more_than_1024_ranges_are_rejected) {
    pe_mmu::config config = ranged(TLA_WALK_FLAT);
    config.ranges = 1025;
    check_refused([&] { pe_mmu mmu("mmu", config); }, "/tlmalloc/pe_mmu/config: ranges: 0 .. 1024");
}

// --- address spaces --------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(one_address_space_does_not_reach_the_bytes_of_another_by_any_path) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.asids = 3;
    bench b(config);
    b.run([&] {
        b.map({{0, b.hbm(0).value, page}}, TLA_OP_MAP, 1);
        b.map({{0, b.hbm(page).value, page}}, TLA_OP_MAP, 2);
        bytes one(4, 1), two(4, 2), seen(4);
        BOOST_CHECK_EQUAL(b.access(tlm::TLM_WRITE_COMMAND, 1, 0, one), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.access(tlm::TLM_WRITE_COMMAND, 2, 0, two), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.access(tlm::TLM_READ_COMMAND, 1, 0, seen), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(seen == one);
        BOOST_CHECK_EQUAL(b.access(tlm::TLM_READ_COMMAND, 2, 0, seen), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(seen == two);
        for (std::uint32_t asid : {0u, 3u}) // maps nothing; is none
            BOOST_CHECK_EQUAL(b.access(tlm::TLM_READ_COMMAND, asid, 0, seen), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, 0, seen), 0u); // without an extension: address space 0
        tlm::tlm_generic_payload payload;
        payload.set_read();
        tlm::tlm_dmi dmi;
        BOOST_CHECK(!b.cpu.out->get_direct_mem_ptr(payload, dmi));
        BOOST_CHECK_EQUAL(b.map({{page, 0, page}}, TLA_OP_MAP, 3).status, TLA_INVALID_ARGUMENT);
    });
}

// --- page faults -----------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_fault_on_demand_is_served_and_the_access_is_made_again) {
    pe_mmu::config config = walking(TLA_WALK_IDEAL);
    config.unmapped = TLA_UNMAPPED_DEMAND;
    bench b(config);
    b.faults.serve = [&](const page_fault &fault, sc_core::sc_time &delay) {
        if (fault.va >= 4 * page) return false;
        delay += from_ps(45'000'000); // UVMSmart's far fault
        b.driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{fault.va, b.hbm(2 * fault.va).value, page}}),
                         delay);
        return true;
    };
    b.run([&] {
        sc_core::sc_time delay;
        bytes data = pattern(2 * page);
        BOOST_CHECK_EQUAL(b.cpu.write(0, data, delay), tlm::TLM_OK_RESPONSE); // two pages: two faults
        BOOST_CHECK_GE(local_ps(delay), 90'000'000u);
        sc_core::wait(delay);
        BOOST_CHECK(b.cpu.read(0, data.size()) == data);
        sc_core::sc_time again;
        BOOST_CHECK_EQUAL(b.cpu.write(4 * page, data, again), tlm::TLM_ADDRESS_ERROR_RESPONSE); // nobody has it
    });
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().demand_faults, 3u);
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 1u);
}

// --- everything at once ----------------------------------------------------------------------------------------------

namespace {

// Random accesses through a map that changes, in two address spaces, tables in memory; every byte against a map of
// bytes.
void check_random_traffic(tla_walk_mode walk, unsigned seed, std::uint32_t ranges = 0) {
    BOOST_TEST_MESSAGE("seed " << seed);
    pe_mmu::config config = walking(walk);
    config.asids = 2;
    config.ranges = ranges;
    config.larger_page_sizes[0] = 64 << 10;
    config.walkers = {4, 4, 8, true, true, 100'000};
    bench b(config);
    b.run([&] {
        std::mt19937 random(seed);
        const std::uint64_t span = 256 << 10, room = 4 << 20;
        const tla_completion block = b.allocator.command(0, alloc_command(TLA_HBM, room));
        std::map<std::uint64_t, std::uint64_t> maps[2]; // va -> pa, byte ranges of the same length as in `length`
        std::map<std::uint64_t, std::uint64_t> length[2];
        bytes physical(room);
        const auto where = [&](unsigned asid, std::uint64_t va) -> std::int64_t {
            auto it = maps[asid].upper_bound(va);
            if (it == maps[asid].begin()) return -1;
            --it;
            if (va - it->first >= length[asid][it->first]) return -1;
            return static_cast<std::int64_t>(it->second + (va - it->first) - block.value);
        };
        for (unsigned step = 0; step < 4000; step++) {
            const unsigned asid = unsigned(random() % 2), what = unsigned(random() % 10);
            std::uint64_t va = random() % span;
            const auto near = maps[asid].lower_bound(va);
            if (what > 1 && near != maps[asid].end() && random() % 4)
                va = near->first + random() % page; // often mapped
            if (what == 0) {
                const std::uint64_t aligned = random() % 2 ? va / page * page : va / (64 << 10) * (64 << 10);
                const std::uint64_t nbytes = random() % 3 ? 1 + random() % (3 * page) : (1 + random() % 4) * (32 << 10);
                const std::uint64_t pa = block.value + random() % (room - nbytes) / page * page;
                bool free = true;
                for (std::uint64_t i = 0; i < nbytes && free; i++)
                    free = where(asid, aligned + i) < 0;
                const tla_status status = b.map({{aligned, pa, nbytes}}, TLA_OP_MAP, asid).status;
                BOOST_REQUIRE_EQUAL(status, free ? TLA_OK : TLA_OVERLAP);
                if (status == TLA_OK) maps[asid][aligned] = pa, length[asid][aligned] = nbytes;
            } else if (what == 1 && !maps[asid].empty()) {
                auto it = maps[asid].lower_bound(va);
                if (it == maps[asid].end()) it = maps[asid].begin();
                const std::uint64_t first = it->first;
                BOOST_REQUIRE_EQUAL(b.map({{first, 0, length[asid][first]}}, TLA_OP_UNMAP, asid).status, TLA_OK);
                length[asid].erase(first);
                maps[asid].erase(it);
            } else {
                bytes data = pattern(1 + random() % 600, unsigned(random()));
                const bool write = random() % 2;
                bool mapped = true;
                bytes expected(data.size());
                for (std::size_t i = 0; i < data.size() && mapped; i++) {
                    const std::int64_t at = where(asid, va + i);
                    mapped = at >= 0;
                    if (mapped) expected[i] = physical[static_cast<std::size_t>(at)];
                }
                const tlm::tlm_response_status status =
                    b.access(write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, asid, va, data);
                BOOST_REQUIRE_EQUAL(status, mapped ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
                if (!mapped) continue;
                if (!write) BOOST_REQUIRE(data == expected);
                for (std::size_t i = 0; i < data.size() && write; i++)
                    physical[static_cast<std::size_t>(where(asid, va + i))] = data[i];
            }
            sc_core::wait(from_ps(random() % 1'000'000));
        }
        for (unsigned asid = 0; asid < 2; asid++)
            for (const auto &[va, nbytes] : length[asid])
                BOOST_REQUIRE_EQUAL(b.map({{va, 0, nbytes}}, TLA_OP_UNMAP, asid).status, TLA_OK);
        b.allocator.command(0, free_command(block.value, room));
    });
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_GT(s.hits, 100u);
    BOOST_CHECK_GT(s.walkers.walks, 100u);
    BOOST_CHECK_EQUAL(s.ranges.hits > 20, ranges > 0);
    BOOST_CHECK_EQUAL(s.walk_errors, 0u);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_byte_of_random_traffic_through_a_changing_map_is_right_with_a_tlb) {
    check_random_traffic(TLA_WALK_FLAT, 11);
}

BOOST_AUTO_TEST_CASE(every_byte_of_random_traffic_through_a_changing_map_is_right_with_tables_in_memory) {
    check_random_traffic(TLA_WALK_MEMORY, 12);
}

BOOST_AUTO_TEST_CASE(every_byte_of_random_traffic_through_a_changing_map_is_right_with_ranges) {
    check_random_traffic(TLA_WALK_FLAT, 13, 4);
}

BOOST_AUTO_TEST_CASE(every_byte_of_random_traffic_through_a_changing_map_is_right_with_ranges_from_lines_in_memory) {
    check_random_traffic(TLA_WALK_MEMORY, 14, 4);
}

// --- configurations that cannot be built -----------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_allocator_port_that_the_controller_has_not_is_an_error_before_time_begins) {
    pe_mmu::config config = walking(TLA_WALK_MEMORY);
    config.allocator_port = 16;
    bench b(config);
    check_refused([] { sc_core::sc_start(); }, "/tlmalloc/pe_mmu/config: mmu: allocator_port is 16, but the memory "
                                               "controller does not have this control port");
}

BOOST_AUTO_TEST_CASE(sockets_that_tables_in_memory_need_are_not_forgotten) {
    hbm_slice memory("memory", slice_config());
    pe_mmu mmu("mmu", walking(TLA_WALK_MEMORY));
    initiator cpu("cpu"), driver("driver");
    mmu.out.bind(memory.in);
    cpu.out.bind(mmu.in);
    driver.out.bind(mmu.control);
    check_refused([] { sc_core::sc_start(); },
                  "/tlmalloc/pe_mmu/config: walk and allocator must be bound, because the tables are in memory");
}

BOOST_AUTO_TEST_CASE(an_invalid_tlb_is_rejected) {
    pe_mmu::config config = walking(TLA_WALK_FLAT);
    config.tlb_l1.ways = 5;
    check_refused([&] { pe_mmu mmu("mmu", config); },
                  "/tlmalloc/pe_mmu/config: TLB: ways must divide entries into a power of two of sets, plru needs a "
                  "power of two of ways");
}
