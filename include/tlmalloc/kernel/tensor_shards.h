/* How a tensor lies in the memories of PEs: which part goes where, which commands map it, what a page fault needs. */
#ifndef TLMALLOC_KERNEL_TENSOR_SHARDS_H
#define TLMALLOC_KERNEL_TENSOR_SHARDS_H

#include "tlmalloc/command/command.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_pe_location {
    uint32_t sip, cube, pe;
} tla_pe_location;

/* Whose memory a PE's blocks of one kind lie in: the PE's own; PE 0 of its cube stands for the cube's memories, the
 * first PE of all for the host's. */
tla_pe_location tla_memory_of_pe(tla_memory_kind kind, tla_pe_location pe);

/* A part of a tensor in one memory. */
typedef struct tla_shard {
    tla_pe_location where;
    tla_paddr pa;
    uint64_t nbytes, offset; /* offset: of its first byte in the tensor */
    uint64_t ready_ps;       /* when the first page fault in it was answered; 0 = there was none */
} tla_shard;

/* How a tensor comes to lie where its layout says. */
typedef enum tla_spread {
    TLA_SPREAD_SPLIT,     /* contiguous equal parts, one for each PE in order; every MMU maps all of them */
    TLA_SPREAD_REPLICATE, /* a whole copy in every cube, split over the PEs there; mapped in its own cube only */
    TLA_SPREAD_DEMAND,    /* nothing at first: a page comes to the PE that touches it first, mapped in every MMU */
    TLA_SPREAD_MATRIX     /* as a layout by policy says (matrix_layout.h) */
} tla_spread;

struct tla_matrix_layout;

typedef struct tla_tensor {
    tla_spread spread;
    tla_vaddr va;
    uint64_t nbytes;
    const tla_shard *shards;
    size_t count;
    tla_scope scope; /* of all PEs that there are */
    uint32_t asid;
    const struct tla_matrix_layout *layout; /* TLA_SPREAD_MATRIX */
    bool read_only;                         /* mapped so that PEs may read it only */
} tla_tensor;

/* The parts of a tensor, without addresses: shards[0 .. result), of which there are at most pe_count. Whole elements;
 * where they do not come out even the first parts are one larger, and where there are fewer than PEs the last PEs get
 * none. 0 with TLA_SPREAD_DEMAND and TLA_SPREAD_MATRIX (tla_matrix_layout_split). elements * element_bytes must not
 * pass 2^64 - 1. */
size_t tla_tensor_split(tla_spread spread, const tla_pe_location *pes, size_t pe_count, uint64_t elements,
                        uint32_t element_bytes, tla_shard *shards);

/* Whether a shard belongs to another copy of a replicated tensor than the first. */
bool tla_tensor_is_copy(const tla_tensor *tensor, const tla_shard *shard);

/* The command (opcode TLA_OP_MAP or TLA_OP_UNMAP) for shards[from] and as many of those behind it as fit and have its
 * scope; its tag and target are the sender's. Returns how many shards it holds. */
size_t tla_tensor_map_command(const tla_tensor *tensor, size_t from, tla_opcode opcode, tla_command *command);

/* What the fault of a PE at a byte of a tensor needs. */
typedef enum tla_page_need {
    TLA_PAGE_NOTHING, /* another fault has brought it: it is there at its shard's ready_ps */
    TLA_PAGE_TIME,    /* it was mapped when the tensor was made, and is on its way to the PE */
    TLA_PAGE_MAP,     /* it is mapped, and did not get there: the mapping was lost */
    TLA_PAGE_MEMORY,  /* it is not there: to be allocated in this PE, and mapped */
    TLA_PAGE_REFUSAL  /* it is not there, and the tensor is not on demand */
} tla_page_need;

/* `again`: the PE has been answered for this byte before, and it is not mapped still. *which is the index of the shard
 * that the byte lies in; with TLA_PAGE_MEMORY *page is the shard that it will lie in, one page without an address. */
tla_page_need tla_tensor_page(const tla_tensor *tensor, const tla_pe_location *pe, tla_vaddr va, bool again,
                              uint64_t page_size, size_t *which, tla_shard *page);

#ifdef __cplusplus
}
#endif
#endif
