// The model's side of KernBench's transfers from one PE to the next: by memory, and by a message.
#include "experiments/experiment_dma.hpp"

#include "tlmalloc/kernel.h"

#include <algorithm>

namespace tlmalloc {

namespace {

// The inputs and results of the kernels of a platform.
struct recorder {
    std::uint64_t begin_ps = 0; // when both programs begin the measured part
    std::uint64_t end_ps = 0;   // when the last one has done it
};

tla_status wait_until(tl_context *tl, std::uint64_t begin_ps) {
    if (now_ps() > begin_ps)
        return tl_fail(tl, TLA_OUT_OF_RANGE, "the first message had not arrived when the measured one was due");
    sc_core::wait(from_ps(begin_ps - now_ps()));
    return TLA_OK;
}

// Program 0 loads its part of a tensor and stores it to another place of its slice (with `by_memory`), or sends it to
// program 1, which stores it. A first message sets up the slots, as KernBench does before its kernels begin. Arguments:
// the recorder, the tensor, bytes of a part, by_memory.
tla_status move_once(tl_context *tl) {
    auto &times = *reinterpret_cast<recorder *>(static_cast<std::uintptr_t>(tl_argument(tl, 0)));
    const std::uint64_t nbytes = tl_argument(tl, 2), program = tl_program_id(tl, TL_ALL);
    const bool by_memory = tl_argument(tl, 3) != 0;
    if (program > 1 || (by_memory && program > 0)) return TLA_OK;
    // Every program has two parts in its own slice: what it loads, and where it stores.
    const tla_vaddr from{tl_argument(tl, 1) + program * 2 * nbytes}, to{from.value + nbytes};
    tl_tile tile{{}, 1, static_cast<std::uint32_t>(nbytes), TL_U8, 0};
    if (const tla_status status = tl_alloc_tiles(tl, &tile, 1)) return status;
    tla_status status = TLA_OK;
    if (!by_memory) {
        const tl_tile first = tl_view(tl, &tile, 0, 0, 1, 1);
        status = tl_fill(tl, &first, 1);
        if (!status) status = program == 0 ? tl_send(tl, 1, &first) : tl_recv(tl, 0, &first);
    }
    if (!status) status = wait_until(tl, times.begin_ps);
    if (!status && program == 0) status = tl_load(tl, &tile, from, nbytes);
    if (!status && !by_memory) status = program == 0 ? tl_send(tl, 1, &tile) : tl_recv(tl, 0, &tile);
    if (!status && (program == 1 || by_memory)) status = tl_store(tl, to, nbytes, &tile);
    times.end_ps = std::max(times.end_ps, now_ps());
    return tl_free_tiles(tl, &tile, 1, status);
}

const tl_kernel kernels[] = {move_once};

class message_run : public platform_run {
  public:
    message_run(const char *name, const tla_config &config, const experiment_parameters &p)
        : platform_run(name, config, {kernels, 1}), nbytes_(p.at("bytes")), by_memory_(p.at("by_memory") != 0) {
        platform_.host().main = [this] {
            tla_status status = run();
            if (const tla_status cleaned = platform_.host().cleanup(status ? nullptr : &failure_)) status = cleaned;
            finished_ = status == TLA_OK;
        };
    }

    static tla_status check(const tla_config &config, const experiment_parameters &p, tla_error *error) {
        if (config.system.pes_per_cube < 2)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "expected system.pes_per_cube of at least 2");
        if (p.at("bytes") == 0 || p.at("bytes") > config.messages.slot_size)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "bytes: expected 1 B to messages.slot_size");
        return TLA_OK;
    }

  private:
    tla_status run() {
        tensor *parts = nullptr;
        const std::uint64_t programs = platform_.pes().size(), all = 2 * programs * nbytes_;
        if (const tla_status status =
                platform_.host().create_tensor("parts", all, 1, platform_.host().everywhere(), &parts, &failure_))
            return status;
        std::vector<std::uint8_t> bytes(all);
        for (std::uint64_t i = 0; i < all; i++)
            bytes[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
        if (const tla_status status = platform_.host().write_tensor(*parts, bytes.data(), &failure_)) return status;
        recorder times;
        times.begin_ps = now_ps() + 500'000'000;
        const std::vector<std::uint64_t> arguments{reinterpret_cast<std::uintptr_t>(&times), parts->va.value, nbytes_,
                                                   by_memory_};
        if (const tla_status status = platform_.host().launch(0, arguments, &failure_)) return status;
        results_ = {static_cast<double>(times.end_ps - times.begin_ps) / 1e3};
        std::vector<std::uint8_t> now(all);
        if (const tla_status status = platform_.host().read_tensor(*parts, now.data(), &failure_)) return status;
        const std::uint64_t stored = (by_memory_ ? 1 : 3) * nbytes_;
        std::copy_n(bytes.begin(), nbytes_, bytes.begin() + static_cast<std::ptrdiff_t>(stored));
        if (now != bytes) return tla_error_set(&failure_, TLA_WRONG_RESULT, "other bytes arrived than were loaded");
        return platform_.host().free_tensor(parts, &failure_);
    }

    const std::uint64_t nbytes_;
    const bool by_memory_;
};

} // namespace

experiment_workload messages() {
    return {"message",
            {{"bytes", TLA_VALUE_SIZE}, {"by_memory", TLA_VALUE_BOOLEAN}},
            {"time"},
            false,
            [](const char *name, const tla_config &config, const experiment_parameters &p)
                -> std::unique_ptr<experiment_run> { return std::make_unique<message_run>(name, config, p); },
            message_run::check};
}

} // namespace tlmalloc
