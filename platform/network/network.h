/* A network: ops that make tensors of tensors, one after the other, as a compiler passes it to a memory planner. Read
 * from YAML, placed by the planners of the core, and computed in unshared memory, as a reference.
 *
 *     name: two_ops
 *     inputs: {x: 8 KiB, w: 4 KiB}        # there before the first op, and weights: bytes in each PE
 *     ops:
 *       - {name: linear, inputs: x w, outputs: {y: 8 KiB}}
 *       - {name: view, inputs: y, reshape: rows} # its output is its input under another name
 *       - {name: sum, inputs: rows x, outputs: {z: 4 KiB}}
 *     outputs: z                           # live to the end
 *
 * The result of an op, on each PE alone and in words of 32 bits modulo 2^32: every word of output o begins as 16 *
 * (index of the op + 1) + o. Then, input by input, for p from 0 to the larger of both lengths, out[p % out_words] =
 * out[p % out_words] * 33 + in[p % in_words]. Every change of a word changes all results of it, so that a live tensor
 * that is overwritten shows in the outputs of the network. */
#ifndef TLMALLOC_PLATFORM_NETWORK_NETWORK_H
#define TLMALLOC_PLATFORM_NETWORK_NETWORK_H

#include "tlmalloc/config.h"
#include "tlmalloc/kernel/calls.h"
#include "tlmalloc/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    NETWORK_NAME_MAX = 48,      /* its end included */
    NETWORK_OP_TENSORS_MAX = 5, /* inputs and outputs of an op: the tensors among a launch's arguments */
    NETWORK_TENSORS_MAX = 4096,
    NETWORK_WORD_BYTES = 4
};

typedef struct network_tensor {
    char name[NETWORK_NAME_MAX];
    uint64_t nbytes; /* in each PE; whole words */
    bool is_input;   /* there before the first op */
    bool is_output;
    size_t bytes_of; /* the tensor whose bytes it has: itself, except for the output of a reshape */
    size_t made_at;  /* the op */
    size_t users;    /* how often ops read it under this name */
    size_t
        end; /* the op from which on its bytes are unused under any name; only for a tensor that is its own bytes_of */
} network_tensor;

typedef struct network_op {
    char name[NETWORK_NAME_MAX];
    bool reshape;
    size_t tensors[NETWORK_OP_TENSORS_MAX]; /* inputs, then outputs */
    size_t input_count, output_count;
} network_op;

typedef struct network {
    char name[NETWORK_NAME_MAX];
    network_tensor *tensors;
    size_t tensor_count;
    network_op *ops;
    size_t op_count;
} network;

/* Reads a network; every finding goes to `report` with its place. TLA_SYNTAX for any finding, TLA_IO,
 * TLA_NO_HOST_MEMORY; *made is empty then. network_clear() releases the contents, also of an empty network. */
tla_status network_load(const char *path, network *made, tla_config_report report, void *context);
void network_clear(network *n);

/* Returns whether a tensor needs memory of its own: an op makes it, under its first name. */
bool network_needs_memory(const network *n, size_t tensor);

typedef enum network_method {
    NETWORK_PLAN,        /* the lowest of all heuristics, lowered by search within NETWORK_PLAN_NODES */
    NETWORK_RECORD_TABLE /* TPU-MLIR's, with counted offsets (plan.h) */
} network_method;
enum { NETWORK_PLAN_NODES = 200000 };

/* Offsets for all tensors that need memory, at multiples of `alignment`; others get that of the tensor whose bytes they
 * have, inputs 0. No two that live together overlap, which is checked. TLA_OVERLAP where they do, TLA_NO_HOST_MEMORY,
 * and errors of the planners; with a text. */
tla_status network_place(const network *n, network_method method, uint64_t alignment, uint64_t *offsets,
                         uint64_t *height, tla_error *error);

/* Writes the nbytes of an input of a PE. */
void network_fill(const network *n, size_t tensor, uint32_t program, uint8_t *bytes);

/* Computes an op of a PE, each tensor in memory of its own. */
void network_compute_op(const network *n, size_t op, uint8_t *const *bytes);

/* Computes every op of a PE, each tensor in memory of its own: bytes[t] has those of inputs, and gets those of the
 * others. */
void network_compute(const network *n, uint8_t *const *bytes);

/* Where a tensor is for a kernel: program p's bytes are at va + p * pitch. */
typedef struct network_home {
    uint64_t va, pitch;
} network_home;

/* Writes the arguments of a launch of network_kernel for an op other than a reshape: arguments[NETWORK_ARGUMENTS_MAX],
 * homes of all tensors. Returns their number. */
enum { NETWORK_ARGUMENTS_MAX = 1 + 3 * NETWORK_OP_TENSORS_MAX };
size_t network_arguments(const network *n, size_t op, const network_home *homes, uint64_t *arguments);

/* One op, on the vector engine and by DMA through tiles of 16 KiB. */
tla_status network_kernel(tl_context *tl);

#ifdef __cplusplus
}
#endif
#endif
