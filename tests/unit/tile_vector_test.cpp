// The vector engine's arithmetic: every operation and type beside references in double precision.
#include "model/kernel/element.h"
#include "model/kernel/tile_vector.h"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

const std::vector<tl_dtype> reals{TL_F16, TL_BF16, TL_F32, TL_F64};
const std::vector<tl_dtype> integers{TL_I8, TL_I16, TL_I32, TL_I64, TL_U8, TL_U16, TL_U32, TL_U64};
const double inf = std::numeric_limits<double>::infinity(), no_number = std::numeric_limits<double>::quiet_NaN();

struct matrix {
    std::vector<uint8_t> bytes;
    tl_dtype type;
    uint32_t rows, columns;

    matrix(tl_dtype dtype, uint32_t r, uint32_t c)
        : bytes(size_t(r) * c * tl_dtype_bytes(dtype), 0xEE), type(dtype), rows(r), columns(c) {}
    tla_matrix view() { return {bytes.data(), type, rows, columns}; }
    uint8_t *at(uint32_t row, uint32_t column) {
        return bytes.data() +
               (size_t(rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column)) * tl_dtype_bytes(type);
    }
    double get(uint32_t row, uint32_t column) { return tla_element_get(at(row, column), type); }
};

// How a real type is built: bits of the significand, least and largest exponent of a normal number.
struct format {
    int precision, least, largest;
};
format format_of(tl_dtype type) {
    switch (type) {
    case TL_F16:
        return {11, -14, 15};
    case TL_BF16:
        return {8, -126, 127};
    case TL_F32:
        return {24, -126, 127};
    default:
        return {53, -1022, 1023};
    }
}

// To nearest, ties to even, by its definition: a multiple of the distance of neighbours there.
double rounded(long double value, tl_dtype type) {
    if (value == 0 || !std::isfinite(value)) return double(value);
    const format f = format_of(type);
    const int exponent = std::max(std::ilogb(value), f.least), unit = exponent - f.precision + 1;
    const long double scaled = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
    return std::fabs(scaled) >= std::ldexp(2.0L, f.largest) ? double(std::copysign(inf, value)) : double(scaled);
}

uint64_t any_bits(seeded_random &random) {
    return random.between(0, UINT32_MAX) << 32 | random.between(0, UINT32_MAX);
}

bool same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

// A number of a real type: any bits, among them subnormals, infinities and NaN, or an ordinary one.
void put_random(uint8_t *at, tl_dtype type, seeded_random &random) {
    const double special[] = {0.0, -0.0, inf, -inf, no_number, 1, -1, 65504, 6e-8, 3.4e38, 1e-40, -2.5};
    switch (random.between(0, 3)) {
    case 0:
        tla_element_put(at, type, special[random.between(0, std::size(special) - 1)]);
        break;
    case 1: {
        const uint64_t bits = any_bits(random);
        std::memcpy(at, &bits, tl_dtype_bytes(type));
        break;
    }
    default:
        tla_element_put(at, type, std::ldexp(double(random.between(0, 20000)) - 10000, -int(random.between(0, 15))));
    }
}

matrix random_matrix(tl_dtype type, uint32_t rows, uint32_t columns, seeded_random &random) {
    matrix made(type, rows, columns);
    for (uint32_t row = 0; row < rows; row++)
        for (uint32_t column = 0; column < columns; column++)
            put_random(made.at(row, column), type, random);
    return made;
}

const struct { uint32_t rows, columns; } shapes[] = {{1, 1}, {1, 17}, {13, 1}, {3, 5}, {7, 33}};

// The operand's rows and columns, or one in place of them.
uint32_t all_or_one(uint32_t n, seeded_random &random) {
    return random.one_in(3) ? 1 : n;
}

