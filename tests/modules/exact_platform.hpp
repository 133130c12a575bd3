// DMA transfers of a whole platform, and of the plain event model of the same.
#ifndef TLMALLOC_TESTS_MODULES_EXACT_PLATFORM_HPP
#define TLMALLOC_TESTS_MODULES_EXACT_PLATFORM_HPP

#include "plain_npu.hpp"
#include "programs/program.h"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>

namespace comparison {

using namespace tlmalloc;

struct row {
    const char *workload; // a kernel, "hot_slice" or "all_to_all"
    const char *memory;   // hbm.timing
    unsigned pes;
    unsigned active = 0; // PEs that take part in hot_slice
    std::uint64_t quantum_ps = 0;
};

// The transfers of one PE, one after the other, from a time on.
struct errand {
    std::size_t pe;
    std::uint64_t start_ps; // after all have been made
    std::vector<pe_dma::request> list;
};

// What is compared, in ps.
struct figures {
    std::size_t transfers;
    double span, mean, p99;
};

struct result {
    figures ours, reference;
    std::size_t different; // transfers that end at another time
};

struct transfer {
    pe_dma::request what;
    std::uint64_t gap_ps; // from the end of the one before, of the same PE, to its start
    std::uint64_t start_ps, end_ps;
};
using program = std::vector<transfer>; // of one PE, one after the other

inline figures measure(const std::vector<program> &programs) {
    std::vector<std::uint64_t> latencies;
    std::uint64_t first = UINT64_MAX, last = 0;
    double sum = 0;
    for (const program &p : programs)
        for (const transfer &t : p) {
            first = std::min(first, t.start_ps);
            last = std::max(last, t.end_ps);
            latencies.push_back(t.end_ps - t.start_ps);
            sum += static_cast<double>(latencies.back());
        }
    if (latencies.empty()) throw std::runtime_error("nothing was transferred");
    const std::size_t count = latencies.size(), at = count - 1 - count / 100;
    std::nth_element(latencies.begin(), latencies.begin() + static_cast<std::ptrdiff_t>(at), latencies.end());
    return {count, static_cast<double>(last - first), sum / static_cast<double>(count),
            static_cast<double>(latencies[at])};
}

// configs/kernbench.yaml with these settings.
inline tla_config configuration(const std::vector<std::string> &sets) {
    std::vector<const char *> overrides;
    for (const std::string &set : sets)
        overrides.push_back(set.c_str());
    tla_config config{};
    tla_error error{};
    if (tla_config_load(TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", overrides.data(), overrides.size(), &config,
                        nullptr, &error))
        throw std::runtime_error(error.text);
    return config;
}

// With fewer PEs: cubes of 8, or one of fewer.
inline tla_config configuration(const row &r) {
    const unsigned in_cube = std::min(r.pes, 8u), cubes = r.pes / in_cube;
    return configuration(
        {"system.pes_per_cube=" + std::to_string(in_cube), "system.sips=" + std::to_string((cubes + 15) / 16),
         "system.cube_mesh_width=" + std::to_string(std::min(cubes, 4u)),
         "system.cube_mesh_height=" + std::to_string(std::min((cubes + 3) / 4, 4u)),
         std::string("hbm.timing=") + r.memory, "simulation.quantum=" + std::to_string(r.quantum_ps) + " ps"});
}

// Lets all programs of a kernel begin and end together, so that no LAUNCH nor its answer is on a link meanwhile: the
// reference knows of transfers alone.
struct gate {
    const tl_kernel_info *kernel = nullptr;
    sc_core::sc_time opens;
    std::size_t inside = 0;
    sc_core::sc_event empty;

    static gate &only() { // of a process
        static gate g;
        return g;
    }

    static tla_status run(tl_context *tl) {
        gate &g = only();
        g.inside++;
        sc_core::wait(g.opens - sc_core::sc_time_stamp());
        const tla_status status = g.kernel->run(tl);
        if (--g.inside == 0)
            g.empty.notify(sc_core::SC_ZERO_TIME);
        else
            sc_core::wait(g.empty);
        return status;
    }
};

// A workload on the platform; keeps every transfer and where the tensors lay.
class run : public sc_core::sc_module {
  public:
    using workload = std::function<void(run &)>; // in the host's thread

