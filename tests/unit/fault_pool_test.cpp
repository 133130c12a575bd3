// Page faults that controllers decide (fault_pool.h): steps, errors, and random programs of several controllers beside
// a plain map of pages.
#include "model/memory/fault_pool.h"

#include "seeded_random.hpp"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace {

const std::uint64_t page = 4096, capacity = 64 * page;

tla_pe_memory_config memory_of(std::uint32_t pe) {
    tla_pe_memory_config config{};
    config.pe = pe;
    config.alignment = 1;
    config.of[TLA_HBM].bytes = config.of[TLA_TCM].bytes = capacity;
    return config;
}

std::uint64_t base_of(std::uint32_t pe, tla_memory_kind kind) {
    const tla_pe_memory_config config = memory_of(pe);
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_pe_memory_address(&config, kind, 0, &pa), TLA_OK);
    return pa.value;
}

// A controller's pool.
struct pool {
    explicit pool(std::uint32_t pe = 0, std::uint64_t limit = 0)
        : memory(std::make_unique<tla_pe_memory_config>(memory_of(pe))), number(pe) {
        const tla_fault_pool_config config{memory.get(), page, limit};
        tla_fault_pool *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_fault_pool_create(&config, &made), TLA_OK);
        core.reset(made);
    }
    tla_command about(tla_opcode opcode, std::uint64_t va, std::uint64_t nbytes, std::uint32_t asid = 0) const {
        tla_command command{};
        command.opcode = opcode;
        command.correlation_id = 7;
        command.scope = {1, 1, 3};
        command.count = 1;
        command.entries[0] = {{va}, {base_of(number, TLA_HBM)}, nbytes, TLA_READ | TLA_WRITE, asid};
        return command;
    }
    tla_status delegate(const tla_command &command) { return tla_fault_pool_delegate(core.get(), &command, &work); }
    tla_status withdraw(const tla_command &command) { return tla_fault_pool_withdraw(core.get(), &command, &work); }
    tla_fault_step begin(std::uint64_t va, std::uint32_t asid = 0, bool again = false) {
        const tla_page_request request{{va}, asid, again};
        return tla_fault_pool_begin(core.get(), &request, &work);
    }
    tla_fault_step report(tla_status status, std::uint64_t value = 0) {
        return tla_fault_pool_report(core.get(), status, value);
    }
    const tla_command &command() const { return *tla_fault_pool_command(core.get()); }
    const tla_given_page &given() const { return *tla_fault_pool_page(core.get()); }
    tla_fault_pool_counts counts() const { return tla_fault_pool_get_counts(core.get()); }

    std::unique_ptr<tla_pe_memory_config> memory;
    std::uint32_t number;
    std::unique_ptr<tla_fault_pool, void (*)(tla_fault_pool *)> core{nullptr, tla_fault_pool_destroy};
    tla_work work{};
};

// Serves a fault on a page that nobody has.
void give(pool &p, std::uint64_t va, std::uint64_t pa) {
    BOOST_REQUIRE_EQUAL(p.begin(va), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK, pa), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_TELLS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_IS_SERVED);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fault_allocates_a_page_maps_it_and_tells_the_host) {
    pool p;
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 2 * page + 100)), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.begin(18 * page + 99), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.command().opcode, TLA_OP_ALLOC);
    BOOST_CHECK_EQUAL(p.command().target, TLA_TARGET_MEMORY_CONTROLLER);
    BOOST_CHECK_EQUAL(p.command().memory, TLA_HBM);
    BOOST_CHECK_EQUAL(p.command().nbytes, 100); // the tensor ends there
    BOOST_CHECK_EQUAL(p.command().object, 7u);
    BOOST_CHECK_EQUAL(p.command().correlation_id, 7u);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK, 0x5000), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.command().opcode, TLA_OP_MAP);
    BOOST_CHECK_EQUAL(p.command().target, TLA_TARGET_VA_MANAGER);
    BOOST_CHECK_EQUAL(p.command().scope.pe_mask, 3u);
    const tla_map_entry &entry = p.command().entries[0];
    BOOST_CHECK(entry.va.value == 18 * page && entry.pa.value == 0x5000 && entry.nbytes == 100);
    BOOST_CHECK(entry.flags == (TLA_READ | TLA_WRITE) && entry.asid == 0);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_TELLS);
    BOOST_CHECK(p.given().mapped && p.given().va.value == 18 * page && p.given().pa.value == 0x5000 &&
                p.given().nbytes == 100);
    BOOST_CHECK_EQUAL(p.counts().pages, 0u); // the host does not have it yet
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_IS_SERVED);
    BOOST_CHECK_EQUAL(p.counts().pages, 1u);
    BOOST_CHECK_EQUAL(p.counts().given_bytes, 100u);
    BOOST_CHECK_EQUAL(p.begin(18 * page), TLA_FAULT_IS_SERVED); // it is there
    BOOST_CHECK_EQUAL(p.counts().known, 1u);
}

