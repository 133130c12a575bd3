// The arena on a host without memory: a call that fails has done nothing, and can be made again.
#include "host_memory/failing.hpp"
#include "seeded_random.hpp"

#include "tlmalloc/arena/arena.h"

#include <memory>
#include <vector>

namespace {

std::uint64_t below(seeded_random &random, std::uint64_t n) {
    return random.between(0, n - 1);
}

struct arena_deleter {
    void operator()(tla_arena *arena) const { tla_arena_destroy(arena); }
};
using arena_pointer = std::unique_ptr<tla_arena, arena_deleter>;

arena_pointer create(const tla_arena_config &config) {
    tla_arena *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &made), TLA_OK);
    return arena_pointer(made);
}

std::string snapshot_of(const tla_arena *arena) {
    std::size_t length = 0;
    tla_arena_snapshot(arena, nullptr, 0, &length);
    std::string text(length + 1, '\0');
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arena, &text[0], text.size(), &length), TLA_OK);
    text.resize(length);
    return text;
}

std::string look_at(const tla_arena *arena) {
    const tla_arena_stats s = tla_arena_get_stats(arena);
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_arena_check(arena, &error) == TLA_OK, error.text);
    return snapshot_of(arena) + std::to_string(s.used) + " " + std::to_string(s.peak_used) + " " +
           std::to_string(s.largest_free) + " " + std::to_string(s.free_blocks);
}

std::string text_of(const tla_work &w) {
    std::string text;
    for (std::uint64_t n : {w.nodes_visited, w.insert_nodes, w.probes, w.bin_searches, w.splits, w.merges,
                            w.list_length, w.allocs, w.frees, w.nodes_created, w.nodes_released})
        text += " " + std::to_string(n);
    return text;
}

// Every policy, with and without validation, with and without an alignment (and then a ragged end).
template <typename Test>
void for_every_kind(Test test) {
    for (int policy = 0; policy < TLA_POLICY_COUNT; policy++)
        for (bool validate : {false, true})
            for (std::uint64_t alignment : {UINT64_C(1), UINT64_C(64)}) {
                tla_arena_config config{};
                config.base = 4096;
                config.capacity = (1 << 20) + 1808;
                config.policy = static_cast<tla_policy>(policy);
                config.alignment = alignment;
                config.validate = validate;
                BOOST_TEST_CONTEXT(tla_policy_name(config.policy)
                                   << ", validate " << validate << ", alignment " << alignment)
                test(config);
            }
}

// One operation on an arena, with everything that it says.
struct operation {
    enum kind_type { alloc, aligned, give_back, reserve, grow, contiguous, carved, free_batch } kind;
    std::uint64_t nbytes, alignment;
    std::size_t n;
    tla_block block;
    std::vector<tla_block> blocks;

    tla_status run(tla_arena *arena, std::vector<tla_block> &out, tla_work &work) const {
        out = blocks;
        out.resize(std::max({n, blocks.size(), std::size_t{1}}));
        switch (kind) {
        case alloc:
            return tla_arena_alloc(arena, nbytes, out.data(), &work);
        case aligned:
            return tla_arena_alloc_aligned(arena, nbytes, alignment, out.data(), &work);
        case give_back:
            return tla_arena_free(arena, block, &work);
        case reserve:
            return tla_arena_reserve(arena, block, &work);
        case grow:
            return tla_arena_grow(arena, nbytes, &work);
        case contiguous:
            return tla_arena_alloc_batch(arena, nbytes, n, TLA_BATCH_CONTIGUOUS, out.data(), &work);
        case carved:
            return tla_arena_alloc_batch(arena, nbytes, n, TLA_BATCH_CARVED, out.data(), &work);
        case free_batch:
            return tla_arena_free_batch(arena, out.data(), blocks.size(), &work);
        }
        return TLA_OK;
    }
};

// A random run, twice: on an arena for which memory never fails, and on one for which it fails in every operation at
// the first allocation, at the second and so on, until the operation goes through.
class pair_of_arenas {
  public:
    explicit pair_of_arenas(const tla_arena_config &config)
        : lucky_(create(config)), unlucky_(create(config)), seen_(look_at(lucky_.get())) {}

