/* The loop of `tlmalloc run --watch`. */
#define _GNU_SOURCE
#include "run/watch.h"

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read_text.h"
#include "run/watch_files.h"
#include "run/watch_page.h"
#include "run/watch_process.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 40,        /* between looks at the files */
    SETTLED_LOOKS = 2,   /* that must find no further change: an editor may write a file in pieces */
    LOOKS_MAX = 50,      /* of files that never rest */
    CUTS_MAX = 3,        /* runs in a row that end because of a change; the next one runs to its end */
    COMPILER_MS = 10000, /* for a list of includes */
    PAGE_BYTES_MAX = 300 << 20,
    SIGNALS_MAX = 65 /* 1 + SIGRTMAX of Linux */
};

static volatile sig_atomic_t ended_by; /* a signal; 0: none */

typedef struct watch {
    const watch_request *request;
    char folder[PATH_MAX]; /* of temporary files; "": none */
    char report[PATH_MAX + 16], log[PATH_MAX + 16], page[PATH_MAX + 16];
    watch_page shown;
    unsigned cuts; /* runs in a row that a change has ended */
    watch_said said;
    watch_files files;
    uint64_t state; /* of the files, when the last run began */
} watch;

static void on_end(int number) {
    ended_by = number;
}

/* Whether a program shall end, because this process shall. */
static bool is_ended(void *context) {
    (void)context;
    return ended_by != 0;
}

/* Whether a run shall end, also because a file has changed. */
static bool is_old(void *context) {
    const watch *const w = context;
    return ended_by || (w->cuts < CUTS_MAX && watch_files_state(&w->files) != w->state);
}

/* ---- files that are watched ---- */

static const char *compiler_words(char *copy, const char **words, size_t *count, size_t room) {
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word && *count < room; word = strtok_r(NULL, " \t", &rest))
        words[(*count)++] = word;
    return words[0];
}

/* The kernel's includes, by the compiler, also where the kernel does not compile; a missing one is a file that may
 * appear. */
static void add_includes(watch *w) {
    enum { WORDS_MAX = 40 };
    const char *const given = getenv("CC"), *words[WORDS_MAX + 8] = {NULL};
    const char *const kernel = w->request->kernel, *const end = strrchr(kernel, '.');
    char include[PATH_MAX + 2], shared[PATH_MAX + 2], source[PATH_MAX + 2];
    size_t count = 0;
    if (!end || strcmp(end, ".c") != 0) return;
    char *const copy = strdup(given && given[strspn(given, " \t")] ? given : "cc");
    if (!copy || !compiler_words(copy, words, &count, WORDS_MAX)) {
        free(copy);
        return;
    }
    snprintf(include, sizeof include, "-I%s", w->request->include);
    snprintf(shared, sizeof shared, "-I%s", w->request->shared);
    snprintf(source, sizeof source, "%s%s", *kernel == '-' || *kernel == '@' ? "./" : "", kernel);
    const char *const more[] = {include, shared, "-M", "-MG", source};
    memcpy(words + count, more, sizeof more);
    char *const text = watch_program_output(words, COMPILER_MS, is_ended, NULL);
    if (text) watch_files_add_rule(&w->files, text, kernel);
    free(text);
    free(copy);
}

/* The value of KEY=VALUE may be a file, from here or from beside the configuration. */
static void add_value(watch *w, const char *set) {
    const char *const value = strchr(set, '='), *const slash = strrchr(w->request->config, '/');
    char path[PATH_MAX];
    struct stat found;
    if (!value) return;
    if (stat(value + 1, &found) == 0 && S_ISREG(found.st_mode)) watch_files_add_named(&w->files, value + 1);
    const int length = slash ? snprintf(path, sizeof path, "%.*s%s", (int)(slash + 1 - w->request->config),
                                        w->request->config, value + 1)
                             : 0;
    if (length > 0 && (size_t)length < sizeof path && stat(path, &found) == 0 && S_ISREG(found.st_mode))
        watch_files_add_named(&w->files, path);
}

/* Includes come first: a text can name more files than the list takes. */
static void list_files(watch *w) {
    const watch_request *const r = w->request;
    watch_files_clear(&w->files);
    if (watch_page_is_page(r->page)) watch_files_skip(&w->files, r->page); /* a remark may name it */
    if (*w->shown.script) watch_files_skip(&w->files, w->shown.script);
    watch_files_add(&w->files, r->config);
    watch_files_add(&w->files, r->kernel);
    if (r->from) watch_files_add(&w->files, r->from);
    add_includes(w);
    watch_files_add_named(&w->files, r->config);
    for (size_t i = 0; i < r->set.count; i++)
        add_value(w, r->set.items[i]);
    const char *const end = strrchr(r->kernel, '.');
    if (end && strcmp(end, ".c") == 0) watch_files_add_named(&w->files, r->kernel);
}

