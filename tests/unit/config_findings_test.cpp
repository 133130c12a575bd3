// Configurations that are refused: what is found, and where.
#include "config_parsing.hpp"

#include <random>

using namespace config_parsing;

BOOST_AUTO_TEST_CASE(unknown_keys_are_found_with_what_was_meant) {
    check_findings(
        "sytem: {sips: 1}\n"
        "hbm:\n"
        "  brust: 256 B\n"
        "  frequency: 1\n"
        "mmu:\n"
        "  cost:\n"
        "    pte_wirte: 1 ns\n"
        "    node: 1 ns\n"
        "zzz: [1, {a: 2}]\n",
        {"f:1:1: unknown key \"sytem\", did you mean \"system\"?",
         "f:3:3: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?", "f:4:3: unknown key \"hbm.frequency\"",
         "f:7:5: unknown key \"mmu.cost.pte_wirte\", did you mean \"mmu.cost.pte_write\"?",
         "f:8:5: unknown key \"mmu.cost.node\", did you mean \"va.cost.node\"?", "f:9:1: unknown key \"zzz\""});
}

BOOST_AUTO_TEST_CASE(a_simulation_has_no_style_and_looks_ahead_a_millisecond_at_most) {
    check_findings("simulation: {style: fast}\n", {"f:1:14: unknown key \"simulation.style\""});
    check_findings("simulation:\n  look_ahead: 1001 us\n",
                   {"f:2:15: simulation.look_ahead: found \"1001 us\", expected 0 ns .. 1 ms"});
}

BOOST_AUTO_TEST_CASE(a_key_written_twice_is_found) {
    check_findings("hbm:\n  burst: 256 B\n  burst: 512 B\nmmu: {cost: {chunk: 1 ns}}\nhbm: {burst: 1 B}\n",
                   {"f:3:3: hbm.burst: found the key again, expected it once (line 2)",
                    "f:5:1: hbm: found the key again, expected it once (line 1)"});
    // A value that was bad has still been written.
    check_findings("hbm:\n  burst: 3 B\n  burst: 512 B\n",
                   {"f:2:10: hbm.burst: found \"3 B\", expected 1 B .. 64 KiB, a power of two",
                    "f:3:3: hbm.burst: found the key again, expected it once (line 2)"});
}

BOOST_AUTO_TEST_CASE(missing_and_unknown_units_are_found) {
    check_findings(
        "hbm:\n  direction_switch: 0\n  burst: 256 Bytes\n  pseudo_channels: 8 B\n"
        "pe: {gemm_rate: 8 TB/s}\ndma:\n    bandwidth:   256GB\n",
        {"f:2:21: hbm.direction_switch: found \"0\", which has no unit, expected a time with a unit (ps, ns, us, "
         "ms, s)",
         "f:3:10: hbm.burst: found \"256 Bytes\" with the unknown unit \"Bytes\", expected a size with a unit "
         "(B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)",
         "f:4:20: hbm.pseudo_channels: found \"8 B\", expected an integer without a unit",
         "f:5:17: pe.gemm_rate: found \"8 TB/s\" with the unknown unit \"TB/s\", expected a rate with a unit "
         "(GFLOPS, TFLOPS)",
         "f:7:18: dma.bandwidth: found \"256GB\" with the unknown unit \"GB\", expected a bandwidth with a unit "
         "(B/s, KB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s)"});
}

