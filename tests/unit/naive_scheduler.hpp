// The scheduler as ../shared/reference/serving.md writes it down, sections 1 and 2.
#ifndef TLMALLOC_TESTS_UNIT_NAIVE_SCHEDULER_HPP
#define TLMALLOC_TESTS_UNIT_NAIVE_SCHEDULER_HPP

#include <list>

#include "naive_kv_blocks.hpp"
#include "serving/scheduler.h"

// The second tier, as one list from what was used longest ago to what was used last.
struct naive_host {
    struct entry {
        std::uint64_t hash;
        unsigned readers;
    };
    std::list<entry>::iterator at(std::uint64_t hash) {
        return std::find_if(entries.begin(), entries.end(), [hash](const entry &e) { return e.hash == hash; });
    }
    void put(std::uint64_t hash) {
        if (capacity == 0) return;
        if (at(hash) != entries.end()) {
            kept++;
            return;
        }
        if (entries.size() == capacity) {
            const auto oldest =
                std::find_if(entries.begin(), entries.end(), [](const entry &e) { return e.readers == 0; });
            if (oldest == entries.end()) {
                lost++;
                return;
            }
            entries.erase(oldest);
            evicted++;
        }
        entries.push_back({hash, 0});
        moved_out++;
    }
    void begin_read(const std::vector<std::uint64_t> &hashes) {
        for (std::size_t i = hashes.size(); i-- > 0;) {
            at(hashes[i])->readers++;
            entries.splice(entries.end(), entries, at(hashes[i]));
        }
        reading += hashes.size();
    }
    void end_read(const std::vector<std::uint64_t> &hashes) {
        for (const std::uint64_t hash : hashes)
            at(hash)->readers--;
        reading -= hashes.size();
    }
    std::uint64_t read() const {
        return static_cast<std::uint64_t>(
            std::count_if(entries.begin(), entries.end(), [](const entry &e) { return e.readers > 0; }));
    }
    std::uint64_t capacity, budget, reading = 0, kept = 0, lost = 0, evicted = 0, moved_out = 0, moved_in = 0;
    std::list<entry> entries{};
};

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
        : rules(r), requests(q), blocks(r.blocks, r.index, r.kv_rules == TLA_KV_LMCACHE),
          host{r.host_blocks, std::min<std::uint64_t>(r.host_budget ? r.host_budget : r.host_blocks, r.host_blocks)},
          states(q.count) {
        blocks.leaves = [this](std::uint64_t hash) { host.put(hash); };
    }

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
        std::vector<std::uint64_t> reads;
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
            const std::vector<std::uint64_t> wanted = hashes(r, (known(r) - 1) / rules.block_tokens);
            const std::vector<std::uint32_t> found = blocks.find(wanted);
            std::vector<std::uint64_t> in_host;
            for (std::size_t i = found.size(); i < wanted.size() && in_host.size() < host.budget; i++) {
                if (host.at(wanted[i]) == host.entries.end()) break;
                in_host.push_back(wanted[i]);
            }
            const std::uint64_t hit_here = found.size() * rules.block_tokens,
                                hit = hit_here + in_host.size() * rules.block_tokens,
                                n = std::min(known(r) - hit, budget);
            const bool gate = !rules.gate || blocks.needed(s.table, found, blocks_for(known(r))) <= blocks.idle();
            if (!gate || blocks.needed(s.table, found, blocks_for(hit + n)) > blocks.idle()) break;
            if (host.reading + in_host.size() > host.budget) {
                if (!in_host.empty()) break; // a budget that others have
            }
            host.begin_read(in_host);
            host.moved_in += in_host.size();
            reads.insert(reads.end(), in_host.begin(), in_host.end());
            blocks.allocate(s.table, found, blocks_for(hit + n));
            waiting.pop_front();
            s.waiting = false;
            s.running = true;
            running.push_back(r);
            (s.admitted ? recomputed : hits) += s.admitted ? known(r) - hit : hit_here;
            if (!s.admitted) host_hits += hit - hit_here;
            s.admitted = true;
            s.computed = hit;
            schedule(step, r, n);
            budget -= n;
        }
        if (!step.empty()) {
            flights.push_back(step);
            read_by.push_back(reads);
        }
        return step;
    }

    void process() {
        const std::vector<part> step = flights.front();
        flights.pop_front();
        host.end_read(read_by.front());
        read_by.pop_front();
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
    naive_host host;
    std::vector<state> states;
    std::vector<std::uint32_t> running;
    std::deque<std::uint32_t> waiting;
    std::deque<std::vector<part>> flights;
    std::deque<std::vector<std::uint64_t>> read_by; // what each of them reads of the second tier
    std::uint64_t preemptions = 0, hits = 0, host_hits = 0, recomputed = 0;
};

#endif
