// The Verilated engine is clocked for each request until it answers.
#include "rtl_engine.hpp"

#if TLMALLOC_HAS_RTL
#include "tla_buddies.h"
#include "tla_few_buddies.h"
#include "tla_list_1c.h"
#include "tla_list_2c.h"
#include "tla_offset_bins.h"
#include "tla_offset_bins_rounded.h"
#include "tla_worst_fit.h"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <type_traits>
#endif

namespace tlmalloc {

#if TLMALLOC_HAS_RTL
namespace {

// A list has an input for the number of its nodes; buddies have a fixed memory for their units.
template <typename Rtl, typename = void>
constexpr bool has_nodes = false;
template <typename Rtl>
constexpr bool has_nodes<Rtl, std::void_t<decltype(Rtl::nodes)>> = true;

// Offset bins give back by the node that the answer of a take has named.
template <typename Rtl, typename = void>
constexpr bool frees_by_node = false;
template <typename Rtl>
constexpr bool frees_by_node<Rtl, std::void_t<decltype(Rtl::command_node)>> = true;

// Finds the node of a live block, in front of the engine and in no time.
class node_table {
  public:
    void clear() { blocks_.fill({}); }
    void enter(std::size_t node, std::uint64_t offset, std::uint64_t size) { blocks_[node] = {offset, size}; }
    void leave(std::size_t node) { blocks_[node] = {}; }

    // The number of nodes if the block is none.
    std::size_t find(std::uint64_t offset, std::uint64_t size) const {
        const auto is_it = [&](const block &b) { return b.offset == offset && b.size == size; };
        return static_cast<std::size_t>(std::find_if(blocks_.begin(), blocks_.end(), is_it) - blocks_.begin());
    }
    std::size_t size() const { return blocks_.size(); }

  private:
    struct block {
        std::uint64_t offset, size; // size 0: the node has no live block
    };
    std::array<block, TLA_RTL_NODES> blocks_{};
};

// Buddies of few units need a few KiB of the host, the largest 36 MiB; both behave alike.
constexpr std::uint64_t few_buddies = 1 << 13;

template <typename Rtl>
class clocked {
  public:
    static tla_engine as_engine(const char *name, tla_policy policy, std::uint64_t units_max, clocked *state) {
        tla_engine engine{};
        engine.name = name;
        engine.policy = policy;
        engine.capacity_max = units_max;
        engine.nodes_max = has_nodes<Rtl> ? std::uint64_t{TLA_RTL_NODES} : units_max;
        engine.state = state;
        engine.restart = [](void *self, std::uint64_t capacity, std::uint64_t nodes, tla_error *error) {
            return static_cast<clocked *>(self)->restart(capacity, nodes, error);
        };
        engine.serve = [](void *self, const tla_engine_request *request, tla_engine_answer *answer, tla_error *error) {
            return static_cast<clocked *>(self)->serve(*request, *answer, error);
        };
        engine.destroy = [](void *self) { delete static_cast<clocked *>(self); };
        return engine;
    }

  private:
    static constexpr std::uint64_t patience = 4 * 2 * TLA_RTL_NODES; // four walks, of two cycles a node

    tla_status restart(std::uint64_t capacity, [[maybe_unused]] std::uint64_t nodes, tla_error *error) {
        if constexpr (has_nodes<Rtl>) rtl_.nodes = static_cast<std::remove_reference_t<decltype(rtl_.nodes)>>(nodes);
        rtl_.base = 0;
        rtl_.capacity = capacity;
        rtl_.answer_ready = 1;
        rtl_.command_valid = 0;
        nodes_.clear();
        rtl_.rst = 1;
        tick();
        rtl_.rst = 0;
        tick();
        return until_ready(nullptr, error);
    }

    // Waits until the engine accepts a command: it accepts none during its work behind an answer.
    tla_status until_ready(std::uint64_t *waited, tla_error *error) {
        std::uint64_t cycles = 0;
        for (rtl_.eval(); !rtl_.command_ready && cycles < patience; cycles++)
            tick();
        if (waited) *waited = cycles;
        return rtl_.command_ready ? TLA_OK : silent(cycles, error);
    }

