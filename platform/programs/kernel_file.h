/* A kernel out of a file of its own: C, which is compiled here, or a shared object. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_KERNEL_FILE_H
#define TLMALLOC_PLATFORM_PROGRAMS_KERNEL_FILE_H

#include "tlmalloc/kernel.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_kernel_file {
    tl_kernel_info kernel; /* its texts and functions live as long as the file is open */
    void *object;
} tl_kernel_file;

/* Whether a word of a command line names a file and no kernel: it ends with .c or .so, or has a slash. */
bool tl_is_kernel_file(const char *word);

/* Opens FILE.c or FILE.so. C is compiled by $CC, or cc, with the headers in `include`, into a scratch folder of its own
 * that is gone afterwards; what the compiler says goes to standard error. Refused with a text that names the file, and
 * nothing left open: a file that is not there or is no kernel (TLA_IO, TLA_SYNTAX), no compiler (TLA_NOT_FOUND), C that
 * does not compile (TLA_SYNTAX), symbols that nobody has (TLA_UNSUPPORTED), another version of the table of calls or
 * writable static variables (TLA_UNSUPPORTED; object_check.h), a declaration that cannot be run
 * (TLA_INVALID_ARGUMENT). */
tla_status tl_kernel_file_open(const char *path, const char *include, tl_kernel_file *file, tla_error *error);
void tl_kernel_file_close(tl_kernel_file *file);

/* What a tensor's file holds: `nbytes` bytes, from the folder of the kernel's own file. TLA_IO, or
 * TLA_INVALID_ARGUMENT when it has another length. */
tla_status tl_kernel_file_read(const char *kernel_path, const tl_kernel_tensor *tensor, uint64_t nbytes, void *bytes,
                               tla_error *error);

/* Removes what is left of a compilation that a signal ends; may be called from its handler. */
void tl_kernel_file_remove_scratch(void);

#ifdef __cplusplus
}
#endif
#endif
