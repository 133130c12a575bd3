// The kernels on plain memory: right results, everything given back, whatever call fails.
#include "programs/program.h"
#include "tlmalloc/device/tile_math.h"
#include "tlmalloc/device/tile_vector.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

// One program on a PE of plain memory. Every tl_* call that can fail counts; call number fail_at fails.
struct plain_program : tl_context {
    plain_program();

    uint32_t program = 0, programs = 1;
    std::vector<uint64_t> arguments;
    std::vector<uint8_t> *memory = nullptr; // virtual addresses from memory_base on
    std::vector<bool> *stored = nullptr;    // which bytes of memory a store has written
    uint64_t tcm_bytes = 1 << 20, tcm_used = 0, tcm_peak = 0;
    std::map<uint64_t, std::vector<uint8_t>> tiles; // live allocations by physical address
    uint64_t next_pa = 0x1000;
    unsigned made = 0, fail_at = 0, allocations = 0;
    uint64_t bytes_loaded = 0;
    bool bad_access = false;

    // What a kernel's context is.
    static plain_program &of(tl_context *tl) { return *static_cast<plain_program *>(tl); }
    static const plain_program &of(const tl_context *tl) { return *static_cast<const plain_program *>(tl); }

    bool fails() { return ++made == fail_at; }

    // The bytes of a tile; nullptr, and a note, when it is not wholly inside a live allocation.
    uint8_t *bytes_of(const tl_tile &tile) {
        auto at = tiles.find(tile.pa.value);
        uint64_t nbytes = uint64_t(tile.rows) * tile.columns * tl_dtype_bytes(tile.dtype);
        if (at != tiles.end() && nbytes <= at->second.size()) return at->second.data();
        bad_access = true;
        return nullptr;
    }
};

constexpr uint64_t memory_base = 0x100000000;

// One cube of `programs` PEs.
uint32_t program_id(const tl_context *tl, uint32_t axis) {
    return axis == TL_PE || axis == TL_ALL ? plain_program::of(tl).program : 0;
}
uint32_t num_programs(const tl_context *tl, uint32_t axis) {
    return axis == TL_PE || axis == TL_ALL ? plain_program::of(tl).programs : 1;
}
uint64_t argument(const tl_context *tl, uint32_t index) {
    const auto &program = plain_program::of(tl);
    return index < program.arguments.size() ? program.arguments[index] : 0;
}

tla_status alloc(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile) {
    auto &program = plain_program::of(tl);
    *tile = tl_tile{};
    uint64_t nbytes = uint64_t(rows) * columns * tl_dtype_bytes(dtype);
    if (program.fails()) return TLA_FRAGMENTED;
    if (nbytes == 0) return TLA_INVALID_ARGUMENT;
    if (nbytes > program.tcm_bytes - program.tcm_used) return TLA_EXHAUSTED;
    *tile = tl_tile{{program.next_pa}, rows, columns, dtype};
    program.tiles[program.next_pa] = std::vector<uint8_t>(nbytes, 0xEE);
    program.next_pa += nbytes + 64;
    program.tcm_used += nbytes;
    program.tcm_peak = std::max(program.tcm_peak, program.tcm_used);
    program.allocations++;
    return TLA_OK;
}

tla_status release(tl_context *tl, const tl_tile *tile) {
    auto &program = plain_program::of(tl);
    uint64_t nbytes = uint64_t(tile->rows) * tile->columns * tl_dtype_bytes(tile->dtype);
    auto at = program.tiles.find(tile->pa.value);
    if (at == program.tiles.end()) return TLA_NOT_ALLOCATED;
    if (at->second.size() != nbytes) return TLA_SIZE_MISMATCH;
    bool fails = program.fails(); // the memory is gone all the same: the answer was lost
    program.tiles.erase(at);
    program.tcm_used -= nbytes;
    return fails ? TLA_BUS_ERROR : TLA_OK;
}

tla_status transfer(tl_context *tl, const tl_tile &tile, uint64_t va, uint64_t pitch, bool load) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_BUS_ERROR;
    uint8_t *bytes = program.bytes_of(tile);
    uint64_t row_bytes = uint64_t(tile.columns) * tl_dtype_bytes(tile.dtype);
    for (uint32_t row = 0; row < tile.rows; row++) {
        uint64_t offset = va + row * pitch - memory_base;
        if (!bytes || offset > program.memory->size() || row_bytes > program.memory->size() - offset) {
            program.bad_access = true;
            return TLA_BUS_ERROR;
        }
        uint8_t *outside = program.memory->data() + offset, *inside = bytes + row * row_bytes;
        std::memcpy(load ? inside : outside, load ? outside : inside, row_bytes);
        if (load) program.bytes_loaded += row_bytes;
        for (uint64_t i = 0; !load && i < row_bytes; i++)
            (*program.stored)[offset + i] = true;
    }
    return TLA_OK;
}

