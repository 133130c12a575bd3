// The platform out of its modules: what a configuration means for each, and how they are bound.
#include "tlmalloc/modules/npu.hpp"

#include "topology.hpp"

#include <algorithm>
#include <array>

namespace tlmalloc {

namespace {

std::string numbered(const char *name, unsigned number) {
    return name + std::to_string(number);
}

unsigned as_unsigned(std::uint64_t value) {
    return static_cast<unsigned>(value);
}

time_style style_of(const tla_config &c) {
    return c.simulation.style == TLA_TIME_EXACT ? time_style::exact : time_style::fast;
}

// The page sizes above `smallest` that the configuration has, ascending.
std::array<std::uint64_t, TLA_PAGE_SIZES_MAX - 1> larger_pages(const tla_config &c, std::uint64_t smallest) {
    std::array<std::uint64_t, TLA_PAGE_SIZES_MAX - 1> sizes{};
    std::size_t count = 0;
    const std::pair<std::uint64_t, unsigned> all[] = {
        {c.mmu.pages_64k, 16}, {c.mmu.pages_2m, 21}, {c.mmu.pages_1g, 30}};
    for (const auto &[wanted, bits] : all)
        if (wanted && std::uint64_t{1} << bits > smallest) sizes[count++] = std::uint64_t{1} << bits;
    return sizes;
}

retry_policy retries_of(const tla_config &c) {
    return {as_unsigned(c.host.retries), c.host.retry_delay};
}

// PEs are numbered in program order.
unsigned pe_number(const tla_config &c, const pe_location &where) {
    const std::uint64_t cube = where.sip * c.system.cube_mesh_width * c.system.cube_mesh_height + where.cube;
    return as_unsigned(cube * c.system.pes_per_cube + where.pe);
}

// Initiators in requester extensions: 0 the host, then the PEs, each with its DMA and its MMU.
std::uint32_t initiator_number(const tla_config &c, const pe_location &where) {
    return 1 + pe_number(c, where);
}

pe_mmu::config mmu_config(const tla_config &c, const pe_location &where) {
    pe_mmu::config result;
    result.page_size = c.mmu.page_size;
    result.overhead_ps = c.mmu.overhead;
    result.unmapped = static_cast<tla_unmapped>(c.mmu.unmapped);
    result.allow_remap = c.mmu.allow_remap != 0;
    result.larger_page_sizes = larger_pages(c, c.mmu.page_size);
    result.va_bits = as_unsigned(c.mmu.va_bits);
    result.asids = as_unsigned(c.mmu.asids);
    result.walk = static_cast<tla_walk_mode>(c.mmu.walk);
    for (const tla_tlb_keys *keys : {&c.mmu.tlb_l1, &c.mmu.tlb_l2}) {
        if (keys->entries == 0) continue;
        tla_tlb_level_config &level = result.tlb.level[result.tlb.levels++];
        level.entries = as_unsigned(keys->entries);
        level.ways = as_unsigned(keys->ways);
        level.latency_ps = keys->latency;
        level.replacement = static_cast<tla_replacement>(keys->replacement);
    }
    result.tlb.seed = c.mmu.tlb_seed;
    const auto &w = c.mmu.walkers;
    result.walkers = {as_unsigned(w.count),  as_unsigned(w.merge_slots), as_unsigned(w.cache_entries),
                      w.path_registers != 0, w.hit_under_miss != 0,      w.level_latency};
    result.allocator_port = TLA_PORT_OF_MMU;
    result.initiator = initiator_number(c, where);
    result.retry = retries_of(c);
    result.cost = c.mmu.cost;
    result.ports = as_unsigned(c.mmu.ports);
    result.queue_depth = as_unsigned(c.mmu.queue_depth);
    result.style = style_of(c);
    return result;
}

pe_dma::config dma_config(const tla_config &c, const pe_location &where) {
    pe_dma::config result{as_unsigned(c.dma.chunk),           c.dma.bandwidth,
                          as_unsigned(c.dma.outstanding),     c.simulation.quantum,
                          as_unsigned(c.workload.asid),       initiator_number(c, where),
                          c.controller.guard != TLA_GUARD_OFF};
    result.style = style_of(c);
    return result;
}

processing_element::config element_config(const tla_config &c, const pe_location &where, const kernel_table &kernels) {
    processing_element::config result;
    result.style = style_of(c);
    result.kernels = kernels.kernels;
    result.kernel_count = kernels.count;
    result.launch_ps = c.pe.launch;
    result.dispatch_ps = c.pe.dispatch;
    result.gemm_rate = c.pe.gemm_rate;
    result.vector_rate = c.pe.vector_rate;
    result.quantum_ps = c.simulation.quantum;
    result.allocator_port = TLA_PORT_OF_PE;
    result.asid = as_unsigned(c.workload.asid);
    result.initiator = initiator_number(c, where);
    result.retry = retries_of(c);
    return result;
}

va_manager::config va_config(const tla_config &c) {
    va_manager::config result;
    result.style = style_of(c);
    result.space = {{c.va.base}, c.va.size, c.va.page_size, {}};
    const auto larger = larger_pages(c, c.va.page_size);
    std::copy(larger.begin(), larger.end(), result.space.larger_page_sizes);
    result.cost = c.va.cost;
    result.map_ack = static_cast<tla_map_ack>(c.va.map_ack);
    result.route_target = TLA_TARGET_IO_CPU;
    for (unsigned sip = 0; sip < c.system.sips; sip++) {
        tla_paddr pa{};
        tla_paddr_io_cpu_control(sip, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, ~0u, ~0u}});
    }
    return result;
}

