// The rules of a serving engine alone, with a formula as the law of steps: their decisions, to the digit.
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"

namespace tlmalloc {

namespace {

std::vector<std::string> overrides_of(const experiment_parameters &p) {
    const auto flag = [&](const char *key, const char *parameter) {
        return std::string(key) + (p.at(parameter) ? "=true" : "=false");
    };
    std::vector<std::string> overrides = {flag("async_scheduling", "asynchronous"), flag("prefix_caching", "index"),
                                          flag("reserve_full_prompt", "gate")};
    if (p.at("blocks")) overrides.push_back("gpu_blocks=" + std::to_string(p.at("blocks")));
    return overrides;
}

tla_status serve(const experiment_parameters &p, std::vector<double> &figures, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    if (const tla_status status = serving_row_of(p, overrides_of(p), &requests, settings, error)) return status;
    owned_law law;
    if (const tla_status status = tla_step_law_parse(fixed_law_of(p).c_str(), &settings, &law, error)) return status;
    owned_result result;
    if (const tla_status status = tla_serve(requests, &settings.rules, &law, nullptr, nullptr, &result, error))
        return status;
    const tla_scheduler_stats &s = result.scheduler;
    for (const std::uint64_t figure : {s.steps, s.preemptions, s.hit_tokens, s.recomputed_tokens, result.end_ns})
        figures.push_back(static_cast<double>(figure));
    return TLA_OK;
}

class rules_run : public experiment_run {
  public:
    explicit rules_run(const experiment_parameters &p) { finished_ = serve(p, results_, &failure_) == TLA_OK; }
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    return serving_row_of(p, overrides_of(p), &requests, settings, error);
}

} // namespace

experiment_workload serving_rules() {
    return {"serving_rules",
            {{"requests", TLA_VALUE_TEXT, nullptr, true},
             {"settings", TLA_VALUE_TEXT, nullptr, true},
             {"step", TLA_VALUE_TIME},
             {"token", TLA_VALUE_TIME},
             {"asynchronous", TLA_VALUE_BOOLEAN},
             {"index", TLA_VALUE_BOOLEAN},
             {"gate", TLA_VALUE_BOOLEAN},
             {"blocks", TLA_VALUE_COUNT}},
            {"steps", "preemptions", "hit_tokens", "recomputed_tokens", "end"},
            false,
            [](const char *, const tla_config &, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<rules_run>(p));
            },
            check,
            {"steps", "requests", "tokens", "tokens", "ns"}};
}

} // namespace tlmalloc
