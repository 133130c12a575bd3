// `tlmalloc run`: what it refuses, and what becomes of commands that the platform refuses.
#include "platform/run_report.hpp"

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

void check_refused(const std::vector<std::string> &arguments, int status, const std::string &message) {
    const command_result result = run_tlmalloc(arguments);
    BOOST_CHECK_EQUAL(result.status, status);
    BOOST_CHECK_EQUAL(result.err, message);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_bad_configuration_is_rejected_with_its_place) {
    scratch_directory scratch;
    const std::string malformed = scratch.write("malformed.yaml", "system: {sips: 1\nhbm: [\n");
    const command_result result = run_tlmalloc({"run", malformed});
    BOOST_CHECK_EQUAL(result.status, 2);
    BOOST_CHECK_MESSAGE(contains(result.err, malformed + ":2:") && contains(result.err, "error: not YAML: "),
                        result.err);
    const std::string unknown = scratch.write("unknown.yaml", "hbm:\n  brust: 256 B\n");
    check_refused({"run", unknown}, 2,
                  unknown + ":2:3: error: unknown key \"hbm.brust\", did you mean \"hbm.burst\"?\n");
    const std::string negative = scratch.write("negative.yaml", "tcm:\n  capacity: -1 MiB\n");
    check_refused({"run", negative}, 2,
                  negative + ":2:13: error: tcm.capacity: found \"-1 MiB\", expected a size that is not negative\n");
    check_refused({"run", small, "--set", "system.pes_per_cube=0"}, 2,
                  "--set: error: \"system.pes_per_cube=0\": system.pes_per_cube: found \"0\", expected 1 .. 16\n");
    check_refused({"run", "/no/such.yaml"}, 1, "/no/such.yaml: error: cannot be read: No such file or directory\n");
}

// The least that the schema and its rules let pass; one port less ends before the run begins.
BOOST_AUTO_TEST_CASE(the_fewest_control_ports_that_a_configuration_may_have_are_enough) {
    for (const auto &[ports, keys] : std::vector<std::pair<unsigned, std::vector<std::string>>>{
             {2, {}},
             {2, {"workload.kernel=ring", "messages.memory=sram"}},
             {2, {"workload.kernel=ring", "system.pes_per_cube=1"}},
             {3, {"controller.lockstep=cube"}},
             {3, {"controller.lockstep=sip"}},
             {4, {"mmu.walk=memory"}},
             {5, {"mmu.unmapped=demand"}},
             {5, {"mmu.unmapped=demand", "mmu.walk=memory"}},
             {6, {"workload.kernel=ring"}},
             {6, {"workload.kernel=all_reduce", "messages.memory=hbm"}},
             {6, {"workload.kernel=ring", "mmu.walk=memory", "mmu.unmapped=demand"}},
             {7, {"workload.kernel=ring", "mmu.unmapped=demand", "mmu.fault_handler=controller"}}}) {
        const auto with = [&, &more = keys](unsigned count) {
            std::vector<std::string> words{"run", small, "--set", "mmu.ports=3"};
            words.insert(words.end(), {"--set", "controller.ports=" + std::to_string(count)});
            for (const std::string &key : more)
                words.insert(words.end(), {"--set", key});
            return run_tlmalloc(words);
        };
        const command_result enough = with(ports), few = with(ports - 1);
        BOOST_CHECK_MESSAGE(enough.status == 0, ports << " ports: " << enough.out << enough.err);
        BOOST_CHECK_EQUAL(few.status, 2);
        BOOST_CHECK_MESSAGE(contains(few.err, "--set: error: \"controller.ports="), few.err);
    }
}

