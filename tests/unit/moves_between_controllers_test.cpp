// Random programs on three controllers: blocks are allocated, freed and written, and move in a memory and from
// controller to controller. MMUs reject commands, copies fail, and moves are abandoned at any step. A plain map of
// virtual bytes knows what every read must find.
#include "commander.hpp"
#include "seeded_random.hpp"

#include <map>
#include <memory>

namespace {

constexpr std::uint64_t stride = std::uint64_t{1} << 33, capacity = 2048, me = 1;
constexpr std::size_t controllers = 3;

tla_pe_memory_config memory_of(std::size_t number) {
    tla_pe_memory_config config{};
    config.layout = TLA_LAYOUT_PLAIN;
    config.of[TLA_HBM].bytes = capacity;
    config.of[TLA_HBM].base = number * stride;
    config.validate = true;
    return config;
}

struct block {
    std::size_t home;
    std::uint64_t pa, va;
    std::vector<std::uint8_t> bytes; // that reads must find
};

struct program {
    explicit program(std::uint64_t seed) : random(seed) {
        for (std::size_t i = 0; i < controllers; i++)
            sides.push_back(std::make_unique<commander>(
                memory_of(i), tla_move_config{i == 0 ? TLA_MOVE_STOP : TLA_MOVE_CONCURRENT, 16, 1}));
    }
    bool chance(std::uint64_t in) { return random.one_in(in); }
    std::uint64_t below(std::uint64_t n) { return random.between(0, n - 1); }

    tla_completion send(std::size_t to, tla_command command) { return sides[to]->run(command, me); }
    void mapping(std::size_t home, const block &b) {
        tla_command bind{};
        bind.opcode = TLA_OP_BIND;
        bind.scope = {1, 1, 1};
        bind.entries[bind.count++] = {{b.va}, {b.pa}, b.bytes.size(), TLA_READ | TLA_WRITE, 0};
        BOOST_REQUIRE_EQUAL(send(home, bind).status, TLA_OK);
    }
    std::uint64_t take(std::size_t home, std::uint64_t nbytes) {
        const tla_completion done = sides[home]->alloc(TLA_HBM, {nbytes, 0, TLA_FORMAT_UNDEFINED}, me);
        return done.status ? UINT64_MAX : done.value;
    }
    void make() {
        block b{below(controllers), 0, next_va, std::vector<std::uint8_t>(1 + below(100))};
        b.pa = take(b.home, b.bytes.size());
        if (b.pa == UINT64_MAX) return;
        next_va += 4096;
        for (std::size_t i = 0; i < b.bytes.size(); i++)
            bytes[b.pa + i] = b.bytes[i] = static_cast<std::uint8_t>(below(256));
        mapping(b.home, b);
        table[b.va] = b.pa;
        blocks.push_back(b);
    }
    void free(std::size_t which) {
        const block &b = blocks[which];
        BOOST_REQUIRE_EQUAL(sides[b.home]->about(TLA_OP_FREE, b.pa, b.bytes.size(), me).status, TLA_OK);
        table.erase(b.va);
        blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(which));
    }

    // A write by an MMU, which waits in a pause.
    void write(block &b) {
        if (paused) return;
        const std::size_t i = below(b.bytes.size());
        b.bytes[i] = static_cast<std::uint8_t>(below(256));
        const std::uint64_t pa = table[b.va] + i;
        bytes[pa] = b.bytes[i];
        commander &at = *sides[pa / stride];
        const tla_site site = tla_pe_memory_find_site(&at.config, {pa});
        tla_controller_wrote(at.controller, site.memory, site.offset, 1);
    }
    void check(const block &b) {
        for (std::size_t i = 0; i < b.bytes.size(); i++)
            BOOST_REQUIRE_EQUAL(bytes[table[b.va] + i], b.bytes[i]);
    }
    tla_status perform(const tla_command &c) {
        if (c.opcode != TLA_OP_RESUME && !undoes && chance(10)) {
            undoes = true; // what follows undoes the rest
            return TLA_LIMIT;
        }
        for (std::uint32_t i = 0; i < c.count; i++)
            if (c.opcode == TLA_OP_REMAP) table[c.entries[i].va.value] = c.entries[i].pa.value;
        if (c.opcode != TLA_OP_REMAP) paused = c.opcode == TLA_OP_PAUSE;
        return TLA_OK;
    }

