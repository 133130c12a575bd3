// One processing_element with a memory controller, a slice and a TCM: what kernels in tests run on.
#ifndef TLMALLOC_TESTS_MODULES_ELEMENT_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_ELEMENT_BENCH_HPP

#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/processing_element.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/time.hpp"

#include <cstring>

namespace element_bench {

using namespace tlmalloc;
using namespace test_initiator;

const std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 64 << 10;

inline std::uint64_t hbm(std::uint64_t offset) {
    return std::uint64_t{1} << 37 | offset;
}

// What the kernels of a test do; their context is the kernel's.
inline std::function<tla_status(tl_context *)> first, second;
const tl_kernel kernels[] = {[](tl_context *tl) { return first(tl); }, [](tl_context *tl) { return second(tl); }};

inline processing_element::config settings() {
    processing_element::config config = bare<processing_element>();
    config.kernels = kernels;
    config.kernel_count = 2;
    config.launch_ps = 2000;
    config.dispatch_ps = 1000;
    config.allocator_port = 1;
    return config;
}

// A PE whose virtual addresses are physical ones: the DMA leads straight to the controller.
struct bench {
    explicit bench(const processing_element::config &config = settings()) : element("element", config, dma) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(memory.in);
        dma.out.bind(controller.in);
        dma.local.bind(controller.in);
        element.local.bind(controller.in);
        element.allocator.bind(controller.control);
        cpu.out.bind(element.control);
        data.out.bind(controller.in);
    }

    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &data});
    }

    template <typename Module>
    typename Module::config plain() const {
        typename Module::config config = bare<Module>();
        return config;
    }
    memory_controller::config controller_config() const {
        memory_controller::config config = plain<memory_controller>();
        config.memory = {0, 0, 0, {{slice_bytes}, {tcm_bytes}}};
        config.cost.fixed_ps = 10'000;
        return config;
    }
    hbm_slice::config slice_config() const {
        hbm_slice::config config = plain<hbm_slice>();
        config.capacity = slice_bytes;
        return config;
    }
    tcm::config tcm_config() const {
        tcm::config config = plain<tcm>();
        config.capacity = tcm_bytes;
        return config;
    }

    hbm_slice slice{"slice", slice_config()};
    tcm memory{"tcm", tcm_config()};
    memory_controller controller{"controller", controller_config()};
    pe_dma dma{"dma", plain<pe_dma>()};
    processing_element element;
    initiator cpu{"cpu"}, data{"data"};
};

inline tla_command launch(std::uint32_t kernel, std::initializer_list<std::uint64_t> arguments = {}) {
    tla_command command{};
    command.opcode = TLA_OP_LAUNCH;
    command.target = TLA_TARGET_PROCESSING_ELEMENT;
    command.kernel = kernel;
    command.program = 3;
    command.programs = 8;
    for (std::uint64_t argument : arguments)
        command.arguments[command.count++] = argument;
    return command;
}

inline bytes floats(std::initializer_list<float> values) {
    bytes data(values.size() * 4);
    std::memcpy(data.data(), values.begin(), data.size());
    return data;
}

} // namespace element_bench

#endif
