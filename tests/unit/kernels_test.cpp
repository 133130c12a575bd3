// The kernels on plain memory: right results, everything given back, whatever call fails.
#include "plain_kernel.hpp"

#include <cmath>
#include <set>

namespace {

using run = plain_run;

constexpr uint32_t program_counts[] = {1, 4, 7, 256};

} // namespace

BOOST_AUTO_TEST_CASE(the_registry_finds_kernels_by_name_and_by_number) {
    std::set<std::string> names;
    uint32_t number = 0;
    for (; tl_kernel_at(number); number++) {
        const tl_kernel_info *kernel = tl_kernel_at(number);
        BOOST_CHECK(tl_find_kernel(kernel->name) == kernel);
        BOOST_CHECK(std::strlen(kernel->description) > 0);
        BOOST_CHECK_LE(tl_kernel_tensor_count(kernel), unsigned(TL_KERNEL_TENSORS_MAX));
        names.insert(kernel->name);
    }
    BOOST_CHECK_EQUAL(names.size(), number);
    for (const char *name : {"vector_add", "qkv_gemm", "dma_read"})
        BOOST_CHECK_EQUAL(names.count(name), 1u);
    BOOST_CHECK(!tl_find_kernel("vector_sub"));
    BOOST_CHECK(!tl_find_kernel(""));
}