double reference(uint32_t operands, uint32_t number, double a, double b, double c) {
    const auto larger = [](double x, double y) {
        return std::isnan(x) || std::isnan(y) ? no_number : x == y ? (std::signbit(x) ? y : x) : std::max(x, y);
    };
    const auto smaller = [&](double x, double y) { return -larger(-x, -y); };
    const double unary[] = {std::fabs(a),
                            -a,
                            std::exp(a),
                            std::log(a),
                            std::sqrt(a),
                            1 / std::sqrt(a),
                            a < 0 ? std::exp(a) / (1 + std::exp(a)) : 1 / (1 + std::exp(-a))};
    const double binary[] = {a + b,         a - b,          a * b,          a / b,
                             larger(a, b),  smaller(a, b),  double(a == b), double(a != b),
                             double(a < b), double(a <= b), double(a > b),  double(a >= b)};
    const double ternary[] = {std::fma(a, b, c), smaller(larger(a, b), c), std::isnan(a) || a != 0 ? b : c};
    return operands == 1 ? unary[number] : operands == 2 ? binary[number] : ternary[number];
}

const uint32_t counts[] = {TL_UNARY_COUNT, TL_BINARY_COUNT, TL_TERNARY_COUNT};

// Whether a library's function is behind it, whose result may be a unit in the last place off.
bool is_transcendental(uint32_t operands, uint32_t number) {
    return operands == 1 && (number == TL_EXP || number == TL_LOG || number == TL_RSQRT || number == TL_SIGMOID);
}

} // namespace

BOOST_AUTO_TEST_CASE(every_operation_on_real_types_is_rounded_as_it_is_said) {
    seeded_random random(12);
    for (int round = 0; round < 40; round++)
        for (uint32_t operands = 1; operands <= 3; operands++)
            for (uint32_t number = 0; number < counts[operands - 1]; number++) {
                const auto shape = shapes[random.between(0, std::size(shapes) - 1)];
                const auto any = [&] { return reals[random.between(0, reals.size() - 1)]; };
                matrix out(any(), shape.rows, shape.columns);
                bool f64 = out.type == TL_F64;
                std::vector<matrix> in;
                std::vector<tla_matrix> views;
                for (uint32_t i = 0; i < operands; i++) {
                    in.push_back(random_matrix(any(), all_or_one(shape.rows, random), all_or_one(shape.columns, random),
                                               random));
                    f64 = f64 || in.back().type == TL_F64;
                }
                for (matrix &m : in)
                    views.push_back(m.view());
                const tla_operation what{"op", operands, number};
                const tla_matrix result = out.view();
                BOOST_REQUIRE_EQUAL(tla_matrix_check(&what, &result, views.data(), nullptr), TLA_OK);
                tla_matrix_map(&what, &result, views.data());
                const bool loose = is_transcendental(operands, number) || (operands == 3 && number == TL_FMA);
                for (uint32_t row = 0; row < shape.rows; row++)
                    for (uint32_t column = 0; column < shape.columns; column++) {
                        double x[3] = {};
                        for (uint32_t i = 0; i < operands; i++)
                            x[i] = in[i].get(row, column);
                        const double exact = reference(operands, number, x[0], x[1], x[2]);
                        const double expected = rounded(rounded(exact, f64 ? TL_F64 : TL_F32), out.type);
                        const double got = out.get(row, column);
                        const double step =
                            std::ldexp(1, std::max(std::isfinite(exact) && exact != 0 ? std::ilogb(exact) : 0,
                                                   format_of(out.type).least) -
                                              format_of(out.type).precision + 1);
                        BOOST_REQUIRE_MESSAGE(same(got, expected) || (loose && std::fabs(got - expected) <= step),
                                              "operands " << operands << " number " << number << ": of " << x[0] << ", "
                                                          << x[1] << ", " << x[2] << " found " << got << ", expected "
                                                          << expected);
                    }
            }
    // Rounded once: the product alone would lose what is left.
    matrix a(TL_F32, 1, 1), c(TL_F32, 1, 1), out(TL_F32, 1, 1);
    tla_element_put(a.at(0, 0), TL_F32, 1 + std::ldexp(1, -12));
    tla_element_put(c.at(0, 0), TL_F32, -1 - std::ldexp(1, -11));
    const tla_matrix operands[] = {a.view(), a.view(), c.view()}, result = out.view();
    const tla_operation fma{"fma", 3, TL_FMA};
    tla_matrix_map(&fma, &result, operands);
    BOOST_CHECK_EQUAL(out.get(0, 0), std::ldexp(1, -24));
}

