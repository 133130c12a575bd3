// Blocks that a controller moves, step by step, while others use them: their bytes, mappings, counts and places.
#include "moving_world.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace moving;

BOOST_AUTO_TEST_CASE(a_stopped_move_pauses_copies_remaps_frees_and_resumes) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.take(8); // so that the next place lies behind
    for (std::uint64_t i = 0; i < 40; i++)
        w.byte(pa + i) = static_cast<std::uint8_t>(i);
    BOOST_REQUIRE_EQUAL(w.mapping(TLA_OP_BIND, 0x1000, pa, 40, 3).status, TLA_OK);
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    BOOST_CHECK(w.outcome.begun);
    BOOST_CHECK_EQUAL(w.used(), 40u + 8 + 40);
    w.finish();
    BOOST_REQUIRE_EQUAL(w.ended.size(), 1u);
    BOOST_CHECK_EQUAL(w.ended[0].status, TLA_OK);
    BOOST_CHECK_EQUAL(w.ended[0].value, 48u);
    BOOST_CHECK_EQUAL(w.ended[0].nbytes, 40u);
    BOOST_CHECK((w.sent == std::vector<tla_opcode>{TLA_OP_PAUSE, TLA_OP_REMAP, TLA_OP_RESUME}));
    for (std::uint64_t i = 0; i < 40; i++)
        BOOST_CHECK_EQUAL(w.byte(w.mmus[1].table[0x1000 + i]), i);
    BOOST_CHECK_EQUAL(w.used(), 48u);
    BOOST_REQUIRE_EQUAL(w.gone.size(), 1u);
    BOOST_CHECK_EQUAL(w.gone[0].offset, 0u);
    BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, pa, 40, me).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, 48, 40, me).status, TLA_OK);
    const tla_controller_counts counts = tla_controller_get_counts(w.controller, TLA_HBM);
    BOOST_CHECK_EQUAL(counts.moved_blocks, 1u);
    BOOST_CHECK_EQUAL(counts.moved_bytes, 40u);
}

BOOST_AUTO_TEST_CASE(a_concurrent_move_copies_before_it_pauses_and_dirty_chunks_again) {
    world w(TLA_MOVE_CONCURRENT, 16, 1);
    const std::uint64_t pa = w.take(48);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 48);
    BOOST_REQUIRE_EQUAL(w.move(pa, TLA_TCM).status, TLA_OK);
    std::vector<std::uint64_t> offsets;
    std::vector<bool> stopped;
    const auto copies = [&](unsigned count) {
        for (unsigned i = 0; i < count; i++) {
            BOOST_REQUIRE(w.go_on());
            offsets.push_back(w.step.from.offset);
            stopped.push_back(w.step.stopped);
        }
        BOOST_CHECK(!w.go_on());
        while (w.arrive()) {
        }
    };
    copies(3);
    w.write(0, 0x1000 + 20, 7);
    copies(1);
    w.write(0, 0x1000 + 40, 8);
    BOOST_REQUIRE(w.go_on()); // the rounds are over
    BOOST_CHECK_EQUAL(w.sent.back(), TLA_OP_PAUSE);
    BOOST_CHECK(!w.write(0, 0x1000, 9));
    copies(1);
    w.finish();
    BOOST_CHECK((offsets == std::vector<std::uint64_t>{0, 16, 32, 16, 32}));
    BOOST_CHECK((stopped == std::vector<bool>{false, false, false, false, true}));
    BOOST_CHECK_EQUAL(w.ended.at(0).value, 1u << 20);
    BOOST_CHECK_EQUAL(w.tcm[20], 7);
    BOOST_CHECK_EQUAL(w.tcm[40], 8);
}

