/* The mailbox between a memory controller and the firmware that serves its requests: registers of eight bytes.
 *
 *     0x00  operation, read only: tla_mailbox_operation
 *     0x08  offset, read only: of a released range; for TLA_MAILBOX_BEGIN the number of nodes that the list may have;
 *           for TLA_MAILBOX_TAKE TLA_MAILBOX_EXACT or 0
 *     0x10  size, read only: of the request, of the released range, or of the whole memory
 *     0x18  offset of the answer
 *     0x20  status of the answer: tla_mailbox_status. This write ends the request, and clears the interrupt
 *
 * The controller fills the first three registers and raises the interrupt; requests are sequential. Sizes and offsets
 * count bytes, or larger units of the controller, and start at 0; sizes are already rounded up. Offset bins have
 * offsets below 2^32: above them their answer has the node of the block, with which the controller releases it.
 * Firmware can include this header. */
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

/* Addresses of the mailbox and of the firmware itself. */
#define TLA_MAILBOX_BASE 0x10000000u
#define TLA_FIRMWARE_BASE 0x80000000u
enum { TLA_FIRMWARE_MEMORY_BYTES = 0x10000 };

enum {
    TLA_MAILBOX_EXACT = 1,      /* offset bins take just the size from the only free region, whatever its bin is and
                                   although no node is left */
    TLA_MAILBOX_NODE_SHIFT = 32 /* of offset bins' node in an offset */
};

typedef enum tla_mailbox_operation {
    TLA_MAILBOX_TAKE,      /* allocate `size` from the block that the policy chooses */
    TLA_MAILBOX_GIVE_BACK, /* release `size` at `offset` */
    TLA_MAILBOX_BEGIN      /* all of 0 .. size - 1 is one free block, and the earlier state is forgotten. The list has
                              `offset` nodes; NO_NODE when the firmware has fewer, or when `offset` is 0 */
} tla_mailbox_operation;

/* The same answers as those of the engine in RTL (model/rtl). */
typedef enum tla_mailbox_status {
    TLA_MAILBOX_DONE,
    TLA_MAILBOX_NO_BLOCK,  /* no free block is large enough */
    TLA_MAILBOX_NOT_TAKEN, /* a byte of the range is already free */
    TLA_MAILBOX_NO_NODE    /* the range would be one more free block than there are nodes; it stays allocated */
} tla_mailbox_status;

/* The registers, from the controller's side. */
typedef struct tla_mailbox {
    uint64_t operation, offset, size;
    uint64_t answer_offset, answer_status;
    bool answered; /* set by the write of the status; the controller clears it with the next request */
} tla_mailbox;

/* An access of the firmware: nbytes at `at`, an offset into the mailbox, from data or into it. TLA_OUT_OF_RANGE unless
 * it is one whole register, TLA_PERMISSION for a write of the request or a read of the answer. After an error nothing
 * has changed. */
tla_status tla_mailbox_access(tla_mailbox *mailbox, uint64_t at, void *data, unsigned nbytes, bool write);

#ifdef __cplusplus
}
#endif
#endif
