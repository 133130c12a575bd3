// The kernel transformer_block on fresh or used slices, or on each: what allocators, pages and memory do to it.
#include "experiments/transformer_run.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

// The state of the slices before the kernel, and its figures.
struct initial_heap {
    const char *kernel_figure, *misses_figure;
    slices before;
};
const initial_heap heaps[] = {
    {"fresh_kernel", "fresh_misses", slices::fresh},
    {"aged_kernel", "aged_misses", slices::aged},
    {"compacted_kernel", "compacted_misses", slices::compacted},
};

// A platform with each heap.
class heaps_run : public experiment_run {
  public:
    heaps_run(const char *name, const tla_config &config, const experiment_parameters &p) {
        for (const initial_heap &heap : heaps)
            runs_.push_back(std::make_unique<transformer_run>(
                (std::string(name) + "_" + std::to_string(runs_.size())).c_str(), config, p, heap.before));
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

} // namespace

experiment_workload transformer() {
    return {"transformer_block",
            transformer_run::with_those_of_the_kernel({{"trace", TLA_VALUE_TEXT}, {"aged", TLA_VALUE_BOOLEAN}}),
            {"kernel", "alloc_and_map", "pieces", "row_hits", "tlb_misses", "energy"},
            false,
            [](const char *name, const tla_config &config,
               const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
                return std::make_unique<transformer_run>(name, config, p, p.at("aged") ? slices::aged : slices::fresh);
            },
            transformer_run::check,
            {"us", "%", "a tensor", "% of bursts", "misses", "uJ"}};
}

experiment_workload transformer_heaps() {
    experiment_workload made{"transformer_heaps",
                             transformer_run::with_those_of_the_kernel({{"trace", TLA_VALUE_TEXT}}),
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
