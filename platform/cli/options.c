/* The options of a command as a table: how each is shown, read and kept. */
#include "cli/options.h"

#include "cli/commands.h"
#include "cli/text_list.h"
#include "tlmalloc/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void option_flag(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    (void)state, (void)option, (void)text;
    *(bool *)member = true;
}

void option_text(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    (void)state, (void)option;
    *(const char **)member = text;
}

void option_each(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    (void)option;
    if (!text_list_add(member, text)) argp_failure(state, CLI_FAILED, 0, "no host memory");
}

/* Whether there is nothing but digits. */
static bool is_bare(const char *text) {
    return *text && !text[strspn(text, "0123456789")];
}

/* Whether the text is a number, which is at most `high`. */
static bool read_number(const char *text, uint64_t high, uint64_t *number) {
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    *number = value;
    return *text >= '0' && *text <= '9' && !*end && !errno && value <= high;
}

static void read_size(const struct argp_state *state, const option_row *option, const char *text, bool power_of_two,
                      uint64_t *nbytes) {
    tla_error found;
    if (!is_bare(text) && tla_parse_size(text, nbytes, &found))
        argument_error(state, "--%s: %s", option->name, found.text);
    if (is_bare(text) && !read_number(text, UINT64_MAX, nbytes))
        argument_error(state, "--%s: found '%s', expected at most 2^63 bytes", option->name, text);
    if (*nbytes == 0 || *nbytes > (UINT64_C(1) << 63) || (power_of_two && *nbytes & (*nbytes - 1)))
        argument_error(state, "--%s: found '%s', expected %s1 byte to 2^63 bytes", option->name, text,
                       power_of_two ? "a power of two, " : "");
}

void option_size(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    read_size(state, option, text, false, member);
}

void option_align(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    read_size(state, option, text, true, member);
}

void option_number(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    uint64_t *const number = member;
    if (read_number(text, option->high, number) && *number >= option->low) return;
    if (option->expected) argument_error(state, "--%s: found '%s', expected %s", option->name, text, option->expected);
    argument_error(state, "--%s: found '%s', expected %" PRIu64 " .. %" PRIu64, option->name, text, option->low,
                   option->high);
}

void option_device(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    enum { DEVICE_MAX = 4095 };
    uint64_t number;
    if (!read_number(text, DEVICE_MAX, &number))
        argument_error(state, "--%s: found '%s', expected a device number, 0 .. %d%s", option->name, text, DEVICE_MAX,
                       option->expected ? option->expected : "");
    *(int *)member = (int)number;
}

void argument_once(const struct argp_state *state, const option_row *option, const char *text, void *member) {
    const char **const argument = member;
    if (*argument) argument_error(state, "found a second argument '%s', expected one %s", text, option->name);
    *argument = text;
}

/* The parser: argp's table is made of ours. A long option without a letter has the key KEY_FIRST and its row. */

enum { KEY_FIRST = 256 };

typedef struct reading {
    const command_line *line;
    void *options;
} reading;

static bool is_end(const option_row *row) {
    return !row->name && !row->help;
}

static const option_row *find_row(const command_line *line, int key) {
    if (key == ARGP_KEY_ARG) return &line->argument;
    if (key >= KEY_FIRST && key < KEY_FIRST + OPTION_ROWS_MAX) return &line->options[key - KEY_FIRST];
    for (const option_row *row = line->options; !is_end(row); row++)
        if (row->letter && row->letter == key) return row;
    return NULL;
}

static error_t read_option(int key, char *text, struct argp_state *state) {
    const reading *const in = state->input;
    const option_row *const row = find_row(in->line, key);
    if (row)
        row->read(state, row, text, (char *)in->options + row->member);
    else if (key == ARGP_KEY_END && in->line->check)
        in->line->check(state, in->options);
    else
        return ARGP_ERR_UNKNOWN;
    return 0;
}

/* argp's own options stand behind the last group. */
static void show(const option_row *rows, struct argp_option *table) {
    int groups = 0, i = 0;
    for (; !is_end(&rows[i]); i++) {
        assert(i < OPTION_ROWS_MAX);
        const option_row *const row = &rows[i];
        const int key = row->letter ? row->letter : KEY_FIRST + i;
        table[i] = row->read ? (struct argp_option){row->name, key, row->value, 0, row->help, 0}
                             : (struct argp_option){.doc = row->help, .group = ++groups};
    }
    if (groups) table[i++] = (struct argp_option){.group = -1};
    table[i] = (struct argp_option){0};
}

void command_line_read(const command_line *line, int argc, char **argv, void *options) {
    struct argp_option table[OPTION_ROWS_MAX + 2];
    const struct argp parser = {table, read_option, line->usage, line->description, NULL, NULL, NULL};
    show(line->options, table);
    parse_arguments(&parser, argc, argv, &(reading){line, options});
}