BOOST_AUTO_TEST_CASE(vector_add_adds_on_any_number_of_programs) {
    for (uint32_t programs : program_counts) {
        for (uint64_t elements : {1u, 1000u, 1024u, 2500u}) {
            BOOST_TEST_CONTEXT(programs << " programs, " << elements << " elements each") {
                run r("vector_add", programs, elements);
                r.launch();
                tla_error error{};
                BOOST_CHECK_MESSAGE(r.verify(&error) == TLA_OK, error.text);
                r.check_every_output_byte_and_no_other_is_written();
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(vector_add_divides_any_length) {
    for (uint64_t n : {0u, 1u, 3u, 6u, 1025u}) {
        run r("vector_add", 7, 1025);
        for (uint32_t program = 0; program < 7; program++) {
            plain_program tl = r.context(program);
            tl.arguments[3] = n;
            BOOST_REQUIRE_EQUAL(r.kernel.run(&tl), TLA_OK);
            BOOST_REQUIRE(tl.tiles.empty() && !tl.bad_access);
            BOOST_REQUIRE_EQUAL(tl.bytes_loaded == 0, tl.allocations == 0); // nothing to do takes nothing
        }
        for (uint64_t byte = 0; byte < 7 * 1025 * 4; byte++)
            BOOST_REQUIRE_EQUAL(r.stored[r.offsets[2] + byte], byte < n * 4);
    }
}

BOOST_AUTO_TEST_CASE(vector_add_takes_its_tiles_once) {
    run r("vector_add", 1, 10'000);
    plain_program tl = r.context(0);
    BOOST_REQUIRE_EQUAL(r.kernel.run(&tl), TLA_OK);
    BOOST_CHECK_EQUAL(tl.allocations, 3u);
    BOOST_CHECK_EQUAL(tl.tcm_peak, 3u * 4096);
    BOOST_CHECK_EQUAL(tl.bytes_loaded, 2u * 40'000);
}

BOOST_AUTO_TEST_CASE(qkv_gemm_multiplies_on_any_number_of_programs) {
    for (uint32_t programs : {1u, 4u, 7u, 256u, 131u}) { // 131 is prime: more columns of programs than of C
        BOOST_TEST_CONTEXT(programs << " programs") {
            run r("qkv_gemm", programs, 0, 5);
            r.launch();
            tla_error error{};
            BOOST_CHECK_MESSAGE(r.verify(&error) == TLA_OK, error.text);
            r.check_every_output_byte_and_no_other_is_written();
        }
    }
}

BOOST_AUTO_TEST_CASE(qkv_gemm_gives_the_same_bytes_on_any_number_of_programs) {
    std::vector<uint8_t> first;
    for (uint32_t programs : program_counts) {
        run r("qkv_gemm", programs, 0, 5);
        r.launch();
        if (first.empty()) first = r.memory;
        BOOST_CHECK(r.memory == first); // the order of k does not depend on the grid
    }
}

BOOST_AUTO_TEST_CASE(qkv_gemm_runs_a_depth_that_64_does_not_divide) {
    run r("qkv_gemm", 4, 0, 5);
    for (uint32_t program = 0; program < 4; program++) { // the same bytes as X[128 x 100] * W[100 x 128]
        plain_program tl = r.context(program);
        tl.arguments[4] = 100;
        BOOST_REQUIRE_EQUAL(r.kernel.run(&tl), TLA_OK);
        BOOST_REQUIRE(tl.tiles.empty() && !tl.bad_access);
    }
    auto half = [&](uint32_t tensor, size_t index) {
        const uint8_t *at = r.memory.data() + r.offsets[tensor] + 2 * index;
        return tla_f16_to_f32(uint16_t(at[0] | at[1] << 8));
    };
    for (size_t row = 0; row < 128; row += 9) {
        for (size_t column = 0; column < 128; column += 7) {
            double exact = 0;
            for (size_t k = 0; k < 100; k++)
                exact += double(half(0, row * 100 + k)) * double(half(1, k * 128 + column));
            BOOST_REQUIRE_SMALL(double(half(2, row * 128 + column)) - exact, 1e-3 * (1 + std::abs(exact)));
        }
    }
}

BOOST_AUTO_TEST_CASE(softmax_and_layer_norm_are_right_on_any_number_of_programs) {
    for (const char *name : {"softmax", "layer_norm"})
        for (uint32_t programs : {1u, 7u, 8u, 64u, 300u}) { // 300: more programs than rows
            BOOST_TEST_CONTEXT(name << " on " << programs << " programs") {
                run r(name, programs, 0, 3);
                r.launch();
                tla_error error{};
                BOOST_CHECK_MESSAGE(r.verify(&error) == TLA_OK, error.text);
                r.check_every_output_byte_and_no_other_is_written();
                r.memory[r.offsets.back() + 1] ^= 0x40;
                BOOST_CHECK_EQUAL(r.verify(&error), TLA_WRONG_RESULT);
            }
        }
}

// Every kernel with parameters: as it comes, ragged, least, and larger than its steps.
const std::vector<std::pair<const char *, std::vector<const char *>>> sized{
    {"gemm", {}},
    {"gemm", {"m=256", "k=256", "n=256"}},
    {"gemm", {"m=67", "k=259", "n=131"}},
    {"gemm", {"m=1", "k=1", "n=1"}},
    {"gemm", {"m=1", "k=1000", "n=300"}},
    {"transpose", {}},
    {"transpose", {"rows=1", "columns=1"}},
    {"transpose", {"rows=33", "columns=130"}},
    {"embedding", {}},
    {"embedding", {"tokens=1", "vocabulary=1", "width=1"}},
    {"embedding", {"tokens=200", "vocabulary=77", "width=13"}},
    {"mlp", {}},
    {"mlp", {"rows=1", "width=1", "hidden=1"}},
    {"mlp", {"rows=45", "width=30", "hidden=131"}},
    {"attention", {}},
    {"attention", {"causal=0"}},
    {"attention", {"queries=1", "keys=1", "width=1"}},
    {"attention", {"queries=1", "keys=300"}},                          // decode
    {"attention", {"queries=37", "keys=131", "width=24"}},             // prefill behind a cache
    {"attention", {"queries=131", "keys=37", "width=24", "causal=0"}}, // more queries than keys
    {"softmax", {"rows=1", "columns=1"}},
    {"softmax", {"rows=70", "columns=333"}},
    {"layer_norm", {"rows=33", "columns=1"}},
    {"layer_norm", {"rows=1", "columns=2"}},
    {"layer_norm", {"rows=70", "columns=777"}},
    {"qkv_gemm", {"m=1", "k=1", "n=1"}},
    {"qkv_gemm", {"m=131", "k=70", "n=300"}},
    {"transformer_block", {"sequences=1", "tokens=1", "keys=1", "width=1", "heads=1", "depth=1", "hidden=1"}},
    {"transformer_block", {"sequences=3", "tokens=5", "keys=5", "width=24", "heads=3", "depth=4", "hidden=131"}},
    {"va_offset", {}},
    {"va_offset", {"elements=1", "offset=5"}},
    {"va_offset", {"elements=5000", "offset=4999"}},
};

BOOST_AUTO_TEST_CASE(kernels_with_parameters_are_right_in_every_size_on_any_number_of_programs) {
    for (const auto &[name, parameters] : sized)
        for (uint32_t programs : {1u, 7u, 8u, 64u, 256u}) {
            std::string all;
            for (const char *parameter : parameters)
                all += std::string(" ") + parameter;
            BOOST_TEST_CONTEXT(name << all << " on " << programs << " programs") {
                run r(name, programs, 0, 3, parameters);
                r.launch();
                tla_error error{};
                BOOST_CHECK_MESSAGE(r.verify(&error) == TLA_OK, error.text);
                r.check_every_output_byte_and_no_other_is_written();
                r.memory[r.offsets.back() + 1] ^= 0x40;
                BOOST_CHECK_EQUAL(r.verify(&error), TLA_WRONG_RESULT);
            }
        }
}

BOOST_AUTO_TEST_CASE(causal_attention_of_more_queries_than_keys_is_rejected_with_a_text) {
    run r("attention", 4, 0, 1, {"queries=9", "keys=8"});
    plain_program tl = r.context(0);
    BOOST_CHECK_EQUAL(r.kernel.run(&tl), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(
        tl.said, "attention: 9 queries for 8 keys: with causal = 1 there must be at least as many keys as queries");
}

BOOST_AUTO_TEST_CASE(a_parameter_is_set_by_its_name_within_its_range) {
    const tl_kernel_info &kernel = *tl_find_kernel("attention");
    tl_workload workload = tl_kernel_workload(&kernel, 4, 5, 6);
    BOOST_CHECK_EQUAL(workload.programs, 4u);
    BOOST_CHECK_EQUAL(workload.elements_per_pe, 5u);
    BOOST_CHECK_EQUAL(workload.seed, 6u);
    BOOST_CHECK_EQUAL(workload.parameters[2], 64u);
    BOOST_CHECK_EQUAL(tl_kernel_set_parameter(&kernel, "width=7", &workload, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(workload.parameters[2], 7u);
    BOOST_CHECK_EQUAL(tl_kernel_tensor_bytes(&kernel, &workload, 1), 128u * 7 * 2);
    const auto says = [&](const char *name, const char *text) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tl_kernel_set_parameter(tl_find_kernel(name), text, &workload, &error), TLA_INVALID_ARGUMENT);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(says("attention", "depth=3"),
                      "found 'depth=3', expected NAME=VALUE with a parameter of attention: "
                      "queries, keys, width or causal");
    BOOST_CHECK_EQUAL(says("vector_add", "rows=3"),
                      "found 'rows=3', expected NAME=VALUE with a parameter of vector_add: it has "
                      "no parameters");
    for (const char *wrong :
         {"width=0", "width=4294967296", "width=", "width=-1", "width=1e3", "width= 3", "width=18446744073709551617"})
        BOOST_CHECK_EQUAL(says("attention", wrong), "parameter 'width' of attention: found '" + std::string(wrong + 6) +
                                                        "', expected 1 .. 4294967295");
    says("attention", "width");
    says("attention", "=3");
    says("attention", "");
    BOOST_CHECK_EQUAL(says("attention", "causal=2"), "parameter 'causal' of attention: found '2', expected 0 .. 1");
    BOOST_CHECK_EQUAL(workload.parameters[2], 7u); // as it was
}

BOOST_AUTO_TEST_CASE(dma_read_loads_16_kib_of_its_own_shard) {
    for (uint32_t programs : program_counts) {
        run r("dma_read", programs, 0);
        BOOST_CHECK_EQUAL(tl_kernel_tensor_bytes(&r.kernel, &r.workload, 0), 16384u * programs);
        r.launch();
        plain_program tl = r.context(programs - 1);
        BOOST_REQUIRE_EQUAL(r.kernel.run(&tl), TLA_OK);
        BOOST_CHECK_EQUAL(tl.bytes_loaded, 16384u);
        BOOST_CHECK_EQUAL(tl.made, 3u); // alloc, load, free
        r.check_every_output_byte_and_no_other_is_written();
        tl.arguments[1] = 16383;
        BOOST_CHECK_EQUAL(r.kernel.run(&tl), TLA_INVALID_ARGUMENT);
    }
}

BOOST_AUTO_TEST_CASE(matmul_composite_multiplies_in_all_variants_and_sizes) {
    for (const char *variant : {"variant=0", "variant=1", "variant=2"})
        for (uint32_t programs : {1u, 3u, 8u})
            for (const std::vector<const char *> &size :
                 {std::vector<const char *>{"m=32", "k=3072", "n=32"}, {"m=1", "k=1", "n=1"}, {"m=33", "k=65", "n=7"}})
                BOOST_TEST_CONTEXT(variant << ", " << programs << " programs, " << size[0] << ' ' << size[1]) {
                    run r("matmul_composite", programs, 0, 5, {variant, size[0], size[1], size[2]});
                    r.launch();
                    tla_error error{};
                    BOOST_CHECK_MESSAGE(r.verify(&error) == TLA_OK, error.text);
                    r.check_every_output_byte_and_no_other_is_written();
                    r.memory[r.offsets[2] + 1] ^= 0x7C; // the exponent of the first result
                    BOOST_CHECK_EQUAL(r.verify(&error), TLA_WRONG_RESULT);
                }
}

BOOST_AUTO_TEST_CASE(whatever_call_fails_all_memory_is_freed_and_the_status_is_returned) {
    for (uint32_t number = 0; const tl_kernel_info *kernel = tl_kernel_at(number); number++) {
        BOOST_TEST_CONTEXT(kernel->name) {
            run r(kernel->name, 4, 3000);
            plain_program good = r.context(1);
            BOOST_REQUIRE_EQUAL(kernel->run(&good), TLA_OK);
            for (unsigned call = 1; call <= good.made; call++) {
                plain_program tl = r.context(1);
                tl.fail_at = call;
                tla_status status = kernel->run(&tl);
                BOOST_REQUIRE_MESSAGE(status == TLA_FRAGMENTED || status == TLA_BUS_ERROR ||
                                          status == TLA_UNSUPPORTED || status == TLA_EXHAUSTED, // of the scratch area
                                      "call " << call << ": " << tla_status_name(status));
                BOOST_REQUIRE_MESSAGE(tl.tiles.empty() && !tl.bad_access, "call " << call);
            }
            plain_program small = r.context(1);
            small.tcm_bytes = good.tcm_peak - 1;
            BOOST_CHECK_EQUAL(kernel->run(&small), TLA_EXHAUSTED);
            BOOST_CHECK(small.tiles.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(inputs_follow_from_the_seed) {
    for (uint32_t number = 0; const tl_kernel_info *kernel = tl_kernel_at(number); number++) {
        run a(kernel->name, 4, 100, 1), same(kernel->name, 4, 100, 1), other(kernel->name, 4, 100, 2);
        BOOST_CHECK(a.memory == same.memory);
        BOOST_CHECK(a.memory != other.memory);
    }
}

BOOST_AUTO_TEST_CASE(inputs_are_uniform_between_minus_1_and_1) {
    run r("vector_add", 1, 100'000);
    std::vector<float> a(100'000), b(100'000);
    std::memcpy(a.data(), r.memory.data() + r.offsets[0], 400'000);
    std::memcpy(b.data(), r.memory.data() + r.offsets[1], 400'000);
    double sum = 0, squares = 0, products = 0;
    for (size_t i = 0; i < a.size(); i++) {
        BOOST_REQUIRE(a[i] >= -1 && a[i] <= 1);
        sum += double(a[i]), squares += double(a[i]) * double(a[i]), products += double(a[i]) * double(b[i]);
    }
    BOOST_CHECK_SMALL(sum / 1e5, 0.01); // 5 standard deviations
    BOOST_CHECK_SMALL(squares / 1e5 - 1 / 3.0, 0.01);
    BOOST_CHECK_SMALL(products / 1e5, 0.01); // a and b are not the same
}

BOOST_AUTO_TEST_CASE(the_first_input_is_the_published_sequence) {
    // SplitMix64 from state 0 gives e220a8397b1dcdaf first (the value that its published code prints).
    // The stream's start is itself a scrambled number, so its first element is computed here from the definition.
    auto scramble = [](uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
        return z ^ (z >> 31);
    };
    BOOST_REQUIRE_EQUAL(scramble(0x9E3779B97F4A7C15), 0xE220A8397B1DCDAFu);
    run r("vector_add", 1, 2, 42);
    float first[2];
    std::memcpy(first, r.memory.data() + r.offsets[0], sizeof first);
    uint64_t state = scramble(42);
    for (float value : first) {
        state += 0x9E3779B97F4A7C15;
        BOOST_CHECK_EQUAL(value, float(std::ldexp(double(scramble(state) >> 11), -52) - 1));
    }
}

BOOST_AUTO_TEST_CASE(a_wrong_result_is_found_and_named) {
    run add("vector_add", 4, 100);
    add.launch();
    tla_error error{};
    uint8_t &low = add.memory[add.offsets[2] + 4 * 123];
    low ^= 1; // one unit in the last place
    BOOST_CHECK_EQUAL(add.verify(&error), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(error.status, TLA_WRONG_RESULT);
    BOOST_CHECK_MESSAGE(std::string(error.text).find("c[123] is ") != std::string::npos, error.text);
    BOOST_CHECK(std::string(error.text).find("expected ") != std::string::npos);

    run gemm("qkv_gemm", 4, 0);
    BOOST_CHECK_EQUAL(gemm.verify(nullptr), TLA_WRONG_RESULT); // nothing has been computed yet
    gemm.launch();
    BOOST_REQUIRE_EQUAL(gemm.verify(&error), TLA_OK);
    uint8_t *c = gemm.memory.data() + gemm.offsets[2] + 2 * (5 * 128 + 77);
    auto half = uint16_t(c[0] | c[1] << 8);
    for (int wrong : {half + 3, half - 3, 0x7E00, 0x7C00}) { // a few units off, NaN, infinity
        c[0] = uint8_t(wrong), c[1] = uint8_t(wrong >> 8);
        BOOST_CHECK_EQUAL(gemm.verify(&error), TLA_WRONG_RESULT);
        BOOST_CHECK_MESSAGE(std::string(error.text).find("C[5][77] is ") != std::string::npos, error.text);
    }
}
