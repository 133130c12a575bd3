// Blocks that move, and pauses, on a host without memory: a command that fails has done nothing, and a move that has
// begun ends.
#include "host_memory/owner.hpp"

#include "stacks.hpp"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/vm/pauses.h"

using namespace host_memory;

namespace {

constexpr std::uint64_t me = 1, nbytes = 4096;

const auto seen = [](auto &object) { return object.look(); };

tla_controller_config config_of(tla_stack_policy policy, tla_compaction_mode compaction = TLA_COMPACTION_OFF) {
    tla_controller_config config{};
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].bytes = 1 << 20;
    config.memory.of[TLA_TCM].bytes = 1 << 20;
    config.memory.of[TLA_TCM].base = 1 << 24;
    for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
        config.memory.of[kind].policy = policy;
        config.memory.of[kind].front = {10 << 10, 32 << 10, 64 << 10};
    }
    config.memory.guarded = tla_stack_front(policy) == TLA_FRONT_NONE;
    config.memory.guard_history = 8;
    config.owner_port = TLA_CONTROLLER_NO_OWNER;
    config.compaction.mode = compaction;
    if (compaction != TLA_COMPACTION_OFF) config.memory.of[TLA_HBM].bytes = 5 * nbytes; // full
    config.move = {TLA_MOVE_CONCURRENT, 1000, 1};
    return config;
}

// A controller with blocks, of which the first has mappings.
struct blocks {
    explicit blocks(tla_stack_policy policy, tla_compaction_mode compaction = TLA_COMPACTION_OFF) {
        const tla_controller_config config = config_of(policy, compaction);
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_controller_check_config(&config, &error) == TLA_OK, error.text);
        BOOST_REQUIRE_EQUAL(tla_controller_create(&config, &controller.made), TLA_OK);
        for (std::uint64_t &pa : live) {
            BOOST_REQUIRE_EQUAL(alloc(nbytes), TLA_OK);
            pa = outcome.completion.value;
        }
        BOOST_REQUIRE_EQUAL(bind(TLA_OP_BIND, 3), TLA_OK);
    }
    tla_status run(const tla_command &command) {
        tla_controller_execute(controller.made, 0, me, &command, 0, &outcome);
        return outcome.completion.status;
    }
    tla_status alloc(std::uint64_t bytes) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.nbytes = bytes;
        return run(command);
    }
    tla_status free(std::uint64_t pa) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.pa = {pa};
        command.nbytes = nbytes;
        return run(command);
    }
    tla_status bind(tla_opcode opcode, std::uint32_t first) {
        tla_command command{};
        command.opcode = opcode;
        command.scope = {1, 1, 1};
        for (std::uint32_t i = 0; i < 3; i++)
            command.entries[command.count++] = {{(first + i) * nbytes}, {live[0]}, nbytes, TLA_READ, 0};
        return run(command);
    }
    tla_status move() {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.pa = {live[0]};
        command.memory = TLA_TCM;
        return run(command);
    }
    // All steps; the status of the MOVE. The old place is free.
    tla_status make_move() {
        tla_move_step step{};
        for (;;)
            switch (tla_controller_move_next(controller.made, 0, &step)) {
            case TLA_MOVE_SENDS:
                tla_controller_move_sent(controller.made, TLA_OK);
                break;
            case TLA_MOVE_COPIES:
                tla_controller_move_copied(controller.made, true);
                break;
            case TLA_MOVE_FREES: // or with the next command
                break;
            case TLA_MOVE_ENDS:
                if (step.outcome.completion.opcode == TLA_OP_MOVE) live[0] = step.outcome.completion.value;
                return step.outcome.completion.status;
            case TLA_MOVE_TAKES:
                break;
            case TLA_MOVE_TELLS:
                tla_controller_move_sent(controller.made, TLA_OK);
                live[0] = step.to.pa.value;
                break;
            case TLA_MOVE_WAITS:
                return TLA_BUSY;
            }
    }
    std::string look() {
        tla_command any{};
        any.opcode = TLA_OP_TRIM;
        run(any); // frees what the host had no memory to free
        std::string text;
        for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
            const tla_stack_stats s = tla_controller_get_stats(controller.made, kind);
            text += line(s.memory.used, s.memory.free, tla_controller_get_objects(controller.made, kind).references);
        }
        for (const std::uint64_t pa : live)
            text += line(pa);
        return text + line(tla_controller_is_moving(controller.made, TLA_TCM));
    }

    owner<tla_controller, tla_controller_destroy> controller;
    std::uint64_t live[5];
    tla_controller_outcome outcome{};
};

} // namespace

BOOST_AUTO_TEST_CASE(moves_and_mappings_are_made_whole_or_not_at_all) {
    for (const tla_stack_policy policy : stacks::all_policies()) {
        const auto make = [policy] { return std::make_unique<blocks>(policy); };
        const std::string name = stacks::name_of(policy) + ": ";
        BOOST_CHECK_GT(exhaust(
                           name + "BIND", make, [](blocks &b) { return b.bind(TLA_OP_BIND, 10); }, seen),
                       0u);
        BOOST_CHECK_EQUAL(exhaust(
                              name + "UNBIND", make, [](blocks &b) { return b.bind(TLA_OP_UNBIND, 3); }, seen),
                          0u);
        BOOST_CHECK_GT(exhaust(
                           name + "MOVE", make, [](blocks &b) { return b.move(); }, seen),
                       0u);
        const auto moving = [&] {
            auto b = make();
            BOOST_REQUIRE_EQUAL(b->move(), TLA_OK);
            return b;
        };
        exhaust(
            name + "steps", moving, [](blocks &b) { return b.make_move(); }, seen);
    }
}

BOOST_AUTO_TEST_CASE(an_alloc_that_waits_for_moves_succeeds_or_allocates_nothing) {
    const auto make = [] {
        auto b = std::make_unique<blocks>(TLA_FIRST_FIT, TLA_COMPACTION_ON_DEMAND);
        for (const int i : {1, 3})
            BOOST_REQUIRE_EQUAL(b->free(b->live[i]), TLA_OK);
        return b;
    };
    const auto used = [](blocks &b) {
        return line(tla_controller_get_stats(b.controller.made, TLA_HBM).memory.used,
                    tla_controller_get_objects(b.controller.made, TLA_HBM).references);
    };
    const auto ask = [](blocks &b) {
        const tla_status status = b.alloc(2 * nbytes);
        return status || !b.outcome.begun ? status : b.make_move();
    };
    BOOST_CHECK_GT(exhaust("ALLOC", make, ask, used), 5u);
}

BOOST_AUTO_TEST_CASE(ranges_are_paused_on_a_host_without_memory_or_not_at_all) {
    check_creation<owner<tla_pauses, tla_pauses_destroy>>("pauses", tla_pauses_create);
    struct paused {
        paused() { BOOST_REQUIRE_EQUAL(tla_pauses_create(&pauses.made), TLA_OK); }
        std::string look() const {
            std::string text;
            for (std::uint64_t va = 0; va < 64; va++)
                text += line(tla_pauses_cover(pauses.made, 0, {va}, 1));
            return text;
        }
        owner<tla_pauses, tla_pauses_destroy> pauses;
    };
    const auto begin = [](paused &p) {
        tla_map_entry ranges[32]{};
        for (std::uint64_t i = 0; i < 32; i++)
            ranges[i] = {{2 * i}, {0}, 1, 0, 0};
        return tla_pauses_begin(p.pauses.made, ranges, 32, nullptr);
    };
    BOOST_CHECK_GT(exhaust(
                       "PAUSE", [] { return std::make_unique<paused>(); }, begin, seen),
                   0u);
}
