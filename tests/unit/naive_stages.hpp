// The stages of composite operations as an event-driven simulator with counters, to compare the schedule with.
#ifndef TLMALLOC_TESTS_NAIVE_STAGES_HPP
#define TLMALLOC_TESTS_NAIVE_STAGES_HPP

#include "model/kernel/tile_schedule.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

// A stage of an operation (numbered from 0) and its index.
struct stage_key {
    std::size_t operation;
    tla_stage stage;
    std::uint64_t index;
    bool operator<(const stage_key &other) const {
        return std::tie(operation, stage, index) < std::tie(other.operation, other.stage, other.index);
    }
};

struct stage_time {
    std::uint64_t begin_ps, end_ps;
};

using stage_times = std::map<stage_key, stage_time>;
using stage_durations = std::function<std::uint64_t(const stage_key &)>;

struct naive_operation {
    tla_tile_operation what;
    std::uint64_t arrival_ps;
};

// Every unit has the list of all that it must ever do. Time goes from event to event; what has ended is counted, and
// an idle unit begins the first of its list when the counters allow it.
class naive_stages {
  public:
    naive_stages(std::uint32_t depth, const std::vector<naive_operation> &operations, stage_durations takes)
        : depth_(depth), operations_(operations), takes_(std::move(takes)), counts_(operations.size()) {
        registers_ = accumulators_ = depth;
        for (std::size_t op = 0; op < operations.size(); op++)
            list(op);
    }

    stage_times run() {
        for (std::uint64_t now = 0;;) {
            while (end_what_is_over(now) || begin_what_can(now)) {
            }
            std::uint64_t next = UINT64_MAX;
            for (const unit &e : engines_)
                if (e.busy) next = std::min(next, times_.at(e.tasks[e.at]).end_ps);
            for (const naive_operation &operation : operations_)
                if (operation.arrival_ps > now) next = std::min(next, operation.arrival_ps);
            if (next == UINT64_MAX) return times_;
            now = next;
        }
    }

  private:
    struct unit {
        std::vector<stage_key> tasks;
        std::size_t at = 0;
        bool busy = false;
    };
    struct counters { // what has ended of an operation
        std::uint64_t fed = 0, a = 0, b = 0, fetched = 0, multiplied = 0, mathed = 0, stored = 0, written = 0;
    };

    void list(std::size_t op) {
        const tla_tile_operation &what = operations_[op].what;
        for (std::uint64_t step = 0; step < what.tiling.steps; step++) {
            const auto add = [&](tla_stage_unit e, tla_stage stage, std::uint64_t index) {
                engines_[e].tasks.push_back({op, stage, index});
            };
            const std::uint64_t output = step / what.tiling.count_k;
            const bool last = step % what.tiling.count_k + 1 == what.tiling.count_k;
            add(TLA_STAGE_UNIT_SCHEDULER, TLA_STAGE_FEED, step);
            if (what.reads_a) add(TLA_STAGE_UNIT_DMA_READ, TLA_STAGE_READ_A, step);
            if (what.reads_b) add(TLA_STAGE_UNIT_DMA_READ, TLA_STAGE_READ_B, step);
            add(TLA_STAGE_UNIT_FETCH, TLA_STAGE_FETCH, step);
            if (what.gemm) add(TLA_STAGE_UNIT_ACCELERATOR, TLA_STAGE_GEMM, step);
            if (what.math && last) add(TLA_STAGE_UNIT_ACCELERATOR, TLA_STAGE_MATH, output);
            if (last) add(TLA_STAGE_UNIT_STORE, TLA_STAGE_STORE, output);
            if (last && what.writes) add(TLA_STAGE_UNIT_DMA_WRITE, TLA_STAGE_WRITE, output);
        }
    }

    bool can_begin(const stage_key &task) const {
        const tla_tile_operation &what = operations_[task.operation].what;
        const counters &c = counts_[task.operation];
        const std::uint64_t i = task.index, k = what.tiling.count_k;
        switch (task.stage) {
        case TLA_STAGE_FEED:
            return i - c.fetched < depth_; // buffers in use
        case TLA_STAGE_READ_A:
        case TLA_STAGE_READ_B:
            return c.fed > i;
        case TLA_STAGE_FETCH:
            return c.fed > i && (!what.reads_a || c.a > i) && (!what.reads_b || c.b > i) && registers_ > 0;
        case TLA_STAGE_GEMM:
            return c.fetched > i && (i % k != 0 || accumulators_ > 0);
        case TLA_STAGE_MATH:
            return what.gemm ? c.multiplied >= (i + 1) * k : c.fetched > i && accumulators_ > 0;
        case TLA_STAGE_STORE:
            return (what.math ? c.mathed > i : c.multiplied >= (i + 1) * k) && (!what.writes || i - c.written < depth_);
        default:
            return c.stored > i;
        }
    }

    bool begin_what_can(std::uint64_t now) {
        bool any = false;
        for (unit &e : engines_) {
            if (e.busy || e.at == e.tasks.size()) continue;
            const stage_key &task = e.tasks[e.at];
            const naive_operation &operation = operations_[task.operation];
            if (operation.arrival_ps > now || !can_begin(task)) continue;
            registers_ -= task.stage == TLA_STAGE_FETCH;
            accumulators_ -= (task.stage == TLA_STAGE_GEMM && task.index % operation.what.tiling.count_k == 0) ||
                             (task.stage == TLA_STAGE_MATH && !operation.what.gemm);
            times_[task] = {now, now + takes_(task)};
            e.busy = any = true;
        }
        return any;
    }

    bool end_what_is_over(std::uint64_t now) {
        bool any = false;
        for (unit &e : engines_) {
            if (!e.busy || times_.at(e.tasks[e.at]).end_ps > now) continue;
            const stage_key &task = e.tasks[e.at++];
            counters &c = counts_[task.operation];
            std::uint64_t *const counted[] = {&c.fed,        &c.a,      &c.b,      &c.fetched,
                                              &c.multiplied, &c.mathed, &c.stored, &c.written};
            ++*counted[task.stage];
            registers_ += task.stage == TLA_STAGE_GEMM ||
                          (task.stage == TLA_STAGE_MATH && !operations_[task.operation].what.gemm);
            accumulators_ += task.stage == TLA_STAGE_STORE;
            e.busy = false;
            any = true;
        }
        return any;
    }

    const std::uint64_t depth_;
    const std::vector<naive_operation> operations_;
    const stage_durations takes_;
    std::vector<counters> counts_;
    std::uint64_t registers_, accumulators_;
    unit engines_[TLA_STAGE_UNIT_COUNT];
    stage_times times_;
};

#endif
