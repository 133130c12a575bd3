// Keys without effect: what is said of them is true of runs, for every key that there is.
#include "model/config/platform.h"
#include "platform/run_report.hpp"

#include <map>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using settings = std::vector<std::string>;

// Kernels for what those of the platform do not do.
const std::map<std::string, std::string> own_kernels{
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

settings operator+(settings a, const settings &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

// Those of keys for which another value in npu_small and qkv_gemm does not do.
std::map<std::string, showcase> special_showcases() {
    const settings pages{"mmu.walk=flat", "mmu.page_size=4 KiB"},
        tlb = pages + settings{"mmu.tlb_l1.entries=16", "mmu.tlb_l2.entries=16", "mmu.tlb_l2.ways=0"},
        long_vectors = pages + settings{"workload.elements_per_pe=32768"}, host{"host_memory.capacity=1 GiB"},
        firmware{"controller.engine=firmware", "controller.alignment=4 KiB"}, driver{"host.driver=serial"},
        caching{"controller.tcm_policy=caching_pool"}, worst{"controller.tcm_policy=worst_fit"};
    std::map<std::string, showcase> all{
        {"system.sip_topology", {"ring", {"system.sips=3"}}},
        {"system.sip_grid_width", {"1", {"system.sips=4", "system.sip_topology=torus"}}},
        {"system.pes_per_cube", {"2", {}}},
        {"hbm.timing", {"hbm2", {}}},
        {"sram.read_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"sram.write_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"sram.latency", {"9 ns", {}, "in_sram"}},
        {"links.sram_bandwidth", {"1 GB/s", {}, "in_sram"}},
        {"host_memory.channels", {"1", host, "in_host"}},
        {"host_memory.channel_bandwidth", {"1 GB/s", host, "in_host"}},
        {"host_memory.interleave", {"64 B", host, "in_host"}},
        {"host_memory.direction_switch", {"99 ns", host, "in_host"}},
        {"host_memory.latency", {"1 ns", host, "in_host"}},
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
        {"controller.lockstep", {"cube", {}}},
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
        {"controller.cost.walk", {"9 ns", worst}},
        {"controller.cost.walk_node", {"9 ns", worst, "transformer_block"}},
        {"controller.cost.class_lookup", {"9 ns", caching}},
        {"controller.cost.list_pop", {"9 ns", caching, "transformer_block"}},
        {"controller.cost.list_push", {"9 ns", caching}},
        {"controller.cost.driver_call", {"9 ns", caching}},
        {"controller.cost.slot", {"9 ns", {"controller.tcm_policy=slot_pool"}}},
        {"mmu.unmapped", {"demand", {}}},
        {"mmu.fault_latency", {"1 us", {"mmu.unmapped=demand"}}},
        {"mmu.page_size", {"4 KiB", {}}},
        {"mmu.pages_64k", {"true", pages, "large"}},
        {"mmu.pages_2m", {"true", pages, "large"}},
        {"mmu.va_bits", {"57", {"mmu.walk=flat"}}},
        {"mmu.walk", {"flat", {}}},
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
        {"links.routing", {"free_ports", {}}},
        {"links.pcie_bandwidth", {"1 GB/s", {}, "ring"}},
        {"dma.chunk", {"64 B", {}}},
        {"dma.outstanding", {"1", {}, "vector_add"}},
        {"pe.outstanding", {"2", {}, "hurried"}},
        {"pe.stack", {"16 KiB", {"pe.stack=64 MiB"}, "deep"}},
        {"pe.scratch", {"256 KiB", {}, "scratches"}},
        {"pe.time_limit", {"1 ns", {}}},
        {"messages.poll_interval",
         {"777 ns", {"messages.back_pressure=poll", "messages.slots=1", "messages.slot_size=64 B"}, "ring"}},
        {"collectives.algorithm", {"mesh_2d", {}, "all_reduce"}},
        {"collectives.world_size", {"2", {}, "all_reduce"}},
        {"collectives.columns", {"1", {"collectives.algorithm=mesh_2d"}, "all_reduce"}},
        {"host.retries", {"0", {"faults.plan=refuse"}}},
        {"host.retry_delay", {"9 us", {"faults.plan=refuse"}}},
        {"host.driver", {"serial", {}}},
        {"host.driver_alloc", {"9 us", driver}},
        {"host.driver_free", {"9 us", driver}},
        {"host.pool", {"caching_pool", {}}},
        {"simulation.style", {"fast", {}, "transformer_block"}},
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
                                                                       {"costs", "kernbench"}})
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

// Keys that no two reports of a run tell apart, and why.
const std::map<std::string, std::string> never_shown{
    {"system.topology_file", "names a file: topology_file_test and random_platforms_test run with some"},
    {"hbm.base", "of plain addresses, which an npu refuses"},
    {"tcm.base", "of plain addresses, which an npu refuses"},
    {"controller.addresses", "plain is for a controller alone: an npu refuses it"},
    {"controller.ports", "there are enough, or the configuration is refused"},
    {"mmu.ports", "there are enough, or the configuration is refused"},
    {"controller.queue_depth", "a queue is full only where more senders ask at once than a run has"},
    {"mmu.queue_depth", "a queue is full only where more senders ask at once than a run has"},
    {"controller.object_signals", "of waveforms"},
    {"messages.signals", "of waveforms"},
    {"simulation.link_signals", "of waveforms"},
    {"simulation.quantum", "how long the host computes; results must not depend on it"},
    {"pe.host_limit", "of the host's time"},
    {"workload.asid", "a name"},
    {"mmu.asids", "how many names there are"},
    {"mmu.allow_remap", "no kernel of a run has a page mapped twice"},
    {"mmu.pages_1g", "of tensors of 1 GiB, which are too long to copy in a test"},
    {"controller.engine_node_cycles", "needs Verilator: the tests of engines have it"},
    {"controller.firmware.multiply", "neither firmware multiplies"},
    {"controller.firmware.divide", "neither firmware divides"},
    // and those that are reported to have no effect in any run
    {"m_cpu_memory.read_bandwidth", "reported"},
    {"m_cpu_memory.write_bandwidth", "reported"},
    {"m_cpu_memory.latency", "reported"},
    {"controller.m_cpu_front.segment", "reported"},
    {"mmu.cost.table_level", "reported"},
    {"va.cost.insert_node", "reported"},
    {"va.cost.node_created", "reported"},
    {"va.cost.node_released", "reported"},
    {"host.driver_synchronous", "reported"},
};

// Another value than the key has without a showcase of its own: a new key needs none if this shows.
std::string another_value(const tla_schema_key &key) {
    tla_value value{};
    BOOST_REQUIRE_EQUAL(tla_value_parse(&key.form, key.default_text, &value, nullptr), TLA_OK);
    if (tla_schema_is_number(&key)) {
        value.number = value.number == 0 ? key.min + 4096 : 2 * value.number;
        if (value.number > key.max) value.number = key.max / 2;
    } else {
        value.number = value.number == 0 ? 1 : 0;
    }
    return tla_value_print(&key.form, &value).text;
}

struct outcome {
    std::string report, err; // without the configuration; "" where there was none
};

class runs {
  public:
    runs() {
        for (const auto &[name, body] : own_kernels)
            scratch_.write(name + ".c", "#include \"tlmalloc/kernel.h\"\nstatic tla_status run(tl_context *tl) {\n"
                                        "    (void)tl;\n" +
                                            body + "\n");
    }

    outcome of(const settings &with, const std::string &kernel) {
        const auto key = std::make_pair(with, kernel);
        if (const auto found = known_.find(key); found != known_.end()) return found->second;
        const std::string file = scratch_.path("report.json");
        settings words{"run", small, "--json", file};
        if (own_kernels.count(kernel)) words = words + settings{"--kernel", scratch_.path(kernel + ".c")};
        words = words + with_prices(own_kernels.count(kernel) ? with : settings{"workload.kernel=" + kernel} + with);
        std::filesystem::remove(file);
        const command_result result = run_tlmalloc(words);
        json_t *const read = json_load_file(file.c_str(), 0, nullptr);
        outcome made{"", result.err};
        if (read) {
            json_object_del(read, "config");
            char *const text = json_dumps(read, JSON_SORT_KEYS);
            made.report = text;
            free(text);
            json_decref(read);
        }
        return known_[key] = made;
    }

  private:
    scratch_directory scratch_;
    std::map<std::pair<settings, std::string>, outcome> known_;
};

showcase showcase_of(const tla_schema_key &key) {
    static const std::map<std::string, showcase> special = special_showcases();
    const auto found = special.find(key.key);
    return found == special.end() ? showcase{another_value(key), {}} : found->second;
}

bool warns_of(const std::string &err, const std::string &key) {
    return contains(err, ": " + key + " has no effect with ");
}

// Values of a deciding key among which one keeps others from an effect.
std::vector<std::string> candidates(const tla_schema_key &key) {
    if (std::string(key.key) == "workload.kernel") return kernel_names();
    if (key.form.type == TLA_VALUE_STACK) return {"first_fit"};
    if (key.form.type == TLA_VALUE_TEXT) return {"none", "hbm2"};
    std::vector<std::string> values;
    for (std::uint64_t i = 0; i < 8; i++) {
        tla_value value{};
        value.number = i;
        const bool is_named = key.form.type == TLA_VALUE_NAMED;
        if (is_named ? key.form.name(i) != nullptr : i >= key.min && i <= 1)
            values.push_back(tla_value_print(&key.form, &value).text);
    }
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_key_that_is_not_reported_changes_some_run) {
    runs all;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_schema_key &key = tla_platform_keys[i];
        const showcase s = showcase_of(key);
        if (never_shown.count(key.key)) continue;
        const bool is_kernel = std::string(key.key) == "workload.kernel";
        const outcome before = all.of(s.with, s.kernel),
                      after = all.of(s.with + settings{std::string(key.key) + "=" + s.value},
                                     is_kernel ? s.value : s.kernel);
        BOOST_CHECK_MESSAGE(!before.report.empty() && !after.report.empty(),
                            key.key << "=" << s.value << ": " << before.err << after.err);
        BOOST_CHECK_MESSAGE(before.report != after.report,
                            key.key << "=" << s.value << " with " << s.kernel
                                    << " changes nothing: it has no effect (key_effects.c), or needs a showcase here");
        BOOST_CHECK_MESSAGE(!warns_of(after.err, key.key), key.key << ": " << after.err);
        shown++;
    }
    BOOST_CHECK_EQUAL(shown + never_shown.size(), tla_platform_key_count);
}

BOOST_AUTO_TEST_CASE(a_key_that_is_reported_changes_nothing_and_the_key_that_decides_is_named) {
    const tla_schema schema = tla_platform_schema();
    runs all;
    std::size_t checked = 0;
    for (std::size_t c = 0; c < tla_key_condition_count; c++) {
        const tla_key_condition &condition = tla_key_conditions[c];
        for (std::size_t i = 0; i < tla_platform_key_count; i++) {
            const std::string key = tla_platform_keys[i].key;
            if (!tla_key_condition_is_of(&condition, key.c_str())) continue;
            const showcase s = showcase_of(tla_platform_keys[i]);
            if (key == "hbm.base" || key == "tcm.base") continue; // rejected, unless it is 0 B
            const std::string decides = condition.by[0];
            const tla_schema_key &decider = tla_platform_keys[tla_schema_find(&schema, decides.c_str())];
            if (decides == "system.topology_file") continue; // see below
            bool found = false;
            for (const std::string &value : candidates(decider)) {
                settings with = s.with + settings{decides + "=" + value};
                if (condition.by[1])
                    with = with + settings{std::string(condition.by[1]) + "=" +
                                           candidates(tla_platform_keys[tla_schema_find(&schema, condition.by[1])])[0]};
                const std::string kernel = decides == "workload.kernel" ? value : s.kernel;
                const settings set = with + settings{key + "=" + s.value};
                const outcome after = all.of(set, kernel);
                const std::string says = key + " has no effect with ";
                if (after.report.empty() || !warns_of(after.err, key) ||
                    !contains(after.err.substr(after.err.find(says)), decides + " " + value))
                    continue;
                BOOST_CHECK_MESSAGE(contains(after.err, std::string("it needs ") + condition.wanted), after.err);
                BOOST_CHECK_MESSAGE(all.of(with, kernel).report == after.report,
                                    key << "=" << s.value << " is reported to have no effect with " << decides << " "
                                        << value << ", and changes the report");
                found = true;
                checked++;
                break;
            }
            // The firmware's prices, and Verilator's, cannot be set where they have no effect, or not be run.
            if (key.rfind("controller.firmware.", 0) == 0 || key == "controller.engine_node_cycles") continue;
            BOOST_CHECK_MESSAGE(found, key << ": no value of " << decides << " keeps it from having an effect");
        }
    }
    BOOST_CHECK_GT(checked, 130u);
}

BOOST_AUTO_TEST_CASE(keys_without_effect_are_warned_of_where_they_are_set) {
    scratch_directory scratch;
    const std::string file = scratch.write("a.yaml", "mmu:\n  walk: ideal\n  tlb_l1:\n    entries: 4\n    ways: 0\n"
                                                     "  walkers: {count: 8}\nmessages: {slots: 2}\n");
    const std::string first = file + ":4:14: warning: mmu.tlb_l1.entries has no effect with mmu.walk ideal: it needs "
                                     "flat or memory\n",
                      second = file + ":7:19: warning: messages.slots has no effect with workload.kernel qkv_gemm: it "
                                      "needs a kernel with messages\n";
    for (const char *command : {"check", "run"}) {
        const command_result plain = run_tlmalloc({command, file});
        BOOST_CHECK_EQUAL(plain.status, 0);
        BOOST_CHECK_EQUAL(plain.err, first + second); // not of what the file says as the defaults are
        // An override is one more, whatever its value; with what makes them effective none is left.
        const command_result set = run_tlmalloc({command, file, "--set", "mmu.walkers.count=8"});
        BOOST_CHECK_EQUAL(set.status, 0);
        BOOST_CHECK_MESSAGE(contains(set.err,
                                     "--set: warning: \"mmu.walkers.count=8\": mmu.walkers.count has no effect "
                                     "with mmu.walk ideal: it needs flat or memory\n"),
                            set.err);
        const command_result good =
            run_tlmalloc({command, file, "--set", "mmu.walk=flat", "--set", "workload.kernel=ring"});
        BOOST_CHECK_EQUAL(good.err, "");
        // Where something is wrong, that is said, and nothing else.
        const command_result bad = run_tlmalloc({command, file, "--set", "mmu.walk=flut"});
        BOOST_CHECK_MESSAGE(!contains(bad.err, "warning"), bad.err);
    }
    // What the option names is the kernel, also for what has no effect on it.
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", file, "--kernel", "ring"}).err, first);
}

BOOST_AUTO_TEST_CASE(a_topology_file_takes_the_place_of_the_shape) {
    scratch_directory scratch;
    const command_result yaml = run_tlmalloc({"topology", small, "--yaml"});
    BOOST_REQUIRE_EQUAL(yaml.status, 0);
    const std::string file = "system.topology_file=" + scratch.write("fabric.yaml", yaml.out);
    runs all;
    const outcome before = all.of({file}, "qkv_gemm");
    BOOST_REQUIRE_MESSAGE(!before.report.empty(), before.err);
    for (const char *key :
         {"cube.router_overhead=99 ns", "io_chiplet.pcie_overhead=99 ns", "links.router_bandwidth=1 GB/s",
          "links.ucie_overhead=99 ns", "links.routing=free_ports", "links.host_bandwidth=1 GB/s"}) {
        const outcome after = all.of({file, key}, "qkv_gemm");
        BOOST_CHECK_EQUAL(after.report, before.report);
        BOOST_CHECK_MESSAGE(contains(after.err, " has no effect with system.topology_file ") &&
                                contains(after.err, ": it needs none"),
                            after.err);
    }
    const outcome wire = all.of({file, "links.flit=64 B"}, "qkv_gemm");
    BOOST_CHECK_EQUAL(wire.err, "");
    BOOST_CHECK(wire.report != before.report);
}

BOOST_AUTO_TEST_CASE(configurations_that_come_with_the_platform_are_warned_of_nothing) {
    for (const char *name : {"npu_small", "kernbench"}) {
        const std::string config = TLMALLOC_SOURCE_DIR "/configs/" + std::string(name) + ".yaml";
        const command_result check = run_tlmalloc({"check", config});
        BOOST_CHECK_EQUAL(check.err, "");
        scratch_directory scratch; // nor is what check prints of it
        BOOST_CHECK_EQUAL(run_tlmalloc({"check", scratch.write("resolved.yaml", check.out)}).err, "");
    }
}

// What a kernel states that it does, as keys and rules read it, is what its run counts.
BOOST_AUTO_TEST_CASE(every_kernel_of_the_platform_states_what_it_does) {
    const std::map<std::string, std::string> shows{{"pe.gemm_rate", "gemm_ps"},
                                                   {"pe.vector_rate", "math_ps"},
                                                   {"pe.scheduler", "composites"},
                                                   {"messages.slots", "messages"}};
    for (const std::string &kernel : kernel_names()) {
        // attention sends where a query has several PEs.
        const report r = run(small, kernel == "attention" ? settings{"--kernel", kernel, "--parameter", "queries=1"}
                                                          : settings{"--kernel", kernel});
        for (const auto &[key, counter] : shows) {
            const bool has = counter == "messages"     ? r.list("messages") != nullptr
                             : counter == "composites" ? r.sum("kernels", "composites") > 0
                                                       : r.sum("elements", counter.c_str()) > 0;
            const std::string value = key == "messages.slots" ? "=2" : key == "pe.scheduler" ? "=2 ns" : "=2 TFLOPS";
            const command_result check =
                run_tlmalloc({"check", small, "--set", "workload.kernel=" + kernel, "--set", key + value});
            BOOST_CHECK_MESSAGE(warns_of(check.err, key) == !has, kernel << ": " << key << ": " << check.err);
        }
    }
}
