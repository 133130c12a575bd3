// A serving engine over every manager of its memory, with the prices of what that decides.
#include "cli/experiment_dma.hpp"
#include "cli/serve.h"
#include "serving/host_law.h"
#include "serving/priced_law.h"

#include <algorithm>

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

struct owned_result : tla_serve_result {
    owned_result() : tla_serve_result{} {}
    owned_result(const owned_result &) = delete;
    owned_result &operator=(const owned_result &) = delete;
    ~owned_result() { tla_serve_result_clear(this); }
};

struct owned_law : tla_step_law {
    owned_law() : tla_step_law{} {}
    owned_law(const owned_law &) = delete;
    owned_law &operator=(const owned_law &) = delete;
    ~owned_law() { tla_step_law_clear(this); }
};

void keep_first(void *context, const tla_config_finding *finding) {
    auto *const e = static_cast<tla_error *>(context);
    if (!e->status)
        tla_error_set(e, TLA_SYNTAX, "%s:%zu:%zu: %s", finding->file, finding->line, finding->column, finding->text);
}

// The settings of the file with what the row says about memory.
tla_status settings_of(const experiment_parameters &p, tla_serving_settings &settings, tla_error *error) {
    const auto text = [](const char *key, const std::string &value) { return std::string(key) + "=" + value; };
    const std::string written[] = {text("kv_memory", memory_name(p.at("memory"))),
                                   text("kv_page", std::to_string(p.at("page")) + " B"),
                                   text("max_model_len", std::to_string(p.at("longest"))),
                                   text("host_blocks", std::to_string(p.at("host_blocks"))),
                                   text("host_bandwidth_gb_s", std::to_string(p.at("host_gb_s")))};
    const char *overrides[std::size(written)];
    std::transform(std::begin(written), std::end(written), overrides, [](const std::string &s) { return s.c_str(); });
    tla_error found{};
    const char *const path = p.files.at("settings").c_str();
    const tla_status status =
        tla_serving_settings_load(path, overrides, std::size(overrides), &settings, keep_first, &found);
    return status ? tla_error_set(error, status, "%s", found.status ? found.text : tla_status_text(status)) : TLA_OK;
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
    const tla_serving_requests *const requests = serving_requests_of(p, error);
    tla_serving_settings settings{};
    if (!requests) return error->status;
    if (const tla_status status = settings_of(p, settings, error)) return status;
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
    if (const tla_status status = serve_times_of(requests, result.requests, &times))
        return tla_error_set(error, status, "no host memory for the times");
    const tla_scheduler_stats &s = result.scheduler;
    const double count = static_cast<double>(requests->count);
    figures.assign(figure_count, 0);
    figures[figure_ttft] = times.ttft.mean.total;
    figures[figure_tpot] = 1e3 * times.tpot.mean.total;
    figures[figure_throughput] =
        1e9 * static_cast<double>(result.generated_tokens) / static_cast<double>(result.end_ns);
    figures[figure_preemptions] = static_cast<double>(s.preemptions);
    figures[figure_refusals] = static_cast<double>(s.refused_running + s.refused_gate + s.refused_admission);
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
    tla_serving_settings settings{};
    return serving_requests_of(p, error) ? settings_of(p, settings, error) : error->status;
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