    run(sc_core::sc_module_name name, const tla_config &config, const workload &what)
        : sc_module(name), platform_("npu", config, {&gated, 1}), programs_(platform_.pes().size()) {
        for (std::size_t pe = 0; pe < programs_.size(); pe++)
            platform_.pes()[pe]->dma.ended = [this, pe](const pe_dma::request &request, std::uint64_t start_ps,
                                                        std::uint64_t end_ps, const auto &) {
                program &p = programs_[pe];
                p.push_back({request, start_ps - (p.empty() ? 0 : p.back().end_ps), start_ps, end_ps});
            };
        platform_.host().main = [this, what] {
            what(*this);
            tensors_ = platform_.host().tensors();
            check(platform_.host().cleanup(&error_));
            finished_ = true;
        };
    }

    bool finished() const { return finished_; }
    const std::vector<program> &programs() const { return programs_; }
    const std::list<tensor> &tensors() const { return tensors_; }

    npu &platform() { return platform_; }

    const tensor &make(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                       const host::sharding &where) {
        tensor *made = nullptr;
        check(platform_.host().create_tensor(name, elements, element_bytes, where, &made, &error_));
        const std::vector<std::uint8_t> zeros(made->nbytes);
        check(platform_.host().write_tensor(*made, zeros.data(), &error_));
        return *made;
    }

    void launch(const tl_kernel_info &what) {
        const tl_workload size = tl_kernel_workload(&what, static_cast<std::uint32_t>(programs_.size()), 4096, 1);
        std::vector<tla_vaddr> addresses;
        for (std::uint32_t i = 0; i < tl_kernel_tensor_count(&what); i++) {
            const std::uint32_t element = tl_dtype_bytes(what.tensors[i].dtype);
            addresses.push_back(
                make(what.tensors[i].name, tl_kernel_elements(&what, &size, i), element, platform_.host().everywhere())
                    .va);
        }
        std::vector<std::uint64_t> arguments(TL_KERNEL_ARGUMENTS_MAX);
        arguments.resize(tl_kernel_arguments(&what, &size, addresses.data(), arguments.data()));
        gate &g = gate::only();
        g.kernel = &what;
        g.opens = begin();
        check(platform_.host().launch(0, arguments, &error_));
    }

    // All at one time; returns when all have ended.
    void move(const std::vector<errand> &errands) {
        if (errands.empty()) return;
        sc_core::wait(begin() - sc_core::sc_time_stamp());
        left_ = errands.size();
        for (const errand &e : errands)
            sc_core::sc_spawn([this, e] { transfer_all(e); }, sc_core::sc_gen_unique_name("mover"));
        sc_core::wait(all_done_);
    }

    tla_paddr tile_of(std::size_t pe) const {
        const pe_location &l = platform_.pes()[pe]->where;
        tla_paddr pa{};
        tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &pa);
        return pa;
    }

  private:
    void check(tla_status status) const {
        if (status) throw std::runtime_error(error_.text);
    }

    // Late enough for the refreshes to have closed the rows that the host has opened, which the reference knows nothing
    // of.
    static sc_core::sc_time begin() { return sc_core::sc_time_stamp() + sc_core::sc_time(100, sc_core::SC_US); }

    void transfer_all(const errand &e) {
        sc_core::wait(from_ps(e.start_ps));
        sc_core::sc_time delay;
        for (const pe_dma::request &what : e.list)
            check(platform_.pes()[e.pe]->dma.transfer(what, delay));
        sc_core::wait(delay);
        if (--left_ == 0) all_done_.notify();
    }

    static constexpr tl_kernel gated = gate::run;
    npu platform_;
    tla_error error_{};
    std::size_t left_ = 0;
    sc_core::sc_event all_done_;
    std::vector<program> programs_;
    std::list<tensor> tensors_;
    bool finished_ = false;
};

