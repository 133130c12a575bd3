/* A memory controller with its memories for hosts that are no SystemC programs: what libtlmalloc_plugin.so exports.
 *
 * Plain C99 without any other header of tlmalloc, so that gem5, QEMU, Python (ctypes) and programs with another
 * standard library of C++ can load it: nothing but these functions is visible. The plugin brings SystemC and runs a
 * simulation of its own; a host that is a SystemC program itself uses the modules, or loads the plugin into a namespace
 * of its own (dlmopen).
 *
 * Accesses are loosely timed: each arrives at the plugin's time plus `delay_ps`, and adds to that what it takes. The
 * plugin's time is the host's: it goes on with tlmc_tick alone. Shared resources serve in the order of arrival, as far
 * as the host calls in that order. A call returns with its answer, for which the simulation may have run ahead of the
 * plugin's time; an access that arrives before what has been simulated is late: it is served as if it arrived then.
 * tlmc_statistics counts late accesses, and the first is a warning /tlmalloc/time/late. A process has one simulation:
 * controllers are created before the first access or tick of any of them, and live as long as the process: SystemC
 * cannot build a simulation twice, so there is no destroy, and a host that wants a fresh one makes a process, or resets
 * (tlmc_reset). Calls come one after the other: one from within a callback fails, and so does one that another thread
 * makes at the same time. Where the host has no memory for a thread of the simulation, the simulation is over: that
 * call and every later one fails and says so.
 *
 * Functions that return int return 0, or a tla_status of tlmalloc (base/status.h), which tlmc_error() has in words. */
#ifndef TLMALLOC_TLM_C_H
#define TLMALLOC_TLM_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this interface. A plugin serves hosts that were made for its own version and for no other. */
#define TLMC_VERSION 1u

/* The version of the plugin, and of the tlmalloc that it was made of ("0.1.0"). May always be called. */
uint32_t tlmc_version(void);
const char *tlmc_library_version(void);

/* The error text of the calling thread's most recent failed call, in a sentence; "" when none has failed. Valid until
 * the thread's next call. */
const char *tlmc_error(void);

typedef struct tlmc_controller tlmc_controller;

/* Makes a memory_controller with an HBM slice and a TCM behind it. `version` is TLMC_VERSION of the host's header,
 * `name` the module's name. The text has a setting in each line, KEY = VALUE; "#" begins a comment:
 *
 *     any key of configurations (configs/README.md)    hbm.capacity_per_cube = 64 MiB
 *     hbm.base, tcm.base                               plain addresses: both or none (0x80000000 or 2 GiB)
 *     tcm.present                                      true (default) or false: an HBM slice alone
 *
 * With a base controller.addresses is plain, said or not. Of two lines with one key the last counts.
 * The slice is hbm.capacity_per_cube / system.pes_per_cube, the place that of SIP 0, cube 0, PE 0. NULL, and
 * tlmc_error() with line, key, what was found and what was expected: another version, a key or value that is none, a
 * name that another controller has or that is not of printable characters but ".", a module that cannot be built, time
 * that has begun. */
tlmc_controller *tlmc_create(uint32_t version, const char *name, const char *settings);

/* Which socket of it. */
enum { TLMC_DATA = 0, TLMC_CONTROL = 1 };

/* Commands and responses, with TLM's numbers. */
enum { TLMC_READ = 0, TLMC_WRITE = 1, TLMC_IGNORE = 2 };
enum {
    TLMC_OK = 1,
    TLMC_INCOMPLETE = 0,
    TLMC_GENERIC_ERROR = -1,
    TLMC_ADDRESS_ERROR = -2,
    TLMC_COMMAND_ERROR = -3,
    TLMC_BURST_ERROR = -4,
    TLMC_BYTE_ENABLE_ERROR = -5
};

/* One access, as a generic payload. All zero, and then address, data, length and streaming_width, is a read. */
typedef struct tlmc_access {
    uint64_t address;
    uint8_t *data;
    const uint8_t *enables; /* 0x00 or 0xff each, repeated; NULL: all bytes */
    uint32_t command, length, streaming_width, enables_length;
    /* Who asks, as of extensions.hpp; an asid is below 2^31 - 1. */
    uint32_t has_asid, asid, core, privilege, trusted;
    uint32_t exclusive; /* in; out: 0 when an exclusive write was not made */
    uint64_t delay_ps;  /* in and out; with tlmc_now_ps() at most 2^63 */
    int32_t response;   /* out: one of the above */
    uint32_t dmi_hint;  /* out: tlmc_get_dmi may grant a pointer */
} tlmc_access;

/* Makes an access; what became of it is access->response. Other than 0: it was not made at all, as one that begins
 * behind 2^63 ps (TLA_INVALID_ARGUMENT). */
int tlmc_transport(tlmc_controller *controller, uint32_t socket, tlmc_access *access);

/* A debugger's access: how many bytes were moved, of those that are enabled. Byte enables and streaming width mean what
 * they do in tlmc_transport; a width of 0 is the length. 0 without data, and with enables of length 0. No time, no side
 * effects; as any access the end of tlmc_create. */
uint32_t tlmc_debug(tlmc_controller *controller, uint32_t socket, const tlmc_access *access);

typedef struct tlmc_dmi {
    uint8_t *pointer;                           /* to the byte at `first`; NULL when it is refused */
    uint64_t first, last;                       /* what is granted, or refused */
    uint64_t read_latency_ps, write_latency_ps; /* of an access of one word */
    uint32_t reads, writes;                     /* whether it is for these */
} tlmc_dmi;

/* Asks for a pointer to access->address, for its command and requester. 1 when it is granted, else 0. */
int tlmc_get_dmi(tlmc_controller *controller, uint32_t socket, const tlmc_access *access, tlmc_dmi *dmi);

/* `lost` is called when pointers to [first, last] are void, during whatever call voids them. */
void tlmc_on_dmi_lost(tlmc_controller *controller, void (*lost)(void *context, uint64_t first, uint64_t last),
                      void *context);

/* The plugin's time, and let it go on until that time, which must not lie before it. */
uint64_t tlmc_now_ps(void);
int tlmc_tick(uint64_t until_ps);

/* A reset of controller and memories (model/modules/RESET.md). */
int tlmc_reset(tlmc_controller *controller);

/* ALLOC and FREE over control port `port` (below controller.ports), for hosts that do not write descriptors themselves
 * (command/command.h): `memory` is "hbm" or "tcm"; time as of an access, `who` is the requester and gets the delay. The
 * status is the command's. */
int tlmc_allocate(tlmc_controller *controller, uint32_t port, const char *memory, uint64_t nbytes, tlmc_access *who,
                  uint64_t *address);
int tlmc_free(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, tlmc_access *who);

/* What controller and memories have counted, a line for each figure: module, name, value, unit, meaning. Writes at most
 * `room` bytes, terminated; returns the length of the whole, as snprintf does; with NULL nothing is written. */
size_t tlmc_statistics(tlmc_controller *controller, char *text, size_t room);

/* Warnings of the modules go there instead of to the standard error: report id and text. */
void tlmc_on_warning(void (*warned)(void *context, const char *id, const char *text), void *context);

#ifdef __cplusplus
}
#endif
#endif
