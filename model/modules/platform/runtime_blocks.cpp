// Blocks of the runtime's tensors and callers: from the pool, by the driver, from an owner of slices, from controllers.
#include "host_pool.hpp"
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_slices.hpp"
#include "runtime_text.hpp"

#include <algorithm>
#include <set>

namespace tlmalloc {

bool runtime::knows(const pe_location &pe) const {
    const std::vector<pe_location> &all = settings_.pes;
    return std::any_of(all.begin(), all.end(), [&pe](const pe_location &p) { return same(p, pe); });
}

tla_status runtime::check_memory(tla_memory_kind memory, tla_error *error) const {
    if (!tla_memory_kind_name(memory)) return tla_error_set(error, TLA_INVALID_ARGUMENT, "unknown memory %d", memory);
    if (memory == TLA_HOST_MEMORY && settings_.memory == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the host has no memory in this platform: host_memory.capacity is 0 B");
    return TLA_OK;
}

void runtime::remember(tla_memory_kind memory, const pe_location &pe, const tla_completion &completion) {
    const pe_location where = in_lockstep(memory) ? slices_->first_of_owner(pe) : tla_memory_of_pe(memory, pe);
    const free_list now{memory, where, completion.total_free, completion.largest_free};
    const auto known = std::find_if(free_lists_.begin(), free_lists_.end(), [&](const free_list &list) {
        return list.memory == memory && same(list.where, where);
    });
    if (known == free_lists_.end())
        free_lists_.push_back(now);
    else
        *known = now;
}

// --- the blocks of a tensor ------------------------------------------------------------------------------------------

// One after the other by way of the driver and the pool; where there is neither, all at once.
std::vector<tla_completion> runtime::allocate_blocks(const tensor &t, const std::vector<shard> &wanted,
                                                     std::uint32_t correlation_id) {
    if (in_lockstep(t.memory)) return slices_->allocate(t, wanted, correlation_id);
    std::vector<tla_completion> completions;
    std::vector<addressed_command> at_once;
    for (const shard &s : wanted) {
        if (pool_) {
            completions.push_back(pool_->take(t.memory, s, correlation_id));
            continue;
        }
        const auto alloc = to_controller(settings_.control_port, TLA_OP_ALLOC, t.memory, s, correlation_id, t.object);
        if (has_driver())
            completions.push_back(call_driver(alloc));
        else
            at_once.push_back(alloc);
    }
    return at_once.empty() ? completions : send_commands(way::fabric, std::move(at_once));
}

// Releases blocks to their origins: pages of faults came from their controller.
std::vector<tla_completion> runtime::free_blocks(const tensor &t, std::uint32_t correlation_id) {
    const bool one_by_one = t.kind != spread::demand && (pool_ || has_driver());
    std::vector<tla_completion> completions;
    std::vector<shard> placed;              // by an owner
    std::vector<addressed_command> at_once; // about the others
    for (const shard &s : t.shards)         // which may be those of several tensors
        if (one_by_one)
            completions.push_back(free_block(s, correlation_id));
        else if (in_lockstep(memory_of(s)))
            placed.push_back(s);
        else
            at_once.push_back(to_controller(settings_.control_port, TLA_OP_FREE, memory_of(s), s, correlation_id));
    if (one_by_one) return completions;
    const std::vector<tla_completion> alone = send_commands(way::fabric, std::move(at_once)),
                                      together = slices_->free(placed, correlation_id);
    auto next_alone = alone.begin(), next_together = together.begin();
    for (const shard &s : t.shards)
        completions.push_back(in_lockstep(memory_of(s)) ? *next_together++ : *next_alone++);
    return completions;
}

tla_completion runtime::free_block(const shard &s, std::uint32_t correlation_id) {
    const tla_memory_kind memory = memory_of(s);
    if (pool_) return pool_->give_back(memory, s, correlation_id);
    return call_driver(to_controller(settings_.control_port, TLA_OP_FREE, memory, s, correlation_id));
}

// Adds the allocated blocks to the tensor, or frees all: never a part (ADR-0048 D6).
tla_status runtime::add_shards(tensor &t, const std::vector<shard> &wanted,
                               const std::vector<tla_completion> &completions, std::uint32_t correlation_id,
                               tla_error *error) {
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const tla_completion &completion = completions[i];
        if (completion.status) {
            if (!status)
                status = explain_block(error, "tensor " + t.name + ": ", t.memory, wanted[i].where, completion,
                                       wanted[i].nbytes);
            continue;
        }
        remember(t.memory, wanted[i].where, completion);
        t.alloc_service_ps = std::max(t.alloc_service_ps, completion.service_ps);
        t.shards.push_back(wanted[i]);
        t.shards.back().pa = {completion.value};
    }
    if (status) {
        free_shards(t, correlation_id, nullptr);
        tell_shortage(t.memory, wanted, completions, error);
    }
    return status;
}

tla_status runtime::explain_block(tla_error *error, const std::string &what, tla_memory_kind memory,
                                  const pe_location &where, const tla_completion &completion,
                                  std::uint64_t nbytes) const {
    const std::uint64_t reserved = memory == TLA_HBM   ? settings_.hbm_reserved
                                   : memory == TLA_TCM ? settings_.tcm_reserved
                                                       : 0;
    const bool segmented = settings_.segment_fronts >> memory & 1, divided = settings_.parts >> memory & 1;
    return explain(error, what + place_of(memory, where), completion, nbytes, reserved,
                   limits_of(memory, segmented, divided));
}

// If several shards do not fit, the error has the total shortage.
void runtime::tell_shortage(tla_memory_kind memory, const std::vector<shard> &wanted,
                            const std::vector<tla_completion> &completions, tla_error *error) const {
    std::set<std::string> places; // one memory may reject several shards
    std::size_t parts = 0;
    std::uint64_t nbytes = 0, free = 0;
    for (std::size_t i = 0; i < wanted.size(); i++) {
        if (completions[i].status != TLA_EXHAUSTED && completions[i].status != TLA_FRAGMENTED) continue;
        parts++;
        nbytes += wanted[i].nbytes;
        if (places.insert(place_of(memory, wanted[i].where)).second) free += completions[i].total_free;
    }
    if (!error || parts < 2) return;
    const tla_error first = *error;
    tla_error_set(error, first.status, "%s; %zu of %zu shards do not fit: they need %llu bytes, but %llu are free",
                  first.text, parts, wanted.size(), static_cast<unsigned long long>(nbytes),
                  static_cast<unsigned long long>(free));
    error->requested = first.requested;
    error->total_free = first.total_free;
    error->largest_free = first.largest_free;
}

tla_status runtime::free_shards(tensor &t, std::uint32_t correlation_id, tla_error *error) {
    const std::vector<tla_completion> completions = free_blocks(t, correlation_id);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < completions.size(); i++) {
        const shard &s = t.shards[i];
        if (stays_owed(static_cast<tla_status>(completions[i].status))) owed_.push_back(s);
        if (!completions[i].status)
            remember(memory_of(s), s.where, completions[i]);
        else if (!status)
            status =
                explain(error, "tensor " + t.name + ": free in " + place_of(memory_of(s), s.where), completions[i], 0);
    }
    t.shards.clear();
    return status;
}

