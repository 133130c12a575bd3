// Configurations: what is resolved, and that what is printed reads back.
#include "config_parsing.hpp"
#include "model/config/platform.h"
#include "tlmalloc/base/phys_addr.h"

#include <random>

using namespace config_parsing;

BOOST_AUTO_TEST_CASE(an_empty_file_gives_the_defaults) {
    for (const char *text : {"", "---\n", "# nothing\n", "hbm:\n"}) {
        tla_config c = good(text);
        BOOST_CHECK_EQUAL(c.system.pes_per_cube, 4u);
        BOOST_CHECK_EQUAL(c.system.hbm_per_cube, UINT64_C(24) << 30);
        BOOST_CHECK_EQUAL(c.mmu.overhead_ps, 500u);
        BOOST_CHECK_EQUAL(c.controller.cost.fixed_ps, 1000u);
        BOOST_CHECK_EQUAL(c.pe.gemm_rate, 8000000000000u);
        BOOST_CHECK_EQUAL(c.workload.kernel, "qkv_gemm");
        BOOST_CHECK_EQUAL(c.mmu.unmapped, TLA_UNMAPPED_ERROR);
    }
    tla_config c{};
    BOOST_CHECK_EQUAL(tla_config_load(nullptr, nullptr, 0, &c, nullptr, nullptr), TLA_OK);
    tla_config empty = good("");
    BOOST_CHECK(tla_config_equal(&c, &empty));
}

BOOST_AUTO_TEST_CASE(every_unit_has_its_factor) {
    const uint64_t k = 1000, ki = 1024;
    const std::vector<std::pair<string, uint64_t>> sizes{{"1 B", 1},
                                                         {"1 KiB", ki},
                                                         {"1 MiB", ki * ki},
                                                         {"1 GiB", ki * ki * ki},
                                                         {"1 KB", k},
                                                         {"1 MB", k * k},
                                                         {"1 GB", k * k * k},
                                                         {"1 TB", k * k * k * k},
                                                         {"1.5 KiB", 1536},
                                                         {"0.5KiB", 512},
                                                         {"0.001 KB", 1},
                                                         {"1.500 KiB", 1536},
                                                         {"007 B", 7},
                                                         {"1 TiB", ki * ki * ki * ki},
                                                         {"16777215.99999904632568359375 TiB", 0},
                                                         {"18446744073709551615 B", UINT64_MAX}};
    for (const auto &[text, nbytes] : sizes) {
        uint64_t value = 0;
        tla_error error;
        tla_status status = tla_parse_size(text.c_str(), &value, &error);
        if (nbytes)
            BOOST_CHECK_MESSAGE(status == TLA_OK && value == nbytes, text << " gave " << value);
        else
            BOOST_CHECK_EQUAL(status, TLA_SYNTAX); // more digits than 2^64 has
    }
    tla_config c = good("tcm: {latency: 1 us, read_bandwidth: 1 GiB/s, write_bandwidth: 1 TB/s}\n"
                        "pe: {launch: 0.000001 s, dispatch: 0.25 ns, gemm_rate: 1.5 GFLOPS}\n"
                        "links: {ucie_overhead: 0.001 ms, wire: 7 ps}\n"
                        "hbm: {pseudo_channel_bandwidth: 25.6 GB/s}\n");
    BOOST_CHECK_EQUAL(c.tcm.latency_ps, 1000000u);
    BOOST_CHECK_EQUAL(c.tcm.read_bandwidth, ki * ki * ki);
    BOOST_CHECK_EQUAL(c.tcm.write_bandwidth, k * k * k * k);
    BOOST_CHECK_EQUAL(c.pe.launch_ps, 1000000u);
    BOOST_CHECK_EQUAL(c.pe.dispatch_ps, 250u);
    BOOST_CHECK_EQUAL(c.pe.gemm_rate, 1500000000u);
    BOOST_CHECK_EQUAL(c.topology.ucie_overhead_ps, 1000000u);
    BOOST_CHECK_EQUAL(c.topology.wire_ps_per_mm, 7u);
    BOOST_CHECK_EQUAL(c.hbm.pseudo_channel_bandwidth, 25600000000u); // HBM3 per pseudo-channel
}

