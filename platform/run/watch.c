/* The loop of `tlmalloc run --watch`. */
#define _GNU_SOURCE
#include "run/watch.h"

#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/json_writer.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read_text.h"
#include "run/watch_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum {
    LOOK_MS = 40,        /* between looks at the files */
    SETTLED_LOOKS = 2,   /* that must find no further change: an editor may write a file in pieces */
    LOOKS_MAX = 50,      /* of files that never rest */
    CUTS_MAX = 3,        /* runs in a row that end because of a change; the next one runs to its end */
    END_MS = 3000,       /* for a process to end by SIGTERM */
    CANNOT_START = 127,  /* as of a shell */
    COMPILER_MS = 10000, /* for a list of includes */
    PAGE_BYTES_MAX = 300 << 20,
    MESSAGE_BYTES_MAX = 16 << 10
};

static volatile sig_atomic_t ended_by; /* a signal; 0: none */

typedef struct watch {
    const watch_request *request;
    char folder[PATH_MAX]; /* of temporary files */
    char report[PATH_MAX + 16], log[PATH_MAX + 16], page[PATH_MAX + 16], said[PATH_MAX + 16], rule[PATH_MAX + 16];
    char script[PATH_MAX]; /* PAGE.watch.js */
    char *code;            /* of watch.js */
    unsigned cuts;         /* runs in a row that a change has ended */
    unsigned shown;        /* the number of the last run that has a page */
    watch_files files;
} watch;

static void on_end(int number) {
    ended_by = number;
}

/* ---- processes ---- */

/* Starts a program without input. `out` and `err` are paths of files to write; NULL: as this process's. */
static pid_t start(const char *const words[], const char *out, const char *err) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t all, none;
    pid_t child = -1;
    sigfillset(&all);
    sigemptyset(&none);
    if (posix_spawn_file_actions_init(&files)) return -1;
    if (posix_spawnattr_init(&attributes)) {
        posix_spawn_file_actions_destroy(&files);
        return -1;
    }
    int reason = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (!reason && out)
        reason = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, out, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!reason && err)
        reason = posix_spawn_file_actions_addopen(&files, STDERR_FILENO, err, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (!reason) reason = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!reason) reason = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!reason) reason = posix_spawnattr_setsigmask(&attributes, &none);
    if (!reason) reason = posix_spawnp(&child, words[0], &files, &attributes, (char *const *)(uintptr_t)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return reason ? -1 : child;
}

/* Ends a process, which removes its temporary files itself. */
static void end_process(pid_t child) {
    kill(child, SIGTERM);
    for (int waited = 0; waitpid(child, NULL, WNOHANG) == 0; waited += 10) {
        if (waited >= END_MS) kill(child, SIGKILL);
        poll(NULL, 0, 10);
    }
}

/* The exit status of a program; 128 and the number of a signal that ended it; -1 when it was ended because this process
 * shall end, because `changes` are watched and a file has changed since `state`, or because it took too long (0: it
 * may). */
