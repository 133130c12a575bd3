// The memory of a serving system, without a platform: what prompts' blocks are hit, what of a memory holds tokens, and
// what layers of several types save.
#include "serving/experiments/serve.hpp"
#include "serving/experiments/workloads.hpp"
#include "serving/layer_study.h"
#include "serving/memory_study.h"
#include "serving/prefix_study.h"

#include <limits>

namespace tlmalloc {

namespace {

// Requests of a file, read once for all rows.
struct owned_requests : tla_serving_requests {
    owned_requests() : tla_serving_requests{} {}
    owned_requests(const owned_requests &) = delete;
    owned_requests &operator=(const owned_requests &) = delete;
    ~owned_requests() { tla_serving_requests_free(this); }
};

tla_status check_requests(const tla_config &, const experiment_parameters &p, tla_error *error) {
    return p.files.at("requests").empty() || serving_requests_of(p, error) ? TLA_OK : error->status;
}

// A row that is computed when it is made.
template <tla_status (*Run)(const tla_config &, const experiment_parameters &, std::vector<double> &, tla_error *)>
class study_run : public experiment_run {
  public:
    study_run(const tla_config &config, const experiment_parameters &p) {
        finished_ = Run(config, p, results_, &failure_) == TLA_OK;
    }
    static std::unique_ptr<experiment_run> make(const char *, const tla_config &config,
                                                const experiment_parameters &p) {
        return std::make_unique<study_run>(config, p);
    }
};

double percent(std::uint64_t part, std::uint64_t whole) {
    return whole ? 100 * static_cast<double>(part) / static_cast<double>(whole)
                 : std::numeric_limits<double>::quiet_NaN();
}

tla_status cache_prefixes(const experiment_parameters &p, tla_prefix_cache cache, std::vector<double> &figures,
                          tla_error *error) {
    const tla_serving_requests *requests = serving_requests_of(p, error);
    if (!requests) return error->status;
    tla_prefix_study study;
    const std::uint64_t capacity = p.at("capacity");
    cache.capacity_tokens = capacity ? capacity : UINT64_MAX;
    const tla_status status = tla_prefix_study_run(requests, &cache, &study, error);
    figures = {percent(study.hit_tokens, study.tokens), percent(study.hit_full_blocks, study.full_blocks),
               static_cast<double>(study.evicted)};
    return status;
}

tla_status prefixes(const tla_config &, const experiment_parameters &p, std::vector<double> &figures,
                    tla_error *error) {
    return cache_prefixes(p, {}, figures, error);
}

const char *victim_rule_name(std::uint64_t value) {
    return tla_victim_rule_name(static_cast<tla_victim_rule>(value));
}

const char *order_of_use(std::uint64_t value) {
    return value == 0 ? "in_order" : value == 1 ? "last_first" : nullptr;
}

tla_status evictions(const tla_config &, const experiment_parameters &p, std::vector<double> &figures,
                     tla_error *error) {
    tla_prefix_cache cache{};
    cache.rule = static_cast<tla_victim_rule>(p.at("eviction"));
    cache.last_first = p.at("order") == 1;
    cache.watermark = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.at("watermark"), 1000));
    cache.share = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.at("share"), 1000));
    return cache_prefixes(p, cache, figures, error);
}

const char *memory_name(std::uint64_t value) {
    return tla_kv_memory_name(static_cast<tla_kv_memory_kind>(value));
}

tla_status memory(const tla_config &, const experiment_parameters &p, std::vector<double> &figures, tla_error *error) {
    const tla_serving_requests *requests = serving_requests_of(p, error);
    if (!requests) return error->status;
    tla_kv_memory_config config{};
    config.kind = static_cast<tla_kv_memory_kind>(p.at("memory"));
    config.tokens = p.at("tokens");
    config.longest = p.at("longest");
    config.block_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.at("block"), UINT32_MAX));
    config.tensors = config.page_ptes = 1;
    tla_memory_study study;
    const tla_status status = tla_memory_study_run(requests, &config, &study, error);
    figures = {study.tokens,
               study.reserved,
               study.internal,
               study.external,
               study.running,
               static_cast<double>(study.preemptions),
               percent(study.fragmented, study.fragmented + study.exhausted)};
    return status;
}

