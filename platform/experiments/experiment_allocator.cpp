// The allocator's own traffic: commands that walk a free list beside a DMA stream and single reads of the same slice.
#include "experiments/experiment_dma.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/modules/command_sender.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tlmalloc {

namespace {

enum figure { figure_alloc, figure_free, figure_stream, figure_lost, figure_read, figure_worst_read, figure_count };

constexpr std::uint64_t hole_bytes = 256;                      // of a free block in front
constexpr std::uint64_t block_bytes = 4096;                    // bytes of a block: fits into the last free block only
constexpr std::uint64_t stream_bytes = std::uint64_t{1} << 20; // of the tensor that is read over and over
constexpr std::uint64_t read_bytes = 256, read_pause_ps = 100'000; // a single read; at most so long after the last
constexpr std::uint64_t settled_ps = 2'000'000;                    // the stream has filled everything on its way
constexpr std::uint64_t port = std::uint64_t{5} * TLA_PORT_BYTES;  // of the controller: used by no other sender
constexpr double unmeasured = std::numeric_limits<double>::quiet_NaN();

struct latencies {
    std::uint64_t count = 0, sum_ps = 0, worst_ps = 0;

    void add(std::uint64_t ps) {
        count++;
        sum_ps += ps;
        worst_ps = std::max(worst_ps, ps);
    }
    double mean_ns() const {
        return count ? static_cast<double>(sum_ps) / static_cast<double>(count) / 1e3 : unmeasured;
    }
    double worst_ns() const { return count ? static_cast<double>(worst_ps) / 1e3 : unmeasured; }
};

// The HBM's free list has `nodes` blocks, of which only the last has room for the block: every ALLOC and every FREE
// walks all of them. For the time of `window`, and until the last command is done, the parameters select ALLOC and FREE
// in turn, a DMA stream that never pauses, and single reads at random times.
class allocator_run : public dma_run {
  public:
    allocator_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), p_(p), burst_(config.hbm.burst),
          bandwidth_(static_cast<double>(config.hbm.pseudo_channels) *
                     static_cast<double>(config.hbm.pseudo_channel_bandwidth)),
          channels_(std::string(config.hbm_timing.name) == "channels"),
          driver_((std::string(name) + "_driver").c_str()) {
        driver_.commands.bind(unit().controller.control);
        driver_.memory.bind(unit().controller.in);
        results_.assign(figure_count, unmeasured);
        fragment(config);
    }

  private:
    struct driver : sc_core::sc_module {
        explicit driver(sc_core::sc_module_name name) : sc_module(name) {}
        tlm_utils::simple_initiator_socket<driver> commands{"commands"}, memory{"memory"};
    };

    pe_unit &unit() const { return *platform_.pes()[0]; }

    // Starts the heap with holes between blocks that are never released.
    void fragment(const tla_config &config) {
        const std::uint64_t nodes = p_.at("nodes");
        tla_arena_config range{};
        range.capacity = unit().controller.get_statistics(TLA_HBM).arena.capacity;
        range.policy = tla_stack_placement(config.controller.memory.of[TLA_HBM].policy);
        range.alignment = config.controller.memory.alignment;
        range.validate = config.controller.memory.validate;
        tla_arena *made = nullptr;
        tla_status status = nodes > 0 && nodes <= 65536 ? tla_arena_create(&range, &made) : TLA_INVALID_ARGUMENT;
        const std::unique_ptr<tla_arena, void (*)(tla_arena *)> arena(made, tla_arena_destroy);
        std::vector<tla_block> holes;
        for (std::uint64_t i = 0; !status && i < 2 * (nodes - 1); i++) {
            tla_block block{};
            status = tla_arena_alloc(made, hole_bytes, &block, nullptr);
            if (i % 2 == 0) holes.push_back(block);
        }
        for (const tla_block &hole : holes)
            if (!status) status = tla_arena_free(made, hole, nullptr);
        std::size_t length = 0;
        std::string text;
        if (!status) {
            tla_arena_snapshot(made, nullptr, 0, &length);
            text.resize(length + 1);
            status = tla_arena_snapshot(made, text.data(), text.size(), &length);
            text.resize(length);
        }
        if (status)
            tla_error_set(&failure_, status, "no free list of %llu nodes (1 .. 65536): %s",
                          static_cast<unsigned long long>(nodes), tla_status_text(status));
        else
            platform_.age(text, &failure_);
    }

    tla_status command(tla_opcode opcode, tla_completion &completion, latencies &into) {
        tla_command what{};
        what.opcode = opcode;
        what.target = TLA_TARGET_MEMORY_CONTROLLER;
        what.memory = TLA_HBM;
        what.nbytes = block_bytes;
        what.pa = {completion.value};
        const std::uint64_t start = now_ps();
        sc_core::sc_time delay;
        const tla_status status = send_command(driver_.commands, port, what, completion, delay);
        sc_core::wait(delay);
        into.add(now_ps() - start);
        if (failure_.status) return failure_.status; // of another process
        return status ? tla_error_set(&failure_, status, "command: %s", tla_status_text(status)) : TLA_OK;
    }

