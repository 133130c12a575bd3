// The book of resident pages: its victims beside a plain list, for random programs of both policies.
#include "model/kernel/resident_pages.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace {

const std::uint64_t page = 4096;

struct book {
    explicit book(tla_eviction policy) {
        tla_resident_pages *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_resident_pages_create(policy, &made), TLA_OK);
        pages.reset(made);
    }
    void add(std::uint32_t memory, std::uint64_t number) {
        BOOST_REQUIRE_EQUAL(tla_resident_pages_add(pages.get(), memory, {number * page}), TLA_OK);
    }
    void remove(std::uint64_t first, std::uint64_t count) {
        tla_resident_pages_remove(pages.get(), {first * page}, count * page);
    }

    // `used` loses the pages whose bits are read. UINT64_MAX: no victim.
    std::uint64_t search(std::uint32_t memory, std::vector<std::uint64_t> &used) {
        tla_resident_pages_search(pages.get(), memory);
        tla_vaddr asked[TLA_RESIDENT_PAGES_ASKED_MAX];
        reads = 0;
        while (const std::size_t count = tla_resident_pages_ask(pages.get(), asked)) {
            reads++;
            BOOST_REQUIRE_LE(count, std::size_t{TLA_RESIDENT_PAGES_ASKED_MAX});
            std::uint64_t bits = 0;
            for (std::size_t i = 0; i < count; i++) {
                const auto at = std::find(used.begin(), used.end(), asked[i].value / page);
                bits |= std::uint64_t{at != used.end()} << i;
                if (at != used.end()) used.erase(at);
            }
            tla_resident_pages_answer(pages.get(), bits);
        }
        tla_vaddr victim{};
        return tla_resident_pages_victim(pages.get(), &victim) ? victim.value / page : UINT64_MAX;
    }

    std::unique_ptr<tla_resident_pages, void (*)(tla_resident_pages *)> pages{nullptr, tla_resident_pages_destroy};
    unsigned reads = 0;
};

// The pages of one memory as a list: clock, the next page that the hand meets first; lru, the least recently used
// first.
struct plain_pages {
    struct entry {
        std::uint64_t number;
        bool referenced;
    };
    tla_eviction policy;
    std::vector<entry> all{};

    void add(std::uint64_t number) { all.push_back({number, false}); }
    void remove(std::uint64_t first, std::uint64_t count) {
        all.erase(std::remove_if(all.begin(), all.end(),
                                 [=](const entry &e) { return e.number >= first && e.number < first + count; }),
                  all.end());
    }
    // As many bits as are read at a time.
    void read(std::size_t from, std::vector<std::uint64_t> &used) {
        for (std::size_t i = from; i < std::min(all.size(), from + TLA_RESIDENT_PAGES_ASKED_MAX); i++) {
            const auto at = std::find(used.begin(), used.end(), all[i].number);
            all[i].referenced |= at != used.end();
            if (at != used.end()) used.erase(at);
        }
    }
    std::uint64_t search(std::vector<std::uint64_t> &used) {
        if (all.empty()) return UINT64_MAX;
        if (policy == TLA_EVICTION_LRU) {
            for (std::size_t i = 0; i < all.size(); i += TLA_RESIDENT_PAGES_ASKED_MAX)
                read(i, used);
            std::stable_partition(all.begin(), all.end(), [](const entry &e) { return !e.referenced; });
            for (entry &e : all)
                e.referenced = false;
            return all.front().number;
        }
        std::size_t known = 0; // pages in front of the hand whose bits this search has read
        for (std::size_t met = 0; met < all.size(); met++, known--) {
            if (known == 0) {
                std::vector<entry> circle(all.begin(), all.end() - static_cast<std::ptrdiff_t>(met));
                known = std::min<std::size_t>(circle.size(), TLA_RESIDENT_PAGES_ASKED_MAX);
                plain_pages part{policy, circle};
                part.all.resize(known);
                part.read(0, used);
                std::copy(part.all.begin(), part.all.end(), all.begin());
            }
            entry front = all.front();
            std::rotate(all.begin(), all.begin() + 1, all.end());
            all.back().referenced = false;
            if (!front.referenced) return front.number;
        }
        std::rotate(all.begin(), all.begin() + 1, all.end());
        return all.back().number;
    }
};

