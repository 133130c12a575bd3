/* An FST waveform, which the program vcd2fst of Debian's package gtkwave makes of our VCD. */
#ifndef TLMALLOC_PLATFORM_CLI_FST_FILE_H
#define TLMALLOC_PLATFORM_CLI_FST_FILE_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct fst_file fst_file;

/* Whether a name asks for an FST: it ends in .fst, in small or capital letters. */
bool fst_is_name(const char *path);

/* TLA_IO where vcd2fst or fst2vcd is not in PATH; the text names `path` and the package. */
tla_status fst_find_programs(const char *path, tla_error *error);

/* Begins a waveform in the file `temporary`, which exists: *stream takes the VCD. The program begins with the first
 * bytes, in the process that writes them. TLA_NO_HOST_MEMORY. */
tla_status fst_begin(const char *temporary, fst_file **fst, FILE **stream);

/* Waits for the program, when the stream has been closed, and compares the file with what was written: vcd2fst ends
 * with 0 where a full disk has cut its file. `path` is for the text. TLA_IO when the program failed or was ended, or
 * when the file has another waveform. */
tla_status fst_finish(fst_file *fst, const char *path, tla_error *error);

/* Ends the program, and removes what it leaves beside the temporary file. Safe in a signal handler. */
void fst_end(fst_file *fst);

/* As fst_end, and releases the memory. NULL is allowed. The stream must be closed. */
void fst_release(fst_file *fst);

#endif