    // Two threads take turns, so that a transfer waits when the one before has been issued.
    void stream(const tensor &t) {
        while (open_ && !failure_.status)
            load(t.va.value, 1, stream_bytes, stream_bytes);
    }

    void read_now_and_then(const tensor &t) {
        std::uint64_t random = 1;
        const auto below = [&random](std::uint64_t limit) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            return (random >> 33) % limit;
        };
        while (open_) {
            sc_core::wait(from_ps(below(read_pause_ps)));
            std::uint8_t bytes[read_bytes];
            const std::uint64_t start = now_ps(), at = below(stream_bytes / read_bytes) * read_bytes;
            sc_core::sc_time delay;
            if (!access(driver_.memory, tlm::TLM_READ_COMMAND, t.shards[0].pa.value + at, bytes, read_bytes, delay)) {
                tla_error_set(&failure_, TLA_BUS_ERROR, "a read of %llu bytes failed",
                              static_cast<unsigned long long>(read_bytes));
                return;
            }
            sc_core::wait(delay);
            reads_.add(now_ps() - start);
        }
    }

    template <typename Body>
    void spawn(Body body) {
        running_++;
        sc_core::sc_spawn([this, body] {
            body();
            running_--;
            ended_.notify(sc_core::SC_ZERO_TIME);
        });
    }

    std::uint64_t list_accesses() const {
        const memory_controller::statistics s = unit().controller.get_statistics(TLA_HBM);
        return s.list_reads + s.list_writes - s.list_hits;
    }

    tla_status run() override {
        if (failure_.status) return failure_.status;
        tensor *t = nullptr;
        if (const tla_status status = make("stream", stream_bytes, &t)) return status;
        const bool commands = p_.at("commands"), streams = p_.at("stream");
        for (unsigned i = 0; streams && i < 2; i++)
            spawn([this, t] { stream(*t); });
        sc_core::wait(from_ps(settled_ps));
        tla_status status = TLA_OK;
        latencies allocs, frees;
        tla_completion completion{};
        if (commands) status = command(TLA_OP_ALLOC, completion, allocs); // the stream has met the command now
        if (commands && !status) status = command(TLA_OP_FREE, completion, frees);
        allocs = frees = {};
        const std::uint64_t start = now_ps(), bytes = unit().dma.get_statistics().bytes_read,
                            accesses = list_accesses();
        if (p_.at("reads")) spawn([this, t] { read_now_and_then(*t); });
        while (commands && !status && now_ps() - start < p_.at("window")) {
            status = command(TLA_OP_ALLOC, completion, allocs);
            if (!status) status = command(TLA_OP_FREE, completion, frees);
        }
        if (!commands) sc_core::wait(from_ps(p_.at("window")));
        const double took_s = static_cast<double>(now_ps() - start) / 1e12;
        const auto moved = static_cast<double>(unit().dma.get_statistics().bytes_read - bytes);
        const auto walked = static_cast<double>(list_accesses() - accesses);
        open_ = false;
        while (running_ > 0)
            sc_core::wait(ended_);
        results_ = {allocs.mean_ns(), frees.mean_ns(), unmeasured, unmeasured, reads_.mean_ns(), reads_.worst_ns()};
        if (streams) results_[figure_stream] = moved / took_s / 1e9;
        if (streams && walked > 0 && channels_)
            results_[figure_lost] = (bandwidth_ * took_s - moved) / static_cast<double>(burst_) / walked;
        return status ? status : failure_.status;
    }

    const experiment_parameters p_;
    const std::uint64_t burst_;
    const double bandwidth_; // of the slice, where no timing profile has its own
    const bool channels_;    // false: no command runs
    driver driver_;
    latencies reads_;
    bool open_ = true;
    unsigned running_ = 0; // threads beside the host's
    sc_core::sc_event ended_;
};

} // namespace

experiment_workload allocator_traffic() {
    return {"allocator_traffic",
            {{"nodes", TLA_VALUE_COUNT},
             {"window", TLA_VALUE_TIME},
             {"commands", TLA_VALUE_BOOLEAN},
             {"stream", TLA_VALUE_BOOLEAN},
             {"reads", TLA_VALUE_BOOLEAN}},
            {"alloc", "free", "stream", "lost", "read", "worst_read"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p) {
                return std::unique_ptr<experiment_run>(std::make_unique<allocator_run>(name, config, p));
            }};
}

} // namespace tlmalloc
