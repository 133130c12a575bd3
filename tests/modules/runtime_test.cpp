// The runtime without a simulation: commands are calls of a device in the core, and any of them may be refused.
#include "tlmalloc/modules/runtime.hpp"

#include "tlmalloc/command/control_port.h"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/vm/va_space.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <random>

using namespace tlmalloc;

namespace {

constexpr std::uint64_t page = 1 << 16;

std::vector<pe_location> four_cubes() {
    std::vector<pe_location> pes;
    for (std::uint32_t cube = 0; cube < 4; cube++)
        for (std::uint32_t pe = 0; pe < 2; pe++)
            pes.push_back({0, cube, pe});
    return pes;
}

runtime::config settings(tla_stack_policy policy) {
    runtime::config c;
    c.fronts = tla_stack_front(policy) == TLA_FRONT_NONE ? 0 : 1u << TLA_HBM;
    c.pes = four_cubes();
    c.page_size = page;
    c.fault_latency_ps = 1000;
    c.retry = {2, 50};
    return c;
}

class called_device : public runtime {
  public:
    // What the next commands are answered with, if not TLA_OK: asked before each.
    std::function<tla_status(const tla_command &)> refuse = [](const tla_command &) { return TLA_OK; };
    std::vector<tla_opcode> commands;
    std::map<std::uint64_t, std::uint64_t> mapped; // by virtual address: bytes
    std::uint64_t time_ps = 0;
    std::vector<tla_command> launches;
    tla_location failed_at{}; // of what is refused