BOOST_AUTO_TEST_CASE(integers_are_exact_modulo_their_bits) {
    __extension__ typedef __int128 wide;
    __extension__ typedef unsigned __int128 unsigned_wide; // whose products may wrap
    seeded_random random(13);
    for (tl_dtype type : integers) {
        const uint32_t bits = 8 * tl_dtype_bytes(type);
        const bool is_signed = type < TL_U8;
        const auto wrap = [&](wide value) {
            const wide modulus = wide(1) << bits;
            wide left = ((value % modulus) + modulus) % modulus;
            return is_signed && left >= modulus / 2 ? left - modulus : left;
        };
        for (uint32_t operands = 1; operands <= 3; operands++)
            for (uint32_t number = 0; number < counts[operands - 1]; number++) {
                const tla_operation what{"op", operands, number};
                matrix out(type, 5, 9), in[3] = {{type, 5, 9}, {type, 1, 9}, {type, 5, 1}};
                const tla_matrix result = out.view(), views[] = {in[0].view(), in[1].view(), in[2].view()};
                const bool of_reals = (operands == 1 && number > TL_NEG) || (operands == 3 && number == TL_FMA);
                BOOST_REQUIRE_EQUAL(tla_matrix_check(&what, &result, views, nullptr),
                                    of_reals ? TLA_INVALID_ARGUMENT : TLA_OK);
                if (of_reals) continue;
                for (matrix &m : in)
                    for (uint32_t i = 0; i < m.rows * m.columns; i++)
                        tla_element_put_integer(m.bytes.data() + i * bits / 8, type,
                                                random.one_in(3) ? random.between(0, 3) - 1 : any_bits(random));
                tla_matrix_map(&what, &result, views);
                for (uint32_t row = 0; row < 5; row++)
                    for (uint32_t column = 0; column < 9; column++) {
                        wide x[3];
                        for (uint32_t i = 0; i < 3; i++) {
                            const uint64_t raw = tla_element_get_integer(in[i].at(row, column), type);
                            x[i] = is_signed ? wide(int64_t(raw)) : wide(raw);
                            BOOST_REQUIRE(x[i] == wrap(x[i]));
                        }
                        const wide a = x[0], b = x[1], c = x[2];
                        const wide unary[] = {a < 0 ? -a : a, -a},
                                   binary[] = {a + b,
                                               a - b,
                                               wide(unsigned_wide(a) * unsigned_wide(b)),
                                               b == 0 ? wide(-1) : a / b,
                                               std::max(a, b),
                                               std::min(a, b),
                                               a == b,
                                               a != b,
                                               a<b, a <= b, a>
                                                   b,
                                               a >= b},
                                   ternary[] = {0, std::min(std::max(a, b), c), a != 0 ? b : c};
                        const wide expected = wrap(operands == 1   ? unary[number]
                                                   : operands == 2 ? binary[number]
                                                                   : ternary[number]);
                        const uint64_t got = tla_element_get_integer(out.at(row, column), type);
                        BOOST_REQUIRE_MESSAGE((is_signed ? wide(int64_t(got)) : wide(got)) == expected,
                                              "type " << type << ", operands " << operands << " number " << number);
                    }
            }
    }
}

