// The Verilated engine is clocked for each request until it answers.
#include "rtl_engine.hpp"

#if TLMALLOC_HAS_RTL
#include "tla_list_1c.h"
#include "tla_list_2c.h"

#include <memory>
#include <new>
#endif

namespace tlmalloc {

#if TLMALLOC_HAS_RTL
namespace {

template <typename Rtl>
class clocked {
  public:
    static tla_engine as_engine(const char *name, clocked *state) {
        tla_engine engine{};
        engine.name = name;
        engine.policy = TLA_FIRST_FIT;
        engine.capacity_max = TLA_RTL_UNITS;
        engine.nodes_max = TLA_RTL_NODES;
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

    tla_status restart(std::uint64_t capacity, std::uint64_t nodes, tla_error *error) {
        if (nodes != TLA_RTL_NODES)
            return tla_error_set(error, TLA_UNSUPPORTED, "the engine in RTL has %d nodes, found %llu", TLA_RTL_NODES,
                                 static_cast<unsigned long long>(nodes));
        rtl_.base = 0;
        rtl_.capacity = capacity;
        rtl_.answer_ready = 1;
        rtl_.command_valid = 0;
        rtl_.rst = 1;
        tick();
        rtl_.rst = 0;
        tick();
        return TLA_OK;
    }

    tla_status serve(const tla_engine_request &request, tla_engine_answer &answer, tla_error *error) {
        std::uint64_t cycles = 0;
        rtl_.command_valid = 1;
        rtl_.command_free = request.give_back;
        rtl_.command_offset = request.offset;
        rtl_.command_size = request.size;
        rtl_.eval();
        while (!rtl_.command_ready && cycles++ < patience)
            tick();
        tick(); // it is taken
        rtl_.command_valid = 0;
        for (cycles = 1; !rtl_.answer_valid && cycles < patience; cycles++)
            tick();
        if (!rtl_.answer_valid)
            return tla_error_set(error, TLA_TIMEOUT, "none after %llu cycles", static_cast<unsigned long long>(cycles));
        answer.status = static_cast<tla_engine_status>(rtl_.answer_status);
        answer.offset = rtl_.answer_offset;
        answer.cycles = cycles;
        return TLA_OK;
    }

    void tick() {
        rtl_.clk = 0;
        rtl_.eval();
        rtl_.clk = 1;
        rtl_.eval();
    }

    VerilatedContext context_;
    Rtl rtl_{&context_};
};

template <typename Rtl>
tla_status make(const char *name, tla_engine *engine, tla_error *error) {
    auto *state = new (std::nothrow) clocked<Rtl>;
    if (!state) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for an engine");
    *engine = clocked<Rtl>::as_engine(name, state);
    return TLA_OK;
}

} // namespace

tla_status make_rtl_engine(unsigned node_cycles, tla_engine *engine, tla_error *error) {
    if (node_cycles == 1) return make<tla_list_1c>("rtl_list_1c", engine, error);
    if (node_cycles == 2) return make<tla_list_2c>("rtl_list_2c", engine, error);
    return tla_error_set(error, TLA_INVALID_ARGUMENT, "found %u cycles of a node, expected 1 or 2", node_cycles);
}
#else
tla_status make_rtl_engine(unsigned, tla_engine *, tla_error *error) {
    return tla_error_set(error, TLA_UNSUPPORTED, "the engine in RTL: Verilator was not there when tlmalloc was built");
}
#endif

} // namespace tlmalloc
