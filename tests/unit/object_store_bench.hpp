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
    explicit object_bench(const tla_pe_memory_config &settings = object_memory()) {
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&settings, &memory), TLA_OK);
        const tla_object_watcher watcher{
            [](void *self, tla_channel channel, tla_paddr pa, std::uint64_t granted) {
                static_cast<object_bench *>(self)->gone.push_back({channel, pa.value, granted});
            },
            this};
        BOOST_REQUIRE_EQUAL(tla_object_store_create(memory, &watcher, &store), TLA_OK);
    }
    object_bench(const object_bench &) = delete;
    ~object_bench() {
        tla_object_store_destroy(store);
        tla_pe_memory_destroy(memory);
    }

    std::uint64_t alloc(std::uint64_t nbytes, std::uint64_t who = nobody, tla_channel channel = TLA_HBM) {
        tla_paddr pa{};
        const tla_stack_request request{nbytes, 0, TLA_FORMAT_UNDEFINED};
        tla_pe_memory_set_owner(memory, {0, who, now});
        BOOST_REQUIRE_EQUAL(tla_object_alloc(store, channel, &request, who, &pa, &work), TLA_OK);
        return pa.value;
    }
    tla_status free(std::uint64_t pa, std::uint64_t nbytes, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_free(store, {pa}, nbytes, who, &counts.references, &work);
    }
    tla_status ref(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_ref(store, {pa}, who, &counts, &work);
    }
    tla_status unref(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_unref(store, {pa}, who, &counts, &work);
    }
    tla_status pin(std::uint64_t pa, std::uint64_t who = nobody, std::uint64_t timeout = UINT64_MAX) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_pin(store, {pa}, who, now, timeout, &counts, &work);
    }
    tla_status unpin(std::uint64_t pa, std::uint64_t who = nobody) {
        tla_pe_memory_set_owner(memory, {0, who, now});
        return tla_object_unpin(store, {pa}, who, &counts, &work);
    }
    tla_status end_pins() {
        tla_pe_memory_set_owner(memory, {0, nobody, now});
        return tla_object_store_end_pins(store, now, &counts, &work);
    }
    std::uint64_t used(tla_channel channel = TLA_HBM) const { return tla_pe_memory_get_stats(memory, channel).used; }
    tla_object_stats stats(tla_channel channel = TLA_HBM) const { return tla_object_store_get_stats(store, channel); }
    std::string why() const { return tla_object_store_last_error(store)->text; }

    struct given {
        tla_channel channel;
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
