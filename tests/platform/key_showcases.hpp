// Runs in which keys show: settings, values and kernels.
#ifndef TLMALLOC_TESTS_PLATFORM_KEY_SHOWCASES_HPP
#define TLMALLOC_TESTS_PLATFORM_KEY_SHOWCASES_HPP

#include <map>
#include <string>
#include <vector>

namespace key_showcases {

using settings = std::vector<std::string>;

// Kernels for what those of the platform do not do.
inline const std::map<std::string, std::string> own_kernels{
    {"in_sram", R"(    tl_tile tile = {.rows = 1, .columns = 64, .dtype = TL_F32};
    uint64_t at = tl_program_id(tl, TL_ALL) * 256;
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (!status) status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0) + at}, 256);
    if (!status) status = tl_store(tl, (tla_vaddr){tl_argument(tl, 1) + at}, 256, &tile);
    return tl_free_tiles(tl, &tile, 1, status);
}
TL_KERNEL(.name = "in_sram", .run = run, .arguments = {TL_ADDRESS_OF(0), TL_ADDRESS_OF(1)},
    .tensors = {{.name = "x", .dtype = TL_F32, .memory = TL_SRAM, .shape = {TL_PER_PROGRAM(64)}},
                {.name = "y", .dtype = TL_F32, .memory = TL_SRAM, .shape = {TL_PER_PROGRAM(64)}, .use = TL_OUT}});)"},
    {"in_host", R"(    tl_tile tile = {.rows = 1, .columns = 64, .dtype = TL_F32};
    uint64_t at = tl_program_id(tl, TL_ALL) * 256;
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (!status) status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0) + at}, 256);
    if (!status) status = tl_store(tl, (tla_vaddr){tl_argument(tl, 1) + at}, 256, &tile);
    return tl_free_tiles(tl, &tile, 1, status);
}
TL_KERNEL(.name = "in_host", .run = run, .arguments = {TL_ADDRESS_OF(0), TL_ADDRESS_OF(1)},
    .tensors = {{.name = "x", .dtype = TL_F32, .memory = TL_HOST, .shape = {TL_PER_PROGRAM(64)}},
                {.name = "y", .dtype = TL_F32, .memory = TL_HOST, .shape = {TL_PER_PROGRAM(64)}, .use = TL_OUT}});)"},
    {"large", R"(    tl_tile tile = {.rows = 1, .columns = 64, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, &tile, 1);
    if (!status) status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0)}, 256);
    return tl_free_tiles(tl, &tile, 1, status);
}
TL_KERNEL(.name = "large", .run = run, .arguments = {TL_ADDRESS_OF(0)},
    .tensors = {{.name = "x", .dtype = TL_F32, .use = TL_OUT, .shape = {TL_PER_PROGRAM(1 << 20)}}});)"},
    {"scratches", R"(    tl_tile tile;
    tla_status status = tl_scratch(tl, 1, 65536, TL_F32, &tile);
    return status ? status : tl_scratch(tl, 1, 65536, TL_F32, &tile);
}
TL_KERNEL(.name = "scratches", .run = run);)"},
    {"hurried", R"(    tl_tile tiles[8];
    tl_handle handle;
    for (int i = 0; i < 8; i++)
        tiles[i] = (tl_tile){.rows = 1, .columns = 64, .dtype = TL_F32};
    tla_status status = tl_alloc_tiles(tl, tiles, 8);
    for (int i = 0; i < 8 && !status; i++)
        status = tl_load_async(tl, &tiles[i], (tla_vaddr){tl_argument(tl, 0)}, 256, &handle);
    tla_status done = tl_wait_all(tl);
    return tl_free_tiles(tl, tiles, 8, status ? status : done);
}
TL_KERNEL(.name = "hurried", .run = run, .arguments = {TL_ADDRESS_OF(0)},
    .tensors = {{.name = "x", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(64)}}});)"},
    {"frees_parts", R"(    tl_tile tile, half;
    tla_status status = tl_alloc(tl, 2, 64, TL_F32, &tile);
    if (status) return status;
    half = tile;
    half.rows = 1;
    half.pa.value += 256;
    status = tl_free(tl, &half);
    half.pa.value -= 256;
    return status ? status : tl_free(tl, &half);
}
TL_KERNEL(.name = "frees_parts", .run = run);)"},
    {"reads_freed", R"(    tl_tile tile;
    const uint64_t at = 256 * tl_program_id(tl, TL_ALL);
    tla_status status = tl_alloc(tl, 1, 64, TL_F32, &tile);
    if (status) return status;
    status = tl_load(tl, &tile, (tla_vaddr){tl_argument(tl, 0) + at}, 256);
    const tl_tile freed = tile;
    const tla_status done = tl_free(tl, &tile);
    if (!status) status = done;
    return status ? status : tl_store(tl, (tla_vaddr){tl_argument(tl, 1) + at}, 256, &freed);
}
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    return memcmp(tensors[0], tensors[1], workload->programs * 256) ? tl_wrong(error, "other bytes") : TLA_OK;
}
TL_KERNEL(.name = "reads_freed", .run = run, .check = check, .arguments = {TL_ADDRESS_OF(0), TL_ADDRESS_OF(1)},
    .tensors = {{.name = "x", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(64)}},
                {.name = "y", .dtype = TL_F32, .use = TL_OUT, .shape = {TL_PER_PROGRAM(64)}}});)"},
    {"deep", R"(    volatile char bytes[4 << 20];
    for (unsigned i = 0; i < sizeof bytes; i += 4096)
        bytes[i] = (char)tl_program_id(tl, TL_ALL);
    return bytes[0] < 0;
}
TL_KERNEL(.name = "deep", .run = run);)"},
};

