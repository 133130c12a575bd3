// Accounts of time: nothing is lost or charged twice, and chains are those that decided.
#include "seeded_random.hpp"
#include "tlmalloc/base/time_account.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {

struct destroy {
    void operator()(tla_time_account *account) const { tla_time_account_destroy(account); }
};
using account_ptr = std::unique_ptr<tla_time_account, destroy>;

account_ptr begin_at(std::uint64_t at_ps) {
    tla_time_account *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_time_account_create(&made), TLA_OK);
    tla_time_account_begin(made, at_ps);
    return account_ptr(made);
}

struct stretch {
    std::uint64_t begin_ps, end_ps;
    std::map<tla_time_kind, std::uint64_t> sums;
    bool after_a_message;
};

std::vector<stretch> read(const account_ptr &account) {
    const tla_time_stretch *all = nullptr;
    const tla_time_sum *sums = nullptr;
    const std::size_t count = tla_time_account_stretches(account.get(), &all, &sums);
    std::vector<stretch> found;
    for (std::size_t i = 0; i < count; i++) {
        found.push_back({all[i].begin_ps, all[i].end_ps, {}, all[i].after_a_message});
        for (std::size_t j = 0; j < all[i].count; j++)
            found.back().sums[sums[all[i].first + j].charge.kind] += sums[all[i].first + j].ps;
    }
    return found;
}

