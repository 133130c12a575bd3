/* A driver for a memory controller's control port: plain 32-bit loads and stores, nothing else.
 *
 * For firmware and kernel drivers, and for any simulator that can map the port into an address space. The driver writes
 * a descriptor word by word in ascending order, polls the state register, and reads the completion (control_port.h). It
 * allocates nothing and keeps no global state; one driver a port, one caller at a time. */
#ifndef TLMALLOC_DRIVER_H
#define TLMALLOC_DRIVER_H

#include "tlmalloc/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_driver {
    volatile uint32_t *port;      /* the 4 KiB of one control port, little-endian, mapped uncached */
    uint32_t polls_max;           /* state reads before a command is given up; 0 = never */
    void (*relax)(void *context); /* called between two state reads; NULL = spin */
    void *context;
    uint32_t tag; /* of the last command */
} tla_driver;

/* Allocates nbytes of a channel. On success *pa is the block's physical address. The status of the completion
 * (TLA_EXHAUSTED, TLA_FRAGMENTED, TLA_INVALID_ARGUMENT, ...), or TLA_BUSY when polls_max state reads did not see the
 * end: the command may still be done then, and the port must not be used until its state is 3 (done). *completion may
 * be NULL; it is filled whenever a completion was read. */
tla_status tla_driver_alloc(tla_driver *driver, tla_channel channel, uint64_t nbytes, tla_paddr *pa,
                            tla_completion *completion);

/* Gives a block back; as tla_driver_alloc. */
tla_status tla_driver_free(tla_driver *driver, tla_paddr pa, uint64_t nbytes, tla_completion *completion);

#ifdef __cplusplus
}
#endif
#endif