// --- blocks of those who keep their own ------------------------------------------------------------------------------

tla_status runtime::allocate(const pe_location &pe, tla_memory_kind memory, std::uint64_t nbytes, shard *made,
                             tla_error *error) {
    if (const tla_status status = check_memory(memory, error)) return status;
    if (!knows(pe) || nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%llu bytes in memory %d of %s: must be at least 1 byte, in a memory of this platform",
                             static_cast<unsigned long long>(nbytes), memory, to_string(pe).c_str());
    const call here(*this, "allocation", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    *made = {pe, {}, nbytes, 0, 0};
    const std::uint32_t correlation_id = next_correlation_++;
    const tla_completion completion =
        pool_ ? pool_->take(memory, *made, correlation_id)
              : call_driver(to_controller(settings_.control_port, TLA_OP_ALLOC, memory, *made, correlation_id));
    if (completion.status) return here.result(explain_block(error, "", memory, pe, completion, nbytes));
    remember(memory, pe, completion);
    made->pa = {completion.value};
    return here.result(TLA_OK);
}

tla_status runtime::release(const shard &block, tla_error *error) {
    const call here(*this, "free", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    const tla_memory_kind memory = memory_of(block);
    const tla_completion completion = free_block(block, next_correlation_++);
    if (completion.status) return here.result(explain_block(error, "free in ", memory, block.where, completion, 0));
    remember(memory, block.where, completion);
    return here.result(TLA_OK);
}

runtime::pool_counts runtime::pool_statistics() const {
    return pool_ ? pool_->statistics() : pool_counts{};
}

} // namespace tlmalloc
