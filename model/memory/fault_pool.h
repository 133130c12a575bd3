/* Pages on demand that a memory controller gives by itself, within what the host has delegated. Internal to model/.
 *
 * The host delegates a tensor by MAP: each entry has the virtual range, the address space and the permissions of the
 * tensor, and as physical address the first byte of the memory that gives the pages. The scope is that of the pages'
 * mappings, and the correlation id is the object of their blocks. UNMAP of the same ranges withdraws.
 *
 * A page fault is decided in steps: ALLOC of a page, MAP of the page in every MMU, and a notice for the host. Another
 * controller may serve a fault on the same page at the same time. MAP decides which page it is, because it rejects
 * ranges that are mapped already: the later controller frees its block. One fault at a time; no clock. */
#ifndef TLMALLOC_MEMORY_FAULT_POOL_H
#define TLMALLOC_MEMORY_FAULT_POOL_H

#include "tlmalloc/base/work.h"
#include "tlmalloc/command/command.h"
#include "tlmalloc/memory/pe_memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_fault_pool_config {
    const tla_pe_memory_config *memory; /* the controller's; outlives the pool */
    uint64_t page_size;                 /* bytes, above 0 */
    uint64_t limit;                     /* bytes of its pages in all delegated tensors; 0: no limit */
} tla_fault_pool_config;

typedef struct tla_fault_pool tla_fault_pool;

/* TLA_NO_HOST_MEMORY; *pool is NULL then. */
tla_status tla_fault_pool_create(const tla_fault_pool_config *config, tla_fault_pool **pool);

/* NULL is allowed. */
void tla_fault_pool_destroy(tla_fault_pool *pool);

/* Forgets all delegations; counts stay. No fault is being served. */
void tla_fault_pool_reset(tla_fault_pool *pool);

/* Execute a MAP or UNMAP of the host, all entries or none. work: a line of metadata for each delegation that is
 * compared.
 *
 * MAP: delegations that overlap end. TLA_INVALID_ARGUMENT for an entry of 0 bytes, past 2^64, without permissions, or
 * whose physical address does not begin a memory of the controller. TLA_NO_HOST_MEMORY.
 * UNMAP: TLA_NOT_FOUND for a range that is not delegated.
 * Both: TLA_BUSY while a fault in one of the ranges is served. */
tla_status tla_fault_pool_delegate(tla_fault_pool *pool, const tla_command *map, tla_work *work);
tla_status tla_fault_pool_withdraw(tla_fault_pool *pool, const tla_command *unmap, tla_work *work);

/* The byte for which an MMU needs memory (pe_mmu.hpp). */
typedef struct tla_page_request {
    tla_vaddr va;
    uint32_t asid;
    bool again; /* its mapping was lost, which only the host can mend */
} tla_page_request;

/* A page, for the host's tables. */
typedef struct tla_given_page {
    tla_vaddr va;
    tla_paddr pa;
    uint64_t nbytes;
    uint32_t asid;
    bool mapped; /* false: the block could not be freed, and the host owes its FREE */
} tla_given_page;

typedef enum tla_fault_step {
    TLA_FAULT_PASSES_ON, /* the fault is over here: the host has to serve it */
    TLA_FAULT_IS_SERVED, /* the fault is over: the page is mapped */
    TLA_FAULT_FAILS,     /* the fault is over, and so is the delegation: the host does not know the tensor any more */
    TLA_FAULT_SENDS,     /* send the command, to this controller or to the VA manager, and report its completion */
    TLA_FAULT_TELLS      /* tell the host the page, and report the host's status */
} tla_fault_step;

/* Begins a fault, and returns its first step. work: as above. */
tla_fault_step tla_fault_pool_begin(tla_fault_pool *pool, const tla_page_request *request, tla_work *work);

/* Reports the status of the last step; `value` is the completion's. Returns the next step. */
tla_fault_step tla_fault_pool_report(tla_fault_pool *pool, tla_status status, uint64_t value);

/* The command of TLA_FAULT_SENDS, without request id, and the page of TLA_FAULT_TELLS; valid until the report. */
const tla_command *tla_fault_pool_command(const tla_fault_pool *pool);
const tla_given_page *tla_fault_pool_page(const tla_fault_pool *pool);

/* The host has served a fault that was passed on: later faults on the page need no memory. */
void tla_fault_pool_served_by_host(tla_fault_pool *pool, const tla_page_request *request);

typedef struct tla_fault_pool_counts {
    uint64_t given_bytes; /* of its pages, in tensors that are delegated now */
    uint64_t pages;       /* given */
    uint64_t known;       /* faults on pages that were there already */
    uint64_t collisions;  /* pages freed, because another controller or the host was faster */
    uint64_t passed_on;   /* faults */
    uint64_t exhausted;   /* of passed_on, because of the limit */
} tla_fault_pool_counts;

tla_fault_pool_counts tla_fault_pool_get_counts(const tla_fault_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
