// Modules without prices of their own, for tests that count other times.
#ifndef TLMALLOC_TESTS_MODULES_BARE_HPP
#define TLMALLOC_TESTS_MODULES_BARE_HPP

#include "tlmalloc/modules.hpp"

#include <type_traits>

// Commands, kernels' calls and translated accesses take no time, nothing is sent again, virtual addresses are 64 bits
// wide. What else a test needs it sets.
template <typename Module>
typename Module::config bare() {
    using namespace tlmalloc;
    typename Module::config config;
    if constexpr (std::is_same_v<Module, hbm_slice>) {
        config.ecc_latency_ps = 0;
    } else if constexpr (std::is_same_v<Module, memory_controller>) {
        config.cost = {};
        config.node_latency_ps = 0;
    } else if constexpr (std::is_same_v<Module, pe_mmu>) {
        config.overhead_ps = 0;
        config.cost = {};
        config.va_bits = 64;
        config.tlb_l1 = config.tlb_l2 = {};
        config.retry = {};
    } else if constexpr (std::is_same_v<Module, va_manager>) {
        config.cost = {};
        config.space.page_size = std::uint64_t{2} << 20;
    } else if constexpr (std::is_same_v<Module, command_processor>) {
        config.overhead_ps = 0;
    } else if constexpr (std::is_same_v<Module, processing_element>) {
        config.launch_ps = config.dispatch_ps = 0;
        config.retry = {};
    } else if constexpr (std::is_same_v<Module, host>) {
        config.retry = {};
        config.page_size = std::uint64_t{2} << 20;
        config.tcm_reserved = 0;
    }
    return config;
}

#endif
