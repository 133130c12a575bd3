// The model's side of the comparison of composites with KernBench: the kernel matmul_composite on every PE, and the
// window of its stages.
#include "experiments/experiment_dma.hpp"
#include "programs/program.h"

#include <string>
#include <utility>
#include <vector>

namespace tlmalloc {

namespace {

const tl_kernel_info &kernel() {
    return *tl_find_kernel("matmul_composite");
}

// Every PE multiplies m x k by k x n in f16, both in its own slice; operands that are pinned it loads into the TCM
// before.
class composite_run : public platform_run {
  public:
    composite_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {&kernel().run, 1}), dispatch_ps_(config.pe.dispatch_ps), p_(p) {
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

    static tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
        tl_workload size{};
        return choose(p, size, error);
    }

  private:
    // The parameters of the kernel, by its names.
    static tla_status choose(const experiment_parameters &p, tl_workload &size, tla_error *error) {
        if (p.at("pinned_b") > p.at("pinned_a"))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "pinned_b needs pinned_a, as in KernBench");
        const std::string words[] = {"m=" + std::to_string(p.at("m")), "k=" + std::to_string(p.at("k")),
                                     "n=" + std::to_string(p.at("n")),
                                     "variant=" + std::to_string(p.at("pinned_a") + p.at("pinned_b"))};
        for (const std::string &word : words)
            if (const tla_status status = tl_kernel_set_parameter(&kernel(), word.c_str(), &size, error)) return status;
        return TLA_OK;
    }

    tla_status run() {
        tl_workload size = tl_kernel_workload(&kernel(), static_cast<std::uint32_t>(platform_.pes().size()), 1, 1);
        if (const tla_status status = choose(p_, size, &failure_)) return status;
        std::vector<tla_vaddr> addresses;
        for (std::uint32_t i = 0; i < tl_kernel_tensor_count(&kernel()); i++) {
            tensor *made = nullptr;
            if (const tla_status status = platform_.host().create_tensor(
                    kernel().tensors[i].name, tl_kernel_elements(&kernel(), &size, i),
                    tl_dtype_bytes(kernel().tensors[i].dtype), platform_.host().everywhere(), &made, &failure_))
                return status;
            addresses.push_back(made->va);
        }
        std::vector<std::uint64_t> arguments(TL_KERNEL_ARGUMENTS_MAX);
        arguments.resize(tl_kernel_arguments(&kernel(), &size, addresses.data(), arguments.data()));
        pe_unit &pe = *platform_.pes()[0];
        std::vector<std::pair<std::uint64_t, std::uint64_t>> transfers; // from the taken channel to the end
        pe.dma.ended = [&](const pe_dma::request &, std::uint64_t start_ps, std::uint64_t end_ps,
                           const pe_dma::outcome &) { transfers.emplace_back(start_ps, end_ps); };
        const tla_status status = platform_.host().launch(0, arguments, &failure_);
        pe.dma.ended = nullptr;
        if (status) return status;
        const processing_element::run &first = pe.element.last_run();
        const std::uint64_t window_ps = first.composite_end_ps - first.composite_begin_ps;
        std::uint64_t with_loads_ps = window_ps + dispatch_ps_;
        for (const auto &[start_ps, end_ps] : transfers)
            if (end_ps <= first.composite_begin_ps) with_loads_ps += end_ps - start_ps;
        results_ = {static_cast<double>(window_ps) / 1e3, static_cast<double>(with_loads_ps) / 1e3};
        return TLA_OK;
    }

    const std::uint64_t dispatch_ps_;
    const experiment_parameters p_;
};

} // namespace

experiment_workload composites() {
    return {"composite",
            {{"m", TLA_VALUE_COUNT},
             {"k", TLA_VALUE_COUNT},
             {"n", TLA_VALUE_COUNT},
             {"pinned_a", TLA_VALUE_BOOLEAN},
             {"pinned_b", TLA_VALUE_BOOLEAN}},
            {"window", "with_loads"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<composite_run>(name, config, p); },
            composite_run::check};
}

} // namespace tlmalloc
