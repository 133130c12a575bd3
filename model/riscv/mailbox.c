/* The registers of the mailbox. */
#include "tlmalloc/device/mailbox.h"

#include <string.h>

tla_status tla_mailbox_access(tla_mailbox *mailbox, uint64_t at, void *data, unsigned nbytes, bool write) {
    uint64_t *const registers[TLA_MAILBOX_BYTES / 8] = {&mailbox->operation, &mailbox->offset, &mailbox->size,
                                                        &mailbox->answer_offset, &mailbox->answer_status};
    if (at >= TLA_MAILBOX_BYTES || at % 8 != 0 || nbytes != 8) return TLA_OUT_OF_RANGE;
    if (write != (at >= TLA_MAILBOX_ANSWER_OFFSET)) return TLA_PERMISSION;
    if (!write) {
        memcpy(data, registers[at / 8], 8);
        return TLA_OK;
    }
    memcpy(registers[at / 8], data, 8);
    mailbox->answered |= at == TLA_MAILBOX_ANSWER_STATUS;
    return TLA_OK;
}
