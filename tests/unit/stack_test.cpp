// Stacks: every front over every placement places as the pool that it is does, and gives everything back.
#include "seeded_random.hpp"
#include "shared_data.hpp"
#include "stacks.hpp"

#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/driver_pools.h"
#include "tlmalloc/cache/regions.h"
#include "tlmalloc/cache/segmented_memory.h"
#include "trace/trace.h"

#include <cstring>
#include <map>

using namespace stacks;

namespace {

// A pool over an arena of its own, called as its header says, with nothing of a stack in between.
struct pool {
    explicit pool(const tla_stack_config &c) : config(c) {
        tla_arena_config range{};
        range.capacity = c.capacity;
        range.policy = tla_stack_placement(c.policy);
        range.alignment = c.alignment;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&range, &arena), TLA_OK);
    }
    virtual ~pool() = default;
    virtual tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) {
        return tla_arena_alloc(arena, r.nbytes, &granted, &work);
    }
    virtual tla_status free(tla_block asked, tla_block, tla_work &work) { return tla_arena_free(arena, asked, &work); }

    const tla_stack_config config;
    tla_arena *arena = nullptr;
    tla_arena_set set{&arena, 1};
};

struct caching : pool {
    explicit caching(const tla_stack_config &c) : pool(c) {
        tla_caching_pool_config own{};
        own.driver = tla_arena_upstream(&set);
        BOOST_REQUIRE_EQUAL(tla_caching_pool_create(&own, &made), TLA_OK);
    }
    ~caching() override { tla_caching_pool_destroy(made), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        tla_pool_buffer buffer{};
        const tla_status status = tla_caching_pool_acquire(made, 0, r.nbytes, &buffer, &work);
        granted = {buffer.address, buffer.capacity};
        return status;
    }
    tla_status free(tla_block asked, tla_block granted, tla_work &work) override {
        return tla_caching_pool_release(made, {asked.offset, asked.nbytes, granted.nbytes, 0}, &work);
    }
    tla_caching_pool *made = nullptr;
};

struct segments : pool {
    explicit segments(const tla_stack_config &c) : pool(c) {
        tla_segment_cache_config own = c.segments;
        own.driver = tla_arena_upstream(&set);
        own.device_bytes = c.capacity;
        own.unit = c.sizes.segment / 20;
        BOOST_REQUIRE_EQUAL(tla_segment_cache_create(&own, &made), TLA_OK);
    }
    ~segments() override { tla_segment_cache_destroy(made), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        return tla_segment_cache_alloc(made, r.stream, r.nbytes, &granted, &work);
    }
    tla_status free(tla_block asked, tla_block, tla_work &work) override {
        return tla_segment_cache_free(made, asked.offset, &work);
    }
    tla_segment_cache *made = nullptr;
};

struct growing : pool {
    explicit growing(const tla_stack_config &c) : pool(c) {
        tla_growing_pool_config own{};
        own.driver = tla_arena_upstream(&set);
        BOOST_REQUIRE_EQUAL(tla_growing_pool_create(&own, &made), TLA_OK);
    }
    ~growing() override { tla_growing_pool_destroy(made), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        return tla_growing_pool_alloc(made, r.nbytes, &granted, &work);
    }
    tla_status free(tla_block asked, tla_block, tla_work &work) override {
        return tla_growing_pool_free(made, asked, &work);
    }
    tla_growing_pool *made = nullptr;
};

