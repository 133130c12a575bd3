// `tlmalloc run` where commands are refused and not sent again at once: whoever owes a FREE makes up for it, nothing
// leaks, and a page that the host refuses is told with its reason.
#include "platform/run_report.hpp"

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using settings = std::vector<std::string>;

report run_with(const std::string &kernel, settings keys, const std::string &plan) {
    if (!plan.empty()) keys.insert(keys.end(), {"faults.plan=" + plan, "host.retries=0"});
    settings arguments{"--kernel", kernel};
    for (const std::string &word : with_prices(keys))
        arguments.push_back(word);
    return run(small, arguments);
}

std::string message_of(const report &r) {
    return text_of(r.json.get(), "message");
}

// Commands are refused at moments all over the run, once or three times in a row by each controller. Returns how many
// commands were.
std::int64_t refuse_all_over(const std::string &kernel, const settings &keys) {
    std::int64_t refused = 0;
    const std::int64_t end_ns = run_with(kernel, keys, "").number("sim_time_ps") / 1000;
    for (std::int64_t i = 1; i < 8; i++) {
        const std::string one = "refuse at=" + std::to_string(end_ns * i / 8) + "ns";
        const report r = run_with(kernel, keys, i % 2 ? one : one + "; " + one + "; " + one);
        BOOST_TEST_CONTEXT(kernel << ", " << one << ": " << r.run.err) {
            BOOST_CHECK_EQUAL(r.number("leaks"), 0);
            BOOST_CHECK(!contains(r.run.err, "not all memory was freed"));
            if (r.run.status) BOOST_CHECK(contains(message_of(r), "rejected by the fault plan"));
        }
        refused += r.sum("controllers", "refused_commands");
    }
    return refused;
}

// Scratch tiles, a tile with two references of which the first FREE may be refused, and one that the kernel frees until
// that succeeds.
const char patient_kernel[] = R"(/* Frees what it has in three ways. */
#include "tlmalloc/kernel.h"
static tla_status run(tl_context *tl) {
    tl_tile scratch, twice, mine;
    tla_status status = tl_scratch(tl, 4, 4, TL_F32, &scratch);
    if (!status) status = tl_alloc(tl, 1, 64, TL_F32, &twice);
    if (!status) status = tl_retain(tl, &twice);
    if (!status) status = tl_alloc(tl, 1, 64, TL_F32, &mine);
    if (status) return status;
    (void)tl_free(tl, &twice);
    (void)tl_free(tl, &twice);
    for (int i = 0; i < 100; i++)
        if (!tl_free(tl, &mine)) break;
    return TLA_OK;
}
TL_KERNEL(.name = "patient", .description = "frees in three ways", .run = run,
          .tensors = {{.name = "source", .dtype = TL_F32, .shape = {TL_PER_PROGRAM(64)}}},
          .arguments = {TL_ADDRESS_OF(0)});
)";

} // namespace

BOOST_AUTO_TEST_CASE(frees_of_kernels_and_engines_succeed_by_the_end_whenever_they_are_rejected) {
    BOOST_CHECK_GT(refuse_all_over("vector_add", {}), 0);
    BOOST_CHECK_GT(refuse_all_over("matmul_composite", {}), 0);
    for (const char *memory : {"tcm", "hbm", "sram"})
        BOOST_CHECK_GT(refuse_all_over("ring", {std::string("messages.memory=") + memory}), 0);
}

BOOST_AUTO_TEST_CASE(frees_of_the_host_and_mmus_succeed_by_the_end_whenever_they_are_rejected) {
    for (const settings &keys : {settings{"mmu.walk=memory", "mmu.page_size=4 KiB"},
                                 {"host.pool=caching_pool"},
                                 {"host.driver=serial"},
                                 {"controller.tcm_policy=caching_pool", "controller.hbm_policy=caching_pool"},
                                 {"controller.lockstep=cube"},
                                 {"host_memory.capacity=64 MiB", "mmu.unmapped=demand"},
                                 {"mmu.unmapped=demand", "host.pool=caching_pool", "mmu.walk=memory"}})
        BOOST_CHECK_GT(refuse_all_over("vector_add", keys), 0);
}

BOOST_AUTO_TEST_CASE(a_tile_that_a_kernel_frees_once_more_itself_is_freed_once) {
    const scratch_directory scratch;
    const std::string kernel = scratch.write("patient.c", patient_kernel);
    const std::int64_t end_ns = run_with(kernel, {}, "").number("sim_time_ps") / 1000;
    std::int64_t refused = 0;
    for (std::int64_t i = 0; i < 24; i++) {
        const std::string one = "refuse at=" + std::to_string(end_ns * i / 24) + "ns";
        const report r = run_with(kernel, {}, one);
        BOOST_TEST_CONTEXT(one << ": " << r.run.err) {
            BOOST_CHECK_EQUAL(r.number("leaks"), 0);
            BOOST_CHECK(!contains(r.run.err, "warning: /tlmalloc/memory_controller/free"));
        }
        refused += r.sum("controllers", "refused_commands");
    }
    BOOST_CHECK_GT(refused, 0);
}

BOOST_AUTO_TEST_CASE(a_rejected_page_fault_fails_the_access_with_a_reason) {
    report r = run_with("vector_add", {"mmu.unmapped=demand"}, "refuse at=10us");
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(text_of(r.json.get(), "status"), "TLA_BUS_ERROR");
    BOOST_CHECK_MESSAGE(contains(message_of(r), "kernel vector_add on sip0.cube0.pe0: tl_store to 0x100400000: a page "
                                                "fault failed: HBM of sip0.cube0.pe0: rejected by the fault plan"),
                        message_of(r));
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    // For want of memory: what is missing is told as of any block.
    r = run_with("vector_add", {"mmu.unmapped=demand", "hbm.capacity_per_cube=64 KiB", "workload.elements_per_pe=2048"},
                 "");
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_MESSAGE(contains(message_of(r), ": a page fault failed: HBM of sip0.cube0.pe") &&
                            contains(message_of(r), " overflow: requested "),
                        message_of(r) << r.run.err);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
}
