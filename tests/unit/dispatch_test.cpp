// Commands for PEs that are named one by one: which messages they become, who refuses them, what the answers mean.
#include "model/command/dispatch.h"

#include "tlmalloc/command/control_port.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace {

struct pe {
    std::uint32_t cube, number;
    bool operator<(const pe &o) const { return cube != o.cube ? cube < o.cube : number < o.number; }
    bool operator==(const pe &o) const { return cube == o.cube && number == o.number; }
};
using pes = std::set<pe>; // in program order

tla_pe_set set_of(const pes &which) {
    tla_pe_set set{};
    for (const pe &p : which)
        set.cubes[p.cube] = static_cast<std::uint16_t>(set.cubes[p.cube] | 1u << p.number);
    return set;
}

pes list_of(const tla_pe_set &set) {
    pes which;
    for (std::uint32_t cube = 0; cube < TLA_CUBE_DIE_COUNT; cube++)
        for (std::uint32_t i = 0; i < TLA_PE_COUNT; i++)
            if (set.cubes[cube] >> i & 1) which.insert({cube, i});
    return which;
}

constexpr std::uint32_t sip = 5;
constexpr std::uint64_t window(std::size_t route) {
    return (route + 1) << 24;
}

struct bench {
    std::unique_ptr<tla_dispatcher, void (*)(tla_dispatcher *)> dispatcher{nullptr, tla_dispatcher_destroy};
    std::vector<tla_dispatch_route> routes;
    tla_location at{};

    explicit bench(std::vector<tla_dispatch_route> to, std::uint32_t kernels = 0) : routes(std::move(to)) {
        tla_dispatcher *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_dispatcher_create(routes.data(), routes.size(), sip, kernels, &made), TLA_OK);
        dispatcher.reset(made);
    }

    // An IO_CPU's: a route for each cube of `in_cube` PEs.
    static bench of_cubes(std::uint32_t cubes, std::uint32_t in_cube, std::uint32_t kernels = 0) {
        std::vector<tla_dispatch_route> to;
        for (std::uint32_t cube = 0; cube < cubes; cube++) {
            pes all;
            for (std::uint32_t i = 0; i < in_cube; i++)
                all.insert({cube, i});
            to.push_back({window(cube), set_of(all), 0, 0});
        }
        return bench(std::move(to), kernels);
    }

    static std::unique_ptr<tla_command> launch(const pes &which, std::uint32_t first = 0, std::uint32_t programs = 0) {
        auto command = std::make_unique<tla_command>();
        command->opcode = TLA_OP_LAUNCH;
        command->target = TLA_TARGET_IO_CPU;
        command->correlation_id = 70;
        command->request_id = 71;
        command->pes = set_of(which);
        command->program = first;
        command->programs = programs ? programs : first + static_cast<std::uint32_t>(which.size());
        return command;
    }

    tla_status begin(const tla_command &command, std::uint64_t at_ps, tla_dispatch **begun) {
        return tla_dispatch_begin(dispatcher.get(), &command, TLA_TARGET_M_CPU, 9, at_ps, begun, &at);
    }
};

struct messages {
    tla_sent_command *list = nullptr;
    std::size_t count;
    explicit messages(tla_dispatch *dispatch) : count(tla_dispatch_commands(dispatch, &list)) {}
    tla_sent_command *begin() const { return list; }
    tla_sent_command *end() const { return list + count; }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_launch_goes_along_every_route_whose_pes_it_names_with_their_programs) {
    bench b = bench::of_cubes(4, 8);
    const auto command = bench::launch({{0, 1}, {0, 7}, {2, 0}, {3, 3}, {3, 4}, {3, 5}}, 10, 40);
    tla_dispatch *begun = nullptr;
    BOOST_REQUIRE_EQUAL(b.begin(*command, 1000, &begun), TLA_OK);
    const messages sent(begun);
    BOOST_REQUIRE_EQUAL(sent.count, 3u);
    const std::uint32_t cubes[] = {0, 2, 3}, programs[] = {10, 12, 13};
    for (std::size_t i = 0; i < 3; i++) {
        const tla_sent_command &p = sent.list[i];
        BOOST_CHECK_EQUAL(p.port_address, window(cubes[i]) + 9 * TLA_PORT_BYTES); // the port by which it came
        BOOST_CHECK_EQUAL(p.at_ps, 1000u);
        BOOST_CHECK(p.gather);
        BOOST_CHECK_EQUAL(p.command->target, TLA_TARGET_M_CPU);
        BOOST_CHECK_EQUAL(p.command->program, programs[i]);
        BOOST_CHECK_EQUAL(p.command->programs, 40u);
        BOOST_CHECK_EQUAL(p.command->correlation_id, 70u);
        BOOST_CHECK_EQUAL(p.command->request_id, 71u);
        BOOST_CHECK_EQUAL(p.command->target_start_ps, 0u); // no way is known
        for (const pe &one : list_of(p.command->pes))
            BOOST_CHECK_EQUAL(one.cube, cubes[i]);
    }
    tla_completion answer{};
    tla_dispatch_end(begun, &answer);
    BOOST_CHECK_EQUAL(answer.correlation_id, 70u);
    BOOST_CHECK_EQUAL(answer.request_id, 71u);
    BOOST_CHECK_EQUAL(answer.opcode, TLA_OP_LAUNCH);
}