// By check as by run, whether the kernel is named by the configuration or by --kernel; all others run with two ports.
BOOST_AUTO_TEST_CASE(every_kernel_that_sends_messages_needs_a_port_for_its_slots) {
    std::size_t senders = 0;
    for (const std::string &kernel : kernel_names()) {
        const std::string chosen = "workload.kernel=" + kernel;
        // attention sends where a query has several PEs.
        const bool splits = kernel == "attention";
        const report r = run(small, splits ? std::vector<std::string>{"--kernel", kernel, "--parameter", "queries=1"}
                                           : std::vector<std::string>{"--kernel", kernel});
        const bool sends = r.list("messages");
        senders += sends;
        const command_result few = run_tlmalloc({"run", small, "--set", chosen, "--set", "controller.ports=2"}),
                             by_option =
                                 run_tlmalloc({"run", small, "--kernel", kernel, "--set", "controller.ports=5"}),
                             check = run_tlmalloc({"check", small, "--set", chosen, "--set", "controller.ports=5"}),
                             enough = run_tlmalloc({"run", small, "--set", chosen, "--set", "controller.ports=6"});
        BOOST_CHECK_MESSAGE(few.status == (sends ? 2 : 0), kernel << ": " << few.out << few.err);
        BOOST_CHECK_MESSAGE(enough.status == 0, kernel << ": " << enough.out << enough.err);
        if (!sends) continue;
        const std::string says =
            "--set: error: \"controller.ports=5\": controller.ports 5 must be at least 6 with workload.kernel " +
            kernel + ": port 5 is for the message unit's slots\n";
        BOOST_CHECK_EQUAL(by_option.err, says);
        BOOST_CHECK_EQUAL(by_option.status, 2);
        BOOST_CHECK_EQUAL(check.err, says);
        BOOST_CHECK_EQUAL(check.status, 2);
    }
    BOOST_CHECK_GT(senders, 3u);
}

BOOST_AUTO_TEST_CASE(a_bad_command_line_is_rejected) {
    check_refused({"run", small, "--kernel", "relu"}, 2,
                  "tlmalloc run: --kernel: found kernel 'relu', expected one of:" + listed_kernels() + "\n");
    check_refused({"run", small, "--set", "workload.kernel=relu"}, 2,
                  "--set: error: \"workload.kernel=relu\": workload.kernel: found kernel 'relu', expected one of:" +
                      listed_kernels() + "\n");
    BOOST_CHECK_EQUAL(run_tlmalloc({"run"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "second.yaml"}).status, 2);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--nonsense"}).status, 2);
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_fails_the_run) {
    check_refused({"run", small, "--json", "/no/such/report.json"}, 1,
                  "tlmalloc run: /no/such/report.json: cannot write: No such file or directory\n");
    check_refused({"run", small, "--vcd", "/no/such/wave.vcd"}, 1,
                  "tlmalloc run: /no/such/wave.vcd: cannot write: No such file or directory\n");
    if (access("/dev/full", W_OK) == 0) {
        check_refused({"run", small, "--vcd", "/dev/full"}, 1,
                      "tlmalloc run: /dev/full: cannot write: No space left on device\n");
        const command_result full = run_tlmalloc({"run", small, "--json", "/dev/full"});
        BOOST_CHECK_EQUAL(full.status, 1);
        BOOST_CHECK_MESSAGE(contains(full.err, "/dev/full"), full.err);
    }
}

BOOST_AUTO_TEST_CASE(a_tensor_that_does_not_fit_reports_the_free_bytes_and_releases_the_others) {
    const report r = run(small, {"--set", "hbm.capacity_per_cube=64 KiB"}); // 16 KiB a PE: the first tensor fills it
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(r.run.err,
                      "tlmalloc run: TLA_EXHAUSTED: tensor w: HBM of sip0.cube0.pe0 overflow: requested 16384 bytes, 0 "
                      "free, largest free block 0: exhausted; free something first, or configure more memory "
                      "(correlation 2, request 8); 4 of 4 shards do not fit: they need 65536 bytes, but 0 are free\n");
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(json_string_value(r.list("status")), std::string("TLA_EXHAUSTED"));
    BOOST_CHECK_MESSAGE(contains(r.run.out, "NOT VERIFIED"), r.run.out);
}

