/* A command for PEs that are named one by one: which messages it becomes, when its PEs begin, what their answers mean
 * together.
 *
 * It is done by all PEs or by none, as far as that can be known before they begin: a dispatcher refuses what names a PE
 * that does not lie behind one of its routes, a kernel that is none, or a PE that is still at work on what it passed on
 * before. What only the PE itself knows (somebody else's command runs there) it tells when the others have begun.
 * Messages are the caller's, as in fan_out.h. One owner at a time. */
#ifndef TLMALLOC_COMMAND_DISPATCH_H
#define TLMALLOC_COMMAND_DISPATCH_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_dispatcher tla_dispatcher;
typedef struct tla_dispatch tla_dispatch; /* a command under way */

/* `kernels`: how many there are, 0 when that is not known; sip: for places. TLA_INVALID_ARGUMENT when a PE lies behind
 * two routes or between those of another, TLA_NO_HOST_MEMORY; *dispatcher is NULL then. */
tla_status tla_dispatcher_create(const tla_dispatch_route *routes, size_t count, uint32_t sip, uint32_t kernels,
                                 tla_dispatcher **dispatcher);
void tla_dispatcher_destroy(tla_dispatcher *dispatcher);

/* Tells route number `route` (of those given to create) its way and spacing. */
void tla_dispatcher_set_way(tla_dispatcher *dispatcher, size_t route, uint64_t way_ps, uint64_t spacing_ps);

/* All PEs count as free from now on; no dispatch may be under way. */
void tla_dispatcher_make_idle(tla_dispatcher *dispatcher);

/* Whether a command that arrives at at_ps can begin. TLA_INVALID_ARGUMENT: it names no PE. TLA_NOT_FOUND: one that is
 * none, or with *at of kind TLA_LOCATION_NONE a kernel that is none. TLA_BUSY: one still works. *at is the first of
 * them. */
tla_status tla_dispatcher_check(const tla_dispatcher *dispatcher, const tla_command *command, uint64_t at_ps,
                                tla_location *at);

/* From the sending of a command until the farthest of its PEs is ready to begin; 0 when not known. */
uint64_t tla_dispatcher_way_ps(const tla_dispatcher *dispatcher, const tla_pe_set *pes);

/* Begins to pass a command on at at_ps, to `port` of every window whose PEs it names, its target replaced. A command
 * that does not state when its PEs begin is told so here: when the farthest can, where that is known (KernBench
 * ADR-0009 D5). Its PEs are at work until tla_dispatch_end. Errors of tla_dispatcher_check and TLA_NO_HOST_MEMORY:
 * nothing has begun then, and *dispatch is NULL. */
tla_status tla_dispatch_begin(tla_dispatcher *dispatcher, const tla_command *command, tla_target target, uint32_t port,
                              uint64_t at_ps, tla_dispatch **dispatch, tla_location *at);

/* Gives up a dispatch that is not to end: its PEs count as free. */
void tla_dispatch_destroy(tla_dispatch *dispatch);

/* The messages, all to be made at once; the caller fills in their second halves before tla_dispatch_end. */
size_t tla_dispatch_commands(tla_dispatch *dispatch, tla_sent_command **sent_commands);

/* All have answered. *answer becomes what they say together: the latest start and the longest service; or, when some
 * failed, the answer of the first of them in the order of programs, and where that was. Ids and opcode are the
 * command's. Returns when the last answer came. The dispatch is gone then. */
uint64_t tla_dispatch_end(tla_dispatch *dispatch, tla_completion *answer);

#ifdef __cplusplus
}
#endif
#endif
