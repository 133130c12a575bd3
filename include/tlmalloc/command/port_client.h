/* A client of a control port that needs only plain 32-bit loads and stores.
 *
 * It serves firmware, kernel drivers, a PCIe BAR, and any simulator that can map the port into an address space or
 * access its words. The client writes a descriptor word by word in ascending order, polls the state register, and reads
 * the completion (control_port.h). It allocates no memory, keeps no global state, and needs less than 1 KiB of stack.
 * Entries and arguments stay in the caller's memory until they are written. One client per port, one caller at a
 * time. */
#ifndef TLMALLOC_COMMAND_PORT_CLIENT_H
#define TLMALLOC_COMMAND_PORT_CLIENT_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Access to the port: `port` where it is mapped, else (NULL) `read` and `write`. */
typedef struct tla_port_client {
    volatile uint32_t *port;      /* the 4 KiB of one control port, little-endian, mapped uncached; or NULL */
    uint32_t polls_max;           /* state reads before the client abandons a command; 0 = unlimited */
    void (*relax)(void *context); /* called between two state reads; NULL = spin */
    void *context;                /* context of relax, read and write */
    uint32_t correlation_id;      /* the caller's id of the task of its commands */
    uint32_t request_id;          /* id of the last command */
    /* Accesses the word at an offset of the port, a multiple of 4 in 0 .. 4092; its bits 0 to 7 are the byte at that
     * offset. */
    uint32_t (*read)(void *context, uint32_t offset);
    void (*write)(void *context, uint32_t offset, uint32_t word);
} tla_port_client;

/* Common rules of all commands. The result is the status of the completion (TLA_EXHAUSTED, TLA_OVERLAP, ...). It is
 * TLA_BUSY when polls_max state reads did not see the end. The command may still complete then, and the caller must not
 * use the port until its state is 3 (done). The call fills *completion (may be NULL) whenever it has read a completion.
 * TLA_INVALID_ARGUMENT, without any write, for a command that no descriptor can express (tla_command_encode), and for a
 * client with neither port nor read and write. */

/* To a memory controller. Allocates nbytes of a memory; on success *pa is the block's physical address. */
tla_status tla_port_client_alloc(tla_port_client *client, tla_memory_kind kind, uint64_t nbytes, tla_paddr *pa,
                                 tla_completion *completion);

/* As tla_port_client_alloc, for a request with format and stream (stack.h). */
tla_status tla_port_client_request(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                   tla_paddr *pa, tla_completion *completion);

/* To a memory controller. Makes the front of a memory release its kept free blocks. In the completion nbytes are the
 * released bytes, and total_free and largest_free describe the list afterwards. */
tla_status tla_port_client_trim(tla_port_client *client, tla_memory_kind kind, tla_completion *completion);

/* To a memory controller. Drops one reference to a block; the completion's value is the number of remaining
 * references. */
tla_status tla_port_client_free(tla_port_client *client, tla_paddr pa, uint64_t nbytes, tla_completion *completion);

/* To a memory controller, for the block that begins at pa (object_store.h). Adds or drops a reference: the completion's
 * value is the new number of references, nbytes the requested bytes. Adds a pin for timeout_ps (0: until UNPIN), or
 * drops a pin: the value is the number of pins. */
tla_status tla_port_client_ref(tla_port_client *client, tla_paddr pa, tla_completion *completion);
tla_status tla_port_client_unref(tla_port_client *client, tla_paddr pa, tla_completion *completion);
tla_status tla_port_client_pin(tla_port_client *client, tla_paddr pa, uint64_t timeout_ps, tla_completion *completion);
tla_status tla_port_client_unpin(tla_port_client *client, tla_paddr pa, tla_completion *completion);

/* To a memory controller. Allocates count blocks (at most TLA_COMMAND_MAX_BLOCKS) for `request` into blocks[0 ..
 * count), all or none. The second call drops a reference to each of count different blocks of one memory, all or
 * none. */
tla_status tla_port_client_alloc_batch(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                       uint32_t count, tla_batch batch, tla_paddr *blocks, tla_completion *completion);
tla_status tla_port_client_free_batch(tla_port_client *client, const tla_placed_block *blocks, uint32_t count,
                                      tla_completion *completion);

/* To a memory controller, for the cache in front of each of its memories (object_store.h). PUT enters blocks of one
 * memory, with their description, under a key; the completion's value is 0 when the key already exists. GET finds
 * *count blocks and writes the first `room` blocks; the caller has a reference to each. REMOVE removes the blocks; they
 * are free when no other holder has a reference. TLA_NOT_ALLOCATED for a key that does not exist, or no longer
 * exists. */
