/* Constraints: names and quantities become parameters of an SQL expression, which SQLite evaluates. */
#include "constraint.h"
#include "model/base/grow.h"

#include "model/config/platform.h"

#include <ctype.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 64, TEXT_MAX = 4096 };

typedef struct constraint {
    sqlite3_stmt *statement;
    size_t names[NAMES_MAX]; /* of the parameters ?1, ?2, ... */
    size_t name_count;
    bool done; /* of the point that is looked at */
} constraint;

/* The meaning of a constraint's name. */
typedef struct known_value {
    bool known, is_number;
    uint64_t number;
    char text[256];
} known_value;

struct sweep_constraints {
    const sweep *s;
    sqlite3 *database;
    constraint *items;
    size_t count;
    unsigned selects;                   /* in the expression that is compiled */
    char (*names)[TLA_CONFIG_PATH_MAX]; /* every name that some constraint has */
    size_t name_count;
    known_value *fixed; /* of the names that have one value at all points, once a configuration was read */
};

/* Functions that take no longer than their arguments are: no patterns, whose time grows with a power of the text, and
 * nothing that makes large texts. */
static const char *const functions[] = {"abs",    "ceil",  "coalesce", "floor", "ifnull", "iif",    "instr",
                                        "length", "log2",  "lower",    "max",   "min",    "mod",    "nullif",
                                        "pow",    "round", "sign",     "sqrt",  "substr", "typeof", "upper"};

/* An expression reads only its own names. It cannot have a SELECT, so it has no loop, and ends after at most as many
 * steps as it has words. */
static int authorize(void *context, int action, const char *a, const char *b, const char *c, const char *d) {
    sweep_constraints *made = context;
    (void)a, (void)c, (void)d;
    if (action == SQLITE_SELECT) return made->selects++ == 0 ? SQLITE_OK : SQLITE_DENY;
    for (size_t i = 0; action == SQLITE_FUNCTION && b && i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i], b) == 0) return SQLITE_OK;
    return SQLITE_DENY;
}

/* How long the word is that begins here: a name, a number, or an option, whose dashes are part of it. */
static size_t word_length(const char *at) {
    const bool option = strncmp(at, "--", 2) == 0;
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == '.' ||
           (option && at[length] == '-'))
        length++;
    return length;
}

static const tla_schema_key *find_key(const char *name) {
    for (size_t i = 0; i < tla_platform_key_count; i++)
        if (strcmp(tla_platform_keys[i].key, name) == 0) return &tla_platform_keys[i];
    return NULL;
}

static const sweep_factor *find_factor(const sweep *s, const char *name, size_t *index) {
    for (size_t i = 0; i < s->factor_count; i++)
        if (strcmp(s->factors[i].name, name) == 0) {
            *index = i;
            return &s->factors[i];
        }
    return NULL;
}

/* The number of a name in the list of all, added where it is new; SIZE_MAX without host memory. */
static size_t number_of(sweep_constraints *c, const char *name) {
    for (size_t i = 0; i < c->name_count; i++)
        if (strcmp(c->names[i], name) == 0) return i;
    if (!tla_grow_by_one(&c->names, c->name_count, sizeof *c->names)) return SIZE_MAX;
    snprintf(c->names[c->name_count], sizeof *c->names, "%s", name);
    return c->name_count++;
}

/* A quantity that begins at `at`: its number, and how long it is; 0 where it is none. */
static size_t quantity(const char *at, uint64_t *number) {
    size_t digits = strspn(at, "0123456789.");
    const char *unit = at + digits + strspn(at + digits, " ");
    size_t length = 0;
    while (isalpha((unsigned char)unit[length]) || unit[length] == '/' || unit[length] == '%')
        length++;
    if (!digits || !length) return 0;
    const tla_phrase text = tla_phrase_of("%.*s %.*s", (int)digits, at, (int)length, unit);
    for (tla_value_type type = TLA_VALUE_SIZE; type <= TLA_VALUE_LAST_NUMBER; type++)
        if (tla_number_parse(type, text.text, number, NULL) == TLA_OK) return (size_t)(unit + length - at);
    return 0;
}

