/* Decoding of RV64IM. */
#include "decode.h"

typedef tla_riscv_instruction instruction;

static int32_t bits_of(uint32_t word, unsigned high, unsigned low) { /* sign-extended */
    return (int32_t)(word << (31 - high)) >> (31 - high + low);
}

static uint32_t field(uint32_t word, unsigned from, unsigned count) {
    return word >> from & ((1u << count) - 1);
}

static int32_t store_value(uint32_t w) {
    return (int32_t)((uint32_t)bits_of(w, 31, 25) << 5 | field(w, 7, 5));
}

static int32_t branch_value(uint32_t w) {
    return (int32_t)((uint32_t)bits_of(w, 31, 31) << 12 | field(w, 7, 1) << 11 | field(w, 25, 6) << 5 |
                     field(w, 8, 4) << 1);
}

static int32_t jump_value(uint32_t w) {
    return (int32_t)((uint32_t)bits_of(w, 31, 31) << 20 | field(w, 12, 8) << 12 | field(w, 20, 1) << 11 |
                     field(w, 21, 10) << 1);
}

static uint8_t of_table(const uint8_t table[8], uint32_t w) {
    return table[field(w, 12, 3)] ? table[field(w, 12, 3)] : RISCV_UNKNOWN;
}

/* OP-IMM and OP-IMM-32. */
static void decode_immediate(uint32_t w, bool word, instruction *i) {
    static const uint8_t doubles[8] = {RISCV_ADDI, RISCV_SLLI, RISCV_SLTI, RISCV_SLTIU,
                                       RISCV_XORI, RISCV_SRLI, RISCV_ORI,  RISCV_ANDI};
    static const uint8_t words[8] = {RISCV_ADDIW, RISCV_SLLIW, 0, 0, 0, RISCV_SRLIW, 0, 0};
    i->op = of_table(word ? words : doubles, w);
    i->value = bits_of(w, 31, 20);
    uint32_t funct3 = field(w, 12, 3);
    if (funct3 != 1 && funct3 != 5) return;
    unsigned distance_bits = word ? 5 : 6;
    uint32_t above = (uint32_t)field(w, 20, 12) >> distance_bits, arithmetic = 0x400u >> distance_bits;
    i->value = (int32_t)field(w, 20, distance_bits);
    if (funct3 == 5 && above == arithmetic)
        i->op = word ? RISCV_SRAIW : RISCV_SRAI;
    else if (above != 0)
        i->op = RISCV_UNKNOWN;
}

/* OP and OP-32. */
static void decode_operation(uint32_t w, bool word, instruction *i) {
    static const uint8_t base[8] = {RISCV_ADD, RISCV_SLL, RISCV_SLT, RISCV_SLTU,
                                    RISCV_XOR, RISCV_SRL, RISCV_OR,  RISCV_AND};
    static const uint8_t other[8] = {RISCV_SUB, 0, 0, 0, 0, RISCV_SRA, 0, 0};
    static const uint8_t multiply[8] = {RISCV_MUL, RISCV_MULH, RISCV_MULHSU, RISCV_MULHU,
                                        RISCV_DIV, RISCV_DIVU, RISCV_REM,    RISCV_REMU};
    static const uint8_t base_words[8] = {RISCV_ADDW, RISCV_SLLW, 0, 0, 0, RISCV_SRLW, 0, 0};
    static const uint8_t other_words[8] = {RISCV_SUBW, 0, 0, 0, 0, RISCV_SRAW, 0, 0};
    static const uint8_t multiply_words[8] = {RISCV_MULW, 0, 0, 0, RISCV_DIVW, RISCV_DIVUW, RISCV_REMW, RISCV_REMUW};
    switch (field(w, 25, 7)) {
    case 0x00:
        i->op = of_table(word ? base_words : base, w);
        return;
    case 0x20:
        i->op = of_table(word ? other_words : other, w);
        return;
    case 0x01:
        i->op = of_table(word ? multiply_words : multiply, w);
        return;
    default:
        i->op = RISCV_UNKNOWN;
        return;
    }
}

static instruction decode_full(uint32_t w) {
    static const uint8_t branches[8] = {RISCV_BEQ, RISCV_BNE, 0, 0, RISCV_BLT, RISCV_BGE, RISCV_BLTU, RISCV_BGEU};
    static const uint8_t loads[8] = {RISCV_LB, RISCV_LH, RISCV_LW, RISCV_LD, RISCV_LBU, RISCV_LHU, RISCV_LWU, 0};
    static const uint8_t stores[8] = {RISCV_SB, RISCV_SH, RISCV_SW, RISCV_SD, 0, 0, 0, 0};
    static const uint8_t jalr[8] = {RISCV_JALR, 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t fences[8] = {RISCV_FENCE, RISCV_FENCE, 0, 0, 0, 0, 0, 0};
    instruction i = {.op = RISCV_UNKNOWN,
                     .to = (uint8_t)field(w, 7, 5),
                     .a = (uint8_t)field(w, 15, 5),
                     .b = (uint8_t)field(w, 20, 5)};
    if (i.to == 0) i.to = RISCV_SINK;
    switch (field(w, 0, 7)) {
    case 0x37:
        i.op = RISCV_LUI, i.value = (int32_t)(w & 0xfffff000u);
        break;
    case 0x17:
        i.op = RISCV_AUIPC, i.value = (int32_t)(w & 0xfffff000u);
        break;
    case 0x6f:
        i.op = RISCV_JAL, i.value = jump_value(w);
        break;
    case 0x67:
        i.op = of_table(jalr, w), i.value = bits_of(w, 31, 20);
        break;
    case 0x63:
        i.op = of_table(branches, w), i.value = branch_value(w);
        break;
    case 0x03:
        i.op = of_table(loads, w), i.value = bits_of(w, 31, 20);
        break;
    case 0x23:
        i.op = of_table(stores, w), i.value = store_value(w);
        break;
    case 0x13:
        decode_immediate(w, false, &i);
        break;
    case 0x1b:
        decode_immediate(w, true, &i);
        break;
    case 0x33:
        decode_operation(w, false, &i);
        break;
    case 0x3b:
        decode_operation(w, true, &i);
        break;
    case 0x0f:
        i.op = of_table(fences, w);
        break;
    case 0x73:
        i.op = w == 0x10500073 ? RISCV_WFI : RISCV_UNKNOWN;
        break;
    default:
        break;
    }
    return i;
}

instruction tla_riscv_decode(uint32_t bits) {
    bool whole = (bits & 3) == 3;
    instruction i = decode_full(whole ? bits : tla_riscv_expand(bits));
    i.length = whole ? 4 : 2;
    return i;
}
