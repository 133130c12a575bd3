// Builds the platform from its modules: their configurations and their bindings.
#include "tlmalloc/modules/npu.hpp"

#include "bindings.hpp"
#include "modules/pe/inland_transfers.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

std::string numbered(const char *name, unsigned number) {
    return name + std::to_string(number);
}

// PEs are numbered in program order.
unsigned pe_number(const tla_config &c, const pe_location &where) {
    return (where.sip * cubes_of(c) + where.cube) * c.system.pes_per_cube + where.pe;
}

// Initiators in requester extensions: 0 the host, then the PEs, each with its DMA and its MMU.
std::uint32_t initiator_number(const tla_config &c, const pe_location &where) {
    return 1 + pe_number(c, where);
}

bool has_moves(const tla_config &c) {
    return c.controller.move.mode != TLA_MOVE_OFF;
}

// Leads the moves of a controller to its port at the VA manager.
void lead_moves(memory_controller::config &result, unsigned number) {
    tla_paddr port{};
    tla_paddr_va_manager_control((TLA_PORT_OF_MOVES + number) * std::uint64_t{TLA_PORT_BYTES}, &port);
    result.maps_port = port.value;
    result.maps_target = TLA_TARGET_VA_MANAGER;
}

unsigned pes_of(const tla_config &c) {
    return c.system.sips * cubes_of(c) * c.system.pes_per_cube;
}

pe_mmu::config mmu_config(const tla_config &c, const pe_location &where) {
    pe_mmu::config result(c.mmu);
    result.pauses = has_moves(c);
    result.allocator_port = TLA_PORT_OF_MMU;
    result.initiator = initiator_number(c, where);
    return result;
}

pe_dma::config dma_config(const tla_config &c, const pe_location &where) {
    pe_dma::config result(c.dma);
    result.initiator = initiator_number(c, where);
    return result;
}

processing_element::config element_config(const tla_config &c, const pe_location &where, const kernel_table &kernels) {
    processing_element::config result(c.pe);
    result.kernels = kernels.kernels;
    result.kernel_count = kernels.count;
    result.allocator_port = TLA_PORT_OF_PE;
    result.places[TL_PE] = {where.pe, c.system.pes_per_cube};
    result.places[TL_CUBE] = {where.cube, cubes_of(c)};
    result.places[TL_SIP] = {where.sip, c.system.sips};
    result.mesh_columns = c.system.cube_mesh_width;
    result.initiator = initiator_number(c, where);
    result.tcm_reserved = c.controller.memory.of[TLA_TCM].reserved;
    result.tells_freed = c.controller.guard == TLA_GUARD_REPORT;
    result.tcm_segmented = c.host.segment_fronts >> TLA_TCM & 1;
    return result;
}

pe_ipcq::config ipcq_config(const tla_config &c, const pe_location &where) {
    pe_ipcq::config result(c.messages);
    result.where = where;
    result.allocator_port = TLA_PORT_OF_MESSAGES;
    if (c.messages.memory == TLA_SLOTS_SRAM) result.allocator_port = TLA_PORT_OF_SRAM_SLOTS + where.pe;
    result.initiator = initiator_number(c, where);
    return result;
}

va_manager::config va_config(const tla_config &c) {
    va_manager::config result(c.va);
    result.route_target = TLA_TARGET_IO_CPU;
    if (has_moves(c)) result.ports = TLA_PORT_OF_MOVES + pes_of(c) + 2 * c.system.sips * cubes_of(c) + 1;
    for (unsigned sip = 0; sip < c.system.sips; sip++) {
        tla_paddr pa{};
        tla_paddr_io_cpu_control(sip, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, ~0u, ~0u}});
    }
    if (has_moves(c)) {
        tla_paddr pa{};
        tla_paddr_host_control(TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {~0u, ~0u, ~0u}, true});
    }
    return result;
}

command_processor::config processor_config(const tla_command_processor_parameters &parameters, unsigned sip,
                                           const kernel_table &kernels) {
    command_processor::config result(parameters);
    result.sip = sip;
    result.kernels = static_cast<std::uint32_t>(kernels.count);
    return result;
}

