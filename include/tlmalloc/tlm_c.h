/* A memory controller with its memories for hosts that are not SystemC programs: the interface of
 * libtlmalloc_plugin.so.
 *
 * The interface is plain C99 without any other header of tlmalloc. It suits gem5, QEMU, Python (ctypes) and programs
 * with another C++ standard library, because only these functions are visible. The plugin brings SystemC and runs its
 * own simulation. A host that is itself a SystemC program uses the modules, or loads the plugin into a namespace of its
 * own (dlmopen).
 *
 * Accesses are loosely timed: each arrives at the plugin's time plus `delay_ps`, and adds its duration to `delay_ps`.
 * Only tlmc_tick advances the plugin's time, which is the host's. Shared resources serve in the order of arrival, as
 * far as the host calls in that order. A call returns with its answer; the simulation may have run ahead of the
 * plugin's time for it. An access is late if it arrives at a time that has already been simulated. It is served as if
 * it arrived at the end of the simulated time. The statistics of tlmc_statistics count late accesses, and the first one
 * raises a warning /tlmalloc/time/late.
 *
 * A process has one simulation. Controllers are created before the first access or tick of any controller, and live as
 * long as the process. SystemC cannot build a simulation twice, so the interface has no destroy. A host that needs a
 * fresh simulation starts a process, or resets (tlmc_reset).
 *
 * Calls must not overlap: a call from within a callback fails, and so does a simultaneous call of another thread. If
 * the host has no memory for a thread of the simulation, the simulation ends: that call and every later call fail and
 * report it.
 *
 * Functions that return int return 0, or a tla_status of tlmalloc (base/status.h), which tlmc_error() explains. */
#ifndef TLMALLOC_TLM_C_H
#define TLMALLOC_TLM_C_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A plugin serves only hosts that were compiled for its own version. */
#define TLMC_VERSION 1u

/* The version of the interface, and of the tlmalloc library in the plugin ("0.1.0"). Both may be called at any time. */
uint32_t tlmc_version(void);
const char *tlmc_library_version(void);

/* Returns the error text of the calling thread's most recent failed call, in a sentence; "" if no call has failed.
 * Valid until the thread's next call. */
const char *tlmc_error(void);

typedef struct tlmc_controller tlmc_controller;

/* Creates a memory_controller with an HBM slice and a TCM. `version` is TLMC_VERSION of the host's header, `name` the
 * module's name. The text has one setting per line, KEY = VALUE; "#" begins a comment:
 *
 *     any key of configurations (configs/README.md)  hbm.capacity_per_cube = 64 MiB
 *     hbm.base, tcm.base                             plain addresses: both or none (0x80000000 or 2 GiB)
 *     hbm.capacity                                   size of the slice
 *     tcm.present                                    true (default) or false: an HBM slice alone
 *
 * With a base, controller.addresses is plain even if it is not set. If two lines set one key, the last line counts.
 * Without hbm.capacity the slice has hbm.capacity_per_cube / system.pes_per_cube bytes. The location is SIP 0, cube 0,
 * PE 0.
 *
 * Returns NULL after an error. The text of tlmc_error() then has the line, the key, the found and the expected value.
 * Errors are another version, an unknown key, or an invalid value. A name must be unused, and consist of printable
 * characters without ".". The call also fails if a module cannot be built, or if simulated time has begun. */
tlmc_controller *tlmc_create(uint32_t version, const char *name, const char *settings);

/* The socket of a controller. */
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

/* One access, as a generic payload. An all-zero access with address, data, length and streaming_width is a read. */
typedef struct tlmc_access {
    uint64_t address;
    uint8_t *data;
    const uint8_t *enables; /* 0x00 or 0xff each, repeated; NULL: all bytes */
    uint32_t command, length, streaming_width, enables_length;
    /* The requester, as in extensions.hpp; an asid is below 2^31 - 1. */
    uint32_t has_asid, asid, core, privilege, trusted;
    uint32_t exclusive; /* in: exclusive access; out: 0 when an exclusive write was not executed */
    uint64_t delay_ps;  /* in and out; with tlmc_now_ps() at most 2^63 */
    int32_t response;   /* out: one of the responses above */
    uint32_t dmi_hint;  /* out: tlmc_get_dmi may grant a pointer */
} tlmc_access;

/* Makes an access; access->response is its result. A value other than 0 means that the access was not executed, for
 * example because it begins after 2^63 ps (TLA_INVALID_ARGUMENT). */
int tlmc_transport(tlmc_controller *controller, uint32_t socket, tlmc_access *access);