BOOST_AUTO_TEST_CASE(a_topology_that_cannot_be_is_found_where_it_is_written) {
    check_findings(
        "system: {pes_per_cube: 2}\n"
        "cube:\n"
        "  pe_places: r0c0 r0c0\n"
        "  m_cpu_place: r0c6\n"
        "  sram_place: r2c2\n"
        "  connection_places: 0 1 2\n"
        "io_chiplet: {phy_faces: cube1.W}\n"
        "links: {router_bandwidth: 0 GB/s, ucie_length: 1 m, wire: 10}\n",
        {"f:8:27: links.router_bandwidth: found \"0 GB/s\", expected 1 MB/s .. 1000 TB/s",
         "f:8:48: links.ucie_length: found \"1 m\" with the unknown unit \"m\", expected a length with a unit "
         "(um, mm)",
         "f:8:59: links.wire: found \"10\", which has no unit, expected a time with a unit (ps, ns, us, ms, s)",
         "f:3:14: PE 0 and PE 1 are both at r0c0: give them different routers",
         "f:4:16: the M_CPU at r0c6 is outside the mesh of 6 rows and 6 columns",
         "f:5:15: the SRAM at r2c2 is in the hole of the mesh: name the place of a router",
         "f:6:22: places for 3 connections, but a side has 4", "f:7:25: cube1.W: the cube must be 0 .. 0"});
    // What follows from a number stands at the number; what rests on something that is wrong is not told.
    check_findings("cube:\n  mesh_rows: 1\n  mesh_columns: 3\n",
                   {"f:2:14: 4 PEs of a cube: must be at most as many as its routers, 3"});
    check_findings("cube: {mesh_hole: r4c4..r6c6}\n",
                   {"f:1:19: hole r4c4..r6c6 reaches outside the mesh of 6 rows and 6 columns"});
    check_findings("cube: {mesh_hole: r2c0..r3c5, sram_place: r0c0, connections: 2}\n",
                   {"f:1:19: the hole covers all columns: r1c0 and r4c0 cannot reach each other"});
    check_findings(
        "cube: {pe_places: r0 c0}\n",
        {"f:1:19: cube.pe_places: found \"r0 c0\", expected corners, or routers with spaces between them (r0c0 "
         "r0c1)"});
    check_findings("system: {sips: 4, sip_topology: torus, sip_grid_width: 3}\n",
                   {"f:1:56: a grid of width 3 for 4 SIPs: all rows must be complete"});
}

BOOST_AUTO_TEST_CASE(a_missing_stack_is_found_with_a_whole_text) {
    check_findings(
        "controller: {hbm_policy: [tlsf], tcm_policy: }\n",
        {"f:1:26: controller.hbm_policy: found a sequence, expected a placement, a front, or FRONT/PLACEMENT",
         "f:1:46: controller.tcm_policy: found nothing, expected a placement, a front, or FRONT/PLACEMENT"});
}

BOOST_AUTO_TEST_CASE(wrong_types_are_found) {
    char stacks[300]; // stack_rules_test says what it reads
    tla_stack_policy_expected(stacks, sizeof stacks);
    check_findings(
        "system:\n"
        "  sips: two\n"
        "  pes_per_cube: 1.5\n"
        "hbm: 3 GiB\n"
        "tcm: [16 MiB]\n"
        "mmu:\n"
        "  page_size: [4 KiB, 2 MiB]\n"
        "  allow_remap: yes\n"
        "  unmapped: fault\n"
        "  ports: {}\n"
        "  queue_depth:\n"
        "workload: {kernel: 'a b', seed: -1, elements_per_pe: \"1\\0\"}\n"
        "controller: {hbm_policy: first-fit}\n",
        {"f:2:9: system.sips: found \"two\", expected an integer without a unit",
         "f:3:17: system.pes_per_cube: found \"1.5\", expected an integer without a unit",
         "f:4:6: hbm: found \"3 GiB\", expected a mapping with keys such as hbm.capacity_per_cube",
         "f:5:6: tcm: found a sequence, expected a mapping with keys such as tcm.capacity",
         "f:7:14: mmu.page_size: found a sequence, expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, MB, "
         "GB, TB)",
         "f:8:16: mmu.allow_remap: found \"yes\", expected false or true",
         "f:9:13: mmu.unmapped: found \"fault\", expected error or pa_fallback or demand",
         "f:10:10: mmu.ports: found a mapping, expected an integer without a unit",
         "f:11:15: mmu.queue_depth: found nothing, expected an integer without a unit",
         "f:12:20: workload.kernel: found \"a b\", expected a name of letters, digits and _, at most 63 long",
         "f:12:33: workload.seed: found \"-1\", expected an integer that is not negative",
         "f:12:54: workload.elements_per_pe: found a text with a NUL character, expected an integer without a "
         "unit",
         std::string("f:13:26: controller.hbm_policy: found \"first-fit\", expected ") + stacks +
             ", did you mean \"first_fit\"?"});
}