struct slots : pool {
    explicit slots(const tla_stack_config &c) : pool(c) {
        tla_slot_pool_config own{};
        own.nbytes = c.capacity;
        own.slot_bytes = c.sizes.slot;
        BOOST_REQUIRE_EQUAL(tla_slot_pool_create(&own, &made), TLA_OK);
    }
    ~slots() override { tla_slot_pool_destroy(made), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        tla_slot slot{};
        const tla_slot_pool_stats now = tla_slot_pool_get_stats(made);
        if (r.nbytes > now.slot_bytes)
            return r.nbytes > now.free_slots * now.slot_bytes ? TLA_EXHAUSTED : TLA_FRAGMENTED;
        const tla_status status = tla_slot_pool_alloc(made, r.nbytes, &slot, &work);
        granted = {slot.address, config.sizes.slot};
        return status;
    }
    tla_status free(tla_block asked, tla_block, tla_work &work) override {
        return tla_slot_pool_free(made, asked.offset / config.sizes.slot, &work);
    }
    tla_slot_pool *made = nullptr;
};

// LMCache's tensors by the pool itself; the second region an arena.
struct mixed : pool {
    explicit mixed(const tla_stack_config &c) : pool(c) {
        tla_mixed_pool_config own{};
        own.nbytes = c.capacity - c.sizes.buffers;
        own.alignment = TLA_MIXED_POOL_ALIGNMENT;
        own.policy = tla_stack_placement(c.policy);
        BOOST_REQUIRE_EQUAL(tla_mixed_pool_create(&own, &made), TLA_OK);
        tla_arena_config range{};
        range.base = own.nbytes;
        range.capacity = c.sizes.buffers;
        range.alignment = c.alignment;
        range.policy = own.policy;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&range, &buffers), TLA_OK);
    }
    ~mixed() override { tla_mixed_pool_destroy(made), tla_arena_destroy(buffers), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        if (r.format == TLA_FORMAT_BINARY_BUFFER) return tla_arena_alloc(buffers, r.nbytes, &granted, &work);
        tla_mixed_pool_block block{};
        const tla_memory_format format = r.format ? r.format : TLA_FORMAT_KV_2LTD;
        const tla_status status = tla_mixed_pool_alloc(made, format, r.nbytes, 1, &block, &work);
        granted = {block.address, block.capacity};
        return status;
    }
    tla_status free(tla_block asked, tla_block granted, tla_work &work) override {
        if (asked.offset >= config.capacity - config.sizes.buffers) return tla_arena_free(buffers, asked, &work);
        tla_mixed_pool_block block{TLA_FORMAT_KV_T2D, asked.offset, asked.nbytes, granted.nbytes, nullptr};
        return tla_mixed_pool_free(made, &block, 1, &work);
    }
    tla_mixed_pool *made = nullptr;
    tla_arena *buffers = nullptr;
};

struct segmented : pool {
    explicit segmented(const tla_stack_config &c) : pool(c) {
        const tla_segmented_config own{c.capacity, c.capacity, c.sizes.segment ? c.sizes.segment : 20 * MiB,
                                       c.alignment ? c.alignment : 1, 1};
        BOOST_REQUIRE_EQUAL(tla_segmented_create(&own, &made), TLA_OK);
    }
    ~segmented() override { tla_segmented_destroy(made), tla_arena_destroy(arena); }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        return tla_segmented_alloc(made, r.nbytes, 1, &granted, &work);
    }
    tla_status free(tla_block asked, tla_block, tla_work &work) override {
        return tla_segmented_free(made, asked, &work);
    }
    tla_segmented_memory *made = nullptr;
};

