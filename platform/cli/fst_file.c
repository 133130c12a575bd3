/* Pipes a VCD through vcd2fst. */
#define _GNU_SOURCE /* fopencookie, memfd_create */
#include "cli/fst_file.h"

#include "cli/start_program.h"
#include "cli/vcd_digest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct fst_file {
    volatile pid_t child; /* vcd2fst, then fst2vcd; 0: has not begun, or has ended */
    int pipe;             /* to it, or -1 */
    int said;             /* what it prints on standard error, or -1 */
    volatile int started; /* 0: not yet; -1: it could not, with `reason`; 1: has begun */
    volatile int reason;
    mode_t mode; /* of the temporary file, which vcd2fst makes again */
    vcd_digest *written;
    char *temporary, *beside; /* beside: a scratch file that a vcd2fst leaves when it is ended */
};

static const char writer_name[] = "vcd2fst", reader_name[] = "fst2vcd";

bool fst_is_name(const char *path) {
    const size_t length = strlen(path);
    return length >= 4 && strcasecmp(path + length - 4, ".fst") == 0;
}

static bool is_in_path(const char *program) {
    const char *at = getenv("PATH");
    char name[PATH_MAX];
    struct stat found;
    while (at) {
        const size_t length = strcspn(at, ":");
        const int written = snprintf(name, sizeof name, "%.*s%s%s", (int)length, at, length ? "/" : "", program);
        if (written > 0 && (size_t)written < sizeof name && stat(name, &found) == 0 && S_ISREG(found.st_mode) &&
            access(name, X_OK) == 0)
            return true;
        at = at[length] ? at + length + 1 : NULL;
    }
    return false;
}

tla_status fst_find_programs(const char *path, tla_error *error) {
    const char *const missing = !is_in_path(writer_name) ? writer_name : reader_name;
    if (missing == reader_name && is_in_path(reader_name)) return TLA_OK;
    return tla_error_set(error, TLA_IO,
                         "%.200s: an FST needs the program %s: install Debian's package gtkwave, or name a file .vcd",
                         path, missing);
}

/* Starts a program, which fst_end ends. */
static int start(fst_file *fst, const char *const words[], const int streams[3]) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* the program and its number come together */
    pid_t child = 0;
    const int reason = start_program(words, streams, &child);
    if (!reason) fst->child = child;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return reason;
}

