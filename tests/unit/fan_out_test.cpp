// Fan-out of mapping commands: who is sent what and when, and that a command is done by all or by none.
#include "model/command/fan_out.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <climits>
#include <functional>
#include <memory>
#include <random>
#include <vector>

namespace {

constexpr std::uint64_t port_of(unsigned target) {
    return 0x1000 * (target + 1);
}

// Targets on SIP 0, cube 0, one PE each, which answer as `answer` says, a fixed time after a sent begins.
struct bench {
    std::unique_ptr<tla_fan_out, void (*)(tla_fan_out *)> fan_out{nullptr, tla_fan_out_destroy};
    std::function<tla_status(unsigned target, const tla_command &)> answer = [](unsigned, const tla_command &) {
        return TLA_OK;
    };
    struct message {
        unsigned target;
        tla_opcode opcode; // 0: a completion is read
        std::uint64_t at_ps;
        bool operator==(const message &o) const { return target == o.target && opcode == o.opcode && at_ps == o.at_ps; }
    };
    std::vector<std::uint64_t> values; // of the answers
    std::vector<std::vector<message>> rounds;
    std::vector<tla_status> unread; // of what was posted

    explicit bench(unsigned targets) : unread(targets) {
        std::vector<tla_command_route> routes;
        for (unsigned i = 0; i < targets; i++)
            routes.push_back({port_of(i), {1, 1, 1u << i}});
        tla_fan_out *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_fan_out_create(routes.data(), routes.size(), &made), TLA_OK);
        fan_out.reset(made);
    }

    static std::uint64_t write_ps(unsigned target) { return 10 * (target + 1); }
    static constexpr std::uint64_t answer_ps = 100;

    tla_fan_out_result run() {
        tla_sent_command *sent_commands = nullptr;
        while (const std::size_t count = tla_fan_out_next(fan_out.get(), &sent_commands)) {
            rounds.emplace_back();
            for (std::size_t i = 0; i < count; i++) {
                tla_sent_command &p = sent_commands[i];
                const auto target = static_cast<unsigned>(p.port_address / 0x1000 - 1);
                rounds.back().push_back({target, p.command ? p.command->opcode : tla_opcode{}, p.at_ps});
                const tla_status status = p.command ? answer(target, *p.command) : unread[target];
                p.written_ps = p.answered_ps = p.at_ps + write_ps(target);
                if (p.gather) p.answered_ps += answer_ps;
                if (p.command && !p.gather) unread[target] = status;
                if (target < values.size()) p.completion.value = values[target];
                p.status = p.gather || status == TLA_BUS_ERROR ? status : TLA_OK;
            }
        }
        return tla_fan_out_get_result(fan_out.get());
    }

    tla_fan_out_result send(tla_opcode opcode, std::uint32_t pes, std::uint64_t at_ps, bool gather) {
        auto command = std::make_unique<tla_command>();
        command->opcode = opcode;
        command->scope = {1, 1, pes};
        rounds.clear();
        tla_fan_out_send(fan_out.get(), command.get(), TLA_TARGET_PE_MMU, at_ps, gather);
        return run();
    }
};

using messages = std::vector<bench::message>;

} // namespace

BOOST_AUTO_TEST_CASE(a_command_goes_to_everybody_in_its_scope_at_once) {
    bench b(4);
    const tla_fan_out_result r = b.send(TLA_OP_MAP, 0b1011, 1000, true);
    BOOST_CHECK_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_EQUAL(r.written_ps, 1040u);
    BOOST_CHECK_EQUAL(r.done_ps, 1140u);
    BOOST_REQUIRE_EQUAL(b.rounds.size(), 1u);
    BOOST_CHECK((b.rounds[0] == messages{{0, TLA_OP_MAP, 1000}, {1, TLA_OP_MAP, 1000}, {3, TLA_OP_MAP, 1000}}));
}

BOOST_AUTO_TEST_CASE(the_bits_of_all_answers_are_the_bits_of_the_result) {
    bench b(3);
    b.values = {0b0001, 0b1000, 0b0101};
    BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, 0b111, 0, true).value, 0b1101u);
    BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, 0b010, 0, true).value, 0b1000u);
    BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, 0b111, 0, false).value, 0u); // nobody has answered yet
}

BOOST_AUTO_TEST_CASE(a_port_gets_the_next_command_when_the_last_was_answered) {
    bench b(2);
    b.send(TLA_OP_MAP, 0b01, 0, true); // answered at 110
    b.send(TLA_OP_UNMAP, 0b11, 50, true);
    BOOST_CHECK((b.rounds[0] == messages{{0, TLA_OP_UNMAP, 110}, {1, TLA_OP_UNMAP, 50}}));
}

