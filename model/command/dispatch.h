/* A command for PEs that are named one by one: which messages it becomes, when its PEs begin, what their answers mean
 * together.
 *
 * Either all PEs execute the command or none, as far as this is known before they begin. A dispatcher rejects a command
 * that names a PE without a route, an unknown kernel, or a PE that still runs an earlier command of this dispatcher. A
 * PE that runs another sender's command rejects the command itself, after the others have begun. The caller sends the
 * messages, as in fan_out.h. One owner at a time. */
#ifndef TLMALLOC_COMMAND_DISPATCH_H
#define TLMALLOC_COMMAND_DISPATCH_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_dispatcher tla_dispatcher;
typedef struct tla_dispatch tla_dispatch; /* a command in flight */

/* `kernels`: how many there are, 0 when that is not known; sip: for places. TLA_INVALID_ARGUMENT when a PE lies behind
 * two routes or between those of another, TLA_NO_HOST_MEMORY; *dispatcher is NULL then. */
tla_status tla_dispatcher_create(const tla_dispatch_route *routes, size_t count, uint32_t sip, uint32_t kernels,
                                 tla_dispatcher **dispatcher);
void tla_dispatcher_destroy(tla_dispatcher *dispatcher);

/* Tells route number `route` (of those given to create) its way and spacing. */
void tla_dispatcher_set_way(tla_dispatcher *dispatcher, size_t route, uint64_t way_ps, uint64_t spacing_ps);

/* Declares all PEs free. No dispatch may be in flight. */
void tla_dispatcher_make_idle(tla_dispatcher *dispatcher);

/* Checks whether a command that arrives at at_ps can begin. TLA_INVALID_ARGUMENT: it names no PE. TLA_NOT_FOUND: a PE
 * has no route, or, with *at of kind TLA_LOCATION_NONE, the kernel is unknown. TLA_BUSY: a PE still runs a command. *at
 * is the first such PE. */
tla_status tla_dispatcher_check(const tla_dispatcher *dispatcher, const tla_command *command, uint64_t at_ps,
                                tla_location *at);

/* From the sending of a command until the farthest of its PEs is ready to begin; 0 when not known. */
uint64_t tla_dispatcher_way_ps(const tla_dispatcher *dispatcher, const tla_pe_set *pes);

/* Begins to forward a command at at_ps, to `port` of every window whose PEs it names, with this target. If the command
 * states no start time, the dispatcher sets it to the time at which the farthest PE can begin, where that is known
 * (KernBench ADR-0009 D5). The PEs are busy until tla_dispatch_end. Errors of tla_dispatcher_check, and
 * TLA_NO_HOST_MEMORY: nothing has begun then, and *dispatch is NULL. */
tla_status tla_dispatch_begin(tla_dispatcher *dispatcher, const tla_command *command, tla_target target, uint32_t port,
                              uint64_t at_ps, tla_dispatch **dispatch, tla_location *at);

/* Gives up a dispatch that is not to end: its PEs count as free. */
void tla_dispatch_destroy(tla_dispatch *dispatch);

/* The messages, all to be made at once; the caller fills in their second halves before tla_dispatch_end. */
size_t tla_dispatch_commands(tla_dispatch *dispatch, tla_sent_command **sent_commands);

/* Ends a dispatch that all targets have answered. *answer joins their answers: the latest start and the longest
 * service. If some failed, it is the first failure in the order of programs, with its location. Ids and opcode are
 * those of the command. Returns the time of the last answer, and destroys the dispatch. */
uint64_t tla_dispatch_end(tla_dispatch *dispatch, tla_completion *answer);

#ifdef __cplusplus
}
#endif
#endif
