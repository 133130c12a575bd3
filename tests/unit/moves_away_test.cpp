// Blocks that move to another controller, where the sender has allocated their new place.
#include "moving_world.hpp"

using namespace moving;

namespace {

// A block of 40 bytes with two mappings, its numbers, and a new place for it.
struct leaving : world {
    explicit leaving(tla_move_mode mode) : world(mode, 16, 1) {
        for (std::uint64_t i = 0; i < 40; i++)
            byte(pa + i) = static_cast<std::uint8_t>(i + 1);
        mapping(TLA_OP_BIND, 0x1000, pa, 40, 1);
        mapping(TLA_OP_BIND, 0x8000, pa, 40, 2);
    }
    void check_bytes(std::uint64_t at) {
        for (const auto &[sip, va] : {std::pair{0u, 0x1000u}, std::pair{1u, 0x8000u}})
            for (std::uint64_t i = 0; i < 40; i++) {
                BOOST_CHECK_EQUAL(mmus[sip].table[va + i], at + i);
                BOOST_CHECK_EQUAL(byte(mmus[sip].table[va + i]), i + 1);
                BOOST_CHECK(!mmus[sip].paused.count(va + i));
            }
    }
    // The block is where it was, and can be used as before.
    void check_intact() {
        check_bytes(pa);
        BOOST_CHECK_EQUAL(used(), 40u);
        BOOST_CHECK_EQUAL(stats(TLA_HBM).references, 1u);
        BOOST_REQUIRE_EQUAL(move(pa).status, TLA_OK);
        refuse = nullptr;
        bad_copies = false;
        finish();
        check_bytes(40);
        BOOST_CHECK_EQUAL(about(TLA_OP_FREE, 40, 40, me).status, TLA_OK);
        BOOST_CHECK_EQUAL(used(), 0u);
    }

    const std::uint64_t pa = take(40), to = far_away + 64;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_block_leaves_its_controller_with_its_bytes_and_mappings) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT}) {
        leaving w(mode);
        BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
        BOOST_CHECK(w.outcome.begun);
        BOOST_CHECK_EQUAL(w.used(), 40u); // no place is taken here
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, w.pa, 40, me).status, TLA_BUSY);
        w.finish();
        w.check_bytes(w.to);
        BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_OK);
        BOOST_CHECK_EQUAL(w.ended.at(0).value, w.to);
        BOOST_CHECK_EQUAL(w.ended.at(0).nbytes, 40u);
        BOOST_CHECK_EQUAL(w.ended.at(0).total_free, hbm_bytes);
        BOOST_CHECK_EQUAL(w.used(), 0u);
        BOOST_CHECK_EQUAL(w.stats(TLA_HBM).references, 0u);
        BOOST_CHECK_EQUAL(w.gone.size(), 1u);
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, w.pa, 40, me).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(w.move(w.pa).status, TLA_NOT_ALLOCATED);
        const tla_controller_counts counts = tla_controller_get_counts(w.controller, TLA_HBM);
        BOOST_CHECK_EQUAL(counts.moved_blocks, 1u);
        BOOST_CHECK_EQUAL(counts.moved_bytes, 40u);
    }
}

BOOST_AUTO_TEST_CASE(a_write_before_the_pause_reaches_the_other_controller) {
    leaving w(TLA_MOVE_CONCURRENT);
    BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
    while (w.go_on()) {
    }
    while (w.arrive()) {
    }
    BOOST_REQUIRE(w.sent.empty());
    BOOST_CHECK(w.write(0, 0x1000 + 20, 99));
    w.finish();
    BOOST_CHECK_EQUAL(w.elsewhere[w.to + 20], 99);
}

BOOST_AUTO_TEST_CASE(an_old_place_that_another_block_takes_before_the_end_is_that_blocks) {
    leaving w(TLA_MOVE_STOP);
    BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
    while (w.freed == UINT64_MAX)
        BOOST_REQUIRE(w.go_on() || w.arrive());
    const std::uint64_t again = w.take(40); // before RESUME
    BOOST_CHECK_EQUAL(again, w.pa);
    w.finish();
    BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_OK);
    w.check_bytes(w.to);
    BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, again, 40, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.used(), 0u);
}

