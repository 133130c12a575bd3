// The configurations of a platform's modules, from the keys.
#include "npu_configs.hpp"

#include "bindings.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

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

// Returns the part of the fault plan for a PE.
tla_fault_injection faults_of(const tla_config &c, const pe_location &where) {
    return tla_fault_injection_for(&c.faults.plan, pe_number(c, where));
}

} // namespace

pe_mmu::config mmu_config(const tla_config &c, const pe_location &where) {
    pe_mmu::config result(c.mmu);
    result.slice_bytes = c.system.hbm_per_cube / c.system.pes_per_cube;
    if (c.host.eviction != TLA_EVICTION_OFF) result.evicted_page = c.host.page_size;
    result.pauses = has_moves(c) || result.evicted_page > 0;
    result.allocator_port = TLA_PORT_OF_MMU;
    result.initiator = initiator_number(c, where);
    return result;
}

pe_dma::config dma_config(const tla_config &c, const pe_location &where) {
    pe_dma::config result(c.dma);
    result.initiator = initiator_number(c, where);
    result.overlaps = c.links.transport == TLA_TRANSPORT_ONCE;
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
    if (c.mmu.overhead_at == TLA_OVERHEAD_AT_CALL) result.translation_ps = c.mmu.overhead_ps;
    result.tcm_reserved = c.controller.memory.of[TLA_TCM].reserved;
    result.tells_freed = c.controller.guard == TLA_GUARD_REPORT;
    result.tcm_segmented = c.host.segment_fronts >> TLA_TCM & 1;
    result.tcm_divided = c.host.parts >> TLA_TCM & 1;
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
    if (has_moves(c) || c.host.delegates)
        result.ports = TLA_PORT_OF_MOVES + pes_of(c) + 2 * c.system.sips * cubes_of(c) + 1;
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

hbm_slice::config slice_config(const tla_config &c, const pe_location &where) {
    hbm_slice::config result(c.hbm);
    if (c.hbm_timing.has_profile) result.timing = c.hbm_timing.profile;
    if (c.hbm_energy.has_profile) result.energy = c.hbm_energy.profile;
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
    if (c.host.delegates) {
        result.fault_page_size = c.host.page_size;
        result.fault_pool = c.mmu.fault_pool;
        result.fault_port = TLA_PORT_OF_PAGES;
    }
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
    if (c.host_memory_timing.has_profile) result.timing = c.host_memory_timing.profile;
    if (result.timing && result.timing->model == TLA_HBM_BANKS) result.latency_ps = 0; // banks have it
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

host::config host_config(const tla_config &c) {
    host::config result(c.host);
    result.pes = locations(c);
    result.control_port = TLA_PORT_OF_HOST;
    result.fault_port = TLA_PORT_OF_FAULTS;
    result.launch_port = TLA_PORT_OF_LAUNCHES;
    return result;
}

} // namespace tlmalloc
