/* Elements of every type as numbers. Two roundings are one where the first is to odd: it keeps, in the last bit, that
 * something was lost (Boldo, Melquiond: Emulation of FMA and Correctly Rounded Sums, IEEE TC 2008). */
#include "element.h"

#include "base/little_endian.h"

#include <math.h>
#include <string.h>

const char *tla_type_name(tl_dtype type) {
    static const char *const names[TL_DTYPE_COUNT] = {"f16", "f32", "bf16", "f64", "i8",  "i16",
                                                      "i32", "i64", "u8",   "u16", "u32", "u64"};
    return (unsigned)type < TL_DTYPE_COUNT ? names[type] : "none";
}

bool tla_is_integer(tl_dtype type) {
    return type >= TL_I8;
}

bool tla_is_signed(tl_dtype type) {
    return type < TL_U8;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float tla_f16_to_f32(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = half >> 10 & 0x1Fu, fraction = half & 0x3FFu;
    if (exponent == 0x1F) return float_of(sign | 0x7F800000u | fraction << 13);
    if (exponent != 0) return float_of(sign | (exponent + 112) << 23 | fraction << 13); /* 112 = 127 - 15 */
    float magnitude = (float)fraction * 0x1p-24f;                                       /* zero and subnormals */
    return sign ? -magnitude : magnitude;
}

uint16_t tla_f32_to_f16(float value) {
    uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return (uint16_t)(sign | 0x7E00u | (magnitude >> 13 & 0x3FFu)); /* quiet NaN */
    if (magnitude >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); /* 65520, half-way past the largest, and above */
    if (magnitude < 0x38800000u) { /* below 2^-14: a multiple of 2^-24, which an addition rounds to */
        float rounded = float_of(magnitude) + 0.5f;
        return (uint16_t)(sign | (bits_of(rounded) - bits_of(0.5f)));
    }
    uint32_t odd = magnitude >> 13 & 1; /* of the last bit that stays */
    return (uint16_t)(sign | ((magnitude - (112u << 23) + 0xFFFu + odd) >> 13));
}

float tla_bf16_to_f32(uint16_t bits) {
    return float_of((uint32_t)bits << 16);
}

uint16_t tla_f32_to_bf16(float value) {
    uint32_t bits = bits_of(value);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40u); /* quiet, and not rounded to infinity */
    return (uint16_t)((bits + 0x7FFFu + (bits >> 16 & 1)) >> 16);
}

/* To f32 towards zero, and odd when that is not exact. */
static float to_odd(double value) {
    float near = (float)value;
    if (isnan(value) || (double)near == value) return near;
    if (isinf(near)) return value < 0 ? -float_of(0x7F7FFFFFu) : float_of(0x7F7FFFFFu); /* the largest, which is odd */
    uint32_t bits = bits_of(near);
    if (fabs((double)near) > fabs(value)) bits--;
    return float_of(bits | 1);
}

/* To f64 towards zero, and odd when that is not exact. */
static double integer_to_odd(uint64_t magnitude) {
    int drop = 0;
    while (magnitude >> drop >> 53)
        drop++;
    uint64_t kept = magnitude >> drop, lost = magnitude & ((UINT64_C(1) << drop) - 1);
    return ldexp((double)(kept | (lost != 0)), drop);
}

double tla_element_get(const void *at, tl_dtype type) {
    uint64_t bits = get_little_endian(at, tl_dtype_bytes(type));
    double value;
    switch (type) {
    case TL_F16:
        return (double)tla_f16_to_f32((uint16_t)bits);
    case TL_BF16:
        return (double)tla_bf16_to_f32((uint16_t)bits);
    case TL_F32:
        return (double)float_of((uint32_t)bits);
    case TL_F64:
        memcpy(&value, &bits, sizeof value);
        return value;
    default:
        bits = tla_element_get_integer(at, type);
        return tla_is_signed(type) ? (double)(int64_t)bits : (double)bits;
    }
}

uint64_t tla_element_get_integer(const void *at, tl_dtype type) {
    const uint32_t bytes = tl_dtype_bytes(type);
    uint64_t bits = get_little_endian(at, bytes), sign = UINT64_C(1) << (8 * bytes - 1);
    return tla_is_signed(type) ? (bits ^ sign) - sign : bits;
}

static void put_integer_of(void *at, tl_dtype type, double value) {
    const uint32_t bits = 8 * tl_dtype_bytes(type), magnitude_bits = tla_is_signed(type) ? bits - 1 : bits;
    const double end = ldexp(1, (int)magnitude_bits); /* the first that is too large */
    uint64_t result = 0;
    if (value >= end)
        result = magnitude_bits == 64 ? UINT64_MAX : (UINT64_C(1) << magnitude_bits) - 1;
    else if (value <= -end)
        result = tla_is_signed(type) ? ~UINT64_C(0) << magnitude_bits : 0;
    else if (value >= 0)
        result = (uint64_t)value;
    else if (tla_is_signed(type)) /* a NaN is neither */
        result = value < 0 ? (uint64_t)(int64_t)value : 0;
    put_little_endian(at, result, bits / 8);
}

void tla_element_put(void *at, tl_dtype type, double value) {
    uint64_t bits;
    switch (type) {
    case TL_F16:
        put_little_endian(at, tla_f32_to_f16(to_odd(value)), 2);
        break;
    case TL_BF16:
        put_little_endian(at, tla_f32_to_bf16(to_odd(value)), 2);
        break;
    case TL_F32:
        put_little_endian(at, bits_of((float)value), 4);
        break;
    case TL_F64:
        memcpy(&bits, &value, sizeof bits);
        put_little_endian(at, bits, 8);
        break;
    default:
        put_integer_of(at, type, value);
    }
}

void tla_element_put_integer(void *at, tl_dtype type, uint64_t bits) {
    put_little_endian(at, bits, tl_dtype_bytes(type));
}

void tla_element_convert(void *to, tl_dtype to_type, const void *from, tl_dtype from_type) {
    if (!tla_is_integer(from_type)) {
        tla_element_put(to, to_type, tla_element_get(from, from_type));
        return;
    }
    const uint64_t bits = tla_element_get_integer(from, from_type);
    if (tla_is_integer(to_type)) {
        tla_element_put_integer(to, to_type, bits);
    } else if (to_type == TL_F64) {
        tla_element_put(to, to_type, tla_element_get(from, from_type));
    } else {
        const bool negative = tla_is_signed(from_type) && bits >> 63;
        const double magnitude = integer_to_odd(negative ? 0 - bits : bits);
        tla_element_put(to, to_type, negative ? -magnitude : magnitude);
    }
}