size_t count_of(const tl_tile &tile) {
    return size_t(tile.rows) * tile.columns;
}

bool same_shape(const tl_tile &a, const tl_tile &b) {
    return a.rows == b.rows && a.columns == b.columns;
}

tla_status load(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch) {
    return transfer(tl, *tile, source.value, pitch, true);
}

tla_status store(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile) {
    return transfer(tl, *tile, destination.value, pitch, false);
}

tla_status dot(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    if (sum->dtype != TL_F32 || a->columns != b->rows || sum->rows != a->rows || sum->columns != b->columns)
        return TLA_INVALID_ARGUMENT;
    uint8_t *s = program.bytes_of(*sum), *x = program.bytes_of(*a), *y = program.bytes_of(*b);
    if (s && x && y) tla_tile_dot(s, x, a->dtype, y, b->dtype, a->rows, a->columns, b->columns);
    return TLA_OK;
}

tla_matrix matrix_of(plain_program &program, const tl_tile &tile) {
    return {program.bytes_of(tile), tile.dtype, tile.rows, tile.columns};
}

// Element by element, with copies of the operands: the result may be written over one.
tla_status map(tl_context *tl, uint32_t number, const tl_tile *out, std::vector<const tl_tile *> tiles) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    tla_matrix result = matrix_of(program, *out);
    std::vector<tla_matrix> operands;
    std::vector<std::vector<uint8_t>> copies;
    for (const tl_tile *tile : tiles) {
        operands.push_back(matrix_of(program, *tile));
        const auto *bytes = static_cast<uint8_t *>(operands.back().bytes);
        if (!bytes) return TLA_OK;
        copies.emplace_back(bytes, bytes + count_of(*tile) * tl_dtype_bytes(tile->dtype));
    }
    for (size_t i = 0; i < copies.size(); i++)
        operands[i].bytes = copies[i].data();
    const tla_operation what{"", uint32_t(tiles.size()), number};
    if (tla_matrix_check(&what, &result, operands.data(), nullptr)) return TLA_INVALID_ARGUMENT;
    if (result.bytes) tla_matrix_map(&what, &result, operands.data());
    return TLA_OK;
}

tla_status unary(tl_context *tl, tl_unary what, const tl_tile *out, const tl_tile *a) {
    return map(tl, what, out, {a});
}
tla_status binary(tl_context *tl, tl_binary what, const tl_tile *out, const tl_tile *a, const tl_tile *b) {
    return map(tl, what, out, {a, b});
}
tla_status ternary(tl_context *tl, tl_ternary what, const tl_tile *out, const tl_tile *a, const tl_tile *b,
                   const tl_tile *c) {
    return map(tl, what, out, {a, b, c});
}

tla_status reduce(tl_context *tl, tl_reduction what, uint32_t axis, const tl_tile *out, const tl_tile *a) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    const tla_matrix result = matrix_of(program, *out), from = matrix_of(program, *a);
    if (tla_matrix_reduce_check(what, axis, &result, &from, nullptr)) return TLA_INVALID_ARGUMENT;
    if (result.bytes && from.bytes) tla_matrix_reduce(what, axis, &result, &from);
    return TLA_OK;
}

tla_status softmax(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    const tla_matrix result = matrix_of(program, *out), from = matrix_of(program, *a);
    if (tla_matrix_softmax_check(&result, &from, nullptr)) return TLA_INVALID_ARGUMENT;
    if (result.bytes && from.bytes) tla_matrix_softmax(&result, &from);
    return TLA_OK;
}

tla_status fill(tl_context *tl, const tl_tile *tile, float value) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    if (uint8_t *bytes = program.bytes_of(*tile)) tla_tile_fill(bytes, tile->dtype, value, count_of(*tile));
    return TLA_OK;
}

tla_status convert(tl_context *tl, const tl_tile *out, const tl_tile *a) {
    auto &program = plain_program::of(tl);
    if (program.fails()) return TLA_UNSUPPORTED;
    if (!same_shape(*out, *a)) return TLA_INVALID_ARGUMENT;
    uint8_t *o = program.bytes_of(*out), *x = program.bytes_of(*a);
    if (o && x) tla_tile_convert(o, out->dtype, x, a->dtype, count_of(*out));
    return TLA_OK;
}

tla_status fail(tl_context *, tla_status status, const char *) {
    return status;
}

void end(tl_context *, tla_status, const char *why) {
    throw std::runtime_error(why);
}

// What does not wait has ended when it returns.
unsigned begun = 0;

