// A job that uses all of a platform (tensors, a kernel that loads, sends, receives and stores, DMA of host and PEs, a
// thread that uses the driver beside it, clean-up), resets in it, and what it says: numbers, and times from its
// beginning on.
#ifndef TLMALLOC_TESTS_MODULES_RESETTING_JOB_HPP
#define TLMALLOC_TESTS_MODULES_RESETTING_JOB_HPP

#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "platform_bench.hpp"
#include "tlmalloc/kernel.h"

#include <memory>

namespace resetting_job {

using namespace platform_benches;

constexpr std::uint64_t ns = 1000, us = 1000 * ns, part = 4096;

inline std::uint64_t now() {
    return to_ps(sc_core::sc_time_stamp());
}

// Each PE loads its part of a tensor, gives it to the next PE by a message, and stores what it gets.
inline const tl_kernel passing_on[] = {[](tl_context *tl) -> tla_status {
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

    // False when a reset has ended the call; anything else but success is an error, unless parts are reset alone.
    bool well(tla_status status, const char *what) {
        note_time();
        returns.push_back(now() - start);
        if (status == TLA_RESET) return false;
        if (parts_are_reset)
            note(status);
        else
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
        const auto number = [i](const std::vector<std::uint64_t> &of) {
            return i < of.size() ? std::to_string(of[i]) : "missing";
        };
        BOOST_CHECK_MESSAGE(false, when << ": number " << i << " of " << first.size() << " is " << number(said)
                                        << ", expected " << number(first));
    }

    tla_config config;
    npu platform;
    bool pages = false, parts_are_reset = false;
    sc_core::sc_signal<bool, sc_core::SC_MANY_WRITERS> line;
    sc_core::sc_event beside_ended, reset_made;
    unsigned beside = 0, differences = 0;
    bool resetting = false;
    tla_error error{};
    std::uint64_t start = 0;
    std::vector<std::uint64_t> said, first, returns; // returns: when the calls of the job did
};

} // namespace resetting_job

#endif
