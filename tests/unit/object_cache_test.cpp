// Objects under keys in front of a memory: found again with what they are, and evicted when their bytes are wanted.
#include "object_store_bench.hpp"

#include <algorithm>
#include <list>

namespace {

const std::uint64_t page = 64 << 10; // 16 of them are the memory

struct cache_bench : object_bench {
    using object_bench::object_bench;
    tla_status put(std::uint64_t key, const std::vector<std::uint64_t> &pas, const tla_mem_object_meta &what = {}) {
        std::vector<tla_placed_block> blocks;
        for (std::uint64_t each : pas)
            blocks.push_back({{each}, 0});
        return tla_object_put(store, key, &what, sites(blocks).data(), blocks.size(), &added, &work);
    }
    tla_status get(std::uint64_t key, std::uint64_t who = nobody, std::size_t room = 16) {
        found.assign(room, {});
        std::size_t n = 0;
        const tla_status status = tla_object_get(store, TLA_HBM, key, who, &meta, found.data(), room, &n, &work);
        if (!status) found.resize(n);
        return status;
    }
    tla_status remove(std::uint64_t key) { return tla_object_remove(store, TLA_HBM, key, nullptr, &work); }
    tla_status evict(std::uint64_t nbytes, bool busy, std::uint64_t who = nobody) {
        const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_evict(store, TLA_HBM, &request, busy, who, &taken, &work);
    }
    // What a store does: allocate, enter, give its own reference up.
    void store_page(std::uint64_t key, std::uint64_t who = nobody) {
        const std::uint64_t at = alloc(page, who);
        BOOST_REQUIRE_EQUAL(put(key, {at}), TLA_OK);
        BOOST_REQUIRE_EQUAL(unref(at, who), TLA_OK);
    }
    // Finds an object and gives it up at once; whether there was one.
    bool use(std::uint64_t key) {
        if (get(key)) return false;
        BOOST_REQUIRE_EQUAL(unref(found[0].pa.value), TLA_OK);
        return true;
    }
    bool added = false;
    tla_mem_object_meta meta{};
    std::vector<tla_placed_block> found;
    tla_site taken{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_put_object_is_found_with_its_shape_type_and_positions) {
    cache_bench b;
    const std::uint64_t layers[] = {b.alloc(100, asid(1)), b.alloc(200, asid(1))};
    const tla_mem_object_meta meta{3, 4, {2, 32, 256, 1024}, 512, 256};
    BOOST_CHECK_EQUAL(b.put(77, {layers[0], layers[1]}, meta), TLA_OK);
    BOOST_CHECK(b.added);
    BOOST_CHECK_EQUAL(b.put(77, {layers[1]}), TLA_OK); // stays as it is
    BOOST_CHECK(!b.added);
    BOOST_CHECK_EQUAL(b.get(77, asid(2)), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.found.size(), 2u);
    BOOST_CHECK_EQUAL(b.found[0].pa.value, layers[0]);
    BOOST_CHECK_EQUAL(b.found[1].nbytes, 200u);
    BOOST_CHECK_EQUAL(b.meta.dtype, 3u);
    BOOST_CHECK_EQUAL(b.meta.dimensions, 4u);
    BOOST_CHECK_EQUAL(b.meta.shape[3], 1024u);
    BOOST_CHECK_EQUAL(b.meta.first_position, 512u);
    BOOST_CHECK_EQUAL(b.meta.positions, 256u);
    tla_object_counts counts{};
    BOOST_REQUIRE_EQUAL(tla_object_look(b.store, b.site(layers[0]), &counts), TLA_OK);
    BOOST_CHECK_EQUAL(counts.references, 3u); // who allocated it, the cache, who found it
    BOOST_CHECK_EQUAL(b.unref(layers[0], asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(layers[0], asid(1)), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(layers[0], nobody), TLA_NOT_ALLOCATED); // the cache's is nobody's to give up
    BOOST_CHECK_EQUAL(b.used(), 300u);
    BOOST_CHECK_EQUAL(b.remove(77), TLA_OK);
    BOOST_CHECK_EQUAL(b.used(), 200u); // the second is still held, twice
    BOOST_CHECK_EQUAL(b.stats().cache.entries, 0u);
    BOOST_CHECK_EQUAL(b.stats().hits, 1u);
}

BOOST_AUTO_TEST_CASE(missing_keys_and_invalid_blocks_are_rejected) {
    cache_bench b;
    BOOST_CHECK_EQUAL(b.get(5), TLA_NOT_ALLOCATED);
    BOOST_CHECK_NE(b.why().find("GET of key 0x5: the key is not in the cache of the HBM"), std::string::npos);
    BOOST_CHECK_EQUAL(b.remove(5), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.put(5, {}), TLA_INVALID_ARGUMENT);
    const std::uint64_t live = b.alloc(100), local = b.alloc(100, nobody, TLA_TCM), dead = b.alloc(100);
    b.free(dead, 100);
    BOOST_CHECK_EQUAL(b.put(5, {live, dead}), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.put(5, {live, local}), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_NE(b.why().find("the block is in the TCM, but the others are in the HBM"), std::string::npos);
    BOOST_CHECK_EQUAL(b.get(5), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.put(5, {live, live}), TLA_OK);
    BOOST_CHECK_EQUAL(b.get(5, nobody, 1), TLA_LIMIT);
    tla_object_counts counts{};
    tla_object_look(b.store, b.site(live), &counts);
    BOOST_CHECK_EQUAL(counts.references, 3u);
    BOOST_CHECK_EQUAL(b.stats().misses, 2u);
}

BOOST_AUTO_TEST_CASE(an_eviction_takes_the_least_recently_used_object_without_holders) {
    cache_bench b;
    for (std::uint64_t key = 0; key < 16; key++)
        b.store_page(key);
    BOOST_CHECK_EQUAL(b.get(0), TLA_OK); // used, and held
    BOOST_CHECK_EQUAL(b.get(1), TLA_OK); // used
    BOOST_CHECK_EQUAL(b.unref(b.found[0].pa.value), TLA_OK);
    BOOST_CHECK_EQUAL(b.get(2), TLA_OK);
    const std::uint64_t second = b.found[0].pa.value;
    BOOST_CHECK_EQUAL(b.pin(second), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(second), TLA_OK);
    BOOST_CHECK_EQUAL(b.evict(page, false), TLA_OK);
    BOOST_CHECK_EQUAL(b.get(3), TLA_NOT_ALLOCATED); // evicted
    BOOST_CHECK_EQUAL(b.stats().cache.evicted, 1u);
    // Two pages beside each other: 4, 5 and so on until there is room.
    BOOST_CHECK_EQUAL(b.evict(2 * page, false), TLA_OK);
    BOOST_CHECK_EQUAL(b.stats().cache.evicted, 3u);
    while (!b.evict(page, false)) {
    }
    BOOST_CHECK_EQUAL(b.stats().cache.entries, 2u); // of 0 and 2
    BOOST_CHECK_EQUAL(b.evict(page, false), TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(b.evict(page, true), TLA_BUSY);
    BOOST_CHECK_EQUAL(b.stats().cache.waits, 1u);
    BOOST_CHECK_EQUAL(b.unpin(second), TLA_OK);
    BOOST_CHECK_EQUAL(b.evict(page, true), TLA_OK);
    BOOST_CHECK_EQUAL(b.taken.pa.value, second);
}

BOOST_AUTO_TEST_CASE(a_context_may_evict_objects_of_another_from_guarded_memory) {
    tla_pe_memory_config config = object_memory();
    config.guarded = true;
    config.guard_history = 8;
    cache_bench b(config);
    const std::uint64_t at = b.alloc(1 << 20, asid(1));
    b.put(1, {at});
    const auto look = [&](std::uint64_t who) {
        const tla_guard_access access{true, 0, 1, 1, nullptr, 0, who, 0, 0, 0};
        return tla_pe_memory_look(b.memory, TLA_HBM, &access, nullptr);
    };
    BOOST_CHECK_EQUAL(look(asid(1)), TLA_OK);
    b.unref(at, asid(1));
    BOOST_CHECK_EQUAL(look(asid(1)), TLA_NOT_OWNER); // the cache's alone
    b.get(1, asid(2));
    BOOST_CHECK_EQUAL(look(asid(2)), TLA_OK);
    b.unref(at, asid(2));
    BOOST_CHECK_EQUAL(b.evict(100, false, asid(3)), TLA_OK);
    BOOST_CHECK_EQUAL(look(asid(3)), TLA_OK);
    BOOST_CHECK_EQUAL(look(asid(1)), TLA_NOT_OWNER);
}

BOOST_AUTO_TEST_CASE(a_block_that_its_memory_cannot_release_has_no_owner) {
    cache_bench b;
    BOOST_REQUIRE_EQUAL(tla_pe_memory_follow(b.memory, TLA_HBM, 3, 0), TLA_OK);
    std::vector<std::uint64_t> at;
    for (int i = 0; i < 6; i++)
        at.push_back(b.alloc(100));
    BOOST_REQUIRE_EQUAL(b.put(1, {at[2]}), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.unref(at[2]), TLA_OK);
    BOOST_REQUIRE_EQUAL(b.free(at[0], 100), TLA_OK); // no node is left for another hole
    BOOST_CHECK_EQUAL(b.remove(1), TLA_LIMIT);
    BOOST_CHECK_EQUAL(b.get(1), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(b.used(), 500u);
    BOOST_CHECK_EQUAL(b.free(at[1], 100), TLA_OK);
    BOOST_CHECK_EQUAL(b.unref(at[2], asid(9)), TLA_OK); // anybody's to give up
    BOOST_CHECK_EQUAL(b.used(), 300u);
}

// A naive cache: a list of keys in order of use, and who holds what in a map.
BOOST_AUTO_TEST_CASE(a_naive_cache_agrees_on_1e5_random_operations) {
    cache_bench b;
    std::list<std::uint64_t> order; // the one that was used last at the end
    std::map<std::uint64_t, std::uint64_t> address;
    std::map<std::uint64_t, unsigned> held; // address -> references of contexts
    std::map<std::uint64_t, bool> pinned;
    std::uint64_t free_pages = 16, evicted = 0, next_key = 0;
    seeded_random random(53);
    const auto touch = [&](std::uint64_t key) { order.remove(key), order.push_back(key); };
    const auto used_key = [&] { return random.between(next_key > 20 ? next_key - 20 : 0, next_key); };
    unsigned waits = 0, failures = 0;
    for (int i = 0; i < 100000; i++) {
        switch (random.between(0, 5)) {
        case 0:
        case 1: { // store a page under a new key, evicting
            const bool busy = random.one_in(2);
            const tla_status status = b.evict(page, busy);
            while (free_pages == 0) {
                const auto victim = std::find_if(order.begin(), order.end(), [&](std::uint64_t key) {
                    return held[address[key]] == 0 && !pinned[address[key]];
                });
                if (victim == order.end()) break;
                address.erase(*victim);
                order.erase(victim);
                free_pages++, evicted++;
            }
            BOOST_REQUIRE_EQUAL(status, free_pages > 0 ? TLA_OK : busy ? TLA_BUSY : TLA_EXHAUSTED);
            waits += status == TLA_BUSY, failures += status == TLA_EXHAUSTED;
            if (status) break;
            free_pages--;
            const std::uint64_t key = next_key++, at = b.taken.pa.value;
            BOOST_REQUIRE_EQUAL(b.put(key, {at}), TLA_OK);
            address[key] = at, held[at] = 1, pinned[at] = false;
            order.push_back(key);
            if (random.one_in(4)) break; // keeps it
            BOOST_REQUIRE_EQUAL(b.unref(at), TLA_OK);
            held[at] = 0;
            break;
        }
        case 2: {
            const std::uint64_t key = used_key();
            BOOST_REQUIRE_EQUAL(b.get(key), address.count(key) ? TLA_OK : TLA_NOT_ALLOCATED);
            if (!address.count(key)) break;
            BOOST_REQUIRE_EQUAL(b.found[0].pa.value, address[key]);
            held[address[key]]++;
            touch(key);
            break;
        }
        case 3: { // gives one up, of whatever is held
            std::vector<std::uint64_t> all;
            for (const auto &[at, references] : held)
                if (references > 0) all.push_back(at);
            for (std::size_t n = all.size() / 3; n > 0 && !all.empty(); n--) {
                const std::uint64_t at = all[random.between(0, all.size() - 1)];
                if (held[at] == 0) continue;
                BOOST_REQUIRE_EQUAL(b.unref(at), TLA_OK);
                const bool cached =
                    std::any_of(address.begin(), address.end(), [&](auto &e) { return e.second == at; });
                if (--held[at] == 0 && !cached && !pinned[at]) free_pages++;
            }
            break;
        }
        case 4: {
            if (address.empty()) break;
            const std::uint64_t at =
                std::next(address.begin(), std::ptrdiff_t(random.between(0, address.size() - 1)))->second;
            BOOST_REQUIRE_EQUAL(pinned[at] ? b.unpin(at) : b.pin(at), TLA_OK);
            pinned[at] = !pinned[at];
            break;
        }
        default: {
            if (!random.one_in(4)) break;
            const std::uint64_t key = used_key();
            BOOST_REQUIRE_EQUAL(b.remove(key), address.count(key) ? TLA_OK : TLA_NOT_ALLOCATED);
            if (!address.count(key)) break;
            const std::uint64_t at = address[key];
            order.remove(key), address.erase(key);
            if (pinned[at]) { // so that the model need not follow it
                BOOST_REQUIRE_EQUAL(b.unpin(at), TLA_OK);
                pinned[at] = false;
            }
            if (held[at] == 0) free_pages++;
        }
        }
        BOOST_REQUIRE_EQUAL(b.used(), (16 - free_pages) * page);
        BOOST_REQUIRE_EQUAL(b.stats().cache.entries, order.size());
        BOOST_REQUIRE_EQUAL(b.stats().cache.evicted, evicted);
    }
    BOOST_CHECK_GT(evicted, 100u);
    BOOST_CHECK_GT(waits, 10u);
    BOOST_CHECK_GT(failures, 10u);
}

BOOST_AUTO_TEST_CASE(an_evict_takes_only_objects_of_its_own_address_space) {
    cache_bench b(object_memory(), TLA_VICTIM_TENANT_LRU);
    for (std::uint64_t key = 0; key < 16; key++)
        b.store_page(key, key < 14 ? asid(1) : asid(2));
    BOOST_CHECK_EQUAL(b.evict(page, false, asid(2)), TLA_OK);
    BOOST_CHECK(b.use(0) && !b.use(14) && b.use(15));
    BOOST_CHECK_EQUAL(b.evict(page, false, asid(2)), TLA_OK);
    BOOST_CHECK_EQUAL(b.evict(page, false, asid(2)), TLA_EXHAUSTED); // the other tenant has 14 objects
    BOOST_CHECK_EQUAL(b.evict(page, true, asid(2)), TLA_BUSY);
    BOOST_CHECK_EQUAL(b.evict(page, false), TLA_EXHAUSTED); // nor are they of nobody
    BOOST_CHECK_EQUAL(b.stats().cache.entries, 14u);
    BOOST_CHECK_EQUAL(b.evict(page, false, asid(1)), TLA_OK);
    BOOST_CHECK(b.use(0) && !b.use(1)); // 0 was used
}

// A scan of new objects drives out those that are used again with lru, but not with arc.
BOOST_AUTO_TEST_CASE(objects_that_are_used_again_survive_a_scan_with_arc) {
    for (const tla_victim_rule rule : {TLA_VICTIM_LRU, TLA_VICTIM_ARC}) {
        cache_bench b(object_memory(), rule);
        for (std::uint64_t key = 0; key < 16; key++)
            b.store_page(key);
        for (std::uint64_t key = 0; key < 4; key++)
            BOOST_CHECK(b.use(key));
        for (std::uint64_t key = 100; key < 140; key++) {
            BOOST_REQUIRE_EQUAL(b.evict(page, false), TLA_OK);
            BOOST_REQUIRE_EQUAL(b.put(key, {b.taken.pa.value}), TLA_OK);
            BOOST_REQUIRE_EQUAL(b.unref(b.taken.pa.value), TLA_OK);
        }
        for (std::uint64_t key = 0; key < 4; key++)
            BOOST_CHECK_EQUAL(b.use(key), rule == TLA_VICTIM_ARC);
        BOOST_CHECK_EQUAL(b.stats().cache.evicted, 40u);
    }
}