// The slices of a cube, or of all cubes of a SIP, whose blocks a processor places.
void own_slices(command_processor::config &result, const tla_config &c, unsigned sip, unsigned first, unsigned cubes) {
    const tla_pe_memory_config &memory = c.controller.memory;
    for (unsigned cube = first; cube < first + cubes; cube++)
        for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++) {
            tla_paddr port{}, base{};
            tla_memory_kind_control(TLA_HBM, sip, cube, pe, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &port);
            tla_pe_memory_config of_pe = memory;
            of_pe.sip = sip;
            of_pe.die = cube;
            of_pe.pe = pe;
            tla_pe_memory_address(&of_pe, TLA_HBM, 0, &base);
            result.slices.push_back({port.value, base, {TLA_LOCATION_PE, sip, cube, pe}});
        }
    result.list.bank_bytes = tla_pe_memory_capacity(&memory, TLA_HBM);
    result.list.alignment = memory.alignment;
    result.list.fill = memory.of[TLA_HBM].policy == TLA_FIRST_FIT_TOP ? TLA_TOP_DOWN : TLA_BOTTOM_UP;
    result.cost = c.controller.cost;
}

command_processor::config io_cpu_config(const tla_config &c, unsigned sip, const kernel_table &kernels) {
    auto result = processor_config(c.io_cpu, sip, kernels);
    result.kind = TLA_TARGET_IO_CPU;
    result.route_target = result.dispatch_target = TLA_TARGET_M_CPU;
    for (unsigned cube = 0; cube < cubes_of(c); cube++) {
        tla_paddr pa{};
        tla_paddr_m_cpu_control(sip, cube, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, 1u << cube, ~0u}});
        tla_paddr_m_cpu_control(sip, cube, 0, &pa);
        tla_pe_set pes{};
        pes.cubes[cube] = static_cast<std::uint16_t>((1u << c.system.pes_per_cube) - 1);
        result.dispatch_routes.push_back({pa.value, pes, 0, 0});
    }
    if (c.controller.lockstep == TLA_LOCKSTEP_SIP) own_slices(result, c, sip, 0, cubes_of(c));
    return result;
}

command_processor::config m_cpu_config(const tla_config &c, unsigned sip, unsigned cube, const kernel_table &kernels) {
    auto result = processor_config(c.m_cpu, sip, kernels);
    result.kind = TLA_TARGET_M_CPU;
    result.route_target = TLA_TARGET_PE_MMU;
    for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++) {
        tla_paddr pa{};
        tla_paddr_pe_control(sip, cube, pe, TLA_CONTROL_PE_MMU, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, 1u << cube, 1u << pe}});
        tla_paddr_pe_control(sip, cube, pe, TLA_CONTROL_PROCESSING_ELEMENT, 0, &pa);
        tla_pe_set one{};
        one.cubes[cube] = static_cast<std::uint16_t>(1u << pe);
        result.dispatch_routes.push_back({pa.value, one, 0, 0});
    }
    if (c.controller.lockstep == TLA_LOCKSTEP_CUBE) own_slices(result, c, sip, cube, 1);
    return result;
}

// Destroys the parts in reverse order: SystemC searches for a destroyed port from the end of its list of all ports.
template <typename Part>
void destroy_backwards(std::vector<std::unique_ptr<Part>> &parts) {
    while (!parts.empty())
        parts.pop_back();
}

// Containers that give the PEs their place in the hierarchy of names.
class cube_unit : public sc_core::sc_module {
  public:
    cube_unit(sc_core::sc_module_name name, const tla_config &config, unsigned sip, unsigned cube,
              const kernel_table &kernels, message_ledger &messages, std::vector<pe_unit *> &pes,
              std::vector<cube_memory *> &memories)
        : sc_module(name), sram_("sram", config, sip, cube, TLA_SRAM),
          m_cpu_("m_cpu", config, sip, cube, TLA_M_CPU_MEMORY) {
        memories.insert(memories.end(), {&sram_, &m_cpu_});
        for (unsigned pe = 0; pe < config.system.pes_per_cube; pe++) {
            const inland_site site(config);
            pes_.push_back(std::make_unique<pe_unit>(numbered("pe", pe).c_str(), config, pe_location{sip, cube, pe},
                                                     kernels, messages));
            pes.push_back(pes_.back().get());
        }
    }
    ~cube_unit() override { destroy_backwards(pes_); }

