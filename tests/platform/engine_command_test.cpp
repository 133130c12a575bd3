// controller.engine: the same kernel and the same trace with the model, with the engine in RTL and with firmware.
#include "platform/run_report.hpp"

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
    BOOST_CHECK_MESSAGE(contains(run.err, "found controller.engine rtl, expected model: Verilator was not there"),
                        run.err);
    BOOST_TEST_MESSAGE("test skipped: Verilator is not here");
    return false;
}

std::shared_ptr<json_t> replayed(std::vector<std::string> settings) {
    scratch_directory scratch;
    std::vector<std::string> arguments = with_prices(settings);
    arguments.insert(arguments.begin(), {"replay", trace, "--config", small, "--json", scratch.path("r.json")});
    const command_result run = run_tlmalloc(arguments);
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return {json_load_file(scratch.path("r.json").c_str(), 0, nullptr), json_decref};
}

// The bound: 2 % or two cycles of the engine, of a period of 1 ns.
void check_close(std::int64_t model, std::int64_t rtl, const std::string &what) {
    const std::int64_t bound = std::max<std::int64_t>(model / 50, 2000);
    BOOST_CHECK_MESSAGE(std::abs(model - rtl) <= bound, what << ": " << model << " and " << rtl << " ps");
}

const std::vector<std::pair<std::string, std::string>> variants{{"1", "rtl_list_1c"}, {"2", "rtl_list_2c"}};

} // namespace

BOOST_AUTO_TEST_CASE(a_trace_takes_as_long_with_the_engine_in_rtl_as_by_its_profile) {
    if (!rtl_is_here()) return;
    for (const auto &[cycles, profile] : variants) {
        const auto model = replayed({"controller.cost.profile=" + profile}),
                   rtl = replayed({"controller.cost.profile=" + profile, "controller.engine=rtl",
                                   "controller.engine_node_cycles=" + cycles});
        for (const char *of : {"latency_ps", "free_latency_ps"})
            for (const char *figure : {"p50", "p99", "max"})
                check_close(number(json_object_get(model.get(), of), figure),
                            number(json_object_get(rtl.get(), of), figure), profile + " " + of + " " + figure);
        BOOST_CHECK_GT(number(json_object_get(rtl.get(), "free_latency_ps"), "p50"), 3000);
        BOOST_CHECK_EQUAL(number(model.get(), "nodes_visited"), number(rtl.get(), "nodes_visited"));
        BOOST_CHECK_EQUAL(number(model.get(), "sim_time_ps"), number(rtl.get(), "sim_time_ps"));
    }
}

BOOST_AUTO_TEST_CASE(a_kernel_waits_as_long_with_the_engine_in_rtl_as_by_its_profile) {
    if (!rtl_is_here()) return;
    for (const auto &[cycles, profile] : variants)
        for (const std::vector<std::string> &also :
             {std::vector<std::string>{}, {"controller.guard=error"}, {"controller.tcm_policy=caching_pool"}}) {
            std::vector<std::string> settings{"controller.cost.profile=" + profile};
            settings.insert(settings.end(), also.begin(), also.end());
            const report model = run(small, with_prices(settings));
            settings.insert(settings.end(), {"controller.engine=rtl", "controller.engine_node_cycles=" + cycles});
            const report rtl = run(small, with_prices(settings));
            BOOST_TEST_CONTEXT(profile << " " << (also.empty() ? "" : also[0])) {
                BOOST_REQUIRE_EQUAL(rtl.run.status, 0);
                BOOST_CHECK_EQUAL(rtl.number("leaks"), 0);
                BOOST_CHECK_EQUAL(rtl.sum("controllers", "engine_differences"), 0);
                for (std::size_t i = 0; i < json_array_size(rtl.list("kernels")); i++) {
                    const json_t *a = json_array_get(model.list("kernels"), i),
                                 *b = json_array_get(rtl.list("kernels"), i);
                    for (const char *key : {"alloc_ps", "end_ps"})
                        check_close(number(a, key), number(b, key), key);
                }
            }
        }
}

// The firmware needs no tool.
BOOST_AUTO_TEST_CASE(a_trace_takes_as_long_with_firmware_as_by_its_profile) {
    const auto model = replayed({"controller.cost.profile=fw_list"}),
               firmware = replayed({"controller.cost.profile=fw_list", "controller.engine=firmware"});
    for (const char *of : {"latency_ps", "free_latency_ps"})
        for (const char *figure : {"p50", "p99", "max"})
            check_close(number(json_object_get(model.get(), of), figure),
                        number(json_object_get(firmware.get(), of), figure), std::string(of) + " " + figure);
    BOOST_CHECK_GT(number(json_object_get(firmware.get(), "free_latency_ps"), "p50"), 30000);
    BOOST_CHECK_EQUAL(number(model.get(), "nodes_visited"), number(firmware.get(), "nodes_visited"));
}

