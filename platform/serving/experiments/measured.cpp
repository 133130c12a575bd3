// A run of a serving engine beside one that was measured.
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"
#include "serving/measured_run.h"

namespace tlmalloc {

namespace {

struct owned_measurement : tla_measured_run {
    owned_measurement() : tla_measured_run{} {}
    owned_measurement(const owned_measurement &) = delete;
    owned_measurement &operator=(const owned_measurement &) = delete;
    ~owned_measurement() { tla_measured_run_clear(this); }
};

tla_status serve(const experiment_parameters &p, std::vector<double> &figures, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    owned_measurement measured;
    owned_law law;
    owned_result result;
    if (const tla_status status = serving_row_of(p, {}, &requests, settings, error)) return status;
    if (const tla_status status =
            tla_measured_run_read(p.files.at("seconds").c_str(), p.files.at("served").c_str(), &measured, error))
        return status;
    if (const tla_status status =
            tla_step_law_parse(("profile " + p.files.at("profile")).c_str(), &settings, &law, error))
        return status;
    std::vector<tla_served_step> steps;
    const auto hear = [](void *context, const tla_served_step *step) {
        static_cast<std::vector<tla_served_step> *>(context)->push_back(*step);
    };
    const tla_serve_watch watch{hear, nullptr, &steps};
    if (const tla_status status = tla_serve(requests, &settings.rules, &law, &watch, nullptr, &result, error))
        return status;
    tla_measured_deviation d{};
    const double shift_s = 1e-12 * static_cast<double>(p.at("shift"));
    if (const tla_status status = tla_measured_run_compare(&measured, shift_s, steps.data(), steps.size(), requests,
                                                           result.requests, &d, error))
        return status;
    serve_times times{};
    if (const tla_status status = serving_times_of(requests, result, times, error)) return status;
    figures = {times.ttft.mean.total,
               1e3 * times.tpot.mean.total,
               times.latency.mean.total,
               d.ttft_median_s,
               d.equal_work_median,
               d.equal_work_mean,
               d.use,
               d.running,
               d.waiting,
               static_cast<double>(result.generated_tokens)};
    return TLA_OK;
}

class measured_run : public experiment_run {
  public:
    explicit measured_run(const experiment_parameters &p) { finished_ = serve(p, results_, &failure_) == TLA_OK; }
};

tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
    const tla_serving_requests *requests;
    tla_serving_settings settings{};
    return serving_row_of(p, {}, &requests, settings, error);
}

} // namespace

experiment_workload measured_runs() {
    return {"measured_run",
            {{"requests", TLA_VALUE_TEXT, nullptr, true},
             {"settings", TLA_VALUE_TEXT, nullptr, true},
             {"profile", TLA_VALUE_TEXT, nullptr, true},
             {"seconds", TLA_VALUE_TEXT, nullptr, true},
             {"served", TLA_VALUE_TEXT, nullptr, true},
             {"shift", TLA_VALUE_TIME}},
            {"ttft", "tpot", "latency", "ttft_deviation", "equal_work_median", "equal_work_mean", "use", "running",
             "waiting", "generated"},
            false,
            [](const char *, const tla_config &, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<measured_run>(p));
            },
            check,
            {"s", "ms", "s of latency", "s of deviation", "points, median", "points, mean", "points on the clock",
             "requests that run", "requests that wait", "tokens"}};
}

} // namespace tlmalloc
