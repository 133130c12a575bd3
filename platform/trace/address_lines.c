/* Reads lines of DRAMSys, DRAMsim3 and Ramulator traces. */
#include "trace/address_lines.h"

#include <string.h>
#include <strings.h>

enum { WORDS_MAX = 6 };

#define BYTES_MAX (UINT64_C(1) << 30)

static bool blank(char c) {
    return c == ' ' || c == '\t';
}

/* The words of a line; those past the most join the last one. */
static int split_words(const char *begin, const char *end, table_field *words, int most) {
    int count = 0;
    for (const char *p = begin;;) {
        while (p < end && blank(*p))
            p++;
        if (p == end || count == most) return count;
        words[count].begin = p;
        while (p < end && !blank(*p))
            p++;
        words[count++].end = p;
    }
}

static bool hexadecimal(table_field field, uint64_t *number) {
    const char *p = field.begin;
    if (field.end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X')) p += 2;
    if (p == field.end || field.end - p > 16) return false;
    *number = 0;
    for (; p < field.end; p++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *digit = memchr(digits, *p, sizeof digits - 1);
        if (digit == NULL) return false;
        const uint64_t value = (uint64_t)(digit - digits);
        *number = *number << 4 | (value < 16 ? value : value - 6);
    }
    return true;
}

/* Whether a field is a word, in letters of any case. `word` is in small letters. */
static bool equals_any_case(table_field field, const char *word) {
    return (size_t)(field.end - field.begin) == strlen(word) && strncasecmp(field.begin, word, strlen(word)) == 0;
}

/* An operation of DRAMSys; recorders of its traces write Read and Write, too. */
static bool is_operation(table_field word) {
    return equals_any_case(word, "read") || equals_any_case(word, "write");
}

address_lines address_lines_of(const char *text, size_t length) {
    const char *const all = text + length;
    table_field words[2];
    for (const char *line = text, *end; line < all; line = end + 1) {
        end = memchr(line, '\n', (size_t)(all - line));
        if (end == NULL) end = all;
        const char *last = end > line && end[-1] == '\r' ? end - 1 : end;
        const int count = split_words(line, last, words, 2);
        if (count == 0 || *words[0].begin == '#') continue;
        if (table_equals(words[0], "LD") || table_equals(words[0], "ST")) return ADDRESS_LINES_RAMULATOR;
        if (count == 1) return ADDRESS_LINES_NONE;
        const bool cycle_first = words[0].end[-1] == ':';
        if (!cycle_first && (table_equals(words[1], "READ") || table_equals(words[1], "WRITE")))
            return ADDRESS_LINES_DRAMSIM3;
        return is_operation(words[1]) || *words[1].begin == '(' ? ADDRESS_LINES_DRAMSYS : ADDRESS_LINES_NONE;
    }
    return ADDRESS_LINES_NONE;
}

static tla_status read_cycle(const trace_table *table, const address_trace_rules *rules, table_field word,
                             tla_traffic_access *access, tla_error *error) {
    uint64_t cycle;
    if (!table_number(word, &cycle) || cycle >= TLA_TRAFFIC_PS_MAX / rules->tck_ps)
        return table_found(table, word, "a cycle, which begins before 2^63 ps", error);
    access->at_ps = cycle * rules->tck_ps;
    return TLA_OK;
}

static tla_status read_address(const trace_table *table, table_field word, tla_traffic_access *access,
                               tla_error *error) {
    return hexadecimal(word, &access->address) ? TLA_OK : table_found(table, word, "a hexadecimal address", error);
}

static tla_status read_op(const trace_table *table, table_field word, const char *read, const char *write,
                          const char *expected, tla_traffic_access *access, tla_error *error) {
    const bool any_case = *read == 'r';
    const bool is_write = any_case ? equals_any_case(word, write) : table_equals(word, write);
    if (!is_write && !(any_case ? equals_any_case(word, read) : table_equals(word, read)))
        return table_found(table, word, expected, error);
    access->op = is_write ? TLA_HBM_WRITE : TLA_HBM_READ;
    return TLA_OK;
}

static tla_status too_few(const trace_table *table, const char *expected, tla_error *error) {
    return table_found(table, (table_field){table->line.end, table->line.end}, expected, error);
}

/* CYCLE: [(BYTES)] read|write ADDRESS [DATA] */
static tla_status read_dramsys(const address_trace_rules *rules, const trace_table *table, table_field *words,
                               int count, tla_traffic_access *access, address_fields *fields, tla_error *error) {
    static const char expected[] = "CYCLE: [(BYTES)] read or write, ADDRESS";
    table_field cycle = words[0];
    if (cycle.end[-1] == ':') cycle.end--;
    tla_status status = read_cycle(table, rules, cycle, access, error);
    if (status != TLA_OK) return status;
    int next = 1;
    if (count > 1 && *words[1].begin == '(') {
        const table_field bytes = {words[1].begin + 1, words[1].end - 1};
        uint64_t nbytes = 0;
        if (words[1].end[-1] != ')' || bytes.end <= bytes.begin || !table_number(bytes, &nbytes) || nbytes == 0 ||
            nbytes > BYTES_MAX)
            return table_found(table, words[1], "a number of bytes in parentheses, 1 .. 2^30", error);
        access->nbytes = (uint32_t)nbytes;
        next = 2;
    }
    if (count < next + 2) return too_few(table, expected, error);
    *fields = (address_fields){cycle, words[next + 1], words[next == 2 ? 1 : next + 1], "a hexadecimal"};
    status = read_op(table, words[next], "read", "write", "read or write", access, error);
    if (status == TLA_OK) status = read_address(table, words[next + 1], access, error);
    if (status == TLA_OK && count > next + 3) return table_found(table, words[next + 3], "the end of the line", error);
    return status;
}

/* ADDRESS READ|WRITE CYCLE */
static tla_status read_dramsim3(const address_trace_rules *rules, const trace_table *table, table_field *words,
                                int count, tla_traffic_access *access, address_fields *fields, tla_error *error) {
    if (count < 3) return too_few(table, "ADDRESS READ or WRITE, CYCLE", error);
    *fields = (address_fields){words[2], words[0], words[0], "a hexadecimal"};
    tla_status status = read_address(table, words[0], access, error);
    if (status == TLA_OK) status = read_op(table, words[1], "READ", "WRITE", "READ or WRITE", access, error);
    if (status == TLA_OK) status = read_cycle(table, rules, words[2], access, error);
    if (status == TLA_OK && count > 3) return table_found(table, words[3], "the end of the line", error);
    return status;
}

/* LD|ST ADDRESS */
static tla_status read_ramulator(const trace_table *table, table_field *words, int count, tla_traffic_access *access,
                                 address_fields *fields, tla_error *error) {
    if (count < 2) return too_few(table, "LD or ST, ADDRESS", error);
    const tla_status status = read_op(table, words[0], "LD", "ST", "LD or ST", access, error);
    if (status != TLA_OK) return status;
    *fields = (address_fields){words[0], words[1], words[1], "an"};
    const bool hex = words[1].end - words[1].begin > 2 && (words[1].begin[1] | 0x20) == 'x';
    if (!(hex ? hexadecimal(words[1], &access->address) : table_number(words[1], &access->address)))
        return table_found(table, words[1], "a decimal address, or a hexadecimal one with 0x", error);
    return count > 2 ? table_found(table, words[2], "the end of the line", error) : TLA_OK;
}

tla_status address_lines_next(address_lines format, const address_trace_rules *rules, trace_table *table, bool *more,
                              tla_traffic_access *access, address_fields *fields, tla_error *error) {
    table_field words[WORDS_MAX];
    int count = 0;
    do {
        const tla_status status = trace_file_line(table->file, &table->line.begin, &table->line.end, more, error);
        if (status != TLA_OK || !*more) return status;
        table->line_number = trace_file_line_number(table->file);
        count = split_words(table->line.begin, table->line.end, words, WORDS_MAX);
    } while (count == 0 || *words[0].begin == '#');
    *access = (tla_traffic_access){.nbytes = rules->burst_bytes};
    if (format == ADDRESS_LINES_DRAMSYS) return read_dramsys(rules, table, words, count, access, fields, error);
    if (format == ADDRESS_LINES_DRAMSIM3) return read_dramsim3(rules, table, words, count, access, fields, error);
    return read_ramulator(table, words, count, access, fields, error);
}
