// Mooncake's benchmark of its allocation strategies: objects with replicas over segments, and evictions at random.
#include "experiments/mooncake_benchmarks.hpp"

#include "experiments/draws.hpp"
#include "experiments/used_samples.hpp"
#include "tlmalloc/arena/engine.h"

#include <algorithm>
#include <memory>

namespace tlmalloc {

namespace {

constexpr std::uint64_t requests_max = 50000000, nodes_min = 1 << 20, nodes_max = 1 << 26;
constexpr std::uint32_t burst_max = 128, tries = 6, seed = 42;

using owned_arena = std::unique_ptr<tla_arena, void (*)(tla_arena *)>;

std::uint64_t nbytes_of(const segments_setup &setup, std::uint32_t number) {
    const std::uint64_t half = setup.segment / 2;
    return !setup.skewed ? setup.segment : number % 2 ? setup.segment - half : setup.segment + half;
}

owned_arena make_segment(std::uint64_t nbytes, tla_status &status) {
    tla_arena_config config{};
    config.policy = TLA_OFFSET_BINS_ROUNDED;
    config.capacity = nbytes;
    tla_arena *arena = nullptr;
    status = tla_arena_create(&config, &arena);
    if (!status)
        status = tla_arena_drive(arena, nullptr, std::min(std::max(nbytes / 1024, nodes_min), nodes_max), nullptr);
    return {arena, tla_arena_destroy};
}

class segments {
  public:
    explicit segments(const segments_setup &setup) : setup_(setup) {
        std::vector<tla_arena *> all;
        for (std::uint32_t i = 0; i < setup.segments && !status; i++) {
            arenas_.push_back(make_segment(nbytes_of(setup, i), status));
            all.push_back(arenas_.back().get());
        }
        const tla_arena_set set{all.data(), setup.segments};
        tla_replicas *made = nullptr;
        if (!status) status = tla_replicas_create(&set, setup.policy, &made);
        replicas_.reset(made);
        room_.resize(std::min(setup.replicas, setup.segments));
    }

    // Allocates one object with its replicas; false if no segment has room.
    bool put(std::uint64_t nbytes) {
        const std::uint32_t n = setup_.segments;
        const tla_replica_request request{
            nbytes, setup_.replicas, 0, 0, nullptr, nullptr, {starts_.below(n), starts_.below(n)}};
        tla_replica_result result{};
        const tla_status found = tla_replicas_alloc(replicas_.get(), &request, room_.data(), &result, nullptr);
        if (found == TLA_NO_HOST_MEMORY) status = found;
        if (found) return false;
        std::fill(room_.begin() + result.count, room_.end(), tla_replica{});
        live_.insert(live_.end(), room_.begin(), room_.end());
        return true;
    }
    void evict(draws &random) {
        const std::size_t each = room_.size(), count = live_.size() / each;
        for (std::size_t n = std::min(count, std::max<std::size_t>(1, count / 20)); n > 0; n--) {
            const auto objects = static_cast<std::uint32_t>(live_.size() / each);
            const std::size_t victim = each * random.below(objects), last = live_.size() - each;
            for (std::size_t i = 0; i < each; i++) {
                tla_replica &gone = live_[victim + i];
                if (gone.block.nbytes > 0)
                    if (const tla_status freed = tla_replicas_free(replicas_.get(), gone, nullptr)) status = freed;
                gone = live_[last + i];
            }
            live_.resize(last);
        }
    }
    // The used part of each segment.
    std::vector<double> used() const {
        std::vector<double> parts;
        for (std::uint32_t i = 0; i < setup_.segments; i++)
            parts.push_back(static_cast<double>(tla_replicas_used(replicas_.get(), i)) /
                            static_cast<double>(nbytes_of(setup_, i)));
        return parts;
    }

    tla_status status = TLA_OK;