BOOST_AUTO_TEST_CASE(the_error_of_an_invalid_size_names_the_expected_form) {
    const std::vector<std::pair<const char *, const char *>> bad{
        {"", "found \"\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"},
        {"6", "found \"6\", which has no unit, expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"},
        {"6 gib", "found \"6 gib\" with the unknown unit \"gib\", expected a size with a unit (B, KiB, MiB, GiB, TiB, "
                  "KB, MB, GB, TB)"},
        {"6. B",
         "found \"6. B\" with the unknown unit \". B\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, "
         "MB, GB, TB)"},
        {"-6 B", "found \"-6 B\", expected a size that is not negative"},
        {"0.5 B", "found \"0.5 B\", expected a whole number of bytes"},
        {"0.0001 KB", "found \"0.0001 KB\", expected a whole number of bytes"},
        {"18446744073709551616 B",
         "found \"18446744073709551616 B\", expected at most 20 digits and less than 2^64 bytes"},
        {"99999999999999999999999",
         "found \"99999999999999999999999\", which is out of range and has no unit, expected a size with a unit (B, "
         "KiB, MiB, GiB, TiB, KB, MB, GB, TB), less than 2^64 bytes"},
        {"16777216 TiB", "found \"16777216 TiB\", expected at most 20 digits and less than 2^64 bytes"},
        {"B", "found \"B\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)"}};
    for (const auto &[text, message] : bad) {
        uint64_t value = 77;
        tla_error error;
        BOOST_CHECK_EQUAL(tla_parse_size(text, &value, &error), TLA_SYNTAX);
        BOOST_CHECK_EQUAL(error.text, message);
        BOOST_CHECK_EQUAL(value, 77u);
    }
}

BOOST_AUTO_TEST_CASE(overrides_win_and_the_last_one_most) {
    tla_config c = good("hbm: {burst: 256 B}\n",
                        {"hbm.burst=512 B", "hbm.burst = 1KiB ", "workload.kernel=a", "controller.cost.node=0.5 ns"});
    BOOST_CHECK_EQUAL(c.hbm.burst, 1024u);
    BOOST_CHECK_EQUAL(c.workload.kernel, "a");
    BOOST_CHECK_EQUAL(c.controller.cost.node_ps, 500u);
}

// ADR-0048 D4: class default 2 MiB, context fallback 4 KiB, and a page size that is written goes to both.
BOOST_AUTO_TEST_CASE(the_page_size_has_the_two_defaults_of_adr_0048_d4) {
    const uint64_t kib = 1024, mib = 1024 * kib;
    tla_config c = good("");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 2 * mib);
    BOOST_CHECK_EQUAL(c.va.space.page_size, 4 * kib);
    c = good("mmu: {page_size: 64 KiB}\n");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 64 * kib);
    BOOST_CHECK_EQUAL(c.va.space.page_size, 64 * kib);
    c = good("", {"mmu.page_size=2 MiB"});
    BOOST_CHECK_EQUAL(c.va.space.page_size, 2 * mib);
    c = good("mmu: {page_size: 64 KiB}\nva: {page_size: 8 KiB}\n");
    BOOST_CHECK_EQUAL(c.mmu.page_size, 64 * kib);
    BOOST_CHECK_EQUAL(c.va.space.page_size, 8 * kib);
}

