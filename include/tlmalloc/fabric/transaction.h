/* What the accesses of one transfer are to the fabric: a transaction.
 *
 * An initiator that cuts a transfer into accesses (a DMA engine into chunks, a host into pieces) sends them as one
 * transaction to every target that they go to: the overhead of a node is paid once in each direction, a node that
 * stores and forwards collects what belongs together, the request of a read travels once, and writes are acknowledged
 * once. An access without a transaction is one of its own.
 *
 * The initiator makes it, says what it issues, and destroys it when everything has been answered. One owner at a time.
 */
#ifndef TLMALLOC_FABRIC_TRANSACTION_H
#define TLMALLOC_FABRIC_TRANSACTION_H

#include "tlmalloc/base/status.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_transaction tla_transaction;

/* window: how many accesses the initiator has under way at most, above 0. Nodes that store and forward pass on what
 * they have when they hold so many, since no more can come. posted: nobody waits for the acknowledgement of writes,
 * which takes no time then. TLA_INVALID_ARGUMENT, TLA_NO_HOST_MEMORY; *transaction is NULL then. */
tla_status tla_transaction_create(uint64_t window, bool posted, tla_transaction **transaction);

/* All its accesses have been answered. NULL is allowed. */
void tla_transaction_destroy(tla_transaction *transaction);

/* One more access is on its way to the fabric; `last`: none is issued after it. */
void tla_transaction_issue(tla_transaction *transaction, bool last);

/* An access that was issued has been answered, at at_ps, without having entered the fabric (it was not translated,
 * say).
 */
void tla_transaction_lose(tla_transaction *transaction, uint64_t at_ps);

/* From at_ps on no more is issued before one of those that are under way has come back to the initiator, although they
 * are fewer than the window (a window that moves in order waits for its oldest). Until the next one is issued. */
void tla_transaction_wait(tla_transaction *transaction, uint64_t under_way, uint64_t at_ps);

/* None is issued any more, from at_ps on, although it was not said with the last one (an access has failed, say). */
void tla_transaction_end(tla_transaction *transaction, uint64_t at_ps);

#ifdef __cplusplus
}
#endif
#endif