// Arenas one behind the other: the bytes before the border in regions and a rest, and so those behind it.
struct regions : pool {
    explicit regions(const tla_stack_config &c) : pool(c) {
        const std::uint64_t size = c.sizes.segment ? c.sizes.segment : 20 * MiB;
        for (std::uint64_t begin = 0; begin < c.capacity;) {
            const std::uint64_t border = begin < c.sizes.initial ? c.sizes.initial : c.capacity;
            tla_arena_config range{};
            range.base = begin;
            range.capacity = std::min(size, border - begin);
            range.policy = tla_stack_placement(c.policy);
            range.alignment = c.alignment;
            arenas.push_back(nullptr);
            BOOST_REQUIRE_EQUAL(tla_arena_create(&range, &arenas.back()), TLA_OK);
            begin += range.capacity;
        }
        const tla_arena_set all{arenas.data(), static_cast<std::uint32_t>(arenas.size())};
        const bool linear = tla_stack_front(c.policy) == TLA_FRONT_LINEAR_REGIONS;
        BOOST_REQUIRE_EQUAL(tla_regions_create(&all, linear ? TLA_REGIONS_LINEAR : TLA_REGIONS_INTERLEAVING, &made),
                            TLA_OK);
    }
    ~regions() override {
        tla_regions_destroy(made);
        for (tla_arena *of : arenas)
            tla_arena_destroy(of);
        tla_arena_destroy(arena);
    }
    tla_status alloc(const tla_stack_request &r, tla_block &granted, tla_work &work) override {
        tla_region_block block{};
        const tla_status status = tla_regions_alloc(made, r.nbytes, 1, &block, &work);
        granted = block.block;
        return status;
    }
    tla_status free(tla_block asked, tla_block, tla_work &work) override {
        std::uint32_t at = 0;
        while (at + 1 < arenas.size() && tla_arena_get_config(arenas[at + 1]).base <= asked.offset)
            at++;
        return tla_regions_free(made, {at, asked}, &work);
    }
    std::vector<tla_arena *> arenas{};
    tla_regions *made = nullptr;
};

struct alone : pool {
    using pool::pool;
    ~alone() override { tla_arena_destroy(arena); }
};

std::unique_ptr<pool> pool_of(const tla_stack_config &config) {
    switch (tla_stack_front(config.policy)) {
    case TLA_FRONT_CACHING_POOL:
        return std::make_unique<caching>(config);
    case TLA_FRONT_SEGMENT_CACHE:
        return std::make_unique<segments>(config);
    case TLA_FRONT_GROWING_POOL:
        return std::make_unique<growing>(config);
    case TLA_FRONT_SLOT_POOL:
        return std::make_unique<slots>(config);
    case TLA_FRONT_MIXED:
        return std::make_unique<mixed>(config);
    case TLA_FRONT_SEGMENTED:
        return std::make_unique<segmented>(config);
    case TLA_FRONT_LINEAR_REGIONS:
    case TLA_FRONT_INTERLEAVING_REGIONS:
        return std::make_unique<regions>(config);
    default:
        return std::make_unique<alone>(config);
    }
}

// The pool does not know how much its device has in all, by which a stack tells the two apart (refusal_advice_test).
tla_status as_shortage(tla_status status) {
    return status == TLA_FRAGMENTED ? TLA_EXHAUSTED : status;
}

// A stack and its pool side by side: every answer, place and receipt is the same, and live blocks lie apart.
class side_by_side {
  public:
    explicit side_by_side(const tla_stack_config &config)
        : config_(config), stack_(make(config)), pool_(pool_of(config)) {}

    struct block {
        tla_block asked, granted;
    };

    // False when it did not fit.
    bool alloc(const tla_stack_request &request, block &taken) {
        tla_work work{}, expected_work{};
        tla_block expected{}, granted{};
        tla_stack_request rounded = request;
        const std::uint64_t mask = tla_stack_get_config(stack_.get())->alignment - 1;
        rounded.nbytes = (request.nbytes + mask) & ~mask;
        const tla_status wanted = pool_->alloc(rounded, expected, expected_work);
        const tla_status status = tla_stack_alloc(stack_.get(), &request, &granted, &work);
        BOOST_REQUIRE_EQUAL(tla_status_name(as_shortage(status)), tla_status_name(as_shortage(wanted)));
        compare(work, expected_work);
        if (status) return false;
        BOOST_REQUIRE_EQUAL(granted.offset, expected.offset);
        BOOST_REQUIRE_EQUAL(granted.nbytes, expected.nbytes);
        BOOST_REQUIRE_GE(granted.nbytes, request.nbytes);
        BOOST_REQUIRE_LE(granted.offset + granted.nbytes, config_.capacity);
        const auto next = ends_.lower_bound(granted.offset);
        BOOST_REQUIRE(next == ends_.end() || next->first >= granted.offset + granted.nbytes);
        BOOST_REQUIRE(next == ends_.begin() || std::prev(next)->second <= granted.offset);
        ends_[granted.offset] = granted.offset + granted.nbytes;
        used_ += granted.nbytes;
        taken = {{granted.offset, request.nbytes}, granted};
        BOOST_REQUIRE_EQUAL(tla_stack_granted(stack_.get(), taken.asked), granted.nbytes);
        return true;
    }