BOOST_AUTO_TEST_CASE(every_default_is_valid_and_every_key_has_its_own_member) {
    const tla_schema schema = tla_platform_schema();
    for (size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_schema_key &k = tla_platform_keys[i];
        tla_value value;
        tla_error error;
        BOOST_REQUIRE_MESSAGE(tla_value_parse(&k.form, k.default_text, &value, &error) == TLA_OK, k.key);
        BOOST_CHECK(*k.source && *k.meaning);
        BOOST_CHECK(!std::strchr(k.source, '|') && !std::strchr(k.meaning, '|')); // would break the Markdown table
        for (size_t j = 0; j < i; j++) {
            BOOST_CHECK_MESSAGE(k.offset != tla_platform_keys[j].offset, k.key);
            BOOST_CHECK_MESSAGE(std::strcmp(k.key, tla_platform_keys[j].key) != 0, k.key);
        }
        // A section is known by its first key, which must not lie in a sub-section as well.
        string path = k.key, section = path.substr(0, path.rfind('.'));
        if (section.find('.') != string::npos)
            BOOST_CHECK(tla_schema_find_section(&schema, section.c_str()) !=
                        tla_schema_find_section(&schema, section.substr(0, section.rfind('.')).c_str()));
    }
}

BOOST_AUTO_TEST_CASE(each_key_sets_the_member_it_names) {
    tla_config c = good("hbm: {pseudo_channels: 16}\nva: {size: 1 GiB, cost: {merge: 3 ps}}\n"
                        "mmu: {cost: {invalidate: 9 ps, chunk: 8 ps, table_level: 7 ps}}\n"
                        "controller: {cost: {insert_node: 1 ps, probe: 2 ps, split: 4 ps, metadata_line: 5 ps}}\n");
    BOOST_CHECK_EQUAL(c.hbm.pseudo_channels, 16u);
    BOOST_CHECK_EQUAL(c.va.space.nbytes, 1u << 30);
    BOOST_CHECK_EQUAL(c.va.cost.merge_ps, 3u);
    BOOST_CHECK_EQUAL(c.mmu.cost.invalidate_ps, 9u);
    BOOST_CHECK_EQUAL(c.mmu.cost.chunk_ps, 8u);
    BOOST_CHECK_EQUAL(c.mmu.cost.table_level_ps, 7u);
    BOOST_CHECK_EQUAL(c.controller.cost.insert_node_ps, 1u);
    BOOST_CHECK_EQUAL(c.controller.cost.probe_ps, 2u);
    BOOST_CHECK_EQUAL(c.controller.cost.split_ps, 4u);
    BOOST_CHECK_EQUAL(c.controller.cost.metadata_line_ps, 5u);
}

