/* Sparse bytes by an anonymous mapping that reserves no swap. */
#include "sparse_bytes.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

tla_status tla_sparse_bytes_create(uint64_t nbytes, uint8_t **bytes) {
    *bytes = NULL;
    if (nbytes == 0 || nbytes > PTRDIFF_MAX) return TLA_INVALID_ARGUMENT;
    void *range =
        mmap(NULL, (size_t)nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return TLA_NO_HOST_MEMORY;
#ifdef MADV_NOHUGEPAGE
    madvise(range, (size_t)nbytes,
            MADV_NOHUGEPAGE); /* a touched byte commits 4 KiB, not 2 MiB; the host may ignore the advice */
#endif
    *bytes = range;
    return TLA_OK;
}

void tla_sparse_bytes_clear(uint8_t *bytes, uint64_t nbytes) {
#ifdef __linux__ /* elsewhere the advice need not throw pages away */
    if (madvise(bytes, (size_t)nbytes, MADV_DONTNEED) == 0) return;
#endif
    memset(bytes, 0, (size_t)nbytes);
}

void tla_sparse_bytes_destroy(uint8_t *bytes, uint64_t nbytes) {
    if (bytes) munmap(bytes, (size_t)nbytes);
}
