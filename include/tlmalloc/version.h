/* The version of these headers, for comparisons by the compiler: #if TLA_VERSION >= TLA_VERSION_OF(0, 1, 0). The build
 * reads its version from here. Before 1.0 every minor version may change interfaces; CHANGELOG.md lists the changes
 * that users must follow. */
#ifndef TLMALLOC_VERSION_H
#define TLMALLOC_VERSION_H

#define TLA_VERSION_MAJOR 0
#define TLA_VERSION_MINOR 1
#define TLA_VERSION_PATCH 0

#define TLA_VERSION_OF(major, minor, patch) ((major)*1000000 + (minor)*1000 + (patch))
#define TLA_VERSION TLA_VERSION_OF(TLA_VERSION_MAJOR, TLA_VERSION_MINOR, TLA_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of the library that a program runs with, as "0.1.0". With shared libraries it may differ from the
 * version of the headers that the program was compiled with. */
const char *tla_version(void);

#ifdef __cplusplus
}
#endif
#endif
