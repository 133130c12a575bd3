/* JSON as text. libjansson reads JSON and stores it, but does not write it here: 2.14 prints a real number as "%.17g"
 * does, 2.15 the shortest digits that are read back as the same number, and reports are compared byte for byte. */
#include "cli/json_writer.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct style {
    FILE *out;
    int digits;
    bool is_compact;
} style;

static void begin_line(const style *s, int depth) {
    if (!s->is_compact) fprintf(s->out, "\n%*s", 2 * depth, "");
}

/* A real number stays one when it is read: 1.0; exponents have neither '+' nor zeros in front: 1e-5. */
static void write_real(const style *s, double value) {
    char text[40];
    snprintf(text, sizeof text, "%.*g", s->digits, value);
    const char *exponent = strchr(text, 'e');
    if (exponent)
        fprintf(s->out, "%.*se%ld", (int)(exponent - text), text, strtol(exponent + 1, NULL, 10));
    else
        fprintf(s->out, "%s%s", text, strchr(text, '.') ? "" : ".0");
}

static bool write_scalar(const style *s, const json_t *value) {
    return json_dumpf(value, s->out, JSON_ENCODE_ANY) == 0 || ferror(s->out);
}

static bool write_key(const style *s, const char *key) {
    json_t *text = json_string(key);
    const bool is_written = text && write_scalar(s, text);
    json_decref(text);
    fputs(s->is_compact ? ":" : ": ", s->out);
    return is_written;
}

/* False without host memory. */
static bool write_value(const style *s, json_t *value, int depth) {
    const char *key, *separator = "";
    json_t *item;
    size_t index;
    switch (json_typeof(value)) {
    case JSON_REAL:
        write_real(s, json_real_value(value));
        return true;
    case JSON_OBJECT:
        fputc('{', s->out);
        json_object_foreach(value, key, item) {
            fputs(separator, s->out);
            separator = ",";
            begin_line(s, depth + 1);
            if (!write_key(s, key) || !write_value(s, item, depth + 1)) return false;
        }
        if (*separator) begin_line(s, depth);
        fputc('}', s->out);
        return true;
    case JSON_ARRAY:
        fputc('[', s->out);
        json_array_foreach(value, index, item) {
            if (index) fputc(',', s->out);
            begin_line(s, depth + 1);
            if (!write_value(s, item, depth + 1)) return false;
        }
        if (index) begin_line(s, depth);
        fputc(']', s->out);
        return true;
    default:
        return write_scalar(s, value);
    }
}

tla_status json_write(const json_t *report, int digits, FILE *out, tla_error *error) {
    if (!out) return TLA_OK;
    const style s = {.out = out, .digits = digits ? digits : 17};
    if (!report || !write_value(&s, (json_t *)report, 0))
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the report");
    fputc('\n', out);
    return TLA_OK;
}

char *json_compact_text(const json_t *value) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return NULL;
    const style s = {.out = out, .digits = 17, .is_compact = true};
    const bool is_written = value && write_value(&s, (json_t *)value, 0) && !ferror(out);
    if (fclose(out) == 0 && is_written) return text;
    free(text);
    return NULL;
}
