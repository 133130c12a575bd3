// Random programs of ALLOC, FREE, MAP, UNMAP, MOVE, REF, PIN, page faults, exclusive accesses and resets: four senders
// of commands and three PEs are at work at the same time, and a plain byte map says what they must find. Observers and
// quanta change nothing.
#include "moving_run.hpp"

namespace {

using moving::program_settings;
using moving::result;

void check_right(const result &r, const std::string &what) {
    BOOST_CHECK_MESSAGE(r.wrong == 0, what << ": " << r.wrong << " times wrong\n" << r.error);
    BOOST_CHECK_MESSAGE(r.error[0] == 0 || r.wrong > 0, what << ": " << r.error);
}

// All commands have been executed, and all documented reasons have refused some.
void check_rich(const result &r) {
    for (const tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE, TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_BIND, TLA_OP_UNBIND,
                                    TLA_OP_MOVE, TLA_OP_REF, TLA_OP_UNREF, TLA_OP_PIN, TLA_OP_UNPIN})
        BOOST_CHECK_MESSAGE(r.counts[opcode] > 10, tla_opcode_name(opcode));
    for (const tla_status status : {TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_NOT_ALLOCATED, TLA_SIZE_MISMATCH, TLA_OVERLAP,
                                    TLA_UNMAPPED, TLA_BUSY, TLA_UNSUPPORTED, TLA_NOT_OWNER})
        BOOST_CHECK_MESSAGE(r.refusals[status] > 0, tla_status_name(status));
    BOOST_CHECK_GT(r.moved, r.counts[TLA_OP_MOVE] / 5);
    BOOST_CHECK_GT(r.paused, 100u);
    BOOST_CHECK_GT(r.faults, 5u);
}

