// An MMU for the plain event model: a TLB, walkers, and accesses over any number of pages.
//
// The order: accesses are looked up in the order of their arrival, the pages of an access in the order of their
// addresses. A page that is queued for a walker holds up the rest of its access and every later access. An access
// leaves after every earlier access to the same bytes if one of both writes.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_MMU_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_MMU_HPP

#include "plain_event_model.hpp"

#include <deque>
#include <list>

namespace plain {

class mmu {
  public:
    struct settings {
        std::uint32_t walkers, merge_slots;
        std::uint32_t tlb_entries = 0;
        picoseconds tlb_ps = 0;
        bool hit_under_miss = true;
        picoseconds overhead_ps = 0;
    };
    static constexpr std::uint64_t page = 4096;

    // Makes the walk for a page from `now` on, and calls `done` from an event at the walk's end.
    using walks = std::function<void(std::uint64_t page_number, picoseconds now, arrived done)>;

    mmu(events &e, unsigned resource, const settings &how, walks make_walk)
        : e_(e), resource_(resource), how_(how), make_walk_(std::move(make_walk)) {}

    // An access that arrives at `time`, which is now or (ahead) later. `done` is called with the time at which it
    // leaves as soon as that is known.
    void translate(bool write, std::uint64_t va, std::uint64_t nbytes, picoseconds time, bool ahead, arrived done) {
        const auto a = std::make_shared<access>();
        a->write = write;
        a->first_byte = va;
        a->last_byte = va + nbytes - 1;
        a->next = va / page;
        a->last = (va + nbytes - 1) / page;
        a->open = a->last - a->next + 1;
        a->done = std::move(done);
        if (how_.overhead_ps == 0 && !ahead)
            arrive(a, time);
        else
            e_.at(time + how_.overhead_ps, resource_, 0, [=](picoseconds at) { arrive(a, at); });
    }

    // Pages that joined a walk, and that waited for a walker, of accesses over several pages.
    std::uint64_t merged_of_split = 0, queued_of_split = 0;

  private:
    struct access {
        std::uint64_t next = 0, last = 0, open = 0; // pages: not looked up yet, and without an answer
        picoseconds arrival = 0, end = 0;
        bool split = false, write = false, translated = false;
        std::uint64_t first_byte = 0, last_byte = 0;
        arrived done;
    };
    using access_ptr = std::shared_ptr<access>;
    struct walk {
        std::uint64_t number;
        std::vector<access_ptr> served; // the first is its own
        bool holds;
    };

    void arrive(const access_ptr &a, picoseconds now) {
        a->arrival = now;
        a->split = a->next != a->last;
        front_.push_back(a);
        here_.push_back(a);
        look_up_front(now);
    }

    void look_up_front(picoseconds now) {
        while (held_ == 0 && !front_.empty()) {
            const access_ptr a = front_.front();
            const std::uint64_t number = a->next++;
            if (number == a->last) front_.pop_front();
            look_up(a, number, std::max(a->arrival, resumed_), now);
        }
    }

    void look_up(const access_ptr &a, std::uint64_t number, picoseconds lookup, picoseconds now) {
        const picoseconds known = std::max(lookup + how_.tlb_ps, now);
        const auto hit = std::find(tlb_.begin(), tlb_.end(), number);
        if (hit != tlb_.end()) {
            tlb_.splice(tlb_.end(), tlb_, hit); // the latest
            answer(a, known, now);
            return;
        }
        if (!how_.hit_under_miss) held_++;
        if (known > now)
            e_.at(known, resource_, 0, [=](picoseconds at) { miss(a, number, at); });
        else
            miss(a, number, now);
    }

    void answer(const access_ptr &a, picoseconds known, picoseconds now) {
        a->end = std::max(a->end, known);
        if (--a->open > 0) return;
        a->translated = true;
        if (!is_behind(a)) leave(a, now);
    }

    static bool conflict(const access &a, const access &b) {
        return (a.write || b.write) && a.first_byte <= b.last_byte && b.first_byte <= a.last_byte;
    }

    bool is_behind(const access_ptr &a) const {
        for (const access_ptr &before : here_) {
            if (before == a) return false;
            if (conflict(*before, *a)) return true;
        }
        return false;
    }

    void leave(const access_ptr a, picoseconds now) { // a copy: the lists change
        for (const access_ptr &before : left_)
            if (conflict(*before, *a)) a->end = std::max(a->end, before->end);
        here_.remove(a);
        left_.remove_if([=](const access_ptr &before) { return before->end <= now; });
        left_.push_back(a);
        a->done(a->end);
        for (const access_ptr &next : here_)
            if (next->translated && !is_behind(next)) {
                next->end = std::max(next->end, now);
                leave(next, now); // and what waited for that
                return;
            }
    }

    void miss(const access_ptr &a, std::uint64_t number, picoseconds now) {
        if (how_.merge_slots > 0)
            for (walk &w : walks_)
                if (w.number == number) { // with a slot or without: it hears of its end
                    w.served.push_back(a);
                    merged_of_split += a->split;
                    return;
                }
        walks_.push_back({number, {a}, false});
        const auto mine = std::prev(walks_.end());
        if (busy_ < how_.walkers && waiting_.empty()) {
            begin(mine, now);
            return;
        }
        waiting_.push_back(mine);
        queued_of_split += a->split;
        mine->holds = how_.hit_under_miss;
        held_ += mine->holds;
    }

    void begin(std::list<walk>::iterator w, picoseconds now) {
        busy_++;
        if (w->holds) release(now);
        w->holds = false;
        make_walk_(w->number, now, [=](picoseconds at) { finish(w, at); });
    }

    // Lookups of what was held up began before, so that their results come right now.
    void release(picoseconds now) {
        held_--;
        resumed_ = now - how_.tlb_ps;
    }

    void finish(std::list<walk>::iterator w, picoseconds now) {
        busy_--;
        const walk over = std::move(*w);
        walks_.erase(w);
        if (how_.tlb_entries > 0 && std::find(tlb_.begin(), tlb_.end(), over.number) == tlb_.end()) {
            tlb_.push_back(over.number);
            if (tlb_.size() > how_.tlb_entries) tlb_.pop_front();
        }
        if (!how_.hit_under_miss)
            for (std::size_t i = 0; i < over.served.size(); i++)
                release(now);
        // The walk's own goes on first, then who joined it, then whose turn it is.
        for (const access_ptr &a : over.served)
            answer(a, now, now);
        while (!waiting_.empty() && busy_ < how_.walkers) {
            const auto next = waiting_.front();
            waiting_.pop_front();
            begin(next, now);
        }
        look_up_front(now);
    }

    events &e_;
    const unsigned resource_;
    const settings how_;
    const walks make_walk_;
    std::list<walk> walks_; // under way, then waiting
    std::deque<std::list<walk>::iterator> waiting_;
    std::deque<access_ptr> front_;      // the first may be looked up in part
    std::list<std::uint64_t> tlb_;      // oldest first
    std::list<access_ptr> here_, left_; // in the order of arrival; that leave later
    std::uint64_t held_ = 0, busy_ = 0;
    picoseconds resumed_ = 0;
};

} // namespace plain
#endif
