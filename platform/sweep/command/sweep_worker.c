/* The process that runs one point of a sweep: the words of its command line, the command, the figures of its report. */
#include "sweep/command/sweep_worker.h"

#include "cli/commands.h"
#include "cli/interrupt.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WORDS_MAX = 2 * 2 * SWEEP_FACTORS_MAX + 16 };

typedef struct command_words {
    const sweep *s;
    char *words[WORDS_MAX + 1];
    int count;
    const char *input;
} command_words;

_Noreturn static void fail(const char *text) {
    dprintf(STDERR_FILENO, "%s\n", text);
    _exit(CLI_FAILED);
}

/* The process ends soon: nothing is freed. */
static void add(command_words *w, const char *format, const char *a, const char *b) {
    const size_t room = strlen(format) + strlen(a) + strlen(b) + 1;
    char *word = malloc(room);
    if (!word) fail("no host memory");
    if (w->count == WORDS_MAX) fail("too many settings for a command line");
    snprintf(word, room, format, a, b);
    w->words[w->count++] = word;
}

static bool is_flag(const sweep *s, const char *name) {
    for (const sweep_option *o = s->command->options; o->name; o++)
        if (strcmp(o->name, name) == 0) return o->is_flag;
    return false;
}

static void add_setting(void *context, sweep_kind kind, const char *name, const char *value) {
    command_words *w = context;
    const bool flag = kind == SWEEP_OPTION && is_flag(w->s, name);
    switch (kind) {
    case SWEEP_KEY:
        add(w, "--set=%s=%s", name, value);
        break;
    case SWEEP_PARAMETER:
        add(w, w->s->command->settings ? "--set=%s=%s" : "--parameter=%s=%s", strchr(name, '.') + 1, value);
        break;
    case SWEEP_INPUT:
        w->input = strdup(value);
        break;
    case SWEEP_OPTION:
        if (flag && strcmp(value, "true") == 0) add(w, "%s%s", name, "");
        if (!flag && strcmp(value, "none") != 0) add(w, "%s=%s", name, value);
        break;
    }
}

/* ---- an experiment of one point ---- */

typedef struct experiment_text {
    FILE *out;
    sweep_kind kind; /* which settings are written */
    bool any;
} experiment_text;

static void write_quoted(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void write_setting(void *context, sweep_kind kind, const char *name, const char *value) {
    experiment_text *t = context;
    if (kind != t->kind) return;
    char path[PATH_MAX];
    const bool file = kind == SWEEP_PARAMETER && strchr(value, '/') && realpath(value, path);
    fprintf(t->out, "%s%s: ", t->any ? ", " : "", kind == SWEEP_PARAMETER ? strchr(name, '.') + 1 : name);
    write_quoted(t->out, file ? path : value);
    t->any = true;
}

/* One row a figure; rows that are the same run share it. A figure "model" is the only one of its workload. */
static void write_experiment(const sweep *s, int64_t point, int descriptor) {
    char platform[PATH_MAX];
    FILE *out = fdopen(dup(descriptor), "w");
    if (!out) fail("no host memory");
    if (s->platform && !realpath(s->platform, platform)) fail("the platform cannot be read");
    fprintf(out, "name: point\nunit: '-'\nworkload: ");
    write_quoted(out, s->workload);
    if (s->platform) {
        fprintf(out, "\nplatform: ");
        write_quoted(out, platform);
    }
    fprintf(out, "\nset: {");
    sweep_each_setting(s, point, write_setting, &(experiment_text){out, SWEEP_KEY, false});
    fprintf(out, "}\nwith: {");
    sweep_each_setting(s, point, write_setting, &(experiment_text){out, SWEEP_PARAMETER, false});
    fprintf(out, "}\nrows:\n");
    for (size_t i = 0; i < s->figure_count; i++) {
        fprintf(out, "  - {label: \"%zu\"", i);
        if (strcmp(s->figures[i].path, "model") != 0) {
            fprintf(out, ", figure: ");
            write_quoted(out, s->figures[i].path);
        }
        fprintf(out, "}\n");
    }
    if (fclose(out) != 0) fail("the experiment of the point cannot be written");
}

/* ---- the report ---- */

static void read_report(const sweep *s, int descriptor, sweep_outcome *outcome) {
    const off_t length = lseek(descriptor, 0, SEEK_END);
    void *text = length > 0 ? mmap(NULL, (size_t)length, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    json_t *report = text != MAP_FAILED ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
    if (!report) return;
    for (size_t i = 0; i < s->figure_count; i++) {
        const tla_phrase row = tla_phrase_of("experiments[0].rows[%zu].model", i);
        const char *path = s->command->experiment ? row.text : s->figures[i].path;
        outcome->states[i] = figure_path_find(path, report, &outcome->figures[i]);
    }
    outcome->reported = true;
}

static void redirect(int messages) {
    const int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0 || dup2(nowhere, STDIN_FILENO) < 0 || dup2(nowhere, STDOUT_FILENO) < 0 ||
        dup2(messages, STDERR_FILENO) < 0)
        _exit(CLI_FAILED);
}

void sweep_work(const sweep *s, int64_t point, const sweep_streams *streams, sweep_outcome *outcome) {
    redirect(streams->messages);
    if (sweep_hash(s, point, outcome->configuration))
        *outcome->configuration = '\0'; /* the command reports the cause */
    command_words w = {.s = s};
    char number[16];
    add(&w, "tlmalloc %s%s", s->command->name, "");
    interrupt_name(w.words[0]);
    if (s->command->experiment) {
        write_experiment(s, point, streams->experiment);
        snprintf(number, sizeof number, "%d", streams->experiment);
        add(&w, "/dev/fd/%s%s", number, "");
    } else {
        sweep_each_setting(s, point, add_setting, &w);
        if (s->platform)
            add(&w, s->command->platform == SWEEP_PLATFORM_OPTION ? "--config=%s%s" : "%s%s", s->platform, "");
        if (w.input) add(&w, "%s%s", w.input, "");
    }
    snprintf(number, sizeof number, "%d", streams->report);
    add(&w, "--json=/dev/fd/%s%s", number, "");
    const int status = cli_find_command(s->command->name)->run(w.count, w.words);
    read_report(s, streams->report, outcome);
    _exit(status);
}
