// reset() and the reset input of a whole npu, its host among its parts: at random moments of a job that uses all of it,
// by a pulse and by a level, and afterwards the platform does what it did at the beginning of time, when it was new:
// the same addresses, numbers and bytes, and the same times from the end of the reset on, to the picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/kernel.h"

#include <memory>

using namespace platform_benches;

namespace {

constexpr std::uint64_t ns = 1000, us = 1000 * ns, part = 4096;

std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

// Each PE loads its part of a tensor, gives it to the next PE by a message, and stores what it gets.
const tl_kernel passing_on[] = {[](tl_context *tl) -> tla_status {
    const std::uint32_t me = tl_program_id(tl, TL_ALL), all = tl_num_programs(tl, TL_ALL);
    tl_tile mine{}, got{};
    if (const tla_status s = tl_alloc(tl, 1, part / 4, TL_F32, &mine)) return s;
    if (const tla_status s = tl_alloc(tl, 1, part / 4, TL_F32, &got)) return s;
    if (const tla_status s = tl_load(tl, &mine, {tl_argument(tl, 0) + me * part}, part)) return s;
    if (all > 1) {
        if (const tla_status s = tl_send(tl, (me + 1) % all, &mine)) return s;
        if (const tla_status s = tl_recv(tl, (me + all - 1) % all, &got)) return s;
    }
    if (const tla_status s = tl_store(tl, {tl_argument(tl, 1) + me * part}, part, all > 1 ? &got : &mine)) return s;
    tl_free(tl, &got);
    return tl_free(tl, &mine);
}};

struct subject {
    explicit subject(std::vector<std::string> keys, const char *name = "npu")
        : config(platform_bench::load({}, keys)), platform(name, config, {passing_on, std::size(passing_on)}) {
        platform.reset_in.bind(line);
        pages = config.mmu.unmapped == TLA_UNMAPPED_DEMAND;
    }

    tlmalloc::host &host() { return platform.host(); }

    // What is compared: numbers as they are, times from the beginning of the job on.
    void note(std::uint64_t number) { said.push_back(number); }
    void note_time() { note(now() - start); }

    // False when a reset has ended the call; anything else but success is an error.
    bool well(tla_status status, const char *what) {
        note_time();
        returns.push_back(now() - start);
        if (status == TLA_RESET) return false;
        BOOST_CHECK_MESSAGE(status == TLA_OK,
                            what << " at " << now() << " ps: " << tla_status_name(status) << " " << error.text);
        return status == TLA_OK;
    }

    // A thread beside the job, which takes blocks from the driver and the pool.
    void take_and_give() {
        const pe_location pe = platform.pes().back()->where;
        bool goes_on = true;
        for (unsigned i = 0; i < 4 && goes_on; i++) {
            shard block{};
            const tla_status taken = host().allocate(pe, TLA_HBM, 1000u + 500u * i, &block, nullptr);
            goes_on = taken == TLA_OK && host().release(block, nullptr) == TLA_OK;
        }
        beside--;
        beside_ended.notify(sc_core::SC_ZERO_TIME);
    }

    bool job() {
        said.clear();
        returns.clear();
        start = now();
        error = {};
        if (host().driver()) { // through whose locks several threads come
            beside = 1;
            sc_core::sc_spawn([this] { take_and_give(); });
        }
        const bool whole = steps();
        while (beside > 0)
            sc_core::wait(beside_ended);
        if (!whole) return false;
        note_time();
        note(platform.leaks());
        if (!well(host().cleanup(&error), "clean-up")) return false;
        note(platform.leaks());
        return true;
    }

