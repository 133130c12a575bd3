// tla_controller: a memory in two parts, L1 for the blocks of objects and L2 for the others.
#include "object_store_bench.hpp"
#include "stacks.hpp"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/memory/controller.h"

#include <cmath>
#include <list>
#include <set>

namespace {

constexpr std::uint64_t unit = 4096, slots = 256; // of the slice; a block of up to a unit takes one

tla_controller_config divided(const tla_controller_partition &partition) {
    tla_controller_config c{};
    c.memory = object_memory();
    c.memory.alignment = unit;
    c.owner_port = TLA_CONTROLLER_NO_OWNER;
    c.partition = partition;
    return c;
}

class sender {
  public:
    explicit sender(const tla_controller_config &c) {
        BOOST_REQUIRE_MESSAGE(tla_controller_check_config(&c, &error) == TLA_OK, error.text);
        BOOST_REQUIRE_EQUAL(tla_controller_create(&c, &controller), TLA_OK);
    }
    sender() : sender(divided({TLA_DIVIDED_HBM, 250, 0, 8, 1})) {}
    sender(const sender &) = delete;
    ~sender() { tla_controller_destroy(controller); }

    tla_completion run(tla_command command) {
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        tla_controller_execute(controller, 0, nobody, &command, now, &outcome);
        return outcome.completion;
    }
    tla_completion take(tla_opcode opcode, std::uint64_t nbytes, std::uint32_t count = 0, bool busy = false,
                        tla_memory_kind kind = TLA_HBM) {
        tla_command command{};
        command.opcode = opcode, command.memory = kind, command.nbytes = nbytes;
        command.count = count, command.busy = busy, command.batch = TLA_BATCH_CARVED;
        return run(command);
    }
    tla_completion free(std::uint64_t pa, std::uint64_t nbytes) {
        tla_command command{};
        command.opcode = TLA_OP_FREE, command.pa = {pa}, command.nbytes = nbytes;
        return run(command);
    }
    tla_completion put(std::uint64_t key, const std::vector<std::uint64_t> &blocks) {
        tla_command command{};
        command.opcode = TLA_OP_PUT, command.key = key, command.count = static_cast<std::uint32_t>(blocks.size());
        for (std::size_t i = 0; i < blocks.size(); i++)
            command.blocks[i].pa = {blocks[i]};
        return run(command);
    }
    tla_completion of_key(tla_opcode opcode, std::uint64_t key) {
        tla_command command{};
        command.opcode = opcode, command.key = key;
        return run(command);
    }
    // An object that the cache alone holds.
    void keep(std::uint64_t key, std::uint64_t nbytes = unit) {
        const tla_completion made = take(TLA_OP_EVICT, nbytes);
        BOOST_REQUIRE_EQUAL(made.status, TLA_OK);
        BOOST_REQUIRE_EQUAL(put(key, {made.value}).status, TLA_OK);
        BOOST_REQUIRE_EQUAL(free(made.value, nbytes).status, TLA_OK);
    }
    tla_status border(std::uint64_t l1) { return tla_controller_set_l1(controller, l1, now, &error); }
    tla_object_stats stats(tla_memory_kind kind = TLA_HBM) const {
        return tla_controller_get_objects(controller, kind);
    }
    std::uint64_t used() const { return tla_controller_get_stats(controller, TLA_HBM).memory.used; }

    tla_controller *controller = nullptr;
    tla_controller_outcome outcome{};
    tla_error error{};
    std::uint64_t now = 0;
};

// The rule, in slots, from the reference: L1 stages objects, L2 has the rest, and a register has the bytes of L1.
struct model {
    struct block {
        std::uint64_t pa, nbytes, references, in_cache = 0;
        bool staged = false;
    };
    std::uint64_t l1, least;
    std::map<std::uint64_t, block> blocks;                                // by address
    std::list<std::pair<std::uint64_t, std::vector<std::uint64_t>>> keys; // the one that was used longest ago first

