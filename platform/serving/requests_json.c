/* Requests as lines of JSON: the measured run's and Mooncake's. */
#include "serving/requests_readers.h"
#include "trace/json_text.h"
#include "trace/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOONCAKE_TOKENS = 512, USUAL_TOKENS = 16 };

/* The members of a request, by their names in a form. */
typedef enum member { ID, ARRIVAL, INPUT, OUTPUT, BLOCKS, MEMBER_COUNT } member;

typedef struct form {
    const char *names[MEMBER_COUNT]; /* NULL: it has none */
    uint64_t ns;                     /* of its unit of time */
    bool mooncake;
} form;

static const form measured = {{"id", "arrival_s", "input", "output", "blocks"}, 1000000000, false};
static const form mooncake = {{NULL, "timestamp", "input_length", "output_length", "hash_ids"}, 1000000, true};

typedef struct reader {
    serving_builder *builder;
    const char *name;
    json_text json; /* of the line that is read: its text ends with that */
    size_t line_begin;
    uint64_t line_number;
    bool is_cut; /* the line has no newline */
    const form *form;
    uint32_t sizes; /* the powers of two that may be the tokens of a block by all lines so far, as a sum */
    tla_error *error;
} reader;

static tla_status fail(const reader *r, tla_status status, size_t at, const char *text) {
    return tla_error_set(r->error, status, "%s:%" PRIu64 ":%zu: %s", r->name, r->line_number, at - r->line_begin + 1,
                         text);
}

/* "found ..., expected ..." at a byte, of which the text is shown that stands there. */
static tla_status found(const reader *r, size_t at, const char *expected) {
    char text[256];
    const char *begin = r->json.text + at, *end = begin, *stop = r->json.text + r->json.length;
    while (end < stop && end - begin < 41 && (end == begin || !strchr(",]}", *end)))
        end++;
    if (begin >= stop)
        snprintf(text, sizeof text, "found the end of the line, expected %s%s", expected,
                 r->is_cut ? "; the last line has no newline: the file may be truncated" : "");
    else
        snprintf(text, sizeof text, "found '%s', expected %s", table_show(begin, end).text, expected);
    return fail(r, TLA_SYNTAX, at, text);
}

static tla_status explain(const reader *r, tla_status status) {
    if (status == TLA_LIMIT) return fail(r, status, r->json.at, "the value needs more memory than the limit");
    return status == TLA_SYNTAX ? found(r, r->json.at, r->json.expected) : status;
}

static bool is(const data_value *text, const char *name) {
    return text->count == strlen(name) && memcmp(text->text, name, text->count) == 0;
}

/* The members of a form; each once. */
static tla_status find_members(const reader *r, const data_value *object, const data_value **members) {
    for (size_t i = 0; i < object->count; i += 2)
        for (size_t j = 0; j < MEMBER_COUNT; j++) {
            const data_value *key = object->items[i];
            if (!r->form->names[j] || !is(key, r->form->names[j])) continue;
            if (members[j]) return found(r, key->position, "each key once");
            members[j] = object->items[i + 1];
        }
    for (size_t j = 0; j < MEMBER_COUNT; j++) {
        char text[64];
        snprintf(text, sizeof text, "\"%s\" is missing", r->form->names[j] ? r->form->names[j] : "");
        if (r->form->names[j] && !members[j]) return fail(r, TLA_SYNTAX, object->position, text);
    }
    return TLA_OK;
}

static tla_status read_tokens(const reader *r, const data_value *value, bool output, uint64_t *tokens) {
    const bool none = r->builder->skips;
    const bool empty = value->kind == DATA_UNSIGNED && value->integer == 0;
    char expected[128];
    snprintf(expected, sizeof expected, "the %s's %s%s", output ? "output" : "prompt",
             none ? SERVING_TOKENS_OR_NONE : SERVING_TOKENS, empty ? SERVING_LEAVE_OUT : "");
    if (value->kind != DATA_UNSIGNED || (empty && !none) || value->integer > TLA_SERVING_TOKENS_MAX)
        return found(r, value->position, expected);
    *tokens = value->integer;
    return TLA_OK;
}

static tla_status read_arrival(const reader *r, const data_value *value, uint64_t *ns) {
    const double number = value->kind == DATA_REAL ? value->real * (double)r->form->ns : -1;
    const bool whole = value->kind == DATA_UNSIGNED; /* to the nanosecond, since 1970 too */
    if (whole ? __builtin_mul_overflow(value->integer, r->form->ns, ns) || *ns >= SERVING_ARRIVAL_NS_MAX
              : !(number >= 0) || number >= (double)SERVING_ARRIVAL_NS_MAX)
        return found(r, value->position, "a time from 0 on, less than 292 years");
    if (!whole) *ns = (uint64_t)llround(number);
    if (r->builder->read && *ns < r->builder->last_ns) return found(r, value->position, SERVING_ORDER);
    return TLA_OK;
}

/* Mooncake's blocks are of the prompt, and the last may be partial. */
static tla_status check_mooncake(const reader *r, const serving_line *line, size_t at) {
    const uint64_t blocks = (line->prompt_tokens + MOONCAKE_TOKENS - 1) / MOONCAKE_TOKENS;
    char text[128];
    snprintf(text, sizeof text,
             "found %" PRIu64 " numbers, expected %" PRIu64 ": one for each %d tokens, the last partial",
             line->block_count, blocks, MOONCAKE_TOKENS);
    return line->block_count == blocks ? TLA_OK : fail(r, TLA_SYNTAX, at, text);
}

