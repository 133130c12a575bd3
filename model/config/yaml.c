/* A YAML text against the schema.
 *
 * The event stream of libyaml is walked in one pass, so that findings are in the order of the file, up to and including
 * a syntax error. Nothing is ever built from it (no aliases to expand, no depth to exhaust). */
#include "base/suggest.h"
#include "loader.h"

#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct reader {
    tla_loader *loader;
    const char *text;
    size_t length;
    yaml_parser_t parser;
} reader;

static tla_place place_of(const reader *r, yaml_mark_t mark) {
    return (tla_place){r->loader->file, mark.line + 1, mark.column + 1};
}

/* Returns the place of a byte that libyaml's reader rejects: libyaml has only an offset for it. */
static tla_place place_of_offset(const reader *r, size_t offset) {
    tla_place at = {r->loader->file, 1, 1};
    const char *text = r->text;
    for (size_t i = 0; i < offset; i++) {
        if (text[i] == '\n' || (text[i] == '\r' && text[i + 1] != '\n'))
            at = (tla_place){at.file, at.line + 1, 1};
        else if ((text[i] & 0xc0) != 0x80)
            at.column++;
    }
    return at;
}

static void find_syntax_error(reader *r) {
    const yaml_parser_t *p = &r->parser;
    r->loader->incomplete = true;
    if (p->error == YAML_MEMORY_ERROR)
        r->loader->no_memory = true;
    else if (p->error == YAML_READER_ERROR && p->problem_value >= 0)
        tla_loader_find(r->loader, place_of_offset(r, p->problem_offset), "not YAML: %s (found 0x%02x)", p->problem,
                        (unsigned)p->problem_value);
    else if (p->error == YAML_READER_ERROR)
        tla_loader_find(r->loader, place_of_offset(r, p->problem_offset), "not YAML: %s", p->problem);
    else
        tla_loader_find(r->loader, place_of(r, p->problem_mark), "not YAML: %s%s%s%s", p->problem,
                        p->context ? ", " : "", p->context ? p->context : "",
                        tla_tab_hint(r->text, r->length, p->problem_mark.line + 1));
}

/* Returns the next event, which the caller deletes; false when the file cannot be read further. Anchors and tags are
 * rejected here, aliases at their places. */
static bool next(reader *r, yaml_event_t *event) {
    if (tla_loader_is_full(r->loader)) {
        r->loader->incomplete = true;
        return false;
    }
    if (!yaml_parser_parse(&r->parser, event)) {
        find_syntax_error(r);
        return false;
    }
    const yaml_char_t *anchor = NULL, *tag = NULL;
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    tla_place at = place_of(r, event->start_mark);
    if (anchor)
        tla_loader_find(r->loader, at, "found the anchor %s, expected none", tla_quote((const char *)anchor).text);
    if (tag) tla_loader_find(r->loader, at, "found the tag %s, expected none", tla_quote((const char *)tag).text);
    return true;
}

/* Reads up to the end of the node that began with this event. libyaml's time grows with the square of the depth, so
 * there is an end to it. */
static bool skip(reader *r, yaml_event_type_t type) {
    enum { DEPTH_MAX = 32 };
    int depth = 0;
    for (;;) {
        if (type == YAML_SEQUENCE_START_EVENT || type == YAML_MAPPING_START_EVENT) depth++;
        if (type == YAML_SEQUENCE_END_EVENT || type == YAML_MAPPING_END_EVENT) depth--;
        if (depth == 0) return true;
        yaml_event_t event;
        if (!next(r, &event)) return false;
        type = event.type;
        tla_place at = place_of(r, event.start_mark);
        yaml_event_delete(&event);
        if (depth == DEPTH_MAX) {
            tla_loader_find(r->loader, at, "found more than %d nested levels, expected a few", DEPTH_MAX);
            r->loader->incomplete = true;
            return false;
        }
    }
}

static bool skip_next(reader *r) {
    yaml_event_t event;
    if (!next(r, &event)) return false;
    yaml_event_type_t type = event.type;
    yaml_event_delete(&event);
    return skip(r, type);
}

