/* Lines of pickle's protocol 0. */
#include "torch/pickle_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char whole_number[] = "a whole number of at most 64 bits";

/* Numbers */

static bool read_digits(const char *text, size_t length, uint64_t most, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        const uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] < '0' || text[i] > '9' || *number > (most - digit) / 10) return false;
        *number = 10 * *number + digit;
    }
    return length > 0;
}

bool pickle_line_index(pickle_line line, uint64_t *index) {
    return read_digits(line.text, line.length, UINT64_MAX, index);
}

static tla_status read_whole(pickle_line line, data_value *value, const char **expected) {
    const bool negative = line.length > 0 && line.text[0] == '-';
    const uint64_t most = negative ? UINT64_C(1) << 63 : UINT64_MAX;
    uint64_t number;
    *expected = whole_number;
    if (!read_digits(line.text + negative, line.length - negative, most, &number)) return TLA_SYNTAX;
    value->kind = negative && number ? DATA_NEGATIVE : DATA_UNSIGNED;
    value->integer = negative ? 0 - number : number;
    return TLA_OK;
}

static bool is(pickle_line line, const char *text) {
    return line.length == strlen(text) && memcmp(line.text, text, line.length) == 0;
}

tla_status pickle_line_int(pickle_line line, value_store *store, data_value *value, const char **expected) {
    (void)store;
    if (!is(line, "00") && !is(line, "01")) return read_whole(line, value, expected);
    value->kind = DATA_BOOLEAN;
    value->integer = line.text[1] == '1';
    return TLA_OK;
}

tla_status pickle_line_long(pickle_line line, value_store *store, data_value *value, const char **expected) {
    (void)store;
    if (line.length && line.text[line.length - 1] == 'L') line.length--;
    return read_whole(line, value, expected);
}

tla_status pickle_line_float(pickle_line line, value_store *store, data_value *value, const char **expected) {
    char copy[64];
    char *end = copy;
    (void)store;
    *expected = "a real number";
    value->kind = DATA_REAL;
    if (is(line, "nan") || is(line, "inf") || is(line, "-inf")) {
        value->real = line.text[0] == 'n' ? (double)NAN : line.text[0] == 'i' ? (double)INFINITY : -(double)INFINITY;
        return TLA_OK;
    }
    if (line.length >= sizeof copy) return TLA_SYNTAX; /* Python writes 24 at most */
    for (size_t i = 0; i < line.length; i++)
        if (!line.text[i] || !strchr("0123456789+-.eE", line.text[i])) return TLA_SYNTAX;
    memcpy(copy, line.text, line.length);
    copy[line.length] = 0;
    value->real = strtod(copy, &end);
    return line.length && !*end ? TLA_OK : TLA_SYNTAX;
}

/* Texts */

static int digit_of(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : 16;
}

/* Exactly `count` digits at the begin of a line. */
static bool read_code(pickle_line rest, size_t count, int base, uint32_t *code) {
    *code = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= rest.length || digit_of(rest.text[i]) >= base) return false;
        *code = *code * (uint32_t)base + (uint32_t)digit_of(rest.text[i]);
    }
    return true;
}

static pickle_line behind(pickle_line line, size_t count) {
    return (pickle_line){line.text + count, line.length - count};
}

/* An escape of Python's bytes, from its backslash on: the bytes that it takes in the line, and its byte. An unknown one
 * stands for itself. */
static size_t unescape_byte(pickle_line rest, char *byte) {
    static const char names[] = "\\'\"abtnvfr", meanings[] = "\\'\"\a\b\t\n\v\f\r";
    const char c = rest.length > 1 ? rest.text[1] : 0;
    const char *name = c ? strchr(names, c) : NULL;
    uint32_t code = 0;
    if (name) {
        *byte = meanings[name - names];
        return 2;
    }
    if (c == 'x' && read_code(behind(rest, 2), 2, 16, &code)) {
        *byte = (char)code;
        return 4;
    }
    size_t digits = 0;
    while (digits < 3 && read_code(behind(rest, 1), digits + 1, 8, &code))
        digits++;
    if (digits) {
        read_code(behind(rest, 1), digits, 8, &code);
        *byte = (char)code;
        return 1 + digits;
    }
    *byte = '\\';
    return 1;
}