BOOST_AUTO_TEST_CASE(a_scope_without_a_target_is_rejected) {
    bench b(2);
    for (const bool gather : {true, false}) {
        const tla_fan_out_result r = b.send(TLA_OP_MAP, 0b100, 7, gather);
        BOOST_CHECK_EQUAL(r.status, TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(r.done_ps, 7u);
        BOOST_CHECK(b.rounds.empty());
    }
}

BOOST_AUTO_TEST_CASE(targets_undo_a_command_that_one_target_fails_after_the_last_answer) {
    bench b(3);
    b.answer = [](unsigned target, const tla_command &c) {
        return target == 1 && c.opcode == TLA_OP_MAP ? TLA_EXHAUSTED : TLA_OK;
    };
    const tla_fan_out_result r = b.send(TLA_OP_MAP, 0b111, 1000, true);
    BOOST_CHECK_EQUAL(r.status, TLA_EXHAUSTED);
    BOOST_REQUIRE_EQUAL(b.rounds.size(), 2u);
    BOOST_CHECK((b.rounds[1] == messages{{0, TLA_OP_TAKE_BACK, 1130}, {2, TLA_OP_TAKE_BACK, 1130}}));
    BOOST_CHECK_EQUAL(r.done_ps, 1130u + 30 + 100);
    BOOST_CHECK_EQUAL(tla_fan_out_not_restored(b.fan_out.get()), 0u);
}

BOOST_AUTO_TEST_CASE(targets_that_have_paused_resume_when_one_target_rejects_the_pause) {
    bench b(3);
    b.answer = [](unsigned target, const tla_command &c) {
        return target == 1 && c.opcode == TLA_OP_PAUSE ? TLA_OVERLAP : TLA_OK;
    };
    BOOST_CHECK_EQUAL(b.send(TLA_OP_PAUSE, 0b111, 1000, true).status, TLA_OVERLAP);
    BOOST_REQUIRE_EQUAL(b.rounds.size(), 2u);
    BOOST_CHECK((b.rounds[1] == messages{{0, TLA_OP_RESUME, 1130}, {2, TLA_OP_RESUME, 1130}}));
}

BOOST_AUTO_TEST_CASE(targets_take_back_a_remap_that_one_target_fails_and_no_resume) {
    bench b(2);
    b.answer = [](unsigned target, const tla_command &c) {
        return target == 1 && c.opcode != TLA_OP_TAKE_BACK ? TLA_UNMAPPED : TLA_OK;
    };
    BOOST_CHECK_EQUAL(b.send(TLA_OP_REMAP, 0b11, 0, true).status, TLA_UNMAPPED);
    BOOST_REQUIRE_EQUAL(b.rounds.size(), 2u);
    BOOST_CHECK_EQUAL(b.rounds[1].size(), 1u);
    BOOST_CHECK_EQUAL(b.send(TLA_OP_RESUME, 0b11, 5000, true).status, TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(b.rounds.size(), 1u);
}

BOOST_AUTO_TEST_CASE(a_failure_names_its_place_as_deep_as_it_is_known) {
    bench b(3);
    b.answer = [](unsigned target, const tla_command &c) {
        return c.opcode == TLA_OP_MAP && target > 0 ? TLA_OVERLAP : TLA_OK;
    };
    const tla_fan_out_result r = b.send(TLA_OP_MAP, 0b111, 0, true);
    BOOST_CHECK_EQUAL(r.failed_at.kind, TLA_LOCATION_PE); // the first that refused
    BOOST_CHECK_EQUAL(r.failed_at.pe, 1u);
    BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, 0b001, 0, true).failed_at.kind, TLA_LOCATION_NONE);

    const tla_command_route above[] = {{0x1000, {2, ~0u, ~0u}}, {0x2000, {4, 8, ~0u}}};
    tla_fan_out *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fan_out_create(above, 2, &made), TLA_OK);
    auto command = std::make_unique<tla_command>();
    command->opcode = TLA_OP_INVALIDATE;
    const auto fail = [&](std::uint32_t sips, tla_location inside) {
        command->scope = {sips, ~0u, ~0u};
        tla_fan_out_send(made, command.get(), TLA_TARGET_IO_CPU, 0, true);
        tla_sent_command *p = nullptr;
        BOOST_REQUIRE_EQUAL(tla_fan_out_next(made, &p), 1u);
        p->status = TLA_BUS_ERROR;
        p->completion.failed_at = inside;
        BOOST_REQUIRE_EQUAL(tla_fan_out_next(made, &p), 0u);
        return tla_fan_out_get_result(made).failed_at;
    };
    BOOST_CHECK_EQUAL(fail(2, {}).kind, TLA_LOCATION_IO_CPU);
    BOOST_CHECK_EQUAL(fail(2, {}).sip, 1u);
    BOOST_CHECK_EQUAL(fail(4, {}).kind, TLA_LOCATION_M_CPU);
    BOOST_CHECK_EQUAL(fail(4, {}).cube, 3u);
    BOOST_CHECK_EQUAL(fail(4, {TLA_LOCATION_PE, 2, 3, 5}).pe, 5u); // who was asked knows better
    tla_fan_out_destroy(made);
}

