/* How rows of a table of keys are written. Internal to the core: for the .c files that hold a table, which define
 * ROW_STRUCT, the struct that the rows fill, before they include this.
 *
 * A row is `{KIND(key, member, range), source of the default, default, meaning}`. The kind determines the type of the
 * member; a member of another type does not compile. */
#ifndef TLMALLOC_MODEL_CONFIG_ROW_H
#define TLMALLOC_MODEL_CONFIG_ROW_H

#include "schema.h"

/* clang-format off */
#define ROW_MEMBER(member) (((ROW_STRUCT *)0)->member)
/* Offset and size of a member; types: an association of _Generic, or several. */
#define ROW_PLACE(member, ...) \
    offsetof(ROW_STRUCT, member), sizeof ROW_MEMBER(member) * _Generic(ROW_MEMBER(member), __VA_ARGS__)
#define ROW_NUMBER(key, member, kind) #key, ROW_PLACE(member, uint32_t: 1, uint64_t: 1), {.type = kind}
/* A limit that its member can hold; another does not compile. */
#define ROW_LIMIT(member, high) \
    ((high) + 0 * sizeof(char[sizeof ROW_MEMBER(member) == 8 || (uint64_t)(high) <= UINT32_MAX ? 1 : -1]))
#define ROW_LONG(key, member, kind) #key, ROW_PLACE(member, uint64_t: 1), {.type = kind}

/* A number without a unit; a size in bytes; clock cycles; percent. POWER: of two. Both limits are allowed. */
#define COUNT(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_COUNT), low, ROW_LIMIT(member, high), false
#define COUNT_POWER(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_COUNT), low, ROW_LIMIT(member, high), true
#define SIZE(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_SIZE), low, ROW_LIMIT(member, high), false
#define SIZE_POWER(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_SIZE), low, ROW_LIMIT(member, high), true
#define CYCLES(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_CYCLES), low, ROW_LIMIT(member, high), false
#define PERCENT(key, member) ROW_NUMBER(key, member, TLA_VALUE_PERCENT), 0, 100, false
/* In micrometres. */
#define LENGTH(key, member, low, high) ROW_LONG(key, member, TLA_VALUE_LENGTH), low, high, false
/* In ps. SHORT_TIME may fill 32 bits. */
#define TIME(key, member, high) ROW_LONG(key, member, TLA_VALUE_TIME), 0, high, false
#define SHORT_TIME(key, member, low, high) ROW_NUMBER(key, member, TLA_VALUE_TIME), low, ROW_LIMIT(member, high), false
/* In bytes/s, operations/s. */
#define BANDWIDTH(key, member) ROW_LONG(key, member, TLA_VALUE_BANDWIDTH), MB_S, 1000 * TB_S, false
#define RATE(key, member) ROW_LONG(key, member, TLA_VALUE_RATE), GFLOPS, 100000 * TFLOPS, false
/* In fJ, uW. */
#define ENERGY(key, member, high) ROW_LONG(key, member, TLA_VALUE_ENERGY), 0, high, false
#define POWER(key, member, high) ROW_LONG(key, member, TLA_VALUE_POWER), 0, high, false
#define BOOLEAN(key, member) #key, ROW_PLACE(member, bool: 1), {.type = TLA_VALUE_BOOLEAN}, 0, 1, false
/* For an enumeration with a NAMES_OF. */
#define NAMED(key, member, enumeration) \
    #key, ROW_PLACE(member, enumeration: 1), {.type = TLA_VALUE_NAMED, .name = enumeration##_at}, 0, 0, false
#define NAMES_OF(enumeration) \
    static const char *enumeration##_at(uint64_t value) { return enumeration##_name((enumeration)value); }
#define STACK(key, member) #key, ROW_PLACE(member, tla_stack_policy: 1), {.type = TLA_VALUE_STACK}, 0, 0, false
/* An array of char; `form`: the members .expected and .check of a tla_value_form. */
#define TEXT(key, member, ...) #key, ROW_PLACE(member, char *: 1), {.type = TLA_VALUE_TEXT, __VA_ARGS__}, 0, 0, false
/* clang-format on */

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (KIB * MIB)
#define MM UINT64_C(1000)
#define NS UINT64_C(1000)
#define US (1000 * NS)
#define MS (1000 * US)
#define S (1000 * MS)
#define MB_S UINT64_C(1000000)
#define TB_S (1000000 * MB_S)
#define GFLOPS UINT64_C(1000000000)
#define TFLOPS (1000 * GFLOPS)

#endif
