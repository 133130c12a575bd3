/* PYTORCH_CUDA_ALLOC_CONF: keys and values between commas and colons, read as c10/core/AllocatorConfig.cpp does. */
#include "base/numbers.h"
#include "tlmalloc/segments/segment_cache.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, TOKEN_MAX = 63, LEAST_MIB = 20, LARGE_MIB_ABOVE = 10 };

/* A separator, or text up to the next one without its blanks; text is empty at the end. */
typedef struct token {
    size_t column; /* from 1 */
    char text[TOKEN_MAX + 1];
} token;

typedef struct reader {
    const char *text, *next;
    token now;
    tla_segment_cache_config config;
    tla_error *error;
} reader;

static bool is_separator(char c) {
    return c == ',' || c == ':' || c == '[' || c == ']';
}

static void advance(reader *r) {
    while (*r->next == ' ')
        r->next++;
    r->now.column = (size_t)(r->next - r->text) + 1;
    size_t length = 0;
    if (is_separator(*r->next)) {
        r->now.text[length++] = *r->next++;
    } else {
        for (; *r->next && !is_separator(*r->next); r->next++)
            if (*r->next != ' ' && length < TOKEN_MAX) r->now.text[length++] = *r->next;
    }
    r->now.text[length] = 0;
}

static bool at(const reader *r, const char *text) {
    return strcmp(r->now.text, text) == 0;
}

static tla_status expected(const reader *r, const char *what) {
    if (!r->now.text[0])
        return tla_error_set(r->error, TLA_SYNTAX, "settings, column %zu: found the end, expected %s", r->now.column,
                             what);
    return tla_error_set(r->error, TLA_SYNTAX, "settings, column %zu: found '%s', expected %s", r->now.column,
                         r->now.text, what);
}

static tla_status take(reader *r, const char *separator) {
    char what[8];
    snprintf(what, sizeof what, "'%s'", separator);
    if (!at(r, separator)) return expected(r, what);
    advance(r);
    return TLA_OK;
}

static bool number_of(const char *text, uint64_t *number) {
    *number = 0;
    for (const char *p = text; *p; p++) {
        if (*p < '0' || *p > '9' || *number > (UINT64_MAX - 9) / 10) return false;
        *number = 10 * *number + (uint64_t)(*p - '0');
    }
    return text[0] != 0;
}

/* Values */

static tla_status read_boolean(reader *r, bool *value) {
    if (!at(r, "True") && !at(r, "False")) return expected(r, "True or False");
    *value = at(r, "True");
    advance(r);
    return TLA_OK;
}

/* Megabytes of at least this many. */
static tla_status read_mib(reader *r, uint64_t least, uint64_t *nbytes) {
    uint64_t number;
    char what[64];
    snprintf(what, sizeof what, "a whole number of at least %" PRIu64 " (MiB)", least);
    if (!number_of(r->now.text, &number) || number < least) return expected(r, what);
    *nbytes = number < UINT64_MAX / MIB ? number * MIB : UINT64_MAX / MIB * MIB;
    advance(r);
    return TLA_OK;
}

static tla_status read_part(reader *r, bool with_one, double *part) {
    char *end;
    double value = strtod(r->now.text, &end);
    bool good = r->now.text[0] && !*end && value > 0 && (value < 1 || (with_one && value <= 1));
    if (!good) return expected(r, with_one ? "a number above 0, at most 1" : "a number above 0 and below 1");
    *part = value;
    advance(r);
    return TLA_OK;
}

static tla_status read_divisions_number(reader *r, bool zero, uint32_t *divisions) {
    uint64_t number;
    bool good =
        number_of(r->now.text, &number) && number <= UINT32_MAX && (is_power_of_two(number) || (zero && !number));
    if (!good) return expected(r, zero ? "a power of two, or 0 for none" : "a power of two");
    *divisions = (uint32_t)number;
    advance(r);
    return TLA_OK;
}

static void fill(uint32_t *divisions, int from, int to, uint32_t value) {
    for (int i = from; i < to; i++)
        divisions[i] = value;
}

/* Reads one "256:2" of a list. As in PyTorch, the value of ">" holds after the last named interval, and the first value
 * also holds below its interval. */
