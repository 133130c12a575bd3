// Resets of processing elements: in the middle of kernels, of messages, of launches that have not begun.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "message_bench.hpp"

using namespace message_bench;

namespace {

// All modules below the host, as a platform's reset line does it.
void reset_all(bench &b) {
    for (pe_unit *pe : b.platform->pes()) {
        pe->element.reset();
        pe->ipcq.reset();
        pe->dma.reset();
        pe->mmu.reset();
        pe->controller.reset();
        pe->slice.reset();
        pe->tcm.reset();
    }
}

bool is_quiet(bench &b) {
    bool quiet = true;
    for (pe_unit *pe : b.platform->pes())
        quiet = quiet && !pe->element.in_reset() && !pe->ipcq.in_reset() && !pe->dma.in_reset() &&
                !pe->controller.in_reset() && !pe->mmu.in_reset();
    return quiet;
}

// Kernels of two PEs run `what`; at_ps after the launch something is reset, and then they launch `again`.
void check(const std::function<tla_status(tl_context *)> &what, std::uint64_t after_ps,
           const std::function<void(bench &)> &reset, const std::string &more = "messages.overhead=0 ns") {
    std::vector<std::string> settings = pair();
    settings.push_back(more);
    bench b(settings);
    tla_status first = TLA_OK, second = TLA_BUSY;
    bool again = false;
    sc_core::sc_event launched;
    std::uint64_t reset_ps = 0, ended_ps = 0;
    sc_core::sc_spawn_options options;
    sc_core::sc_spawn(
        [&] {
            sc_core::wait(launched);
            sc_core::wait(from_ps(after_ps));
            reset_ps = to_ps(sc_core::sc_time_stamp());
            reset(b);
        },
        "resetter", &options);
    b.run([&] {
        body = [&](tl_context *tl) {
            if (!again) return what(tl);
            const tl_tile tile = b.tile(tl, 64); // all of this works as on the first day
            const std::uint32_t me = tl_program_id(tl, TL_ALL);
            return me == 0 ? tl_send(tl, 1, &tile) : tl_recv(tl, 0, &tile);
        };
        launched.notify(sc_core::SC_ZERO_TIME);
        tla_error why{};
        first = b.host().launch(0, {}, &why);
        ended_ps = to_ps(sc_core::sc_time_stamp());
        sc_core::wait(from_ps(500'000'000));
        BOOST_CHECK_EQUAL(std::string(why.text),
                          "kernel on sip0.cube0.pe0: ended by a reset (correlation 1, request 1)");
        BOOST_CHECK(is_quiet(b));
        why = tla_error{};
        for (const pe_unit *pe : b.platform->pes())
            BOOST_CHECK_EQUAL(pe->controller.get_statistics(TLA_TCM).arena.used, 0u);
        again = true;
        second = b.host().launch(0, {}, &why);
        BOOST_CHECK_EQUAL(why.text, "");
        for (const pe_unit *pe : b.platform->pes())
            BOOST_CHECK_EQUAL(pe->controller.get_statistics(TLA_TCM).arena.used, 256u); // the tile
    });
    BOOST_CHECK_EQUAL(first, TLA_RESET);
    BOOST_CHECK_EQUAL(second, TLA_OK);
    BOOST_CHECK_GT(reset_ps, 0u);
    BOOST_CHECK_LE(ended_ps, reset_ps + 20'000'000); // the answers' way to the host
}

tla_status hold_and_load(tl_context *tl) {
    tl_tile tile{};
    if (const tla_status status = tl_alloc(tl, 64, 64, TL_F32, &tile)) return status;
    for (int i = 0; i < 100'000; i++)
        tl_fill(tl, &tile, 1);
    return TLA_OK;
}

// Each waits for what the other never sends, or for credits that never come.
tla_status wait_for_each_other(tl_context *tl) {
    const std::uint32_t me = tl_program_id(tl, TL_ALL);
    tl_tile tile{};
    if (const tla_status status = tl_alloc(tl, 64, 64, TL_F32, &tile)) return status;
    if (me == 0) {
        for (int i = 0; i < 1000; i++)
            if (const tla_status status = tl_send(tl, 1, &tile)) return status; // 16 KiB each: many pieces under way
        return TLA_OK;
    }
    for (int i = 0; i < 1000; i++)
        if (const tla_status status = tl_recv(tl, 0, &tile)) return status;
    return TLA_OK;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_ends_kernels_and_the_next_ones_run_as_on_the_first_day) {
    check(hold_and_load, 100'000'000, reset_all);
}
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_messages_ends_them) {
    check(wait_for_each_other, 50'000'000, reset_all);
}
BOOST_AUTO_TEST_CASE(a_reset_during_the_overhead_of_a_message_ends_it) {
    check(wait_for_each_other, 50'000'000, reset_all, "messages.overhead=1 ms");
}
BOOST_AUTO_TEST_CASE(a_reset_before_a_kernel_has_begun_is_its_end) {
    check(hold_and_load, 200'000, reset_all);
}
// Only the elements: what they held is freed by commands.
BOOST_AUTO_TEST_CASE(elements_that_are_reset_alone_free_what_their_kernels_held) {
    check(hold_and_load, 100'000'000, [](bench &b) {
        for (pe_unit *pe : b.platform->pes())
            pe->element.reset();
    });
}
BOOST_AUTO_TEST_CASE(elements_that_are_reset_alone_in_messages_give_their_slots_back) {
    check(wait_for_each_other, 50'000'000, [](bench &b) {
        for (pe_unit *pe : b.platform->pes())
            pe->element.reset();
    });
}
