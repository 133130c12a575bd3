// An engine that is a vector walked from the front, as naively as can be; what it answers next can be falsified.
#ifndef TLMALLOC_TESTS_UNIT_NAIVE_ENGINE_HPP
#define TLMALLOC_TESTS_UNIT_NAIVE_ENGINE_HPP

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

struct naive_engine {
    // What it takes: as the engine in RTL, a cycle a node, with a period of 1 ns.
    static constexpr tla_cost_profile prices = [] {
        tla_cost_profile p{};
        p.fixed_ps = p.node_ps = p.insert_node_ps = p.node_created_ps = p.node_released_ps = p.clock_ps = 1000;
        p.free_ps = 2000;
        p.class_lookup_ps = p.list_pop_ps = p.list_push_ps = p.driver_call_ps = 1000;
        return p;
    }();

    std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
    std::size_t nodes = 0;
    std::uint64_t asked = 0, last_cycles = 0, behind_each = 0; // answer
    std::function<void(tla_engine_answer &)> next;             // changes the next answer
    tla_status silent = TLA_OK;                                // what it does in place of the next answer

    tla_engine as_engine() {
        tla_engine e{};
        e.name = "naive";
        e.policy = TLA_FIRST_FIT;
        e.capacity_max = std::uint64_t{1} << 33;
        e.nodes_max = 64;
        e.state = this;
        e.restart = [](void *self, std::uint64_t capacity, std::uint64_t most, tla_error *) {
            auto &engine = *static_cast<naive_engine *>(self);
            engine.list = {{0, capacity}};
            engine.nodes = most;
            return TLA_OK;
        };
        e.serve = [](void *self, const tla_engine_request *request, tla_engine_answer *answer, tla_error *error) {
            return static_cast<naive_engine *>(self)->serve(*request, *answer, error);
        };
        e.destroy = [](void *) {};
        return e;
    }

  private:
    tla_status serve(const tla_engine_request &request, tla_engine_answer &answer, tla_error *error) {
        asked++;
        if (silent) return tla_error_set(error, silent, "it sleeps");
        answer = request.give_back ? give_back(request) : take(request.size);
        last_cycles = answer.cycles;
        answer.behind = behind_each;
        if (next) std::exchange(next, nullptr)(answer);
        return TLA_OK;
    }
    tla_engine_answer take(std::uint64_t size) {
        for (std::size_t i = 0; i < list.size(); i++) {
            if (list[i].second < size) continue;
            const std::uint64_t offset = list[i].first;
            const bool whole = list[i].second == size;
            list[i] = {offset + size, list[i].second - size};
            if (whole) list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
            return {TLA_ENGINE_DONE, offset, 1 + i + 1 + whole, 0};
        }
        return {TLA_ENGINE_NO_BLOCK, 0, 1 + list.size(), 0};
    }
    tla_engine_answer give_back(const tla_engine_request &r) {
        std::size_t i = 0;
        while (i < list.size() && list[i].first < r.offset)
            i++;
        const bool before = i > 0 && list[i - 1].first + list[i - 1].second == r.offset,
                   behind = i < list.size() && r.offset + r.size == list[i].first;
        const bool overlaps = (i > 0 && list[i - 1].first + list[i - 1].second > r.offset) ||
                              (i < list.size() && r.offset + r.size > list[i].first);
        const std::uint64_t walk = i + 1;
        if (overlaps) return {TLA_ENGINE_NOT_TAKEN, 0, 1 + walk, 0};
        if (!before && !behind && list.size() == nodes) return {TLA_ENGINE_NO_NODE, 0, 2 + walk, 0};
        const auto at = list.begin() + static_cast<std::ptrdiff_t>(i);
        if (before && behind) {
            list[i - 1].second += r.size + list[i].second;
            list.erase(at);
        } else if (before) {
            list[i - 1].second += r.size;
        } else if (behind) {
            list[i] = {r.offset, r.size + list[i].second};
        } else {
            list.insert(at, {r.offset, r.size});
        }
        return {TLA_ENGINE_DONE, r.offset, 2 + walk + (before == behind), 0};
    }
};

#endif
