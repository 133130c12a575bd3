// Page faults: the time of the first touch of a page, by PEs that fault together.
#include "experiments/experiment_dma.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

// The first PEs each write a few bytes into a page of their own of a tensor on demand, all at one time.
class first_touch_run : public dma_run {
  public:
    first_touch_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), count_(p.at("pes")), page_size_(config.host.page_size) {}

    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
        const std::uint64_t pes = std::uint64_t{config.system.sips} * config.system.cube_mesh_width *
                                  config.system.cube_mesh_height * config.system.pes_per_cube;
        if (config.mmu.unmapped != TLA_UNMAPPED_DEMAND)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "mmu.unmapped: found %s, expected demand",
                                 tla_unmapped_name(config.mmu.unmapped));
        if (p.at("pes") == 0 || p.at("pes") > pes)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "pes: found %llu, expected 1 .. %llu, the number of PEs",
                                 static_cast<unsigned long long>(p.at("pes")), static_cast<unsigned long long>(pes));
        return TLA_OK;
    }

  private:
    enum : std::uint64_t { touched_bytes = 64 };

    tla_status run() override {
        tensor *t = nullptr;
        host::sharding on_demand = platform_.host().everywhere();
        on_demand.kind = spread::demand;
        if (const tla_status status =
                platform_.host().create_tensor("touched", count_ * page_size_, 1, on_demand, &t, &failure_))
            return status;
        const std::uint64_t start = now_ps();
        std::uint64_t left = count_, sum = 0, longest = 0;
        sc_core::sc_event all_done;
        for (std::uint64_t i = 0; i < count_; i++)
            sc_core::sc_spawn(
                [&, i] {
                    touch(i, t->va.value + i * page_size_);
                    sum += now_ps() - start;
                    longest = std::max(longest, now_ps() - start);
                    if (--left == 0) all_done.notify();
                },
                sc_core::sc_gen_unique_name("touch"));
        sc_core::wait(all_done);
        results_ = {static_cast<double>(sum) / static_cast<double>(count_) / 1e6, static_cast<double>(longest) / 1e6};
        return failure_.status;
    }

    void touch(std::uint64_t number, std::uint64_t va) {
        pe_dma::request what{};
        what.way = pe_dma::direction::write;
        what.va.value = va;
        what.rows = 1;
        what.row_bytes = what.pitch = touched_bytes;
        what.has_tile = false;
        sc_core::sc_time delay;
        const pe_unit &pe = *platform_.pes()[number];
        if (const tla_status status = platform_.pes()[number]->dma.transfer(what, delay))
            tla_error_set(&failure_, status, "the first touch by %s: %s", to_string(pe.where).c_str(),
                          tla_status_text(status));
        sc_core::wait(delay);
    }

    const std::uint64_t count_, page_size_;
};

} // namespace

experiment_workload first_touches() {
    return {"first_touch",
            {{"pes", TLA_VALUE_COUNT}},
            {"mean", "longest"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<first_touch_run>(name, config, p); },
            first_touch_run::check,
            {"us", "us"}};
}

} // namespace tlmalloc
