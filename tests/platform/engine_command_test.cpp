// controller.engine: the same kernel and the same trace with the model, with the engine in RTL and with firmware.
#include "platform/run_report.hpp"
#include "today.hpp"

#include <algorithm>
#include <cstdlib>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";
const std::string small = source + "configs/npu_small.yaml", trace = source + "tests/data/lm_train.csv.gz";

// What `check` says of settings that are refused.
std::string refused(const std::vector<std::string> &settings) {
    std::vector<std::string> arguments = with_prices(settings);
    arguments.insert(arguments.begin(), {"check", small});
    const command_result run = run_tlmalloc(arguments);
    BOOST_CHECK_EQUAL(run.status, 2);
    return run.err;
}

bool rtl_is_here() {
    const command_result run = run_tlmalloc({"check", small, "--set", "controller.engine=rtl"});
    if (run.status == 0) return true;
    BOOST_CHECK_MESSAGE(contains(run.err, "controller.engine rtl: this build has no Verilator"), run.err);
    BOOST_TEST_MESSAGE("test skipped: Verilator is not here");
    return false;
}

std::shared_ptr<json_t> replayed(const std::vector<std::string> &settings, const std::string &speed = "1") {
    scratch_directory scratch;
    std::vector<std::string> arguments = with_prices(settings);
    arguments.insert(arguments.begin(),
                     {"replay", trace, "--config", small, "--json", scratch.path("r.json"), "--speed", speed});
    const command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return {json_load_file(scratch.path("r.json").c_str(), 0, nullptr), json_decref};
}

// The bound: 2 % or two cycles of the engine, of a period of 1 ns.
void check_close(std::int64_t model, std::int64_t rtl, const std::string &what) {
    const std::int64_t bound = std::max<std::int64_t>(model / 50, 2000);
    BOOST_CHECK_MESSAGE(std::abs(model - rtl) <= bound, what << ": " << model << " and " << rtl << " ps");
}

// An engine with its profile, and what it needs beside that.
struct variant {
    std::string profile, engine, policy;
    std::vector<std::string> also;
};

// Every memory with this placement.
std::vector<std::string> everywhere(const std::string &policy, std::vector<std::string> also = {}) {
    for (const char *memory : {"hbm", "tcm", "sram", "m_cpu", "host"})
        also.push_back(std::string("controller.") + memory + "_policy=" + policy);
    return also;
}

const std::vector<variant> in_rtl{
    {"rtl_list_1c", "rtl", "first_fit", {}},
    {"rtl_list_2c", "rtl", "first_fit", {"controller.engine_node_cycles=2"}},
    {"rtl_worst_fit", "rtl", "worst_fit", everywhere("worst_fit")},
    {"rtl_buddy", "rtl", "buddy", everywhere("buddy", {"controller.alignment=4 KiB"})},
    {"rtl_offset_bins", "rtl", "offset_bins", everywhere("offset_bins")},
    {"rtl_offset_bins", "rtl", "offset_bins_rounded", everywhere("offset_bins_rounded")},
};
const std::vector<variant> as_firmware{
    {"fw_list", "firmware", "first_fit", {}},
    {"fw_buddy", "firmware", "buddy",
     everywhere("buddy", {"controller.alignment=64 KiB", "hbm.capacity_per_cube=2 GiB", "mmu.page_size=64 KiB"})},
    {"fw_offset_bins", "firmware", "offset_bins", everywhere("offset_bins")},
    {"fw_offset_bins", "firmware", "offset_bins_rounded", everywhere("offset_bins_rounded")},
};