/* Writes the expression with parameters in place of names and numbers in place of quantities. */
static tla_status rewrite(sweep_constraints *c, constraint *item, const char *text, char *out, tla_error *error) {
    size_t length = (size_t)snprintf(out, TEXT_MAX, "SELECT CASE WHEN (");
    for (const char *at = text; *at;) {
        if (length + 2 * TLA_CONFIG_PATH_MAX > TEXT_MAX)
            return tla_error_set(error, TLA_SYNTAX, "the expression of %zu bytes is too long", strlen(text));
        char name[TLA_CONFIG_PATH_MAX];
        size_t word = word_length(at), factor = 0;
        uint64_t number;
        snprintf(name, sizeof name, "%.*s", (int)(word < sizeof name ? word : 0), at);
        const size_t as_quantity = isdigit((unsigned char)*at) ? quantity(at, &number) : 0;
        if (as_quantity) {
            length += (size_t)snprintf(out + length, TEXT_MAX - length, "%" PRIu64, number);
            at += as_quantity;
        } else if (*name && (find_factor(c->s, name, &factor) || (find_key(name) && sweep_has_config(c->s)))) {
            if (item->name_count == NAMES_MAX)
                return tla_error_set(error, TLA_SYNTAX, "more names than the limit of %d", NAMES_MAX);
            const size_t index = number_of(c, name);
            if (index == SIZE_MAX) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a constraint");
            item->names[item->name_count++] = index;
            length += (size_t)snprintf(out + length, TEXT_MAX - length, "?%zu", item->name_count);
            at += word;
        } else if (*name && (strchr(name, '.') && isalpha((unsigned char)*name))) {
            return tla_error_set(error, TLA_SYNTAX, "unknown key %s", tla_quote(name).text);
        } else if (*at == '\'' || *at == '"') { /* a text stays as it is */
            const char *end = strchr(at + 1, *at);
            const size_t quoted = end ? (size_t)(end + 1 - at) : strlen(at);
            if (length + quoted + 64 > TEXT_MAX)
                return tla_error_set(error, TLA_SYNTAX, "the expression has a text that is too long");
            memcpy(out + length, at, quoted);
            length += quoted;
            at += quoted;
        } else {
            size_t copied = word ? word : 1;
            if (length + copied + 64 > TEXT_MAX)
                return tla_error_set(error, TLA_SYNTAX, "the expression has a word that is too long");
            memcpy(out + length, at, copied);
            length += copied;
            at += copied;
        }
    }
    snprintf(out + length, TEXT_MAX - length, "\n) THEN 1 ELSE 0 END");
    return TLA_OK;
}

static tla_status compile(sweep_constraints *c, constraint *item, const char *text, tla_error *error) {
    char sql[TEXT_MAX];
    const tla_status status = rewrite(c, item, text, sql, error);
    if (status) return status;
    const char *rest = NULL;
    c->selects = 0;
    if (sqlite3_prepare_v2(c->database, sql, -1, &item->statement, &rest) == SQLITE_NOMEM)
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for a constraint");
    if (!item->statement || rest[strspn(rest, " \n")])
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected an expression over keys: %s", tla_quote(text).text,
                             item->statement ? "text after the expression" : sqlite3_errmsg(c->database));
    return TLA_OK;
}

tla_status constraints_compile(const sweep *s, sweep_constraints **made, size_t *bad, tla_error *error) {
    *made = NULL;
    *bad = 0;
    if (!s->constraint_count) return TLA_OK;
    sweep_constraints *c = calloc(1, sizeof *c);
    tla_status status = c ? TLA_OK : TLA_NO_HOST_MEMORY;
    if (c) {
        c->s = s;
        c->items = calloc(s->constraint_count, sizeof *c->items);
        if (!c->items || sqlite3_open(":memory:", &c->database) != SQLITE_OK) status = TLA_NO_HOST_MEMORY;
        if (!status) sqlite3_set_authorizer(c->database, authorize, c);
    }
    if (status) tla_error_set(error, status, "no host memory for constraints");
    for (size_t i = 0; i < s->constraint_count && !status; i++) {
        *bad = i;
        c->count = i + 1;
        status = compile(c, &c->items[i], s->constraints[i], error);
    }
    if (!status && !(c->fixed = calloc(c->name_count + 1, sizeof *c->fixed)))
        status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for constraints");
    if (status)
        constraints_free(c);
    else
        *made = c;
    return status;
}

/* ---- values ---- */

typedef struct values {
    const sweep_constraints *c;
    known_value *items;
} values;

/* Whether a key has the same value at every point: it is not swept, and follows none that is. */
static bool is_fixed(const sweep *s, const char *name) {
    size_t factor;
    if (find_factor(s, name, &factor) || !find_key(name)) return false;
    for (size_t i = 0; i < s->factor_count; i++)
        if (tla_platform_key_follows(name, s->factors[i].name)) return false;
    return true;
}

