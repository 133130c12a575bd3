/* Every key of a platform: unit, range, default, the source of the default, what it means, and the member that it
 * fills. Nothing else in the project states a default. In a section plain keys stand before sub-sections. */
#define ROW_STRUCT tla_config
#include "platform.h"
#include "platform_words.h"

#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/kernel/message_queue.h"

#define VA_MAX (UINT64_C(1) << 56)

#define CHOICE "tlmalloc's choice"
#define CHOICE_ENGINE "tlmalloc's choice: a hardware free-list engine at 1 GHz"
#define LIST_IN_RTL "cycles of model/rtl/first_fit.sv at 1 GHz"

#define CHOICE_SIZES "tlmalloc's choice: in proportion to the memory"
#define CHOICE_CLEARED "tlmalloc's choice: a chunk is cleared at 128 GB/s"
#define CHOICE_FRONT "assumption: an access of a front's own table or list, a cycle; no front is built in RTL"

/* The sizes of a front (stack.h). */
#define FRONT(section, kind, most, source, segment_default, slot_default, buffers_default, lazy_source,                \
              initial_default, chunk_default, commit_default, chunk_time_default)                                      \
    {SIZE(controller.section.segment, controller.memory.of[kind].front.segment, 10 * KIB, most), source,               \
     segment_default,                                                                                                  \
     "segment_cache: segment for requests up to half of it; small ones, up to 1/20, have segments of 1/10, large "     \
     "ones "                                                                                                           \
     "their own; a multiple of 10 KiB"},                                                                               \
        {SIZE(controller.section.slot, controller.memory.of[kind].front.slot, 1, most), CHOICE_SIZES, slot_default,    \
         "slot_pool: a slot; divides what can be allocated"},                                                          \
        {SIZE(controller.section.buffers, controller.memory.of[kind].front.buffers, 0, most), CHOICE_SIZES,            \
         buffers_default,                                                                                              \
         "mixed: for plain buffers alone, at the end of the memory; less than what can be allocated"},                 \
        {SIZE(controller.section.initial, controller.memory.of[kind].front.initial, 0, most), CHOICE_SIZES,            \
         initial_default, "lazy: there from the beginning; a multiple of chunk"},                                      \
        {SIZE(controller.section.chunk, controller.memory.of[kind].front.chunk, 1, most), lazy_source, chunk_default,  \
         "lazy: pinned in one go; divides what can be allocated"},                                                     \
        {SIZE(controller.section.commit, controller.memory.of[kind].front.commit, 1, most), lazy_source,               \
         commit_default, "lazy: can be allocated once it is pinned as a whole; a multiple of chunk"},                  \
    {                                                                                                                  \
        TIME(controller.section.chunk_time, controller.memory.of[kind].front.chunk_ps, S), CHOICE_CLEARED,             \
            chunk_time_default,                                                                                        \
            "lazy: to pin a chunk, from the beginning of time on; 0: the whole memory is there then"                   \
    }

