// The kernels on whole platforms, in sizes that come out even and others: right on 1, 8, 64 and 256 PEs, and what is
// said of parameters.
#include "platform/run_report.hpp"
#include "today.hpp"

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// Whether a kernel comes out right, and nothing is left.
void check_runs(std::vector<std::string> arguments, const std::string &pes) {
    arguments.insert(arguments.begin(), "run");
    const command_result result = run_tlmalloc(arguments);
    BOOST_CHECK_MESSAGE(result.status == 0, result.err);
    BOOST_CHECK_MESSAGE(contains(result.out, "\n" + pes + " PEs, "), result.out);
    BOOST_CHECK_MESSAGE(contains(result.out, "; result verified; leaks 0\n"), result.out);
}

// Large platforms run a part of them every day.
const std::vector<std::vector<std::string>> kernels{
    {"--kernel", "gemm"},
    {"--kernel", "gemm", "--parameter", "m=256", "--parameter", "k=256", "--parameter", "n=256"},
    {"--kernel", "va_offset"},
    {"--kernel", "va_offset", "--parameter", "elements=5000", "--parameter", "offset=4999"},
    {"--kernel", "transpose", "--parameter", "rows=33", "--parameter", "columns=130"},
    {"--kernel", "transpose"},
    {"--kernel", "embedding", "--parameter", "tokens=77", "--parameter", "width=13"},
    {"--kernel", "embedding"},
    {"--kernel", "mlp"},
    {"--kernel", "mlp", "--parameter", "rows=45", "--parameter", "width=30", "--parameter", "hidden=131"},
    {"--kernel", "attention"},
    {"--kernel", "attention", "--parameter", "queries=37", "--parameter", "keys=131", "--parameter", "width=24"},
    {"--kernel", "attention", "--parameter", "queries=1", "--parameter", "keys=300"},
    {"--kernel", "transformer_block", "--parameter", "sequences=3", "--parameter", "keys=16", "--parameter", "width=64",
     "--parameter", "hidden=256"},
    {"--kernel", "transformer_block", "--parameter", "sequences=2", "--parameter", "tokens=5", "--parameter", "keys=77",
     "--parameter", "width=72", "--parameter", "heads=3", "--parameter", "depth=20", "--parameter", "hidden=131"},
    {"--kernel", "gemm", "--parameter", "m=67", "--parameter", "k=259", "--parameter", "n=131"},
    {"--kernel", "softmax"},
    {"--kernel", "softmax", "--parameter", "rows=77", "--parameter", "columns=301"},
    {"--kernel", "layer_norm"},
    {"--kernel", "layer_norm", "--parameter", "rows=99", "--parameter", "columns=1"},
    {"--kernel", "qkv_gemm", "--parameter", "m=131", "--parameter", "k=70", "--parameter", "n=300"},
    {"--kernel", "qkv_gemm"},
};

