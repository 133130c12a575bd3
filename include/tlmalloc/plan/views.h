/* Plans of programs whose tensors share bytes, as current TPU-MLIR plans them: views, and modes of addresses for the
 * inputs and outputs. */
#ifndef TLMALLOC_PLAN_VIEWS_H
#define TLMALLOC_PLAN_VIEWS_H

#include "tlmalloc/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a tensor that are bytes of others, its sources: a view.
 *
 * - One source (reshape, slice, a part of a split): the tensor is the bytes of its source from `offset`.
 * - Several sources (concat): they lie one behind the other, without room between them, and the tensor is all of them.
 *   Its first source, the holder, has room for all; the others have no bytes of their own. */
typedef struct tla_plan_view {
    size_t first, count; /* in the sources of the program; count 0: the tensor is no view */
    uint64_t offset;     /* bytes; with one source */
} tla_plan_view;

typedef enum tla_plan_io { TLA_PLAN_INNER, TLA_PLAN_INPUT, TLA_PLAN_OUTPUT } tla_plan_io;

/* Where the inputs and outputs of a program lie, for a runtime that binds them to memory of its own. */
typedef enum tla_address_mode {
    TLA_ADDRESS_BASIC,       /* among the other tensors */
    TLA_ADDRESS_IO_TAG,      /* the five largest have a tag each, the largest the first, and are not planned. Equals:
                                inputs before outputs, then in their order */
    TLA_ADDRESS_IO_TAG_FUSE, /* inputs lie one behind the other from tag 0, not aligned, outputs from tag 1. Their place
                                in the plan stays unused */
    TLA_ADDRESS_IO_ALONE,    /* a region of inputs and outputs ends behind the last of them. With io_start it moves
                                there, and the rest moves down to the start */
    TLA_ADDRESS_IO_RELOC,    /* behind the plan, inputs before outputs, with what lies inside them */
    TLA_ADDRESS_MODE_COUNT
} tla_address_mode;

/* Returns the name "basic", "io_tag", "io_tag_fuse", "io_alone", "io_reloc"; NULL for an unknown value. */
const char *tla_address_mode_name(tla_address_mode mode);

enum { TLA_ADDRESS_TAGS = 5 };

/* A program: n tensors in the order in which its ops make them. All memory belongs to the caller. */
typedef struct tla_plan_program {
    const tla_lifetime *tensors; /* from the op that makes a tensor to the end of the last op that uses it, which may
                                    make a view of it. Ops that use a view do not count for its source */
    const tla_plan_view *views;  /* of each tensor */
    const size_t *sources;       /* of all views, in the order of each concat: indices of tensors */
    const tla_plan_io *io;       /* of each tensor; NULL: none is an input or output */
    size_t n;
    uint64_t alignment; /* sizes are rounded up to a multiple; a power of two, 0 = 1; 4096 on TPUs of Sophgo */
    bool literal;       /* false: the repaired rule. True: TPU-MLIR's own rules, with their faults (below) */
    tla_address_mode mode;
    uint64_t start;                  /* the lowest address of the plan */
    uint64_t tags[TLA_ADDRESS_TAGS]; /* addresses of the modes with tags */
    uint64_t io_start;               /* of TLA_ADDRESS_IO_ALONE; TLA_PLAN_ANYWHERE: nothing moves */
} tla_plan_program;

/* The faults of the literal rules:
 *
 * - The sources of a concat are kept from the first that begins to the last use that is known when the concat is met,
 *   and programs are read from the last op to the first. A view of a source that is made before the concat is met
 *   later. It keeps that source longer, which has no bytes, but not the holder: its bytes are given to other tensors.
 * - A source that is a reshape loses those uses of the reshaped tensor that the concat does not know.
 * - Sizes are computed in 32 bits. A tensor whose size is a multiple of 4 GiB then has no place, and lies at the start.
 * - In the modes io_tag and io_alone an input that is a source of a concat, but not the first, stays in its place, and
 *   the sources behind it move down by its bytes.
 *
 * The repaired rule keeps the holder for everything that keeps a source, and has none of these faults. */

/* Whether a view is possible. */
typedef enum tla_view_fault {
    TLA_VIEW_GOOD,
    TLA_VIEW_ORDER,   /* a source does not come before the view */
    TLA_VIEW_DEAD,    /* the view does not begin later than a source, and while it lives */
    TLA_VIEW_OUTSIDE, /* the view ends behind its source, or is not as large as all its sources together */
    TLA_VIEW_JOINED   /* a source of a concat is a slice or a concat, or a source of a concat already */
} tla_view_fault;

/* Checks the view of tensor `tensor`, for all tensors one after the other. joined[n], false at first, belongs to these
 * checks. */
tla_view_fault tla_plan_check_view(const tla_plan_program *program, size_t tensor, bool *joined);

/* Computes what is to be planned: live[i].lower and upper are the time in which tensor i is kept, and nbytes its size,
 * rounded up; 0: it has no bytes of its own, or a tag. Inputs live from the first moment of the program to the last,
 * and outputs too with TLA_ADDRESS_IO_ALONE and IO_RELOC. TLA_INVALID_ARGUMENT for a program out of range, a view that
 * tla_plan_check_view rejects, or a sum of sizes above 2^62; TLA_NO_HOST_MEMORY. Nothing is written then. O(n). */
tla_status tla_plan_live(const tla_plan_program *program, tla_lifetime *live);

/* Where the regions of a program lie. */
typedef struct tla_plan_regions {
    uint64_t io_start, io_nbytes;         /* of inputs and outputs; 0 bytes: they have no region */
    uint64_t neuron_start, neuron_nbytes; /* of the rest */
} tla_plan_regions;

/* Completes addresses[n], which has the address of every planned tensor (tla_plan_live): those of views and of other
 * sources follow, then the mode moves inputs and outputs. `limit` is the aligned end of the plan. *regions may be NULL.
 * Errors as tla_plan_live, and TLA_INVALID_ARGUMENT for an address outside start .. limit; nothing is written then. */
tla_status tla_plan_addresses(const tla_plan_program *program, uint64_t limit, uint64_t *addresses,
                              tla_plan_regions *regions);

/* A pair of tensors that destroy each other's bytes, first < second: tensors that live together and overlap, unless
 * both are parts of one tensor, or a view that does not lie in its source. */
typedef struct tla_plan_fault {
    size_t first, second;
} tla_plan_fault;

/* Finds all pairs of tensors that destroy each other's bytes, and writes their number to *count, and the first ones to
 * faults[room]: views that do not lie in their sources, then overlaps in the order in which their tensors begin. Errors
 * as tla_plan_live; nothing is written then. O(n log n), and the pairs that live together. */
tla_status tla_plan_find_faults(const tla_plan_program *program, const uint64_t *addresses, tla_plan_fault *faults,
                                size_t room, size_t *count);

/* Checks that every tensor keeps its bytes as long as it lives. TLA_OVERLAP for the first pair of tla_plan_find_faults
 * (NULL = not wanted). Errors as tla_plan_live. */
tla_status tla_plan_check_program(const tla_plan_program *program, const uint64_t *addresses, size_t *first,
                                  size_t *second);

#ifdef __cplusplus
}
#endif
#endif
