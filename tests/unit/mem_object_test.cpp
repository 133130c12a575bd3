// Reference counts, pins and the pin monitor against what LMCache's tests assert.
#include "seeded_random.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/cache/buffer_pools.h"
#include "tlmalloc/cache/objects.h"

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

namespace {

constexpr std::uint64_t second = 1000000000000; // ps

// A parent that counts what comes back.
struct parent {
    std::vector<std::uint64_t> freed{};
    tla_status answer = TLA_OK;
    static tla_status free(void *context, std::uint64_t address, std::uint64_t, tla_work *) {
        auto &p = *static_cast<parent *>(context);
        if (p.answer == TLA_OK) p.freed.push_back(address);
        return p.answer;
    }
    tla_mem_object_config config(std::uint64_t address = 0, tla_pin_monitor *monitor = nullptr) {
        return {address, 4096, 4096, {free, this}, monitor, false, false};
    }
};

struct object {
    explicit object(const tla_mem_object_config &config) {
        BOOST_REQUIRE_EQUAL(tla_mem_object_create(&config, &o), TLA_OK);
    }
    object(const object &) = delete;
    ~object() { tla_mem_object_destroy(o, nullptr); }
    tla_status up() { return tla_mem_object_ref_up(o); }
    tla_status down() { return tla_mem_object_ref_down(o, nullptr); }
    tla_status pin(std::uint64_t now = 0) { return tla_mem_object_pin(o, now); }
    tla_status unpin() { return tla_mem_object_unpin(o, nullptr); }
    std::uint64_t refs() const { return tla_mem_object_ref_count(o); }
    std::uint64_t pins() const { return tla_mem_object_pin_count(o); }
    bool valid() const { return tla_mem_object_is_valid(o); }
    bool can_evict() const { return tla_mem_object_can_evict(o); }
    tla_mem_object *o = nullptr;
};

struct monitor {
    explicit monitor(std::uint64_t timeout) { BOOST_REQUIRE_EQUAL(tla_pin_monitor_create(timeout, &m), TLA_OK); }
    monitor(const monitor &) = delete;
    ~monitor() { tla_pin_monitor_destroy(m); }
    tla_status check(std::uint64_t now) { return tla_pin_monitor_check(m, now, nullptr); }
    std::uint64_t watched() { return tla_pin_monitor_get_stats(m).watched; }
    std::uint64_t forced() { return tla_pin_monitor_get_stats(m).forced; }
    tla_pin_monitor *m = nullptr;
};

} // namespace

BOOST_AUTO_TEST_CASE(the_life_of_an_object_as_the_seed_draws_it) { // seed 003, "ref_count / pin_count"
    parent p;
    object o(p.config(42));
    BOOST_CHECK_EQUAL(o.refs(), 1u); // allocated
    BOOST_CHECK_EQUAL(o.pins(), 0u);
    o.up(); // in the hot cache
    o.up(); // in a transfer
    BOOST_CHECK_EQUAL(o.refs(), 3u);
    o.down(); // the transfer is over
    o.down(); // evicted
    BOOST_CHECK(o.valid());
    BOOST_CHECK_EQUAL(o.down(), TLA_OK); // the put is over
    BOOST_CHECK(!o.valid());
    BOOST_CHECK_EQUAL(o.refs(), 0u);
    BOOST_CHECK(p.freed == std::vector<std::uint64_t>{42});
}

