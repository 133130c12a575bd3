// A kernel's limits of time hold whatever it waits for: messages, credits, collectives, transfers, composites.
#include "message_bench.hpp"
#include "tlmalloc/kernel/collectives.h"

using namespace message_bench;

namespace {

const std::uint64_t limit_ps = 10'000'000, far_ps = 1'000'000'000;

// What program 0 does when its time ends, while program 1 does nothing for long.
using waiting = std::function<tla_status(tl_context *, const tl_tile &)>;

// Program 0 ends then, when what moves has been moved, and frees what it held; the platform goes on.
void ends_in_time(const std::vector<std::string> &settings, const waiting &wait) {
    std::vector<std::string> all = pair();
    all.push_back("pe.time_limit=10 us");
    all.insert(all.end(), settings.begin(), settings.end());
    bench b(all);
    b.run([&] {
        tensor *memory = nullptr;
        BOOST_REQUIRE_EQUAL(b.host().create_tensor("t", 16384, 1, b.host().everywhere(), &memory, &b.error), TLA_OK);
        body = [&](tl_context *tl) -> tla_status {
            if (tl_program_id(tl, TL_ALL) == 1) {
                sc_core::wait(from_ps(far_ps));
                return TLA_OK;
            }
            const tl_tile tile = b.tile(tl, 4096);
            wait(tl, tile); // its status is not looked at: it does not return
            return TLA_WRONG_RESULT;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {memory->va.value}, &b.error), TLA_TIMEOUT);
        const processing_element::run &ended = b.of(0);
        BOOST_CHECK_EQUAL(ended.status, TLA_TIMEOUT);
        BOOST_CHECK_GT(ended.end_ps - ended.start_ps, limit_ps);
        BOOST_CHECK_LT(ended.end_ps - ended.start_ps, limit_ps + 1'000'000);
        BOOST_CHECK_MESSAGE(std::string(ended.problem.text).find("more than pe.time_limit") != std::string::npos,
                            ended.problem.text);
        body = [](tl_context *) { return TLA_OK; };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.host().cleanup(&b.error), TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

tla_status receive(tl_context *tl, const tl_tile &tile) {
    return tl_recv(tl, 1, &tile);
}

tla_status receive_later(tl_context *tl, const tl_tile &tile) {
    tl_handle handle{};
    const tla_status status = tl_recv_async(tl, 1, &tile, &handle);
    return status ? status : tl_wait(tl, handle);
}

// More than the slots hold.
tla_status send(tl_context *tl, const tl_tile &tile) {
    tla_status status = TLA_OK;
    while (!status)
        status = tl_send(tl, 1, &tile);
    return status;
}

tla_status add_up(tl_context *tl, const tl_tile &tile) {
    tl_world world{};
    const tla_status status = tl_world_init(tl, &world);
    const tl_tile vector = tl_view(tl, &tile, 0, 0, 1, 1024), room = tl_view(tl, &tile, 0, 1024, 1, 2048);
    return status ? status : tl_all_reduce(tl, &world, &vector, &room);
}

tla_status load(tl_context *tl, const tl_tile &tile) {
    return tl_load(tl, &tile, {tl_argument(tl, 0)}, 16384);
}

tla_status store(tl_context *tl, const tl_tile &tile) {
    return tl_store(tl, {tl_argument(tl, 0)}, 16384, &tile);
}

// The second one has not begun.
tla_status load_twice_later(tl_context *tl, const tl_tile &tile) {
    const tl_tile half = tl_view(tl, &tile, 0, 0, 1, 2048), other = tl_view(tl, &tile, 0, 2048, 1, 2048);
    tl_handle first{}, second{};
    tl_load_async(tl, &half, {tl_argument(tl, 0)}, 8192, &first);
    tl_load_async(tl, &other, {tl_argument(tl, 0)}, 8192, &second);
    return tl_wait(tl, second);
}

tla_status load_and_receive(tl_context *tl, const tl_tile &tile) {
    const tl_tile half = tl_view(tl, &tile, 0, 0, 1, 2048), other = tl_view(tl, &tile, 0, 2048, 1, 2048);
    tl_handle handle{};
    tl_load_async(tl, &half, {tl_argument(tl, 0)}, 8192, &handle);
    return tl_recv(tl, 1, &other);
}

const std::vector<std::string> slow = {"dma.bandwidth=1 MB/s"}; // a transfer takes 16 ms

// Something that goes on for ever beside a kernel that waits, and of which nothing comes.
struct treadmill {
    std::uint64_t step_ps;
    std::function<bool()> stops;

    void go_on(std::uint64_t at_ps) {
        if (!stops()) time_queue::of_simulation().post(at_ps + step_ps, 0, 0, turn, this);
    }
    static void turn(void *context, std::uint64_t at_ps) { static_cast<treadmill *>(context)->go_on(at_ps); }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_message_that_does_not_come_with_a_quantum) {
    ends_in_time({"simulation.quantum=1 us"}, receive);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_message_that_does_not_come) {
    ends_in_time({}, receive);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_message_that_is_waited_for_later) {
    ends_in_time({}, receive_later);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_credit_that_does_not_come) {
    ends_in_time({"messages.slots=1"}, send);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_credit_that_a_sender_polls_for) {
    ends_in_time({"messages.slots=1", "messages.back_pressure=poll"}, send);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_the_overhead_of_a_message) {
    ends_in_time({"messages.overhead=1 ms"}, send);
}
BOOST_AUTO_TEST_CASE(a_time_limit_ends_a_collective_that_no_other_program_joins) {
    ends_in_time({}, add_up);
}
BOOST_AUTO_TEST_CASE(a_time_limit_ends_a_collective_around_sips_that_no_other_program_joins) {
    ends_in_time({"collectives.algorithm=hierarchical", "collectives.between_sips=rings", "system.pes_per_cube=1",
                  "system.sips=2"},
                 add_up);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_load_that_takes_long) {
    ends_in_time(slow, load);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_a_store_that_takes_long) {
    ends_in_time(slow, store);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_loads_that_are_waited_for_later) {
    ends_in_time(slow, load_twice_later);
}
BOOST_AUTO_TEST_CASE(a_limit_of_time_holds_for_what_a_kernel_has_begun_beside_what_it_waits_for) {
    ends_in_time(slow, load_and_receive);
}
// Time goes on, and no limit of simulated time is set: the host's clock ends the wait.
BOOST_AUTO_TEST_CASE(a_limit_of_real_time_holds_for_kernels_that_wait_while_nothing_moves) {
    std::vector<std::string> settings = pair();
    settings.insert(settings.end(), {"pe.time_limit=0 ns", "pe.host_limit=200 ms"});
    bench b(settings);
    treadmill aside{1, [&b] { return b.of(0).end_ps > 0; }};
    b.run([&] {
        body = [&](tl_context *tl) -> tla_status {
            if (tl_program_id(tl, TL_ALL) == 1) {
                aside.go_on(to_ps(sc_core::sc_time_stamp()));
                sc_core::wait(100, sc_core::SC_MS); // 10^11 turns
                return TLA_OK;
            }
            const tl_tile tile = b.tile(tl, 64);
            tl_recv(tl, 1, &tile); // its status is not looked at: it does not return
            return TLA_WRONG_RESULT;
        };
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, &b.error), TLA_TIMEOUT);
        BOOST_CHECK_EQUAL(b.of(0).status, TLA_TIMEOUT);
        const std::string text = b.of(0).problem.text;
        BOOST_CHECK_MESSAGE(
            text.find("waits without progress, in tl_recv, its call 2: more than pe.host_limit, 200 ms of real time") !=
                std::string::npos,
            text);
    });
    BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

// No time passes any more, so that nobody can go on.
BOOST_AUTO_TEST_CASE(a_simulation_whose_time_stands_still_is_given_up_with_an_error) {
    std::vector<std::string> settings = pair();
    settings.push_back("pe.host_limit=200 ms");
    bench b(settings);
    treadmill aside{0, [] { return false; }};
    const auto run = [&] {
        b.run([&] {
            body = [&](tl_context *tl) -> tla_status {
                if (tl_program_id(tl, TL_ALL) == 0) aside.go_on(to_ps(sc_core::sc_time_stamp()));
                const tl_tile tile = b.tile(tl, 64);
                return tl_free(tl, &tile);
            };
            b.host().launch(0, {}, &b.error);
        });
    };
    BOOST_CHECK_EXCEPTION(run(), sc_core::sc_report, [](const sc_core::sc_report &why) {
        return std::string(why.get_msg()).find("without progress for twice pe.host_limit") != std::string::npos;
    });
}