    std::uint64_t in(bool staged) const {
        std::uint64_t n = 0;
        for (const auto &[pa, b] : blocks)
            n += b.staged == staged;
        return n;
    }
    std::uint64_t room(bool staged) const {
        const std::uint64_t all = (staged ? l1 : slots * unit - l1) / unit, used = in(staged); // whole blocks
        return used < all ? all - used : 0;
    }
    auto find(std::uint64_t key) {
        return std::find_if(keys.begin(), keys.end(), [&](const auto &k) { return k.first == key; });
    }
    void drop(std::uint64_t pa, std::uint64_t block::*held) {
        block &b = blocks.at(pa);
        b.*held -= 1;
        if (b.references + b.in_cache == 0) blocks.erase(pa);
    }
    void leave(std::list<std::pair<std::uint64_t, std::vector<std::uint64_t>>>::iterator key) {
        const std::vector<std::uint64_t> of = key->second;
        keys.erase(key);
        for (const std::uint64_t pa : of)
            drop(pa, &block::in_cache);
    }
    bool evict_one() {
        for (auto key = keys.begin(); key != keys.end(); ++key)
            if (std::all_of(key->second.begin(), key->second.end(), [&](std::uint64_t pa) {
                    return blocks.at(pa).references == 0 && blocks.at(pa).in_cache == 1;
                })) {
                leave(key);
                return true;
            }
        return false;
    }
    tla_status evict(bool busy) {
        if (l1 < unit) return TLA_EXHAUSTED;
        while (room(true) == 0)
            if (!evict_one()) return busy ? TLA_BUSY : TLA_EXHAUSTED;
        return TLA_OK;
    }
    tla_status put(std::uint64_t key, const std::vector<std::uint64_t> &of) {
        if (find(key) != keys.end()) return TLA_OK;
        std::set<std::uint64_t> more;
        for (const std::uint64_t pa : of)
            if (!blocks.at(pa).staged) more.insert(pa);
        if (more.size() > room(true)) return TLA_EXHAUSTED;
        for (const std::uint64_t pa : of) {
            blocks.at(pa).staged = true;
            blocks.at(pa).in_cache++;
        }
        keys.emplace_back(key, of);
        return TLA_OK;
    }
    tla_status border(std::uint64_t to) {
        if (to == 0 || to >= slots * unit) return TLA_INVALID_ARGUMENT;
        if (to < least) return TLA_EXHAUSTED;
        if (to < l1 && to < in(true) * unit) return TLA_BUSY;
        if (to > l1 && slots * unit - to < in(false) * unit) return TLA_BUSY;
        l1 = to;
        return TLA_OK;
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(objects_live_in_l1_and_other_blocks_in_l2) { // 64 and 192 units
    sender s;
    BOOST_CHECK_EQUAL(tla_controller_get_l1(s.controller), 64 * unit); // before the first command
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 192 * unit).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.outcome.completion.total_free, 0u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 1).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.outcome.completion.value, TLA_SMALLER_L1);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC_BATCH, 1, 1).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 0u);
    for (std::uint64_t key = 0; key < 64; key++)
        s.keep(key);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 64 * unit);
    BOOST_CHECK_EQUAL(s.stats().cache.evicted, 0u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 2 * unit).status, TLA_OK); // two objects leave for it
    BOOST_CHECK_EQUAL(s.stats().cache.evicted, 2u);
    BOOST_CHECK_EQUAL(s.of_key(TLA_OP_GET, 1).status, TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(s.of_key(TLA_OP_GET, 2).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 64 * unit);
    BOOST_CHECK_EQUAL(s.stats().peak_l1_used, 64 * unit);
    BOOST_CHECK_EQUAL(s.stats().shortages, 4u); // two of L2, and two of the EVICT
    BOOST_CHECK_EQUAL(s.stats(TLA_TCM).l1, 0u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 64 << 10, 0, false, TLA_TCM).status, TLA_OK); // all of it
}

BOOST_AUTO_TEST_CASE(an_evict_of_more_bytes_than_l1_has_evicts_nothing) {
    sender s;
    s.keep(1);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 65 * unit, 0, true).status, TLA_EXHAUSTED); // and not TLA_BUSY
    BOOST_CHECK_EQUAL(s.stats().cache.entries, 1u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 64 * unit).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.stats().cache.entries, 0u);
}