std::vector<std::string> settings_of(const variant &v, bool engine, const std::vector<std::string> &more) {
    std::vector<std::string> settings = v.also;
    settings.push_back("controller.cost.profile=" + v.profile);
    if (engine) settings.push_back("controller.engine=" + v.engine);
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

// A recorded trace, at the pace of the recording and with each command right behind the one before.
void check_trace(const variant &v, const std::string &speed, bool exact) {
    const auto model = replayed(settings_of(v, false, {}), speed), engine = replayed(settings_of(v, true, {}), speed);
    BOOST_TEST_CONTEXT(v.profile << " " << speed) {
        for (const char *of : {"latency_ps", "free_latency_ps"})
            for (const char *figure : {"p50", "p99", "max"}) {
                const std::int64_t said = number(json_object_get(model.get(), of), figure),
                                   took = number(json_object_get(engine.get(), of), figure);
                if (exact)
                    BOOST_CHECK_EQUAL(said, took);
                else
                    check_close(said, took, std::string(of) + " " + figure);
            }
        BOOST_CHECK_EQUAL(number(model.get(), "nodes_visited"), number(engine.get(), "nodes_visited"));
        if (exact) BOOST_CHECK_EQUAL(number(model.get(), "sim_time_ps"), number(engine.get(), "sim_time_ps"));
    }
}

// A kernel on the small platform.
void check_kernel(const variant &v, const std::vector<std::string> &more) {
    const report model = run(small, with_prices(settings_of(v, false, more))),
                 engine = run(small, with_prices(settings_of(v, true, more)));
    BOOST_TEST_CONTEXT(v.profile << " " << (more.empty() ? "" : more[0])) {
        BOOST_REQUIRE_EQUAL(engine.run.status, 0);
        BOOST_CHECK_EQUAL(engine.number("leaks"), 0);
        BOOST_CHECK_EQUAL(engine.sum("controllers", "engine_differences"), 0);
        for (std::size_t i = 0; i < json_array_size(engine.list("kernels")); i++)
            for (const char *key : {"alloc_ps", "end_ps"})
                check_close(number(json_array_get(model.list("kernels"), i), key),
                            number(json_array_get(engine.list("kernels"), i), key), key);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_takes_as_long_with_the_engine_in_rtl_as_by_its_profile) {
    if (!rtl_is_here()) return;
    for (const variant &v : in_rtl)
        for (const char *speed : {"1", "1e6"})
            check_trace(v, speed, true);
}

BOOST_AUTO_TEST_CASE(a_kernel_waits_as_long_with_the_engine_in_rtl_as_by_its_profile) {
    if (!rtl_is_here()) return;
    std::vector<std::pair<variant, std::vector<std::string>>> all;
    for (const variant &v : in_rtl)
        for (const std::vector<std::string> &more : {std::vector<std::string>{},
                                                     {"controller.guard=error"},
                                                     {"controller.tcm_policy=caching_pool/" + v.policy}})
            all.emplace_back(v, more);
    for (const auto &[v, more] : some_of_today(all, 4))
        check_kernel(v, more);
}

// The firmware needs no tool.
BOOST_AUTO_TEST_CASE(a_trace_takes_as_long_with_firmware_as_by_its_profile) {
    for (const variant &v : as_firmware)
        check_trace(v, "1", false);
}

BOOST_AUTO_TEST_CASE(a_kernel_waits_as_long_with_firmware_as_by_its_profile) {
    for (const variant &v : as_firmware)
        check_kernel(v, {});
}

BOOST_AUTO_TEST_CASE(firmware_takes_the_cycles_of_its_instructions) {
    const std::vector<std::string> of_firmware{"controller.cost.profile=fw_list", "controller.engine=firmware"};
    const auto replayed_with = [&of_firmware](const std::vector<std::string> &timing) {
        std::vector<std::string> settings = of_firmware;
        for (const std::string &key : timing)
            settings.push_back("controller.firmware." + key);
        return replayed(settings);
    };
    const auto plain = replayed_with({}), slow = replayed_with({"load=3 tCK"}),
               twice = replayed_with({"instruction=2 tCK", "load=2 tCK", "store=2 tCK", "taken_branch=4 tCK",
                                      "jump=2 tCK", "multiply=4 tCK", "divide=72 tCK"});
    for (const char *of : {"latency_ps", "free_latency_ps"})
        for (const char *figure : {"p50", "p99", "max"}) {
            const auto of_run = [of, figure](const std::shared_ptr<json_t> &run) {
                return number(json_object_get(run.get(), of), figure);
            };
            BOOST_CHECK_EQUAL(of_run(twice), 2 * of_run(plain));
            BOOST_CHECK_GT(of_run(slow), of_run(plain));
            BOOST_CHECK_LT(of_run(slow), of_run(twice));
        }
}

BOOST_AUTO_TEST_CASE(a_timing_of_instructions_without_firmware_is_rejected) {
    for (const char *key : {"instruction=2 tCK", "load=0 tCK", "store=0 tCK", "taken_branch=0 tCK", "jump=0 tCK",
                            "multiply=0 tCK", "divide=0 tCK"}) {
        const std::string setting = std::string("controller.firmware.") + key;
        BOOST_CHECK(contains(refused({setting}),
                             "controller.firmware with controller.engine model: set controller.engine to firmware"));
        BOOST_CHECK_EQUAL(
            run_tlmalloc({"check", small, "--set", setting, "--set", "controller.engine=firmware"}).status, 0);
    }
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.firmware.instruction=0 tCK"}),
                         "controller.firmware.instruction"));
}

