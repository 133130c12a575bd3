/* Values with units: exact decimal arithmetic, so that "0.5 ns" is 500 ps and "0.3 ps" is rejected, not rounded. */
#include "value.h"

#include "base/suggest.h"
#include "base/wide.h"
#include "tlmalloc/config.h"
#include "tlmalloc/stack/stack.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

#define KI UINT64_C(1024)
#define K UINT64_C(1000)

enum { UNITS_MAX = 9 };

/* If two units print a value with equally large numbers, the first one is used. */
static const struct {
    const char *noun;      /* "a size" */
    const char *base;      /* the unit of which a fraction must be a whole number */
    const char *zero_unit; /* a zero is printed in it */
    unit units[UNITS_MAX + 1];
} quantities[] = {
    [TLA_VALUE_SIZE] = {"a size",
                        "bytes",
                        "B",
                        {{"B", 1},
                         {"KiB", KI},
                         {"MiB", KI *KI},
                         {"GiB", KI *KI *KI},
                         {"TiB", KI *KI *KI *KI},
                         {"KB", K},
                         {"MB", K *K},
                         {"GB", K *K *K},
                         {"TB", K *K *K *K}}},
    [TLA_VALUE_TIME] = {"a time",
                        "picoseconds",
                        "ns",
                        {{"ps", 1}, {"ns", K}, {"us", K *K}, {"ms", K *K *K}, {"s", K *K *K *K}}},
    [TLA_VALUE_BANDWIDTH] = {"a bandwidth",
                             "bytes per second",
                             "B/s",
                             {{"B/s", 1},
                              {"KB/s", K},
                              {"MB/s", K *K},
                              {"GB/s", K *K *K},
                              {"TB/s", K *K *K *K},
                              {"KiB/s", KI},
                              {"MiB/s", KI *KI},
                              {"GiB/s", KI *KI *KI},
                              {"TiB/s", KI *KI *KI *KI}}},
    [TLA_VALUE_CYCLES] = {"a number of cycles", "cycles", "tCK", {{"tCK", 1}}},
    [TLA_VALUE_PERCENT] = {"a share", "percent", "%", {{"%", 1}}},
    [TLA_VALUE_LENGTH] = {"a length", "micrometres", "mm", {{"um", 1}, {"mm", K}}},
    [TLA_VALUE_RATE] = {"a rate", "operations per second", "GFLOPS", {{"GFLOPS", K *K *K}, {"TFLOPS", K *K *K *K}}},
    [TLA_VALUE_ENERGY] = {"an energy", "femtojoules", "pJ", {{"fJ", 1}, {"pJ", K}, {"nJ", K *K}, {"uJ", K *K *K}}},
    [TLA_VALUE_POWER] = {"a power", "microwatts", "mW", {{"uW", 1}, {"mW", K}, {"W", K *K}}},
};

static const char *boolean_name(uint64_t value) {
    static const char *const names[] = {"false", "true"};
    return value < 2 ? names[value] : NULL;
}

/* The names of a form that has names for its values; else NULL. */
static const char *(*names_of(const tla_value_form *form))(uint64_t) {
    return form->type == TLA_VALUE_BOOLEAN ? boolean_name : form->type == TLA_VALUE_NAMED ? form->name : NULL;
}

