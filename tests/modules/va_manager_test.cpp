// va_manager: ranges of virtual addresses, and mappings that reach every MMU in scope or none.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = 4096, base = std::uint64_t{4} << 30, link_ps = 1000;

std::uint64_t mmu_address(unsigned pe) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_PE_MMU, 0, &pa), TLA_OK);
    return pa.value;
}

va_manager::config settings(unsigned pes) {
    va_manager::config config = bare<va_manager>();
    config.space = {{base}, 16 * page, page};
    for (unsigned pe = 0; pe < pes; pe++)
        config.routes.push_back({mmu_address(pe), {1, 1, 1u << pe}});
    config.cost.fixed_ps = 10'000;
    return config;
}

// The VA manager in front of four MMUs, the last of which answers 7 ns later than the others; `cpu` commands the
// manager, `driver` the MMUs.
struct bench {
    explicit bench(const va_manager::config &config = settings(4)) : addresses("va", config) {
        pe_mmu::config mmu_config = bare<pe_mmu>();
        mmu_config.page_size = page;
        interconnect::config links = bare<interconnect>();
        links.nodes.resize(5);
        links.sources = {0, 0};
        for (unsigned pe = 0; pe < 4; pe++) {
            mmu_config.cost.fixed_ps = 20'000 + (pe == 3 ? 7000 : 0);
            mmus.push_back(std::make_unique<pe_mmu>(("mmu" + std::to_string(pe)).c_str(), mmu_config));
            feeds.push_back(std::make_unique<initiator>(("feed" + std::to_string(pe)).c_str()));
            memories.push_back(std::make_unique<hbm_slice>(("memory" + std::to_string(pe)).c_str(), bare<hbm_slice>()));
            feeds[pe]->out.bind(mmus[pe]->in);
            mmus[pe]->out.bind(memories[pe]->in);
            links.links.push_back({0, pe + 1, link_ps, UINT64_MAX, 0});
            links.links.push_back({pe + 1, 0, link_ps, UINT64_MAX, 0});
            links.targets.push_back(pe + 1);
            links.windows.push_back({mmu_address(pe), TLA_CONTROL_BLOCK_BYTES, pe, true});
        }
        fabric = std::make_unique<interconnect>("fabric", links);
        addresses.out.bind(fabric->in);
        driver.out.bind(fabric->in);
        for (auto &mmu : mmus)
            fabric->out.bind(mmu->control);
        cpu.out.bind(addresses.control);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &driver});
    }

    tla_completion map(std::initializer_list<mapping> entries, tla_opcode opcode = TLA_OP_MAP,
                       std::uint32_t pes = ~0u) {
        return cpu.command(0, map_command(TLA_TARGET_VA_MANAGER, opcode, entries, {~0u, ~0u, pes}));
    }

    // Bytes that each MMU maps, in pages.
    std::vector<std::uint64_t> mapped() const {
        std::vector<std::uint64_t> pages;
        for (const auto &mmu : mmus)
            pages.push_back(mmu->get_statistics().table.mapped_bytes / page);
        return pages;
    }

    va_manager addresses;
    std::vector<std::unique_ptr<pe_mmu>> mmus;
    std::vector<std::unique_ptr<initiator>> feeds; // what the MMUs' data sides are bound to
    std::vector<std::unique_ptr<hbm_slice>> memories;
    std::unique_ptr<interconnect> fabric;
    initiator cpu{"cpu"}, driver{"driver"};
};

tla_command va_command(tla_opcode opcode, std::uint64_t nbytes, std::uint64_t va = 0) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_VA_MANAGER;
    command.nbytes = nbytes;
    command.va = {va};
    return command;
}

using pages = std::vector<std::uint64_t>;

} // namespace

BOOST_AUTO_TEST_CASE(ranges_are_page_aligned_first_fit_and_rounded) {
    bench b;
    b.run([&] {
        const auto alloc = [&](std::uint64_t nbytes) { return b.cpu.command(0, va_command(TLA_OP_VA_ALLOC, nbytes)); };
        const auto release = [&](std::uint64_t va, std::uint64_t nbytes) {
            return b.cpu.command(0, va_command(TLA_OP_VA_FREE, nbytes, va)).status;
        };
        BOOST_CHECK_EQUAL(alloc(1).value, base);
        BOOST_CHECK_EQUAL(alloc(page + 1).value, base + page);
        BOOST_CHECK_EQUAL(alloc(1).value, base + 3 * page);
        BOOST_CHECK_EQUAL(release(base + page, page + 1), TLA_OK);
        BOOST_CHECK_EQUAL(alloc(page).value, base + page); // into the hole
        const tla_completion full = alloc(16 * page);
        BOOST_CHECK_EQUAL(full.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(full.total_free, 13 * page);
        BOOST_CHECK_EQUAL(full.largest_free, 12 * page);
        BOOST_CHECK_EQUAL(alloc(13 * page).status, TLA_FRAGMENTED);
        BOOST_CHECK_EQUAL(release(base + page + 1, page), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(release(base + 8 * page, page), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(release(base, 1), TLA_OK);
        BOOST_CHECK_EQUAL(release(base, 1), TLA_NOT_ALLOCATED); // double free
    });
    const va_manager::statistics s = b.addresses.get_statistics();
    BOOST_CHECK_EQUAL(s.allocs, 6u);
    BOOST_CHECK_EQUAL(s.frees, 5u);
    BOOST_CHECK_EQUAL(s.failed, 5u);
    BOOST_CHECK_EQUAL(s.space.used, 2 * page);
    BOOST_CHECK_EQUAL(s.busy_ps, 11 * 10'000u);
}

BOOST_AUTO_TEST_CASE(a_map_reaches_every_mmu_in_scope_and_no_other) {
    bench b;
    b.run([&] {
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}).nbytes, 1u);
        BOOST_CHECK_EQUAL(b.map({{base + page, 0, 2 * page}}, TLA_OP_MAP, 0b0101).status, TLA_OK);
        BOOST_CHECK(b.mapped() == (pages{3, 1, 3, 1}));
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}, TLA_OP_UNMAP).status, TLA_OK);
        BOOST_CHECK(b.mapped() == (pages{2, 0, 2, 0}));
    });
    BOOST_CHECK_EQUAL(b.addresses.get_statistics().maps, 2u);
    BOOST_CHECK_EQUAL(b.addresses.get_statistics().unmaps, 1u);
}