BOOST_AUTO_TEST_CASE(a_kernel_waits_as_long_with_firmware_as_by_its_profile) {
    const std::vector<std::string> settings{"controller.cost.profile=fw_list"};
    const report model = run(small, with_prices(settings)),
                 firmware = run(small, with_prices({settings[0], "controller.engine=firmware"}));
    BOOST_REQUIRE_EQUAL(firmware.run.status, 0);
    BOOST_CHECK_EQUAL(firmware.number("leaks"), 0);
    BOOST_CHECK_EQUAL(firmware.sum("controllers", "engine_differences"), 0);
    for (std::size_t i = 0; i < json_array_size(firmware.list("kernels")); i++)
        for (const char *key : {"alloc_ps", "end_ps"})
            check_close(number(json_array_get(model.list("kernels"), i), key),
                        number(json_array_get(firmware.list("kernels"), i), key), key);
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

BOOST_AUTO_TEST_CASE(a_timing_of_instructions_that_nobody_executes_is_refused) {
    for (const char *key : {"instruction=2 tCK", "load=0 tCK", "store=0 tCK", "taken_branch=0 tCK", "jump=0 tCK",
                            "multiply=0 tCK", "divide=0 tCK"}) {
        const std::string setting = std::string("controller.firmware.") + key;
        BOOST_CHECK(
            contains(refused({setting}), "found controller.firmware with controller.engine model, expected firmware"));
        BOOST_CHECK_EQUAL(
            run_tlmalloc({"check", small, "--set", setting, "--set", "controller.engine=firmware"}).status, 0);
    }
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.firmware.instruction=0 tCK"}),
                         "controller.firmware.instruction"));
}

BOOST_AUTO_TEST_CASE(what_firmware_does_not_serve_is_refused_by_name) {
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.hbm_policy=buddy"}),
                         "found controller.engine firmware with buddy, expected first_fit, alone or below"));
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.free_list=sram"}),
                         "found controller.engine firmware with controller.free_list sram, expected registers"));
    BOOST_CHECK(contains(refused({"controller.engine=firmware", "controller.engine_nodes=1025"}),
                         "found controller.engine_nodes 1025 with controller.engine firmware, expected at most 1024"));
    const command_result run = run_tlmalloc({"replay", trace, "--config", small, "--set", "controller.engine=firmware",
                                             "--set", "controller.engine_nodes=4"});
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.err, "free of allocation") && contains(run.err, "a configured limit"), run.err);
}

BOOST_AUTO_TEST_CASE(a_memory_that_no_engine_holds_is_refused_by_name) {
    BOOST_CHECK(
        contains(refused({"controller.engine=firmware", "m_cpu_memory.capacity=1 KiB", "controller.alignment=4 KiB"}),
                 "found controller.engine firmware with M_CPU memory of 1 KiB, expected a multiple of "
                 "controller.alignment, 4 KiB"));
    if (!rtl_is_here()) return;
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "host_memory.capacity=8 GiB"}),
                         "found controller.engine rtl with host memory of 8 GiB, expected at most 8589934591 units of "
                         "controller.alignment, 1 B"));
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

BOOST_AUTO_TEST_CASE(what_has_no_engine_is_refused_by_name) {
    if (!rtl_is_here()) return;
    const std::string expected = ", expected first_fit, alone or below caching_pool, segment_cache or growing_pool";
    for (const std::string policy : {"best_fit", "buddy", "slot_pool", "mixed", "lazy", "caching_pool/tlsf"})
        BOOST_CHECK_MESSAGE(contains(refused({"controller.engine=rtl", "controller.hbm_policy=" + policy}),
                                     "found controller.engine rtl with " + policy + expected),
                            policy);
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "controller.free_list=sram"}),
                         "found controller.engine rtl with controller.free_list sram, expected registers"));
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "controller.lockstep=cube"}),
                         "found controller.engine rtl with controller.lockstep cube, expected off"));
    BOOST_CHECK(contains(refused({"controller.engine=rtl", "controller.engine_nodes=512"}),
                         "found controller.engine_nodes 512 with controller.engine rtl, expected 0 or 1024"));
}

BOOST_AUTO_TEST_CASE(a_list_of_few_nodes_refuses_what_it_has_none_for) {
    BOOST_CHECK(contains(refused({"controller.engine_nodes=4", "controller.tcm_policy=buddy"}),
                         "found controller.engine_nodes with buddy, expected a placement that walks a list"));
    const command_result run = run_tlmalloc({"replay", trace, "--config", small, "--set", "controller.engine_nodes=4"});
    BOOST_CHECK_NE(run.status, 0);
    BOOST_CHECK_MESSAGE(contains(run.err, "free of allocation") && contains(run.err, "a configured limit"), run.err);
}
