/* Values with units: exact decimal arithmetic, so that "0.5 ns" is 500 ps and "0.3 ps" is refused, not rounded. */
#include "value.h"

#include "base/suggest.h"
#include "tlmalloc/device/fault_plan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

#define KI UINT64_C(1024)
#define K UINT64_C(1000)

enum { UNITS_MAX = 9 };

/* Of two units that print a value with equally large numbers the first is taken. */
static const struct {
    const char *noun;      /* "a size" */
    const char *base;      /* what a fraction must give a whole number of */
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
    [TLA_VALUE_RATE] = {"a rate", "operations per second", "GFLOPS", {{"GFLOPS", K *K *K}, {"TFLOPS", K *K *K *K}}},
};

static const char *const unmapped_names[] = {
    [TLA_UNMAPPED_ERROR] = "error", [TLA_UNMAPPED_PA_FALLBACK] = "pa_fallback", [TLA_UNMAPPED_DEMAND] = "demand"};
static const char *const map_ack_names[] = {[TLA_MAP_ACK_VISIBLE] = "visible", [TLA_MAP_ACK_POSTED] = "posted"};
static const char *const guard_names[] = {
    [TLA_GUARD_OFF] = "off", [TLA_GUARD_REPORT] = "report", [TLA_GUARD_ERROR] = "error"};
static const char *const free_list_names[] = {
    [TLA_LIST_REGISTERS] = "registers", [TLA_LIST_SRAM] = "sram", [TLA_LIST_HBM] = "hbm"};
static const char *const time_style_names[] = {[TLA_TIME_FAST] = "fast", [TLA_TIME_EXACT] = "exact"};
static const char *const boolean_names[] = {"false", "true"};

static const char *const hbm_model_names[] = {[TLA_HBM_BANKS] = "banks", [TLA_HBM_CHANNEL] = "channel"};
static const char *const refresh_names[] = {
    [TLA_HBM_REFRESH_NONE] = "none", [TLA_HBM_REFRESH_ALL_BANK] = "all_bank", [TLA_HBM_REFRESH_PER_BANK] = "per_bank"};
static const char *const page_policy_names[] = {[TLA_HBM_PAGE_OPEN] = "open", [TLA_HBM_PAGE_CLOSED] = "closed"};

static const char *policy_name(uint64_t value) {
    return tla_policy_name((tla_policy)value);
}
static const char *unmapped_name(uint64_t value) {
    return value < TLA_UNMAPPED_COUNT ? unmapped_names[value] : NULL;
}
static const char *map_ack_name(uint64_t value) {
    return value < 2 ? map_ack_names[value] : NULL;
}
static const char *walk_name(uint64_t value) {
    return value < TLA_WALK_MODE_COUNT ? tla_walk_mode_name((tla_walk_mode)value) : NULL;
}
static const char *replacement_name(uint64_t value) {
    return value < TLA_REPLACEMENT_COUNT ? tla_replacement_name((tla_replacement)value) : NULL;
}
static const char *guard_name(uint64_t value) {
    return value < TLA_GUARD_MODE_COUNT ? guard_names[value] : NULL;
}
static const char *free_list_name(uint64_t value) {
    return value < TLA_LIST_PLACE_COUNT ? free_list_names[value] : NULL;
}
static const char *time_style_name(uint64_t value) {
    return value < TLA_TIME_STYLE_COUNT ? time_style_names[value] : NULL;
}
static const char *boolean_name(uint64_t value) {
    return value < 2 ? boolean_names[value] : NULL;
}
static const char *hbm_model_name(uint64_t value) {
    return value < TLA_HBM_MODEL_COUNT ? hbm_model_names[value] : NULL;
}
static const char *refresh_name(uint64_t value) {
    return value < TLA_HBM_REFRESH_COUNT ? refresh_names[value] : NULL;
}
static const char *page_policy_name(uint64_t value) {
    return value < TLA_HBM_PAGE_POLICY_COUNT ? page_policy_names[value] : NULL;
}

