/* An allocation engine that is firmware: a hart that runs an image, and the mailbox through which it is asked.
 *
 * The image decides the placement; the engine reports its time, from the interrupt of a request to the write of its
 * status. Images are those of platform/firmware, or a user's own with the same mailbox (mailbox.h). Internal to the
 * model. */
#ifndef TLMALLOC_MODEL_RISCV_FIRMWARE_ENGINE_H
#define TLMALLOC_MODEL_RISCV_FIRMWARE_ENGINE_H

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/riscv/mailbox.h"
#include "tlmalloc/riscv/riscv_hart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An image and its properties. */
typedef struct tla_firmware {
    const char *name;           /* for messages, and of its cost profile: "fw_list" */
    tla_policy policy;          /* whose placements it makes */
    uint64_t capacity_max;      /* units that it can own */
    uint64_t nodes_max;         /* free blocks that it can keep apart; offset bins: free and live ones */
    const unsigned char *bytes; /* code for TLA_FIRMWARE_BASE, which is also where it begins */
    size_t nbytes;
} tla_firmware;

/* First fit over a linked list (platform/firmware/first_fit.c): any number of units, at most 1024 free blocks. */
extern const tla_firmware tla_firmware_first_fit;

/* Buddies of powers of two (platform/firmware/buddy.c): at most 8192 units, and as many free blocks as there may be. */
extern const tla_firmware tla_firmware_buddy;

/* Offset bins in constant time, whose sizes are rounded up or not in front of the image
 * (platform/firmware/offset_bins.c): at most TLA_FIRMWARE_BINS units, and 1024 nodes for free and live blocks. */
extern const tla_firmware tla_firmware_offset_bins, tla_firmware_offset_bins_rounded;

/* Returns the image of a policy; NULL if the policy has none. */
const tla_firmware *tla_firmware_of(tla_policy policy);

typedef struct tla_firmware_engine tla_firmware_engine;

typedef struct tla_firmware_answer {
    tla_mailbox_status status;
    uint64_t offset;       /* of the allocated range; otherwise as the firmware has left it */
    uint64_t instructions; /* from the WFI that the interrupt ends to the write of the status, both included */
    uint64_t cycles;       /* of those */
} tla_firmware_answer;

/* Makes an engine that is to be restarted before it serves. TLA_INVALID_ARGUMENT for an image that does not fit into
 * TLA_FIRMWARE_MEMORY_BYTES, TLA_NO_HOST_MEMORY; *engine is NULL then. The firmware must live as long as the engine. */
tla_status tla_firmware_engine_create(const tla_firmware *firmware, const tla_riscv_timing *timing,
                                      tla_firmware_engine **engine);

/* NULL is allowed. */
void tla_firmware_engine_destroy(tla_firmware_engine *engine);

/* Resets the hart and begins the firmware: all of 0 .. capacity - 1 is one free block, or as few as possible, with
 * `nodes` nodes. TLA_LIMIT for a size that the firmware does not support, and the errors of tla_firmware_engine_serve;
 * the engine does not serve then. error (may be NULL) has a text. */
tla_status tla_firmware_engine_restart(tla_firmware_engine *engine, uint64_t capacity, uint64_t nodes,
                                       tla_error *error);

/* Lets the firmware serve one request. TLA_TIMEOUT when the firmware waits again without an answer, or after 2^26
 * instructions. TLA_UNSUPPORTED, TLA_OUT_OF_RANGE or TLA_PERMISSION for an invalid instruction or access;
 * TLA_WRONG_RESULT for an invalid status. After an error *answer is all zero, error (may be NULL) has a text, and the
 * engine does not serve before a restart. */
tla_status tla_firmware_engine_serve(tla_firmware_engine *engine, tla_mailbox_operation operation, uint64_t offset,
                                     uint64_t size, tla_firmware_answer *answer, tla_error *error);

/* An engine of its own for tla_arena_drive, to which its cycles are the price. Errors as tla_firmware_engine_create. */
tla_status tla_firmware_engine_for_arena(const tla_firmware *firmware, const tla_riscv_timing *timing,
                                         tla_engine *engine);

/* The hart, to look at. */
const tla_riscv_hart *tla_firmware_engine_hart(const tla_firmware_engine *engine);

#ifdef __cplusplus
}
#endif
#endif
