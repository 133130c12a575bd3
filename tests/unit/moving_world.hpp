// A controller that moves blocks, step by step, the bytes of its memories, and the MMUs that map them.
#ifndef TLMALLOC_TESTS_UNIT_MOVING_WORLD_HPP
#define TLMALLOC_TESTS_UNIT_MOVING_WORLD_HPP

#include "commander.hpp"

#include <functional>
#include <map>
#include <set>

namespace moving {

inline constexpr std::uint64_t hbm_bytes = 16 << 10, tcm_bytes = 4 << 10;
inline constexpr std::uint64_t far_away = std::uint64_t{1} << 33;          // addresses of other controllers
inline constexpr std::uint64_t me = 1, other = std::uint64_t{2} << 32 | 7; // address spaces 0 and 2

inline tla_pe_memory_config two_memories(bool guarded = false) {
    tla_pe_memory_config config{};
    config.layout = TLA_LAYOUT_PLAIN;
    config.of[TLA_HBM].bytes = hbm_bytes;
    config.of[TLA_TCM].bytes = tcm_bytes;
    config.of[TLA_TCM].base = 1 << 20;
    config.guarded = guarded;
    config.guard_history = 16;
    return config;
}

// A controller, the bytes of its memories, and the MMUs that map its blocks: here a table of bytes for each.
struct world : commander {
    explicit world(tla_move_mode mode, std::uint64_t chunk = 16, std::uint32_t rounds = 2, bool guarded = false)
        : world(mode, chunk, rounds, two_memories(guarded)) {}
    world(tla_move_mode mode, std::uint64_t chunk, std::uint32_t rounds, const tla_pe_memory_config &memories,
          const tla_compaction_config &compaction = {}, std::uint32_t owner_port = TLA_CONTROLLER_NO_OWNER)
        : commander(memories, {mode, chunk, rounds}, compaction, owner_port), hbm(hbm_bytes), tcm(tcm_bytes) {}

    std::vector<std::uint8_t> hbm, tcm;
    std::map<std::uint64_t, std::uint8_t> elsewhere; // bytes of other controllers
    struct mmu {
        std::map<std::uint64_t, std::uint64_t> table; // byte of VA: byte of PA
        std::set<std::uint64_t> paused;
    };
    std::map<std::uint32_t, mmu> mmus; // by SIP
    std::function<tla_status(const tla_command &)> refuse;
    tla_move_step step{};
    std::vector<std::pair<std::vector<std::uint8_t>, tla_site>> on_the_way; // read, and not written yet
    std::vector<tla_opcode> sent;
    std::uint64_t freed = UINT64_MAX; // of the present move
    bool bad_copies = false;

    std::uint8_t &byte(std::uint64_t pa) {
        if (pa >= far_away) return elsewhere[pa];
        return pa >= 1 << 20 ? tcm.at(pa - (1 << 20)) : hbm.at(pa);
    }

    std::uint64_t take(std::uint64_t nbytes, tla_memory_kind kind = TLA_HBM, std::uint64_t who = me) {
        const tla_completion done = alloc(kind, {nbytes, 0, TLA_FORMAT_UNDEFINED}, who);
        BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
        return done.value;
    }
    tla_completion mapping(tla_opcode opcode, std::uint64_t va, std::uint64_t pa, std::uint64_t nbytes,
                           std::uint32_t sips = 1) {
        tla_command command{};
        command.opcode = opcode;
        command.scope = {sips, 1, 1};
        command.entries[command.count++] = {{va}, {pa}, nbytes, TLA_READ | TLA_WRITE, 0};
        if (opcode == TLA_OP_BIND)
            for (std::uint32_t sip = 0; sip < 2; sip++)
                for (std::uint64_t i = 0; i < nbytes && sips >> sip & 1; i++)
                    mmus[sip].table[va + i] = pa + i;
        return run(command, me);
    }
    tla_completion move(std::uint64_t pa, tla_memory_kind to = TLA_HBM, std::uint64_t who = me) {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.pa = {pa};
        command.memory = to;
        return run(command, who);
    }
    tla_completion move_away(std::uint64_t pa, std::uint64_t to, std::uint64_t who = me) {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.pa = {pa};
        command.elsewhere = true;
        command.to = {to};
        return run(command, who);
    }
    const char *text() const { return outcome.refusal ? outcome.refusal->text : ""; }

