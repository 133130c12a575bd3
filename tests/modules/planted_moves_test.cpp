// Mistakes of platforms whose blocks move, each made by a stand-in: the byte map of random_moves_test finds them all.
#include "moving_run.hpp"

namespace {

using moving::mistake;

constexpr unsigned stay = 0, leave = 1;

// Times that bytes were wrong.
std::uint64_t wrong_bytes(mistake what, tla_move_mode mode, unsigned leaves) {
    moving::program_settings s;
    s.platform.wrong = what;
    s.platform.mode = mode;
    s.leaves = leaves;
    s.resets = false;
    s.steps = 10'000;
    return moving::run(s, false, 0).wrong_bytes;
}

void check_found(mistake what, std::initializer_list<tla_move_mode> modes) {
    for (const tla_move_mode mode : modes)
        for (const unsigned leaves : {stay, leave})
            BOOST_CHECK_MESSAGE(wrong_bytes(what, mode, leaves) > 0,
                                "mode " << mode << (leaves ? ", to another controller" : ", in a controller"));
}

} // namespace

BOOST_AUTO_TEST_CASE(without_a_mistake_all_bytes_are_right) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT})
        for (const unsigned leaves : {stay, leave})
            BOOST_CHECK_EQUAL(wrong_bytes(mistake::none, mode, leaves), 0u);
}

BOOST_AUTO_TEST_CASE(an_mmu_that_keeps_its_old_mapping_is_found) {
    check_found(mistake::remap_skipped, {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT});
}

BOOST_AUTO_TEST_CASE(an_old_place_that_is_free_before_an_mmu_leads_elsewhere_is_found) {
    check_found(mistake::remap_late, {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT});
}

BOOST_AUTO_TEST_CASE(an_mmu_that_does_not_pause_is_found) {
    check_found(mistake::pause_skipped, {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT});
}

BOOST_AUTO_TEST_CASE(a_dirty_chunk_that_is_not_copied_again_is_found) {
    check_found(mistake::writes_unseen, {TLA_MOVE_CONCURRENT});
}

BOOST_AUTO_TEST_CASE(dirty_chunks_do_not_matter_where_accesses_wait_for_the_copy) {
    for (const unsigned leaves : {stay, leave})
        BOOST_CHECK_EQUAL(wrong_bytes(mistake::writes_unseen, TLA_MOVE_STOP, leaves), 0u);
}
