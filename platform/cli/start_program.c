/* posix_spawn with the signals of a new program. */
#define _GNU_SOURCE /* SIGRTMAX, posix_spawn */
#include "cli/start_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <unistd.h>

extern char **environ;

/* All but those that are ignored. interrupt_prepare ignores SIGXFSZ for this process alone. */
static void find_default_signals(sigset_t *signals) {
    struct sigaction action;
    sigfillset(signals);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGXFSZ && number != SIGCHLD && sigaction(number, NULL, &action) == 0 &&
            action.sa_handler == SIG_IGN)
            sigdelset(signals, number);
}

static int add_streams(posix_spawn_file_actions_t *files, const int streams[3]) {
    int reason = 0;
    for (int to = 0; to < 3 && !reason; to++)
        reason = streams[to] >= 0
                     ? posix_spawn_file_actions_adddup2(files, streams[to], to)
                     : posix_spawn_file_actions_addopen(files, to, "/dev/null", to ? O_WRONLY : O_RDONLY, 0);
    return reason;
}

int start_program(const char *const words[], const int streams[3], pid_t *child) {
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t defaults, none;
    find_default_signals(&defaults);
    sigemptyset(&none);
    int reason = posix_spawn_file_actions_init(&files);
    if (reason) return reason;
    reason = posix_spawnattr_init(&attributes);
    if (reason) {
        posix_spawn_file_actions_destroy(&files);
        return reason;
    }
    reason = add_streams(&files, streams);
    if (!reason) reason = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!reason) reason = posix_spawnattr_setsigdefault(&attributes, &defaults);
    if (!reason) reason = posix_spawnattr_setsigmask(&attributes, &none);
    /* posix_spawnp takes words that can be written to, and does not write to them */
    if (!reason) reason = posix_spawnp(child, words[0], &files, &attributes, (char *const *)(uintptr_t)words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return reason;
}