    bool steps() {
        const std::uint64_t nbytes = part * platform.pes().size();
        tensor *from = nullptr, *to = nullptr;
        const runtime::sharding everywhere = host().everywhere();
        if (!well(host().create_tensor("from", nbytes, 1, everywhere, &from, &error), "from")) return false;
        const spread kind = pages ? spread::demand : spread::split;
        const tla_memory_kind memory = config.host_memory.capacity > 0 ? TLA_HOST_MEMORY : TLA_HBM;
        if (!well(host().create_tensor("to", nbytes, 1, {everywhere.pes, kind, memory}, &to, &error), "to"))
            return false;
        note(from->va.value);
        note(from->shards[0].pa.value);
        note(to->va.value);
        const bytes data = pattern(nbytes, 7);
        if (!well(host().write_tensor(*from, data.data(), &error), "write")) return false;
        host::launched launched{};
        if (!well(host().launch(0, {from->va.value, to->va.value}, &error, &launched), "launch")) return false;
        note(launched.start_ps - start);
        note(launched.duration_ps);
        if (!host().driver()) note(launched.correlation_id); // else the thread beside takes numbers at the same moments
        bytes result(nbytes);
        if (!well(host().read_tensor(*to, result.data(), &error), "read")) return false;
        bytes expected(data.end() - static_cast<std::ptrdiff_t>(part), data.end());
        expected.insert(expected.end(), data.begin(), data.end() - static_cast<std::ptrdiff_t>(part));
        note(result == expected);
        tla_completion done{};
        if (!well(host().read_memory(from->shards[0].pa, result.data(), 100, &error, &done), "read of memory"))
            return false;
        note(done.request_id);
        if (!well(host().free_tensor(from, &error), "free")) return false;
        return well(host().pe_dma({to->shards[0].pa}, 1000, true, 0x5a, {platform.pes()[0]->where}, &error), "DMA");
    }

    // A reset some time from now: by a pulse, or by a level.
    void reset_after(std::uint64_t delay_ps, std::uint64_t held_ps, bool twice, unsigned deltas = 0) {
        resetting = true;
        sc_core::sc_spawn([this, delay_ps, held_ps, twice, deltas] {
            if (delay_ps > 0) sc_core::wait(from_ps(delay_ps));
            for (unsigned i = 0; i < deltas; i++)
                sc_core::wait(sc_core::SC_ZERO_TIME);
            if (held_ps == 0) {
                platform.reset();
                if (twice) platform.reset();
            } else {
                line = true;
                sc_core::wait(from_ps(held_ps / 2));
                if (twice) platform.reset(); // changes nothing
                sc_core::wait(from_ps(held_ps - held_ps / 2));
                line = false;
                sc_core::wait(sc_core::SC_ZERO_TIME);
                sc_core::wait(sc_core::SC_ZERO_TIME);
            }
            resetting = false;
            reset_made.notify(sc_core::SC_ZERO_TIME);
        });
    }

    void wait_for_reset() {
        while (resetting)
            sc_core::wait(reset_made);
        platform.wait_for_reset();
        BOOST_CHECK(!platform.in_reset());
        BOOST_CHECK(!host().in_reset());
        for (const instrumented *m : platform.modules())
            if (const auto *r = dynamic_cast<const resettable *>(m))
                BOOST_CHECK_MESSAGE(!r->in_reset(), m->name() << " is in reset");
        BOOST_CHECK_EQUAL(platform.leaks(), 0u);
        BOOST_CHECK_EQUAL(host().tensors().size(), 0u);
    }

    // Clocks go on: those of the engines have their edges at whole nanoseconds.
    void as_at_the_beginning(const std::string &when) {
        if (now() % ns > 0) sc_core::wait(from_ps(ns - now() % ns));
        const bool whole = job();
        BOOST_CHECK_MESSAGE(whole, when << ": the job was ended");
        if (said == first) return;
        differences++;
        std::size_t i = 0;
        while (i < said.size() && i < first.size() && said[i] == first[i])
            i++;
        BOOST_CHECK_MESSAGE(false, when << ": number " << i << " of " << first.size() << " is " << said.at(i)
                                        << ", expected " << first.at(i));
    }

