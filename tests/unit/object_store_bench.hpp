// A store of objects over a small PE's memories, for the tests of its parts.
#ifndef TLMALLOC_TESTS_UNIT_OBJECT_STORE_BENCH_HPP
#define TLMALLOC_TESTS_UNIT_OBJECT_STORE_BENCH_HPP

#include "seeded_random.hpp"
#include "tlmalloc/memory/object_store.h"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

inline constexpr std::uint64_t nobody = TLA_WHO_UNKNOWN;
inline std::uint64_t asid(std::uint32_t number, std::uint32_t initiator = 7) {
    return tla_who(number, initiator);
}

inline tla_pe_memory_config object_memory(tla_stack_policy policy = TLA_FIRST_FIT) {
    tla_pe_memory_config config{};
    config.of[TLA_HBM].bytes = 1 << 20;
    config.of[TLA_TCM].bytes = 64 << 10;
    config.of[TLA_HBM].policy = config.of[TLA_TCM].policy = policy;
    config.of[TLA_HBM].front = config.of[TLA_TCM].front = {10 << 10, 4 << 10, 16 << 10};
    return config;
}

struct object_bench {
    explicit object_bench(const tla_pe_memory_config &settings = object_memory(),
                          tla_victim_rule rule = TLA_VICTIM_LRU) {
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&settings, &memory), TLA_OK);
        const tla_object_watcher watcher{
            [](void *self, tla_site at, std::uint64_t granted) {
                static_cast<object_bench *>(self)->gone.push_back({at.memory, at.pa.value, granted});
            },
            this};
        BOOST_REQUIRE_EQUAL(tla_object_store_create(memory, rule, &watcher, &store), TLA_OK);
    }
    object_bench(const object_bench &) = delete;
    ~object_bench() {
        tla_object_store_destroy(store);
        tla_pe_memory_destroy(memory);
    }

    tla_site site(std::uint64_t pa) const { return tla_pe_memory_find_site(tla_pe_memory_get_config(memory), {pa}); }
    std::vector<tla_site> sites(const std::vector<tla_placed_block> &blocks) const {
        std::vector<tla_site> found;
        for (const tla_placed_block &block : blocks)
            found.push_back(site(block.pa.value));
        return found;
    }
    tla_status take(tla_memory_kind kind, const tla_stack_request &request, std::uint64_t who, std::uint64_t &pa) {
        tla_site at{};
        tla_status status = tla_object_prepare(store, 1);
        if (!status) status = tla_pe_memory_take(memory, kind, &request, &at, &work);
        if (status) return status;
        tla_object_enter(store, at, request.nbytes, who);
        pa = at.pa.value;
        return TLA_OK;
    }
    std::uint64_t alloc(std::uint64_t nbytes, std::uint64_t who = nobody, tla_memory_kind kind = TLA_HBM) {
        std::uint64_t pa = 0;
        tla_pe_memory_set_owner(memory, {0, who, now});
        BOOST_REQUIRE_EQUAL(take(kind, {nbytes, 0, TLA_FORMAT_UNDEFINED}, who, pa), TLA_OK);
        return pa;
    }
    tla_status free(std::uint64_t pa, std::uint64_t nbytes, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_free(store, site(pa), nbytes, who, &counts.references, &work);
    }
    tla_status ref(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_ref(store, site(pa), who, &counts, &work);
    }
    tla_status unref(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_unref(store, site(pa), who, &counts, &work);
    }
    tla_status pin(std::uint64_t pa, std::uint64_t who = nobody, std::uint64_t timeout = UINT64_MAX) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_pin(store, site(pa), who, now, timeout, &counts, &work);
    }
    tla_status unpin(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_unpin(store, site(pa), who, &counts, &work);
    }
    tla_status end_pins() {
        tla_pe_memory_set_owner(memory, {0, nobody, now});
        return tla_object_store_end_pins(store, now, &counts, &work);
    }
    // Those that the last call has left, and whose block end_pins was about.
    void check_counts(std::uint64_t references, std::uint64_t pins, std::uint64_t nbytes) const {
        BOOST_REQUIRE_EQUAL(counts.references, references);
        BOOST_REQUIRE_EQUAL(counts.pins, pins);
        BOOST_REQUIRE_EQUAL(counts.nbytes, nbytes);
    }
    std::uint64_t ended() const { return counts.at.pa.value; }
    std::uint64_t used(tla_memory_kind kind = TLA_HBM) const { return tla_pe_memory_get_stats(memory, kind).used; }
    tla_object_stats stats(tla_memory_kind kind = TLA_HBM) const { return tla_object_store_get_stats(store, kind); }
    std::string why() const { return tla_object_store_last_error(store)->text; }

    struct given {
        tla_memory_kind memory;
        std::uint64_t pa, granted;
    };
    tla_pe_memory *memory = nullptr;
    tla_object_store *store = nullptr;
    tla_object_counts counts{};
    tla_work work{};
    std::uint64_t now = 0;
    std::vector<given> gone;
};

#endif
