/* The end of the process by a signal, and errors of standard output. */
#ifndef TLMALLOC_PLATFORM_CLI_INTERRUPT_H
#define TLMALLOC_PLATFORM_CLI_INTERRUPT_H

#include <stdbool.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For the whole process. Every signal that would end it (all but SIGKILL) first removes the unfinished outputs and a
 * compilation, and reports the progress of the command on standard error (not for SIGPIPE). Then it ends the process as
 * without this function: a shell sees 128 and the number of the signal. A signal that was ignored at the start of the
 * process stays ignored, but for SIGCHLD: programs that this process starts are waited for. A file that grows past a
 * limit (SIGXFSZ) is a write error. At exit, unfinished outputs are removed. A standard output that could not be
 * written completely is reported, and makes the exit status 1. `command` is for messages. */
void interrupt_prepare(const char *command);

/* Another name for messages. */
void interrupt_name(const char *command);

/* As fork(), for a child that does the work of the command. A signal that ends this process is passed on to the child,
 * which reports it; a child that does not end by it within two seconds is killed, and so are the processes that it
 * leaves to this one. */
pid_t interrupt_fork(void);

/* The child has ended, and has been waited for. */
void interrupt_forget_child(void);

/* In the child: *told becomes true when the child has reported the signal that ends it. */
void interrupt_told(volatile bool *told);

#ifdef __cplusplus
}
#endif
#endif