    // What the MMUs in its scope do: all or none.
    tla_status perform(const tla_command &c) {
        sent.push_back(c.opcode);
        if (const tla_status status = refuse ? refuse(c) : TLA_OK) return status;
        for (std::uint32_t sip = 0; sip < 2; sip++) {
            if (!(c.scope.sip_mask >> sip & 1)) continue;
            mmu &m = mmus[sip];
            for (std::uint32_t i = 0; i < c.count; i++)
                for (std::uint64_t b = 0; b < c.entries[i].nbytes; b++) {
                    const std::uint64_t va = c.entries[i].va.value + b;
                    BOOST_REQUIRE(m.table.count(va));
                    if (c.opcode == TLA_OP_PAUSE) BOOST_REQUIRE(m.paused.insert(va).second);
                    if (c.opcode == TLA_OP_RESUME) BOOST_REQUIRE_EQUAL(m.paused.erase(va), 1u);
                    if (c.opcode == TLA_OP_REMAP) m.table[va] = c.entries[i].pa.value + b;
                }
        }
        return TLA_OK;
    }
    // One step; false: there is none.
    bool go_on() {
        switch (tla_controller_move_next(controller, now, &step)) {
        case TLA_MOVE_WAITS:
            return false;
        case TLA_MOVE_SENDS:
            tla_controller_move_sent(controller, perform(*step.command));
            return true;
        case TLA_MOVE_COPIES: {
            std::vector<std::uint8_t> bytes(step.nbytes);
            const std::vector<std::uint8_t> &from = step.from.memory == TLA_HBM ? hbm : tcm;
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(step.from.offset), step.nbytes, bytes.begin());
            on_the_way.emplace_back(bytes, step.to);
            return true;
        }
        case TLA_MOVE_FREES:
            BOOST_REQUIRE_EQUAL(step.outcome.completion.status, TLA_OK);
            freed = step.from.pa.value;
            return true;
        case TLA_MOVE_TAKES:
            taken += step.outcome.work.allocs;
            return true;
        case TLA_MOVE_TELLS:
            told.emplace_back(step.from.pa.value, step.to.pa.value);
            tla_controller_move_sent(controller, TLA_OK);
            return true;
        case TLA_MOVE_ENDS:
            freed = UINT64_MAX;
            ended.push_back(step.outcome.completion);
            return true;
        }
        return false;
    }
    bool arrive() { // what was read first is written
        if (on_the_way.empty()) return false;
        const auto &[bytes, to] = on_the_way.front();
        for (std::size_t i = 0; i < bytes.size(); i++) {
            if (to.memory == TLA_MEMORY_KIND_COUNT)
                elsewhere[to.offset + i] = bytes[i];
            else
                (to.memory == TLA_HBM ? hbm : tcm).at(to.offset + i) = bytes[i];
        }
        on_the_way.erase(on_the_way.begin());
        tla_controller_move_copied(controller, !bad_copies);
        return true;
    }
    void finish() {
        while (go_on() || arrive()) {
        }
    }
    // An access by an MMU; false: it would wait.
    bool write(std::uint32_t sip, std::uint64_t va, std::uint8_t value) {
        mmu &m = mmus[sip];
        if (m.paused.count(va)) return false;
        const std::uint64_t pa = m.table.at(va);
        byte(pa) = value;
        const tla_site at = tla_pe_memory_find_site(&config, {pa});
        if (at.memory != TLA_MEMORY_KIND_COUNT) tla_controller_wrote(controller, at.memory, at.offset, 1);
        return true;
    }
    std::vector<tla_completion> ended;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> told; // compaction: old and new addresses
    std::uint64_t taken = 0;                                   // likewise: places
};

} // namespace moving
#endif
