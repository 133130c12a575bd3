/* What a VCD holds, as one number: whether two files hold the same waveform. */
#ifndef TLMALLOC_PLATFORM_CLI_VCD_DIGEST_H
#define TLMALLOC_PLATFORM_CLI_VCD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vcd_digest vcd_digest;

/* NULL without host memory. */
vcd_digest *vcd_digest_create(void);
void vcd_digest_destroy(vcd_digest *digest);

/* Adds the next bytes of the file, cut anywhere. */
void vcd_digest_add(vcd_digest *digest, const char *bytes, size_t count);

/* Whether both files have the same signals (scope, name and bits, in this order), the same value changes at the same
 * times, and the same last time. The identifiers of signals, the order of changes at one time, leading zeros and the
 * remarks at the beginning may differ: `fst2vcd` writes these in its own way. False also when host memory ran out, or
 * when a file is no VCD. */
bool vcd_digest_equal(const vcd_digest *a, const vcd_digest *b);

#endif
