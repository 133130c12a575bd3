// Requests to a serving system on one engine of a placement: each keeps a region for its tokens until it is evicted.
#include "experiments/experiment_engine.hpp"
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"

namespace tlmalloc {

namespace {

// An ALLOC for each request, with a byte for each token of its prompt and its output.
std::unique_ptr<experiment_run> make(const char *, const tla_config &config, const experiment_parameters &p) {
    tla_error error{};
    const tla_serving_requests *requests = serving_requests_of(p, &error);
    if (!requests) return std::make_unique<engine_run>(config, p, nullptr, 0, true, error);
    std::vector<trace_allocation> allocations(requests->count);
    std::vector<trace_event> events(requests->count);
    for (std::size_t i = 0; i < requests->count; i++) {
        const tla_serving_request &request = requests->items[i];
        allocations[i].nbytes = std::uint64_t{request.prompt_tokens} + request.output_tokens;
        events[i] = {request.arrival_ns, i, false};
    }
    alloc_trace trace{};
    trace.events = events.data();
    trace.event_count = events.size();
    trace.allocations = allocations.data();
    trace.allocation_count = allocations.size();
    return std::make_unique<engine_run>(config, p, &trace, p.at("capacity"), true, error);
}

tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
    if (const tla_status status = engine_run::check(config, error)) return status;
    if (p.at("capacity") == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "capacity: found 0 tokens, expected at least 1");
    return serving_requests_of(p, error) ? TLA_OK : error->status;
}

} // namespace

experiment_workload request_engines() {
    return engine_workload("engine_requests", "requests", make, check);
}

} // namespace tlmalloc