  private:
    const segments_setup setup_;
    draws starts_{seed};
    std::vector<owned_arena> arenas_;
    std::unique_ptr<tla_replicas, void (*)(tla_replicas *)> replicas_{nullptr, tla_replicas_destroy};
    std::vector<tla_replica> room_, live_; // as many places for each object; without bytes where a replica is missing
};

double mean_of(const std::vector<double> &parts) {
    double mean = 0;
    for (const double part : parts)
        mean += part / static_cast<double>(parts.size());
    return mean;
}

double deviation_of(const std::vector<double> &parts) {
    const double mean = mean_of(parts);
    double squares = 0;
    for (const double part : parts)
        squares += (part - mean) * (part - mean);
    return std::sqrt(squares / static_cast<double>(parts.size()));
}

class run {
  public:
    explicit run(const segments_setup &setup) : memory_(setup), paired_(setup.paired) {
        const std::uint64_t least = setup.bursts / 10, forever = UINT64_MAX;
        std::uint64_t all = 0;
        for (std::uint32_t i = 0; i < setup.segments; i++)
            all += nbytes_of(setup, i);
        const std::uint64_t mean = paired_ ? (key_value_bytes + indexer_bytes) / 2 : key_value_bytes;
        all = std::min(4 * all / (mean * setup.replicas), requests_max);
        put(setup.bursts ? forever : all / 4, setup.bursts ? least : forever);
        samples_.clear();
        served_ = 0;
        put(setup.bursts ? forever : all - all / 4, setup.bursts ? setup.bursts : forever);
    }

    tla_status finish(benchmark_figures &figures) {
        if (memory_.status) return memory_.status;
        summarise(samples_, figures);
        figures[figure_deviation] = deviation_of(memory_.used());
        figures[figure_evictions] = static_cast<double>(samples_.size());
        figures[figure_served] = static_cast<double>(served_);
        return TLA_OK;
    }

  private:
    // Puts so many objects, or bursts, whichever end first.
    void put(std::uint64_t objects, std::uint64_t bursts) {
        for (; objects > 0 && bursts > 0 && !memory_.status; bursts--) {
            const std::uint64_t burst = paired_ ? 1 + random_.below(burst_max) : 1;
            for (const std::uint64_t nbytes : {key_value_bytes, paired_ ? indexer_bytes : 0})
                for (std::uint64_t i = 0; nbytes > 0 && i < burst && objects > 0; i++, objects--)
                    put_one(nbytes);
        }
    }
    void put_one(std::uint64_t nbytes) {
        for (std::uint32_t i = 0; i < tries && !memory_.status; i++) {
            if (memory_.put(nbytes)) {
                served_++;
                return;
            }
            samples_.push_back(mean_of(memory_.used()));
            memory_.evict(random_);
        }
    }

    segments memory_;
    const bool paired_;
    draws random_{seed}; // of bursts and evictions, as in the benchmark
    std::vector<double> samples_;
    std::uint64_t served_ = 0;
};

} // namespace

const char *replica_policy_name(std::uint64_t policy) {
    return policy == TLA_REPLICAS_RANDOM             ? "random"
           : policy == TLA_REPLICAS_FREE_RATIO_FIRST ? "free_ratio_first"
                                                     : nullptr;
}

tla_status run_segments(const segments_setup &setup, benchmark_figures &figures) {
    return run(setup).finish(figures);
}

tla_status fill_segments(const segments_setup &setup, benchmark_figures &figures) {
    std::vector<double> used;
    tla_status status = TLA_OK;
    for (std::uint32_t i = 0; i < setup.segments && !status; i++) {
        if (i >= 2) { // of the same size as the one two places in front
            used.push_back(used[i - 2]);
            continue;
        }
        const std::uint64_t nbytes = nbytes_of(setup, i);
        const owned_arena arena = make_segment(nbytes, status);
        std::uint64_t count = 0;
        tla_block block;
        while (!status && !tla_arena_alloc(arena.get(), key_value_bytes, &block, nullptr))
            count++;
        used.push_back(static_cast<double>(count * key_value_bytes) / static_cast<double>(nbytes));
    }
    std::vector<double> samples{mean_of(used)};
    summarise(samples, figures);
    return status;
}

} // namespace tlmalloc
