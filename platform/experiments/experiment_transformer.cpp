// The kernel transformer_block on a fresh or an aged heap, or on each: what allocators, pages and memory do to it.
#include "experiments/experiment_dma.hpp"
#include "run/workload.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlmalloc {

namespace {

const tl_kernel_info &kernel() {
    return *tl_find_kernel("transformer_block");
}

class transformer_run : public platform_run {
  public:
    enum { KERNEL_US, ALLOC_AND_MAP, PIECES, ROW_HITS, TLB_MISSES }; // figures

    transformer_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {&kernel().run, 1}) {
        choice_.kernel = &kernel();
        choice_.title = kernel().name;
        tl_workload size =
            tl_kernel_workload(&kernel(), static_cast<std::uint32_t>(platform_.pes().size()), 1, config.workload.seed);
        tla_status status = choose(p, size, &failure_);
        std::string snapshot;
        if (!status && p.at("aged")) {
            status = age_slice(config, p.files.at("trace"), snapshot, &failure_);
            if (!status) status = platform_.age(snapshot, &failure_);
        }
        work_ = std::make_unique<workload>(platform_, choice_, size, workload::on_demand::none);
        if (!status) platform_.host().main = [this] { run(); };
    }

    static tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
        tl_workload size{};
        return choose(p, size, error);
    }

  private:
    // The parameters of the kernel, by its names.
    static tla_status choose(const experiment_parameters &p, tl_workload &size, tla_error *error) {
        for (std::uint32_t i = 0; i < tl_kernel_parameter_count(&kernel()); i++) {
            const std::string name = kernel().parameters[i].name;
            const std::string word = name + "=" + std::to_string(p.at(name));
            if (const tla_status status = tl_kernel_set_parameter(&kernel(), word.c_str(), &size, error)) return status;
        }
        return TLA_OK;
    }

    void run() {
        work_->main();
        failure_ = work_->failure().status ? work_->failure() : work_->wrong_result();
        if (failure_.status) return;
        const workload::critical_path path = work_->path();
        double pieces = 0;
        for (const workload::tensor_report &t : work_->tensors())
            pieces += static_cast<double>(t.pieces) / static_cast<double>(work_->tensors().size());
        results_ = {static_cast<double>(path.kernel_ps) / 1e6, 100 * path.alloc_and_map(), pieces, row_hits(),
                    tlb_misses()};
        finished_ = true;
    }

    // In percent of the bursts; NaN where the memory has no banks.
    double row_hits() const {
        double hits = 0, all = 0;
        for (const pe_unit *pe : platform_.pes())
            for (const statistics_group &part : pe->slice.list_statistics())
                for (const statistic &s : part.statistics) {
                    const std::string name = s.name;
                    if (name == "row_hits") hits += static_cast<double>(s.value);
                    if (name.rfind("row_", 0) == 0) all += static_cast<double>(s.value);
                }
        return all > 0 ? 100 * hits / all : std::numeric_limits<double>::quiet_NaN();
    }

    double tlb_misses() const {
        double misses = 0;
        for (const pe_unit *pe : platform_.pes())
            misses += static_cast<double>(pe->mmu.get_statistics().misses);
        return misses;
    }

    kernel_choice choice_;
    std::unique_ptr<workload> work_;
};

// The state of the slices before the kernel, and its figures.
struct initial_heap {
    const char *kernel_figure, *misses_figure;
    bool aged;
};
const initial_heap heaps[] = {
    {"fresh_kernel", "fresh_misses", false},
    {"aged_kernel", "aged_misses", true},
};

// A platform with each heap.
class heaps_run : public experiment_run {
  public:
    heaps_run(const char *name, const tla_config &config, experiment_parameters p) {
        for (const initial_heap &heap : heaps) {
            p.numbers["aged"] = heap.aged;
            runs_.push_back(std::make_unique<transformer_run>(
                (std::string(name) + "_" + std::to_string(runs_.size())).c_str(), config, p));
        }
    }

    bool finished() const override {
        return std::all_of(runs_.begin(), runs_.end(), [](const auto &run) { return run->finished(); });
    }
    double result(std::size_t figure) const override {
        return runs_[figure / 2]->result(figure % 2 ? transformer_run::TLB_MISSES : transformer_run::KERNEL_US);
    }
    const tla_error &failure() const override {
        for (const auto &run : runs_)
            if (!run->finished()) return run->failure();
        return failure_;
    }
    std::uint64_t leaks() const override {
        std::uint64_t sum = 0;
        for (const auto &run : runs_)
            sum += run->leaks();
        return sum;
    }

  private:
    std::vector<std::unique_ptr<transformer_run>> runs_;
};

std::vector<experiment_parameter> with_those_of_the_kernel(std::vector<experiment_parameter> parameters) {
    for (std::uint32_t i = 0; i < tl_kernel_parameter_count(&kernel()); i++)
        parameters.push_back({kernel().parameters[i].name, TLA_VALUE_COUNT});
    return parameters;
}

} // namespace

experiment_workload transformer() {
    return {"transformer_block",
            with_those_of_the_kernel({{"trace", TLA_VALUE_TEXT}, {"aged", TLA_VALUE_BOOLEAN}}),
            {"kernel", "alloc_and_map", "pieces", "row_hits", "tlb_misses"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<transformer_run>(name, config, p); },
            transformer_run::check,
            {"us", "%", "a tensor", "% of bursts", "misses"}};
}

experiment_workload transformer_heaps() {
    experiment_workload made{"transformer_heaps",
                             with_those_of_the_kernel({{"trace", TLA_VALUE_TEXT}}),
                             {},
                             false,
                             [](const char *name, const tla_config &config,
                                const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
                                 return std::make_unique<heaps_run>(name, config, p);
                             },
                             transformer_run::check};
    for (const initial_heap &heap : heaps) {
        made.figures.insert(made.figures.end(), {heap.kernel_figure, heap.misses_figure});
        made.units.insert(made.units.end(), {"us", "misses"});
    }
    return made;
}

} // namespace tlmalloc