/* Waits until the files rest; returns their state. */
static uint64_t settle(const watch *w) {
    uint64_t state = watch_files_state(&w->files);
    for (int looks = 0, rested = 0; rested < SETTLED_LOOKS && looks < LOOKS_MAX && !ended_by; looks++, rested++) {
        poll(NULL, 0, LOOK_MS);
        const uint64_t now = watch_files_state(&w->files);
        if (now != state) rested = -1;
        state = now;
    }
    return state;
}

/* Lists the files again after a run that began then: they may include others now. False when one
 * has changed since. The list is made after the run, which need not wait for it. */
static bool list_again(watch *w, struct timespec begin) {
    watch_files before = w->files;
    w->files = (watch_files){0};
    list_files(w);
    const bool same = watch_files_state(&before) == w->state && !watch_files_new_since(&w->files, &before, begin);
    watch_files_clear(&before);
    return same;
}

/* ---- runs ---- */

static int make_report(watch *w) {
    const char *const words[] = {"/proc/self/exe", "report", "--events", w->log, "-o", w->page, "--", w->report, NULL};
    return watch_run_program(words, -1, is_old, w, &w->said);
}

static int make_run(watch *w) {
    const watch_request *const r = w->request;
    const size_t room = 16 + 2 * (r->set.count + r->parameters.count);
    const char **const words = calloc(room, sizeof *words);
    size_t count = 0;
    if (!words) return -1;
    const char *const first[] = {"/proc/self/exe", "run",     "--kernel", r->kernel,
                                 "--json",         w->report, "--events", w->log};
    memcpy(words, first, sizeof first);
    count = sizeof first / sizeof *first;
    if (r->from) {
        words[count++] = "--from";
        words[count++] = r->from;
    }
    for (size_t i = 0; i < r->set.count; i++) {
        words[count++] = "--set";
        words[count++] = r->set.items[i];
    }
    for (size_t i = 0; i < r->parameters.count; i++) {
        words[count++] = "--parameter";
        words[count++] = r->parameters.items[i];
    }
    words[count++] = "--";
    words[count++] = r->config;
    const int status = watch_run_program(words, STDOUT_FILENO, is_old, w, &w->said);
    free(words);
    return status;
}

/* Makes the folder of temporary files: anew, where it has been removed since, for example by a cleaner of /tmp. */
static bool make_folder(watch *w) {
    const char *const where = getenv("TMPDIR");
    if (*w->folder && access(w->folder, F_OK) == 0) return true;
    const int length =
        snprintf(w->folder, sizeof w->folder, "%s/tlmalloc-watch-XXXXXX", where && *where ? where : "/tmp");
    if (length < 0 || (size_t)length >= sizeof w->folder || !mkdtemp(w->folder)) {
        w->said.count = 0;
        watch_say(&w->said, "tlmalloc run: --watch: %s: cannot create a folder: %s; set TMPDIR to a writable folder\n",
                  w->folder, strerror(errno));
        print_message("tlmalloc run: --watch: %s: cannot create a folder: %s; set TMPDIR to a writable folder",
                      w->folder, strerror(errno));
        w->folder[0] = 0;
        return false;
    }
    snprintf(w->report, sizeof w->report, "%s/report.json", w->folder);
    snprintf(w->log, sizeof w->log, "%s/log.events", w->folder);
    snprintf(w->page, sizeof w->page, "%s/page.html", w->folder);
    return true;
}

/* One run of the files in w->state. False when no page can be written. */
static bool run_once(watch *w) {
    char *page = NULL;
    size_t length = 0;
    tla_error error;
    if (!watch_page_tell(&w->shown, "running", "")) return false;
    int status = make_folder(w) ? make_run(w) : CLI_FAILED;
    if (status == 0) status = make_report(w);
    w->cuts = status < 0 ? w->cuts + 1 : 0;
    if (status == 0 && read_text(w->page, PAGE_BYTES_MAX, &page, &length, &error)) {
        watch_say(&w->said, "tlmalloc run: %s\n", error.text);
        status = CLI_FAILED;
    }
    bool good = true;
    if (status == 0) {
        good = watch_page_show(&w->shown, page) && watch_page_tell(&w->shown, "done", "");
    } else if (status > 0) {
        if (!w->said.count) watch_say(&w->said, "tlmalloc run: ended with status %d\n", status);
        char *const text = watch_said_text(&w->said);
        good = watch_page_tell(&w->shown, "failed", text ? text : "no host memory");
        free(text);
    }
    free(page);
    return good;
}