BOOST_AUTO_TEST_CASE(conversions_round_once_and_keep_to_the_range) {
    seeded_random random(14);
    std::vector<tl_dtype> all = reals;
    all.insert(all.end(), integers.begin(), integers.end());
    for (tl_dtype from : all)
        for (tl_dtype to : all)
            for (int i = 0; i < 3000; i++) {
                uint8_t in[8], out[9];
                std::memset(out, 0xEE, sizeof out);
                const bool whole = from >= TL_I8;
                uint64_t raw = any_bits(random) >> random.between(0, 63);
                if (random.one_in(2)) raw = 0 - raw;
                if (whole)
                    tla_element_put_integer(in, from, raw);
                else
                    put_random(in, from, random);
                tla_element_convert(out, to, in, from);
                BOOST_REQUIRE_EQUAL(out[tl_dtype_bytes(to)], 0xEE);
                raw = whole ? tla_element_get_integer(in, from) : 0;
                const long double value = !whole         ? static_cast<long double>(tla_element_get(in, from))
                                          : from < TL_U8 ? static_cast<long double>(int64_t(raw))
                                                         : static_cast<long double>(raw);
                if (to < TL_I8) {
                    const double expected = rounded(value, to), got = tla_element_get(out, to);
                    BOOST_REQUIRE_MESSAGE(same(got, expected), from << " to " << to << ": of " << value << " found "
                                                                    << got << ", expected " << expected);
                    continue;
                }
                const int bits = 8 * int(tl_dtype_bytes(to));
                uint64_t expected = raw; // modulo
                if (!whole) {
                    const long double end = std::ldexp(1.0L, to < TL_U8 ? bits - 1 : bits), low = to < TL_U8 ? -end : 0;
                    const long double kept =
                        std::isnan(value) ? 0 : std::max(low, std::min(end - 1, std::trunc(value)));
                    expected = kept < 0 ? 0 - uint64_t(-kept) : uint64_t(kept);
                }
                uint8_t wanted[8];
                tla_element_put_integer(wanted, to, expected);
                BOOST_REQUIRE_MESSAGE(std::memcmp(wanted, out, tl_dtype_bytes(to)) == 0,
                                      from << " to " << to << " of " << value);
            }
}

BOOST_AUTO_TEST_CASE(reductions_go_in_order_of_the_index) {
    seeded_random random(15);
    for (int round = 0; round < 60; round++) {
        const auto shape = shapes[random.between(0, std::size(shapes) - 1)];
        const auto what = tl_reduction(random.between(0, TL_REDUCTION_COUNT - 1));
        const auto axis = uint32_t(random.between(0, 1));
        const tl_dtype types[] = {reals[random.between(0, 3)], reals[random.between(0, 3)]};
        matrix a = random_matrix(types[0], shape.rows, shape.columns, random);
        matrix out(types[1], axis == 0 ? 1 : shape.rows, axis == 0 ? shape.columns : 1);
        const tla_matrix result = out.view(), from = a.view();
        BOOST_REQUIRE_EQUAL(tla_matrix_reduce_check(what, axis, &result, &from, nullptr), TLA_OK);
        tla_matrix_reduce(what, axis, &result, &from);
        const tl_dtype in = types[0] == TL_F64 || types[1] == TL_F64 ? TL_F64 : TL_F32;
        const uint32_t step[] = {TL_ADD, TL_MAXIMUM, TL_MINIMUM};
        for (uint32_t line = 0; line < (axis == 0 ? shape.columns : shape.rows); line++) {
            double expected = axis == 0 ? a.get(0, line) : a.get(line, 0);
            for (uint32_t i = 1; i < (axis == 0 ? shape.rows : shape.columns); i++)
                expected =
                    rounded(reference(2, step[what], expected, axis == 0 ? a.get(i, line) : a.get(line, i), 0), in);
            const double got = axis == 0 ? out.get(0, line) : out.get(line, 0);
            BOOST_REQUIRE_MESSAGE(same(got, rounded(expected, types[1])), got << ", expected " << expected);
        }
    }
    matrix a(TL_I8, 2, 3), out(TL_I8, 1, 3);
    for (uint8_t &byte : a.bytes)
        byte = 100;
    const tla_matrix result = out.view(), from = a.view();
    tla_matrix_reduce(TL_SUM, 0, &result, &from);
    BOOST_CHECK_EQUAL(out.get(0, 2), 200 - 256);
}

