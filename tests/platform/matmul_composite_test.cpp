// The kernel matmul_composite end to end: right on any number of PEs, in all variants and sizes; what its engines
// report.
#include "platform/run_report.hpp"

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string kernbench = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";

using words = std::vector<std::string>;

words matmul(const std::string &m, const std::string &k, const std::string &n, const std::string &variant) {
    return {"--kernel", "matmul_composite", "--parameter", "m=" + m,      "--parameter",
            "k=" + k,   "--parameter",      "n=" + n,      "--parameter", "variant=" + variant};
}

words cubes(unsigned sips, unsigned width, unsigned height, unsigned pes) {
    return {"--set", "system.sips=" + std::to_string(sips),
            "--set", "system.cube_mesh_width=" + std::to_string(width),
            "--set", "system.cube_mesh_height=" + std::to_string(height),
            "--set", "system.pes_per_cube=" + std::to_string(pes)};
}

report verified(const std::string &config, words arguments, const words &more, std::size_t pes) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    report r = run(config, arguments);
    BOOST_CHECK_EQUAL(r.run.status, 0);
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    BOOST_CHECK_EQUAL(json_array_size(r.list("kernels")), pes);
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(r.list("kernels"), i, row) {
        BOOST_CHECK(json_is_true(json_object_get(row, "verified")));
        BOOST_CHECK_EQUAL(number(row, "composites"), 1);
    }
    BOOST_CHECK_EQUAL(r.sum("controllers", "used_bytes"), 0);
    return r;
}

const char *const engines[] = {"scheduler_ps", "dma_read_ps", "dma_write_ps", "fetch_ps",
                               "gemm_ps",      "math_ps",     "store_ps"};

} // namespace

BOOST_AUTO_TEST_CASE(a_product_is_verified_in_all_variants_and_ragged_sizes) {
    for (const char *variant : {"0", "1", "2"}) {
        verified(small, matmul("33", "130", "65", variant), {}, 4);
        BOOST_CHECK_EQUAL(verified(small, matmul("1", "1", "1", variant), {}, 4).run.err, "");
        verified(small, matmul("31", "63", "95", variant), {"--set", "pe.pipeline_depth=1", "--set", "pe.tile_k=7"}, 4);
    }
}

BOOST_AUTO_TEST_CASE(a_product_is_verified_on_1_8_64_and_256_pes) {
    verified(kernbench, matmul("32", "3072", "32", "1"), cubes(1, 1, 1, 1), 1);
    verified(kernbench, matmul("256", "256", "256", "2"), cubes(1, 1, 1, 1), 1);
    verified(kernbench, matmul("256", "256", "256", "0"), cubes(1, 1, 1, 1), 1);
    verified(kernbench, matmul("32", "3072", "32", "1"), cubes(1, 1, 1, 8), 8);
    verified(kernbench, matmul("40", "70", "33", "0"), cubes(1, 4, 2, 8), 64);
    verified(kernbench, matmul("32", "64", "32", "1"), cubes(2, 4, 4, 8), 256);
}

// 2 m k n operations and so on: what the engines must have worked, whatever their order was.
BOOST_AUTO_TEST_CASE(engines_report_what_they_worked_and_none_more_than_the_kernel_took) {
    const report r = verified(kernbench, matmul("32", "3072", "32", "1"), cubes(1, 1, 1, 8), 8);
    for (std::size_t pe = 0; pe < 8; pe++) {
        const json_t *element = json_array_get(r.list("elements"), pe), *kernel = json_array_get(r.list("kernels"), pe);
        const std::int64_t took = number(kernel, "end_ps") - number(kernel, "start_ps");
        for (const char *engine : engines)
            BOOST_CHECK_LE(number(element, engine), took);
        BOOST_CHECK_EQUAL(number(element, "composites"), 1);
        BOOST_CHECK_EQUAL(number(element, "tiles"), 48);
        BOOST_CHECK_EQUAL(number(element, "scheduler_ps"), 48 * 1000);
        BOOST_CHECK_EQUAL(number(element, "gemm_ps"), 48 * 16384);
        BOOST_CHECK_EQUAL(number(element, "math_ps"), 0);
        BOOST_CHECK_EQUAL(number(element, "fetch_ps"), 48 * 16000);
        BOOST_CHECK_EQUAL(number(element, "store_ps"), 4000);
        // The window is shorter than the engines' work one after the other, and as long as the slowest of them.
        const std::int64_t window = number(kernel, "composite_ps"), read = 48 * 30000;
        BOOST_CHECK_GE(window, read);
        BOOST_CHECK_LT(window, read + 48 * 16384);
    }
}

BOOST_AUTO_TEST_CASE(two_runs_of_composites_write_the_same_report_and_the_same_waveform) {
    scratch_directory scratch;
    std::string waves[2], reports[2];
    for (int i = 0; i < 2; i++) {
        words arguments{"run", small, "--vcd", scratch.path("wave"), "--json", scratch.path("report")};
        const words kernel = matmul("40", "130", "33", "1");
        arguments.insert(arguments.end(), kernel.begin(), kernel.end());
        BOOST_REQUIRE_EQUAL(run_tlmalloc(arguments).status, 0);
        waves[i] = read_text(scratch.path("wave"));
        reports[i] = read_text(scratch.path("report"));
    }
    BOOST_CHECK(waves[0] == waves[1]);
    BOOST_CHECK(reports[0] == reports[1]);
    for (const char *engine : {"scheduler", "dma_read", "dma_write", "fetch", "gemm", "math", "store"})
        BOOST_CHECK_MESSAGE(waves[0].find(std::string(" ") + engine + " ") != std::string::npos, engine);
}

BOOST_AUTO_TEST_CASE(the_kernel_reports_unsupported_parameters) {
    const auto refused = [](const words &more) {
        words arguments{"run", small, "--kernel", "matmul_composite"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        return run_tlmalloc(arguments);
    };
    command_result r = refused({"--parameter", "m=0"});
    BOOST_CHECK_EQUAL(r.status, 2);
    BOOST_CHECK_MESSAGE(r.err.find("4096") != std::string::npos, r.err);
    r = refused({"--parameter", "deep=1"});
    BOOST_CHECK_EQUAL(r.status, 2);
    r = refused({"--set", "tcm.capacity=1040 KiB"}); // 16 KiB beside the reserve: no room for the blocks
    BOOST_CHECK_EQUAL(r.status, 1);
    BOOST_CHECK_MESSAGE(r.err.find("TLA_EXHAUSTED") != std::string::npos, r.err);
}