/* All blocks of a measured run are full; the lines together determine their tokens. */
static tla_status check_measured(reader *r, const serving_line *line, size_t at) {
    const uint64_t tokens = line->prompt_tokens + line->output_tokens;
    uint32_t left = 0;
    for (uint32_t size = 1; size; size <<= 1)
        if ((r->sizes & size) && tokens / size == line->block_count) left |= size;
    char text[128];
    snprintf(text, sizeof text,
             "found %" PRIu64 " numbers for %" PRIu64 " tokens, expected one for each full block, as in other lines",
             line->block_count, tokens);
    if (!left) return fail(r, TLA_SYNTAX, at, text);
    r->sizes = left;
    return TLA_OK;
}

static tla_status read_blocks(reader *r, const data_value *list, serving_line *line) {
    const bool skipped = serving_is_skipped(r->builder, line); /* of its blocks nothing is known */
    if (list->kind != DATA_LIST) return found(r, list->position, "a list of numbers");
    for (size_t i = 0; i < list->count; i++) {
        const data_value *block = list->items[i];
        if (block->kind != DATA_UNSIGNED) return found(r, block->position, "a block's number, 0 .. 2^64 - 1");
        if (skipped) continue;
        if (r->builder->block_count == TLA_SERVING_BLOCKS_MAX)
            return fail(r, TLA_LIMIT, block->position, "more blocks than the limit of 2^28");
        if (!serving_append_block(r->builder, block->integer)) return TLA_NO_HOST_MEMORY;
    }
    if (skipped) return TLA_OK;
    line->block_count = list->count;
    return r->form->mooncake ? check_mooncake(r, line, list->position) : check_measured(r, line, list->position);
}

static tla_status read_request(reader *r, const data_value *object) {
    const data_value *members[MEMBER_COUNT] = {0};
    serving_line line = {.id = r->builder->read, .number = r->line_number};
    if (object->kind != DATA_DICT) return found(r, object->position, "an object, a request");
    if (!r->form) r->form = data_get(object, measured.names[ARRIVAL]) ? &measured : &mooncake;
    tla_status status = find_members(r, object, members);
    if (!status && members[ID] && members[ID]->kind != DATA_UNSIGNED)
        return found(r, members[ID]->position, "an id, 0 .. 2^64 - 1");
    if (!status && members[ID]) line.id = members[ID]->integer;
    if (!status) status = read_arrival(r, members[ARRIVAL], &line.arrival_ns);
    if (!status) status = read_tokens(r, members[INPUT], false, &line.prompt_tokens);
    if (!status) status = read_tokens(r, members[OUTPUT], true, &line.output_tokens);
    if (!status) status = read_blocks(r, members[BLOCKS], &line);
    if (!status) status = serving_append(r->builder, &line);
    return status == TLA_LIMIT ? fail(r, status, object->position, SERVING_TOO_MANY) : status;
}

static tla_status read_line(reader *r) {
    const data_value *object;
    tla_status status = json_read(&r->json, &object);
    if (status) return explain(r, status);
    status = read_request(r, object);
    if (status) return status;
    (void)json_peek(&r->json); /* to what stands there, which may be a zero byte */
    return r->json.at < r->json.length ? found(r, r->json.at, "the end of the line") : TLA_OK;
}

/* Whether nothing but blank lines follows. */
static bool at_end(const char *text, size_t length, size_t at) {
    while (at < length && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at >= length;
}

typedef struct numbered {
    uint64_t id, line;
} numbered;

static int by_id(const void *a, const void *b) {
    const numbered *x = a, *y = b;
    return x->id != y->id ? (x->id > y->id) - (x->id < y->id) : (x->line > y->line) - (x->line < y->line);
}

/* Checks that no two requests have one id. */
static tla_status check_ids(reader *r) {
    const tla_serving_requests *out = r->builder->out;
    numbered *ids = malloc((out->count + 1) * sizeof *ids);
    if (!ids) return TLA_NO_HOST_MEMORY;
    for (size_t i = 0; i < out->count; i++)
        ids[i] = (numbered){out->items[i].id, out->items[i].line};
    qsort(ids, out->count, sizeof *ids, by_id);
    tla_status status = TLA_OK;
    for (size_t i = 1; !status && i < out->count; i++)
        if (ids[i].id == ids[i - 1].id)
            status = tla_error_set(r->error, TLA_SYNTAX,
                                   "%s:%" PRIu64 ":1: found id %" PRIu64 " again, already used in line %" PRIu64,
                                   r->name, ids[i].line, ids[i].id, ids[i - 1].line);
    free(ids);
    return status;
}

/* Returns the usual power of two if it fits, else the smallest that fits. */
static uint32_t tokens_of_block(uint32_t sizes) {
    return sizes & USUAL_TOKENS ? USUAL_TOKENS : sizes & -sizes;
}

tla_status serving_read_json(serving_builder *builder, const char *text, size_t length, const char *name,
                             tla_error *error) {
    reader r = {
        .builder = builder, .name = name, .json = json_text_of(text, length, 0), .sizes = UINT32_MAX, .error = error};
    tla_status status = TLA_OK;
    for (size_t at = 0; !status && !at_end(text, length, at); at = r.json.length + 1) {
        const char *newline = memchr(text + at, '\n', length - at);
        r.json.at = r.line_begin = at;
        r.json.length = newline ? (size_t)(newline - text) : length;
        r.is_cut = !newline;
        r.line_number++;
        status = read_line(&r);
    }
    json_text_clear(&r.json);
    if (!status && r.form == &measured) status = check_ids(&r);
    if (status) return status;
    builder->out->blocks_of_prompt = r.form->mooncake;
    if (builder->block_count)
        builder->out->block_tokens = r.form->mooncake ? MOONCAKE_TOKENS : tokens_of_block(r.sizes);
    return TLA_OK;
}
