/* A reader by recursive descent. Texts without an escape are not copied. */
#include "trace/json_text.h"

#include "model/base/escape.h"
#include "model/base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 512, NUMBER_MAX = 400 };

static tla_status read_value(json_text *j, data_value **value);

json_text json_text_of(const char *text, size_t length, size_t at) {
    return (json_text){.text = text, .length = length, .at = at, .store = {.most = data_memory_max(length)}};
}

void json_text_clear(json_text *j) {
    value_store_clear(&j->store);
    free(j->open);
    j->open = NULL;
}

static tla_status expect(json_text *j, const char *what) {
    j->expected = what;
    return TLA_SYNTAX;
}

char json_peek(json_text *j) {
    while (j->at < j->length) {
        char c = j->text[j->at];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t') return c;
        j->at++;
    }
    return 0;
}

tla_status json_take(json_text *j, char c, const char *expected) {
    if (json_peek(j) != c || j->at == j->length) return expect(j, expected);
    j->at++;
    return TLA_OK;
}

tla_status json_read(json_text *j, const data_value **value) {
    data_value *made = NULL;
    value_store_reset(&j->store);
    j->open_count = 0;
    j->depth = 0;
    tla_status status = read_value(j, &made);
    *value = made;
    return status;
}

static tla_status no_memory(const json_text *j) {
    return j->store.too_much ? TLA_LIMIT : TLA_NO_HOST_MEMORY;
}

static tla_status make(json_text *j, data_value value, data_value **made) {
    *made = value_store_take(&j->store, sizeof **made);
    if (!*made) return no_memory(j);
    **made = value;
    return TLA_OK;
}

/* Numbers */

static size_t digits(json_text *j) {
    size_t begin = j->at;
    while (j->at < j->length && j->text[j->at] >= '0' && j->text[j->at] <= '9')
        j->at++;
    return j->at - begin;
}

static bool next_is(const json_text *j, const char *any) {
    return j->at < j->length && j->text[j->at] && strchr(any, j->text[j->at]);
}

/* The text of a real number, which has been checked. */
static tla_status read_real(json_text *j, size_t begin, data_value *number) {
    char copy[NUMBER_MAX + 1];
    size_t length = j->at - begin;
    if (length > NUMBER_MAX) {
        j->at = begin;
        return expect(j, "a number of at most 400 characters");
    }
    memcpy(copy, j->text + begin, length);
    copy[length] = 0;
    number->kind = DATA_REAL;
    number->real = strtod(copy, NULL);
    if (isfinite(number->real)) return TLA_OK;
    j->at = begin;
    return expect(j, "a number below 1e309");
}

static tla_status read_whole(json_text *j, size_t begin, bool negative, data_value *number) {
    const uint64_t most = negative ? (uint64_t)1 << 63 : UINT64_MAX;
    uint64_t sum = 0;
    for (size_t i = begin + negative; i < j->at; i++) {
        uint64_t digit = (uint64_t)(j->text[i] - '0');
        if (sum > (most - digit) / 10) {
            j->at = begin;
            return expect(j, "a whole number of at most 64 bits");
        }
        sum = 10 * sum + digit;
    }
    number->kind = negative && sum ? DATA_NEGATIVE : DATA_UNSIGNED;
    number->integer = negative ? 0 - sum : sum;
    return TLA_OK;
}

static tla_status read_number(json_text *j, data_value *number) {
    const size_t begin = j->at;
    const bool negative = j->text[begin] == '-';
    bool real = false;
    j->at += negative;
    bool zero = next_is(j, "0");
    size_t count = digits(j);
    if (count == 0 || (zero && count > 1)) {
        j->at = begin + negative + zero;
        return expect(j, count ? "no digit after a leading 0" : "a digit");
    }
    if (next_is(j, ".")) {
        real = true;
        j->at++;
        if (digits(j) == 0) return expect(j, "a digit");
    }
    if (next_is(j, "eE")) {
        real = true;
        j->at++;
        j->at += next_is(j, "+-");
        if (digits(j) == 0) return expect(j, "a digit");
    }
    return real ? read_real(j, begin, number) : read_whole(j, begin, negative, number);
}

