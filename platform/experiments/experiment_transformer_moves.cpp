// The kernel transformer_block while controllers compact the memory that it uses: the time that the kernel loses.
#include "experiments/transformer_run.hpp"

#include <algorithm>
#include <array>

namespace tlmalloc {

namespace {

// Before the run the host allocates blocks in every slice and frees every other one.
class run_beside_moves : public transformer_run {
  public:
    run_beside_moves(const char *name, const tla_config &config, const experiment_parameters &p)
        : transformer_run(name, config, p, slices::fresh), blocks_(p.at("blocks")), block_(p.at("block")) {}

    double kernel_us() const { return kernel_us_; }
    double moved() const { return moved_; }
    double longest_stop_us() const { return longest_stop_us_; }

  private:
    tla_status prepare() override {
        host &host = platform_.host();
        std::vector<tensor *> made(blocks_);
        for (tensor *&t : made)
            if (const tla_status status =
                    host.create_tensor("other", block_ * platform_.pes().size(), 1, host.everywhere(), &t, &failure_))
                return status;
        for (std::size_t i = 0; i < made.size(); i += 2)
            if (const tla_status status = host.free_tensor(made[i], &failure_)) return status;
        return TLA_OK;
    }

    void measure() override {
        kernel_us_ = static_cast<double>(work_->path().kernel_ps) / 1e6;
        for (const pe_unit *pe : platform_.pes()) {
            const memory_controller::statistics s = pe->controller.get_statistics(TLA_HBM);
            moved_ += static_cast<double>(s.moved_bytes) / (1 << 20);
            longest_stop_us_ = std::max(longest_stop_us_, static_cast<double>(s.longest_stop_ps) / 1e6);
        }
    }

    const std::uint64_t blocks_, block_;
    double kernel_us_ = 0, moved_ = 0, longest_stop_us_ = 0;
};

// A platform without moves, and one that is like it but for them.
class lost_time : public experiment_run {
  public:
    lost_time(const char *name, tla_config config, const experiment_parameters &p)
        : with_(name, config, p), without_((std::string(name) + "_still").c_str(), still(config), p) {}

    bool finished() const override { return with_.finished() && without_.finished(); }
    const tla_error &failure() const override { return with_.finished() ? without_.failure() : with_.failure(); }
    std::uint64_t leaks() const override { return with_.leaks() + without_.leaks(); }
    double result(std::size_t figure) const override {
        const double lost = 100 * (with_.kernel_us() / without_.kernel_us() - 1);
        return std::array{with_.kernel_us(), lost, with_.moved(), with_.longest_stop_us()}[figure];
    }

  private:
    static tla_config still(tla_config config) {
        config.controller.compaction.mode = TLA_COMPACTION_OFF;
        return config;
    }

    run_beside_moves with_, without_;
};

} // namespace

experiment_workload transformer_beside_moves() {
    return {"transformer_beside_moves",
            transformer_run::with_those_of_the_kernel({{"blocks", TLA_VALUE_COUNT}, {"block", TLA_VALUE_SIZE}}),
            {"kernel", "lost", "moved", "longest_stop"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<lost_time>(name, config, p); },
            transformer_run::check,
            {"us", "%", "MiB", "us"}};
}

} // namespace tlmalloc
