// Messages that go wrong: deadlocks, messages that nobody takes, wrong calls, no memory, kernels that crash.
#include "message_bench.hpp"
#include "scratch_directory.hpp"
#include "tlmalloc/modules/instrumented.hpp"

using namespace message_bench;

namespace {

bool has(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

} // namespace

// Programs 0 and 1 wait for each other, 2 for one that has ended, 3 has ended: told of each, nothing is left behind,
// and the platform goes on.
BOOST_AUTO_TEST_CASE(a_deadlock_names_the_program_and_its_peer) {
    bench b({"system.pes_per_cube=4"});
    const scratch_directory scratch;
    std::FILE *const file = std::fopen(scratch.path("deadlock.vcd").c_str(), "w");
    waveform wave(file);
    b.platform->record(wave);
    bool again = false;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const std::uint32_t p = tl_program_id(tl, TL_ALL);
            const tl_tile tile = b.tile(tl, 16);
            const std::uint32_t from[] = {1, 0, 3};
            if (p < 3) tl_recv(tl, from[p], &tile); // its status is not looked at: it does not return
            return p < 3 ? TLA_WRONG_RESULT : tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_DEADLOCK);
        for (std::size_t pe = 0; pe < 4; pe++)
            BOOST_CHECK_EQUAL(b.of(pe).status, pe < 3 ? TLA_DEADLOCK : TLA_OK);
        const auto &waits = b.platform->messages().deadlocked();
        BOOST_REQUIRE_EQUAL(waits.size(), 3u);
        BOOST_CHECK_EQUAL(message_ledger::text(waits[2]),
                          "sip0.cube0.pe2 in tl_recv: waits for a message of 64 bytes from program 3, sip0.cube0.pe3");
        BOOST_CHECK(has(b.of(0).problem.text, "from program 1, sip0.cube0.pe1"));
        body = [&again](tl_context *tl) {
            again = again || tl_program_id(tl, TL_ALL) == 3;
            return TLA_OK;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    wave.close();
    std::fclose(file);
    BOOST_CHECK(again);
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

// Both send more than the slots hold, and nobody receives.
BOOST_AUTO_TEST_CASE(senders_that_wait_for_credits_for_ever_are_reported) {
    bench b(pair());
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const tl_tile tile = b.tile(tl, 8192);
            return tl_send(tl, 1 - tl_program_id(tl, TL_ALL), &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_DEADLOCK);
        const auto &waits = b.platform->messages().deadlocked();
        BOOST_REQUIRE_EQUAL(waits.size(), 2u);
        BOOST_CHECK_EQUAL(message_ledger::text(waits[0]), "sip0.cube0.pe0 in tl_send: waits for a credit to send 32768 "
                                                          "bytes to program 1, sip0.cube0.pe1");
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_REQUIRE_EQUAL(b.platform->messages().never_received().size(), 2u);
    BOOST_CHECK_EQUAL(b.platform->messages().never_received()[1].nbytes, 32768u);
}

// Program 0 sends five messages, program 1 takes two and ends, one long one in the middle of which it ends, and one
// behind its end: what was not taken is told, and the sender is not held up.
BOOST_AUTO_TEST_CASE(a_message_that_is_never_received_is_reported) {
    bench b(pair());
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const tl_tile tile = b.tile(tl, 256), tall = b.tile(tl, 16384);
            tla_status status = TLA_OK;
            if (tl_program_id(tl, TL_ALL) == 0) {
                for (int i = 0; i < 4 && !status; i++)
                    status = tl_send(tl, 1, &tile);
                if (!status) status = tl_send(tl, 1, &tall);
                sc_core::wait(50, sc_core::SC_US);
                if (!status) status = tl_send(tl, 1, &tile);
            } else {
                sc_core::wait(5, sc_core::SC_US);
                for (int i = 0; i < 2 && !status; i++)
                    status = tl_recv(tl, 0, &tile);
            }
            const tl_tile both[] = {tile, tall};
            return tl_free_tiles(tl, both, 2, status);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    const auto &lost = b.platform->messages().never_received();
    BOOST_REQUIRE_EQUAL(lost.size(), 1u);
    BOOST_CHECK_EQUAL(lost[0].messages, 4u);
    BOOST_CHECK_EQUAL(lost[0].nbytes, 3u * 1024 + 65536);
    BOOST_CHECK_EQUAL(to_string(lost[0].from) + to_string(lost[0].to), "sip0.cube0.pe0sip0.cube0.pe1");
    BOOST_CHECK(has(reports().back(), "sip0.cube0.pe0 sent 68608 bytes in 4 messages to sip0.cube0.pe1"));
}

// The receiver crashes with messages in its slots, and more on their way.
BOOST_AUTO_TEST_CASE(a_kernel_that_crashes_between_messages_leaves_no_message) {
    bench b(pair());
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const tl_tile tile = b.tile(tl, 512);
            tla_status status = TLA_OK;
            if (tl_program_id(tl, TL_ALL) == 1) {
                tl_recv(tl, 0, &tile);
                *reinterpret_cast<volatile int *>(tl_argument(tl, 0)) = 1;
            }
            for (int i = 0; i < 20 && !status; i++)
                status = tl_send(tl, 1, &tile);
            return tl_free_tiles(tl, &tile, 1, status);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {8}, &b.error), TLA_CRASHED);
        BOOST_CHECK_EQUAL(b.of(0).status, TLA_OK);
        BOOST_CHECK(has(b.of(1).problem.text, "after tl_recv"));
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_REQUIRE_EQUAL(b.platform->messages().never_received().size(), 1u);
    BOOST_CHECK_EQUAL(b.platform->messages().never_received()[0].messages, 19u);
}