BOOST_AUTO_TEST_CASE(a_block_comes_into_l1_with_its_key_and_leaves_it_when_it_is_free) {
    sender s;
    const std::uint64_t pa = s.take(TLA_OP_ALLOC, 60 * unit).value, other = s.take(TLA_OP_ALLOC, 5 * unit).value;
    BOOST_CHECK_EQUAL(s.put(1, {pa, pa}).status, TLA_OK); // named twice, it counts once
    BOOST_CHECK_EQUAL(s.stats().l1_used, 60 * unit);
    BOOST_CHECK_EQUAL(s.put(2, {other}).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 60 * unit);
    BOOST_CHECK_EQUAL(s.stats().cache.entries, 1u);
    BOOST_CHECK_EQUAL(s.put(1, {other}).status, TLA_OK); // the key is there, and changes nothing
    BOOST_CHECK_EQUAL(s.stats().l1_used, 60 * unit);
    BOOST_CHECK_EQUAL(s.of_key(TLA_OP_REMOVE, 1).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 60 * unit); // it is not free
    BOOST_CHECK_EQUAL(s.free(pa, 60 * unit).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.stats().l1_used, 0u);
    BOOST_CHECK_EQUAL(s.put(2, {other}).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_border_that_is_refused_stays) {
    sender s(divided({TLA_DIVIDED_HBM, 250, unit, 8, 1})); // staging needs 21 units
    const std::uint64_t pa = s.take(TLA_OP_EVICT, 30 * unit).value;
    s.take(TLA_OP_ALLOC, 100 * unit);
    const auto refused = [&](std::uint64_t l1, tla_status status, const std::string &text) {
        BOOST_CHECK_EQUAL(s.border(l1), status);
        BOOST_CHECK_EQUAL(s.error.text, text);
        BOOST_CHECK_EQUAL(tla_controller_get_l1(s.controller), 64 * unit);
        BOOST_CHECK_EQUAL(s.stats().l1, 64 * unit);
    };
    refused(21 * unit - 1, TLA_EXHAUSTED, "L1 of the HBM of 86015 bytes: staging needs at least 86016");
    refused(30 * unit - 1, TLA_BUSY,
            "L1 of the HBM of 122879 bytes: L1 has blocks of 122880 bytes, and would have 122879");
    refused(156 * unit + 1, TLA_BUSY,
            "L1 of the HBM of 638977 bytes: L2 has blocks of 409600 bytes, and would have 409599");
    refused(0, TLA_INVALID_ARGUMENT, "L1 of the HBM of 0 bytes: must be 1 .. 1048575");
    refused(256 * unit, TLA_INVALID_ARGUMENT, "L1 of the HBM of 1048576 bytes: must be 1 .. 1048575");
    BOOST_CHECK_EQUAL(s.border(30 * unit), TLA_OK);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 1).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.border(156 * unit), TLA_OK);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 1).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 126 * unit).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.free(pa, 30 * unit).status, TLA_OK);
    tla_controller_reset(s.controller, 5);
    BOOST_CHECK_EQUAL(tla_controller_get_l1(s.controller), 64 * unit); // as configured
    BOOST_CHECK_EQUAL(s.border(21 * unit), TLA_OK);
    sender undivided(divided({TLA_DIVIDED_HOST_MEMORY, 250, 0, 8, 1})); // a memory that it lacks
    BOOST_CHECK_EQUAL(tla_controller_get_l1(undivided.controller), 0u);
    BOOST_CHECK_EQUAL(undivided.border(unit), TLA_UNSUPPORTED);
    BOOST_CHECK_EQUAL(undivided.error.text, std::string("no memory is in two parts: set controller.partition"));
    BOOST_CHECK_EQUAL(undivided.take(TLA_OP_ALLOC, slots * unit).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(the_watermark_of_a_memory_in_two_parts_is_of_l1) {
    tla_controller_config c = divided({TLA_DIVIDED_HBM, 250, 0, 8, 1});
    c.watermark = {500, 250, 1000};
    sender s(c);
    std::uint64_t at_ps = 0;
    s.take(TLA_OP_ALLOC, 192 * unit);
    for (std::uint64_t key = 0; key < 31; key++)
        s.keep(key);
    BOOST_CHECK(!tla_controller_next_pass(s.controller, &at_ps));
    s.keep(31);
    BOOST_CHECK(tla_controller_next_pass(s.controller, &at_ps));
    BOOST_CHECK_EQUAL(at_ps, 1000u);
    BOOST_CHECK_EQUAL(tla_controller_evict_ahead(s.controller, 1000, &at_ps, &s.outcome), TLA_OK);
    BOOST_CHECK_EQUAL(s.stats().cache.entries, 24u);
    BOOST_CHECK(!tla_controller_next_pass(s.controller, &at_ps));
    s.now = 1500;
    BOOST_CHECK_EQUAL(s.border(48 * unit), TLA_OK); // half of it is used now
    BOOST_CHECK(tla_controller_next_pass(s.controller, &at_ps));
    BOOST_CHECK_EQUAL(at_ps, 2000u);
}

BOOST_AUTO_TEST_CASE(a_configuration_names_the_member_of_the_partition_that_it_rejects) {
    const auto refused = [](tla_controller_config c) {
        tla_error error{};
        BOOST_CHECK(tla_controller_check_config(&c, &error));
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refused(divided({TLA_DIVIDED_COUNT, 250, 0, 8, 1})), "partition.memory: unknown memory 6");
    BOOST_CHECK_EQUAL(refused(divided({TLA_DIVIDED_HBM, 0, 0, 8, 1})),
                      "partition.permille: 0 permille: must be 1 .. 999");
    BOOST_CHECK_EQUAL(refused(divided({TLA_DIVIDED_HBM, 1000, 0, 8, 1})),
                      "partition.permille: 1000 permille: must be 1 .. 999");
    BOOST_CHECK_EQUAL(refused(divided({TLA_DIVIDED_HBM, 250, 4 * unit, 8, 1})),
                      "partition: L1, 250 permille of the HBM, is smaller than 8 prefetches and 1 writes of chunks of "
                      "16384 bytes need");
    tla_controller_config moves = divided({TLA_DIVIDED_HBM, 250, 0, 8, 1});
    moves.move = {TLA_MOVE_STOP, 4096, 2};
    BOOST_CHECK_EQUAL(refused(moves), "partition: move.mode must be off, because a move needs two places");
    tla_controller_config owned = divided({TLA_DIVIDED_HBM, 250, 0, 8, 1});
    owned.owner_port = 0;
    BOOST_CHECK_EQUAL(refused(owned), "partition: the owner of the slice decides about its bytes");
}

// 12 runs of 10,000 commands and writes of the register, against the model, which has no free list.
BOOST_AUTO_TEST_CASE(random_commands_and_borders_have_the_results_of_the_rule) {
    seeded_random random(242);
    std::map<tla_status, unsigned> seen[4]; // of ALLOC and batches, EVICT, PUT, borders
    for (unsigned round = 0; round < 12; round++) {
        const tla_controller_partition partition{
            TLA_DIVIDED_HBM, static_cast<std::uint32_t>(random.between(200, 700)), random.between(0, 2 * unit),
            static_cast<std::uint32_t>(random.between(0, 4)), static_cast<std::uint32_t>(random.between(0, 4))};
        sender s(divided(partition));
        const auto chunk = static_cast<double>(partition.chunk);
        model m{slots * unit * partition.permille / 1000,
                static_cast<std::uint64_t>(std::floor(partition.prefetches * 2.5 * chunk) + partition.writes * chunk),
                {},
                {}};
        const auto any_block = [&] {
            auto at = m.blocks.begin();
            std::advance(at, random.between(0, m.blocks.size() - 1));
            return at->first;
        };
        for (unsigned i = 0; i < 10000; i++) {
            const std::uint64_t nbytes = random.between(1, unit), key = random.between(0, 80);
            const bool many = m.blocks.size() > random.between(100, 300);
            const std::uint64_t which = many ? random.between(4, 9) : random.between(0, 9);
            if (which <= 1) {
                const tla_status expected = m.room(false) > 0 ? TLA_OK : TLA_EXHAUSTED;
                const tla_completion done = s.take(TLA_OP_ALLOC, nbytes);
                BOOST_REQUIRE_EQUAL(done.status, expected);
                seen[0][expected]++;
                if (!expected) m.blocks[done.value] = {done.value, nbytes, 1};
            } else if (which == 2) {
                const auto count = static_cast<std::uint32_t>(random.between(1, 9));
                const tla_status expected = m.room(false) >= count ? TLA_OK : TLA_EXHAUSTED;
                const tla_completion done = s.take(TLA_OP_ALLOC_BATCH, nbytes, count);
                BOOST_REQUIRE_EQUAL(done.status, expected);
                seen[0][expected]++;
                for (std::size_t b = 0; b < count && !expected; b++) {
                    std::uint64_t pa = 0;
                    for (unsigned byte = 0; byte < 8; byte++)
                        pa |= std::uint64_t{s.outcome.result[8 * b + byte]} << 8 * byte;
                    m.blocks[pa] = {pa, nbytes, 1};
                }
            } else if (which == 3) {
                const bool busy = random.one_in(2);
                const tla_status expected = m.evict(busy);
                const tla_completion done = s.take(TLA_OP_EVICT, nbytes, 0, busy);
                BOOST_REQUIRE_EQUAL(done.status, expected);
                seen[1][expected]++;
                if (!expected) {
                    model::block b{done.value, nbytes, 1};
                    b.staged = true;
                    m.blocks[done.value] = b;
                }
            } else if (which <= 5 && !m.blocks.empty()) {
                std::vector<std::uint64_t> of;
                for (std::uint64_t n = random.between(1, 3); n > 0; n--)
                    of.push_back(any_block());
                const bool is_new = m.find(key) == m.keys.end();
                const tla_status expected = m.put(key, of);
                const tla_completion done = s.put(key, of);
                BOOST_REQUIRE_EQUAL(done.status, expected);
                BOOST_REQUIRE_EQUAL(done.value, is_new && !expected);
                seen[2][expected]++;
            } else if (which == 6) {
                const auto found = m.find(key);
                BOOST_REQUIRE_EQUAL(s.of_key(TLA_OP_GET, key).status,
                                    found == m.keys.end() ? TLA_NOT_ALLOCATED : TLA_OK);
                if (found == m.keys.end()) continue;
                for (const std::uint64_t pa : found->second)
                    m.blocks.at(pa).references++;
                m.keys.splice(m.keys.end(), m.keys, found);
            } else if (which == 7 && random.one_in(3)) {
                const auto found = m.find(key);
                BOOST_REQUIRE_EQUAL(s.of_key(TLA_OP_REMOVE, key).status,
                                    found == m.keys.end() ? TLA_NOT_ALLOCATED : TLA_OK);
                if (found != m.keys.end()) m.leave(found);
            } else if (which == 8 && random.one_in(8)) {
                const std::uint64_t to = random.one_in(9) ? random.between(0, 1) * slots * unit
                                                          : std::min(random.between(0, 2 * m.l1), slots * unit);
                const tla_status expected = m.border(to);
                BOOST_REQUIRE_EQUAL(s.border(to), expected);
                seen[3][expected]++;
            } else if (!m.blocks.empty()) {
                const std::uint64_t pa = any_block();
                if (m.blocks.at(pa).references == 0) continue;
                BOOST_REQUIRE_EQUAL(s.free(pa, m.blocks.at(pa).nbytes).status, TLA_OK);
                m.drop(pa, &model::block::references);
            }
            BOOST_REQUIRE_EQUAL(tla_controller_get_l1(s.controller), m.l1);
            BOOST_REQUIRE_EQUAL(s.stats().l1_used, m.in(true) * unit);
            BOOST_REQUIRE_EQUAL(s.used(), m.blocks.size() * unit);
            BOOST_REQUIRE_EQUAL(s.stats().cache.entries, m.keys.size());
        }
    }
    for (const auto &of : seen)
        for (const tla_status status : {TLA_OK, TLA_EXHAUSTED})
            BOOST_CHECK_GT(of.count(status) ? of.at(status) : 0, 20u);
    BOOST_CHECK_GT(seen[1][TLA_BUSY], 20u);
    BOOST_CHECK_GT(seen[3][TLA_BUSY], 20u);
    BOOST_CHECK_GT(seen[3][TLA_INVALID_ARGUMENT], 20u);
}

BOOST_AUTO_TEST_CASE(a_smaller_l1_is_named_only_if_it_can_serve_the_alloc) { // L1 has 64 of 256 units, staging needs 21
    sender s(divided({TLA_DIVIDED_HBM, 250, unit, 8, 1}));
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 235 * unit).value, 0u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 234 * unit).value, TLA_SMALLER_L1); // with 84 permille, 21.504 units
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 192 * unit).status, TLA_OK);
    for (std::uint64_t key = 0; key < 63; key++)
        s.keep(key);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 1).value, 0u); // 247 permille are 63.2 units
    BOOST_CHECK_EQUAL(s.of_key(TLA_OP_REMOVE, 5).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 1).value, TLA_SMALLER_L1);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, unit + 1).value, 0u); // the free bytes are in two pieces
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 65 * unit).value, 0u);
}

