// The statistics of a memory controller, for reports.
#include "controller_accesses.hpp"
#include "controller_faults.hpp"
#include "controller_moves.hpp"
#include "controller_work.hpp"

#include <iterator>
#include <vector>

namespace tlmalloc {

static tla_front front_of(const tla_pe_memory_config &config, tla_memory_kind kind) {
    return tla_stack_front(tla_pe_memory_stack_config(&config, kind).policy);
}

static bool has_front(const tla_pe_memory_config &config, tla_memory_kind kind) {
    return tla_pe_memory_bytes(&config, kind) > 0 && front_of(config, kind) != TLA_FRONT_NONE;
}

// Whether the free list of a memory is one of bins. Below `mixed` there are two lists.
static bool proves_by_bins(const tla_pe_memory_config &config, tla_memory_kind kind) {
    const tla_policy placement = tla_stack_placement(config.of[kind].policy);
    return (placement == TLA_OFFSET_BINS || placement == TLA_OFFSET_BINS_ROUNDED) &&
           front_of(config, kind) != TLA_FRONT_MIXED;
}

memory_controller::statistics memory_controller::get_statistics(tla_memory_kind kind) const {
    statistics result;
    static_cast<command_counts &>(result) = work_->counts(kind);
    static_cast<tla_controller_counts &>(result) = tla_controller_get_counts(core_.get(), kind);
    work_->add_list_counts(kind, result);
    const accesses::guard_counts &wrong = accesses_->wrong(kind);
    result.use_after_free = wrong.use_after_free;
    result.out_of_bounds = wrong.out_of_bounds;
    result.not_owner += wrong.not_owner;
    result.never_written = wrong.never_written;
    const tla_stack_stats stack = tla_controller_get_stats(core_.get(), kind);
    result.arena = stack.memory;
    if (has_front(config_.memory, kind)) {
        result.held = stack.held;
        result.peak_reserved = stack.peak_reserved;
    }
    result.objects = tla_controller_get_objects(core_.get(), kind);
    if (config_.partition.memory == static_cast<tla_divided_memory>(kind + 1))
        result.objects.l1 = tla_controller_get_l1(core_.get()); // also before the first command
    if (moves_) {
        result.stop_ps = moves_->stop_ps();
        result.longest_stop_ps = moves_->longest_stop_ps();
    }
    return result;
}

static std::vector<statistic> object_statistics(const memory_controller::statistics &of) {
    return {
        {"refs", of.refs, "commands", "REF, including rejected commands"},
        {"unrefs", of.unrefs, "commands", "UNREF, including rejected commands"},
        {"references", of.objects.references, "references", "to live blocks now, including those of their ALLOC"},
        {"pin_commands", of.pins, "commands", "PIN, including rejected commands"},
        {"unpins", of.unpins, "commands", "UNPIN, including rejected commands"},
        {"pins", of.objects.pins, "pins", "on live blocks now"},
        {"pin_timeouts", of.objects.timeouts, "blocks", "whose pins have timed out"},
        {"batches", of.batches, "commands", "ALLOC_BATCH and FREE_BATCH, including rejected commands"},
        {"puts", of.puts, "commands", "PUT, including rejected commands"},
        {"gets", of.gets, "commands", "GET, including rejected commands"},
        {"removes", of.removes, "commands", "REMOVE, including rejected commands"},
        {"evicts", of.evicts, "commands", "EVICT, including rejected commands"},
        {"cached_objects", of.objects.cache.entries, "objects", "under a key now"},
        {"cache_hits", of.objects.hits, "commands", "GET of a cached key"},
        {"cache_misses", of.objects.misses, "commands", "GET of a missing key"},
        {"evicted_objects", of.objects.cache.evicted, "objects", "evicted by an EVICT or a pass"},
        {"evict_waits", of.objects.cache.waits, "commands", "EVICT that found no block to evict and must be retried"}};
}

static std::vector<statistic> part_statistics(const tla_object_stats &of) {
    return {{"l1_bytes", of.l1, "bytes", "of L1 now"},
            {"l1_used_bytes", of.l1_used, "bytes", "of blocks in L1 now"},
            {"peak_l1_used_bytes", of.peak_l1_used, "bytes", "most bytes of blocks in L1 at the same time"},
            {"part_shortages", of.shortages, "requests", "for which L1 or L2 had no room"}};
}

static std::vector<statistic> move_statistics(const memory_controller::statistics &of) {
    return {{"binds", of.binds, "commands", "BIND, including rejected commands"},
            {"unbinds", of.unbinds, "commands", "UNBIND, including rejected commands"},
            {"moves", of.moves, "commands", "MOVE of a block here, including rejected commands"},
            {"moved_blocks", of.moved_blocks, "blocks", "that have left their place here"},
            {"moved_bytes", of.moved_bytes, "bytes", "of these blocks"},
            {"compactions", of.compactions, "plans", "of moves that have begun by themselves"},
            {"compacted_blocks", of.compacted_blocks, "blocks", "of moved_blocks, in these plans"},
            {"compacted_bytes", of.compacted_bytes, "bytes", "of moved_bytes, in these plans"},
            {"compacted_allocs", of.compacted_allocs, "commands", "ALLOC that succeeded after waiting for moves"},
            {"not_resumed", of.not_resumed, "commands", "of moves to the MMUs that could not be undone"},
            {"stop_ps", of.stop_ps, "ps", "in which accesses to moving blocks waited, all channels"},
            {"longest_stop_ps", of.longest_stop_ps, "ps", "the longest of these times"}};
}

static std::vector<statistic> fault_statistics(const tla_fault_pool_counts &of) {
    return {{"given_pages", of.pages, "pages", "that the controller gave to page faults"},
            {"given_bytes", of.given_bytes, "bytes", "of such pages, in tensors that are delegated now"},
            {"known_pages", of.known, "faults", "on pages that were there already"},
            {"collided_pages", of.collisions, "pages", "freed because somebody else was faster"},
            {"passed_on_faults", of.passed_on, "faults", "that the host had to serve"},
            {"exhausted_faults", of.exhausted, "faults", "of passed_on_faults, because of mmu.fault_pool"}};
}

std::vector<statistics_group> memory_controller::list_statistics() const {
    std::vector<statistics_group> parts;
    for (int number = 0; number < TLA_MEMORY_KIND_COUNT; number++) {
        const auto kind = static_cast<tla_memory_kind>(number);
        const statistics s = get_statistics(kind);
        const bool has = tla_pe_memory_bytes(&config_.memory, kind) > 0;
        if (!has && s.allocs == 0) continue;
        parts.push_back(
            {{{"allocs", s.allocs, "commands", "ALLOC, including failed commands"},
              {"frees", s.frees, "commands", "FREE, including rejected commands"},
              {"failed", s.failed, "commands", "failed or rejected"},
              {"used_bytes", s.arena.used, "bytes", "allocated now"},
              {"peak_used_bytes", s.arena.peak_used, "bytes", "most bytes allocated at the same time"},
              {"free_bytes", s.arena.free, "bytes", "free now"},
              {"largest_free_bytes", s.arena.largest_free, "bytes", "the largest free block"},
              {"free_blocks", s.arena.free_blocks, "blocks", "free now"},
              {"nodes_visited", s.nodes_visited, "nodes", "of the free list, visited by all commands"},
              {"list_reads", s.list_reads, "nodes", "read, if the list is in memory"},
              {"list_writes", s.list_writes, "nodes", "written, if the list is in memory"},
              {"list_hits", s.list_hits, "nodes", "read from the node cache"},
              {"list_errors", s.list_errors, "nodes", "that differ from the value written or are not accessible"},
              {"engine_differences", s.engine_differences, "commands", "for which the engine and the core disagree"},
              {"list_ps", s.list_ps, "ps", "of busy_ps, for accesses to nodes"},
              {"use_after_free", s.use_after_free, "accesses", "guard: of a freed block"},
              {"out_of_bounds", s.out_of_bounds, "accesses", "guard: outside a block"},
              {"not_owner", s.not_owner, "accesses", "guard: of another address space's block, including FREE"},
              {"never_written", s.never_written, "accesses", "guard: reads of bytes that were never written"},
              {"busy_ps", s.busy_ps, "ps", "busy time of the engine for this channel"}},
             "channel",
             tla_memory_kind_name(kind)});
        if (has && proves_by_bins(config_.memory, kind)) {
            parts.back().statistics.push_back(
                {"proven_free_bytes", s.arena.proven_free, "bytes", "free in the list now, as its bins prove"});
            parts.back().statistics.push_back({"proven_largest_bytes", s.arena.proven_largest, "bytes",
                                               "of the largest free block, as the bins prove"});
        }
        if (has && tla_front_grows(front_of(config_.memory, kind))) {
            parts.back().statistics.push_back(
                {"committed_bytes", s.arena.capacity, "bytes", "of the memory, committed until now"});
            parts.back().statistics.push_back({"commits", s.commits, "commits", "that added memory"});
            if (config_.pin_wait_ps > 0 && front_of(config_.memory, kind) == TLA_FRONT_LAZY)
                parts.back().statistics.push_back(
                    {"pin_wait_ps", s.pin_wait_ps, "ps", "for which pins of chunks waited for accesses"});
        }
        if (tla_controller_uses_objects(core_.get())) {
            const std::vector<statistic> of_objects = object_statistics(s);
            parts.back().statistics.insert(parts.back().statistics.end(), of_objects.begin(), of_objects.end());
            if (config_.watermark.permille > 0)
                parts.back().statistics.push_back({"passes", s.passes, "passes", "over objects, at the watermark"});
        }
        if (s.objects.l1 > 0) {
            const std::vector<statistic> of_parts = part_statistics(s.objects);
            parts.back().statistics.insert(parts.back().statistics.end(), of_parts.begin(), of_parts.end());
        }
        if (moves_) {
            const std::vector<statistic> of_moves = move_statistics(s);
            parts.back().statistics.insert(parts.back().statistics.end(), of_moves.begin(), of_moves.end());
        }
        if (front_of(config_.memory, kind) == TLA_FRONT_NONE) continue;
        const statistic of_front[] = {
            {"held_bytes", s.held, "bytes", "of free_bytes, kept by the front for later requests"},
            {"peak_reserved_bytes", s.peak_reserved, "bytes", "most bytes that the front held from its placement"},
            {"driver_calls", s.driver_calls, "calls", "of the front to its placement"},
            {"trims", s.trims, "commands", "TRIM, including rejected commands"}};
        parts.back().statistics.insert(parts.back().statistics.end(), std::begin(of_front), std::end(of_front));
    }
    parts.front().statistics.push_back(
        {"refused_commands", refused(), "commands", "rejected by the fault plan, all channels"});
    if (faults_) {
        const std::vector<statistic> of_faults = fault_statistics(faults_->counts());
        parts.front().statistics.insert(parts.front().statistics.end(), of_faults.begin(), of_faults.end());
    }
    return parts;
}

} // namespace tlmalloc