static bool is_nothing(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT && event->data.scalar.length == 0 &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

static bool has_nul(const yaml_event_t *scalar) {
    return strlen((const char *)scalar->data.scalar.value) != scalar->data.scalar.length;
}

/* Describes an event, for "found ...". */
static tla_phrase found(const yaml_event_t *event) {
    if (event->type == YAML_SEQUENCE_START_EVENT) return (tla_phrase){"a sequence"};
    if (event->type == YAML_MAPPING_START_EVENT) return (tla_phrase){"a mapping"};
    if (is_nothing(event)) return (tla_phrase){"nothing"};
    if (event->type == YAML_SCALAR_EVENT) {
        if (has_nul(event)) return (tla_phrase){"a text with a NUL character"};
        return tla_quote((const char *)event->data.scalar.value);
    }
    return tla_phrase_of("the alias %s", tla_quote((const char *)event->data.alias.anchor).text);
}

static bool walk_mapping(reader *r, const char *section);

static bool is_text(const yaml_event_t *event) {
    return event->type == YAML_SCALAR_EVENT && !is_nothing(event) && !has_nul(event);
}

static tla_written written(const reader *r, const yaml_event_t *scalar) {
    return (tla_written){(const char *)scalar->data.scalar.value, place_of(r, scalar->start_mark)};
}

/* A finding about a key of the schema. */
static void find_of(reader *r, const tla_schema_key *key, tla_place at, const char *what) {
    char text[2 * sizeof(tla_error)];
    snprintf(text, sizeof text, "%s: %s", key->key, what);
    tla_loader_find_at(r->loader, &(tla_origin){.at = at, .key = key->key}, text);
}

/* A value of another kind than its key wants, which is passed over. The key may be one of the file's own. */
static bool refuse_value(reader *r, const char *key, const yaml_event_t *event, const char *expected) {
    const tla_place at = place_of(r, event->start_mark);
    const size_t known = tla_schema_find(r->loader->schema, key);
    char what[3 * sizeof(tla_phrase)];
    snprintf(what, sizeof what, "found %s, expected %s", found(event).text, expected);
    if (known < r->loader->schema->count)
        find_of(r, &r->loader->schema->keys[known], at, what);
    else
        tla_loader_find(r->loader, at, "%s: %s", key, what);
    return skip(r, event->type);
}

/* A key that is no text, which is passed over with its value. */
static bool refuse_key(reader *r, const yaml_event_t *event) {
    tla_loader_find(r->loader, place_of(r, event->start_mark), "found %s, expected a key", found(event).text);
    return skip(r, event->type) && skip_next(r);
}

/* The pairs of a mapping that has begun, with keys of its own: each is handed on. */
static bool walk_pairs(reader *r, size_t key) {
    for (bool end = false, go_on = true;;) {
        yaml_event_t name, value;
        if (!next(r, &name)) return false;
        end = name.type == YAML_MAPPING_END_EVENT;
        if (!end && !is_text(&name)) {
            go_on = refuse_key(r, &name);
        } else if (!end && (go_on = next(r, &value))) {
            const tla_written pair[] = {written(r, &name), written(r, &value)};
            if (is_text(&value))
                r->loader->schema->keys[key].take(r->loader, key, &pair[0], &pair[1]);
            else
                go_on = refuse_value(r, (const char *)name.data.scalar.value, &value, "one value");
            yaml_event_delete(&value);
        }
        yaml_event_delete(&name);
        if (end || !go_on) return go_on;
    }
}

/* A row that has begun, by a schema of its own. */
static bool walk_row(reader *r, size_t key, tla_place at) {
    tla_loader *const outer = r->loader;
    const tla_schema_key *k = &outer->schema->keys[key];
    tla_loader inner = *outer;
    k->take(outer, key, NULL, &(tla_written){NULL, at});
    inner.schema = k->rows;
    inner.origins = calloc(k->rows->count, sizeof *inner.origins);
    inner.sections = calloc(k->rows->count, sizeof *inner.sections);
    inner.no_memory = !inner.origins || !inner.sections;
    r->loader = &inner;
    const bool go_on = !inner.no_memory && walk_mapping(r, "");
    if (go_on) k->rows->check(&inner);
    r->loader = outer;
    free(inner.origins);
    free(inner.sections);
    outer->findings = inner.findings;
    outer->incomplete = inner.incomplete;
    outer->no_memory |= inner.no_memory;
    return go_on;
}

/* A sequence without rows or texts. */
static void find_none(reader *r, const tla_schema_key *key, tla_place at) {
    find_of(r, key, at, tla_phrase_of("found none, expected %s", tla_value_expected(&key->form).text).text);
}

/* The rows of a sequence that has begun. */
static bool walk_rows(reader *r, size_t key, tla_place at) {
    const tla_schema_key *k = &r->loader->schema->keys[key];
    for (size_t count = 0;; count++) {
        yaml_event_t event;
        if (!next(r, &event)) return false;
        const tla_place row_at = place_of(r, event.start_mark);
        const bool end = event.type == YAML_SEQUENCE_END_EVENT;
        bool go_on = true;
        if (!end && event.type == YAML_MAPPING_START_EVENT)
            go_on = walk_row(r, key, row_at);
        else if (!end)
            go_on = refuse_value(r, k->key, &event,
                                 tla_phrase_of("a mapping with keys such as %s", k->rows->keys[0].key).text);
        else if (count == 0)
            find_none(r, k, at);
        yaml_event_delete(&event);
        if (end || !go_on) return go_on;
    }
}

/* The texts of a sequence that has begun: each is handed on. */
static bool walk_list(reader *r, size_t key, tla_place key_at, tla_place at) {
    const tla_schema_key *k = &r->loader->schema->keys[key];
    for (size_t count = 0;; count++) {
        yaml_event_t event;
        if (!next(r, &event)) return false;
        const bool end = event.type == YAML_SEQUENCE_END_EVENT;
        bool go_on = true;
        if (!end && is_text(&event)) {
            const tla_written value = written(r, &event);
            k->take(r->loader, key, &(tla_written){k->key, key_at}, &value);
        } else if (!end) {
            go_on = refuse_value(r, k->key, &event, "one value");
        } else if (count == 0) {
            find_none(r, k, at);
        }
        yaml_event_delete(&event);
        if (end || !go_on) return go_on;
    }
}

/* JSON's word for nothing. */
static bool is_null(const reader *r, const yaml_event_t *event) {
    return r->loader->schema->descriptive && event->type == YAML_SCALAR_EVENT &&
           event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           strcmp((const char *)event->data.scalar.value, "null") == 0;
}

static bool walk_value(reader *r, size_t key, tla_place key_at, const yaml_event_t *event) {
    const tla_schema_key *k = &r->loader->schema->keys[key];
    tla_origin *o = &r->loader->origins[key];
    tla_place at = place_of(r, event->start_mark);
    if (is_null(r, event)) return true;
    *o = (tla_origin){.at = at, .key = k->key};
    if (k->form.type == TLA_VALUE_PAIRS && event->type == YAML_MAPPING_START_EVENT) return walk_pairs(r, key);
    if (k->form.type == TLA_VALUE_ROWS && event->type == YAML_SEQUENCE_START_EVENT) return walk_rows(r, key, at);
    if (k->form.type == TLA_VALUE_LIST && event->type == YAML_SEQUENCE_START_EVENT)
        return walk_list(r, key, key_at, at);
    const bool any = k->form.type == TLA_VALUE_ANY;
    if (!is_text(event) || k->form.type > TLA_VALUE_ANY || (any && event->data.scalar.length == 0)) {
        o->bad = true;
        return refuse_value(r, k->key, event, tla_value_expected(&k->form).text);
    }
    const tla_written value = written(r, event);
    tla_error error;
    if (any) {
        k->take(r->loader, key, &(tla_written){k->key, key_at}, &value);
    } else if (tla_schema_store(k, r->loader->config, value.text, &error) != TLA_OK) {
        find_of(r, k, at, error.text);
        o->bad = true;
    }
    return true;
}

/* Where a section, which has this first key, has been written. */
static tla_place *place_of_section(const reader *r, const char *path, size_t first_key) {
    size_t depth = 0;
    for (const char *dot = path; (dot = strchr(dot, '.')); dot++)
        depth++;
    return &r->loader->sections[first_key].at[depth];
}

/* A key has been read: walks its value. */
static bool walk_pair(reader *r, const char *path, tla_place key_at) {
    const tla_schema *schema = r->loader->schema;
    size_t key = tla_schema_find(schema, path), section = tla_schema_find_section(schema, path);
    if (key == schema->count && section == schema->count) {
        if (schema->descriptive) return skip_next(r);
        tla_loader_find(r->loader, key_at, "%s", tla_loader_unknown_key(r->loader, path).text);
        return skip_next(r);
    }
    tla_place *first = key < schema->count ? &r->loader->origins[key].at : place_of_section(r, path, section);
    if (first->line) {
        tla_origin again = {.at = key_at, .key = key < schema->count ? schema->keys[key].key : NULL};
        tla_loader_find_at(
            r->loader, &again,
            tla_phrase_of("%s: found the key again, expected it once (line %zu)", path, first->line).text);
        return skip_next(r);
    }
    yaml_event_t event;
    if (!next(r, &event)) return false;
    bool go_on;
    if (key < schema->count) {
        go_on = walk_value(r, key, key_at, &event);
    } else {
        *first = key_at;
        if (event.type == YAML_MAPPING_START_EVENT) {
            go_on = walk_mapping(r, path);
        } else {
            if (!is_nothing(&event) && !is_null(r, &event)) /* a section without keys sets nothing */
                tla_loader_find(r->loader, place_of(r, event.start_mark),
                                "%s: found %s, expected a mapping with keys such as %s", path, found(&event).text,
                                schema->keys[section].key);
            go_on = skip(r, event.type);
        }
    }
    yaml_event_delete(&event);
    return go_on;
}

/* The pairs of a mapping that has begun. `section` is "" at the top. */
static bool walk_mapping(reader *r, const char *section) {
    for (;;) {
        yaml_event_t event;
        if (!next(r, &event)) return false;
        tla_place at = place_of(r, event.start_mark);
        char path[TLA_CONFIG_PATH_MAX] = "";
        bool end = event.type == YAML_MAPPING_END_EVENT, go_on = true;
        if (!end && !is_text(&event)) {
            go_on = refuse_key(r, &event);
        } else if (!end) {
            const char *name = (const char *)event.data.scalar.value;
            if (strchr(name, '.') && r->loader->schema->descriptive) {
                go_on = skip_next(r);
            } else if (strchr(name, '.')) {
                tla_loader_find(r->loader, at, "found the key %s, expected sections as nested mappings",
                                tla_quote(name).text);
                go_on = skip_next(r);
            } else {
                snprintf(path, sizeof path, "%s%s%s", section, *section ? "." : "", name);
                go_on = walk_pair(r, path, at);
            }
        }
        yaml_event_delete(&event);
        if (end || !go_on) return go_on;
    }
}

static void walk_stream(reader *r) {
    for (int documents = 0;;) {
        yaml_event_t event;
        if (!next(r, &event)) return;
        yaml_event_type_t type = event.type;
        tla_place at = place_of(r, event.start_mark);
        bool go_on = type != YAML_STREAM_END_EVENT;
        if (type == YAML_DOCUMENT_START_EVENT && ++documents > 1) {
            tla_loader_find(r->loader, at, "found a second document, expected one");
            go_on = false;
        } else if (type == YAML_MAPPING_START_EVENT) {
            go_on = walk_mapping(r, "");
        } else if (type == YAML_SCALAR_EVENT || type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT) {
            if (!is_nothing(&event))
                tla_loader_find(r->loader, at, "found %s, expected a mapping of sections", found(&event).text);
            go_on = skip(r, type);
        }
        yaml_event_delete(&event);
        if (!go_on) return;
    }
}

void tla_loader_read_yaml(tla_loader *loader, const char *text, size_t length) {
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    reader r = {.loader = loader, .text = text, .length = length};
    if (!yaml_parser_initialize(&r.parser)) {
        loader->no_memory = true;
        return;
    }
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, length);
    walk_stream(&r);
    yaml_parser_delete(&r.parser);
}
