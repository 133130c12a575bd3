/* What a kernel's object may not have: static variables that can be written. */
#ifndef TLMALLOC_PLATFORM_PROGRAMS_OBJECT_CHECK_H
#define TLMALLOC_PLATFORM_PROGRAMS_OBJECT_CHECK_H

#include "tlmalloc/base/status.h"

/* Reads an ELF object, relocatable (.o) or shared (.so). All PEs run a kernel in one process, so that a static variable
 * would be shared by PEs that share nothing: TLA_UNSUPPORTED with its name and size. What is looked at are the sections
 * that are there at run time and can be written; those that the linker fills and closes (.data.rel.ro, .got, ...) are
 * none, nor is what the compiler's own start files bring. TLA_SYNTAX for a file that is no such object, TLA_IO,
 * TLA_NO_HOST_MEMORY. Messages name it `shown`. */
tla_status tl_object_check(const char *path, const char *shown, tla_error *error);

#endif
