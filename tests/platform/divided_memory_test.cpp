// A platform whose slices are in two parts: what `tlmalloc check` refuses, and what runs have and say.
#include "platform/run_report.hpp"

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

std::string finding(const std::vector<std::string> &settings) {
    std::vector<std::string> words = with_prices(settings);
    words.insert(words.begin(), {"check", small});
    const command_result checked = run_tlmalloc(words);
    BOOST_CHECK_EQUAL(checked.status, 2);
    return checked.err;
}

} // namespace

BOOST_AUTO_TEST_CASE(check_names_the_key_that_a_memory_in_two_parts_lacks) {
    BOOST_CHECK_EQUAL(finding({"controller.partition=tcm", "controller.partition_chunk=5 MiB"}),
                      "--set: error: \"controller.partition_chunk=5 MiB\": L1 of the TCM has 4608 KiB, too little for "
                      "controller.partition_prefetches 8 and controller.partition_writes 1 of chunks of 5 MiB: set "
                      "controller.partition_l1 higher, or controller.partition_chunk lower\n");
    BOOST_CHECK_EQUAL(
        finding({"controller.partition=hbm", "controller.move=stop"}),
        "--set: error: \"controller.partition=hbm\": controller.partition hbm with a controller.move other "
        "than off: set controller.move to off, because a moving block needs two places\n");
    BOOST_CHECK_EQUAL(
        finding({"controller.partition=hbm", "controller.lockstep=cube"}),
        "--set: error: \"controller.partition=hbm\": controller.partition hbm with controller.lockstep: set "
        "controller.lockstep to off, because it decides about all slices\n");
    BOOST_CHECK_EQUAL(finding({"controller.partition=everything"}),
                      "--set: error: \"controller.partition=everything\": controller.partition: found \"everything\", "
                      "expected off or hbm or tcm or sram or m_cpu or host\n");
}

// A vector in each slice: in the whole slice it has room, in an L2 of 70 % it has not.
BOOST_AUTO_TEST_CASE(tensors_have_the_bytes_of_l2) {
    const std::vector<std::string> vectors{"workload.kernel=vector_add", "workload.elements_per_pe=262144",
                                           "hbm.capacity_per_cube=16 MiB"};
    const report whole = run(small, with_prices(vectors));
    BOOST_CHECK_EQUAL(whole.run.status, 0);
    std::vector<std::string> settings = vectors;
    settings.push_back("controller.partition=hbm");
    const report divided = run(small, with_prices(settings));
    BOOST_CHECK_EQUAL(divided.run.status, 1);
    BOOST_CHECK_MESSAGE(contains(divided.run.err, "tensor c: HBM of sip0.cube0.pe0 overflow: requested 1048576 bytes, "
                                                  "838861 free, largest free block 838861: exhausted; free something "
                                                  "first, or configure more memory; L2 limits it: reduce "
                                                  "controller.partition_l1 (correlation "),
                        divided.run.err);
    BOOST_CHECK_MESSAGE(contains(divided.run.err, " bytes, but 3355444 are free"), divided.run.err);
    settings.push_back("controller.partition_l1=100");
    const report smaller = run(small, with_prices(settings));
    BOOST_CHECK_EQUAL(smaller.run.status, 0);
    BOOST_CHECK_EQUAL(smaller.number("time_ps"), whole.number("time_ps"));
    BOOST_CHECK_EQUAL(smaller.sum("controllers", "l1_bytes"), 4 * 419430);
    BOOST_CHECK_EQUAL(smaller.sum("controllers", "part_shortages"), 0);
    BOOST_CHECK_GT(divided.sum("controllers", "part_shortages"), 0);
}