BOOST_AUTO_TEST_CASE(a_block_that_no_segment_will_hold_is_refused_as_such_whatever_room_its_part_has) {
    tla_controller_config c = divided({TLA_DIVIDED_HBM, 500, 0, 8, 1});
    c.memory.of[TLA_HBM].policy = tla_stack_policy_of(TLA_FRONT_SEGMENTED, TLA_FIRST_FIT);
    c.memory.of[TLA_HBM].front = {};
    c.memory.of[TLA_HBM].front.segment = 16 * unit;
    c.memory.of[TLA_HBM].front.initial = slots * unit;
    sender s(c);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 17 * unit).status, TLA_OUT_OF_RANGE); // as long as L2 has room
    for (unsigned i = 0; i < 8; i++)
        BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 16 * unit).status, TLA_OK);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 16 * unit).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.outcome.completion.value, TLA_SMALLER_L1);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC, 17 * unit).status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(s.outcome.completion.value, 0u);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_ALLOC_BATCH, 17 * unit, 1).status, TLA_OUT_OF_RANGE);
    s.keep(1);
    BOOST_CHECK_EQUAL(s.border(8 * unit), TLA_OK);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 17 * unit).status, TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(s.take(TLA_OP_EVICT, 9 * unit).status, TLA_EXHAUSTED);
    BOOST_CHECK_EQUAL(s.stats().cache.entries, 1u);
}