/* A price of cost.h: the key is that of the member without its _ps. */
#define COST(section, event, default_price, source, meaning)                                                           \
    { TIME(section.cost.event, section.cost.event##_ps, S), source, default_price, meaning }

/* Cycles of a class of instructions (engine.h). */
#define FIRMWARE(kind, low, default_cycles, meaning)                                                                   \
    {                                                                                                                  \
        CYCLES(controller.firmware.kind, controller.firmware.kind, low, 1000),                                         \
            "the class of Ibex, by the stall cycles of its documentation", default_cycles, "firmware: cycles " meaning \
    }

const tla_schema_key tla_platform_keys[] = {
    {COUNT(system.sips, system.sips, 1, TLA_SIP_COUNT), "tlmalloc's choice: the smallest platform; KernBench has 2",
     "1", "SIPs (packages)"},
    {COUNT(system.cube_mesh_width, system.cube_mesh_width, 1, TLA_CUBE_DIE_COUNT), "tlmalloc's choice; KernBench has 4",
     "1", "cubes of a SIP, in a row; width * height is at most 16"},
    {COUNT(system.cube_mesh_height, system.cube_mesh_height, 1, TLA_CUBE_DIE_COUNT),
     "tlmalloc's choice; KernBench has 4", "1", "rows of cubes of a SIP"},
    {COUNT(system.pes_per_cube, system.pes_per_cube, 1, TLA_PE_COUNT), "tlmalloc's choice; KernBench has 8", "4",
     "PEs (processing elements) of a cube"},
    {NAMED(system.sip_topology, topology.sip_topology, tla_sip_topology), "KernBench builder: fabric.switch0", "switch",
     "how the end points of SIPs are linked: by a switch; in a ring; torus: in a grid with its ends joined; mesh: in a "
     "grid"},
    {COUNT(system.sip_grid_width, topology.sip_grid_width, 0, TLA_SIP_COUNT), "KernBench ADR-0032: else square", "0",
     "torus, mesh: SIPs in a row; 0: as square as it can be"},
    {TEXT(system.topology_file, system.topology_file, NAME_OF_FILE), CHOICE, "none",
     "a file, relative to this one, that lists all nodes and links; then the shape is not used: system.sip_topology, "
     "cube, io_chiplet, and of links all but links.flit and links.wire"},

    {SIZE(hbm.capacity_per_cube, system.hbm_per_cube, 4 * KIB, TLA_HBM_WINDOW_BYTES),
     "KernBench ADR-0019: 6 GiB per PE, for 4 PEs", "24 GiB", "HBM of a cube; every PE owns an equal slice"},
    {COUNT_POWER(hbm.pseudo_channels, hbm.pseudo_channels, 1, 256), "KernBench ADR-0019, ADR-0033", "8",
     "pseudo-channels of a slice"},
    {BANDWIDTH(hbm.pseudo_channel_bandwidth, hbm.pseudo_channel_bandwidth), "KernBench ADR-0019", "32 GB/s",
     "of one pseudo-channel"},
    {SIZE_POWER(hbm.burst, hbm.burst, 1, 64 * KIB), "KernBench ADR-0033: burst = flit", "256 B",
     "interleave of the pseudo-channels, and the unit of their time"},
    {TIME(hbm.direction_switch, hbm.direction_switch_ps, MS), "KernBench ADR-0033", "0 ns",
     "penalty when a pseudo-channel turns from reads to writes or back"},
    {TIME(hbm.controller_latency, hbm.latency_ps, MS), "KernBench latency model: hbm_ctrl 0", "0 ns",
     "added to every access to a slice"},
    {TEXT(hbm.timing, hbm_timing.name, TIMING), "KernBench ADR-0033: no banks, rows or refresh", "channels",
     "channels: a timeline for each pseudo-channel, by the keys above; else each is timed by a profile (hbm2, hbm3, or "
     "a file, relative to this one), which has its own burst, interleave, bandwidth and turnaround"},
    {SIZE(hbm.base, controller.memory.of[TLA_HBM].base, 0, UINT64_MAX), "tlmalloc's choice: KernBench has none", "0 B",
     "controller.addresses plain: where the slice's first byte has its address; a multiple of controller.alignment"},

    {SIZE(tcm.capacity, tcm.capacity, KIB, TLA_SUB_UNIT_BYTES), "KernBench topology, ADR-0040", "16 MiB",
     "TCM of a PE"},
    {SIZE(tcm.scheduler_reserve, controller.memory.of[TLA_TCM].reserved, 0, TLA_SUB_UNIT_BYTES),
     "tlmalloc's choice: KernBench keeps one (ADR-0014)", "1 MiB",
     "top of the TCM that the allocator never gives out; less than tcm.capacity"},
    {BANDWIDTH(tcm.read_bandwidth, tcm.read_bandwidth), "KernBench topology, ADR-0040", "512 GB/s",
     "of the read channel"},
    {BANDWIDTH(tcm.write_bandwidth, tcm.write_bandwidth), "KernBench topology, ADR-0040", "512 GB/s",
     "of the write channel"},
    {TIME(tcm.latency, tcm.latency_ps, MS), "KernBench ADR-0040: time is bytes / bandwidth", "0 ns",
     "added to every access"},
    {SIZE(tcm.base, controller.memory.of[TLA_TCM].base, 0, UINT64_MAX), "tlmalloc's choice: KernBench has none", "0 B",
     "controller.addresses plain: as hbm.base, of the TCM; the two do not overlap"},

    {SIZE(sram.capacity, sram.capacity, KIB, TLA_SUB_UNIT_BYTES), "tlmalloc's choice: KernBench's is not published",
     "32 MiB", "SRAM of a cube"},
    {BANDWIDTH(sram.read_bandwidth, sram.read_bandwidth), "KernBench, fitted to its all-reduce in SRAM", "512 GB/s",
     "of the read channel, behind links.sram_bandwidth"},
    {BANDWIDTH(sram.write_bandwidth, sram.write_bandwidth), "KernBench, fitted to its all-reduce in SRAM", "512 GB/s",
     "of the write channel, behind links.sram_bandwidth"},
    {TIME(sram.latency, sram.latency_ps, MS), "KernBench commit 84a1325: setup of an access to SRAM", "2 ns",
     "added to every access"},

    {SIZE(m_cpu_memory.capacity, m_cpu_memory.capacity, KIB, TLA_M_CPU_MEMORY_BYTES),
     "tlmalloc's choice: KernBench's is not published", "1 MiB", "memory of a cube's M_CPU"},
    {BANDWIDTH(m_cpu_memory.read_bandwidth, m_cpu_memory.read_bandwidth), "tlmalloc's choice: as the SRAM", "512 GB/s",
     "of the read channel"},
    {BANDWIDTH(m_cpu_memory.write_bandwidth, m_cpu_memory.write_bandwidth), "tlmalloc's choice: as the SRAM",
     "512 GB/s", "of the write channel"},
    {TIME(m_cpu_memory.latency, m_cpu_memory.latency_ps, MS), "tlmalloc's choice: as the SRAM", "2 ns",
     "added to every access"},

    {SIZE(host_memory.capacity, host_memory.capacity, 0, TLA_HOST_MEMORY_BYTES), "KernBench has none", "0 B",
     "memory of the host, on its side of the link, for tensors that no cube holds; 0 B: it has none"},
    {COUNT_POWER(host_memory.channels, host_memory.pseudo_channels, 1, 256),
     "Intel Xeon Scalable, 4th generation: 8 of DDR5", "8", "channels, each for reads and writes"},
    {BANDWIDTH(host_memory.channel_bandwidth, host_memory.pseudo_channel_bandwidth),
     "JEDEC JESD79-5, DDR5-4800: 8 B x 4800 MT/s", "38.4 GB/s", "of one channel"},
    {SIZE_POWER(host_memory.interleave, host_memory.burst, 1, 64 * KIB), "tlmalloc's choice: as the HBM's burst",
     "256 B", "interleave of the channels, and the unit of their time"},
    {TIME(host_memory.direction_switch, host_memory.direction_switch_ps, MS), "tlmalloc's choice: as the HBM's", "0 ns",
     "penalty when a channel turns from reads to writes or back"},
    {TIME(host_memory.latency, host_memory.latency_ps, MS),
     "JEDEC JESD79-5, DDR5-4800B: tRCD and CL, 39 and 40 clocks at 2.4 GHz", "32.9 ns",
     "added to every access; the host's caches and cores are not on the way"},

    {COUNT(controller.ports, controller.ports, TLA_PORT_OF_PE + 1, 4096), CHOICE, "16",
     "command windows of a memory controller; at least 3 with controller.lockstep, 4 with mmu.walk memory, 5 with "
     "mmu.unmapped demand, 6 with a kernel that sends messages (unless messages.memory is sram)"},
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
     "kernbench: 51 bits that say SIP, cube and PE; plain: hbm.base and tcm.base plus the offset, for a controller "
     "that stands alone in a platform of one's own: an npu is refused"},
    {BOOLEAN(controller.validate, controller.memory.validate),
     "KernBench ADR-0048 D2: callers are trusted; A2 suggests a debug switch", "false",
     "true: frees are checked against the live blocks, and an error names the block's owner"},
    {NAMED(controller.lockstep, controller.lockstep, tla_lockstep_scope),
     "tlmalloc's choice: as ADR-0048; cube: tt-metal", "off",
     "who places blocks in HBM slices: each controller its own; one decision of the M_CPU for all slices of a cube, or "
     "of "
     "the IO_CPU for a SIP, at the same offset in each"},
    {NAMED(controller.free_list, controller.free_list, tla_free_list_place), CHOICE_ENGINE, "registers",
     "where the nodes of the free lists are: registers; sram (a time for each access); hbm (of the HBM's list: real "
     "accesses to the slice); the last two need first, best, next or worst fit"},
    {TIME(controller.node_latency, controller.node_latency_ps, MS), CHOICE_ENGINE, "1 ns",
     "sram: an access to a node; hbm: a read that the node cache serves"},
    {SIZE(controller.list_reserve, controller.list_reserve, 32, GIB), "tlmalloc's choice: 65536 nodes of 16 B", "1 MiB",
     "nodes of a list in memory, of each memory; hbm: the top of the slice that holds them and is never given out; "
     "less than the slice"},
    {COUNT(controller.node_cache, controller.node_cache, 0, 1 << 20), CHOICE, "0",
     "hbm: nodes that a cache in front holds"},
    {NAMED(controller.guard, controller.guard, tla_guard_mode), "tlmalloc's choice: KernBench does not check", "off",
     "accesses outside a live block, by a stranger, or of bytes never written: off, report (counted and a warning), "
     "error (refused too)"},
    {COUNT(controller.guard_history, controller.memory.guard_history, 0, 1 << 20), CHOICE, "1024",
     "freed blocks of a channel that a guard can name"},
    {BOOLEAN(controller.poison, controller.poison), CHOICE, "false",
     "true: freed bytes are filled with 0xDD, in no time"},
    {BOOLEAN(controller.object_signals, controller.object_signals), CHOICE, "false",
     "waveforms show the references to blocks, the pins on them and what is cached under keys"},
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
    {NAMED(controller.engine, controller.engine, tla_engine_kind), CHOICE, "model",
     "what is asked beside the core, and says how long a command takes: model, nothing, by the prices below; rtl, the "
     "engine of model/rtl for the memory's policy, clocked for every command: its cycles at controller.cost.clock; "
     "needs Verilator when tlmalloc was built, and first_fit, worst_fit or buddy; firmware, that of platform/firmware, "
     "run for every command by a RISC-V core: likewise, and first_fit or buddy; alone or below a front that keeps no "
     "list of its own"},
    {COUNT(controller.engine_nodes, controller.engine_nodes, 0, 1 << 20), CHOICE, "0",
     "free blocks that a list has nodes for: a free that needs one more is refused (TLA_LIMIT); 0: as many as there "
     "are (model), or as the engine has (rtl, firmware: 1024, and any number up to that)"},
    {COUNT(controller.engine_node_cycles, controller.engine_node_cycles, 1, 2), "model/rtl: both are built", "1",
     "rtl: cycles of a node of first fit; worst fit is built with 1"},
    {TEXT(controller.cost.profile, cost_profile, PRICES), LIST_IN_RTL "; the clock is an assumption", "rtl_list_1c",
     "whose prices those below are, but for what is written beside it: driver_bar_v100, "
     "driver_cuda_malloc, driver_cuda_vmm, driver_vfio_1g, fw_buddy, fw_list, ideal, rtl_buddy, "
     "rtl_list_1c, rtl_list_2c, rtl_worst_fit, or a file, relative to this one"},
    {ROW_LONG(controller.cost.clock, controller.cost.clock_ps, TLA_VALUE_TIME), 1, US, false, "an assumption", "1 ns",
     "period of the engine's clock: the prices of a profile are so many cycles, and a command begins at a cycle"},
    COST(controller, fixed, "1 ns", LIST_IN_RTL, "per command"),
    COST(controller, node, "1 ns", LIST_IN_RTL, "per free-list node visited by an allocation"),
    COST(controller, insert_node, "1 ns", LIST_IN_RTL, "per node that a linear ordered insert passes in a free"),
    COST(controller, probe, "0 ns", LIST_IN_RTL ": none there",
         "per probe of a binary search in a free, or of the lists and bitmaps of buddies and TLSF"),
    COST(controller, split, "0 ns", LIST_IN_RTL ": within node", "per block cut in two"),
    COST(controller, merge, "0 ns", LIST_IN_RTL ": within insert_node", "per neighbours joined"),
    COST(controller, metadata_line, "0 ns", LIST_IN_RTL ": none there", "per line of metadata touched in memory"),
    COST(controller, alloc, "0 ns", LIST_IN_RTL ": within fixed and node",
         "per range taken from the free list: what an allocation takes more than a free"),
    COST(controller, free, "2 ns", LIST_IN_RTL,
         "per range put on the free list: what a free takes more than an allocation"),
    COST(controller, node_created, "1 ns", LIST_IN_RTL, "per node of the list that comes into being"),
    COST(controller, node_released, "1 ns", LIST_IN_RTL, "per node of the list that goes"),
    COST(controller, walk, "0 ns", LIST_IN_RTL ": first fit has none",
         "worst fit: per walk for the next largest block, behind an answer; the next request waits for it"),
    COST(controller, walk_node, "0 ns", LIST_IN_RTL ": first fit has none",
         "worst fit: per free block that such a walk passes"),
    COST(controller, class_lookup, "1 ns", CHOICE_FRONT, "fronts: per size class looked up"),
    COST(controller, list_pop, "1 ns", CHOICE_FRONT, "fronts: per block taken from a list of theirs"),
    COST(controller, list_push, "1 ns", CHOICE_FRONT, "fronts: per block put on a list of theirs"),
    COST(controller, slot, "1 ns", CHOICE_FRONT, "fronts: per slot taken from the queue or given back"),
    COST(controller, driver_call, "1 ns", CHOICE_FRONT,
         "fronts: per request to the placement below, beside what that does"),
    FIRMWARE(instruction, 1, "1 tCK", "of an instruction of the core, to which its class adds"),
    FIRMWARE(load, 0, "1 tCK", "that a load adds: what the core waits for its memory and its mailbox"),
    FIRMWARE(store, 0, "1 tCK", "that a store adds"),
    FIRMWARE(taken_branch, 0, "2 tCK", "that a conditional branch adds when it is taken"),
    FIRMWARE(jump, 0, "1 tCK", "that a jump, a call or a return adds"),
    FIRMWARE(multiply, 0, "2 tCK", "that a multiplication adds"),
    FIRMWARE(divide, 0, "36 tCK", "that a division adds"),

    {SIZE_POWER(mmu.page_size, mmu.page_size, 4 * KIB, GIB), "KernBench ADR-0039: class default", "2 MiB",
     "page size of the PE MMUs"},
    {TIME(mmu.overhead, mmu.overhead_ps, MS), "KernBench topology (tlb_overhead_ns); ADR-0039 has 0", "0.5 ns",
     "per translated access"},
    {NAMED(mmu.unmapped, mmu.unmapped, tla_unmapped),
     "tlmalloc's choice; KernBench's PE_DMA takes the number for a physical address (pa_fallback)", "error",
     "what an access to an unmapped virtual address does"},
    {TIME(mmu.fault_latency, host.fault_latency_ps, S), "UVMSmart: far fault, 66645 cycles = 45 us", "45 us",
     "with mmu.unmapped demand: from the fault to the host and back, without allocating and mapping"},
    {BOOLEAN(mmu.allow_remap, mmu.allow_remap), "tlmalloc's choice: a bug should show", "false",
     "false: a mapping that overlaps one is an error; true: the last one wins"},
    {BOOLEAN(mmu.pages_64k, pages.size_64k), "tlmalloc's choice: KernBench has one size", "false",
     "pages of 64 KiB beside the smaller ones"},
    {BOOLEAN(mmu.pages_2m, pages.size_2m), "tlmalloc's choice: KernBench has one size", "false",
     "pages of 2 MiB beside the smaller ones"},
    {BOOLEAN(mmu.pages_1g, pages.size_1g), "tlmalloc's choice: KernBench has one size", "false",
     "pages of 1 GiB beside the smaller ones"},
    {COUNT(mmu.va_bits, mmu.va_bits, 32, 64), "tlmalloc's choice: 4 levels of 4 KiB pages; Intel NPU (ivpu)", "48",
     "width of a virtual address: what the tables cover"},
    {COUNT(mmu.asids, mmu.asids, 1, 65536), "KernBench has none", "1", "address spaces"},
    {COUNT(mmu.ports, mmu.ports, TLA_PORT_OF_ABOVE + 1, 4096), CHOICE, "16", "command windows of an MMU"},
    {COUNT(mmu.queue_depth, mmu.queue_depth, 1, 256), CHOICE, "16", "commands that may wait for the mapping engine"},
    {NAMED(mmu.walk, mmu.walk, tla_walk_mode), "KernBench ADR-0039: no TLB capacity, no walks", "ideal",
     "ideal: translated in no time but mmu.overhead; flat: TLB and walkers, a latency for each level; memory: every "
     "level is a read of the PE's HBM slice"},
    {COUNT(mmu.tlb_seed, mmu.tlb_seed, 0, UINT64_MAX), CHOICE, "1", "of the random replacement"},
    {COUNT(mmu.tlb_l1.entries, mmu.tlb_l1.entries, 0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "32",
     "0: there is no first level"},
    {COUNT(mmu.tlb_l1.ways, mmu.tlb_l1.ways, 0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "0", "0: fully associative"},
    {TIME(mmu.tlb_l1.latency, mmu.tlb_l1.latency_ps, MS), "gem5 GPU TLB: 1 cycle, at 1 GHz", "1 ns",
     "of a lookup, hit or miss"},
    {NAMED(mmu.tlb_l1.replacement, mmu.tlb_l1.replacement, tla_replacement), CHOICE, "lru",
     "which entry of a full set makes room"},
    {COUNT(mmu.tlb_l2.entries, mmu.tlb_l2.entries, 0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "2048",
     "0: there is no second level"},
    {COUNT(mmu.tlb_l2.ways, mmu.tlb_l2.ways, 0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "8",
     "0: fully associative"},
    {TIME(mmu.tlb_l2.latency, mmu.tlb_l2.latency_ps, MS), "mNPUsim dual_d.cfg: 5 cycles, at 1 GHz", "5 ns",
     "of a lookup, hit or miss"},
    {NAMED(mmu.tlb_l2.replacement, mmu.tlb_l2.replacement, tla_replacement), CHOICE, "lru",
     "which entry of a full set makes room"},
    {COUNT(mmu.walkers.count, mmu.walkers.walkers, 1, TLA_WALKERS_MAX), "mNPUsim dual_d.cfg; NeuMMU's baseline IOMMU",
     "8", "walks that can be under way"},
    {COUNT(mmu.walkers.merge_slots, mmu.walkers.merge_slots, 0, 65536), "mNPUsim; NeuMMU (PRMB) has 32", "0",
     "misses of a page that may join one walk, more hold up only what follows to that page; 0: every miss walks"},
    {COUNT(mmu.walkers.cache_entries, mmu.walkers.walk_cache_entries, 0, TLA_WALK_CACHE_MAX), "mNPUsim: none", "0",
     "upper-level entries that are kept for all walkers"},
    {BOOLEAN(mmu.walkers.path_registers, mmu.walkers.path_registers), "mNPUsim: none; NeuMMU (TPreg) has them", "false",
     "every walker keeps the path of its last walk"},
    {BOOLEAN(mmu.walkers.hit_under_miss, mmu.walkers.hit_under_miss), CHOICE, "true",
     "false: nothing is looked up while a request waits for its walk"},
    {TIME(mmu.walkers.level_latency, mmu.walkers.level_ps, MS),
     "mNPUsim dual_d.cfg: 400 cycles = 4 steps x 100, at 1 GHz", "100 ns", "of one level, with mmu.walk flat"},
    COST(mmu, fixed, "10 ns", CHOICE, "per map or unmap command"),
    COST(mmu, chunk, "0 ns", CHOICE, "per physically contiguous range mapped or unmapped"),
    COST(mmu, pte_write, "1 ns", CHOICE, "per page-table entry or sub-page region written or cleared"),
    COST(mmu, table_level, "0 ns", CHOICE, "per page-table level read"),
    COST(mmu, invalidate, "5 ns", CHOICE, "per TLB invalidation"),

    {SIZE(va.base, va.space.base.value, 0, VA_MAX), "KernBench ADR-0048 D4", "4 GiB",
     "first address of the virtual range; a multiple of va.page_size"},
    {SIZE(va.size, va.space.nbytes, 4 * KIB, VA_MAX), "KernBench ADR-0048 D4", "64 GiB",
     "bytes of the virtual range; a multiple of va.page_size"},
    {SIZE_POWER(va.page_size, va.space.page_size, 4 * KIB, GIB), "KernBench ADR-0048 D4: context fallback", "4 KiB",
     "granule of virtual ranges; when it is not written and mmu.page_size is, it is mmu.page_size"},
    {NAMED(va.map_ack, va.map_ack, tla_map_ack), "tlmalloc's choice: nothing is used before it is there", "visible",
     "when a mapping is acknowledged: visible, every MMU has done it; posted, it has been sent"},
    COST(va, fixed, "10 ns", CHOICE, "per allocation or free of a virtual range"),
    COST(va, node, "1 ns", CHOICE, "per free-list node visited by an allocation"),
    COST(va, insert_node, "0 ns", CHOICE, "per node that a linear ordered insert passes in a free"),
    COST(va, probe, "0 ns", CHOICE, "per probe of the binary search in a free"),
    COST(va, split, "0 ns", CHOICE, "per block cut in two"),
    COST(va, merge, "0 ns", CHOICE, "per neighbours joined"),
    COST(va, free, "0 ns", CHOICE, "per range put on the free list: what a free takes more than an allocation"),
    COST(va, node_created, "0 ns", CHOICE, "per node of the list that comes into being"),
    COST(va, node_released, "0 ns", CHOICE, "per node of the list that goes"),

    {TIME(command_processor.io_cpu_overhead, io_cpu.overhead_ps, MS), "KernBench latency model: io_cpu", "10 ns",
     "IO_CPU of a SIP, per command that it fans out to its cubes"},
    {TIME(command_processor.m_cpu_overhead, m_cpu.overhead_ps, MS), "KernBench latency model: m_cpu", "5 ns",
     "M_CPU of a cube, per command that it fans out to its PEs"},

    {COUNT(cube.mesh_columns, topology.mesh_columns, 1, TLA_MESH_MAX), "KernBench cube_mesh.yaml: 6 x 6", "6",
     "routers in a row of a cube's mesh"},
    {COUNT(cube.mesh_rows, topology.mesh_rows, 1, TLA_MESH_MAX), "KernBench cube_mesh.yaml: 6 x 6", "6",
     "rows of routers of a cube's mesh"},
    {TEXT(cube.mesh_hole, topology.mesh_hole, HOLE), "KernBench cube_mesh.yaml: r2c2, r2c3, r3c2, r3c3", "centre",
     "where there are no routers; centre: the 2 x 2 in the middle of a mesh of 6 x 6 or more"},
    {TEXT(cube.pe_places, topology.pe_places, PE_PLACES),
     "KernBench cube.pe_layout: r0c0 r0c1 r1c4 r1c5 r4c0 r4c1 "
     "r5c4 r5c5",
     "corners",
     "the router of each PE and of its HBM slice; corners: as KernBench's, up to 4 in each corner (in a mesh "
     "below 4 x 4: row by row)"},
    {TEXT(cube.m_cpu_place, topology.m_cpu_place, PLACE(check_m_cpu_place)), "KernBench cube_mesh.yaml: r0c2", "auto",
     "the router of the M_CPU; auto: in row 0, a third of the way"},
    {TEXT(cube.sram_place, topology.sram_place, PLACE(check_sram_place)), "KernBench cube_mesh.yaml: r3c0", "auto",
     "the router of the SRAM; auto: in column 0, half way down"},
    {COUNT(cube.connections, topology.connections, 1, TLA_CONNECTIONS_MAX), "KernBench: n_connections", "4",
     "connections of each UCIe port, of cubes and of IO chiplets"},
    {TEXT(cube.connection_places, topology.connection_places, CONNECTIONS),
     "tlmalloc's choice; KernBench's ucie-W.conn0 is at r0c0, the others are not published", "spread",
     "where the connections of a side lead to, rows of E and W and columns of N and S; spread: from one end to the "
     "other, corners included"},
    {LENGTH(cube.router_pitch, topology.router_pitch_um, 0, 100 * MM),
     "tlmalloc's choice; KernBench's M_CPU at 7.5 mm and SRAM at 1.5 mm are columns 2 and 0 then", "3 mm",
     "from one router to the next"},
    {TIME(cube.router_overhead, topology.router_overhead_ps, MS), "fitted: KernBench's 77 ns and 82 ns", "2 ns",
     "of a router, per transaction"},

    {TEXT(io_chiplet.phy_faces, topology.phy_faces, FACES),
     "tlmalloc's choice; KernBench has 4 PHYs, faces are not "
     "published",
     "west", "the side of a cube that each PHY faces; west: of the cubes of the first column, up to 4"},
    {TIME(io_chiplet.pcie_overhead, topology.pcie_overhead_ps, MS), "KernBench latency model: pcie_ep", "5 ns",
     "of the PCIe end point, which collects a transaction before it passes it on"},
    {BANDWIDTH(io_chiplet.bandwidth, topology.io_bandwidth), "fitted: KernBench's 65.53 ns, 1 ns of fill for a flit",
     "768 GB/s", "of each link in the chiplet: end point to network, network to connection, connection to PHY"},

    {NAMED(links.routing, topology.routing, tla_routing), CHOICE, "straight",
     "which ways are short: straight, along the mesh, from cube to cube at the first connection of a port and into the "
     "last at the nearest; free_ports, as KernBench's: ports are shortcuts inside a cube, too"},
    {SIZE(links.flit, topology.flit, 1, 64 * KIB), "KernBench ADR-0033", "256 B", "what links carry at a time"},
    {TIME(links.wire, topology.wire_ps_per_mm, US), "KernBench: ns_per_mm 0.01", "10 ps", "of a millimetre of wire"},
    {BANDWIDTH(links.router_bandwidth, topology.router_bandwidth), "fitted: KernBench's 77 ns and 82 ns", "256 GB/s",
     "router to router"},
    {BANDWIDTH(links.pe_bandwidth, topology.pe_bandwidth), "fitted: KernBench's 77 ns and 82 ns", "256 GB/s",
     "PE, or M_CPU, to its router"},
    {BANDWIDTH(links.hbm_bandwidth, topology.hbm_bandwidth), "KernBench ADR-0017: hbm_to_router", "256 GB/s",
     "HBM controller of a slice to its router"},
    {BANDWIDTH(links.sram_bandwidth, topology.sram_bandwidth), "KernBench topology: sram_to_router", "128 GB/s",
     "SRAM to its router"},
    {BANDWIDTH(links.connection_bandwidth, topology.connection_bandwidth), "fitted: KernBench's 573 ns", "128 GB/s",
     "router to a connection of a UCIe port"},
    {BANDWIDTH(links.port_bandwidth, topology.port_bandwidth), "KernBench ADR-0016: 4 x 128 GB/s a side", "128 GB/s",
     "a connection to its UCIe port"},
    {BANDWIDTH(links.ucie_bandwidth, topology.ucie_bandwidth), "KernBench ADR-0016: UCIe, 4 x 128 GB/s a side",
     "512 GB/s", "a UCIe port to the one that it faces"},
    {LENGTH(links.ucie_length, topology.ucie_length_um, 0, 100 * MM), "tlmalloc's choice; KernBench's is near 0",
     "1 mm", "from a UCIe port to the one that it faces"},
    {TIME(links.ucie_overhead, topology.ucie_overhead_ps, MS), "KernBench latency model: UCIe, 8 ns a port", "8 ns",
     "of a UCIe port, of a cube or an IO chiplet, per transaction"},
    {BANDWIDTH(links.pcie_bandwidth, topology.pcie_bandwidth), "tlmalloc's choice; KernBench's 409 ns wants above 256",
     "512 GB/s", "PCIe end point to the switch, or to another SIP's"},
    {TIME(links.switch_overhead, topology.switch_overhead_ps, MS), "KernBench latency model: fabric switch", "5 ns",
     "of the switch between SIPs, per transaction"},
    {BANDWIDTH(links.host_bandwidth, topology.host_bandwidth), "tlmalloc's choice: PCIe 5.0 x16", "64 GB/s",
     "host to the PCIe end point of each SIP"},
    {BANDWIDTH(links.host_memory_bandwidth, topology.host_memory_bandwidth),
     "tlmalloc's choice: above its memory's 8 x 38.4 GB/s", "512 GB/s", "host to its memory, where it has one"},

    {SIZE(dma.chunk, dma.chunk, 1, GIB), "KernBench ADR-0033: the flit", "256 B",
     "a transfer moves in pieces of this size"},
    {BANDWIDTH(dma.bandwidth, dma.bandwidth), "KernBench ADR-0017: one flit a ns", "256 GB/s",
     "at which a channel issues"},
    {COUNT(dma.outstanding, dma.outstanding, 1, 65536), CHOICE, "256", "chunks of a channel that may be under way"},

    {TIME(pe.launch, pe.launch_ps, MS), "KernBench latency model: pe_cpu", "2 ns",
     "from the launch command to the kernel"},
    {TIME(pe.dispatch, pe.dispatch_ps, MS), "KernBench ADR-0046: 1 cycle, at 1 GHz", "1 ns",
     "per call that a kernel makes"},
    {RATE(pe.gemm_rate, pe.gemm_rate), "KernBench topology: peak_tflops_f16", "8 TFLOPS",
     "of the GEMM engine; a multiply-add is two operations"},
    {RATE(pe.vector_rate, pe.vector_rate), CHOICE, "1 TFLOPS", "of the vector engine"},
    {TIME(pe.scheduler, pe.scheduler_ps, MS), "KernBench topology: pe_scheduler overhead", "1 ns",
     "of the scheduler, for each tile of a composite"},
    {COUNT(pe.tile_m, pe.tile_m, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "32",
     "rows of a composite's tiles"},
    {COUNT(pe.tile_k, pe.tile_k, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "64",
     "products that are summed in a tile"},
    {COUNT(pe.tile_n, pe.tile_n, 1, 65536), "KernBench: tile M, K, N = 32, 64, 32", "32",
     "columns of a composite's tiles"},
    {COUNT(pe.pipeline_depth, pe.pipeline_depth, 1, 64), CHOICE, "2",
     "tile buffers in the TCM for each operand and result of a composite, register sets, accumulators"},
    {COUNT(pe.outstanding, pe.outstanding, 1, 65536), CHOICE, "64",
     "asynchronous operations of a kernel that it may have begun and not waited for"},
    {SIZE(pe.stack, pe.stack, 16 * KIB, GIB), CHOICE, "256 KiB", "a kernel's stack"},
    {SIZE(pe.scratch, pe.scratch, 0, TLA_SUB_UNIT_BYTES), "KernBench ADR-0046: 1 MiB for each kernel", "1 MiB",
     "of the TCM, for the scratch tiles of a kernel; allocated by its first tl_scratch, freed when it returns"},
    {TIME(pe.time_limit, pe.time_limit_ps, 1000 * S), CHOICE, "1 s",
     "of simulated time, after which a kernel is ended in its call, or by its next one; 0: none"},
    {TIME(pe.host_limit, pe.host_limit_ps, 86400 * S), CHOICE, "10 s",
     "of real time, after which a kernel is ended that makes no call, and the same on other PEs at once; and kernels "
     "that wait while nothing moves; 0: none"},

    {COUNT(messages.slots, messages.slots, 1, TLA_MESSAGE_SLOTS_MAX), "KernBench ADR-0023: n_slots", "4",
     "slots of each direction between two PEs, in the receiver's memory; allocated when the first message is sent"},
    {SIZE(messages.slot_size, messages.slot_size, 64, 8 * MIB), "KernBench ADR-0023: slot_size", "4 KiB",
     "a slot; a longer message takes several, one after the other. All slots of a direction have at most 8 MiB"},
    {SIZE(messages.credit, messages.credit_bytes, 1, 256), "KernBench ADR-0023", "16 B",
     "of a credit, and of what else PEs tell each other about their slots, on its way"},
    {NAMED(messages.memory, messages.memory, tla_slot_memory), "KernBench ADR-0023: buffer_kind", "tcm",
     "where slots are allocated: the receiver's TCM, its HBM slice, the SRAM of its cube"},
    {NAMED(messages.back_pressure, messages.back_pressure, tla_back_pressure), "KernBench ADR-0023", "sleep",
     "how a sender waits for a credit: sleep, until one comes; poll, it looks every poll_interval"},
    {SHORT_TIME(messages.poll_interval, messages.poll_ps, 1, MS), CHOICE, "100 ns", "poll: from one look to the next"},
    {NAMED(messages.costs, messages.costs, tla_slot_costs), "tlmalloc's choice: nothing is fitted", "memory",
     "what slots cost: what their memory and the way to it take; or, to compare with figures that it publishes, a "
     "table of KernBench's for each write and read of a whole piece, and a tl_recv waits until its credit is back: "
     "kernbench (CSV A), kernbench_hop (CSV B, with the hop to the bank). Give slots the size of the messages then"},
    {BOOLEAN(messages.signals, messages.signals), "tlmalloc's choice: 6 signals a PE", "false",
     "waveforms show every PE's slots, and when its kernel waits for credits and messages"},

    {NAMED(collectives.algorithm, pe.collectives.algorithm, tl_algorithm),
     CHOICE ", for KernBench's ccl.yaml (ADR-0047)", "ring",
     "how all-reduces go: around the ring of all ranks; torus_2d, around the rings of the columns of their grid, "
     "then of its rows; mesh_2d, along rows, then along a column, to the rank in the middle and back; "
     "hierarchical, that within a cube, between the cubes of a SIP, and between SIPs"},
    {COUNT(collectives.world_size, pe.collectives.world_size, 0, 65536), "KernBench ADR-0047: defaults, then topology",
     "0", "programs that take part, the first of a launch; 0: all of it"},
    {COUNT(collectives.columns, pe.collectives.columns, 0, 65536), CHOICE, "0",
     "torus_2d, mesh_2d: ranks in a row of their grid; 0: as square as it can be"},

    {SIZE(host.dma_chunk, host.dma_chunk, 1, GIB), CHOICE, "4 KiB", "host transfers move in pieces of this size"},
    {COUNT(host.retries, host.retry.retries, 0, 1000000), CHOICE, "3",
     "how often a command that is refused for now is sent again: by the host, a PE's tl_alloc and tl_free, an MMU that "
     "allocates and frees tables; LAUNCH is not"},
    {TIME(host.retry_delay, host.retry.delay_ps, S), CHOICE, "1 us", "from a refusal to the next try"},
    {NAMED(host.driver, host.driver.kind, tla_host_driver_kind),
     "tlmalloc's choice: the controllers allocate themselves", "none",
     "who allocates memory for the host: none, the memories' controllers alone, as for kernels; a driver whose calls "
     "wait for one lock of the process (serial), for one of each SIP (per_device), or for none, and the SIP does what "
     "they ask for in its own time (asynchronous)"},
    {TIME(host.driver_alloc, host.driver.alloc_ps, S), "cuda-mempool: cudaMalloc of 64 KB", "180 us",
     "of a driver: a call that allocates, its command to the controller included"},
    {TIME(host.driver_free, host.driver.free_ps, S), "Cytnx: cudaFree, no kernel running", "14 us",
     "of a driver: a call that frees, its command to the controller included"},
    {BOOLEAN(host.driver_synchronous, host.driver.synchronous), CHOICE, "false",
     "of a driver: a call begins when the SIP has done what it was given before; not with asynchronous"},
    {NAMED(host.pool, host.pool, tla_host_pool), "tlmalloc's choice: nothing is kept", "none",
     "what the host keeps for its next allocations: none, or a caching_pool for each memory, in front of the driver"},

    {TIME(simulation.quantum, simulation.quantum_ps, S), "tlmalloc's choice: no decoupling", "0 ns",
     "how far the event queue may run ahead of simulated time; results do not depend on it; if 0, `tlmalloc run` uses "
     "1 us"},
    {TIME(simulation.look_ahead, simulation.look_ahead_ps, MS), "tlmalloc's choice: nothing is passed", "0 ns",
     "how far an access of a foreign initiator may pass events that are due elsewhere; what then comes late is served "
     "late, and counted"},
    {BOOLEAN(simulation.link_signals, simulation.link_signals), "tlmalloc's choice: 6,528 of KernBench's links",
     "false", "waveforms show every link of the fabric by itself too, and not only those of a cube by their kinds"},

    {TEXT(faults.plan, faults.text, FAULT_PLAN), "tlmalloc's choice: nothing fails", "none",
     "faults that are injected, such as \"uncorrectable address=0x1000 pe=0; channel_out channel=3 at=10us; refuse "
     "rate=500\""},
    {COUNT(faults.seed, faults.plan.seed, 0, UINT64_MAX), CHOICE, "1", "of the faults that have a rate"},
    {TIME(faults.ecc_latency, hbm.ecc_latency_ps, MS), CHOICE, "10 ns", "added to a read that ECC corrects"},

    {TEXT(workload.kernel, workload.kernel, WORD), CHOICE, "qkv_gemm", "the kernel that every PE runs"},
    {COUNT(workload.elements_per_pe, workload.elements_per_pe, 1, UINT64_C(1) << 32), CHOICE, "4096",
     "problem size of the vector kernels"},
    {COUNT(workload.seed, workload.seed, 0, UINT64_MAX), CHOICE, "1", "of the workload's random numbers"},
    {COUNT(workload.asid, workload.asid, 0, 65535), "KernBench has none", "0",
     "address space of the workload; below mmu.asids"},
};
const size_t tla_platform_key_count = sizeof tla_platform_keys / sizeof tla_platform_keys[0];
