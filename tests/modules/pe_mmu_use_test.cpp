// A pe_mmu whose host evicts pages: bits of use, accesses that are cut at the ends of pages, no pointers.
#include "bare.hpp"
#include "fault_handler.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <set>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t page = 4096, va = 0x100000;

struct bench {
    static pe_mmu::config config(tla_walk_mode walk) {
        pe_mmu::config config = bare<pe_mmu>();
        config.page_size = page;
        config.pauses = true;
        config.evicted_page = 2 * page;
        config.unmapped = TLA_UNMAPPED_DEMAND;
        config.walk = walk;
        config.tlb_l1.entries = walk == TLA_WALK_IDEAL ? 0 : 4;
        return config;
    }
    explicit bench(tla_walk_mode walk = TLA_WALK_IDEAL) : mmu("mmu", config(walk)), slice("slice", slice_config()) {
        mmu.out.bind(slice.in);
        mmu.fault.bind(faults.in);
        cpu.out.bind(mmu.in);
        driver.out.bind(mmu.control);
        faults.serve = [](const page_fault &, sc_core::sc_time &) { return false; };
    }
    static hbm_slice::config slice_config() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = 1 << 20;
        return config;
    }
    void run(const std::function<void()> &body) {
        reports().clear();
        driver.body = body;
        simulate({&driver});
    }
    tla_completion send(tla_opcode opcode, const std::vector<tla_map_entry> &entries) {
        tla_command command{};
        command.opcode = opcode;
        command.target = TLA_TARGET_PE_MMU;
        for (const tla_map_entry &entry : entries)
            command.entries[command.count++] = entry;
        return driver.command(0, command);
    }
    void map(std::uint64_t at, std::uint64_t pa, std::uint64_t nbytes) {
        BOOST_CHECK_EQUAL(send(TLA_OP_MAP, {{{at}, {pa}, nbytes, TLA_READ | TLA_WRITE, 0}}).status, TLA_OK);
        sc_core::wait(1, sc_core::SC_US);
    }
    // The four pages of `evicted_page` bytes from va on.
    std::vector<tla_map_entry> pages() const {
        std::vector<tla_map_entry> entries;
        for (std::uint64_t i = 0; i < 4; i++)
            entries.push_back({{va + i * 2 * page}, {}, 2 * page, 0, 0});
        return entries;
    }
    std::uint64_t read_and_clear_referenced() { return send(TLA_OP_INVALIDATE, pages()).value; }
    std::uint64_t read_dirty() {
        const tla_completion done = send(TLA_OP_PAUSE, pages());
        BOOST_CHECK_EQUAL(send(TLA_OP_RESUME, pages()).status, TLA_OK);
        return done.value;
    }
    void read(std::uint64_t at, std::size_t nbytes) {
        bytes data(nbytes);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(cpu.read(at, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
    }
    void write(std::uint64_t at, bytes data) {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(cpu.write(at, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
    }

    pe_mmu mmu;
    hbm_slice slice;
    fault_handler faults{"faults"};
    initiator cpu{"cpu"}, driver{"driver"};
};

void check_bits(tla_walk_mode walk) {
    bench b(walk);
    b.run([&] {
        b.map(va, 0, 8 * page);
        BOOST_CHECK_EQUAL(b.read_and_clear_referenced(), 0u);
        b.read(va + 8, 8);
        b.write(va + 5 * page, bytes(8));
        b.read(va + 6 * page - 4, 8); // in two pages
        BOOST_CHECK_EQUAL(b.read_and_clear_referenced(), 0b1101u);
        BOOST_CHECK_EQUAL(b.read_and_clear_referenced(), 0u);
        b.read(va + 8, 8); // again, from the TLB if it still had the page
        BOOST_CHECK_EQUAL(b.read_and_clear_referenced(), 0b0001u);
        BOOST_CHECK_EQUAL(b.read_dirty(), 0b0100u);
        BOOST_CHECK_EQUAL(b.read_dirty(), 0b0100u); // until the page is mapped anew
        const std::vector<tla_map_entry> third{{{va + 4 * page}, {}, 2 * page, 0, 0}};
        BOOST_CHECK_EQUAL(b.send(TLA_OP_UNMAP, third).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.read_dirty(), 0b0100u); // an UNMAP can be taken back
        b.map(va + 4 * page, 0x40000, 2 * page);
        BOOST_CHECK_EQUAL(b.read_dirty(), 0u);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(invalidate_reads_and_clears_reference_bits_and_pause_reads_dirty_bits) {
    check_bits(TLA_WALK_IDEAL);
}
BOOST_AUTO_TEST_CASE(hits_in_the_tlb_set_bits_again) {
    check_bits(TLA_WALK_FLAT);
}

BOOST_AUTO_TEST_CASE(a_write_without_time_makes_a_page_dirty) {
    bench b;
    b.run([&] {
        b.map(va, 0, 8 * page);
        bytes data(16);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_address(va + 2 * page);
        payload.set_data_ptr(data.data());
        payload.set_data_length(16);
        BOOST_CHECK_EQUAL(b.cpu.out->transport_dbg(payload), 16u);
        BOOST_CHECK_EQUAL(b.read_dirty(), 0b0010u);
    });
}

// One page is in memory at a time, and an access reaches four.
BOOST_AUTO_TEST_CASE(an_access_over_several_pages_needs_only_one_at_a_time) {
    bench b;
    std::uint64_t mapped = 0;
    std::set<std::uint64_t> asked;
    bytes memory(1 << 20);
    b.faults.serve = [&](const page_fault &fault, sc_core::sc_time &) {
        asked.insert(fault.va);
        const std::uint64_t first = fault.va / (2 * page) * 2 * page;
        std::vector<tla_map_entry> gone{{{mapped}, {}, 2 * page, 0, 0}};
        if (mapped) {
            BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, gone).status, TLA_OK);
            BOOST_CHECK_EQUAL(b.send(TLA_OP_UNMAP, gone).status, TLA_OK);
            BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, gone).status, TLA_OK);
        }
        b.map(first, first - va, 2 * page);
        mapped = first;
        return true;
    };
    b.run([&] {
        bytes data(6 * page, 1), found(6 * page);
        for (std::size_t i = 0; i < data.size(); i++)
            data[i] = static_cast<std::uint8_t>(i * 7 + i / 256);
        b.write(va + page, data);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.read(va + page, found, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(found == data);
    });
    BOOST_CHECK((asked == std::set<std::uint64_t>{va + page, va + 2 * page, va + 4 * page, va + 6 * page}));
    BOOST_CHECK_EQUAL(b.mmu.get_statistics().splits, 0u); // each page is an access of its own
}

BOOST_AUTO_TEST_CASE(an_access_fails_with_the_first_error_of_its_pages) {
    bench b;
    b.run([&] {
        b.map(va, 0, 2 * page);
        bytes data(4 * page);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.read(va + page, data, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.mmu.get_statistics().faults, 2u); // of both pages behind
    });
}

BOOST_AUTO_TEST_CASE(an_mmu_whose_pages_leave_passes_on_no_pointers) {
    bench b;
    b.run([&] {
        b.map(va, 0, 2 * page);
        BOOST_CHECK(!b.cpu.pointer_to(va));
    });
}

BOOST_AUTO_TEST_CASE(pages_of_an_odd_size_are_rejected) {
    pe_mmu::config config = bench::config(TLA_WALK_IDEAL);
    config.evicted_page = 3 * page;
    BOOST_CHECK_THROW(pe_mmu("odd", config), sc_core::sc_report);
}
