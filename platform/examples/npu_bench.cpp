// The top-level around a test bench in C on a whole platform (npu_bench.h).
#include "npu_bench.h"

#include "bench_main.hpp"
#include "tlmalloc/modules.hpp"

#include <iostream>

namespace {

tlmalloc::npu *platform = nullptr;
tlmalloc::waveform *recorded = nullptr;
std::vector<tla_wave_signal> signals;
tlmalloc::deployment plan;

tla_status told(tla_status status, const tla_error &error) {
    if (status) std::cerr << error.text << "\n";
    return status;
}

tlmalloc::tensor *inside(const host_tensor *tensor) {
    return reinterpret_cast<tlmalloc::tensor *>(const_cast<host_tensor *>(tensor));
}

tla_config configuration() {
    std::size_t count = 0;
    while (count < SETTINGS_MAX && the_npu_bench.settings[count])
        count++;
    tla_config config{};
    const auto report = [](void *, const tla_config_finding *finding) {
        std::cerr << finding->file << ": " << finding->text << "\n";
    };
    if (tla_config_load(nullptr, the_npu_bench.settings, count, &config, report, nullptr)) std::exit(2);
    return config;
}

} // namespace

tla_status make_tensor(const char *name, tla_memory_kind memory, std::uint64_t nbytes, host_tensor **made) {
    tlmalloc::host &host = platform->host();
    tlmalloc::host::sharding where = host.everywhere();
    where.memory = memory;
    tlmalloc::tensor *tensor = nullptr;
    tla_error error{};
    const tla_status status = host.create_tensor(name, nbytes, 1, where, &tensor, &error);
    *made = reinterpret_cast<host_tensor *>(tensor);
    return told(status, error);
}

tla_status free_tensor(host_tensor *tensor) {
    tla_error error{};
    return told(platform->host().free_tensor(inside(tensor), &error), error);
}

tla_status write_tensor(const host_tensor *tensor, const std::uint8_t *bytes) {
    tla_error error{};
    return told(platform->host().write_tensor(*inside(tensor), bytes, &error), error);
}

tla_status read_tensor(const host_tensor *tensor, std::uint8_t *bytes) {
    tla_error error{};
    return told(platform->host().read_tensor(*inside(tensor), bytes, &error), error);
}

tla_status deploy(std::uint64_t height, planned_tensor *tensors, std::size_t count, host_tensor **arena) {
    tlmalloc::host &host = platform->host();
    std::vector<tlmalloc::planned_tensor> planned;
    for (std::size_t i = 0; i < count; i++)
        planned.push_back({"tensor " + std::to_string(i), tensors[i].nbytes, tensors[i].offset});
    tla_error error{};
    const tla_status status = host.deploy("plan", height, planned, host.everywhere(), &plan, &error);
    *arena = reinterpret_cast<host_tensor *>(plan.arena);
    for (std::size_t i = 0; i < plan.tensors.size(); i++)
        tensors[i].tensor = reinterpret_cast<const host_tensor *>(&plan.tensors[i]);
    return told(status, error);
}

tla_status run_kernel(const std::uint64_t *arguments, std::size_t count) {
    tla_error error{};
    return told(platform->host().launch(0, {arguments, arguments + count}, &error), error);
}

std::uint64_t address_of(const host_tensor *tensor) {
    return inside(tensor)->va.value;
}

std::uint64_t now_ns() {
    return tlmalloc::to_ps(sc_core::sc_time_stamp()) / 1000;
}

void show(unsigned signal, std::uint64_t value) {
    recorded->set(signals.at(signal), tlmalloc::to_ps(sc_core::sc_time_stamp()), value);
}

int run_bench(const char *waveform) {
    tlmalloc::npu npu("npu", configuration(), {&the_npu_bench.kernel, 1});
    platform = &npu;
    tlmalloc::waveform wave(waveform);
    recorded = &wave;
    for (tlmalloc::instrumented *module : npu.modules())
        if (module->kind() == std::string("memory_controller")) module->record(wave);
    for (unsigned i = 0; i < SIGNALS_MAX && the_npu_bench.signals[i]; i++)
        signals.push_back(wave.declare("bench", the_npu_bench.signals[i], 32));
    int status = 1;
    tla_error error{};
    npu.host().main = [&] {
        status = the_npu_bench.run();
        if (told(npu.host().cleanup(&error), error) || npu.leaks() > 0) status = 1;
    };
    sc_core::sc_start();
    if (wave.close()) {
        std::cerr << waveform << ": cannot be written\n";
        return 2;
    }
    return status;
}