tla_status layers(const tla_config &, const experiment_parameters &p, std::vector<double> &figures, tla_error *error) {
    tla_kv_layers_config config{};
    const auto add = [&](std::uint64_t count, std::uint64_t window, std::uint32_t stream) {
        if (count) config.types[config.type_count++] = {count, 1, window, stream};
    };
    add(p.at("all"), 0, 0);
    add(p.at("local"), p.at("window"), 0);
    add(p.at("cross"), 0, 1);
    config.block_tokens = static_cast<std::uint32_t>(std::min<std::uint64_t>(p.at("block"), UINT32_MAX));
    std::vector<tla_kv_lengths> sequences;
    if (!p.files.at("requests").empty()) {
        const tla_serving_requests *requests = serving_requests_of(p, error);
        if (!requests) return error->status;
        for (std::size_t i = 0; i < requests->count; i++)
            sequences.push_back({{requests->items[i].prompt_tokens, 0, 0, 0}});
    } else {
        sequences.push_back({{p.at("text"), p.at("pictures"), 0, 0}});
    }
    tla_layer_study study;
    const tla_status status = tla_layer_study_run(&config, sequences.data(), sequences.size(), &study, error);
    const auto saved = [](std::uint64_t of, std::uint64_t left) { return 100 - percent(left, of); };
    figures = {saved(study.uniform, study.needed), saved(study.uniform_pages, study.small_pages),
               saved(study.uniform_pages, study.large_pages)};
    return status;
}

const experiment_parameter requests_parameter{"requests", TLA_VALUE_TEXT, nullptr, true};

} // namespace

const tla_serving_requests *serving_requests_of(const experiment_parameters &p, tla_error *error) {
    static std::map<std::string, owned_requests> read;
    const std::string &path = p.files.at("requests");
    const auto found = read.find(path);
    if (found != read.end()) return &found->second;
    owned_requests &made = read[path];
    if (!tla_serving_requests_read(path.c_str(), &made, error)) return &made;
    read.erase(path);
    return nullptr;
}

experiment_workload prefix_caches() {
    return {"prefix_cache",
            {requests_parameter, {"capacity", TLA_VALUE_COUNT}},
            {"hit", "hit_full"},
            false,
            study_run<prefixes>::make,
            check_requests};
}

experiment_workload prefix_evictions() {
    return {"prefix_eviction",
            {requests_parameter,
             {"capacity", TLA_VALUE_COUNT},
             {"eviction", TLA_VALUE_NAMED, victim_rule_name},
             {"order", TLA_VALUE_NAMED, order_of_use},
             {"watermark", TLA_VALUE_COUNT},
             {"share", TLA_VALUE_COUNT}},
            {"hit", "hit_full", "evicted"},
            false,
            study_run<evictions>::make,
            check_requests};
}

experiment_workload reservations() {
    return {"kv_memory",
            {requests_parameter,
             {"memory", TLA_VALUE_NAMED, memory_name},
             {"tokens", TLA_VALUE_COUNT},
             {"longest", TLA_VALUE_COUNT},
             {"block", TLA_VALUE_COUNT}},
            {"tokens", "reserved", "internal", "external", "running", "preemptions", "fragmented"},
            false,
            study_run<memory>::make,
            check_requests,
            {"%", "%", "%", "%", "requests", "requests", "% of refusals"}};
}

experiment_workload layer_types() {
    return {"layer_types",
            {requests_parameter,
             {"text", TLA_VALUE_COUNT},
             {"pictures", TLA_VALUE_COUNT},
             {"all", TLA_VALUE_COUNT},
             {"local", TLA_VALUE_COUNT},
             {"window", TLA_VALUE_COUNT},
             {"cross", TLA_VALUE_COUNT},
             {"block", TLA_VALUE_COUNT}},
            {"needed", "small_pages", "large_pages"},
            false,
            study_run<layers>::make,
            check_requests};
}

} // namespace tlmalloc
