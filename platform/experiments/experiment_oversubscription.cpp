// Tensors that are larger than the memory of their PEs: the kernel transpose, whose pages leave and return.
#include "experiments/experiment_dma.hpp"
#include "run/workload.hpp"

namespace tlmalloc {

namespace {

const tl_kernel_info &kernel() {
    return *tl_find_kernel("transpose");
}

class oversubscription_run : public platform_run {
  public:
    oversubscription_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {&kernel().run, 1}), hbm_bytes_(config.hbm.capacity * platform_.pes().size()),
          page_(config.host.page_size) {
        choice_.kernel = &kernel();
        choice_.title = kernel().name;
        tl_workload size =
            tl_kernel_workload(&kernel(), static_cast<std::uint32_t>(platform_.pes().size()), 1, config.workload.seed);
        const tla_status status = choose(p, size, &failure_);
        work_ = std::make_unique<workload>(platform_, choice_, size, workload::demand_of(config));
        if (!status) platform_.host().main = [this] { run(); };
    }

    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
        if (config.host.eviction == TLA_EVICTION_OFF)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "mmu.eviction: found off, expected clock or lru");
        tl_workload size{};
        return choose(p, size, error);
    }

  private:
    static tla_status choose(const experiment_parameters &p, tl_workload &size, tla_error *error) {
        for (const char *name : {"rows", "columns"}) {
            const std::string word = std::string(name) + "=" + std::to_string(p.at(name));
            if (const tla_status status = tl_kernel_set_parameter(&kernel(), word.c_str(), &size, error)) return status;
        }
        return TLA_OK;
    }

    void run() {
        work_->main();
        failure_ = work_->failure().status ? work_->failure() : work_->wrong_result();
        if (failure_.status) return;
        std::uint64_t pages = 0, faults = 0;
        for (const workload::tensor_report &t : work_->tensors())
            pages += (t.nbytes - 1) / page_ + 1;
        for (const pe_unit *pe : platform_.pes())
            faults += pe->mmu.get_statistics().demand_faults;
        const host::paging_counts counts = platform_.host().paging_statistics();
        results_ = {static_cast<double>(work_->path().kernel_ps) / 1e6,
                    static_cast<double>(pages * page_) / static_cast<double>(hbm_bytes_)};
        for (const std::uint64_t count : {faults, counts.evictions, counts.write_backs, counts.fetches})
            results_.push_back(static_cast<double>(count));
        finished_ = true;
    }

    const std::uint64_t hbm_bytes_, page_;
    kernel_choice choice_;
    std::unique_ptr<workload> work_;
};

} // namespace

experiment_workload oversubscription() {
    return {"oversubscription",
            {{"rows", TLA_VALUE_COUNT}, {"columns", TLA_VALUE_COUNT}},
            {"kernel", "oversubscription", "faults", "evictions", "write_backs", "fetches"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<oversubscription_run>(name, config, p); },
            oversubscription_run::check,
            {"us", "bytes a byte", "faults", "pages", "pages", "pages"}};
}

} // namespace tlmalloc