command_processor::config io_cpu_config(const tla_config &c, unsigned sip) {
    command_processor::config result;
    result.style = style_of(c);
    result.kind = TLA_TARGET_IO_CPU;
    result.route_target = TLA_TARGET_M_CPU;
    result.overhead_ps = c.command_processor.io_cpu_overhead;
    for (unsigned cube = 0; cube < cubes_of(c); cube++) {
        tla_paddr pa{};
        tla_paddr_m_cpu_control(sip, cube, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, 1u << cube, ~0u}});
    }
    return result;
}

command_processor::config m_cpu_config(const tla_config &c, unsigned sip, unsigned cube) {
    command_processor::config result;
    result.style = style_of(c);
    result.kind = TLA_TARGET_M_CPU;
    result.route_target = TLA_TARGET_PE_MMU;
    result.overhead_ps = c.command_processor.m_cpu_overhead;
    for (unsigned pe = 0; pe < c.system.pes_per_cube; pe++) {
        tla_paddr pa{};
        tla_paddr_pe_control(sip, cube, pe, TLA_CONTROL_PE_MMU, TLA_PORT_OF_ABOVE * std::uint64_t{TLA_PORT_BYTES}, &pa);
        result.routes.push_back({pa.value, {1u << sip, 1u << cube, 1u << pe}});
    }
    return result;
}

// Containers that give the PEs their place in the hierarchy of names.
class cube_unit : public sc_core::sc_module {
  public:
    cube_unit(sc_core::sc_module_name name, const tla_config &config, unsigned sip, unsigned cube,
              const kernel_table &kernels, std::vector<pe_unit *> &pes)
        : sc_module(name) {
        for (unsigned pe = 0; pe < config.system.pes_per_cube; pe++) {
            pes_.push_back(
                std::make_unique<pe_unit>(numbered("pe", pe).c_str(), config, pe_location{sip, cube, pe}, kernels));
            pes.push_back(pes_.back().get());
        }
    }

  private:
    std::vector<std::unique_ptr<pe_unit>> pes_;
};