static tla_status read_interval(reader *r, bool first, int *last) {
    uint64_t key = 0;
    bool rest = at(r, ">");
    uint32_t value = 0, *divisions = r->config.power2_divisions;
    if (!rest && (!number_of(r->now.text, &key) || !is_power_of_two(key)))
        return expected(r, "a power of two (MiB), or '>'");
    advance(r);
    tla_status status = take(r, ":");
    if (!status) status = read_divisions_number(r, true, &value);
    if (status) return status;
    if (rest) {
        fill(divisions, *last + !r->config.rest_includes_named, TLA_SEGMENT_DIVISIONS, value);
        return TLA_OK;
    }
    int index = 63 - __builtin_clzll(key);
    if (index > TLA_SEGMENT_DIVISIONS - 1) index = TLA_SEGMENT_DIVISIONS - 1;
    if (first) fill(divisions, 0, index, value);
    divisions[index] = value;
    *last = index;
    return TLA_OK;
}

static tla_status read_divisions(reader *r) {
    uint32_t all = 0;
    if (!at(r, "[")) {
        tla_status status = read_divisions_number(r, false, &all);
        fill(r->config.power2_divisions, 0, TLA_SEGMENT_DIVISIONS, all);
        return status;
    }
    advance(r);
    int last = 0;
    tla_status status = TLA_OK;
    for (bool first = true; !status && !at(r, "]"); first = false) {
        if (!first) status = take(r, ",");
        if (!status) status = read_interval(r, first, &last);
    }
    if (!status) advance(r);
    return status;
}

static tla_status read_backend(reader *r) {
    if (!at(r, "native")) return expected(r, "native, the only modelled backend");
    advance(r);
    return TLA_OK;
}

/* Settings that do not touch placement. */
static tla_status read_over(reader *r) {
    if (!r->now.text[0] || is_separator(r->now.text[0])) return expected(r, "a value");
    advance(r);
    return TLA_OK;
}

static const char *const read_over_keys[] = {"release_lock_on_cudamalloc",
                                             "release_lock_on_hipmalloc",
                                             "pinned_use_cuda_host_register",
                                             "pinned_use_hip_host_register",
                                             "pinned_num_register_threads",
                                             "pinned_use_background_threads",
                                             "pinned_reserve_segment_size_mb",
                                             "graph_capture_record_stream_reuse",
                                             "throw_on_cudamalloc_oom",
                                             "pin_memory_expandable_segments",
                                             "pinned_mem_register",
                                             "multi_stream_lazy_reclaim",
                                             NULL};

/* Options of torch_npu (PYTORCH_NPU_ALLOC_CONF) that change where blocks are. */
static const char *const foreign_keys[] = {"base_addr_aligned_kb", "page_size", "segment_size_mb", NULL};

static tla_status read_setting(reader *r) {
    tla_segment_cache_config *c = &r->config;
    token key = r->now;
    bool ignored = false;
    for (size_t i = 0; read_over_keys[i]; i++)
        ignored = ignored || strcmp(key.text, read_over_keys[i]) == 0;
    static const char *const known[] = {"expandable_segments",          "max_split_size_mb",
                                        "max_non_split_rounding_mb",    "large_segment_size_mb",
                                        "garbage_collection_threshold", "roundup_power2_divisions",
                                        "per_process_memory_fraction",  "backend"};
    size_t which = 0;
    while (which < sizeof known / sizeof known[0] && strcmp(key.text, known[which]) != 0)
        which++;
    for (size_t i = 0; foreign_keys[i]; i++)
        if (strcmp(key.text, foreign_keys[i]) == 0)
            return tla_error_set(r->error, TLA_UNSUPPORTED,
                                 "settings, column %zu: %s is an option of torch_npu that tlmalloc does not model; "
                                 "remove it",
                                 key.column, key.text);
    if (which == sizeof known / sizeof known[0] && !ignored)
        return expected(r, "a setting of PyTorch's allocator (expandable_segments, max_split_size_mb, ...)");
    advance(r);
    tla_status status = take(r, ":");
    if (status) return status;
    switch (which) {
    case 0:
        return read_boolean(r, &c->expandable);
    case 1:
        return read_mib(r, LEAST_MIB, &c->max_split_size);
    case 2:
        return read_mib(r, LEAST_MIB, &c->max_non_split_rounding);
    case 3:
        return read_mib(r, LARGE_MIB_ABOVE + 1, &c->large_segment_size);
    case 4:
        return read_part(r, false, &c->gc_threshold);
    case 5:
        return read_divisions(r);
    case 6:
        return read_part(r, true, &c->memory_fraction);
    case 7:
        return read_backend(r);
    default:
        return read_over(r);
    }
}