BOOST_AUTO_TEST_CASE(values_out_of_range_are_found) {
    check_findings(
        "system: {pes_per_cube: 0, sips: 17}\n"
        "hbm: {burst: 100 B, capacity_per_cube: 129 GiB, pseudo_channel_bandwidth: 0 B/s, pseudo_channels: 6}\n"
        "tcm: {capacity: 513 MiB, latency: -1 ns}\n"
        "mmu: {page_size: 2 KiB}\n"
        "dma: {chunk: 0 B, outstanding: 0}\n"
        "workload: {seed: 18446744073709551616}\n",
        {"f:1:24: system.pes_per_cube: found \"0\", expected 1 .. 16",
         "f:1:33: system.sips: found \"17\", expected 1 .. 16",
         "f:2:14: hbm.burst: found \"100 B\", expected 1 B .. 64 KiB, a power of two",
         "f:2:40: hbm.capacity_per_cube: found \"129 GiB\", expected 4 KiB .. 128 GiB",
         "f:2:75: hbm.pseudo_channel_bandwidth: found \"0 B/s\", expected 1 MB/s .. 1000 TB/s",
         "f:2:99: hbm.pseudo_channels: found \"6\", expected 1 .. 256, a power of two",
         "f:3:17: tcm.capacity: found \"513 MiB\", expected 1 KiB .. 512 MiB",
         "f:3:35: tcm.latency: found \"-1 ns\", expected a time that is not negative",
         "f:4:18: mmu.page_size: found \"2 KiB\", expected 4 KiB .. 1 GiB, a power of two",
         "f:5:14: dma.chunk: found \"0 B\", expected 1 B .. 1 GiB",
         "f:5:32: dma.outstanding: found \"0\", expected 1 .. 65536",
         "f:6:18: workload.seed: found \"18446744073709551616\", expected an integer below 2^64"});
}