tla_time_part part(tla_time_kind kind, std::uint64_t begin_ps, std::uint64_t end_ps) {
    return {{kind, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, begin_ps, end_ps};
}

std::string text(const std::vector<tla_time_part> &parts) {
    std::string result;
    for (const tla_time_part &p : parts)
        result += std::string(tla_time_kind_name(p.charge.kind)) + " " + std::to_string(p.begin_ps) + "-" +
                  std::to_string(p.end_ps) + "; ";
    return result;
}

std::string chain_of(const std::vector<tla_access_times> &chunks, std::size_t window, std::uint64_t from_ps,
                     std::uint64_t to_ps) {
    std::vector<tla_time_part> parts;
    tla_time_chain_of_transfer(
        chunks.data(), chunks.size(), window, from_ps, to_ps,
        [](void *list, const tla_time_part *one) { static_cast<std::vector<tla_time_part> *>(list)->push_back(*one); },
        &parts);
    std::reverse(parts.begin(), parts.end());
    return text(parts);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_kind_has_a_name_of_its_own) {
    std::map<std::string, int> names;
    for (int kind = 0; kind < TLA_TIME_KIND_COUNT; kind++)
        names[tla_time_kind_name(static_cast<tla_time_kind>(kind))]++;
    BOOST_CHECK_EQUAL(names.size(), std::size_t{TLA_TIME_KIND_COUNT});
    BOOST_CHECK(!tla_time_kind_name(TLA_TIME_KIND_COUNT));
}

BOOST_AUTO_TEST_CASE(time_that_has_passed_is_charged_once) {
    const account_ptr account = begin_at(100);
    tla_time_account_pass(account.get(), 110, TLA_TIME_DISPATCH);
    tla_time_account_pass(account.get(), 105, TLA_TIME_ALLOC); // lies behind
    const tla_time_part parts[] = {part(TLA_TIME_WALK, 90, 115), part(TLA_TIME_BANK, 120, 200)};
    tla_time_account_pass_parts(account.get(), 130, parts, 2, TLA_TIME_ENGINE_QUEUE);
    const std::vector<stretch> found = read(account);
    BOOST_REQUIRE_EQUAL(found.size(), 1u);
    BOOST_CHECK_EQUAL(found[0].end_ps, 130u);
    auto sums = found[0].sums;
    BOOST_CHECK_EQUAL(sums.size(), 4u);
    BOOST_CHECK_EQUAL(sums[TLA_TIME_DISPATCH], 10u);
    BOOST_CHECK_EQUAL(sums[TLA_TIME_WALK], 5u);
    BOOST_CHECK_EQUAL(sums[TLA_TIME_BANK], 10u);
    BOOST_CHECK_EQUAL(sums[TLA_TIME_ENGINE_QUEUE], 5u);
}

BOOST_AUTO_TEST_CASE(messages_cut_an_account_into_stretches) {
    const account_ptr account = begin_at(0);
    tla_time_account_send(account.get()); // at the beginning, which is a cut
    tla_time_account_pass(account.get(), 10, TLA_TIME_DISPATCH);
    tla_time_account_receive(account.get(), 3, 4);
    tla_time_account_send(account.get()); // in the same moment: behind the message that has come
    tla_time_account_pass(account.get(), 30, TLA_TIME_ALLOC);
    const std::vector<stretch> found = read(account);
    BOOST_REQUIRE_EQUAL(found.size(), 3u);
    BOOST_CHECK_EQUAL(found[0].end_ps, 10u);
    BOOST_CHECK(!found[0].after_a_message && found[1].after_a_message && !found[2].after_a_message);
    BOOST_CHECK_EQUAL(found[1].begin_ps, 10u);
    BOOST_CHECK_EQUAL(found[1].end_ps, 10u);
    BOOST_CHECK_EQUAL(found[2].end_ps, 30u);
}

BOOST_AUTO_TEST_CASE(without_an_account_nothing_happens) {
    tla_time_account_begin(nullptr, 1);
    tla_time_account_pass(nullptr, 2, TLA_TIME_ALLOC);
    tla_time_account_send(nullptr);
    tla_time_account_receive(nullptr, 0, 0);
    const tla_time_stretch *stretches = nullptr;
    const tla_time_sum *sums = nullptr;
    BOOST_CHECK_EQUAL(tla_time_account_stretches(nullptr, &stretches, &sums), 0u);
    BOOST_CHECK(!tla_time_account_is_complete(nullptr));
    tla_time_account_destroy(nullptr);
}

// Two places for chunks: the third is issued when the first has ended, the second when the first has been issued.
BOOST_AUTO_TEST_CASE(a_transfer_waits_for_what_let_its_last_chunk_begin) {
    const tla_access_times first{10, 10, 12, 20, 30, 35, 40, false, 0, 0, 0},
        second{14, 14, 34, 36, 37, 38, 39, true, 0, 0, 0}, third{40, 40, 50, 51, 60, 61, 70, true, 0, 0, 0};
    BOOST_CHECK_EQUAL(chain_of({first, second, third}, 2, 5, 70),
                      "engine_queue 5-10; lookup 10-12; link 12-20; bank 20-30; link 30-35; tcm 35-40; walk 40-50; "
                      "link 50-51; bank 51-60; link 60-61; tcm 61-70; ");
    BOOST_CHECK_EQUAL(chain_of({first, second}, 2, 10, 45),
                      "lookup 10-12; link 12-20; bank 20-30; link 30-35; tcm 35-40; issue 40-45; ");
    const tla_access_times late{14, 14, 34, 36, 47, 48, 49, true, 0, 0, 0};
    BOOST_CHECK_EQUAL(chain_of({first, late}, 2, 10, 49),
                      "issue 10-14; walk 14-34; link 34-36; bank 36-47; link 47-48; tcm 48-49; ");
    BOOST_CHECK_EQUAL(chain_of({}, 2, 10, 49), "engine_queue 10-49; ");
}

// A write reads the TCM first; of an access by physical address no MMU knows.
BOOST_AUTO_TEST_CASE(stages_that_an_access_skips_take_no_time) {
    const tla_access_times write{10, 13, 15, 20, 30, 0, 33, false, 0, 0, 0},
        physical{10, 10, 0, 20, 30, 35, 40, false, 0, 0, 0};
    BOOST_CHECK_EQUAL(chain_of({write}, 2, 10, 33), "tcm 10-13; lookup 13-15; link 15-20; bank 20-30; link 30-33; ");
    BOOST_CHECK_EQUAL(chain_of({physical}, 2, 10, 40), "link 10-20; bank 20-30; link 30-35; tcm 35-40; ");
}

BOOST_AUTO_TEST_CASE(an_access_that_waits_for_a_block_that_moves_is_charged_for_it) {
    const tla_access_times read{10, 10, 22, 25, 30, 35, 40, false, 0, 0, 0, 20};
    BOOST_CHECK_EQUAL(chain_of({read}, 2, 10, 40),
                      "move 10-20; lookup 20-22; link 22-25; bank 25-30; link 30-35; tcm 35-40; ");
}

BOOST_AUTO_TEST_CASE(an_access_is_charged_for_its_page_faults_before_or_after_it_waits_for_a_block) {
    const auto chain_of_read = [](std::uint64_t entered_ps, bool walked, std::uint64_t translated_ps = 30) {
        return chain_of({{10, 10, translated_ps, 31, 35, 0, 40, walked, 0, 0, 0, entered_ps, 14, 24}}, 2, 10, 40);
    };
    const std::string rest = "link 30-31; bank 31-35; link 35-40; ";
    BOOST_CHECK_EQUAL(chain_of_read(0, false), "lookup 10-14; fault 14-24; lookup 24-30; " + rest);
    BOOST_CHECK_EQUAL(chain_of_read(0, true), "walk 10-14; fault 14-24; walk 24-30; " + rest);
    BOOST_CHECK_EQUAL(chain_of_read(12, false), "move 10-12; lookup 12-14; fault 14-24; lookup 24-30; " + rest);
    BOOST_CHECK_EQUAL(chain_of_read(27, false), "lookup 10-14; fault 14-24; move 24-27; lookup 27-30; " + rest);
    BOOST_CHECK_EQUAL(chain_of_read(20, false), "lookup 10-14; fault 14-24; lookup 24-30; " + rest); // its other part
    const tla_access_times failed{10, 10, 0, 0, 0, 24, 24, false, 0, 0, 0, 0, 14, 24};
    BOOST_CHECK_EQUAL(chain_of({failed}, 2, 10, 24), "lookup 10-14; fault 14-24; ");
}

BOOST_AUTO_TEST_CASE(chains_of_random_transfers_have_no_gap_and_no_overlap) {
    seeded_random random(19);
    for (int round = 0; round < 2000; round++) {
        const auto upto = [&](std::uint64_t most) { return random.between(0, most); };
        std::vector<tla_access_times> chunks(upto(12));
        const std::uint64_t from_ps = upto(50), window = 1 + upto(3);
        std::uint64_t issued_ps = from_ps + upto(5), end_ps = from_ps;
        for (std::size_t i = 0; i < chunks.size(); i++) {
            tla_access_times &c = chunks[i];
            if (i >= window) issued_ps = std::max(issued_ps, chunks[i - window].end_ps);
            c.start_ps = issued_ps;
            issued_ps += upto(4);
            c.sent_ps = c.start_ps + upto(1);
            c.translated_ps = c.sent_ps + upto(9);
            if (random.one_in(2)) c.entered_ps = c.sent_ps + upto(9);
            if (random.one_in(2)) c.faulted_ps = c.sent_ps + upto(9), c.resumed_ps = c.faulted_ps + upto(9);
            c.arrived_ps = c.translated_ps + upto(9);
            c.served_ps = c.arrived_ps + upto(9);
            c.returned_ps = c.served_ps + upto(9);
            c.end_ps = c.returned_ps + upto(1);
            end_ps = std::max(end_ps, c.end_ps);
        }
        const std::uint64_t to_ps = end_ps + upto(3);
        std::vector<tla_time_part> parts;
        tla_time_chain_of_transfer(
            chunks.data(), chunks.size(), window, from_ps, to_ps,
            [](void *list, const tla_time_part *p) { static_cast<std::vector<tla_time_part> *>(list)->push_back(*p); },
            &parts);
        std::uint64_t at_ps = to_ps;
        for (const tla_time_part &p : parts) {
            BOOST_REQUIRE_EQUAL(p.end_ps, at_ps);
            BOOST_REQUIRE_LT(p.begin_ps, p.end_ps);
            at_ps = p.begin_ps;
        }
        BOOST_REQUIRE_EQUAL(at_ps, from_ps);
    }
}

BOOST_AUTO_TEST_CASE(the_chain_of_overlapping_stages_holds_those_that_were_waited_for) {
    std::vector<tla_time_span> spans{{0, 10, 0}, {2, 12, 1}, {12, 20, 2}, {15, 19, 3}, {25, 30, 4}};
    std::string chain;
    const auto visit = [](void *to, std::size_t what, std::uint64_t begin_ps, std::uint64_t end_ps) {
        *static_cast<std::string *>(to) +=
            std::to_string(what) + ": " + std::to_string(begin_ps) + "-" + std::to_string(end_ps) + "; ";
    };
    tla_time_chain_of_spans(spans.data(), spans.size(), 5, 30, visit, &chain);
    BOOST_CHECK_EQUAL(chain, "4: 25-30; 2: 12-20; 1: 5-12; ");
}

BOOST_AUTO_TEST_CASE(a_watcher_gets_every_part_in_the_order_of_time) {
    const account_ptr account = begin_at(100);
    std::vector<tla_time_part> told;
    const auto tell = [](void *context, const tla_time_part *part) {
        static_cast<std::vector<tla_time_part> *>(context)->push_back(*part);
    };
    tla_time_account_watch(account.get(), tell, &told);
    const tla_time_part link{{TLA_TIME_LINK, 7, TLA_TIME_NOWHERE}, 130, 150};
    tla_time_account_pass(account.get(), 120, TLA_TIME_ALLOC);
    tla_time_account_pass(account.get(), 110, TLA_TIME_ALLOC); // it is there already
    tla_time_account_pass_parts(account.get(), 160, &link, 1, TLA_TIME_ENGINE_QUEUE);
    BOOST_REQUIRE_EQUAL(told.size(), 3);
    std::uint64_t at_ps = 100;
    for (const tla_time_part &part : told) {
        BOOST_CHECK_EQUAL(part.begin_ps, at_ps);
        at_ps = part.end_ps;
    }
    BOOST_CHECK_EQUAL(at_ps, 160);
    BOOST_CHECK_EQUAL(told[0].charge.kind, TLA_TIME_ALLOC);
    BOOST_CHECK_EQUAL(told[1].charge.kind, TLA_TIME_LINK);
    BOOST_CHECK_EQUAL(told[1].charge.place, 7);
    BOOST_CHECK_EQUAL(told[1].end_ps - told[1].begin_ps, 20);
    tla_time_account_watch(account.get(), nullptr, nullptr);
    tla_time_account_pass(account.get(), 200, TLA_TIME_ALLOC);
    BOOST_CHECK_EQUAL(told.size(), 3);
    tla_time_account_watch(nullptr, tell, &told); // nothing happens
}
