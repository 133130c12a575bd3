/* Starts another program. */
#ifndef TLMALLOC_PLATFORM_CLI_START_PROGRAM_H
#define TLMALLOC_PLATFORM_CLI_START_PROGRAM_H

#include <sys/types.h>

/* Starts the program words[0], which is looked for in PATH. `streams` are this process's descriptors for its standard
 * input, output and error; -1 leads to /dev/null. No other descriptor may be inherited: open them with O_CLOEXEC.
 *
 * The program's signals are as by default, so that it ends by a signal, and by a limit of the size of files (SIGXFSZ)
 * instead of cutting its file. Signals that were ignored when this process began stay ignored (nohup); SIGCHLD does
 * not.
 *
 * Returns 0 with the number of the process in *child, or an error number. `words` ends with NULL. */
int start_program(const char *const words[], const int streams[3], pid_t *child);

#endif