BOOST_AUTO_TEST_CASE(settings_that_firmware_does_not_support_are_rejected_by_name) {
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.hbm_policy=worst_fit"}),
                         "controller.engine firmware does not support worst_fit: use first_fit, buddy, offset_bins or "
                         "offset_bins_rounded, "
                         "alone or under"));
    BOOST_CHECK(
        contains(refused({"controller.engine=firmware", "controller.hbm_policy=buddy"}),
                 "controller.engine firmware: HBM of 6 GiB must be at most 8192 units of controller.alignment, 1 B"));
    BOOST_CHECK(
        contains(refused({"controller.engine=firmware", "controller.free_list=sram"}),
                 "controller.engine firmware with controller.free_list sram: set controller.free_list to registers"));
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.engine_nodes=1025"}),
                         "controller.engine_nodes 1025 with controller.engine firmware: must be at most 1024"));
    const command_result run = run_tlmalloc({"replay", trace, "--config", small, "--set", "controller.engine=firmware",
                                             "--set", "controller.engine_nodes=4"});
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.err, "free of allocation") && contains(run.err, "a configured limit"), run.err);
}

BOOST_AUTO_TEST_CASE(a_memory_that_no_engine_holds_is_rejected_by_name) {
    BOOST_CHECK(contains(
        refused({"controller.engine=firmware", "m_cpu_memory.capacity=1 KiB", "controller.alignment=4 KiB"}),
        "controller.engine firmware: M_CPU memory of 1 KiB must be a multiple of controller.alignment, 4 KiB"));
    if (!rtl_is_here()) return;
    BOOST_CHECK(contains(
        refused({"controller.engine=rtl", "host_memory.capacity=8 GiB"}),
        "controller.engine rtl: host memory of 8 GiB must be at most 8589934591 units of controller.alignment, 1 B"));
    BOOST_CHECK(contains(
        refused({"controller.engine=rtl", "controller.host_policy=offset_bins", "host_memory.capacity=8589934593 B"}),
        "host memory of 8589934593 B must be a multiple of the unit of its bins, 4 B"));
    for (const std::string fits : {"controller.alignment=2 B", "host_memory.capacity=8589934591 B"}) {
        const command_result run = run_tlmalloc(
            {"run", small, "--set", "controller.engine=rtl", "--set", "host_memory.capacity=8 GiB", "--set", fits});
        BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    }
}

