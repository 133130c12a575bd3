/* What happens when a signal ends the process, and when standard output cannot be written. */
#include "cli/interrupt.h"

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "programs/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char command_name[64]; /* a copy: it is read when the process ends */

static const struct {
    int number;
    const char *name;
} ends[] = {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGQUIT, "SIGQUIT"}, {SIGPIPE, NULL}};
enum { END_COUNT = sizeof ends / sizeof ends[0] };

static void on_signal(int number) {
    int removed = output_remove_unfinished();
    tl_kernel_file_remove_scratch();
    for (size_t i = 0; i < END_COUNT; i++)
        if (ends[i].number == number && ends[i].name) progress_tell_interrupt(command_name, ends[i].name, removed);
    signal(number, SIG_DFL);
    raise(number); /* delivered when the handler returns */
}

/* A standard stream that is closed would become the next file that is opened, and what is meant for the stream would
 * land in that file. Reading and writing fail on these, as on a closed stream. */
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
    struct sigaction handled = {.sa_handler = on_signal}, ignored = {.sa_handler = SIG_IGN}, before;
    sigfillset(&handled.sa_mask);
    for (size_t i = 0; i < END_COUNT; i++)
        if (sigaction(ends[i].number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ends[i].number, &handled, NULL);
    sigaction(SIGXFSZ, &ignored, NULL);
    atexit(at_exit);
}