__attribute__((format(printf, 2, 3))) static void append(tla_phrase *phrase, const char *format, ...) {
    size_t length = strlen(phrase->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(phrase->text + length, sizeof phrase->text - length, format, arguments);
    va_end(arguments);
}

static tla_phrase unit_list(tla_value_type type) {
    tla_phrase list = {""};
    for (const unit *u = quantities[type].units; u->name; u++)
        append(&list, "%s%s", list.text[0] ? ", " : "", u->name);
    return list;
}

/* Describes a number of this type. */
static tla_phrase number_expected(tla_value_type type) {
    if (type == TLA_VALUE_COUNT) return tla_phrase_of("an integer without a unit");
    return tla_phrase_of("%s with a unit (%s)", quantities[type].noun, unit_list(type).text);
}

tla_phrase tla_value_expected(const tla_value_form *form) {
    const char *(*name)(uint64_t) = names_of(form);
    if (form->type == TLA_VALUE_TEXT) return tla_phrase_of("%s", form->expected);
    if (form->type == TLA_VALUE_STACK) /* their names are too many for a phrase */
        return tla_phrase_of("a placement, a front, or FRONT/PLACEMENT");
    if (form->type == TLA_VALUE_ANY) return tla_phrase_of("a text");
    if (form->type == TLA_VALUE_PAIRS) return tla_phrase_of("a mapping");
    if (form->type == TLA_VALUE_ROWS) return tla_phrase_of("a sequence of at least one row");
    if (form->type == TLA_VALUE_LIST) return tla_phrase_of("a sequence of at least one value");
    if (!name) return number_expected(form->type);
    tla_phrase phrase = {""};
    for (uint64_t value = 0; name(value); value++)
        append(&phrase, "%s%s", value ? " or " : "", name(value));
    return phrase;
}

/* Units in which the value is a whole number are preferred, the smallest number among them. A rate that is whole in no
 * unit is printed as a fraction in its first unit, which is exact: every factor is a power of ten there. */
static tla_phrase print_quantity(tla_value_type type, uint64_t number) {
    tla_phrase phrase = {""};
    if (number == 0) {
        append(&phrase, "0 %s", quantities[type].zero_unit);
        return phrase;
    }
    const unit *best = NULL;
    for (const unit *u = quantities[type].units; u->name; u++)
        if (number % u->factor == 0 && (!best || u->factor > best->factor)) best = u;
    if (best) {
        append(&phrase, "%" PRIu64 " %s", number / best->factor, best->name);
        return phrase;
    }
    const unit *u = quantities[type].units;
    append(&phrase, "%" PRIu64 ".", number / u->factor);
    uint64_t rest = number % u->factor;
    for (uint64_t digit = u->factor / 10; rest; rest %= digit, digit /= 10)
        append(&phrase, "%u", (unsigned)(rest / digit));
    append(&phrase, " %s", u->name);
    return phrase;
}

tla_phrase tla_number_print(tla_value_type type, uint64_t number) {
    return type == TLA_VALUE_COUNT ? tla_phrase_of("%" PRIu64, number) : print_quantity(type, number);
}

tla_phrase tla_value_print(const tla_value_form *form, const tla_value *value) {
    const char *(*name)(uint64_t) = names_of(form);
    if (form->type == TLA_VALUE_TEXT) return tla_phrase_of("%s", value->text);
    if (form->type == TLA_VALUE_STACK) {
        tla_phrase stack;
        tla_stack_policy_print((tla_stack_policy)value->number, stack.text, sizeof stack.text);
        return stack;
    }
    if (name) return tla_phrase_of("%s", name(value->number) ? name(value->number) : "?");
    return tla_number_print(form->type, value->number);
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* A decimal number is mantissa / 10^places. */
typedef struct decimal {
    uint64_t mantissa;
    uint64_t scale; /* 10^places */
    bool too_long;
    const char *end; /* the text after it; the start of the text without a number */
} decimal;

static void take_digit(decimal *d, char digit) {
    d->too_long |= __builtin_mul_overflow(d->mantissa, 10u, &d->mantissa);
    d->too_long |= __builtin_add_overflow(d->mantissa, (uint64_t)(digit - '0'), &d->mantissa);
}

static decimal read_decimal(const char *text) {
    decimal d = {.scale = 1, .end = text};
    const char *at = text;
    while (is_digit(*at))
        take_digit(&d, *at++);
    if (at == text) return d;
    if (at[0] == '.' && is_digit(at[1])) {
        at++;
        const char *last = at + strspn(at, "0123456789");
        const char *significant = last;
        while (significant > at && significant[-1] == '0')
            significant--;
        for (; at < significant; at++) {
            take_digit(&d, *at);
            d.too_long |= __builtin_mul_overflow(d.scale, UINT64_C(10), &d.scale);
        }
        at = last;
    }
    d.end = at;
    return d;
}

static tla_status refuse(tla_error *error, const char *text, const char *expected) {
    return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s", tla_quote(text).text, expected);
}

static tla_status parse_count(const char *text, uint64_t *number, tla_error *error) {
    decimal d = read_decimal(text);
    if (*text == '-' && is_digit(text[1])) return refuse(error, text, "an integer that is not negative");
    if (d.end == text || *d.end || strchr(text, '.')) return refuse(error, text, number_expected(TLA_VALUE_COUNT).text);
    if (d.too_long) return refuse(error, text, "an integer below 2^64");
    *number = d.mantissa;
    return TLA_OK;
}

static tla_status parse_quantity(tla_value_type type, const char *text, uint64_t *number, tla_error *error) {
    const char *noun = quantities[type].noun;
    decimal d = read_decimal(text);
    if (*text == '-' && is_digit(text[1]))
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s that is not negative", tla_quote(text).text,
                             noun);
    if (d.end == text) return refuse(error, text, number_expected(type).text);
    const char *name = d.end + strspn(d.end, " ");
    if (!*name && d.too_long)
        return tla_error_set(error, TLA_SYNTAX,
                             "found %s, which is out of range and has no unit, expected %s, less than 2^64 %s",
                             tla_quote(text).text, number_expected(type).text, quantities[type].base);
    if (!*name)
        return tla_error_set(error, TLA_SYNTAX, "found %s, which has no unit, expected %s", tla_quote(text).text,
                             number_expected(type).text);
    const unit *u = quantities[type].units;
    while (u->name && strcmp(u->name, name) != 0)
        u++;
    if (!u->name)
        return tla_error_set(error, TLA_SYNTAX, "found %s with the unknown unit %s, expected %s", tla_quote(text).text,
                             tla_quote(name).text, number_expected(type).text);
    uint64_t rest;
    const tla_wide product = wide_product(d.mantissa, u->factor);
    const uint64_t whole = wide_quotient(product, d.scale, &rest);
    if (d.too_long || product.high >= d.scale)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected at most 20 digits and less than 2^64 %s",
                             tla_quote(text).text, quantities[type].base);
    if (rest != 0)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected a whole number of %s", tla_quote(text).text,
                             quantities[type].base);
    *number = whole;
    return TLA_OK;
}

