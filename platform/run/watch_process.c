/* Starts programs, waits for them, and passes on what they print. */
#define _GNU_SOURCE
#include "run/watch_process.h"

#include "cli/start_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 10, LOOK_MS = 40, END_MS = 3000 };

static void add(watch_said *s, const char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++, s->count++)
        if (s->count < WATCH_SAID_BYTES)
            s->begin[s->count] = bytes[i];
        else
            s->end[s->count % WATCH_SAID_BYTES] = bytes[i];
}

void watch_say(watch_said *s, const char *format, ...) {
    char text[1024];
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    if (length > 0) add(s, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

char *watch_said_text(const watch_said *s) {
    enum { MIDDLE_BYTES = 80 };
    char *const text = calloc(1, 2 * WATCH_SAID_BYTES + MIDDLE_BYTES);
    if (!text) return NULL;
    const uint64_t left_out = s->count > 2 * WATCH_SAID_BYTES ? s->count - 2 * WATCH_SAID_BYTES : 0;
    size_t length = s->count < WATCH_SAID_BYTES ? (size_t)s->count : WATCH_SAID_BYTES;
    memcpy(text, s->begin, length);
    if (left_out)
        length += (size_t)snprintf(text + length, MIDDLE_BYTES, "\n... %llu bytes left out ...\n",
                                   (unsigned long long)left_out);
    for (uint64_t i = WATCH_SAID_BYTES + left_out; i < s->count; i++)
        text[length++] = s->end[i % WATCH_SAID_BYTES];
    for (size_t i = 0; i < length; i++)
        if (!text[i]) text[i] = '?';
    return text;
}

/* Passes on what a program has printed by now, as far as it comes in one go: a kernel may print without end. */
static void pass_on(int from, watch_said *said) {
    char chunk[1 << 16];
    const ssize_t got = read(from, chunk, sizeof chunk);
    if (got <= 0) return;
    add(said, chunk, (size_t)got);
    fwrite(chunk, 1, (size_t)got, stderr);
}

/* Ends a program, which removes its temporary files itself. What it still prints goes nowhere. */
static void end_program(pid_t child, int from) {
    char chunk[1 << 16];
    kill(child, SIGTERM);
    for (int waited = 0; waitpid(child, NULL, WNOHANG) == 0; waited += STEP_MS) {
        if (waited >= END_MS) kill(child, SIGKILL);
        if (from >= 0) (void)!read(from, chunk, sizeof chunk); /* a full pipe would stop it */
        poll(NULL, 0, STEP_MS);
    }
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* The status of a program, as of watch_run_program. `from`: its standard error, or -1. limit_ms 0: none. */
static int wait_for(pid_t child, int from, watch_said *said, watch_is_over *is_over, void *context, int limit_ms) {
    const int64_t begin = now_ms();
    int64_t looked = begin;
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        const bool interrupted = poll(&ready, 1, STEP_MS) < 0;
        const int64_t now = now_ms();
        bool over = limit_ms && now - begin >= limit_ms;
        if (interrupted || now - looked >= LOOK_MS) {
            looked = now;
            over = is_over(context) || over;
        }
        if (over) {
            end_program(child, from);
            return -1;
        }
        if (ready.revents & POLLIN)
            pass_on(from, said);
        else if (ready.revents) /* it has closed its standard error */
            poll(NULL, 0, STEP_MS);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int start_piped(const char *const words[], int out, int ends[2], pid_t *child) {
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    const int reason =
        fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 ? errno : start_program(words, (const int[]){-1, out, ends[1]}, child);
    close(ends[1]);
    if (reason) close(ends[0]);
    return reason;
}

int watch_run_program(const char *const words[], int out, watch_is_over *is_over, void *context, watch_said *said) {
    int ends[2];
    pid_t child = 0;
    said->count = 0;
    const int reason = start_piped(words, out, ends, &child);
    if (reason) {
        watch_say(said, "tlmalloc run: --watch: cannot start a process: %s\n", strerror(reason));
        fprintf(stderr, "tlmalloc run: --watch: cannot start a process: %s\n", strerror(reason));
        return WATCH_CANNOT_START;
    }
    const int status = wait_for(child, ends[0], said, is_over, context, 0);
    if (status >= 0) pass_on(ends[0], said); /* the rest is at most what a pipe holds */
    close(ends[0]);
    if (status > 128)
        watch_say(said, "tlmalloc run: the run was ended by signal %d (%s)\n", status - 128, strsignal(status - 128));
    return status;
}

char *watch_program_output(const char *const words[], int limit_ms, watch_is_over *is_over, void *context) {
    enum { TEXT_BYTES_MAX = 16 << 20 };
    const int file = memfd_create("output", MFD_CLOEXEC);
    struct stat found;
    pid_t child = 0;
    char *text = NULL;
    if (file < 0) return NULL;
    if (start_program(words, (const int[]){-1, file, -1}, &child) == 0 &&
        wait_for(child, -1, NULL, is_over, context, limit_ms) == 0 && fstat(file, &found) == 0 &&
        found.st_size < TEXT_BYTES_MAX && (text = calloc(1, (size_t)found.st_size + 1)) &&
        pread(file, text, (size_t)found.st_size, 0) != found.st_size) {
        free(text);
        text = NULL;
    }
    close(file);
    return text;
}