tla_status tla_port_client_put(tla_port_client *client, uint64_t key, const tla_mem_object_meta *meta,
                               const tla_placed_block *blocks, uint32_t count, tla_completion *completion);
tla_status tla_port_client_get(tla_port_client *client, tla_memory_kind kind, uint64_t key, tla_mem_object_meta *meta,
                               tla_placed_block *blocks, uint32_t room, uint32_t *count, tla_completion *completion);
tla_status tla_port_client_remove(tla_port_client *client, tla_memory_kind kind, uint64_t key,
                                  tla_completion *completion);

/* To a memory controller. As tla_port_client_request; in addition a full memory's cache evicts the least recently used
 * entries that only the cache holds. If no entry can be evicted: attempts 0 returns the allocator's status. Otherwise
 * the client repeats the command up to `attempts` times, calls `relax` in between, and then returns TLA_BUSY. */
tla_status tla_port_client_evict(tla_port_client *client, tla_memory_kind kind, const tla_stack_request *request,
                                 uint32_t attempts, tla_paddr *pa, tla_completion *completion);

/* To a component that forwards or keeps mappings: `target` is TLA_TARGET_PE_MMU, _VA_MANAGER, _IO_CPU or _M_CPU, like
 * the port's. count is at most TLA_COMMAND_MAX_ENTRIES. For entries to unmap and to invalidate only va, nbytes and asid
 * matter. */
tla_status tla_port_client_map(tla_port_client *client, tla_target target, tla_scope scope,
                               const tla_map_entry *entries, uint32_t count, tla_completion *completion);
tla_status tla_port_client_unmap(tla_port_client *client, tla_target target, tla_scope scope,
                                 const tla_map_entry *entries, uint32_t count, tla_completion *completion);
tla_status tla_port_client_invalidate(tla_port_client *client, tla_target target, tla_scope scope,
                                      const tla_map_entry *entries, uint32_t count, tla_completion *completion);

/* To a memory controller. The first two record that the MMUs in the scope have these mappings of its blocks, or forget
 * it (BIND, UNBIND). The third leads the block that begins at pa to another place in the memory `to` while others use
 * it through the recorded mappings; on success *moved is its new address (controller.h). */
tla_status tla_port_client_bind(tla_port_client *client, tla_scope scope, const tla_map_entry *entries, uint32_t count,
                                tla_completion *completion);
tla_status tla_port_client_unbind(tla_port_client *client, tla_scope scope, const tla_map_entry *entries,
                                  uint32_t count, tla_completion *completion);
tla_status tla_port_client_move(tla_port_client *client, tla_paddr pa, tla_memory_kind to, tla_paddr *moved,
                                tla_completion *completion);

/* To a VA manager. Allocates a range of virtual addresses; on success *va is its first address. */
tla_status tla_port_client_va_alloc(tla_port_client *client, uint64_t nbytes, tla_vaddr *va,
                                    tla_completion *completion);

/* To a VA manager. Releases a range. */
tla_status tla_port_client_va_free(tla_port_client *client, tla_vaddr va, uint64_t nbytes, tla_completion *completion);

/* To a processing element. Runs a kernel as program `program` of `programs`, with count (at most
 * TLA_COMMAND_MAX_ARGUMENTS) arguments. Completes when the kernel has returned, with its status. */
tla_status tla_port_client_launch(tla_port_client *client, uint32_t kernel, uint32_t program, uint32_t programs,
                                  const uint64_t *arguments, uint32_t count, tla_completion *completion);

/* To an IO_CPU or an M_CPU (`target`). Runs a kernel on these PEs of its SIP as programs `program` and up of
 * `programs`, in ascending order of cube, then of PE. All PEs start at the same time. Completes when all kernels have
 * returned, with the first failure. */
tla_status tla_port_client_launch_all(tla_port_client *client, tla_target target, const tla_pe_set *pes,
                                      uint32_t kernel, uint32_t program, uint32_t programs, const uint64_t *arguments,
                                      uint32_t count, tla_completion *completion);

/* To an IO_CPU, an M_CPU or a processing element. The DMA engines of these PEs write nbytes of `pattern` at pa, or read
 * there (write false). */
tla_status tla_port_client_pe_dma(tla_port_client *client, tla_target target, const tla_pe_set *pes, tla_paddr pa,
                                  uint64_t nbytes, bool write, uint8_t pattern, tla_completion *completion);

#ifdef __cplusplus
}
#endif
#endif