    tla_config config;
    npu platform;
    bool pages = false;
    sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> line;
    sc_core::sc_event beside_ended, reset_made;
    unsigned beside = 0, differences = 0;
    bool resetting = false;
    tla_error error{};
    std::uint64_t start = 0;
    std::vector<std::uint64_t> said, first, returns; // returns: when the calls of the job did
};

// What a subject does is over within the simulation, and not because nothing happens any more.
void simulate(subject &s, const std::function<void()> &body) {
    bool finished = false;
    s.host().main = [&] {
        body();
        finished = true;
    };
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(finished);
    BOOST_CHECK(s.platform.messages().deadlocked().empty());
}

void check(const std::vector<std::string> &keys, unsigned times, std::uint64_t seed) {
    subject s(keys);
    seeded_random random(seed);
    unsigned ended = 0;
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        const std::uint64_t whole_ps = now();
        for (unsigned i = 0; i < times && s.differences < 3; i++) {
            const std::uint64_t delay_ps = random.between(0, whole_ps);
            const std::uint64_t held_ps = random.one_in(2) ? 0 : random.one_in(2) ? 2 * us : random.between(1, 5 * us);
            s.reset_after(delay_ps, held_ps, random.one_in(3));
            ended += !s.job();
            s.wait_for_reset();
            s.as_at_the_beginning("reset " + std::to_string(i) + " after " + std::to_string(delay_ps) + " of " +
                                  std::to_string(whole_ps) + " ps, held " + std::to_string(held_ps) + " ps");
        }
        BOOST_CHECK_EQUAL(s.host().resets(), times);
    });
    BOOST_CHECK_GT(ended, times / 2);
    BOOST_TEST_MESSAGE(ended << " of " << times << " jobs were ended");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_platform_is_as_new_after_a_reset) {
    check({}, 40, 19);
}
BOOST_AUTO_TEST_CASE(a_platform_with_a_driver_is_as_new_after_a_reset) {
    check({"host.driver=serial", "host.driver_alloc=3 us"}, 40, 21);
}
BOOST_AUTO_TEST_CASE(a_platform_with_a_pool_is_as_new_after_a_reset) {
    check({"host.driver=per_device", "host.driver_synchronous=true", "host.pool=caching_pool", "system.sips=2",
           "host.driver_alloc=2 us"},
          40, 23);
}
BOOST_AUTO_TEST_CASE(a_platform_with_an_asynchronous_driver_is_as_new_after_a_reset) {
    check({"host.driver=asynchronous", "host.driver_alloc=3 us"}, 40, 25);
}
BOOST_AUTO_TEST_CASE(a_platform_whose_slices_a_cube_owns_is_as_new_after_a_reset) {
    check({"controller.lockstep=cube", "system.cube_mesh_width=2"}, 40, 27);
}
BOOST_AUTO_TEST_CASE(a_platform_with_the_hosts_memory_is_as_new_after_a_reset) {
    check({"host_memory.capacity=1 MiB"}, 40, 29);
}
BOOST_AUTO_TEST_CASE(a_platform_that_walks_in_memory_is_as_new_after_a_reset) {
    check({"mmu.walk=memory", "mmu.unmapped=demand", "mmu.fault_latency=5 us", "host.retries=5"}, 40, 31);
}

BOOST_AUTO_TEST_CASE(a_platform_whose_slices_a_sip_owns_is_as_new_after_a_reset) {
    check({"controller.lockstep=sip", "system.sips=2", "system.cube_mesh_width=2"}, 20, 33);
}
BOOST_AUTO_TEST_CASE(a_platform_that_runs_ahead_of_time_is_as_new_after_a_reset) {
    check({"simulation.quantum=1 us", "controller.guard=error"}, 40, 35);
}
BOOST_AUTO_TEST_CASE(a_platform_with_lists_in_memory_is_as_new_after_a_reset) {
    check({"controller.free_list=hbm", "controller.list_reserve=4 KiB"}, 40, 37);
}
BOOST_AUTO_TEST_CASE(a_platform_with_fronts_is_as_new_after_a_reset) {
    check({"controller.tcm_policy=caching_pool/first_fit"}, 40, 39);
}

namespace {

// Every few nanoseconds from the sending of a LAUNCH on, whose messages reach near PEs long before far ones.
void check_launch(std::vector<std::string> keys) {
    subject s(std::move(keys));
    unsigned ended = 0;
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        BOOST_REQUIRE_GT(s.returns.size(), 3u);
        const std::uint64_t from_ps = s.returns[2], step_ps = 2 * ns + 507, until_ps = from_ps + 300 * ns;
        for (std::uint64_t after_ps = from_ps; after_ps < until_ps && s.differences < 3; after_ps += step_ps) {
            s.reset_after(after_ps, 0, false);
            ended += !s.job();
            s.wait_for_reset();
            s.as_at_the_beginning("a reset after " + std::to_string(after_ps) + " ps");
        }
    });
    BOOST_CHECK_GT(ended, 100u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_launch_leaves_no_program) {
    check_launch({"system.cube_mesh_width=3"});
}
BOOST_AUTO_TEST_CASE(a_reset_in_the_middle_of_a_launch_that_runs_ahead_leaves_no_program) {
    check_launch({"system.cube_mesh_width=3", "simulation.quantum=1 us"});
}

