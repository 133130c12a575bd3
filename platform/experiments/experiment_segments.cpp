// Mooncake's benchmark of its allocation strategies: objects with replicas over segments, and evictions at random.
#include "experiments/experiment_dma.hpp"
#include "tlmalloc/cache/replicas.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>

namespace tlmalloc {

namespace {

constexpr std::uint64_t kv_bytes = 3274752, indexer_bytes = 658432, requests_max = 50000000, segments_max = 1024;
constexpr std::uint32_t burst_max = 128, tries = 6, seed = 42;

const char *policy_name(std::uint64_t value) {
    return value == TLA_REPLICAS_RANDOM             ? "random"
           : value == TLA_REPLICAS_FREE_RATIO_FIRST ? "free_ratio_first"
                                                    : nullptr;
}

// Whole numbers as libstdc++ draws them from 32 bits (GCC 11 and later), on every standard library.
class draws {
  public:
    std::uint32_t below(std::uint32_t n) {
        std::uint64_t product = next() * n;
        if (static_cast<std::uint32_t>(product) < n)
            for (const std::uint32_t least = (0 - n) % n; static_cast<std::uint32_t>(product) < least;)
                product = next() * n;
        return static_cast<std::uint32_t>(product >> 32);
    }

  private:
    std::uint64_t next() { return engine_(); }
    std::mt19937 engine_{seed};
};

class segments {
  public:
    segments(const experiment_parameters &p) : wanted_(static_cast<std::uint32_t>(p.at("replicas"))) {
        const std::uint64_t nbytes = p.at("segment");
        for (std::uint64_t i = 0; i < p.at("segments"); i++) {
            tla_arena_config config{};
            config.policy = TLA_OFFSET_BINS_ROUNDED;
            config.capacity = !p.at("skewed") ? nbytes : i % 2 ? nbytes - nbytes / 2 : nbytes + nbytes / 2;
            tla_arena *arena = nullptr;
            status = status ? status : tla_arena_create(&config, &arena);
            arenas_.emplace_back(arena, tla_arena_destroy);
            nbytes_.push_back(config.capacity);
        }
        std::vector<tla_arena *> all;
        for (const auto &arena : arenas_)
            all.push_back(arena.get());
        const tla_arena_set set{all.data(), static_cast<std::uint32_t>(all.size())};
        tla_replicas *made = nullptr;
        if (!status) status = tla_replicas_create(&set, static_cast<tla_replica_policy>(p.at("policy")), &made);
        replicas_.reset(made);
        room_.resize(std::min<std::size_t>(wanted_, all.size()));
    }

    // One object with its replicas; false if there is no room for any.
    bool put(std::uint64_t nbytes) {
        const auto n = static_cast<std::uint32_t>(arenas_.size());
        const tla_replica_request request{
            nbytes, wanted_, 0, 0, nullptr, nullptr, {starts_.below(n), starts_.below(n)}};
        tla_replica_result result{};
        const tla_status found = tla_replicas_alloc(replicas_.get(), &request, room_.data(), &result, nullptr);
        if (found == TLA_NO_HOST_MEMORY) status = found;
        if (found) return false;
        live_.emplace_back(room_.begin(), room_.begin() + result.count);
        return true;
    }
    // A twentieth of all objects.
    void evict(draws &random) {
        for (std::size_t n = std::max<std::size_t>(1, live_.size() / 20); n > 0 && !live_.empty(); n--) {
            std::swap(live_[random.below(static_cast<std::uint32_t>(live_.size()))], live_.back());
            for (const tla_replica &replica : live_.back())
                if (const tla_status freed = tla_replicas_free(replicas_.get(), replica, nullptr)) status = freed;
            live_.pop_back();
        }
    }
    // The mean of all segments, and the deviation.
    std::pair<double, double> utilisation() const {
        std::vector<double> used;
        double mean = 0, squares = 0;
        for (std::uint32_t i = 0; i < nbytes_.size(); i++)
            used.push_back(static_cast<double>(tla_replicas_used(replicas_.get(), i)) /
                           static_cast<double>(nbytes_[i]));
        for (const double part : used)
            mean += part / static_cast<double>(used.size());
        for (const double part : used)
            squares += (part - mean) * (part - mean);
        return {mean, std::sqrt(squares / static_cast<double>(used.size()))};
    }
    std::uint64_t nbytes() const {
        std::uint64_t all = 0;
        for (const std::uint64_t n : nbytes_)
            all += n;
        return all;
    }

