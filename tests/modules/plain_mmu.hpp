// An MMU for the plain event model: a TLB of one or two levels, walkers, accesses over any number of pages, and
// mappings that change.
//
// The order: accesses are looked up in the order of their arrival, the pages of an access in the order of their
// addresses. A page that is queued for a walker holds up the rest of its access and every later access. An access
// leaves after every earlier access to the same bytes if one of both writes.
//
// With mappings (else every page is mapped for ever): a TLB entry serves until a change of its page is visible. A walk
// that a change of its page overtakes finds nothing: all that wait for it are looked up again. After a change is
// decided, nothing joins a walk that is under way; from the time at which it is visible on, nothing joins a walk that
// began before.
//
// A page's number has its address space above its lower 40 bits, so that address spaces share nothing. A change that is
// decided closes walks of its own address spaces.
//
// With ranges (and no tables in memory): beside the last TLB level are sets of pages that lead on. A change or an
// INVALIDATE of one of their pages drops them at once. A walk enters its page with the neighbours in its line of eight,
// unless a change was decided since it began, hides the page when it begins, or is not visible when it ends.
//
// With tables in memory a walk ends with the leaf entry that it has read. It fails, too, if that is not the latest
// entry that was decided when it began, unless a change of the page was under way then.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_MMU_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_MMU_HPP

#include "plain_event_model.hpp"
#include "plain_mappings.hpp"

#include <deque>
#include <list>
#include <set>

namespace plain {

class mmu {
  public:
    struct settings {
        std::uint32_t walkers, merge_slots;
        std::uint32_t tlb_entries = 0;
        picoseconds tlb_ps = 0;
        bool hit_under_miss = true;
        picoseconds overhead_ps = 0;
        bool ideal = false;             // the table answers: no TLB, no walks
        std::uint32_t tlb2_entries = 0; // of the second level
        picoseconds tlb2_ps = 0;
        std::uint32_t ranges = 0;
    };
    static constexpr std::uint64_t page = 4096;

    static constexpr unsigned asid_shift = 40; // of a page's number

    // Makes the walk for a page from `now` on, and calls `done` from an event at the walk's end.
    using walks = std::function<void(std::uint64_t page_number, picoseconds now, arrived done)>;
    // Instead, with tables in memory: `done` is told the leaf entry.
    using read_leaf = std::function<void(picoseconds, const translation &leaf)>;
    std::function<void(std::uint64_t page_number, picoseconds now, read_leaf done)> walk_in_memory;

    // What is known of an access when it leaves: a translation for each of its pages.
    using translations = std::vector<translation>;
    using leaving = std::function<void(picoseconds, const translations &)>;

    mmu(events &e, unsigned resource, const settings &how, walks make_walk, const mappings *maps = nullptr)
        : e_(e), resource_(resource), how_(how), make_walk_(std::move(make_walk)), maps_(maps) {
        if (how.tlb_entries > 0) tlb_.push_back({how.tlb_entries, how.tlb_ps, {}});
        if (how.tlb2_entries > 0) tlb_.push_back({how.tlb2_entries, how.tlb2_ps, {}});
        for (const tlb_level &level : tlb_)
            tlb_ps_ += level.latency;
    }

    struct access;
    using access_ptr = std::shared_ptr<access>;

    // With demand paging: told of an access that meets an unmapped page, and when. It waits for retry() or refuse().
    std::function<void(const access_ptr &, std::uint64_t page_number, picoseconds time)> fault;

    // The access is made again. It keeps its place in the order of accesses to the same bytes.
    void retry(const access_ptr &a, picoseconds now) {
        a->next = a->first;
        a->last = a->final;
        a->open = a->last - a->first + 1;
        a->settled = false;
        a->found.assign(a->open, {});
        a->end = now;
        look_up_behind(a, now);
    }
    void refuse(const access_ptr &a, picoseconds now) {
        a->end = now;
        fail(a, now);
    }

    // Mappings of these pages are changed: decided now and visible later, which may be not_said yet.
    void decided(const std::vector<std::uint64_t> &pages, picoseconds visible) {
        close_walks(pages);
        drop_ranges(pages);
        changes_++;
        if (visible != not_said) will_show(visible);
        for (tlb_level &level : tlb_)
            for (entry &e : level.list)
                if (std::find(pages.begin(), pages.end(), e.number) != pages.end())
                    e.until = std::min(e.until, visible);
    }
    // When that is visible.
    void show(picoseconds visible) {
        will_show(visible);
        for (tlb_level &level : tlb_)
            for (entry &e : level.list)
                if (e.until == not_said) e.until = visible;
    }

