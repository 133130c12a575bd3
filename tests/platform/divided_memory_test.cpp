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
                                                  "838861 free, largest free block 838861: exhausted"),
                        divided.run.err);
    settings.push_back("controller.partition_l1=100");
    const report smaller = run(small, with_prices(settings));
    BOOST_CHECK_EQUAL(smaller.run.status, 0);
    BOOST_CHECK_EQUAL(smaller.number("time_ps"), whole.number("time_ps"));
    BOOST_CHECK_EQUAL(smaller.sum("controllers", "l1_bytes"), 4 * 419430);
    BOOST_CHECK_EQUAL(smaller.sum("controllers", "part_shortages"), 0);
    BOOST_CHECK_GT(divided.sum("controllers", "part_shortages"), 0);
}