BOOST_AUTO_TEST_CASE(softmax_is_as_near_as_f32_gets) {
    seeded_random random(16);
    for (tl_dtype type : reals)
        for (tl_dtype to : reals) {
            const uint32_t rows = 3, columns = 37;
            matrix a(type, rows, columns), out(to, rows, columns);
            for (uint32_t row = 0; row < rows; row++)
                for (uint32_t column = 0; column < columns; column++)
                    tla_element_put(a.at(row, column), type, double(random.between(0, 4000)) / 100 - 20);
            const tla_matrix result = out.view(), from = a.view();
            BOOST_REQUIRE_EQUAL(tla_matrix_softmax_check(&result, &from, nullptr), TLA_OK);
            tla_matrix_softmax(&result, &from);
            const format f = format_of(to == TL_F64 && type != TL_F64 ? TL_F64 : to);
            for (uint32_t row = 0; row < rows; row++) {
                double most = -inf, sum = 0;
                for (uint32_t column = 0; column < columns; column++)
                    most = std::max(most, a.get(row, column));
                for (uint32_t column = 0; column < columns; column++)
                    sum += std::exp(a.get(row, column) - most);
                for (uint32_t column = 0; column < columns; column++) {
                    const double exact = std::exp(a.get(row, column) - most) / sum;
                    const double unit = type == TL_F64 || to == TL_F64 ? std::ldexp(1, -53) : std::ldexp(1, -24);
                    const double allowed =
                        exact * (100 * unit + std::ldexp(1, -f.precision)) + std::ldexp(1, f.least - f.precision);
                    BOOST_REQUIRE_SMALL(out.get(row, column) - exact, allowed);
                }
            }
        }
    matrix a(TL_F32, 3, 2), out(TL_F32, 3, 2); // of infinities and a NaN
    const double rows[3][2] = {{-inf, 0}, {-inf, -inf}, {no_number, 1}};
    for (uint32_t i = 0; i < 6; i++)
        tla_element_put(a.at(i / 2, i % 2), TL_F32, rows[i / 2][i % 2]);
    const tla_matrix result = out.view(), from = a.view();
    tla_matrix_softmax(&result, &from);
    BOOST_CHECK(out.get(0, 0) == 0 && out.get(0, 1) == 1);
    for (uint32_t row = 1; row < 3; row++)
        BOOST_CHECK(std::isnan(out.get(row, 0)) && std::isnan(out.get(row, 1)));
}

BOOST_AUTO_TEST_CASE(operands_that_do_not_match_are_rejected_with_a_text) {
    const auto refused = [](uint32_t operands, uint32_t number, matrix out, std::vector<matrix> in, const char *says) {
        std::vector<tla_matrix> views;
        for (matrix &m : in)
            views.push_back(m.view());
        const tla_operation what{"tl_op", operands, number};
        const tla_matrix result = out.view();
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_matrix_check(&what, &result, views.data(), &error), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(says) != std::string::npos, error.text);
    };
    const matrix square(TL_F32, 4, 4), row(TL_F32, 1, 4), narrow(TL_F32, 4, 2), bytes(TL_I8, 4, 4), words(TL_I32, 4, 4);
    refused(2, TL_ADD, square, {square, narrow}, "tl_op: operand 2 is 4 x 2 and the result 4 x 4: must be the same");
    refused(2, TL_ADD, row, {square, row}, "operand 1 is 4 x 4 and the result 1 x 4");
    refused(2, TL_MUL, square, {square, bytes},
            "operands of f32 and i8: must have real types or the same integer type");
    refused(2, TL_MUL, words, {words, bytes}, "operands of i32 and i8");
    refused(2, TL_SUB, square, {bytes, bytes}, "a result of f32 from i8: must have the same type");
    refused(1, TL_NEG, bytes, {square}, "a result of i8 from f32: must have a real type");
    refused(1, TL_EXP, bytes, {bytes}, "unsupported operand type i8: must be a real type");
    refused(1, TL_ABS, matrix(tl_dtype(0), 1, 1), {matrix(TL_F32, 1, 2)}, "operand 1 is 1 x 2 and the result 1 x 1");
    tla_error error{};
    matrix a = square, out = row;
    tla_matrix from = a.view(), result = out.view();
    BOOST_CHECK_EQUAL(tla_matrix_reduce_check(TL_SUM, 1, &result, &from, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(std::string(error.text), "tl_sum: the result is 1 x 4, but 4 x 4 over axis 1 gives 4 x 1");
    BOOST_CHECK_EQUAL(tla_matrix_reduce_check(TL_SUM, 2, &result, &from, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_matrix_softmax_check(&result, &from, &error), TLA_INVALID_ARGUMENT);
}