// To the host, who is told of moves only, and only if an MMU is.
BOOST_AUTO_TEST_CASE(a_host_gets_the_commands_of_moves_with_a_target_of_its_own_and_undoes_them) {
    const tla_command_route routes[] = {{0x1000, {1, 1, 1}}, {0x2000, {1, 1, 2}}, {0x3000, {~0u, ~0u, ~0u}, true}};
    tla_fan_out *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_fan_out_create(routes, 3, &made), TLA_OK);
    using sent = std::vector<std::pair<std::uint64_t, tla_target>>;
    const auto send = [&](tla_opcode opcode, std::uint32_t pes, tla_status of_host) {
        auto command = std::make_unique<tla_command>();
        command->opcode = opcode;
        command->scope = {1, 1, pes};
        tla_fan_out_send(made, command.get(), TLA_TARGET_PE_MMU, 0, true);
        std::vector<std::pair<tla_opcode, sent>> rounds;
        tla_sent_command *p = nullptr;
        while (const std::size_t count = tla_fan_out_next(made, &p)) {
            rounds.push_back({p->command->opcode, {}});
            for (std::size_t i = 0; i < count; i++) {
                BOOST_CHECK_EQUAL(p[i].command->opcode, p->command->opcode);
                rounds.back().second.emplace_back(p[i].port_address, p[i].command->target);
                p[i].status = p[i].port_address == 0x3000 ? of_host : TLA_OK;
                p[i].written_ps = p[i].answered_ps = p[i].at_ps;
            }
        }
        return rounds;
    };
    const sent mmus{{0x1000, TLA_TARGET_PE_MMU}, {0x2000, TLA_TARGET_PE_MMU}};
    const sent all{mmus[0], mmus[1], {0x3000, TLA_TARGET_HOST}};
    for (const tla_opcode opcode : {TLA_OP_PAUSE, TLA_OP_REMAP, TLA_OP_RESUME})
        BOOST_CHECK(send(opcode, 3, TLA_OK) == (decltype(send(opcode, 3, TLA_OK)){{opcode, all}}));
    for (const tla_opcode opcode : {TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_INVALIDATE})
        BOOST_CHECK(send(opcode, 3, TLA_OK) == (decltype(send(opcode, 3, TLA_OK)){{opcode, mmus}}));
    BOOST_CHECK((send(TLA_OP_PAUSE, 2, TLA_OK)[0].second == sent{mmus[1], all[2]}));
    BOOST_CHECK(send(TLA_OP_PAUSE, 4, TLA_OK).empty());
    BOOST_CHECK_EQUAL(tla_fan_out_get_result(made).status, TLA_INVALID_ARGUMENT);
    const auto rounds = send(TLA_OP_REMAP, 3, TLA_OVERLAP);
    BOOST_REQUIRE_EQUAL(rounds.size(), 2u);
    BOOST_CHECK(rounds[1] == std::make_pair(TLA_OP_TAKE_BACK, mmus));
    BOOST_CHECK_EQUAL(tla_fan_out_get_result(made).status, TLA_OVERLAP);
    tla_fan_out_destroy(made);
}

BOOST_AUTO_TEST_CASE(an_invalidation_that_fails_is_not_undone) {
    bench b(2);
    b.answer = [](unsigned target, const tla_command &) { return target == 0 ? TLA_BUS_ERROR : TLA_OK; };
    BOOST_CHECK_EQUAL(b.send(TLA_OP_INVALIDATE, 0b11, 0, true).status, TLA_BUS_ERROR);
    BOOST_CHECK_EQUAL(b.rounds.size(), 1u);
}

BOOST_AUTO_TEST_CASE(a_busy_target_gets_the_undo_command_again_up_to_a_limit) {
    bench b(3);
    unsigned busy = 3, asked = 0;
    b.answer = [&](unsigned target, const tla_command &c) {
        if (c.opcode == TLA_OP_MAP) return target == 2 ? TLA_LIMIT : TLA_OK;
        asked += target == 0;
        return target == 0 && asked <= busy ? TLA_BUSY : TLA_OK;
    };
    BOOST_CHECK_EQUAL(b.send(TLA_OP_MAP, 0b111, 0, true).status, TLA_LIMIT);
    BOOST_CHECK_EQUAL(asked, 4u);
    BOOST_CHECK_EQUAL(b.rounds.size(), 5u);
    BOOST_CHECK_EQUAL(tla_fan_out_not_restored(b.fan_out.get()), 0u);
    busy = UINT_MAX;
    asked = 0;
    b.send(TLA_OP_MAP, 0b111, 0, true);
    BOOST_CHECK_EQUAL(asked, static_cast<unsigned>(TLA_FAN_OUT_TAKE_BACK_TRIES));
    BOOST_CHECK_EQUAL(tla_fan_out_not_restored(b.fan_out.get()), 1u);
}

