/* The settings of the recorded allocator: the texts of the environment, and the dictionary of those in effect. */
#include "torch/parts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The dictionary */

static tla_status read_divisions(const torch_reader *r, const data_value *dict, uint32_t *divisions) {
    if (dict->kind != DATA_DICT) return torch_wrong(r, dict, "roundup_power2_divisions", "a dictionary");
    for (size_t i = 0; i < dict->count; i += 2) {
        const data_value *key = dict->items[i], *value = dict->items[i + 1];
        uint64_t mib = 0;
        bool good = key->kind == DATA_TEXT && key->count < 8 && value->kind == DATA_UNSIGNED;
        for (size_t k = 0; good && k < key->count; k++) {
            good = key->text[k] >= '0' && key->text[k] <= '9';
            mib = 10 * mib + (uint64_t)(key->text[k] - '0');
        }
        good = good && mib && !(mib & (mib - 1)) && mib < (uint64_t)1 << TLA_SEGMENT_DIVISIONS;
        good = good && value->integer <= 1 << 30 && !(value->integer & (value->integer - 1));
        if (!good) return torch_wrong(r, value, "roundup_power2_divisions", "powers of two by sizes 1 .. 32768 (MiB)");
        divisions[63 - __builtin_clzll(mib)] = (uint32_t)value->integer;
    }
    return TLA_OK;
}

static tla_status read_real(const torch_reader *r, const data_value *dict, const char *key, double *real) {
    const data_value *value = data_get(dict, key);
    if (!value || value->kind == DATA_NONE) return TLA_OK;
    *real = value->kind == DATA_REAL ? value->real : (double)value->integer;
    bool good = value->kind == DATA_REAL || value->kind == DATA_UNSIGNED;
    return good && *real >= 0 && *real < 1 ? TLA_OK : torch_wrong(r, value, key, "a number from 0 up to, but below, 1");
}

/* Bytes, or none: -1, or 0, or more than there is. */
static tla_status read_limit(const torch_reader *r, const data_value *dict, const char *key, uint64_t least,
                             const char *expected, uint64_t *nbytes) {
    const data_value *value = data_get(dict, key);
    if (!value || value->kind == DATA_NONE) return TLA_OK;
    if (value->kind == DATA_NEGATIVE) {
        *nbytes = 0; /* also where the text of the settings has one */
        return TLA_OK;
    }
    if (value->kind != DATA_UNSIGNED || (value->integer && value->integer < least))
        return torch_wrong(r, value, key, expected);
    *nbytes = value->integer < (uint64_t)INT64_MAX ? value->integer : 0;
    return TLA_OK;
}

static tla_status read_limits(const torch_reader *r, const data_value *dict, tla_segment_cache_config *c) {
    static const char at_least[] = "-1, or at least 20971520 bytes";
    static const uint64_t mib = 1 << 20;
    tla_status status = read_limit(r, dict, "max_split_size", 20 * mib, at_least, &c->max_split_size);
    if (!status)
        status = read_limit(r, dict, "max_non_split_rounding_size", 20 * mib, at_least, &c->max_non_split_rounding);
    if (!status)
        status =
            read_limit(r, dict, "large_segment_size", 10 * mib + 1, "more than 10485760 bytes", &c->large_segment_size);
    if (!status && c->expandable && c->large_segment_size % (2 * mib))
        status = torch_wrong(r, data_get(dict, "large_segment_size"), "large_segment_size",
                             "a multiple of 2097152 bytes, because segments are expandable");
    return status;
}

/* Texts */

/* Returns the length of the first setting of a text, up to a comma outside of brackets. */
static size_t length_of(const char *text) {
    int depth = 0;
    size_t i = 0;
    for (; text[i] && (text[i] != ',' || depth > 0); i++)
        depth += (text[i] == '[') - (text[i] == ']');
    return i;
}

static bool is_blank(const char *text) {
    while (isspace((unsigned char)*text))
        text++;
    return !*text;
}

/* Reports the option of torch_npu in a setting with its column in the whole text. */
static tla_status reject_at(size_t column, const char *setting, tla_error *error) {
    tla_segment_cache_config config = {0};
    const size_t length = strlen(setting);
    char *padded = malloc(column + length + 1);
    if (!padded) return TLA_NO_HOST_MEMORY;
    memset(padded, ' ', column);
    memcpy(padded + column, setting, length + 1);
    const tla_status status = tla_segment_settings_parse(padded, &config, error);
    free(padded);
    return status;
}

static void append(char *list, size_t *length, const char *setting) {
    *length += (size_t)sprintf(list + *length, "%s%s", *length ? "," : "", setting);
}

