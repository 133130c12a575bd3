// The host's pool: xtrain's (driver_pools.h), whose driver is the platform's.
#include "host_pool.hpp"

#include <algorithm>
#include <new>

namespace tlmalloc {

runtime::pool::pool(runtime &of) : of_(of), made_(nullptr, tla_caching_pool_destroy) {
    tla_caching_pool_config config{};
    config.driver = {alloc, free, this};
    config.flush_on_failure = true;
    tla_caching_pool *made = nullptr;
    if (tla_caching_pool_create(&config, &made)) throw std::bad_alloc();
    made_.reset(made);
}

// The simulation is over: the kept blocks are not released.
runtime::pool::~pool() {
    closed_ = true;
}

std::uint32_t runtime::pool::device_of(tla_memory_kind memory, const pe_location &pe) {
    const pe_location where = tla_memory_of_pe(memory, pe);
    const auto found = std::find_if(places_.begin(), places_.end(), [&](const place &p) {
        return p.memory == memory && p.where.sip == where.sip && p.where.cube == where.cube && p.where.pe == where.pe;
    });
    const auto device = static_cast<std::uint32_t>(found - places_.begin()); // a new place is the last one
    if (device == places_.size()) places_.push_back({memory, where, {}, 0});
    return device;
}

// --- the pool's driver
// ---------------------------------------------------------------------------------------------------

tla_completion runtime::pool::call_driver(tla_opcode opcode, const place &p, const shard &s) {
    return of_.call_driver(to_controller(of_.settings_.control_port, opcode, p.memory, s, p.correlation_id, 0));
}

tla_status runtime::pool::alloc(void *self, std::uint32_t device, std::uint64_t nbytes, std::uint64_t *address,
                                tla_work *) {
    auto &pool = *static_cast<runtime::pool *>(self);
    place &p = pool.places_[device];
    p.last = pool.call_driver(TLA_OP_ALLOC, p, {p.where, {}, nbytes, 0, 0});
    if (p.last.status) return static_cast<tla_status>(p.last.status);
    pool.of_.remember(p.memory, p.where, p.last);
    *address = p.last.value;
    return TLA_OK;
}

tla_status runtime::pool::free(void *self, std::uint32_t device, std::uint64_t address, std::uint64_t nbytes,
                               tla_work *) {
    auto &pool = *static_cast<runtime::pool *>(self);
    if (pool.closed_) return TLA_OK;
    place &p = pool.places_[device];
    p.last = pool.call_driver(TLA_OP_FREE, p, {p.where, {address}, nbytes, 0, 0});
    if (!p.last.status) pool.of_.remember(p.memory, p.where, p.last);
    return static_cast<tla_status>(p.last.status);
}

// --- requests to the pool
// ------------------------------------------------------------------------------------------------

tla_completion runtime::pool::run(std::uint32_t device, std::uint32_t correlation_id,
                                  const std::function<tla_status()> &operation) {
    tla_completion answer{};
    of_.in_pool(places_[device].where.sip, [&] {
        places_[device].correlation_id = correlation_id;
        const tla_status status = operation();
        answer = places_[device].last;
        answer.status = status;
    });
    return answer;
}

tla_completion runtime::pool::take(tla_memory_kind memory, const shard &s, std::uint32_t correlation_id) {
    const std::uint32_t device = device_of(memory, s.where);
    tla_pool_buffer buffer{};
    tla_completion answer = run(device, correlation_id, [&] {
        return tla_caching_pool_acquire(made_.get(), device, s.nbytes, &buffer, nullptr);
    });
    if (!answer.status) answer.value = buffer.address;
    return answer;
}

tla_completion runtime::pool::give_back(tla_memory_kind memory, const shard &s, std::uint32_t correlation_id) {
    const std::uint32_t device = device_of(memory, s.where);
    const tla_pool_buffer buffer{s.pa.value, s.nbytes, tla_caching_pool_class(s.nbytes), device};
    return run(device, correlation_id, [&] { return tla_caching_pool_release(made_.get(), buffer, nullptr); });
}

// A FREE that is rejected for now is repeated as long as others succeed: they may have made room.
tla_completion runtime::pool::empty(std::uint32_t correlation_id, tla_memory_kind &memory, pe_location &where) {
    tla_completion refused{};
    for (std::uint32_t device = 0; device < places_.size(); device++) {
        tla_completion answer{};
        for (std::uint64_t before = UINT64_MAX;;) {
            answer =
                run(device, correlation_id, [&] { return tla_caching_pool_trim(made_.get(), device, 0, nullptr); });
            const std::uint64_t cached = tla_caching_pool_get_stats(made_.get(), device).cached;
            if (!answer.status || cached == before) break;
            before = cached;
        }
        if (!answer.status || refused.status) continue;
        refused = answer;
        memory = places_[device].memory;
        where = places_[device].where;
    }
    return refused;
}

runtime::pool_counts runtime::pool::statistics() const {
    pool_counts sum;
    for (std::uint32_t device = 0; device < places_.size(); device++) {
        const tla_caching_pool_stats s = tla_caching_pool_get_stats(made_.get(), device);
        sum.hits += s.hits;
        sum.misses += s.driver_allocs;
        sum.driver_frees += s.driver_frees;
        sum.cached_bytes += s.cached;
        sum.peak_reserved_bytes += s.peak_reserved;
    }
    return sum;
}

} // namespace tlmalloc
