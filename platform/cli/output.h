/* The files that a command reads and writes. An output appears complete or not at all: it is written under a temporary
 * name beside its own, and renamed when the command has succeeded. Unfinished outputs are removed when the process
 * ends, also by a signal. A pipe or a device is written in place; a symbolic link is followed to its file. All outputs
 * of the process belong together; a process runs one command. */
#ifndef TLMALLOC_PLATFORM_CLI_OUTPUT_H
#define TLMALLOC_PLATFORM_CLI_OUTPUT_H

#include "tlmalloc/base/status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Notes a file that the command reads, before the outputs are opened: none of them may be it, by whatever name. A file
 * that does not exist is no matter here. NULL: nothing happens. */
void output_protect(const char *input);

/* TLA_INVALID_ARGUMENT when standard output goes to one of the inputs. For commands without outputs: output_open looks
 * too. */
tla_status output_check_standard(tla_error *error);

/* Opens an output in *stream, which stays owned by this module: never fclose it. The file at `path` stays until
 * output_commit. "-" is standard output, as are /dev/stdout and similar names. `option` is for messages ("--json").
 * path NULL: *stream is NULL. Errors: TLA_INVALID_ARGUMENT when the path names an input, another output or the file of
 * standard output, or when that is an input; TLA_IO when it cannot be written; TLA_NO_HOST_MEMORY. */
tla_status output_open(const char *option, const char *path, FILE **stream, tla_error *error);

/* As output_open for a VCD. Where `path` ends in .fst or .FST, the file becomes an FST of what is written, by vcd2fst
 * of Debian's package gtkwave: TLA_IO when that program or fst2vcd is missing, TLA_INVALID_ARGUMENT when the path leads
 * to something other than a regular file. */
tla_status output_open_waveform(const char *option, const char *path, FILE **stream, tla_error *error);

/* Makes a directory for outputs, one level, unless it exists. TLA_IO when it cannot be made, or when the name is not a
 * directory; TLA_INVALID_ARGUMENT for "", for "-", and for the name of an open output. */
tla_status output_make_directory(const char *path, tla_error *error);

/* Forgets an output of which nothing shall be left. NULL: nothing happens. */
void output_drop(FILE *stream);

/* Finishes all files, and standard output with the table that was printed before, and puts the files in their places.
 * On TLA_IO every file that could not be written whole is as it was, and so are the others, and all of them when
 * standard output failed, unless the last step, the renaming, failed in the middle. */
tla_status output_commit(tla_error *error);

/* Whether all that was printed on standard output has got there: TLA_IO the first time that it has not. */
tla_status output_flush_standard(tla_error *error);

/* Where text for a person goes: standard output, but standard error when an output takes or took standard output. */
FILE *output_table(void);

/* Removes the unfinished outputs; safe in a signal handler. Returns the number of removed files. */
int output_remove_unfinished(void);

#ifdef __cplusplus
}
#endif
#endif