BOOST_AUTO_TEST_CASE(all_begin_when_the_farthest_can_unless_the_command_says_when) {
    bench b = bench::of_cubes(3, 2);
    const std::uint64_t ways[] = {500, 900, 700};
    for (std::size_t i = 0; i < 3; i++)
        tla_dispatcher_set_way(b.dispatcher.get(), i, ways[i], 10);
    const auto start_of = [&](const tla_command &command, std::uint64_t at_ps) {
        tla_dispatch *begun = nullptr;
        BOOST_REQUIRE_EQUAL(b.begin(command, at_ps, &begun), TLA_OK);
        const messages sent(begun);
        for (const tla_sent_command &p : sent)
            BOOST_CHECK_EQUAL(p.command->target_start_ps, sent.list[0].command->target_start_ps);
        const std::uint64_t start = sent.list[0].command->target_start_ps;
        tla_dispatch_destroy(begun); // gives the PEs back
        return start;
    };
    const auto all = bench::launch({{0, 0}, {1, 1}, {2, 0}}), near = bench::launch({{0, 0}, {2, 1}});
    BOOST_CHECK_EQUAL(start_of(*all, 2000), 2000u + 900 + 3 * 10);
    BOOST_CHECK_EQUAL(start_of(*near, 2000), 2000u + 700 + 2 * 10);
    near->target_start_ps = 12345;
    BOOST_CHECK_EQUAL(start_of(*near, 2000), 12345u);
}

// All or none: whichever PE it is that cannot, nobody is sent anything, and the answer says which one it was.
BOOST_AUTO_TEST_CASE(no_pe_begins_whichever_pe_rejects_the_launch) {
    const std::uint32_t cubes = 3, in_cube = 4;
    pes all;
    for (std::uint32_t cube = 0; cube < cubes; cube++)
        for (std::uint32_t i = 0; i < in_cube; i++)
            all.insert({cube, i});
    for (const pe &busy : all) {
        bench b = bench::of_cubes(cubes, in_cube);
        tla_dispatch *first = nullptr, *second = nullptr;
        BOOST_REQUIRE_EQUAL(b.begin(*bench::launch({busy}), 100, &first), TLA_OK);
        const auto whole = bench::launch(all);
        BOOST_CHECK_EQUAL(b.begin(*whole, 200, &second), TLA_BUSY);
        BOOST_CHECK(second == nullptr);
        BOOST_CHECK_EQUAL(b.at.kind, TLA_LOCATION_PE);
        BOOST_CHECK_EQUAL(b.at.sip, sip);
        BOOST_CHECK_EQUAL(b.at.cube, busy.cube);
        BOOST_CHECK_EQUAL(b.at.pe, busy.number);
        pes others = all;
        others.erase(busy);
        BOOST_REQUIRE_EQUAL(b.begin(*bench::launch(others), 200, &second), TLA_OK); // the refusal has left nothing
        tla_completion answer{};
        tla_dispatch_end(second, &answer);
        messages(first).list->answered_ps = 500;
        BOOST_CHECK_EQUAL(tla_dispatch_end(first, &answer), 500u);
        BOOST_CHECK_EQUAL(b.begin(*whole, 499, &second), TLA_BUSY); // it still worked then
        BOOST_REQUIRE_EQUAL(b.begin(*whole, 500, &second), TLA_OK);
        tla_dispatch_destroy(second);
        tla_dispatcher_make_idle(b.dispatcher.get());
        BOOST_REQUIRE_EQUAL(b.begin(*whole, 499, &second), TLA_OK);
        tla_dispatch_destroy(second);
    }
    for (const pe &missing : {pe{0, 4}, pe{2, 15}, pe{3, 0}, pe{15, 15}}) {
        bench b = bench::of_cubes(cubes, in_cube);
        pes more = all;
        more.insert(missing);
        tla_dispatch *begun = nullptr;
        BOOST_CHECK_EQUAL(b.begin(*bench::launch(more), 0, &begun), TLA_NOT_FOUND);
        BOOST_CHECK(begun == nullptr);
        BOOST_CHECK_EQUAL(b.at.kind, TLA_LOCATION_PE);
        BOOST_CHECK_EQUAL(b.at.cube, missing.cube);
        BOOST_CHECK_EQUAL(b.at.pe, missing.number);
    }
}