  private:
    cube_memory sram_, m_cpu_;
    std::vector<std::unique_ptr<pe_unit>> pes_;
};

class sip_unit : public sc_core::sc_module {
  public:
    sip_unit(sc_core::sc_module_name name, const tla_config &config, unsigned sip, const kernel_table &kernels,
             message_ledger &messages, std::vector<pe_unit *> &pes, std::vector<cube_memory *> &memories)
        : sc_module(name) {
        for (unsigned cube = 0; cube < cubes_of(config); cube++)
            cubes_.push_back(std::make_unique<cube_unit>(numbered("cube", cube).c_str(), config, sip, cube, kernels,
                                                         messages, pes, memories));
    }
    ~sip_unit() override { destroy_backwards(cubes_); }

  private:
    std::vector<std::unique_ptr<cube_unit>> cubes_;
};

} // namespace

// Returns the part of the fault plan for a PE.
static tla_fault_injection faults_of(const tla_config &c, const pe_location &where) {
    return tla_fault_injection_for(&c.faults.plan, pe_number(c, where));
}

hbm_slice::config slice_config(const tla_config &c, const pe_location &where) {
    hbm_slice::config result(c.hbm);
    if (c.hbm_timing.has_profile) result.timing = c.hbm_timing.profile;
    result.faults = faults_of(c, where);
    return result;
}

tcm::config tcm_config(const tla_config &c) {
    return tcm::config(c.tcm);
}

memory_controller::config controller_config(const tla_config &c, const pe_location &where) {
    memory_controller::config result(c.controller);
    result.memory.sip = where.sip;
    result.memory.die = where.cube;
    result.memory.pe = where.pe;
    result.faults = faults_of(c, where);
    if (c.controller.lockstep != TLA_LOCKSTEP_OFF) result.owner_port = TLA_PORT_OF_ABOVE;
    lead_moves(result, pe_number(c, where));
    return result;
}

tcm::config cube_memory_config(const tla_config &c, tla_memory_kind kind) {
    tcm::config result(kind == TLA_SRAM ? c.sram : c.m_cpu_memory);
    result.kind = kind == TLA_SRAM ? "sram" : "m_cpu_memory";
    return result;
}

memory_controller::config cube_controller_config(const tla_config &c, unsigned sip, unsigned cube,
                                                 tla_memory_kind kind) {
    memory_controller::config result(c.controller);
    tla_pe_memory_config &memory = result.memory;
    memory.sip = sip;
    memory.die = cube;
    memory.pe = 0;
    memory.layout = TLA_LAYOUT_KERNBENCH; // the bases are of the memories of a PE
    memory.of[TLA_HBM].bytes = memory.of[TLA_TCM].bytes = memory.of[TLA_TCM].reserved = 0;
    if (kind == TLA_SRAM)
        memory.of[TLA_SRAM].bytes = c.sram.capacity;
    else
        memory.of[TLA_M_CPU_MEMORY].bytes = c.m_cpu_memory.capacity;
    if (kind == TLA_SRAM && c.messages.memory == TLA_SLOTS_SRAM)
        result.ports = std::max<std::uint32_t>(result.ports, TLA_PORT_OF_SRAM_SLOTS + c.system.pes_per_cube);
    lead_moves(result, pes_of(c) + 2 * (sip * cubes_of(c) + cube) + (kind == TLA_M_CPU_MEMORY));
    return result;
}

hbm_slice::config host_memory_config(const tla_config &c) {
    hbm_slice::config result(c.host_memory);
    result.kind = "host_memory";
    return result;
}

memory_controller::config host_controller_config(const tla_config &c) {
    memory_controller::config result(c.controller);
    tla_pe_memory_config &memory = result.memory;
    memory.sip = memory.die = memory.pe = 0;
    memory.layout = TLA_LAYOUT_KERNBENCH;
    memory.of[TLA_HBM].bytes = memory.of[TLA_TCM].bytes = memory.of[TLA_TCM].reserved = 0;
    memory.of[TLA_HOST_MEMORY].bytes = c.host_memory.capacity;
    lead_moves(result, pes_of(c) + 2 * c.system.sips * cubes_of(c));
    return result;
}

