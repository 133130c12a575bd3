/* A processor that runs firmware: one hart of RV64IMC in machine mode, with its own memory.
 *
 * It executes the unprivileged instructions of RV64I, M and C (RISC-V Instruction Set Manual, volume I, 20191213), and
 * WFI. It has no control and status registers, and no traps into firmware. The external interrupt is a level that WFI
 * waits for. As on a hart with mie.MEIE 1 and mstatus.MIE 0, execution continues after the WFI. FENCE and FENCE.I have
 * no effect, since every access is in order, and overwritten code is decoded again. Accesses need no alignment.
 *
 * A hart reads no clock: it counts instructions, and cycles by a table. Not thread safe; one owner at a time. */
#ifndef TLMALLOC_RISCV_RISCV_HART_H
#define TLMALLOC_RISCV_RISCV_HART_H

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_riscv_hart tla_riscv_hart;

/* Serves an access outside the hart's memory: nbytes (1, 2, 4 or 8) at address, from data if `write`, else into it. May
 * inspect the hart, and change its interrupt, but not run it. Any status except TLA_OK ends the run. */
typedef tla_status (*tla_riscv_access)(void *context, uint64_t address, void *data, unsigned nbytes, bool write);

typedef struct tla_riscv_config {
    uint64_t memory_base;    /* address of the hart's memory; even */
    uint64_t memory_bytes;   /* 2 .. 2^30, even; memory_base + memory_bytes must not exceed 2^64 */
    tla_riscv_timing timing; /* engine.h */
    tla_riscv_access access; /* NULL: no memory outside */
    void *context;           /* context of access */
} tla_riscv_config;

/* The reason for the end of a run. */
typedef enum tla_riscv_stop {
    TLA_RISCV_SPENT, /* the allowed number of instructions is done */
    TLA_RISCV_WAITS, /* in WFI, without an interrupt */
    TLA_RISCV_FAULT  /* at an instruction that cannot be executed: tla_riscv_fault */
} tla_riscv_stop;

/* An instruction that could not be executed. It had no effect, and the next run tries it again. */
typedef struct tla_riscv_fault {
    tla_status status; /* TLA_UNSUPPORTED for an unknown instruction, including ECALL and EBREAK. TLA_OUT_OF_RANGE for a
                          fetch, or an access, outside the memory if nothing is there, or across its end. Else the
                          status of the access */
    uint64_t pc;       /* its address */
    uint32_t instruction; /* 16 or 32 bits as in memory; 0 when they could not be fetched */
    uint64_t address;     /* address of the access; pc without an access */
} tla_riscv_fault;

/* Creates a hart with a memory of zeros, registers 0 and pc at memory_base. TLA_INVALID_ARGUMENT for a memory outside
 * its range, TLA_NO_HOST_MEMORY; *hart is NULL then. */
tla_status tla_riscv_create(const tla_riscv_config *config, tla_riscv_hart **hart);

/* NULL is allowed. */
void tla_riscv_destroy(tla_riscv_hart *hart);

/* Sets registers to 0, pc to `pc`, the interrupt off, and counters to 0; the memory is unchanged. */
void tla_riscv_reset(tla_riscv_hart *hart, uint64_t pc);

/* Moves nbytes between the hart's memory and the host's. After TLA_OUT_OF_RANGE nothing is moved. */
tla_status tla_riscv_write(tla_riscv_hart *hart, uint64_t address, const void *bytes, size_t nbytes);
tla_status tla_riscv_read(const tla_riscv_hart *hart, uint64_t address, void *bytes, size_t nbytes);

/* Register x1 .. x31, and the address of the next instruction. Register x0, and numbers above 31, read as 0 and ignore
 * writes. */
uint64_t tla_riscv_register(const tla_riscv_hart *hart, unsigned number);
void tla_riscv_set_register(tla_riscv_hart *hart, unsigned number, uint64_t value);
uint64_t tla_riscv_pc(const tla_riscv_hart *hart);

/* Sets the level of the external interrupt. */
void tla_riscv_set_interrupt(tla_riscv_hart *hart, bool level);

/* Runs until `limit` further instructions are done, or the hart waits or fails. A WFI counts as one instruction when
 * the hart continues after it. */
tla_riscv_stop tla_riscv_run(tla_riscv_hart *hart, uint64_t limit);

/* The cause of a TLA_RISCV_FAULT of the last run; all zero after another end. */
tla_riscv_fault tla_riscv_last_fault(const tla_riscv_hart *hart);

/* Executed instructions, and their cycles, since the creation or reset of the hart. Inside an access they include the
 * accessing instruction. */
uint64_t tla_riscv_instructions(const tla_riscv_hart *hart);
uint64_t tla_riscv_cycles(const tla_riscv_hart *hart);

#ifdef __cplusplus
}
#endif
#endif