BOOST_AUTO_TEST_CASE(posted_commands_are_settled_before_the_next_command) {
    bench b(3);
    b.answer = [](unsigned target, const tla_command &c) {
        return target == 1 && c.opcode == TLA_OP_MAP ? TLA_EXHAUSTED : TLA_OK;
    };
    const tla_fan_out_result posted = b.send(TLA_OP_MAP, 0b111, 0, false);
    BOOST_CHECK_EQUAL(posted.status, TLA_OK); // nobody knows yet
    BOOST_CHECK_EQUAL(posted.done_ps, 30u);
    BOOST_CHECK_EQUAL(b.rounds.size(), 1u);
    b.send(TLA_OP_UNMAP, 0b100, 500, true);
    BOOST_REQUIRE_EQUAL(b.rounds.size(), 3u);
    BOOST_CHECK((b.rounds[0] == messages{{0, {}, 500}, {1, {}, 500}, {2, {}, 500}}));
    BOOST_CHECK((b.rounds[1] == messages{{0, TLA_OP_TAKE_BACK, 630}, {2, TLA_OP_TAKE_BACK, 630}}));
    BOOST_CHECK((b.rounds[2] == messages{{2, TLA_OP_UNMAP, 760}}));
    BOOST_CHECK_EQUAL(tla_fan_out_lost(b.fan_out.get()), 1u);
    tla_fan_out_settle(b.fan_out.get(), 2000);
    BOOST_CHECK_EQUAL(b.run().done_ps, 2000u); // nothing is left
}

BOOST_AUTO_TEST_CASE(a_round_that_was_not_ended_is_dropped) {
    bench b(2);
    auto command = std::make_unique<tla_command>();
    command->opcode = TLA_OP_MAP;
    command->scope = {1, 1, 0b11};
    tla_sent_command *sent_commands = nullptr;
    tla_fan_out_send(b.fan_out.get(), command.get(), TLA_TARGET_PE_MMU, 0, true);
    BOOST_CHECK_EQUAL(tla_fan_out_next(b.fan_out.get(), &sent_commands), 2u); // and its thread is killed
    BOOST_CHECK_EQUAL(b.send(TLA_OP_UNMAP, 0b10, 9, true).status, TLA_OK);
    BOOST_CHECK((b.rounds[0] == messages{{1, TLA_OP_UNMAP, 9}}));
}

// Targets that refuse at random, and have done a command or not: whatever is refused leaves them as they were.
BOOST_AUTO_TEST_CASE(random_failures_leave_all_targets_alike) {
    for (const unsigned seed : {1u, 2u, 3u}) {
        BOOST_TEST_MESSAGE("seed " << seed);
        std::mt19937 random(seed);
        const unsigned targets = 6;
        bench b(targets);
        std::vector<int> done(targets), before(targets);
        std::uint64_t refused = 0;
        b.answer = [&](unsigned target, const tla_command &c) {
            if (c.opcode == TLA_OP_TAKE_BACK) {
                BOOST_CHECK_EQUAL(done[target], before[target] + 1); // only those that did it
                if (random() % 3 == 0) return TLA_BUSY;
                done[target]--;
                return TLA_OK;
            }
            if (random() % 8 == 0) {
                refused++;
                return TLA_EXHAUSTED;
            }
            done[target]++;
            return TLA_OK;
        };
        for (int i = 0; i < 2000; i++) {
            const bool gather = random() % 2;
            before = done;
            const std::uint64_t failures = refused;
            const tla_status status = b.send(random() % 2 ? TLA_OP_MAP : TLA_OP_UNMAP, 0x3f, 0, gather).status;
            tla_fan_out_settle(b.fan_out.get(), 0);
            b.run();
            const int expected = refused == failures;
            for (unsigned target = 0; target < targets; target++)
                BOOST_REQUIRE_EQUAL(done[target], before[target] + expected);
            if (gather) BOOST_REQUIRE_EQUAL(status, expected ? TLA_OK : TLA_EXHAUSTED);
        }
        BOOST_CHECK_EQUAL(tla_fan_out_not_restored(b.fan_out.get()), 0u);
    }
}