    tla_status status = TLA_OK;

  private:
    std::uint32_t wanted_;
    draws starts_;
    std::vector<std::unique_ptr<tla_arena, void (*)(tla_arena *)>> arenas_;
    std::vector<std::uint64_t> nbytes_;
    std::unique_ptr<tla_replicas, void (*)(tla_replicas *)> replicas_{nullptr, tla_replicas_destroy};
    std::vector<std::vector<tla_replica>> live_;
    std::vector<tla_replica> room_;
};

// Has no platform, and is finished when it is made.
class segments_run : public experiment_run {
  public:
    explicit segments_run(const experiment_parameters &p) : memory_(p), paired_(p.at("paired")) {
        const std::uint64_t mean = paired_ ? (kv_bytes + indexer_bytes) / 2 : kv_bytes;
        const std::uint64_t all = std::min(4 * memory_.nbytes() / (mean * p.at("replicas")), requests_max);
        put(all / 4);
        samples_.clear();
        served_ = 0;
        put(all - all / 4);
        if (memory_.status) {
            tla_error_set(&failure_, memory_.status, "segments: %s", tla_status_text(memory_.status));
            return;
        }
        std::sort(samples_.begin(), samples_.end());
        double sum = 0;
        for (const double sample : samples_)
            sum += sample;
        const double count = static_cast<double>(samples_.size());
        const auto at = [&](double part) {
            return samples_.empty() ? std::nan("")
                                    : samples_[std::min(samples_.size() - 1, static_cast<std::size_t>(part * count))];
        };
        results_ = {at(0),
                    at(0.01),
                    at(0.1),
                    at(0.5),
                    at(1),
                    sum / count,
                    memory_.utilisation().second,
                    count,
                    static_cast<double>(served_)};
        finished_ = true;
    }

    static tla_status check(const tla_config &, const experiment_parameters &p, tla_error *error) {
        const auto refuse = [&](const char *name, std::uint64_t least, std::uint64_t most) {
            if (p.at(name) >= least && p.at(name) <= most) return false;
            tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: found %llu, expected %llu .. %llu", name,
                          static_cast<unsigned long long>(p.at(name)), static_cast<unsigned long long>(least),
                          static_cast<unsigned long long>(most));
            return true;
        };
        return refuse("segments", 1, segments_max) || refuse("replicas", 1, segments_max) ||
                       refuse("segment", 8 * kv_bytes, std::uint64_t{1} << 48)
                   ? TLA_INVALID_ARGUMENT
                   : TLA_OK;
    }

  private:
    void put(std::uint64_t count) {
        while (count > 0 && !memory_.status) {
            const std::uint64_t burst = paired_ ? 1 + random_.below(burst_max) : 1;
            for (const std::uint64_t nbytes : {kv_bytes, paired_ ? indexer_bytes : 0})
                for (std::uint64_t i = 0; nbytes > 0 && i < burst && count > 0; i++, count--)
                    put_one(nbytes);
        }
    }
    void put_one(std::uint64_t nbytes) {
        for (std::uint32_t i = 0; i < tries && !memory_.status; i++) {
            if (memory_.put(nbytes)) {
                served_++;
                return;
            }
            samples_.push_back(memory_.utilisation().first);
            memory_.evict(random_);
        }
    }

    segments memory_;
    bool paired_;
    draws random_; // of bursts and evictions, as in the benchmark
    std::vector<double> samples_;
    std::uint64_t served_ = 0;
};

} // namespace

experiment_workload segments_with_replicas() {
    return {
        "segments",
        {{"paired", TLA_VALUE_BOOLEAN},
         {"skewed", TLA_VALUE_BOOLEAN},
         {"policy", TLA_VALUE_NAMED, policy_name},
         {"segments", TLA_VALUE_COUNT},
         {"replicas", TLA_VALUE_COUNT},
         {"segment", TLA_VALUE_SIZE}},
        {"min", "p99", "p90", "p50", "max", "avg", "deviation", "evictions", "served"},
        false,
        [](const char *, const tla_config &, const experiment_parameters &p) -> std::unique_ptr<experiment_run> {
            return std::make_unique<segments_run>(p);
        },
        segments_run::check,
        {"of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "of bytes", "evictions", "objects"}};
}

} // namespace tlmalloc
