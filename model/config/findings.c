/* The findings in a file, reported one by one. */
#include "loader.h"

#include <stdarg.h>

bool tla_loader_is_full(const tla_loader *l) {
    return l->findings > TLA_FINDINGS_MAX;
}

enum { TEXT_MAX = 1024 };

/* Counts and reports a finding whose text is in the buffer. */
static void find(tla_loader *l, tla_config_finding finding, char text[TEXT_MAX]) {
    if (tla_loader_is_full(l)) return;
    finding.text = text;
    if (++l->findings > TLA_FINDINGS_MAX) {
        snprintf(text, TEXT_MAX, "more than %d errors: the rest of the file is not read", TLA_FINDINGS_MAX);
        finding.key = NULL;
        finding.override = 0;
    }
    if (l->report) l->report(l->context, &finding);
}

void tla_loader_find(tla_loader *l, tla_place at, const char *format, ...) {
    char text[TEXT_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    find(l, (tla_config_finding){.file = at.file, .line = at.line, .column = at.column}, text);
}

/* What is said about a value that was written; its text goes into the buffer. */
static tla_config_finding about(const tla_origin *o, const char *what, char text[TEXT_MAX]) {
    snprintf(text, TEXT_MAX, "%s%s%s", o->override ? tla_quote(o->override).text : "", o->override ? ": " : "", what);
    return (tla_config_finding){.file = o->at.file,
                                .line = o->at.line,
                                .column = o->at.column,
                                .text = text,
                                .key = o->key,
                                .override = o->number};
}

void tla_loader_find_at(tla_loader *l, const tla_origin *origin, const char *what) {
    static const tla_origin nowhere = {.at = {"defaults", 0, 0}};
    char text[TEXT_MAX];
    const tla_config_finding finding = about(origin && origin->at.file ? origin : &nowhere, what, text);
    find(l, finding, text);
}

void tla_loader_warn_at(const tla_loader *l, const tla_origin *origin, const char *what) {
    char text[TEXT_MAX];
    const tla_config_finding warning = about(origin, what, text);
    l->judge->warn(l->context, &warning);
}

/* ", expected a, b or c" for a schema whose keys are few, and have no sections; else "". */
static tla_phrase few_keys(const tla_schema *schema) {
    tla_phrase list = {""};
    for (size_t i = 0; !schema->example && i < schema->count; i++) {
        const char *const between = i == 0 ? ", expected " : i + 1 < schema->count ? ", " : " or ";
        list = tla_phrase_of("%s%s%s", list.text, between, schema->keys[i].key);
    }
    return list;
}

tla_phrase tla_loader_unknown_key(const tla_loader *l, const char *path) {
    tla_phrase nearest;
    const bool near = tla_schema_suggest(l->schema, path, &nearest);
    return tla_phrase_of("unknown key %s%s%s%s%s", tla_quote(path).text, few_keys(l->schema).text,
                         near ? ", did you mean \"" : "", near ? nearest.text : "", near ? "\"?" : "");
}
