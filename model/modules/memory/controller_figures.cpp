// The waveforms of a memory controller.
#include "controller_figures.hpp"

#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

// The front of a memory; none of a memory that is not there.
static tla_front front_if_any(const tla_pe_memory_config &config, tla_memory_kind kind) {
    if (tla_pe_memory_bytes(&config, kind) == 0) return TLA_FRONT_NONE;
    return tla_stack_front(tla_pe_memory_stack_config(&config, kind).policy);
}

memory_controller::figures::figures(memory_controller &of) : of_(of) {
    const tla_pe_memory_config &config = of.config_.memory;
    for (int number = 0; number < TLA_MEMORY_KIND_COUNT; number++) {
        const auto kind = static_cast<tla_memory_kind>(number);
        of_memory &m = memories_[kind];
        const bool has = tla_pe_memory_bytes(&config, kind) > 0;
        m.has_front = front_if_any(config, kind) != TLA_FRONT_NONE;
        m.grows = tla_front_grows(front_if_any(config, kind));
        m.used = add(kind, "used_bytes", 48, has);
        m.largest_free = add(kind, "largest_free_bytes", 48, has);
        m.free_blocks = add(kind, "free_blocks", 32, has);
        m.fragmentation = add(kind, "fragmentation_permille", 10, has);
        m.held = add(kind, "held_bytes", 48, m.has_front);
        m.committed = add(kind, "committed_bytes", 48, m.grows);
    }
    for (int number = 0; number < TLA_MEMORY_KIND_COUNT; number++) {
        const auto kind = static_cast<tla_memory_kind>(number);
        of_memory &m = memories_[kind];
        const bool shown = tla_pe_memory_bytes(&config, kind) > 0 && of.config_.object_signals;
        m.references = add(kind, "references", 32, shown);
        m.pins = add(kind, "pins", 32, shown);
        m.cached = add(kind, "cached_objects", 32, shown);
        m.evicted = add(kind, "evicted_objects", 32, shown);
        m.is_divided = tla_pe_memory_bytes(&config, kind) > 0 &&
                       of.config_.partition.memory == static_cast<tla_divided_memory>(kind + 1);
        m.l1 = add(kind, "l1_bytes", 48, m.is_divided);
        m.l1_used = add(kind, "l1_used_bytes", 48, m.is_divided);
    }
    queue_depth_ = &figures_.emplace_back(of, "queue_depth", 16u);
    busy_ = &figures_.emplace_back(of, "engine_busy", 1u);
    nodes_visited_ = &figures_.emplace_back(of, "nodes_visited", 32u);
    const bool moves = of.config_.move.mode != TLA_MOVE_OFF;
    moves_in_flight_ = &figures_.emplace_back(of, "moves_in_flight", 16u, moves);
    move_stops_ = &figures_.emplace_back(of, "move_stops", 1u, moves);
    const bool serves_faults = of.config_.fault_page_size > 0;
    faults_in_service_ = &figures_.emplace_back(of, "faults_in_service", 1u, serves_faults);
    fault_pool_bytes_ = &figures_.emplace_back(of, "fault_pool_bytes", 48u, serves_faults);
}

figure *memory_controller::figures::add(tla_memory_kind kind, const char *name, unsigned bits, bool shown) {
    names_.push_back(std::string(tla_memory_kind_name(kind)) + "_" + name);
    return &figures_.emplace_back(of_, names_.back().c_str(), bits, shown);
}

void memory_controller::figures::begin(const tla_service &service) {
    queue_depth_->add(service.accepted_ps, 1);
    queue_depth_->add(service.start_ps, -1);
    busy_->set(service.start_ps, 1);
}

void memory_controller::figures::show(tla_memory_kind kind, const tla_arena_stats &stats, std::uint64_t at_ps) {
    const of_memory &m = memories_[kind];
    m.used->set(at_ps, stats.used);
    m.largest_free->set(at_ps, stats.largest_free);
    m.free_blocks->set(at_ps, stats.free_blocks);
    m.fragmentation->set(at_ps, tla_arena_fragmentation_permille(&stats));
    if (m.has_front) m.held->set(at_ps, tla_controller_get_stats(of_.core_.get(), kind).held);
    if (m.grows) m.committed->set(at_ps, stats.capacity);
    if (!m.is_divided) return;
    m.l1->set(at_ps, of_.l1());
    m.l1_used->set(at_ps, tla_controller_get_objects(of_.core_.get(), kind).l1_used);
}

void memory_controller::figures::show_l1(std::uint64_t at_ps) {
    for (const of_memory &m : memories_)
        if (m.is_divided) m.l1->set(at_ps, of_.l1());
}

void memory_controller::figures::end(tla_memory_kind kind, const tla_service &service, const tla_arena_stats &stats,
                                     std::uint64_t nodes) {
    busy_->set(service.done_ps, 0);
    nodes_visited_->set(service.done_ps, nodes);
    show(kind, stats, service.done_ps);
    show_objects(kind, service.done_ps);
}

void memory_controller::figures::show_objects(tla_memory_kind kind, std::uint64_t at_ps) {
    if (!of_.config_.object_signals) return;
    const of_memory &m = memories_[kind];
    const tla_object_stats objects = tla_controller_get_objects(of_.core_.get(), kind);
    m.references->set(at_ps, objects.references);
    m.pins->set(at_ps, objects.pins);
    m.cached->set(at_ps, objects.cache.entries);
    m.evicted->set(at_ps, objects.cache.evicted);
}

} // namespace tlmalloc
