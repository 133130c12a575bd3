/* A control port: 4 KiB of registers through which one sender drives an allocator, an MMU or a PE.
 *
 *     0x000 .. 0xEFF  command area. The sender writes one descriptor here, in one burst or in ascending words. Reads
 *                     return the result of a command, if it has left a result (command.h)
 *     0xF00 .. 0xF3F  completion of the last command, read only (command.h). All zero until the first completion, and
 *                     from the submission of a command until its completion
 *     0xF40           state, read only, u32: 0 idle, 1 staging, 2 running, 3 done.
 *     0xF48           L1, u64: bytes of the first part of the target's memory that is in two parts, read and write, in
 *                     one access of 8 bytes; every port has it. Zero, and read only, without such a memory
 *     other bytes     read as zero
 *
 * A write at 0 begins a descriptor; each further write continues where the last write ended. The port submits the
 * descriptor when it has the length that its header claims. A doorbell is not needed, and a burst and a loop of word
 * stores do the same. A control window is an array of ports, one for each sender, so that senders do not disturb each
 * other. */
#ifndef TLMALLOC_COMMAND_CONTROL_PORT_H
#define TLMALLOC_COMMAND_CONTROL_PORT_H

#include "tlmalloc/command/command.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The value of a failed ALLOC in a memory in two parts: L2 has no room for the block, and the ALLOC would succeed with
 * an L1 of fewer permille of the memory. That L1 has room for its blocks, and for the bytes that staging needs. */
#define TLA_SMALLER_L1 UINT64_MAX

enum { TLA_PORT_BYTES = 4096, TLA_PORT_COMPLETION = 0xF00, TLA_PORT_STATE = 0xF40, TLA_PORT_L1 = 0xF48 };

typedef enum tla_port_state { TLA_PORT_IDLE, TLA_PORT_STAGING, TLA_PORT_RUNNING, TLA_PORT_DONE } tla_port_state;

typedef struct tla_control_port {
    tla_port_state state;
    uint32_t staged; /* bytes of the descriptor that have arrived */
    uint32_t result; /* bytes of the last command's result in the command area, in state done */
    uint8_t command[TLA_COMMAND_MAX_BYTES];
    uint8_t completion[TLA_COMPLETION_BYTES];
} tla_control_port; /* all zero = idle */

/* Accepts a write of length bytes at offset (0 .. 4095) of the port. If *complete, port->command has a whole descriptor
 * (port->staged bytes) and the state is TLA_PORT_RUNNING. The owner executes it and calls tla_control_port_complete.
 *
 * TLA_OUT_OF_RANGE outside the command area, TLA_BUSY while a command runs. TLA_BAD_COMMAND when the write does not
 * continue the descriptor, exceeds the length that it claims, or when its header is wrong. The port then drops the
 * staged bytes: it is idle, and keeps an earlier completion. */
tla_status tla_control_port_write(tla_control_port *port, uint32_t offset, const uint8_t *bytes, uint32_t length,
                                  bool *complete, tla_error *error);

/* Stores the completion of the running command; the state becomes TLA_PORT_DONE. Ignored when no command runs. */
void tla_control_port_complete(tla_control_port *port, const tla_completion *completion);

/* As tla_control_port_complete, and leaves count bytes (at most TLA_COMMAND_MAX_BYTES) in the command area. */
void tla_control_port_complete_with(tla_control_port *port, const tla_completion *completion, const uint8_t *result,
                                    uint32_t count);

/* Resets the port with its target: it drops the staged bytes and the last command's result. A command that runs, or
 * whose completion the port has, now has the completion TLA_RESET, with its ids and its opcode only. The state is then
 * TLA_PORT_DONE. A port that never had a command is idle. Returns whether the completion is TLA_RESET. */
bool tla_control_port_reset(tla_control_port *port);

/* Reads length bytes at offset. TLA_OUT_OF_RANGE when any byte lies past the port, or in the command area outside the
 * last result. */
tla_status tla_control_port_read(const tla_control_port *port, uint32_t offset, uint8_t *bytes, uint32_t length);

/* --- The command queue ---
 *
 * A queue of commands and its server, which serves one command after the other: when each is accepted, started and
 * done.
 *
 * The server serves commands in the order of their calls. The queue holds `depth` waiting commands. A full queue
 * accepts a command only when its oldest command starts. A queue with a clock starts commands at multiples of its
 * period. Times are picoseconds from the caller. */

enum { TLA_COMMAND_QUEUE_DEPTH_MAX = 256 };

typedef struct tla_command_queue {
    uint64_t free_at;                             /* the queue is idle from this time on */
    uint64_t busy_ps;                             /* sum of service times */
    uint64_t commands;                            /* number of served commands */
    uint64_t clock_ps;                            /* period of the queue's clock; 0: it starts commands at any time */
    uint32_t depth;                               /* 1 .. TLA_COMMAND_QUEUE_DEPTH_MAX */
    uint32_t next;                                /* index in `starts` for the start of the next command */
    uint64_t starts[TLA_COMMAND_QUEUE_DEPTH_MAX]; /* start times of the last `depth` commands */
} tla_command_queue;                              /* all zero but depth (and clock_ps) = idle since time 0 */

typedef struct tla_service {
    uint64_t accepted_ps; /* when the queue accepted the command: at its arrival, or later if it was full */
    uint64_t start_ps;    /* start of the service */
    uint64_t done_ps;     /* start + service */
} tla_service;

/* Serves a command that arrives at arrival_ps and occupies the queue for service_ps. */
tla_service tla_command_queue_serve(tla_command_queue *queue, uint64_t arrival_ps, uint64_t service_ps);

/* Lets no command start before until_ps: the next command needs a component that is busy until then. */
void tla_command_queue_wait(tla_command_queue *queue, uint64_t until_ps);

/* Returns when a command that arrives at arrival_ps would be accepted and started, before its service time is known;
 * done_ps is its start. */
tla_service tla_command_queue_look(const tla_command_queue *queue, uint64_t arrival_ps);

#ifdef __cplusplus
}
#endif
#endif
