/* Every key of a platform: unit, range, default, source of the default, meaning, and the member that it fills. No other
 * file states a default. In a section plain keys stand before sub-sections. */
#define ROW_STRUCT tla_config
#include "firmware_rows.h"
#include "front_rows.h"
#include "move_rows.h"
#include "object_rows.h"
#include "platform.h"
#include "platform_words.h"

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/kernel/message_queue.h"

#define VA_MAX (UINT64_C(1) << 56)

#define CHOICE "tlmalloc's choice"
#define CHOICE_ENGINE "tlmalloc's choice: a hardware free-list engine at 1 GHz"
#define LIST_IN_RTL "cycles of model/rtl/first_fit.sv at 1 GHz"

/* A price of work.h: the key is that of the member without its _ps. */
#define COST(section, event, default_price, source, meaning)                                                           \
    { TIME(section.cost.event, section.cost.event##_ps, S), source, default_price, meaning }

const tla_schema_key tla_platform_keys[] = {
    {COUNT(system.sips, system.sips, 1, TLA_SIP_COUNT), "tlmalloc's choice: the smallest platform; KernBench has 2",
     "1", "number of SIPs (packages)"},
    {COUNT(system.cube_mesh_width, system.cube_mesh_width, 1, TLA_CUBE_DIE_COUNT), "tlmalloc's choice; KernBench has 4",
     "1", "cubes in a row of a SIP; width * height is at most 16"},
    {COUNT(system.cube_mesh_height, system.cube_mesh_height, 1, TLA_CUBE_DIE_COUNT),
     "tlmalloc's choice; KernBench has 4", "1", "rows of cubes in a SIP"},
    {COUNT(system.pes_per_cube, system.pes_per_cube, 1, TLA_PE_COUNT), "tlmalloc's choice; KernBench has 8", "4",
     "PEs (processing elements) in a cube"},
    {NAMED(system.sip_topology, topology.sip_topology, tla_sip_topology), "KernBench builder: fabric.switch0", "switch",
     "links between the PCIe end points of SIPs: through a switch, in a ring, in a grid with joined ends (torus), or "
     "in a grid (mesh)"},
    {COUNT(system.sip_grid_width, topology.sip_grid_width, 0, TLA_SIP_COUNT), "KernBench ADR-0032: else square", "0",
     "torus and mesh: SIPs in a row; 0: as square as possible"},
    {TEXT(system.topology_file, system.topology_file, NAME_OF_FILE), CHOICE, "none",
     "file, relative to this one, that lists all nodes and links. It replaces the shape: the two keys above, cube, "
     "io_chiplet and links have no effect then, except links.transport, links.flit and links.wire"},
    {TEXT(system.energy, parts_energy.name, ENERGY_PROFILE), CHOICE, "none",
     "energy profile of all parts but the slices (hbm.energy): memories, links, MMUs and allocators. none: no energy "
     "is "
     "computed. Otherwise published, or a file relative to this one"},

    {SIZE(hbm.capacity_per_cube, system.hbm_per_cube, 4 * KIB, TLA_HBM_WINDOW_BYTES),
     "KernBench ADR-0019: 6 GiB per PE, for 4 PEs", "24 GiB", "HBM of a cube; every PE owns an equal slice"},
    {COUNT_POWER(hbm.pseudo_channels, hbm.pseudo_channels, 1, 256), "KernBench ADR-0019, ADR-0033", "8",
     "pseudo-channels of a slice"},
    {BANDWIDTH(hbm.pseudo_channel_bandwidth, hbm.pseudo_channel_bandwidth), "KernBench ADR-0019", "32 GB/s",
     "bandwidth of one pseudo-channel"},
    {SIZE_POWER(hbm.burst, hbm.burst, 1, 64 * KIB), "KernBench ADR-0033: burst = flit", "256 B",
     "interleave of the pseudo-channels; a pseudo-channel is occupied for whole bursts"},
    {TIME(hbm.direction_switch, hbm.direction_switch_ps, MS), "KernBench ADR-0033", "0 ns",
     "time that a pseudo-channel takes to switch between reads and writes"},
    {TIME(hbm.controller_latency, hbm.latency_ps, MS), "KernBench latency model: hbm_ctrl 0", "0 ns",
     "latency added to every access to a slice"},
    {TEXT(hbm.timing, hbm_timing.name, TIMING), "KernBench ADR-0033: no banks, rows or refresh", "channels",
     "channels: one timeline for each pseudo-channel, by the keys above. Otherwise a timing profile: ddr5, flat, "
     "hbm2, hbm3, hbm4, hbm4_16g, kernbench, lpddr5, lpddr6, or a file relative to this one. The profile has its own "
     "burst, interleave, bandwidth and turnaround. flat: bursts take no time; the link's bandwidth is the only limit"},
    {TEXT(hbm.energy, hbm_energy.name, ENERGY_PROFILE), CHOICE, "none",
     "none: no energy is computed. Otherwise an energy profile that holds for hbm.timing: hbm2_ayna, hbm2_dramsim3, "
     "hbm2_fgdram, hbm3_ayna, hbm4_ayna, hbm4_ayna_study, or a file relative to this one"},
    {SIZE(hbm.base, controller.memory.of[TLA_HBM].base, 0, UINT64_MAX), "tlmalloc's choice: KernBench has none", "0 B",
     "with controller.addresses plain: address of the slice's first byte; a multiple of controller.alignment"},

    {SIZE(tcm.capacity, tcm.capacity, KIB, TLA_SUB_UNIT_BYTES), "KernBench topology, ADR-0040", "16 MiB",
     "TCM of a PE"},
    {SIZE(tcm.scheduler_reserve, controller.memory.of[TLA_TCM].reserved, 0, TLA_SUB_UNIT_BYTES),
     "tlmalloc's choice: KernBench keeps one (ADR-0014)", "1 MiB",
     "top of the TCM, which is never allocated; less than tcm.capacity"},
    {BANDWIDTH(tcm.read_bandwidth, tcm.read_bandwidth), "KernBench topology, ADR-0040", "512 GB/s",
     "bandwidth of the read channel"},
    {BANDWIDTH(tcm.write_bandwidth, tcm.write_bandwidth), "KernBench topology, ADR-0040", "512 GB/s",
     "bandwidth of the write channel"},
    {TIME(tcm.latency, tcm.latency_ps, MS), "KernBench ADR-0040: time is bytes / bandwidth", "0 ns",
     "latency added to every access"},
    {SIZE(tcm.base, controller.memory.of[TLA_TCM].base, 0, UINT64_MAX), "tlmalloc's choice: KernBench has none", "0 B",
     "with controller.addresses plain: address of the TCM's first byte; a multiple of controller.alignment. Slice and "
     "TCM must not overlap"},

    {SIZE(sram.capacity, sram.capacity, KIB, TLA_SUB_UNIT_BYTES), "tlmalloc's choice: KernBench's is not published",
     "32 MiB", "SRAM of a cube"},
    {BANDWIDTH(sram.read_bandwidth, sram.read_bandwidth), "KernBench, fitted to its all-reduce in SRAM", "512 GB/s",
     "bandwidth of the read channel, reached over the link of links.sram_bandwidth"},
    {BANDWIDTH(sram.write_bandwidth, sram.write_bandwidth), "KernBench, fitted to its all-reduce in SRAM", "512 GB/s",
     "bandwidth of the write channel, reached over the link of links.sram_bandwidth"},
    {TIME(sram.latency, sram.latency_ps, MS), "KernBench commit 84a1325: setup of an access to SRAM", "2 ns",
     "latency added to every access"},

    {SIZE(m_cpu_memory.capacity, m_cpu_memory.capacity, KIB, TLA_M_CPU_MEMORY_BYTES),
     "tlmalloc's choice: KernBench's is not published", "1 MiB", "memory of a cube's M_CPU"},
    {BANDWIDTH(m_cpu_memory.read_bandwidth, m_cpu_memory.read_bandwidth), "tlmalloc's choice: as the SRAM", "512 GB/s",
     "bandwidth of the read channel"},
    {BANDWIDTH(m_cpu_memory.write_bandwidth, m_cpu_memory.write_bandwidth), "tlmalloc's choice: as the SRAM",
     "512 GB/s", "bandwidth of the write channel"},
    {TIME(m_cpu_memory.latency, m_cpu_memory.latency_ps, MS), "tlmalloc's choice: as the SRAM", "2 ns",
     "latency added to every access"},

    {SIZE(host_memory.capacity, host_memory.capacity, 0, TLA_HOST_MEMORY_BYTES), "KernBench has none", "0 B",
     "memory on the host's side of the link, for tensors that no cube holds; 0 B: no memory"},
    {COUNT_POWER(host_memory.channels, host_memory.pseudo_channels, 1, 256),
     "Intel Xeon Scalable, 4th generation: 8 of DDR5", "8", "channels; each serves reads and writes in turn"},
    {BANDWIDTH(host_memory.channel_bandwidth, host_memory.pseudo_channel_bandwidth),
     "JEDEC JESD79-5, DDR5-4800: 8 B x 4800 MT/s", "38.4 GB/s", "bandwidth of one channel"},
    {SIZE_POWER(host_memory.interleave, host_memory.burst, 1, 64 * KIB), "tlmalloc's choice: as the HBM's burst",
     "256 B", "interleave of the channels; a channel is occupied for whole bursts of this size"},
    {TIME(host_memory.direction_switch, host_memory.direction_switch_ps, MS), "tlmalloc's choice: as the HBM's", "0 ns",
     "time that a channel takes to switch between reads and writes"},
    {TIME(host_memory.latency, host_memory.latency_ps, MS),
     "JEDEC JESD79-5, DDR5-4800B: tRCD and CL, 39 and 40 clocks at 2.4 GHz", "32.9 ns",
     "latency added to every access; the host's caches and cores are not on the path"},
    {TEXT(host_memory.timing, host_memory_timing.name, TIMING), "tlmalloc's choice: as the HBM's", "channels",
     "channels: one timeline for each channel, by the keys above. Otherwise a timing profile, as for hbm.timing: ddr5, "
     "flat, or a file relative to this one. Each channel is then one channel of the profile, with its burst, "
     "interleave, bandwidth and turnaround; if it has banks, their times replace the latency"},

    {COUNT(controller.ports, controller.ports, TLA_PORT_OF_PE + 1, 4096), CHOICE, "16",
     "control ports of a memory controller: at least 3 with controller.lockstep, 4 with mmu.walk memory, 5 with "
     "mmu.unmapped demand, 6 with a kernel that sends messages (unless messages.memory is sram), 7 with "
     "mmu.fault_handler controller"},
    {COUNT(controller.queue_depth, controller.queue_depth, 1, 256), CHOICE, "16",
     "commands that may wait for the allocation engine"},
    {STACK(controller.hbm_policy, controller.memory.of[TLA_HBM].policy), "KernBench ADR-0048 D1", "first_fit",
     "placement in the HBM slice, or a front"},
    {STACK(controller.tcm_policy, controller.memory.of[TLA_TCM].policy), "KernBench ADR-0048 D1", "first_fit",
     "placement in the TCM, or a front"},
    {STACK(controller.sram_policy, controller.memory.of[TLA_SRAM].policy), "KernBench ADR-0048 D1, D7", "first_fit",
     "placement in the SRAM of a cube, or a front"},
    {STACK(controller.m_cpu_policy, controller.memory.of[TLA_M_CPU_MEMORY].policy), "KernBench ADR-0048 D1, D7",
     "first_fit", "placement in the memory of an M_CPU, or a front"},
    {STACK(controller.host_policy, controller.memory.of[TLA_HOST_MEMORY].policy), "tlmalloc's choice: as the others",
     "first_fit", "placement in the host's memory, or a front"},
    {SIZE_POWER(controller.alignment, controller.memory.alignment, 1, GIB), "KernBench ADR-0048 D1: byte granular",
     "1 B", "sizes and offsets of allocations are multiples of it"},
    {NAMED(controller.addresses, controller.memory.layout, tla_address_layout), "KernBench ADR-0048 D3", "kernbench",
     "kernbench: 51 bits that contain SIP, cube and PE. plain: offset plus hbm.base or tcm.base, for a single "
     "controller in a platform of your own; an npu rejects plain"},
    {BOOLEAN(controller.validate, controller.memory.validate),
     "KernBench ADR-0048 D2: callers are trusted; A2 suggests a debug switch", "false",
     "true: the controller checks every free against the live blocks; the error names the block's owner"},
    {NAMED(controller.lockstep, controller.lockstep, tla_lockstep_scope),
     "tlmalloc's choice: as ADR-0048; cube: tt-metal", "off",
     "component that places blocks in HBM slices. off: each controller, in its own slice; cube: the M_CPU, in all "
     "slices of its cube; sip: the IO_CPU, in all slices of its SIP. Unless controller.lockstep_mode differs, both "
     "use the same offset in every slice"},
    {NAMED(controller.lockstep_mode, host.lockstep_mode, tla_units_mode),
     "tlmalloc's choice: as tt-metal without HYBRID", "lockstep",
     "mode in which the owner of slices places a tensor. lockstep: one offset in all its slices; range: one offset in "
     "the tensor's slices, which later tensors avoid everywhere; common: likewise, avoided in these slices only; "
     "single: an offset in each slice"},
    {NAMED(controller.free_list, controller.free_list, tla_free_list_place), CHOICE_ENGINE, "registers",
     "storage of the free lists' nodes: registers; sram (a fixed time for each access); hbm (real accesses to the "
     "slice, for the HBM's list). Both sram and hbm require first, best, next or worst fit"},
    {TIME(controller.node_latency, controller.node_latency_ps, MS), CHOICE_ENGINE, "1 ns",
     "sram: time of an access to a node; hbm: time of a read that the node cache serves"},
    {SIZE(controller.list_reserve, controller.list_reserve, 32, GIB), "tlmalloc's choice: 65536 nodes of 16 B", "1 MiB",
     "bytes for the nodes of each memory's list, if lists are in memory. hbm: they are the top of the slice, which is "
     "never allocated; less than the slice"},
    {COUNT(controller.node_cache, controller.node_cache, 0, 1 << 20), CHOICE, "0",
     "hbm: nodes that the cache in front of the list holds"},
    {NAMED(controller.guard, controller.guard, tla_guard_mode), "tlmalloc's choice: KernBench does not check", "off",
     "check for accesses outside a live block, accesses from another address space, and reads of bytes never written: "
     "off; report (count and warn); error (count, warn and reject)"},
    {COUNT(controller.guard_history, controller.memory.guard_history, 0, 1 << 20), CHOICE, "1024",
     "freed blocks of each memory that the guard's messages can name"},
    {BOOLEAN(controller.poison, controller.poison), CHOICE, "false",
     "true: freed bytes are filled with 0xDD, in no simulated time"},
    OBJECT_ROWS,
    MOVE_ROWS,
    FRONT(hbm_front, TLA_HBM, TLA_HBM_WINDOW_BYTES, "PyTorch: 20 MiB", "20 MiB", "2 MiB", "64 MiB", "LMCache", "1 GiB",
          "64 MiB", "1 GiB", "500 us"),
    FRONT(tcm_front, TLA_TCM, TLA_SUB_UNIT_BYTES, CHOICE_SIZES, "1280 KiB", "256 KiB", "1 MiB", CHOICE_SIZES, "4 MiB",
          "256 KiB", "1 MiB", "2 us"),
    FRONT(sram_front, TLA_SRAM, TLA_SUB_UNIT_BYTES, CHOICE_SIZES, "1280 KiB", "256 KiB", "2 MiB", CHOICE_SIZES, "4 MiB",
          "256 KiB", "1 MiB", "2 us"),
    FRONT(m_cpu_front, TLA_M_CPU_MEMORY, TLA_M_CPU_MEMORY_BYTES, CHOICE_SIZES, "80 KiB", "4 KiB", "64 KiB",
          CHOICE_SIZES, "64 KiB", "16 KiB", "64 KiB", "125 ns"),
    FRONT(host_front, TLA_HOST_MEMORY, TLA_HOST_MEMORY_BYTES, "tlmalloc's choice: as the HBM", "20 MiB", "2 MiB",
          "64 MiB", "LMCache", "1 GiB", "64 MiB", "1 GiB", "500 us"),
    {TIME(controller.pin_wait, controller.pin_wait_ps, 1000 * S), "tlmalloc's choice; LMCache of 2026 paces pins",
     "0 ns",
     "lazy: a chunk is pinned once no access to its memory is in flight at its controller, but waits so long at most; "
     "0 "
     "ns: it does not wait"},
    {NAMED(controller.engine, controller.engine, tla_engine_kind), CHOICE, "model",
     "source of a command's duration. model: the prices below. rtl: the engine of model/rtl for the memory's policy, "
     "clocked for every command, with its cycles at controller.cost.clock; requires a build with Verilator, and "
     "first_fit, worst_fit, buddy or offset bins. firmware: platform/firmware, run by a RISC-V core for every command, "
     "with its cycles at that clock; requires first_fit, buddy or offset bins. Both work alone or below a front "
     "without own lists"},
    {COUNT(controller.engine_nodes, controller.engine_nodes, 0, 1 << 20), CHOICE, "0",
     "nodes of a list, one for each free block (offset bins: and for each live one). A command that needs one more "
     "fails (TLA_LIMIT). 0: no limit (model), or 1024 (rtl, firmware). rtl and firmware accept up to 1024"},
    {COUNT(controller.engine_node_cycles, controller.engine_node_cycles, 1, 2), "model/rtl: both are built", "1",
     "rtl: cycles that first fit takes for a node; worst fit is built with 1 only"},
    {TEXT(controller.cost.profile, cost_profile, PRICES), LIST_IN_RTL "; the clock is an assumption", "rtl_list_1c",
     "profile that sets the prices below, except prices that are set explicitly: driver_bar_v100, driver_cuda_malloc, "
     "driver_cuda_vmm, driver_vfio_1g, fw_buddy, fw_list, fw_offset_bins, ideal, rtl_buddy, rtl_list_1c, rtl_list_2c, "
     "rtl_offset_bins, rtl_worst_fit, or a file relative to this one"},
    {ROW_LONG(controller.cost.clock, controller.cost.clock_ps, TLA_VALUE_TIME), 1, US, false, "an assumption", "1 ns",
     "period of the engine's clock. A profile states its prices in these cycles, and a command begins at a clock edge"},
    COST(controller, fixed, "1 ns", LIST_IN_RTL, "per command"),
    COST(controller, node, "1 ns", LIST_IN_RTL, "per free-list node visited by an allocation"),
    COST(controller, insert_node, "1 ns", LIST_IN_RTL, "per node that a linear ordered insert passes in a free"),
    COST(controller, probe, "0 ns", LIST_IN_RTL ": none there",
         "per probe of the binary search in a free, or of the lists and bitmaps of buddies and TLSF"),
    COST(controller, bin_search, "0 ns", LIST_IN_RTL ": none there", "offset bins: per search, also in vain"),
    COST(controller, split, "0 ns", LIST_IN_RTL ": within node", "per block cut in two"),
    COST(controller, merge, "0 ns", LIST_IN_RTL ": within insert_node", "per neighbour joined"),
    COST(controller, metadata_line, "0 ns", LIST_IN_RTL ": none there", "per line of metadata touched in memory"),
    COST(controller, alloc, "0 ns", LIST_IN_RTL ": within fixed and node",
         "per range taken from the free list: time that an allocation takes more than a free"),
    COST(controller, free, "2 ns", LIST_IN_RTL,
         "per range put on the free list: time that a free takes more than an allocation"),
    COST(controller, node_created, "1 ns", LIST_IN_RTL, "per node created in the list"),
    COST(controller, node_released, "1 ns", LIST_IN_RTL, "per node removed from the list"),
    COST(controller, walk, "0 ns", LIST_IN_RTL ": first fit has none",
         "worst fit: per walk for the next largest block, after the answer; the next request waits for the walk"),
    COST(controller, walk_node, "0 ns", LIST_IN_RTL ": first fit has none",
         "worst fit: per free block that such a walk passes"),
    COST(controller, class_lookup, "1 ns", CHOICE_FRONT, "fronts: per size class looked up"),
    COST(controller, list_pop, "1 ns", CHOICE_FRONT, "fronts: per block taken from one of the front's lists"),
    COST(controller, list_push, "1 ns", CHOICE_FRONT, "fronts: per block put on one of the front's lists"),
    COST(controller, slot, "1 ns", CHOICE_FRONT, "fronts: per slot taken from the queue or returned to it"),
    COST(controller, driver_call, "1 ns", CHOICE_FRONT,
         "fronts: per request to the placement below, in addition to the placement's own prices"),
    FIRMWARE_ROWS,

    {SIZE_POWER(mmu.page_size, mmu.page_size, 4 * KIB, GIB), "KernBench ADR-0039: class default", "2 MiB",
     "page size of the PE MMUs"},
    {TIME(mmu.overhead, mmu.overhead_ps, MS), "KernBench topology (tlb_overhead_ns); ADR-0039 has 0", "0.5 ns",
     "time of the TLB, paid where mmu.overhead_at says"},
    {NAMED(mmu.overhead_at, mmu.overhead_at, tla_overhead_place),
     "tlmalloc's choice: every access has a TLB's time; call: KernBench ADR-0039 D2.1", "access",
     "payer of mmu.overhead. access: every translated access; call: a load or store of a kernel, once, before it takes "
     "a channel of the DMA, and nobody else"},
    {NAMED(mmu.unmapped, mmu.unmapped, tla_unmapped),
     "tlmalloc's choice; KernBench's PE_DMA takes the number for a physical address (pa_fallback)", "error",
     "reaction to an access to an unmapped virtual address: an error response (error), the same number as a physical "
     "address (pa_fallback), or a page fault (demand)"},
    {NAMED(mmu.fault_handler, mmu.fault_handler, tla_fault_handler), "tlmalloc's choice: as drivers do", "host",
     "with mmu.unmapped demand: who serves page faults. host: the host; controller: the PE's memory controller, which "
     "passes on to the host what it cannot serve"},
    {SIZE(mmu.fault_pool, mmu.fault_pool, 0, 1024 * GIB), CHOICE, "0 B",
     "with mmu.fault_handler controller: bytes of pages that a controller gives by itself in all tensors; 0: no limit"},
    {TIME(mmu.fault_latency, host.fault_latency_ps, S), "UVMSmart: far fault, 66645 cycles = 45 us", "45 us",
     "with mmu.unmapped demand: time from the fault to the host and back, without allocation and mapping"},
    {NAMED(mmu.eviction, host.eviction, tla_eviction), "tlmalloc's choice: a full memory fails an allocation", "off",
     "with mmu.unmapped demand: page that leaves a full memory for the host's memory when a page fault needs its "
     "place. "
     "off: none, so that the fault fails; clock: the first page without a reference bit that a hand meets; lru: the "
     "page "
     "that was not used for the longest time, by bits that are read for each eviction"},
    {COUNT(mmu.prefetch, host.prefetch, 0, TLA_PREFETCH_MAX), "tlmalloc's choice: a page alone", "0",
     "with mmu.eviction clock and lru: pages behind the faulting page that a page fault brings too"},
    {BOOLEAN(mmu.allow_remap, mmu.allow_remap), "tlmalloc's choice: a bug should show", "false",
     "false: a mapping that overlaps an existing mapping is an error; true: the latest mapping wins"},
    {BOOLEAN(mmu.pages_64k, pages.size_64k), "tlmalloc's choice: KernBench has one size", "false",
     "true: pages of 64 KiB in addition to the smaller pages"},
    {BOOLEAN(mmu.pages_2m, pages.size_2m), "tlmalloc's choice: KernBench has one size", "false",
     "true: pages of 2 MiB in addition to the smaller pages"},
    {BOOLEAN(mmu.pages_1g, pages.size_1g), "tlmalloc's choice: KernBench has one size", "false",
     "true: pages of 1 GiB in addition to the smaller pages"},
    {COUNT(mmu.va_bits, mmu.va_bits, 32, 64), "tlmalloc's choice: 4 levels of 4 KiB pages; Intel NPU (ivpu)", "48",
     "bits of a virtual address that the page tables cover"},
    {COUNT(mmu.asids, mmu.asids, 1, 65536), "KernBench has none", "1", "number of address spaces"},
    {COUNT(mmu.ports, mmu.ports, TLA_PORT_OF_ABOVE + 1, 4096), CHOICE, "16", "control ports of an MMU"},
    {COUNT(mmu.queue_depth, mmu.queue_depth, 1, 256), CHOICE, "16", "commands that may wait for the mapping engine"},
    {NAMED(mmu.walk, mmu.walk, tla_walk_mode), "KernBench ADR-0039: no TLB capacity, no walks", "ideal",
     "ideal: a translation takes mmu.overhead only; flat: TLBs and walkers, with a fixed latency for each level; "
     "memory: TLBs and walkers, and every level is a read of the PE's HBM slice"},
    {COUNT(mmu.ranges, mmu.ranges, 0, TLA_RANGES_MAX), "tlmalloc's choice: none; RMM has 32", "0",
     "ranges beside the last TLB level, each for any number of contiguous pages; 0: none"},
    {COUNT(mmu.tlb_seed, mmu.tlb_seed, 0, UINT64_MAX), CHOICE, "1", "seed of the random replacement"},
    {COUNT(mmu.tlb_l1.entries, mmu.tlb_l1.entries, 0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "32",
     "entries of the first level; 0: no first level"},
    {COUNT(mmu.tlb_l1.ways, mmu.tlb_l1.ways, 0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "0",
     "entries of a set; 0: fully associative"},
    {TIME(mmu.tlb_l1.latency, mmu.tlb_l1.latency_ps, MS), "gem5 GPU TLB: 1 cycle, at 1 GHz", "1 ns",
     "time of a lookup, hit or miss"},
    {NAMED(mmu.tlb_l1.replacement, mmu.tlb_l1.replacement, tla_replacement), CHOICE, "lru",
     "rule by which a full set evicts an entry"},
    {COUNT(mmu.tlb_l2.entries, mmu.tlb_l2.entries, 0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "2048",
     "entries of the second level; 0: no second level"},
    {COUNT(mmu.tlb_l2.ways, mmu.tlb_l2.ways, 0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "8",
     "entries of a set; 0: fully associative"},
    {TIME(mmu.tlb_l2.latency, mmu.tlb_l2.latency_ps, MS), "mNPUsim dual_d.cfg: 5 cycles, at 1 GHz", "5 ns",
     "time of a lookup, hit or miss"},
    {NAMED(mmu.tlb_l2.replacement, mmu.tlb_l2.replacement, tla_replacement), CHOICE, "lru",
     "rule by which a full set evicts an entry"},
    {COUNT(mmu.walkers.count, mmu.walkers.walkers, 1, TLA_WALKERS_MAX), "mNPUsim dual_d.cfg; NeuMMU's baseline IOMMU",
     "8", "walks in flight, at most"},
    {COUNT(mmu.walkers.merge_slots, mmu.walkers.merge_slots, 0, 65536), "mNPUsim; NeuMMU (PRMB) has 32", "0",
     "misses of a page that may join one walk; a further miss holds up only later accesses to that page. 0: every miss "
     "walks"},
    {COUNT(mmu.walkers.cache_entries, mmu.walkers.walk_cache_entries, 0, TLA_WALK_CACHE_MAX), "mNPUsim: none", "0",
     "upper-level entries in a cache that all walkers share"},
    {BOOLEAN(mmu.walkers.path_registers, mmu.walkers.path_registers), "mNPUsim: none; NeuMMU (TPreg) has them", "false",
     "true: every walker keeps the path of its last walk"},
    {BOOLEAN(mmu.walkers.hit_under_miss, mmu.walkers.hit_under_miss), CHOICE, "true",
     "false: no lookup starts while a request waits for its walk"},
    {TIME(mmu.walkers.level_latency, mmu.walkers.level_ps, MS),
     "mNPUsim dual_d.cfg: 400 cycles = 4 steps x 100, at 1 GHz", "100 ns", "with mmu.walk flat: latency of one level"},
    COST(mmu, fixed, "10 ns", CHOICE, "per map or unmap command"),
    COST(mmu, chunk, "0 ns", CHOICE, "per physically contiguous range mapped or unmapped"),
    COST(mmu, pte_write, "1 ns", CHOICE, "per page-table entry or sub-page region written or cleared"),
    COST(mmu, table_level, "0 ns", CHOICE, "per page-table level read"),
    COST(mmu, invalidate, "5 ns", CHOICE, "per TLB invalidation"),

    {SIZE(va.base, va.space.base.value, 0, VA_MAX), "KernBench ADR-0048 D4", "4 GiB",
     "first address of the virtual range; a multiple of va.page_size"},
    {SIZE(va.size, va.space.nbytes, 4 * KIB, VA_MAX), "KernBench ADR-0048 D4", "64 GiB",
     "size of the virtual range; a multiple of va.page_size"},
    {SIZE_POWER(va.page_size, va.space.page_size, 4 * KIB, GIB), "KernBench ADR-0048 D4: context fallback", "4 KiB",
     "granule of virtual ranges; defaults to mmu.page_size if that key is set explicitly"},
    {NAMED(va.map_ack, va.map_ack, tla_map_ack), "tlmalloc's choice: no mapping is used before it is visible",
     "visible", "acknowledgement of a mapping: visible, when every MMU has applied it; posted, when it has been sent"},
    COST(va, fixed, "10 ns", CHOICE, "per allocation or free of a virtual range"),
    COST(va, node, "1 ns", CHOICE, "per free-list node visited by an allocation"),
    COST(va, insert_node, "0 ns", CHOICE, "per node that a linear ordered insert passes in a free"),
    COST(va, probe, "0 ns", CHOICE, "per probe of the binary search in a free"),
    COST(va, split, "0 ns", CHOICE, "per block cut in two"),
    COST(va, merge, "0 ns", CHOICE, "per neighbour joined"),
    COST(va, free, "0 ns", CHOICE, "per range put on the free list: time that a free takes more than an allocation"),
    COST(va, node_created, "0 ns", CHOICE, "per node created in the list"),
    COST(va, node_released, "0 ns", CHOICE, "per node removed from the list"),

    {TIME(command_processor.io_cpu_overhead, io_cpu.overhead_ps, MS), "KernBench latency model: io_cpu", "10 ns",
     "overhead of a SIP's IO_CPU for each command that it fans out to its cubes"},
    {TIME(command_processor.m_cpu_overhead, m_cpu.overhead_ps, MS), "KernBench latency model: m_cpu", "5 ns",
     "overhead of a cube's M_CPU for each command that it fans out to its PEs"},

    {COUNT(cube.mesh_columns, topology.mesh_columns, 1, TLA_MESH_MAX), "KernBench cube_mesh.yaml: 6 x 6", "6",
     "routers in a row of a cube's mesh"},
    {COUNT(cube.mesh_rows, topology.mesh_rows, 1, TLA_MESH_MAX), "KernBench cube_mesh.yaml: 6 x 6", "6",
     "rows of routers in a cube's mesh"},
    {TEXT(cube.mesh_hole, topology.mesh_hole, HOLE), "KernBench cube_mesh.yaml: r2c2, r2c3, r3c2, r3c3", "centre",
     "rectangle without routers; centre: the 2 x 2 in the middle of a mesh of 6 x 6 or more"},
    {TEXT(cube.pe_places, topology.pe_places, PE_PLACES),
     "KernBench cube.pe_layout: r0c0 r0c1 r1c4 r1c5 r4c0 r4c1 "
     "r5c4 r5c5",
     "corners",
     "router of each PE and of its HBM slice; corners: as in KernBench, up to 4 PEs in each corner (row by row in a "
     "mesh below 4 x 4)"},
    {TEXT(cube.m_cpu_place, topology.m_cpu_place, PLACE(check_m_cpu_place)), "KernBench cube_mesh.yaml: r0c2", "auto",
     "router of the M_CPU; auto: in row 0, at a third of the row"},
    {TEXT(cube.sram_place, topology.sram_place, PLACE(check_sram_place)), "KernBench cube_mesh.yaml: r3c0", "auto",
     "router of the SRAM; auto: in column 0, half way down"},
    {COUNT(cube.connections, topology.connections, 1, TLA_CONNECTIONS_MAX), "KernBench: n_connections", "4",
     "connections of each UCIe port, of cubes and of IO chiplets"},
    {TEXT(cube.connection_places, topology.connection_places, CONNECTIONS),
     "tlmalloc's choice; KernBench publishes only ucie-W.conn0, at r0c0", "spread",
     "places of a side's connections: rows for the sides E and W, columns for N and S; spread: from one end to the "
     "other, corners included"},
    {LENGTH(cube.router_pitch, topology.router_pitch_um, 0, 100 * MM),
     "tlmalloc's choice: places KernBench's M_CPU (7.5 mm) at column 2 and SRAM (1.5 mm) at column 0", "3 mm",
     "distance between adjacent routers"},
    {TIME(cube.router_overhead, topology.router_overhead_ps, MS), "fitted: KernBench's 77 ns and 82 ns", "2 ns",
     "overhead of a router for each transaction"},

    {TEXT(io_chiplet.phy_faces, topology.phy_faces, FACES),
     "tlmalloc's choice; KernBench has 4 PHYs and does not publish their faces", "west",
     "side of a cube that each PHY faces; west: the west sides of the first column's cubes, up to 4"},
    {TIME(io_chiplet.pcie_overhead, topology.pcie_overhead_ps, MS), "KernBench latency model: pcie_ep", "5 ns",
     "overhead of the PCIe end point, which collects a transaction before it forwards it"},
    {BANDWIDTH(io_chiplet.bandwidth, topology.io_bandwidth), "fitted: KernBench's 65.53 ns, 1 ns of fill for a flit",
     "768 GB/s",
     "bandwidth of each link in the chiplet: end point to network, network to connection, connection to PHY"},

    {NAMED(links.routing, topology.routing, tla_routing), CHOICE, "straight",
     "preferred paths. straight: along the mesh, from cube to cube at the first connection of a port, and into the "
     "last cube at the nearest connection. With free_ports ports are shortcuts inside a cube, too. shortest, as in "
     "KernBench: by length alone, with ports of no length; the names of nodes decide between equal lengths"},
    {NAMED(links.transport, links.transport, tla_transport), "KernBench ADR-0033; once: its versions V3 and V4",
     "per_flit",
     "how data occupy links. per_flit: a flit after the other. once: the data of an access are one item, which "
     "occupies each link once, is at the next node after the latency alone, and pays the narrowest link of its path at "
     "the end. Nodes do not store and forward then, and transfers of the DMA take no time of the TCM"},
    {SIZE(links.flit, topology.flit, 1, 64 * KIB), "KernBench ADR-0033", "256 B",
     "bytes that a link carries at a time"},
    {TIME(links.wire, topology.wire_ps_per_mm, US), "KernBench: ns_per_mm 0.01", "10 ps",
     "latency of one millimetre of wire"},
    {BANDWIDTH(links.router_bandwidth, topology.router_bandwidth), "fitted: KernBench's 77 ns and 82 ns", "256 GB/s",
     "bandwidth between adjacent routers"},
    {BANDWIDTH(links.pe_bandwidth, topology.pe_bandwidth), "fitted: KernBench's 77 ns and 82 ns", "256 GB/s",
     "bandwidth between a PE, or the M_CPU, and its router"},
    {BANDWIDTH(links.hbm_bandwidth, topology.hbm_bandwidth), "KernBench ADR-0017: hbm_to_router", "256 GB/s",
     "bandwidth between a slice's HBM controller and its router"},
    {BANDWIDTH(links.sram_bandwidth, topology.sram_bandwidth), "KernBench topology: sram_to_router", "128 GB/s",
     "bandwidth between the SRAM and its router"},
    {BANDWIDTH(links.connection_bandwidth, topology.connection_bandwidth), "fitted: KernBench's 573 ns", "128 GB/s",
     "bandwidth between a router and a connection of a UCIe port"},
    {BANDWIDTH(links.port_bandwidth, topology.port_bandwidth), "KernBench ADR-0016: 4 x 128 GB/s a side", "128 GB/s",
     "bandwidth between a connection and its UCIe port"},
    {BANDWIDTH(links.ucie_bandwidth, topology.ucie_bandwidth), "KernBench ADR-0016: UCIe, 4 x 128 GB/s a side",
     "512 GB/s", "bandwidth between UCIe ports that face each other"},
    {LENGTH(links.ucie_length, topology.ucie_length_um, 0, 100 * MM), "tlmalloc's choice; KernBench's is near 0",
     "1 mm", "distance between UCIe ports that face each other"},
    {TIME(links.ucie_overhead, topology.ucie_overhead_ps, MS), "KernBench latency model: UCIe, 8 ns a port", "8 ns",
     "overhead of a UCIe port of a cube or an IO chiplet, for each transaction"},
    {BANDWIDTH(links.pcie_bandwidth, topology.pcie_bandwidth),
     "tlmalloc's choice; KernBench's 409 ns require more than 256 GB/s", "512 GB/s",
     "bandwidth between a PCIe end point and the switch, or another SIP's end point"},
    {TIME(links.switch_overhead, topology.switch_overhead_ps, MS), "KernBench latency model: fabric switch", "5 ns",
     "overhead of the switch between SIPs for each transaction"},
    {BANDWIDTH(links.host_bandwidth, topology.host_bandwidth), "tlmalloc's choice: PCIe 5.0 x16", "64 GB/s",
     "bandwidth between the host and the PCIe end point of each SIP"},
    {BANDWIDTH(links.host_memory_bandwidth, topology.host_memory_bandwidth),
     "tlmalloc's choice: above its memory's 8 x 38.4 GB/s", "512 GB/s",
     "bandwidth between the host and its memory, if it has memory"},

    {SIZE(dma.chunk, dma.chunk, 1, GIB), "KernBench ADR-0033: the flit", "256 B",
     "size of the chunks in which a transfer moves"},
    {BANDWIDTH(dma.bandwidth, dma.bandwidth), "KernBench ADR-0017: one flit a ns", "256 GB/s",
     "rate at which a channel issues chunks"},
    {COUNT(dma.outstanding, dma.outstanding, 1, 65536), CHOICE, "256", "chunks of a channel in flight, at most"},

    {TIME(pe.launch, pe.launch_ps, MS), "KernBench latency model: pe_cpu", "2 ns",
     "time from the launch command to the start of the kernel"},
    {TIME(pe.dispatch, pe.dispatch_ps, MS), "KernBench ADR-0046: 1 cycle, at 1 GHz", "1 ns",
     "time added to every call of a kernel"},
    {RATE(pe.gemm_rate, pe.gemm_rate), "KernBench topology: peak_tflops_f16", "8 TFLOPS",
     "rate of the GEMM engine; a multiply-add counts as two operations"},
    {RATE(pe.vector_rate, pe.vector_rate), CHOICE, "1 TFLOPS", "rate of the vector engine"},
    {TIME(pe.vector_cycle, pe.vector_cycle_ps, MS), CHOICE, "0 ns",
     "the vector engine works in whole cycles of this length; 0: in any time"},
    {TIME(pe.scheduler, pe.scheduler_ps, MS), "KernBench topology: pe_scheduler overhead", "1 ns",
     "time of the scheduler for each tile of a composite"},
    {COUNT(pe.tile_m, pe.tile_m, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "32",
     "rows of a composite's tiles"},
    {COUNT(pe.tile_k, pe.tile_k, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "64",
     "products summed in a composite's tiles"},
    {COUNT(pe.tile_n, pe.tile_n, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "32",
     "columns of a composite's tiles"},
    {COUNT(pe.pipeline_depth, pe.pipeline_depth, 1, 64), CHOICE, "2",
     "tile buffers in the TCM for each operand and result of a composite; also register sets and accumulators"},
    {COUNT(pe.outstanding, pe.outstanding, 1, 65536), CHOICE, "64",
     "asynchronous operations that a kernel may have started and not waited for"},
    {SIZE(pe.stack, pe.stack, 16 * KIB, GIB), CHOICE, "256 KiB", "size of a kernel's stack"},
    {SIZE(pe.scratch, pe.scratch, 0, TLA_SUB_UNIT_BYTES), "KernBench ADR-0046: 1 MiB for each kernel", "1 MiB",
     "TCM bytes for a kernel's scratch tiles; allocated by its first tl_scratch, freed when it returns"},
    {TIME(pe.time_limit, pe.time_limit_ps, 1000 * S), CHOICE, "1 s",
     "limit of simulated time; a kernel beyond it is ended in its current or next call. 0: no limit"},
    {TIME(pe.host_limit, pe.host_limit_ps, 86400 * S), CHOICE, "10 s",
     "limit of real time for a kernel that makes no call: it is ended, and the same kernel on other PEs at once. It "
     "also ends kernels whose waiting makes no progress. 0: no limit"},

    {COUNT(messages.slots, messages.slots, 1, TLA_MESSAGE_SLOTS_MAX), "KernBench ADR-0023: n_slots", "4",
     "slots of each direction between two PEs, in the receiver's memory; allocated when the first message is sent"},
    {SIZE(messages.slot_size, messages.slot_size, 64, 8 * MIB), "KernBench ADR-0023: slot_size", "4 KiB",
     "size of a slot; a longer message takes several slots, one after the other. All slots of a direction hold at most "
     "8 MiB"},
    {SIZE(messages.credit, messages.credit_bytes, 1, 256), "KernBench ADR-0023", "16 B",
     "size of a credit in flight, and of every other notice about slots between PEs"},
    {NAMED(messages.memory, messages.memory, tla_slot_memory), "KernBench ADR-0023: buffer_kind", "tcm",
     "memory of the slots: the receiver's TCM, its HBM slice, or the SRAM of its cube"},
    {NAMED(messages.back_pressure, messages.back_pressure, tla_back_pressure), "KernBench ADR-0023", "sleep",
     "how a sender waits for a credit. sleep: until a credit arrives; poll: it checks every messages.poll_interval"},
    {SHORT_TIME(messages.poll_interval, messages.poll_ps, 1, MS), CHOICE, "100 ns", "poll: time between two checks"},
    {NAMED(messages.costs, messages.costs, tla_slot_costs), "tlmalloc's choice: nothing is fitted", "memory",
     "cost of slots. memory: the time of their memory and of the path to it. For comparison with KernBench's published "
     "figures, kernbench (CSV A) and kernbench_hop (CSV B, with the hop to the bank) take its table for each write and "
     "read of a whole piece; kernbench_free, before its tables, takes no time. A tl_recv then waits until its credit "
     "has "
     "returned. Make slots as large as the messages"},
    {TIME(messages.overhead, messages.overhead_ps, MS), CHOICE "; 9.5 ns: fitted to KernBench's pe2pe with IPCQ",
     "0 ns",
     "time that a tl_send takes beside its dispatch, its path, its bytes and its slots; the sender spends it once for "
     "each message, before the message leaves"},
    {BOOLEAN(messages.read_slot, messages.read_slot), "KernBench ADR-0023: tl.recv reads the slot", "true",
     "false: a tl_recv does not pay the read of the slot, and its bytes are in the tile all the same (KernBench's "
     "recv_no_consume)"},
    {BOOLEAN(messages.signals, messages.signals), "tlmalloc's choice: 6 signals a PE", "false",
     "true: waveforms show every PE's slots, and its kernel's waits for credits and messages"},

    {NAMED(collectives.algorithm, pe.collectives.algorithm, tl_algorithm),
     CHOICE ", for KernBench's ccl.yaml (ADR-0047)", "ring",
     "path of an all-reduce. ring: around the ring of all ranks. torus_2d: around the rings of the grid's columns, "
     "then of its rows. mesh_2d: along rows, then along a column, to the rank in the middle and back. hierarchical: "
     "along the PEs of a cube to its first PE, then as mesh_2d between the cubes of a SIP, and between SIPs"},
    {COUNT(collectives.world_size, pe.collectives.world_size, 0, 65536), "KernBench ADR-0047: defaults, then topology",
     "0", "number of programs that participate, counted from the first of a launch; 0: all"},
    {COUNT(collectives.columns, pe.collectives.columns, 0, 65536), CHOICE, "0",
     "torus_2d and mesh_2d: ranks in a row of the grid; 0: as square as possible"},
    {NAMED(collectives.between_sips, pe.collectives.between_sips, tl_between_sips), CHOICE, "lines",
     "path of a hierarchical all-reduce between SIPs. Lines lead along rows, then along a column, to the SIP in the "
     "middle and back. Rings (KernBench, commit 1d8b940) pass all vectors of a row around, then those of a column. A "
     "mesh has no rings: its rows reduce to their middle and broadcast back, then its columns"},
    {NAMED(collectives.receives, pe.collectives.receives, tl_receipt_order), CHOICE, "both",
     "mesh_2d and hierarchical: receipt by a rank with two sides on a line. both: at one time. in_order: from the "
     "side before (west, north), which is added, then from the side behind (KernBench)"},

    {SIZE(host.dma_chunk, host.dma_chunk, 1, GIB), CHOICE, "4 KiB", "size of the chunks in which host transfers move"},
    {COUNT(host.retries, host.retry.retries, 0, 1000000), CHOICE, "3",
     "retries of a command that was rejected temporarily. The host, a PE's tl_alloc and tl_free, and an MMU that "
     "allocates and frees tables retry; LAUNCH is not retried"},
    {TIME(host.retry_delay, host.retry.delay_ps, S), CHOICE, "1 us", "time from a rejection to the next try"},
    {NAMED(host.driver, host.driver.kind, tla_host_driver_kind),
     "tlmalloc's choice: the controllers allocate themselves", "none",
     "driver for the host's allocations. none: the memories' controllers alone allocate, as for kernels. serial: calls "
     "wait for one lock of the process. per_device: calls wait for one lock of each SIP. asynchronous: calls wait for "
     "no lock, and the SIP does their work in its own time"},
    {TIME(host.driver_alloc, host.driver.alloc_ps, S), "cuda-mempool: cudaMalloc of 64 KB", "180 us",
     "time of a driver call that allocates, its command to the controller included"},
    {TIME(host.driver_free, host.driver.free_ps, S), "Cytnx: cudaFree, no kernel running", "14 us",
     "time of a driver call that frees, its command to the controller included"},
    {BOOLEAN(host.driver_synchronous, host.driver.synchronous), CHOICE, "false",
     "true: a driver call begins when the SIP has completed its earlier work; not with asynchronous"},
    {NAMED(host.pool, host.pool, tla_host_pool), "tlmalloc's choice: nothing is kept", "none",
     "pool of the host in front of the driver, which keeps freed blocks for the next allocations: none, or a "
     "caching_pool for each memory"},

    {TIME(simulation.quantum, simulation.quantum_ps, S), "tlmalloc's choice: no decoupling", "0 ns",
     "time by which the event queue may run ahead of simulated time; results do not depend on it. If 0, `tlmalloc run` "
     "uses 1 us"},
    {TIME(simulation.look_ahead, simulation.look_ahead_ps, MS), "tlmalloc's choice: nothing is passed", "0 ns",
     "time by which an access of a foreign initiator may pass events that are due elsewhere; requests that become late "
     "are served late, and counted"},
    {BOOLEAN(simulation.link_signals, simulation.link_signals), "tlmalloc's choice: 6,528 of KernBench's links",
     "false", "true: waveforms also show every single link of the fabric; otherwise only the links of a cube, by kind"},

    {TEXT(faults.plan, faults.text, FAULT_PLAN), "tlmalloc's choice: nothing fails", "none",
     "faults to inject, such as \"uncorrectable address=0x1000 pe=0; channel_out channel=3 at=10us; refuse rate=500\""},
    {COUNT(faults.seed, faults.plan.seed, 0, UINT64_MAX), CHOICE, "1", "seed of the faults that have a rate"},
    {TIME(faults.ecc_latency, hbm.ecc_latency_ps, MS), CHOICE, "10 ns", "latency added to a read that ECC corrects"},

    {TEXT(workload.kernel, workload.kernel, WORD), CHOICE, "qkv_gemm", "kernel that every PE runs"},
    {COUNT(workload.elements_per_pe, workload.elements_per_pe, 1, UINT64_C(1) << 32), CHOICE, "4096",
     "problem size of the vector kernels"},
    {COUNT(workload.seed, workload.seed, 0, UINT64_MAX), CHOICE, "1", "seed of the workload's random numbers"},
    {COUNT(workload.asid, workload.asid, 0, 65535), "KernBench has none", "0",
     "address space of the workload; below mmu.asids"},

    /* of a module that stands alone */
    {SIZE(hbm.capacity, hbm.capacity, 4 * KIB, TLA_HBM_WINDOW_BYTES), "hbm.capacity_per_cube / system.pes_per_cube",
     "6 GiB", "HBM of the slice, in place of hbm.capacity_per_cube"},
    {BOOLEAN(tcm.present, tcm_present), "tlmalloc's choice: as in a PE", "true", "false: the controller has no TCM"},
};
const size_t tla_module_key_count = sizeof tla_platform_keys / sizeof tla_platform_keys[0];
const size_t tla_platform_key_count = sizeof tla_platform_keys / sizeof tla_platform_keys[0] - 2;
