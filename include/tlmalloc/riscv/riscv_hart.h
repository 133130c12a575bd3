/* A processor that runs firmware: one hart of RV64IMC in machine mode, with memory of its own.
 *
 * The unprivileged instructions of RV64I, M and C (RISC-V Instruction Set Manual, volume I, 20191213), and WFI; no
 * control and status registers, no traps into firmware. The external interrupt is a level that WFI waits for: as on a
 * hart whose mie.MEIE is 1 and whose mstatus.MIE is 0, execution goes on behind the WFI. FENCE and FENCE.I do nothing,
 * since every access is done in order and what is overwritten is decoded anew. Accesses need no alignment.
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

/* Serves an access outside the hart's memory: nbytes (1, 2, 4 or 8) at address, from data when `write` says so, else
 * into it. May look at the hart, and change its interrupt, but not run it. Any status but TLA_OK ends the run. */
typedef tla_status (*tla_riscv_access)(void *context, uint64_t address, void *data, unsigned nbytes, bool write);

typedef struct tla_riscv_config {
    uint64_t memory_base;    /* address of the hart's memory; even */
    uint64_t memory_bytes;   /* 2 .. 2^30, even; memory_base + memory_bytes must not exceed 2^64 */
    tla_riscv_timing timing; /* engine.h */
    tla_riscv_access access; /* NULL: there is nothing outside */
    void *context;           /* of access */
} tla_riscv_config;

/* Why a run ended. */
typedef enum tla_riscv_stop {
    TLA_RISCV_SPENT, /* as many instructions as were allowed */
    TLA_RISCV_WAITS, /* in WFI, and there is no interrupt */
    TLA_RISCV_FAULT  /* at an instruction that cannot be executed: tla_riscv_fault */
} tla_riscv_stop;

/* An instruction that could not be executed. Nothing of it was done, and the next run tries it again. */
typedef struct tla_riscv_fault {
    tla_status status;    /* TLA_UNSUPPORTED for an instruction that the hart does not know, ECALL and EBREAK among
                             them; TLA_OUT_OF_RANGE for a fetch, or an access, outside the memory when nothing is there,
                             or across its end; else what the access was answered */
    uint64_t pc;          /* its address */
    uint32_t instruction; /* 16 or 32 bits as they stand in memory; 0 when they could not be fetched */
    uint64_t address;     /* of the access; pc when there is none */
} tla_riscv_fault;

/* Makes a hart with a memory of zeros, registers 0 and pc at memory_base. TLA_INVALID_ARGUMENT for a memory outside its
 * range, TLA_NO_HOST_MEMORY; *hart is NULL then. */
tla_status tla_riscv_create(const tla_riscv_config *config, tla_riscv_hart **hart);

/* NULL is allowed. */
void tla_riscv_destroy(tla_riscv_hart *hart);

/* Registers 0, pc at `pc`, no interrupt, counters 0; the memory stays. */
void tla_riscv_reset(tla_riscv_hart *hart, uint64_t pc);

/* Moves nbytes between the hart's memory and the host's. TLA_OUT_OF_RANGE, and nothing is moved then. */
tla_status tla_riscv_write(tla_riscv_hart *hart, uint64_t address, const void *bytes, size_t nbytes);
tla_status tla_riscv_read(const tla_riscv_hart *hart, uint64_t address, void *bytes, size_t nbytes);

/* Register x1 .. x31 (of x0, and above, 0 is read and nothing written), and the address of the next instruction. */
uint64_t tla_riscv_register(const tla_riscv_hart *hart, unsigned number);
void tla_riscv_set_register(tla_riscv_hart *hart, unsigned number, uint64_t value);
uint64_t tla_riscv_pc(const tla_riscv_hart *hart);

/* The level of the external interrupt. */
void tla_riscv_set_interrupt(tla_riscv_hart *hart, bool level);

/* Runs until `limit` further instructions are done, or the hart waits or fails. A WFI counts as one instruction when
 * the hart goes on behind it. */
tla_riscv_stop tla_riscv_run(tla_riscv_hart *hart, uint64_t limit);

/* What made the last run end with TLA_RISCV_FAULT; all zero when it did not. */
tla_riscv_fault tla_riscv_last_fault(const tla_riscv_hart *hart);

/* Instructions done, and their cycles, since the hart was made or reset; inside an access that of the instruction that
 * makes it is done. */
uint64_t tla_riscv_instructions(const tla_riscv_hart *hart);
uint64_t tla_riscv_cycles(const tla_riscv_hart *hart);

#ifdef __cplusplus
}
#endif
#endif
