// A serving engine whose blocks are bytes on a platform: what its commands and moves take.
#include "serving/command/platform_law.h"
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"

namespace tlmalloc {

namespace {

enum figure {
    figure_ttft,
    figure_throughput,
    figure_preemptions,
    figure_refusals,
    figure_allocation,
    figure_mapping,
    figure_transfer,
    figure_completed,
    figure_hit_tokens,
    figure_commands,
    figure_end,
    figure_count
};

std::vector<std::string> overrides_of(const experiment_parameters &p) {
    return {"layers=" + std::to_string(p.at("layers")), "host_blocks=" + std::to_string(p.at("host_blocks"))};
}

double commands(const platform_counts &c) {
    return static_cast<double>(c.alloc + c.ref + c.free + c.map + c.unmap + c.host_alloc + c.host_free + c.host_pin +
                               c.host_unpin);
}

// The platform exists before the simulation begins; the engine then drives it.
class blocks_run : public experiment_run {
  public:
    blocks_run(const char *name, const tla_config &config, const experiment_parameters &p) {
        if (!serving_row_of(p, overrides_of(p), &requests_, settings_, &failure_))
            platform_law_make((std::string(name) + "_").c_str(), &config, fixed_law_of(p).c_str(), &settings_, &law_,
                              &failure_);
    }

    void drive() override {
        if (!failure_.status) finished_ = serve() == TLA_OK;
    }

  private:
    tla_status serve() {
        owned_result result;
        if (const tla_status status =
                tla_serve(requests_, &settings_.rules, &law_, nullptr, nullptr, &result, &failure_))
            return status;
        if (const tla_status status = platform_law_finish(&law_, &failure_)) return status;
        serve_times times{};
        if (const tla_status status = serving_times_of(requests_, result, times, &failure_)) return status;
        const serve_parts &latency = times.latency.mean;
        results_.assign(figure_count, 0);
        results_[figure_ttft] = 1e3 * times.ttft.mean.total;
        results_[figure_throughput] = tokens_per_s(result);
        results_[figure_preemptions] = static_cast<double>(result.scheduler.preemptions);
        results_[figure_refusals] = refusals(result.scheduler);
        results_[figure_allocation] = 1e6 * latency.allocation;
        results_[figure_mapping] = 1e6 * latency.mapping;
        results_[figure_transfer] = 1e6 * latency.transfer;
        results_[figure_completed] = static_cast<double>(result.scheduler.finished);
        results_[figure_hit_tokens] = static_cast<double>(result.scheduler.hit_tokens);
        results_[figure_commands] = commands(platform_law_counts(&law_));
        results_[figure_end] = 1e-9 * static_cast<double>(result.end_ns);
        return TLA_OK;
    }

    const tla_serving_requests *requests_ = nullptr;
    tla_serving_settings settings_{};
    owned_law law_;
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    return serving_row_of(p, overrides_of(p), &requests, settings, error);
}

} // namespace

experiment_workload serving_blocks() {
    return {"serving_blocks",
            {{"requests", TLA_VALUE_TEXT, nullptr, true},
             {"settings", TLA_VALUE_TEXT, nullptr, true},
             {"step", TLA_VALUE_TIME},
             {"token", TLA_VALUE_TIME},
             {"layers", TLA_VALUE_COUNT},
             {"host_blocks", TLA_VALUE_COUNT}},
            {"ttft", "throughput", "preemptions", "refusals", "allocation", "mapping", "transfer", "completed",
             "hit_tokens", "commands", "end"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<blocks_run>(name, config, p));
            },
            check,
            {"ms", "tokens/s", "requests", "refusals", "us a request", "us mapped", "us moved", "completed", "tokens",
             "commands", "s"}};
}

} // namespace tlmalloc