BOOST_AUTO_TEST_CASE(a_printed_configuration_is_read_as_the_same_configuration) {
    const unsigned seed = 20260101;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    auto up_to = [&](uint64_t max) { return max == UINT64_MAX ? random() : random() % (max + 1); };
    for (int round = 0; round < 2000; round++) {
        tla_config c{};
        for (size_t i = 0; i < tla_platform_key_count; i++) {
            const tla_schema_key &k = tla_platform_keys[i];
            tla_value value{};
            const string key = k.key;
            if (key == "workload.kernel") {
                size_t length = 1 + up_to(TLA_CONFIG_NAME_MAX - 2);
                for (size_t n = 0; n < length; n++)
                    value.text[n] = "abcxyz_ABC0189"[up_to(13)];
            } else if (key == "faults.plan") {
                std::strcpy(value.text, up_to(1) ? "none" : "correctable rate=10 at=5us; refuse pe=0");
            } else if (k.form.type == TLA_VALUE_TEXT) {
                std::strcpy(value.text, k.default_text);
            } else if (k.form.type == TLA_VALUE_NAMED) {
                uint64_t names = 0;
                while (k.form.name(names))
                    names++;
                value.number = up_to(names - 1);
            } else if (k.power_of_two) {
                do
                    value.number = UINT64_C(1) << up_to(63);
                while (value.number < k.min || value.number > k.max);
            } else {
                // All magnitudes, and often a round number.
                value.number = k.min + up_to((k.max - k.min) >> up_to(63));
                uint64_t round_to[] = {1, 1, 1000, 1024, 1000000, 1 << 20, 1000000000, 1 << 30};
                uint64_t unit = round_to[up_to(7)];
                if (value.number > unit && value.number / unit * unit >= k.min)
                    value.number = value.number / unit * unit;
            }
            tla_schema_set(&tla_platform_keys[i], &c, &value);
        }
        c.tcm_present = true;
        c.pages.size_64k = c.mmu.page_size < 1 << 16 && c.pages.size_64k;
        c.pages.size_2m = c.mmu.page_size < 1 << 21 && c.pages.size_2m;
        c.pages.size_1g = c.mmu.page_size < 1 << 30 && c.pages.size_1g;
        c.mmu.va_bits = 64;
        c.workload.asid %= c.mmu.asids;
        if (c.host.driver.kind == TLA_HOST_DRIVER_ASYNCHRONOUS) c.host.driver.synchronous = false;
        c.controller.ports = std::max<uint32_t>(c.controller.ports, 7);
        for (tla_tlb_level_config *tlb : {&c.mmu.tlb_l1, &c.mmu.tlb_l2}) { // two ways, of a power of two of sets
            while (tlb->entries & (tlb->entries - 1))
                tlb->entries &= tlb->entries - 1;
            tlb->ways = tlb->entries > 1 ? 2 : 0;
        }
        while (c.system.cube_mesh_width * c.system.cube_mesh_height > TLA_CUBE_DIE_COUNT)
            c.system.cube_mesh_width = 1;
        if (c.system.pes_per_cube > c.topology.mesh_columns * c.topology.mesh_rows) c.topology.mesh_rows = TLA_PE_COUNT;
        if (up_to(1)) std::strcpy(c.topology.pe_places, "r0c0"), c.system.pes_per_cube = 1;
        if (up_to(1)) c.topology.sip_grid_width = c.system.sips;
        while (c.topology.sip_grid_width && c.system.sips % c.topology.sip_grid_width)
            c.topology.sip_grid_width--;
        c.system.hbm_per_cube -= c.system.hbm_per_cube % c.system.pes_per_cube;
        if (c.system.hbm_per_cube < 4096) c.system.hbm_per_cube = 4096 * c.system.pes_per_cube;
        c.controller.memory.of[TLA_TCM].reserved %= c.tcm.capacity;
        if (c.controller.list_reserve >= c.system.hbm_per_cube / c.system.pes_per_cube)
            c.controller.free_list = TLA_LIST_REGISTERS;
        if (c.controller.free_list != TLA_LIST_REGISTERS)
            c.controller.memory.of[TLA_HBM].policy = c.controller.memory.of[TLA_TCM].policy =
                c.controller.memory.of[TLA_SRAM].policy = c.controller.memory.of[TLA_M_CPU_MEMORY].policy =
                    c.controller.memory.of[TLA_HOST_MEMORY].policy = static_cast<tla_policy>(TLA_FIRST_FIT + up_to(3));
        const bool plain = c.controller.memory.layout == TLA_LAYOUT_PLAIN;
        c.controller.memory.of[TLA_HBM].base = plain ? UINT64_C(1) << (40 + up_to(20)) : 0;
        c.controller.memory.of[TLA_TCM].base = 0;
        c.controller.engine = TLA_ENGINE_MODEL; // another is there with Verilator alone
        tla_riscv_timing_defaults(&c.controller.firmware);
        if (c.controller.free_list != TLA_LIST_REGISTERS || up_to(1))
            c.controller.engine_nodes = 0;
        else
            c.controller.memory.of[TLA_HBM].policy = c.controller.memory.of[TLA_TCM].policy =
                c.controller.memory.of[TLA_SRAM].policy = c.controller.memory.of[TLA_M_CPU_MEMORY].policy =
                    c.controller.memory.of[TLA_HOST_MEMORY].policy = TLA_BEST_FIT;
        if (c.controller.free_list != TLA_LIST_REGISTERS || c.controller.guard != TLA_GUARD_OFF ||
            c.mmu.unmapped == TLA_UNMAPPED_DEMAND || c.mmu.walk == TLA_WALK_MEMORY ||
            c.controller.memory.of[TLA_HBM].policy != TLA_FIRST_FIT || c.host.driver.kind != TLA_HOST_DRIVER_NONE ||
            c.host.pool != TLA_HOST_POOL_NONE || c.messages.memory == TLA_SLOTS_HBM)
            c.controller.lockstep = TLA_LOCKSTEP_OFF;
        if (c.controller.move.mode == TLA_MOVE_OFF || c.controller.free_list != TLA_LIST_REGISTERS ||
            c.controller.engine_nodes > 0 || c.controller.lockstep != TLA_LOCKSTEP_OFF)
            c.controller.compaction.mode = TLA_COMPACTION_OFF;
        if (c.controller.object_eviction == TLA_VICTIM_TENANT_LRU) c.controller.watermark.permille = 0;
        if (c.controller.move.mode != TLA_MOVE_OFF || c.controller.lockstep != TLA_LOCKSTEP_OFF)
            c.controller.partition.memory = TLA_DIVIDED_NONE;
        const tla_memory_kind divided = static_cast<tla_memory_kind>(c.controller.partition.memory - 1);
        if (divided != TLA_SRAM && divided != TLA_M_CPU_MEMORY) // of a byte, perhaps
            c.controller.partition.memory = TLA_DIVIDED_NONE;
        if (c.controller.partition.memory != TLA_DIVIDED_NONE) c.controller.partition.chunk = 0;
        if (c.va.map_ack == TLA_MAP_ACK_POSTED || c.mmu.allow_remap || c.controller.move.mode != TLA_MOVE_OFF)
            c.mmu.fault_handler = TLA_FAULT_HANDLER_HOST;
        if (c.mmu.unmapped != TLA_UNMAPPED_DEMAND || c.host_memory.capacity == 0 ||
            c.va.map_ack != TLA_MAP_ACK_VISIBLE || c.controller.move.mode != TLA_MOVE_OFF ||
            c.controller.guard != TLA_GUARD_OFF || c.mmu.fault_handler != TLA_FAULT_HANDLER_HOST)
            c.host.eviction = TLA_EVICTION_OFF;
        while (c.messages.slots * c.messages.slot_size > TLA_MESSAGE_WINDOW_BYTES)
            c.messages.slots = 1;
        c.va.space.base.value -= c.va.space.base.value % c.va.space.page_size;
        c.va.space.nbytes =
            std::max(c.va.space.nbytes - c.va.space.nbytes % c.va.space.page_size, c.va.space.page_size);
        string text = printed(c);
        tla_config back = good(text);
        BOOST_REQUIRE_MESSAGE(tla_config_equal(&back, &c), text);
    }
}