BOOST_AUTO_TEST_CASE(a_fault_that_is_not_delegated_or_exceeds_the_limit_passes_on) {
    pool p(0, 3 * page);
    BOOST_CHECK_EQUAL(p.begin(16 * page), TLA_FAULT_PASSES_ON);
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 8 * page)), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 32 * page, 8 * page)), TLA_OK);
    for (const std::uint64_t va : {16 * page - 1, 24 * page})
        BOOST_CHECK_EQUAL(p.begin(va), TLA_FAULT_PASSES_ON);
    BOOST_CHECK_EQUAL(p.begin(16 * page, 1), TLA_FAULT_PASSES_ON);       // another address space
    BOOST_CHECK_EQUAL(p.begin(16 * page, 0, true), TLA_FAULT_PASSES_ON); // a mapping was lost
    give(p, 16 * page, 0);
    give(p, 17 * page, page);
    give(p, 33 * page, 2 * page);
    BOOST_CHECK_EQUAL(p.begin(34 * page), TLA_FAULT_PASSES_ON);
    BOOST_CHECK_EQUAL(p.counts().exhausted, 1u);
    BOOST_CHECK_EQUAL(p.counts().passed_on, 6u);
    const tla_page_request served{{34 * page}, 0, false};
    tla_fault_pool_served_by_host(p.core.get(), &served);
    BOOST_CHECK_EQUAL(p.begin(34 * page + 1), TLA_FAULT_IS_SERVED);
    BOOST_REQUIRE_EQUAL(p.withdraw(p.about(TLA_OP_UNMAP, 16 * page, 8 * page)), TLA_OK);
    BOOST_CHECK_EQUAL(p.counts().given_bytes, page); // the limit is for delegated tensors
    give(p, 35 * page, 0);
    BOOST_CHECK_EQUAL(p.begin(16 * page), TLA_FAULT_PASSES_ON);
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_leaves_no_block_behind) {
    pool p;
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 8 * page)), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.begin(16 * page), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.report(TLA_EXHAUSTED), TLA_FAULT_PASSES_ON); // the host states the cause
    std::uint64_t va = 16 * page;
    for (const tla_status status : {TLA_OVERLAP, TLA_BUS_ERROR, TLA_RESET}) {
        va += page;
        const tla_fault_step end = status == TLA_OVERLAP ? TLA_FAULT_IS_SERVED : TLA_FAULT_PASSES_ON;
        BOOST_REQUIRE_EQUAL(p.begin(va), TLA_FAULT_SENDS);
        BOOST_REQUIRE_EQUAL(p.report(TLA_OK, 0x7000), TLA_FAULT_SENDS);
        BOOST_REQUIRE_EQUAL(p.report(status), TLA_FAULT_SENDS);
        BOOST_CHECK_EQUAL(p.command().opcode, TLA_OP_FREE);
        BOOST_CHECK_EQUAL(p.command().pa.value, 0x7000u);
        BOOST_CHECK_EQUAL(p.command().nbytes, page);
        BOOST_CHECK_EQUAL(p.report(TLA_OK), end);
    }
    BOOST_CHECK_EQUAL(p.counts().collisions, 1u);
    BOOST_CHECK_EQUAL(p.counts().pages, 0u);
}

