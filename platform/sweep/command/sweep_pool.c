/* A pool of processes: one is forked for each point, so that each has a simulation of its own, and no program is
 * started and linked again. */
#define _GNU_SOURCE /* memfd_create */
#include "sweep/command/sweep_pool.h"

#include "cli/commands.h"
#include "cli/progress.h"
#include "sweep/command/sweep_worker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct worker {
    pid_t child; /* 0: idle */
    int handle;  /* a descriptor that can be polled for its end */
    int64_t point;
    unsigned tries;
    double begun;
    bool too_long; /* it was killed for that */
    sweep_streams streams;
} worker;

typedef struct pool {
    const pool_work *work;
    worker *workers;
    sweep_outcome *outcomes; /* shared with the workers */
    struct pollfd *ends;
    unsigned busy;
    bool figures_known; /* a report has had all of them */
} pool;

static tla_status make(pool *p, tla_error *error) {
    const unsigned jobs = p->work->jobs;
    p->workers = calloc(jobs, sizeof *p->workers);
    p->ends = calloc(jobs, sizeof *p->ends);
    p->outcomes = mmap(NULL, jobs * sizeof *p->outcomes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!p->workers || !p->ends || p->outcomes == MAP_FAILED)
        return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for %u jobs", jobs);
    for (unsigned i = 0; i < jobs; i++)
        p->workers[i].streams = (sweep_streams){-1, -1, -1};
    for (unsigned i = 0; i < jobs; i++) {
        sweep_streams *s = &p->workers[i].streams;
        s->report = memfd_create("report", 0);
        s->messages = memfd_create("messages", 0);
        s->experiment = memfd_create("experiment", 0);
        if (s->report < 0 || s->messages < 0 || s->experiment < 0)
            return tla_error_set(error, TLA_IO, "cannot create files for the reports of %u jobs: %s", jobs,
                                 strerror(errno));
    }
    return TLA_OK;
}

static void empty(int descriptor) {
    (void)!ftruncate(descriptor, 0);
    lseek(descriptor, 0, SEEK_SET);
}

static tla_status begin(pool *p, worker *w, tla_error *error) {
    sweep_outcome *outcome = &p->outcomes[w - p->workers];
    memset(outcome, 0, sizeof *outcome);
    empty(w->streams.report);
    empty(w->streams.messages);
    empty(w->streams.experiment);
    w->too_long = false;
    w->begun = host_seconds();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(CLI_FAILED);
        sweep_work(p->work->s, w->point, &w->streams, outcome);
    }
    w->handle = child > 0 ? pidfd_open(child, 0) : -1;
    if (w->handle < 0) {
        tla_error_set(error, TLA_IO, "cannot start a process for a point: %s", strerror(errno));
        if (child > 0) kill(child, SIGKILL), waitpid(child, NULL, 0);
        return TLA_IO;
    }
    w->child = child;
    p->busy++;
    return TLA_OK;
}

/* ---- results of workers ---- */

/* The first line that is no warning, without the name of the command. */
static void read_message(const worker *w, const char *command, char *message, size_t room) {
    const tla_phrase prefix = tla_phrase_of("tlmalloc %s: ", command);
    char text[8192];
    off_t at = 0;
    *message = '\0';
    for (ssize_t length; (length = pread(w->streams.messages, text, sizeof text - 1, at)) > 0;) {
        text[length] = '\0';
        const size_t size = strcspn(text, "\n");
        text[size] = '\0';
        const char *line = text;
        if (strncmp(line, prefix.text, strlen(prefix.text)) == 0) line += strlen(prefix.text);
        if (*line && !strstr(line, "warning: ")) {
            snprintf(message, room, "%.*s", (int)room - 1, line);
            return;
        }
        at += (off_t)size + 1;
    }
}

static void tell_signal(const worker *w, int number, sweep_row_result *row) {
    row->status = 128 + number;
    if (w->too_long)
        snprintf(row->message, sizeof row->message, "the point exceeded time_limit");
    else
        snprintf(row->message, sizeof row->message, "ended by signal %d (%s)%s", number, strsignal(number),
                 number == SIGKILL ? ", twice" : "");
}

static tla_status check_figures(pool *p, const sweep_outcome *outcome, size_t *figure, tla_error *error) {
    const sweep *s = p->work->s;
    for (size_t i = 0; i < s->figure_count && !p->figures_known; i++) {
        if (outcome->states[i] != FIGURE_MISSING && outcome->states[i] != FIGURE_NO_NUMBER) continue;
        *figure = i;
        return tla_error_set(error, TLA_NOT_FOUND, "%s: %s %s", s->figures[i].name, tla_quote(s->figures[i].path).text,
                             outcome->states[i] == FIGURE_MISSING ? "is missing in the report"
                                                                  : "is not a number in the report");
    }
    p->figures_known = true;
    return TLA_OK;
}

static bool from_outside(int number) {
    return number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT;
}

