// tla_controller: random commands about many blocks and keys, beside the calls to a store that they stand for.
#include "commander.hpp"
#include "seeded_random.hpp"
#include "tlmalloc/base/work.h"

#include <algorithm>
#include <iterator>

namespace {

// A store of the core, of which the same is asked as of a controller.
struct core_store {
    core_store(const tla_pe_memory_config &config, tla_victim_rule rule) {
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &memory), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_object_store_create(memory, rule, nullptr, &store), TLA_OK);
    }
    core_store(const core_store &) = delete;
    ~core_store() {
        tla_object_store_destroy(store);
        tla_pe_memory_destroy(memory);
    }
    tla_pe_memory *memory = nullptr;
    tla_object_store *store = nullptr;
};

// Random commands about many blocks, and the same calls to a store of the core: status, value, bytes, what is left in
// the command area, and the price.
void check_groups(const tla_pe_memory_config &config, unsigned operations, tla_victim_rule rule = TLA_VICTIM_LRU) {
    const tla_memory_kind kinds[] = {TLA_HBM, TLA_TCM};
    tla_cost_profile cost{};
    cost.fixed_ps = 10'000, cost.node_ps = 1000, cost.metadata_line_ps = 77, cost.driver_call_ps = 5,
    cost.list_pop_ps = 3;
    commander c(config, {}, {}, TLA_CONTROLLER_NO_OWNER, rule);
    core_store core(config, rule);
    seeded_random random(47);
    std::vector<tla_placed_block> known; // taken once; few of them given back since
    std::uint64_t refused = 0, evicted_for_room = 0;
    for (unsigned i = 0; i < operations; i++) {
        const std::uint64_t asker = random.between(0, 1);
        const std::uint64_t who = asker ? tla_who(2, 11) : tla_who(1, 10);
        const tla_opcode opcodes[] = {TLA_OP_ALLOC_BATCH, TLA_OP_FREE_BATCH, TLA_OP_FREE_BATCH, TLA_OP_FREE_BATCH,
                                      TLA_OP_PUT,         TLA_OP_GET,        TLA_OP_REMOVE,     TLA_OP_EVICT};
        tla_command command{};
        command.opcode = opcodes[random.between(0, std::size(opcodes) - 1)];
        command.memory = kinds[random.one_in(4) ? 1 : 0];
        const tla_stack_request request{random.between(1, 30000), 0, TLA_FORMAT_UNDEFINED};
        command.key = random.between(0, 30);
        const auto sites_of = [&](const tla_command &of) {
            std::vector<tla_site> sites;
            for (std::uint32_t each = 0; each < of.count; each++)
                sites.push_back(tla_pe_memory_find_site(&config, of.blocks[each].pa));
            return sites;
        };
        const auto name_blocks = [&](std::size_t most) {
            for (std::size_t n = std::min(random.between(1, most), known.size()); command.count < n; command.count++)
                command.blocks[command.count] = known[random.between(0, known.size() - 1)];
        };
        tla_status status = TLA_OK;
        std::uint64_t value = 0, nbytes = 0;
        tla_work work{};
        tla_pe_memory_set_owner(core.memory, {0, who, 0});
        std::vector<tla_placed_block> blocks(TLA_COMMAND_MAX_BLOCKS);
        std::vector<std::uint8_t> left(TLA_COMMAND_MAX_BYTES);
        std::size_t n = 0;
        switch (command.opcode) {
        case TLA_OP_ALLOC_BATCH:
            command.nbytes = request.nbytes, command.count = std::uint32_t(random.between(1, 6));
            command.batch = random.one_in(2) ? TLA_BATCH_CARVED : TLA_BATCH_CONTIGUOUS;
            status = tla_object_alloc_batch(core.store, command.memory, &request, command.count, command.batch, who,
                                            blocks.data(), &work);
            if (status) break;
            value = blocks[0].pa.value, nbytes = request.nbytes * command.count;
            n = tla_batch_result_encode(blocks.data(), command.count, left.data());
            known.insert(known.end(), blocks.begin(), blocks.begin() + command.count);
            break;
        case TLA_OP_FREE_BATCH: {
            name_blocks(2);
            std::size_t freed = 0, failed = 0;
            status = tla_object_free_batch(core.store, sites_of(command).data(), command.blocks, command.count, who,
                                           &freed, &failed, &work);
            value = status ? failed : freed;
            for (std::uint32_t each = 0; each < command.count && !status; each++)
                nbytes += command.blocks[each].nbytes;
            break;
        }
        case TLA_OP_PUT: {
            name_blocks(3);
            command.meta = {1, 2, {std::uint32_t(random.between(1, 9)), 7}, random.between(0, 99), 5};
            bool added = false;
            status = tla_object_put(core.store, command.key, &command.meta, sites_of(command).data(), command.count,
                                    &added, &work);
            value = added;
            for (std::uint32_t each = 0; each < command.count && !status; each++)
                for (const tla_placed_block &one : known)
                    if (one.pa.value == command.blocks[each].pa.value) {
                        tla_object_counts of{};
                        BOOST_REQUIRE_EQUAL(tla_object_look(core.store, tla_pe_memory_find_site(&config, one.pa), &of),
                                            TLA_OK);
                        nbytes += of.nbytes;
                        break;
                    }
            break;
        }
        case TLA_OP_GET: {
            tla_mem_object_meta meta{};
            std::size_t found = 0;
            status = tla_object_get(core.store, command.memory, command.key, who, &meta, blocks.data(), blocks.size(),
                                    &found, &work);
            if (status) break;
            value = blocks[0].pa.value;
            for (std::size_t each = 0; each < found; each++)
                nbytes += blocks[each].nbytes;
            n = tla_object_result_encode(&meta, blocks.data(), std::uint32_t(found), left.data());
            break;
        }
        case TLA_OP_REMOVE: {
            std::size_t removed = 0;
            status = tla_object_remove(core.store, command.memory, command.key, &removed, &work);
            value = removed;
            break;
        }
        default: {
            command.nbytes = nbytes = request.nbytes;
            command.busy = random.one_in(2);
            const std::uint64_t before = tla_object_store_get_stats(core.store, command.memory).cache.evicted;
            tla_site at{};
            status = tla_object_evict(core.store, command.memory, &request, command.busy, who, &at, &work);
            evicted_for_room += tla_object_store_get_stats(core.store, command.memory).cache.evicted - before;
            value = at.pa.value;
            if (!status) known.push_back({at.pa, request.nbytes});
        }
        }
        const tla_completion answer = c.run(command, who);
        BOOST_REQUIRE_EQUAL(tla_status_name(answer.status), tla_status_name(status));
        if (!status || command.opcode == TLA_OP_FREE_BATCH) BOOST_REQUIRE_EQUAL(answer.value, value);
        if (!status) BOOST_REQUIRE_EQUAL(answer.nbytes, nbytes);
        BOOST_REQUIRE_EQUAL(tla_cost_price(&cost, &c.outcome.work), tla_cost_price(&cost, &work));
        left.resize(n);
        BOOST_REQUIRE(std::vector<std::uint8_t>(c.outcome.result, c.outcome.result + c.outcome.result_length) == left);
        refused += status != TLA_OK;
        // Most of what is dead by now is forgotten.
        known.erase(std::remove_if(known.begin(), known.end(),
                                   [&](const tla_placed_block &one) {
                                       tla_object_counts of{};
                                       return tla_object_look(core.store, tla_pe_memory_find_site(&config, one.pa),
                                                              &of) &&
                                              !random.one_in(20);
                                   }),
                    known.end());
    }
    for (const tla_memory_kind kind : kinds) {
        const tla_object_stats of_core = tla_object_store_get_stats(core.store, kind), commanded = c.stats(kind);
        BOOST_CHECK_EQUAL(of_core.references, commanded.references);
        BOOST_CHECK_EQUAL(of_core.hits, commanded.hits);
        BOOST_CHECK_EQUAL(of_core.misses, commanded.misses);
        BOOST_CHECK_EQUAL(of_core.cache.entries, commanded.cache.entries);
        BOOST_CHECK_EQUAL(of_core.cache.evicted, commanded.cache.evicted);
        BOOST_CHECK_EQUAL(of_core.cache.waits, commanded.cache.waits);
        BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(core.memory, kind).used, c.used(kind));
    }
    BOOST_TEST_MESSAGE(refused << " refused, " << evicted_for_room << " evicted");
    BOOST_CHECK_GT(operations - refused, operations / 4);
    BOOST_CHECK_GT(refused, operations / 100);
    BOOST_CHECK_GT(evicted_for_room, operations / 1000);
}