/* The names of a type that has names for its values, numbered from 0; else NULL. */
static const char *(*names_of(tla_value_type type))(uint64_t) {
    switch (type) {
    case TLA_VALUE_POLICY:
        return policy_name;
    case TLA_VALUE_UNMAPPED:
        return unmapped_name;
    case TLA_VALUE_MAP_ACK:
        return map_ack_name;
    case TLA_VALUE_WALK:
        return walk_name;
    case TLA_VALUE_REPLACEMENT:
        return replacement_name;
    case TLA_VALUE_GUARD:
        return guard_name;
    case TLA_VALUE_FREE_LIST:
        return free_list_name;
    case TLA_VALUE_TIME_STYLE:
        return time_style_name;
    case TLA_VALUE_BOOLEAN:
        return boolean_name;
    case TLA_VALUE_HBM_MODEL:
        return hbm_model_name;
    case TLA_VALUE_REFRESH:
        return refresh_name;
    case TLA_VALUE_PAGE_POLICY:
        return page_policy_name;
    default:
        return NULL;
    }
}

size_t tla_value_text_size(tla_value_type type) {
    switch (type) {
    case TLA_VALUE_NAME:
    case TLA_VALUE_ADDRESS_MAP:
        return TLA_CONFIG_NAME_MAX;
    case TLA_VALUE_TIMING:
    case TLA_VALUE_FAULTS:
        return TLA_CONFIG_FILE_MAX;
    default:
        return 0;
    }
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

tla_phrase tla_value_expected(tla_value_type type) {
    tla_phrase phrase = {""};
    const char *(*name)(uint64_t) = names_of(type);
    if (name) {
        for (uint64_t value = 0; name(value); value++)
            append(&phrase, "%s%s", value ? " or " : "", name(value));
    } else if (type == TLA_VALUE_COUNT) {
        append(&phrase, "an integer without a unit");
    } else if (type == TLA_VALUE_NAME) {
        append(&phrase, "a name of letters, digits and _, at most %d long", TLA_CONFIG_NAME_MAX - 1);
    } else if (type == TLA_VALUE_TIMING) {
        append(&phrase,
               "channels, the name of a timing profile, or its file (letters, digits and _ - . /, with a / or "
               "ending in .yaml), at most %d long",
               TLA_CONFIG_FILE_MAX - 1);
    } else if (type == TLA_VALUE_FAULTS) {
        append(&phrase, "none, or faults between ;, at most %d characters", TLA_CONFIG_FILE_MAX - 1);
    } else if (type == TLA_VALUE_ADDRESS_MAP) {
        append(&phrase, "an address map: m1, m2, m3, or fields from the least significant bit, such as "
                        "bg2,co5,ba2,ro14");
    } else {
        append(&phrase, "%s with a unit (%s)", quantities[type].noun, unit_list(type).text);
    }
    return phrase;
}

/* Units in which the value is a whole number are preferred, the smallest number among them; a rate that is whole in
 * none gets a fraction in its first unit, which is exact: every factor is a power of ten there. */
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

tla_phrase tla_value_print(tla_value_type type, const tla_value *value) {
    tla_phrase phrase = {""};
    const char *(*name)(uint64_t) = names_of(type);
    if (name) {
        append(&phrase, "%s", name(value->number) ? name(value->number) : "?");
    } else if (type == TLA_VALUE_COUNT) {
        append(&phrase, "%" PRIu64, value->number);
    } else if (tla_value_text_size(type) > 0) {
        append(&phrase, "%s", value->name);
    } else {
        phrase = print_quantity(type, value->number);
    }
    return phrase;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* Whether the text is 1 .. size - 1 letters, digits and characters of `more`. */
static bool consists_of_letters(const char *text, const char *more, size_t size) {
    size_t i = 0;
    for (; text[i]; i++) {
        char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || strchr(more, c))) return false;
    }
    return i > 0 && i < size;
}

