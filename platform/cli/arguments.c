/* Command lines: argp, with what an option that does not exist may have meant. */
#include "cli/arguments.h"

#include "cli/commands.h"
#include "model/base/escape.h"
#include "model/base/suggest.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct argp_option builtin[] = {{"help", '?', 0, 0, 0, 0}, {"usage", 0, 0, 0, 0, 0}, {0}};

static bool is_end(const struct argp_option *o) {
    return !o->name && !o->key && !o->doc && !o->group;
}

/* Finds the option of an abbreviation: the option of that name, or the only option that begins so; *count is the number
 * of options that begin so. */
static const struct argp_option *find_long(const struct argp *parser, const char *name, size_t length, int *count) {
    const struct argp_option *const tables[] = {parser->options, builtin};
    const struct argp_option *found = NULL;
    *count = 0;
    for (int table = 0; table < 2; table++)
        for (const struct argp_option *o = tables[table]; !is_end(o); o++) {
            if (!o->name || strncmp(o->name, name, length) != 0) continue;
            ++*count;
            found = o;
            if (!o->name[length]) {
                *count = 1;
                return o;
            }
        }
    return found;
}

static const struct argp_option *find_short(const struct argp *parser, char key) {
    for (const struct argp_option *o = parser->options; !is_end(o); o++)
        if (o->key == key) return o;
    return NULL;
}

_Noreturn static void refuse(const struct argp *parser, const char *command, const char *name, size_t length) {
    char text[128];
    tla_escape(name, length, text, sizeof text);
    tla_nearest nearest = tla_nearest_to(text);
    const struct argp_option *const tables[] = {parser->options, builtin};
    for (int table = 0; table < 2; table++)
        for (const struct argp_option *o = tables[table]; !is_end(o); o++)
            if (o->name) tla_nearest_try(&nearest, o->name, strlen(o->name));
    fprintf(stderr, "%s: unrecognized option '--%s'", command, text);
    if (nearest.found) fprintf(stderr, ", did you mean \"--%s\"?", nearest.name.text);
    fprintf(stderr, "\nTry `%s --help' or `%s --usage' for more information.\n", command, command);
    exit(CLI_BAD_INPUT);
}

/* getopt does not print the values that the option takes. */
_Noreturn static void reject_without_value(const char *command, const struct argp_option *o) {
    fprintf(stderr, "%s: option '--%s' requires an argument: %s\n", command, o->name, o->arg);
    fprintf(stderr, "Try `%s --help' or `%s --usage' for more information.\n", command, command);
    exit(CLI_BAD_INPUT);
}

/* Whether the argument after this group of short options belongs to it. */
static bool takes_next(const struct argp *parser, const char *group) {
    for (const char *key = group; *key; key++) {
        const struct argp_option *o = find_short(parser, *key);
        if (o && o->arg) return !key[1];
    }
    return false;
}

/* getopt rejects an unknown option itself, but does not suggest a name. */
static void check_names(const struct argp *parser, int argc, char **argv) {
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *name = argv[i] + 2;
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (getenv("POSIXLY_CORRECT")) return; /* options end here */
            continue;
        }
        if (argv[i][1] != '-') {
            i += takes_next(parser, argv[i] + 1);
            continue;
        }
        int count;
        size_t length = strcspn(name, "=");
        const struct argp_option *o = find_long(parser, name, length, &count);
        if (count == 0) refuse(parser, argv[0], name, length);
        if (count == 1 && o->arg && !name[length] && ++i == argc) reject_without_value(argv[0], o);
    }
}

void parse_arguments(const struct argp *parser, int argc, char **argv, void *input) {
    argp_err_exit_status = CLI_BAD_INPUT;
    check_names(parser, argc, argv);
    argp_parse(parser, argc, argv, 0, NULL, input);
}

void argument_error(const struct argp_state *state, const char *format, ...) {
    char text[1024], escaped[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tla_escape(text, strlen(text), escaped, sizeof escaped);
    argp_error(state, "%s", escaped);
}
