// The pool in front of the host's driver: which memory is which of its devices, and what their controllers answered.
#ifndef TLMALLOC_MODULES_PLATFORM_HOST_POOL_HPP
#define TLMALLOC_MODULES_PLATFORM_HOST_POOL_HPP

#include "tlmalloc/cache/driver_pools.h"
#include "tlmalloc/modules/runtime.hpp"

#include <deque>

namespace tlmalloc {

// Every memory is a device of the pool, whose driver is a call of the host's driver with a command to the memory's
// controller. Before a request fails, the pool releases the kept blocks of its memory and tries again.
class runtime::pool {
  public:
    explicit pool(runtime &of);
    ~pool();

    // Returns the answer of the controller; for a request that the pool itself served, the controller's latest answer.
    tla_completion take(tla_memory_kind memory, const shard &s, std::uint32_t correlation_id);
    tla_completion give_back(tla_memory_kind memory, const shard &s, std::uint32_t correlation_id);

    // Releases all kept blocks to the controllers; returns the first lasting failure, and its place.
    tla_completion empty(std::uint32_t correlation_id, tla_memory_kind &memory, pe_location &where);

    pool_counts statistics() const;

  private:
    struct place {
        tla_memory_kind memory;
        pe_location where;
        tla_completion last;
        std::uint32_t correlation_id; // of the current call
    };
    static tla_status alloc(void *self, std::uint32_t device, std::uint64_t nbytes, std::uint64_t *address,
                            tla_work *work);
    static tla_status free(void *self, std::uint32_t device, std::uint64_t address, std::uint64_t nbytes,
                           tla_work *work);
    tla_completion call_driver(tla_opcode opcode, const place &p, const shard &s);
    std::uint32_t device_of(tla_memory_kind memory, const pe_location &where);
    // Runs an operation of the pool on a memory; answered with its status.
    tla_completion run(std::uint32_t device, std::uint32_t correlation_id,
                       const std::function<tla_status()> &operation);

    runtime &of_;
    bool closed_ = false;
    std::deque<place> places_; // by number of the device
    std::unique_ptr<tla_caching_pool, tla_status (*)(tla_caching_pool *)> made_;
};

} // namespace tlmalloc
#endif