    explicit called_device(tla_stack_policy policy = TLA_FIRST_FIT) : runtime(settings(policy)) {
        const tla_va_space_config range{{std::uint64_t{1} << 32}, 1 << 30, page, {}};
        tla_va_space *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_va_space_create(&range, &made), TLA_OK);
        space.reset(made);
        for (const pe_location &pe : four_cubes()) {
            tla_pe_memory_config of_pe{};
            of_pe.die = pe.cube;
            of_pe.pe = pe.pe;
            of_pe.of[TLA_HBM].bytes = 1 << 20;
            of_pe.of[TLA_TCM].bytes = 1 << 16;
            of_pe.of[TLA_HBM].policy = policy;
            tla_pe_memory *memory = nullptr;
            BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&of_pe, &memory), TLA_OK);
            memories.emplace_back(memory, tla_pe_memory_destroy);
        }
    }

    bool empty() const {
        std::uint64_t used = tla_va_space_get_stats(space.get()).used;
        for (const auto &memory : memories)
            used += tla_pe_memory_get_stats(memory.get(), TLA_HBM).used;
        return used == 0 && mapped.empty();
    }

    std::uint64_t used_in(std::size_t pe) const { return tla_pe_memory_get_stats(memories[pe].get(), TLA_HBM).used; }

    using runtime::bring_page;

  private:
    std::uint64_t now_ps() const override { return time_ps; }
    void wait_for_ps(std::uint64_t duration_ps) override { time_ps += duration_ps; }
    void between_faults(const std::function<void()> &change) override { change(); }

    void post(way to, const std::vector<tla_sent_command *> &all) override {
        std::map<std::uint64_t, int> ports;
        for (tla_sent_command *p : all) {
            BOOST_CHECK_EQUAL(ports[p->port_address]++, 0); // a port takes one command at a time
            BOOST_CHECK_EQUAL(p->at_ps, time_ps);
            p->completion = serve(to, p->port_address, *p->command);
            p->status = p->completion.status;
        }
        time_ps += 10;
    }

    tla_status send(way to, std::uint64_t port, const tla_command &command, tla_completion &completion,
                    std::uint64_t &at_ps) override {
        completion = serve(to, port, command);
        at_ps += 10;
        return completion.status;
    }

    tla_completion serve(way to, std::uint64_t port, const tla_command &command) {
        commands.push_back(command.opcode);
        tla_completion done{};
        done.opcode = command.opcode;
        done.status = refuse(command);
        done.failed_at = failed_at;
        if (done.status) return done;
        BOOST_CHECK_EQUAL(command.target == TLA_TARGET_VA_MANAGER, to == way::addresses);
        if (command.target == TLA_TARGET_IO_CPU)
            launches.push_back(command);
        else if (to == way::addresses)
            done.status = serve_addresses(command, done);
        else
            done.status = serve_memory(port, command, done);
        return done;
    }

    tla_status serve_addresses(const tla_command &c, tla_completion &done) {
        tla_vaddr va{};
        switch (c.opcode) {
        case TLA_OP_VA_ALLOC:
            done.status = tla_va_space_alloc(space.get(), c.nbytes, &va, nullptr);
            done.value = va.value;
            return done.status;
        case TLA_OP_VA_FREE:
            return tla_va_space_free(space.get(), c.va, c.nbytes, nullptr);
        case TLA_OP_MAP:
            for (std::uint32_t i = 0; i < c.count; i++)
                mapped[key(c, i)] = c.entries[i].nbytes;
            return TLA_OK;
        default:
            BOOST_CHECK_EQUAL(c.opcode, TLA_OP_UNMAP);
            for (std::uint32_t i = 0; i < c.count; i++)
                BOOST_CHECK_EQUAL(mapped.erase(key(c, i)), 1u);
            return TLA_OK;
        }
    }

    // A copy's addresses are those of the others, in cubes of its own.
    static std::uint64_t key(const tla_command &c, std::uint32_t entry) {
        return c.entries[entry].va.value << 4 | c.scope.die_mask;
    }

    tla_status serve_memory(std::uint64_t port, const tla_command &c, tla_completion &done) {
        const std::vector<pe_location> pes = four_cubes();
        for (std::size_t i = 0; i < pes.size(); i++) {
            tla_paddr window{};
            tla_paddr_pe_control(0, pes[i].cube, pes[i].pe, TLA_CONTROL_MEMORY_CONTROLLER, 0, &window);
            if (port < window.value || port - window.value >= TLA_CONTROL_BLOCK_BYTES) continue;
            tla_pe_memory *const memory = memories[i].get();
            tla_paddr pa{};
            const tla_status status = c.opcode == TLA_OP_ALLOC
                                          ? tla_pe_memory_alloc(memory, c.memory, c.nbytes, &pa, nullptr)
                                      : c.opcode == TLA_OP_TRIM ? tla_pe_memory_trim(memory, c.memory, nullptr, nullptr)
                                                                : tla_pe_memory_free(memory, c.pa, c.nbytes, nullptr);
            const tla_arena_stats stats = tla_pe_memory_get_stats(memory, TLA_HBM);
            done.value = pa.value;
            done.nbytes = c.nbytes;
            done.total_free = stats.free;
            done.largest_free = stats.largest_free;
            return status;
        }
        return TLA_BUS_ERROR;
    }

    std::unique_ptr<tla_va_space, void (*)(tla_va_space *)> space{nullptr, tla_va_space_destroy};
    std::vector<std::unique_ptr<tla_pe_memory, void (*)(tla_pe_memory *)>> memories;
};