BOOST_AUTO_TEST_CASE(an_engine_begins_with_an_aged_heap) {
    if (!rtl_is_here()) return;
    scratch_directory scratch;
    std::string snapshot = "tlmalloc-arena 1\npolicy first_fit\nbase 0\ncapacity 6442450944\nalignment 1\n"
                           "peak 6442450944\ncursor 0\nfree 101\n";
    for (unsigned hole = 0; hole < 100; hole++)
        snapshot += std::to_string(hole * 4096) + " 64\n";
    snapshot += "16777216 6425673728\nend\n";
    const std::string aged = scratch.write("aged.txt", snapshot);
    const report model = run(small, {"--from", aged}),
                 rtl = run(small, {"--from", aged, "--set", "controller.engine=rtl"});
    BOOST_REQUIRE_EQUAL(rtl.run.status, 0);
    BOOST_CHECK_EQUAL(rtl.number("leaks"), 0);
    BOOST_CHECK_GT(rtl.sum("controllers", "nodes_visited"), 1000);
    check_close(model.number("sim_time_ps"), rtl.number("sim_time_ps"), "the end");
}

BOOST_AUTO_TEST_CASE(settings_without_an_rtl_engine_are_rejected_by_name) {
    if (!rtl_is_here()) return;
    const std::string expected =
        ": use first_fit, worst_fit, buddy, offset_bins or offset_bins_rounded, alone or under caching_pool, "
        "segment_cache or growing_pool";
    for (const std::string policy :
         {"best_fit", "tlsf", "slot_pool", "mixed", "lazy", "segmented", "linear_regions", "caching_pool/tlsf"})
        BOOST_CHECK_MESSAGE(contains(refused({"controller.engine=rtl", "controller.hbm_policy=" + policy}),
                                     "controller.engine rtl does not support " + policy + expected),
                            policy);
    BOOST_CHECK(
        contains(refused({"controller.engine=rtl", "controller.free_list=sram"}),
                 "controller.engine rtl with controller.free_list sram: set controller.free_list to registers"));
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "controller.lockstep=cube"}),
                         "controller.engine rtl with controller.lockstep cube: set controller.lockstep to off"));
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "controller.engine_nodes=1025"}),
                         "controller.engine_nodes 1025 with controller.engine rtl: must be at most 1024"));
    BOOST_CHECK(contains(
        refused({"controller.engine=rtl", "controller.engine_node_cycles=2", "controller.hbm_policy=worst_fit"}),
        "controller.engine_node_cycles 2 with worst_fit: must be 1, because this engine takes one cycle a node"));
    BOOST_CHECK(
        contains(refused({"controller.engine=rtl", "controller.alignment=1 KiB", "controller.hbm_policy=buddy"}),
                 "controller.engine rtl: HBM of 6 GiB must be at most 4194304 units of controller.alignment, 1 KiB"));
}

// A driver's call would be priced at the cycles of an engine, at a clock that the driver's profile brings along.
BOOST_AUTO_TEST_CASE(a_driver_with_an_engine_is_rejected) {
    const std::string expected =
        "controller.engine firmware with controller.cost.alloc above 0 ns: the engine determines";
    for (const char *driver : {"controller.cost.profile=driver_cuda_malloc", "controller.cost.profile=driver_vfio_1g",
                               "controller.cost.alloc=1 ps"})
        BOOST_CHECK_MESSAGE(contains(refused({"controller.engine=firmware", driver}), expected), driver);
}

BOOST_AUTO_TEST_CASE(a_list_of_few_nodes_fails_requests_without_a_node) {
    BOOST_CHECK(contains(refused({"controller.engine_nodes=4", "controller.tcm_policy=buddy"}),
                         "controller.engine_nodes does not support buddy: use a placement that walks a list"));
    std::string model;
    for (const std::string engine : {"model", "rtl", "firmware"}) {
        if (engine == "rtl" && !rtl_is_here()) continue;
        const command_result run = run_tlmalloc({"replay", trace, "--config", small, "--set",
                                                 "controller.engine=" + engine, "--set", "controller.engine_nodes=4"});
        BOOST_CHECK_NE(run.status, 0);
        BOOST_CHECK_MESSAGE(contains(run.err, "free of allocation") && contains(run.err, "a configured limit"),
                            run.err);
        if (model.empty()) model = run.err;
        BOOST_CHECK_EQUAL(run.err, model); // the same free
    }
}
