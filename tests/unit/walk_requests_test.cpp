// Walks whose end nobody knows at their start, beside a naive pool of walkers that computes every walk as a whole.
#include "stepped_walkers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <list>
#include <random>
#include <tuple>
#include <vector>

namespace {

const uint64_t KiB = 1024, MiB = 1024 * KiB, GiB = 1024 * MiB, page = 4 * KiB;

// What the memory takes for a read: anything, but the same for whoever asks.
uint64_t read_ps(const tla_walk &walk, uint32_t level, uint64_t walk_start_ps) {
    uint64_t key = (walk.va.value / page * 31 + level) * 0x9E3779B97F4A7C15u + walk_start_ps * 0xD1B54A32D192ED03u;
    return 1000 + (key >> 40) % 400'000;
}

// The naive pool: knows the whole future of a walk when it starts, and keeps lists.
class naive_walkers {
  public:
    explicit naive_walkers(const tla_walkers_config &config) : config_(config), pool_(config.walkers) {}

    // Requests in the order of time; the answer to the n-th is answers[n], complete after advance(UINT64_MAX).
    void request(const tla_walk &walk, uint64_t at_ps) {
        advance(at_ps);
        const size_t id = answers.size();
        answers.push_back({});
        asked_.push_back(at_ps);
        const uint64_t to = walk.va.value / walk.page_size * walk.page_size;
        std::vector<job *> same;
        if (config_.merge_slots)
            for (job &j : jobs_) // those that started stand before those that wait, both in order
                if (!j.over && j.page == to && j.walk.asid == walk.asid) same.push_back(&j);
        for (job *j : same)
            if (j->merged.size() < config_.merge_slots) {
                j->merged.push_back(id);
                answers[id].outcome = TLA_WALK_MERGED;
                return;
            }
        if (!same.empty()) {
            same.front()->outside.push_back(id);
            answers[id].outcome = TLA_WALK_WAITED;
            return;
        }
        jobs_.push_back({walk, to, id, false, false, {}, {}});
        answers[id].outcome = TLA_WALK_STARTED;
        waiting_.push_back(&jobs_.back());
        start_waiting(at_ps);
    }

    void advance(uint64_t to_ps) {
        for (;;) {
            size_t next = pool_.size();
            for (size_t i = 0; i < pool_.size(); i++)
                if (pool_[i].of && pool_[i].end_ps <= to_ps &&
                    (next == pool_.size() || pool_[i].end_ps < pool_[next].end_ps))
                    next = i;
            if (next == pool_.size()) return;
            place &p = pool_[next];
            job &j = *p.of;
            p.of = nullptr;
            j.over = true;
            for (auto *list : {&j.merged, &j.outside})
                for (size_t id : *list)
                    answers[id] = {answers[id].outcome, 0, answers[j.id].start_ps, p.end_ps};
            for (size_t id : j.outside)
                stall_ps += p.end_ps - asked_[id];
            learn(p, j.walk);
            while (jobs_.front().over && jobs_.size() > 1)
                jobs_.pop_front();
            start_waiting(p.end_ps);
        }
    }

    std::vector<walk_answer> answers;
    uint64_t stall_ps = 0, reads = 0;

  private:
    struct job {
        tla_walk walk;
        uint64_t page;
        size_t id;
        bool started, over;
        std::vector<size_t> merged, outside;
    };
    struct place {
        job *of = nullptr;
        uint64_t end_ps = 0;
        std::vector<std::pair<uint32_t, uint64_t>> path; // shift, prefix
        uint32_t asid = 0;
    };
    using entry = std::tuple<uint32_t, uint32_t, uint64_t>; // asid, shift, prefix

    static std::vector<uint32_t> upper_shifts(const tla_walk &walk) {
        std::vector<uint32_t> shifts;
        for (uint32_t i = 0; i + 1 < walk.reads; i++)
            if (uint64_t{1} << walk.read[i].va_shift > walk.page_size) shifts.push_back(walk.read[i].va_shift);
        return shifts;
    }

