// DMA through an MMU whose walks read the same slice as the data, beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "plain_mmu.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <memory>
#include <random>
#include <sys/wait.h>
#include <unistd.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = plain::mmu::page, room = 1 << 20, slice_bytes = 8 << 20;
const std::uint64_t dma_bandwidth = 512'000'000'000, tcm_read = 700'000'000'000, tcm_write = 900'000'000'000;
const std::uint64_t channel_bandwidth = 25'000'000'000;
const unsigned channel_count = 32;

struct settings {
    plain::mmu::settings mmu;
    std::uint64_t latency_ps;  // of the slice
    std::uint32_t chunk = 256; // of the DMA engine; one that is no power of two crosses pages
};

struct transfer {
    bool write;
    std::uint64_t va, tile, nbytes, pause_ps;
    std::uint64_t start_ps = 0, end_ps = 0;
};
using program = std::vector<transfer>; // one after the other

// --- the modules -----------------------------------------------------------------------------------------------------

// Runs the programs beside each other; false when something went wrong.
bool run_modules(const settings &how, std::vector<program> &programs) {
    pe_mmu::config m = bare<pe_mmu>();
    m.page_size = page;
    m.va_bits = 48;
    m.walk = TLA_WALK_MEMORY;
    m.overhead_ps = how.mmu.overhead_ps;
    m.tlb_l1 = {how.mmu.tlb_entries, 0, how.mmu.tlb_ps, TLA_REPLACE_LRU};
    m.tlb_l2 = {};
    m.walkers = {how.mmu.walkers, how.mmu.merge_slots, 0, false, how.mmu.hit_under_miss, 0};
    pe_mmu mmu("mmu", m);
    hbm_slice::config s = bare<hbm_slice>();
    s.capacity = slice_bytes;
    s.pseudo_channels = channel_count;
    s.pseudo_channel_bandwidth = channel_bandwidth;
    s.latency_ps = how.latency_ps;
    hbm_slice slice("slice", s);
    tcm::config l = bare<tcm>();
    l.capacity = room;
    l.read_bandwidth = tcm_read;
    l.write_bandwidth = tcm_write;
    tcm local("tcm", l);
    memory_controller::config c = bare<memory_controller>();
    c.memory.of[TLA_HBM].bytes = slice_bytes;
    c.memory.of[TLA_TCM].bytes = room;
    c.memory.of[TLA_TCM].reserved = 0;
    memory_controller controller("controller", c);
    pe_dma::config d = bare<pe_dma>();
    d.bandwidth = dma_bandwidth;
    d.chunk = how.chunk;
    d.outstanding = 4096;
    pe_dma dma("dma", d);
    dma.out.bind(mmu.in);
    dma.local.bind(controller.in);
    mmu.out.bind(controller.in);
    mmu.walk.bind(controller.in);
    mmu.allocator.bind(controller.control);
    controller.slice.bind(slice.in);
    controller.tcm.bind(local.in);
    initiator driver("driver"), allocator("allocator");
    driver.out.bind(mmu.control);
    allocator.out.bind(controller.control);
    bool ok = true;
    sc_core::sc_event ready;
    driver.body = [&] {
        const tla_completion block = allocator.command(0, alloc_command(TLA_HBM, room));
        tla_paddr first{};
        tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &first);
        ok = block.value == first.value &&
             driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, block.value, room}})).status == TLA_OK;
        sc_core::wait(from_ps(1'000'000'000) - sc_core::sc_time_stamp());
        ready.notify();
    };
    for (program &mine : programs)
        sc_core::sc_spawn(
            [&] {
                sc_core::wait(ready);
                for (transfer &t : mine) {
                    sc_core::sc_time delay = from_ps(t.pause_ps);
                    t.start_ps = local_ps(delay);
                    tla_paddr tile{};
                    tla_paddr_pe_tcm(0, 0, 0, t.tile, &tile);
                    ok = dma.transfer({t.write ? pe_dma::direction::write : pe_dma::direction::read,
                                       {t.va},
                                       tile,
                                       1,
                                       t.nbytes,
                                       t.nbytes},
                                      delay) == TLA_OK &&
                         ok;
                    t.end_ps = local_ps(delay);
                }
            },
            sc_core::sc_gen_unique_name("program"));
    sc_core::sc_start();
    return ok && driver.finished && mmu.get_statistics().walk_errors == 0;
}

// --- the plain model -------------------------------------------------------------------------------------------------

