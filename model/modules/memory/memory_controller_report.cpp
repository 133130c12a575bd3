// What a memory controller counts, and shows in waveforms.
#include "tlmalloc/modules/memory_controller.hpp"

#include "tlmalloc/modules/time.hpp"

#include <iterator>
#include <string>
#include <vector>

namespace tlmalloc {

memory_controller::statistics memory_controller::get_statistics(tla_channel channel) const {
    statistics result = statistics_[channel];
    if (objects_) result.objects = tla_object_store_get_stats(objects_.get(), channel);
    if (has_front(channel) && has(channel)) {
        const tla_stack_stats stack = front_statistics(channel);
        result.arena = stack.memory;
        result.held = stack.held;
        result.peak_reserved = stack.peak_reserved;
    } else {
        result.arena = memory_ ? tla_pe_memory_get_stats(memory_.get(), channel) : untouched_[channel].memory;
    }
    return result;
}

tla_stack_stats memory_controller::front_statistics(tla_channel channel) const {
    return memory_ ? tla_stack_get_stats(tla_pe_memory_stack(memory_.get(), channel)) : untouched_[channel];
}

// What the sender of a request that failed for want of memory can do about it.
void memory_controller::tell_shortage(tla_channel channel, const tla_stack_request &request,
                                      tla_completion &completion) const {
    completion.value = 0;
    if (completion.status != TLA_EXHAUSTED && completion.status != TLA_FRAGMENTED) return;
    const tla_stack *stack = tla_pe_memory_stack(memory_.get(), channel);
    completion.value = tla_stack_trim_serves(stack, &request);
    completion.nbytes = tla_stack_takes(stack, &request);
}

std::vector<statistics_part> memory_controller::list_statistics() const {
    std::vector<statistics_part> parts;
    for (const tla_channel channel : {TLA_HBM, TLA_TCM, TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY}) {
        if (!has(channel) && statistics_[channel].allocs == 0) continue;
        const statistics s = get_statistics(channel);
        parts.push_back({{{"allocs", s.allocs, "commands", "ALLOC, refused ones included"},
                          {"frees", s.frees, "commands", "FREE, refused ones included"},
                          {"failed", s.failed, "commands", "that were refused"},
                          {"used_bytes", s.arena.used, "bytes", "allocated now"},
                          {"peak_used_bytes", s.arena.peak_used, "bytes", "allocated at once, at most"},
                          {"free_bytes", s.arena.free, "bytes", "free now"},
                          {"largest_free_bytes", s.arena.largest_free, "bytes", "the largest free block"},
                          {"free_blocks", s.arena.free_blocks, "blocks", "free now"},
                          {"nodes_visited", s.nodes_visited, "nodes", "of the free list, by all commands"},
                          {"list_reads", s.list_reads, "nodes", "read, where the list is in memory"},
                          {"list_writes", s.list_writes, "nodes", "written, where the list is in memory"},
                          {"list_hits", s.list_hits, "nodes", "read from the node cache"},
                          {"list_errors", s.list_errors, "nodes", "not as written, or not accessible"},
                          {"engine_differences", s.engine_differences, "commands",
                           "that the engine answered otherwise than the core"},
                          {"list_ps", s.list_ps, "ps", "of busy_ps, for accesses to nodes"},
                          {"use_after_free", s.use_after_free, "accesses", "guard: of a freed block"},
                          {"out_of_bounds", s.out_of_bounds, "accesses", "guard: of no block, or past its end"},
                          {"not_owner", s.not_owner, "accesses", "guard: of another address space's block; FREEs too"},
                          {"never_written", s.never_written, "accesses", "guard: reads of bytes that nobody wrote"},
                          {"busy_ps", s.busy_ps, "ps", "the engine worked for this channel"}},
                         "channel",
                         tla_channel_name(channel)});
        if (grows(channel)) {
            parts.back().statistics.push_back(
                {"committed_bytes", s.arena.capacity, "bytes", "of the memory, until now"});
            parts.back().statistics.push_back({"commits", s.commits, "commits", "that let memory in"});
        }
        const std::vector<statistic> of_objects = object_statistics(s);
        parts.back().statistics.insert(parts.back().statistics.end(), of_objects.begin(), of_objects.end());
        if (!has_front(channel)) continue;
        const statistic of_front[] = {
            {"held_bytes", s.held, "bytes", "of free_bytes, kept by the front for requests of their kind"},
            {"peak_reserved_bytes", s.peak_reserved, "bytes", "taken from the placement below the front, at most"},
            {"driver_calls", s.driver_calls, "calls", "of the front to the placement below"},
            {"trims", s.trims, "commands", "TRIM, refused ones included"}};
        parts.back().statistics.insert(parts.back().statistics.end(), std::begin(of_front), std::end(of_front));
    }
    parts.front().statistics.push_back(
        {"refused_commands", refused_, "commands", "refused by the fault plan, of all channels"});
    return parts;
}

// --- waveforms -------------------------------------------------------------------------------------------------------

void memory_controller::show_begin(const tla_service &service) {
    queue_depth_.add(service.accepted_ps, 1);
    queue_depth_.add(service.start_ps, -1);
    busy_.set(service.start_ps, 1);
}

void memory_controller::show_memory(tla_channel channel, const tla_arena_stats &stats, std::uint64_t at_ps) {
    channel_figures &figures = channel_figures_[channel];
    figures.used.set(at_ps, stats.used);
    figures.largest_free.set(at_ps, stats.largest_free);
    figures.free_blocks.set(at_ps, stats.free_blocks);
    figures.fragmentation.set(at_ps, tla_arena_fragmentation_permille(&stats));
    if (has_front(channel)) figures.held.set(at_ps, front_statistics(channel).held);
    if (grows(channel)) figures.committed.set(at_ps, stats.capacity);
}

void memory_controller::show_end(tla_channel channel, const tla_service &service, const tla_arena_stats &stats,
                                 std::uint64_t nodes) {
    busy_.set(service.done_ps, 0);
    nodes_visited_.set(service.done_ps, nodes);
    show_memory(channel, stats, service.done_ps);
    if (!config_.object_signals) return;
    const tla_object_stats objects = tla_object_store_get_stats(objects_.get(), channel);
    object_figures_[channel].references.set(service.done_ps, objects.references);
    object_figures_[channel].pins.set(service.done_ps, objects.pins);
    object_figures_[channel].cached.set(service.done_ps, objects.cache.entries);
    object_figures_[channel].evicted.set(service.done_ps, objects.cache.evicted);
}

} // namespace tlmalloc