BOOST_AUTO_TEST_CASE(a_block_that_cannot_be_freed_is_the_hosts) {
    for (const tla_status status : {TLA_BUSY, TLA_LIMIT}) {
        pool p;
        BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, page)), TLA_OK);
        BOOST_REQUIRE_EQUAL(p.begin(16 * page), TLA_FAULT_SENDS);
        BOOST_REQUIRE_EQUAL(p.report(TLA_OK, 0x7000), TLA_FAULT_SENDS);
        BOOST_REQUIRE_EQUAL(p.report(TLA_OVERLAP), TLA_FAULT_SENDS);
        BOOST_REQUIRE_EQUAL(p.report(status), TLA_FAULT_TELLS);
        BOOST_CHECK(!p.given().mapped && p.given().pa.value == 0x7000 && p.given().nbytes == page);
        BOOST_CHECK_EQUAL(p.report(TLA_OK), TLA_FAULT_IS_SERVED);
    }
}

BOOST_AUTO_TEST_CASE(a_host_that_has_forgotten_the_tensor_ends_its_delegation) {
    pool p;
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 8 * page)), TLA_OK);
    give(p, 17 * page, 0);
    BOOST_REQUIRE_EQUAL(p.begin(16 * page), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK, 0x7000), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_TELLS);
    BOOST_CHECK_EQUAL(p.report(TLA_NOT_FOUND), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.command().opcode, TLA_OP_UNMAP);
    BOOST_CHECK_EQUAL(p.command().target, TLA_TARGET_VA_MANAGER);
    BOOST_CHECK_EQUAL(p.command().entries[0].va.value, 16 * page);
    BOOST_CHECK_EQUAL(p.report(TLA_OK), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.command().opcode, TLA_OP_FREE);
    BOOST_CHECK_EQUAL(p.command().pa.value, 0x7000u);
    BOOST_CHECK_EQUAL(p.report(TLA_OK), TLA_FAULT_FAILS);
    BOOST_CHECK_EQUAL(p.counts().given_bytes, 0u);
    BOOST_CHECK_EQUAL(p.begin(16 * page), TLA_FAULT_PASSES_ON);
    // A page that stays mapped stays allocated.
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 8 * page)), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.begin(16 * page), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK, 0x7000), TLA_FAULT_SENDS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_OK), TLA_FAULT_TELLS);
    BOOST_REQUIRE_EQUAL(p.report(TLA_NOT_FOUND), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.report(TLA_BUS_ERROR), TLA_FAULT_FAILS);
}

BOOST_AUTO_TEST_CASE(a_withdrawal_waits_for_the_fault_in_its_range_alone) {
    pool p;
    const tla_command map = p.about(TLA_OP_MAP, 16 * page, 8 * page),
                      unmap = p.about(TLA_OP_UNMAP, 16 * page, 8 * page), other = p.about(TLA_OP_MAP, 32 * page, page);
    BOOST_REQUIRE_EQUAL(p.delegate(map), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.delegate(other), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.begin(16 * page), TLA_FAULT_SENDS);
    BOOST_CHECK_EQUAL(p.withdraw(unmap), TLA_BUSY);
    BOOST_CHECK_EQUAL(p.delegate(map), TLA_BUSY);
    BOOST_CHECK_EQUAL(p.withdraw(other), TLA_OK);
    BOOST_CHECK_EQUAL(p.delegate(other), TLA_OK);
    BOOST_CHECK_EQUAL(p.report(TLA_EXHAUSTED), TLA_FAULT_PASSES_ON);
    BOOST_CHECK_EQUAL(p.withdraw(unmap), TLA_OK);
    BOOST_CHECK_EQUAL(p.withdraw(unmap), TLA_NOT_FOUND);
}