// One page is mapped by the entries 0, 0, 0 and its number of four tables, which lie behind the data.
std::uint64_t entry_offset(unsigned level, std::uint64_t number) {
    return room + level * page + (level == 3 ? 8 * number : 0);
}

// Inputs of the controller, in the order of the names: dma.local, mmu.out, mmu.walk.
enum { data_input = 1, walk_input = 2 };

// Resources, in the order in which they act at one time.
enum { of_slice = 1, tcm_reads = 3, tcm_writes, of_mmu, dma_reads, dma_writes };

void run_plain(const settings &how, std::vector<program> &programs) {
    using namespace plain;
    events e;
    channels slice{of_slice, 256, channel_bandwidth, how.latency_ps, std::vector<server>(channel_count)};
    const std::function<void(std::uint64_t, unsigned, picoseconds, arrived)> read_level =
        [&](std::uint64_t number, unsigned level, picoseconds now, arrived done) {
            slice.access(
                e, false, entry_offset(level, number), 8, now,
                [=, &e, &read_level](picoseconds end) {
                    e.at(end, of_mmu, 0, [=, &read_level](picoseconds at) {
                        if (level < 3)
                            read_level(number, level + 1, at, done);
                        else
                            done(at);
                    });
                },
                walk_input);
        };
    mmu mmu(e, of_mmu, how.mmu,
            [&](std::uint64_t number, picoseconds now, arrived done) { read_level(number, 0, now, done); });
    server reads, writes;
    const auto use_tcm = [&e](server &port, unsigned resource, std::uint64_t bandwidth, std::uint64_t nbytes,
                              picoseconds time, arrived done) {
        e.at(time, resource, 0, [=, &port](picoseconds at) {
            const picoseconds duration = bytes_at(nbytes, bandwidth);
            done(port.serve(at, duration) + duration);
        });
    };
    const dma::move load = [&](const dma::piece &c, picoseconds time, arrived done) {
        const std::uint64_t va = c.va, nbytes = c.nbytes;
        mmu.translate(false, va, nbytes, time, false, [=, &e, &slice, &writes](picoseconds known) {
            const arrived there = [=, &writes](picoseconds out) {
                use_tcm(writes, tcm_writes, tcm_write, nbytes, out, done);
            };
            slice.access(e, false, va, nbytes, known, there, data_input);
        });
    };
    const dma::move store = [&](const dma::piece &c, picoseconds time, arrived done) {
        const std::uint64_t va = c.va, nbytes = c.nbytes;
        use_tcm(reads, tcm_reads, tcm_read, nbytes, time, [=, &e, &slice, &mmu](picoseconds read) {
            mmu.translate(true, va, nbytes, read, true, [=, &e, &slice](picoseconds known) {
                slice.access(e, true, va, nbytes, known, done, data_input);
            });
        });
    };
    dma loads(e, dma_reads, how.chunk, dma_bandwidth, 4096, load),
        stores(e, dma_writes, how.chunk, dma_bandwidth, 4096, store);
    std::function<void(program &, std::size_t, picoseconds)> next = [&](program &p, std::size_t i, picoseconds time) {
        if (i == p.size()) return;
        p[i].start_ps = time + p[i].pause_ps;
        (p[i].write ? stores : loads)
            .transfer({p[i].va, p[i].tile, 1, p[i].nbytes, p[i].nbytes}, p[i].start_ps, [&, i](picoseconds end) {
                p[i].end_ps = end;
                next(p, i + 1, end);
            });
    };
    for (program &p : programs)
        next(p, 0, 1'000'000'000);
    e.run();
}

// --- both ------------------------------------------------------------------------------------------------------------

// In a process of its own, since there is one simulation in each: the ends of all transfers; empty when it failed.
std::vector<std::uint64_t> ends_of_modules(const settings &how, std::vector<program> programs) {
    int ends[2];
    BOOST_REQUIRE_EQUAL(pipe(ends), 0);
    if (fork() == 0) {
        const bool ok = run_modules(how, programs);
        std::vector<std::uint64_t> times;
        for (const program &p : programs)
            for (const transfer &t : p)
                times.push_back(t.end_ps);
        const std::size_t length = times.size() * sizeof times[0];
        const bool told = ok && write(ends[1], times.data(), length) == static_cast<ssize_t>(length);
        _exit(told ? 0 : 1);
    }
    close(ends[1]);
    std::vector<std::uint64_t> times;
    for (std::uint64_t time; read(ends[0], &time, sizeof time) == static_cast<ssize_t>(sizeof time);)
        times.push_back(time);
    close(ends[0]);
    wait(nullptr);
    return times;
}

void compare(const settings &how, unsigned seed, unsigned count) {
    std::mt19937 random(seed);
    std::vector<program> programs(2); // one loads, one stores
    for (unsigned way = 0; way < 2; way++)
        for (unsigned i = 0; i < count; i++) {
            const std::uint64_t nbytes = 1 + random() % (random() % 4 ? 3000 : 60'000);
            programs[way].push_back({way == 1, random() % (room - nbytes), random() % (room - nbytes), nbytes,
                                     random() % 3 ? 0 : random() % 1'000'000});
        }
    const std::vector<std::uint64_t> ours = ends_of_modules(how, programs);
    run_plain(how, programs);
    BOOST_REQUIRE_EQUAL(ours.size(), 2 * count);
    for (unsigned i = 0; i < ours.size(); i++) {
        const transfer &t = programs[i / count][i % count];
        BOOST_REQUIRE_MESSAGE(ours[i] == t.end_ps, how.mmu.walkers << " walkers, " << how.mmu.merge_slots << " slots, "
                                                                   << how.latency_ps << " ps, TLB "
                                                                   << how.mmu.tlb_entries << ", chunk " << how.chunk
                                                                   << ": transfer " << i << " ended at " << ours[i]
                                                                   << ", should " << t.end_ps);
    }
}

std::uint64_t stream_ps(const settings &how) {
    const std::vector<std::uint64_t> ends = ends_of_modules(how, {{{false, 0, 0, room, 0}}});
    BOOST_REQUIRE_EQUAL(ends.size(), 1u);
    return ends[0] - 1'000'000'000;
}

} // namespace

BOOST_AUTO_TEST_CASE(transfers_take_the_time_of_the_plain_event_model_with_any_walkers_and_latency) {
    unsigned seed = 1;
    for (const std::uint32_t walkers : {1u, 8u, 128u, 1024u})
        for (const std::uint32_t slots : {0u, 32u})
            for (const std::uint64_t latency : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{400'000}})
                compare({{walkers, slots}, latency}, seed++, 40);
}

BOOST_AUTO_TEST_CASE(transfers_take_the_time_of_the_plain_event_model_behind_a_tlb) {
    compare({{8, 0, 16, 1000}, 100'000}, 31, 60);
    compare({{8, 32, 16, 1000}, 100'000}, 32, 60);
    compare({{2, 2, 4, 5000}, 40'000}, 33, 60);
    compare({{1, 0, 2, 700, true, 300}, 0}, 34, 60);
    compare({{8, 8, 8, 5000, false}, 40'000}, 35, 60);
}

BOOST_AUTO_TEST_CASE(transfers_whose_chunks_cross_pages_take_the_time_of_the_plain_event_model) {
    unsigned seed = 50;
    for (const std::uint32_t chunk : {1000u, 3000u, 10'000u})
        for (const std::uint32_t slots : {0u, 1u, 32u})
            for (const std::uint32_t walkers : {1u, 3u, 128u}) {
                compare({{walkers, slots}, 40'000, chunk}, seed++, 40);
                compare({{walkers, slots, 8, 1000}, 40'000, chunk}, seed++, 40);
                compare({{walkers, slots, 8, 1000, false}, 40'000, chunk}, seed++, 40);
            }
}

BOOST_AUTO_TEST_CASE(more_walkers_and_less_latency_never_make_a_stream_with_walks_in_memory_slower) {
    const std::uint32_t walkers[] = {1, 2, 8, 32, 128, 1024};
    for (const std::uint32_t slots : {0u, 32u}) {
        std::uint64_t faster[6] = {};
        for (const std::uint64_t latency : {std::uint64_t{0}, std::uint64_t{100'000}, std::uint64_t{400'000}}) {
            std::uint64_t before = UINT64_MAX;
            for (unsigned i = 0; i < 6; i++) {
                const std::uint64_t took = stream_ps({{walkers[i], slots}, latency});
                BOOST_TEST_MESSAGE(walkers[i] << " walkers, " << slots << " merge slots, " << latency / 1000
                                              << " ns: " << double(room) / double(took) * 1e3 << " GB/s");
                BOOST_CHECK_LE(took, before);
                BOOST_CHECK_GE(took, faster[i]);
                before = faster[i] = took;
            }
        }
        BOOST_CHECK_LT(faster[5] * 10, stream_ps({{1, slots}, 400'000})); // walkers count
    }
}
