// An MMU that is asked one thing after the other: translations and changes in steps, each to its end, over a memory
// with `read`, `write`, `alloc` and `free` in which every transaction takes 10 ns.
#ifndef TLMALLOC_TESTS_UNIT_LONE_MMU_HPP
#define TLMALLOC_TESTS_UNIT_LONE_MMU_HPP

#include "tlmalloc/vm/mmu.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>

namespace lone {

constexpr std::uint64_t transaction_ps = 10'000;

// The front of an access at *at_ps, which becomes when that is known.
template <typename Memory>
tla_status translate(tla_mmu *mmu, Memory &memory, const tla_mmu_access &access, std::uint64_t *at_ps,
                     tla_mmu_piece *piece) {
    tla_mmu_request r{};
    r.access = access;
    tla_mmu_begin(mmu, &r, *at_ps);
    while (r.phase != TLA_MMU_DONE) {
        BOOST_REQUIRE(r.phase != TLA_MMU_WAIT); // for whom?
        std::uint8_t bytes[4096];
        const bool reads = r.phase == TLA_MMU_READ;
        BOOST_REQUIRE(!reads || r.read_nbytes <= sizeof bytes);
        if (reads) memory.read(r.read_pa, bytes, r.read_nbytes);
        tla_mmu_step(mmu, &r, r.at_ps + (reads ? transaction_ps : 0), reads ? bytes : nullptr);
    }
    BOOST_REQUIRE(!tla_mmu_next(mmu, r.at_ps));
    *at_ps = r.at_ps;
    *piece = r.piece;
    return r.status;
}

// A change that has begun. *at_ps becomes when what it does to the memory is done.
template <typename Memory>
tla_status finish_change(tla_mmu *mmu, Memory &memory, std::uint64_t *at_ps) {
    for (tla_mmu_bus_work todo{}; tla_mmu_change_next(mmu, &todo); *at_ps += transaction_ps) {
        tla_paddr pa{};
        tla_status status = TLA_OK;
        switch (todo.kind) {
        case TLA_MMU_ALLOC:
            status = memory.alloc(todo.nbytes, &pa);
            tla_mmu_change_allocated(mmu, status, pa);
            break;
        case TLA_MMU_WRITE:
            memory.write(todo.pa, todo.bytes, todo.nbytes);
            break;
        case TLA_MMU_FREE:
            memory.free(todo.pa, todo.nbytes);
            break;
        case TLA_MMU_DRAIN:
            BOOST_FAIL("no walk is under way");
        }
    }
    return tla_mmu_change_end(mmu);
}

template <typename Memory>
tla_status change(tla_mmu *mmu, Memory &memory, tla_table_change what, const tla_map_entry *entries, std::size_t count,
                  std::uint64_t *at_ps, tla_error *error) {
    const tla_status status = tla_mmu_change_begin(mmu, what, entries, count, nullptr, error);
    return status ? status : finish_change(mmu, memory, at_ps);
}

template <typename Memory>
tla_status take_back(tla_mmu *mmu, Memory &memory, std::uint32_t sender, std::uint32_t tag, std::uint64_t *at_ps,
                     tla_error *error) {
    const tla_status status = tla_mmu_take_back_begin(mmu, sender, tag, nullptr, error);
    return status ? status : finish_change(mmu, memory, at_ps);
}

} // namespace lone

#endif
