/* The files that the points of a sweep read. */
#ifndef TLMALLOC_PLATFORM_SWEEP_FILES_H
#define TLMALLOC_PLATFORM_SWEEP_FILES_H

#include "sweep.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The files and folders that the value of a setting names, in the order in which they stand there; how many. */
size_t sweep_paths(const sweep *s, sweep_kind kind, const char *name, const char *value,
                   sweep_path paths[SWEEP_PATHS_MAX]);

/* One of them. Values are phrases, and so are their parts. */
tla_phrase sweep_path_text(const char *value, sweep_path path);

/* Reads every file that the points of a judged sweep name, for the hashes of points: 64 bits of FNV-1a over the
 * contents, and for a folder over its files in the order of their names. An unreadable file has no digest: the points
 * that need it fail. TLA_NO_HOST_MEMORY. */
tla_status sweep_read_files(sweep *s);

/* Returns the digest of a file that sweep_read_files has read; false: no digest. */
bool sweep_file_digest(const sweep *s, const char *path, uint64_t *digest);

/* The same of a file that a key of the configuration names: from where the program runs when the sweep sets the key at
 * the point, else beside the platform. */
bool sweep_config_file_digest(const sweep *s, int64_t point, const char *key, const char *text, uint64_t *digest);

#ifdef __cplusplus
}
#endif
#endif