/* A debugger's access. Returns the number of enabled bytes that were moved. Byte enables and streaming width mean the
 * same as in tlmc_transport; a width of 0 is the length. Returns 0 without data, and for enables of length 0. It takes
 * no time and has no side effects, except that it ends the time for tlmc_create like any access. */
uint32_t tlmc_debug(tlmc_controller *controller, uint32_t socket, const tlmc_access *access);

typedef struct tlmc_dmi {
    uint8_t *pointer;                           /* to the byte at `first`; NULL when the request is declined */
    uint64_t first, last;                       /* the granted or declined range */
    uint64_t read_latency_ps, write_latency_ps; /* latency of an access of one word */
    uint32_t reads, writes;                     /* 1 if the grant covers reads or writes */
} tlmc_dmi;

/* Requests a pointer to access->address, for its command and requester. Returns 1 when it is granted, else 0. */
int tlmc_get_dmi(tlmc_controller *controller, uint32_t socket, const tlmc_access *access, tlmc_dmi *dmi);

/* Registers `lost`. The plugin calls it when pointers to [first, last] become invalid, during the call that invalidates
 * them. */
void tlmc_on_dmi_lost(tlmc_controller *controller, void (*lost)(void *context, uint64_t first, uint64_t last),
                      void *context);

/* The first call returns the plugin's time. The second advances it to until_ps, which must not be earlier than the
 * current time. */
uint64_t tlmc_now_ps(void);
int tlmc_tick(uint64_t until_ps);

/* Resets the controller and its memories (model/modules/RESET.md). */
int tlmc_reset(tlmc_controller *controller);

/* ALLOC and FREE over control port `port` (below controller.ports), for hosts that do not write descriptors themselves
 * (command/command.h). `memory` is "hbm" or "tcm". Time works as for an access: `who` is the requester and receives the
 * delay. Returns the status of the command. */
int tlmc_allocate(tlmc_controller *controller, uint32_t port, const char *memory, uint64_t nbytes, tlmc_access *who,
                  uint64_t *address);
int tlmc_free(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, tlmc_access *who);

/* --- Blocks that move (controller.move, model/modules/memory/MEMORY_CONTROLLER.md) ---
 *
 * A block moves while others use it through virtual addresses, so the controller must know the mappings that lead to
 * it, and tells the host's MMU of each change.
 *
 * The first two functions record that the bytes at a physical address, which lie in one block, are mapped at a virtual
 * address of an address space, or forget it (BIND, UNBIND). The third leads the block that begins at `address` to
 * another place in the memory "hbm" or "tcm", and *moved is its new address. Time works as in tlmc_allocate. An error
 * of a step, such as a mapping that the host rejects, leaves the block where it was. */
int tlmc_bind(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, uint64_t va, uint32_t asid,
              tlmc_access *who);
int tlmc_unbind(tlmc_controller *controller, uint32_t port, uint64_t address, uint64_t nbytes, uint64_t va,
                uint32_t asid, tlmc_access *who);
int tlmc_move(tlmc_controller *controller, uint32_t port, uint64_t address, const char *memory, tlmc_access *who,
              uint64_t *moved);

/* Changes of mappings. PAUSE: nobody uses the bytes until RESUME. REMAP: they lie at `address` now. */
enum { TLMC_PAUSE = 23, TLMC_REMAP = 24, TLMC_RESUME = 25 };
typedef struct tlmc_mapping {
    uint64_t va, nbytes, address; /* address: of a REMAP */
    uint32_t asid;
} tlmc_mapping;

/* Registers `changed`, which executes a change of some mappings and returns 0, or executes nothing and returns a
 * tla_status. It is called within tlmc_move, and, with controller.compaction, within any call that lets time pass. With
 * NULL, as at first, every change is rejected (TLA_UNSUPPORTED), and no block moves. */
void tlmc_on_mapping(tlmc_controller *controller,
                     int (*changed)(void *context, uint32_t change, const tlmc_mapping *mappings, size_t count),
                     void *context);

/* Writes the counters of the controller and its memories, one line for each figure: module, name, value, unit, meaning.
 * Writes at most `room` bytes, terminated; returns the length of the whole text, as snprintf does. With NULL it writes
 * nothing. */
size_t tlmc_statistics(tlmc_controller *controller, char *text, size_t room);

/* Redirects warnings of the modules from the standard error to `warned`: report id and text. */
void tlmc_on_warning(void (*warned)(void *context, const char *id, const char *text), void *context);

#ifdef __cplusplus
}
#endif
#endif