static void set_defaults(tla_segment_cache_config *c) {
    c->expandable = false;
    c->max_split_size = c->max_non_split_rounding = c->large_segment_size = 0;
    c->gc_threshold = c->memory_fraction = 0;
    fill(c->power2_divisions, 0, TLA_SEGMENT_DIVISIONS, 0);
}

tla_status tla_segment_settings_parse(const char *text, tla_segment_cache_config *config, tla_error *error) {
    reader r = {.text = text, .next = text, .config = *config, .error = error};
    set_defaults(&r.config);
    advance(&r);
    tla_status status = TLA_OK;
    for (bool first = true; !status && r.now.text[0]; first = false) {
        if (!first) status = take(&r, ",");
        if (!first && !status && !r.now.text[0]) break; /* a comma at the end is read over */
        if (!status) status = read_setting(&r);
    }
    if (!status) *config = r.config;
    return status;
}

/* Versions */

/* "2.4.1+cu121": major and minor. */
static bool read_version(const char *text, uint64_t *major, uint64_t *minor) {
    char *end;
    bool digits = text[0] >= '0' && text[0] <= '9';
    *major = digits ? strtoull(text, &end, 10) : 0;
    if (!digits || *end != '.' || end[1] < '0' || end[1] > '9') return false;
    *minor = strtoull(end + 1, &end, 10);
    return !*end || *end == '.' || *end == '+' || *end == 'a' || *end == 'r'; /* a patch, a build, an alpha, rc1 */
}

tla_status tla_segment_version_parse(const char *text, tla_segment_cache_config *config, tla_error *error) {
    uint64_t major = UINT64_MAX, minor = 0;
    bool proposed = strcmp(text, "193400") == 0, newest = proposed || strcmp(text, "newest") == 0;
    bool good = newest || read_version(text, &major, &minor);
    if (!good || major < 2 || (major == 2 && minor < 1))
        return tla_error_set(error, TLA_SYNTAX,
                             "found '%s', expected a version of PyTorch from 2.1 on, newest or 193400", text);
    bool old = major == 2 && minor < 5;
    config->private_not_expandable = config->aborts_on_expandable = old;
    config->rest_includes_named = major == 2 && minor < 9;
    config->exempt_expandable = proposed;
    return TLA_OK;
}

/* Out */

typedef struct writer {
    char *text;
    size_t room, length;
} writer;

static void write(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void write(writer *w, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t used = w->length < w->room ? w->length : w->room;
    int length = vsnprintf(used < w->room ? w->text + used : NULL, w->room - used, format, arguments);
    va_end(arguments);
    w->length += length > 0 ? (size_t)length : 0;
}

static void write_divisions(writer *w, const uint32_t *divisions) {
    bool same = true, any = false;
    for (int i = 0; i < TLA_SEGMENT_DIVISIONS; i++) {
        same = same && divisions[i] == divisions[0];
        any = any || divisions[i] > 1;
    }
    if (!any) return;
    write(w, "%sroundup_power2_divisions:", w->length ? "," : "");
    if (same) {
        write(w, "%" PRIu32, divisions[0]);
        return;
    }
    for (int i = 0; i < TLA_SEGMENT_DIVISIONS; i++)
        write(w, "%c%d:%" PRIu32, i ? ',' : '[', 1 << i, divisions[i]);
    write(w, "]");
}

size_t tla_segment_settings_print(const tla_segment_cache_config *c, char *text, size_t room) {
    writer w = {text, room, 0};
    if (room) text[0] = 0;
    if (c->expandable) write(&w, "expandable_segments:True");
    const struct {
        const char *key;
        uint64_t nbytes;
    } sizes[] = {{"max_split_size_mb", c->max_split_size},
                 {"max_non_split_rounding_mb", c->max_non_split_rounding},
                 {"large_segment_size_mb", c->large_segment_size}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].nbytes) write(&w, "%s%s:%" PRIu64, w.length ? "," : "", sizes[i].key, sizes[i].nbytes / MIB);
    if (c->gc_threshold > 0) write(&w, "%sgarbage_collection_threshold:%.15g", w.length ? "," : "", c->gc_threshold);
    write_divisions(&w, c->power2_divisions);
    if (c->memory_fraction > 0)
        write(&w, "%sper_process_memory_fraction:%.15g", w.length ? "," : "", c->memory_fraction);
    return w.length;
}
