// Statistics of a platform's parts, as counts of constants of energy.
#include "run/parts_activity.hpp"

namespace tlmalloc {

namespace {

template <typename Counts>
void count_memory(tla_parts_activity &activity, tla_memory_kind kind, const Counts &counts) {
    for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
        const auto purpose = static_cast<tla_purpose>(i);
        tla_parts_count_access(&activity, kind, purpose, false, counts.bytes_read_for[i]);
        tla_parts_count_access(&activity, kind, purpose, true, counts.bytes_written_for[i]);
    }
}

bool is_ucie(tla_node_kind kind) {
    return kind == TLA_NODE_UCIE || kind == TLA_NODE_IO_UCIE;
}

bool is_pcie(tla_node_kind kind) {
    return kind == TLA_NODE_PCIE_EP || kind == TLA_NODE_SWITCH || kind == TLA_NODE_HOST;
}

bool routes(tla_node_kind kind) {
    return kind == TLA_NODE_ROUTER || kind == TLA_NODE_CONN || kind == TLA_NODE_IO_NOC;
}

void count_link(tla_parts_activity &activity, tla_node_kind from, tla_node_kind to, std::uint64_t bits,
                std::uint64_t length_um) {
    const auto add = [&activity](tla_parts_constant constant, std::uint64_t count) {
        activity.counts[constant][TLA_ENERGY_LINKS] += count;
    };
    if (from == TLA_NODE_HOST_MEMORY || to == TLA_NODE_HOST_MEMORY) {
        add(TLA_PARTS_HOST_MEMORY_LINK, bits);
    } else if (is_ucie(from) && is_ucie(to)) {
        add(TLA_PARTS_UCIE, bits);
    } else if (is_pcie(from) && is_pcie(to)) {
        add(TLA_PARTS_PCIE, bits);
    } else {
        add(TLA_PARTS_WIRE, bits * length_um);
        if (routes(from)) add(TLA_PARTS_ROUTER, bits);
    }
}

void count_controller(tla_parts_activity &activity, const memory_controller &controller, tla_memory_kind kind,
                      const tla_config &config) {
    const memory_controller::statistics s = controller.get_statistics(kind);
    activity.counts[TLA_PARTS_INSTRUCTION][TLA_ENERGY_ALLOCATOR] += s.instructions;
    if (config.controller.engine != TLA_ENGINE_FIRMWARE)
        activity.counts[TLA_PARTS_ENGINE_CYCLE][TLA_ENERGY_ALLOCATOR] +=
            (s.busy_ps - s.list_ps) / config.controller.cost.clock_ps;
}

void count_mmu(tla_parts_activity &activity, const pe_mmu &mmu, const tla_config &config) {
    const pe_mmu::statistics s = mmu.get_statistics();
    activity.counts[TLA_PARTS_TLB_LOOKUP][TLA_ENERGY_WALKS] += s.hits + s.misses;
    if (config.mmu.walk != TLA_WALK_MEMORY)
        activity.counts[TLA_PARTS_TABLE_WRITE][TLA_ENERGY_MAPPING] += s.maps + s.unmaps + s.remaps;
    if (config.mmu.walk == TLA_WALK_FLAT) activity.counts[TLA_PARTS_WALK_STEP][TLA_ENERGY_WALKS] += s.walkers.reads;
}

} // namespace

tla_parts_activity parts_activity(const npu &platform, const tla_config &config) {
    tla_parts_activity activity{};
    for (const pe_unit *pe : platform.pes()) {
        count_memory(activity, TLA_TCM, pe->tcm.get_statistics());
        count_mmu(activity, pe->mmu, config);
        for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
            count_controller(activity, pe->controller, kind, config);
    }
    for (const cube_memory *memory : platform.cube_memories()) {
        count_memory(activity, memory->kind, memory->memory.get_statistics());
        count_controller(activity, memory->controller, memory->kind, config);
    }
    if (const host_memory *const memory = platform.memory_of_host()) {
        count_memory(activity, TLA_HOST_MEMORY, memory->memory.get_statistics());
        count_controller(activity, memory->controller, TLA_HOST_MEMORY, config);
    }
    const tla_topology_node *const nodes = tla_topology_nodes(&platform.graph());
    const tla_topology_link *const links = tla_topology_links(&platform.graph());
    for (std::uint32_t i = 0; i < tla_topology_link_count(&platform.graph()); i++)
        count_link(activity, nodes[links[i].from].kind, nodes[links[i].to].kind,
                   8 * tla_fabric_link_load(platform.fabric().fabric(), i).nbytes, links[i].length_um);
    return activity;
}

} // namespace tlmalloc
