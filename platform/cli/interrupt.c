/* The end of the process by a signal, and errors of standard output. */
#define _GNU_SOURCE /* sigabbrev_np */
#include "cli/interrupt.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "programs/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char command_name[64]; /* a copy: it is read when the process ends */

static volatile pid_t child;         /* does the work, and gets the signals; 0: none */
static volatile bool *volatile told; /* set when the signal was reported; NULL: not wanted */
static char signal_stack[64 << 10];  /* for a fault of a stack that is used up */

/* Signals that do not end a process, or that none can catch; a write past a limit is an error of the file. */
static bool ends_process(int number) {
    switch (number) {
    case SIGKILL:
    case SIGSTOP:
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
    case SIGTSTP:
    case SIGTTIN:
    case SIGTTOU:
    case SIGXFSZ:
        return false;
    default:
        return true;
    }
}

/* "SIGTERM"; "signal 34" of one without a name. */
static void name_signal(int number, char name[32]) {
    const char *const known = sigabbrev_np(number), *const begin = known ? "SIG" : "signal ";
    char digits[3] = {(char)('0' + number / 10), (char)('0' + number % 10), 0};
    size_t length = 0;
    for (const char *part = begin; *part; part++)
        name[length++] = *part;
    for (const char *part = known ? known : digits; *part && length < 31; part++)
        name[length++] = *part;
    name[length] = 0;
}

/* Whether the child has ended by a signal that is passed on. */
static bool end_child(int number) {
    enum { WAIT_MS = 2000, STEP_MS = 10 };
    kill(child, number);
    for (int waited = 0; waited < WAIT_MS; waited += STEP_MS) {
        if (waitpid(child, NULL, WNOHANG) != 0) return true;
        poll(NULL, 0, STEP_MS);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return false;
}

/* Ends what the child has left: a kernel's processes are this one's after the child. Safe in a signal handler. */
static void end_what_is_left(void) {
    enum { ROUNDS_MAX = 1000 };
    for (int round = 0; round < ROUNDS_MAX; round++) {
        char text[4096];
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        const int file = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
        const ssize_t got = file < 0 ? 0 : read(file, text, sizeof text);
        if (file >= 0) close(file);
        if (got <= 0) return;
        pid_t left = 0;
        for (ssize_t i = 0; i < got; i++)
            if (text[i] >= '0' && text[i] <= '9') {
                left = 10 * left + (text[i] - '0');
            } else if (left > 0) { /* a number that is cut has no blank after it */
                kill(left, SIGKILL);
                left = 0;
            }
        poll(NULL, 0, 1);
    }
}

static void on_signal(int number) {
    const bool supervises = child > 0, is_told = supervises && end_child(number);
    if (supervises) end_what_is_left();
    int removed = output_remove_unfinished();
    char name[32];
    tl_kernel_file_remove_scratch();
    name_signal(number, name);
    if (number != SIGPIPE && !is_told) progress_tell_interrupt(command_name, name, removed);
    if (told) *told = true;
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns */
}

pid_t interrupt_fork(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* the child and its number come together */
    const pid_t made = fork();
    child = made > 0 ? made : 0;
    const int reason = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = reason;
    return made;
}

void interrupt_forget_child(void) {
    child = 0;
}

void interrupt_told(volatile bool *to) {
    told = to;
}

/* The next opened file would replace a closed standard stream, and text for the stream would go to that file. These
 * descriptors fail on reads and writes, like a closed stream. */
static void fill_standard_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

static void at_exit(void) {
    output_remove_unfinished(); /* of a command that failed */
    tla_error error;
    if (output_flush_standard(&error) == TLA_OK) return;
    fprintf(stderr, "%s: %s\n", command_name, error.text);
    _exit(CLI_FAILED);
}

void interrupt_name(const char *command) {
    snprintf(command_name, sizeof command_name, "%s", command);
}

void interrupt_prepare(const char *command) {
    interrupt_name(command);
    fill_standard_streams();
    struct sigaction handled = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, ignored = {.sa_handler = SIG_IGN},
                     before;
    const stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&stack, NULL);
    sigfillset(&handled.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++) /* signals of a sanitizer keep its handlers */
        if (ends_process(number) && sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(number, &handled, NULL);
    sigaction(SIGXFSZ, &ignored, NULL);
    signal(SIGCHLD, SIG_DFL); /* ignored, it would take the status of a compiler or of vcd2fst */
    atexit(at_exit);
}