BOOST_AUTO_TEST_CASE(a_move_that_cannot_begin_says_why_and_changes_nothing) {
    world w(TLA_MOVE_STOP, 16, 0, true); // guarded: it knows its blocks
    const std::uint64_t pa = w.take(40);
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_UNMAPPED);
    BOOST_CHECK_EQUAL(w.text(),
                      "MOVE of 0x0: no mapping of the block is recorded (BIND), so that it may be used by this "
                      "address");
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    BOOST_CHECK_EQUAL(w.move(pa + 8).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(w.move(1 << 19).status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(w.move(pa, TLA_SRAM).status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(w.move(pa, TLA_HBM, other).status, TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(w.text(), "MOVE of 0x0: another address space holds the block");
    BOOST_CHECK_EQUAL(w.about(TLA_OP_PIN, pa, 0, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(w.text(), "MOVE of 0x0: the block has 1 pins");
    BOOST_CHECK_EQUAL(w.about(TLA_OP_UNPIN, pa, 0, me).status, TLA_OK);
    const std::uint64_t large = w.take(tcm_bytes + 1);
    w.mapping(TLA_OP_BIND, 0x2000, large, 64);
    BOOST_CHECK_EQUAL(w.move(large, TLA_TCM).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(w.outcome.memory, TLA_TCM);
    BOOST_CHECK_EQUAL(w.outcome.completion.total_free, tcm_bytes);
    BOOST_CHECK(!w.outcome.begun);
    BOOST_CHECK_EQUAL(w.used(), 40u + tcm_bytes + 1);
    BOOST_CHECK(!w.go_on());
    BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, large, tcm_bytes + 1, me).status, TLA_OK); // is not moving
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(w.text(), "MOVE of 0x0: the block is moving; send the command again when the MOVE is done");
    w.finish();
    world off(TLA_MOVE_OFF);
    BOOST_CHECK_EQUAL(off.move(off.take(8)).status, TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(off.mapping(TLA_OP_BIND, 0x1000, 0, 8).status, TLA_UNSUPPORTED);
}

BOOST_AUTO_TEST_CASE(a_reserved_block_does_not_move) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    tla_controller_watch watch{};
    watch.reserved = [](void *, tla_memory_kind, std::uint64_t offset, std::uint64_t nbytes) {
        return offset == 0 && nbytes == 40;
    };
    tla_controller_set_watch(w.controller, watch);
    BOOST_CHECK_EQUAL(w.move(pa).status, TLA_BUSY);
    BOOST_CHECK_EQUAL(w.used(), 40u);
    BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, pa, 40, me).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(other_commands_about_a_moving_block_are_busy_until_the_move_ends) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    BOOST_CHECK_EQUAL(w.about(TLA_OP_REF, pa, 0, me).status, TLA_OK);
    tla_command put{};
    put.opcode = TLA_OP_PUT;
    put.key = 5;
    put.count = 1;
    put.blocks[0].pa = {pa};
    BOOST_CHECK_EQUAL(w.run(put, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.move(pa, TLA_TCM).status, TLA_UNSUPPORTED);
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    tla_command get{};
    get.opcode = TLA_OP_GET;
    get.key = 5;
    const auto check_busy = [&](std::uint64_t at) {
        for (const tla_opcode opcode : {TLA_OP_FREE, TLA_OP_REF, TLA_OP_UNREF, TLA_OP_PIN, TLA_OP_UNPIN})
            BOOST_CHECK_EQUAL(w.about(opcode, at, 40, me).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(w.mapping(TLA_OP_UNBIND, 0x1000, at, 40).status, TLA_BUSY);
        BOOST_CHECK_EQUAL(w.run(get, me).status, TLA_BUSY);
        get.opcode = TLA_OP_REMOVE;
        BOOST_CHECK_EQUAL(w.run(get, me).status, TLA_BUSY);
        get.opcode = TLA_OP_GET;
        tla_command evict{};
        evict.opcode = TLA_OP_EVICT;
        evict.nbytes = hbm_bytes;
        BOOST_CHECK_EQUAL(w.run(evict, me).status, TLA_EXHAUSTED);
        tla_command batch{};
        batch.opcode = TLA_OP_FREE_BATCH;
        batch.count = 1;
        batch.blocks[0] = {{at}, 40};
        BOOST_CHECK_EQUAL(w.run(batch, me).status, TLA_BUSY);
    };
    check_busy(pa);
    while (w.sent.empty() || w.sent.back() != TLA_OP_REMAP)
        BOOST_REQUIRE(w.go_on() || w.arrive());
    BOOST_REQUIRE(w.go_on()); // the old place is free
    check_busy(40);
    BOOST_CHECK_EQUAL(w.stats(TLA_HBM).misses, 0u); // the key is there
    w.finish();
    const tla_completion found = w.run(get, me);
    BOOST_CHECK_EQUAL(found.status, TLA_OK);
    BOOST_CHECK_EQUAL(found.value, w.ended.at(0).value);
    for (unsigned references = 4; references > 1; references--) // ALLOC, REF, GET, and the key
        BOOST_CHECK_EQUAL(w.about(TLA_OP_UNREF, found.value, 0, me).value, references - 1);
    get.opcode = TLA_OP_REMOVE;
    BOOST_CHECK_EQUAL(w.run(get, me).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.used(), 0u);
    BOOST_CHECK_EQUAL(w.stats(TLA_HBM).references, 0u);
}

BOOST_AUTO_TEST_CASE(the_place_to_which_a_block_moves_cannot_be_freed) {
    for (const bool validates : {false, true}) {
        tla_pe_memory_config config = two_memories();
        config.validate = validates;
        world w(TLA_MOVE_STOP, 16, 2, config);
        const std::uint64_t pa = w.take(40);
        w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
        BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, 40, 40, me).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, 60, 1, me).status, TLA_NOT_ALLOCATED);
        w.finish();
        BOOST_CHECK_EQUAL(w.ended.at(0).value, 40u);
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, 40, 40, me).status, TLA_OK);
        BOOST_CHECK_EQUAL(w.used(), 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_rejected_move_has_its_own_text_or_none) {
    world w(TLA_MOVE_STOP, 16, 0, true);
    const std::uint64_t pa = w.take(hbm_bytes / 2), small = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    const auto text_after_others = [&](std::uint64_t at, tla_memory_kind to) {
        BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, pa, 8, me).status, TLA_SIZE_MISMATCH);
        BOOST_CHECK_EQUAL(w.about(TLA_OP_REF, pa + 1, 0, me).status, TLA_NOT_ALLOCATED);
        w.move(at, to);
        return std::string(w.text());
    };
    BOOST_CHECK_EQUAL(text_after_others(pa, TLA_SRAM), "MOVE of 0x0: the controller has no SRAM");
    BOOST_CHECK_EQUAL(text_after_others(pa, TLA_TCM), ""); // as of an ALLOC: the completion says it
    BOOST_CHECK_EQUAL(w.outcome.completion.status, TLA_EXHAUSTED);
    tla_controller_watch watch{};
    watch.reserved = [](void *, tla_memory_kind, std::uint64_t, std::uint64_t) { return true; };
    tla_controller_set_watch(w.controller, watch);
    w.mapping(TLA_OP_BIND, 0x9000, small, 40);
    BOOST_CHECK_EQUAL(text_after_others(small, TLA_HBM),
                      "MOVE of 0x2000: an initiator has reserved bytes of the block");
}

