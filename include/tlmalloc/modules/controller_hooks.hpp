// Functions that a user gives a memory controller: makers of engines, and observers.
#ifndef TLMALLOC_MODULES_CONTROLLER_HOOKS_HPP
#define TLMALLOC_MODULES_CONTROLLER_HOOKS_HPP

#include "tlmalloc/config/parameters.h"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <functional>

namespace tlmalloc {

// Like tla_engine_maker: makes the engine of parameters.engine. The function make_engine makes the engines that this
// library was built with. For other engines it returns TLA_UNSUPPORTED with a text.
using engine_maker = std::function<tla_status(const tla_controller_parameters &parameters, tla_policy placement,
                                              std::uint64_t units, tla_engine *engine, tla_error *error)>;
tla_status make_engine(const tla_controller_parameters &parameters, tla_policy placement, std::uint64_t units,
                       tla_engine *engine, tla_error *error);

// The observers of a memory controller, for recordings and reports.
class controller_hooks {
  public:
    // For recordings: `decided` is called with every request that a memory has decided (stack.h), `counted` with every
    // command that leaves a block with this many references. Set it before the first command and before restore().
    struct watch {
        std::function<void(tla_memory_kind, const tla_stack_deed &)> decided;
        std::function<void(tla_memory_kind, std::uint64_t offset, bool one_more, std::uint64_t references,
                           std::uint64_t at_ps)>
            counted;
    };

    // Called, if set, after every commit of a memory that grows by itself (tla_front_grows): the memory, its free list,
    // and the time in ps at which the commit is done. It must neither wait nor send commands.
    std::function<void(tla_memory_kind, const tla_arena_stats &, std::uint64_t done_ps)> grown;

    // A block that has moved.
    struct moved_block {
        tla_site from, to;
        std::uint64_t nbytes;
        bool of_compaction;               // no command asked for it
        bool exchanged;                   // it has exchanged its place with a block of the slice's owner
        std::uint64_t begun_ps, freed_ps; // when its new place was taken, and when its old place is free
        tla_arena_stats left;             // free list of the memory of its old place
    };
    // Called, if set, when the old place of a block that has moved is free again, before a command can take that place,
    // or has the other block of an exchange.
    // `stopped` is called after a time in which accesses to a block that moves waited. They must neither wait nor send
    // commands.
    std::function<void(const moved_block &)> moved;
    std::function<void(std::uint64_t begin_ps, std::uint64_t end_ps)> stopped;

    // Called, if set, when the controller has served the page fault of byte va, which had arrived at begin_ps. It must
    // neither wait nor send commands.
    std::function<void(std::uint64_t va, std::uint64_t begin_ps, std::uint64_t end_ps)> fault_served;

  protected:
    ~controller_hooks() = default;
};

} // namespace tlmalloc
#endif
