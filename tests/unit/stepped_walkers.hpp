// A pool of walkers whose walks are begun, read level by level and finished: every read is an event of its own.
#ifndef TLMALLOC_TESTS_UNIT_STEPPED_WALKERS_HPP
#define TLMALLOC_TESTS_UNIT_STEPPED_WALKERS_HPP

#include "tlmalloc/vm/mmu.h"

#include <boost/test/unit_test.hpp>

#include <deque>
#include <functional>
#include <map>
#include <ostream>
#include <vector>

struct walk_answer {
    tla_walk_outcome outcome; // of a request that waited for a walker: started
    uint32_t skipped;
    uint64_t start_ps, done_ps; // of its walk; 0: not known yet

    bool operator==(const walk_answer &o) const {
        return outcome == o.outcome && skipped == o.skipped && start_ps == o.start_ps && done_ps == o.done_ps;
    }
};

inline std::ostream &operator<<(std::ostream &out, const walk_answer &a) {
    return out << "outcome " << a.outcome << ", skipped " << a.skipped << ", " << a.start_ps << " .. " << a.done_ps;
}

class stepped_walkers {
  public:
    // read_ps: what the memory takes for a read of a walk that started.
    using read_time = std::function<uint64_t(const tla_walk &walk, uint32_t level, uint64_t walk_start_ps)>;

    stepped_walkers(const tla_walkers_config &config, read_time read_ps) : read_ps_(std::move(read_ps)) {
        BOOST_REQUIRE_EQUAL(tla_walkers_create(&config, &walkers), TLA_OK);
    }
    ~stepped_walkers() { tla_walkers_destroy(walkers); }
    stepped_walkers(const stepped_walkers &) = delete;
    stepped_walkers &operator=(const stepped_walkers &) = delete;

    // A miss; the n-th has answers[n], complete when its walk has ended.
    tla_walk_outcome request(const tla_walk &walk, uint64_t at_ps) {
        advance(at_ps);
        requests_.emplace_back();
        entry &e = requests_.back();
        e.request.walk = walk;
        e.request.owner = &e;
        e.id = answers.size();
        answers.push_back({});
        const tla_walk_outcome outcome = tla_walkers_begin(walkers, &e.request, at_ps);
        answers[e.id].outcome = outcome;
        if (outcome == TLA_WALK_STARTED) read(e, at_ps);
        return outcome;
    }

    // When the last request no longer waits for a walker: its walk has started, or it has joined one.
    uint64_t accepted_ps() {
        const entry &last = requests_.back();
        while (last.request.outcome == TLA_WALK_QUEUED)
            advance(events_.begin()->first.first);
        return last.request.outcome == TLA_WALK_STARTED ? last.request.start_ps : last.request.asked_ps;
    }

    void advance(uint64_t to_ps) {
        while (!events_.empty() && events_.begin()->first.first <= to_ps) {
            const uint64_t now = events_.begin()->first.first;
            entry &e = *events_.begin()->second;
            events_.erase(events_.begin());
            if (++e.level < e.request.walk.reads)
                read_next(e, now);
            else
                finish(e, now);
        }
    }

    tla_walkers *walkers = nullptr;
    std::vector<walk_answer> answers;

  private:
    struct entry {
        tla_walk_request request{};
        size_t id = 0;
        uint32_t level = 0;
    };

    void finish(entry &e, uint64_t now) {
        tla_walk_request *told = tla_walkers_finish(walkers, &e.request, now, true);
        answers[e.id].done_ps = now;
        for (tla_walk_request *j = told; j; j = j->next)
            answers[static_cast<entry *>(j->owner)->id] = {j->outcome, 0, e.request.start_ps, now};
        while (tla_walk_request *next = tla_walkers_next(walkers)) {
            tla_walkers_start(walkers, next, now);
            read(*static_cast<entry *>(next->owner), now);
        }
    }
    void read(entry &e, uint64_t now) {
        e.level = e.request.first;
        answers[e.id] = {TLA_WALK_STARTED, e.request.first, now, 0};
        read_next(e, now);
    }
    // Ends at one time come in the order of the walkers.
    void read_next(entry &e, uint64_t now) {
        const uint64_t at = now + read_ps_(e.request.walk, e.level, e.request.start_ps);
        events_.emplace(std::pair{at, e.request.walker}, &e);
    }

    const read_time read_ps_;
    std::deque<entry> requests_;
    std::multimap<std::pair<uint64_t, uint32_t>, entry *> events_;
};

#endif
