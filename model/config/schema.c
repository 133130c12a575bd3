/* Every key of a platform: unit, range, default, the source of the default, and what it means. Nothing else in the
 * project states a default. In a section plain keys stand before sub-sections. */
#include "schema.h"

#include "base/suggest.h"

#include "tlmalloc/base/phys_addr.h"

#include <assert.h>
#include <string.h>

#define KI UINT64_C(1024)
#define KIB KI
#define MIB (KI * KI)
#define GIB (KI * KI * KI)
#define K UINT64_C(1000)
#define NS K
#define US (K * K)
#define MS (K * K * K)
#define S (K * K * K * K)
#define MB_S (K * K)
#define TB_S (K * K * K * K)
#define GFLOPS (K * K * K)
#define TFLOPS (K * K * K * K)

#define VA_MAX (UINT64_C(1) << 56)

#define CHOICE "tlmalloc's choice"
#define CHOICE_ENGINE "tlmalloc's choice: a hardware free-list engine at 1 GHz"

#define KEY(member) #member, offsetof(tla_config, member)
#define COUNT(low, high) TLA_VALUE_COUNT, low, high, false
#define COUNT_POWER(low, high) TLA_VALUE_COUNT, low, high, true
#define SIZE(low, high) TLA_VALUE_SIZE, low, high, false
#define SIZE_POWER(low, high) TLA_VALUE_SIZE, low, high, true
#define TIME(high) TLA_VALUE_TIME, 0, high, false
#define BANDWIDTH TLA_VALUE_BANDWIDTH, MB_S, 1000 * TB_S, false
#define RATE TLA_VALUE_RATE, GFLOPS, 100000 * TFLOPS, false
#define BOOLEAN TLA_VALUE_BOOLEAN, 0, 1, false
#define POLICY TLA_VALUE_POLICY, 0, TLA_POLICY_COUNT - 1, false
#define UNMAPPED TLA_VALUE_UNMAPPED, 0, TLA_UNMAPPED_COUNT - 1, false
#define MAP_ACK TLA_VALUE_MAP_ACK, 0, TLA_MAP_ACK_POSTED, false
#define WALK TLA_VALUE_WALK, 0, TLA_WALK_MODE_COUNT - 1, false
#define REPLACEMENT TLA_VALUE_REPLACEMENT, 0, TLA_REPLACEMENT_COUNT - 1, false
#define GUARD TLA_VALUE_GUARD, 0, TLA_GUARD_ERROR, false
#define FREE_LIST TLA_VALUE_FREE_LIST, 0, TLA_LIST_HBM, false
#define TIME_STYLE TLA_VALUE_TIME_STYLE, 0, TLA_TIME_STYLE_COUNT - 1, false
#define FAULTS TLA_VALUE_FAULTS, 0, 0, false
#define NAME TLA_VALUE_NAME, 0, 0, false
#define TIMING TLA_VALUE_TIMING, 0, 0, false
/* A price of cost.h: the key is that of the member without its _ps. */
#define COST(section, event, default_price, source, meaning)                                                           \
    { #section ".cost." #event, offsetof(tla_config, section.cost.event##_ps), TIME(S), source, default_price, meaning }

const tla_schema_key tla_platform_keys[] = {
    {KEY(system.sips), COUNT(1, TLA_SIP_COUNT), "tlmalloc's choice: the smallest platform; KernBench has 2", "1",
     "SIPs (packages)"},
    {KEY(system.cube_mesh_width), COUNT(1, TLA_CUBE_DIE_COUNT), "tlmalloc's choice; KernBench has 4", "1",
     "cubes of a SIP, in a row; width * height is at most 16"},
    {KEY(system.cube_mesh_height), COUNT(1, TLA_CUBE_DIE_COUNT), "tlmalloc's choice; KernBench has 4", "1",
     "rows of cubes of a SIP"},
    {KEY(system.pes_per_cube), COUNT(1, TLA_PE_COUNT), "tlmalloc's choice; KernBench has 8", "4",
     "PEs (processing elements) of a cube"},

    {KEY(hbm.capacity_per_cube), SIZE(4 * KIB, TLA_HBM_WINDOW_BYTES), "KernBench ADR-0019: 6 GiB per PE, for 4 PEs",
     "24 GiB", "HBM of a cube; every PE owns an equal slice"},
    {KEY(hbm.pseudo_channels), COUNT_POWER(1, 256), "KernBench ADR-0019, ADR-0033", "8", "pseudo-channels of a slice"},
    {KEY(hbm.pseudo_channel_bandwidth), BANDWIDTH, "KernBench ADR-0019", "32 GB/s", "of one pseudo-channel"},
    {KEY(hbm.burst), SIZE_POWER(1, 64 * KIB), "KernBench ADR-0033: burst = flit", "256 B",
     "interleave of the pseudo-channels, and the unit of their time"},
    {KEY(hbm.direction_switch), TIME(MS), "KernBench ADR-0033", "0 ns",
     "penalty when a pseudo-channel turns from reads to writes or back"},
    {KEY(hbm.controller_latency), TIME(MS), "KernBench latency model: hbm_ctrl 0", "0 ns",
     "added to every access to a slice"},
    {KEY(hbm.timing), TIMING, "KernBench ADR-0033: no banks, rows or refresh", "channels",
     "channels: a timeline for each pseudo-channel, by the keys above; else each is timed by a profile (hbm2, hbm3, or "
     "a "
     "file, relative to this one), which has its own burst, interleave, bandwidth and turnaround"},

    {KEY(tcm.capacity), SIZE(KIB, TLA_SUB_UNIT_BYTES), "KernBench topology, ADR-0040", "16 MiB", "TCM of a PE"},
    {KEY(tcm.scheduler_reserve), SIZE(0, TLA_SUB_UNIT_BYTES), "tlmalloc's choice: KernBench keeps one (ADR-0014)",
     "1 MiB", "top of the TCM that the allocator never gives out; less than tcm.capacity"},
    {KEY(tcm.read_bandwidth), BANDWIDTH, "KernBench topology, ADR-0040", "512 GB/s", "of the read channel"},
    {KEY(tcm.write_bandwidth), BANDWIDTH, "KernBench topology, ADR-0040", "512 GB/s", "of the write channel"},
    {KEY(tcm.latency), TIME(MS), "KernBench ADR-0040: time is bytes / bandwidth", "0 ns", "added to every access"},

    {KEY(controller.ports), COUNT(TLA_PORT_OF_PE + 1, 4096), CHOICE, "16",
     "command windows of a memory controller; at least 4 with mmu.walk memory, 5 with mmu.unmapped demand"},
    {KEY(controller.queue_depth), COUNT(1, 256), CHOICE, "16", "commands that may wait for the allocation engine"},
    {KEY(controller.hbm_policy), POLICY, "KernBench ADR-0048 D1", "first_fit", "placement in the HBM slice"},
    {KEY(controller.tcm_policy), POLICY, "KernBench ADR-0048 D1", "first_fit", "placement in the TCM"},
    {KEY(controller.alignment), SIZE_POWER(1, GIB), "KernBench ADR-0048 D1: byte granular", "1 B",
     "sizes and offsets of allocations are multiples of it"},
    {KEY(controller.validate), BOOLEAN, "KernBench ADR-0048 D2: callers are trusted; A2 suggests a debug switch",
     "false", "true: frees are checked against the live blocks, and an error names the block's owner"},
    {KEY(controller.free_list), FREE_LIST, CHOICE_ENGINE, "registers",
     "where the nodes of the free lists are: registers; sram (a time for each access); hbm (of the HBM's list: real "
     "accesses to the slice); the last two need first, best, next or worst fit"},
    {KEY(controller.node_latency), TIME(MS), CHOICE_ENGINE, "1 ns",
     "sram: an access to a node; hbm: a read that the node cache serves"},
    {KEY(controller.list_reserve), SIZE(32, GIB), "tlmalloc's choice: 65536 nodes of 16 B", "1 MiB",
     "hbm: top of the slice that holds the nodes and is never given out; less than the slice"},
    {KEY(controller.node_cache), COUNT(0, 1 << 20), CHOICE, "0", "hbm: nodes that a cache in front holds"},
    {KEY(controller.guard), GUARD, "tlmalloc's choice: KernBench does not check", "off",
     "accesses outside a live block, by a stranger, or of bytes never written: off, report (counted and a warning), "
     "error (refused too)"},
    {KEY(controller.guard_history), COUNT(0, 1 << 20), CHOICE, "1024",
     "freed blocks of a channel that a guard can name"},
    {KEY(controller.poison), BOOLEAN, CHOICE, "false", "true: freed bytes are filled with 0xDD, in no time"},
    COST(controller, fixed, "10 ns", CHOICE_ENGINE, "per command"),
    COST(controller, node, "1 ns", CHOICE_ENGINE, "per free-list node visited by an allocation"),
    COST(controller, insert_node, "0 ns", CHOICE_ENGINE, "per node that a linear ordered insert passes in a free"),
    COST(controller, probe, "0 ns", CHOICE_ENGINE, "per probe of the binary search in a free"),
    COST(controller, split, "1 ns", CHOICE_ENGINE, "per block cut in two"),
    COST(controller, merge, "1 ns", CHOICE_ENGINE, "per neighbours joined"),
    COST(controller, metadata_line, "0 ns", CHOICE_ENGINE, "per line of metadata touched in memory"),

    {KEY(mmu.page_size), SIZE_POWER(4 * KIB, GIB), "KernBench ADR-0039: class default", "2 MiB",
     "page size of the PE MMUs"},
    {KEY(mmu.overhead), TIME(MS), "KernBench topology (tlb_overhead_ns); ADR-0039 has 0", "0.5 ns",
     "per translated access"},
    {KEY(mmu.unmapped), UNMAPPED,
     "tlmalloc's choice; KernBench's PE_DMA takes the number for a physical address (pa_fallback)", "error",
     "what an access to an unmapped virtual address does"},
    {KEY(mmu.fault_latency), TIME(S), "UVMSmart: far fault, 66645 cycles = 45 us", "45 us",
     "with mmu.unmapped demand: from the fault to the host and back, without allocating and mapping"},
    {KEY(mmu.allow_remap), BOOLEAN, "tlmalloc's choice: a bug should show", "false",
     "false: a mapping that overlaps one is an error; true: the last one wins"},
    {KEY(mmu.pages_64k), BOOLEAN, "tlmalloc's choice: KernBench has one size", "false",
     "pages of 64 KiB beside the smaller ones"},
    {KEY(mmu.pages_2m), BOOLEAN, "tlmalloc's choice: KernBench has one size", "false",
     "pages of 2 MiB beside the smaller ones"},
    {KEY(mmu.pages_1g), BOOLEAN, "tlmalloc's choice: KernBench has one size", "false",
     "pages of 1 GiB beside the smaller ones"},
    {KEY(mmu.va_bits), COUNT(32, 64), "tlmalloc's choice: 4 levels of 4 KiB pages; Intel NPU (ivpu)", "48",
     "width of a virtual address: what the tables cover"},
    {KEY(mmu.asids), COUNT(1, 65536), "KernBench has none", "1", "address spaces"},
    {KEY(mmu.ports), COUNT(TLA_PORT_OF_ABOVE + 1, 4096), CHOICE, "16", "command windows of an MMU"},
    {KEY(mmu.queue_depth), COUNT(1, 256), CHOICE, "16", "commands that may wait for the mapping engine"},
    {KEY(mmu.walk), WALK, "KernBench ADR-0039: no TLB capacity, no walks", "ideal",
     "ideal: translated in no time but mmu.overhead; flat: TLB and walkers, a latency for each level; memory: every "
     "level is a read of the PE's HBM slice"},
    {KEY(mmu.tlb_seed), COUNT(0, UINT64_MAX), CHOICE, "1", "of the random replacement"},
    {KEY(mmu.tlb_l1.entries), COUNT(0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "32", "0: there is no first level"},
    {KEY(mmu.tlb_l1.ways), COUNT(0, TLA_TLB_ENTRIES_MAX), "gem5 GPU TLB: L1", "0", "0: fully associative"},
    {KEY(mmu.tlb_l1.latency), TIME(MS), "gem5 GPU TLB: 1 cycle, at 1 GHz", "1 ns", "of a lookup, hit or miss"},
    {KEY(mmu.tlb_l1.replacement), REPLACEMENT, CHOICE, "lru", "which entry of a full set makes room"},
    {KEY(mmu.tlb_l2.entries), COUNT(0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "2048",
     "0: there is no second level"},
    {KEY(mmu.tlb_l2.ways), COUNT(0, TLA_TLB_ENTRIES_MAX), "mNPUsim dual_d.cfg: IOTLB", "8", "0: fully associative"},
    {KEY(mmu.tlb_l2.latency), TIME(MS), "mNPUsim dual_d.cfg: 5 cycles, at 1 GHz", "5 ns", "of a lookup, hit or miss"},
    {KEY(mmu.tlb_l2.replacement), REPLACEMENT, CHOICE, "lru", "which entry of a full set makes room"},
    {KEY(mmu.walkers.count), COUNT(1, TLA_WALKERS_MAX), "mNPUsim dual_d.cfg; NeuMMU's baseline IOMMU", "8",
     "walks that can be under way"},
    {KEY(mmu.walkers.merge_slots), COUNT(0, 65536), "mNPUsim; NeuMMU (PRMB) has 32", "0",
     "misses of a page that may join one walk, more hold up only what follows to that page; 0: every miss walks"},
    {KEY(mmu.walkers.cache_entries), COUNT(0, TLA_WALK_CACHE_MAX), "mNPUsim: none", "0",
     "upper-level entries that are kept for all walkers"},
    {KEY(mmu.walkers.path_registers), BOOLEAN, "mNPUsim: none; NeuMMU (TPreg) has them", "false",
     "every walker keeps the path of its last walk"},
    {KEY(mmu.walkers.hit_under_miss), BOOLEAN, CHOICE, "true",
     "false: nothing is looked up while a request waits for its walk"},
    {KEY(mmu.walkers.level_latency), TIME(MS), "mNPUsim dual_d.cfg: 400 cycles = 4 steps x 100, at 1 GHz", "100 ns",
     "of one level, with mmu.walk flat"},
    COST(mmu, fixed, "10 ns", CHOICE, "per map or unmap command"),
    COST(mmu, chunk, "0 ns", CHOICE, "per physically contiguous range mapped or unmapped"),
    COST(mmu, pte_write, "1 ns", CHOICE, "per page-table entry or sub-page region written or cleared"),
    COST(mmu, table_level, "0 ns", CHOICE, "per page-table level read"),
    COST(mmu, invalidate, "5 ns", CHOICE, "per TLB invalidation"),

    {KEY(va.base), SIZE(0, VA_MAX), "KernBench ADR-0048 D4", "4 GiB",
     "first address of the virtual range; a multiple of va.page_size"},
    {KEY(va.size), SIZE(4 * KIB, VA_MAX), "KernBench ADR-0048 D4", "64 GiB",
     "bytes of the virtual range; a multiple of va.page_size"},
    {KEY(va.page_size), SIZE_POWER(4 * KIB, GIB), "KernBench ADR-0048 D4: context fallback", "4 KiB",
     "granule of virtual ranges; when it is not written and mmu.page_size is, it is mmu.page_size"},
    {KEY(va.map_ack), MAP_ACK, "tlmalloc's choice: nothing is used before it is there", "visible",
     "when a mapping is acknowledged: visible, every MMU has done it; posted, it has been sent"},
    COST(va, fixed, "10 ns", CHOICE, "per allocation or free of a virtual range"),
    COST(va, node, "1 ns", CHOICE, "per free-list node visited by an allocation"),
    COST(va, insert_node, "0 ns", CHOICE, "per node that a linear ordered insert passes in a free"),
    COST(va, probe, "0 ns", CHOICE, "per probe of the binary search in a free"),
    COST(va, split, "0 ns", CHOICE, "per block cut in two"),
    COST(va, merge, "0 ns", CHOICE, "per neighbours joined"),

    {KEY(command_processor.io_cpu_overhead), TIME(MS), "KernBench latency model: io_cpu", "10 ns",
     "IO_CPU of a SIP, per command that it fans out to its cubes"},
    {KEY(command_processor.m_cpu_overhead), TIME(MS), "KernBench latency model: m_cpu", "5 ns",
     "M_CPU of a cube, per command that it fans out to its PEs"},

    {KEY(fabric.pe_latency), TIME(MS), "tlmalloc's choice, fitted to KernBench's 77 ns", "1 ns", "PE to cube router"},
    {KEY(fabric.pe_bandwidth), BANDWIDTH, "KernBench ADR-0017: as the slice", "256 GB/s", "PE to cube router"},
    {KEY(fabric.hbm_latency), TIME(MS), "tlmalloc's choice, fitted to KernBench's 77 ns", "1 ns",
     "cube router to HBM slice, and to control windows"},
    {KEY(fabric.hbm_bandwidth), BANDWIDTH, "KernBench ADR-0017: hbm_to_router", "256 GB/s",
     "cube router to HBM slice, and to control windows"},
    {KEY(fabric.cube_latency), TIME(MS), "KernBench latency model: UCIe, 8 ns a port", "16 ns",
     "cube to neighbouring cube, and IO chiplet to cube"},
    {KEY(fabric.cube_bandwidth), BANDWIDTH, "KernBench ADR-0016: UCIe, 4 x 128 GB/s a side", "512 GB/s",
     "cube to neighbouring cube, and IO chiplet to cube"},
    {KEY(fabric.host_latency), TIME(MS), "KernBench latency model: pcie_ep", "5 ns", "host to IO chiplet of a SIP"},
    {KEY(fabric.host_bandwidth), BANDWIDTH, "tlmalloc's choice: PCIe 5.0 x16", "64 GB/s",
     "host to IO chiplet of a SIP"},

    {KEY(dma.chunk), SIZE(1, GIB), "KernBench ADR-0033: the flit", "256 B", "a transfer moves in pieces of this size"},
    {KEY(dma.bandwidth), BANDWIDTH, "KernBench ADR-0017: one flit a ns", "256 GB/s", "at which a channel issues"},
    {KEY(dma.outstanding), COUNT(1, 65536), CHOICE, "256", "chunks of a channel that may be under way"},

    {KEY(pe.launch), TIME(MS), "KernBench latency model: pe_cpu", "2 ns", "from the launch command to the kernel"},
    {KEY(pe.dispatch), TIME(MS), "KernBench ADR-0046: 1 cycle, at 1 GHz", "1 ns", "per call that a kernel makes"},
    {KEY(pe.gemm_rate), RATE, "KernBench topology: peak_tflops_f16", "8 TFLOPS",
     "of the GEMM engine; a multiply-add is two operations"},
    {KEY(pe.vector_rate), RATE, CHOICE, "1 TFLOPS", "of the vector engine"},

    {KEY(host.dma_chunk), SIZE(1, GIB), CHOICE, "4 KiB", "host transfers move in pieces of this size"},
    {KEY(host.retries), COUNT(0, 1000000), CHOICE, "3",
     "how often a command that is refused for now is sent again: by the host, a PE's tl_alloc and tl_free, an MMU that "
     "allocates and frees tables; LAUNCH is not"},
    {KEY(host.retry_delay), TIME(S), CHOICE, "1 us", "from a refusal to the next try"},

    {KEY(simulation.style), TIME_STYLE, CHOICE, "exact",
     "how time is taken: exact, in the order of arrival at every shared resource, whatever the quantum; fast, in the "
     "order of the calls, which keeps idle gaps that a later call can still reach"},
    {KEY(simulation.quantum), TIME(S), "tlmalloc's choice: no decoupling", "0 ns",
     "how far an initiator may run ahead of simulated time"},

    {KEY(faults.plan), FAULTS, "tlmalloc's choice: nothing fails", "none",
     "faults that are injected, such as \"uncorrectable address=0x1000 pe=0; channel_out channel=3 at=10us; refuse "
     "rate=500\""},
    {KEY(faults.seed), COUNT(0, UINT64_MAX), CHOICE, "1", "of the faults that have a rate"},
    {KEY(faults.ecc_latency), TIME(MS), CHOICE, "10 ns", "added to a read that ECC corrects"},

    {KEY(workload.kernel), NAME, CHOICE, "qkv_gemm", "the kernel that every PE runs"},
    {KEY(workload.elements_per_pe), COUNT(1, UINT64_C(1) << 32), CHOICE, "4096", "problem size of the vector kernels"},
    {KEY(workload.seed), COUNT(0, UINT64_MAX), CHOICE, "1", "of the workload's random numbers"},
    {KEY(workload.asid), COUNT(0, 65535), "KernBench has none", "0", "address space of the workload; below mmu.asids"},
};
static_assert(sizeof tla_platform_keys / sizeof tla_platform_keys[0] == TLA_PLATFORM_KEYS, "the count is the table's");

size_t tla_schema_find(const tla_schema *schema, const char *path) {
    size_t key = 0;
    while (key < schema->count && strcmp(schema->keys[key].key, path) != 0)
        key++;
    return key;
}

size_t tla_schema_find_section(const tla_schema *schema, const char *path) {
    size_t key = 0, length = strlen(path);
    while (key < schema->count &&
           !(strncmp(schema->keys[key].key, path, length) == 0 && length > 0 && schema->keys[key].key[length] == '.'))
        key++;
    return key;
}

tla_value tla_schema_get(const tla_schema_key *key, const void *config) {
    tla_value value = {0};
    const char *member = (const char *)config + key->offset;
    const size_t text_size = tla_value_text_size(key->type);
    if (text_size > 0)
        memcpy(value.name, member, text_size);
    else
        memcpy(&value.number, member, sizeof value.number);
    return value;
}

void tla_schema_set(const tla_schema_key *key, void *config, const tla_value *value) {
    char *member = (char *)config + key->offset;
    const size_t text_size = tla_value_text_size(key->type);
    if (text_size > 0)
        memcpy(member, value->name, text_size);
    else
        memcpy(member, &value->number, sizeof value->number);
}

bool tla_schema_suggest(const tla_schema *schema, const char *path, tla_phrase *found) {
    tla_nearest nearest = tla_nearest_to(path);
    for (size_t key = 0; key < schema->count; key++) {
        const char *name = schema->keys[key].key;
        for (size_t end = 1; name[end - 1]; end++) {
            if (name[end] && name[end] != '.') continue;                     /* sections, and the whole key */
            if (strncmp(path, name, end) == 0 && path[end] == '.') continue; /* the section it stands in already */
            tla_nearest_try(&nearest, name, end);
        }
    }
    if (nearest.found) *found = nearest.name;
    return nearest.found;
}