static bool is_name(const char *text) {
    return consists_of_letters(text, "_", TLA_CONFIG_NAME_MAX);
}

static bool is_profile(const char *text) {
    return consists_of_letters(text, "_-./", TLA_CONFIG_FILE_MAX);
}

/* A decimal number is mantissa / 10^places. */
typedef struct decimal {
    uint64_t mantissa;
    uint64_t scale; /* 10^places */
    bool too_long;
    const char *end; /* what follows it; the start of the text when there is no number */
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
    if (d.end == text || *d.end || strchr(text, '.'))
        return refuse(error, text, tla_value_expected(TLA_VALUE_COUNT).text);
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
    if (d.end == text) return refuse(error, text, tla_value_expected(type).text);
    const char *name = d.end + strspn(d.end, " ");
    if (!*name)
        return tla_error_set(error, TLA_SYNTAX, "found %s, which has no unit, expected %s", tla_quote(text).text,
                             tla_value_expected(type).text);
    const unit *u = quantities[type].units;
    while (u->name && strcmp(u->name, name) != 0)
        u++;
    if (!u->name)
        return tla_error_set(error, TLA_SYNTAX, "found %s with the unknown unit %s, expected %s", tla_quote(text).text,
                             tla_quote(name).text, tla_value_expected(type).text);
    wide product = (wide)d.mantissa * u->factor;
    if (d.too_long || product / d.scale > UINT64_MAX)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected at most 20 digits and less than 2^64 %s",
                             tla_quote(text).text, quantities[type].base);
    if (product % d.scale != 0)
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected a whole number of %s", tla_quote(text).text,
                             quantities[type].base);
    *number = (uint64_t)(product / d.scale);
    return TLA_OK;
}

tla_status tla_value_parse(tla_value_type type, const char *text, tla_value *value, tla_error *error) {
    tla_value result = {0};
    tla_status status = TLA_OK;
    const char *(*name)(uint64_t) = names_of(type);
    if (name) {
        while (name(result.number) && strcmp(name(result.number), text) != 0)
            result.number++;
        if (!name(result.number))
            status = tla_error_set(error, TLA_SYNTAX, "found %s, expected %s%s", tla_quote(text).text,
                                   tla_value_expected(type).text, tla_did_you_mean(text, name).text);
    } else if (type == TLA_VALUE_COUNT) {
        status = parse_count(text, &result.number, error);
    } else if (type == TLA_VALUE_NAME || type == TLA_VALUE_TIMING) {
        if (type == TLA_VALUE_NAME ? is_name(text) : is_profile(text))
            memcpy(result.name, text, strlen(text));
        else
            status = refuse(error, text, tla_value_expected(type).text);
    } else if (type == TLA_VALUE_FAULTS) {
        tla_fault_plan any = {0};
        status = strlen(text) < TLA_CONFIG_FILE_MAX ? tla_fault_plan_parse(text, &any, error)
                                                    : refuse(error, text, tla_value_expected(type).text);
        if (status == TLA_OK) memcpy(result.name, text, strlen(text));
    } else if (type == TLA_VALUE_ADDRESS_MAP) {
        tla_hbm_config any = {0};
        status = strlen(text) < TLA_CONFIG_NAME_MAX ? tla_hbm_map_parse(text, &any, error)
                                                    : refuse(error, text, tla_value_expected(type).text);
        if (status == TLA_OK) memcpy(result.name, text, strlen(text));
    } else {
        status = parse_quantity(type, text, &result.number, error);
    }
    if (status == TLA_OK) *value = result;
    return status;
}

tla_status tla_parse_size(const char *text, uint64_t *nbytes, tla_error *error) {
    tla_value value;
    tla_status status = tla_value_parse(TLA_VALUE_SIZE, text, &value, error);
    if (status == TLA_OK) *nbytes = value.number;
    return status;
}
