// Messages between the PEs of whole platforms: bytes, order, waits, errors, deadlocks, and what is left behind.
#include "message_bench.hpp"

#include <random>

using namespace message_bench;

namespace {

// A message of the random runs.
struct step {
    std::uint32_t from, to, rows, columns, pitch;
    tl_dtype dtype;

    std::uint64_t nbytes() const { return std::uint64_t{rows} * columns * tl_dtype_bytes(dtype); }
};

std::uint8_t expected_byte(std::size_t number, std::uint64_t index) {
    return static_cast<std::uint8_t>((number * 2654435761u + index * 40503u + (index >> 7)) >> 3);
}

// Random messages of random sizes, contiguous and not, between all programs. Each program does its part of one global
// order, so that none waits for ever; what arrives is compared byte for byte.
void random_messages(const std::vector<std::string> &settings, unsigned seed, std::size_t count) {
    std::vector<std::string> all = settings;
    for (const char *more : {"system.cube_mesh_width=2", "system.cube_mesh_height=2", "system.pes_per_cube=2"})
        all.push_back(more);
    bench b(all);
    std::mt19937 random(seed);
    const auto programs = static_cast<std::uint32_t>(b.platform->pes().size());
    std::vector<step> steps;
    for (std::size_t i = 0; i < count; i++) {
        step s{};
        s.from = static_cast<std::uint32_t>(random() % programs);
        s.to = static_cast<std::uint32_t>((s.from + 1 + random() % (programs - 1)) % programs);
        s.rows = static_cast<std::uint32_t>(1 + random() % (random() % 4 ? 6 : 60));
        s.columns = static_cast<std::uint32_t>(1 + random() % 80);
        s.pitch = random() % 3 ? s.columns : s.columns + static_cast<std::uint32_t>(random() % 30);
        s.dtype = random() % 2 ? TL_F16 : TL_F32;
        steps.push_back(s);
    }
    std::size_t wrong = 0, received = 0;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const std::uint32_t p = tl_program_id(tl, TL_ALL);
            for (std::size_t i = 0; i < steps.size(); i++) {
                const step &s = steps[i];
                if (p != s.from && p != s.to) continue;
                tl_tile whole{};
                if (const tla_status status = tl_alloc(tl, s.rows, s.pitch, s.dtype, &whole)) return status;
                const tl_tile tile = tl_view(tl, &whole, 0, 0, s.rows, s.columns);
                bytes data(s.nbytes());
                for (std::uint64_t k = 0; k < data.size(); k++)
                    data[k] = expected_byte(i, k);
                if (p == s.from) {
                    b.poke(p, tile, data);
                    if (const tla_status status = tl_send(tl, s.to, &tile)) return status;
                    b.poke(p, tile, bytes(data.size(), 0x99)); // the tile may be used again
                } else {
                    if (const tla_status status = tl_recv(tl, s.from, &tile)) return status;
                    wrong += b.peek(p, tile) != data;
                    received++;
                }
                if (const tla_status status = tl_free(tl, &whole)) return status;
            }
            return TLA_OK;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK_MESSAGE(!b.error.status, b.error.text);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK_EQUAL(received, count);
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
    BOOST_CHECK(b.platform->messages().never_received().empty());
    std::uint64_t sent = 0, taken = 0, messages = 0;
    for (const pe_unit *pe : b.platform->pes()) {
        sent += pe->ipcq.get_statistics().sent_bytes;
        taken += pe->ipcq.get_statistics().received_bytes;
    }
    for (const message_ledger::path &path : b.platform->messages().paths())
        messages += path.messages;
    BOOST_CHECK_EQUAL(sent, taken);
    BOOST_CHECK_EQUAL(messages, count);
}

} // namespace

BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_with_slots_in_tcm) {
    random_messages({}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_in_few_small_slots) {
    random_messages({"messages.slots=1", "messages.slot_size=64 B"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_with_slots_in_hbm_polled) {
    random_messages({"messages.memory=hbm", "messages.back_pressure=poll"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_with_slots_in_sram) {
    random_messages({"messages.memory=sram"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_with_banks_and_walks_in_memory) {
    random_messages({"messages.memory=hbm", "hbm.timing=hbm3", "mmu.walk=memory"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_in_guarded_memory) {
    random_messages({"controller.guard=error"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_in_guarded_hbm) {
    random_messages({"controller.guard=error", "messages.memory=hbm"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_by_a_table) {
    random_messages({"messages.memory=hbm", "messages.costs=kernbench"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_by_the_other_table) {
    random_messages({"messages.memory=sram", "messages.costs=kernbench_hop"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_from_slots_in_tcm_that_are_not_read) {
    random_messages({"messages.read_slot=false", "messages.overhead=7 ns"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_from_slots_in_hbm_that_are_not_read) {
    random_messages({"messages.read_slot=false", "messages.memory=hbm", "controller.guard=error"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_from_slots_in_sram_that_are_not_read) {
    random_messages({"messages.read_slot=false", "messages.memory=sram", "messages.slot_size=100 B"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_by_a_table_without_reads) {
    random_messages({"messages.read_slot=false", "messages.memory=hbm", "messages.costs=kernbench"}, 11, 300);
}
BOOST_AUTO_TEST_CASE(random_messages_arrive_whole_and_in_order_with_a_quantum) {
    random_messages({"simulation.quantum=100 ns"}, 11, 300);
}
// --- waits -----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_send_returns_when_its_tile_was_read_and_waits_only_for_slots) {
    bench b(pair());
    std::uint64_t sent_ps[6] = {}, received_ps = 0;
    b.run([&] {
        body = [&](tl_context *tl) {
            const tl_tile tile = b.tile(tl, 1024); // a slot each
            if (tl_program_id(tl, TL_ALL) == 0) {
                for (std::uint64_t &at : sent_ps) {
                    tl_send(tl, 1, &tile);
                    at = b.now_ps(0);
                }
            } else {
                sc_core::wait(5, sc_core::SC_US);
                for (int i = 0; i < 6; i++) {
                    tl_recv(tl, 0, &tile);
                    if (i == 0) received_ps = b.now_ps(1);
                }
            }
            return tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK_LT(sent_ps[3], 1'000'000u); // four slots: nobody waits for the receiver
    BOOST_CHECK_GT(sent_ps[4], received_ps);
    BOOST_CHECK_GT(sent_ps[5], sent_ps[4]);
    const pe_ipcq::statistics &s = b.platform->pes()[0]->ipcq.get_statistics();
    BOOST_CHECK_GE(s.credit_waits, 2u); // and the first, for the slots
    BOOST_CHECK_GT(s.credit_wait_ps, 3'000'000u);
    BOOST_CHECK_EQUAL(s.polls, 0u);
}

BOOST_AUTO_TEST_CASE(a_polling_sender_continues_at_its_next_poll) {
    std::vector<std::string> settings = pair();
    settings.insert(settings.end(), {"messages.back_pressure=poll", "messages.poll_interval=3 us"});
    bench b(settings);
    std::uint64_t before_ps = 0, after_ps = 0;
    b.run([&] {
        body = [&](tl_context *tl) {
            const tl_tile tile = b.tile(tl, 1024);
            if (tl_program_id(tl, TL_ALL) == 0) {
                for (int i = 0; i < 4; i++)
                    tl_send(tl, 1, &tile);
                before_ps = b.now_ps(0);
                tl_send(tl, 1, &tile);
                after_ps = b.now_ps(0);
            } else {
                sc_core::wait(10, sc_core::SC_US);
                for (int i = 0; i < 5; i++)
                    tl_recv(tl, 0, &tile);
            }
            return tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    const std::uint64_t dispatch_ps = b.config.pe.dispatch_ps, looks = (after_ps - before_ps) / 3'000'000;
    BOOST_CHECK_GE(looks, 2u);
    BOOST_CHECK_LT(after_ps - before_ps - dispatch_ps - looks * 3'000'000, 50'000u); // and then the tile is read
    BOOST_CHECK_GE(b.platform->pes()[0]->ipcq.get_statistics().polls, looks);
}

// Two programs that wait for each other's messages, on ways that take no time: the answer to a write is back when its
// bytes have not been taken yet, and that is no deadlock.
static void ways_without_time(const char *memory) {
    std::vector<std::string> settings = pair();
    settings.insert(settings.end(), {memory, "links.wire=0 ps", "cube.router_overhead=0 ps"});
    bench b(settings);
    b.run([&] {
        body = [&](tl_context *tl) {
            const bool first = tl_program_id(tl, TL_ALL) == 0;
            const tl_tile tile = b.tile(tl, 16);
            tla_status status = first ? tl_send(tl, 1, &tile) : tl_recv(tl, 0, &tile);
            if (status == TLA_OK) status = first ? tl_recv(tl, 1, &tile) : tl_send(tl, 0, &tile);
            return status == TLA_OK ? tl_free(tl, &tile) : status;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK(b.platform->messages().deadlocked().empty());
}
BOOST_AUTO_TEST_CASE(programs_whose_ways_take_no_time_are_in_no_deadlock) {
    ways_without_time("messages.memory=tcm");
}
BOOST_AUTO_TEST_CASE(programs_whose_ways_take_no_time_are_in_no_deadlock_with_slots_in_sram) {
    ways_without_time("messages.memory=sram");
}

// --- places ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(neighbours_are_those_of_the_mesh_and_edges_are_reported) {
    bench b({"system.sips=2", "system.cube_mesh_width=3", "system.cube_mesh_height=2", "system.pes_per_cube=2"});
    std::size_t wrong = 0, edges = 0, calls = 0;
    b.run([&] {
        body = [&](tl_context *tl) {
            const std::uint32_t cube = tl_program_id(tl, TL_CUBE), p = tl_program_id(tl, TL_ALL), far = 999;
            const std::uint32_t x = cube % 3, y = cube / 3;
            const struct {
                tl_side side;
                bool edge;
                std::uint32_t program;
            } sides[] = {{TL_NORTH, y == 0, p - 6},
                         {TL_SOUTH, y == 1, p + 6},
                         {TL_EAST, x == 2, p + 2},
                         {TL_WEST, x == 0, p - 2}};
            for (const auto &s : sides) {
                std::uint32_t found = far;
                const tla_status status = tl_neighbour(tl, s.side, &found);
                wrong += s.edge ? status != TLA_NOT_FOUND || found != far : status != TLA_OK || found != s.program;
                edges += s.edge;
                calls++;
            }
            std::uint32_t none = far;
            wrong += tl_program_at(tl, 0, 6, 0, &none) != TLA_NOT_FOUND || none != far;
            wrong += tl_neighbour(tl, TL_SIDE_COUNT, &none) != TLA_INVALID_ARGUMENT;
            return TLA_OK;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK_EQUAL(edges, 2u * 2 * (3 * 2 + 2 * 2));
    BOOST_CHECK_EQUAL(calls, 4u * 24);
}

BOOST_AUTO_TEST_CASE(programs_of_a_part_of_the_platform_talk_by_their_own_numbers) {
    bench b({"system.cube_mesh_width=2", "system.pes_per_cube=4"});
    const std::vector<pe_location> some = {{0, 0, 2}, {0, 1, 0}, {0, 1, 3}};
    std::size_t wrong = 0;
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            const std::uint32_t p = tl_program_id(tl, TL_ALL), n = tl_num_programs(tl, TL_ALL);
            const tl_tile tile = b.tile(tl, 4);
            std::uint32_t found = 0;
            wrong += n != 3 || tl_program_at(tl, 0, 1, 3, &found) != TLA_OK || found != 2;
            wrong += tl_program_at(tl, 0, 0, 0, &found) != TLA_NOT_FOUND; // not launched
            tl_fill(tl, &tile, static_cast<float>(p));
            if (const tla_status status = tl_send(tl, (p + 1) % n, &tile)) return status;
            if (const tla_status status = tl_recv(tl, (p + n - 1) % n, &tile)) return status;
            float got = -1;
            const bytes data = b.peek_at(some[p], tile);
            std::memcpy(&got, data.data(), 4);
            wrong += got != static_cast<float>((p + n - 1) % n);
            return tl_free(tl, &tile);
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, some, &b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
}