static host::config host_config(const tla_config &c) {
    host::config result(c.host);
    result.pes = locations(c);
    result.control_port = TLA_PORT_OF_HOST;
    result.fault_port = TLA_PORT_OF_FAULTS;
    result.launch_port = TLA_PORT_OF_LAUNCHES;
    return result;
}

pe_unit::pe_unit(sc_core::sc_module_name name, const tla_config &config, const pe_location &location,
                 const kernel_table &kernels, message_ledger &messages)
    : sc_module(name), where(location), island(time_queue::island_being_built()),
      slice("slice", slice_config(config, location)), tcm("tcm", tcm_config(config)),
      controller("controller", controller_config(config, location)), mmu("mmu", mmu_config(config, location)),
      dma("dma", dma_config(config, location)), element("element", element_config(config, location, kernels), dma),
      ipcq("ipcq", ipcq_config(config, location), dma, messages) {
    controller.slice.bind(slice.in);
    controller.tcm.bind(tcm.in);
    dma.out.bind(mmu.in);
    dma.local.bind(controller.in);
    element.local.bind(controller.in);
    element.allocator.bind(controller.control);
    if (config.mmu.walk == TLA_WALK_MEMORY) mmu.allocator.bind(controller.control);
    ipcq.local.bind(controller.in);
    ipcq.allocator.bind(controller.control);
    element.send_by(ipcq);
}

cube_memory::cube_memory(sc_core::sc_module_name name, const tla_config &config, unsigned of_sip, unsigned of_cube,
                         tla_memory_kind which)
    : sc_module(name), sip(of_sip), cube(of_cube), kind(which), memory("memory", cube_memory_config(config, which)),
      controller("controller", cube_controller_config(config, of_sip, of_cube, which)) {
    (which == TLA_SRAM ? controller.sram : controller.m_cpu_memory).bind(memory.in);
}

host_memory::host_memory(sc_core::sc_module_name name, const tla_config &config)
    : sc_module(name), memory("memory", host_memory_config(config)),
      controller("controller", host_controller_config(config)) {
    controller.host_memory.bind(memory.in);
}

// Blocks that cannot be joined into one are no leak: buddies, slots, regions of two kinds. The host sees of TCMs only
// those whose front it trims.
static bool has_many_free_blocks(const tla_config &c) {
    const tla_pe_memory_config &m = c.controller.memory;
    const auto is_many = [](tla_stack_policy p) {
        const tla_front front = tla_stack_front(p);
        return tla_stack_placement(p) == TLA_BUDDY || front == TLA_FRONT_SLOT_POOL || front == TLA_FRONT_MIXED;
    };
    for (const tla_memory_part &part : m.of)
        if (&part != &m.of[TLA_TCM] && is_many(part.policy)) return true;
    const tla_stack_policy of_tcm = m.of[TLA_TCM].policy;
    return tla_stack_front(of_tcm) != TLA_FRONT_NONE && is_many(of_tcm);
}

