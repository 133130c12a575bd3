// The common part of experiments that run the engine of `tlmalloc serve`.
#ifndef TLMALLOC_PLATFORM_SERVING_EXPERIMENTS_SERVE_HPP
#define TLMALLOC_PLATFORM_SERVING_EXPERIMENTS_SERVE_HPP

#include "experiments/experiment_dma.hpp"
#include "serving/command/serve.h"
#include "serving/requests.h"

namespace tlmalloc {

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

// Requests of the file that is the parameter `requests`, read once for all rows; null: it cannot be read.
const tla_serving_requests *serving_requests_of(const experiment_parameters &p, tla_error *error);

// The settings of the file that is the parameter `settings`, with `overrides` ("key=value") on top.
tla_status serving_settings_of(const experiment_parameters &p, const std::vector<std::string> &overrides,
                               tla_serving_settings &settings, tla_error *error);

// Reads the settings and the requests of a row, and checks whether the requests can be served: the check before a run.
tla_status serving_row_of(const experiment_parameters &p, const std::vector<std::string> &overrides,
                          const tla_serving_requests **requests, tla_serving_settings &settings, tla_error *error);

// A fixed law by the parameters `step` and `token`, times, as a text.
std::string fixed_law_of(const experiment_parameters &p);

// Returns the times of all requests; TLA_NO_HOST_MEMORY.
tla_status serving_times_of(const tla_serving_requests *requests, const tla_serve_result &result, serve_times &times,
                            tla_error *error);

inline double tokens_per_s(const tla_serve_result &result) {
    return 1e9 * static_cast<double>(result.generated_tokens) / static_cast<double>(result.end_ns);
}

inline double refusals(const tla_scheduler_stats &s) {
    return static_cast<double>(s.refused_running + s.refused_gate + s.refused_admission + s.refused_budget);
}

} // namespace tlmalloc
#endif
