// Mooncake's benchmark of its allocator: blocks in one pool, each of which takes the place of others if none is free.
#include "experiments/draws.hpp"
#include "experiments/used_samples.hpp"
#include "tlmalloc/arena/arena.h"

#include <memory>
#include <vector>

namespace tlmalloc {

namespace {

constexpr std::uint32_t steps = 1000000, smallest = 1 << 10, largest = 1 << 26, seed = 1;

class pool {
  public:
    explicit pool(const pool_setup &setup) : setup_(setup) {
        tla_arena_config config{};
        config.policy = setup.policy;
        config.capacity = setup.pool;
        tla_arena *arena = nullptr;
        status = tla_arena_create(&config, &arena);
        arena_.reset(arena);
    }

    // Returns the bytes asked for.
    std::uint64_t step() {
        const std::uint64_t nbytes = setup_.size ? setup_.size : smallest + random_.below(largest - smallest + 1);
        tla_block block;
        tla_status found;
        while ((found = tla_arena_alloc(arena_.get(), nbytes, &block, nullptr)) && !live_.empty() && !status) {
            if (found == TLA_NO_HOST_MEMORY) status = found;
            release_one();
        }
        if (found) return nbytes;
        live_.push_back({block.offset, nbytes});
        used_ += nbytes;
        return nbytes;
    }
    double used() const { return static_cast<double>(used_) / static_cast<double>(setup_.pool); }

    tla_status status = TLA_OK;

  private:
    void release_one() {
        std::swap(live_[random_.below(static_cast<std::uint32_t>(live_.size()))], live_.back());
        if (const tla_status freed = tla_arena_free(arena_.get(), live_.back(), nullptr)) status = freed;
        used_ -= live_.back().nbytes;
        live_.pop_back();
    }

    const pool_setup setup_;
    std::unique_ptr<tla_arena, void (*)(tla_arena *)> arena_{nullptr, tla_arena_destroy};
    std::vector<tla_block> live_; // with the bytes asked for
    std::uint64_t used_ = 0;
    draws random_{seed};
};

} // namespace

tla_status run_pool(const pool_setup &setup, benchmark_figures &figures) {
    pool memory(setup);
    for (std::uint64_t asked = 0; asked + setup.size <= setup.pool && !memory.status;)
        asked += memory.step();
    std::vector<double> samples;
    for (std::uint32_t i = 0; i < steps && !memory.status; i++) {
        memory.step();
        samples.push_back(memory.used());
    }
    summarise(samples, figures);
    return memory.status;
}

} // namespace tlmalloc
