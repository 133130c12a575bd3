/* What happens when a signal ends the process, and when standard output cannot be written. */
#ifndef TLMALLOC_PLATFORM_CLI_INTERRUPT_H
#define TLMALLOC_PLATFORM_CLI_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the whole process. Every signal that would end it (all but SIGKILL) removes the unfinished outputs and a
 * compilation, says on standard error how far the command had come (SIGPIPE: nothing), and then ends the process as it
 * does without this: a shell sees 128 and the number of the signal. One that was ignored when the process began stays
 * ignored. A file that grows past a limit (SIGXFSZ) is a write error. At exit, unfinished outputs are removed; standard
 * output that could not be written whole is told, and makes the exit status 1. `command` is for messages. */
void interrupt_prepare(const char *command);

/* Another name for messages. */
void interrupt_name(const char *command);

/* Forks a child that does the command's work: as fork(). A signal that ends this process is passed on to the child,
 * which tells of it; one that does not end by it within two seconds is killed. */
pid_t interrupt_fork(void);

/* The child has ended, and has been waited for. */
void interrupt_forget_child(void);

/* In the child: *told becomes true when it has said by which signal it ends. */
void interrupt_told(volatile bool *told);

#ifdef __cplusplus
}
#endif
#endif
