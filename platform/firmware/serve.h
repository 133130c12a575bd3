/* The loop of every firmware: it sleeps until the mailbox has a request, serves it, and sleeps again.
 *
 * An allocator includes this header and defines begin, take and give_back. Only a request to begin initialises its
 * state. The functions return the statuses of mailbox.h; a firmware with other statuses defines ANSWER, their type,
 * before. */
#ifndef TLMALLOC_FIRMWARE_SERVE_H
#define TLMALLOC_FIRMWARE_SERVE_H

#include "tlmalloc/riscv/mailbox.h"

#include <stdint.h>

#ifndef ANSWER
#define ANSWER tla_mailbox_status
#endif

/* The operations of mailbox.h, by its registers; take writes the address to *offset. */
static ANSWER begin(uint64_t offset, uint64_t size);
static ANSWER take(uint64_t size, uint64_t *offset);
static ANSWER give_back(uint64_t offset, uint64_t size);

static volatile uint64_t *mailbox(uint64_t at) {
    return (volatile uint64_t *)(TLA_MAILBOX_BASE + at);
}

_Noreturn void serve(void) {
    for (;;) {
        __asm__ volatile("wfi" ::: "memory");
        const uint64_t operation = *mailbox(TLA_MAILBOX_OPERATION), size = *mailbox(TLA_MAILBOX_SIZE);
        uint64_t offset = *mailbox(TLA_MAILBOX_OFFSET);
        ANSWER status;
        if (operation == TLA_MAILBOX_TAKE)
            status = take(size, &offset);
        else if (operation == TLA_MAILBOX_GIVE_BACK)
            status = give_back(offset, size);
        else
            status = begin(offset, size);
        *mailbox(TLA_MAILBOX_ANSWER_OFFSET) = offset;
        *mailbox(TLA_MAILBOX_ANSWER_STATUS) = status;
    }
}

#endif
