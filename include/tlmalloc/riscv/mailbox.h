/* The mailbox between a memory controller and the firmware that serves its requests: registers of eight bytes.
 *
 *   0x00  operation, read only: tla_mailbox_operation
 *   0x08  offset, read only: of a range that is given back; of a beginning, the nodes that the list may have
 *   0x10  size, read only: what is taken, given back, or there at all
 *   0x18  offset of the answer
 *   0x20  status of the answer: tla_mailbox_status; this write ends the request, and the interrupt with it
 *
 * The controller fills the first three and raises the interrupt; requests come one after the other. Sizes and offsets
 * count bytes, or larger units of the controller's, from 0 on; sizes are rounded up already. A header that firmware can
 * include. */
#ifndef TLMALLOC_RISCV_MAILBOX_H
#define TLMALLOC_RISCV_MAILBOX_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TLA_MAILBOX_OPERATION = 0x00,
    TLA_MAILBOX_OFFSET = 0x08,
    TLA_MAILBOX_SIZE = 0x10,
    TLA_MAILBOX_ANSWER_OFFSET = 0x18,
    TLA_MAILBOX_ANSWER_STATUS = 0x20,
    TLA_MAILBOX_BYTES = 0x28
};

/* Where firmware finds it, and itself. */
#define TLA_MAILBOX_BASE 0x10000000u
#define TLA_FIRMWARE_BASE 0x80000000u
enum { TLA_FIRMWARE_MEMORY_BYTES = 0x10000 };

typedef enum tla_mailbox_operation {
    TLA_MAILBOX_TAKE,      /* `size` of the block that the policy chooses */
    TLA_MAILBOX_GIVE_BACK, /* `size` at `offset` */
    TLA_MAILBOX_BEGIN      /* all of 0 .. size - 1 is one free block, and whatever was before is forgotten; the list has
                              `offset` nodes, or NO_NODE when the firmware has not so many, or none were asked for */
} tla_mailbox_operation;

/* As the engine in RTL answers (model/rtl). */
typedef enum tla_mailbox_status {
    TLA_MAILBOX_DONE,
    TLA_MAILBOX_NO_BLOCK,  /* no free block is large enough */
    TLA_MAILBOX_NOT_TAKEN, /* a byte of the range is free already */
    TLA_MAILBOX_NO_NODE    /* the range would be one more free block than there are nodes for; it is still taken */
} tla_mailbox_status;

/* The registers, as the controller's side sees them. */
typedef struct tla_mailbox {
    uint64_t operation, offset, size;
    uint64_t answer_offset, answer_status;
    bool answered; /* set by the write of the status; the controller clears it with the next request */
} tla_mailbox;

/* An access by the firmware's side: nbytes at `at`, an offset into the mailbox, from data or into it. TLA_OUT_OF_RANGE
 * unless it is one whole register, TLA_PERMISSION for a write of the request or a read of the answer; nothing is
 * changed then. */
tla_status tla_mailbox_access(tla_mailbox *mailbox, uint64_t at, void *data, unsigned nbytes, bool write);

#ifdef __cplusplus
}
#endif
#endif