    void learn(place &p, const tla_walk &walk) {
        p.path.clear();
        p.asid = walk.asid;
        for (uint32_t shift : upper_shifts(walk)) {
            const uint64_t prefix = walk.va.value >> shift;
            if (config_.path_registers) p.path.emplace_back(shift, prefix);
            const entry e{walk.asid, shift, prefix};
            cache_.remove(e);
            cache_.push_back(e);
            if (cache_.size() > config_.walk_cache_entries) cache_.pop_front();
        }
    }

    bool knows(const place &p, const tla_walk &walk, uint32_t shift) const {
        const std::pair<uint32_t, uint64_t> part{shift, walk.va.value >> shift};
        const entry e{walk.asid, shift, part.second};
        return (p.asid == walk.asid && std::find(p.path.begin(), p.path.end(), part) != p.path.end()) ||
               std::find(cache_.begin(), cache_.end(), e) != cache_.end();
    }

    void start_waiting(uint64_t at_ps) {
        while (!waiting_.empty()) {
            size_t i = 0;
            while (i < pool_.size() && pool_[i].of)
                i++;
            if (i == pool_.size()) return;
            job &j = *waiting_.front();
            waiting_.pop_front();
            place &p = pool_[i];
            p.of = &j;
            const std::vector<uint32_t> shifts = upper_shifts(j.walk);
            uint32_t skipped = static_cast<uint32_t>(shifts.size());
            while (skipped > 0 && !knows(p, j.walk, shifts[skipped - 1]))
                skipped--;
            p.end_ps = at_ps;
            for (uint32_t level = skipped; level < j.walk.reads; level++)
                p.end_ps += read_ps(j.walk, level, at_ps);
            answers[j.id] = {TLA_WALK_STARTED, skipped, at_ps, p.end_ps};
            reads += j.walk.reads - skipped;
            stall_ps += at_ps - asked_[j.id];
        }
    }

    const tla_walkers_config config_;
    std::vector<place> pool_;
    std::list<job> jobs_;
    std::deque<job *> waiting_;
    std::vector<uint64_t> asked_;
    std::list<entry> cache_;
};

struct table_fixture {
    table_fixture() {
        tla_page_table_config config{};
        config.page_size = page;
        config.larger_page_sizes[0] = 2 * MiB;
        config.va_bits = 48;
        config.asids = 2;
        BOOST_REQUIRE_EQUAL(tla_page_table_create(&config, &table), TLA_OK);
        for (uint32_t asid = 0; asid < 2; asid++) {
            const tla_map_entry entries[] = {{{0}, {page}, GiB, TLA_READ, asid}, // small pages
                                             {{2 * GiB}, {4 * GiB}, GiB, TLA_READ, asid}};
            BOOST_REQUIRE_EQUAL(tla_page_table_map(table, entries, 2, nullptr, nullptr), TLA_OK);
        }
    }
    ~table_fixture() { tla_page_table_destroy(table); }
    table_fixture(const table_fixture &) = delete;
    table_fixture &operator=(const table_fixture &) = delete;

    // Streams, pages that were touched lately, anywhere (also where nothing is mapped), two address spaces.
    tla_walk random_walk(std::mt19937_64 &random) {
        const uint64_t what = random() % 8;
        if (what == 0)
            last = random() % (4 * GiB);
        else if (what < 4)
            last += random() % (3 * page);
        else if (what == 4)
            last ^= 2 * MiB;
        tla_walk walk{};
        tla_page_table_walk(table, static_cast<uint32_t>(random() % 8 == 0), {last}, &walk);
        return walk;
    }