static int start_writer(fst_file *fst) {
    const char *const words[] = {writer_name, "-v", "-", "-f", fst->temporary, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return errno;
    fst->said = memfd_create("vcd2fst", MFD_CLOEXEC);
    const int reason = start(fst, words, (const int[]){ends[0], -1, fst->said});
    close(ends[0]);
    if (reason)
        close(ends[1]);
    else
        fst->pipe = ends[1];
    return reason;
}

/* Writes without a signal where the program has ended. */
static ssize_t write_quietly(int file, const char *bytes, size_t count) {
    const struct timespec now = {0};
    sigset_t broken, before, waiting;
    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&waiting);
    const bool waited = sigismember(&waiting, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    const ssize_t written = write(file, bytes, count);
    const int reason = errno;
    if (written < (ssize_t)count && !waited) /* a pipe that breaks in the middle returns what it has taken */
        while (sigtimedwait(&broken, NULL, &now) < 0 && errno == EINTR)
            ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return written;
}

static ssize_t cookie_write(void *cookie, const char *bytes, size_t count) {
    fst_file *const fst = cookie;
    if (!fst->started) {
        fst->reason = start_writer(fst);
        fst->started = fst->reason ? -1 : 1;
    }
    if (fst->started < 0) {
        errno = fst->reason;
        return 0; /* an error, by the rules of fopencookie */
    }
    for (size_t done = 0; done < count;) {
        const ssize_t written = write_quietly(fst->pipe, bytes + done, count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return 0;
        vcd_digest_add(fst->written, bytes + done, (size_t)written);
        done += (size_t)written;
    }
    return (ssize_t)count;
}

static int cookie_close(void *cookie) {
    fst_file *const fst = cookie;
    const int file = fst->pipe;
    fst->pipe = -1;
    return file < 0 ? 0 : close(file);
}

tla_status fst_begin(const char *temporary, fst_file **fst, FILE **stream) {
    fst_file *made = calloc(1, sizeof *made);
    *fst = NULL;
    *stream = NULL;
    if (!made) return TLA_NO_HOST_MEMORY;
    struct stat found;
    made->pipe = made->said = -1;
    made->mode = stat(temporary, &found) == 0 ? found.st_mode & 07777 : 0666;
    made->written = vcd_digest_create();
    made->temporary = strdup(temporary);
    made->beside = malloc(strlen(temporary) + sizeof ".hier");
    if (made->beside) strcpy(stpcpy(made->beside, temporary), ".hier");
    if (made->written && made->temporary && made->beside)
        *stream = fopencookie(made, "w", (cookie_io_functions_t){.write = cookie_write, .close = cookie_close});
    if (!*stream) {
        fst_release(made);
        return TLA_NO_HOST_MEMORY;
    }
    *fst = made;
    return TLA_OK;
}

/* The first line that the program has printed on standard error, with a colon before it, or "". */
static void read_said(const fst_file *fst, char text[128]) {
    ssize_t got = fst->said < 0 ? 0 : pread(fst->said, text + 2, 120, 0);
    text[got > 0 ? got + 2 : 0] = 0;
    if (got <= 0) return;
    memcpy(text, ": ", 2);
    text[strcspn(text, "\r\n")] = 0;
}

/* As waitpid of a program that has closed its input, or has been ended. */
static int wait_for(fst_file *fst) {
    int status = 0;
    while (waitpid(fst->child, &status, 0) < 0)
        if (errno != EINTR) {
            status = -1;
            break;
        }
    fst->child = 0;
    return status;
}

/* Whether the file holds what was written. A damaged file can let the reader run forever: it may be silent for a
 * minute. */
static bool is_what_was_written(fst_file *fst) {
    enum { SILENT_MS = 60000, CHUNK = 1 << 16 };
    const char *const words[] = {reader_name, "-f", fst->temporary, NULL};
    int ends[2];
    vcd_digest *const read_back = vcd_digest_create();
    char *const chunk = malloc(CHUNK);
    if (!read_back || !chunk || pipe2(ends, O_CLOEXEC) != 0) {
        vcd_digest_destroy(read_back);
        free(chunk);
        return false;
    }
    bool good = start(fst, words, (const int[]){-1, ends[1], -1}) == 0;
    close(ends[1]);
    for (bool more = good; more;) {
        struct pollfd ready = {.fd = ends[0], .events = POLLIN};
        const int found = poll(&ready, 1, SILENT_MS);
        if (found < 0 && errno == EINTR) continue;
        const ssize_t got = found > 0 ? read(ends[0], chunk, CHUNK) : -1;
        if (got > 0) vcd_digest_add(read_back, chunk, (size_t)got);
        if (got < 0) kill(fst->child, SIGKILL);
        more = got > 0;
    }
    close(ends[0]);
    if (good) good = wait_for(fst) == 0 && vcd_digest_equal(fst->written, read_back);
    vcd_digest_destroy(read_back);
    free(chunk);
    return good;
}

tla_status fst_finish(fst_file *fst, const char *path, tla_error *error) {
    char said[128];
    if (fst->started <= 0)
        return tla_error_set(error, TLA_IO, "%.200s: cannot write: vcd2fst did not start: %s", path,
                             fst->started ? strerror(fst->reason) : "there is no waveform");
    const int ended = wait_for(fst);
    read_said(fst, said);
    if (ended != 0 && WIFSIGNALED(ended))
        return tla_error_set(error, TLA_IO,
                             "%.200s: cannot write: vcd2fst was ended by signal %d (%s)%s: check the room on the disk "
                             "and in /tmp",
                             path, WTERMSIG(ended), strsignal(WTERMSIG(ended)), said);
    if (ended != 0)
        return tla_error_set(error, TLA_IO, "%.200s: cannot write: vcd2fst failed with exit status %d%s", path,
                             WEXITSTATUS(ended), said);
    if (!is_what_was_written(fst))
        return tla_error_set(error, TLA_IO,
                             "%.200s: cannot write: the file of vcd2fst does not have the waveform of the run: check "
                             "the room on the disk and in /tmp",
                             path);
    if (chmod(fst->temporary, fst->mode) != 0)
        return tla_error_set(error, TLA_IO, "%.200s: cannot write: %s", path, strerror(errno));
    return TLA_OK;
}

void fst_end(fst_file *fst) {
    fst->reason = ECANCELED;
    fst->started = -1; /* what is flushed at the exit does not start it */
    if (fst->child) {
        kill(fst->child, SIGKILL);
        waitpid(fst->child, NULL, 0);
        fst->child = 0;
    }
    unlink(fst->beside);
}

void fst_release(fst_file *fst) {
    if (!fst) return;
    if (fst->child) {
        kill(fst->child, SIGKILL);
        wait_for(fst);
    }
    if (fst->beside) unlink(fst->beside);
    if (fst->said >= 0) close(fst->said);
    vcd_digest_destroy(fst->written);
    free(fst->temporary);
    free(fst->beside);
    free(fst);
}
