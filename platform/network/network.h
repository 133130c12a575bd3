/* A network: ops that make tensors of tensors, one after the other, as a compiler hands it to whoever places them. Read
 * from YAML, placed by the planners of the core, and computed in memory where nothing is shared, as a reference.
 *
 *     name: two_ops
 *     inputs: {x: 8 KiB, w: 4 KiB}        # there before the first op, and weights: bytes in each PE
 *     ops:
 *       - {name: linear, inputs: x w, outputs: {y: 8 KiB}}
 *       - {name: view, inputs: y, reshape: rows} # its output is its input under another name
 *       - {name: sum, inputs: rows x, outputs: {z: 4 KiB}}
 *     outputs: z                           # live to the end
 *
 * What an op computes, on each PE alone and in words of 32 bits modulo 2^32: every word of output o begins as
 * 16 * (index of the op + 1) + o; then, input by input, for p from 0 to the larger of both lengths,
 * out[p % out_words] = out[p % out_words] * 33 + in[p % in_words]. No word can change without a change of what is made
 * of it, so that a tensor which is overwritten while it lives shows in the network's outputs. */
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
    NETWORK_OP_TENSORS_MAX = 5, /* inputs and outputs of an op: what a launch has arguments for */
    NETWORK_TENSORS_MAX = 4096,
    NETWORK_WORD_BYTES = 4
};

typedef struct network_tensor {
    char name[NETWORK_NAME_MAX];
    uint64_t nbytes; /* in each PE; whole words */
    bool is_input;   /* there before the first op */
    bool is_output;
    size_t bytes_of; /* the tensor whose bytes it has: itself, but for what a reshape makes */
    size_t made_at;  /* the op */
    size_t users;    /* how often ops read it under this name */
    size_t end;      /* the op from which on nobody needs its bytes under any name; of what bytes_of is itself */
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

/* Reads a network; every finding goes to `report` with its place. TLA_SYNTAX for any, TLA_IO, TLA_NO_HOST_MEMORY; made
 * is empty then. network_clear() gives back what it holds, of an empty one too. */
tla_status network_load(const char *path, network *made, tla_config_report report, void *context);
void network_clear(network *n);

/* Whether a tensor is one that whoever runs the network must find memory for: made by an op, under its first name. */
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

/* What stands in an input of a PE, nbytes of it. */
void network_fill(const network *n, size_t tensor, uint32_t program, uint8_t *bytes);

/* Computes every op of a PE, each tensor in memory of its own: bytes[t] has those of inputs, and gets those of the
 * others. */
void network_compute(const network *n, uint8_t *const *bytes);

/* Where a tensor is for a kernel: program p's bytes are at va + p * pitch. */
typedef struct network_home {
    uint64_t va, pitch;
} network_home;

/* What network_kernel is launched with for an op that is no reshape: arguments[NETWORK_ARGUMENTS_MAX], homes of all
 * tensors. Returns how many there are. */
enum { NETWORK_ARGUMENTS_MAX = 1 + 3 * NETWORK_OP_TENSORS_MAX };
size_t network_arguments(const network *n, size_t op, const network_home *homes, uint64_t *arguments);

/* One op, on the vector engine and by DMA through tiles of 16 KiB. */
tla_status network_kernel(tl_context *tl);

#ifdef __cplusplus
}
#endif
#endif