BOOST_AUTO_TEST_CASE(a_launch_without_a_pe_or_with_an_unknown_kernel_is_rejected) {
    bench b = bench::of_cubes(2, 2, 3);
    tla_dispatch *begun = nullptr;
    BOOST_CHECK_EQUAL(b.begin(*bench::launch({}, 0, 1), 0, &begun), TLA_INVALID_ARGUMENT);
    auto command = bench::launch({{0, 0}});
    command->kernel = 3;
    BOOST_CHECK_EQUAL(b.begin(*command, 0, &begun), TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(b.at.kind, TLA_LOCATION_NONE);
    BOOST_CHECK(begun == nullptr);
    command->kernel = 2;
    BOOST_REQUIRE_EQUAL(b.begin(*command, 0, &begun), TLA_OK);
    tla_dispatch_destroy(begun);
}

BOOST_AUTO_TEST_CASE(the_first_failure_in_program_order_is_the_answer_and_says_where) {
    bench b = bench::of_cubes(3, 2);
    tla_dispatch *begun = nullptr;
    BOOST_REQUIRE_EQUAL(b.begin(*bench::launch({{0, 0}, {1, 0}, {2, 1}}), 0, &begun), TLA_OK);
    tla_sent_command *p = messages(begun).list;
    p[0].answered_ps = 100, p[1].answered_ps = 900, p[2].answered_ps = 300;
    p[0].completion.value = 50, p[0].completion.service_ps = 40;
    p[2].status = TLA_LIMIT; // first in time
    p[1].status = p[1].completion.status = TLA_EXHAUSTED;
    p[1].completion.failed_at = {TLA_LOCATION_PE, sip, 1, 0};
    p[1].completion.nbytes = 77;
    p[1].completion.value = 60, p[1].completion.service_ps = 5;
    tla_completion answer{};
    BOOST_CHECK_EQUAL(tla_dispatch_end(begun, &answer), 900u);
    BOOST_CHECK_EQUAL(answer.status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(answer.failed_at.kind, TLA_LOCATION_PE);
    BOOST_CHECK_EQUAL(answer.failed_at.cube, 1u);
    BOOST_CHECK_EQUAL(answer.nbytes, 77u);
    BOOST_CHECK_EQUAL(answer.value, 60u);
    BOOST_CHECK_EQUAL(answer.service_ps, 5u);

    BOOST_REQUIRE_EQUAL(b.begin(*bench::launch({{0, 0}, {1, 0}}), 1000, &begun), TLA_OK);
    p = messages(begun).list;
    p[1].status = TLA_BUS_ERROR; // nothing came back: the route says who it was
    tla_dispatch_end(begun, &answer);
    BOOST_CHECK_EQUAL(answer.status, TLA_BUS_ERROR);
    BOOST_CHECK_EQUAL(answer.failed_at.kind, TLA_LOCATION_M_CPU);
    BOOST_CHECK_EQUAL(answer.failed_at.sip, sip);
    BOOST_CHECK_EQUAL(answer.failed_at.cube, 1u);
}

BOOST_AUTO_TEST_CASE(the_answer_of_all_is_the_latest_start_and_the_longest_kernel) {
    bench b = bench::of_cubes(3, 1);
    tla_dispatch *begun = nullptr;
    BOOST_REQUIRE_EQUAL(b.begin(*bench::launch({{0, 0}, {1, 0}, {2, 0}}), 0, &begun), TLA_OK);
    tla_sent_command *p = messages(begun).list;
    const std::uint64_t starts[] = {5, 9, 7}, services[] = {30, 10, 20};
    for (std::size_t i = 0; i < 3; i++)
        p[i].completion.value = starts[i], p[i].completion.service_ps = services[i];
    tla_completion answer{};
    tla_dispatch_end(begun, &answer);
    BOOST_CHECK_EQUAL(answer.status, TLA_OK);
    BOOST_CHECK_EQUAL(answer.value, 9u);
    BOOST_CHECK_EQUAL(answer.service_ps, 30u);
}

BOOST_AUTO_TEST_CASE(routes_that_share_a_pe_or_lie_between_each_other_are_rejected) {
    tla_dispatcher *made = nullptr;
    const auto create = [&made](const pes &a, const pes &b) {
        const tla_dispatch_route routes[] = {{window(0), set_of(a), 0, 0}, {window(1), set_of(b), 0, 0}};
        const tla_status status = tla_dispatcher_create(routes, 2, 0, 0, &made);
        BOOST_CHECK_EQUAL(made == nullptr, status != TLA_OK);
        tla_dispatcher_destroy(made);
        return status;
    };
    BOOST_CHECK_EQUAL(create({{0, 0}, {0, 1}}, {{0, 1}, {0, 2}}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create({{0, 0}, {0, 2}}, {{0, 1}}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(create({{1, 0}}, {{0, 0}, {0, 2}}), TLA_OK); // in any order
    BOOST_CHECK_EQUAL(create({}, {{0, 0}}), TLA_OK);
}

// Random routes, launches and ends of launches, beside a dictionary of who is at work and a plain list of programs.
BOOST_AUTO_TEST_CASE(random_launches_do_what_a_naive_model_does) {
    for (const unsigned seed : {1u, 2u, 3u, 4u}) {
        BOOST_TEST_MESSAGE("seed " << seed);
        std::mt19937 random(seed);
        std::vector<tla_dispatch_route> routes; // cuts of all PEs in their order, some left out
        std::map<pe, std::size_t> behind;
        pes group;
        for (std::uint32_t i = 0; i < 256; i++) {
            const pe p{i / 16, i % 16};
            if (random() % 8) group.insert(p);
            if ((random() % 6 && i != 255) || group.empty()) continue;
            for (const pe &g : group)
                behind[g] = routes.size();
            routes.push_back({window(routes.size()), set_of(group), 1 + random() % 1000, random() % 10});
            group.clear();
        }
        bench b(routes);
        std::map<pe, std::uint64_t> free_at;
        struct under_way {
            tla_dispatch *dispatch;
            pes which;
        };
        std::vector<under_way> all;
        std::uint64_t now = 0;
        unsigned begun_count = 0, busy_count = 0, missing_count = 0;
        for (int step = 0; step < 3000; step++) {
            now += random() % 50;
            if (!all.empty() && random() % 2) {
                const std::size_t which = random() % all.size();
                const under_way ended = all[which];
                all.erase(all.begin() + static_cast<std::ptrdiff_t>(which));
                std::uint64_t last = 0;
                for (tla_sent_command &p : messages(ended.dispatch)) {
                    p.answered_ps = now + random() % 100;
                    last = std::max(last, p.answered_ps);
                    for (const pe &one : list_of(p.command->pes))
                        free_at[one] = p.answered_ps;
                }
                tla_completion answer{};
                BOOST_REQUIRE_EQUAL(tla_dispatch_end(ended.dispatch, &answer), last);
                continue;
            }
            pes which;
            const bool real = random() % 4; // those that are there
            for (std::uint64_t n = random() % 6; n > 0; n--) {
                const pe p{static_cast<std::uint32_t>(random() % 16), static_cast<std::uint32_t>(random() % 16)};
                if (!real || behind.count(p)) which.insert(p);
            }
            const auto first = static_cast<std::uint32_t>(random() % 100);
            const auto command = bench::launch(which, first, first + 300);
            tla_status expected = which.empty() ? TLA_INVALID_ARGUMENT : TLA_OK;
            for (const pe &p : which)
                if (!behind.count(p))
                    expected = TLA_NOT_FOUND;
                else if (!expected && free_at[p] > now)
                    expected = TLA_BUSY;
            tla_dispatch *begun = nullptr;
            BOOST_REQUIRE_EQUAL(b.begin(*command, now, &begun), expected);
            busy_count += expected == TLA_BUSY;
            missing_count += expected == TLA_NOT_FOUND;
            if (expected) continue;
            begun_count++;
            std::uint64_t way = 0, spacing = 0;
            std::set<std::size_t> used;
            for (const pe &p : which)
                used.insert(behind[p]);
            for (const std::size_t route : used) {
                way = std::max(way, routes[route].way_ps);
                spacing += routes[route].spacing_ps;
            }
            std::map<pe, std::uint32_t> programs;
            for (const tla_sent_command &p : messages(begun)) {
                BOOST_REQUIRE_EQUAL(p.command->target_start_ps, now + way + spacing);
                std::uint32_t program = p.command->program;
                for (const pe &one : list_of(p.command->pes)) {
                    BOOST_REQUIRE_EQUAL(p.port_address, window(behind[one]) + 9 * TLA_PORT_BYTES);
                    BOOST_REQUIRE(programs.emplace(one, program++).second);
                }
            }
            BOOST_REQUIRE_EQUAL(programs.size(), which.size());
            std::uint32_t program = first;
            for (const pe &p : which) {
                BOOST_REQUIRE_EQUAL(programs[p], program++);
                free_at[p] = UINT64_MAX;
            }
            all.push_back({begun, which});
        }
        for (const under_way &left : all)
            tla_dispatch_destroy(left.dispatch);
        BOOST_CHECK_GT(begun_count, 100u);
        BOOST_CHECK_GT(busy_count, 50u);
        BOOST_CHECK_GT(missing_count, 50u);
    }
}