BOOST_AUTO_TEST_CASE(a_reference_that_is_dropped_twice_is_clamped_and_frees_once) {
    parent p;
    object o(p.config());
    o.down();
    BOOST_CHECK_EQUAL(o.down(), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(o.refs(), 0u);
    BOOST_CHECK_EQUAL(p.freed.size(), 1u);
    BOOST_CHECK_EQUAL(o.up(), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(o.pin(), TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_pin_keeps_memory_without_references) {
    parent p;
    object o(p.config());
    o.pin();
    o.pin();
    o.down();
    BOOST_CHECK(o.valid());
    BOOST_CHECK_EQUAL(o.down(), TLA_NOT_ALLOCATED); // below 0: clamped, and still pinned
    BOOST_CHECK(o.valid());
    o.unpin();
    BOOST_CHECK(o.valid());
    BOOST_CHECK_EQUAL(o.unpin(), TLA_OK);
    BOOST_CHECK(!o.valid());
    BOOST_CHECK_EQUAL(o.unpin(), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(o.pins(), 0u);
    BOOST_CHECK_EQUAL(p.freed.size(), 1u);
}

BOOST_AUTO_TEST_CASE(only_objects_that_the_cache_alone_holds_can_be_evicted) {
    parent p;
    object o(p.config());
    BOOST_CHECK(o.can_evict());
    o.pin();
    BOOST_CHECK(!o.can_evict());
    o.unpin();
    o.up();
    BOOST_CHECK(!o.can_evict());
    o.down();
    BOOST_CHECK(o.can_evict());
}

BOOST_AUTO_TEST_CASE(a_bytes_object_counts_no_references) { // BytesBufferMemoryObj
    parent p;
    tla_mem_object_config config = p.config();
    config.uncounted = true;
    object o(config);
    o.up();
    BOOST_CHECK_EQUAL(o.refs(), 1u);
    BOOST_CHECK_EQUAL(o.down(), TLA_OK);
    BOOST_CHECK_EQUAL(o.down(), TLA_OK);
    BOOST_CHECK_EQUAL(o.refs(), 1u);
    BOOST_CHECK(o.valid());
    BOOST_CHECK(o.can_evict());
    o.pin();
    BOOST_CHECK(!o.can_evict());
}

BOOST_AUTO_TEST_CASE(a_parent_that_fails_a_free_changes_no_count) {
    parent p;
    object o(p.config());
    p.answer = TLA_BUSY;
    BOOST_CHECK_EQUAL(o.down(), TLA_BUSY);
    BOOST_CHECK_EQUAL(o.refs(), 1u);
    BOOST_CHECK(o.valid());
    p.answer = TLA_OK;
    BOOST_CHECK_EQUAL(o.down(), TLA_OK);
}

BOOST_AUTO_TEST_CASE(used_size_narrows_and_is_whole_again_on_reuse) { // 2.9 "Used size": 1024 -> 213
    parent p;
    tla_mem_object_config config{0, 1024, 1024, {parent::free, &p}, nullptr, true, false};
    object o(config);
    BOOST_CHECK_EQUAL(tla_mem_object_set_used(o.o, 213), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mem_object_used(o.o), 213u);
    BOOST_CHECK_EQUAL(tla_mem_object_set_used(o.o, 1025), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_mem_object_set_used(o.o, ~std::uint64_t{0}), TLA_INVALID_ARGUMENT); // -1
    BOOST_CHECK_EQUAL(tla_mem_object_used(o.o), 213u);
    BOOST_CHECK_EQUAL(tla_mem_object_set_used(o.o, 0), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mem_object_set_used(o.o, 1024), TLA_OK);
    tla_mem_object_set_used(o.o, 213);
    o.down();
    tla_mem_object_renew(o.o);
    BOOST_CHECK_EQUAL(tla_mem_object_used(o.o), 1024u);
    BOOST_CHECK_EQUAL(o.refs(), 1u);
    tla_mem_object *none = nullptr;
    config.used = 1025;
    BOOST_CHECK_EQUAL(tla_mem_object_create(&config, &none), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(the_safety_net_gives_back_what_was_forgotten_and_says_so) { // __del__, since 2026-03
    parent p;
    tla_mem_object *o = nullptr;
    tla_mem_object_config config = p.config(7);
    BOOST_REQUIRE_EQUAL(tla_mem_object_create(&config, &o), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mem_object_destroy(o, nullptr), TLA_LEAK);
    BOOST_CHECK(p.freed == std::vector<std::uint64_t>{7});
    BOOST_REQUIRE_EQUAL(tla_mem_object_create(&config, &o), TLA_OK);
    tla_mem_object_ref_down(o, nullptr);
    BOOST_CHECK_EQUAL(tla_mem_object_destroy(o, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(p.freed.size(), 2u);
}

BOOST_AUTO_TEST_CASE(a_forgotten_pin_is_ended_after_the_timeout) { // 2.9: 300 s with 360 s elapsed, 60 s with 90 s
    BOOST_CHECK_EQUAL(TLA_PIN_TIMEOUT_PS, 300 * second);
    for (auto [timeout, elapsed] : {std::pair<std::uint64_t, std::uint64_t>{300, 360}, {60, 90}}) {
        parent p;
        monitor m(timeout * second);
        object o(p.config(0, m.m));
        o.pin(5 * second);
        o.pin(10 * second); // begins the clock again
        BOOST_CHECK_EQUAL(m.watched(), 1u);
        BOOST_CHECK_EQUAL(m.check((10 + timeout) * second), TLA_OK); // not more than the timeout
        BOOST_CHECK_EQUAL(o.pins(), 2u);
        BOOST_CHECK_EQUAL(m.check((10 + elapsed) * second), TLA_OK);
        BOOST_CHECK_EQUAL(o.pins(), 0u);
        BOOST_CHECK_EQUAL(m.forced(), 1u);
        BOOST_CHECK_EQUAL(m.watched(), 0u);
        BOOST_CHECK(o.valid()); // it has a reference
    }
}

BOOST_AUTO_TEST_CASE(two_pins_are_watched_once_until_the_second_unpin) { // 2.9 "Pin"
    parent p;
    monitor m(TLA_PIN_TIMEOUT_PS);
    object o(p.config(0, m.m));
    o.pin();
    o.pin();
    BOOST_CHECK_EQUAL(m.watched(), 1u);
    o.unpin();
    BOOST_CHECK_EQUAL(m.watched(), 1u);
    o.unpin();
    BOOST_CHECK_EQUAL(m.watched(), 0u);
}

BOOST_AUTO_TEST_CASE(ending_the_pins_gives_back_what_has_no_references) {
    parent p;
    monitor m(60 * second);
    object a(p.config(1, m.m)), b(p.config(2, m.m)), c(p.config(3, m.m));
    b.pin(1);
    a.pin(2);
    c.pin(50 * second);
    for (object *o : {&a, &b, &c})
        o->down();
    BOOST_CHECK_EQUAL(m.check(0), TLA_OK); // a clock that has not got there yet ends nothing
    BOOST_CHECK(p.freed.empty());
    BOOST_CHECK_EQUAL(m.check(61 * second), TLA_OK);
    BOOST_CHECK((p.freed == std::vector<std::uint64_t>{2, 1})); // in the order of their pins
    BOOST_CHECK(c.valid());
    BOOST_CHECK_EQUAL(m.forced(), 2u);
}

BOOST_AUTO_TEST_CASE(a_parent_that_fails_a_free_keeps_the_pin_and_the_other_pins_expire) {
    parent refuses, p;
    refuses.answer = TLA_BUSY;
    monitor m(60 * second);
    object a(refuses.config(1, m.m)), b(p.config(2, m.m));
    for (object *o : {&a, &b}) {
        o->pin(0);
        o->down();
    }
    BOOST_CHECK_EQUAL(m.check(61 * second), TLA_BUSY);
    BOOST_CHECK_EQUAL(a.pins(), 1u);
    BOOST_CHECK(!b.valid());
    BOOST_CHECK_EQUAL(m.watched(), 1u);
    refuses.answer = TLA_OK;
    BOOST_CHECK_EQUAL(m.check(61 * second), TLA_OK);
    BOOST_CHECK(!a.valid());
}

BOOST_AUTO_TEST_CASE(a_monitor_may_end_before_its_objects) {
    parent p;
    tla_pin_monitor *m = nullptr;
    BOOST_REQUIRE_EQUAL(tla_pin_monitor_create(second, &m), TLA_OK);
    object o(p.config(0, m));
    o.pin();
    tla_pin_monitor_destroy(m);
    BOOST_CHECK_EQUAL(o.unpin(), TLA_OK);
    BOOST_CHECK_EQUAL(o.down(), TLA_OK);
}

BOOST_AUTO_TEST_CASE(two_drops_of_a_paged_object_give_its_slot_back_once_or_in_the_seed_era_twice) { // issue #5005
    for (bool seed_era : {false, true}) {
        tla_slot_pool *pool = nullptr;
        tla_slot_pool_config config{0, 2 * 4096, 4096, false, seed_era};
        BOOST_REQUIRE_EQUAL(tla_slot_pool_create(&config, &pool), TLA_OK);
        auto to_pool = [](void *context, std::uint64_t index, std::uint64_t, tla_work *work) {
            return tla_slot_pool_free(static_cast<tla_slot_pool *>(context), index, work);
        };
        tla_slot slot{};
        BOOST_REQUIRE_EQUAL(tla_slot_pool_alloc(pool, 4096, &slot, nullptr), TLA_OK);
        {
            object o({slot.index, 4096, 4096, {to_pool, pool}, nullptr, true, false});
            BOOST_CHECK_EQUAL(o.down(), TLA_OK);
            BOOST_CHECK_EQUAL(o.down(), TLA_NOT_ALLOCATED);
        }
        BOOST_CHECK_EQUAL(tla_slot_pool_get_stats(pool).free_slots, seed_era ? 3u : 2u);
        tla_slot_pool_destroy(pool);
    }
}

BOOST_AUTO_TEST_CASE(random_lives_match_a_naive_count) {
    seeded_random random(41);
    parent p;
    monitor m(50);
    struct expected {
        std::int64_t refs = 1, pins = 0;
        std::uint64_t since = 0;
        bool valid = true;
    };
    std::map<std::uint64_t, std::pair<std::unique_ptr<object>, expected>> objects;
    std::uint64_t freed = 0;
    for (std::uint64_t now = 0; now < 100000; now++) {
        std::uint64_t key = random.between(0, 30);
        auto &[o, e] = objects[key];
        auto settle = [&](expected &x) {
            if (x.valid && x.refs == 0 && x.pins == 0) {
                x.valid = false;
                freed++;
            }
        };
        if (!o || (!e.valid && random.one_in(3))) {
            o = std::make_unique<object>(p.config(key, m.m));
            e = {};
            continue;
        }
        switch (random.between(0, 5)) {
        case 0:
            if (o->up() == TLA_OK) e.refs++;
            break;
        case 1:
        case 2:
            o->down();
            e.refs = std::max<std::int64_t>(0, e.refs - 1);
            settle(e);
            break;
        case 3:
            if (o->pin(now) == TLA_OK) {
                e.pins++;
                e.since = now;
            }
            break;
        case 4:
            o->unpin();
            e.pins = std::max<std::int64_t>(0, e.pins - 1);
            settle(e);
            break;
        default:
            BOOST_REQUIRE_EQUAL(m.check(now), TLA_OK);
            for (auto &[k, pair] : objects) {
                expected &x = pair.second;
                if (x.pins == 0 || now - x.since <= 50) continue;
                x.pins = 0;
                settle(x);
            }
        }
        for (auto &[k, pair] : objects) {
            if (!pair.first) continue;
            BOOST_REQUIRE_EQUAL(pair.first->refs(), static_cast<std::uint64_t>(pair.second.refs));
            BOOST_REQUIRE_EQUAL(pair.first->pins(), static_cast<std::uint64_t>(pair.second.pins));
            BOOST_REQUIRE_EQUAL(pair.first->valid(), pair.second.valid);
        }
        BOOST_REQUIRE_EQUAL(p.freed.size(), freed);
    }
    BOOST_CHECK_GT(m.forced(), 100u);
}

BOOST_AUTO_TEST_CASE(pins_with_time_outs_of_their_own_end_in_the_order_in_which_these_pass) {
    parent p;
    monitor m(300 * second);
    object late(p.config(1, m.m)), soon(p.config(2, m.m)), never(p.config(3, m.m)), middle(p.config(4, m.m));
    for (object *o : {&late, &soon, &never, &middle})
        o->pin(), o->down();
    std::uint64_t until = 0;
    BOOST_CHECK_EQUAL(tla_pin_monitor_next(m.m, &until), late.o); // all alike: the first one
    BOOST_CHECK_EQUAL(until, 300 * second);
    BOOST_CHECK_EQUAL(tla_mem_object_pin_for(never.o, 5, UINT64_MAX), TLA_OK);
    BOOST_CHECK_EQUAL(tla_mem_object_pin_for(soon.o, 5, 10), TLA_OK); // of two pins the last one's
    BOOST_CHECK_EQUAL(tla_mem_object_pin_for(middle.o, 5, 20), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pin_monitor_next(m.m, &until), soon.o);
    BOOST_CHECK_EQUAL(until, 15u);
    BOOST_CHECK_EQUAL(m.check(15), TLA_OK); // holds up to there
    BOOST_CHECK(p.freed.empty());
    m.check(26);
    BOOST_CHECK((p.freed == std::vector<std::uint64_t>{2, 4}));
    m.check(UINT64_MAX);
    BOOST_CHECK((p.freed == std::vector<std::uint64_t>{2, 4, 1}));
    BOOST_CHECK(!tla_pin_monitor_next(m.m, &until));
    BOOST_CHECK_EQUAL(m.watched(), 1u);
    BOOST_CHECK_EQUAL(tla_pin_monitor_end(m.m, never.o, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(p.freed.back(), 3u);
    BOOST_CHECK_EQUAL(m.forced(), 4u);
}
