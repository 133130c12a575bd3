/* The loop of `tlmalloc run --watch`. */
#define _GNU_SOURCE
#include "run/watch.h"

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read_text.h"
#include "cli/start_program.h"
#include "run/watch_files.h"
#include "run/watch_page.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LOOK_MS = 40,        /* between looks at the files */
    SETTLED_LOOKS = 2,   /* that must find no further change: an editor may write a file in pieces */
    LOOKS_MAX = 50,      /* of files that never rest */
    CUTS_MAX = 3,        /* runs in a row that end because of a change; the next one runs to its end */
    END_MS = 3000,       /* for a process to end by SIGTERM */
    CANNOT_START = 127,  /* as of a shell */
    COMPILER_MS = 10000, /* for a list of includes */
    PAGE_BYTES_MAX = 300 << 20,
    SIGNALS_MAX = 65,    /* 1 + SIGRTMAX of Linux */
    SAID_BYTES = 8 << 10 /* of the begin, and of the end, of what a run has printed on standard error */
};

static volatile sig_atomic_t ended_by; /* a signal; 0: none */

/* What a program has printed on standard error: its begin and its end. */
typedef struct said {
    char begin[SAID_BYTES], end[SAID_BYTES]; /* end: a ring */
    uint64_t count;                          /* of all bytes */
} said;

typedef struct watch {
    const watch_request *request;
    char folder[PATH_MAX]; /* of temporary files; "": none */
    char report[PATH_MAX + 16], log[PATH_MAX + 16], page[PATH_MAX + 16];
    watch_page shown;
    unsigned cuts; /* runs in a row that a change has ended */
    said said;
    watch_files files;
} watch;

static void on_end(int number) {
    ended_by = number;
}

/* ---- processes ---- */

static void add_said(said *s, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++, s->count++)
        if (s->count < SAID_BYTES)
            s->begin[s->count] = bytes[i];
        else
            s->end[s->count % SAID_BYTES] = bytes[i];
}

