/* A queue of commands, and what serves them one after the other: when a command is accepted, started and done.
 *
 * Commands are served in the order in which they are given. The queue holds `depth` commands that wait; a command that
 * finds it full is accepted only when the oldest of them starts. A queue with a clock starts at multiples of its
 * period. Times are picoseconds given by the caller. */
#ifndef TLMALLOC_COMMAND_COMMAND_QUEUE_H
#define TLMALLOC_COMMAND_COMMAND_QUEUE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_COMMAND_QUEUE_DEPTH_MAX = 256 };

typedef struct tla_command_queue {
    uint64_t free_at;                             /* the queue is idle from here on */
    uint64_t busy_ps;                             /* sum of service times */
    uint64_t commands;                            /* served so far */
    uint64_t clock_ps;                            /* period of the queue's clock; 0: it starts at any time */
    uint32_t depth;                               /* 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX */
    uint32_t next;                                /* where the start of the next command goes in `starts` */
    uint64_t starts[TLA_COMMAND_QUEUE_DEPTH_MAX]; /* when the last `depth` commands started */
} tla_command_queue;                              /* all zero but depth (and clock_ps) = idle since time 0 */

typedef struct tla_service {
    uint64_t accepted_ps; /* the queue took the command: arrival, or later when it was full */
    uint64_t start_ps;    /* the service began */
    uint64_t done_ps;     /* start + service */
} tla_service;

/* Serves a command that arrives at arrival_ps and occupies the queue for service_ps. */
tla_service tla_command_queue_serve(tla_command_queue *queue, uint64_t arrival_ps, uint64_t service_ps);

/* From now on no command starts before until_ps: the next one needs something that is at work until then. */
void tla_command_queue_wait(tla_command_queue *queue, uint64_t until_ps);

/* When a command that arrives at arrival_ps would be accepted and started, before it is known how long it takes;
 * done_ps is its start. */
tla_service tla_command_queue_look(const tla_command_queue *queue, uint64_t arrival_ps);

#ifdef __cplusplus
}
#endif
#endif
