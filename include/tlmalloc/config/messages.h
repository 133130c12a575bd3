/* What moves messages between PEs is told (config/memory.h says where the defaults are). */
#ifndef TLMALLOC_CONFIG_MESSAGES_H
#define TLMALLOC_CONFIG_MESSAGES_H

#include "tlmalloc/command/sent_command.h"
#include "tlmalloc/kernel/slot_costs.h"

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What all slots of a direction have at most, a half of the window that they are written through. */
#define TLA_MESSAGE_WINDOW_BYTES (UINT64_C(8) << 20)

/* How a sender without a credit waits: until one comes, or by looking again and again. */
typedef enum tla_back_pressure {
    TLA_BACK_PRESSURE_SLEEP,
    TLA_BACK_PRESSURE_POLL,
    TLA_BACK_PRESSURE_COUNT
} tla_back_pressure;

/* "sleep", "poll"; NULL for a value that is none. */
const char *tla_back_pressure_name(tla_back_pressure back_pressure);

typedef struct tla_message_parameters {
    uint32_t slots;                  /* messages.slots: of each direction between two PEs */
    uint64_t slot_size;              /* messages.slot_size: bytes */
    uint32_t credit_bytes;           /* messages.credit: bytes that a credit takes on its way */
    tla_slot_memory memory;          /* messages.memory */
    tla_back_pressure back_pressure; /* messages.back_pressure */
    uint64_t poll_ps;                /* messages.poll_interval */
    tla_slot_costs costs;            /* messages.costs */
    bool signals;                    /* messages.signals: waveforms show the queues */
    uint32_t asid;                   /* workload.asid: whose blocks the slots are */
    tla_retry_policy retry;          /* of the slots' allocation: host.retries, host.retry_delay */
} tla_message_parameters;

void tla_messages_defaults(tla_message_parameters *parameters);

#ifdef __cplusplus
}
#endif
#endif
