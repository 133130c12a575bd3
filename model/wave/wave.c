/* The VCD recorder: declarations become a tree of scopes, changes wait in a queue until the kernel has passed them. */
#include "tlmalloc/wave.h"
#include "base/grow.h"

#include "change_queue.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* no scope, no signal */

enum { FILE_BUFFER_BYTES = 1 << 16, IDENTIFIER_MAX = 8, SUMS = 4 };

typedef enum use { UNUSED, USED_WITH_SET, USED_WITH_ADD } use;

/* The sum of further deltas of a signal at a time at which the queue has a change of it already: many deltas, one
 * change. */
typedef struct sum {
    bool open;
    uint64_t at_ps, delta;
} sum;

typedef struct signal {
    char *name;
    uint32_t bits;
    use use;
    uint64_t value; /* the last one written */
    sum sums[SUMS]; /* of the times to which something was added last */
    uint32_t oldest_sum;
    uint32_t next;                   /* signal of the same scope */
    char identifier[IDENTIFIER_MAX]; /* of the VCD */
} signal;

typedef struct scope {
    char *name;
    uint32_t parent, first_child, last_child, next; /* scopes; next: of the same parent */
    uint32_t first_signal, last_signal;
} scope;

/* A pattern of tla_wave_select. */
typedef struct pattern {
    char *text;
    bool matched; /* by a signal */
} pattern;

struct tla_wave {
    FILE *file;
    bool owns_file;               /* it is closed with the recorder */
    char text[FILE_BUFFER_BYTES]; /* text that is not written to the file yet */
    size_t length;                /* of it */
    pattern *patterns;
    uint32_t pattern_count; /* 0: all signals are recorded */
    bool declared;          /* a signal, hidden ones too */
    signal *signals;
    uint32_t signal_count;
    scope *scopes; /* [0] is the root, without a name */
    uint32_t scope_count;
    bool begun;       /* the header is written: no more declarations */
    uint64_t written; /* the last time stamp */
    uint64_t passed;  /* no change before it may come */
    tla_change_queue changes;
};

/* ---- declarations ---- */

