// Recorded mappings of blocks: BIND and UNBIND, all or none, also beside moves.
#include "moving_world.hpp"

using namespace moving;

BOOST_AUTO_TEST_CASE(mappings_are_recorded_all_or_none_and_in_one_block) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t a = w.take(40), b = w.take(40);
    tla_command bind{};
    bind.opcode = TLA_OP_BIND;
    bind.scope = {1, 1, 1};
    bind.count = 2;
    bind.entries[0] = {{0x1000}, {a + 8}, 16, 3, 0};
    bind.entries[1] = {{0x2000}, {b + 32}, 16, 3, 0}; // past its end
    BOOST_CHECK_EQUAL(w.run(bind, me).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(w.move(a).status, TLA_UNMAPPED);
    bind.entries[1] = {{0x2000}, {b + 24}, 16, 3, 0};
    BOOST_CHECK_EQUAL(w.run(bind, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.outcome.completion.nbytes, 2u);
    BOOST_CHECK_EQUAL(w.outcome.work.metadata_lines, 2u);
    BOOST_CHECK_EQUAL(w.run(bind, me).status, TLA_OVERLAP);
    tla_command unbind = bind;
    unbind.opcode = TLA_OP_UNBIND;
    unbind.entries[1].nbytes = 8;
    BOOST_CHECK_EQUAL(w.run(unbind, me).status, TLA_NOT_FOUND);
    unbind.entries[1].nbytes = 16;
    BOOST_CHECK_EQUAL(w.run(unbind, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.run(unbind, me).status, TLA_NOT_FOUND);
    bind.entries[0].nbytes = 0;
    BOOST_CHECK_EQUAL(w.run(bind, me).status, TLA_INVALID_ARGUMENT);
    bind.entries[0] = {{0x1000}, {UINT64_MAX}, 16, 3, 0};
    BOOST_CHECK_EQUAL(w.run(bind, me).status, TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(an_unbind_that_is_rejected_changes_no_recorded_mapping) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    tla_command bind{};
    bind.opcode = TLA_OP_BIND;
    bind.scope = {1, 1, 1};
    bind.count = 2;
    bind.entries[0] = {{0x1000}, {pa + 8}, 16, TLA_READ, 0};
    bind.entries[1] = {{0x2000}, {pa}, 8, TLA_READ | TLA_WRITE, 0};
    BOOST_REQUIRE_EQUAL(w.run(bind, me).status, TLA_OK);
    tla_command unbind{};
    unbind.opcode = TLA_OP_UNBIND;
    unbind.scope = {1, 1, 1};
    unbind.count = 2;
    unbind.entries[0] = {{0x1000}, {pa}, 16, 0, 0}; // the mapping, whatever its flags and place
    unbind.entries[1] = {{0x3000}, {pa}, 16, 0, 0}; // not recorded
    BOOST_REQUIRE_EQUAL(w.run(unbind, me).status, TLA_NOT_FOUND);
    unbind.entries[1] = unbind.entries[0]; // twice
    BOOST_REQUIRE_EQUAL(w.run(unbind, me).status, TLA_NOT_FOUND);
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    BOOST_REQUIRE(tla_controller_move_next(w.controller, 0, &w.step) == TLA_MOVE_SENDS);
    const tla_command pause = *w.step.command;
    BOOST_REQUIRE_EQUAL(pause.count, 2u);
    for (std::uint32_t i = 0; i < 2; i++) {
        BOOST_CHECK_EQUAL(pause.entries[i].va.value, bind.entries[i].va.value);
        BOOST_CHECK_EQUAL(pause.entries[i].pa.value, bind.entries[i].pa.value);
        BOOST_CHECK_EQUAL(pause.entries[i].flags, bind.entries[i].flags);
    }
}

BOOST_AUTO_TEST_CASE(an_unbind_that_must_wait_for_a_move_is_no_mistake) {
    world w(TLA_MOVE_STOP, 16, 0, true);
    const std::uint64_t pa = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x2000, pa, 40).status, TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(std::string(w.text()), "UNBIND of VA 0x2000: the mapping is not recorded");
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, pa, 40).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(std::string(w.text()), "");
}

BOOST_AUTO_TEST_CASE(an_unbind_that_comes_after_a_block_has_moved_away_is_no_mistake) {
    world w(TLA_MOVE_STOP, 16, 2, true); // errors have texts
    const std::uint64_t pa = w.take(40);
    BOOST_REQUIRE_EQUAL(w.mapping(TLA_OP_BIND, 0x1000, pa, 40).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, pa + 4096, 40).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_NE(std::string(w.text()), ""); // nothing has moved yet
    w.move(pa, TLA_TCM);
    w.finish();
    BOOST_REQUIRE_EQUAL(w.ended.back().status, TLA_OK);
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, pa, 40).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(std::string(w.text()), "");
    BOOST_REQUIRE_EQUAL(w.take(40), pa); // another block is there
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, pa, 40).status, TLA_NOT_FOUND);
    BOOST_CHECK_EQUAL(std::string(w.text()), "");
    BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, w.ended.back().value, 40).status, TLA_OK);
}