BOOST_AUTO_TEST_CASE(rules_between_keys_are_checked_where_the_key_was_written) {
    check_findings("system: {cube_mesh_height: 5, cube_mesh_width: 4}\n",
                   {"f:1:48: 4 x 5 cubes: system.cube_mesh_width * system.cube_mesh_height must be at most 16"});
    check_findings("system: {pes_per_cube: 7}\n",
                   {"f:1:24: hbm.capacity_per_cube 24 GiB must be a multiple of system.pes_per_cube, 7"});
    check_findings("tcm: {capacity: 1 MiB}\n",
                   {"f:1:17: tcm.scheduler_reserve 1 MiB must be less than tcm.capacity, 1 MiB"});
    check_findings("tcm:\n  capacity: 1 MiB\n  scheduler_reserve: 2 MiB\n",
                   {"f:3:22: tcm.scheduler_reserve 2 MiB must be less than tcm.capacity, 1 MiB"});
    check_findings("faults: {plan: refuse; channel_out channel=8}\n",
                   {"f:1:16: faults.plan: pseudo-channel 8 must be 0 .. 7"});
    check_findings("faults: {plan: channel_out channel=1 bank=0}\n",
                   {"f:1:16: faults.plan: bank 0 needs an hbm.timing with banks"});
    check_findings("hbm: {timing: hbm2}\nfaults: {plan: channel_out channel=1 bank=16}\n",
                   {"f:2:16: faults.plan: bank 16 must be 0 .. 15"});
    check_findings("faults:\n  plan: correctable pe=4\n", {"f:2:9: faults.plan: PE 4 must be 0 .. 3"});
    check_findings("faults: {plan: uncorrectable address=6442450944}\n",
                   {"f:1:16: faults.plan: byte 6442450944 must be inside the slice of 6 GiB"});
    check_findings("faults: {plan: corectable}\n",
                   {"f:1:16: faults.plan: found \"corectable\", expected a fault: correctable, uncorrectable, "
                    "channel_out or refuse"});
    check_findings(
        "controller: {free_list: hbm, hbm_policy: buddy}\n",
        {"f:1:25: a free list in memory does not support buddy: use first_fit, best_fit, next_fit or worst_fit"});
    check_findings("controller:\n  tcm_policy: caching_pool/best_fit\n  free_list: sram\n",
                   {"f:3:14: a free list in memory does not support caching_pool/best_fit: use first_fit, best_fit, "
                    "next_fit or worst_fit"});
    check_findings("controller: {lockstep: cube, hbm_policy: buddy}\n",
                   {"f:1:24: controller.hbm_policy with controller.lockstep cube: must be first_fit (from the bottom) "
                    "or first_fit_top"});
    check_findings("controller: {lockstep: sip, free_list: sram}\n",
                   {"f:1:24: controller.free_list with controller.lockstep sip: must be registers"});
    check_findings("controller:\n  guard: report\n  lockstep: sip\n",
                   {"f:3:13: controller.guard with controller.lockstep sip: must be off"});
    check_findings("controller: {lockstep: cube}\nmmu: {unmapped: demand}\n",
                   {"f:1:24: mmu.unmapped demand with controller.lockstep cube: must be error or pa_fallback, because "
                    "a page is a block of one slice"});
    check_findings("controller: {lockstep: cube}\nmmu: {walk: memory}\n",
                   {"f:1:24: mmu.walk memory with controller.lockstep cube: must be ideal or flat, because a table is "
                    "a block of one slice"});
    check_findings("controller: {lockstep: sip}\nhost: {pool: caching_pool}\n",
                   {"f:1:24: host.pool with controller.lockstep sip: must be none"});
    check_findings("controller: {lockstep: cube}\nmessages: {memory: hbm}\n",
                   {"f:1:24: messages.memory hbm with controller.lockstep cube: must be tcm or sram, because slots are "
                    "a block of one slice"});
    check_findings("controller: {hbm_policy: slot_pool/first_fit, tcm_policy: bump/first_fit}\n",
                   {"f:1:26: controller.hbm_policy: found \"slot_pool/first_fit\", expected slot_pool alone: this "
                    "front has no placement",
                    "f:1:59: controller.tcm_policy: found \"bump/first_fit\", expected before the / caching_pool or "
                    "segment_cache or growing_pool or mixed or lazy or linear_regions or interleaving_regions"});
    check_findings("controller: {hbm_policy: slot_pool, hbm_front: {slot: 10 MiB, segment: 1 MiB}}\n",
                   {"f:1:55: HBM: slots of 10485760 bytes: must divide the 6442450944 bytes of the memory"});
    check_findings("tcm: {capacity: 16 MiB, scheduler_reserve: 1000 KiB}\ncontroller: {tcm_policy: slot_pool}\n",
                   {"f:2:26: TCM: slots of 262144 bytes: must divide the 15753216 bytes of the memory"});
    check_findings("controller: {hbm_policy: lazy, hbm_front: {initial: 8 GiB}}\n",
                   {"f:1:53: HBM: 8589934592 initial bytes: must be a multiple of a chunk, 67108864, and at most the "
                    "6442450944 bytes of the memory"});
    check_findings("controller: {hbm_policy: segmented, hbm_front: {segment: 1 MiB}}\n",
                   {"f:1:58: HBM: segments of 1048576 bytes in a memory of 6442450944: must be at most 4096 segments"});
    check_findings("controller: {tcm_policy: segmented, tcm_front: {initial: 0 B}}\n",
                   {"f:1:58: TCM: 0 initial bytes: must be at least 1"});
    check_findings("controller: {sram_policy: linear_regions, alignment: 1 MiB}\n",
                   {"f:1:27: SRAM: segments of 1310720 bytes: must be a multiple of the alignment, 1048576"});
    check_findings("controller: {sram_policy: slot_pool, alignment: 512 KiB}\n",
                   {"f:1:27: SRAM: slots of 262144 bytes: must be a multiple of the alignment, 524288"});
    check_findings(
        "controller: {m_cpu_policy: mixed, m_cpu_front: {buffers: 1 MiB}}\n",
        {"f:1:58: M_CPU memory: 1048576 bytes for plain buffers: must be less than the 1048576 bytes of the memory"});
    check_findings("host_memory: {capacity: 3 MiB}\ncontroller: {host_policy: slot_pool}\n",
                   {"f:2:27: host memory: slots of 2097152 bytes: must divide the 3145728 bytes of the memory"});
    good("controller: {host_policy: slot_pool, host_front: {slot: 3 B}}\n"); // of a memory that is not there
    check_findings(
        "host_memory: {capacity: 3 TiB, channels: 6, latency: 33, interleave: 100 B}\n",
        {"f:1:25: host_memory.capacity: found \"3 TiB\", expected 0 B .. 2 TiB",
         "f:1:42: host_memory.channels: found \"6\", expected 1 .. 256, a power of two",
         "f:1:54: host_memory.latency: found \"33\", which has no unit, expected a time with a unit (ps, ns, us, "
         "ms, s)",
         "f:1:70: host_memory.interleave: found \"100 B\", expected 1 B .. 64 KiB, a power of two"});
    check_findings(
        "controller: {host_policy: lazy/tlsf, free_list: sram}\n",
        {"f:1:49: a free list in memory does not support lazy/tlsf: use first_fit, best_fit, next_fit or worst_fit"});
    check_findings("controller: {hbm_policy: offset_bins, engine_nodes: 1}\n",
                   {"f:1:53: controller.engine_nodes 1 with offset_bins: must be at least 2, because one node is never "
                    "used"});
    good("controller: {hbm_policy: offset_bins_rounded, engine_nodes: 1}\n");
    check_findings("controller: {hbm_policy: offset_bins, move: stop, compaction: background}\n",
                   {"f:1:63: controller.compaction background with offset_bins, which chooses the places of blocks "
                    "itself: set the policy to another placement"});
    check_findings("controller: {hbm_policy: segment_cache, hbm_front: {segment: 2 MiB}}\n",
                   {"f:1:62: HBM: a segment of 2097152 bytes: must be a multiple of 10 KiB, so that 1/20 of it is a "
                    "multiple of 512 bytes"});
    good("controller: {hbm_front: {segment: 2 MiB, slot: 10 MiB}}\n"); // of fronts that are not there
    check_findings("hbm: {capacity_per_cube: 4 MiB}\ncontroller: {free_list: hbm}\n",
                   {"f:2:25: controller.list_reserve 1 MiB must be less than the slice, 1 MiB"});
    check_findings(
        "mmu: {ports: 2, walk: memory}\ncontroller:\n  ports: 3\n",
        {"f:1:14: mmu.ports: found \"2\", expected 3 .. 4096",
         "f:3:10: controller.ports 3 must be at least 4 with mmu.walk memory: port 3 is for the MMU's tables"});
    check_findings("mmu:\n  unmapped: demand\n",
                   {"--set:0:0: \"controller.ports=4\": controller.ports 4 must be at least 5 with mmu.unmapped "
                    "demand: port 4 is for the host's page faults"},
                   {"controller.ports=4"});
    check_findings("mmu: {unmapped: demand, fault_handler: controller}\ncontroller: {ports: 6}\n",
                   {"f:2:21: controller.ports 6 must be at least 7 with mmu.fault_handler controller: port 6 is for "
                    "the pages that it gives itself"});
    check_findings("mmu: {unmapped: demand, fault_handler: controller}\nva: {map_ack: posted}\n",
                   {"f:1:40: mmu.fault_handler controller with va.map_ack posted: set va.map_ack to visible, because "
                    "the answer to a MAP decides which controller gives a page"});
    check_findings("mmu: {unmapped: demand, fault_handler: controller, allow_remap: true}\n",
                   {"f:1:40: mmu.fault_handler controller with mmu.allow_remap true: set mmu.allow_remap to false, "
                    "because the first mapping of a page must stay"});
    check_findings("mmu: {unmapped: demand, fault_handler: controller}\ncontroller: {move: stop}\n",
                   {"f:1:40: mmu.fault_handler controller with controller.move: set controller.move to off, because "
                    "nobody records the mappings of these pages"});
    good("mmu: {fault_handler: controller, allow_remap: true}\n"); // no page is on demand
    check_findings("controller: {lockstep: cube, ports: 2}\n",
                   {"f:1:37: controller.ports 2 must be at least 3 with controller.lockstep cube: port 2 is for the "
                    "processor that places the blocks"});
    check_findings("controller: {ports: 1}\n", {"f:1:21: controller.ports: found \"1\", expected 2 .. 4096"});
    check_findings("va: {base: 5 KiB, size: 65 KiB, page_size: 64 KiB}\n",
                   {"f:1:12: va.base 5 KiB must be a multiple of va.page_size, 64 KiB",
                    "f:1:25: va.size 65 KiB must be a multiple of va.page_size, 64 KiB"});
    check_findings("mmu: {page_size: 1 GiB}\nva: {size: 0.5 GiB}\n",
                   {"f:2:12: va.size 512 MiB must be a multiple of va.page_size, 1 GiB"});
    // A rule is not checked when what it reads has had its finding, or when the file was not read to its end.
    check_findings("tcm: {capacity: 0 B, scheduler_reserve: 500 MiB}\n",
                   {"f:1:17: tcm.capacity: found \"0 B\", expected 1 KiB .. 512 MiB"});
    check_findings("system: {pes_per_cube: 7}\n]",
                   {"f:2:1: not YAML: did not find expected key, while parsing a block mapping"});
}

