// The common part of experiments that run the engine of `tlmalloc serve`.
#include "serving/experiments/serve.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

void keep_first(void *context, const tla_config_finding *finding) {
    auto *const e = static_cast<tla_error *>(context);
    if (!e->status)
        tla_error_set(e, TLA_SYNTAX, "%s:%zu:%zu: %s", finding->file, finding->line, finding->column, finding->text);
}

} // namespace

tla_status serving_settings_of(const experiment_parameters &p, const std::vector<std::string> &overrides,
                               tla_serving_settings &settings, tla_error *error) {
    std::vector<const char *> texts(overrides.size());
    std::transform(overrides.begin(), overrides.end(), texts.begin(), [](const std::string &s) { return s.c_str(); });
    tla_error found{};
    const char *const path = p.files.at("settings").c_str();
    const tla_status status =
        tla_serving_settings_load(path, texts.data(), texts.size(), &settings, keep_first, &found);
    return status ? tla_error_set(error, status, "%s", found.status ? found.text : tla_status_text(status)) : TLA_OK;
}

tla_status serving_row_of(const experiment_parameters &p, const std::vector<std::string> &overrides,
                          const tla_serving_requests **requests, tla_serving_settings &settings, tla_error *error) {
    *requests = serving_requests_of(p, error);
    if (!*requests) return error->status;
    if (const tla_status status = serving_settings_of(p, overrides, settings, error)) return status;
    tla_error why{};
    if (const tla_status status = tla_scheduler_check(&settings.rules, *requests, nullptr, &why))
        return tla_error_set(error, status, "%s: %s", p.files.at("requests").c_str(), why.text);
    return TLA_OK;
}

std::string fixed_law_of(const experiment_parameters &p) {
    return "fixed " + std::to_string(p.at("step")) + " ps + " + std::to_string(p.at("token")) + " ps/token";
}

tla_status serving_times_of(const tla_serving_requests *requests, const tla_serve_result &result, serve_times &times,
                            tla_error *error) {
    const tla_status status = serve_times_of(requests, result.requests, &times);
    return status ? tla_error_set(error, status, "no host memory for the times") : TLA_OK;
}

} // namespace tlmalloc
