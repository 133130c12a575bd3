// A platform's fabric: its nodes and links, and who hangs where with which window.
#include "topology.hpp"

namespace tlmalloc {

namespace {

// Numbers of the fabric's nodes: the host, then for each SIP its IO chiplet, its routers, its PEs and its HBM slices.
class fabric_nodes {
  public:
    explicit fabric_nodes(const tla_config &c)
        : cubes_(c.system.cube_mesh_width * c.system.cube_mesh_height), pes_(c.system.pes_per_cube),
          sips_(c.system.sips) {}

    std::uint32_t count() const { return 1 + sips_ * per_sip(); }
    std::uint32_t host() const { return 0; }
    std::uint32_t io(unsigned sip) const { return 1 + sip * per_sip(); }
    std::uint32_t router(unsigned sip, unsigned cube) const { return io(sip) + 1 + cube; }
    std::uint32_t pe(const pe_location &l) const { return io(l.sip) + 1 + cubes_ + l.cube * pes_ + l.pe; }
    std::uint32_t hbm(const pe_location &l) const { return pe(l) + cubes_ * pes_; }

  private:
    std::uint32_t per_sip() const { return 1 + cubes_ + 2 * cubes_ * pes_; }
    std::uint32_t cubes_, pes_, sips_;
};

} // namespace

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

topology::topology(const tla_config &config) : config_(config) {
    settings_.nodes.resize(fabric_nodes(config).count());
    settings_.style = config.simulation.style == TLA_TIME_EXACT ? time_style::exact : time_style::fast;
    for (unsigned sip = 0; sip < config.system.sips; sip++)
        add_mesh(sip);
    add_host();
    for (unsigned sip = 0; sip < config.system.sips; sip++)
        add_processors(sip);
    const std::vector<pe_location> pes = locations(config);
    for (std::size_t number = 0; number < pes.size(); number++)
        add_pe(pes[number], number);
    add_cube_memories();
}

void topology::bind(platform_parts &parts) const {
    for (const auto &row : bindings_)
        row(parts);
}

void topology::link(std::uint32_t a, std::uint32_t b, std::uint64_t latency, std::uint64_t bandwidth) {
    settings_.links.push_back({a, b, latency, bandwidth, 0});
    settings_.links.push_back({b, a, latency, bandwidth, 0});
}

void topology::initiator(std::uint32_t node, binding bind) {
    settings_.sources.push_back(node);
    bindings_.push_back(std::move(bind));
}

void topology::target(std::uint32_t node, tla_paddr base, std::uint64_t size, bool relative, binding bind) {
    settings_.windows.push_back({base.value, size, static_cast<unsigned>(settings_.targets.size()), relative});
    settings_.targets.push_back(node);
    bindings_.push_back(std::move(bind));
}

void topology::add_mesh(unsigned sip) {
    const fabric_nodes nodes(config_);
    const auto &f = config_.fabric;
    const unsigned width = config_.system.cube_mesh_width;
    const unsigned height = config_.system.cube_mesh_height;
    link(nodes.host(), nodes.io(sip), f.host_latency_ps, f.host_bandwidth);
    for (unsigned y = 0; y < height; y++) {
        link(nodes.io(sip), nodes.router(sip, y * width), f.cube_latency_ps, f.cube_bandwidth);
        for (unsigned x = 0; x < width; x++) {
            const std::uint32_t here = nodes.router(sip, y * width + x);
            if (x + 1 < width) link(here, nodes.router(sip, y * width + x + 1), f.cube_latency_ps, f.cube_bandwidth);
            if (y + 1 < height) link(here, nodes.router(sip, (y + 1) * width + x), f.cube_latency_ps, f.cube_bandwidth);
        }
    }
}

void topology::add_host() {
    const fabric_nodes nodes(config_);
    initiator(nodes.host(), [](platform_parts &p) { p.host.out.bind(p.fabric.in); });
    initiator(nodes.host(), [](platform_parts &p) { p.addresses.out.bind(p.fabric.in); });
}

void topology::add_processors(unsigned sip) {
    const fabric_nodes nodes(config_);
    const unsigned cubes = cubes_of(config_);
    std::size_t number = std::size_t{sip} * (1 + cubes);
    tla_paddr control{};
    tla_paddr_io_cpu_control(sip, 0, &control);
    add_processor(nodes.io(sip), control, number);
    for (unsigned cube = 0; cube < cubes; cube++) {
        tla_paddr_m_cpu_control(sip, cube, 0, &control);
        add_processor(nodes.router(sip, cube), control, ++number);
    }
}

void topology::add_processor(std::uint32_t node, tla_paddr control, std::size_t number) {
    initiator(node, [number](platform_parts &p) { p.processors[number]->out.bind(p.fabric.in); });
    target(node, control, TLA_CONTROL_BLOCK_BYTES, true,
           [number](platform_parts &p) { p.fabric.out.bind(p.processors[number]->control); });
}

void topology::add_pe(const pe_location &l, std::size_t number) {
    const fabric_nodes nodes(config_);
    const auto &f = config_.fabric;
    const std::uint32_t router = nodes.router(l.sip, l.cube), pe = nodes.pe(l), hbm = nodes.hbm(l);
    link(router, pe, f.pe_latency_ps, f.pe_bandwidth);
    link(router, hbm, f.hbm_latency_ps, f.hbm_bandwidth);
    initiator(pe, [number](platform_parts &p) { p.pes[number]->mmu.out.bind(p.fabric.in); });
    if (config_.mmu.walk == TLA_WALK_MEMORY)
        initiator(pe, [number](platform_parts &p) { p.pes[number]->mmu.walk.bind(p.fabric.in); });

    const auto data = [number](platform_parts &p) { p.fabric.out.bind(p.pes[number]->controller.in); };
    const std::uint64_t slice = config_.hbm.capacity;
    tla_paddr base{};
    tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, slice, &base);
    target(hbm, base, slice, false, data);
    tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &base);
    target(pe, base, config_.tcm.capacity, false, data);

    const auto control = [&](std::uint32_t node, tla_control_block block, binding bind) {
        tla_paddr_pe_control(l.sip, l.cube, l.pe, block, 0, &base);
        target(node, base, TLA_CONTROL_BLOCK_BYTES, true, std::move(bind));
    };
    control(hbm, TLA_CONTROL_MEMORY_CONTROLLER,
            [number](platform_parts &p) { p.fabric.out.bind(p.pes[number]->controller.control); });
    control(pe, TLA_CONTROL_PE_MMU, [number](platform_parts &p) { p.fabric.out.bind(p.pes[number]->mmu.control); });
    control(pe, TLA_CONTROL_PROCESSING_ELEMENT,
            [number](platform_parts &p) { p.fabric.out.bind(p.pes[number]->element.control); });
}

void topology::add_cube_memories() {
    const fabric_nodes nodes(config_);
    std::size_t number = 0;
    for (unsigned sip = 0; sip < config_.system.sips; sip++)
        for (unsigned cube = 0; cube < cubes_of(config_); cube++)
            for (const tla_channel channel : {TLA_SRAM, TLA_M_CPU_MEMORY}) {
                const std::uint32_t node = nodes.router(sip, cube);
                const tla_pe_memory_config memory = cube_controller_config(config_, sip, cube, channel).memory;
                tla_paddr base{};
                tla_pe_memory_address(&memory, channel, 0, &base);
                target(node, base, tla_pe_memory_bytes(&memory, channel), false,
                       [number](platform_parts &p) { p.fabric.out.bind(p.cube_memories[number]->controller.in); });
                tla_channel_control(channel, sip, cube, 0, 0, &base);
                target(node, base, TLA_CONTROL_BLOCK_BYTES, true,
                       [number](platform_parts &p) { p.fabric.out.bind(p.cube_memories[number]->controller.control); });
                number++;
            }
}

interconnect::config fabric_config(const tla_config &config) {
    return topology(config).settings();
}

} // namespace tlmalloc