// `every`: one of so many runs is made, others every day.
void check_all(const std::string &config, const std::vector<std::string> &shape, const std::string &pes,
               std::size_t every = 1) {
    for (std::vector<std::string> arguments : some_of_today(kernels, every)) {
        arguments.insert(arguments.begin(), config);
        for (const std::string &key : shape)
            arguments.insert(arguments.end(), {"--set", key});
        check_runs(arguments, pes);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(kernels_are_right_on_one_pe) {
    check_all(npu_small, {"system.pes_per_cube=1"}, "1");
}

BOOST_AUTO_TEST_CASE(kernels_are_right_on_8_pes) {
    check_all(npu_small, {"system.pes_per_cube=8"}, "8");
}

BOOST_AUTO_TEST_CASE(kernels_are_right_on_64_pes_with_pages_of_4_kib) {
    check_all(npu_small,
              {"system.pes_per_cube=8", "system.cube_mesh_width=4", "system.cube_mesh_height=2", "mmu.page_size=4 KiB"},
              "64", 6);
}

BOOST_AUTO_TEST_CASE(kernels_are_right_on_256_pes) {
    check_all(TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml", {}, "256", 11);
}

// Keys split over all PEs; each but the first sends what it has seen once, and no key is seen twice.
BOOST_AUTO_TEST_CASE(a_decode_of_one_query_is_shared_by_all_pes) {
    const auto decode = [](const std::string &pes, const std::string &keys) {
        const report r = run(npu_small, {"--kernel", "attention", "--parameter", "queries=1", "--parameter",
                                         "keys=" + keys, "--set", "system.pes_per_cube=" + pes});
        BOOST_CHECK_MESSAGE(r.run.status == 0 && contains(r.run.out, "; result verified; leaks 0\n"), r.run.err);
        return number(r.list("message_sums"), "received");
    };
    BOOST_CHECK_EQUAL(decode("8", "300"), 7);
    BOOST_CHECK_EQUAL(decode("6", "1000"), 5);
    BOOST_CHECK_EQUAL(decode("8", "5"), 4); // a key each, and nothing for three
}

// The check is no bound of the worst case: these are mistakes that it must not miss, a part of them every day.
BOOST_AUTO_TEST_CASE(a_mistake_in_a_transformer_block_is_reported_as_a_wrong_result) {
    const std::string kernel = read_text(TLMALLOC_SOURCE_DIR "/platform/kernels/transformer_block.c");
    std::vector<std::pair<std::string, std::string>> mistakes = some_of_today<std::pair<std::string, std::string>>(
        {
            {"1 / sqrtf((float)b->depth)", "1"},
            {"last && status", "false && status"},                                    // no mask
            {"normalise(tl, b, 1)", "normalise(tl, b, 0)"},                           // the other norm's gamma and beta
            {"first += PART, half = 1 - half", "first += PART + 1, half = 1 - half"}, // a hidden unit is left out
            {"status = tl_mul(tl, &silu, &h, &gate)", "status = tl_convert(tl, &silu, &h)"},
            {"tl_add(tl, &b->x, &b->x, &b->sum)", "tl_convert(tl, &b->x, &b->sum)"}, // no residual
            {"first < b->keys - b->tokens; first += PART", "first + PART < b->keys - b->tokens; first += PART"},
        },
        4);
    mistakes.emplace_back(); // none
    scratch_directory scratch;
    for (const auto &[right, wrong] : mistakes) {
        std::string text = kernel;
        BOOST_REQUIRE_NE(text.find(right), std::string::npos);
        text.replace(text.find(right), right.size(), wrong);
        const command_result result = run_tlmalloc(
            {"run", npu_small, "--kernel", scratch.write("block.c", text), "--parameter", "tokens=3", "--parameter",
             "width=64", "--parameter", "hidden=257", "--parameter", "keys=150", "--set", "system.pes_per_cube=2"});
        BOOST_CHECK_EQUAL(result.status, right.empty() ? 0 : 1);
        BOOST_CHECK_MESSAGE(contains(result.err, "wrong result: transformer_block: ") == !right.empty(),
                            wrong << ": " << result.err);
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_parameter_is_rejected_before_the_run_starts) {
    const auto refused = [](const std::string &kernel, const std::string &parameter, const std::string &says) {
        const command_result result = run_tlmalloc({"run", npu_small, "--kernel", kernel, "--parameter", parameter});
        BOOST_CHECK_EQUAL(result.status, 2);
        BOOST_CHECK_EQUAL(result.out, "");
        BOOST_CHECK_EQUAL(result.err, "tlmalloc run: --parameter: " + says + "\n");
    };
    refused("gemm", "l=3", "found 'l=3', expected NAME=VALUE with a parameter of gemm: m, k or n");
    refused("gemm", "m=3 KiB", "parameter 'm' of gemm: found '3 KiB', expected 1 .. 4294967295");
    refused("vector_add", "m=3",
            "found 'm=3', expected NAME=VALUE with a parameter of vector_add: it has no parameters");
    const command_result queries =
        run_tlmalloc({"run", npu_small, "--kernel", "attention", "--parameter", "queries=200"});
    BOOST_CHECK_EQUAL(queries.status, 1);
    BOOST_CHECK_MESSAGE(contains(queries.err, "attention: 200 queries for 128 keys: with causal = 1"), queries.err);
}
