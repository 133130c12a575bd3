// Tensors on the host's side: their blocks, and plans of them. The runtime makes and moves them.
#ifndef TLMALLOC_MODULES_TENSOR_HPP
#define TLMALLOC_MODULES_TENSOR_HPP

#include "tlmalloc/kernel/tensor_shards.h"
#include "tlmalloc/modules/systemc.hpp" // for the C++ standard that it requires
#include "tlmalloc/stack/units.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tlmalloc {

using pe_location = tla_pe_location; // place of a PE
using shard = tla_shard;

// The ways to spread a tensor over its placement (tensor.h).
enum class spread {
    split = TLA_SPREAD_SPLIT,
    replicate = TLA_SPREAD_REPLICATE,
    demand = TLA_SPREAD_DEMAND,
    matrix = TLA_SPREAD_MATRIX
};

// The ways in which the owner of slices (controller.lockstep) places the parts of a tensor (units.h): at one offset of
// all its slices (lockstep), of the slices with a part (range, common), or each part alone (single). Lockstep avoids
// all that lies in any slice, range and common what lies in theirs. Later blocks avoid a range in every slice.
enum class placing {
    single = TLA_UNITS_SINGLE,
    lockstep = TLA_UNITS_LOCKSTEP,
    range = TLA_UNITS_RANGE,
    common = TLA_UNITS_COMMON
};

struct tensor {
    std::string name;
    tla_vaddr va;
    std::uint64_t nbytes;
    std::vector<shard> shards;
    std::uint64_t alloc_ps, map_ps; // time in ps that the host waited for allocations, and for mappings
    spread kind;
    std::uint32_t object = 0;           // object of its blocks' ALLOCs (guard.h)
    tla_matrix_layout layout{};         // spread::matrix
    tla_memory_kind memory = TLA_HBM;   // memory of its blocks
    bool read_only = false;             // for PEs
    bool fixed = false;                 // its blocks never move
    std::uint64_t alloc_service_ps = 0; // part of alloc_ps: time of the engine whose command was served longest
    shard home{};                       // mmu.eviction, on demand: place of all pages in the host's memory, or 0 bytes
    std::vector<bool> at_home{};        // of each page: its bytes there are valid
    unsigned leaving = 0;               // blocks on their way to another controller
    placing slices = placing::lockstep; // in HBM slices with an owner
};

// A tensor of a plan (plan.h): `nbytes` in every PE's slice, `offset` above the plan's start in that slice.
struct planned_tensor {
    std::string name;
    std::uint64_t nbytes, offset;
};

// A plan in memory. Each of its tensors has a part in every PE's slice. You write and read such a tensor like any
// tensor, but its parts do not touch. Its `va` is the address of its first part; the next PE's part is `height` above.
struct deployment {
    tensor *arena = nullptr; // `height` bytes in every slice; free_tensor(arena) ends the deployment
    std::uint64_t height = 0;
    std::vector<tensor> tensors; // in the order of the plan
};

} // namespace tlmalloc

#endif