tla_pe_memory_config with_front(tla_front front) {
    return object_memory(tla_stack_policy_of(front, TLA_BEST_FIT));
}

} // namespace

BOOST_AUTO_TEST_CASE(random_batches_and_keys_1e5_of_them_do_what_the_store_does) {
    check_groups(object_memory(), 100000);
}
BOOST_AUTO_TEST_CASE(random_batches_and_keys_do_so_with_an_eviction_by_tenants) {
    check_groups(object_memory(), 20000, TLA_VICTIM_TENANT_LRU);
}
BOOST_AUTO_TEST_CASE(random_batches_and_keys_do_so_with_arc) {
    check_groups(object_memory(), 20000, TLA_VICTIM_ARC);
}
BOOST_AUTO_TEST_CASE(random_batches_and_keys_do_so_with_a_caching_pool) {
    check_groups(with_front(TLA_FRONT_CACHING_POOL), 20000);
}
BOOST_AUTO_TEST_CASE(random_batches_and_keys_do_so_with_a_segment_cache) {
    tla_pe_memory_config config = with_front(TLA_FRONT_SEGMENT_CACHE);
    check_groups(config, 20000);
}
BOOST_AUTO_TEST_CASE(random_batches_and_keys_do_so_with_a_growing_pool) {
    check_groups(with_front(TLA_FRONT_GROWING_POOL), 20000);
}

