// A fragmented slice: a tensor waits while its controller moves blocks, and a kernel goes on in one of them.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules.hpp"

#include <iostream>
#include <vector>

namespace {

constexpr std::uint64_t eighth = 128 << 10, numbers = eighth / 4; // of a slice of 1 MiB
constexpr std::uint64_t rounds = 4;

// Adds 1 to every number of a tensor, in tiles of 4 KiB, again and again.
const tl_kernel counting = [](tl_context *tl) {
    constexpr std::uint32_t in_tile = 1024;
    tl_tile ones{}, tile{};
    tla_status status = tl_alloc(tl, 1, in_tile, TL_F32, &ones);
    if (!status) status = tl_alloc(tl, 1, in_tile, TL_F32, &tile);
    if (!status) status = tl_fill(tl, &ones, 1);
    for (std::uint64_t i = 0; i < rounds * numbers && !status; i += in_tile) {
        const tla_vaddr at{tl_argument(tl, 0) + i % numbers * 4};
        status = tl_load(tl, &tile, at, 4096);
        if (!status) status = tl_add(tl, &tile, &tile, &ones);
        if (!status) status = tl_store(tl, at, 4096, &tile);
    }
    tl_free(tl, &tile);
    tl_free(tl, &ones);
    return status;
};

// Returns whether the kernel's numbers are right.
bool run(tlmalloc::npu &platform) {
    tlmalloc::host &host = platform.host();
    tla_error error{};
    const auto make = [&](const char *name, std::uint64_t elements) {
        tlmalloc::tensor *made = nullptr;
        if (host.create_tensor(name, elements, 4, host.everywhere(), &made, &error)) std::cout << error.text << '\n';
        return made;
    };
    std::vector<tlmalloc::tensor *> tensors;
    for (int i = 0; i < 8; i++)
        tensors.push_back(make("small", numbers));
    std::vector<float> in(numbers, 7), out(numbers);
    host.write_tensor(*tensors[3], reinterpret_cast<const std::uint8_t *>(in.data()), &error);
    for (int i = 0; i < 8; i += 2)
        host.free_tensor(tensors[static_cast<std::size_t>(i)], &error); // a half of the slice, in four holes

    sc_core::sc_event ended;
    sc_core::sc_spawn([&] {
        host.launch(0, {tensors[3]->va.value}, &error);
        ended.notify(sc_core::SC_ZERO_TIME);
    });
    sc_core::wait(5, sc_core::SC_US); // the kernel runs
    const sc_core::sc_time begun = sc_core::sc_time_stamp();
    tlmalloc::tensor *const large = make("large", 4 * numbers);
    if (large) std::cout << "large: placed after " << sc_core::sc_time_stamp() - begun << '\n';
    sc_core::wait(ended);
    host.read_tensor(*tensors[3], reinterpret_cast<std::uint8_t *>(out.data()), &error);
    return out == std::vector<float>(numbers, 7 + rounds) && !host.cleanup(&error);
}

} // namespace

int sc_main(int argc, char **argv) try {
    const char *keys[] = {"system.pes_per_cube=1",      "hbm.capacity_per_cube=1 MiB",     "mmu.page_size=4 KiB",
                          "controller.move=concurrent", "controller.compaction=on_demand", "controller.move_buffers=4"};
    tla_config config{};
    if (tla_config_load(nullptr, keys, std::size(keys), &config, nullptr, nullptr)) return 2;
    tlmalloc::npu platform("npu", config, {&counting, 1});
    tlmalloc::memory_controller &controller = platform.pes()[0]->controller;
    tlmalloc::waveform wave(argc == 2 ? argv[1] : "compaction.vcd");
    for (const char *pattern : {"*.hbm_used_bytes", "*.hbm_largest_free_bytes", "*.hbm_free_blocks",
                                "*.moves_in_flight", "*.move_stops", "*.paused_accesses"})
        wave.select(pattern);
    controller.record(wave);
    platform.pes()[0]->mmu.record(wave);
    bool is_right = false;
    platform.host().main = [&] { is_right = run(platform); };
    sc_core::sc_start();
    const auto counts = controller.get_statistics(TLA_HBM);
    std::cout << "moved: " << counts.compacted_blocks << " blocks, " << counts.compacted_bytes << " bytes\nstopped for "
              << counts.stop_ps << " ps, once for " << counts.longest_stop_ps << "\nthe kernel's numbers are "
              << (is_right ? "right" : "wrong") << '\n';
    return wave.close() == TLA_OK ? 0 : 1;
} catch (const std::exception &error) {
    std::cerr << error.what() << '\n';
    return 2;
}