BOOST_AUTO_TEST_CASE(a_failure_at_any_step_leaves_the_block_where_it_was) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT})
        for (const tla_opcode fails : {TLA_OP_PAUSE, TLA_OP_REMAP})
            for (const std::uint32_t sip : {1u, 2u}) {
                leaving w(mode);
                w.refuse = [&](const tla_command &c) {
                    const bool back = c.opcode == TLA_OP_REMAP && c.entries[0].pa.value == w.pa;
                    return c.opcode == fails && c.scope.sip_mask == sip && !back ? TLA_LIMIT : TLA_OK;
                };
                BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
                w.finish();
                BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_LIMIT);
                BOOST_CHECK_EQUAL(w.ended.at(0).value, 0u);
                w.check_intact();
            }
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT}) {
        leaving w(mode);
        w.bad_copies = true;
        BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
        w.finish();
        BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_BUS_ERROR);
        w.check_intact();
    }
}

BOOST_AUTO_TEST_CASE(a_reset_at_any_step_leaves_the_block_here_or_there) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT})
        for (unsigned steps = 0; steps < 14; steps++) {
            leaving w(mode);
            BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
            for (unsigned i = 0; i < steps; i++)
                if (!w.go_on()) w.arrive();
            tla_controller_abandon_moves(w.controller);
            w.finish();
            BOOST_REQUIRE_EQUAL(w.ended.size(), 1u);
            if (w.ended[0].status == TLA_OK) {
                w.check_bytes(w.to);
                BOOST_CHECK_EQUAL(w.used(), 0u);
            } else {
                BOOST_CHECK_EQUAL(w.ended[0].status, TLA_RESET);
                w.check_intact();
            }
        }
}

BOOST_AUTO_TEST_CASE(a_controller_that_is_gone_in_the_middle_of_a_move_leaks_nothing) {
    for (unsigned steps = 0; steps < 10; steps++) {
        leaving w(TLA_MOVE_STOP);
        BOOST_REQUIRE_EQUAL(w.move_away(w.pa, w.to).status, TLA_OK);
        for (unsigned i = 0; i < steps; i++)
            if (!w.go_on()) w.arrive();
        tla_controller_reset(w.controller, 0);
        BOOST_CHECK(!w.go_on());
    }
}

BOOST_AUTO_TEST_CASE(a_block_that_cannot_leave_says_why_and_stays) {
    tla_pe_memory_config config = two_memories();
    config.validate = true;
    world w(TLA_MOVE_STOP, 16, 0, config);
    const std::uint64_t pa = w.take(40);
    BOOST_CHECK_EQUAL(w.move_away(pa, far_away).status, TLA_UNMAPPED);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    BOOST_CHECK_EQUAL(w.move_away(pa, far_away, other).status, TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(w.move_away(pa + 1, far_away).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(w.move_away(pa, 1 << 20).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(w.text(),
                      std::string("MOVE of 0x0 to 0x100000: this controller has that place: name its memory"));
    BOOST_CHECK_EQUAL(w.about(TLA_OP_REF, pa, 0, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.move_away(pa, far_away).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(w.text(),
                      std::string("MOVE of 0x0 to another controller: a counted block stays at its controller"));
    BOOST_CHECK(!w.go_on());
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_OK);
    w.finish();
}

BOOST_AUTO_TEST_CASE(a_descriptor_of_move_names_a_memory_or_an_address) {
    tla_command command{}, read{};
    command.opcode = TLA_OP_MOVE;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.pa = {0x1234567890};
    std::uint8_t bytes[TLA_COMMAND_MAX_BYTES];
    std::size_t length = 0;
    for (const bool elsewhere : {false, true})
        for (const std::uint64_t to : {std::uint64_t{0}, std::uint64_t{3}, far_away + 5, (~std::uint64_t{0}) >> 1}) {
            command.elsewhere = elsewhere;
            command.to = {to};
            command.memory = TLA_SRAM;
            BOOST_REQUIRE_EQUAL(tla_command_encode(&command, bytes, sizeof bytes, &length), TLA_OK);
            BOOST_CHECK_EQUAL(length, 32u);
            BOOST_REQUIRE_EQUAL(tla_command_decode(bytes, length, &read, nullptr), TLA_OK);
            BOOST_CHECK_EQUAL(read.pa.value, command.pa.value);
            BOOST_CHECK_EQUAL(read.elsewhere, elsewhere);
            BOOST_CHECK_EQUAL(read.to.value, elsewhere ? to : 0);
            BOOST_CHECK_EQUAL(read.memory, elsewhere ? TLA_HBM : TLA_SRAM);
        }
    command.to = {~std::uint64_t{0}};
    BOOST_CHECK_EQUAL(tla_command_encode(&command, bytes, sizeof bytes, &length), TLA_INVALID_ARGUMENT);
}