tla_status load_async(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch, tl_handle *handle) {
    const tla_status status = transfer(tl, *tile, source.value, pitch, true);
    if (handle) handle->value = status ? 0 : ++begun;
    return status;
}
tla_status store_async(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile, tl_handle *handle) {
    const tla_status status = transfer(tl, *tile, destination.value, pitch, false);
    if (handle) handle->value = status ? 0 : ++begun;
    return status;
}
tla_status wait(tl_context *tl, tl_handle) {
    return plain_program::of(tl).fails() ? TLA_BUS_ERROR : TLA_OK;
}
tla_status wait_all(tl_context *tl) {
    return wait(tl, {});
}

const tl_calls calls = {TL_CALLS_VERSION,
                        sizeof(tl_calls),
                        program_id,
                        num_programs,
                        argument,
                        fail,
                        alloc,
                        release,
                        load,
                        store,
                        dot,
                        fill,
                        convert,
                        unary,
                        binary,
                        ternary,
                        reduce,
                        softmax,
                        nullptr,
                        end,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        load_async,
                        store_async,
                        wait,
                        wait_all,
                        nullptr,
                        nullptr};

} // namespace

plain_program::plain_program() : tl_context{&::calls} {}

namespace {

// The host: tensors side by side in memory, inputs filled, outputs full of 0xCC.
struct run {
    const tl_kernel_info &kernel;
    tl_workload workload;
    std::vector<uint8_t> memory;
    std::vector<bool> stored;
    std::vector<uint64_t> offsets;

    run(const char *name, uint32_t programs, uint64_t elements_per_pe, uint64_t seed = 1)
        : kernel(*tl_find_kernel(name)), workload{programs, elements_per_pe, seed} {
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++) {
            offsets.push_back(memory.size() + 256); // a gap around each, which must stay as it is
            memory.resize(offsets[i] + tl_kernel_tensor_bytes(&kernel, &workload, i) + 256, 0xCC);
            if (tl_kernel_goes_in(&kernel, i)) tl_kernel_fill(&kernel, &workload, i, memory.data() + offsets[i]);
        }
        stored.resize(memory.size());
    }
    plain_program context(uint32_t program) {
        plain_program tl;
        tla_vaddr at[TL_KERNEL_TENSORS_MAX];
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            at[i].value = memory_base + offsets[i];
        tl.arguments.resize(TL_KERNEL_ARGUMENTS_MAX);
        tl.arguments.resize(tl_kernel_arguments(&kernel, &workload, at, tl.arguments.data()));
        tl.program = program;
        tl.programs = workload.programs;
        tl.memory = &memory;
        tl.stored = &stored;
        return tl;
    }
    tla_status verify(tla_error *error) {
        const void *tensors[TL_KERNEL_TENSORS_MAX], *files[TL_KERNEL_TENSORS_MAX] = {};
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            tensors[i] = memory.data() + offsets[i];
        return tl_kernel_verify(&kernel, &workload, tensors, files, error);
    }
    // Runs every program; all must succeed, keep inside their memory and give everything back.
    void launch() {
        for (uint32_t program = 0; program < workload.programs; program++) {
            plain_program tl = context(program);
            BOOST_REQUIRE_EQUAL(kernel.run(&tl), TLA_OK);
            BOOST_REQUIRE(tl.tiles.empty());
            BOOST_REQUIRE_EQUAL(tl.tcm_used, 0u);
            BOOST_REQUIRE(!tl.bad_access);
        }
    }
    void check_every_output_byte_and_no_other_is_written() {
        std::vector<bool> expected(memory.size());
        for (uint32_t i = 0; i < tl_kernel_tensor_count(&kernel); i++)
            for (uint64_t byte = 0;
                 tl_kernel_comes_out(&kernel, i) && byte < tl_kernel_tensor_bytes(&kernel, &workload, i); byte++)
                expected[offsets[i] + byte] = true;
        BOOST_CHECK(stored == expected);
    }
};

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

BOOST_AUTO_TEST_CASE(whatever_call_fails_everything_is_given_back_and_the_status_comes_out) {
    for (uint32_t number = 0; const tl_kernel_info *kernel = tl_kernel_at(number); number++) {
        BOOST_TEST_CONTEXT(kernel->name) {
            run r(kernel->name, 4, 3000);
            plain_program good = r.context(1);
            BOOST_REQUIRE_EQUAL(kernel->run(&good), TLA_OK);
            for (unsigned call = 1; call <= good.made; call++) {
                plain_program tl = r.context(1);
                tl.fail_at = call;
                tla_status status = kernel->run(&tl);
                BOOST_REQUIRE_MESSAGE(status == TLA_FRAGMENTED || status == TLA_BUS_ERROR || status == TLA_UNSUPPORTED,
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
