// The scheduler as ../shared/reference/serving.md writes it down, sections 1 and 2.
#ifndef TLMALLOC_TESTS_UNIT_NAIVE_SCHEDULER_HPP
#define TLMALLOC_TESTS_UNIT_NAIVE_SCHEDULER_HPP

#include "naive_kv_blocks.hpp"
#include "serving/scheduler.h"

struct naive_scheduler {
    struct part {
        std::uint32_t request;
        std::uint64_t tokens, computed;
        bool yields;
    };
    struct state {
        std::uint64_t generated = 0, computed = 0, pending = 0;
        bool running = false, waiting = false, admitted = false;
        naive_kv_blocks::table table;
    };

    naive_scheduler(const tla_scheduler_rules &r, const tla_serving_requests &q)
        : rules(r), requests(q), blocks(r.blocks, r.index, r.kv_rules == TLA_KV_LMCACHE), states(q.count) {}

    std::uint64_t known(std::uint32_t r) const { return requests.items[r].prompt_tokens + states[r].generated; }
    std::uint64_t blocks_for(std::uint64_t tokens) const {
        return (tokens + rules.block_tokens - 1) / rules.block_tokens;
    }
    // Of the file where it says so, else a number that no other block has.
    std::vector<std::uint64_t> hashes(std::uint32_t r, std::uint64_t count) const {
        std::vector<std::uint64_t> made;
        for (std::uint64_t i = 0; i < count; i++)
            made.push_back(i < requests.items[r].block_count ? requests.items[r].blocks[i]
                                                             : 1000000000 + 100000ull * r + i);
        return made;
    }
    void enter(std::uint32_t r, std::uint64_t tokens) {
        blocks.enter(states[r].table, hashes(r, tokens / rules.block_tokens));
    }
    void arrive(std::uint32_t r) {
        waiting.push_back(r);
        states[r].waiting = true;
    }

    void schedule(std::vector<part> &step, std::uint32_t r, std::uint64_t n) {
        state &s = states[r];
        const bool yields = s.computed + n >= known(r) + s.pending;
        step.push_back({r, n, s.computed, yields});
        enter(r, std::min(s.computed + n, known(r)));
        s.computed += n;
        s.pending += yields;
    }

    std::vector<part> form() {
        std::vector<part> step;
        std::uint64_t budget = rules.step_tokens;
        bool preempted = false, itself = false;
        for (std::size_t i = 0; i < running.size() && budget > 0 && !itself; i++) {
            const std::uint32_t r = running[i];
            state &s = states[r];
            const std::uint64_t length = requests.items[r].prompt_tokens + requests.items[r].output_tokens;
            if (s.pending > 0 && s.computed + 2 - s.pending >= length) continue;
            const std::uint64_t n = std::min(known(r) + s.pending - std::min(s.computed, known(r) + s.pending), budget);
            if (n == 0) continue;
            while (!itself && !blocks.allocate(s.table, {}, blocks_for(s.computed + n))) {
                const std::uint32_t last = running.back();
                running.pop_back();
                blocks.release(states[last].table);
                states[last].computed = 0;
                states[last].running = false;
                states[last].waiting = true;
                waiting.push_front(last);
                preemptions++;
                preempted = true;
                itself = last == r;
            }
            if (itself) break;
            schedule(step, r, n);
            budget -= n;
        }
        while (!preempted && !waiting.empty() && budget > 0 && running.size() < rules.sequences) {
            const std::uint32_t r = waiting.front();
            state &s = states[r];
            const std::vector<std::uint32_t> found = blocks.find(hashes(r, (known(r) - 1) / rules.block_tokens));
            const std::uint64_t hit = found.size() * rules.block_tokens, n = std::min(known(r) - hit, budget);
            const bool gate = !rules.gate || blocks.needed(s.table, found, blocks_for(known(r))) <= blocks.idle();
            if (!gate || !blocks.allocate(s.table, found, blocks_for(hit + n))) break;
            waiting.pop_front();
            s.waiting = false;
            s.running = true;
            running.push_back(r);
            (s.admitted ? recomputed : hits) += s.admitted ? known(r) - hit : hit;
            s.admitted = true;
            s.computed = hit;
            schedule(step, r, n);
            budget -= n;
        }
        if (!step.empty()) flights.push_back(step);
        return step;
    }

    void process() {
        const std::vector<part> step = flights.front();
        flights.pop_front();
        for (const part &p : step) {
            state &s = states[p.request];
            if (!p.yields) continue;
            s.generated++;
            s.pending--;
            if (s.generated == requests.items[p.request].output_tokens) {
                if (s.running) running.erase(std::find(running.begin(), running.end(), p.request));
                if (s.waiting) waiting.erase(std::find(waiting.begin(), waiting.end(), p.request));
                s.running = s.waiting = false;
                blocks.release(s.table);
            } else if (s.running) {
                enter(p.request, s.computed - s.pending);
            }
        }
    }

    tla_scheduler_rules rules;
    const tla_serving_requests &requests;
    naive_kv_blocks blocks;
    std::vector<state> states;
    std::vector<std::uint32_t> running;
    std::deque<std::uint32_t> waiting;
    std::deque<std::vector<part>> flights;
    std::uint64_t preemptions = 0, hits = 0, recomputed = 0;
};

#endif
