// A reset of the host alone, whose device goes on: what it returns to whom, that nobody waits for ever, that no answer
// of before is taken for one of now. And resets of a whole platform from odd places.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/kernel.h"

#include <memory>

using namespace platform_benches;

namespace {

constexpr std::uint64_t ns = 1000, us = 1000 * ns;

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

struct bench : platform_bench {
    explicit bench(std::vector<std::string> more = {}) : platform_bench({}, std::move(more)) {}

    tlmalloc::host &host() { return platform.host(); }

    // Makes `call` in a thread of its own, resets the host after a while, and says what the call returned, and when.
    struct ended_call {
        tla_status status = TLA_OK;
        std::uint64_t took_ps = 0;
        tla_error error{};
    };
    ended_call reset_during(std::uint64_t after_ps, const std::function<tla_status(tla_error *)> &call) {
        ended_call said;
        bool over = false;
        sc_core::sc_event returned;
        const std::uint64_t start = now();
        sc_core::sc_spawn([&] {
            said.status = call(&said.error);
            said.took_ps = now() - start;
            over = true;
            returned.notify(sc_core::SC_ZERO_TIME);
        });
        sc_core::wait(from_ps(after_ps));
        BOOST_CHECK_MESSAGE(!over, "returned " << tla_status_name(said.status) << " after " << said.took_ps
                                               << " ps: " << said.error.text);
        host().reset();
        while (!over)
            sc_core::wait(returned);
        host().wait_for_reset();
        return said;
    }

    tla_status create(std::uint64_t nbytes, tla_error *why) {
        tensor *made = nullptr;
        const tla_status result = host().create_tensor("late", nbytes, 1, host().everywhere(), &made, why);
        BOOST_CHECK((made != nullptr) == (result == TLA_OK));
        return result;
    }

