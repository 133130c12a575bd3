// Mooncake's choice of segments once more, from its rules alone: sets, a sorted sample, and naive offset bins.
#ifndef TLMALLOC_TESTS_NAIVE_REPLICAS_HPP
#define TLMALLOC_TESTS_NAIVE_REPLICAS_HPP

#include "offset_bins_model.hpp"
#include "tlmalloc/cache/replicas.h"

#include <set>

class naive_replicas {
  public:
    struct answer {
        std::vector<tla_replica> replicas;
        std::uint32_t starts_used;
        tla_work work;
    };

    naive_replicas(const std::vector<tla_arena_config> &configs, tla_replica_policy policy) : policy_(policy) {
        for (const tla_arena_config &config : configs) {
            tla_work ignored{};
            segments_.push_back({offset_bins_model(1, true), config.capacity, 0});
            segments_.back().regions.add({config.base, config.capacity}, ignored);
        }
    }

    answer alloc(const tla_replica_request &request) {
        const auto n = static_cast<std::uint32_t>(segments_.size());
        answer a{};
        std::set<std::uint32_t> closed(request.excluded, request.excluded + request.excluded_count);
        const auto attempt = [&](std::uint32_t at) {
            if (closed.count(at) || a.replicas.size() == request.replicas) return;
            a.work.class_lookups++;
            segment &s = segments_[at];
            const auto block = s.regions.alloc(s.regions.granted(request.nbytes), a.work);
            if (!block) return;
            s.used += request.nbytes;
            closed.insert(at);
            a.replicas.push_back({at, {block->offset, request.nbytes}});
        };
        const auto missing = [&] { return request.replicas - a.replicas.size(); };
        if (policy_ == TLA_REPLICAS_RANDOM && n == 1) {
            attempt(0);
            return a;
        }
        std::set<std::uint32_t> asked;
        for (std::uint32_t i = 0; i < request.preferred_count; i++)
            if (asked.insert(request.preferred[i]).second) attempt(request.preferred[i]);
        if (policy_ == TLA_REPLICAS_FREE_RATIO_FIRST && missing() > 0) {
            const std::uint32_t start = request.starts[a.starts_used++];
            std::vector<std::uint32_t> sample;
            for (std::uint32_t i = 0; i < n && i < 6 * missing(); i++)
                if (!closed.count((start + i) % n)) sample.push_back((start + i) % n);
            a.work.class_lookups += sample.size();
            std::stable_sort(sample.begin(), sample.end(), [&](std::uint32_t x, std::uint32_t y) {
                const segment &one = segments_[x], &other = segments_[y];
                return (one.nbytes - one.used) * other.nbytes > (other.nbytes - other.used) * one.nbytes;
            });
            for (const std::uint32_t at : sample)
                attempt(at);
        }
        if (missing() > 0) {
            const std::uint32_t start = request.starts[a.starts_used++];
            for (std::uint32_t i = 0; i < n && i < 100; i++)
                attempt((start + i) % n);
        }
        return a;
    }
    tla_work free(const tla_replica &replica) {
        tla_work work{};
        segments_[replica.segment].regions.free(replica.block.offset, work);
        segments_[replica.segment].used -= replica.block.nbytes;
        return work;
    }
    std::uint64_t used(std::uint32_t number) const { return segments_[number].used; }

  private:
    struct segment {
        offset_bins_model regions;
        std::uint64_t nbytes, used;
    };
    tla_replica_policy policy_;
    std::vector<segment> segments_{};
};

#endif