/* Sorts the settings of a text into the known and the unknown ones; each list has room for the text, and so has `one`.
 */
static tla_status sort_settings(const char *conf, const tla_segment_cache_config *version, char *one, char *known,
                                char *unknown, tla_error *error) {
    size_t known_length = 0, unknown_length = 0;
    known[0] = unknown[0] = 0;
    for (size_t at = 0;;) {
        const size_t length = length_of(conf + at);
        tla_segment_cache_config config = *version;
        memcpy(one, conf + at, length);
        one[length] = 0;
        const tla_status status = tla_segment_settings_parse(one, &config, NULL);
        if (status == TLA_UNSUPPORTED) return reject_at(at, one, error);
        if (!is_blank(one)) append(status ? unknown : known, status ? &unknown_length : &known_length, one);
        at += length;
        if (!conf[at++]) return TLA_OK;
    }
}

tla_status torch_conf_parse(const char *conf, tla_segment_cache_config *config, char **unknown, tla_error *error) {
    const size_t room = strlen(conf) + 1;
    char *lists = malloc(3 * room), *const known = lists ? lists + room : NULL;
    if (unknown) *unknown = NULL;
    tla_status status = lists ? sort_settings(conf, config, lists, known, lists + 2 * room, error) : TLA_NO_HOST_MEMORY;
    if (!status) status = tla_segment_settings_parse(known, config, NULL);
    if (!status && unknown) {
        *unknown = strdup(lists + 2 * room);
        status = *unknown ? TLA_OK : TLA_NO_HOST_MEMORY;
    }
    free(lists);
    return status;
}

/* Reads a text of settings. Settings of another version are read over, because the dictionary counts. Options of
 * torch_npu that are not modelled are rejected, by the name of the option. PyTorch leaves texts empty that are not set.
 */
static tla_status read_conf(const torch_reader *r, const data_value *dict, const char *key) {
    torch_snapshot *s = r->snapshot;
    const data_value *value = data_get(dict, key);
    if (!value || value->kind != DATA_TEXT) return TLA_OK;
    char *conf = malloc(value->count + 1);
    if (!conf) return torch_no_memory(r);
    memcpy(conf, value->text, value->count);
    conf[value->count] = 0;
    if (is_blank(conf)) {
        free(conf);
        return TLA_OK;
    }
    free(s->conf);
    s->conf = conf;
    tla_error why = {0};
    const tla_status status = torch_conf_parse(conf, &s->settings, NULL, &why);
    if (status == TLA_NO_HOST_MEMORY) return torch_no_memory(r);
    if (!status) return TLA_OK;
    return tla_error_set(r->error, status, "%s: %s: %s", torch_where_is(s, value->position).text, key, why.text);
}

/* Rejects options of torch_npu that are not modelled, where they are on. */
static tla_status check_foreign(const torch_reader *r, const data_value *dict) {
    static const char *const keys[] = {"base_addr_aligned_kb", "page_size", "segment_size_mb"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const data_value *value = data_get(dict, keys[i]);
        if (!value || value->kind == DATA_NONE) continue;
        return tla_error_set(r->error, TLA_UNSUPPORTED,
                             "%s: allocator_settings: %s is an option of torch_npu that tlmalloc does not model; "
                             "remove it",
                             torch_where_is(r->snapshot, value->position).text, keys[i]);
    }
    return TLA_OK;
}

/* Reads the allocator's settings at the time of the snapshot; the text of PYTORCH_CUDA_ALLOC_CONF first, for settings
 * that the dictionary lacks. */
tla_status torch_read_settings(torch_reader *r, const data_value *dict) {
    torch_snapshot *s = r->snapshot;
    if (dict->kind == DATA_NONE) return TLA_OK;
    if (dict->kind != DATA_DICT) return torch_wrong(r, dict, "allocator_settings", "a dictionary");
    s->has_settings = true;
    tla_status status = read_conf(r, dict, "PYTORCH_CUDA_ALLOC_CONF");
    if (!status) status = read_conf(r, dict, "PYTORCH_ALLOC_CONF");
    if (!status) status = read_conf(r, dict, "PYTORCH_NPU_ALLOC_CONF");
    if (!status) status = check_foreign(r, dict);
    tla_segment_cache_config *c = &s->settings;
    if (!status) status = torch_get_boolean(r, dict, "expandable_segments", &c->expandable);
    if (!status) status = read_limits(r, dict, c);
    if (!status) status = read_real(r, dict, "garbage_collection_threshold", &c->gc_threshold);
    const data_value *divisions = data_get(dict, "roundup_power2_divisions");
    if (!status && divisions && divisions->kind != DATA_NONE)
        status = read_divisions(r, divisions, c->power2_divisions);
    return status;
}
