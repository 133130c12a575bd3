/* A streaming access moves its data in passes over one span of addresses. The functions find the passes that touch a
 * part of the span. */
#ifndef TLMALLOC_BASE_PASSES_H
#define TLMALLOC_BASE_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An access of `length` bytes over `span` addresses, 0 < span <= length, and the part of bytes [offset, offset +
 * nbytes) of that span, nbytes > 0. Without streaming, span is length, and the access has one pass. */
typedef struct tla_passes {
    uint64_t length, span, offset, nbytes;
} tla_passes;

/* The run of the whole's data, [*index, *index + *n), that is the part's in the pass that begins with byte `pass` of
 * the data: 0, span, 2 * span, ... False when that pass does not reach it, nor any later one. */
static inline bool tla_passes_run(const tla_passes *p, uint64_t pass, uint64_t *index, uint64_t *n) {
    if (pass >= p->length || p->offset >= p->length - pass) return false;
    *index = pass + p->offset;
    *n = p->length - *index < p->nbytes ? p->length - *index : p->nbytes;
    return true;
}

/* Bytes of the part in all passes. */
uint64_t tla_passes_bytes(const tla_passes *passes);

/* The part's data out of the whole's, pass after pass, and back. */
void tla_passes_pack(const tla_passes *passes, uint8_t *part, const uint8_t *whole);
void tla_passes_unpack(const tla_passes *passes, const uint8_t *part, uint8_t *whole);

/* As tla_passes_pack from a pattern that repeats every pattern_length bytes (> 0), as byte enables do. */
void tla_passes_pack_pattern(const tla_passes *passes, uint8_t *part, const uint8_t *pattern, uint64_t pattern_length);

#ifdef __cplusplus
}
#endif
#endif