BOOST_AUTO_TEST_CASE(each_visits_the_keys_in_order_with_text_and_number) {
    tla_config c = good("");
    struct row {
        string key, text;
        bool is_number;
        uint64_t number;
    };
    std::vector<row> rows;
    tla_config_each(
        &c,
        [](void *context, const char *key, const char *text, bool is_number, uint64_t number) {
            static_cast<std::vector<row> *>(context)->push_back({key, text, is_number, number});
        },
        &rows);
    BOOST_REQUIRE_EQUAL(rows.size(), tla_platform_key_count);
    BOOST_CHECK_EQUAL(rows[0].key, "system.sips");
    BOOST_CHECK_EQUAL(rows[0].text, "1");
    BOOST_CHECK(rows[0].is_number);
    auto find = [&](const string &key) {
        for (const row &r : rows)
            if (r.key == key) return r;
        BOOST_FAIL(key);
        return row{};
    };
    BOOST_CHECK_EQUAL(find("tcm.capacity").text, "16 MiB");
    BOOST_CHECK_EQUAL(find("tcm.capacity").number, 16u << 20);
    BOOST_CHECK_EQUAL(find("mmu.overhead").text, "500 ps");
    BOOST_CHECK_EQUAL(find("hbm.direction_switch").text, "0 ns");
    BOOST_CHECK_EQUAL(find("mmu.allow_remap").text, "false");
    BOOST_CHECK(!find("mmu.allow_remap").is_number);
    BOOST_CHECK_EQUAL(find("controller.hbm_policy").text, "first_fit");
    BOOST_CHECK_EQUAL(find("workload.kernel").text, "qkv_gemm");
    BOOST_CHECK(!find("workload.kernel").is_number);
}