namespace {

// At the moments at which a call of the job returns: before the host's thread hears of it, in the middle of what
// happens then, and when it has gone on.
void check_moments(const std::vector<std::string> &keys) {
    subject s(keys);
    simulate(s, [&] {
        BOOST_CHECK(s.job());
        s.first = s.said;
        const std::vector<std::uint64_t> moments = s.returns;
        BOOST_CHECK_GT(moments.size(), 8u);
        for (std::size_t i = 0; i < moments.size() && s.differences < 3; i++)
            for (unsigned deltas = 0; deltas < 4; deltas++) {
                s.reset_after(moments[i], 0, false, deltas);
                s.job();
                s.wait_for_reset();
                s.as_at_the_beginning("a reset when call " + std::to_string(i) + " returns, " + std::to_string(deltas) +
                                      " deltas on");
            }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_at_the_moment_of_an_answer_leaves_nothing_of_it) {
    check_moments({});
}
BOOST_AUTO_TEST_CASE(a_reset_at_the_moment_of_an_answer_leaves_nothing_of_it_in_the_driver) {
    check_moments({"host.driver=serial", "host.driver_alloc=3 us", "host.pool=caching_pool"});
}

// The line is active when the simulation begins: nothing happens before it is low, and then the platform is new.
BOOST_AUTO_TEST_CASE(a_line_that_is_active_from_the_beginning_holds_the_platform) {
    subject fresh({}), held({}, "held");
    fresh.host().main = [&] { BOOST_CHECK(fresh.job()); };
    sc_core::sc_event low;
    held.line.write(true);
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(2 * us));
        held.line = false;
    });
    simulate(held, [&] {
        sc_core::wait(sc_core::SC_ZERO_TIME);
        BOOST_CHECK(held.platform.in_reset());
        BOOST_CHECK(!held.job());
        BOOST_CHECK_EQUAL(now(), 0u);
        BOOST_CHECK_EQUAL(held.error.status, TLA_RESET);
        BOOST_TEST_MESSAGE(held.error.text);
        held.platform.wait_for_reset();
        BOOST_CHECK_EQUAL(now(), 2 * us);
        BOOST_CHECK(held.job());
    });
    BOOST_CHECK(!fresh.said.empty());
    BOOST_CHECK(held.said == fresh.said);
}

// Refresh goes on: against a platform that was never used, and whose first job begins at the same moment.
BOOST_AUTO_TEST_CASE(a_platform_with_banks_is_after_a_reset_as_one_that_idled) {
    const std::vector<std::string> keys = {"hbm.timing=hbm3"};
    std::vector<std::unique_ptr<subject>> all;
    seeded_random random(60);
    unsigned finished = 0, ended = 0;
    for (unsigned i = 0; i < 8; i++) {
        all.push_back(std::make_unique<subject>(keys, ("npu" + std::to_string(i)).c_str()));
        subject &s = *all.back();
        const std::uint64_t after_ps = i == 0 ? 0 : random.between(1, 1500 * ns);
        s.host().main = [&s, &finished, &ended, after_ps] {
            if (after_ps > 0) {
                s.reset_after(after_ps, 0, false);
                ended += !s.job();
                s.wait_for_reset();
            }
            sc_core::wait(from_ps(20 * us - now()));
            BOOST_CHECK(s.job());
            finished++;
        };
    }
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK_EQUAL(finished, 8u);
    BOOST_CHECK_GT(ended, 4u);
    for (const auto &s : all)
        BOOST_CHECK_EQUAL_COLLECTIONS(s->said.begin(), s->said.end(), all[0]->said.begin(), all[0]->said.end());
}