// For its price and its figures.
BOOST_AUTO_TEST_CASE(the_receipt_of_a_move_is_about_the_memory_of_the_new_place) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    BOOST_REQUIRE_EQUAL(w.move(pa, TLA_TCM).status, TLA_OK);
    BOOST_CHECK_EQUAL(w.outcome.memory, TLA_TCM);
    BOOST_CHECK_EQUAL(w.outcome.arena.used, 40u);
    BOOST_CHECK_EQUAL(tla_controller_get_counts(w.controller, TLA_HBM).moves, 1u);
}

BOOST_AUTO_TEST_CASE(bytes_that_a_debugger_writes_while_mmus_are_remapped_are_copied_to_the_other_place) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.take(8);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40, 1);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40, 2);
    const auto twin = [&](tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
        tla_move_step copy{};
        if (!tla_controller_has_twin(w.controller, kind, offset, nbytes, &copy)) return std::string("none");
        return std::to_string(copy.from.memory) + ":" + std::to_string(copy.from.offset) + " " +
               std::to_string(copy.to.memory) + ":" + std::to_string(copy.to.offset) + " " +
               std::to_string(copy.nbytes);
    };
    w.refuse = [&](const tla_command &c) {
        const bool remaps = c.opcode == TLA_OP_REMAP;
        if (remaps) {
            BOOST_CHECK_EQUAL(twin(TLA_HBM, pa + 10, 4), "0:10 1:10 4"); // also while a REMAP is taken back
            BOOST_CHECK_EQUAL(twin(TLA_TCM, 10, 4), "1:10 0:10 4");
            BOOST_CHECK_EQUAL(twin(TLA_HBM, pa + 38, 9), "0:38 1:38 2");
            BOOST_CHECK_EQUAL(twin(TLA_HBM, pa + 40, 8), "none");
        } else {
            BOOST_CHECK_EQUAL(twin(TLA_HBM, pa + 10, 4), "none");
        }
        return remaps && c.scope.sip_mask == 2 ? TLA_LIMIT : TLA_OK;
    };
    BOOST_REQUIRE_EQUAL(w.move(pa, TLA_TCM).status, TLA_OK);
    w.finish();
    BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_LIMIT);
    BOOST_CHECK_EQUAL(std::count(w.sent.begin(), w.sent.end(), TLA_OP_REMAP), 3);
    BOOST_CHECK_EQUAL(twin(TLA_HBM, pa, 4), "none");
}