/* A worker has ended. */
static tla_status end(pool *p, worker *w, size_t *figure, tla_error *error) {
    const sweep_outcome *outcome = &p->outcomes[w - p->workers];
    sweep_row_result row = {.point = w->point, .seconds = host_seconds() - w->begun};
    int status = 0;
    waitpid(w->child, &status, 0);
    close(w->handle);
    w->child = 0;
    p->busy--;
    if (WIFSIGNALED(status) && from_outside(WTERMSIG(status)))
        return tla_error_set(error, TLA_BUSY, "signal %d (%s) ended a point", WTERMSIG(status),
                             strsignal(WTERMSIG(status)));
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && !w->too_long && ++w->tries < 2) return begin(p, w, error);
    w->tries = 0;
    memcpy(row.configuration, outcome->configuration, sizeof row.configuration);
    for (size_t i = 0; i < p->work->s->figure_count; i++)
        row.figures[i] = outcome->reported && outcome->states[i] == FIGURE_FOUND ? outcome->figures[i] : NAN;
    if (WIFSIGNALED(status)) {
        tell_signal(w, WTERMSIG(status), &row);
    } else {
        row.status = WEXITSTATUS(status);
        if (row.status) read_message(w, p->work->s->command->name, row.message, sizeof row.message);
        if (!row.status && !outcome->reported) {
            row.status = CLI_FAILED;
            snprintf(row.message, sizeof row.message, "ended without a report");
        }
    }
    tla_status checked = TLA_OK;
    if (row.status == 0 && outcome->reported) checked = check_figures(p, outcome, figure, error);
    return checked ? checked : p->work->take(p->work->context, &row, error);
}

/* ---- the loop ---- */

static tla_status fill(pool *p, bool *ended, tla_error *error) {
    for (unsigned i = 0; i < p->work->jobs && !*ended; i++) {
        worker *w = &p->workers[i];
        if (w->child) continue;
        const pool_answer answer = p->work->next(p->work->context, &w->point);
        if (answer == POOL_WAIT) return TLA_OK;
        *ended = answer == POOL_END;
        const tla_status status = *ended ? TLA_OK : begin(p, w, error);
        if (status) return status;
    }
    return TLA_OK;
}

/* Kills what takes too long; how long to wait for the next that might, in milliseconds. */
static int watch_time(pool *p) {
    const double limit = 1e-12 * (double)p->work->s->time_limit_ps, now = host_seconds();
    double wait = 0.2; /* for the progress line */
    for (unsigned i = 0; i < p->work->jobs && limit > 0; i++) {
        worker *w = &p->workers[i];
        if (!w->child) continue;
        const double left = w->begun + limit - now;
        if (left <= 0 && !w->too_long) {
            w->too_long = true;
            kill(w->child, SIGKILL);
        }
        if (left > 0 && left < wait) wait = left;
    }
    return (int)(1000 * wait) + 1;
}

static tla_status wait_and_take(pool *p, size_t *figure, tla_error *error) {
    const unsigned jobs = p->work->jobs;
    for (unsigned i = 0; i < jobs; i++)
        p->ends[i] = (struct pollfd){.fd = p->workers[i].child ? p->workers[i].handle : -1, .events = POLLIN};
    if (poll(p->ends, jobs, watch_time(p)) < 0 && errno != EINTR)
        return tla_error_set(error, TLA_IO, "cannot wait for a point: %s", strerror(errno));
    for (unsigned i = 0; i < jobs; i++)
        if (p->ends[i].fd >= 0 && p->ends[i].revents) {
            const tla_status status = end(p, &p->workers[i], figure, error);
            if (status) return status;
        }
    return TLA_OK;
}

static void clear(pool *p) {
    for (unsigned i = 0; p->workers && i < p->work->jobs; i++) {
        worker *w = &p->workers[i];
        if (w->child) {
            kill(w->child, SIGKILL);
            waitpid(w->child, NULL, 0);
            close(w->handle);
        }
        const int files[] = {w->streams.report, w->streams.messages, w->streams.experiment};
        for (int file = 0; file < 3; file++)
            if (files[file] > STDERR_FILENO) close(files[file]);
    }
    if (p->outcomes && p->outcomes != MAP_FAILED) munmap(p->outcomes, p->work->jobs * sizeof *p->outcomes);
    free(p->workers);
    free(p->ends);
}

tla_status pool_run(const pool_work *work, size_t *figure, tla_error *error) {
    pool p = {.work = work};
    bool ended = false;
    tla_status status = make(&p, error);
    while (!status && (!ended || p.busy)) {
        status = fill(&p, &ended, error);
        /* Workers run while earlier results are written. */
        if (!status) status = work->settle(work->context, error);
        if (!status) status = wait_and_take(&p, figure, error);
    }
    if (!status || status == TLA_BUSY) {
        const tla_status settled = work->settle(work->context, status ? NULL : error);
        if (!status) status = settled;
    }
    clear(&p);
    return status;
}