// Staging needs 1,300 KiB of L1, and no L2 of the rest has room for the third vector.
BOOST_AUTO_TEST_CASE(a_smaller_l1_is_no_advice_where_staging_needs_its_bytes) {
    const report divided = run(
        small, with_prices({"workload.kernel=vector_add", "workload.elements_per_pe=262144",
                            "hbm.capacity_per_cube=16 MiB", "controller.partition=hbm", "controller.partition_l1=400",
                            "controller.partition_chunk=1300 KiB", "controller.partition_prefetches=0"}));
    BOOST_CHECK_EQUAL(divided.run.status, 1);
    BOOST_CHECK_MESSAGE(
        contains(divided.run.err, "tensor c: HBM of sip0.cube0.pe0 overflow: requested 1048576 bytes, "),
        divided.run.err);
    BOOST_CHECK_MESSAGE(!contains(divided.run.err, "partition_l1"), divided.run.err);
}

// A tile of 4 MiB, in a TCM of 5 MiB of which 1 MiB is reserved: less reserve alone would not be enough for L2.
BOOST_AUTO_TEST_CASE(tiles_have_the_bytes_of_l2) {
    const scratch_directory scratch;
    const std::string file = scratch.write("wide.c", R"(/* One tile. */
#include "tlmalloc/kernel.h"
static tla_status run(tl_context *tl) {
    tl_tile tile = {.rows = 1, .columns = 900000, .dtype = TL_F32};
    const tla_status status = tl_alloc_tiles(tl, &tile, 1);
    return status ? status : tl_free_tiles(tl, &tile, 1, TLA_OK);
}
TL_KERNEL(.name = "wide", .description = "a wide tile", .run = run,
          .tensors = {{.name = "source", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(64)}}},
          .arguments = {TL_ADDRESS_OF(0)});
)");
    const auto with = [&](const std::string &l1) {
        return run(small, {"--kernel", file, "--set", "tcm.capacity=5 MiB", "--set", "controller.partition=tcm",
                           "--set", "controller.partition_l1=" + l1});
    };
    const report refused = with("300");
    BOOST_CHECK_EQUAL(refused.run.status, 1);
    BOOST_CHECK_MESSAGE(contains(refused.run.err, "TCM overflow: requested 3600000 bytes, 2936013 free, largest free "
                                                  "block 2936013: exhausted; free something first, or configure more "
                                                  "memory; L2 limits it: reduce controller.partition_l1"),
                        refused.run.err);
    BOOST_CHECK_EQUAL(with("140").run.status, 0);
}

// `tlmalloc replay` on a controller names the same keys, for L2 and for nodes.
BOOST_AUTO_TEST_CASE(replays_name_the_keys_that_limit_a_memory) {
    const scratch_directory scratch;
    const std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n0,alloc,1,200000\n10,alloc,2,800000\n");
    const auto with = [&](const std::vector<std::string> &settings) {
        std::vector<std::string> words = with_prices(settings);
        words.insert(words.begin(), {"replay", trace, "--config", small, "--set", "hbm.capacity_per_cube=4 MiB"});
        return run_tlmalloc(words);
    };
    const command_result divided = with({"controller.partition=hbm"});
    BOOST_CHECK_EQUAL(divided.status, 0);
    BOOST_CHECK_EQUAL(divided.err,
                      "id 2: HBM of PE 0 overflow: requested 800000 bytes, 534004 free, largest free block "
                      "534004: exhausted; free something first, or configure more memory; L2 limits it: "
                      "reduce controller.partition_l1\n");
    const command_result smaller = with({"controller.partition=hbm", "controller.partition_l1=40"});
    BOOST_CHECK_EQUAL(smaller.err, "");
    const command_result few =
        with({"controller.hbm_policy=offset_bins", "controller.engine=rtl", "controller.engine_nodes=2"});
    BOOST_CHECK_EQUAL(few.status, 0);
    BOOST_CHECK_EQUAL(few.err,
                      "id 1: HBM of PE 0: the free list has no node for another block: controller.list_reserve or "
                      "controller.engine_nodes limits its nodes\nid 2: HBM of PE 0: the free list has no node for "
                      "another block: controller.list_reserve or controller.engine_nodes limits its nodes\n");
}