tla_status make(called_device &d, std::uint64_t nbytes, spread kind, tensor **made, tla_error *error = nullptr) {
    runtime::sharding where = d.everywhere();
    where.kind = kind;
    return d.create_tensor("t", nbytes, 1, where, made, error);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tensor_is_reserved_allocated_mapped_and_goes_the_other_way) {
    called_device d;
    tensor *t = nullptr;
    BOOST_REQUIRE_EQUAL(make(d, 8 * page, spread::split, &t), TLA_OK);
    BOOST_CHECK_EQUAL(t->shards.size(), 8u);
    BOOST_CHECK_EQUAL(d.mapped.size(), 8u);
    BOOST_CHECK_EQUAL(t->alloc_ps, 20u);
    BOOST_CHECK_EQUAL(t->map_ps, 10u);
    BOOST_CHECK_EQUAL(d.commands.size(), 1u + 8 + 1);
    d.commands.clear();
    BOOST_CHECK_EQUAL(d.free_tensor(t, nullptr), TLA_OK);
    std::vector<tla_opcode> expected(8, TLA_OP_FREE); // when nothing leads there any more
    expected.insert(expected.begin(), {TLA_OP_UNMAP, TLA_OP_VA_FREE});
    BOOST_TEST(d.commands == expected, boost::test_tools::per_element());
    BOOST_CHECK(d.empty());
    BOOST_CHECK_EQUAL(d.free_tensor(t, nullptr), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_plan_is_an_allocation_for_each_pe_and_one_mapping_whatever_it_holds) {
    called_device d;
    const std::vector<planned_tensor> plan(100, {"t", 64, 0});
    deployment net;
    BOOST_REQUIRE_EQUAL(d.deploy("net", page, plan, d.everywhere(), &net, nullptr), TLA_OK);
    std::vector<tla_opcode> expected(8, TLA_OP_ALLOC);
    expected.insert(expected.begin(), TLA_OP_VA_ALLOC);
    expected.push_back(TLA_OP_MAP);
    BOOST_TEST(d.commands == expected, boost::test_tools::per_element());
    BOOST_CHECK_EQUAL(d.free_tensor(&net.tensors[0], nullptr), TLA_NOT_ALLOCATED); // it is a view
    BOOST_CHECK_EQUAL(d.cleanup(nullptr), TLA_OK);
    BOOST_CHECK(d.empty());
    for (const tla_opcode opcode : {TLA_OP_VA_ALLOC, TLA_OP_ALLOC, TLA_OP_MAP}) {
        d.refuse = [=](const tla_command &c) { return c.opcode == opcode ? TLA_EXHAUSTED : TLA_OK; };
        BOOST_CHECK_EQUAL(d.deploy("net", page, plan, d.everywhere(), &net, nullptr), TLA_EXHAUSTED);
        BOOST_CHECK(!net.arena && net.tensors.empty());
        BOOST_CHECK(d.empty());
    }
}

BOOST_AUTO_TEST_CASE(clean_up_trims_every_front_and_reports_where_a_trim_failed) {
    const tla_stack_policy policy = tla_stack_policy_of(TLA_FRONT_CACHING_POOL, TLA_FIRST_FIT);
    called_device d(policy);
    tensor *t = nullptr;
    BOOST_REQUIRE_EQUAL(make(d, 8 * page, spread::split, &t), TLA_OK);
    BOOST_REQUIRE_EQUAL(d.free_tensor(t, nullptr), TLA_OK);
    d.commands.clear();
    unsigned refusals = 0;
    d.refuse = [&](const tla_command &c) { return c.opcode == TLA_OP_TRIM && refusals++ < 8 ? TLA_BUSY : TLA_OK; };
    BOOST_CHECK_EQUAL(d.cleanup(nullptr), TLA_OK); // each of eight PEs is asked again
    BOOST_CHECK_EQUAL(d.commands.size(), 16u);
    BOOST_CHECK_EQUAL(d.retries(), 8u);
    d.refuse = [](const tla_command &) { return TLA_BUSY; };
    tla_error error{};
    BOOST_CHECK_EQUAL(d.trim(TLA_HBM, {{0, 1, 1}, {0, 1, 1}}, &error), TLA_BUSY);
    BOOST_CHECK_MESSAGE(std::string(error.text).find("trim of HBM of sip0.cube1.pe1: rejected by the fault plan") == 0,
                        error.text);
    d.refuse = [](const tla_command &) { return TLA_OK; };
    d.commands.clear();
    BOOST_CHECK_EQUAL(d.trim(TLA_HBM, {{0, 1, 1}, {0, 1, 1}}, &error), TLA_OK);
    BOOST_CHECK_EQUAL(d.commands.size(), 1u); // one is enough
    called_device plain;
    BOOST_REQUIRE_EQUAL(make(plain, 8 * page, spread::split, &t), TLA_OK);
    BOOST_CHECK_EQUAL(plain.cleanup(nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(std::count(plain.commands.begin(), plain.commands.end(), TLA_OP_TRIM), 0);
}

BOOST_AUTO_TEST_CASE(several_parts_of_one_pe_are_asked_for_one_after_the_other) {
    called_device d;
    const pe_location pe{0, 1, 1};
    tensor *t = nullptr;
    BOOST_REQUIRE_EQUAL(d.create_tensor("t", 3 * page, 1, {{pe, pe, pe}}, &t, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(d.used_in(3), 3 * page);
    BOOST_CHECK_EQUAL(t->alloc_ps, 10u + 3 * 10);
    BOOST_CHECK_EQUAL(d.cleanup(nullptr), TLA_OK);
}

// The n-th command is refused for good, for every n that there is: nothing is left of the tensor, whatever was undone.
BOOST_AUTO_TEST_CASE(a_tensor_leaves_nothing_whichever_command_fails) {
    for (const spread kind : {spread::split, spread::replicate, spread::demand})
        for (const tla_status status : {TLA_EXHAUSTED, TLA_BUS_ERROR, TLA_BUSY, TLA_OVERLAP}) {
            bool made_it = false;
            for (int n = 0; !made_it; n++) {
                called_device d;
                int left = n;
                bool refused = false;
                std::pair<tla_opcode, std::uint32_t> which{}; // it, and when it is sent again
                d.refuse = [&](const tla_command &c) {
                    if (left-- == 0) {
                        refused = true;
                        which = {c.opcode, c.request_id};
                    }
                    return refused && which == std::make_pair(c.opcode, c.request_id) ? status : TLA_OK;
                };
                tensor *t = nullptr;
                tla_error error{};
                const tla_status result = make(d, 8 * page, kind, &t, &error);
                BOOST_CHECK(refused ? result == status && t == nullptr : result == TLA_OK);
                if (result) {
                    BOOST_CHECK(error.text[0] != '\0');
                    BOOST_CHECK_MESSAGE(d.empty(), "command " << n << " answered with " << status);
                }
                d.refuse = [](const tla_command &) { return TLA_OK; };
                BOOST_CHECK_EQUAL(d.cleanup(&error), TLA_OK);
                BOOST_CHECK(d.empty());
                made_it = !refused;
                BOOST_REQUIRE_LT(n, 100);
            }
        }
}

BOOST_AUTO_TEST_CASE(a_busy_command_is_retried_as_often_as_the_policy_allows) {
    called_device d;
    unsigned refusals = 0;
    d.refuse = [&](const tla_command &c) { return c.opcode == TLA_OP_ALLOC && refusals++ < 3 ? TLA_BUSY : TLA_OK; };
    tensor *t = nullptr;
    BOOST_CHECK_EQUAL(make(d, 8 * page, spread::split, &t), TLA_OK);
    BOOST_CHECK_EQUAL(d.retries(), 3u); // of three parts, all at once
    BOOST_CHECK_EQUAL(t->alloc_ps, 10u + 10 + 50 + 10);
    refusals = 0;
    d.refuse = [&](const tla_command &c) { return c.opcode == TLA_OP_UNMAP ? TLA_BUSY : TLA_OK; };
    tla_error error{};
    BOOST_CHECK_EQUAL(d.free_tensor(t, &error), TLA_BUSY);
    BOOST_CHECK_EQUAL(error.text, "tensor t: unmap: rejected by the fault plan (correlation 2, request 11)");
    BOOST_CHECK_EQUAL(d.retries(), 3u + 2);
}

BOOST_AUTO_TEST_CASE(a_free_that_fails_is_repeated_at_the_clean_up) {
    called_device d;
    tensor *t = nullptr;
    BOOST_REQUIRE_EQUAL(make(d, 8 * page, spread::split, &t), TLA_OK);
    d.refuse = [](const tla_command &c) { return c.opcode == TLA_OP_FREE ? TLA_LIMIT : TLA_OK; };
    BOOST_CHECK_EQUAL(d.free_tensor(t, nullptr), TLA_LIMIT);
    BOOST_CHECK_EQUAL(d.used_in(0), page);
    int refusals = 5; // a round may free some, and these give nodes to the others
    d.refuse = [&](const tla_command &c) { return c.opcode == TLA_OP_FREE && refusals-- > 0 ? TLA_LIMIT : TLA_OK; };
    tla_error error{};
    BOOST_CHECK_EQUAL(d.cleanup(&error), TLA_OK);
    BOOST_CHECK(d.empty());
}

BOOST_AUTO_TEST_CASE(a_page_comes_to_whom_touches_it_first_and_others_wait_for_it) {
    called_device d;
    tensor *t = nullptr;
    BOOST_REQUIRE_EQUAL(make(d, 3 * page, spread::demand, &t), TLA_OK);
    const std::uint64_t va = t->va.value;
    std::uint64_t first = 100, second = 150, elsewhere = 200;
    BOOST_CHECK_EQUAL(d.bring_page({0, 1, 0}, va + page + 5, false, first), TLA_OK);
    BOOST_CHECK_EQUAL(first, 100u + 1000 + 20); // ALLOC, MAP
    BOOST_CHECK_EQUAL(d.used_in(2), page);
    BOOST_CHECK_EQUAL(d.bring_page({0, 3, 1}, va + page, false, second), TLA_OK);
    BOOST_CHECK_EQUAL(second, first);
    BOOST_CHECK_EQUAL(d.bring_page({0, 3, 1}, va, false, elsewhere), TLA_OK); // behind the first
    BOOST_CHECK_EQUAL(elsewhere, first + 1000 + 20);
    std::uint64_t at = 0;
    BOOST_CHECK_EQUAL(d.bring_page({0, 0, 0}, va + 3 * page, false, at), TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(d.mapped.size(), 2u);
    BOOST_CHECK_EQUAL(d.bring_page({0, 3, 1}, va, true, at), TLA_OK); // the mapping was lost: made again
    BOOST_CHECK_EQUAL(d.commands.back(), TLA_OP_MAP);
    BOOST_CHECK_EQUAL(d.cleanup(nullptr), TLA_OK);
    BOOST_CHECK(d.empty());
}

BOOST_AUTO_TEST_CASE(a_page_that_cannot_be_mapped_is_freed_now_or_at_the_end) {
    for (const bool free_fails : {false, true}) {
        called_device d;
        tensor *t = nullptr;
        BOOST_REQUIRE_EQUAL(make(d, page, spread::demand, &t), TLA_OK);
        d.refuse = [&](const tla_command &c) {
            if (c.opcode == TLA_OP_MAP) return TLA_EXHAUSTED;
            return free_fails && c.opcode == TLA_OP_FREE ? TLA_BUSY : TLA_OK;
        };
        std::uint64_t at = 0;
        BOOST_CHECK_EQUAL(d.bring_page({0, 0, 0}, t->va.value, false, at), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(d.used_in(0), free_fails ? page : 0);
        d.refuse = [](const tla_command &) { return TLA_OK; };
        BOOST_CHECK_EQUAL(d.cleanup(nullptr), TLA_OK);
        BOOST_CHECK(d.empty());
    }
}

BOOST_AUTO_TEST_CASE(a_launch_is_one_message_for_each_sip_that_names_its_pes) {
    called_device d;
    BOOST_CHECK_EQUAL(d.launch(1, {2, 3}, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(d.launches.size(), 1u);
    const tla_command all = d.launches[0];
    BOOST_CHECK_EQUAL(tla_pe_set_count(&all.pes), 8u);
    BOOST_CHECK_EQUAL(all.pes.cubes[3], 3u);
    BOOST_CHECK_EQUAL(all.program, 0u);
    BOOST_CHECK_EQUAL(all.programs, 8u);
    BOOST_CHECK_EQUAL(all.count, 2u);
    BOOST_CHECK_EQUAL(all.target_start_ps, 0u); // the IO_CPU says
    d.launches.clear();
    BOOST_CHECK_EQUAL(d.launch(1, {}, {{0, 2, 1}, {0, 0, 0}}, nullptr), TLA_OK); // in any order
    BOOST_REQUIRE_EQUAL(d.launches.size(), 1u);
    BOOST_CHECK_EQUAL(d.launches[0].pes.cubes[0], 1u);
    BOOST_CHECK_EQUAL(d.launches[0].pes.cubes[2], 2u);
    BOOST_CHECK_EQUAL(d.launches[0].programs, 2u);
    BOOST_CHECK_GT(d.launches[0].correlation_id, all.correlation_id);
    BOOST_CHECK_GT(d.launches[0].request_id, all.request_id);
}

BOOST_AUTO_TEST_CASE(a_launch_that_fails_names_the_pe_and_the_message) {
    called_device d;
    tla_error error{};
    d.refuse = [](const tla_command &) { return TLA_BUSY; };
    d.failed_at = {TLA_LOCATION_PE, 0, 2, 1};
    BOOST_CHECK_EQUAL(d.launch(1, {}, &error), TLA_BUSY);
    BOOST_CHECK_EQUAL(
        error.text, "kernel on sip0.cube2.pe1: the previous kernel or DMA is still running (correlation 1, request 1)");
    BOOST_CHECK_EQUAL(d.retries(), 0u); // a kernel is not begun twice
    d.failed_at = {TLA_LOCATION_M_CPU, 0, 2, 0};
    d.refuse = [](const tla_command &) { return TLA_BUS_ERROR; };
    BOOST_CHECK_EQUAL(d.launch(1, {}, &error), TLA_BUS_ERROR);
    BOOST_CHECK_EQUAL(
        error.text, "kernel on sip0.cube2.m_cpu: a transaction returned an error response (correlation 2, request 3)");
}

BOOST_AUTO_TEST_CASE(an_invalid_launch_is_rejected_before_any_command_is_sent) {
    called_device d;
    tla_error error{};
    const auto refused = [&](tla_status status, const char *text, const std::vector<pe_location> &pes,
                             std::size_t arguments = 0) {
        BOOST_CHECK_EQUAL(d.launch(0, std::vector<std::uint64_t>(arguments), pes, &error), status);
        BOOST_CHECK_EQUAL(error.text, text);
        BOOST_CHECK(d.commands.empty());
    };
    const pe_location pe{0, 1, 1};
    refused(TLA_INVALID_ARGUMENT, "launch: must name at least one PE", {});
    refused(TLA_INVALID_ARGUMENT, "launch: sip0.cube1.pe1 is named twice", {pe, {0, 0, 0}, pe});
    refused(TLA_NOT_FOUND, "launch: unknown PE sip0.cube4.pe0 in this platform", {pe, {0, 4, 0}});
    refused(TLA_NOT_FOUND, "launch: unknown PE sip0.cube1.pe2 in this platform", {{0, 1, 2}});
    refused(TLA_NOT_FOUND, "launch: unknown PE sip1.cube0.pe0 in this platform", {{1, 0, 0}});
    refused(TLA_NOT_FOUND, "launch: unknown PE sip99.cube99.pe99 in this platform", {{99, 99, 99}});
    refused(TLA_INVALID_ARGUMENT, "launch: 17 arguments: must be at most 16", {pe}, TLA_COMMAND_MAX_ARGUMENTS + 1);
}