/* A key's value as a configuration has it. */
static void take_value(values *v, size_t name, const tla_schema_key *key, const tla_value *value) {
    v->items[name].known = true;
    v->items[name].is_number = tla_schema_is_number(key);
    v->items[name].number = value->number;
    snprintf(v->items[name].text, sizeof v->items[name].text, "%s", tla_value_print(&key->form, value).text);
}

/* The values of keys and options that the point sets itself. */
static void take_own(values *v, int64_t point) {
    const sweep *s = v->c->s;
    for (size_t i = 0; i < v->c->name_count; i++) {
        v->items[i] = v->c->fixed[i];
        size_t factor;
        const sweep_factor *f = find_factor(s, v->c->names[i], &factor);
        tla_phrase text;
        tla_value value;
        if (!f || !sweep_value(s, point, factor, &text)) continue;
        const tla_schema_key *key = f->kind == SWEEP_KEY && sweep_has_config(s) ? find_key(f->name) : NULL;
        if (key) {
            if (tla_value_parse(&key->form, text.text, &value, NULL) == TLA_OK) take_value(v, i, key, &value);
            continue;
        }
        uint64_t *number = &v->items[i].number;
        v->items[i].known = true;
        v->items[i].is_number =
            (f->type <= TLA_VALUE_LAST_NUMBER && tla_number_parse(f->type, text.text, number, NULL) == TLA_OK) ||
            quantity(text.text, number) == strlen(text.text);
        snprintf(v->items[i].text, sizeof v->items[i].text, "%s", text.text);
    }
}

/* The values of all other keys; those that are fixed stay. */
static void take_resolved(values *v, const tla_config *config) {
    for (size_t i = 0; i < v->c->name_count; i++) {
        const tla_schema_key *key = v->items[i].known ? NULL : find_key(v->c->names[i]);
        if (!key) continue;
        const tla_value value = tla_schema_get(key, config);
        take_value(v, i, key, &value);
        if (is_fixed(v->c->s, v->c->names[i])) v->c->fixed[i] = v->items[i];
    }
}

static bool all_known(const constraint *item, const values *v) {
    for (size_t i = 0; i < item->name_count; i++)
        if (!v->items[item->names[i]].known) return false;
    return true;
}

static void bind(const constraint *item, const values *v) {
    for (size_t i = 0; i < item->name_count; i++) {
        const size_t name = item->names[i];
        const int parameter = (int)i + 1;
        if (!v->items[name].known)
            sqlite3_bind_null(item->statement, parameter);
        else if (v->items[name].is_number && v->items[name].number <= INT64_MAX)
            sqlite3_bind_int64(item->statement, parameter, (sqlite3_int64)v->items[name].number);
        else if (v->items[name].is_number)
            sqlite3_bind_double(item->statement, parameter, (double)v->items[name].number);
        else
            sqlite3_bind_text(item->statement, parameter, v->items[name].text, -1, SQLITE_TRANSIENT);
    }
}

static bool holds(constraint *item, const values *v) {
    item->done = true;
    sqlite3_reset(item->statement);
    bind(item, v);
    return sqlite3_step(item->statement) != SQLITE_ROW || sqlite3_column_int(item->statement, 0) != 0;
}

bool constraints_hold(sweep_constraints *c, int64_t point) {
    if (!c) return true;
    values v = {.c = c, .items = calloc(c->name_count + 1, sizeof *v.items)};
    tla_config config;
    bool hold = true, more = false;
    if (v.items) take_own(&v, point);
    for (size_t i = 0; i < c->count && hold && v.items; i++) {
        c->items[i].done = false;
        if (all_known(&c->items[i], &v))
            hold = holds(&c->items[i], &v);
        else
            more = true;
    }
    if (hold && more && v.items && (!sweep_has_config(c->s) || sweep_config(c->s, point, &config, NULL) == TLA_OK)) {
        if (sweep_has_config(c->s)) take_resolved(&v, &config);
        for (size_t i = 0; i < c->count && hold; i++)
            if (!c->items[i].done) hold = holds(&c->items[i], &v);
    }
    free(v.items);
    return hold;
}

void constraints_free(sweep_constraints *c) {
    if (!c) return;
    for (size_t i = 0; i < c->count; i++)
        sqlite3_finalize(c->items[i].statement);
    sqlite3_close(c->database);
    free(c->items);
    free(c->names);
    free(c->fixed);
    free(c);
}