// Where a key shows: other settings, a value that is not the default or theirs, and a kernel.
struct showcase {
    std::string value;
    settings with;
    std::string kernel = "qkv_gemm";
};

inline settings operator+(settings a, const settings &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Those of keys for which another value in npu_small and qkv_gemm does not do.
inline std::map<std::string, showcase> special_showcases() {
    const settings pages{"mmu.walk=flat", "mmu.page_size=4 KiB"},
        tlb = pages + settings{"mmu.tlb_l1.entries=16", "mmu.tlb_l2.entries=16", "mmu.tlb_l2.ways=0"},
        long_vectors = pages + settings{"workload.elements_per_pe=32768"}, host{"host_memory.capacity=1 GiB"},
        firmware{"controller.engine=firmware", "controller.alignment=4 KiB"}, driver{"host.driver=serial"},
        caching{"controller.tcm_policy=caching_pool"}, worst{"controller.tcm_policy=worst_fit"};
    std::map<std::string, showcase> all{
        {"system.sip_topology", {"ring", {"system.sips=3"}}},
        {"system.sip_grid_width", {"1", {"system.sips=4", "system.sip_topology=torus"}}},
        {"system.pes_per_cube", {"2", {}}},
        {"system.energy", {"published", {}}},
        {"hbm.timing", {"hbm2", {}}},
        {"hbm.energy", {"hbm4_ayna", {"hbm.timing=hbm4"}}},
        {"sram.read_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"sram.write_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"sram.latency", {"9 ns", {}, "in_sram"}},
        {"links.sram_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"host_memory.channels", {"1", host, "in_host"}},
        {"host_memory.channel_bandwidth", {"1 GB/s", host, "in_host"}},
        {"host_memory.interleave", {"64 B", host, "in_host"}},
        {"host_memory.direction_switch", {"99 ns", host, "in_host"}},
        {"host_memory.latency", {"1 ns", host, "in_host"}},
        {"host_memory.timing", {"ddr5", host, "in_host"}},
        {"host_memory.capacity", {"1 GiB", {}}},
        {"links.host_memory_bandwidth", {"1 GB/s", host, "in_host"}},
        {"controller.hbm_policy", {"buddy", {}}},
        {"controller.tcm_policy", {"buddy", {}}},
        {"controller.sram_policy", {"slot_pool", {}}},
        {"controller.m_cpu_policy", {"lazy", {}}},
        {"controller.host_policy", {"lazy", host}},
        {"controller.alignment", {"4 KiB", {"workload.elements_per_pe=100"}, "vector_add"}},
        {"controller.validate", {"true", {}, "frees_parts"}},
        {"controller.guard", {"error", {}, "reads_freed"}},
        {"controller.guard_history", {"0", {"controller.guard=report"}, "reads_freed"}},
        {"controller.poison", {"true", {}, "reads_freed"}},
        {"controller.compaction",
         {"background", {"controller.move=stop", "controller.compaction_threshold=1"}, "ring"}},
        {"controller.compaction_threshold",
         {"1", {"controller.move=stop", "controller.compaction=background"}, "ring"}},
        {"controller.compaction_budget", {"2 GB/s", {"controller.move=stop"}}},
        {"controller.pin_wait", {"1 us", {"controller.hbm_policy=lazy", "controller.hbm_front.initial=128 MiB"}}},
        {"controller.partition", {"host", host}},
        {"controller.partition_l1", {"500", {"controller.partition=hbm"}}},
        {"controller.lockstep", {"cube", {}}},
        {"controller.lockstep_mode", {"common", {"controller.lockstep=cube"}}},
        {"controller.free_list", {"hbm", {}}},
        {"controller.node_latency", {"9 ns", {"controller.free_list=sram"}}},
        {"controller.list_reserve", {"2 MiB", {"controller.free_list=hbm"}}},
        {"controller.node_cache", {"4", {"controller.free_list=hbm"}, "mlp"}},
        {"controller.engine", {"firmware", {"controller.alignment=4 KiB"}}},
        {"controller.engine_nodes", {"1", {}, "transformer_block"}},
        {"controller.cost.profile", {"ideal", {}}},
        {"controller.cost.insert_node", {"99 ns", {}, "ring"}},
        {"controller.cost.node_created", {"99 ns", {}, "ring"}},
        {"controller.cost.node_released", {"99 ns", {}, "ring"}},
        {"controller.cost.metadata_line", {"9 ns", caching}},
        {"controller.cost.bin_search", {"9 ns", {"controller.tcm_policy=offset_bins"}}},
        {"controller.cost.walk", {"9 ns", worst}},
        {"controller.cost.walk_node", {"9 ns", worst, "transformer_block"}},
        {"controller.cost.class_lookup", {"9 ns", caching}},
        {"controller.cost.list_pop", {"9 ns", caching, "transformer_block"}},
        {"controller.cost.list_push", {"9 ns", caching}},
        {"controller.cost.driver_call", {"9 ns", caching}},
        {"controller.cost.slot", {"9 ns", {"controller.tcm_policy=slot_pool"}}},
        {"mmu.unmapped", {"demand", {}}},
        {"mmu.fault_latency", {"1 us", {"mmu.unmapped=demand"}}},
        {"mmu.eviction", {"clock", {"mmu.unmapped=demand", "host_memory.capacity=64 MiB"}}},
        {"mmu.prefetch",
         {"3", {"mmu.unmapped=demand", "host_memory.capacity=64 MiB", "mmu.eviction=lru", "mmu.page_size=4 KiB"}}},
        {"mmu.fault_handler", {"controller", {"mmu.unmapped=demand"}}},
        {"mmu.fault_pool", {"4 KiB", {"mmu.unmapped=demand", "mmu.fault_handler=controller"}}},
        {"mmu.page_size", {"4 KiB", {}}},
        {"mmu.pages_64k", {"true", pages, "large"}},
        {"mmu.pages_2m", {"true", pages, "large"}},
        {"mmu.va_bits", {"57", {"mmu.walk=flat"}}},
        {"mmu.walk", {"flat", {}}},
        {"mmu.ranges", {"4", pages, "large"}},
        {"mmu.tlb_seed", {"7", tlb + settings{"mmu.tlb_l1.entries=4", "mmu.tlb_l1.replacement=random"}, "mlp"}},
        {"va.page_size", {"64 KiB", {}}},
        {"va.size", {"4 KiB", {"va.page_size=4 KiB"}}},
        {"va.map_ack", {"posted", {}}},
        {"cube.mesh_hole", {"none", {}}},
        {"cube.pe_places", {"r0c0 r0c1 r0c2 r0c3", {}}},
        {"cube.m_cpu_place", {"r5c5", {}}},
        {"cube.sram_place", {"r5c5", {}, "in_sram"}},
        {"cube.connection_places", {"0 0 0 0", {}}},
        {"io_chiplet.phy_faces", {"cube0.E", {}}},
        {"links.routing", {"shortest", {}}},
        {"links.transport", {"once", {}}},
        {"mmu.overhead_at", {"call", {}}},
        {"links.pcie_bandwidth", {"1 GB/s", {}, "ring"}},
        {"dma.chunk", {"64 B", {}}},
        {"dma.outstanding", {"1", {}, "vector_add"}},
        {"pe.outstanding", {"2", {}, "hurried"}},
        {"pe.vector_cycle", {"99 ns", {}, "vector_add"}},
        {"pe.stack", {"16 KiB", {"pe.stack=64 MiB"}, "deep"}},
        {"pe.scratch", {"256 KiB", {}, "scratches"}},
        {"pe.time_limit", {"1 ns", {}}},
        {"messages.poll_interval",
         {"777 ns", {"messages.back_pressure=poll", "messages.slots=1", "messages.slot_size=64 B"}, "ring"}},
        {"collectives.algorithm", {"mesh_2d", {}, "all_reduce"}},
        {"collectives.world_size", {"2", {}, "all_reduce"}},
        {"collectives.columns", {"1", {"collectives.algorithm=mesh_2d"}, "all_reduce"}},
        {"collectives.between_sips",
         {"rings", {"collectives.algorithm=hierarchical", "system.sips=3", "system.sip_topology=ring"}, "all_reduce"}},
        {"collectives.receives",
         {"in_order", {"collectives.algorithm=mesh_2d", "collectives.columns=4"}, "all_reduce"}},
        {"host.retries", {"0", {"faults.plan=refuse"}}},
        {"host.retry_delay", {"9 us", {"faults.plan=refuse"}}},
        {"host.driver", {"serial", {}}},
        {"host.driver_alloc", {"9 us", driver}},
        {"host.driver_free", {"9 us", driver}},
        {"host.pool", {"caching_pool", {}}},
        {"faults.plan", {"refuse", {}}},
        {"faults.seed", {"9", {"faults.plan=refuse rate=300000", "host.retries=0"}}},
        {"faults.ecc_latency", {"99 ns", {"faults.plan=correctable"}}},
        {"workload.kernel", {"vector_add", {}}},
        {"workload.elements_per_pe", {"64", {}, "vector_add"}},
        {"workload.seed", {"9", {}, "embedding"}},
    };
    for (const char *key : {"instruction", "load", "store", "taken_branch", "jump", "multiply", "divide"})
        all[std::string("controller.firmware.") + key] = {"5 tCK", firmware, "mlp"};
    for (const std::string level : {"mmu.tlb_l1.", "mmu.tlb_l2."}) {
        const settings with = tlb + settings{level == "mmu.tlb_l1." ? "mmu.tlb_l1.entries=16" : "mmu.tlb_l1.entries=4"};
        all[level + "entries"] = {level == "mmu.tlb_l1." ? "4" : "8", with, "gemm"};
        all[level + "ways"] = {"1", with, "gemm"};
        all[level + "latency"] = {"9 ns", with, "gemm"};
        all[level + "replacement"] = {"fifo", with, "gemm"};
    }
    for (const auto &[key, value] : std::map<std::string, std::string>{{"count", "1"},
                                                                       {"merge_slots", "8"},
                                                                       {"cache_entries", "64"},
                                                                       {"path_registers", "true"},
                                                                       {"hit_under_miss", "false"},
                                                                       {"level_latency", "7 ns"}})
        all["mmu.walkers." + key] = {value, long_vectors, "vector_add"};
    for (const auto &[key, value] : std::map<std::string, std::string>{
             {"scheduler", "9 ns"}, {"tile_m", "16"}, {"tile_k", "16"}, {"tile_n", "16"}, {"pipeline_depth", "1"}})
        all["pe." + key] = {value, {}, "matmul_composite"};
    for (const auto &[key, value] : std::map<std::string, std::string>{{"slots", "1"},
                                                                       {"slot_size", "64 B"},
                                                                       {"credit", "64 B"},
                                                                       {"memory", "hbm"},
                                                                       {"back_pressure", "poll"},
                                                                       {"costs", "kernbench"},
                                                                       {"overhead", "777 ns"},
                                                                       {"read_slot", "false"}})
        all["messages." + key] = {value, {}, "ring"};
    for (const std::string memory : {"hbm", "tcm", "sram", "m_cpu", "host"}) {
        const bool is_large = memory == "hbm" || memory == "host";
        const settings there = memory == "host" ? host : settings{};
        const std::string front = "controller." + memory + "_front.", policy = "controller." + memory + "_policy=",
                          kernel = memory == "sram"   ? "in_sram"
                                   : memory == "host" ? "in_host"
                                                      : "qkv_gemm";
        const settings lazy =
            there + (is_large ? settings{policy + "lazy", front + "initial=128 MiB", front + "chunk_time=500 ns",
                                         front + "commit=64 MiB"}
                              : settings{policy + "lazy", front + "initial=64 KiB", front + "chunk_time=100 ns",
                                         front + "commit=64 KiB", front + "chunk=16 KiB"});
        const settings adding =
            there + settings{policy + "segmented", front + "initial=" + (is_large ? "128 MiB" : "64 KiB"),
                             front + "chunk_time=100 ns"};
        all[front + "failures"] = {"1", adding, kernel};
        all[front + "segment"] = {"100 KiB", there + settings{policy + "segment_cache"}, kernel};
        all[front + "slot"] = {memory == "m_cpu" ? "8 KiB" : "64 KiB", there + settings{policy + "slot_pool"}, kernel};
        all[front + "buffers"] = {"128 KiB", there + settings{policy + "mixed"}, kernel};
        all[front + "initial"] = {is_large ? "64 MiB" : "128 KiB", lazy, kernel};
        all[front + "chunk"] = {is_large ? "32 MiB" : "8 KiB", lazy, kernel};
        all[front + "commit"] = {is_large ? "128 MiB" : "128 KiB", lazy, kernel};
        all[front + "chunk_time"] = {"777 ns", lazy, kernel};
    }
    return all;
}

} // namespace key_showcases
#endif