BOOST_AUTO_TEST_CASE(invalid_calls_are_rejected_with_a_text_and_a_wrong_tile_leaves_the_message) {
    bench b(pair());
    std::vector<std::string> texts;
    std::vector<tla_status> statuses;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const tl_tile tile = b.tile(tl, 64), small = tl_view(tl, &tile, 0, 0, 1, 32);
            tl_tile halves = tile;
            halves.dtype = TL_F16;
            halves.columns = 128;
            if (tl_program_id(tl, TL_ALL) == 0) return tl_free_tiles(tl, &tile, 1, tl_send(tl, 1, &tile));
            const auto note = [&](tla_status status) {
                statuses.push_back(status);
                texts.push_back(b.of(1).problem.text);
            };
            note(tl_send(tl, 2, &tile));
            note(tl_recv(tl, 7, &tile));
            note(tl_send(tl, 1, &tile));
            note(tl_recv(tl, 0, &small));
            note(tl_recv(tl, 0, &halves));
            note(tl_recv(tl, 0, &tile));
            return tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_REQUIRE_EQUAL(statuses.size(), 6u);
    for (std::size_t i = 0; i < 5; i++)
        BOOST_CHECK_EQUAL(statuses[i], TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(statuses[5], TLA_OK);
    BOOST_CHECK(has(texts[0], "tl_send: program 2 must be less than 2"));
    BOOST_CHECK(has(texts[1], "tl_recv: program 7 must be less than 2"));
    BOOST_CHECK(has(texts[2], "tl_send: program 1 is this program: name another program"));
    BOOST_CHECK(
        has(texts[3], "a message of 256 bytes of f32 from program 0 does not match the tile: must be 128 of f32"));
    BOOST_CHECK(
        has(texts[4], "a message of 256 bytes of f32 from program 0 does not match the tile: must be 256 of f16"));
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(slots_compete_for_memory_and_a_sender_without_slots_fails) {
    std::vector<std::string> settings = pair();
    settings.insert(settings.end(), {"tcm.capacity=64 KiB", "tcm.scheduler_reserve=0 B"});
    bench b(settings);
    tla_status first = TLA_OK, second = TLA_OK, received = TLA_OK;
    std::string text;
    std::uint64_t largest = 0;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const bool sends = tl_program_id(tl, TL_ALL) == 0;
            const tl_tile most = b.tile(tl, sends ? 16 : 13000); // 52,000 of 65,536 bytes: no room for 16 KiB
            if (sends) {
                sc_core::wait(1, sc_core::SC_US);
                first = tl_send(tl, 1, &most);
                text = b.of(0).problem.text;
                sc_core::wait(10, sc_core::SC_US);
                second = tl_send(tl, 1, &most);
                return tl_free(tl, &most);
            }
            sc_core::wait(5, sc_core::SC_US);
            tl_free(tl, &most);
            const tl_tile tile = b.tile(tl, 16);
            received = tl_recv(tl, 0, &tile);
            largest = b.platform->pes()[1]->controller.get_statistics(TLA_TCM).arena.largest_free;
            return tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(first, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(second, TLA_OK);
    BOOST_CHECK_EQUAL(received, TLA_OK);
    BOOST_CHECK_MESSAGE(has(text, "no slots at program 1, sip0.cube0.pe1: TLA_EXHAUSTED: 13536 bytes free in its tcm, "
                                  "largest free block 13536, but 16384 needed for 4 slots of 4096"),
                        text);
    BOOST_CHECK_EQUAL(largest, 65536u - 64 - 16384);
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    const pe_ipcq::statistics &s = b.platform->pes()[1]->ipcq.get_statistics();
    BOOST_CHECK_EQUAL(s.slot_allocs, 2u);
    BOOST_CHECK_EQUAL(s.slot_failures, 1u);
}

// The window takes what message units send, and nothing else.
BOOST_AUTO_TEST_CASE(a_write_to_the_window_that_is_no_message_and_a_read_are_answered_with_an_error) {
    bench b(pair());
    b.run([&] {
        tla_paddr window{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, 1, TLA_CONTROL_MESSAGES, 4096, &window), TLA_OK);
        std::uint8_t data[64] = {};
        BOOST_CHECK_EQUAL(b.host().write_memory(window, data, sizeof data, &b.error), TLA_BUS_ERROR);
        BOOST_CHECK_EQUAL(b.host().read_memory(window, data, sizeof data, &b.error), TLA_BUS_ERROR);
    });
    BOOST_CHECK_EQUAL(b.platform->pes()[1]->ipcq.get_statistics().errors, 2u);
    BOOST_CHECK_EQUAL(b.platform->pes()[0]->ipcq.get_statistics().errors, 0u);
}