    void free(const block &b) {
        tla_work work{}, expected_work{};
        const std::uint64_t mask = tla_stack_get_config(stack_.get())->alignment - 1;
        const tla_block rounded{b.asked.offset, (b.asked.nbytes + mask) & ~mask};
        BOOST_REQUIRE_EQUAL(pool_->free(rounded, b.granted, expected_work), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_stack_free(stack_.get(), b.asked, &work), TLA_OK);
        compare(work, expected_work);
        ends_.erase(b.granted.offset);
        used_ -= b.granted.nbytes;
    }

    void look() const {
        const tla_stack_stats s = tla_stack_get_stats(stack_.get());
        BOOST_REQUIRE_EQUAL(s.memory.used, used_);
        BOOST_REQUIRE_EQUAL(s.memory.free, config_.capacity - used_);
        if (!stack_under()) return;
        const tla_arena_stats below = tla_arena_get_stats(stack_under());
        BOOST_REQUIRE_EQUAL(s.held, below.used - used_);
        BOOST_REQUIRE_EQUAL(s.memory.largest_free, below.largest_free);
        const bool rounds = tla_stack_placement(config_.policy) == TLA_BUDDY ||
                            tla_stack_placement(config_.policy) == TLA_OFFSET_BINS_ROUNDED || config_.alignment > 256;
        if (!rounds) BOOST_REQUIRE_GE(s.peak_reserved, below.used); // as the front asked
    }

    // Nothing lives: trimmed, the list is what it was in the beginning.
    void end() {
        BOOST_CHECK_EQUAL(tla_stack_get_stats(stack_.get()).memory.used, 0u);
        const std::uint64_t held = tla_stack_get_stats(stack_.get()).held;
        std::uint64_t given_back = 0;
        tla_work work{};
        BOOST_CHECK_EQUAL(tla_stack_trim(stack_.get(), &given_back, &work), TLA_OK);
        BOOST_CHECK_EQUAL(given_back, held);
        BOOST_CHECK_EQUAL(work.driver_calls > 0, held > 0);
        const tla_arena_stats now = tla_stack_get_stats(stack_.get()).memory;
        const tla_arena_stats then = tla_stack_get_stats(make(config_).get()).memory;
        BOOST_CHECK_EQUAL(now.free, config_.capacity);
        BOOST_CHECK_EQUAL(now.largest_free, then.largest_free);
        BOOST_CHECK_EQUAL(now.free_blocks, then.free_blocks);
    }

    tla_stack *stack() const { return stack_.get(); }

  private:
    tla_arena *stack_under() const { return tla_stack_arena(stack_.get()); }
    static void compare(const tla_work &work, const tla_work &expected) {
        BOOST_REQUIRE_MESSAGE(std::memcmp(&work, &expected, sizeof work) == 0, "the receipts differ");
    }

    const tla_stack_config config_;
    stack_pointer stack_;
    std::unique_ptr<pool> pool_;
    std::map<std::uint64_t, std::uint64_t> ends_; // of live blocks, as granted
    std::uint64_t used_ = 0;
};

std::uint64_t log_uniform(seeded_random &random, unsigned bits) {
    return random.between(1, std::uint64_t{1} << random.between(1, bits));
}