tla_status pickle_line_string(pickle_line line, value_store *store, data_value *value, const char **expected) {
    const char quote = line.length ? line.text[0] : 0;
    *expected = "a text in quotes";
    if (line.length < 2 || (quote != '\'' && quote != '"') || line.text[line.length - 1] != quote) return TLA_SYNTAX;
    line = (pickle_line){line.text + 1, line.length - 2};
    *value = (data_value){.kind = DATA_TEXT, .count = line.length, .text = line.text};
    if (!line.length || !memchr(line.text, '\\', line.length)) return TLA_OK;
    char *copy = value_store_take(store, line.length);
    if (!copy) return TLA_NO_HOST_MEMORY;
    value->text = copy;
    value->count = 0;
    for (size_t taken; line.length; line = behind(line, taken)) {
        char *to = &copy[value->count++];
        *to = line.text[0];
        taken = *to == '\\' ? unescape_byte(line, to) : 1;
    }
    return TLA_OK;
}

static size_t encode(uint32_t code, char *to) {
    const size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    if (length == 1) {
        to[0] = (char)code;
        return 1;
    }
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00u >> length) | code);
    return length;
}

/* The character at the begin of a line, and the bytes that it takes there; 0: a damaged escape. */
static size_t read_character(pickle_line rest, uint32_t *code) {
    *code = (unsigned char)rest.text[0];
    if (rest.text[0] != '\\' || rest.length < 2 || (rest.text[1] != 'u' && rest.text[1] != 'U')) return 1;
    const size_t digits = rest.text[1] == 'u' ? 4 : 8;
    return read_code(behind(rest, 2), digits, 16, code) && *code < 0x110000 ? 2 + digits : 0;
}

/* Half a surrogate pair becomes U+FFFD. */
static size_t read_pair(pickle_line rest, uint32_t *code) {
    uint32_t low;
    const size_t taken = read_character(rest, code);
    if (!taken || *code < 0xd800 || *code >= 0xe000) return taken;
    const pickle_line next = behind(rest, taken);
    const size_t more = *code < 0xdc00 && next.length ? read_character(next, &low) : 0;
    const bool pair = more && low >= 0xdc00 && low < 0xe000;
    *code = pair ? 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    return taken + (pair ? more : 0);
}

tla_status pickle_line_unicode(pickle_line line, value_store *store, data_value *value, const char **expected) {
    bool plain = true;
    for (size_t i = 0; i < line.length; i++)
        plain = plain && line.text[i] != '\\' && (unsigned char)line.text[i] < 0x80;
    *expected = "a text whose \\u and \\U have 4 and 8 hexadecimal digits, up to 10ffff";
    *value = (data_value){.kind = DATA_TEXT, .count = line.length, .text = line.text};
    if (plain) return TLA_OK;
    char *copy = value_store_take(store, 2 * line.length); /* a byte becomes two at most, an escape less than it was */
    if (!copy) return TLA_NO_HOST_MEMORY;
    value->text = copy;
    value->count = 0;
    while (line.length) {
        uint32_t code;
        /* Two backslashes are two characters, and the second begins no escape. */
        const bool two = line.length > 1 && line.text[0] == '\\' && line.text[1] == '\\';
        const size_t taken = two ? 2 : read_pair(line, &code);
        if (!taken) return TLA_SYNTAX;
        if (two) value->count += encode('\\', copy + value->count);
        value->count += encode(two ? '\\' : code, copy + value->count);
        line = behind(line, taken);
    }
    return TLA_OK;
}