BOOST_AUTO_TEST_CASE(the_small_configuration_is_one_cube_of_four_pes) {
    tla_config c{};
    strings findings;
    BOOST_CHECK_EQUAL(tla_config_load((configs + "npu_small.yaml").c_str(), nullptr, 0, &c, collect, &findings),
                      TLA_OK);
    BOOST_CHECK(findings.empty());
    BOOST_CHECK_EQUAL(c.system.sips * c.system.cube_mesh_width * c.system.cube_mesh_height, 1u);
    BOOST_CHECK_EQUAL(c.system.pes_per_cube, 4u);
    BOOST_CHECK_EQUAL(c.mmu.page_size, c.va.space.page_size);
}

BOOST_AUTO_TEST_CASE(kernbench_is_2_x_16_x_8_and_sets_every_key_that_comes_from_kernbench) {
    tla_config c{};
    strings findings;
    BOOST_CHECK_EQUAL(tla_config_load((configs + "kernbench.yaml").c_str(), nullptr, 0, &c, collect, &findings),
                      TLA_OK);
    BOOST_CHECK(findings.empty());
    BOOST_CHECK_EQUAL(c.system.sips * c.system.cube_mesh_width * c.system.cube_mesh_height * c.system.pes_per_cube,
                      256u);
    BOOST_CHECK_EQUAL(c.system.hbm_per_cube / c.system.pes_per_cube, UINT64_C(6) << 30); // ADR-0019: slices of 6 GiB
    BOOST_CHECK_EQUAL(c.va.space.base.value, UINT64_C(0x100000000));                     // ADR-0048 D4
    BOOST_CHECK_EQUAL(c.va.space.nbytes, UINT64_C(64) << 30);
    BOOST_CHECK_EQUAL(c.va.space.page_size, 4096u);
    // va.page_size follows mmu.page_size.
    string text = read_text(configs + "kernbench.yaml");
    for (size_t i = 0; i < tla_platform_key_count; i++) {
        string key = tla_platform_keys[i].key;
        if (string(tla_platform_keys[i].source).rfind("KernBench", 0) != 0) continue;
        BOOST_CHECK_MESSAGE(
            text.find(" " + key.substr(key.rfind('.') + 1) + ": ") != string::npos || key == "va.page_size", key);
    }
}

BOOST_AUTO_TEST_CASE(the_committed_reference_is_what_the_schema_says) {
    string page = read_text(configs + "keys.md"), reference = printed(tla_config_print_reference);
    size_t at = page.find("## ");
    BOOST_REQUIRE(at != string::npos);
    BOOST_CHECK_MESSAGE(page.substr(at) == reference,
                        "write it again with: cmake --build --preset release --target reference");
}

BOOST_AUTO_TEST_CASE(a_full_device_fails_printing) {
    FILE *full = std::fopen("/dev/full", "w");
    BOOST_REQUIRE(full);
    std::setvbuf(full, nullptr, _IONBF, 0);
    tla_config c = good("");
    BOOST_CHECK_EQUAL(tla_config_print(&c, full), TLA_IO);
    std::clearerr(full);
    BOOST_CHECK_EQUAL(tla_config_print_reference(full), TLA_IO);
    std::fclose(full);
}