    // Bytes go to a device and back, whatever it still has of before.
    void works(const std::string &when) {
        const tensor *from = make(8192, TLA_HBM), *to = make(8192, TLA_HBM);
        BOOST_REQUIRE_MESSAGE(from && to, when);
        write(from, pattern(8192, 3));
        BOOST_CHECK_MESSAGE(!host().launch(0, {from->va.value, to->va.value, 4096}, &error),
                            when << ": " << error.text);
        BOOST_CHECK_MESSAGE(read(to) == pattern(8192, 3), when);
        BOOST_CHECK_MESSAGE(!host().free_tensor(&const_cast<tensor &>(*from), &error), when << ": " << error.text);
        BOOST_CHECK_MESSAGE(!host().free_tensor(&const_cast<tensor &>(*to), &error), when << ": " << error.text);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_ends_every_call_of_the_host) {
    bench b;
    b.run([&] {
        const tensor *from = b.make(8192, TLA_HBM), *to = b.make(8192, TLA_HBM);
        b.write(from, pattern(8192));
        const std::vector<std::uint64_t> arguments{from->va.value, to->va.value, 4096};
        const auto said = [&](const bench::ended_call &call, const char *what) {
            BOOST_CHECK_MESSAGE(call.status == TLA_RESET, what << ": " << tla_status_name(call.status));
            BOOST_CHECK_EQUAL(call.error.status, TLA_RESET);
            BOOST_TEST_MESSAGE(what << ", after " << call.took_ps << " ps: " << call.error.text);
            BOOST_CHECK_EQUAL(b.host().tensors().size(), 0u);
        };
        said(b.reset_during(150 * ns, [&](tla_error *why) { return b.create(4096, why); }), "create");
        said(b.reset_during(120 * ns, [&](tla_error *why) { return b.host().launch(0, arguments, why); }), "launch");
        bytes data(8192);
        from = b.make(8192, TLA_HBM);
        said(b.reset_during(100 * ns, [&](tla_error *why) { return b.host().write_tensor(*from, data.data(), why); }),
             "write");
        from = b.make(8192, TLA_HBM);
        said(b.reset_during(100 * ns, [&](tla_error *why) { return b.host().read_tensor(*from, data.data(), why); }),
             "read");
        from = b.make(8192, TLA_HBM);
        const tla_paddr pa = from->shards[0].pa;
        said(b.reset_during(50 * ns,
                            [&](tla_error *why) { return b.host().read_memory(pa, data.data(), 4096, why, nullptr); }),
             "read of memory");
        said(b.reset_during(50 * ns,
                            [&](tla_error *why) { return b.host().write_memory(pa, data.data(), 4096, why, nullptr); }),
             "write of memory");
        shard block{};
        const pe_location pe{0, 0, 0};
        said(b.reset_during(50 * ns, [&](tla_error *why) { return b.host().allocate(pe, TLA_HBM, 64, &block, why); }),
             "allocate");
        BOOST_REQUIRE_EQUAL(b.host().allocate(pe, TLA_HBM, 64, &block, &b.error), TLA_OK);
        said(b.reset_during(50 * ns, [&](tla_error *why) { return b.host().release(block, why); }), "release");
        said(b.reset_during(50 * ns, [&](tla_error *why) { return b.host().trim(TLA_HBM, {pe}, why); }), "trim");
        tensor *gone = b.make(8192, TLA_HBM);
        said(b.reset_during(50 * ns, [&](tla_error *why) { return b.host().free_tensor(gone, why); }), "free");
        b.make(8192, TLA_HBM);
        b.make(8192, TLA_HBM);
        said(b.reset_during(100 * ns, [&](tla_error *why) { return b.host().cleanup(why); }), "clean-up");
        said(b.reset_during(
                 100 * ns,
                 [&](tla_error *why) { return b.host().pe_dma(pa, 4096, true, 1, b.host().everywhere().pes, why); }),
             "DMA");
        BOOST_CHECK_EQUAL(b.host().free_tensor(gone, &b.error), TLA_NOT_ALLOCATED); // one of before
        tla_completion done{};
        BOOST_CHECK_EQUAL(b.host().read_memory(pa, data.data(), 64, &b.error, &done), TLA_OK);
        BOOST_CHECK_EQUAL(done.request_id, 1u); // numbers begin anew
        b.works("at the end");
    });
}

BOOST_AUTO_TEST_CASE(calls_during_a_reset_are_ended_at_once) {
    bench b({"host_memory.capacity=64 KiB"});
    sc_core::sc_signal<bool> line;
    b.host().reset_in.bind(line);
    b.run([&] {
        tensor *const t = b.make(8192, TLA_HBM);
        const tla_paddr pa = t->shards[0].pa;
        const tensor copy = *t;
        line = true;
        sc_core::wait(from_ps(2 * us));
        BOOST_CHECK(b.host().in_reset());
        const std::uint64_t since = now();
        bytes data(8192);
        tensor *made = nullptr;
        shard block{{0, 0, 0}, pa, 64, 0, 0};
        deployment plan{};
        tla_error *const error = &b.error;
        BOOST_CHECK_EQUAL(b.host().create_tensor("t", 64, 1, b.host().everywhere(), &made, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().deploy("p", 64, {{"t", 64, 0}}, b.host().everywhere(), &plan, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().launch(0, {}, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().write_tensor(copy, data.data(), error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().read_tensor(copy, data.data(), error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().write_memory(pa, data.data(), 64, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().read_memory(pa, data.data(), 64, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().allocate({0, 0, 0}, TLA_HBM, 64, &block, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().release(block, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().free_tensor(t, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().trim(TLA_HBM, {{0, 0, 0}}, error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.host().cleanup(error), TLA_RESET);
        BOOST_CHECK_EQUAL(b.platform.end_point_of(0).move(tlm::TLM_READ_COMMAND, pa.value, data.data(), 64), TLA_OK);
        BOOST_CHECK_EQUAL(b.host().create_tensor("t", 0, 1, b.host().everywhere(), &made, error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(made == nullptr);
        b.platform.reset(); // whose host stays in its own
        b.platform.wait_for_reset();
        BOOST_CHECK(b.host().in_reset());
        BOOST_CHECK_EQUAL(b.host().cleanup(error), TLA_RESET);
        line = false;
        b.host().wait_for_reset();
        BOOST_CHECK(!b.host().in_reset());
        BOOST_CHECK_LT(now() - since, us);
        b.works("afterwards");
    });
}

BOOST_AUTO_TEST_CASE(a_reset_ends_transfers_of_an_end_point) {
    const std::size_t length = 2 << 20; // more than is under way at a time
    bench b({"hbm.capacity_per_cube=8 MiB"});
    b.run([&] {
        tensor *const t = b.make(length, TLA_HBM, {{0, 0, 0}});
        bytes data(length, 9);
        tla_status said = TLA_OK;
        std::uint64_t ended_ps = 0;
        end_point &end = b.platform.end_point_of(0);
        const std::uint64_t start = now();
        sc_core::sc_spawn([&] {
            said = end.move(tlm::TLM_WRITE_COMMAND, t->shards[0].pa.value, data.data(), data.size());
            ended_ps = now();
        });
        sc_core::wait(from_ps(400 * ns));
        end.reset();
        BOOST_CHECK_EQUAL(end.move(tlm::TLM_READ_COMMAND, t->shards[0].pa.value, data.data(), 64), TLA_RESET);
        end.wait_for_reset();
        BOOST_CHECK_EQUAL(said, TLA_RESET);
        BOOST_CHECK_GT(ended_ps, start + 400 * ns);
        BOOST_TEST_MESSAGE("the transfer was ended " << ended_ps - start << " ps after it had begun");
        const bytes there = b.look(t->shards[0].pa.value, data.size());
        const auto moved = std::count(there.begin(), there.end(), 9);
        BOOST_CHECK_GT(moved, 0);
        BOOST_CHECK_EQUAL(moved % 256, 0); // whole accesses, of those that had begun
        BOOST_CHECK_LT(moved, 3 << 19);
        BOOST_CHECK_EQUAL(end.move(tlm::TLM_WRITE_COMMAND, t->shards[0].pa.value, data.data(), data.size()), TLA_OK);
        BOOST_CHECK(b.look(t->shards[0].pa.value, data.size()) == data);
    });
}

BOOST_AUTO_TEST_CASE(a_reset_leaves_no_access_of_a_tensor_half_made) {
    const std::size_t length = 2 << 20;
    bench b({"hbm.capacity_per_cube=8 MiB", "host.dma_chunk=256 B"});
    b.run([&] {
        tensor *const t = b.make(length, TLA_HBM, {{0, 0, 0}});
        const std::uint64_t pa = t->shards[0].pa.value;
        const bytes data(length, 9);
        const auto said =
            b.reset_during(2 * us, [&](tla_error *why) { return b.host().write_tensor(*t, data.data(), why); });
        BOOST_CHECK_EQUAL(said.status, TLA_RESET);
        const bytes there = b.look(pa, length);
        const auto moved = std::count(there.begin(), there.end(), 9);
        BOOST_TEST_MESSAGE(moved << " of " << length << " bytes, after " << said.took_ps << " ps");
        BOOST_CHECK_GT(moved, 0);
        BOOST_CHECK_LT(moved, 3 << 19);
        for (std::size_t at = 0; at < length; at += 256)
            BOOST_REQUIRE(there[at] == there[at + 255]);
    });
}

namespace {

// Threads that wait in the host for each other, for the driver's price, for a retry.
void check_driver(const std::string &kind) {
    bench b({"host.driver=" + kind, "host.driver_alloc=100 us", "host.driver_free=100 us"});
    b.run([&] {
        std::vector<tla_status> said(6, TLA_OK);
        std::vector<std::uint64_t> ended_ps(6, 0);
        unsigned left = 6;
        sc_core::sc_event returned;
        for (unsigned i = 0; i < 6; i++)
            sc_core::sc_spawn([&, i] {
                shard block{};
                do
                    said[i] = b.host().allocate({0, 0, i % 2}, TLA_HBM, 64, &block, nullptr);
                while (!said[i]);
                ended_ps[i] = now();
                left--;
                returned.notify(sc_core::SC_ZERO_TIME);
            });
        sc_core::wait(from_ps(250 * us));
        const std::uint64_t before = now();
        b.host().reset();
        while (left > 0)
            sc_core::wait(returned);
        b.host().wait_for_reset();
        BOOST_CHECK_LE(now(), before + us); // nobody has waited for a price
        for (unsigned i = 0; i < 6; i++)
            BOOST_CHECK_EQUAL(said[i], TLA_RESET);
        BOOST_REQUIRE(b.host().driver());
        BOOST_CHECK_GE(b.host().driver()->get_statistics(0).allocs, 2u); // goes on
        BOOST_CHECK_EQUAL(b.host().driver()->ready_ps(0), 0u);
        const std::uint64_t since = now();
        shard block{};
        BOOST_CHECK_EQUAL(b.host().allocate({0, 0, 0}, TLA_HBM, 64, &block, &b.error), TLA_OK);
        BOOST_CHECK_LE(now(), since + 100 * us);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(threads_that_wait_for_a_serial_driver_are_ended) {
    check_driver("serial");
}
BOOST_AUTO_TEST_CASE(threads_that_wait_for_a_driver_of_a_device_are_ended) {
    check_driver("per_device");
}
BOOST_AUTO_TEST_CASE(a_reset_drops_calls_posted_to_a_driver) {
    check_driver("asynchronous");
}

// At random moments, by the host alone; what the device keeps of before is lost to it, and nothing else is.
BOOST_AUTO_TEST_CASE(a_host_that_is_reset_alone_takes_no_answer_of_before) {
    bench b;
    seeded_random random(52);
    unsigned ended = 0;
    b.run([&] {
        for (int i = 0; i < 25; i++) {
            bool over = false;
            sc_core::sc_event returned;
            sc_core::sc_spawn([&] {
                tensor *from = nullptr, *to = nullptr;
                const bytes data = pattern(2048);
                bytes got(2048);
                tla_status s = b.host().create_tensor("from", 2048, 1, b.host().everywhere(), &from, nullptr);
                if (!s) s = b.host().create_tensor("to", 2048, 1, b.host().everywhere(), &to, nullptr);
                if (!s) s = b.host().write_tensor(*from, data.data(), nullptr);
                if (!s) s = b.host().launch(0, {from->va.value, to->va.value, 1024}, nullptr);
                if (!s) s = b.host().read_tensor(*to, got.data(), nullptr);
                if (!s) s = b.host().cleanup(nullptr);
                BOOST_CHECK_MESSAGE(s == TLA_OK || s == TLA_RESET, tla_status_name(s));
                if (!s) BOOST_CHECK(got == data);
                ended += s == TLA_RESET;
                over = true;
                returned.notify(sc_core::SC_ZERO_TIME);
            });
            sc_core::wait(from_ps(random.between(0, 1500 * ns)));
            b.host().reset();
            if (random.one_in(3)) b.host().reset();
            while (!over)
                sc_core::wait(returned);
            b.host().wait_for_reset();
            b.works("after reset " + std::to_string(i));
        }
    });
    BOOST_CHECK_GT(ended, 12u);
}
// A page fault is under way in the host, and one waits behind it.
BOOST_AUTO_TEST_CASE(page_faults_are_answered_by_a_reset_of_the_host) {
    bench b({"mmu.unmapped=demand", "mmu.fault_latency=5 us"});
    b.run([&] {
        const tensor *from = b.make(8192, TLA_HBM), *to = b.make(8192, TLA_HBM, {}, spread::demand);
        const std::vector<std::uint64_t> arguments{from->va.value, to->va.value, 4096};
        const bench::ended_call said =
            b.reset_during(3 * us, [&](tla_error *why) { return b.host().launch(0, arguments, why); });
        BOOST_CHECK_EQUAL(said.status, TLA_RESET);
        BOOST_TEST_MESSAGE("the launch was ended after " << said.took_ps << " ps");
        for (const pe_unit *pe : b.platform.pes())
            BOOST_CHECK_NE(pe->element.last_run().status, TLA_OK); // its stores found no page
        b.works("afterwards");
    });
}

// A thread that is killed in a call, before a reset and during one, holds none.
BOOST_AUTO_TEST_CASE(a_thread_that_is_killed_in_a_call_holds_no_reset) {
    bench b;
    b.run([&] {
        for (const bool in_reset : {false, true}) {
            const tensor *from = b.make(8192, TLA_HBM), *to = b.make(8192, TLA_HBM);
            const std::vector<std::uint64_t> arguments{from->va.value, to->va.value, 4096};
            sc_core::sc_process_handle caller =
                sc_core::sc_spawn([&] { b.host().launch(0, arguments, nullptr); }, "caller");
            sc_core::wait(from_ps(100 * ns));
            if (in_reset) b.host().reset();
            if (in_reset) sc_core::wait(from_ps(20 * ns));
            BOOST_CHECK(!caller.terminated());
            caller.kill();
            if (!in_reset) b.host().reset();
            b.host().wait_for_reset();
            BOOST_CHECK_EQUAL(b.host().tensors().size(), 0u);
            sc_core::wait(from_ps(10 * us)); // what it had sent is answered, and nobody hears of it
            b.works(in_reset ? "killed in a reset" : "killed before a reset");
        }
    });
}

// --- from odd places -------------------------------------------------------------------------------------------------

namespace {

npu *of_kernel = nullptr;
const tl_kernel resetting_kernels[] = {[](tl_context *tl) -> tla_status { // at the moment at which the other begins
                                           if (tl_program_id(tl, TL_ALL) == 0) of_kernel->reset();
                                           tl_tile tile{};
                                           return tl_alloc(tl, 1, 16, TL_F32, &tile);
                                       },
                                       [](tl_context *tl) -> tla_status { // while the other waits for a message
                                           tl_tile tile{};
                                           if (const tla_status status = tl_alloc(tl, 1, 16, TL_F32, &tile))
                                               return status;
                                           if (tl_program_id(tl, TL_ALL) == 1) return tl_recv(tl, 0, &tile);
                                           if (const tla_status status = tl_load(tl, &tile, {tl_argument(tl, 0)}, 64))
                                               return status;
                                           of_kernel->reset();
                                           return TLA_OK;
                                       }};

} // namespace

BOOST_AUTO_TEST_CASE(a_platform_can_be_reset_by_a_kernel_by_the_host_and_between_calls_of_sc_start) {
    const tla_config config = platform_bench::load({}, {});
    npu platform("npu", config, {resetting_kernels, std::size(resetting_kernels)});
    of_kernel = &platform;
    sc_core::sc_report_handler::set_handler(keep_report);
    for (resettable *early : std::initializer_list<resettable *>{&platform, &platform.host()}) // during elaboration
        BOOST_CHECK_EXCEPTION(early->reset(), sc_core::sc_report, [](const sc_core::sc_report &said) {
            BOOST_TEST_MESSAGE(said.what());
            return std::string(said.what()).find("reset() has no effect before the simulation runs") !=
                   std::string::npos;
        });
    BOOST_CHECK(!platform.in_reset());
    BOOST_CHECK_EQUAL(platform.resets(), 0u);
    bool finished = false;
    tla_error error{};
    platform.host().main = [&] {
        BOOST_CHECK_EQUAL(platform.host().launch(0, {}, &error), TLA_RESET); // by a kernel
        platform.wait_for_reset();
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        tensor *read = nullptr;
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("r", 64, 1, platform.host().everywhere(), &read, &error),
                            TLA_OK);
        BOOST_CHECK_EQUAL(platform.host().launch(1, {read->va.value}, &error), TLA_RESET);
        platform.wait_for_reset();
        BOOST_CHECK(platform.messages().deadlocked().empty());
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        platform.reset(); // by the host's thread, when nothing is under way
        BOOST_CHECK(!platform.in_reset());
        tensor *made = nullptr;
        BOOST_CHECK_EQUAL(platform.host().create_tensor("t", 64, 1, platform.host().everywhere(), &made, &error),
                          TLA_OK);
        sc_core::wait(from_ps(100 * us)); // a reset between two calls of sc_start
        BOOST_CHECK_EQUAL(platform.host().tensors().size(), 0u);
        BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        finished = true;
    };
    sc_core::sc_start(from_ps(50 * us));
    platform.reset();
    sc_core::sc_start(from_ps(1000 * us));
    BOOST_CHECK(finished);
    BOOST_CHECK_EQUAL(platform.resets(), 4u);
}
