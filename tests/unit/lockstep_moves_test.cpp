// Blocks that move in a slice with an owner: each exchanges its place with a block that the owner has placed for it.
#include "moving_world.hpp"
#include "seeded_random.hpp"

namespace {

using namespace moving;

constexpr std::uint32_t owner_port = 3;

tla_pe_memory_config validated() {
    tla_pe_memory_config config = two_memories();
    config.validate = true;
    return config;
}

struct slice : world {
    explicit slice(tla_move_mode mode) : world(mode, 16, 2, validated(), {}, owner_port) {}

    tla_status by_owner(tla_opcode opcode, std::uint64_t pa, std::uint64_t nbytes) {
        port = owner_port;
        const tla_completion done = about(opcode, pa, nbytes);
        port = 0;
        return done.status;
    }
    tla_status place(std::uint64_t pa, std::uint64_t nbytes) { return by_owner(TLA_OP_PLACE, pa, nbytes); }
    tla_status free(std::uint64_t pa, std::uint64_t nbytes) { return by_owner(TLA_OP_FREE, pa, nbytes); }
    void fill(std::uint64_t va, std::uint64_t nbytes) {
        for (std::uint64_t i = 0; i < nbytes; i++)
            BOOST_REQUIRE(write(0, va + i, static_cast<std::uint8_t>(va + i * 7)));
    }
    void check(std::uint64_t va, std::uint64_t nbytes) {
        for (std::uint64_t i = 0; i < nbytes; i++)
            BOOST_REQUIRE_EQUAL(byte(mmus[0].table.at(va + i)), static_cast<std::uint8_t>(va + i * 7));
    }
};

constexpr std::uint64_t va = 0x4000, nbytes = 100, from = 0, to = 1000;

// A block with a mapping, and one that the owner has placed for its move.
struct two_places : slice {
    explicit two_places(tla_move_mode mode) : slice(mode) {
        BOOST_REQUIRE_EQUAL(place(from, nbytes), TLA_OK);
        BOOST_REQUIRE_EQUAL(place(to, nbytes), TLA_OK);
        BOOST_REQUIRE_EQUAL(mapping(TLA_OP_BIND, va, from, nbytes).status, TLA_OK);
        fill(va, nbytes);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_block_gets_the_place_that_the_owner_has_made_and_the_owner_frees_the_old_one) {
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT}) {
        two_places s(mode);
        const tla_completion begun = s.move_away(from, to);
        BOOST_REQUIRE_EQUAL(begun.status, TLA_OK);
        BOOST_CHECK(s.outcome.begun);
        BOOST_CHECK_EQUAL(s.free(from, nbytes), TLA_BUSY);
        BOOST_CHECK_EQUAL(s.free(to, nbytes), TLA_BUSY);
        BOOST_CHECK_EQUAL(s.move_away(from, to).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(s.move_away(to, from).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(s.mapping(TLA_OP_BIND, va + 0x1000, to, nbytes).status, TLA_BUSY);
        s.finish();
        BOOST_REQUIRE_EQUAL(s.ended.size(), 1u);
        BOOST_CHECK_EQUAL(s.ended[0].status, TLA_OK);
        BOOST_CHECK_EQUAL(s.ended[0].value, to);
        BOOST_CHECK_EQUAL(s.used(), 2 * nbytes); // the owner frees it
        BOOST_CHECK(s.gone.empty());
        BOOST_CHECK_EQUAL(s.mmus[0].table.at(va), to);
        s.check(va, nbytes);
        BOOST_CHECK_EQUAL(tla_controller_get_counts(s.controller, TLA_HBM).moved_bytes, nbytes);
        BOOST_CHECK_EQUAL(s.free(from, nbytes), TLA_OK);
        BOOST_CHECK_EQUAL(s.mapping(TLA_OP_UNBIND, va, to, nbytes).status, TLA_OK);
        BOOST_CHECK_EQUAL(s.free(to, nbytes), TLA_OK);
        BOOST_CHECK_EQUAL(s.used(), 0u);
        BOOST_CHECK_EQUAL(s.stats(TLA_HBM).references, 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_block_moves_back_to_the_place_that_it_has_left) {
    two_places s(TLA_MOVE_CONCURRENT);
    for (unsigned i = 0; i < 6; i++) {
        BOOST_REQUIRE_EQUAL(s.move_away(i % 2 ? to : from, i % 2 ? from : to).status, TLA_OK);
        s.finish();
        BOOST_REQUIRE_EQUAL(s.ended.back().status, TLA_OK);
        s.check(va, nbytes);
    }
    BOOST_CHECK_EQUAL(s.mmus[0].table.at(va), from);
    BOOST_CHECK_EQUAL(s.free(to, nbytes), TLA_OK);
    BOOST_CHECK_EQUAL(s.mapping(TLA_OP_UNBIND, va, from, nbytes).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_place_in_a_slice_with_an_owner_must_be_one_that_the_owner_has_made) {
    two_places s(TLA_MOVE_STOP);
    BOOST_REQUIRE_EQUAL(s.place(2000, nbytes + 1), TLA_OK);
    BOOST_REQUIRE_EQUAL(s.place(3000, nbytes), TLA_OK);
    BOOST_REQUIRE_EQUAL(s.mapping(TLA_OP_BIND, va + 0x1000, 3000, nbytes).status, TLA_OK);
    const auto check = [&](const tla_completion &done, tla_status status, const char *text) {
        BOOST_CHECK_EQUAL(done.status, status);
        BOOST_CHECK_EQUAL(s.text(), text);
        BOOST_CHECK(!s.outcome.begun);
    };
    check(s.move_away(from, 500), TLA_NOT_ALLOCATED,
          "MOVE of 0x0 to 0x1f4: the owner of the memory has placed no block there");
    check(s.move_away(from, to + 1), TLA_NOT_ALLOCATED,
          "MOVE of 0x0 to 0x3e9: the owner of the memory has placed no block there");
    check(s.move_away(from, 2000), TLA_SIZE_MISMATCH, "MOVE of 0x0 to 0x7d0: 100 bytes to a place of 101");
    check(s.move_away(from, 3000), TLA_OVERLAP, "MOVE of 0x0 to 0xbb8: mappings lead to the block there");
    check(s.move_away(from, from), TLA_INVALID_ARGUMENT, "MOVE of 0x0: the block is there already");
    check(s.move_away(to, 2000), TLA_UNMAPPED,
          "MOVE of 0x3e8: no mapping of the block is recorded (BIND), so that it may be used by this address");
    const std::string rest =
        " the HBM, which has an owner: name a place there that the owner has allocated for a block "
        "of the HBM";
    check(s.move(from, TLA_HBM), TLA_UNSUPPORTED, ("MOVE of 0x0 from" + rest).c_str());
    check(s.move(from, TLA_TCM), TLA_UNSUPPORTED, ("MOVE of 0x0 from" + rest).c_str());
    check(s.move_away(from, far_away), TLA_UNSUPPORTED, ("MOVE of 0x0 from" + rest).c_str());
    const std::uint64_t tile = s.take(nbytes, TLA_TCM);
    BOOST_REQUIRE_EQUAL(s.mapping(TLA_OP_BIND, va + 0x2000, tile, nbytes).status, TLA_OK);
    check(s.move(tile, TLA_HBM), TLA_UNSUPPORTED, ("MOVE of 0x100000 to" + rest).c_str());
    check(s.move_away(tile, to), TLA_UNSUPPORTED, ("MOVE of 0x100000 to" + rest).c_str());
    BOOST_CHECK_EQUAL(s.move(tile, TLA_TCM).status, TLA_OK); // it is the controller's own
    s.finish();
    BOOST_CHECK_EQUAL(s.ended.back().status, TLA_OK);
    for (const tla_opcode opcode : {TLA_OP_REF, TLA_OP_PIN, TLA_OP_FREE, TLA_OP_PLACE})
        BOOST_CHECK_EQUAL(s.about(opcode, from, nbytes).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(s.move_away(from, to).status, TLA_OK); // nothing has changed
    s.finish();
    BOOST_CHECK_EQUAL(s.ended.back().status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_slice_with_an_owner_whose_blocks_do_not_move_says_so) {
    slice s(TLA_MOVE_OFF);
    BOOST_REQUIRE_EQUAL(s.place(from, nbytes), TLA_OK);
    BOOST_CHECK_EQUAL(s.mapping(TLA_OP_BIND, va, from, nbytes).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(s.move_away(from, to).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(s.free(from, nbytes), TLA_OK);
}

BOOST_AUTO_TEST_CASE(after_a_failure_of_any_step_the_block_is_where_it_was_and_the_owner_has_both_places) {
    unsigned failures = 0;
    for (const tla_move_mode mode : {TLA_MOVE_STOP, TLA_MOVE_CONCURRENT})
        for (unsigned fails = 0; fails < 3; fails++) { // 2: a copy
            two_places s(mode);
            s.refuse = [&](const tla_command &c) {
                return c.opcode == (fails ? TLA_OP_REMAP : TLA_OP_PAUSE) && s.sent.size() == 1 + fails ? TLA_LIMIT
                                                                                                       : TLA_OK;
            };
            s.bad_copies = fails == 2;
            BOOST_REQUIRE_EQUAL(s.move_away(from, to).status, TLA_OK);
            s.finish();
            BOOST_REQUIRE_EQUAL(s.ended.size(), 1u);
            BOOST_CHECK_EQUAL(s.ended[0].status, fails == 2 ? TLA_BUS_ERROR : TLA_LIMIT);
            failures++;
            s.check(va, nbytes);
            BOOST_CHECK_EQUAL(s.mmus[0].table.at(va), from);
            BOOST_CHECK(s.mmus[0].paused.empty());
            BOOST_CHECK_EQUAL(s.used(), 2 * nbytes);
            s.refuse = {};
            s.bad_copies = false;
            BOOST_CHECK_EQUAL(s.move_away(from, to).status, TLA_OK);
            s.finish();
            BOOST_CHECK_EQUAL(s.ended.back().status, TLA_OK);
            s.check(va, nbytes);
            BOOST_CHECK_EQUAL(s.free(from, nbytes), TLA_OK);
        }
    BOOST_CHECK_EQUAL(failures, 6u);
}

// Blocks are placed and freed by the owner, used and moved; MMUs reject, copies fail, and moves are abandoned.
BOOST_AUTO_TEST_CASE(random_moves_in_a_slice_with_an_owner_keep_every_byte_and_every_place) {
    constexpr std::uint64_t places = 64, length = 64;
    seeded_random random(20261128);
    slice s(TLA_MOVE_CONCURRENT);
    std::vector<std::uint64_t> block_at(places); // VA of the block in each place; 0: none, 1: without mappings
    std::uint64_t next_va = 0x1000;
    unsigned moved = 0, failed = 0;
    const auto pick = [&](bool free) {
        std::uint64_t place = random.between(0, places - 1);
        for (unsigned i = 0; i < places && (block_at[place] == 0) != free; i++)
            place = (place + 1) % places;
        return place;
    };
    for (unsigned step = 0; step < 5000; step++) {
        const std::uint64_t old = pick(false), next = pick(true), now_at = block_at[old];
        if (now_at == 0 || (random.one_in(4) && block_at[next] == 0)) {
            BOOST_REQUIRE_EQUAL(s.place(next * length, length), TLA_OK);
            BOOST_REQUIRE_EQUAL(s.mapping(TLA_OP_BIND, next_va, next * length, length).status, TLA_OK);
            s.fill(next_va, length);
            block_at[next] = next_va;
            next_va += 0x1000;
        } else if (random.one_in(4)) {
            BOOST_REQUIRE_EQUAL(s.free(old * length, length), TLA_OK); // which forgets its mappings
            block_at[old] = 0;
        } else if (block_at[next] == 0) {
            BOOST_REQUIRE_EQUAL(s.place(next * length, length), TLA_OK);
            bool refuses = random.one_in(3); // once: what follows undoes the rest
            s.refuse = [&](const tla_command &c) {
                if (!refuses || c.opcode == TLA_OP_RESUME || random.one_in(2)) return TLA_OK;
                refuses = false;
                return TLA_LIMIT;
            };
            s.bad_copies = random.one_in(6);
            BOOST_REQUIRE_EQUAL(s.move_away(old * length, next * length).status, TLA_OK);
            while (s.go_on() || s.arrive())
                if (random.one_in(30)) {
                    tla_controller_abandon_moves(s.controller);
                    refuses = false;
                }
            const bool ok = s.ended.back().status == TLA_OK;
            ok ? moved++ : failed++;
            if (ok) std::swap(block_at[old], block_at[next]);
            BOOST_REQUIRE_EQUAL(s.free((ok ? old : next) * length, length), TLA_OK);
        }
        std::uint64_t used = 0;
        for (std::uint64_t place = 0; place < places; place++)
            if (block_at[place] > 0) {
                used += length;
                BOOST_REQUIRE_EQUAL(s.mmus[0].table.at(block_at[place]), place * length);
                s.check(block_at[place], length);
            }
        BOOST_REQUIRE_EQUAL(s.used(), used);
        BOOST_REQUIRE_EQUAL(s.stats(TLA_HBM).references, used / length);
    }
    BOOST_CHECK_GT(moved, 500u);
    BOOST_CHECK_GT(failed, 300u);
}