void check_random_programs(tla_eviction policy) {
    for (std::uint64_t seed = 1; seed <= 300; seed++) {
        std::mt19937_64 random(seed);
        book ours(policy);
        std::vector<plain_pages> plain{{policy}, {policy}, {policy}};
        const std::uint64_t most = 1 + random() % 200;
        std::uint64_t next = 0;
        std::vector<std::uint64_t> used;
        for (unsigned step = 0; step < 400; step++) {
            const std::uint32_t memory = static_cast<std::uint32_t>(random() % plain.size());
            plain_pages &there = plain[memory];
            if (there.all.size() < most && random() % 3) {
                ours.add(memory, next);
                there.add(next++);
            } else if (random() % 16 == 0) {
                const std::uint64_t first = random() % (next + 1), count = random() % 8;
                ours.remove(first, count);
                for (plain_pages &p : plain)
                    p.remove(first, count);
            } else {
                for (std::uint64_t i = random() % (2 * most); i > 0 && next > 0; i--)
                    used.push_back(random() % next);
                std::sort(used.begin(), used.end());
                used.erase(std::unique(used.begin(), used.end()), used.end());
                std::vector<std::uint64_t> same = used;
                const std::uint64_t victim = ours.search(memory, used), expected = there.search(same);
                BOOST_REQUIRE_MESSAGE(victim == expected, "seed " << seed << ", step " << step << ": page " << victim
                                                                  << ", should be " << expected);
                BOOST_REQUIRE_MESSAGE(used == same, "seed " << seed << ", step " << step << ": other bits are read");
                if (victim != UINT64_MAX && random() % 4) {
                    ours.remove(victim, 1);
                    there.remove(victim, 1);
                }
            }
            std::size_t count = 0;
            for (const plain_pages &p : plain)
                count += p.all.size();
            BOOST_REQUIRE_EQUAL(tla_resident_pages_count(ours.pages.get()), count);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_victims_of_clock_are_those_of_a_plain_list) {
    check_random_programs(TLA_EVICTION_CLOCK);
}

BOOST_AUTO_TEST_CASE(the_victims_of_lru_are_those_of_a_plain_list) {
    check_random_programs(TLA_EVICTION_LRU);
}

BOOST_AUTO_TEST_CASE(the_hand_spares_referenced_pages_once) {
    book b(TLA_EVICTION_CLOCK);
    for (std::uint64_t number = 0; number < 4; number++)
        b.add(0, number);
    std::vector<std::uint64_t> used{0, 1, 3};
    BOOST_CHECK_EQUAL(b.search(0, used), 2u);
    b.remove(2, 1);
    b.add(0, 4);                              // behind the hand
    BOOST_CHECK_EQUAL(b.search(0, used), 0u); // the bit of page 3 was read before, and is spent now
    used = {0, 1, 3, 4};
    BOOST_CHECK_EQUAL(b.search(0, used), 1u); // all are referenced: after a circle, the page where the hand began
}

BOOST_AUTO_TEST_CASE(the_page_leaves_that_no_search_has_found_used_for_the_longest_time) {
    book b(TLA_EVICTION_LRU);
    for (std::uint64_t number = 0; number < 3; number++)
        b.add(0, number);
    std::vector<std::uint64_t> used{0};
    BOOST_CHECK_EQUAL(b.search(0, used), 1u);
    used = {1};
    BOOST_CHECK_EQUAL(b.search(0, used), 2u);
    used = {2};
    BOOST_CHECK_EQUAL(b.search(0, used), 0u);
}

BOOST_AUTO_TEST_CASE(the_bits_of_64_pages_are_read_at_a_time) {
    for (const auto &[policy, reads] : {std::pair(TLA_EVICTION_CLOCK, 1u), {TLA_EVICTION_LRU, 4u}}) {
        book b(policy);
        for (std::uint64_t number = 0; number < 200; number++)
            b.add(7, number);
        std::vector<std::uint64_t> used{0, 1};
        BOOST_CHECK_EQUAL(b.search(7, used), 2u);
        BOOST_CHECK_EQUAL(b.reads, reads);
    }
}

BOOST_AUTO_TEST_CASE(a_memory_without_pages_has_no_victim) {
    book b(TLA_EVICTION_CLOCK);
    std::vector<std::uint64_t> used;
    BOOST_CHECK_EQUAL(b.search(0, used), UINT64_MAX);
    b.add(0, 5);
    b.remove(5, 1);
    BOOST_CHECK_EQUAL(b.search(0, used), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(only_policies_of_eviction_have_a_book) {
    for (const int policy : {int(TLA_EVICTION_OFF), int(TLA_EVICTION_COUNT), -1}) {
        tla_resident_pages *made = nullptr;
        BOOST_CHECK_EQUAL(tla_resident_pages_create(static_cast<tla_eviction>(policy), &made), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!made);
    }
    BOOST_CHECK_EQUAL(tla_eviction_name(TLA_EVICTION_LRU), "lru");
    BOOST_CHECK(!tla_eviction_name(TLA_EVICTION_COUNT));
}