    void step(seeded_random &random) {
        const operation o = choose(random);
        std::vector<tla_block> wanted, got;
        tla_work expected{}, work{};
        const tla_status status = o.run(lucky_.get(), wanted, expected);
        const std::string after = look_at(lucky_.get());
        tla_status reached = TLA_NO_HOST_MEMORY;
        for (std::size_t n = 0, failed = 1; failed > 0 && reached == TLA_NO_HOST_MEMORY; n++) {
            host_memory::fail_from(n, below(random, 2) == 0);
            reached = o.run(unlucky_.get(), got, work);
            failed = host_memory::stop();
            failures_ += failed > 0;
            if (reached == TLA_NO_HOST_MEMORY) {
                BOOST_REQUIRE_EQUAL(look_at(unlucky_.get()), seen_);
                BOOST_REQUIRE_EQUAL(text_of(work), text_of({}));
            }
        }
        BOOST_REQUIRE_EQUAL(tla_status_name(reached), tla_status_name(status));
        BOOST_REQUIRE_EQUAL(text_of(work), text_of(expected));
        BOOST_REQUIRE_EQUAL(look_at(unlucky_.get()), after);
        seen_ = after;
        if (status == TLA_OK) follow(o, wanted);
    }

    std::size_t failures() const { return failures_; }
    std::size_t most_live() const { return most_live_; }

  private:
    operation choose(seeded_random &random) {
        static const operation::kind_type kinds[] = {operation::alloc,      operation::alloc,     operation::alloc,
                                                     operation::aligned,    operation::give_back, operation::carved,
                                                     operation::contiguous, operation::reserve,   operation::free_batch,
                                                     operation::grow,       operation::give_back, operation::alloc};
        operation o{
            kinds[below(random, 12)], 1 + below(random, 3000), std::uint64_t{1} << below(random, 12), 0, {}, {}};
        const tla_arena_config config = tla_arena_get_config(lucky_.get());
        if (o.kind == operation::grow && (below(random, 8) || config.capacity > (3 << 20))) o.kind = operation::alloc;
        if (o.kind == operation::contiguous || o.kind == operation::carved) o.n = 1 + below(random, 40);
        if (o.kind == operation::reserve)
            o.block = tla_block{config.base + below(random, config.capacity) / 4096 * 4096, 1 + below(random, 4096)};
        const std::size_t gone = o.kind == operation::give_back    ? 1
                                 : o.kind == operation::free_batch ? 1 + below(random, 60)
                                                                   : 0;
        for (std::size_t i = 0; i < gone && !live_.empty(); i++) {
            const std::size_t at = below(random, live_.size());
            o.blocks.push_back(live_[at]);
            live_[at] = live_.back();
            live_.pop_back();
        }
        if (gone > 0 && o.blocks.empty()) o.kind = operation::alloc;
        if (o.kind == operation::give_back) o.block = o.blocks[0];
        return o;
    }

    void follow(const operation &o, const std::vector<tla_block> &taken) {
        if (o.kind == operation::reserve) {
            const std::uint64_t alignment = tla_arena_get_config(lucky_.get()).alignment;
            live_.push_back({o.block.offset, (o.block.nbytes + alignment - 1) / alignment * alignment});
        } else if (o.kind == operation::alloc || o.kind == operation::aligned) {
            live_.push_back(taken[0]);
        } else if (o.kind == operation::contiguous || o.kind == operation::carved) {
            live_.insert(live_.end(), taken.begin(), taken.end());
        }
        most_live_ = std::max(most_live_, live_.size());
    }

    arena_pointer lucky_, unlucky_;
    std::string seen_;
    std::vector<tla_block> live_;
    std::size_t failures_ = 0, most_live_ = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(an_arena_without_host_memory_does_nothing_and_then_what_it_should) {
    for_every_kind([](const tla_arena_config &config) {
        const std::size_t before = host_memory::live();
        {
            seeded_random random(static_cast<std::uint64_t>(config.policy));
            pair_of_arenas pair(config);
            for (int i = 0; i < 500; i++)
                BOOST_TEST_CONTEXT("step " << i) {
                    pair.step(random);
                }
            BOOST_CHECK_GT(pair.failures(), 3u);
            BOOST_CHECK_GT(pair.most_live(), 50u);
        }
        BOOST_CHECK_EQUAL(host_memory::live(), before);
    });
}

BOOST_AUTO_TEST_CASE(an_arena_that_cannot_be_made_is_none) {
    for_every_kind([](const tla_arena_config &config) {
        struct slot {
            tla_arena *arena = nullptr;
            ~slot() { tla_arena_destroy(arena); }
        };
        const std::size_t allocations = host_memory::exhaust(
            "create", [] { return std::make_unique<slot>(); },
            [&](slot &s) { return tla_arena_create(&config, &s.arena); },
            [](slot &s) { return s.arena ? look_at(s.arena) : "none"; });
        BOOST_CHECK_GE(allocations, 3u);
    });
}

namespace {

// An arena in some hundred pieces.
arena_pointer aged(const tla_arena_config &config) {
    arena_pointer arena = create(config);
    std::vector<tla_block> blocks(300);
    for (tla_block &block : blocks)
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 700, &block, nullptr), TLA_OK);
    for (std::size_t i = 0; i < blocks.size(); i += 2)
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena.get(), blocks[i], nullptr), TLA_OK);
    return arena;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_snapshot_that_cannot_be_restored_leaves_the_arena_alone) {
    for_every_kind([](const tla_arena_config &config) {
        const std::string snapshot = snapshot_of(aged(config).get());
        const std::size_t allocations = host_memory::exhaust(
            "restore", [&] { return create(config); },
            [&](tla_arena &arena) {
                tla_error error{};
                const tla_status status = tla_arena_restore(&arena, snapshot.data(), snapshot.size(), &error);
                BOOST_CHECK_EQUAL(error.status, status);
                return status;
            },
            [](tla_arena &arena) { return look_at(&arena); });
        BOOST_CHECK_GE(allocations, 5u);
    });
}