// Descriptors cannot say them, callers in C can.
BOOST_AUTO_TEST_CASE(a_command_with_a_memory_or_a_count_out_of_range_is_rejected_and_changes_nothing) {
    commander c;
    BOOST_REQUIRE_EQUAL(c.alloc(TLA_HBM, {100, 0, TLA_FORMAT_UNDEFINED}).status, TLA_OK);
    const tla_arena_stats before = tla_pe_memory_get_stats(c.memory, TLA_HBM);
    for (const tla_opcode opcode :
         {TLA_OP_ALLOC, TLA_OP_TRIM, TLA_OP_ALLOC_BATCH, TLA_OP_EVICT, TLA_OP_GET, TLA_OP_REMOVE})
        for (const int kind : {-1, int{TLA_MEMORY_KIND_COUNT}, 1 << 20}) {
            tla_command command{};
            command.opcode = opcode;
            command.memory = static_cast<tla_memory_kind>(kind);
            command.nbytes = 100;
            BOOST_CHECK_EQUAL(c.run(command).status, TLA_BAD_COMMAND);
        }
    for (const tla_opcode opcode : {TLA_OP_ALLOC_BATCH, TLA_OP_FREE_BATCH, TLA_OP_PUT}) {
        tla_command command{};
        command.opcode = opcode;
        command.nbytes = 100;
        command.count = TLA_COMMAND_MAX_BLOCKS + 1;
        BOOST_CHECK_EQUAL(c.run(command).status, TLA_BAD_COMMAND);
    }
    const tla_arena_stats after = tla_pe_memory_get_stats(c.memory, TLA_HBM);
    BOOST_CHECK_EQUAL(after.used, before.used);
    BOOST_CHECK_EQUAL(after.free_blocks, before.free_blocks);
    BOOST_CHECK_EQUAL(tla_controller_get_counts(c.controller, TLA_HBM).allocs, 1u);
}
