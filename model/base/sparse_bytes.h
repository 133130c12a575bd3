/* Bytes of a large memory, committed by the host only where they are touched.
 *
 * The range is contiguous in the host's address space, so a pointer into it is a pointer to all of it. Bytes that were
 * never written read as zero. Internal to the model. */
#ifndef TLMALLOC_MODEL_BASE_SPARSE_BYTES_H
#define TLMALLOC_MODEL_BASE_SPARSE_BYTES_H

#include "tlmalloc/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reserves nbytes (> 0) of address space. TLA_NO_HOST_MEMORY when the host has none; *bytes is NULL then. */
tla_status tla_sparse_bytes_create(uint64_t nbytes, uint8_t **bytes);
/* Sets all bytes to zero, and returns their memory to the host. Pointers stay valid. */
void tla_sparse_bytes_clear(uint8_t *bytes, uint64_t nbytes);

void tla_sparse_bytes_destroy(uint8_t *bytes, uint64_t nbytes);

#ifdef __cplusplus
}
#endif
#endif
