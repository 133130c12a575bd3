/* Values of a file that is read as data. */
#include "trace/value.h"

#include <math.h>
#include <string.h>

const data_value *data_get(const data_value *dict, const char *key) {
    if (dict->kind != DATA_DICT) return NULL;
    size_t length = strlen(key);
    for (size_t i = dict->count; i > 0; i -= 2) { /* from the back: a later value replaces an earlier one */
        const data_value *k = dict->items[i - 2];
        if (k->kind == DATA_TEXT && k->count == length && memcmp(k->text, key, length) == 0) return dict->items[i - 1];
    }
    return NULL;
}

const char *data_value_name(const data_value *value) {
    static const char *const names[] = {[DATA_NONE] = "None",          [DATA_BOOLEAN] = "a boolean",
                                        [DATA_UNSIGNED] = "a number",  [DATA_NEGATIVE] = "a negative number",
                                        [DATA_REAL] = "a real number", [DATA_TEXT] = "a text",
                                        [DATA_LIST] = "a list",        [DATA_DICT] = "a dictionary"};
    if (value->kind == DATA_REAL && isnan(value->real)) return "NaN";
    if (value->kind == DATA_REAL && isinf(value->real)) return value->real < 0 ? "-Infinity" : "Infinity";
    return names[value->kind];
}

uint64_t data_memory_max(size_t length) {
    const uint64_t base = UINT64_C(1) << 24, most = UINT64_C(1) << 32;
    return length < (most - base) / 24 ? base + 24 * (uint64_t)length : most;
}