BOOST_AUTO_TEST_CASE(invalid_yaml_is_reported_with_its_place) {
    check_findings("hbm: {burst: 256 B\n",
                   {"f:2:1: not YAML: did not find expected ',' or '}', while parsing a flow mapping"});
    check_findings("hbm:\n\tburst: 256 B\n",
                   {"f:2:1: not YAML: found character that cannot start any token, while scanning for the next token: "
                    "found a tab in the indentation, did you mean spaces?"});
    check_findings("workload:\n  kernel: 'abc\n",
                   {"f:3:1: not YAML: found unexpected end of stream, while scanning a quoted scalar"});
    check_findings("hbm:\n  burst: \xff\n", {"f:2:10: not YAML: invalid leading UTF-8 octet (found 0xff)"});
    check_findings("# \xc3\xa9\xc3", {"f:1:4: not YAML: incomplete UTF-8 octet sequence"});
    check_findings(string("# \xc3\xa9\nhb\0m: 1\n", 14),
                   {"f:2:3: not YAML: control characters are not allowed (found 0x00)"});
    check_findings("a\r\nb\rc\x01", {"f:3:2: not YAML: control characters are not allowed (found 0x01)"});
    // Findings before a syntax error are reported too.
    check_findings("hbm:\n  brust: 1 B\n  burst: {\n",
                   {"f:2:3: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?",
                    "f:3:10: hbm.burst: found a mapping, expected a size with a unit "
                    "(B, KiB, MiB, GiB, TiB, KB, MB, GB, TB)",
                    "f:4:1: not YAML: did not find expected node content, while "
                    "parsing a flow node"});
}