// Wherever a refusal names a smaller L1, the same ALLOC succeeds with the largest border of whole permille that serves.
BOOST_AUTO_TEST_CASE(the_smaller_l1_that_a_refusal_names_serves_the_alloc_on_every_stack) {
    seeded_random random(77);
    unsigned all = 0;
    for (const tla_stack_policy policy : stacks::all_policies())
        BOOST_TEST_CONTEXT(stacks::name_of(policy)) {
            tla_controller_config c = divided({TLA_DIVIDED_HBM, 500, random.between(0, unit), 2, 1});
            c.memory.of[TLA_HBM].policy = policy;
            c.memory.of[TLA_HBM].front.segment = 20 * unit;
            c.memory.alignment = std::uint64_t{1} << random.between(0, 12);
            sender s(c);
            std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
            unsigned named = 0;
            for (unsigned i = 0; i < 3000; i++) {
                std::uint64_t at_ps = 0;
                s.now += 1'000'000;
                while (!tla_controller_commit(s.controller, s.now, &at_ps, &s.outcome)) {
                }
                if (!live.empty() && random.one_in(3)) {
                    std::swap(live[random.between(0, live.size() - 1)], live.back());
                    BOOST_REQUIRE_EQUAL(s.free(live.back().first, live.back().second).status, TLA_OK);
                    live.pop_back();
                    continue;
                }
                const std::uint64_t nbytes = random.between(1, std::uint64_t{1} << random.between(8, 18));
                const tla_opcode opcode = random.one_in(4) ? TLA_OP_EVICT : TLA_OP_ALLOC;
                tla_completion done = s.take(opcode, nbytes);
                if (done.status == TLA_OK && random.one_in(3)) s.put(i, {done.value});
                if (done.status == TLA_EXHAUSTED && done.value == TLA_SMALLER_L1) {
                    named++;
                    const std::uint64_t l1 = tla_controller_get_l1(s.controller);
                    done.status = TLA_BUSY;
                    for (std::uint32_t permille = 500; permille > 0 && done.status; permille--)
                        if (!s.border((slots * unit) / 1000 * permille + (slots * unit) % 1000 * permille / 1000))
                            done = s.take(opcode, nbytes);
                    BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
                    BOOST_REQUIRE_EQUAL(s.free(done.value, nbytes).status, TLA_OK);
                    s.border(l1); // refused where blocks have more bytes than a front promised
                    continue;
                }
                if (!done.status) live.emplace_back(done.value, nbytes);
            }
            all += named;
            BOOST_TEST_MESSAGE(stacks::name_of(policy) << ": " << named);
        }
    BOOST_CHECK_GT(all, 1000u);
}