    tla_status serve(const tla_engine_request &request, tla_engine_answer &answer, tla_error *error) {
        rtl_.command_valid = 1;
        rtl_.command_free = request.give_back;
        rtl_.command_size = request.size;
        if constexpr (frees_by_node<Rtl>) {
            const std::size_t node = request.give_back ? nodes_.find(request.offset, request.size) : 0;
            if (node == nodes_.size()) {
                answer = {TLA_ENGINE_NOT_TAKEN, 0, 1, 0, 0};
                return TLA_OK;
            }
            rtl_.command_exact = request.exact;
            rtl_.command_node = static_cast<std::uint16_t>(node);
        } else {
            rtl_.command_offset = request.offset;
        }
        rtl_.eval();
        tick(); // it is taken
        rtl_.command_valid = 0;
        std::uint64_t cycles = 1;
        for (; !rtl_.answer_valid && cycles < patience; cycles++)
            tick();
        if (!rtl_.answer_valid) return silent(cycles, error);
        answer.status = static_cast<tla_engine_status>(rtl_.answer_status);
        answer.offset = rtl_.answer_offset;
        answer.cycles = cycles;
        if constexpr (frees_by_node<Rtl>) {
            if (request.give_back)
                nodes_.leave(rtl_.command_node);
            else if (answer.status == TLA_ENGINE_DONE)
                nodes_.enter(rtl_.answer_node, answer.offset, request.size);
        }
        return until_ready(&answer.behind, error);
    }

    static tla_status silent(std::uint64_t cycles, tla_error *error) {
        return tla_error_set(error, TLA_TIMEOUT, "no response after %llu cycles",
                             static_cast<unsigned long long>(cycles));
    }

    void tick() {
        rtl_.clk = 0;
        rtl_.eval();
        rtl_.clk = 1;
        rtl_.eval();
    }

    node_table nodes_; // of offset bins
    VerilatedContext context_;
    Rtl rtl_{&context_};
};

template <typename Rtl>
tla_status make(const char *name, tla_policy policy, std::uint64_t units_max, tla_engine *engine, tla_error *error) {
    auto *state = new (std::nothrow) clocked<Rtl>;
    if (!state) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for an engine");
    *engine = clocked<Rtl>::as_engine(name, policy, units_max, state);
    return TLA_OK;
}

} // namespace

tla_status make_rtl_engine(tla_policy policy, unsigned node_cycles, std::uint64_t units, tla_engine *engine,
                           tla_error *error) {
    if (policy == TLA_BUDDY)
        return units <= few_buddies ? make<tla_few_buddies>("rtl_buddy", policy, few_buddies, engine, error)
                                    : make<tla_buddies>("rtl_buddy", policy, TLA_RTL_BUDDIES, engine, error);
    if (policy == TLA_FIRST_FIT && node_cycles == 1)
        return make<tla_list_1c>("rtl_list_1c", policy, TLA_RTL_UNITS, engine, error);
    if (policy == TLA_FIRST_FIT && node_cycles == 2)
        return make<tla_list_2c>("rtl_list_2c", policy, TLA_RTL_UNITS, engine, error);
    if (policy == TLA_WORST_FIT && node_cycles == 1)
        return make<tla_worst_fit>("rtl_worst_fit", policy, TLA_RTL_UNITS, engine, error);
    if (policy == TLA_OFFSET_BINS) return make<tla_offset_bins>("rtl_offset_bins", policy, TLA_RTL_BINS, engine, error);
    if (policy == TLA_OFFSET_BINS_ROUNDED)
        return make<tla_offset_bins_rounded>("rtl_offset_bins", policy, TLA_RTL_BINS, engine, error);
    const char *name = tla_policy_name(policy);
    return tla_error_set(error, TLA_UNSUPPORTED, "no engine in RTL supports %s with %u cycles a node",
                         name ? name : "none", node_cycles);
}
#else
tla_status make_rtl_engine(tla_policy, unsigned, std::uint64_t, tla_engine *, tla_error *error) {
    return tla_error_set(error, TLA_UNSUPPORTED, "controller.engine rtl: this build has no Verilator");
}
#endif

} // namespace tlmalloc
