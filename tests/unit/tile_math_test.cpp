// f16 conversions over all halves and every rounding boundary; tile operations against plain loops.
#include "model/kernel/tile_math.h"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace {

const float infinity = std::numeric_limits<float>::infinity();

// IEEE 754 binary16 by its definition; exact in double. NaN is not covered.
double value_of(uint16_t half) {
    int exponent = half >> 10 & 0x1F, fraction = half & 0x3FF;
    double magnitude = exponent == 0x1F ? double(infinity)
                       : exponent == 0  ? std::ldexp(fraction, -24)
                                        : std::ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

bool is_nan(uint16_t half) {
    return (half & 0x7FFF) > 0x7C00;
}

uint32_t bits_of(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

std::vector<float> random_tile(std::mt19937 &random, size_t count) {
    std::uniform_real_distribution<float> uniform(-1, 1);
    std::vector<float> tile(count);
    for (float &value : tile)
        value = uniform(random);
    return tile;
}

std::vector<uint8_t> pack(const std::vector<float> &values, tl_dtype type) {
    std::vector<uint8_t> bytes;
    for (float value : values) {
        uint32_t bits = type == TL_F16 ? tla_f32_to_f16(value) : bits_of(value);
        for (uint32_t i = 0; i < tl_dtype_bytes(type); i++)
            bytes.push_back(uint8_t(bits >> 8 * i));
    }
    return bytes;
}

std::vector<float> unpack(const std::vector<uint8_t> &bytes, tl_dtype type) {
    std::vector<float> values;
    for (size_t at = 0; at < bytes.size(); at += tl_dtype_bytes(type)) {
        uint32_t bits = 0;
        for (uint32_t i = 0; i < tl_dtype_bytes(type); i++)
            bits |= uint32_t(bytes[at + i]) << 8 * i;
        float value;
        std::memcpy(&value, &bits, sizeof value);
        values.push_back(type == TL_F16 ? tla_f16_to_f32(uint16_t(bits)) : value);
    }
    return values;
}

} // namespace

BOOST_AUTO_TEST_CASE(element_sizes) {
    BOOST_CHECK_EQUAL(tl_dtype_bytes(TL_F16), 2u);
    BOOST_CHECK_EQUAL(tl_dtype_bytes(TL_F32), 4u);
}

BOOST_AUTO_TEST_CASE(every_half_becomes_its_exact_float_and_the_same_half_again) {
    for (uint32_t h = 0; h < 65536; h++) {
        auto half = uint16_t(h);
        float value = tla_f16_to_f32(half);
        BOOST_REQUIRE_EQUAL(std::signbit(value), h >= 0x8000);
        if (is_nan(half)) {
            BOOST_REQUIRE(std::isnan(value));
            BOOST_REQUIRE(is_nan(tla_f32_to_f16(value)));
            BOOST_REQUIRE_EQUAL(tla_f32_to_f16(value), half | 0x200); // quiet, same sign and payload
        } else {
            BOOST_REQUIRE_EQUAL(double(value), value_of(half));
            BOOST_REQUIRE_EQUAL(tla_f32_to_f16(value), half);
        }
    }
}

BOOST_AUTO_TEST_CASE(every_midpoint_rounds_to_even_and_its_neighbours_to_the_nearest) {
    for (uint32_t h = 0; h < 0x7C00; h++) { // up to the midpoint between 65504 and what would be 65536
        double next = h == 0x7BFF ? 65536 : value_of(uint16_t(h + 1));
        auto middle = float((value_of(uint16_t(h)) + next) / 2);
        uint32_t even = h % 2 == 0 ? h : h + 1;
        for (uint32_t sign : {0u, 0x8000u}) {
            float s = sign ? -1.0f : 1.0f;
            BOOST_REQUIRE_EQUAL(tla_f32_to_f16(s * middle), even | sign);
            BOOST_REQUIRE_EQUAL(tla_f32_to_f16(s * std::nextafter(middle, 0.0f)), h | sign);
            BOOST_REQUIRE_EQUAL(tla_f32_to_f16(s * std::nextafter(middle, infinity)), (h + 1) | sign);
        }
    }
}

BOOST_AUTO_TEST_CASE(floats_outside_the_range_of_a_half_become_infinity_or_zero) {
    BOOST_CHECK_EQUAL(tla_f32_to_f16(65519.996f), 0x7BFF);
    BOOST_CHECK_EQUAL(tla_f32_to_f16(65520.0f), 0x7C00);
    BOOST_CHECK_EQUAL(tla_f32_to_f16(std::numeric_limits<float>::max()), 0x7C00);
    BOOST_CHECK_EQUAL(tla_f32_to_f16(-infinity), 0xFC00);
    BOOST_CHECK_EQUAL(tla_f32_to_f16(std::numeric_limits<float>::denorm_min()), 0x0000);
    BOOST_CHECK_EQUAL(tla_f32_to_f16(-std::numeric_limits<float>::min()), 0x8000);
    BOOST_CHECK(is_nan(tla_f32_to_f16(std::numeric_limits<float>::quiet_NaN())));
}

BOOST_AUTO_TEST_CASE(conversions_agree_with_the_compiler) {
#ifdef __FLT16_MAX__ // it has _Float16
    __extension__ typedef _Float16 half;
    std::mt19937 random(16);
    for (int i = 0; i < 2'000'000; i++) {
        uint32_t bits = uint32_t(random());
        if (i % 2) bits = (bits & 0x807FFFFF) | (95 + bits % 56) << 23; // around the range of halves
        float value;
        std::memcpy(&value, &bits, sizeof value);
        if (std::isnan(value)) continue;
        half rounded = static_cast<half>(value);
        uint16_t expected;
        std::memcpy(&expected, &rounded, sizeof expected);
        BOOST_REQUIRE_EQUAL(tla_f32_to_f16(value), expected);
    }
#else
    BOOST_TEST_MESSAGE("test skipped: the compiler's _Float16 is not here");
#endif
}

BOOST_AUTO_TEST_CASE(dot_adds_products_in_f32_in_order_of_k) {
    std::mt19937 random(3);
    const uint32_t shapes[][3] = {{1, 1, 1}, {3, 5, 7}, {8, 64, 64}, {5, 65, 63}, {2, 200, 130}, {4, 0, 4}, {0, 3, 3}};
    for (const auto &[m, k, n] : shapes) {
        for (tl_dtype a_type : {TL_F16, TL_F32}) {
            for (tl_dtype b_type : {TL_F16, TL_F32}) {
                auto a = pack(random_tile(random, m * k), a_type), b = pack(random_tile(random, k * n), b_type);
                auto expected = random_tile(random, m * n);
                auto sum = pack(expected, TL_F32);
                auto fa = unpack(a, a_type), fb = unpack(b, b_type);
                for (size_t i = 0; i < m; i++)
                    for (size_t j = 0; j < n; j++)
                        for (size_t d = 0; d < k; d++) {
                            volatile float product = fa[i * k + d] * fb[d * n + j]; // rounded to f32
                            expected[i * n + j] += product;
                        }
                tla_tile_dot(sum.data(), a.data(), a_type, b.data(), b_type, m, k, n);
                BOOST_TEST(unpack(sum, TL_F32) == expected, boost::test_tools::per_element());
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(dot_takes_bf16_as_the_numbers_that_they_are) {
    std::mt19937 random(5);
    const uint32_t m = 5, k = 70, n = 66;
    auto a = pack(random_tile(random, m * k), TL_F32), b = pack(random_tile(random, k * n), TL_F16);
    std::vector<uint8_t> narrow(m * k * 2), sum(m * n * 4, 0), expected = sum;
    tla_tile_convert(narrow.data(), TL_BF16, a.data(), TL_F32, m * k);
    tla_tile_convert(a.data(), TL_F32, narrow.data(), TL_BF16, m * k);
    tla_tile_dot(sum.data(), narrow.data(), TL_BF16, b.data(), TL_F16, m, k, n);
    tla_tile_dot(expected.data(), a.data(), TL_F32, b.data(), TL_F16, m, k, n);
    BOOST_CHECK(sum == expected);
    BOOST_CHECK(sum != std::vector<uint8_t>(m * n * 4, 0));
}

BOOST_AUTO_TEST_CASE(fill_and_convert_work_in_every_pair_of_types) {
    std::mt19937 random(4);
    const size_t count = 1000;
    for (tl_dtype in : {TL_F16, TL_F32}) {
        for (tl_dtype out : {TL_F16, TL_F32}) {
            auto a = pack(random_tile(random, count), in);
            auto fa = unpack(a, in);
            std::vector<uint8_t> result(count * tl_dtype_bytes(out) + 1, 0xEE); // one byte more, which stays
            auto check = [&](const std::vector<float> &values) {
                auto expected = pack(values, out);
                expected.push_back(0xEE);
                BOOST_CHECK(result == expected);
            };
            tla_tile_convert(result.data(), out, a.data(), in, count);
            check(fa);
            tla_tile_fill(result.data(), out, 0.1f, count);
            check(std::vector<float>(count, 0.1f));
        }
    }
}

BOOST_AUTO_TEST_CASE(tiles_need_no_alignment) {
    std::vector<uint8_t> memory(64, 0);
    tla_tile_fill(memory.data() + 1, TL_F32, 1.5f, 3);
    tla_tile_convert(memory.data() + 21, TL_F16, memory.data() + 1, TL_F32, 3);
    tla_tile_convert(memory.data() + 33, TL_F32, memory.data() + 21, TL_F16, 3);
    auto back = unpack(std::vector<uint8_t>(memory.begin() + 33, memory.begin() + 45), TL_F32);
    BOOST_TEST(back == std::vector<float>(3, 1.5f), boost::test_tools::per_element());
}
