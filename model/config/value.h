/* One value of a configuration: text in, number out, and back. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_VALUE_H
#define TLMALLOC_MODEL_CONFIG_VALUE_H

#include "../base/phrase.h"
#include "tlmalloc/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first ones, up to TLA_VALUE_LAST_NUMBER, are numbers with a range. */
typedef enum tla_value_type {
    TLA_VALUE_COUNT,     /* an integer, no unit */
    TLA_VALUE_SIZE,      /* bytes */
    TLA_VALUE_TIME,      /* picoseconds */
    TLA_VALUE_BANDWIDTH, /* bytes per second */
    TLA_VALUE_CYCLES,    /* clock cycles */
    TLA_VALUE_PERCENT,   /* whole percent */
    TLA_VALUE_LENGTH,    /* micrometres */
    TLA_VALUE_RATE,      /* operations per second */
    TLA_VALUE_ENERGY,    /* femtojoules */
    TLA_VALUE_POWER,     /* microwatts */
    TLA_VALUE_LAST_NUMBER = TLA_VALUE_POWER,
    TLA_VALUE_BOOLEAN, /* 0, 1 */
    TLA_VALUE_NAMED,   /* of an enumeration, by the names that stand beside it */
    TLA_VALUE_STACK,   /* a tla_stack_policy */
    TLA_VALUE_TEXT,    /* a text with a rule of its own */
    /* Values that are not stored, but passed on as they are written (tla_schema_key.take). */
    TLA_VALUE_ANY,   /* a text that is not empty */
    TLA_VALUE_PAIRS, /* a mapping of any keys to texts */
    TLA_VALUE_ROWS,  /* a sequence of mappings, at least one */
    TLA_VALUE_LIST   /* a sequence of texts, at least one */
} tla_value_type;

enum { TLA_VALUE_TEXT_MAX = 192 }; /* bytes of a text, its end included */

/* How a value is written. */
typedef struct tla_value_form {
    tla_value_type type;
    const char *(*name)(uint64_t value);                     /* NAMED: of values from 0 on; NULL: an unknown value */
    const char *expected;                                    /* TEXT: "a name of ..." */
    tla_status (*check)(const char *text, tla_error *wrong); /* TEXT: an error without a text stands for `expected` */
} tla_value_form;

typedef struct tla_value {
    uint64_t number;
    char text[TLA_VALUE_TEXT_MAX];
} tla_value;

/* Describes a value of this form: "a size with a unit (B, KiB, ...)". */
tla_phrase tla_value_expected(const tla_value_form *form);

/* The value as a configuration writes it: exact, in the unit that gives the smallest number. */
tla_phrase tla_value_print(const tla_value_form *form, const tla_value *value);

/* The same for a number of this type. */
tla_phrase tla_number_print(tla_value_type type, uint64_t number);

/* The unit of which a number of this type counts whole ones, "bytes"; "" for a count. */
const char *tla_number_unit(tla_value_type type);

/* Reads a value; TLA_SYNTAX with "found ..., expected ..." and *value untouched. */
tla_status tla_value_parse(const tla_value_form *form, const char *text, tla_value *value, tla_error *error);

/* The same for a number of this type. */
tla_status tla_number_parse(tla_value_type type, const char *text, uint64_t *number, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