BOOST_AUTO_TEST_CASE(yaml_without_a_meaning_here_is_rejected) {
    check_findings("- 1\n- 2\n", {"f:1:1: found a sequence, expected a mapping of sections"});
    check_findings("\n  text\n", {"f:2:3: found \"text\", expected a mapping of sections"});
    check_findings("*a\n", {"f:1:1: found the alias \"a\", expected a mapping of sections"});
    check_findings("hbm: {burst: 256 B}\n---\nhbm: {}\n", {"f:2:1: found a second document, expected one"});
    check_findings(
        "hbm: &x {burst: !!str 256 B}\ntcm: *x\nmmu: {page_size: *y}\n",
        {"f:1:6: found the anchor \"x\", expected none",
         "f:1:17: found the tag \"tag:yaml.org,2002:str\", expected none",
         "f:2:6: tcm: found the alias \"x\", expected a mapping with keys such as tcm.capacity",
         "f:3:18: mmu.page_size: found the alias \"y\", expected a size with a unit (B, KiB, MiB, GiB, TiB, KB, "
         "MB, GB, TB)"});
    check_findings(
        "a: &a [*a, *a]\n<<: *a\n",
        {"f:1:1: unknown key \"a\"", "f:1:4: found the anchor \"a\", expected none", "f:2:1: unknown key \"<<\""});
    check_findings("? [a, b]\n: c\n", {"f:1:3: found a sequence, expected a key"});
    check_findings("? &k hbm\n: {burst: 256 B}\n", {"f:1:3: found the anchor \"k\", expected none"});
    check_findings("hbm.burst: 256 B\n", {"f:1:1: found the key \"hbm.burst\", expected sections as nested mappings"});
}