BOOST_AUTO_TEST_CASE(a_kernel_whose_tiles_do_not_fit_fails_the_run_and_leaks_nothing) {
    const report r = run(small, {"--kernel", "vector_add", "--set", "tcm.capacity=10 KiB", "--set",
                                 "tcm.scheduler_reserve=0 B"}); // three tiles of 4 KiB
    BOOST_CHECK_EQUAL(r.run.status, 1);
    const std::string why =
        "kernel vector_add on sip0.cube0.pe0: tl_alloc of 1 x 1024 of f32: TCM overflow: requested 4096 bytes, 2048 "
        "free, largest free block 2048: exhausted; free something first, or configure more memory";
    BOOST_CHECK_EQUAL(r.run.err, "tlmalloc run: TLA_EXHAUSTED: " + why + "\n");
    BOOST_CHECK_EQUAL(json_string_value(r.list("message")), why);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(r.sum("controllers", "failed"), 4);
}

BOOST_AUTO_TEST_CASE(a_tcm_too_small_for_a_kernel_reports_channel_request_and_free_bytes) {
    scratch_directory scratch;
    std::string text = read_text(small);
    const std::string section = "tcm:\n";
    const std::size_t at = text.find(section), end = text.find("\n\n", at);
    BOOST_REQUIRE(at != std::string::npos);
    text.replace(at, end - at, section + "  capacity: 40 KiB\n  scheduler_reserve: 4 KiB");
    for (const char *policy : {"first_fit", "buddy"}) { // the tiles of a PE: 8, 8, 16 and 8 KiB
        const report r = run(scratch.write("small_tcm.yaml", text),
                             {"--kernel", "qkv_gemm", "--set", std::string("controller.tcm_policy=") + policy});
        BOOST_CHECK_EQUAL(r.run.status, 1);
        BOOST_CHECK_EQUAL(r.run.err, "tlmalloc run: TLA_EXHAUSTED: kernel qkv_gemm on sip0.cube0.pe0: tl_alloc of 64 x "
                                     "64 of f16: TCM overflow: requested 8192 bytes, 4096 free, largest free block "
                                     "4096: exhausted, reserved; reserve less for the scheduler or the free list\n");
        BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    }
}

BOOST_AUTO_TEST_CASE(a_damaged_snapshot_is_rejected_with_its_line) {
    scratch_directory scratch;
    std::ofstream(scratch.path("cut.txt")) << "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapa";
    const command_result r = run_tlmalloc({"run", small, "--from", scratch.path("cut.txt")});
    BOOST_CHECK_EQUAL(r.status, 2);
    BOOST_CHECK_MESSAGE(r.err.find("line 4") != std::string::npos, r.err);
}

BOOST_AUTO_TEST_CASE(a_run_with_some_rejected_commands_completes_without_leaks) {
    std::int64_t by_host = 0, by_mmus = 0, by_kernels = 0;
    for (const char *walk : {"flat", "memory"})
        for (const char *seed : {"1", "2", "3"})
            for (const char *plan : {"refuse rate=100000", "refuse at=0ns; refuse at=1us pe=2; refuse at=3us"}) {
                const report r = run(small, with_prices({std::string("faults.plan=") + plan, "host.retries=20",
                                                         std::string("faults.seed=") + seed, "mmu.page_size=4 KiB",
                                                         std::string("mmu.walk=") + walk}));
                BOOST_CHECK_MESSAGE(r.run.status == 0, walk << ", seed " << seed << ", " << plan << ": " << r.run.err);
                BOOST_CHECK_EQUAL(r.number("leaks"), 0);
                BOOST_CHECK_EQUAL(r.sum("controllers", "refused_commands"),
                                  r.number("host_retries") + r.sum("mmus", "retries") + r.sum("kernels", "retries"));
                by_host += r.number("host_retries");
                by_mmus += r.sum("mmus", "retries");
                by_kernels += r.sum("kernels", "retries");
            }
    BOOST_CHECK_GT(by_host, 0);
    BOOST_CHECK_GT(by_mmus, 0);
    BOOST_CHECK_GT(by_kernels, 0);
}

