/* What happens when a signal ends the process, and when standard output cannot be written. */
#ifndef TLMALLOC_PLATFORM_CLI_INTERRUPT_H
#define TLMALLOC_PLATFORM_CLI_INTERRUPT_H

#ifdef __cplusplus
extern "C" {
#endif

/* For the whole process. SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE remove the unfinished outputs, say on standard
 * error how far the command had come (SIGPIPE: nothing), and then end the process as they do without this: a shell
 * sees 128 and the number of the signal. One that was ignored when the process began stays ignored. A file that grows
 * past a limit (SIGXFSZ) is a write error. At exit, unfinished outputs are removed; standard output that could not be
 * written whole is told, and makes the exit status 1. `command` is for messages. */
void interrupt_prepare(const char *command);

/* Another name for messages. */
void interrupt_name(const char *command);

#ifdef __cplusplus
}
#endif
#endif
