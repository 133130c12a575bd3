/* A client of a control port: plain 32-bit loads and stores, nothing else.
 *
 * For firmware and kernel drivers, for a PCIe BAR, and for any simulator that can map the port into an address space or
 * read and write a word of it. The client writes a descriptor word by word in ascending order, polls the state
 * register, and reads the completion (control_port.h). It allocates nothing, keeps no global state, and needs less than
 * 1 KiB of stack: entries and arguments are written from where the caller has them. One client a port, one caller at a
 * time. */
#ifndef TLMALLOC_COMMAND_PORT_CLIENT_H
#define TLMALLOC_COMMAND_PORT_CLIENT_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the port is reached: `port` where it is mapped, else (NULL) `read` and `write`. */
typedef struct tla_port_client {
    volatile uint32_t *port;      /* the 4 KiB of one control port, little-endian, mapped uncached; or NULL */
    uint32_t polls_max;           /* state reads before a command is given up; 0 = never */
    void (*relax)(void *context); /* called between two state reads; NULL = spin */
    void *context;                /* of relax, read and write */
    uint32_t correlation_id;      /* of what its commands are for; the caller's */
    uint32_t request_id;          /* of the last command */
    /* The word at an offset of the port, a multiple of 4 in 0 .. 4092; its bits 0 to 7 are the byte at that offset. */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t word);
} tla_port_client;

/* What all commands have in common: the result is the status of the completion (TLA_EXHAUSTED, TLA_OVERLAP, ...), or
 * TLA_BUSY when polls_max state reads did not see the end: the command may still be done then, and the port must not be
 * used until its state is 3 (done). *completion may be NULL; it is filled whenever a completion was read.
 * TLA_INVALID_ARGUMENT, and nothing is written, for what no descriptor can say (tla_command_encode) and for a client
 * with neither port nor read and write. */

/* To a memory controller. Allocates nbytes of a memory; on success *pa is the block's physical address. */
tla_status tla_port_client_alloc(tla_port_client *client, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                                 tla_completion *completion);

/* The same for a request that says more: its format and stream (stack.h). */
tla_status tla_port_client_request(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                   tla_paddr *pa, tla_completion *completion);

/* To a memory controller. Has the front of a memory give what it keeps free back; nbytes of the completion are how
 * much, total_free and largest_free what the list is then. */
tla_status tla_port_client_trim(tla_port_client *client, tla_memory_kind kind, tla_completion *completion);

/* To a memory controller. Gives a block back: one reference to it, of which the completion's value are left. */
tla_status tla_port_client_free(tla_port_client *client, tla_paddr pa, uint64_t nbytes, tla_completion *completion);

/* To a memory controller, for the block that begins at pa (object_store.h). One reference more or less: the
 * completion's value is how many there are then, nbytes the bytes that were asked for. One pin more, for timeout_ps (0:
 * until it is taken away), or less: the value is the number of pins. */
tla_status tla_port_client_ref(tla_port_client *client, tla_paddr pa, tla_completion *completion);
tla_status tla_port_client_unref(tla_port_client *client, tla_paddr pa, tla_completion *completion);
tla_status tla_port_client_pin(tla_port_client *client, tla_paddr pa, uint64_t timeout_ps, tla_completion *completion);
tla_status tla_port_client_unpin(tla_port_client *client, tla_paddr pa, tla_completion *completion);

/* To a memory controller. Takes count blocks (at most TLA_COMMAND_MAX_BLOCKS), each as `request` says, all or none, to
 * blocks[0 .. count); or gives up a reference to each of count blocks, of one memory and all different, all or none. */
tla_status tla_port_client_alloc_batch(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                       uint32_t count, tla_batch batch, tla_paddr *blocks, tla_completion *completion);
tla_status tla_port_client_free_batch(tla_port_client *client, const tla_placed_block *blocks, uint32_t count,
                                      tla_completion *completion);

