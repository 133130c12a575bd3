// A serving engine over every manager of its memory, with the prices of what that decides.
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"
#include "serving/host_law.h"
#include "serving/priced_law.h"

namespace tlmalloc {

namespace {

enum figure {
    figure_ttft,
    figure_tpot,
    figure_throughput,
    figure_preemptions,
    figure_refusals,
    figure_fragmented,
    figure_use,
    figure_internal,
    figure_unused,
    figure_allocation,
    figure_mapping,
    figure_transfer,
    figure_count
};

// Managers by their names in settings; the last one is that of blocks with an index.
const char *memory_name(std::uint64_t value) {
    return value == TLA_KV_MEMORY_COUNT ? "blocks" : tla_kv_memory_name(static_cast<tla_kv_memory_kind>(value));
}

// Returns the overrides of the row's memory.
std::vector<std::string> overrides_of(const experiment_parameters &p) {
    const auto text = [](const char *key, const std::string &value) { return std::string(key) + "=" + value; };
    return {text("kv_memory", memory_name(p.at("memory"))), text("kv_page", std::to_string(p.at("page")) + " B"),
            text("max_model_len", std::to_string(p.at("longest"))),
            text("host_blocks", std::to_string(p.at("host_blocks"))),
            text("host_bandwidth_gb_s", std::to_string(p.at("host_gb_s")))};
}

tla_serving_prices prices_of(const tla_config &config) {
    tla_serving_prices prices{};
    prices.command = config.controller.cost;
    prices.mapping = config.mmu.cost;
    if (config.host.driver.kind != TLA_HOST_DRIVER_NONE) {
        prices.driver_alloc_ps = config.host.driver.alloc_ps;
        prices.driver_free_ps = config.host.driver.free_ps;
    }
    return prices;
}

tla_status serve(const tla_config &config, const experiment_parameters &p, std::vector<double> &figures,
                 tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    if (const tla_status status = serving_row_of(p, overrides_of(p), &requests, settings, error)) return status;
    owned_law law;
    if (const tla_status status =
            tla_step_law_parse(("profile " + p.files.at("profile")).c_str(), &settings, &law, error))
        return status;
    tla_host_law moving{};
    moving.inner = law;
    moving.link = settings.host_link;
    tla_priced_law priced{};
    priced.inner = tla_host_law_of(&moving);
    priced.prices = prices_of(config);
    const tla_step_law with_prices = tla_priced_law_of(&priced);
    owned_result result;
    if (const tla_status status = tla_serve(requests, &settings.rules, &with_prices, nullptr, nullptr, &result, error))
        return status;
    serve_times times{};
    if (const tla_status status = serving_times_of(requests, result, times, error)) return status;
    const tla_scheduler_stats &s = result.scheduler;
    const double count = static_cast<double>(requests->count);
    figures.assign(figure_count, 0);
    figures[figure_ttft] = times.ttft.mean.total;
    figures[figure_tpot] = 1e3 * times.tpot.mean.total;
    figures[figure_throughput] = tokens_per_s(result);
    figures[figure_preemptions] = static_cast<double>(s.preemptions);
    figures[figure_refusals] = refusals(s);
    figures[figure_fragmented] = static_cast<double>(s.refused_fragmented);
    figures[figure_use] = 100 * result.mean_use;
    figures[figure_internal] = 100 * result.mean_internal_fragmentation;
    figures[figure_unused] = 100 * result.mean_unused_waiting;
    figures[figure_allocation] = 1e-6 * static_cast<double>(priced.all_allocation_ps) / count;
    figures[figure_mapping] = 1e-6 * static_cast<double>(priced.all_mapping_ps) / count;
    figures[figure_transfer] = 1e-6 * static_cast<double>(moving.all_moved_ps) / count;
    return TLA_OK;
}

class serving_run : public experiment_run {
  public:
    serving_run(const tla_config &config, const experiment_parameters &p) {
        finished_ = serve(config, p, results_, &failure_) == TLA_OK;
    }
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    return serving_row_of(p, overrides_of(p), &requests, settings, error);
}

} // namespace

experiment_workload serving_managers() {
    return {"serving",
            {{"requests", TLA_VALUE_TEXT, nullptr, true},
             {"settings", TLA_VALUE_TEXT, nullptr, true},
             {"profile", TLA_VALUE_TEXT, nullptr, true},
             {"memory", TLA_VALUE_NAMED, memory_name},
             {"page", TLA_VALUE_SIZE},
             {"longest", TLA_VALUE_COUNT},
             {"host_blocks", TLA_VALUE_COUNT},
             {"host_gb_s", TLA_VALUE_COUNT}},
            {"ttft", "tpot", "throughput", "preemptions", "refusals", "fragmented", "use", "internal", "unused",
             "allocation", "mapping", "transfer"},
            false,
            [](const char *, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<serving_run>(config, p));
            },
            check,
            {"s", "ms", "tokens/s", "requests", "refusals", "fragmented", "% of memory", "% of it", "% while some wait",
             "us a request", "us mapped", "us moved"}};
}

} // namespace tlmalloc
