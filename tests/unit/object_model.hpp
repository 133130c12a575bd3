// References and pins as naively as can be: for each block the contexts that hold it, in the order in which they came.
#ifndef TLMALLOC_TESTS_UNIT_OBJECT_MODEL_HPP
#define TLMALLOC_TESTS_UNIT_OBJECT_MODEL_HPP

#include "object_store_bench.hpp"

#include <algorithm>
#include <utility>

struct naive_block {
    std::uint64_t nbytes = 0;
    std::vector<std::uint64_t> held[2]{}; // contexts, in the order in which they came to hold something
    std::uint64_t until = UINT64_MAX, pinned = 0;
    std::vector<std::uint64_t> came{}; // contexts that hold something now, the one that came first in front
};

inline std::uint64_t context(std::uint64_t who) {
    return who == nobody ? who : (who & ~TLA_WHO_TRUSTED) >> 32;
}

inline void take_one(naive_block &block, int kind, std::uint64_t who) {
    block.held[kind].push_back(context(who));
    if (std::find(block.came.begin(), block.came.end(), context(who)) == block.came.end())
        block.came.push_back(context(who));
}

inline void forget_idle(naive_block &block) {
    block.came.erase(std::remove_if(block.came.begin(), block.came.end(),
                                    [&](std::uint64_t c) {
                                        return std::count(block.held[0].begin(), block.held[0].end(), c) +
                                                   std::count(block.held[1].begin(), block.held[1].end(), c) ==
                                               0;
                                    }),
                     block.came.end());
}

inline tla_status give_one(naive_block &block, int kind, std::uint64_t who) {
    if (block.held[kind].empty()) return TLA_NOT_ALLOCATED;
    std::vector<std::uint64_t> order{context(who), nobody};
    if (who == nobody || who & TLA_WHO_TRUSTED) order.insert(order.end(), block.came.begin(), block.came.end());
    for (std::uint64_t c : order) {
        const auto at = std::find(block.held[kind].begin(), block.held[kind].end(), c);
        if (at == block.held[kind].end()) continue;
        block.held[kind].erase(at);
        forget_idle(block);
        return TLA_OK;
    }
    return TLA_NOT_OWNER;
}

// Random calls to a bench, or commands, and to the model.
template <typename Bench>
void check_against_model(const tla_pe_memory_config &config, unsigned operations) {
    Bench b(config);
    tla_pe_memory *plain = nullptr; // sees what the model lets through
    BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &plain), TLA_OK);
    std::map<std::uint64_t, naive_block> live;
    seeded_random random(17);
    const std::uint64_t askers[] = {nobody, asid(1), asid(2), asid(3), asid(2) | TLA_WHO_TRUSTED};
    std::uint64_t refusals[3] = {}, timeouts = 0, peak = 0;
    const auto settle = [&](std::uint64_t pa) {
        const naive_block &block = live.at(pa);
        if (!block.held[0].empty() || !block.held[1].empty()) return;
        tla_pe_memory_set_owner(plain, {0, nobody, b.now});
        BOOST_REQUIRE_EQUAL(tla_pe_memory_free(plain, {pa}, block.nbytes, nullptr), TLA_OK);
        live.erase(pa);
    };
    for (unsigned i = 0; i < operations; i++) {
        const std::uint64_t who = askers[random.between(0, 4)];
        b.now += random.between(0, 40);
        for (;;) { // time-outs first, one by one
            auto next = live.end();
            for (auto at = live.begin(); at != live.end(); ++at)
                if (!at->second.held[1].empty() && at->second.until < b.now &&
                    (next == live.end() || std::pair{at->second.until, at->second.pinned} <
                                               std::pair{next->second.until, next->second.pinned}))
                    next = at;
            BOOST_REQUIRE_EQUAL(b.end_pins(), next == live.end() ? TLA_NOT_FOUND : TLA_OK);
            if (next == live.end()) break;
            BOOST_REQUIRE_EQUAL(b.ended(), next->first);
            next->second.held[1].clear();
            forget_idle(next->second);
            settle(next->first);
            timeouts++;
        }
        if (live.empty() || random.between(0, 9) == 0) {
            const tla_stack_request request{random.between(1, 60000), 0, TLA_FORMAT_UNDEFINED};
            const tla_memory_kind kind = random.one_in(4) ? TLA_TCM : TLA_HBM;
            std::uint64_t pa = 0;
            tla_site expected{};
            tla_pe_memory_set_owner(plain, {0, who, b.now});
            tla_pe_memory_set_owner(b.memory, {0, who, b.now});
            const tla_status status = b.take(kind, request, who, pa);
            BOOST_REQUIRE_EQUAL(status, tla_pe_memory_take(plain, kind, &request, &expected, nullptr));
            if (status) continue;
            BOOST_REQUIRE_EQUAL(pa, expected.pa.value);
            live[pa] = naive_block{request.nbytes};
            take_one(live[pa], 0, who);
            peak = std::max<std::uint64_t>(peak, live.size());
            continue;
        }
        auto at = std::next(live.begin(), std::ptrdiff_t(random.between(0, live.size() - 1)));
        const std::uint64_t pa = at->first;
        naive_block &block = at->second;
        tla_status expected = TLA_OK, status = TLA_OK;
        switch (random.between(0, 5)) {
        case 0:
            status = b.ref(pa, who);
            take_one(block, 0, who);
            break;
        case 1:
            block.until = random.one_in(3) ? UINT64_MAX : b.now + random.between(1, 3000);
            status = b.pin(pa, who, block.until == UINT64_MAX ? UINT64_MAX : block.until - b.now);
            take_one(block, 1, who);
            block.pinned = i;
            break;
        case 2:
            status = b.unpin(pa, who);
            expected = give_one(block, 1, who);
            break;
        default: // as often as there are ALLOCs and REFs
            status = b.unref(pa, who);
            expected = give_one(block, 0, who);
        }
        BOOST_REQUIRE_EQUAL(tla_status_name(status), tla_status_name(expected));
        refusals[status == TLA_NOT_OWNER ? 1 : status == TLA_NOT_ALLOCATED ? 2 : 0]++;
        if (!status) {
            b.check_counts(block.held[0].size(), block.held[1].size(), block.nbytes);
        }
        settle(pa);
        BOOST_REQUIRE_EQUAL(b.used(), tla_pe_memory_get_stats(plain, TLA_HBM).used);
        BOOST_REQUIRE_EQUAL(b.used(TLA_TCM), tla_pe_memory_get_stats(plain, TLA_TCM).used);
    }
    std::uint64_t references = 0, pins = 0;
    for (const auto &[pa, block] : live)
        references += block.held[0].size(), pins += block.held[1].size();
    BOOST_CHECK_EQUAL(b.stats(TLA_HBM).references + b.stats(TLA_TCM).references, references);
    BOOST_CHECK_EQUAL(b.stats(TLA_HBM).pins + b.stats(TLA_TCM).pins, pins);
    for (std::uint64_t n : {refusals[0], refusals[1], refusals[2], timeouts})
        BOOST_CHECK_GT(n, operations / 1000);
    BOOST_CHECK_GT(peak, 5u);
    tla_pe_memory_destroy(plain);
}

#endif
