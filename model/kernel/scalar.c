/* One result of the vector engine. Sums, products, quotients and square roots of f32 numbers that are computed in f64
 * and rounded to f32 are the same as when they are computed in f32 (Figueroa: When is Double Rounding Innocuous?,
 * 1995); a fused multiply-add is not, and is computed in its own type. */
#include "scalar.h"

#include "element.h"

#include <math.h>

static double larger(double a, double b) {
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return signbit(a) ? b : a; /* +0 is above -0 */
    return a > b ? a : b;
}

static double smaller(double a, double b) {
    return -larger(-a, -b);
}

static double sigmoid(double x) {
    if (x >= 0) return 1 / (1 + exp(-x));
    const double e = exp(x); /* exp(-x) would overflow */
    return e / (1 + e);
}

static double unary(uint32_t number, double x) {
    switch (number) {
    case TL_ABS:
        return fabs(x);
    case TL_NEG:
        return -x;
    case TL_EXP:
        return exp(x);
    case TL_LOG:
        return log(x);
    case TL_SQRT:
        return sqrt(x);
    case TL_RSQRT:
        return 1 / sqrt(x);
    default:
        return sigmoid(x);
    }
}

static double binary(uint32_t number, double a, double b) {
    switch (number) {
    case TL_ADD:
        return a + b;
    case TL_SUB:
        return a - b;
    case TL_MUL:
        return a * b;
    case TL_DIV:
        return a / b;
    case TL_MAXIMUM:
        return larger(a, b);
    case TL_MINIMUM:
        return smaller(a, b);
    case TL_EQ:
        return a == b;
    case TL_NE:
        return a != b;
    case TL_LT:
        return a < b;
    case TL_LE:
        return a <= b;
    case TL_GT:
        return a > b;
    default:
        return a >= b;
    }
}

double tla_scalar_real(uint32_t operands, uint32_t number, bool f64, const double *x) {
    if (operands == 3 && number == TL_FMA)
        return f64 ? fma(x[0], x[1], x[2]) : (double)fmaf((float)x[0], (float)x[1], (float)x[2]);
    double result = operands == 1   ? unary(number, x[0])
                    : operands == 2 ? binary(number, x[0], x[1])
                                    : smaller(larger(x[0], x[1]), x[2]);
    return f64 ? result : (double)(float)result;
}

/* Whether a comes before b. */
static bool less(tl_dtype type, uint64_t a, uint64_t b) {
    return tla_is_signed(type) ? (int64_t)a < (int64_t)b : a < b;
}

/* Towards zero; by 0 all bits are 1, and the quotient that is too large wraps, as RISC-V has it. */
static uint64_t quotient(tl_dtype type, uint64_t a, uint64_t b) {
    if (b == 0) return UINT64_MAX;
    if (!tla_is_signed(type)) return a / b;
    return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

uint64_t tla_scalar_integer(uint32_t operands, uint32_t number, tl_dtype type, const uint64_t *x) {
    if (operands == 1) {
        const bool negate = number == TL_NEG || (tla_is_signed(type) && x[0] >> 63);
        return negate ? 0 - x[0] : x[0];
    }
    if (operands == 3) { /* TL_CLAMP */
        const uint64_t above = less(type, x[0], x[1]) ? x[1] : x[0];
        return less(type, x[2], above) ? x[2] : above;
    }
    switch (number) {
    case TL_ADD:
        return x[0] + x[1];
    case TL_SUB:
        return x[0] - x[1];
    case TL_MUL:
        return x[0] * x[1];
    case TL_DIV:
        return quotient(type, x[0], x[1]);
    case TL_MAXIMUM:
        return less(type, x[0], x[1]) ? x[1] : x[0];
    case TL_MINIMUM:
        return less(type, x[1], x[0]) ? x[1] : x[0];
    case TL_EQ:
        return x[0] == x[1];
    case TL_NE:
        return x[0] != x[1];
    case TL_LT:
        return less(type, x[0], x[1]);
    case TL_LE:
        return !less(type, x[1], x[0]);
    case TL_GT:
        return less(type, x[1], x[0]);
    default:
        return !less(type, x[0], x[1]);
    }
}
