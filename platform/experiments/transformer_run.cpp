// A run of the kernel transformer_block on a platform whose slices are fresh or used.
#include "experiments/transformer_run.hpp"

#include "run/energy_report.hpp"

#include <limits>

namespace tlmalloc {

static const tl_kernel_info &kernel() {
    return *tl_find_kernel("transformer_block");
}

static tla_status choose(const experiment_parameters &p, tl_workload &size, tla_error *error) {
    for (std::uint32_t i = 0; i < tl_kernel_parameter_count(&kernel()); i++) {
        const std::string name = kernel().parameters[i].name;
        const std::string word = name + "=" + std::to_string(p.at(name));
        if (const tla_status status = tl_kernel_set_parameter(&kernel(), word.c_str(), &size, error)) return status;
    }
    return TLA_OK;
}

transformer_run::transformer_run(const char *name, const tla_config &config, const experiment_parameters &p,
                                 slices before)
    : platform_run(name, config, {&kernel().run, 1}), config_(config) {
    choice_.kernel = &kernel();
    choice_.title = kernel().name;
    tl_workload size =
        tl_kernel_workload(&kernel(), static_cast<std::uint32_t>(platform_.pes().size()), 1, config.workload.seed);
    tla_status status = choose(p, size, &failure_);
    std::string snapshot;
    if (!status && before != slices::fresh) {
        status = use_slice(config, p.files.at("trace"), before == slices::compacted, snapshot, &failure_);
        if (!status) status = platform_.age(snapshot, &failure_);
    }
    work_ = std::make_unique<workload>(platform_, choice_, size, workload::on_demand::none);
    if (!status) platform_.host().main = [this] { run(); };
}

std::vector<experiment_parameter>
transformer_run::with_those_of_the_kernel(std::vector<experiment_parameter> parameters) {
    for (std::uint32_t i = 0; i < tl_kernel_parameter_count(&kernel()); i++)
        parameters.push_back({kernel().parameters[i].name, TLA_VALUE_COUNT});
    return parameters;
}

tla_status transformer_run::check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    tl_workload size{};
    return choose(p, size, error);
}

void transformer_run::run() {
    if (prepare()) return;
    work_->main();
    failure_ = work_->failure().status ? work_->failure() : work_->wrong_result();
    if (failure_.status) return;
    measure();
    finished_ = true;
}

void transformer_run::measure() {
    const workload::critical_path path = work_->path();
    double pieces = 0;
    for (const workload::tensor_report &t : work_->tensors())
        pieces += static_cast<double>(t.pieces) / static_cast<double>(work_->tensors().size());
    results_ = {static_cast<double>(path.kernel_ps) / 1e6,
                100 * path.alloc_and_map(),
                pieces,
                row_hits(),
                tlb_misses(),
                energy_uj(platform_, config_)};
}

// In percent of the bursts; NaN where the memory has no banks.
double transformer_run::row_hits() const {
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

double transformer_run::tlb_misses() const {
    double misses = 0;
    for (const pe_unit *pe : platform_.pes())
        misses += static_cast<double>(pe->mmu.get_statistics().misses);
    return misses;
}

} // namespace tlmalloc
