/* The stack machine of pickle, with the instructions that plain data needs and no other. */
#include "torch/pickle.h"
#include "model/base/grow.h"
#include "torch/pickle_opcodes.h"
#include "torch/pickle_text.h"
#include "trace/table.h"
#include "trace/value_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pickle_data {
    value_store store; /* values are never freed one by one */
    data_value *root;
};

typedef struct machine {
    const unsigned char *bytes;
    size_t length, at; /* at: the next byte */
    size_t opcode_at;  /* where the current instruction began */
    const char *name;  /* of the file */
    pickle_data *pickle;
    data_value **stack;
    size_t depth, stack_room;
    size_t *marks; /* depths of the stack */
    size_t mark_count, mark_room;
    data_value **memo; /* NULL where nothing was put */
    size_t memo_room, memo_count;
    tla_error *error;
} machine;

static tla_status run(machine *m);

tla_status pickle_read(const char *bytes, size_t length, const char *name, pickle_data **out, tla_error *error) {
    *out = calloc(1, sizeof **out);
    if (!*out) return tla_error_set(error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", name);
    (*out)->store.most = data_memory_max(length);
    machine m = {.bytes = (const unsigned char *)bytes, .length = length, .name = name, .pickle = *out, .error = error};
    tla_status status = run(&m);
    free(m.stack);
    free(m.marks);
    free(m.memo);
    if (status) {
        pickle_destroy(*out);
        *out = NULL;
    }
    return status;
}

void pickle_destroy(pickle_data *pickle) {
    if (!pickle) return;
    value_store_clear(&pickle->store);
    free(pickle);
}

const data_value *pickle_root(const pickle_data *pickle) {
    return pickle->root;
}

/* Errors */

static tla_status no_memory(machine *m) {
    if (m->pickle->store.too_much)
        return tla_error_set(m->error, TLA_LIMIT,
                             "%s: byte %zu of the pickle: the values need more than the limit of %" PRIu64
                             " bytes of memory",
                             m->name, m->opcode_at, m->pickle->store.most);
    return tla_error_set(m->error, TLA_NO_HOST_MEMORY, "%s: no host memory to read it", m->name);
}

static tla_status wrong(machine *m, const char *text) {
    return tla_error_set(m->error, TLA_SYNTAX, "%s: byte %zu of the pickle: %s", m->name, m->opcode_at, text);
}

/* Returns " 'module name'" of an import, if it is known. */
static table_quote show_global(const machine *m, unsigned char opcode) {
    char text[sizeof(table_quote)] = "";
    const char *rest = (const char *)m->bytes + m->at, *end = (const char *)m->bytes + m->length;
    if (opcode == 'c') { /* GLOBAL: two lines */
        const char *first = memchr(rest, '\n', (size_t)(end - rest));
        const char *second = first ? memchr(first + 1, '\n', (size_t)(end - first - 1)) : NULL;
        if (second)
            snprintf(text, sizeof text, " '%.*s %.*s'", (int)(first - rest < 18 ? first - rest : 18), rest,
                     (int)(second - first - 1 < 18 ? second - first - 1 : 18), first + 1);
    } else if (opcode == 0x93 && m->depth >= 2 && m->stack[m->depth - 2]->kind == DATA_TEXT &&
               m->stack[m->depth - 1]->kind == DATA_TEXT) { /* STACK_GLOBAL: two texts */
        const data_value *module = m->stack[m->depth - 2], *name = m->stack[m->depth - 1];
        snprintf(text, sizeof text, " '%.*s %.*s'", (int)(module->count < 18 ? module->count : 18), module->text,
                 (int)(name->count < 18 ? name->count : 18), name->text);
    }
    return table_show(text, text + strlen(text));
}

static tla_status refuse(machine *m, unsigned char opcode) {
    const char *name = pickle_refused_name(opcode);
    if (!name)
        return tla_error_set(m->error, TLA_SYNTAX, "%s: byte %zu of the pickle: found 0x%02x, an unknown opcode",
                             m->name, m->opcode_at, opcode);
    return tla_error_set(m->error, TLA_UNSUPPORTED,
                         "%s: byte %zu of the pickle: found opcode %s%s, expected plain data only", m->name,
                         m->opcode_at, name, show_global(m, opcode).text);
}

/* Memory */

static void *take(machine *m, size_t nbytes) {
    return value_store_take(&m->pickle->store, nbytes);
}

static tla_status push(machine *m, data_value *value) {
    if (!tla_grow(&m->stack, &m->stack_room, m->depth + 1, sizeof *m->stack)) return no_memory(m);
    m->stack[m->depth++] = value;
    return TLA_OK;
}

static tla_status push_new(machine *m, data_value value) {
    data_value *made = take(m, sizeof *made);
    if (!made) return no_memory(m);
    *made = value;
    made->position = m->opcode_at;
    return push(m, made);
}

/* Arguments of instructions */

static const unsigned char *argument(machine *m, size_t nbytes) {
    if (m->length - m->at < nbytes) {
        wrong(m, "found the end of the file, expected the rest of an instruction: truncated");
        return NULL;
    }
    m->at += nbytes;
    return m->bytes + m->at - nbytes;
}

static bool little_endian(machine *m, size_t nbytes, uint64_t *number) {
    const unsigned char *bytes = argument(m, nbytes);
    if (!bytes) return false;
    *number = 0;
    for (size_t i = 0; i < nbytes; i++)
        *number |= (uint64_t)bytes[i] << (8 * i);
    return true;
}

/* An argument of protocol 0, which ends with a newline. */
static bool take_line(machine *m, pickle_line *line) {
    const unsigned char *begin = m->bytes + m->at;
    const unsigned char *end = m->at < m->length ? memchr(begin, '\n', m->length - m->at) : NULL;
    if (!end) {
        wrong(m, "found the end of the file, expected the rest of a line: truncated");
        return false;
    }
    *line = (pickle_line){(const char *)begin, (size_t)(end - begin)};
    m->at += line->length + 1;
    return true;
}

static tla_status wrong_line(machine *m, pickle_line line, const char *expected) {
    const size_t shown = line.length < 40 ? line.length : 40;
    return tla_error_set(m->error, TLA_SYNTAX, "%s: byte %zu of the pickle: found '%s', expected %s", m->name,
                         m->opcode_at, table_show(line.text, line.text + shown).text, expected);
}

static tla_status push_line(machine *m, pickle_line_reader *read) {
    pickle_line line;
    data_value value = {.kind = DATA_NONE};
    const char *expected;
    if (!take_line(m, &line)) return TLA_SYNTAX;
    tla_status status = read(line, &m->pickle->store, &value, &expected);
    if (status == TLA_SYNTAX) return wrong_line(m, line, expected);
    return status ? no_memory(m) : push_new(m, value);
}

static bool take_index(machine *m, uint64_t *index) {
    pickle_line line;
    if (!take_line(m, &line)) return false;
    if (pickle_line_index(line, index)) return true;
    wrong_line(m, line, "a memo number");
    return false;
}

static tla_status push_text(machine *m, size_t length_bytes) {
    uint64_t length;
    if (!little_endian(m, length_bytes, &length)) return TLA_SYNTAX;
    const unsigned char *text = length <= SIZE_MAX ? argument(m, (size_t)length) : NULL;
    if (!text) return TLA_SYNTAX;
    return push_new(m, (data_value){.kind = DATA_TEXT, .count = (size_t)length, .text = (const char *)text});
}

static tla_status push_unsigned(machine *m, size_t nbytes) {
    uint64_t number;
    if (!little_endian(m, nbytes, &number)) return TLA_SYNTAX;
    return push_new(m, (data_value){.kind = DATA_UNSIGNED, .integer = number});
}

static tla_status push_signed(machine *m, const unsigned char *bytes, size_t nbytes) {
    bool negative = nbytes > 0 && bytes[nbytes - 1] & 0x80;
    if (nbytes > 9 || (nbytes == 9 && bytes[8] != 0))
        return wrong(m, "found a whole number of more than 64 bits, expected at most 64");
    uint64_t number = negative ? UINT64_MAX : 0;
    for (size_t i = 0; i < nbytes && i < 8; i++)
        number = (number & ~(UINT64_C(0xff) << (8 * i))) | (uint64_t)bytes[i] << (8 * i);
    return push_new(m, (data_value){.kind = negative ? DATA_NEGATIVE : DATA_UNSIGNED, .integer = number});
}

static tla_status push_real(machine *m) {
    const unsigned char *bytes = argument(m, 8); /* big-endian */
    if (!bytes) return TLA_SYNTAX;
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    double real;
    memcpy(&real, &bits, sizeof real);
    return push_new(m, (data_value){.kind = DATA_REAL, .real = real});
}

/* Lists, tuples, dictionaries. A list grows in a new array of twice the room; the room is the next power of two. */

/* Finds the beginning of the items after the last mark, and removes that mark; or the beginning of the top `count`
 * items. Items below a mark belong to another construct. */
static bool pop_to_mark(machine *m, size_t *begin) {
    if (m->mark_count == 0) {
        wrong(m, "found an instruction that needs a mark, but the stack has no mark");
        return false;
    }
    *begin = m->marks[--m->mark_count];
    return true;
}

static bool has_items(machine *m, size_t count) {
    size_t floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    if (m->depth - floor >= count) return true;
    wrong(m, "found an instruction that needs more values than the stack has");
    return false;
}

static size_t room_for(size_t count) {
    size_t room = 4;
    while (room < count)
        room *= 2;
    return room;
}

static tla_status extend(machine *m, data_value *list, data_value **items, size_t count) {
    if (count == 0) return TLA_OK;
    size_t total = list->count + count;
    if (list->count == 0 || total > room_for(list->count)) {
        data_value **grown = take(m, room_for(total) * sizeof *grown);
        if (!grown) return no_memory(m);
        if (list->count) memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
    }
    memcpy(list->items + list->count, items, count * sizeof *items);
    list->count = total;
    return TLA_OK;
}

/* Takes the items from `begin` off the stack and adds them to the container below them. */
static tla_status add_items(machine *m, size_t begin, data_kind kind) {
    size_t count = m->depth - begin, floor = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    if (begin <= floor || m->stack[begin - 1]->kind != kind)
        return wrong(m, kind == DATA_DICT ? "found items for a dictionary, but no dictionary below them"
                                          : "found items for a list, but no list below them");
    if (kind == DATA_DICT && count % 2) return wrong(m, "found a key without a value");
    m->depth = begin;
    return extend(m, m->stack[begin - 1], m->stack + begin, count);
}

/* Takes the items from `begin` off the stack, and pushes a container of them. */
static tla_status push_container(machine *m, size_t begin, data_kind kind) {
    data_value container = {.kind = kind};
    size_t count = m->depth - begin;
    if (kind == DATA_DICT && count % 2) return wrong(m, "found a key without a value");
    tla_status status = count ? extend(m, &container, m->stack + begin, count) : TLA_OK; /* no stack yet: no address */
    m->depth = begin;
    return status ? status : push_new(m, container);
}

static tla_status push_mark(machine *m) {
    if (!tla_grow(&m->marks, &m->mark_room, m->mark_count + 1, sizeof *m->marks)) return no_memory(m);
    m->marks[m->mark_count++] = m->depth;
    return TLA_OK;
}

/* Drops the last value, or the mark behind all values. */
static tla_status pop(machine *m) {
    if (m->mark_count && m->marks[m->mark_count - 1] == m->depth) {
        m->mark_count--;
        return TLA_OK;
    }
    if (!has_items(m, 1)) return TLA_SYNTAX;
    m->depth--;
    return TLA_OK;
}

/* The memo: values by number. A writer numbers them in sequence, so a number beyond the bytes of the file is damage. */

static tla_status memo_put(machine *m, uint64_t index) {
    if (!has_items(m, 1)) return TLA_SYNTAX;
    if (index > m->length) return wrong(m, "found a memo number larger than the file");
    const size_t before = m->memo_room;
    if (!tla_grow(&m->memo, &m->memo_room, (size_t)index + 1, sizeof *m->memo)) return no_memory(m);
    memset(m->memo + before, 0, (m->memo_room - before) * sizeof *m->memo);
    m->memo_count += m->memo[index] == NULL;
    m->memo[index] = m->stack[m->depth - 1];
    return TLA_OK;
}

static tla_status memo_get(machine *m, uint64_t index) {
    if (index >= m->memo_room || !m->memo[index]) return wrong(m, "found an undefined memo number");
    return push(m, m->memo[index]);
}

/* The instructions */

static tla_status step(machine *m, unsigned char opcode) {
    uint64_t number;
    size_t begin;
    const unsigned char *bytes;
    switch (opcode) {
    case FRAME:
        return little_endian(m, 8, &number) ? TLA_OK : TLA_SYNTAX;
    case NONE:
        return push_new(m, (data_value){.kind = DATA_NONE});
    case NEWTRUE:
        return push_new(m, (data_value){.kind = DATA_BOOLEAN, .integer = 1});
    case NEWFALSE:
        return push_new(m, (data_value){.kind = DATA_BOOLEAN});
    case INT:
        return push_line(m, pickle_line_int);
    case LONG:
        return push_line(m, pickle_line_long);
    case FLOAT:
        return push_line(m, pickle_line_float);
    case STRING:
        return push_line(m, pickle_line_string);
    case UNICODE:
        return push_line(m, pickle_line_unicode);
    case BININT1:
        return push_unsigned(m, 1);
    case BININT2:
        return push_unsigned(m, 2);
    case BININT:
        bytes = argument(m, 4);
        return bytes ? push_signed(m, bytes, 4) : TLA_SYNTAX;
    case LONG1:
    case LONG4:
        if (!little_endian(m, opcode == LONG1 ? 1 : 4, &number)) return TLA_SYNTAX;
        bytes = argument(m, (size_t)number);
        return bytes ? push_signed(m, bytes, (size_t)number) : TLA_SYNTAX;
    case BINFLOAT:
        return push_real(m);
    case SHORT_BINSTRING:
    case SHORT_BINUNICODE:
        return push_text(m, 1);
    case BINSTRING:
    case BINUNICODE:
        return push_text(m, 4);
    case BINUNICODE8:
        return push_text(m, 8);
    case MARK:
        return push_mark(m);
    case EMPTY_TUPLE:
    case EMPTY_LIST:
        return push_new(m, (data_value){.kind = DATA_LIST});
    case EMPTY_DICT:
        return push_new(m, (data_value){.kind = DATA_DICT});
    case APPEND:
        return has_items(m, 2) ? add_items(m, m->depth - 1, DATA_LIST) : TLA_SYNTAX;
    case SETITEM:
        return has_items(m, 3) ? add_items(m, m->depth - 2, DATA_DICT) : TLA_SYNTAX;
    case APPENDS:
        return pop_to_mark(m, &begin) ? add_items(m, begin, DATA_LIST) : TLA_SYNTAX;
    case SETITEMS:
        return pop_to_mark(m, &begin) ? add_items(m, begin, DATA_DICT) : TLA_SYNTAX;
    case TUPLE:
    case LIST:
        return pop_to_mark(m, &begin) ? push_container(m, begin, DATA_LIST) : TLA_SYNTAX;
    case DICT:
        return pop_to_mark(m, &begin) ? push_container(m, begin, DATA_DICT) : TLA_SYNTAX;
    case TUPLE1:
    case TUPLE2:
    case TUPLE3:
        number = (uint64_t)(opcode - TUPLE1 + 1);
        return has_items(m, (size_t)number) ? push_container(m, m->depth - (size_t)number, DATA_LIST) : TLA_SYNTAX;
    case POP:
        return pop(m);
    case POP_MARK:
        if (!pop_to_mark(m, &begin)) return TLA_SYNTAX;
        m->depth = begin;
        return TLA_OK;
    case DUP:
        return has_items(m, 1) ? push(m, m->stack[m->depth - 1]) : TLA_SYNTAX;
    case MEMOIZE:
        return memo_put(m, m->memo_count);
    case PUT:
        return take_index(m, &number) ? memo_put(m, number) : TLA_SYNTAX;
    case BINPUT:
        return little_endian(m, 1, &number) ? memo_put(m, number) : TLA_SYNTAX;
    case LONG_BINPUT:
        return little_endian(m, 4, &number) ? memo_put(m, number) : TLA_SYNTAX;
    case GET:
        return take_index(m, &number) ? memo_get(m, number) : TLA_SYNTAX;
    case BINGET:
        return little_endian(m, 1, &number) ? memo_get(m, number) : TLA_SYNTAX;
    case LONG_BINGET:
        return little_endian(m, 4, &number) ? memo_get(m, number) : TLA_SYNTAX;
    default:
        return refuse(m, opcode);
    }
}

/* Pickles of protocols 0 and 1 do not name their protocol. */
static tla_status read_protocol(machine *m) {
    if (m->length && m->bytes[0] != PROTO) return TLA_OK;
    const unsigned char *bytes = argument(m, 2);
    if (!bytes) return TLA_SYNTAX;
    return bytes[1] <= 5 ? TLA_OK : wrong(m, "found an unknown protocol, expected a pickle of protocol 0 to 5");
}

static tla_status run(machine *m) {
    tla_status status = read_protocol(m);
    while (!status) {
        m->opcode_at = m->at;
        const unsigned char *opcode = argument(m, 1);
        if (!opcode) return TLA_SYNTAX;
        if (*opcode == STOP) {
            if (m->depth != 1 || m->mark_count)
                return wrong(m, "found the end of the pickle, expected one value on the stack");
            if (m->at != m->length) return wrong(m, "found bytes after the end of the pickle");
            m->pickle->root = m->stack[0];
            return TLA_OK;
        }
        status = step(m, *opcode);
    }
    return status;
}