/* Texts */

static size_t encode(uint32_t code, char *to) {
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6)
        to[i] = (char)(0x80 | (code & 0x3f));
    to[0] = (char)((0xf00u >> length) | code);
    return length;
}

/* The four digits of \uXXXX. */
static bool read_hex(json_text *j, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, j->at++) {
        char c = j->at < j->length ? j->text[j->at] : 0;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
            digit = (uint32_t)((c | 0x20) - 'a' + 10);
        else
            return false;
        *code = *code << 4 | digit;
    }
    return true;
}

/* An escape behind its backslash, at most four bytes. */
static tla_status read_escape(json_text *j, char *to, size_t *length) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char c = j->at < j->length ? j->text[j->at] : 0;
    const char *name = c ? strchr(names, c) : NULL;
    uint32_t code, low;
    if (name) {
        j->at++;
        *to = meanings[name - names];
        *length = 1;
        return TLA_OK;
    }
    if (c != 'u') return expect(j, "an escape: one of \"\\/bfnrtu");
    j->at++;
    if (!read_hex(j, &code)) return expect(j, "four hexadecimal digits");
    if (code >= 0xd800 && code < 0xe000) {
        const size_t behind = j->at;
        bool pair = code < 0xdc00 && j->length - j->at > 6 && j->text[j->at] == '\\' && j->text[j->at + 1] == 'u';
        j->at += pair ? 2 : 0;
        pair = pair && read_hex(j, &low) && low >= 0xdc00 && low < 0xe000;
        if (!pair) j->at = behind;
        code = pair ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : 0xfffd;
    }
    *length = encode(code, to);
    return TLA_OK;
}

/* Skips to the closing quote; *escapes is whether the text has any. */
static tla_status skip_text(json_text *j, bool *escapes) {
    const size_t begin = j->at;
    bool ascii = true;
    *escapes = false;
    while (j->at < j->length) {
        const unsigned char c = (unsigned char)j->text[j->at];
        if (c == '"') {
            if (ascii || tla_is_utf8(j->text + begin, j->at - begin)) return TLA_OK;
            j->at = begin;
            return expect(j, "UTF-8");
        }
        if (c < 0x20) return expect(j, "an escape for a control character");
        ascii &= c < 0x80;
        if (c == '\\') *escapes = true;
        j->at += c == '\\' && j->at + 1 < j->length && (unsigned char)j->text[j->at + 1] >= 0x20 ? 2 : 1;
    }
    j->at = j->length;
    return expect(j, "the end of a text");
}

static tla_status unescape(json_text *j, size_t end, data_value *text) {
    char *copy = value_store_take(&j->store, text->count);
    if (!copy) return no_memory(j);
    text->text = copy;
    text->count = 0;
    while (j->at < end) {
        if (j->text[j->at] != '\\') {
            copy[text->count++] = j->text[j->at++];
            continue;
        }
        size_t length;
        j->at++;
        tla_status status = read_escape(j, copy + text->count, &length);
        if (status) return status;
        text->count += length;
    }
    return TLA_OK;
}

static tla_status read_text(json_text *j, data_value *text) {
    const size_t begin = ++j->at;
    bool escapes;
    tla_status status = skip_text(j, &escapes);
    if (status) return status;
    const size_t end = j->at;
    text->kind = DATA_TEXT;
    text->text = j->text + begin;
    text->count = end - begin;
    if (escapes) {
        j->at = begin;
        status = unescape(j, end, text);
        if (status) return status;
    }
    j->at = end + 1;
    return TLA_OK;
}

/* Lists and objects */

static tla_status push(json_text *j, data_value *value) {
    if (!tla_grow(&j->open, &j->open_room, j->open_count + 1, sizeof *j->open)) return TLA_NO_HOST_MEMORY;
    j->open[j->open_count++] = value;
    return TLA_OK;
}

static tla_status read_item(json_text *j) {
    data_value *value;
    tla_status status = read_value(j, &value);
    return status ? status : push(j, value);
}

