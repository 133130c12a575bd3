/* The check of a kernel's object: it must not have writable static variables. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_OBJECT_CHECK_H
#define TLMALLOC_PLATFORM_PROGRAMS_OBJECT_CHECK_H

#include "tlmalloc/base/status.h"

/* Checks an ELF object, relocatable (.o) or shared (.so). All PEs run a kernel in one process, so a static variable
 * would be shared by PEs that share nothing: TLA_UNSUPPORTED with its name and size. The check covers the writable
 * sections at run time. It skips the sections that the linker fills and closes (.data.rel.ro, .got, ...), and the
 * compiler's own start files. TLA_SYNTAX for a file that is not such an object, TLA_IO, TLA_NO_HOST_MEMORY. Messages
 * name it `shown`. */
tla_status tl_object_check(const char *path, const char *shown, tla_error *error);

#endif
