/* Instructions as the hart executes them.
 *
 * Internal. RV64IMC in 32 bits, or in 16 that stand for 32. */
#ifndef TLMALLOC_RISCV_DECODE_H
#define TLMALLOC_RISCV_DECODE_H

#include <stdbool.h>
#include <stdint.h>

/* The order of branches, loads, stores and operations is that of their funct3. */
typedef enum tla_riscv_op {
    RISCV_NOT_DECODED, /* all zero: not decoded yet */
    RISCV_UNKNOWN,
    RISCV_LUI,
    RISCV_AUIPC,
    RISCV_JAL,
    RISCV_JALR,
    RISCV_BEQ,
    RISCV_BNE,
    RISCV_BLT,
    RISCV_BGE,
    RISCV_BLTU,
    RISCV_BGEU,
    RISCV_LB,
    RISCV_LH,
    RISCV_LW,
    RISCV_LD,
    RISCV_LBU,
    RISCV_LHU,
    RISCV_LWU,
    RISCV_SB,
    RISCV_SH,
    RISCV_SW,
    RISCV_SD,
    RISCV_ADDI,
    RISCV_SLLI,
    RISCV_SLTI,
    RISCV_SLTIU,
    RISCV_XORI,
    RISCV_SRLI,
    RISCV_ORI,
    RISCV_ANDI,
    RISCV_SRAI,
    RISCV_ADDIW,
    RISCV_SLLIW,
    RISCV_SRLIW,
    RISCV_SRAIW,
    RISCV_ADD,
    RISCV_SLL,
    RISCV_SLT,
    RISCV_SLTU,
    RISCV_XOR,
    RISCV_SRL,
    RISCV_OR,
    RISCV_AND,
    RISCV_SUB,
    RISCV_SRA,
    RISCV_ADDW,
    RISCV_SUBW,
    RISCV_SLLW,
    RISCV_SRLW,
    RISCV_SRAW,
    RISCV_MUL,
    RISCV_MULH,
    RISCV_MULHSU,
    RISCV_MULHU,
    RISCV_DIV,
    RISCV_DIVU,
    RISCV_REM,
    RISCV_REMU,
    RISCV_MULW,
    RISCV_DIVW,
    RISCV_DIVUW,
    RISCV_REMW,
    RISCV_REMUW,
    RISCV_FENCE,
    RISCV_WFI
} tla_riscv_op;

/* The destination of results for x0: never read. */
enum { RISCV_SINK = 32 };

typedef struct tla_riscv_instruction {
    uint8_t op;       /* tla_riscv_op */
    uint8_t to, a, b; /* registers: result (RISCV_SINK in place of 0) and operands */
    int32_t value;    /* immediate, sign-extended; a shift's distance */
    uint32_t length;  /* bytes: 2 or 4 */
} tla_riscv_instruction;

/* Decodes an instruction of 32 bits, or of 16 when the low two bits are not both 1. */
tla_riscv_instruction tla_riscv_decode(uint32_t bits);

/* Returns the instruction of 32 bits for a compressed instruction; 0, which is invalid, for a reserved instruction or
 * one of another extension. */
uint32_t tla_riscv_expand(uint32_t half);

#endif