__attribute__((format(printf, 2, 3))) static void say(said *s, const char *format, ...) {
    char text[PATH_MAX + 256];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (length > 0) add_said(s, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

/* As a text from malloc; NULL without host memory. */
static char *said_text(const said *s) {
    enum { MIDDLE_BYTES = 80 };
    char *const text = calloc(1, 2 * SAID_BYTES + MIDDLE_BYTES);
    if (!text) return NULL;
    const uint64_t left_out = s->count > 2 * SAID_BYTES ? s->count - 2 * SAID_BYTES : 0;
    size_t length = s->count < SAID_BYTES ? (size_t)s->count : SAID_BYTES;
    memcpy(text, s->begin, length);
    if (left_out)
        length += (size_t)snprintf(text + length, MIDDLE_BYTES, "\n... %llu bytes left out ...\n",
                                   (unsigned long long)left_out);
    for (uint64_t i = SAID_BYTES + left_out; i < s->count; i++)
        text[length++] = s->end[i % SAID_BYTES];
    for (size_t i = 0; i < length; i++)
        if (!text[i]) text[i] = '?';
    return text;
}

/* Passes on what a program has printed by now, as far as it comes in one go; a kernel may print without end. What it
 * prints about its own end by a signal is for nobody when this process ends too. */
static void pass_on(watch *w, int from) {
    char chunk[1 << 16];
    const ssize_t got = read(from, chunk, sizeof chunk);
    if (got <= 0) return;
    add_said(&w->said, chunk, (size_t)got);
    if (!ended_by) fwrite(chunk, 1, (size_t)got, stderr);
}

/* Ends a process, which removes its temporary files itself. What it still prints goes nowhere. */
static void end_process(pid_t child, int from) {
    char chunk[1 << 12];
    kill(child, SIGTERM);
    for (int waited = 0; waitpid(child, NULL, WNOHANG) == 0; waited += 10) {
        if (waited >= END_MS) kill(child, SIGKILL);
        while (from >= 0 && read(from, chunk, sizeof chunk) == sizeof chunk &&
               waited < END_MS) /* a full pipe stops it */
            ;
        poll(NULL, 0, 10);
    }
}

static int start_piped(const char *const words[], int out, int ends[2], pid_t *child) {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    const int reason =
        fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ? errno : start_program(words, (const int[]){-1, out, ends[1]}, child);
    close(ends[1]);
    if (reason) close(ends[0]);
    return reason;
}

/* Waits for a program: as run_program. `from`: what it prints on standard error, or -1. */
static int wait_for(watch *w, pid_t child, int from, bool changes, uint64_t state, int limit_ms) {
    enum { STEP_MS = 10 };
    struct timespec begin, now, last;
    int status = 0;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    last = begin;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        if (poll(&ready, 1, STEP_MS) > 0) {
            if (ready.revents & POLLIN)
                pass_on(w, from);
            else
                poll(NULL, 0, STEP_MS); /* it has closed its standard error */
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        const long long ms = (now.tv_sec - begin.tv_sec) * 1000LL + (now.tv_nsec - begin.tv_nsec) / 1000000,
                        since = (now.tv_sec - last.tv_sec) * 1000LL + (now.tv_nsec - last.tv_nsec) / 1000000;
        bool old = false;
        if (since >= LOOK_MS) {
            old = changes && watch_files_state(&w->files) != state;
            last = now;
        }
        if (ended_by || old || (limit_ms && ms >= limit_ms)) {
            end_process(child, from);
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Runs a program whose standard output is `out`, and keeps what it prints on standard error. Returns its exit status;
 * 128 and the number of a signal that ended it; -1 when it was ended because this process shall end or, where `changes`
 * are watched, because a file has changed since `state`. */
static int run_program(watch *w, const char *const words[], int out, bool changes, uint64_t state) {
    int ends[2];
    pid_t child = 0;
    w->said.count = 0;
    const int reason = start_piped(words, out, ends, &child);
    if (reason) {
        say(&w->said, "tlmalloc run: --watch: cannot start a process: %s\n", strerror(reason));
        fputs("tlmalloc run: --watch: cannot start a process\n", stderr);
        return CANNOT_START;
    }
    const int status = wait_for(w, child, ends[0], changes, state, 0);
    if (status >= 0) pass_on(w, ends[0]); /* the rest is at most what a pipe holds */
    close(ends[0]);
    if (status > 128)
        say(&w->said, "tlmalloc run: the run was ended by signal %d (%s)\n", status - 128, strsignal(status - 128));
    return status;
}

/* ---- files that are watched ---- */

static const char *compiler_words(char *copy, const char **words, size_t *count, size_t room) {
    char *rest = NULL;
    for (char *word = strtok_r(copy, " \t", &rest); word && *count < room; word = strtok_r(NULL, " \t", &rest))
        words[(*count)++] = word;
    return words[0];
}

/* What a compiler prints on standard output, as a text from malloc; NULL when it fails. */
static char *compiler_output(watch *w, const char *const words[]) {
    enum { TEXT_BYTES_MAX = 16 << 20 };
    const int file = memfd_create("includes", MFD_CLOEXEC);
    struct stat found;
    pid_t child = 0;
    char *text = NULL;
    if (file < 0) return NULL;
    if (start_program(words, (const int[]){-1, file, -1}, &child) == 0 &&
        wait_for(w, child, -1, false, 0, COMPILER_MS) == 0 && fstat(file, &found) == 0 &&
        found.st_size < TEXT_BYTES_MAX && (text = calloc(1, (size_t)found.st_size + 1)) &&
        pread(file, text, (size_t)found.st_size, 0) != found.st_size) {
        free(text);
        text = NULL;
    }
    close(file);
    return text;
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
    char *const text = compiler_output(w, words);
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

/* Lists the files again after a run of files in this state that began then: they may include others now. False when one
 * has changed since. The list is made after the run, which need not wait for it. */
static bool list_again(watch *w, uint64_t state, struct timespec begin) {
    watch_files before = w->files;
    w->files = (watch_files){0};
    list_files(w);
    const bool same = watch_files_state(&before) == state && !watch_files_new_since(&w->files, &before, begin);
    watch_files_clear(&before);
    return same;
}

/* ---- runs ---- */

static int make_report(watch *w, uint64_t state) {
    const char *const words[] = {"/proc/self/exe", "report", "--events", w->log, "-o", w->page, "--", w->report, NULL};
    return run_program(w, words, -1, w->cuts < CUTS_MAX, state);
}

static int make_run(watch *w, uint64_t state) {
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
    const int status = run_program(w, words, STDOUT_FILENO, w->cuts < CUTS_MAX, state);
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
        say(&w->said, "tlmalloc run: --watch: %s: cannot create a folder: %s; set TMPDIR to a writable folder\n",
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

/* One run of the files in this state. False when no page can be written. */
static bool run_once(watch *w, uint64_t state) {
    char *page = NULL;
    size_t length = 0;
    tla_error error;
    if (!watch_page_tell(&w->shown, "running", "")) return false;
    int status = make_folder(w) ? make_run(w, state) : CLI_FAILED;
    if (status == 0) status = make_report(w, state);
    w->cuts = status < 0 ? w->cuts + 1 : 0;
    if (status == 0 && read_text(w->page, PAGE_BYTES_MAX, &page, &length, &error)) {
        say(&w->said, "tlmalloc run: %s\n", error.text);
        status = CLI_FAILED;
    }
    bool good = true;
    if (status == 0) {
        good = watch_page_show(&w->shown, page) && watch_page_tell(&w->shown, "done", "");
    } else if (status > 0) {
        if (!w->said.count) say(&w->said, "tlmalloc run: ended with status %d\n", status);
        char *const text = said_text(&w->said);
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
        const uint64_t state = settle(w);
        clock_gettime(CLOCK_REALTIME, &now);
        if (ended_by) break;
        good = run_once(w, state);
        fflush(NULL);
        if (!good || ended_by || !list_again(w, state, now)) continue;
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