    tla_page_table *table = nullptr;
    uint64_t last = 0;
};

tla_walkers_config random_config(std::mt19937_64 &random) {
    tla_walkers_config config{};
    const uint32_t walkers[] = {1, 2, 5, 8, 64, 130};
    const uint32_t slots[] = {0, 1, 3, 32};
    config.walkers = walkers[random() % 6];
    config.merge_slots = slots[random() % 4];
    config.walk_cache_entries = random() % 2 ? 0 : static_cast<uint32_t>(1 + random() % 12);
    config.path_registers = random() % 2;
    return config;
}

} // namespace

BOOST_AUTO_TEST_CASE(walks_of_any_length_beside_each_other_agree_with_a_naive_pool) {
    uint64_t unanswered = 0; // requests that wait for a walker or join a walk
    for (unsigned seed = 1; seed <= 60; seed++) {
        std::mt19937_64 random(seed);
        const tla_walkers_config config = random_config(random);
        table_fixture f;
        naive_walkers naive(config);
        stepped_walkers real(config, read_ps);
        const uint64_t gap = uint64_t{1} << random() % 20;
        uint64_t now = 0;
        for (unsigned i = 0; i < 3000; i++) {
            now += random() % 16 ? random() % gap : 0;
            const tla_walk walk = f.random_walk(random);
            naive.request(walk, now);
            real.request(walk, now);
            unanswered += naive.answers.back().done_ps == 0;
        }
        naive.advance(UINT64_MAX);
        real.advance(UINT64_MAX);
        for (size_t i = 0; i < naive.answers.size(); i++)
            BOOST_REQUIRE_MESSAGE(naive.answers[i] == real.answers[i], "seed " << seed << ", request " << i << ": "
                                                                               << real.answers[i]
                                                                               << ", naive: " << naive.answers[i]);
        const tla_walkers_stats s = tla_walkers_get_stats(real.walkers);
        BOOST_CHECK_EQUAL(s.stall_ps, naive.stall_ps);
        BOOST_CHECK_EQUAL(s.reads, naive.reads);
        BOOST_CHECK_EQUAL(tla_walkers_begun(real.walkers), 0u);
        BOOST_CHECK_EQUAL(s.requests, 3000u);
    }
    BOOST_CHECK_GT(unanswered, 60u * 3000 / 10);
}