/* To a memory controller, for the cache that it has in front of each memory (object_store.h). PUT enters blocks of one
 * memory under a key, with what they hold; the completion's value is 0 when the key is there already. GET finds them:
 * *count of them, of which the first `room` are written, and the caller has a reference to each. REMOVE takes them out;
 * they are free when nobody else has a reference. TLA_NOT_ALLOCATED for a key that is not there, or not any more. */
tla_status tla_port_client_put(tla_port_client *client, uint64_t key, const tla_mem_object_meta *meta,
                               const tla_placed_block *blocks, uint32_t count, tla_completion *completion);
tla_status tla_port_client_get(tla_port_client *client, tla_memory_kind kind, uint64_t key, tla_mem_object_meta *meta,
                               tla_placed_block *blocks, uint32_t room, uint32_t *count, tla_completion *completion);
tla_status tla_port_client_remove(tla_port_client *client, tla_memory_kind kind, uint64_t key,
                                  tla_completion *completion);

/* To a memory controller. As tla_port_client_request, and where there is no room the cache evicts the entries that were
 * not used for the longest time, as long as nobody but the cache holds them. With nothing left to evict: attempts 0,
 * the allocator's status (give up); else TLA_BUSY after the command was sent so many times, `relax` called in between.
 */
tla_status tla_port_client_evict(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                 uint32_t attempts, tla_paddr *pa, tla_completion *completion);

/* To whatever passes mappings on or keeps them: `target` is TLA_TARGET_PE_MMU, _VA_MANAGER, _IO_CPU or _M_CPU, as the
 * port is. count is at most TLA_COMMAND_MAX_ENTRIES; of entries to unmap and to invalidate va, nbytes and asid matter.
 */
tla_status tla_port_client_map(tla_port_client *client, tla_target target, tla_scope scope,
                               const tla_map_entry *entries, uint32_t count, tla_completion *completion);
tla_status tla_port_client_unmap(tla_port_client *client, tla_target target, tla_scope scope,
                                 const tla_map_entry *entries, uint32_t count, tla_completion *completion);
tla_status tla_port_client_invalidate(tla_port_client *client, tla_target target, tla_scope scope,
                                      const tla_map_entry *entries, uint32_t count, tla_completion *completion);

/* To a VA manager. Takes a range of virtual addresses; on success *va is where it begins. */
tla_status tla_port_client_va_alloc(tla_port_client *client, uint64_t nbytes, tla_vaddr *va,
                                    tla_completion *completion);

/* To a VA manager. Gives a range back. */
tla_status tla_port_client_va_free(tla_port_client *client, tla_vaddr va, uint64_t nbytes, tla_completion *completion);

/* To a processing element. Runs a kernel as program `program` of `programs`, with count (at most
 * TLA_COMMAND_MAX_ARGUMENTS) arguments; done when it has returned, with its status. */
tla_status tla_port_client_launch(tla_port_client *client, uint32_t kernel, uint32_t program, uint32_t programs,
                                  const uint64_t *arguments, uint32_t count, tla_completion *completion);

/* To an IO_CPU or an M_CPU (`target`). Runs a kernel on these PEs of its SIP as programs `program` and up of
 * `programs`, in ascending order of cube, then of PE, all from one time on; done when all have returned, with the first
 * failure. */
tla_status tla_port_client_launch_all(tla_port_client *client, tla_target target, const tla_pe_set *pes,
                                      uint32_t kernel, uint32_t program, uint32_t programs, const uint64_t *arguments,
                                      uint32_t count, tla_completion *completion);

/* To an IO_CPU, an M_CPU or a processing element. The DMA engines of these PEs write nbytes of `pattern` at pa, or read
 * what is there (write false). */
tla_status tla_port_client_pe_dma(tla_port_client *client, tla_target target, const tla_pe_set *pes, tla_paddr pa,
                                  uint64_t nbytes, bool write, uint8_t pattern, tla_completion *completion);

#ifdef __cplusplus
}
#endif
#endif
