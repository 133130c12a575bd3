// Builds the platform from its modules, and binds them.
#include "tlmalloc/modules/npu.hpp"

#include "bindings.hpp"
#include "modules/pe/inland_transfers.hpp"
#include "npu_configs.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

std::string numbered(const char *name, unsigned number) {
    return name + std::to_string(number);
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

// Blocks that cannot be joined into one are no leak: buddies, slots, several ranges. The host sees of TCMs only
// those whose front it trims.
static bool has_many_free_blocks(const tla_config &c) {
    const tla_pe_memory_config &m = c.controller.memory;
    const auto is_many = [](tla_stack_policy p) {
        const tla_front front = tla_stack_front(p);
        return tla_stack_placement(p) == TLA_BUDDY || (front != TLA_FRONT_LAZY && tla_front_has_own_lists(front));
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
            if (config.host.delegates) {
                pe->mmu.fault.bind(*pe->controller.page_faults());
                pe->controller.host_faults.bind(host_->faults);
            } else {
                pe->mmu.fault.bind(host_->faults);
            }
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
