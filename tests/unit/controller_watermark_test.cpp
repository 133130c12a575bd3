// tla_controller: passes over objects under keys in a memory that has reached its watermark.
#include "commander.hpp"

#include <string>
#include <vector>

namespace {

constexpr std::uint64_t interval = 1000;
const std::uint64_t tenth = (1 << 20) / 10;

tla_watermark_config at(std::uint32_t permille, std::uint32_t share = 200) {
    return {permille, share, interval};
}

// A controller whose objects are each a tenth of the slice.
struct keeper : commander {
    explicit keeper(const tla_watermark_config &watermark, tla_victim_rule rule = TLA_VICTIM_LRU)
        : commander(object_memory(), {}, {}, TLA_CONTROLLER_NO_OWNER, rule, watermark) {}

    void put(std::uint64_t key, tla_memory_kind kind = TLA_HBM, std::uint64_t nbytes = tenth) {
        const std::uint64_t pa = alloc(kind, {nbytes, 0, TLA_FORMAT_UNDEFINED}).value;
        tla_command command{};
        command.opcode = TLA_OP_PUT;
        command.key = key, command.count = 1, command.blocks[0].pa = {pa};
        BOOST_REQUIRE_EQUAL(run(command).status, TLA_OK);
        BOOST_REQUIRE_EQUAL(about(TLA_OP_FREE, pa, nbytes).status, TLA_OK);
    }
    tla_completion of_key(tla_opcode opcode, std::uint64_t key, tla_memory_kind kind = TLA_HBM) {
        tla_command command{};
        command.opcode = opcode, command.key = key, command.memory = kind;
        return run(command);
    }
    // The time of the next pass; UINT64_MAX: none is due.
    std::uint64_t next() const {
        std::uint64_t at_ps = 0;
        return tla_controller_next_pass(controller, &at_ps) ? at_ps : UINT64_MAX;
    }
    // Makes the next pass, and returns the number of objects that are left.
    std::uint64_t left_by_pass(tla_memory_kind kind = TLA_HBM) {
        std::uint64_t at_ps = 0;
        const std::uint64_t due = next();
        BOOST_REQUIRE_EQUAL(tla_controller_evict_ahead(controller, due - 1, &at_ps, &outcome), TLA_NOT_FOUND);
        BOOST_REQUIRE_EQUAL(tla_controller_evict_ahead(controller, due, &at_ps, &outcome), TLA_OK);
        BOOST_CHECK_EQUAL(at_ps, due);
        BOOST_CHECK_EQUAL(outcome.memory, kind);
        return stats(kind).cache.entries;
    }
    std::uint64_t passes() const { return tla_controller_get_counts(controller, TLA_HBM).passes; }
};

constexpr std::uint64_t never = UINT64_MAX;

} // namespace

BOOST_AUTO_TEST_CASE(a_pass_is_due_at_the_next_multiple_of_the_interval_after_the_command_that_reaches_the_mark) {
    keeper k(at(500)); // 524,288 bytes: five tenths, rounded down, are less
    for (std::uint64_t key = 0; key < 5; key++) {
        k.now = 1500 + key;
        k.put(key);
        BOOST_CHECK_EQUAL(k.next(), never);
    }
    k.now = 1700;
    k.put(5);
    BOOST_CHECK_EQUAL(k.next(), 2000u);
    k.now = 2000; // a command that arrives with the pass comes after it
    k.put(6);
    BOOST_CHECK_EQUAL(k.next(), 3000u);
}

BOOST_AUTO_TEST_CASE(the_watermark_itself_is_reached) {
    keeper k(at(500));
    k.put(1, TLA_HBM, (1 << 19) - 1);
    BOOST_CHECK_EQUAL(k.next(), never);
    k.alloc(TLA_HBM, {1, 0, TLA_FORMAT_UNDEFINED});
    BOOST_CHECK_EQUAL(k.next(), interval);
}

