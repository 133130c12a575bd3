// A platform's fabric: its nodes and links, and who hangs where with which window.
#include "bindings.hpp"

#include <cctype>
#include <map>

namespace tlmalloc {

unsigned cubes_of(const tla_config &c) {
    return c.system.cube_mesh_width * c.system.cube_mesh_height;
}

std::vector<pe_location> locations(const tla_config &c) {
    std::vector<pe_location> result;
    for (unsigned sip = 0; sip < c.system.sips; sip++)
        for (unsigned cube = 0; cube < cubes_of(c); cube++)
            for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++)
                result.push_back({sip, cube, pe});
    return result;
}

namespace {

// Nothing is found in a configuration that was loaded, unless a topology file has changed since.
graph_ptr graph_of(const tla_config &config) {
    tla_topology *made = nullptr;
    if (config.controller.memory.layout != TLA_LAYOUT_KERNBENCH)
        SC_REPORT_ERROR("/tlmalloc/npu/topology", "controller.addresses plain is for a single controller only: an npu "
                                                  "has many memories of a kind and needs the layout of phys_addr.h");
    if (const tla_status status = tla_config_topology(&config, &made, nullptr, nullptr))
        SC_REPORT_ERROR("/tlmalloc/npu/topology", tla_status_text(status));
    return {made, tla_topology_destroy};
}

} // namespace

bindings::bindings(const tla_config &config) : config_(config), graph_(graph_of(config)) {
    settings_.flit = config.topology.flit;
    settings_.transport = config.links.transport;
    add_graph();
    add_groups();
    add_host();
    for (unsigned sip = 0; sip < config.system.sips; sip++)
        add_processors(sip);
    const std::vector<pe_location> pes = locations(config);
    for (std::size_t number = 0; number < pes.size(); number++)
        add_pe(pes[number], number);
    add_cube_memories();
    if (config.host_memory.capacity > 0) add_host_memory();
    const bool moves = config.controller.move.mode != TLA_MOVE_OFF;
    if (moves || config.host.delegates) add_addresses();
    if (moves) add_moves();
}

void bindings::bind(platform_modules &parts) const {
    for (const auto &row : bindings_)
        row(parts);
}

void bindings::add_graph() {
    const tla_topology_node *const nodes = tla_topology_nodes(graph_.get());
    for (std::uint32_t i = 0; i < tla_topology_node_count(graph_.get()); i++)
        settings_.nodes.push_back(
            {nodes[i].overhead_ps, nodes[i].store_and_forward, tla_topology_region(&nodes[i]), nodes[i].rank});
    const tla_topology_link *const links = tla_topology_links(graph_.get());
    for (std::uint32_t i = 0; i < tla_topology_link_count(graph_.get()); i++)
        settings_.links.push_back({links[i].from, links[i].to, links[i].latency_ps, links[i].bandwidth,
                                   links[i].routing, links[i].routing_at_end});
}

namespace {

// Returns the scope of a node: its cube, its SIP if it lies in no cube, or none: "sip0.cube1.", "sip0.", "".
std::string scope_of(const tla_topology_node &node) {
    std::string scope;
    if (node.sip != TLA_NO_NODE) scope += "sip" + std::to_string(node.sip) + ".";
    if (node.cube != TLA_NO_NODE) scope += "cube" + std::to_string(node.cube) + ".";
    return scope;
}

// A node's name as it is seen from a scope, of characters that signals have.
std::string name_in(const std::string &scope, const tla_topology_node &node) {
    std::string name = node.name;
    if (name.rfind(scope, 0) == 0) name.erase(0, scope.size());
    for (char &c : name)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    return name;
}

} // namespace