/* ---- begin and end ---- */

/* Whether the page can be written, and is no input. */
static bool check_page(watch *w) {
    const watch_request *const r = w->request;
    FILE *out = NULL;
    tla_error error;
    struct stat found;
    output_protect(r->config);
    output_protect(r->kernel);
    output_protect(r->from);
    tla_status status = stat(r->page, &found) == 0 && !S_ISREG(found.st_mode)
                            ? tla_error_set(&error, TLA_INVALID_ARGUMENT,
                                            "--output: '%.200s' is no regular file: name another file", r->page)
                            : output_open("--output", r->page, &out, &error);
    output_drop(out);
    if (!status && strcmp(r->page, "-") == 0)
        status = tla_error_set(&error, TLA_INVALID_ARGUMENT, "--output: found -, expected a file for the page");
    if (!status && !watch_page_is_page(r->page) && watch_files_has_file(&w->files, r->page))
        status = tla_error_set(&error, TLA_INVALID_ARGUMENT,
                               "--output: '%.200s' is a file that the run reads, or that the kernel or the "
                               "configuration names: name another file",
                               r->page);
    if (status) print_message("tlmalloc run: %s", error.text);
    return !status;
}

/* A pipe cannot be read again. */
static bool check_input(const char *what, const char *path) {
    struct stat found;
    if (!path || stat(path, &found) != 0 || S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)) return true;
    print_message("tlmalloc run: --watch: %s '%s' is no regular file, and cannot be read again: name a file", what,
                  path);
    return false;
}

/* Signals that would end this process first end its work. Those of a fault do not return; those that were ignored at
 * the start of the process stay ignored. */
static void catch_signals(struct sigaction before[]) {
    const struct sigaction handled = {.sa_handler = on_end};
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    for (int number = 1; number <= SIGRTMAX; number++) {
        bool is_fault = false;
        for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
            is_fault = is_fault || faults[i] == number;
        /* interrupt_prepare has a handler for each signal that ends the process */
        if (!is_fault && sigaction(number, NULL, &before[number]) == 0 && before[number].sa_handler != SIG_DFL &&
            before[number].sa_handler != SIG_IGN)
            sigaction(number, &handled, NULL);
    }
}

static void remove_folder(const watch *w) {
    if (!*w->folder) return;
    unlink(w->report);
    unlink(w->log);
    unlink(w->page);
    rmdir(w->folder);
}

/* Runs until a signal or an error; false after an error. */
static bool loop(watch *w) {
    bool good = true;
    while (good && !ended_by) {
        struct timespec now;
        w->state = settle(w);
        clock_gettime(CLOCK_REALTIME, &now);
        if (ended_by) break;
        good = run_once(w);
        fflush(NULL);
        if (!good || ended_by || !list_again(w, now)) continue;
        const uint64_t rested = watch_files_state(&w->files);
        while (!ended_by && watch_files_state(&w->files) == rested)
            poll(NULL, 0, LOOK_MS);
    }
    return good;
}

int watch_run(const watch_request *request) {
    static watch w;
    static struct sigaction before[SIGNALS_MAX];
    w = (watch){.request = request};
    if (!check_input("the configuration", request->config) || !check_input("--kernel", request->kernel) ||
        !check_input("--from", request->from))
        return CLI_BAD_INPUT;
    catch_signals(before);
    list_files(&w);
    int status = check_page(&w) ? CLI_OK : CLI_BAD_INPUT;
    if (!status && !make_folder(&w)) status = CLI_FAILED;
    if (!status) {
        const bool good = watch_page_begin(&w.shown, request->page, request->script);
        if (good) list_files(&w); /* now without the page and its script */
        if (!good || !loop(&w)) status = CLI_FAILED;
        if (!watch_page_end(&w.shown)) status = CLI_FAILED;
    }
    remove_folder(&w);
    watch_files_clear(&w.files);
    const int number = ended_by;
    if (number && number != SIGINT && number != SIGTERM && number != SIGHUP) {
        sigaction(number, &before[number], NULL);
        raise(number); /* ends the process as it ends any command */
    }
    return status;
}
