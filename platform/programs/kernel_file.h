/* A kernel out of a file of its own: C, which is compiled here, or a shared object. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_KERNEL_FILE_H
#define TLMALLOC_PLATFORM_PROGRAMS_KERNEL_FILE_H

#include "tlmalloc/kernel.h"

#include <limits.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_kernel_file {
    tl_kernel_info kernel;    /* its texts and functions live as long as the file is open */
    const char *path;         /* for messages; the caller's */
    char code[PATH_MAX + 16]; /* the object that is opened */
    void *object;
} tl_kernel_file;

/* Whether a word of a command line names a file and no kernel: it ends with .c or .so, or has a slash. */
bool tl_is_kernel_file(const char *word);

/* Prepares FILE.c or FILE.so for opening; no code of it runs. $CC, or cc, compiles C with the headers in `include` and
 * those of the platform's kernels in `kernels`, into a scratch folder of its own. The compiler's output goes to
 * standard error, and after `limit_ms` of real time it is killed. `path` is the caller's and must live as long as
 * *file. Errors have a text that names the file, and leave nothing: a missing file (TLA_IO), no compiler
 * (TLA_NOT_FOUND), a compiler that does not end (TLA_TIMEOUT), C that does not compile (TLA_SYNTAX), writable static
 * variables (TLA_UNSUPPORTED; object_check.h). */
tla_status tl_kernel_file_prepare(const char *path, const char *include, const char *kernels, unsigned limit_ms,
                                  tl_kernel_file *file, tla_error *error);

/* Opens a prepared file, whose code can run from now on; its scratch folder is removed afterwards. Errors likewise, and
 * nothing stays open: undefined symbols and another version of the table of calls (TLA_UNSUPPORTED), no kernel
 * (TLA_SYNTAX), a declaration that cannot run (TLA_INVALID_ARGUMENT). */
tla_status tl_kernel_file_open(tl_kernel_file *file, tla_error *error);
void tl_kernel_file_close(tl_kernel_file *file);

/* Reads a tensor's file: `nbytes` bytes, from the folder of the kernel's own file. TLA_IO, or TLA_INVALID_ARGUMENT when
 * it has another length. */
tla_status tl_kernel_file_read(const char *kernel_path, const tl_kernel_tensor *tensor, uint64_t nbytes, void *bytes,
                               tla_error *error);

/* Ends an outstanding compilation and removes its files; a signal handler may call it. */
void tl_kernel_file_remove_scratch(void);

#ifdef __cplusplus
}
#endif
#endif
