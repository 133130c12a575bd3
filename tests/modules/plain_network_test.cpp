// The platform's modules beside a plain event model: PEs whose DMA engines share links, pseudo-channels and TCM ports.
#include "bare.hpp"
#include "plain_network.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <cstring>
#include <memory>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 18;
const std::uint64_t pe_bandwidth = 256'000'000'000, hbm_bandwidth = 200'000'000'000, channel_bandwidth = 32'000'000'000,
                    tcm_read = 512'000'000'000, tcm_write = 300'000'000'000;
const std::uint64_t pe_latency = 1000, hbm_latency = 1300, slice_latency = 700;

std::uint64_t hbm_address(unsigned pe, std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, pe, offset, slice_bytes, &pa);
    return pa.value;
}
std::uint64_t tcm_address(unsigned pe, std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_pe_tcm(0, 0, pe, offset, &pa);
    return pa.value;
}

struct transfer {
    bool write;
    unsigned slice;
    std::uint64_t offset, tile, nbytes, pause_ps;
    std::uint64_t start_ps = 0, end_ps = 0;
};

// One program for each PE: transfers one after the other, with pauses.
std::vector<std::vector<transfer>> random_programs(unsigned pes, unsigned count, unsigned seed, unsigned hot_percent) {
    std::mt19937 random(seed);
    BOOST_TEST_MESSAGE("seed " << seed);
    std::vector<std::vector<transfer>> programs(pes);
    for (auto &program : programs)
        for (unsigned i = 0; i < count; i++) {
            const std::uint64_t nbytes = 1 + random() % (random() % 4 ? 2000 : 40000);
            program.push_back({random() % 2 == 0,
                               random() % 100 < hot_percent ? 0 : static_cast<unsigned>(random() % pes),
                               random() % (slice_bytes - nbytes), random() % (tcm_bytes - nbytes), nbytes,
                               random() % 3 ? 0 : random() % 100'000});
        }
    return programs;
}

struct settings {
    std::uint32_t chunk = 256, outstanding = 256;
    std::uint64_t look_ahead_ps = 0;
};

// Nodes: the router 0, PE p 1 + p, slice p 1 + pes + p.
interconnect::config fabric_of(unsigned pes) {
    interconnect::config f = bare<interconnect>();
    f.nodes.resize(1 + 2 * pes);
    f.nodes[0].overhead_ps = 2000;
    for (unsigned p = 0; p < pes; p++) {
        f.links.push_back({1 + p, 0, pe_latency, pe_bandwidth, 0});
        f.links.push_back({0, 1 + p, pe_latency, pe_bandwidth, 0});
        f.links.push_back({1 + pes + p, 0, hbm_latency, hbm_bandwidth, 0});
        f.links.push_back({0, 1 + pes + p, hbm_latency, hbm_bandwidth, 0});
        f.sources.push_back(1 + p);
        f.targets.push_back(1 + pes + p);
        f.windows.push_back({hbm_address(p, 0), slice_bytes, p, false});
    }
    return f;
}

struct platform {
    platform(unsigned pes, const settings &how) {
        time_queue::of_simulation().allow_quantum(how.look_ahead_ps);
        const interconnect::config f = fabric_of(pes);
        for (unsigned p = 0; p < pes; p++) {
            const std::string number = std::to_string(p);
            hbm_slice::config s = bare<hbm_slice>();
            s.capacity = slice_bytes;
            s.latency_ps = slice_latency;
            s.pseudo_channel_bandwidth = channel_bandwidth;
            slices.push_back(std::make_unique<hbm_slice>(("slice" + number).c_str(), s));
            tcm::config t = bare<tcm>();
            t.capacity = tcm_bytes;
            t.read_bandwidth = tcm_read;
            t.write_bandwidth = tcm_write;
            tcms.push_back(std::make_unique<tcm>(("tcm" + number).c_str(), t));
            memory_controller::config c = bare<memory_controller>();
            c.memory.pe = p;
            c.memory.of[TLA_HBM].bytes = slice_bytes;
            c.memory.of[TLA_TCM].bytes = tcm_bytes;
            c.memory.of[TLA_TCM].reserved = 0;
            controllers.push_back(std::make_unique<memory_controller>(("controller" + number).c_str(), c));
            pe_dma::config d = bare<pe_dma>();
            d.chunk = how.chunk;
            d.outstanding = how.outstanding;
            dmas.push_back(std::make_unique<pe_dma>(("dma" + number).c_str(), d));
        }
        fabric = std::make_unique<interconnect>("fabric", f);
        for (unsigned p = 0; p < pes; p++) {
            controllers[p]->slice.bind(slices[p]->in);
            controllers[p]->tcm.bind(tcms[p]->in);
            dmas[p]->local.bind(controllers[p]->in);
            dmas[p]->out.bind(fabric->in);
            fabric->out.bind(controllers[p]->in);
        }
    }

    void run(std::vector<std::vector<transfer>> &programs) {
        for (unsigned p = 0; p < programs.size(); p++) {
            controls.push_back(std::make_unique<initiator>(("thread" + std::to_string(p)).c_str()));
            controls.back()->out.bind(controllers[p]->control);
            controls.back()->body = [this, p, &programs] {
                for (transfer &t : programs[p]) {
                    sc_core::sc_time delay = from_ps(t.pause_ps);
                    t.start_ps = local_ps(delay);
                    const pe_dma::request request{t.write ? pe_dma::direction::write : pe_dma::direction::read,
                                                  {hbm_address(t.slice, t.offset)},
                                                  {tcm_address(p, t.tile)},
                                                  1,
                                                  t.nbytes,
                                                  t.nbytes};
                    BOOST_CHECK_EQUAL(dmas[p]->transfer(request, delay), TLA_OK);
                    t.end_ps = local_ps(delay);
                }
            };
        }
        sc_core::sc_start();
    }

    std::vector<std::unique_ptr<hbm_slice>> slices;
    std::vector<std::unique_ptr<tcm>> tcms;
    std::vector<std::unique_ptr<memory_controller>> controllers;
    std::vector<std::unique_ptr<pe_dma>> dmas;
    std::vector<std::unique_ptr<initiator>> controls;
    std::unique_ptr<interconnect> fabric;
};

// The same, by the plain event model; resources are numbered in the order in which they act at one time: memories, DMA,
// the fabric.
void run_plain(std::vector<std::vector<transfer>> &programs, const settings &how) {
    using namespace plain;
    events e;
    const auto pes = static_cast<unsigned>(programs.size());
    std::unique_ptr<network> fabric;
    std::vector<channels> slices(pes);
    std::vector<server> reads(pes), writes(pes);
    std::vector<std::array<std::unique_ptr<dma>, 2>> dmas(pes);
    for (unsigned p = 0; p < pes; p++) {
        slices[p] = {1 + p, 256, channel_bandwidth, slice_latency, std::vector<server>(8)};
        reads[p].resource = 1 + pes + 2 * p;
        writes[p].resource = 2 + pes + 2 * p;
        for (unsigned w = 0; w < 2; w++) {
            const auto move = [&, p, w](const dma::piece &c, picoseconds time, arrived done) {
                unsigned slice = 0;
                while (c.va < hbm_address(slice, 0) || c.va >= hbm_address(slice, 0) + slice_bytes)
                    slice++;
                const std::uint64_t offset = c.va - hbm_address(slice, 0), nbytes = c.nbytes;
                const auto memory = [=, &e, &slices, &fabric](picoseconds at, const arrived &then) {
                    fabric->access(
                        c.of, {slice, 1 + p, 1 + pes + slice, p, pes + slice}, w, nbytes, at,
                        [=, &e, &slices](picoseconds in, const arrived &out) {
                            slices[slice].access(e, w, offset, nbytes, in, out);
                        },
                        then);
                };
                const auto local = [=, &e, &reads, &writes](picoseconds time_there, const arrived &then) {
                    server &port = w ? reads[p] : writes[p];
                    e.at(time_there, port.resource, 0, [=, &port](picoseconds at) {
                        const picoseconds duration = bytes_at(nbytes, w ? tcm_read : tcm_write);
                        then(port.serve(at, duration) + duration);
                    });
                };
                if (w)
                    local(time, [=](picoseconds at) { memory(at, done); });
                else
                    memory(time, [=](picoseconds at) { local(at, done); });
            };
            dmas[p][w] =
                std::make_unique<dma>(e, 1 + 3 * pes + 2 * p + w, how.chunk, 256'000'000'000, how.outstanding, move);
        }
    }
    const interconnect::config links = fabric_of(pes);
    fabric = std::make_unique<network>(e, 1 + 5 * pes, links.nodes, links.links, links.flit, 2 * pes);
    std::function<void(unsigned, std::size_t, picoseconds)> next = [&](unsigned p, std::size_t i, picoseconds time) {
        if (i == programs[p].size()) return;
        transfer &t = programs[p][i];
        t.start_ps = time + t.pause_ps;
        dmas[p][t.write]->transfer({hbm_address(t.slice, t.offset), t.tile, 1, t.nbytes, t.nbytes}, t.start_ps,
                                   [&, p, i](picoseconds end) {
                                       programs[p][i].end_ps = end;
                                       next(p, i + 1, end);
                                   });
    };
    for (unsigned p = 0; p < pes; p++)
        next(p, 0, 0);
    e.run();
}

void compare(unsigned pes, unsigned count, unsigned hot_percent, const settings &how) {
    std::vector<std::vector<transfer>> ours = random_programs(pes, count, 7 * pes + hot_percent, hot_percent);
    std::vector<std::vector<transfer>> theirs = ours;
    run_plain(theirs, how);
    platform(pes, how).run(ours);
    for (unsigned p = 0; p < pes; p++)
        for (unsigned i = 0; i < count; i++) {
            BOOST_REQUIRE_EQUAL(ours[p][i].start_ps, theirs[p][i].start_ps);
            BOOST_REQUIRE_EQUAL(ours[p][i].end_ps, theirs[p][i].end_ps);
        }
}

} // namespace

BOOST_AUTO_TEST_CASE(one_pe_takes_the_time_of_the_plain_event_model) {
    compare(1, 200, 0, {});
}
BOOST_AUTO_TEST_CASE(eight_pes_on_all_slices_take_the_time_of_the_plain_event_model) {
    compare(8, 100, 0, {});
}
BOOST_AUTO_TEST_CASE(eight_pes_on_one_slice_take_the_time_of_the_plain_event_model) {
    compare(8, 100, 100, {});
}
BOOST_AUTO_TEST_CASE(few_chunks_on_their_way_take_the_time_of_the_plain_event_model) {
    compare(4, 100, 50, {4096, 3, 0});
}
BOOST_AUTO_TEST_CASE(looking_ahead_changes_no_time) {
    compare(8, 100, 50, {256, 16, 1'000'000});
}
