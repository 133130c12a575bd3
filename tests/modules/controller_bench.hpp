// A memory controller with its memories, a sender of commands and an initiator of data accesses.
#ifndef TLMALLOC_TESTS_MODULES_CONTROLLER_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_CONTROLLER_BENCH_HPP

#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/tcm.hpp"

namespace controller_bench {

using namespace tlmalloc;
using namespace test_initiator;

inline const std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 64 << 10, reserve = 16 << 10;

inline memory_controller::config small(unsigned queue_depth = 16) {
    memory_controller::config config = bare<memory_controller>();
    config.memory = {1, 2, 3, {{slice_bytes}, {tcm_bytes, reserve}}};
    config.memory.guard_history = 1024;
    config.queue_depth = queue_depth;
    return config;
}

// Where the bytes of this PE are, by the address map of model/base/README.md.
inline std::uint64_t hbm(std::uint64_t offset) {
    return std::uint64_t{1} << 47 | std::uint64_t{2} << 42 | std::uint64_t{1} << 37 | (3 * slice_bytes + offset);
}
inline std::uint64_t tcm_at(std::uint64_t offset) {
    return std::uint64_t{1} << 47 | std::uint64_t{2} << 42 | std::uint64_t{3} << 30 | offset;
}

// Of a PE.
struct bench {
    explicit bench(const memory_controller::config &config = small()) : controller("controller", config) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(memory.in);
        data.out.bind(controller.in);
        cpu.out.bind(controller.control);
    }

    void run(std::function<void()> body, std::function<void()> data_body = {}) {
        cpu.body = std::move(body);
        data.body = std::move(data_body);
        simulate({&cpu, &data});
    }

    tla_completion command_as(requester &who, const tla_command &what) {
        cpu.as = &who;
        return cpu.command(0, what);
    }

    static hbm_slice::config slice_config() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = slice_bytes;
        return config;
    }
    static tcm::config tcm_config() {
        tcm::config config = bare<tcm>();
        config.capacity = tcm_bytes;
        return config;
    }

    hbm_slice slice{"slice", slice_config()};
    tcm memory{"tcm", tcm_config()};
    memory_controller controller;
    initiator cpu{"cpu"}, data{"data"};
};

// Of the host.
struct host_bench {
    explicit host_bench(const memory_controller::config &config) : controller("controller", config) {
        controller.host_memory.bind(memory.in);
        data.out.bind(controller.in);
        cpu.out.bind(controller.control);
    }

    // The configuration of a controller with the host's memory in the place of a PE's.
    static memory_controller::config of_host(memory_controller::config config) {
        config.memory.sip = config.memory.die = config.memory.pe = 0;
        config.memory.of[TLA_HBM].bytes = config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        config.memory.of[TLA_HOST_MEMORY].bytes = slice_bytes;
        return config;
    }

    void run(std::function<void()> body, std::function<void()> data_body = {}) {
        cpu.body = std::move(body);
        data.body = std::move(data_body);
        simulate({&cpu, &data});
    }

    hbm_slice memory{"memory", bench::slice_config()};
    memory_controller controller;
    initiator cpu{"cpu"}, data{"data"};
};

} // namespace controller_bench

#endif