tla_stack_request random_request(seeded_random &random) {
    static const tla_memory_format formats[] = {TLA_FORMAT_UNDEFINED, TLA_FORMAT_KV_2TD, TLA_FORMAT_HS_TD,
                                                TLA_FORMAT_BINARY_BUFFER};
    tla_stack_request request{};
    request.nbytes = log_uniform(random, 24);
    request.stream = random.between(0, 2);
    request.format = formats[random.between(0, 3)];
    return request;
}

void play_random(const tla_stack_config &config, unsigned operations, std::uint64_t seed) {
    BOOST_TEST_CONTEXT(name_of(config.policy)) {
        seeded_random random(seed);
        side_by_side both(config);
        std::vector<side_by_side::block> live;
        for (unsigned i = 0; i < operations; i++) {
            const bool fill = i / 5000 % 2 == 0; // up to where requests fail, and down again
            if (live.empty() || random.between(0, 9) < (fill ? 6u : 4u)) {
                side_by_side::block taken{};
                if (both.alloc(random_request(random), taken)) live.push_back(taken);
            } else {
                std::swap(live[random.between(0, live.size() - 1)], live.back());
                both.free(live.back());
                live.pop_back();
            }
            if (i % 1000 == 0) both.look();
        }
        for (const side_by_side::block &b : live)
            both.free(b);
        both.end();
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(every_front_over_every_placement_places_1e5_random_requests_as_its_pool_does) {
    for (const tla_stack_policy policy : all_policies())
        play_random(config_of(policy, 256 * MiB), 100000, 13);
}

BOOST_AUTO_TEST_CASE(with_an_alignment_and_other_sizes_too) {
    for (const tla_stack_policy policy : all_policies())
        for (const std::uint64_t alignment : {8u, 2048u}) {
            tla_stack_config config = config_of(policy, 15 * MiB);
            config.alignment = alignment;
            config.sizes.slot = 256 * KiB;
            config.sizes.segment = 1280 * KiB;
            config.sizes.buffers = 3 * MiB;
            config.sizes.initial = 4 * MiB;
            play_random(config, 5000, alignment);
        }
}

BOOST_AUTO_TEST_CASE(with_validation_a_stack_places_the_same) {
    for (const tla_stack_policy policy : all_policies()) {
        tla_stack_config config = config_of(policy, 64 * MiB);
        config.validate = true;
        play_random(config, 10000, 7);
    }
}

BOOST_AUTO_TEST_CASE(recorded_traces_are_placed_as_the_pools_place_them) {
    std::vector<std::string> paths{TLMALLOC_SOURCE_DIR "/tests/data/lm_train.csv.gz"};
    if (std::filesystem::is_directory(shared_data + "traces"))
        paths.push_back(shared_data + "traces/resnet_train.csv.gz");
    for (const std::string &path : paths) {
        alloc_trace trace{};
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(trace_load(path.c_str(), &trace, &error) == TLA_OK, error.text);
        for (const tla_stack_policy policy : all_policies()) {
            BOOST_TEST_CONTEXT(path << " on " << name_of(policy)) {
                tla_stack_config config = config_of(policy, 16 * GiB);
                config.sizes.slot = 16 * MiB;
                side_by_side both(config);
                std::vector<side_by_side::block> blocks(trace.allocation_count);
                for (std::size_t i = 0; i < trace.event_count; i++) {
                    const trace_event &e = trace.events[i];
                    side_by_side::block &block = blocks[e.allocation];
                    tla_stack_request request{};
                    request.nbytes = trace.allocations[e.allocation].nbytes;
                    if (!e.is_free)
                        both.alloc(request, block);
                    else if (block.granted.nbytes > 0)
                        both.free(block), block.granted.nbytes = 0;
                }
                both.look();
                for (const side_by_side::block &block : blocks)
                    if (block.granted.nbytes > 0) both.free(block);
                both.end();
            }
        }
        trace_unload(&trace);
    }
}