BOOST_AUTO_TEST_CASE(a_pass_evicts_a_share_of_the_objects_that_were_used_longest_ago) {
    keeper k(at(800, 250));
    for (std::uint64_t key = 0; key < 9; key++)
        k.put(key);
    const std::uint64_t pa = k.of_key(TLA_OP_GET, 0).value;
    k.about(TLA_OP_FREE, pa, tenth); // used, and held by the cache alone
    k.gone.clear();
    BOOST_CHECK_EQUAL(k.left_by_pass(), 7u); // of 9 objects 2
    BOOST_CHECK_EQUAL(k.gone.size(), 2u);
    BOOST_CHECK_EQUAL(k.used(), 7 * tenth);
    BOOST_CHECK_EQUAL(k.outcome.arena.used, 7 * tenth);
    BOOST_CHECK_EQUAL(k.next(), never);
    BOOST_CHECK_EQUAL(k.of_key(TLA_OP_GET, 1).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(k.of_key(TLA_OP_GET, 2).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(k.of_key(TLA_OP_GET, 0).status, TLA_OK);
    BOOST_CHECK_EQUAL(k.passes(), 1u);
}

BOOST_AUTO_TEST_CASE(a_receipt_of_a_pass_has_a_node_for_each_victim_and_the_work_of_its_frees) {
    keeper k(at(800, 250));
    for (std::uint64_t key = 0; key < 9; key++)
        k.put(key);
    commander other; // the same blocks, freed by commands
    for (std::uint64_t i = 0; i < 9; i++)
        other.alloc(TLA_HBM, {tenth, 0, TLA_FORMAT_UNDEFINED});
    std::uint64_t nodes = 2; // looked at
    for (std::uint64_t i = 0; i < 2; i++) {
        other.about(TLA_OP_FREE, i * tenth, tenth);
        nodes += other.outcome.work.nodes_visited;
    }
    k.left_by_pass();
    BOOST_CHECK_EQUAL(k.outcome.work.nodes_visited, nodes);
    BOOST_CHECK_EQUAL(k.outcome.work.merges, 1u);
}

BOOST_AUTO_TEST_CASE(passes_follow_each_other_until_the_memory_is_below_the_watermark) {
    keeper k(at(500, 100)); // of 9 objects and fewer: one
    for (std::uint64_t key = 0; key < 9; key++)
        k.put(key);
    for (std::uint64_t pass = 1; pass <= 4; pass++) {
        BOOST_CHECK_EQUAL(k.next(), pass * interval);
        BOOST_CHECK_EQUAL(k.left_by_pass(), 9 - pass);
    }
    BOOST_CHECK_EQUAL(k.next(), never);
}

BOOST_AUTO_TEST_CASE(a_pass_that_evicts_nothing_is_repeated_only_after_a_command_or_the_end_of_a_pin) {
    keeper k(at(100));
    k.put(1, TLA_HBM, 2 * tenth);
    const std::uint64_t pa = k.of_key(TLA_OP_GET, 1).value;
    k.about(TLA_OP_PIN, pa, 0, nobody, 5000);
    k.about(TLA_OP_FREE, pa, 2 * tenth);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 1u);
    BOOST_CHECK_EQUAL(k.next(), never);
    k.now = 1200;
    k.about(TLA_OP_REF, pa);
    BOOST_CHECK_EQUAL(k.next(), 2000u);
    k.about(TLA_OP_UNREF, pa);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 1u);
    BOOST_CHECK_EQUAL(k.next(), never);
    k.now = 7000;
    BOOST_CHECK_EQUAL(k.end_pins(), TLA_OK); // at 5001
    BOOST_CHECK_EQUAL(k.next(), 6000u);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 0u);
    BOOST_CHECK_EQUAL(k.passes(), 3u);
}

