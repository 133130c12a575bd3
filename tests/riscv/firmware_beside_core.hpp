// Firmware beside the core: the same blocks and statuses; and what every operation took beside its receipt.
#ifndef TLMALLOC_TESTS_RISCV_FIRMWARE_BESIDE_CORE_HPP
#define TLMALLOC_TESTS_RISCV_FIRMWARE_BESIDE_CORE_HPP

#include "start_firmware.hpp"

#include "tlmalloc/arena/arena.h"
#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/work.h"
#include "tlmalloc/config.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

// An operation that the core did, too.
struct measurement {
    bool free;
    tla_work work;
    std::uint64_t instructions, cycles;
};

// Firmware of a policy and the core; what differs first is told in words.
class firmware_beside_core {
  public:
    firmware_beside_core(const tla_firmware &firmware, std::uint64_t capacity, std::uint64_t nodes)
        : policy_(firmware.policy), nodes_(nodes), engine_(start_firmware(firmware, capacity, nodes)) {
        tla_arena_config config{};
        config.capacity = capacity;
        config.policy = policy_;
        tla_arena *arena = nullptr;
        BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
        arena_.reset(arena);
        if (has_regions()) BOOST_REQUIRE_EQUAL(tla_arena_drive(arena, nullptr, nodes, nullptr), TLA_OK);
    }

    bool take(std::uint64_t size, tla_block *block) {
        tla_work work{};
        const tla_status status = tla_arena_alloc(arena_.get(), size, block, &work);
        tla_firmware_answer got = ask(TLA_MAILBOX_TAKE, 0, tla_arena_granted(arena_.get(), size));
        if (has_regions() && got.status == TLA_MAILBOX_DONE) {
            const std::uint64_t named = got.offset;
            named_[got.offset &= UINT32_MAX] = named;
        }
        failed += status != TLA_OK;
        without_node += status == TLA_LIMIT;
        compare("take " + std::to_string(size), got,
                status == TLA_LIMIT ? TLA_MAILBOX_NO_NODE
                : status            ? TLA_MAILBOX_NO_BLOCK
                                    : TLA_MAILBOX_DONE,
                status ? got.offset : block->offset);
        measured.push_back({false, work, got.instructions, got.cycles});
        return status == TLA_OK;
    }

    bool give_back(tla_block block) {
        const std::uint64_t before = free_blocks();
        tla_work work{};
        const tla_status status = tla_arena_free(arena_.get(), block, &work);
        if (status && has_regions()) { // it has no node, and the firmware is not asked
            refused++;
            return false;
        }
        tla_firmware_answer got = ask(TLA_MAILBOX_GIVE_BACK, has_regions() ? named_[block.offset] : block.offset,
                                      tla_arena_granted(arena_.get(), block.nbytes));
        if (has_regions()) got.offset &= UINT32_MAX;
        tla_mailbox_status expected = status ? TLA_MAILBOX_NOT_TAKEN : TLA_MAILBOX_DONE;
        if (!status && work.nodes_created > 0 && before == nodes_ && !has_regions()) {
            BOOST_REQUIRE_EQUAL(tla_arena_reserve(arena_.get(), block, nullptr), TLA_OK);
            expected = TLA_MAILBOX_NO_NODE;
        }
        refused += expected == TLA_MAILBOX_NOT_TAKEN;
        without_node += expected == TLA_MAILBOX_NO_NODE;
        compare("give back " + std::to_string(block.nbytes) + " at " + std::to_string(block.offset), got, expected,
                block.offset);
        if (expected == TLA_MAILBOX_DONE) measured.push_back({true, work, got.instructions, got.cycles});
        return expected == TLA_MAILBOX_DONE;
    }

    bool has_regions() const { return !tla_policy_takes_ranges(policy_); } // with a node each, free or live
    bool keeps_a_list() const { return policy_ != TLA_BUDDY; }
    std::uint64_t free_blocks() const { return tla_arena_get_stats(arena_.get()).free_blocks; }
    std::uint64_t cycles() const { return cycles_; }
    static std::uint64_t waited() { return 0; } // a request comes when the one before is answered and the hart waits

    std::string difference;
    std::uint64_t without_node = 0, refused = 0, failed = 0;
    std::vector<measurement> measured;

  private:
    const tla_policy policy_;
    const std::uint64_t nodes_;
    std::uint64_t cycles_ = 0;
    std::map<std::uint64_t, std::uint64_t> named_; // of offset bins: what an answer had beside the offset

    tla_firmware_answer ask(tla_mailbox_operation operation, std::uint64_t offset, std::uint64_t size) {
        const tla_firmware_answer answer = ask_firmware(engine_.get(), operation, offset, size);
        cycles_ += answer.cycles;
        return answer;
    }
    void compare(const std::string &what, const tla_firmware_answer &got, tla_mailbox_status status,
                 std::uint64_t offset) {
        if (!difference.empty() || (got.status == status && got.offset == offset)) return;
        std::ostringstream text;
        text << what << ": status " << got.status << " at " << got.offset << ", expected " << status << " at "
             << offset;
        difference = text.str();
    }

    std::unique_ptr<tla_arena, void (*)(tla_arena *)> arena_{nullptr, tla_arena_destroy};
    started_firmware engine_;
};

// Of allocations or of frees: how far what was measured is from what the receipts say, and the means of both.
struct residual {
    double most = 0, measured = 0, said = 0;
};
template <class Price>
residual residual_of(const std::vector<measurement> &all, std::uint64_t measurement::*what, const Price &price,
                     bool free) {
    residual r;
    double count = 0;
    for (const measurement &m : all)
        if (m.free == free) {
            const double said = price(m), measured = double(m.*what);
            r.most = std::max(r.most, std::fabs(measured - said));
            r.measured += measured;
            r.said += said;
            count++;
        }
    r.measured /= count;
    r.said /= count;
    return r;
}

// The prices of a cost profile whose clock has a period of 1000 ps.
inline tla_cost_profile prices_of_profile(const std::string &name) {
    const std::string text = "controller.cost.profile=" + name;
    const char *const set = text.c_str();
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, &set, 1, &config, nullptr, nullptr), TLA_OK);
    BOOST_REQUIRE_EQUAL(config.controller.cost.clock_ps, 1000u);
    return config.controller.cost;
}

// Prices are what was measured in cycles, rounded.
inline void check_prices(const std::vector<std::uint64_t> &prices_ps, const std::vector<double> &cycles) {
    std::vector<std::uint64_t> rounded;
    for (const double c : cycles)
        rounded.push_back(1000 * static_cast<std::uint64_t>(std::llround(c)));
    BOOST_CHECK_EQUAL_COLLECTIONS(prices_ps.begin(), prices_ps.end(), rounded.begin(), rounded.end());
}

// How far operations are from what a profile says of them, in cycles, and the means within half a percent.
inline void check_operations(const std::vector<measurement> &all, const tla_cost_profile &cost, double takes_within,
                             double frees_within) {
    const auto price = [&cost](const measurement &m) { return double(tla_cost_price(&cost, &m.work)) / 1000; };
    for (const bool free : {false, true}) {
        const residual r = residual_of(all, &measurement::cycles, price, free);
        BOOST_TEST_MESSAGE((free ? "frees " : "allocations ")
                           << r.measured << ", profile " << r.said << ", residual " << r.most);
        BOOST_CHECK_LE(r.most, free ? frees_within : takes_within);
        BOOST_CHECK_CLOSE(r.said, r.measured, 0.5);
    }
}

#endif