static tla_status read_member(json_text *j) {
    if (json_peek(j) != '"') return expect(j, "a key");
    tla_status status = read_item(j);
    if (!status) status = json_take(j, ':', "':'");
    return status ? status : read_item(j);
}

static int compare_keys(const void *a, const void *b) {
    const data_value *const x = *(data_value *const *)a, *const y = *(data_value *const *)b;
    const int order = memcmp(x->text, y->text, x->count < y->count ? x->count : y->count);
    if (order || x->count != y->count) return order ? order : x->count < y->count ? -1 : 1;
    return x->position < y->position ? -1 : 1; /* of equal keys the later one is the wrong one */
}

/* An object has a key once. Recordings have many objects with few keys; objects with many are sorted. */
static tla_status check_keys(json_text *j, size_t first) {
    enum { FEW = 16 };
    const size_t count = (j->open_count - first) / 2;
    data_value *few[FEW], **const keys = count <= FEW ? few : malloc(count * sizeof *keys);
    const data_value *again = NULL;
    if (!keys) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < count; i++)
        keys[i] = j->open[first + 2 * i];
    if (count > FEW) qsort(keys, count, sizeof *keys, compare_keys);
    for (size_t i = 1; i < count && !again; i++)
        for (size_t k = count > FEW ? i - 1 : 0; k < i && !again; k++)
            if (keys[i]->count == keys[k]->count && memcmp(keys[i]->text, keys[k]->text, keys[i]->count) == 0)
                again = keys[i];
    if (keys != few) free(keys);
    if (!again) return TLA_OK;
    j->at = again->position;
    return expect(j, "a key that the object does not have already");
}

static tla_status read_items(json_text *j, bool object, data_value *container) {
    const size_t first = j->open_count;
    const char end = object ? '}' : ']';
    tla_status status = TLA_OK;
    if (++j->depth > DEPTH_MAX) return expect(j, "at most 512 nested lists and objects");
    j->at++;
    for (bool more = json_peek(j) != end; more && !status; j->at += more) {
        status = (object ? read_member : read_item)(j);
        more = !status && json_peek(j) == ',';
    }
    if (!status) status = json_take(j, end, object ? "',' or '}'" : "',' or ']'");
    if (!status && object) status = check_keys(j, first);
    if (status) return status;
    j->depth--;
    container->kind = object ? DATA_DICT : DATA_LIST;
    container->count = j->open_count - first;
    j->open_count = first;
    if (!container->count) return TLA_OK;
    const size_t nbytes = container->count * sizeof *container->items;
    container->items = value_store_take(&j->store, nbytes);
    if (!container->items) return no_memory(j);
    memcpy(container->items, j->open + first, nbytes);
    return TLA_OK;
}

static bool is_word(json_text *j, const char *word) {
    size_t length = strlen(word);
    if (j->length - j->at < length || memcmp(j->text + j->at, word, length) != 0) return false;
    j->at += length;
    return true;
}

/* What Python writes for a real number that is not finite. */
static bool is_not_finite(json_text *j, data_value *number) {
    number->real = is_word(j, "NaN")         ? (double)NAN
                   : is_word(j, "Infinity")  ? (double)INFINITY
                   : is_word(j, "-Infinity") ? -(double)INFINITY
                                             : 0;
    if (number->real == 0) return false;
    number->kind = DATA_REAL;
    return true;
}

static tla_status read_value(json_text *j, data_value **value) {
    const char c = json_peek(j);
    data_value found = {.kind = DATA_NONE, .position = j->at};
    tla_status status = TLA_OK;
    if (c == '{' || c == '[')
        status = read_items(j, c == '{', &found);
    else if (c == '"')
        status = read_text(j, &found);
    else if (is_not_finite(j, &found))
        status = TLA_OK;
    else if (c == '-' || (c >= '0' && c <= '9'))
        status = read_number(j, &found);
    else if (is_word(j, "true") || is_word(j, "false"))
        found.kind = DATA_BOOLEAN, found.integer = c == 't';
    else if (!is_word(j, "null"))
        status = expect(j, "a value");
    return status ? status : make(j, found, value);
}