// The links that leave the nodes of a cube, by the kinds of their ends: "sip0.cube1.pe_to_router". And every link by
// itself, where that is asked for: "sip0.cube1.links.pe0_to_r0c0".
void bindings::add_groups() {
    const tla_topology_node *const nodes = tla_topology_nodes(graph_.get());
    const tla_topology_link *const links = tla_topology_links(graph_.get());
    const std::uint32_t count = tla_topology_link_count(graph_.get());
    std::map<std::string, std::size_t> places;
    for (std::uint32_t i = 0; i < count; i++) {
        const tla_topology_node &from = nodes[links[i].from], &to = nodes[links[i].to];
        const std::string name = scope_of(from) + tla_node_kind_name(from.kind) + "_to_" + tla_node_kind_name(to.kind);
        const auto [place, is_new] = places.emplace(name, settings_.groups.size());
        if (is_new) settings_.groups.push_back({name, {}});
        settings_.groups[place->second].links.push_back(i);
    }
    for (std::uint32_t i = 0; config_.simulation.link_signals && i < count; i++) {
        const tla_topology_node &from = nodes[links[i].from], &to = nodes[links[i].to];
        const std::string scope = scope_of(from);
        std::string name = scope + "links." + name_in(scope, from) + "_to_" + name_in(scope, to);
        while (!places.emplace(name, 0).second) // two links between two nodes
            name += "_" + std::to_string(i);
        settings_.groups.push_back({name, {i}});
    }
}

std::uint32_t bindings::node(tla_node_kind kind, unsigned sip, unsigned cube, unsigned index) const {
    return tla_topology_node_of(graph_.get(), kind, sip, cube, index);
}

void bindings::initiator(std::uint32_t node, binding bind) {
    settings_.sources.push_back(node);
    bindings_.push_back(std::move(bind));
}

void bindings::target(std::uint32_t node, tla_paddr base, std::uint64_t size, bool relative, binding bind) {
    settings_.windows.push_back({base.value, size, static_cast<unsigned>(settings_.targets.size()), relative});
    settings_.targets.push_back(node);
    bindings_.push_back(std::move(bind));
}

void bindings::add_host() {
    const std::uint32_t host = node(TLA_NODE_HOST, 0, 0, 0);
    initiator(host, [](platform_modules &p) { p.host.out.bind(p.fabric.in); });
    initiator(host, [](platform_modules &p) { p.addresses.out.bind(p.fabric.in); });
}

void bindings::add_processors(unsigned sip) {
    initiator(node(TLA_NODE_PCIE_EP, sip, 0, 0),
              [sip](platform_modules &p) { p.end_points[sip]->out.bind(p.fabric.in); });
    const unsigned cubes = cubes_of(config_);
    std::size_t number = std::size_t{sip} * (1 + cubes);
    tla_paddr control{};
    tla_paddr_io_cpu_control(sip, 0, &control);
    add_processor(node(TLA_NODE_IO_CPU, sip, 0, 0), control, number);
    for (unsigned cube = 0; cube < cubes; cube++) {
        tla_paddr_m_cpu_control(sip, cube, 0, &control);
        add_processor(node(TLA_NODE_M_CPU, sip, cube, 0), control, ++number);
    }
}

void bindings::add_processor(std::uint32_t place, tla_paddr control, std::size_t number) {
    initiator(place, [number](platform_modules &p) { p.processors[number]->out.bind(p.fabric.in); });
    target(place, control, TLA_CONTROL_BLOCK_BYTES, true,
           [number](platform_modules &p) { p.fabric.out.bind(p.processors[number]->control); });
}

void bindings::add_pe(const pe_location &l, std::size_t number) {
    const std::uint32_t pe = node(TLA_NODE_PE, l.sip, l.cube, l.pe), hbm = node(TLA_NODE_HBM_CTRL, l.sip, l.cube, l.pe);
    initiator(pe, [number](platform_modules &p) { p.pes[number]->mmu.out.bind(p.fabric.in); });
    if (config_.mmu.walk == TLA_WALK_MEMORY)
        initiator(pe, [number](platform_modules &p) { p.pes[number]->mmu.walk.bind(p.fabric.in); });

    const auto data = [number](platform_modules &p) { p.fabric.out.bind(p.pes[number]->controller.in); };
    const std::uint64_t slice = config_.hbm.capacity;
    tla_paddr base{};
    tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, slice, &base);
    target(hbm, base, slice, false, data);
    tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &base);
    target(pe, base, config_.tcm.capacity, false, data);

    const auto control = [&](std::uint32_t place, tla_control_block block, binding bind) {
        tla_paddr_pe_control(l.sip, l.cube, l.pe, block, 0, &base);
        target(place, base, TLA_CONTROL_BLOCK_BYTES, true, std::move(bind));
    };
    control(hbm, TLA_CONTROL_MEMORY_CONTROLLER,
            [number](platform_modules &p) { p.fabric.out.bind(p.pes[number]->controller.control); });
    control(pe, TLA_CONTROL_PE_MMU, [number](platform_modules &p) { p.fabric.out.bind(p.pes[number]->mmu.control); });
    control(pe, TLA_CONTROL_PROCESSING_ELEMENT,
            [number](platform_modules &p) { p.fabric.out.bind(p.pes[number]->element.control); });
    control(pe, TLA_CONTROL_MESSAGES, [number](platform_modules &p) { p.fabric.out.bind(p.pes[number]->ipcq.in); });
    if (config_.messages.memory != TLA_SLOTS_TCM)
        initiator(pe, [number](platform_modules &p) { p.pes[number]->ipcq.memory.bind(p.fabric.in); });
}