BOOST_AUTO_TEST_CASE(hostile_texts_are_shown_on_one_short_line) {
    check_findings(
        "workload: {kernel: \"a\\nb\\x01\"}\n",
        {"f:1:20: workload.kernel: found \"a\\x0ab\\x01\", expected a name of letters, digits and _, at most 63 "
         "long"});
    check_findings("workload: {kernel: " + string(100, 'k') + "}\n",
                   {"f:1:20: workload.kernel: found \"" + string(48, 'k') +
                    "...\", expected a name of letters, digits and _, at most 63 long"});
    check_findings(string(47, 'k') + "\xe2\x82\xac\xe2\x82\xac: 1\n",
                   {"f:1:1: unknown key \"" + string(47, 'k') + "\xe2\x82\xac...\""});
    BOOST_CHECK_EQUAL(good("workload: {kernel: " + string(63, 'k') + "}\n").workload.kernel, string(63, 'k'));
    check_findings(string(1 << 20, '['), {"f:1:1: found a sequence, expected a mapping of sections",
                                          "f:1:33: found more than 32 nested levels, expected a few"});
    BOOST_CHECK_EQUAL(parse(string(1 << 20, '{')).status, TLA_SYNTAX);
    string keys;
    for (int i = 0; i < 5000; i++)
        keys += "key_" + std::to_string(i) + ": 1\n";
    const auto found = parse(keys).findings;
    BOOST_REQUIRE_EQUAL(found.size(), 101u);
    BOOST_CHECK_EQUAL(found.back(), "f:101:1: more than 100 errors: the rest of the file is not read");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_and_crlf_do_not_shift_places) {
    check_findings("\xef\xbb\xbfhbm:\r\n  burst: 3 B\r\n",
                   {"f:2:10: hbm.burst: found \"3 B\", expected 1 B .. 64 KiB, a power of two"});
    check_findings("\xef\xbb\xbfhmb:\n", {"f:1:1: unknown key \"hmb\", did you mean \"hbm\"?"});
}

BOOST_AUTO_TEST_CASE(bad_overrides_are_found_and_quoted) {
    check_findings(
        "",
        {"--set:0:0: \"hbm.burst=100 B\": hbm.burst: found \"100 B\", expected 1 B .. 64 KiB, a power of two",
         "--set:0:0: \"hbm.burst\": expected KEY=VALUE, such as \"hbm.burst=256 B\"",
         "--set:0:0: \"hbm=1\": found a section, expected one of its keys, such as hbm.capacity_per_cube",
         "--set:0:0: \"=\": unknown key \"\"",
         "--set:0:0: \"hbm.brust=1 B\": unknown key \"hbm.brust\", did you mean \"hbm.burst\"?",
         "--set:0:0: \"mmu.cost.fixed.x=1\": unknown key \"mmu.cost.fixed.x\", did you mean "
         "\"mmu.cost.fixed\"?",
         "--set:0:0: \"system.pes_per_cube=0\": system.pes_per_cube: found \"0\", expected 1 .. 16"},
        {"hbm.burst=100 B", "hbm.burst", "hbm=1", "=", "hbm.brust=1 B", "mmu.cost.fixed.x=1", "system.pes_per_cube=0"});
    // A rule that an override breaks is that override's; what the file says wrong stays wrong.
    check_findings(
        "tcm: {scheduler_reserve: 4 KiB, capacity: 8 KiB, latency: 3}\n",
        {"f:1:59: tcm.latency: found \"3\", which has no unit, expected a time with a unit (ps, ns, us, ms, s)",
         "--set:0:0: \"tcm.scheduler_reserve=8 KiB\": tcm.scheduler_reserve 8 KiB must be less than tcm.capacity, 8 "
         "KiB"},
        {"tcm.scheduler_reserve=8 KiB", "tcm.latency=3 ns"});
}

