/* The tensors of a program with views: which are parts of which. Internal. */
#ifndef TLMALLOC_PLAN_PROGRAM_H
#define TLMALLOC_PLAN_PROGRAM_H

#include "tlmalloc/plan/views.h"

static inline size_t program_source(const tla_plan_program *program, size_t tensor, size_t index) {
    return program->sources[program->views[tensor].first + index];
}

static inline bool program_is_concat(const tla_plan_program *program, size_t tensor) {
    return program->views[tensor].count > 1;
}

/* All of its source: other uses of the same bytes. */
static inline bool program_is_reshape(const tla_plan_program *program, size_t tensor) {
    const tla_plan_view *view = &program->views[tensor];
    return view->count == 1 &&
           program->tensors[tensor].nbytes == program->tensors[program->sources[view->first]].nbytes;
}

/* The tensor behind reshapes. */
static inline size_t program_reshaped(const tla_plan_program *program, size_t tensor) {
    while (program_is_reshape(program, tensor))
        tensor = program_source(program, tensor, 0);
    return tensor;
}

static inline tla_plan_io program_io(const tla_plan_program *program, size_t tensor) {
    return program->io ? program->io[tensor] : TLA_PLAN_INNER;
}

static inline uint64_t program_aligned(const tla_plan_program *program, uint64_t nbytes) {
    const uint64_t mask = program->alignment ? program->alignment - 1 : 0;
    return (nbytes + mask) & ~mask;
}

/* Sums and addresses of a program stay below twice this. */
#define PROGRAM_LARGEST ((uint64_t)1 << 62)

/* TLA_OK, TLA_INVALID_ARGUMENT or TLA_NO_HOST_MEMORY. */
tla_status program_check(const tla_plan_program *program);

/* The inputs and outputs with tags, the largest first; returns how many. */
size_t program_tagged(const tla_plan_program *program, size_t tagged[TLA_ADDRESS_TAGS]);

/* From the first moment of the program to the last. */
tla_lifetime program_whole(const tla_plan_program *program);

/* A tensor's own lifetime in the mode: `whole` for an input, and for an output that stays. */
tla_lifetime program_lifetime(const tla_plan_program *program, size_t tensor, tla_lifetime whole);

/* An input that keeps its place although a concat joins it. */
bool program_stays(const tla_plan_program *program, size_t tensor);

#endif
