// An arena with an engine behind it and one without: random requests of every kind, the same blocks and statuses.
#ifndef TLMALLOC_TESTS_ENGINE_BEHIND_ARENA_HPP
#define TLMALLOC_TESTS_ENGINE_BEHIND_ARENA_HPP

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"
#include "unit/seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

class arena_pair {
  public:
    static constexpr std::uint64_t unit = 64;

    // The arenas have `units` units from a multiple of all of them on; the engine is `with`'s from here on. Prices are
    // those that the engine is said to have: `exact` says that they are to the picosecond.
    arena_pair(tla_engine engine, std::uint64_t units, const tla_cost_profile &cost, bool exact)
        : policy_(engine.policy), units_(units), cost_(cost), exact_(exact) {
        std::uint64_t base = unit;
        while (base < units * unit)
            base *= 2;
        const tla_arena_config config{base, units * unit, engine.policy, unit, true};
        for (auto *arena : {&with, &without}) {
            tla_arena *made = nullptr;
            BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &made), TLA_OK);
            arena->reset(made);
        }
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_arena_drive(with.get(), &engine, 0, &error) == TLA_OK, error.text);
    }

    void play(int operations, std::uint64_t seed) {
        seeded_random random(seed);
        for (int i = 0; i < operations; i++) {
            const std::uint64_t what = random.between(0, 99);
            if (what < 2)
                take(random.between(1, 2) * units_ * unit + random.between(1, unit), unit); // more than there is
            else if (what < 45)
                take(random.between(1, units_ * unit / 16), random.one_in(8) ? unit << random.between(0, 4) : unit);
            else if (what < 90)
                give_back(random);
            else if (what < 94)
                take_batch(random.between(1, units_ * unit / 256), random.between(1, 20), TLA_BATCH_CONTIGUOUS);
            else if (what < 97)
                take_batch(random.between(1, units_ * unit / 256), random.between(1, 20), TLA_BATCH_CARVED);
            else if (what < 99)
                give_back_batch(random);
            else
                save_and_restore();
            BOOST_REQUIRE_MESSAGE(!tla_arena_difference(with.get()), tla_arena_last_error(with.get())->text);
        }
        BOOST_REQUIRE_EQUAL(snapshot_of(with.get()), snapshot_of(without.get()));
    }

    using an_arena = std::unique_ptr<tla_arena, void (*)(tla_arena *)>;
    an_arena with{nullptr, tla_arena_destroy}, without{nullptr, tla_arena_destroy};
    unsigned failed = 0, refused = 0, unaligned = 0, batches = 0;

  private:
    static tla_work receipt_with(tla_engine_work &engine) {
        tla_work work{};
        work.engine = &engine;
        return work;
    }

    void take(std::uint64_t nbytes, std::uint64_t alignment) {
        tla_block here{}, there{};
        tla_engine_work asked{}, modelled{};
        tla_work a = receipt_with(asked), b = receipt_with(modelled);
        const tla_status status = tla_arena_alloc_aligned(with.get(), nbytes, alignment, &here, &a);
        // Buddies serve an alignment up to the block's size.
        const std::uint64_t served = policy_ == TLA_BUDDY ? tla_arena_granted(without.get(), nbytes) : unit;
        if (alignment > served) { // this no engine serves
            BOOST_REQUIRE_EQUAL(status, TLA_UNSUPPORTED);
            unaligned++;
            return;
        }
        const tla_status expected = tla_arena_alloc_aligned(without.get(), nbytes, alignment, &there, &b);
        BOOST_REQUIRE_MESSAGE(status == expected, tla_arena_last_error(with.get())->text);
        BOOST_REQUIRE_EQUAL(here.offset, there.offset);
        check_prices(a, b);
        if (exact_) BOOST_REQUIRE_GT(asked.cycles, 0u); // the engine refuses what is too large, too
        failed += status != TLA_OK;
        if (!status) live_.push_back({here.offset, nbytes});
    }

    void give_back(seeded_random &random) {
        if (live_.empty()) return;
        const std::size_t which = random.between(0, live_.size() - 1);
        const tla_block block = live_[which];
        live_.erase(live_.begin() + static_cast<std::ptrdiff_t>(which));
        tla_engine_work asked{}, modelled{};
        tla_work a = receipt_with(asked), b = receipt_with(modelled);
        BOOST_REQUIRE_EQUAL(tla_arena_free(with.get(), block, &a), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_free(without.get(), block, &b), TLA_OK);
        check_prices(a, b);
        if (!random.one_in(10)) return;
        BOOST_REQUIRE_NE(tla_arena_free(with.get(), block, nullptr), TLA_OK); // a double free, and the engine is well
        refused++;
    }

    void take_batch(std::uint64_t nbytes, std::size_t n, tla_batch kind) {
        std::vector<tla_block> here(n), there(n);
        tla_engine_work asked{};
        tla_work work = receipt_with(asked);
        const tla_status status = tla_arena_alloc_batch(with.get(), nbytes, n, kind, here.data(), &work);
        if (policy_ == TLA_BUDDY && kind == TLA_BATCH_CONTIGUOUS && n > 1) { // its items are no blocks of theirs
            BOOST_REQUIRE_EQUAL(status, TLA_UNSUPPORTED);
            return;
        }
        BOOST_REQUIRE_EQUAL(status, tla_arena_alloc_batch(without.get(), nbytes, n, kind, there.data(), nullptr));
        if (status) return;
        batches += n > 1;
        BOOST_REQUIRE_GT(asked.cycles, 0u);
        for (std::size_t i = 0; i < n; i++) {
            BOOST_REQUIRE_EQUAL(here[i].offset, there[i].offset);
            live_.push_back({here[i].offset, nbytes});
        }
    }

    void give_back_batch(seeded_random &random) {
        const std::size_t n = live_.empty() ? 0 : random.between(1, std::min<std::size_t>(live_.size(), 30));
        std::vector<tla_block> here(live_.end() - static_cast<std::ptrdiff_t>(n), live_.end()), there = here;
        live_.resize(live_.size() - n);
        BOOST_REQUIRE_EQUAL(tla_arena_free_batch(with.get(), here.data(), n, nullptr), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_arena_free_batch(without.get(), there.data(), n, nullptr), TLA_OK);
    }

    // The engine is brought to the state of its arena.
    void save_and_restore() {
        const std::string text = snapshot_of(with.get());
        tla_error error{};
        for (tla_arena *arena : {with.get(), without.get()})
            BOOST_REQUIRE_MESSAGE(tla_arena_restore(arena, text.data(), text.size(), &error) == TLA_OK, error.text);
    }

    static std::string snapshot_of(const tla_arena *arena) {
        std::string text(1 << 20, ' ');
        std::size_t length = 0;
        BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arena, text.data(), text.size(), &length), TLA_OK);
        text.resize(length);
        return text;
    }

    void check_prices(const tla_work &engine, const tla_work &model) const {
        if (!exact_) return;
        BOOST_REQUIRE_EQUAL(tla_cost_price(&cost_, &engine), tla_cost_price(&cost_, &model));
        BOOST_REQUIRE_EQUAL(tla_cost_behind(&cost_, &engine), tla_cost_behind(&cost_, &model));
    }

    const tla_policy policy_;
    const std::uint64_t units_;
    const tla_cost_profile cost_;
    const bool exact_;
    std::vector<tla_block> live_;
};

#endif