void bindings::add_cube_memories() {
    std::size_t number = 0;
    for (unsigned sip = 0; sip < config_.system.sips; sip++)
        for (unsigned cube = 0; cube < cubes_of(config_); cube++)
            for (const tla_memory_kind which : {TLA_SRAM, TLA_M_CPU_MEMORY}) {
                const tla_node_kind kind = which == TLA_SRAM ? TLA_NODE_SRAM : TLA_NODE_M_CPU;
                const std::uint32_t place = node(kind, sip, cube, 0);
                const tla_pe_memory_config memory = cube_controller_config(config_, sip, cube, which).memory;
                tla_paddr base{};
                tla_pe_memory_address(&memory, which, 0, &base);
                target(place, base, tla_pe_memory_bytes(&memory, which), false,
                       [number](platform_modules &p) { p.fabric.out.bind(p.cube_memories[number]->controller.in); });
                tla_memory_kind_control(which, sip, cube, 0, 0, &base);
                target(place, base, TLA_CONTROL_BLOCK_BYTES, true, [number](platform_modules &p) {
                    p.fabric.out.bind(p.cube_memories[number]->controller.control);
                });
                number++;
            }
}

void bindings::add_host_memory() {
    const std::uint32_t place = node(TLA_NODE_HOST_MEMORY, 0, 0, 0);
    tla_paddr base{};
    tla_paddr_host_memory(0, &base);
    target(place, base, config_.host_memory.capacity, false,
           [](platform_modules &p) { p.fabric.out.bind(p.memory_of_host->controller.in); });
    tla_paddr_host_memory_control(0, &base);
    target(place, base, TLA_CONTROL_BLOCK_BYTES, true,
           [](platform_modules &p) { p.fabric.out.bind(p.memory_of_host->controller.control); });
}

// The way of mappings from the controllers of PEs. Behind all others, so that their numbers do not depend on it.
void bindings::add_addresses() {
    tla_paddr base{};
    tla_paddr_va_manager_control(0, &base);
    target(node(TLA_NODE_HOST, 0, 0, 0), base, TLA_VA_MANAGER_CONTROL_BYTES, true,
           [](platform_modules &p) { p.fabric.out.bind(p.addresses.control); });
    const std::vector<pe_location> pes = locations(config_);
    for (std::size_t number = 0; number < pes.size(); number++)
        initiator(node(TLA_NODE_HBM_CTRL, pes[number].sip, pes[number].cube, pes[number].pe),
                  [number](platform_modules &p) { p.pes[number]->controller.maps.bind(p.fabric.in); });
}

void bindings::add_moves() {
    tla_paddr base{};
    tla_paddr_host_control(0, &base);
    target(node(TLA_NODE_HOST, 0, 0, 0), base, TLA_CONTROL_BLOCK_BYTES, true,
           [](platform_modules &p) { p.fabric.out.bind(*p.host.tables()); });
    std::size_t number = 0;
    for (unsigned sip = 0; sip < config_.system.sips; sip++)
        for (unsigned cube = 0; cube < cubes_of(config_); cube++)
            for (const tla_node_kind kind : {TLA_NODE_SRAM, TLA_NODE_M_CPU}) {
                initiator(node(kind, sip, cube, 0), [number](platform_modules &p) {
                    p.cube_memories[number]->controller.maps.bind(p.fabric.in);
                });
                number++;
            }
    if (config_.host_memory.capacity > 0)
        initiator(node(TLA_NODE_HOST_MEMORY, 0, 0, 0),
                  [](platform_modules &p) { p.memory_of_host->controller.maps.bind(p.fabric.in); });
}

interconnect::config fabric_config(const tla_config &config) {
    return bindings(config).settings();
}

} // namespace tlmalloc