BOOST_AUTO_TEST_CASE(a_command_rejected_too_often_fails_the_run_and_names_the_controller) {
    const auto with = [](const char *retries, const char *plan, const char *walk) {
        return run(small, with_prices({std::string("host.retries=") + retries, std::string("faults.plan=") + plan,
                                       std::string("mmu.walk=") + walk}));
    };
    report r = with("0", "refuse at=0ns pe=1", "ideal");
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(std::string(json_string_value(r.list("message"))),
                      "tensor x: HBM of sip0.cube0.pe1: rejected by the fault plan (correlation 1, request 3)");
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    r = with("5", "refuse rate=1000000 pe=1", "ideal"); // always
    BOOST_CHECK_EQUAL(r.run.status, 1);
    BOOST_CHECK_EQUAL(r.number("host_retries"), 5);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    r = with("0", "refuse at=1us pe=2", "ideal"); // a kernel's tl_alloc or tl_free
    BOOST_CHECK_EQUAL(r.run.status, 1);
    const std::string message = json_string_value(r.list("message"));
    BOOST_CHECK_MESSAGE(message.find("kernel qkv_gemm on sip0.cube0.pe2: tl_") == 0 &&
                            message.find("rejected by the fault plan") != std::string::npos,
                        message);
}

// Tables in memory that cannot be allocated make a MAP fail, which a posted one says in no completion.
BOOST_AUTO_TEST_CASE(mappings_that_fail_after_their_acknowledgement_are_counted_and_reported) {
    const auto with = [](const char *ack, int seed) {
        const report r =
            run(small, with_prices({std::string("va.map_ack=") + ack, "mmu.walk=memory", "host.retries=1",
                                    "faults.plan=refuse rate=200000", "faults.seed=" + std::to_string(seed)}));
        json_t *manager = r.list("va_manager");
        const std::int64_t lost = number(manager, "posted_failures");
        BOOST_CHECK_GE(number(manager, "failed"), 0);
        BOOST_CHECK_EQUAL(number(manager, "not_restored"), 0);
        BOOST_CHECK_EQUAL(contains(r.run.err, "tlmalloc run: warning: " + std::to_string(lost) +
                                                  " mapping commands failed after their acknowledgement"),
                          lost > 0);
        return lost;
    };
    std::int64_t posted = 0, visible = 0;
    for (int seed = 1; seed <= 8; seed++) {
        posted += with("posted", seed);
        visible += with("visible", seed);
    }
    BOOST_CHECK_GT(posted, 0);
    BOOST_CHECK_EQUAL(visible, 0);
}

// The answer comes while the host writes the same piece, or already the next one.
BOOST_AUTO_TEST_CASE(a_write_of_the_host_that_a_memory_rejects_ends_the_run_at_any_time) {
    unsigned refused = 0;
    for (const char *sips : {"1", "2"})
        for (const char *chunk : {"100 B", "4 KiB"})
            for (unsigned at_ns = 2000; at_ns < 3600; at_ns += 250) {
                const report r = run(small, {"--kernel", "vector_add", "--set", std::string("system.sips=") + sips,
                                             "--set", std::string("host.dma_chunk=") + chunk, "--set",
                                             "faults.plan=channel_out channel=1 at=" + std::to_string(at_ns) + "ns"});
                BOOST_CHECK_EQUAL(r.run.status, 1);
                BOOST_CHECK_MESSAGE(!contains(r.run.err, "deadlock"), sips << ", " << chunk << ", " << at_ns << " ns");
                BOOST_CHECK_EQUAL(r.number("leaks"), 0);
                refused += contains(r.run.err, "tensor ") && contains(r.run.err, " returned an error response");
            }
    BOOST_CHECK_GT(refused, 10u);
}

BOOST_AUTO_TEST_CASE(plain_addresses_are_rejected_with_a_text) {
    check_refused({"run", small, "--set", "controller.addresses=plain", "--set", "tcm.base=64 GiB"}, 2,
                  "tlmalloc run: controller.addresses is plain: set it to kernbench, because plain addresses support a "
                  "single controller only\n");
}
