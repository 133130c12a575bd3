// What the DRAM of a platform has done, for its energy: slices, and the host's memory if it has banks.
#ifndef TLMALLOC_PLATFORM_RUN_DRAM_ACTIVITY_HPP
#define TLMALLOC_PLATFORM_RUN_DRAM_ACTIVITY_HPP

#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <array>

namespace tlmalloc {

// The activities of all slices to now, added up: powers are then rounded once. All slices have one timing.
tla_dram_activity slices_activity(const npu &platform);

using counts_by_cause = std::array<std::uint64_t, TLA_ENERGY_CAUSE_COUNT>;

// How often each constant counts, by cause: commands, or ps. A command has the cause of its burst; refreshes and times
// are causes of their own.
std::array<counts_by_cause, TLA_DRAM_CONSTANT_COUNT> dram_counts(const tla_hbm_config &timing,
                                                                 const tla_dram_activity &activity);

} // namespace tlmalloc
#endif