npu::npu(sc_core::sc_module_name name, const tla_config &config, const kernel_table &kernels)
    : sc_module(name), many_free_blocks_(has_many_free_blocks(config)) {
    time_queue::of_simulation().allow_quantum(config.simulation.quantum_ps);
    for (unsigned sip = 0; sip < config.system.sips; sip++)
        sips_.push_back(std::make_unique<sip_unit>(numbered("sip", sip).c_str(), config, sip, kernels, messages_, pes_,
                                                   cube_memories_));
    if (config.host_memory.capacity > 0) host_memory_ = std::make_unique<tlmalloc::host_memory>("host_memory", config);
    va_manager_ = std::make_unique<va_manager>("va_manager", va_config(config));
    for (unsigned sip = 0; sip < config.system.sips; sip++) {
        const std::string prefix = numbered("sip", sip);
        processors_.push_back(
            std::make_unique<command_processor>((prefix + "_io_cpu").c_str(), io_cpu_config(config, sip, kernels)));
        for (unsigned cube = 0; cube < cubes_of(config); cube++)
            processors_.push_back(std::make_unique<command_processor>(
                (prefix + "_" + numbered("cube", cube) + "_m_cpu").c_str(), m_cpu_config(config, sip, cube, kernels)));
    }
    for (unsigned sip = 0; sip < config.system.sips; sip++) {
        end_point::config settings;
        settings.asid = config.workload.asid;
        end_points_.push_back(std::make_unique<end_point>((numbered("sip", sip) + "_pcie_ep").c_str(), settings));
    }
    host_ = std::make_unique<tlmalloc::host>("host", host_config(config));
    host_->expect_many_free_blocks(many_free_blocks_);
    bindings rows(config);
    graph_ = rows.take_graph();
    fabric_ = std::make_unique<interconnect>("fabric", rows.settings());
    host_->va.bind(va_manager_->control);
    platform_modules parts{*fabric_,    *host_, *va_manager_,   processors_,
                           end_points_, pes_,   cube_memories_, host_memory_.get()};
    rows.bind(parts);
    tell_inland_transfers(config, *fabric_, pes_);
    tell_ways(config);
    if (config.mmu.unmapped == TLA_UNMAPPED_DEMAND)
        for (pe_unit *pe : pes_) { // in the order of host_config.pes
            pe->mmu.fault.bind(host_->faults);
            pe->element.why_no_page = [this, pe](std::uint64_t begin, std::uint64_t end) {
                return host_->why_no_page(pe->where, begin, end);
            };
        }

    modules_ = {va_manager_.get()};
    if (host_->driver()) modules_.push_back(host_->driver());
    for (const auto &processor : processors_)
        modules_.push_back(processor.get());
    for (pe_unit *pe : pes_)
        modules_.insert(modules_.end(),
                        {&pe->controller, &pe->slice, &pe->tcm, &pe->mmu, &pe->dma, &pe->element, &pe->ipcq});
    for (cube_memory *m : cube_memories_)
        modules_.insert(modules_.end(), {&m->controller, &m->memory});
    if (host_memory_) modules_.insert(modules_.end(), {&host_memory_->controller, &host_memory_->memory});
    modules_.push_back(fabric_.get());
    name_parts();
    look_ahead(from_ps(config.simulation.look_ahead_ps));
}

// For foreign initiators that are bound to the platform's modules.
void npu::look_ahead(const sc_core::sc_time &at_most) {
    fabric_->in.look_ahead(at_most);
    for (pe_unit *pe : pes_) {
        pe->controller.in.look_ahead(at_most);
        pe->slice.in.look_ahead(at_most);
        pe->tcm.in.look_ahead(at_most);
        pe->mmu.in.look_ahead(at_most);
    }
    for (cube_memory *m : cube_memories_) {
        m->controller.in.look_ahead(at_most);
        m->memory.in.look_ahead(at_most);
    }
    if (!host_memory_) return;
    host_memory_->controller.in.look_ahead(at_most);
    host_memory_->memory.in.look_ahead(at_most);
}

void npu::name_parts() {
    reset_with(*host_);
    reset_with(*va_manager_);
    for (const auto &processor : processors_)
        reset_with(*processor);
    for (const auto &end : end_points_)
        reset_with(*end);
    for (pe_unit *pe : pes_)
        for (resettable *part : std::initializer_list<resettable *>{&pe->ipcq, &pe->element, &pe->dma, &pe->mmu,
                                                                    &pe->controller, &pe->slice, &pe->tcm})
            reset_with(*part);
    for (cube_memory *m : cube_memories_) {
        reset_with(m->controller);
        reset_with(m->memory);
    }
    if (host_memory_) {
        reset_with(host_memory_->controller);
        reset_with(host_memory_->memory);
    }
    reset_with(*fabric_);
}

void npu::make_new() {
    messages_.forget_launches();
    host_->expect_many_free_blocks(many_free_blocks_);
}

// Catches up while the modules exist: later observers would let them catch up, too.
npu::~npu() {
    time_queue::catch_up_all();
    fabric_.reset();
    host_.reset();
    va_manager_.reset();
    destroy_backwards(end_points_);
    destroy_backwards(processors_);
    host_memory_.reset();
    destroy_backwards(sips_);
}

