/* Test benches in C: senders that run in simulated time and drive one memory controller, each by a port of its own.
 *
 * A bench is a C file that defines `the_bench`; senders.cpp is the top-level around it: a controller with one memory,
 * its slice, a thread for each sender, and a waveform. The program's first argument is the VCD. */
#ifndef SENDERS_H
#define SENDERS_H

#include "tlmalloc/command/port_client.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { SIGNALS_MAX = 8 };

typedef struct sender {
    unsigned number;        /* from 0; its address space is number + 1 */
    tla_port_client driver; /* of its own port; between two looks at it a microsecond passes */
} sender;

typedef struct bench {
    uint64_t memory_bytes;                  /* of HBM, placed by first fit */
    unsigned senders;                       /* each runs at time 0 */
    void (*run)(sender *me);                /* a thread: takes simulated time */
    int (*end)(void);                       /* called when all senders have ended; returns the program's status */
    const char *const signals[SIGNALS_MAX]; /* names in the waveform of the signals of the bench; NULL after the last */
} bench;

extern const bench the_bench;

/* For senders: wait for simulated time; return it; set the value of a signal from now on. */
void wait_us(uint64_t us);
uint64_t now_us(void);
void show(unsigned signal, uint64_t value);

#ifdef __cplusplus
}
#endif
#endif
