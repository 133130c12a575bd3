/* An allocation engine that is firmware: a hart that runs an image, and the mailbox through which it is asked.
 *
 * The image does the placement; the engine says what that took, from the interrupt of a request to the write of its
 * status. Images are those of platform/firmware, or one's own by the same mailbox (mailbox.h). */
#ifndef TLMALLOC_FIRMWARE_ENGINE_H
#define TLMALLOC_FIRMWARE_ENGINE_H

#include "tlmalloc/device/mailbox.h"
#include "tlmalloc/device/riscv_hart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Code for TLA_FIRMWARE_BASE, which is also where it begins. */
typedef struct tla_firmware {
    const unsigned char *bytes;
    size_t nbytes;
} tla_firmware;

/* First fit over a linked list (platform/firmware/first_fit.c), and how many nodes it has at most. */
extern const tla_firmware tla_firmware_first_fit;
enum { TLA_FIRMWARE_FIRST_FIT_NODES = 1024 };

/* Buddies of powers of two (platform/firmware/buddy.c), and the largest size that it can begin with; `nodes` is nothing
 * to it. */
extern const tla_firmware tla_firmware_buddy;
enum { TLA_FIRMWARE_BUDDY_UNITS = 8192 };

typedef struct tla_firmware_engine tla_firmware_engine;

typedef struct tla_firmware_answer {
    tla_mailbox_status status;
    uint64_t offset;       /* of what was taken; else as the firmware has left it */
    uint64_t instructions; /* from the WFI that the interrupt ends to the write of the status, both included */
    uint64_t cycles;       /* of those */
} tla_firmware_answer;

/* Makes an engine and has the firmware begin: all of 0 .. size - 1 is one free block, and there can be `nodes` of them.
 * TLA_INVALID_ARGUMENT for an image that does not fit into TLA_FIRMWARE_MEMORY_BYTES, TLA_LIMIT for what the firmware
 * has no nodes for, TLA_NO_HOST_MEMORY, and what tla_firmware_engine_serve answers; *engine is NULL then. */
tla_status tla_firmware_engine_create(const tla_firmware *firmware, const tla_riscv_timing *timing, uint64_t size,
                                      uint64_t nodes, tla_firmware_engine **engine);

/* NULL is allowed. */
void tla_firmware_engine_destroy(tla_firmware_engine *engine);

/* Has the firmware serve one request. A firmware that does not work gets TLA_TIMEOUT when it has not answered and waits
 * again after 2^26 instructions, TLA_UNSUPPORTED, TLA_OUT_OF_RANGE or TLA_PERMISSION for an instruction or an access
 * that is none (tla_riscv_last_fault of its hart), TLA_WRONG_RESULT for a status that is none; *answer is all zero
 * then, and the engine good for nothing but to be destroyed. */
tla_status tla_firmware_engine_serve(tla_firmware_engine *engine, tla_mailbox_operation operation, uint64_t offset,
                                     uint64_t size, tla_firmware_answer *answer);

/* The hart, to look at. */
const tla_riscv_hart *tla_firmware_engine_hart(const tla_firmware_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