BOOST_AUTO_TEST_CASE(a_snapshot_that_cannot_be_written_or_read_says_so) {
    for_every_kind([](const tla_arena_config &config) {
        const std::string snapshot = snapshot_of(aged(config).get());
        struct answer {
            arena_pointer arena;
            std::string text;
            tla_arena_config config{};
        };
        const auto make = [&] { return std::make_unique<answer>(answer{aged(config), "", {}}); };
        const auto look = [](answer &a) { return a.text + std::to_string(a.config.capacity) + look_at(a.arena.get()); };
        BOOST_CHECK_GE(host_memory::exhaust(
                           "snapshot", make,
                           [&](answer &a) {
                               std::string text(snapshot.size() + 1, '\0');
                               std::size_t length = 0;
                               const tla_status status =
                                   tla_arena_snapshot(a.arena.get(), &text[0], text.size(), &length);
                               if (!status) a.text = text;
                               return status;
                           },
                           look),
                       1u);
        BOOST_CHECK_GE(host_memory::exhaust(
                           "config", make,
                           [&](answer &a) {
                               return tla_arena_snapshot_config(snapshot.data(), snapshot.size(), &a.config, nullptr);
                           },
                           look),
                       2u);
    });
}

BOOST_AUTO_TEST_CASE(a_batch_that_is_freed_needs_memory_before_it_begins_or_not_at_all) {
    for_every_kind([](const tla_arena_config &config) {
        for (std::size_t every : {std::size_t{2}, std::size_t{3}, std::size_t{7}}) {
            arena_pointer arena = create(config);
            std::vector<tla_block> blocks(2000), some;
            for (tla_block &block : blocks)
                BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 1 + every * 40, &block, nullptr), TLA_OK);
            for (std::size_t i = 0; i < blocks.size(); i += every)
                some.push_back(blocks[i]);
            const std::string before = look_at(arena.get());
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                host_memory::fail_from(n, false);
                const tla_status status = tla_arena_free_batch(arena.get(), some.data(), some.size(), nullptr);
                failed = host_memory::stop();
                BOOST_REQUIRE_EQUAL(tla_status_name(status), tla_status_name(failed > 0 ? TLA_NO_HOST_MEMORY : TLA_OK));
                if (failed > 0) BOOST_REQUIRE_EQUAL(look_at(arena.get()), before);
            }
            std::uint64_t left = 0;
            for (std::size_t i = 0; i < blocks.size(); i++)
                left += i % every ? blocks[i].nbytes : 0;
            BOOST_CHECK_EQUAL(tla_arena_get_stats(arena.get()).used, left);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_batch_of_very_many_items_needs_little_memory_and_all_of_it_before_it_begins) {
    for_every_kind([](const tla_arena_config &config) {
        if (config.validate) return; // which keeps a record of every item
        for (bool in_pieces : {false, true}) {
            const auto make = [&] {
                arena_pointer arena = create(config);
                std::vector<tla_block> blocks(in_pieces ? 200 : 0);
                for (std::size_t i = 0; i < blocks.size(); i++)
                    BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena.get(), 64 * (1 + i % 60), &blocks[i], nullptr), TLA_OK);
                for (std::size_t i = 0; i < blocks.size(); i += 2)
                    BOOST_REQUIRE_EQUAL(tla_arena_free(arena.get(), blocks[i], nullptr), TLA_OK);
                return arena;
            };
            std::vector<tla_block> items(8000);
            const std::size_t allocations = host_memory::exhaust(
                "carved", make,
                [&](tla_arena &arena) {
                    return tla_arena_alloc_batch(&arena, 64, items.size(), TLA_BATCH_CARVED, items.data(), nullptr);
                },
                [](tla_arena &arena) { return look_at(&arena); });
            BOOST_CHECK_LT(allocations, 1500u);
        }
    });
}
