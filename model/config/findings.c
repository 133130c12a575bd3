/* The findings in a file, reported one by one. */
#include "loader.h"

#include <stdarg.h>

bool tla_loader_is_full(const tla_loader *l) {
    return l->findings > TLA_FINDINGS_MAX;
}

void tla_loader_find(tla_loader *l, tla_place at, const char *format, ...) {
    char text[1024];
    if (tla_loader_is_full(l)) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (++l->findings > TLA_FINDINGS_MAX)
        snprintf(text, sizeof text, "more than %d errors: the rest of the file is not read", TLA_FINDINGS_MAX);
    if (l->report) l->report(l->context, &(tla_config_finding){at.file, at.line, at.column, text});
}

void tla_loader_find_at(tla_loader *l, const tla_origin *origin, const char *text) {
    if (!origin || !origin->at.file)
        tla_loader_find(l, (tla_place){"defaults", 0, 0}, "%s", text);
    else if (origin->override)
        tla_loader_find(l, origin->at, "%s: %s", tla_quote(origin->override).text, text);
    else
        tla_loader_find(l, origin->at, "%s", text);
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
