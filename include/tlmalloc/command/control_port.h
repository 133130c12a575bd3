/* A control port: 4 KiB of registers through which one sender drives an allocator, an MMU or a PE.
 *
 *   0x000 .. 0xEFF  command area: one descriptor is written here, in one burst or in ascending words; read what a
 *                   command has left there, when it has left something (command.h)
 *   0xF00 .. 0xF3F  completion of the last command, read only (command.h); all zero until there is one, and
 *                   again from the submission of the next command until that is done
 *   0xF40           state, read only, u32: 0 idle, 1 staging, 2 running, 3 done
 *   0xF44 .. 0xFFF  reads as zero
 *
 * A write at 0 begins a descriptor; further writes go on where the last one ended. When the length that its header
 * claims is reached, the descriptor is submitted: no doorbell is needed, so a burst and a loop of word stores do the
 * same. A control window is an array of ports, one for each sender, so that senders do not disturb each other. */
#ifndef TLMALLOC_COMMAND_CONTROL_PORT_H
#define TLMALLOC_COMMAND_CONTROL_PORT_H

#include "tlmalloc/command/command.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TLA_PORT_BYTES = 4096, TLA_PORT_COMPLETION = 0xF00, TLA_PORT_STATE = 0xF40 };

typedef enum tla_port_state { TLA_PORT_IDLE, TLA_PORT_STAGING, TLA_PORT_RUNNING, TLA_PORT_DONE } tla_port_state;

typedef struct tla_control_port {
    tla_port_state state;
    uint32_t staged; /* bytes of the descriptor that have arrived */
    uint32_t result; /* bytes that the last command has left in the command area, while it is done */
    uint8_t command[TLA_COMMAND_MAX_BYTES];
    uint8_t completion[TLA_COMPLETION_BYTES];
} tla_control_port; /* all zero = idle */

/* Takes a write of length bytes at offset (0 .. 4095) of the port. *complete says that a whole descriptor stands in
 * port->command (port->staged bytes) and the state is TLA_PORT_RUNNING; the owner executes it and calls
 * tla_control_port_complete. TLA_OUT_OF_RANGE outside the command area, TLA_BUSY while a command runs,
 * TLA_BAD_COMMAND when the write does not continue the descriptor, runs past the length it claims, or its header is
 * wrong: the staged part is dropped then (the port is idle, a completion that was there stays). */
tla_status tla_control_port_write(tla_control_port *port, uint32_t offset, const uint8_t *bytes, uint32_t length,
                                  bool *complete, tla_error *error);

/* Stores the completion of the running command; the state becomes TLA_PORT_DONE. Ignored when no command runs. */
void tla_control_port_complete(tla_control_port *port, const tla_completion *completion);

/* The same, and leaves count bytes (at most TLA_COMMAND_MAX_BYTES) in the command area. */
void tla_control_port_complete_with(tla_control_port *port, const tla_completion *completion, const uint8_t *result,
                                    uint32_t count);

/* The target is reset: what was staged, and what the last command has left, is forgotten. Of a command that runs, or
 * whose completion is here, the completion is TLA_RESET from now on, with its ids and its opcode and nothing else, and
 * the state is TLA_PORT_DONE; a port that never had one is idle. Whether it is TLA_RESET. */
bool tla_control_port_reset(tla_control_port *port);

/* Reads length bytes at offset. TLA_OUT_OF_RANGE when any of them lies past the port, or in the command area where
 * nothing has been left. */
tla_status tla_control_port_read(const tla_control_port *port, uint32_t offset, uint8_t *bytes, uint32_t length);

/* --- The command queue ---
 *
 * A queue of commands, and what serves them one after the other: when a command is accepted, started and done.
 *
 * Commands are served in the order in which they are given. The queue holds `depth` commands that wait; a command that
 * finds it full is accepted only when the oldest of them starts. A queue with a clock starts at multiples of its
 * period. Times are picoseconds given by the caller. */

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