    // All steps of the move of a block, which is used meanwhile; its completion.
    tla_completion lead(std::size_t home, block &b) {
        tla_controller *const c = sides[home]->controller;
        std::vector<std::pair<tla_move_step, std::vector<std::uint8_t>>> on_the_way;
        tla_move_step step{};
        undoes = false;
        for (;;) {
            if (chance(40)) {
                tla_controller_abandon_moves(c);
                undoes = true;
            }
            write(b);
            if (!paused) check(b);
            switch (tla_controller_move_next(c, 0, &step)) {
            case TLA_MOVE_SENDS:
                tla_controller_move_sent(c, perform(*step.command));
                break;
            case TLA_MOVE_COPIES: {
                std::vector<std::uint8_t> chunk;
                for (std::uint64_t i = 0; i < step.nbytes; i++)
                    chunk.push_back(bytes[home * stride + step.from.offset + i]);
                on_the_way.emplace_back(step, chunk);
                break;
            }
            case TLA_MOVE_WAITS: {
                BOOST_REQUIRE(!on_the_way.empty());
                const auto &[copy, chunk] = on_the_way.front();
                const bool leaves = copy.to.memory == TLA_MEMORY_KIND_COUNT;
                for (std::size_t i = 0; i < chunk.size(); i++)
                    bytes[(leaves ? 0 : home * stride) + copy.to.offset + i] = chunk[i];
                on_the_way.erase(on_the_way.begin());
                tla_controller_move_copied(c, !chance(60));
                break;
            }
            case TLA_MOVE_ENDS:
                return step.outcome.completion;
            default:
                break;
            }
        }
    }
    void move(block &b) {
        const std::size_t to = below(controllers), nbytes = b.bytes.size();
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.pa = {b.pa};
        command.elsewhere = to != b.home;
        command.to = {command.elsewhere ? take(to, nbytes) : 0};
        if (command.to.value == UINT64_MAX) return; // full
        const tla_completion begun = send(b.home, command);
        const tla_completion done = begun.status ? begun : lead(b.home, b);
        BOOST_REQUIRE(!paused);
        (done.status ? failed : moved)++;
        if (!done.status) {
            b.pa = done.value;
            b.home = to;
            if (command.elsewhere) mapping(to, b);
        } else if (command.elsewhere) {
            BOOST_REQUIRE_EQUAL(sides[to]->about(TLA_OP_FREE, command.to.value, nbytes, me).status, TLA_OK);
        }
        BOOST_REQUIRE_EQUAL(table[b.va], b.pa);
        check(b);
    }

    seeded_random random;
    std::vector<std::unique_ptr<commander>> sides;
    std::vector<block> blocks;
    std::map<std::uint64_t, std::uint8_t> bytes;  // by physical address
    std::map<std::uint64_t, std::uint64_t> table; // the MMU's: first bytes of blocks
    std::uint64_t next_va = 4096;
    bool paused = false, undoes = false;
    unsigned moved = 0, failed = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(random_moves_between_controllers_keep_every_byte_and_every_place) {
    program p(20261127);
    for (unsigned step = 0; step < 20000; step++) {
        if (p.blocks.empty() || p.chance(6)) {
            p.make();
        } else {
            const std::size_t which = p.below(p.blocks.size());
            if (p.chance(5))
                p.free(which);
            else if (p.chance(2))
                p.write(p.blocks[which]);
            else
                p.move(p.blocks[which]);
        }
        std::uint64_t asked[controllers] = {};
        for (const block &b : p.blocks)
            asked[b.home] += b.bytes.size();
        for (std::size_t i = 0; i < controllers; i++)
            BOOST_REQUIRE_EQUAL(p.sides[i]->used(), asked[i]);
    }
    for (const block &b : p.blocks)
        p.check(b);
    while (!p.blocks.empty())
        p.free(0);
    for (const auto &side : p.sides) {
        BOOST_CHECK_EQUAL(side->used(), 0u);
        BOOST_CHECK_EQUAL(side->stats(TLA_HBM).references, 0u);
    }
    BOOST_CHECK_GT(p.moved, 1000u);
    BOOST_CHECK_GT(p.failed, 500u);
    BOOST_TEST_MESSAGE(p.moved << " moves, " << p.failed << " that failed");
}