class sip_unit : public sc_core::sc_module {
  public:
    sip_unit(sc_core::sc_module_name name, const tla_config &config, unsigned sip, const kernel_table &kernels,
             std::vector<pe_unit *> &pes)
        : sc_module(name) {
        const std::uint64_t cubes = config.system.cube_mesh_width * config.system.cube_mesh_height;
        for (unsigned cube = 0; cube < cubes; cube++)
            cubes_.push_back(
                std::make_unique<cube_unit>(numbered("cube", cube).c_str(), config, sip, cube, kernels, pes));
    }

  private:
    std::vector<std::unique_ptr<cube_unit>> cubes_;
};

} // namespace

// What the fault plan has for a PE.
static tla_fault_plan faults_of(const tla_config &c, const pe_location &where) {
    tla_fault_plan plan{};
    tla_fault_plan_parse(c.faults.plan, &plan, nullptr); // was checked with the configuration
    plan.seed = c.faults.seed;
    return tla_fault_plan_for(&plan, pe_number(c, where));
}

hbm_slice::config slice_config(const tla_config &c, const pe_location &where) {
    hbm_slice::config result;
    result.capacity = c.hbm.capacity_per_cube / c.system.pes_per_cube;
    result.pseudo_channels = as_unsigned(c.hbm.pseudo_channels);
    result.burst = as_unsigned(c.hbm.burst);
    result.pseudo_channel_bandwidth = c.hbm.pseudo_channel_bandwidth;
    result.direction_switch_ps = c.hbm.direction_switch;
    result.latency_ps = c.hbm.controller_latency;
    if (c.hbm.has_profile) result.timing = c.hbm.profile;
    result.faults = faults_of(c, where);
    result.ecc_latency_ps = c.faults.ecc_latency;
    result.style = style_of(c);
    return result;
}

tcm::config tcm_config(const tla_config &c) {
    tcm::config result{c.tcm.capacity, c.tcm.read_bandwidth, c.tcm.write_bandwidth, c.tcm.latency};
    result.style = style_of(c);
    return result;
}

memory_controller::config controller_config(const tla_config &c, const pe_location &where) {
    memory_controller::config result;
    result.memory.sip = where.sip;
    result.memory.die = where.cube;
    result.memory.pe = where.pe;
    result.memory.hbm_slice_bytes = c.hbm.capacity_per_cube / c.system.pes_per_cube;
    result.memory.tcm_bytes = c.tcm.capacity;
    result.memory.tcm_reserved_bytes = c.tcm.scheduler_reserve;
    result.memory.hbm_policy = static_cast<tla_policy>(c.controller.hbm_policy);
    result.memory.tcm_policy = static_cast<tla_policy>(c.controller.tcm_policy);
    result.memory.alignment = c.controller.alignment;
    result.memory.validate = c.controller.validate != 0;
    result.faults = faults_of(c, where);
    result.free_list = static_cast<tla_free_list_place>(c.controller.free_list);
    result.node_latency_ps = c.controller.node_latency;
    result.list_reserve = c.controller.list_reserve;
    result.node_cache = c.controller.node_cache;
    result.guard = static_cast<tla_guard_mode>(c.controller.guard);
    result.guard_history = c.controller.guard_history;
    result.poison = c.controller.poison != 0;
    result.cost = c.controller.cost;
    result.ports = as_unsigned(c.controller.ports);
    result.queue_depth = as_unsigned(c.controller.queue_depth);
    result.style = style_of(c);
    return result;
}

pe_unit::pe_unit(sc_core::sc_module_name name, const tla_config &config, const pe_location &location,
                 const kernel_table &kernels)
    : sc_module(name), where(location), slice("slice", slice_config(config, location)), tcm("tcm", tcm_config(config)),
      controller("controller", controller_config(config, location)), mmu("mmu", mmu_config(config, location)),
      dma("dma", dma_config(config, location)), element("element", element_config(config, location, kernels), dma) {
    controller.slice.bind(slice.in);
    controller.tcm.bind(tcm.in);
    dma.out.bind(mmu.in);
    dma.local.bind(controller.in);
    element.local.bind(controller.in);
    element.allocator.bind(controller.control);
    if (config.mmu.walk == TLA_WALK_MEMORY) mmu.allocator.bind(controller.control);
}

