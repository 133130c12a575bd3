// The workloads of experiments.
#include "experiments/experiment_dma.hpp"
#include "experiments/experiment_engine.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

// One long read: GB/s.
class stream_run : public dma_run {
  public:
    stream_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), nbytes_(p.at("bytes")) {}

  private:
    tla_status run() override {
        tensor *t = nullptr;
        if (const tla_status status = make("stream", nbytes_, &t)) return status;
        const std::uint64_t start = now_ps();
        const tla_status status = load(t->va.value, 1, nbytes_, nbytes_);
        results_ = {static_cast<double>(nbytes_) / static_cast<double>(now_ps() - start) * 1e3}; // bytes/ps -> GB/s
        return status;
    }
    const std::uint64_t nbytes_;
};

// The tile DMA of C[m][n] = A[m][k] * B[k][n] in f16, double-buffered: the tiles of the next step are fetched while the
// array works on those before. Seconds.
class gemm_tiles_run : public dma_run {
  public:
    gemm_tiles_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), p_(p) {}

  private:
    enum : std::uint64_t { element_bytes = 2 };

    tla_status run() override {
        const std::uint64_t m = p_.at("m"), n = p_.at("n"), k = p_.at("k");
        const std::uint64_t tile_m = p_.at("tile_m"), tile_n = p_.at("tile_n"), tile_k = p_.at("tile_k");
        if (!tile_m || !tile_n || !tile_k || m % tile_m || n % tile_n || k % tile_k || !p_.at("rate"))
            return tla_error_set(&failure_, TLA_INVALID_ARGUMENT,
                                 "the tiles do not divide the matrices, or the rate is 0");
        tensor *a = nullptr, *b = nullptr;
        if (const tla_status status = make("a", m * k * element_bytes, &a)) return status;
        if (const tla_status status = make("b", k * n * element_bytes, &b)) return status;
        const double operations =
            2.0 * static_cast<double>(tile_m) * static_cast<double>(tile_n) * static_cast<double>(tile_k);
        const auto compute_ps = static_cast<std::uint64_t>(operations / static_cast<double>(p_.at("rate")) * 1e12);
        const std::uint64_t start = now_ps();
        std::uint64_t computed[2] = {start, start}; // when the steps that use either buffer end
        std::uint64_t step = 0;
        for (std::uint64_t i = 0; i < m; i += tile_m)
            for (std::uint64_t j = 0; j < n; j += tile_n)
                for (std::uint64_t l = 0; l < k; l += tile_k, step++) {
                    if (computed[step % 2] > now_ps()) sc_core::wait(from_ps(computed[step % 2] - now_ps()));
                    if (const tla_status status = load(a->va.value + (i * k + l) * element_bytes, tile_m,
                                                       tile_k * element_bytes, k * element_bytes))
                        return status;
                    if (const tla_status status = load(b->va.value + (l * n + j) * element_bytes, tile_k,
                                                       tile_n * element_bytes, n * element_bytes))
                        return status;
                    computed[step % 2] = std::max(now_ps(), computed[(step + 1) % 2]) + compute_ps;
                }
        results_ = {static_cast<double>(std::max(computed[0], computed[1]) - start) / 1e12};
        return TLA_OK;
    }
    const experiment_parameters p_;
};

// A step of decoding takes `step`; the one after it needs `maps` new ranges. They are mapped when it is to begin, or
// (ahead: 1) while the step before runs. How long it waits: ms.
class map_ahead_run : public dma_run {
  public:
    map_ahead_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), p_(p) {}

  private:
    tla_status run() override {
        const std::uint64_t step_end = now_ps() + p_.at("step");
        if (!p_.at("ahead")) sc_core::wait(from_ps(p_.at("step")));
        std::vector<tensor *> grown(p_.at("maps"));
        for (tensor *&t : grown)
            if (const tla_status status = make("kv", p_.at("bytes"), &t)) return status;
        const std::uint64_t ready = now_ps();
        if (ready < step_end) sc_core::wait(from_ps(step_end - ready));
        results_ = {static_cast<double>(now_ps() - step_end) / 1e9};
        for (const tensor *t : grown) // the step does find them
            if (const tla_status status = load(t->va.value, 1, 64, 64)) return status;
        return TLA_OK;
    }
    const experiment_parameters p_;
};

// Remaps a range to and fro between two blocks and reads it `delay` after the command has been acknowledged. How many
// of `tries` reads bring old bytes.
class visibility_run : public dma_run {
  public:
    visibility_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : dma_run(name, config), p_(p), driver_((std::string(name) + "_driver").c_str()) {
        driver_.commands.bind(platform_.addresses().control);
        driver_.memory.bind(platform_.pes()[0]->controller.in);
    }

  private:
    struct driver : sc_core::sc_module {
        explicit driver(sc_core::sc_module_name name) : sc_module(name) {}
        tlm_utils::simple_initiator_socket<driver> commands{"commands"}, memory{"memory"};
    };
    static constexpr std::uint64_t port =
        5 * std::uint64_t{TLA_PORT_BYTES}; // of the VA manager: used by no other sender