    // An access that arrives at `time`, which is now or (ahead) later. `done` is called with the time at which it
    // leaves as soon as that is known.
    void translate(bool write, std::uint64_t va, std::uint64_t nbytes, picoseconds time, bool ahead, arrived done) {
        translate(write, va, nbytes, time, ahead, [=](picoseconds at, const translations &) { done(at); });
    }
    void translate(bool write, std::uint64_t va, std::uint64_t nbytes, picoseconds time, bool ahead, leaving done) {
        const auto a = std::make_shared<access>();
        a->write = write;
        a->first_byte = va;
        a->last_byte = va + nbytes - 1;
        a->first = a->next = va / page;
        a->last = a->final = (va + nbytes - 1) / page;
        a->open = a->last - a->next + 1;
        a->found.resize(a->open);
        a->done = std::move(done);
        if (how_.overhead_ps == 0 && !ahead)
            arrive(a, time);
        else
            e_.at(time + how_.overhead_ps, resource_, 0, [=](picoseconds at) { arrive(a, at); });
    }

    // What is known of these pages is forgotten now.
    void invalidate(const std::vector<std::uint64_t> &pages) {
        close_walks(pages);
        drop_ranges(pages);
        const auto is_one = [&](const entry &e) {
            return std::find(pages.begin(), pages.end(), e.number) != pages.end();
        };
        for (tlb_level &level : tlb_)
            level.list.remove_if(is_one);
    }

    // Pages that joined a walk, and that waited for a walker, of accesses over several pages.
    std::uint64_t merged_of_split = 0, queued_of_split = 0;
    std::uint64_t repeated = 0; // lookups, because a change overtook their walk
    std::uint64_t ranged = 0;   // lookups that a range served

    struct access {
        std::uint64_t first = 0, next = 0, last = 0, final = 0,
                      open = 0; // pages; next: not looked up yet, open: without an answer
        translations found;
        std::uint64_t number = 0; // in the order of arrival
        picoseconds arrival = 0, end = 0;
        bool split = false, write = false, settled = false, translated = false;
        bool asked = false; // the host: nobody waits for it any more
        std::uint64_t first_byte = 0, last_byte = 0;
        leaving done;
    };

  private:
    struct walk {
        std::uint64_t number;
        std::vector<access_ptr> served; // the first is its own
        bool holds;
        bool begun = false, closed = false; // closed: nobody joins it
        picoseconds until = never;          // joined before
        // When it began: what was visible, the latest that was decided, and whether these differed.
        translation saw{}, decided{};
        bool governed = false;
        std::uint64_t changes = 0; // decided before it began
    };
    struct entry {
        std::uint64_t number;
        translation to;
        picoseconds until; // served to lookups before
    };
    struct tlb_level {
        std::size_t entries;
        picoseconds latency;
        std::list<entry> list; // oldest first
    };

    void will_show(picoseconds visible) {
        visible_.push_back(visible);
        for (walk &w : walks_)
            if (w.begun) w.until = std::min(w.until, visible);
    }
    void close_walks(const std::vector<std::uint64_t> &pages) {
        for (walk &w : walks_)
            for (const std::uint64_t page_number : pages)
                w.closed = w.closed || (w.begun && w.number >> asid_shift == page_number >> asid_shift);
    }

    void arrive(const access_ptr &a, picoseconds now) {
        a->split = a->next != a->last;
        here_.push_back(a);
        look_up_behind(a, now);
    }

    void look_up_behind(const access_ptr &a, picoseconds now) {
        a->arrival = now;
        a->number = arrived_++;
        front_.push_back(a);
        look_up_front(now);
    }

    void look_up_front(picoseconds now) {
        while (held_ == 0 && !front_.empty())
            look_up_next(now);
    }

    void look_up_next(picoseconds now) {
        const access_ptr a = front_.front();
        const std::uint64_t number = a->next++;
        // The pages behind one that fails are not looked up.
        if (!permits(a, number, now)) a->open -= std::exchange(a->last, number) - number;
        if (number == a->last) front_.pop_front();
        look_up(a, number, std::max(a->arrival, resumed_), now);
    }

    bool permits(const access_ptr &a, std::uint64_t number, picoseconds now) const {
        return !maps_ || maps_->at(number, now).permits(a->write);
    }

    // A page that has failed does not any more: those behind it are looked up after all.
    void find_rest(const access_ptr &a, std::uint64_t number) {
        if (number != a->last || a->last == a->final) return;
        a->open += a->final - a->last;
        a->last = a->final;
        rests_.push_back(a);
    }
    void look_up_rest(const access_ptr &a, picoseconds now) {
        const auto rest = std::find(rests_.begin(), rests_.end(), a);
        if (rest == rests_.end()) return;
        rests_.erase(rest);
        const auto later = [&](const access_ptr &other) { return other->number > a->number; };
        a->arrival = now;
        front_.insert(std::find_if(front_.begin(), front_.end(), later), a);
        while (held_ == 0 && !front_.empty() && front_.front() == a)
            look_up_next(now);
    }