BOOST_AUTO_TEST_CASE(blocks_of_every_front_move_to_places_that_it_gives) {
    for (const tla_front front :
         {TLA_FRONT_SLOT_POOL, TLA_FRONT_CACHING_POOL, TLA_FRONT_SEGMENT_CACHE, TLA_FRONT_GROWING_POOL, TLA_FRONT_MIXED,
          TLA_FRONT_LAZY, TLA_FRONT_SEGMENTED, TLA_FRONT_LINEAR_REGIONS, TLA_FRONT_INTERLEAVING_REGIONS}) {
        tla_pe_memory_config config = two_memories();
        config.of[TLA_HBM].policy = tla_stack_policy_of(front, TLA_FIRST_FIT);
        config.of[TLA_HBM].front.slot = 1024;
        config.of[TLA_HBM].front.segment = 10 << 10;
        config.of[TLA_HBM].front.buffers = front == TLA_FRONT_MIXED ? hbm_bytes / 4 : 0;
        world w(TLA_MOVE_CONCURRENT, 16, 2, config);
        BOOST_TEST_CONTEXT("front " << front) {
            const std::uint64_t pa = w.take(40);
            w.byte(pa + 7) = 77;
            w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
            BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
            w.finish();
            const std::uint64_t to = w.ended.at(0).value;
            BOOST_CHECK(to != pa);
            BOOST_REQUIRE_EQUAL(w.move(to, TLA_TCM).status, TLA_OK);
            w.finish();
            BOOST_CHECK_EQUAL(w.byte(w.ended.at(1).value + 7), 77);
            BOOST_CHECK_EQUAL(w.used(), 0u);
            BOOST_REQUIRE_EQUAL(w.move(w.ended.at(1).value).status, TLA_OK);
            w.finish();
            BOOST_CHECK_EQUAL(w.byte(w.ended.at(2).value + 7), 77);
            BOOST_CHECK_EQUAL(w.about(TLA_OP_FREE, w.ended.at(2).value, 40, me).status, TLA_OK);
            BOOST_CHECK_EQUAL(w.used(), 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_chunk_fits_a_payload) {
    tla_controller_config config{};
    config.memory = two_memories();
    config.owner_port = TLA_CONTROLLER_NO_OWNER;
    config.move = {TLA_MOVE_STOP, UINT32_MAX, 0};
    BOOST_CHECK_EQUAL(tla_controller_check_config(&config, nullptr), TLA_OK);
    config.move.chunk++;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_controller_check_config(&config, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, "move.chunk: 4294967296 bytes: must be 1 .. 4294967295");
}

BOOST_AUTO_TEST_CASE(a_written_byte_of_a_guarded_block_is_written_in_its_new_place_and_no_other) {
    world w(TLA_MOVE_STOP, 16, 0, true);
    const std::uint64_t pa = w.take(100);
    w.take(8);
    const tla_guard_access write{true, pa + 10, 30, 30, nullptr, 0, me, 0, 0, 0};
    tla_pe_memory_note(w.memory, TLA_HBM, &write);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 100);
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    w.finish();
    const std::uint64_t to = w.ended.at(0).value;
    const auto status_of = [&](std::uint64_t at, std::uint64_t who) {
        const tla_guard_access read{false, at, 1, 1, nullptr, 0, who, 0, 0, 0};
        return tla_pe_memory_look(w.memory, TLA_HBM, &read, nullptr);
    };
    for (std::uint64_t i = 0; i < 100; i++)
        BOOST_CHECK_EQUAL(status_of(to + i, me), i >= 10 && i < 40 ? TLA_OK : TLA_NEVER_WRITTEN);
    BOOST_CHECK_EQUAL(status_of(to + 10, other), TLA_NOT_OWNER);
    BOOST_CHECK_EQUAL(status_of(pa + 10, me), TLA_USE_AFTER_FREE);
}

BOOST_AUTO_TEST_CASE(a_command_that_undoes_a_failed_move_is_sent_again_while_an_mmu_is_busy) {
    world w(TLA_MOVE_STOP);
    const std::uint64_t pa = w.take(40);
    w.mapping(TLA_OP_BIND, 0x1000, pa, 40);
    unsigned busy = 3;
    w.refuse = [&](const tla_command &c) {
        return c.opcode == TLA_OP_REMAP ? TLA_EXHAUSTED : c.opcode == TLA_OP_RESUME && busy-- > 0 ? TLA_BUSY : TLA_OK;
    };
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    w.finish();
    BOOST_CHECK_EQUAL(w.ended.at(0).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(std::count(w.sent.begin(), w.sent.end(), TLA_OP_RESUME), 4);
    BOOST_CHECK_EQUAL(tla_controller_get_counts(w.controller, TLA_HBM).not_resumed, 0u);
    BOOST_CHECK(w.mmus[0].paused.empty());
    BOOST_CHECK_EQUAL(w.used(), 40u);
    w.refuse = [&](const tla_command &c) { return c.opcode == TLA_OP_RESUME ? TLA_BUSY : TLA_OK; };
    BOOST_REQUIRE_EQUAL(w.move(pa).status, TLA_OK);
    w.finish();
    BOOST_CHECK_EQUAL(w.ended.at(1).status, TLA_OK); // it has moved
    BOOST_CHECK_EQUAL(tla_controller_get_counts(w.controller, TLA_HBM).not_resumed, 1u);
}

// Everything at random: programs that use mapped blocks, commands, steps of moves in any order, MMUs that reject
// commands, memories that fail, resets. The bytes are those of a plain map, and every list is whole in the end.
static void check_random_moves(tla_move_mode mode, unsigned seed) {
    struct tensor {
        std::uint64_t va, pa, nbytes;
        std::uint32_t sips;
        std::vector<std::uint8_t> bytes;
    };
    const auto w_owner = std::make_unique<world>(mode, 24, 2);
    world &w = *w_owner;
    seeded_random random(seed);
    std::vector<tensor> live;
    std::uint64_t next_va = 0x1000, moved = 0, failed = 0, refused = 0, waited = 0;
    bool hostile = false;
    w.refuse = [&](const tla_command &c) {
        if (!hostile || c.opcode == TLA_OP_RESUME || !random.one_in(6)) return TLA_OK;
        for (const tensor &t : live) // what undoes a move is not refused
            if (c.opcode == TLA_OP_REMAP && c.entries[0].pa.value >= t.pa && c.entries[0].pa.value < t.pa + t.nbytes)
                return TLA_OK;
        return TLA_LIMIT;
    };
    const auto take_ends = [&] {
        for (const tla_completion &done : w.ended) {
            (done.status ? failed : moved)++;
            if (done.status) continue;
            const auto t = std::find_if(live.begin(), live.end(), [&](const tensor &one) {
                return w.mmus[one.sips == 2].table.at(one.va) == done.value;
            });
            BOOST_REQUIRE(t != live.end());
            t->pa = done.value;
        }
        w.ended.clear();
    };
    for (unsigned step = 0; step < 20000; step++) {
        hostile = step % 2000 > 1000;
        switch (random.between(0, 9)) {
        case 0: {
            if (live.size() > 40) break;
            const std::uint64_t nbytes = random.between(1, 200);
            const tla_memory_kind kind = random.one_in(4) ? TLA_TCM : TLA_HBM;
            const tla_completion done = w.alloc(kind, {nbytes, 0, TLA_FORMAT_UNDEFINED}, me);
            if (done.status) break;
            live.push_back({next_va, done.value, nbytes, static_cast<std::uint32_t>(random.between(1, 3)), {}});
            tensor &t = live.back();
            next_va += 0x1000;
            for (std::uint64_t i = 0; i < nbytes; i++) {
                t.bytes.push_back(static_cast<std::uint8_t>(random.between(0, 255)));
                w.byte(t.pa + i) = t.bytes.back();
            }
            BOOST_REQUIRE_EQUAL(w.mapping(TLA_OP_BIND, t.va, t.pa, nbytes, t.sips).status, TLA_OK);
            break;
        }
        case 1: {
            if (live.empty()) break;
            std::swap(live[random.between(0, live.size() - 1)], live.back());
            if (live.back().pa == w.freed) break; // who sent the MOVE waits for its answer
            const tla_status status = w.about(TLA_OP_FREE, live.back().pa, live.back().nbytes, me).status;
            BOOST_REQUIRE_MESSAGE(status == TLA_OK || status == TLA_BUSY, tla_status_name(status));
            refused += status == TLA_BUSY;
            if (!status) live.pop_back();
            break;
        }
        case 2: {
            if (live.empty()) break;
            const tensor &t = live[random.between(0, live.size() - 1)];
            if (t.pa != w.freed) w.move(t.pa, random.one_in(3) ? TLA_TCM : TLA_HBM);
            break;
        }
        case 3:
        case 4:
        case 5: {
            if (live.empty()) break;
            tensor &t = live[random.between(0, live.size() - 1)];
            const std::uint32_t sip = t.sips == 3 ? static_cast<std::uint32_t>(random.between(0, 1)) : t.sips - 1;
            const std::uint64_t i = random.between(0, t.nbytes - 1);
            const auto value = static_cast<std::uint8_t>(random.between(0, 255));
            if (w.write(sip, t.va + i, value))
                t.bytes[i] = value;
            else
                waited++;
            break;
        }
        case 6:
        case 7:
            w.go_on();
            take_ends();
            break;
        case 8:
            if (hostile && random.one_in(20) && !w.on_the_way.empty()) {
                w.on_the_way.erase(w.on_the_way.begin());
                tla_controller_move_copied(w.controller, false);
            } else {
                w.arrive();
            }
            break;
        default:
            if (hostile && random.one_in(100)) tla_controller_abandon_moves(w.controller);
            for (tensor &t : live)
                for (std::uint32_t sip = 0; sip < 2; sip++)
                    for (std::uint64_t i = 0; i < t.nbytes && t.sips >> sip & 1; i += 7)
                        if (!w.mmus[sip].paused.count(t.va + i))
                            BOOST_REQUIRE_EQUAL(w.byte(w.mmus[sip].table.at(t.va + i)), t.bytes[i]);
        }
    }
    hostile = false;
    w.finish();
    take_ends();
    for (const tensor &t : live) {
        for (std::uint32_t sip = 0; sip < 2; sip++)
            for (std::uint64_t i = 0; i < t.nbytes && t.sips >> sip & 1; i++)
                BOOST_REQUIRE_EQUAL(w.byte(w.mmus[sip].table.at(t.va + i)), t.bytes[i]);
        BOOST_REQUIRE_EQUAL(w.about(TLA_OP_FREE, t.pa, t.nbytes, me).status, TLA_OK);
    }
    for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
        BOOST_CHECK(tla_controller_is_as_at_the_beginning(w.controller, kind));
    BOOST_CHECK_GT(moved, 100u);
    BOOST_CHECK_GT(failed, 20u);
    BOOST_CHECK_GT(refused, 20u);
    BOOST_CHECK_GT(waited, 5u);
}

BOOST_AUTO_TEST_CASE(random_stopped_moves_lose_no_byte_and_no_block) {
    check_random_moves(TLA_MOVE_STOP, 1);
}

BOOST_AUTO_TEST_CASE(random_concurrent_moves_lose_no_byte_and_no_block) {
    check_random_moves(TLA_MOVE_CONCURRENT, 2);
}