BOOST_AUTO_TEST_CASE(a_pass_at_the_very_end_of_a_pin_evicts_what_it_held) {
    keeper k(at(100));
    k.put(1, TLA_HBM, 2 * tenth);
    const std::uint64_t pa = k.of_key(TLA_OP_GET, 1).value;
    k.about(TLA_OP_PIN, pa, 0, nobody, 2999);
    k.about(TLA_OP_FREE, pa, 2 * tenth);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 1u);
    k.now = 3000;
    BOOST_CHECK_EQUAL(k.end_pins(), TLA_OK);
    BOOST_CHECK_EQUAL(k.next(), 3000u);
}

BOOST_AUTO_TEST_CASE(memories_have_passes_of_their_own) {
    keeper k(at(500, 1000));
    k.put(1, TLA_TCM, 40 << 10);
    k.put(2, TLA_HBM, 6 * tenth);
    BOOST_CHECK_EQUAL(k.next(), interval);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 0u);
    BOOST_CHECK_EQUAL(k.next(), interval);
    BOOST_CHECK_EQUAL(k.left_by_pass(TLA_TCM), 0u);
    BOOST_CHECK_EQUAL(k.next(), never);
}

BOOST_AUTO_TEST_CASE(a_memory_without_objects_has_no_pass) {
    keeper k(at(500));
    k.alloc(TLA_HBM, {9 * tenth, 0, TLA_FORMAT_UNDEFINED});
    BOOST_CHECK_EQUAL(k.next(), never);
    keeper off(at(0));
    for (std::uint64_t key = 0; key < 9; key++)
        off.put(key);
    BOOST_CHECK_EQUAL(off.next(), never);
}

BOOST_AUTO_TEST_CASE(a_reset_ends_what_is_due_and_intervals_begin_there) {
    keeper k(at(100));
    k.put(1, TLA_HBM, 2 * tenth);
    tla_controller_reset(k.controller, 1234);
    BOOST_CHECK_EQUAL(k.next(), never);
    k.now = 1300;
    k.put(1, TLA_HBM, 2 * tenth);
    BOOST_CHECK_EQUAL(k.next(), 2234u);
}

BOOST_AUTO_TEST_CASE(arc_chooses_the_objects_that_a_pass_evicts) {
    keeper k(at(800, 250), TLA_VICTIM_ARC);
    for (std::uint64_t key = 0; key < 9; key++)
        k.put(key);
    for (std::uint64_t key = 0; key < 8; key++)
        k.about(TLA_OP_FREE, k.of_key(TLA_OP_GET, key).value, tenth);
    BOOST_CHECK_EQUAL(k.left_by_pass(), 7u);
    BOOST_CHECK_EQUAL(k.of_key(TLA_OP_GET, 8).status, TLA_NOT_ALLOCATED); // the only one that was used once
    BOOST_CHECK_EQUAL(k.of_key(TLA_OP_GET, 0).status, TLA_NOT_ALLOCATED);
}

BOOST_AUTO_TEST_CASE(a_configuration_names_the_rule_or_the_watermark_that_it_rejects) {
    const auto refused = [](tla_victim_rule rule, const tla_watermark_config &watermark) {
        tla_controller_config config{};
        config.memory = object_memory();
        config.owner_port = TLA_CONTROLLER_NO_OWNER;
        config.object_eviction = rule;
        config.watermark = watermark;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_controller_check_config(&config, &error),
                          rule == TLA_VICTIM_TENANT_LRU ? TLA_UNSUPPORTED : TLA_INVALID_ARGUMENT);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_RULE_COUNT, {}), "object_eviction: unknown rule 3");
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_LRU, at(1001)), "watermark.permille: 1001 permille: must be at most 1000");
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_ARC, at(800, 0)), "watermark.share: 0 permille: must be 1 .. 1000");
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_ARC, at(800, 1001)), "watermark.share: 1001 permille: must be 1 .. 1000");
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_LRU, {800, 200, 0}),
                      "watermark.interval_ps: 0 ps: must be 1 .. 1000000000000000");
    BOOST_CHECK_EQUAL(refused(TLA_VICTIM_TENANT_LRU, at(800)),
                      "watermark: object_eviction must be lru or arc, because tenants' quotas are the host's");
}