    void look_up(const access_ptr &a, std::uint64_t number, picoseconds lookup, picoseconds now) {
        if (how_.ideal) {
            answer(a, number, maps_->at(number, now), now, now);
            return;
        }
        picoseconds known = lookup;
        for (std::size_t i = 0; i < tlb_.size(); i++) {
            known += tlb_[i].latency;
            std::list<entry> &list = tlb_[i].list;
            list.remove_if([=](const entry &e) { return e.until <= now; });
            const auto hit = std::find_if(list.begin(), list.end(), [=](const entry &e) { return e.number == number; });
            if (hit == list.end()) continue;
            list.splice(list.end(), list, hit); // the latest
            const entry found = *hit;
            for (std::size_t nearer = 0; nearer < i; nearer++)
                fill(tlb_[nearer], found, now);
            answer(a, number, found.to, std::max(known, now), now);
            return;
        }
        known = std::max(known, now);
        const auto near =
            std::find_if(ranges_.begin(), ranges_.end(), [=](const auto &r) { return r.count(number) > 0; });
        if (near != ranges_.end()) {
            ranged++;
            ranges_.splice(ranges_.begin(), ranges_, near); // the latest
            const translation to = maps_->at(number, now);
            for (std::size_t nearer = 0; nearer + 1 < tlb_.size(); nearer++)
                fill(tlb_[nearer], {number, to, never}, now);
            answer(a, number, to, known, now);
            return;
        }
        if (!how_.hit_under_miss) held_++;
        if (known > now)
            e_.at(known, resource_, 0, [=](picoseconds at) { miss(a, number, at); });
        else
            miss(a, number, now);
    }

    void answer(const access_ptr &a, std::uint64_t number, const translation &to, picoseconds known, picoseconds now) {
        a->found[number - a->first] = to;
        a->end = std::max(a->end, known);
        if (to.permits(a->write)) find_rest(a, number);
        a->open--;
        if (!ending_) settle(a, now);
    }

    // What is known of all its pages leaves, or fails.
    void settle(const access_ptr &a, picoseconds now) {
        if (a->open > 0 || std::exchange(a->settled, true)) return;
        a->found.resize(a->last - a->first + 1);
        const auto fails = [&](const translation &t) { return !t.permits(a->write); };
        const auto failed = std::find_if(a->found.begin(), a->found.end(), fails);
        if (failed == a->found.end()) {
            a->translated = true;
            if (!is_behind(a)) leave(a, now);
        } else if (fault && !failed->mapped) {
            a->asked = true;
            fault(a, a->first + static_cast<std::uint64_t>(failed - a->found.begin()), a->end);
            release_one(now);
        } else {
            fail(a, now);
        }
    }

    void fail(const access_ptr &a, picoseconds now) { // waits for nobody
        here_.remove(a);
        a->done(a->end, a->found);
        release_one(now);
    }

    static bool conflict(const access &a, const access &b) {
        return (a.write || b.write) && a.first_byte <= b.last_byte && b.first_byte <= a.last_byte;
    }

    bool is_behind(const access_ptr &a) const {
        for (const access_ptr &before : here_) {
            if (before == a) return false;
            if (!before->asked && conflict(*before, *a)) return true;
        }
        return false;
    }

    void leave(const access_ptr a, picoseconds now) { // a copy: the lists change
        for (const access_ptr &before : left_)
            if (conflict(*before, *a)) a->end = std::max(a->end, before->end);
        here_.remove(a);
        left_.remove_if([=](const access_ptr &before) { return before->end <= now; });
        left_.push_back(a);
        a->done(a->end, a->found);
        release_one(now);
    }