// The same program three times: alone, with all observers, and with these and another quantum.
result check_program(const program_settings &s) {
    const std::string what = "seed " + std::to_string(s.seed);
    const result alone = moving::run(s, false, 0), seen = moving::run(s, true, 1'000'000),
                 other = moving::run(s, true, 33'333);
    check_right(alone, what);
    for (const result &r : {seen, other}) {
        check_right(r, what);
        BOOST_CHECK_MESSAGE(r.answers == alone.answers && r.end_ps == alone.end_ps && r.steps == alone.steps,
                            what << ": other answers or times");
    }
    BOOST_CHECK_MESSAGE(seen.seen == other.seen && seen.entries == other.entries,
                        what << ": observers saw other things");
    BOOST_CHECK_GT(seen.entries, s.steps / 2);
    return alone;
}

program_settings settings(tla_move_mode mode, tla_walk_mode walk, bool guarded, std::uint64_t seed,
                          std::uint64_t steps = 10'000) {
    program_settings s;
    s.platform.mode = mode;
    s.platform.walk = walk;
    s.platform.guarded = guarded;
    s.seed = seed;
    s.steps = steps;
    s.resets = false;
    return s;
}

// The same with resets.
void check_resets(program_settings s, bool alone) {
    s.steps = 5'000;
    s.resets = s.reserves = true;
    s.resets_alone = alone;
    const result r = check_program(s);
    BOOST_CHECK_GT(r.resets, 0u);
    BOOST_CHECK_GT(r.moved, 50u);
}

void check_served_faults(tla_walk_mode walk) {
    program_settings s = settings(TLA_MOVE_STOP, walk, false, 3, 5'000);
    s.platform.controllers_serve = true;
    BOOST_CHECK_GT(check_program(s).pages_given, 2u);
    check_resets(s, true);
    check_resets(s, false);
}

} // namespace

BOOST_AUTO_TEST_CASE(programs_find_their_bytes_while_blocks_stop_and_move) {
    check_rich(check_program(settings(TLA_MOVE_STOP, TLA_WALK_IDEAL, false, 1)));
}

BOOST_AUTO_TEST_CASE(programs_find_their_bytes_while_blocks_move) {
    check_rich(check_program(settings(TLA_MOVE_CONCURRENT, TLA_WALK_IDEAL, false, 2)));
}

BOOST_AUTO_TEST_CASE(programs_with_tlbs_and_walkers_find_their_bytes_while_blocks_move) {
    check_rich(check_program(settings(TLA_MOVE_CONCURRENT, TLA_WALK_FLAT, false, 3)));
}

BOOST_AUTO_TEST_CASE(programs_under_a_guard_find_their_bytes_while_blocks_stop_and_move) {
    check_rich(check_program(settings(TLA_MOVE_STOP, TLA_WALK_FLAT, true, 4)));
}

BOOST_AUTO_TEST_CASE(a_guard_sees_no_wrong_access_of_programs_whose_blocks_move) {
    check_program(settings(TLA_MOVE_CONCURRENT, TLA_WALK_FLAT, true, 5, 10'000));
}

BOOST_AUTO_TEST_CASE(programs_with_tables_in_memory_find_their_bytes_while_blocks_move) {
    check_program(settings(TLA_MOVE_STOP, TLA_WALK_MEMORY, false, 4, 10'000));
    check_program(settings(TLA_MOVE_CONCURRENT, TLA_WALK_MEMORY, false, 5, 10'000));
}

BOOST_AUTO_TEST_CASE(programs_that_reserve_bytes_find_them_while_blocks_move) {
    program_settings s = settings(TLA_MOVE_CONCURRENT, TLA_WALK_FLAT, false, 6, 10'000);
    s.reserves = true;
    const result r = check_program(s);
    BOOST_CHECK_GT(r.reserved_stores[0], 100u);
    BOOST_CHECK_GT(r.reserved_stores[1], 10u);
}

BOOST_AUTO_TEST_CASE(programs_whose_controllers_serve_faults_find_their_bytes_while_blocks_move) {
    check_served_faults(TLA_WALK_IDEAL);
}

BOOST_AUTO_TEST_CASE(programs_whose_controllers_serve_faults_of_walkers_find_their_bytes_while_blocks_move) {
    check_served_faults(TLA_WALK_FLAT);
}

BOOST_AUTO_TEST_CASE(programs_whose_controllers_serve_faults_with_tables_in_memory_find_their_bytes) {
    check_served_faults(TLA_WALK_MEMORY);
}

BOOST_AUTO_TEST_CASE(programs_find_their_bytes_after_resets_of_everything) {
    check_resets(settings(TLA_MOVE_STOP, TLA_WALK_FLAT, false, 4), false);
    check_resets(settings(TLA_MOVE_CONCURRENT, TLA_WALK_FLAT, false, 3), false);
    check_resets(settings(TLA_MOVE_CONCURRENT, TLA_WALK_MEMORY, true, 7), false);
}

BOOST_AUTO_TEST_CASE(programs_find_their_bytes_after_resets_of_single_controllers) {
    check_resets(settings(TLA_MOVE_STOP, TLA_WALK_FLAT, true, 8), true);
    check_resets(settings(TLA_MOVE_CONCURRENT, TLA_WALK_IDEAL, false, 9), true);
    check_resets(settings(TLA_MOVE_CONCURRENT, TLA_WALK_MEMORY, false, 10), true);
}

BOOST_AUTO_TEST_CASE(many_programs_find_their_bytes_while_blocks_move) {
    const seeds all(8);
    for (std::uint64_t i = all.first; i < all.first + all.count; i++) {
        program_settings s =
            settings(i % 2 ? TLA_MOVE_STOP : TLA_MOVE_CONCURRENT,
                     static_cast<tla_walk_mode>(i / 2 % TLA_WALK_MODE_COUNT), i / 4 % 2, 100 + i, 8'000);
        s.leaves = static_cast<unsigned>(i % 3);
        s.senders = 2 + static_cast<unsigned>(i % 5);
        s.platform.pes = 1 + static_cast<unsigned>(i % 4);
        s.platform.controllers_serve = i % 4 > 1;
        s.reserves = i % 5 < 3;
        s.resets = i % 3 > 0;
        s.resets_alone = i % 3 > 1;
        check_program(s);
    }
}