npu::npu(sc_core::sc_module_name name, const tla_config &config, const kernel_table &kernels) : sc_module(name) {
    time_queue::of_simulation().allow_look_ahead(config.simulation.quantum);
    for (unsigned sip = 0; sip < config.system.sips; sip++)
        sips_.push_back(std::make_unique<sip_unit>(numbered("sip", sip).c_str(), config, sip, kernels, pes_));
    va_manager_ = std::make_unique<va_manager>("va_manager", va_config(config));
    host::config host_config;
    host_config.style = style_of(config);
    host_config.pes = locations(config);
    host_config.dma_chunk = as_unsigned(config.host.dma_chunk);
    host_config.control_port = TLA_PORT_OF_HOST;
    host_config.fault_port = TLA_PORT_OF_FAULTS;
    host_config.asid = as_unsigned(config.workload.asid);
    host_config.page_size = config.va.page_size;
    host_config.fault_latency_ps = config.mmu.fault_latency;
    host_config.retry = retries_of(config);
    host_config.tcm_reserved = config.tcm.scheduler_reserve;
    if (config.controller.free_list == TLA_LIST_HBM) host_config.hbm_reserved = config.controller.list_reserve;
    for (unsigned sip = 0; sip < config.system.sips; sip++) {
        const std::string prefix = numbered("sip", sip);
        processors_.push_back(
            std::make_unique<command_processor>((prefix + "_io_cpu").c_str(), io_cpu_config(config, sip)));
        for (unsigned cube = 0; cube < cubes_of(config); cube++)
            processors_.push_back(std::make_unique<command_processor>(
                (prefix + "_" + numbered("cube", cube) + "_m_cpu").c_str(), m_cpu_config(config, sip, cube)));
    }
    host_ = std::make_unique<tlmalloc::host>("host", host_config);
    if (config.controller.hbm_policy == TLA_BUDDY) host_->expect_many_free_blocks();
    const topology rows(config);
    fabric_ = std::make_unique<interconnect>("fabric", rows.settings());
    host_->va.bind(va_manager_->control);
    platform_parts parts{*fabric_, *host_, *va_manager_, processors_, pes_};
    rows.bind(parts);
    if (config.mmu.unmapped == TLA_UNMAPPED_DEMAND)
        for (pe_unit *pe : pes_) // in the order of host_config.pes
            pe->mmu.fault.bind(host_->faults);

    modules_ = {va_manager_.get()};
    for (const auto &processor : processors_)
        modules_.push_back(processor.get());
    for (pe_unit *pe : pes_)
        modules_.insert(modules_.end(), {&pe->controller, &pe->slice, &pe->tcm, &pe->mmu, &pe->dma, &pe->element});
    modules_.push_back(fabric_.get());
}

npu::~npu() = default;

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

std::uint64_t npu::leaks() const {
    std::uint64_t count = host_->tensors().size();
    for (const pe_unit *pe : pes_) {
        for (tla_channel channel : {TLA_HBM, TLA_TCM})
            count += !pe->controller.is_as_at_the_beginning(channel);
        count += pe->mmu.get_statistics().table.mapped_bytes != 0;
    }
    const tla_arena_stats space = va_manager_->get_statistics().space;
    return count + (space.used != 0 || space.free_blocks != 1);
}

tla_order npu::order() const {
    tla_order sum = fabric_->order();
    for (const pe_unit *pe : pes_)
        for (const tla_order &part :
             {pe->slice.get_statistics().order, pe->tcm.get_statistics().order, pe->dma.get_statistics().order})
            tla_order_add(&sum, &part);
    return sum;
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