const char *tla_number_unit(tla_value_type type) {
    return type == TLA_VALUE_COUNT ? "" : quantities[type].base;
}

tla_status tla_number_parse(tla_value_type type, const char *text, uint64_t *number, tla_error *error) {
    return type == TLA_VALUE_COUNT ? parse_count(text, number, error) : parse_quantity(type, text, number, error);
}

static tla_status parse_name(const tla_value_form *form, const char *text, uint64_t *number, tla_error *error) {
    const char *(*name)(uint64_t) = names_of(form);
    uint64_t value = 0;
    while (name(value) && strcmp(name(value), text) != 0)
        value++;
    if (!name(value))
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s%s", tla_quote(text).text,
                             tla_value_expected(form).text, tla_did_you_mean(text, name).text);
    *number = value;
    return TLA_OK;
}

static tla_status parse_stack(const char *text, uint64_t *number, tla_error *error) {
    tla_stack_policy policy;
    const tla_status status = tla_stack_policy_parse(text, &policy, error);
    if (!status) *number = policy;
    return status;
}

static tla_status check_text(const tla_value_form *form, const char *text, tla_error *error) {
    tla_error wrong = {.text = ""};
    if (strlen(text) < TLA_VALUE_TEXT_MAX && form->check(text, &wrong) == TLA_OK) return TLA_OK;
    if (!*wrong.text) return refuse(error, text, form->expected);
    if (error) *error = wrong;
    return TLA_SYNTAX;
}

tla_status tla_value_parse(const tla_value_form *form, const char *text, tla_value *value, tla_error *error) {
    tla_value result = {0};
    tla_status status;
    if (form->type == TLA_VALUE_TEXT)
        status = check_text(form, text, error);
    else if (form->type == TLA_VALUE_STACK)
        status = parse_stack(text, &result.number, error);
    else if (names_of(form))
        status = parse_name(form, text, &result.number, error);
    else
        status = tla_number_parse(form->type, text, &result.number, error);
    if (status == TLA_OK && form->type == TLA_VALUE_TEXT) memcpy(result.text, text, strlen(text));
    if (status == TLA_OK) *value = result;
    return status;
}

tla_status tla_parse_size(const char *text, uint64_t *nbytes, tla_error *error) {
    return tla_number_parse(TLA_VALUE_SIZE, text, nbytes, error);
}
