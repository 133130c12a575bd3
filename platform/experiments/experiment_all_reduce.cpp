// The model's side of KernBench's all-reduces: the collective of the configuration on every PE, alone, with the slots
// of its messages in the TCM, in the SRAM and in the HBM.
#include "experiments/experiment_dma.hpp"

#include "tlmalloc/kernel.h"

#include <algorithm>
#include <string>

namespace tlmalloc {

namespace {

// The inputs and results of the kernels of a platform.
struct recorder {
    std::uint64_t begin_ps = 0; // when all programs begin the measured part
    std::uint64_t end_ps = 0;   // when the last one has done it
};

// The all-reduce of mesh_2d and hierarchical by way of the last places of all lines, in place of their middles:
// KernBench's before commit 1c5752a.
tla_status all_reduce_by_corner(tl_context *tl, const tl_world *world, const tl_tile *vector, const tl_tile *room) {
    const bool around = world->algorithm == TL_HIERARCHICAL && world->between_sips == TL_SIPS_RINGS;
    const std::uint32_t outermost = around ? std::uint32_t{TL_SIP_DIMENSIONS} : 0, root = world->size - 1;
    tla_status status = tl_grid_reduce(tl, world, outermost, root, vector, room);
    if (!status && around) status = tl_sips_sum(tl, world, root, vector, room);
    return status ? status : tl_grid_broadcast(tl, world, outermost, root, vector);
}

tla_status all_reduce(tl_context *tl, const tl_world *world, const tl_tile *vector, const tl_tile *room) {
    return tl_argument(tl, 3) ? all_reduce_by_corner(tl, world, vector, room) : tl_all_reduce(tl, world, vector, room);
}

// A first all-reduce, of one element, sets up the slots, as KernBench does before its kernels begin; then all begin at
// one time. Each loads its part of a tensor and stores the result there. Arguments: the recorder, the tensor, bytes of
// a rank, whether the last places have the sum first.
tla_status measured_all_reduce(tl_context *tl) {
    auto &times = *reinterpret_cast<recorder *>(static_cast<std::uintptr_t>(tl_argument(tl, 0)));
    const std::uint64_t nbytes = tl_argument(tl, 2);
    const auto columns = static_cast<std::uint32_t>(nbytes / 2);
    tl_world world{};
    if (const tla_status status = tl_world_init(tl, &world)) return status;
    tl_tile tiles[2] = {{{}, 1, columns, TL_F16, 0}, {{}, 1, tl_room(&world, columns), TL_F16, 0}};
    if (const tla_status status = tl_alloc_tiles(tl, tiles, 2)) return status;
    const tl_tile first = tl_view(tl, &tiles[0], 0, 0, 1, 1);
    tla_status status = tl_fill(tl, &first, 1);
    if (status == TLA_OK) status = all_reduce(tl, &world, &first, &tiles[1]);
    const tla_vaddr part{tl_argument(tl, 1) + world.rank * nbytes};
    if (status == TLA_OK && now_ps() > times.begin_ps)
        status = tl_fail(tl, TLA_OUT_OF_RANGE,
                         "the first all-reduce had not completed when the measured all-reduce was due");
    if (status == TLA_OK) {
        sc_core::wait(from_ps(times.begin_ps - now_ps()));
        status = tl_load(tl, &tiles[0], part, nbytes);
        if (status == TLA_OK) status = all_reduce(tl, &world, &tiles[0], &tiles[1]);
        if (status == TLA_OK) status = tl_store(tl, part, nbytes, &tiles[0]);
        times.end_ps = std::max(times.end_ps, now_ps());
    }
    return tl_free_tiles(tl, tiles, 2, status);
}

const tl_kernel kernels[] = {measured_all_reduce};

// KernBench's sizes, and the least and the most: bytes of a rank.
const std::vector<std::uint64_t> sizes = {16, 256, 2048, 16384, 65536, 98304};

// Every program adds ones, as many as there are ranks: at most 2048 are exact in f16.
class all_reduce_run : public platform_run {
  public:
    all_reduce_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {kernels, 1}), by_corner_(p.at("by_corner")),
          in_sram_((std::string(name) + "_in_sram").c_str(), with_slots_in(TLA_SLOTS_SRAM, config), {kernels, 1}),
          in_hbm_((std::string(name) + "_in_hbm").c_str(), with_slots_in(TLA_SLOTS_HBM, config), {kernels, 1}) {
        npu *const platforms[] = {&platform_, &in_sram_, &in_hbm_};
        for (std::size_t i = 0; i < 3; i++)
            platforms[i]->host().main = [this, i, platform = platforms[i]] { measure(*platform, times_ns_[i]); };
    }

    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
        if (config.messages.memory != TLA_SLOTS_TCM)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "expected messages.memory tcm");
        const tl_algorithm algorithm = config.pe.collectives.algorithm;
        if (p.at("by_corner") && algorithm != TL_MESH_2D && algorithm != TL_HIERARCHICAL)
            return tla_error_set(error, TLA_INVALID_ARGUMENT,
                                 "by_corner: expected collectives.algorithm mesh_2d or hierarchical");
        return TLA_OK;
    }

  private:
    static tla_config with_slots_in(tla_slot_memory memory, tla_config config) {
        config.messages.memory = memory;
        return config;
    }

    void measure(npu &platform, std::vector<double> &times_ns) {
        tla_status status = TLA_OK;
        for (const std::uint64_t nbytes : sizes)
            if (!status) status = run(platform, nbytes, times_ns);
        if (const tla_status cleaned = platform.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
        if (status || ++measured_ < 3) return;
        results_ = times_ns_[0];
        for (const std::vector<double> &others : {times_ns_[1], times_ns_[2]})
            for (std::size_t size = 0; size < sizes.size(); size++)
                results_.push_back(others[size] - times_ns_[0][size]);
        finished_ = true;
    }

    tla_status run(npu &platform, std::uint64_t nbytes, std::vector<double> &times_ns) {
        const std::uint64_t ranks = platform.pes().size(), all = ranks * nbytes;
        tensor *sums = nullptr;
        if (const tla_status status =
                platform.host().create_tensor("sums", all, 1, platform.host().everywhere(), &sums, &failure_))
            return status;
        std::vector<std::uint8_t> bytes(all);
        for (std::uint64_t i = 1; i < all; i += 2)
            bytes[i] = 0x3c; // 1 in f16 is 0x3c00
        if (const tla_status status = platform.host().write_tensor(*sums, bytes.data(), &failure_)) return status;
        recorder times;
        times.begin_ps = now_ps() + 500'000'000;
        const std::vector<std::uint64_t> arguments{reinterpret_cast<std::uintptr_t>(&times), sums->va.value, nbytes,
                                                   by_corner_};
        if (const tla_status status = platform.host().launch(0, arguments, &failure_)) return status;
        times_ns.push_back(static_cast<double>(times.end_ps - times.begin_ps) / 1e3);
        if (const tla_status status = platform.host().read_tensor(*sums, bytes.data(), &failure_)) return status;
        for (std::uint64_t i = 0; i < all / 2; i++)
            if (const double got = tl_element(bytes.data(), TL_F16, i); got != static_cast<double>(ranks))
                return tla_error_set(&failure_, TLA_WRONG_RESULT, "element %llu is %g, expected %llu",
                                     static_cast<unsigned long long>(i), got, static_cast<unsigned long long>(ranks));
        return platform.host().free_tensor(sums, &failure_);
    }

    const std::uint64_t by_corner_;
    npu in_sram_, in_hbm_;
    std::vector<double> times_ns_[3]; // in the TCM, the SRAM, the HBM: by the sizes
    unsigned measured_ = 0;
};

} // namespace

experiment_workload all_reduces() {
    return {"all_reduce",
            {{"by_corner", TLA_VALUE_BOOLEAN}},
            {"tcm_16", "tcm_256", "tcm_2048", "tcm_16384", "tcm_65536", "tcm_98304", "sram_16", "sram_256", "sram_2048",
             "sram_16384", "sram_65536", "sram_98304", "hbm_16", "hbm_256", "hbm_2048", "hbm_16384", "hbm_65536",
             "hbm_98304"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<all_reduce_run>(name, config, p); },
            all_reduce_run::check};
}

} // namespace tlmalloc