BOOST_AUTO_TEST_CASE(a_file_truncated_at_any_length_is_read_or_rejected_without_harm) {
    for (const char *name : {"npu_small.yaml", "kernbench.yaml"}) {
        string text = read_text(configs + name);
        for (size_t length = 0; length <= text.size(); length++) {
            result r = parse(text.substr(0, length));
            BOOST_CHECK(r.status == TLA_OK || r.status == TLA_SYNTAX);
        }
        const unsigned seed = 7;
        std::mt19937 random(seed);
        for (int round = 0; round < 2000; round++) {
            string damaged = text;
            for (int n = 0; n < 3; n++)
                damaged[random() % damaged.size()] = static_cast<char>(random());
            tla_status status = parse(damaged).status;
            BOOST_CHECK_MESSAGE(status == TLA_OK || status == TLA_SYNTAX, "seed " << seed << " round " << round);
        }
    }
}

BOOST_AUTO_TEST_CASE(an_unreadable_file_is_reported_with_the_cause) {
    tla_config c{};
    strings findings;
    string missing = string(TLMALLOC_BINARY_DIR) + "/no_such_file.yaml";
    BOOST_CHECK_EQUAL(tla_config_load(missing.c_str(), nullptr, 0, &c, collect, &findings), TLA_IO);
    BOOST_CHECK_EQUAL(tla_config_load("/", nullptr, 0, &c, collect, &findings), TLA_IO);
    BOOST_CHECK_EQUAL(tla_config_load("/dev/zero", nullptr, 0, &c, collect, &findings), TLA_IO);
    const strings expected{missing + ":0:0: cannot be read: No such file or directory",
                           "/:0:0: cannot be read: Is a directory", "/dev/zero:0:0: cannot be read: File too large"};
    BOOST_CHECK_EQUAL_COLLECTIONS(findings.begin(), findings.end(), expected.begin(), expected.end());
    BOOST_CHECK_EQUAL(tla_config_load("/", nullptr, 0, &c, nullptr, nullptr), TLA_IO);
}

BOOST_AUTO_TEST_CASE(plain_addresses_that_overlap_or_end_past_2_to_the_64_are_rejected) {
    check_findings("hbm: {base: 4 KiB}\n", {"f:1:13: hbm.base 4 KiB with controller.addresses kernbench: set "
                                            "controller.addresses to plain, or the base to 0 B"});
    check_findings("controller: {addresses: plain}\nhbm: {capacity_per_cube: 64 MiB, base: 8 MiB}\ntcm: {base: 0 B}\n",
                   {"f:2:40: hbm.base or tcm.base: TCM at 0x0 .. 0xffffff and HBM at 0x800000 .. 0x17fffff overlap"});
    check_findings("controller: {addresses: plain}\n"
                   "hbm: {base: 0 B}\n"
                   "tcm: {base: 18446744073709551615 B}\n",
                   {"f:2:13: hbm.base or tcm.base: TCM: base 0xffffffffffffffff + 16777216 bytes ends past 2^64"});
    check_findings("controller: {addresses: plain, alignment: 4 KiB}\ntcm: {base: 100 GiB}\nhbm: {base: 1 KiB}\n",
                   {"f:3:13: hbm.base or tcm.base: HBM: base 0x400 is not a multiple of alignment 4096"});
    check_findings("controller: {addresses: flat}\n",
                   {"f:1:25: controller.addresses: found \"flat\", expected kernbench or plain"});
    const tla_config c =
        good("controller: {addresses: plain}\ntcm: {base: 2 GiB}\nhbm: {capacity_per_cube: 64 MiB, base: 16 KiB}\n");
    BOOST_CHECK_EQUAL(c.controller.memory.layout, TLA_LAYOUT_PLAIN);
    BOOST_CHECK_EQUAL(c.controller.memory.of[TLA_HBM].base, 16384u);
    BOOST_CHECK_EQUAL(c.controller.memory.of[TLA_TCM].base, UINT64_C(1) << 31);
}
