/* The progress of a long run: one line on stderr if it is a terminal, and the report of an interrupt. */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The current run, for the signal handler. The counts may be torn on a host of 32 bits; they are only for reports. */
static struct {
    const char *volatile what;
    const char *volatile unit;
    volatile uint64_t done, total;
    const volatile size_t *volatile watched; /* in place of done; NULL: done */
    volatile bool shown;
} current;

double host_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

progress_line progress_begin(const char *what, const char *unit) {
    current.watched = NULL;
    current.done = current.total = 0;
    current.unit = unit;
    current.what = what;
    return (progress_line){.what = what, .unit = unit, .watched = isatty(STDERR_FILENO), .next = host_seconds() + 1.0};
}

void progress_update(progress_line *progress, uint64_t done, uint64_t total) {
    current.what = NULL; /* during the change: another run may have begun since */
    current.unit = progress->unit;
    current.done = done;
    current.total = total;
    current.watched = NULL;
    current.what = progress->what;
    if (!progress->watched || host_seconds() < progress->next) return;
    current.shown = progress->shown = true;
    fprintf(stderr, "\r%s: %3.0f %%%s\033[K", progress->what, total ? 100.0 * (double)done / (double)total : 100.0,
            progress->note ? progress->note : "");
    fflush(stderr);
    progress->next = host_seconds() + 0.2;
}

void progress_watch(const size_t *done, uint64_t total) {
    current.total = total;
    current.watched = done;
}

void progress_end(progress_line *progress) {
    if (progress->shown) fprintf(stderr, "\r\033[K");
    current.shown = progress->shown = false;
    current.what = NULL;
    current.watched = NULL;
}

/* A line made without the C library's printing, which a signal handler must not call. */
typedef struct line {
    char text[400];
    size_t length;
} line;

static void add(line *l, const char *text) {
    for (; *text && l->length < sizeof l->text; text++)
        l->text[l->length++] = *text;
}

static void add_number(line *l, uint64_t number) {
    char digits[21], *at = digits + sizeof digits - 1;
    *at = 0;
    do
        *--at = (char)('0' + number % 10);
    while (number /= 10);
    add(l, at);
}

void progress_tell_interrupt(const char *command, const char *signal, int removed) {
    line l = {.length = 0};
    if (current.shown) add(&l, "\r\033[K");
    add(&l, command);
    add(&l, ": ended by ");
    add(&l, signal);
    if (current.what) {
        add(&l, " during ");
        add(&l, current.what);
        if (current.unit) {
            add(&l, ", after ");
            add_number(&l, current.watched ? *current.watched : current.done);
            add(&l, " of ");
            add_number(&l, current.total);
            add(&l, " ");
            add(&l, current.unit);
        }
    }
    if (removed > 0) {
        add(&l, "; removed ");
        add_number(&l, (uint64_t)removed);
        add(&l, removed == 1 ? " unfinished file" : " unfinished files");
    }
    add(&l, "\n");
    (void)!write(STDERR_FILENO, l.text, l.length);
}
