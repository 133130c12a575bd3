/* The registers of the mailbox. */
#include "tlmalloc/riscv/mailbox.h"

#include "base/little_endian.h"

tla_status tla_mailbox_access(tla_mailbox *mailbox, uint64_t at, void *data, unsigned nbytes, bool write) {
    uint64_t *const registers[TLA_MAILBOX_BYTES / 8] = {&mailbox->operation, &mailbox->offset, &mailbox->size,
                                                        &mailbox->answer_offset, &mailbox->answer_status};
    if (at >= TLA_MAILBOX_BYTES || at % 8 != 0 || nbytes != 8) return TLA_OUT_OF_RANGE;
    if (write != (at >= TLA_MAILBOX_ANSWER_OFFSET)) return TLA_PERMISSION;
    if (!write) {
        put_little_endian(data, *registers[at / 8], 8);
        return TLA_OK;
    }
    *registers[at / 8] = get_little_endian(data, 8);
    mailbox->answered |= at == TLA_MAILBOX_ANSWER_STATUS;
    return TLA_OK;
}