// Sets the times of launches: from every M_CPU to its PEs, from every IO_CPU to the farthest PE of each of its M_CPUs,
// and from the host to the farthest PE of each IO_CPU, with the overheads on the path.
void npu::tell_ways(const tla_config &config) {
    const std::uint32_t bytes = TLA_LAUNCH_MAX_BYTES;
    const std::uint64_t spacing = fabric_->spacing_ps(bytes);
    std::size_t number = 0;
    for (unsigned sip = 0; sip < config.system.sips; sip++) {
        command_processor &io_cpu = *processors_[number++];
        tla_paddr pa{};
        tla_paddr_io_cpu_control(sip, 0, &pa);
        const std::uint32_t io_node = fabric_->node_of_target(pa.value);
        tla_pe_set in_sip{};
        for (unsigned cube = 0; cube < cubes_of(config); cube++) {
            command_processor &m_cpu = *processors_[number++];
            tla_paddr_m_cpu_control(sip, cube, 0, &pa);
            const std::uint32_t m_node = fabric_->node_of_target(pa.value);
            tla_pe_set in_cube{};
            for (unsigned pe = 0; pe < config.system.pes_per_cube; pe++) {
                tla_paddr_pe_control(sip, cube, pe, TLA_CONTROL_PROCESSING_ELEMENT, 0, &pa);
                const std::uint64_t way = fabric_->way_ps(m_node, fabric_->node_of_target(pa.value), bytes);
                m_cpu.expect_way(pe, way + config.pe.launch_ps, spacing);
                in_cube.cubes[cube] |= static_cast<std::uint16_t>(1u << pe);
            }
            in_sip.cubes[cube] = in_cube.cubes[cube];
            const std::uint64_t below = config.m_cpu.overhead_ps + m_cpu.way_ps(in_cube);
            io_cpu.expect_way(cube, fabric_->way_ps(io_node, m_node, bytes) + below, spacing);
        }
        const std::uint64_t below = config.io_cpu.overhead_ps + io_cpu.way_ps(in_sip);
        host_->expect_way(sip, fabric_->way_ps(fabric_->node_of_source(0), io_node, bytes) + below);
    }
}

tla_status npu::age(const std::string &snapshot, tla_error *error) {
    host_->expect_many_free_blocks();
    for (pe_unit *pe : pes_)
        if (const tla_status status = pe->controller.restore(TLA_HBM, snapshot, error)) return status;
    return TLA_OK;
}

va_manager::statistics npu::mapping_statistics() const {
    va_manager::statistics result = va_manager_->get_statistics();
    for (const auto &processor : processors_)
        result.not_restored += processor->get_statistics().not_restored;
    return result;
}

std::vector<std::string> npu::leaked() const {
    std::vector<std::string> all;
    const auto add = [&all](const std::string &where, const char *what, std::uint64_t nbytes) {
        all.push_back(where + ": " + what + ", " + std::to_string(nbytes) + " bytes");
    };
    const auto look_at = [&add](const memory_controller &controller, tla_memory_kind kind) {
        if (!controller.is_as_at_the_beginning(kind))
            add(controller.name(), tla_memory_kind_title(kind), controller.get_statistics(kind).arena.used);
    };
    for (const tensor &t : host_->tensors())
        add("tensor " + t.name, "not freed", t.nbytes);
    for (const pe_unit *pe : pes_) {
        for (tla_memory_kind kind : {TLA_HBM, TLA_TCM})
            look_at(pe->controller, kind);
        if (const std::uint64_t mapped = pe->mmu.get_statistics().table.mapped_bytes)
            add(pe->mmu.name(), "mapped", mapped);
    }
    for (const cube_memory *m : cube_memories_)
        look_at(m->controller, m->kind);
    if (host_memory_) look_at(host_memory_->controller, TLA_HOST_MEMORY);
    const tla_arena_stats space = va_manager_->get_statistics().space;
    if (space.used != 0 || space.free_blocks != 1) add(va_manager_->name(), "virtual addresses", space.used);
    return all;
}

std::uint64_t npu::leaks() const {
    return leaked().size();
}

std::uint64_t npu::transfer_latency_ps() const {
    std::uint64_t sum = host_->transfer_latency_ps();
    for (const pe_unit *pe : pes_)
        sum += pe->dma.get_statistics().latency_ps;
    return sum;
}

void npu::record(waveform &wave) {
    for (instrumented *module : modules_)
        module->record(wave);
}

void npu::trace(sc_core::sc_trace_file *file) const {
    for (const instrumented *module : modules_)
        module->trace(file);
}

} // namespace tlmalloc