BOOST_AUTO_TEST_CASE(invalid_delegations_change_nothing) {
    pool p;
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 16 * page, 8 * page)), TLA_OK);
    give(p, 16 * page, 0);
    tla_command bad = p.about(TLA_OP_MAP, 16 * page, 4 * page);
    bad.count = 2;
    const tla_map_entry good = bad.entries[0];
    bad.entries[1] = good;
    bad.entries[1].nbytes = 0;
    BOOST_CHECK_EQUAL(p.delegate(bad), TLA_INVALID_ARGUMENT);
    bad.entries[1] = {{UINT64_MAX - 10}, good.pa, 12, TLA_READ, 0};
    BOOST_CHECK_EQUAL(p.delegate(bad), TLA_INVALID_ARGUMENT);
    bad.entries[1] = good;
    bad.entries[1].flags = 0;
    BOOST_CHECK_EQUAL(p.delegate(bad), TLA_INVALID_ARGUMENT);
    bad.entries[1] = good;
    bad.entries[1].pa.value++;
    BOOST_CHECK_EQUAL(p.delegate(bad), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(p.counts().given_bytes, page);
    tla_command both = p.about(TLA_OP_UNMAP, 16 * page, 8 * page);
    both.count = 2;
    both.entries[1] = good; // is not delegated
    BOOST_CHECK_EQUAL(p.withdraw(both), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(p.begin(16 * page), TLA_FAULT_IS_SERVED);
    // A delegation that overlaps ends the one before.
    BOOST_REQUIRE_EQUAL(p.delegate(p.about(TLA_OP_MAP, 23 * page, 8 * page)), TLA_OK);
    BOOST_CHECK_EQUAL(p.counts().given_bytes, 0u);
    BOOST_CHECK_EQUAL(p.begin(16 * page), TLA_FAULT_PASSES_ON);
    tla_fault_pool_reset(p.core.get());
    BOOST_CHECK_EQUAL(p.begin(23 * page), TLA_FAULT_PASSES_ON);
    tla_fault_pool_destroy(nullptr);
}

// Several controllers serve faults on the pages of tensors, step by step in any order. MAP decides; the blocks of a
// controller, the mappings and the host's tables are plain maps.
BOOST_AUTO_TEST_CASE(random_programs_of_several_controllers_map_every_page_once_and_lose_no_block) {
    seeded_random random(20261127);
    std::uint64_t given = 0, collided = 0, passed = 0;
    for (unsigned program = 0; program < 200; program++) {
        const auto below = [&](std::uint64_t n) { return random.between(0, n - 1); };
        struct controller {
            pool p;
            tla_fault_step step = TLA_FAULT_IS_SERVED;
            std::uint64_t va = 0, next_pa = 0;
            std::set<std::uint64_t> blocks; // allocated
        };
        const std::uint64_t limit = below(2) ? 0 : (1 + below(6)) * page;
        std::vector<std::unique_ptr<controller>> all;
        for (std::uint32_t pe = 0; pe < 3; pe++)
            all.push_back(std::make_unique<controller>(controller{pool(pe, limit)}));
        std::map<std::uint64_t, std::uint64_t> mapped, host; // page -> pa
        std::set<std::uint64_t> owed, tensors, forgotten;    // forgotten: by the host, which was reset
        const auto tensor_of = [](std::uint64_t va) { return va - va % (16 * page); };
        for (unsigned i = 0; i < 400; i++) {
            const std::uint64_t tensor = (1 + below(3)) * 16 * page, nbytes = 5 * page + 10;
            controller &c = *all[below(all.size())];
            const bool in_step = c.step == TLA_FAULT_SENDS || c.step == TLA_FAULT_TELLS;
            const std::uint64_t action = below(12);
            if (forgotten.empty() && tensors.count(tensor) && below(200) == 0) {
                forgotten.insert(tensor);
            } else if (action == 0 && !tensors.count(tensor)) {
                for (auto &to : all)
                    BOOST_REQUIRE_EQUAL(to->p.delegate(to->p.about(TLA_OP_MAP, tensor, nbytes)), TLA_OK);
                tensors.insert(tensor);
            } else if (action == 1 && tensors.count(tensor) && !forgotten.count(tensor)) {
                bool busy = false;
                for (auto &to : all) {
                    const tla_status status = to->p.withdraw(to->p.about(TLA_OP_UNMAP, tensor, nbytes));
                    const bool serves =
                        (to->step == TLA_FAULT_SENDS || to->step == TLA_FAULT_TELLS) && to->va - tensor < nbytes;
                    BOOST_REQUIRE(serves ? status == TLA_BUSY : status == TLA_OK || status == TLA_NOT_FOUND);
                    busy |= serves;
                }
                if (busy) continue; // the host asks those again that have not answered
                for (auto at = host.lower_bound(tensor); at != host.end() && at->first < tensor + nbytes;) {
                    BOOST_REQUIRE_EQUAL(mapped.erase(at->first), 1u);
                    for (auto &of : all)
                        of->blocks.erase(at->second);
                    at = host.erase(at);
                }
                for (const auto &[va, pa] : mapped)
                    BOOST_REQUIRE(va < tensor || va >= tensor + nbytes); // nothing leads to a freed tensor
                tensors.erase(tensor);
            } else if (!in_step) {
                c.va = tensor + below(nbytes + 20);
                const std::uint64_t first = c.va - c.va % page;
                c.step = c.p.begin(c.va);
                if (c.step == TLA_FAULT_IS_SERVED) BOOST_REQUIRE(mapped.count(first) || forgotten.count(tensor));
                if (c.step == TLA_FAULT_PASSES_ON && tensors.count(tensor) && c.va < tensor + nbytes && below(2) &&
                    mapped.emplace(first, 0xF000 + first).second)
                    host[first] = 0xF000 + first; // the host serves it
                passed += c.step == TLA_FAULT_PASSES_ON;
            } else if (c.step == TLA_FAULT_TELLS) {
                const tla_given_page &page_of = c.p.given();
                const bool knows = !page_of.mapped || !forgotten.count(tensor_of(page_of.va.value));
                if (page_of.mapped && knows) host[page_of.va.value] = page_of.pa.value;
                if (!page_of.mapped) owed.insert(page_of.pa.value);
                c.step = c.p.report(knows ? TLA_OK : TLA_NOT_FOUND);
            } else {
                const tla_command command = c.p.command();
                const bool fails = below(10) == 0;
                if (command.opcode == TLA_OP_ALLOC) {
                    const std::uint64_t pa = (std::uint64_t{c.p.number} + 1) << 40 | c.next_pa++ * page;
                    if (!fails) c.blocks.insert(pa);
                    c.step = c.p.report(fails ? TLA_EXHAUSTED : TLA_OK, pa);
                } else if (command.opcode == TLA_OP_MAP) {
                    const tla_map_entry &e = command.entries[0];
                    const bool first = !fails && mapped.emplace(e.va.value, e.pa.value).second;
                    c.step = c.p.report(fails ? TLA_BUS_ERROR : first ? TLA_OK : TLA_OVERLAP);
                } else if (command.opcode == TLA_OP_UNMAP) {
                    BOOST_REQUIRE_EQUAL(mapped.erase(command.entries[0].va.value), 1u);
                    c.step = c.p.report(TLA_OK);
                } else {
                    if (!fails) BOOST_REQUIRE_EQUAL(c.blocks.erase(command.pa.value), 1u);
                    c.step = c.p.report(fails ? TLA_BUSY : TLA_OK);
                }
            }
            if (limit > 0) BOOST_REQUIRE_LE(c.p.counts().given_bytes, limit);
        }
        for (auto &c : all) {
            for (const std::uint64_t pa : c->blocks) { // each is mapped, owed, or that of the fault in service
                bool found = owed.count(pa) > 0 || (c->step != TLA_FAULT_IS_SERVED && c->p.given().pa.value == pa);
                for (const auto &[va, to] : mapped)
                    found = found || to == pa;
                BOOST_REQUIRE(found);
            }
            given += c->p.counts().pages;
            collided += c->p.counts().collisions;
        }
        for (const auto &[va, pa] : host)
            BOOST_REQUIRE_EQUAL(mapped.at(va), pa);
    }
    BOOST_CHECK(given > 1000 && collided > 50 && passed > 1000);
    BOOST_TEST_MESSAGE(given << " pages, " << collided << " collisions, " << passed << " faults passed on");
}