BOOST_AUTO_TEST_CASE(a_map_is_done_when_the_last_mmu_has_answered) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        const tla_command map = map_command(TLA_TARGET_VA_MANAGER, TLA_OP_MAP, {{base, 0, page}});
        const tla_completion answer = b.cpu.command(0, map, delay);
        // there, 27 ns in the slowest MMU, back; the write was acknowledged long before
        BOOST_CHECK_EQUAL(local_ps(delay), link_ps + 1 + 27'000 + link_ps + 1);
        BOOST_CHECK_EQUAL(answer.service_ps, local_ps(delay));
    });
}

BOOST_AUTO_TEST_CASE(a_map_that_fails_on_one_mmu_is_undone_on_the_others) {
    bench b;
    b.run([&] {
        const tla_command taken = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{base + page, 0, 10}});
        BOOST_CHECK_EQUAL(b.driver.command(mmu_address(2), taken).status, TLA_OK);
        const tla_completion refused = b.map({{base, 0, page}, {base + page, page, page}});
        BOOST_CHECK_EQUAL(refused.status, TLA_OVERLAP);
        BOOST_CHECK_EQUAL(refused.nbytes, 0u);
        BOOST_CHECK(b.mapped() == (pages{0, 0, 0, 0}));
        BOOST_CHECK_EQUAL(b.mmus[2]->get_statistics().table.mapped_bytes, 10u); // what was there stays
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}).status, TLA_OK);
        BOOST_CHECK(b.mapped() == (pages{1, 1, 1, 1}));
    });
    BOOST_CHECK_EQUAL(b.addresses.get_statistics().failed, 1u);
}

BOOST_AUTO_TEST_CASE(two_senders_may_map_at_the_same_time) {
    bench b;
    b.run([&] {
        sc_core::sc_time first, second;
        b.cpu.post(0, map_command(TLA_TARGET_VA_MANAGER, TLA_OP_MAP, {{base, 0, page}}), first);
        b.cpu.post(TLA_PORT_BYTES, map_command(TLA_TARGET_VA_MANAGER, TLA_OP_MAP, {{base + page, 0, page}}), second);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, first).status, TLA_OK);
        const std::uint64_t first_ps = local_ps(first);
        BOOST_CHECK_EQUAL(first_ps, link_ps + 1 + 27'000 + link_ps + 1);
        BOOST_CHECK_EQUAL(b.cpu.completion(TLA_PORT_BYTES, second).status, TLA_OK);
        BOOST_CHECK(b.mapped() == (pages{2, 2, 2, 2}));
        BOOST_CHECK_EQUAL(local_ps(second), 2 * first_ps); // one after the other
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_scope_without_an_mmu_and_an_mmu_that_does_not_answer_are_errors) {
    bench b(settings(5)); // the fifth is configured but not there
    b.run([&] {
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}, TLA_OP_MAP, 0).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}, TLA_OP_MAP, 1u << 9).status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}).status, TLA_BUS_ERROR);
        BOOST_CHECK(b.mapped() == (pages{0, 0, 0, 0}));
        BOOST_CHECK_EQUAL(b.map({{base, 0, page}}, TLA_OP_MAP, 0xf).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(commands_for_other_targets_are_rejected) {
    bench b;
    b.run([&] {
        tla_command alloc = alloc_command(TLA_HBM, 1);
        alloc.target = TLA_TARGET_VA_MANAGER;
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc).status, TLA_BAD_COMMAND);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.post(0, alloc_command(TLA_HBM, 1), delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).status, TLA_MISDIRECTED);
    });
}

BOOST_AUTO_TEST_CASE(a_space_that_is_not_page_aligned_cannot_be_built) {
    va_manager::config config = settings(4);
    config.space.base.value += 1;
    check_refused([&] { va_manager addresses("va", config); },
                  "/tlmalloc/va_manager/config: base and size must be multiples of page_size");
}
