// An MMU with a small TLB that walks, for tests of walks and changes.
#ifndef TLMALLOC_TESTS_MODULES_WALKING_MMU_HPP
#define TLMALLOC_TESTS_MODULES_WALKING_MMU_HPP

#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

namespace walking_mmu {

using namespace tlmalloc;
using namespace test_initiator;

const std::uint64_t page = 4096, slice_bytes = 64 << 20;

inline pe_mmu::config walking(tla_walk_mode walk) {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    config.va_bits = 48;
    config.walk = walk;
    config.tlb_l1 = {16, 0, 1000, TLA_REPLACE_LRU};
    config.tlb_l2 = {};
    config.allocator_port = 1;
    return config;
}

inline hbm_slice::config slice_config() {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = slice_bytes;
    return config;
}

} // namespace walking_mmu

#endif
