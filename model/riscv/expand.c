/* Compressed instructions (RV64C): the instruction of 32 bits that each stands for. */
#include "decode.h"

/* `count` bits of a word from `from` up, put at `at`. */
static uint32_t take(uint32_t word, unsigned from, unsigned count, unsigned at) {
    return (word >> from & ((1u << count) - 1)) << at;
}

static uint32_t sign_extend(uint32_t value, unsigned bits) {
    uint32_t sign = 1u << (bits - 1);
    return (value ^ sign) - sign;
}

/* The formats of 32 bits. */
static uint32_t r_type(uint32_t op, uint32_t funct7, uint32_t to, uint32_t a, uint32_t b, uint32_t funct3) {
    return funct7 << 25 | b << 20 | a << 15 | funct3 << 12 | to << 7 | op;
}
static uint32_t i_type(uint32_t op, uint32_t to, uint32_t funct3, uint32_t a, uint32_t value) {
    return value << 20 | a << 15 | funct3 << 12 | to << 7 | op;
}
static uint32_t s_type(uint32_t funct3, uint32_t a, uint32_t b, uint32_t value) {
    return take(value, 5, 7, 25) | b << 20 | a << 15 | funct3 << 12 | take(value, 0, 5, 7) | 0x23;
}
static uint32_t branch(uint32_t funct3, uint32_t a, uint32_t value) {
    return take(value, 12, 1, 31) | take(value, 5, 6, 25) | a << 15 | funct3 << 12 | take(value, 1, 4, 8) |
           take(value, 11, 1, 7) | 0x63;
}
static uint32_t jump(uint32_t to, uint32_t value) {
    return take(value, 20, 1, 31) | take(value, 1, 10, 21) | take(value, 11, 1, 20) | take(value, 12, 8, 12) | to << 7 |
           0x6f;
}

enum { IMMEDIATE = 0x13, IMMEDIATE_WORD = 0x1b, REGISTERS = 0x33, REGISTERS_WORD = 0x3b, LOAD = 0x03, JALR = 0x67 };

/* Quadrant 0: loads and stores by a register of eight. */
static uint32_t expand_accesses(uint32_t h) {
    uint32_t a = take(h, 7, 3, 0) + 8, r = take(h, 2, 3, 0) + 8;
    uint32_t word = take(h, 10, 3, 3) | take(h, 6, 1, 2) | take(h, 5, 1, 6);
    uint32_t doubleword = take(h, 10, 3, 3) | take(h, 5, 2, 6);
    switch (h >> 13) {
    case 0: { /* C.ADDI4SPN */
        uint32_t value = take(h, 11, 2, 4) | take(h, 7, 4, 6) | take(h, 6, 1, 2) | take(h, 5, 1, 3);
        return value ? i_type(IMMEDIATE, r, 0, 2, value) : 0;
    }
    case 2:
        return i_type(LOAD, r, 2, a, word);
    case 3:
        return i_type(LOAD, r, 3, a, doubleword);
    case 6:
        return s_type(2, a, r, word);
    case 7:
        return s_type(3, a, r, doubleword);
    default:
        return 0; /* floating point, reserved */
    }
}

/* Quadrant 1, funct3 4: operations on registers of eight. */
static uint32_t expand_operations(uint32_t h, uint32_t value) {
    static const uint32_t funct3_of[4] = {0, 4, 6, 7}; /* SUB, XOR, OR, AND */
    uint32_t r = take(h, 7, 3, 0) + 8, b = take(h, 2, 3, 0) + 8, distance = value & 63, which = take(h, 5, 2, 0);
    switch (take(h, 10, 2, 0)) {
    case 0:
        return i_type(IMMEDIATE, r, 5, r, distance);
    case 1:
        return i_type(IMMEDIATE, r, 5, r, distance | 0x400);
    case 2:
        return i_type(IMMEDIATE, r, 7, r, value);
    default:
        break;
    }
    if (!take(h, 12, 1, 0)) return r_type(REGISTERS, which == 0 ? 0x20 : 0, r, r, b, funct3_of[which]);
    if (which > 1) return 0;
    return r_type(REGISTERS_WORD, which == 0 ? 0x20 : 0, r, r, b, 0); /* SUBW, ADDW */
}