BOOST_AUTO_TEST_CASE(waiting_requests_get_a_walker_in_order_and_other_requests_join_them) {
    table_fixture f;
    tla_walkers_config config{};
    config.walkers = 1;
    config.merge_slots = 1;
    tla_walkers *walkers = nullptr;
    BOOST_REQUIRE_EQUAL(tla_walkers_create(&config, &walkers), TLA_OK);
    std::deque<tla_walk_request> r(6);
    const uint64_t va[] = {0, page, 2 * page, page, page, 3 * page};
    for (size_t i = 0; i < r.size(); i++) {
        tla_page_table_walk(f.table, 0, {va[i]}, &r[i].walk);
        tla_walkers_begin(walkers, &r[i], 100 * i);
    }
    BOOST_CHECK_EQUAL(r[0].outcome, TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(r[1].outcome, TLA_WALK_QUEUED);
    BOOST_CHECK_EQUAL(r[2].outcome, TLA_WALK_QUEUED);
    BOOST_CHECK_EQUAL(r[3].outcome, TLA_WALK_MERGED);
    BOOST_CHECK_EQUAL(r[4].outcome, TLA_WALK_WAITED);
    BOOST_CHECK_EQUAL(r[5].outcome, TLA_WALK_QUEUED);
    BOOST_CHECK(!tla_walkers_next(walkers));
    BOOST_CHECK(!tla_walkers_finish(walkers, &r[0], 10'000, true));
    BOOST_CHECK_EQUAL(tla_walkers_next(walkers), &r[1]);
    tla_walkers_start(walkers, &r[1], 10'000);
    BOOST_CHECK(!tla_walkers_next(walkers));
    uint32_t number = UINT32_MAX;
    BOOST_CHECK_EQUAL(tla_walkers_under_way(walkers, &number), &r[1]);
    BOOST_CHECK_EQUAL(number, 0u);
    BOOST_CHECK(!tla_walkers_under_way(walkers, &number));
    tla_walk_request *told = tla_walkers_finish(walkers, &r[1], 20'000, true);
    BOOST_CHECK_EQUAL(told, &r[3]);
    BOOST_CHECK_EQUAL(told->next, &r[4]);
    BOOST_CHECK_EQUAL(tla_walkers_next(walkers), &r[2]);
    tla_walkers_start(walkers, &r[2], 20'000);
    tla_walkers_finish(walkers, &r[2], 30'000, true);
    BOOST_CHECK_EQUAL(tla_walkers_next(walkers), &r[5]);
    tla_walkers_destroy(walkers);
}

BOOST_AUTO_TEST_CASE(a_walker_that_is_idle_again_is_for_the_request_that_waits) {
    table_fixture f;
    tla_walkers_config config{};
    config.walkers = 1;
    tla_walkers *walkers = nullptr;
    BOOST_REQUIRE_EQUAL(tla_walkers_create(&config, &walkers), TLA_OK);
    tla_walk_request requests[3] = {};
    for (uint64_t i = 0; i < 3; i++)
        BOOST_REQUIRE_EQUAL(tla_page_table_walk(f.table, 0, {i * page}, &requests[i].walk), TLA_OK);
    BOOST_CHECK_EQUAL(tla_walkers_begin(walkers, &requests[0], 0), TLA_WALK_STARTED);
    BOOST_CHECK_EQUAL(tla_walkers_begin(walkers, &requests[1], 1), TLA_WALK_QUEUED);
    BOOST_CHECK(!tla_walkers_finish(walkers, &requests[0], 10, true));
    BOOST_CHECK_EQUAL(tla_walkers_begin(walkers, &requests[2], 10), TLA_WALK_QUEUED);
    for (uint64_t i : {1u, 2u}) {
        BOOST_REQUIRE(tla_walkers_next(walkers) == &requests[i]);
        tla_walkers_start(walkers, &requests[i], 10 * i);
        BOOST_CHECK(!tla_walkers_finish(walkers, &requests[i], 10 * i + 10, true));
    }
    tla_walkers_destroy(walkers);
}

BOOST_AUTO_TEST_CASE(a_walk_that_ends_badly_or_was_invalidated_is_not_remembered) {
    table_fixture f;
    tla_walkers_config config{};
    config.walkers = 1;
    config.merge_slots = 4;
    config.walk_cache_entries = 8;
    config.path_registers = true;
    for (const bool good : {false, true}) {
        tla_walkers *walkers = nullptr;
        BOOST_REQUIRE_EQUAL(tla_walkers_create(&config, &walkers), TLA_OK);
        std::deque<tla_walk_request> r(3);
        for (size_t i = 0; i < r.size(); i++)
            tla_page_table_walk(f.table, 0, {i * page}, &r[i].walk);
        tla_walkers_begin(walkers, &r[0], 0);
        if (good) tla_walkers_invalidate(walkers, 0); // a change came meanwhile
        tla_walk_request late{};
        late.walk = r[0].walk;
        if (good) BOOST_CHECK_EQUAL(tla_walkers_begin(walkers, &late, 5), TLA_WALK_QUEUED); // nobody joins it
        tla_walkers_finish(walkers, &r[0], 10, good);
        if (good) {
            BOOST_CHECK_EQUAL(tla_walkers_next(walkers), &late);
            tla_walkers_start(walkers, &late, 10);
            BOOST_CHECK_EQUAL(late.first, 0u);
            tla_walkers_finish(walkers, &late, 20, false);
        }
        tla_walkers_begin(walkers, &r[1], 30);
        BOOST_CHECK_EQUAL(r[1].first, 0u);
        tla_walkers_finish(walkers, &r[1], 40, true);
        tla_walkers_begin(walkers, &r[2], 50);
        BOOST_CHECK_EQUAL(r[2].first, 3u);
        tla_walkers_destroy(walkers);
    }
}
