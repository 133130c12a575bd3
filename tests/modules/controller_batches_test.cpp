// Batches of a memory controller, and objects under keys: one command for many blocks, found again and evicted.
#include "../unit/seeded_random.hpp"
#include "object_commands.hpp"

#include <algorithm>

using namespace object_commands;

BOOST_AUTO_TEST_CASE(blocks_of_a_batch_are_one_to_a_guard_only_where_they_have_one_object) {
    memory_controller::config config = small();
    config.guard = TLA_GUARD_ERROR;
    bench b(config);
    b.run([&] {
        requester owner(1, 10);
        b.cpu.as = b.data.as = &owner;
        for (const std::uint32_t object : {0u, 5u}) {
            tla_command take = group(TLA_OP_ALLOC_BATCH);
            take.nbytes = 100, take.count = 2, take.batch = TLA_BATCH_CARVED;
            take.request_id = 7;
            take.object = object;
            const tla_completion taken = b.cpu.command(0, take);
            BOOST_REQUIRE_EQUAL(taken.status, TLA_OK);
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(b.data.write(taken.value, bytes(200, 1), delay),
                              object ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
            sc_core::wait(delay);
        }
    });
}

BOOST_AUTO_TEST_CASE(a_batch_is_one_command_whose_addresses_stand_in_the_command_area) {
    bench b(priced());
    b.run([&] {
        tla_command take = group(TLA_OP_ALLOC_BATCH);
        take.nbytes = 1000, take.count = 5, take.batch = TLA_BATCH_CARVED;
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.post(0, take, delay), tlm::TLM_OK_RESPONSE);
        bytes result(40);
        BOOST_CHECK_EQUAL(b.cpu.read(0, result, delay), tlm::TLM_OK_RESPONSE); // waits as a completion does
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp() + delay), 11'000u);   // one command, one walk
        sc_core::wait(delay);
        const tla_completion taken = b.cpu.completion(0, delay);
        BOOST_CHECK_EQUAL(taken.value, hbm(0));
        BOOST_CHECK_EQUAL(taken.nbytes, 5000u);
        const std::vector<std::uint64_t> at = addresses_at(b.cpu, 0, 5);
        for (std::uint64_t i = 0; i < 5; i++)
            BOOST_CHECK_EQUAL(at[i], hbm(1000 * i));
        bytes more(48);
        BOOST_CHECK_EQUAL(b.cpu.read(0, more, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE); // past what was left
        tla_command give = group(TLA_OP_FREE_BATCH);
        give.count = 3;
        give.blocks[0] = {{at[3]}, 1000}, give.blocks[1] = {{at[1]}, 1000}, give.blocks[2] = {{at[1]}, 1000};
        const tla_completion refused = b.cpu.command(0, give);
        BOOST_CHECK_EQUAL(refused.status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(refused.value, 2u);
        BOOST_CHECK_EQUAL(refused.service_ps, 10'000u + 3 * 77);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 5000u);
        give.blocks[2] = {{at[2]}, 1000};
        const tla_completion given = b.cpu.command(0, give);
        BOOST_CHECK_EQUAL(given.status, TLA_OK);
        BOOST_CHECK_EQUAL(given.value, 3u);
        BOOST_CHECK_EQUAL(given.nbytes, 3000u);
        BOOST_CHECK_EQUAL(given.service_ps, 10'000u + 3 * 77); // one run, and nothing to merge with
        take.count = 2000;
        bytes descriptor(40);
        std::size_t length = 0;
        BOOST_CHECK_EQUAL(tla_command_encode(&take, descriptor.data(), 40, &length), TLA_INVALID_ARGUMENT);
        take.count = 232, take.nbytes = 8192;
        BOOST_CHECK_EQUAL(b.cpu.command(0, take).status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 2000u);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "batches"), 4u);
}

BOOST_AUTO_TEST_CASE(a_batch_over_a_list_in_memory_reads_and_writes_its_nodes) {
    memory_controller::config config = priced();
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = 4096;
    bench b(config);
    b.run([&] {
        tla_command take = group(TLA_OP_ALLOC_BATCH);
        take.nbytes = 1000, take.count = 8, take.batch = TLA_BATCH_CARVED;
        BOOST_CHECK_EQUAL(b.cpu.command(0, take).status, TLA_OK);
        const memory_controller::statistics s = b.controller.get_statistics(TLA_HBM);
        BOOST_CHECK_EQUAL(s.list_reads, 8u);
        BOOST_CHECK_GE(s.list_writes, 8u);
        BOOST_CHECK_EQUAL(s.list_errors, 0u);
        take.batch = TLA_BATCH_CONTIGUOUS;
        BOOST_CHECK_EQUAL(b.cpu.command(0, take).status, TLA_UNSUPPORTED);
    });
}

BOOST_AUTO_TEST_CASE(objects_are_found_by_key_with_what_they_hold_and_evicted_when_room_is_wanted) {
    memory_controller::config config = priced();
    config.guard = TLA_GUARD_ERROR;
    config.poison = true;
    bench b(config);
    b.run([&] {
        requester first(1, 10), second(2, 11);
        const std::uint64_t half = slice_bytes / 2;
        std::uint64_t pa[2];
        for (std::uint64_t key = 0; key < 2; key++) {
            pa[key] = b.command_as(first, alloc_command(TLA_HBM, half)).value;
            tla_command put = group(TLA_OP_PUT);
            put.key = key, put.count = 1, put.blocks[0].pa = {pa[key]};
            put.meta = {1, 2, {3, 4}, 100 * key, 100};
            const tla_completion done = b.command_as(first, put);
            BOOST_CHECK_EQUAL(done.status, TLA_OK);
            BOOST_CHECK_EQUAL(done.value, 1u);
            BOOST_CHECK_EQUAL(done.nbytes, half);
            BOOST_CHECK_EQUAL(b.command_as(first, put).value, 0u); // is there already
            b.data.as = &first;
            b.data.write(pa[key], bytes(8, 7));
            BOOST_CHECK_EQUAL(b.command_as(first, free_command(pa[key], half)).value, 1u); // the cache's
        }
        tla_command get = group(TLA_OP_GET);
        get.key = 0;
        const tla_completion found = b.command_as(second, get);
        BOOST_CHECK_EQUAL(found.value, pa[0]);
        BOOST_CHECK_EQUAL(found.nbytes, half);
        const bytes result = b.cpu.read(0, 64);
        tla_mem_object_meta meta{};
        std::uint32_t n = 0;
        tla_object_result_decode(result.data(), &meta, &n);
        BOOST_CHECK_EQUAL(n, 1u);
        BOOST_CHECK_EQUAL(meta.shape[1], 4u);
        BOOST_CHECK_EQUAL(meta.positions, 100u);
        BOOST_CHECK_EQUAL(tla_placed_block_decode(result.data() + 48).pa.value, pa[0]);
        b.data.as = &second;
        BOOST_CHECK(b.data.read(pa[0], 8) == bytes(8, 7)); // what the first has written
        tla_command evict = group(TLA_OP_EVICT);
        evict.nbytes = half, evict.busy = true;
        BOOST_CHECK_EQUAL(b.command_as(first, evict).value, pa[1]); // the other one is held
        bytes eight(8);
        b.data.debug(tlm::TLM_READ_COMMAND, pa[1], eight);
        BOOST_CHECK(eight == bytes(8, 0xdd));
        get.key = 1;
        BOOST_CHECK_EQUAL(b.command_as(second, get).status, TLA_NOT_ALLOCATED); // evicted
        BOOST_CHECK_EQUAL(b.command_as(first, evict).status, TLA_BUSY);
        evict.busy = false;
        const tla_completion given_up = b.command_as(first, evict);
        BOOST_CHECK_EQUAL(given_up.status, TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(given_up.nbytes, half);
        BOOST_CHECK_EQUAL(given_up.service_ps, 10'000u + 1000); // an entry was looked at
        BOOST_CHECK_EQUAL(b.command_as(second, free_command(pa[0], half)).status, TLA_OK);
        tla_command remove = group(TLA_OP_REMOVE);
        BOOST_CHECK_EQUAL(b.command_as(second, remove).value, 1u);
        BOOST_CHECK_EQUAL(b.command_as(second, remove).status, TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(b.command_as(first, free_command(pa[1], half)).status, TLA_OK);
        BOOST_CHECK(b.controller.is_as_at_the_beginning(TLA_HBM));
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "cache_hits"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "cache_misses"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "evicted_objects"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "evict_waits"), 1u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "puts"), 4u);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "cached_objects"), 0u);
}

BOOST_AUTO_TEST_CASE(a_slice_with_an_external_owner_rejects_batches_and_has_no_cache) {
    memory_controller::config config = small();
    config.owner_port = 2;
    bench b(config);
    b.run([&] {
        for (const tla_opcode opcode : {TLA_OP_ALLOC_BATCH, TLA_OP_EVICT, TLA_OP_GET, TLA_OP_REMOVE})
            BOOST_CHECK_EQUAL(b.cpu.command(0, group(opcode)).status, TLA_UNSUPPORTED);
        for (const tla_opcode opcode : {TLA_OP_FREE_BATCH, TLA_OP_PUT}) {
            tla_command command = group(opcode);
            command.count = 2;
            command.blocks[0] = {{tcm_at(0)}, 1}, command.blocks[1] = {{hbm(0)}, 1};
            BOOST_CHECK_EQUAL(b.cpu.command(0, command).status, TLA_UNSUPPORTED);
        }
        for (const tla_opcode opcode : {TLA_OP_REF, TLA_OP_UNREF, TLA_OP_PIN, TLA_OP_UNPIN})
            BOOST_CHECK_EQUAL(b.cpu.command(0, count_command(opcode, hbm(0))).status, TLA_UNSUPPORTED);
        tla_command take = group(TLA_OP_ALLOC_BATCH, TLA_TCM);
        take.nbytes = 100, take.count = 3, take.batch = TLA_BATCH_CARVED;
        BOOST_CHECK_EQUAL(b.cpu.command(0, take).status, TLA_OK); // its TCM is as ever
    });
}

BOOST_AUTO_TEST_CASE(an_evict_evicts_by_the_rule_of_the_configuration) {
    memory_controller::config config = priced();
    config.object_eviction = TLA_VICTIM_TENANT_LRU;
    bench b(config);
    b.run([&] {
        requester first(1, 10), second(2, 11);
        tla_command put = group(TLA_OP_PUT), evict = group(TLA_OP_EVICT);
        const std::uint64_t pa = b.command_as(first, alloc_command(TLA_HBM, slice_bytes)).value;
        put.key = 5, put.count = 1, put.blocks[0].pa = {pa};
        BOOST_CHECK_EQUAL(b.command_as(first, put).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.command_as(first, free_command(pa, slice_bytes)).status, TLA_OK);
        evict.nbytes = 64;
        BOOST_CHECK_EQUAL(b.command_as(second, evict).status, TLA_EXHAUSTED); // the object is another tenant's
        BOOST_CHECK_EQUAL(b.command_as(first, evict).status, TLA_OK);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "evicted_objects"), 1u);
}