/* Quadrant 1: immediates and jumps. */
static uint32_t expand_immediates(uint32_t h) {
    uint32_t r = take(h, 7, 5, 0), eight = take(h, 7, 3, 0) + 8;
    uint32_t value = sign_extend(take(h, 12, 1, 5) | take(h, 2, 5, 0), 6);
    uint32_t branch_value =
        sign_extend(take(h, 12, 1, 8) | take(h, 10, 2, 3) | take(h, 5, 2, 6) | take(h, 3, 2, 1) | take(h, 2, 1, 5), 9);
    switch (h >> 13) {
    case 0:
        return i_type(IMMEDIATE, r, 0, r, value);
    case 1:
        return r ? i_type(IMMEDIATE_WORD, r, 0, r, value) : 0;
    case 2:
        return i_type(IMMEDIATE, r, 0, 0, value);
    case 3:
        if (value == 0) return 0;
        if (r == 2) { /* C.ADDI16SP */
            uint32_t frame =
                take(h, 12, 1, 9) | take(h, 6, 1, 4) | take(h, 5, 1, 6) | take(h, 3, 2, 7) | take(h, 2, 1, 5);
            return i_type(IMMEDIATE, 2, 0, 2, sign_extend(frame, 10));
        }
        return value << 12 | r << 7 | 0x37; /* LUI */
    case 4:
        return expand_operations(h, value);
    case 5:
        return jump(0, sign_extend(take(h, 12, 1, 11) | take(h, 11, 1, 4) | take(h, 9, 2, 8) | take(h, 8, 1, 10) |
                                       take(h, 7, 1, 6) | take(h, 6, 1, 7) | take(h, 3, 3, 1) | take(h, 2, 1, 5),
                                   12));
    case 6:
        return branch(0, eight, branch_value);
    default:
        return branch(1, eight, branch_value);
    }
}

/* Quadrant 2: loads and stores by the stack pointer, moves, jumps by a register. */
static uint32_t expand_stack(uint32_t h) {
    uint32_t r = take(h, 7, 5, 0), b = take(h, 2, 5, 0);
    switch (h >> 13) {
    case 0:
        return i_type(IMMEDIATE, r, 1, r, take(h, 12, 1, 5) | b);
    case 2:
        return r ? i_type(LOAD, r, 2, 2, take(h, 12, 1, 5) | take(h, 4, 3, 2) | take(h, 2, 2, 6)) : 0;
    case 3:
        return r ? i_type(LOAD, r, 3, 2, take(h, 12, 1, 5) | take(h, 5, 2, 3) | take(h, 2, 3, 6)) : 0;
    case 4:
        if (!take(h, 12, 1, 0)) {
            if (b) return r_type(REGISTERS, 0, r, 0, b, 0); /* C.MV */
            return r ? i_type(JALR, 0, 0, r, 0) : 0;
        }
        if (b) return r_type(REGISTERS, 0, r, r, b, 0); /* C.ADD */
        return r ? i_type(JALR, 1, 0, r, 0) : 0x00100073 /* EBREAK */;
    case 6:
        return s_type(2, 2, b, take(h, 9, 4, 2) | take(h, 7, 2, 6));
    case 7:
        return s_type(3, 2, b, take(h, 10, 3, 3) | take(h, 7, 3, 6));
    default:
        return 0; /* floating point */
    }
}

uint32_t tla_riscv_expand(uint32_t half) {
    half &= 0xffff;
    switch (half & 3) {
    case 0:
        return expand_accesses(half);
    case 1:
        return expand_immediates(half);
    case 2:
        return expand_stack(half);
    default:
        return 0;
    }
}