    tla_status remap(std::uint64_t va, tla_paddr pa, std::uint64_t nbytes) {
        tla_command command{};
        command.opcode = TLA_OP_MAP;
        command.target = TLA_TARGET_VA_MANAGER;
        command.scope = {1, 1, 1};
        command.count = 1;
        command.entries[0] = {{va}, pa, nbytes, TLA_READ | TLA_WRITE, 0};
        std::uint8_t descriptor[TLA_COMMAND_MAX_BYTES], answer[TLA_COMPLETION_BYTES];
        std::size_t length = 0;
        tla_completion completion{};
        tla_command_encode(&command, descriptor, sizeof descriptor, &length);
        sc_core::sc_time delay;
        if (!access(tlm::TLM_WRITE_COMMAND, port, descriptor, static_cast<unsigned>(length), delay) ||
            !access(tlm::TLM_READ_COMMAND, port + TLA_PORT_COMPLETION, answer, sizeof answer, delay) ||
            tla_completion_decode(answer, &completion))
            completion.status = TLA_BUS_ERROR;
        sc_core::wait(delay);
        return completion.status;
    }

    bool access(tlm::tlm_command what, std::uint64_t address, std::uint8_t *bytes, unsigned nbytes,
                sc_core::sc_time &delay) {
        tlm::tlm_generic_payload payload;
        payload.set_command(what);
        payload.set_address(address);
        payload.set_data_ptr(bytes);
        payload.set_data_length(nbytes);
        payload.set_streaming_width(nbytes);
        driver_.commands->b_transport(payload, delay);
        return payload.is_response_ok();
    }

    std::uint8_t first_byte_of_tile() {
        tla_paddr tile{};
        tla_paddr_pe_tcm(0, 0, 0, 0, &tile);
        std::uint8_t byte = 0;
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(tile.value);
        payload.set_data_ptr(&byte);
        payload.set_data_length(1);
        driver_.memory->transport_dbg(payload);
        return byte;
    }

    tla_status run() override {
        const std::uint64_t nbytes = p_.at("bytes");
        tensor *blocks[2] = {};
        for (unsigned i = 0; i < 2; i++) {
            if (const tla_status status = make(i ? "b" : "a", nbytes, &blocks[i])) return status;
            const std::vector<std::uint8_t> bytes(nbytes, static_cast<std::uint8_t>(i + 1));
            if (const tla_status status = platform_.host().write_tensor(*blocks[i], bytes.data(), &failure_))
                return status;
        }
        sc_core::wait(sc_core::sc_time(1, sc_core::SC_MS)); // posted mappings have arrived
        unsigned stale = 0, wrong = 0;
        for (std::uint64_t i = 0; i < p_.at("tries"); i++) {
            const unsigned now = 1 - i % 2;
            if (const tla_status status = remap(blocks[0]->va.value, blocks[now]->shards[0].pa, nbytes))
                return tla_error_set(&failure_, status, "remap: %s", tla_status_text(status));
            sc_core::wait(from_ps(p_.at("delay")));
            if (const tla_status status = load(blocks[0]->va.value, 1, 64, 64)) return status;
            const std::uint8_t seen = first_byte_of_tile();
            stale += seen == 2 - now;
            wrong += seen != 1 && seen != 2;
            sc_core::wait(sc_core::sc_time(1, sc_core::SC_MS)); // the next change begins in peace
        }
        if (wrong) return tla_error_set(&failure_, TLA_WRONG_RESULT, "%u reads returned bytes of neither block", wrong);
        const std::uint64_t counted = platform_.pes()[0]->mmu.get_statistics().stale_accesses;
        if (counted != stale)
            return tla_error_set(&failure_, TLA_WRONG_RESULT, "%u reads were stale, the MMU counted %llu", stale,
                                 static_cast<unsigned long long>(counted));
        results_ = {static_cast<double>(stale)};
        return TLA_OK;
    }
    const experiment_parameters p_;
    driver driver_;
};

template <typename Run>
std::unique_ptr<experiment_run> make_run(const char *name, const tla_config &config, const experiment_parameters &p) {
    return std::make_unique<Run>(name, config, p);
}

} // namespace

static std::vector<experiment_workload> &all_workloads() {
    static std::vector<experiment_workload> all = {
        {"stream", {{"bytes", TLA_VALUE_SIZE}}, {}, false, make_run<stream_run>},
        {"gemm_tiles",
         {{"m", TLA_VALUE_COUNT},
          {"n", TLA_VALUE_COUNT},
          {"k", TLA_VALUE_COUNT},
          {"tile_m", TLA_VALUE_COUNT},
          {"tile_n", TLA_VALUE_COUNT},
          {"tile_k", TLA_VALUE_COUNT},
          {"rate", TLA_VALUE_RATE}},
         {},
         true,
         make_run<gemm_tiles_run>},
        {"map_ahead",
         {{"maps", TLA_VALUE_COUNT}, {"bytes", TLA_VALUE_SIZE}, {"step", TLA_VALUE_TIME}, {"ahead", TLA_VALUE_BOOLEAN}},
         {},
         false,
         make_run<map_ahead_run>},
        {"map_visibility",
         {{"tries", TLA_VALUE_COUNT}, {"bytes", TLA_VALUE_SIZE}, {"delay", TLA_VALUE_TIME}},
         {},
         false,
         make_run<visibility_run>},
        allocator_traffic(),
        transfers(),
        all_reduces(),
        messages(),
        compactions(),
        composites(),
        energies(),
        engines(),
        first_touches(),
        mooncake_tables(),
        oversubscription(),
        segments_with_replicas(),
        transformer(),
        transformer_beside_moves(),
        transformer_heaps(),
        training(),
        networks(),
        programs(),
    };
    return all;
}

const std::vector<experiment_workload> &experiment_workloads() {
    return all_workloads();
}

void add_experiment_workload(experiment_workload workload) {
    all_workloads().push_back(std::move(workload));
}

} // namespace tlmalloc