static int run_program(const watch *w, const char *const words[], const char *out, const char *err, bool changes,
                       uint64_t state, int limit_ms) {
    const pid_t child = start(words, out, err);
    int status = 0;
    if (child < 0) return CANNOT_START;
    for (int waited = 0; waitpid(child, &status, WNOHANG) == 0; waited += 10) {
        const bool late = limit_ms && waited >= limit_ms;
        const bool old = changes && waited % LOOK_MS == 0 && watch_files_state(&w->files) != state;
        if (ended_by || late || old) {
            end_process(child);
            return -1;
        }
        poll(NULL, 0, 10);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
    const char *const kernel = w->request->kernel, *const slash = strrchr(kernel, '.');
    char include[PATH_MAX + 2], shared[PATH_MAX + 2], source[PATH_MAX + 2], *text = NULL;
    size_t count = 0, length = 0;
    tla_error error;
    if (!slash || strcmp(slash, ".c") != 0) return;
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
    const int status = run_program(w, words, w->rule, "/dev/null", false, 0, COMPILER_MS);
    if (status == 0 && !read_text(w->rule, PAGE_BYTES_MAX, &text, &length, &error))
        watch_files_add_rule(&w->files, text, kernel);
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

static void list_files(watch *w) {
    watch_files_clear(&w->files);
    watch_files_add_named(&w->files, w->request->config);
    watch_files_add(&w->files, w->request->kernel);
    const char *const end = strrchr(w->request->kernel, '.');
    if (end && strcmp(end, ".c") == 0) watch_files_add_named(&w->files, w->request->kernel);
    if (w->request->from) watch_files_add(&w->files, w->request->from);
    for (size_t i = 0; i < w->request->set.count; i++)
        add_value(w, w->request->set.items[i]);
    add_includes(w);
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

/* ---- the page ---- */

/* Writes a file beside its final name, and renames it. */
static bool write_file(const char *path, const char *const texts[], size_t count) {
    char part[PATH_MAX + 32];
    snprintf(part, sizeof part, "%s.%ld.part", path, (long)getpid());
    FILE *const out = fopen(part, "we");
    bool good = out;
    for (size_t i = 0; i < count && good; i++)
        good = fputs(texts[i], out) >= 0;
    if (out && fclose(out) != 0) good = false;
    if (good && rename(part, path) == 0) return true;
    const int reason = errno;
    unlink(part);
    print_message("tlmalloc run: --output: %s: cannot write: %s", path, strerror(reason));
    return false;
}

/* Tells an open page what has happened. `state`: running, done, failed or ended. */
static bool tell(const watch *w, const char *state, const char *message) {
    json_t *const now = json_object();
    json_object_set_new(now, "page", json_integer(w->shown));
    json_object_set_new(now, "state", json_string(state));
    json_object_set_new(now, "message", json_from_text(message));
    char *const text = json_compact_text(now);
    json_decref(now);
    const char *const texts[] = {"tlmallocWatched(", text ? text : "{}", ");\n"};
    const bool good = text && write_file(w->script, texts, 3);
    free(text);
    return good;
}

/* The last part of the page's name, as in an address. */
static void name_script(const char *path, char *name, size_t size) {
    const char *const slash = strrchr(path, '/');
    size_t length = 0;
    for (const char *at = slash ? slash + 1 : path; *at && length + 4 < size; at++) {
        const bool plain = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || (*at >= '0' && *at <= '9') ||
                           strchr("._-", *at);
        length += (size_t)snprintf(name + length, size - length, plain ? "%c" : "%%%02X", (unsigned char)*at);
    }
    name[length] = 0;
}

/* Writes the page of a report with the script that watches. The policy of a page in its head forbids all scripts of
 * other files: a watched page may load those of its own scheme. */
static bool write_watched(const watch *w, char *page) {
    static const char policy[] = "script-src 'unsafe-inline'", end[] = "</body>";
    char name[3 * NAME_MAX], number[32];
    char *const allow = strstr(page, policy), *last = NULL;
    char *const mark = strstr(w->code, "/*PAGE*/0"), *const script = strstr(w->code, "/*SCRIPT*/\"\"");
    for (char *at = page; (at = strstr(at, end)); at++)
        last = at;
    if (!allow || !last || !mark || !script || mark > script) {
        print_message("tlmalloc run: --watch: %s does not belong to this version: install tlmalloc again",
                      w->request->script);
        return false;
    }
    name_script(w->script, name, sizeof name);
    snprintf(number, sizeof number, "%u", w->shown);
    /* the texts between the places that change */
    char *const after_policy = allow + sizeof policy - 1;
    char *const head = strndup(page, (size_t)(after_policy - page));
    char *const body = strndup(after_policy, (size_t)(last - after_policy));
    char *const begin = strndup(w->code, (size_t)(mark - w->code));
    char *const middle = strndup(mark + strlen("/*PAGE*/0"), (size_t)(script - mark) - strlen("/*PAGE*/0"));
    const char *const texts[] = {head,
                                 " 'self' file:",
                                 body,
                                 "<script>\n",
                                 begin,
                                 number,
                                 middle,
                                 "\"",
                                 name,
                                 "\"",
                                 script + strlen("/*SCRIPT*/\"\""),
                                 "</script>\n",
                                 last};
    const bool good =
        head && body && begin && middle && write_file(w->request->page, texts, sizeof texts / sizeof *texts);
    free(head);
    free(body);
    free(begin);
    free(middle);
    return good;
}

/* A page for the time before the first run that succeeds. */
static bool write_waiting(const watch *w) {
    static const char waiting[] =
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "
        "style-src 'unsafe-inline'; img-src data:\">\n<title>tlmalloc</title>\n</head>\n<body>\n"
        "<h1>tlmalloc</h1>\n<p>No run has succeeded yet.</p>\n</body>\n</html>\n";
    char *const copy = strdup(waiting);
    const bool good = copy && write_watched(w, copy);
    free(copy);
    return good;
}

/* ---- runs ---- */

/* What a program has printed on standard error, which goes to this process's too. The caller frees it. */
static char *take_said(const watch *w) {
    char *const text = calloc(1, MESSAGE_BYTES_MAX + 1);
    FILE *const in = fopen(w->said, "re");
    if (in && text) text[fread(text, 1, MESSAGE_BYTES_MAX, in)] = 0;
    if (in) fclose(in);
    if (text) fputs(text, stderr);
    return text;
}

static int make_report(const watch *w, uint64_t state) {
    const char *const words[] = {"/proc/self/exe", "report", "--events", w->log, "-o", w->page, "--", w->report, NULL};
    return run_program(w, words, "/dev/null", w->said, w->cuts < CUTS_MAX, state, 0);
}

static int make_run(const watch *w, uint64_t state) {
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
    const int status = run_program(w, words, NULL, w->said, w->cuts < CUTS_MAX, state, 0);
    free(words);
    return status;
}

/* One run of the files in this state. False when no page can be written. */
static bool run_once(watch *w, uint64_t state) {
    char *page = NULL;
    size_t length = 0;
    tla_error error;
    if (!tell(w, "running", "")) return false;
    int status = make_run(w, state);
    char *said = status < 0 ? NULL : take_said(w);
    if (status == 0) {
        status = make_report(w, state);
        if (status > 0) {
            free(said);
            said = take_said(w);
        }
    }
    bool good = true;
    w->cuts = status < 0 ? w->cuts + 1 : 0;
    if (status == 0 && read_text(w->page, PAGE_BYTES_MAX, &page, &length, &error)) {
        free(said);
        said = strdup(error.text);
        status = CLI_FAILED;
    }
    if (status == 0) {
        w->shown++;
        good = write_watched(w, page) && tell(w, "done", "");
    } else if (status > 0) {
        char plain[64];
        snprintf(plain, sizeof plain, "tlmalloc run: ended with status %d", status);
        good = tell(w, "failed", said && *said ? said : plain);
    }
    free(page);
    free(said);
    return good;
}

/* ---- begin and end ---- */

static bool is_ours(const char *script) {
    static const char begin[] = "tlmallocWatched(";
    char text[sizeof begin] = "";
    FILE *const in = fopen(script, "re");
    if (!in) return errno == ENOENT;
    const bool ours = fread(text, 1, sizeof begin - 1, in) == sizeof begin - 1 && strcmp(text, begin) == 0;
    fclose(in);
    return ours;
}

/* Whether the page can be written, and is no input. */
static bool check_page(const watch_request *r) {
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
    if (status) print_message("tlmalloc run: %s", error.text);
    return !status;
}

static bool begin(watch *w) {
    const char *const where = getenv("TMPDIR");
    size_t length = 0;
    tla_error error;
    const int written = snprintf(w->script, sizeof w->script, "%s.watch.js", w->request->page);
    if (written < 0 || (size_t)written + 32 >= sizeof w->script || !is_ours(w->script)) {
        print_message("tlmalloc run: --watch: %s exists and is not of a watch: name another page", w->script);
        return false;
    }
    if (read_text(w->request->script, PAGE_BYTES_MAX, &w->code, &length, &error)) {
        print_message("tlmalloc run: --watch: %s", error.text);
        return false;
    }
    const int folder =
        snprintf(w->folder, sizeof w->folder, "%s/tlmalloc-watch-XXXXXX", where && *where ? where : "/tmp");
    if (folder < 0 || (size_t)folder >= sizeof w->folder || !mkdtemp(w->folder)) {
        print_message("tlmalloc run: --watch: %s: cannot create a folder: %s; set TMPDIR to a writable folder",
                      w->folder, strerror(errno));
        w->folder[0] = 0;
        return false;
    }
    snprintf(w->report, sizeof w->report, "%s/report.json", w->folder);
    snprintf(w->log, sizeof w->log, "%s/log.events", w->folder);
    snprintf(w->page, sizeof w->page, "%s/page.html", w->folder);
    snprintf(w->said, sizeof w->said, "%s/said", w->folder);
    snprintf(w->rule, sizeof w->rule, "%s/rule", w->folder);
    return true;
}

/* The last page becomes a page like any other; one without a run goes. An open page has time to see that the watch has
 * ended. */
static bool end(watch *w) {
    enum { SEEN_MS = 600 }; /* more than two pauses of watch.js */
    char *page = NULL;
    size_t length = 0;
    tla_error error;
    bool good = true;
    if (w->shown && !read_text(w->page, PAGE_BYTES_MAX, &page, &length, &error))
        good = write_file(w->request->page, (const char *const[]){page}, 1);
    else if (w->folder[0])
        unlink(w->request->page);
    free(page);
    if (tell(w, "ended", "")) poll(NULL, 0, SEEN_MS);
    unlink(w->script);
    const char *const temporary[] = {w->report, w->log, w->page, w->said, w->rule};
    for (size_t i = 0; i < sizeof temporary / sizeof *temporary && w->folder[0]; i++)
        unlink(temporary[i]);
    if (w->folder[0]) rmdir(w->folder);
    watch_files_clear(&w->files);
    free(w->code);
    return good;
}

int watch_run(const watch_request *request) {
    static watch w;
    w = (watch){.request = request};
    struct sigaction handled = {.sa_handler = on_end};
    if (!check_page(request)) return CLI_BAD_INPUT;
    if (!begin(&w)) {
        free(w.code);
        return CLI_FAILED;
    }
    sigaction(SIGINT, &handled, NULL);
    sigaction(SIGTERM, &handled, NULL);
    sigaction(SIGHUP, &handled, NULL);
    signal(SIGCHLD, SIG_DFL);
    bool good = tell(&w, "running", "") && write_waiting(&w); /* the page asks at once */
    list_files(&w);
    while (good && !ended_by) {
        struct timespec now;
        const uint64_t state = settle(&w);
        clock_gettime(CLOCK_REALTIME, &now);
        if (ended_by) break;
        good = run_once(&w, state);
        fflush(NULL);
        if (!good || !list_again(&w, state, now)) continue;
        const uint64_t rested = watch_files_state(&w.files);
        while (!ended_by && watch_files_state(&w.files) == rested)
            poll(NULL, 0, LOOK_MS);
    }
    return end(&w) && good ? CLI_OK : CLI_FAILED;
}