// Some PEs, spread over the platform, read the slice of the first one again and again.
inline void hot_slice(run &on, unsigned active) {
    const std::uint64_t nbytes = 16 * 1024, pes = on.platform().pes().size();
    const tla_vaddr from = on.make("hot", nbytes, 1, {{on.platform().pes()[0]->where}}).va;
    std::vector<errand> errands;
    for (std::uint64_t i = 0; i < active; i++) {
        const std::size_t pe = i * pes / active;
        errands.push_back({pe, 0, {4, {pe_dma::direction::read, from, on.tile_of(pe), 1, nbytes, nbytes}}});
    }
    on.move(errands);
}

// Every PE reads and writes a piece of the share of every PE, itself first.
inline void all_to_all(run &on) {
    const std::uint64_t pes = on.platform().pes().size(), piece = 256 * std::max<std::uint64_t>(1, 64 / pes);
    const std::uint64_t from = on.make("in", pes * pes * piece, 1, on.platform().host().everywhere()).va.value,
                        to = on.make("out", pes * pes * piece, 1, on.platform().host().everywhere()).va.value;
    std::vector<errand> errands;
    for (std::uint64_t i = 0; i < pes; i++) {
        const tla_paddr tile = on.tile_of(i);
        errands.push_back({i, 0, {}});
        for (std::uint64_t step = 0; step < pes; step++) {
            const std::uint64_t part = (((i + step) % pes) * pes + i) * piece;
            errands.back().list.push_back({pe_dma::direction::read, {from + part}, tile, 1, piece, piece});
            errands.back().list.push_back({pe_dma::direction::write, {to + part}, tile, 1, piece, piece});
        }
    }
    on.move(errands);
}

inline void start(run &on, const row &r) {
    const std::string workload = r.workload;
    if (const tl_kernel_info *kernel = tl_find_kernel(r.workload))
        on.launch(*kernel);
    else if (workload == "hot_slice")
        hot_slice(on, r.active);
    else
        all_to_all(on);
}

// The same transfers, with the same gaps between them, by the plain event model.
inline std::vector<program> replay(std::vector<program> programs, const tla_config &config,
                                   const std::list<tensor> &tensors) {
    plain::npu reference(config, tensors);
    const std::function<void(unsigned, std::size_t, plain::picoseconds)> next = [&](unsigned pe, std::size_t i,
                                                                                    plain::picoseconds ended) {
        if (i == programs[pe].size()) return;
        transfer &t = programs[pe][i];
        t.start_ps = ended + t.gap_ps;
        reference.transfer(pe, t.what, t.start_ps, [&, pe, i](plain::picoseconds end) {
            programs[pe][i].end_ps = end;
            next(pe, i + 1, end);
        });
    };
    for (unsigned pe = 0; pe < programs.size(); pe++)
        next(pe, 0, 0);
    reference.queue().run();
    return programs;
}

// To the end, in slices of sc_start; zero: all at once.
inline void simulate(const sc_core::sc_time &slice) {
    if (slice == sc_core::SC_ZERO_TIME) {
        sc_core::sc_start();
        return;
    }
    do
        sc_core::sc_start(std::max(slice, sc_core::sc_time_to_pending_activity()), sc_core::SC_EXIT_ON_STARVATION);
    while (sc_core::sc_pending_activity());
}

// One simulation: once in a process.
inline result compare(const tla_config &config, const run::workload &what,
                      const sc_core::sc_time &slice = sc_core::SC_ZERO_TIME) {
    run ours("run", config, what);
    simulate(slice);
    if (!ours.finished()) throw std::runtime_error("the workload did not end");
    const std::vector<program> theirs = replay(ours.programs(), config, ours.tensors());
    result both{measure(ours.programs()), measure(theirs), 0};
    for (std::size_t pe = 0; pe < theirs.size(); pe++)
        for (std::size_t i = 0; i < theirs[pe].size(); i++)
            both.different += theirs[pe][i].end_ps != ours.programs()[pe][i].end_ps;
    return both;
}

inline result compare(const row &r) {
    return compare(configuration(r), [&](run &on) { start(on, r); });
}

} // namespace comparison
#endif