    void release_one(picoseconds now) {
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
                if (w.number == number && may_join(w, now)) { // with a slot or without: it hears of its end
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

    static bool may_join(const walk &w, picoseconds now) { return !w.closed && !(w.begun && now >= w.until); }

    void begin(std::list<walk>::iterator w, picoseconds now) {
        busy_++;
        w->begun = true;
        for (const picoseconds visible : visible_)
            if (visible > now) w->until = std::min(w->until, visible);
        if (maps_) {
            w->saw = maps_->at(w->number, now);
            w->changes = changes_;
            w->decided = maps_->latest(w->number);
            w->governed = maps_->holds_until(w->number, now) != never;
        }
        if (w->holds) release(now);
        w->holds = false;
        if (walk_in_memory)
            walk_in_memory(w->number, now, [=](picoseconds at, const translation &leaf) {
                finish(w, at, !w->governed && leaf != w->decided);
            });
        else
            make_walk_(w->number, now, [=](picoseconds at) { finish(w, at, false); });
    }

    // Lookups of what was held up began before, so that their results come right now.
    void release(picoseconds now) {
        held_--;
        resumed_ = now - tlb_ps_;
    }

    void finish(std::list<walk>::iterator w, picoseconds now, bool disturbed) {
        busy_--;
        const walk over = std::move(*w);
        walks_.erase(w);
        const bool overtaken = disturbed || (maps_ && over.saw != maps_->at(over.number, now));
        const translation to = maps_ ? maps_->at(over.number, now) : translation{true, over.number * page, true, true};
        for (tlb_level &level : tlb_)
            if (!overtaken && to.mapped)
                fill(level, {over.number, to, maps_ ? maps_->holds_until(over.number, now) : never}, now);
        if (how_.ranges > 0 && !overtaken && to.mapped) enter_range(over, now);
        if (!how_.hit_under_miss)
            for (std::size_t i = 0; i < over.served.size(); i++)
                release(now);
        // All that waited for it know their page, or are looked up again, and the next walks begin. Then the walk's own
        // goes on, then who joined it, then whose turn it is.
        ending_ = true;
        for (const access_ptr &a : over.served)
            if (overtaken) {
                repeated++;
                if (permits(a, over.number, now)) find_rest(a, over.number);
                look_up(a, over.number, now, now);
            } else {
                answer(a, over.number, to, now, now);
            }
        while (!waiting_.empty() && busy_ < how_.walkers) {
            const auto next = waiting_.front();
            waiting_.pop_front();
            begin(next, now);
        }
        ending_ = false;
        for (const access_ptr &a : over.served) {
            look_up_rest(a, now);
            settle(a, now);
        }
        look_up_front(now);
    }

    // --- ranges ---

    using range = std::set<std::uint64_t>;

    void drop_ranges(const std::vector<std::uint64_t> &pages) {
        const auto has = [&](const range &r) {
            return std::any_of(pages.begin(), pages.end(), [&](std::uint64_t number) { return r.count(number) > 0; });
        };
        ranges_.remove_if(has);
    }
    bool leads_on(std::uint64_t number, picoseconds now) const { // to the next page
        const translation a = maps_->at(number, now), b = maps_->at(number + 1, now);
        return a.mapped && b.mapped && a.reads == b.reads && a.writes == b.writes && a.pa + page == b.pa;
    }
    void enter_range(const walk &w, picoseconds now) {
        const auto hidden = [=](picoseconds visible) { return visible > now; };
        if (w.governed || w.changes != changes_ || std::any_of(visible_.begin(), visible_.end(), hidden)) return;
        range run{w.number};
        while (*run.begin() % 8 > 0 && leads_on(*run.begin() - 1, now))
            run.insert(*run.begin() - 1);
        while (*run.rbegin() % 8 < 7 && leads_on(*run.rbegin(), now))
            run.insert(*run.rbegin() + 1);
        const bool lone = run.size() == 1;
        const std::uint64_t first = *run.begin(), last = *run.rbegin();
        const std::size_t before = ranges_.size();
        range whole = run;
        ranges_.remove_if([&](const range &r) {
            const bool overlaps = std::any_of(run.begin(), run.end(), [&](std::uint64_t n) { return r.count(n) > 0; });
            const bool touches = overlaps || (*r.rbegin() + 1 == first && leads_on(first - 1, now)) ||
                                 (*r.begin() == last + 1 && leads_on(last, now));
            if (touches) whole.insert(r.begin(), r.end());
            return touches;
        });
        if (lone && ranges_.size() == before) return;
        ranges_.push_front(whole);
        if (ranges_.size() > how_.ranges) ranges_.pop_back();
    }

    static void fill(tlb_level &level, const entry &found, picoseconds now) {
        std::list<entry> &list = level.list;
        list.remove_if([=](const entry &e) { return e.until <= now; });
        const auto is_same = [&](const entry &e) { return e.number == found.number; };
        if (std::any_of(list.begin(), list.end(), is_same)) return;
        list.push_back(found);
        if (list.size() > level.entries) list.pop_front();
    }

    events &e_;
    const unsigned resource_;
    const settings how_;
    const walks make_walk_;
    const mappings *const maps_;
    std::vector<picoseconds> visible_; // when changes can be seen that have been decided
    std::list<walk> walks_;            // under way, then waiting
    std::deque<std::list<walk>::iterator> waiting_;
    std::deque<access_ptr> front_; // in the order of arrival; the first may be looked up in part
    std::deque<access_ptr> rests_;
    std::vector<tlb_level> tlb_;        // nearest first
    std::list<range> ranges_;           // latest first
    std::uint64_t changes_ = 0;         // decided so far
    picoseconds tlb_ps_ = 0;            // of all levels
    std::list<access_ptr> here_, left_; // in the order of arrival; that leave later
    std::uint64_t held_ = 0, busy_ = 0, arrived_ = 0;
    picoseconds resumed_ = 0;
    bool ending_ = false; // a walk: what waited for it is not settled yet
};

} // namespace plain
#endif