static uint64_t mask_of(uint32_t bits) {
    return bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

static bool is_name(const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (!(c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'))) return false;
    }
    return length > 0;
}

static tla_status add_scope(tla_wave *w, uint32_t parent, const char *name, size_t length, uint32_t *index) {
    if (!tla_grow_by_one(&w->scopes, w->scope_count, sizeof *w->scopes)) return TLA_NO_HOST_MEMORY;
    scope *const scopes = w->scopes;
    char *copy = strndup(name, length);
    if (!copy) return TLA_NO_HOST_MEMORY;
    *index = w->scope_count++;
    scopes[*index] = (scope){copy, parent, NONE, NONE, NONE, NONE, NONE};
    if (parent != NONE) {
        scope *p = &scopes[parent];
        *(p->first_child == NONE ? &p->first_child : &scopes[p->last_child].next) = *index;
        p->last_child = *index;
    }
    return TLA_OK;
}

tla_status tla_wave_select(tla_wave *w, const char *text, tla_error *error) {
    if (!*text) return tla_error_set(error, TLA_INVALID_ARGUMENT, "empty pattern: must name scopes or signals");
    if (w->declared)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "'%s' must be selected before the first declaration", text);
    char *copy = tla_grow_by_one(&w->patterns, w->pattern_count, sizeof *w->patterns) ? strdup(text) : NULL;
    if (!copy) return tla_error_set(error, TLA_NO_HOST_MEMORY, "'%s': no host memory", text);
    w->patterns[w->pattern_count++] = (pattern){copy, false};
    return TLA_OK;
}

const char *tla_wave_unmatched(const tla_wave *w) {
    for (uint32_t i = 0; i < w->pattern_count; i++)
        if (!w->patterns[i].matched) return w->patterns[i].text;
    return NULL;
}

/* Whether a pattern matches SCOPE.NAME or one of its scopes. */
static bool matches(const char *text, char *name) {
    bool found = fnmatch(text, name, 0) == 0;
    for (char *dot = strchr(name, '.'); dot && !found; dot = strchr(dot + 1, '.')) {
        *dot = '\0';
        found = fnmatch(text, name, 0) == 0;
        *dot = '.';
    }
    return found;
}

/* Whether a signal is one of those that are recorded. Every pattern is tried, so that it is known which match nothing.
 */
static tla_status is_selected(tla_wave *w, const char *scope_path, const char *name, bool *selected) {
    *selected = w->pattern_count == 0;
    if (*selected) return TLA_OK;
    const size_t length = strlen(scope_path) + 1 + strlen(name);
    char *full = malloc(length + 1);
    if (!full) return TLA_NO_HOST_MEMORY;
    snprintf(full, length + 1, "%s.%s", scope_path, name);
    for (uint32_t i = 0; i < w->pattern_count; i++)
        if (matches(w->patterns[i].text, full)) *selected = w->patterns[i].matched = true;
    free(full);
    return TLA_OK;
}

static bool is_scope_path(const char *path) {
    for (;; path++) {
        size_t length = strcspn(path, ".");
        if (!is_name(path, length)) return false;
        path += length;
        if (!*path) return true;
    }
}

/* The scope of a path, made where it is missing. */
static tla_status find_scope(tla_wave *w, const char *path, uint32_t *index) {
    *index = 0;
    for (;; path++) {
        size_t length = strcspn(path, ".");
        uint32_t child = w->scopes[*index].first_child;
        while (child != NONE &&
               (strncmp(w->scopes[child].name, path, length) != 0 || w->scopes[child].name[length] != '\0'))
            child = w->scopes[child].next;
        if (child == NONE) {
            tla_status status = add_scope(w, *index, path, length, &child);
            if (status != TLA_OK) return status;
        }
        *index = child;
        path += length;
        if (!*path) return TLA_OK;
    }
}

/* The shortest names first: every printable character is a digit. */
static void write_identifier(uint32_t number, char *identifier) {
    enum { FIRST = '!', DIGITS = '~' - '!' + 1 };
    do {
        *identifier++ = (char)(FIRST + number % DIGITS);
        number /= DIGITS;
    } while (number-- > 0);
    *identifier = '\0';
}

/* Takes the last scopes out again, down to so many. */
static void forget_scopes(tla_wave *w, uint32_t count) {
    while (w->scope_count > count) {
        uint32_t index = --w->scope_count;
        scope *parent = &w->scopes[w->scopes[index].parent];
        uint32_t before = parent->first_child == index ? NONE : parent->first_child;
        while (before != NONE && w->scopes[before].next != index)
            before = w->scopes[before].next;
        *(before == NONE ? &parent->first_child : &w->scopes[before].next) = NONE;
        parent->last_child = before;
        free(w->scopes[index].name);
    }
}

static bool stands_in(const tla_wave *w, const scope *s, const char *name) {
    for (uint32_t i = s->first_signal; i != NONE; i = w->signals[i].next)
        if (strcmp(w->signals[i].name, name) == 0) return true;
    return false;
}

static tla_status add_signal(tla_wave *w, uint32_t owner, const char *name, uint32_t bits,
                             tla_wave_signal *signal_index) {
    scope *s = &w->scopes[owner];
    if (!tla_grow_by_one(&w->signals, w->signal_count, sizeof *w->signals)) return TLA_NO_HOST_MEMORY;
    signal *const signals = w->signals;
    char *copy = strdup(name);
    if (!copy) return TLA_NO_HOST_MEMORY;
    uint32_t index = w->signal_count++;
    signals[index] = (signal){.name = copy, .bits = bits, .next = NONE};
    write_identifier(index, signals[index].identifier);
    *(s->first_signal == NONE ? &s->first_signal : &signals[s->last_signal].next) = index;
    s->last_signal = index;
    *signal_index = index;
    return TLA_OK;
}

tla_status tla_wave_declare(tla_wave *w, const char *scope_path, const char *name, uint32_t bits,
                            tla_wave_signal *signal_index, tla_error *error) {
    const tla_status bad = TLA_INVALID_ARGUMENT;
    if (!is_scope_path(scope_path))
        return tla_error_set(error, bad, "scope '%s': must be names of letters, digits and _ with dots in between",
                             scope_path);
    if (!is_name(name, strlen(name)))
        return tla_error_set(error, bad, "signal '%s' of %s: must be a name of letters, digits and _", name,
                             scope_path);
    if (bits < 1 || bits > 64)
        return tla_error_set(error, bad, "%s.%s of %" PRIu32 " bits: must be 1 to 64", scope_path, name, bits);
    if (w->begun) return tla_error_set(error, bad, "%s.%s must be declared before the first change", scope_path, name);
    bool selected;
    tla_status status = is_selected(w, scope_path, name, &selected);
    if (status) return tla_error_set(error, status, "%s.%s: no host memory", scope_path, name);
    if (!selected) {
        w->declared = true;
        *signal_index = TLA_WAVE_HIDDEN;
        return TLA_OK;
    }
    uint32_t owner, scopes = w->scope_count;
    status = find_scope(w, scope_path, &owner);
    if (status == TLA_OK && stands_in(w, &w->scopes[owner], name))
        return tla_error_set(error, bad, "%s already has a signal %s", scope_path, name);
    if (status == TLA_OK) status = add_signal(w, owner, name, bits, signal_index);
    if (status == TLA_OK) {
        w->declared = true;
        return TLA_OK;
    }
    forget_scopes(w, scopes); /* no scope without a signal is written */
    return tla_error_set(error, status, "%s.%s: no host memory", scope_path, name);
}

/* ---- writing ---- */

static void flush(tla_wave *w) {
    fwrite(w->text, 1, w->length, w->file);
    w->length = 0;
}

/* Returns the place for the line of a change; line_end() receives its end. */
static char *line_begin(tla_wave *w) {
    enum { LONGEST = 1 + 64 + 1 + IDENTIFIER_MAX + 1 };
    if (w->length + LONGEST > sizeof w->text) flush(w);
    return w->text + w->length;
}

static void line_end(tla_wave *w, char *end) {
    *end++ = '\n';
    w->length = (size_t)(end - w->text);
}

/* A value in binary, without leading zeros; returns its end. Four digits at a time, since this is where time goes. */
static char *put_bits(char *at, uint64_t value) {
    static const char *const digits[16] = {"0000", "0001", "0010", "0011", "0100", "0101", "0110", "0111",
                                           "1000", "1001", "1010", "1011", "1100", "1101", "1110", "1111"};
    int shift = 60;
    while (shift > 0 && value >> shift == 0)
        shift -= 4;
    const char *first = digits[value >> shift];
    while (*first == '0' && first[1])
        first++;
    while (*first)
        *at++ = *first++;
    while (shift > 0) {
        shift -= 4;
        memcpy(at, digits[value >> shift & 15], 4);
        at += 4;
    }
    return at;
}

static void write_value(tla_wave *w, const signal *s) {
    char *end = line_begin(w);
    if (s->bits == 1) {
        *end++ = s->value ? '1' : '0';
    } else {
        *end++ = 'b';
        end = put_bits(end, s->value);
        *end++ = ' ';
    }
    for (const char *c = s->identifier; *c; c++)
        *end++ = *c;
    line_end(w, end);
}

static void write_scope(tla_wave *w, const scope *s) {
    for (uint32_t i = s->first_signal; i != NONE; i = w->signals[i].next) {
        const signal *v = &w->signals[i];
        fprintf(w->file, "$var wire %" PRIu32 " %s %s", v->bits, v->identifier, v->name);
        if (v->bits > 1) fprintf(w->file, " [%" PRIu32 ":0]", v->bits - 1);
        fputs(" $end\n", w->file);
    }
}

/* Header and the values that everything starts with; the tree is walked along its links, however deep it is. */
static void begin(tla_wave *w) {
    if (w->begun) return;
    w->begun = true;
    fputs("$timescale 1 ps $end\n", w->file);
    for (uint32_t at = w->scopes[0].first_child; at != NONE;) {
        const scope *s = &w->scopes[at];
        fprintf(w->file, "$scope module %s $end\n", s->name);
        write_scope(w, s);
        for (at = s->first_child; at == NONE && s->parent != NONE; s = &w->scopes[s->parent]) {
            fputs("$upscope $end\n", w->file);
            at = s->next;
        }
    }
    fputs("$enddefinitions $end\n#0\n$dumpvars\n", w->file);
    for (uint32_t i = 0; i < w->signal_count; i++)
        write_value(w, &w->signals[i]);
    flush(w);
    fputs("$end\n", w->file);
}

static void write_time(tla_wave *w, uint64_t at_ps) {
    if (at_ps == w->written) return;
    char digits[20]; /* of 2^64 - 1 */
    size_t count = 0;
    for (uint64_t rest = at_ps; count == 0 || rest > 0; rest /= 10)
        digits[count++] = (char)('0' + rest % 10);
    char *end = line_begin(w);
    *end++ = '#';
    while (count > 0)
        *end++ = digits[--count];
    line_end(w, end);
    w->written = at_ps;
}

/* Returns the sum for a time, and clears it. */
static uint64_t take_sum(signal *s, uint64_t at_ps) {
    for (int i = 0; i < SUMS; i++)
        if (s->sums[i].open && s->sums[i].at_ps == at_ps) {
            s->sums[i].open = false;
            return s->sums[i].delta;
        }
    return 0;
}

/* Takes the first change and all others of its signal at its time, and writes their result. */
static void write_first(tla_wave *w) {
    const tla_wave_change first = *tla_change_queue_first(&w->changes);
    signal *s = &w->signals[first.signal];
    uint64_t value = s->value;
    for (const tla_wave_change *c = &first; c && c->at_ps == first.at_ps && c->signal == first.signal;
         c = tla_change_queue_first(&w->changes)) {
        value = s->use == USED_WITH_ADD ? value + c->value : c->value;
        tla_change_queue_pop(&w->changes);
    }
    value = (value + take_sum(s, first.at_ps)) & mask_of(s->bits);
    if (value == s->value) return;
    s->value = value;
    write_time(w, first.at_ps);
    write_value(w, s);
}

/* ---- recording ---- */

static tla_status record(tla_wave *w, tla_wave_signal index, uint64_t at_ps, uint64_t value, use with) {
    if (index >= w->signal_count || at_ps < w->passed) return TLA_INVALID_ARGUMENT;
    signal *s = &w->signals[index];
    if (s->use != UNUSED && s->use != with) return TLA_INVALID_ARGUMENT;
    if (!tla_change_queue_push(&w->changes, (tla_wave_change){.at_ps = at_ps, .value = value, .signal = index}))
        return TLA_NO_HOST_MEMORY;
    s->use = with;
    begin(w);
    return TLA_OK;
}

tla_status tla_wave_start(tla_wave *w, tla_wave_signal index, uint64_t value) {
    if (index == TLA_WAVE_HIDDEN) return TLA_OK;
    if (w->begun || index >= w->signal_count || value & ~mask_of(w->signals[index].bits)) return TLA_INVALID_ARGUMENT;
    w->signals[index].value = value;
    return TLA_OK;
}

tla_status tla_wave_set(tla_wave *w, tla_wave_signal index, uint64_t at_ps, uint64_t value) {
    if (index == TLA_WAVE_HIDDEN) return TLA_OK;
    if (index < w->signal_count && value & ~mask_of(w->signals[index].bits)) return TLA_INVALID_ARGUMENT;
    return record(w, index, at_ps, value, USED_WITH_SET);
}

tla_status tla_wave_add(tla_wave *w, tla_wave_signal index, uint64_t at_ps, int64_t delta) {
    if (index == TLA_WAVE_HIDDEN) return TLA_OK;
    if (index >= w->signal_count || at_ps < w->passed) return TLA_INVALID_ARGUMENT;
    signal *s = &w->signals[index];
    if (s->use == USED_WITH_ADD && tla_change_queue_add(&w->changes, at_ps, index, (uint64_t)delta)) return TLA_OK;
    for (int i = 0; i < SUMS; i++)
        if (s->sums[i].open && s->sums[i].at_ps == at_ps) {
            s->sums[i].delta += (uint64_t)delta;
            return TLA_OK;
        }
    sum *const oldest = &s->sums[s->oldest_sum];
    tla_status status = TLA_OK;
    if (oldest->open && oldest->delta) status = record(w, index, oldest->at_ps, oldest->delta, USED_WITH_ADD);
    if (status != TLA_OK) return status;
    oldest->open = false;
    status = record(w, index, at_ps, (uint64_t)delta, USED_WITH_ADD);
    if (status != TLA_OK) return status;
    *oldest = (sum){true, at_ps, 0};
    s->oldest_sum = (s->oldest_sum + 1) % SUMS;
    return TLA_OK;
}

tla_status tla_wave_advance(tla_wave *w, uint64_t now_ps) {
    begin(w);
    if (now_ps > w->passed) w->passed = now_ps;
    for (const tla_wave_change *c; (c = tla_change_queue_first(&w->changes)) && c->at_ps < w->passed;)
        write_first(w);
    return TLA_OK;
}

tla_status tla_wave_create(FILE *file, tla_wave **wave) {
    *wave = NULL;
    tla_wave *w = calloc(1, sizeof *w);
    uint32_t root;
    if (!w || add_scope(w, NONE, "", 0, &root) != TLA_OK) {
        free(w ? w->scopes : NULL);
        free(w);
        return TLA_NO_HOST_MEMORY;
    }
    w->file = file;
    *wave = w;
    return TLA_OK;
}

tla_status tla_wave_open(const char *path, tla_wave **wave, tla_error *error) {
    *wave = NULL;
    FILE *file = fopen(path, "w");
    if (!file)
        return tla_error_set(error, errno == ENOMEM ? TLA_NO_HOST_MEMORY : TLA_IO, "%s: cannot be written: %s", path,
                             strerror(errno));
    tla_status status = tla_wave_create(file, wave);
    if (status) {
        fclose(file);
        return tla_error_set(error, status, "%s: no host memory", path);
    }
    (*wave)->owns_file = true;
    return TLA_OK;
}

tla_status tla_wave_close(tla_wave *w, uint64_t end_ps) {
    if (!w) return TLA_OK;
    begin(w);
    while (tla_change_queue_first(&w->changes))
        write_first(w);
    if (end_ps > w->written) write_time(w, end_ps);
    flush(w);
    bool failed = ferror(w->file) != 0;
    failed |= w->owns_file && fclose(w->file) != 0;
    for (uint32_t i = 0; i < w->signal_count; i++)
        free(w->signals[i].name);
    for (uint32_t i = 0; i < w->scope_count; i++)
        free(w->scopes[i].name);
    for (uint32_t i = 0; i < w->pattern_count; i++)
        free(w->patterns[i].text);
    free(w->patterns);
    free(w->signals);
    free(w->scopes);
    tla_change_queue_clear(&w->changes);
    free(w);
    return failed ? TLA_IO : TLA_OK;
}
