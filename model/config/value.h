/* One value of a configuration: text in, number out, and back. Internal to the core. */
#ifndef TLMALLOC_MODEL_CONFIG_VALUE_H
#define TLMALLOC_MODEL_CONFIG_VALUE_H

#include "../base/phrase.h"
#include "tlmalloc/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first ones, up to TLA_VALUE_RATE, are numbers with a range. */
typedef enum tla_value_type {
    TLA_VALUE_COUNT,       /* an integer, no unit */
    TLA_VALUE_SIZE,        /* bytes */
    TLA_VALUE_TIME,        /* picoseconds */
    TLA_VALUE_BANDWIDTH,   /* bytes per second */
    TLA_VALUE_CYCLES,      /* clock cycles */
    TLA_VALUE_PERCENT,     /* whole percent */
    TLA_VALUE_RATE,        /* operations per second */
    TLA_VALUE_BOOLEAN,     /* 0, 1 */
    TLA_VALUE_POLICY,      /* tla_policy */
    TLA_VALUE_UNMAPPED,    /* tla_unmapped */
    TLA_VALUE_MAP_ACK,     /* tla_map_ack */
    TLA_VALUE_WALK,        /* tla_walk_mode */
    TLA_VALUE_REPLACEMENT, /* tla_replacement */
    TLA_VALUE_GUARD,       /* tla_guard_mode */
    TLA_VALUE_FREE_LIST,   /* tla_free_list_place */
    TLA_VALUE_TIME_STYLE,  /* tla_time_style */
    TLA_VALUE_HBM_MODEL,
    TLA_VALUE_REFRESH,
    TLA_VALUE_PAGE_POLICY, /* the enums of hbm_pseudo_channel.h */
    TLA_VALUE_NAME,        /* letters, digits and _, in `name` */
    TLA_VALUE_ADDRESS_MAP, /* as tla_hbm_map_parse reads it, in `name` */
    TLA_VALUE_FAULTS,      /* as tla_fault_plan_parse reads it, in `name` */
    TLA_VALUE_TIMING       /* the name of a timing profile or its file, in `name` */
} tla_value_type;

typedef struct tla_value {
    uint64_t number;
    char name[TLA_CONFIG_FILE_MAX];
} tla_value;

/* Bytes of the text of a value of this type, its end included; 0 for numbers. */
size_t tla_value_text_size(tla_value_type type);

/* What a value of this type looks like: "a size with a unit (B, KiB, ...)". */
tla_phrase tla_value_expected(tla_value_type type);

/* The value as a configuration writes it: exact, in the unit that gives the smallest number. */
tla_phrase tla_value_print(tla_value_type type, const tla_value *value);

/* Reads a value; TLA_SYNTAX with "found ..., expected ..." and *value untouched. */
tla_status tla_value_parse(tla_value_type type, const char *text, tla_value *value, tla_error *error);

#ifdef __cplusplus
}
#endif
#endif
