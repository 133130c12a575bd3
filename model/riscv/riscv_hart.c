/* The hart: registers, memory, its decoded instructions, and the loop that executes. */
#include "tlmalloc/riscv/riscv_hart.h"

#include "base/host_array.h"
#include "base/little_endian.h"
#include "base/wide.h"
#include "decode.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct tla_riscv_hart {
    uint64_t x[RISCV_SINK + 1];
    uint64_t pc;
    uint64_t instructions, cycles;
    bool interrupt;
    unsigned char *memory;
    tla_riscv_instruction *decoded; /* one for each two bytes of the memory */
    uint64_t code_begin, code_end;  /* offsets between which something may be decoded */
    tla_riscv_fault fault;
    tla_riscv_config config;
};

tla_status tla_riscv_create(const tla_riscv_config *config, tla_riscv_hart **hart) {
    *hart = NULL;
    uint64_t bytes = config->memory_bytes;
    if (bytes < 2 || bytes > UINT64_C(1) << 30 || bytes % 2 || config->memory_base % 2 ||
        config->memory_base > UINT64_MAX - bytes + 1)
        return TLA_INVALID_ARGUMENT;
    tla_riscv_hart *made = calloc(1, sizeof *made);
    if (made) {
        made->config = *config;
        made->memory = calloc((size_t)bytes, 1); /* at most 2^30 */
        made->decoded = host_array_new(bytes / 2, sizeof *made->decoded);
    }
    if (!made || !made->memory || !made->decoded) {
        tla_riscv_destroy(made);
        return TLA_NO_HOST_MEMORY;
    }
    made->code_begin = bytes;
    tla_riscv_reset(made, config->memory_base);
    *hart = made;
    return TLA_OK;
}

void tla_riscv_destroy(tla_riscv_hart *hart) {
    if (!hart) return;
    free(hart->memory);
    free(hart->decoded);
    free(hart);
}

void tla_riscv_reset(tla_riscv_hart *hart, uint64_t pc) {
    memset(hart->x, 0, sizeof hart->x);
    hart->pc = pc & ~UINT64_C(1);
    hart->instructions = hart->cycles = 0;
    hart->interrupt = false;
    hart->fault = (tla_riscv_fault){0};
}

/* Offset of an access to the hart's own memory; false when a byte of it is elsewhere. */
static inline bool is_inside(const tla_riscv_config *config, uint64_t address, size_t nbytes, uint64_t *offset) {
    *offset = address - config->memory_base;
    return *offset < config->memory_bytes && nbytes <= config->memory_bytes - *offset;
}

/* Drops the decoded instructions of bytes that change: an instruction may begin two bytes before them. */
static void forget(tla_riscv_hart *hart, uint64_t offset, uint64_t nbytes) {
    uint64_t first = offset / 2 - (offset >= 2), last = (offset + nbytes - 1) / 2;
    memset(hart->decoded + first, 0, (size_t)(last - first + 1) * sizeof *hart->decoded);
}

tla_status tla_riscv_write(tla_riscv_hart *hart, uint64_t address, const void *bytes, size_t nbytes) {
    uint64_t offset;
    if (nbytes == 0) return TLA_OK;
    if (!is_inside(&hart->config, address, nbytes, &offset)) return TLA_OUT_OF_RANGE;
    memcpy(hart->memory + offset, bytes, nbytes);
    forget(hart, offset, nbytes);
    return TLA_OK;
}

tla_status tla_riscv_read(const tla_riscv_hart *hart, uint64_t address, void *bytes, size_t nbytes) {
    uint64_t offset;
    if (nbytes == 0) return TLA_OK;
    if (!is_inside(&hart->config, address, nbytes, &offset)) return TLA_OUT_OF_RANGE;
    memcpy(bytes, hart->memory + offset, nbytes);
    return TLA_OK;
}

uint64_t tla_riscv_register(const tla_riscv_hart *hart, unsigned number) {
    return number < RISCV_SINK ? hart->x[number] : 0;
}

void tla_riscv_set_register(tla_riscv_hart *hart, unsigned number, uint64_t value) {
    if (number > 0 && number < RISCV_SINK) hart->x[number] = value;
}

uint64_t tla_riscv_pc(const tla_riscv_hart *hart) {
    return hart->pc;
}

void tla_riscv_set_interrupt(tla_riscv_hart *hart, bool level) {
    hart->interrupt = level;
}

tla_riscv_fault tla_riscv_last_fault(const tla_riscv_hart *hart) {
    return hart->fault;
}

uint64_t tla_riscv_instructions(const tla_riscv_hart *hart) {
    return hart->instructions;
}

uint64_t tla_riscv_cycles(const tla_riscv_hart *hart) {
    return hart->cycles;
}

/* The bits of the instruction at an offset; false when its end is not in the memory. */
static bool fetch(const tla_riscv_hart *hart, uint64_t offset, uint32_t *bits) {
    *bits = 0;
    if (offset >= hart->config.memory_bytes) return false;
    const unsigned nbytes = (hart->memory[offset] & 3) == 3 ? 4 : 2;
    if (hart->config.memory_bytes - offset < nbytes) return false;
    *bits = (uint32_t)get_little_endian(hart->memory + offset, nbytes);
    return true;
}

static void decode_at(tla_riscv_hart *hart, uint64_t offset) {
    uint32_t bits;
    if (!fetch(hart, offset, &bits)) return;
    tla_riscv_instruction *i = &hart->decoded[offset / 2];
    *i = tla_riscv_decode(bits);
    if (offset < hart->code_begin) hart->code_begin = offset;
    if (offset + i->length > hart->code_end) hart->code_end = offset + i->length;
}

/* An access outside the memory, or across its end. */
__attribute__((noinline)) static tla_status access_outside(tla_riscv_hart *hart, uint64_t address, void *data,
                                                           unsigned nbytes, bool write) {
    const tla_riscv_config *config = &hart->config;
    uint64_t offset;
    bool crosses = is_inside(config, address, 1, &offset) || is_inside(config, address + nbytes - 1, 1, &offset);
    if (crosses || !config->access) return TLA_OUT_OF_RANGE;
    return config->access(config->context, address, data, nbytes, write);
}

static tla_riscv_stop fail(tla_riscv_hart *hart, tla_status status, uint64_t address) {
    uint32_t bits;
    fetch(hart, hart->pc - hart->config.memory_base, &bits);
    hart->fault = (tla_riscv_fault){status, hart->pc, bits, address};
    return TLA_RISCV_FAULT;
}

/* The upper half of a product, of which a factor may be signed: a negative one counts 2^64 less. */
static uint64_t high_product(uint64_t a, uint64_t b, bool a_signed, bool b_signed) {
    return wide_product(a, b).high - (a_signed && a >> 63 ? b : 0) - (b_signed && b >> 63 ? a : 0);
}

static uint64_t divide(int64_t a, int64_t b) {
    if (b == 0) return UINT64_MAX;
    return b == -1 ? 0 - (uint64_t)a : (uint64_t)(a / b);
}

static uint64_t remainder_of(int64_t a, int64_t b) {
    if (b == 0) return (uint64_t)a;
    return b == -1 ? 0 : (uint64_t)(a % b);
}

static uint64_t sign_word(uint64_t value) {
    return (uint64_t)(int64_t)(int32_t)value;
}

tla_riscv_stop tla_riscv_run(tla_riscv_hart *hart, uint64_t limit) {
    const tla_riscv_timing timing = hart->config.timing;
    const uint64_t base = hart->config.memory_base, bytes = hart->config.memory_bytes;
    unsigned char *const memory = hart->memory;
    tla_riscv_instruction *const decoded = hart->decoded;
    uint64_t *const x = hart->x;
    uint64_t pc = hart->pc, done = 0, extra = 0; /* of this run, not yet in the hart's counters */
    uint64_t address = 0, offset;
    tla_riscv_stop stop = TLA_RISCV_SPENT;
    tla_status status = TLA_OK;
    hart->fault = (tla_riscv_fault){0};

/* Stores the counts where other functions read them. */
#define SETTLE()                                                                                                       \
    (hart->pc = pc, hart->instructions += done, hart->cycles += done * timing.instruction + extra, done = extra = 0)

/* The current instruction is not done: subtracts its counts, modulo 2^64 if they are stored already. */
#define REFUSE(why, cycles)                                                                                            \
    {                                                                                                                  \
        status = why;                                                                                                  \
        extra -= cycles;                                                                                               \
        goto refused;                                                                                                  \
    }

#define LOAD(type)                                                                                                     \
    {                                                                                                                  \
        const uint8_t to = i->to; /* an access may overwrite the instruction */                                        \
        unsigned char raw[sizeof(type)];                                                                               \
        const unsigned char *from = raw;                                                                               \
        address = x[i->a] + (uint64_t)i->value;                                                                        \
        extra += timing.load;                                                                                          \
        if (is_inside(&hart->config, address, sizeof raw, &offset)) {                                                  \
            from = memory + offset;                                                                                    \
        } else {                                                                                                       \
            SETTLE();                                                                                                  \
            status = access_outside(hart, address, raw, sizeof raw, false);                                            \
            if (status) REFUSE(status, timing.load);                                                                   \
        }                                                                                                              \
        x[to] = (uint64_t)(int64_t)(type)get_little_endian(from, sizeof raw);                                          \
        break;                                                                                                         \
    }

#define STORE(type)                                                                                                    \
    {                                                                                                                  \
        unsigned char raw[sizeof(type)];                                                                               \
        put_little_endian(raw, x[i->b], sizeof raw);                                                                   \
        address = x[i->a] + (uint64_t)i->value;                                                                        \
        extra += timing.store;                                                                                         \
        if (is_inside(&hart->config, address, sizeof raw, &offset)) {                                                  \
            memcpy(memory + offset, raw, sizeof raw);                                                                  \
            if (offset < hart->code_end && offset + sizeof raw > hart->code_begin) forget(hart, offset, sizeof raw);   \
        } else {                                                                                                       \
            SETTLE();                                                                                                  \
            status = access_outside(hart, address, raw, sizeof raw, true);                                             \
            if (status) REFUSE(status, timing.store);                                                                  \
        }                                                                                                              \
        break;                                                                                                         \
    }

#define BRANCH(condition)                                                                                              \
    {                                                                                                                  \
        if (condition) {                                                                                               \
            next = pc + (uint64_t)i->value;                                                                            \
            extra += timing.taken_branch;                                                                              \
        }                                                                                                              \
        break;                                                                                                         \
    }

#define RESULT(expression)                                                                                             \
    {                                                                                                                  \
        x[i->to] = expression;                                                                                         \
        break;                                                                                                         \
    }

#define RESULT_IN(class, expression)                                                                                   \
    {                                                                                                                  \
        x[i->to] = expression;                                                                                         \
        extra += timing.class;                                                                                         \
        break;                                                                                                         \
    }

/* Operands as they are read, as signed, and of a word. */
#define A x[i->a]
#define B x[i->b]
#define SA ((int64_t)x[i->a])
#define SB ((int64_t)x[i->b])
#define WA ((int32_t)x[i->a])
#define WB ((int32_t)x[i->b])
#define VALUE ((uint64_t)i->value)

    for (uint64_t left = limit; left > 0; left--) {
        const uint64_t at = pc - base;
        done++;
        if (at >= bytes) {
            address = pc;
            REFUSE(TLA_OUT_OF_RANGE, 0);
        }
        if (decoded[at / 2].op == RISCV_NOT_DECODED) decode_at(hart, at);
        const tla_riscv_instruction *const i = &decoded[at / 2];
        uint64_t next = pc + i->length;
        switch ((tla_riscv_op)i->op) {
        case RISCV_LUI:
            RESULT(VALUE);
        case RISCV_AUIPC:
            RESULT(pc + VALUE);
        case RISCV_JAL:
            x[i->to] = next;
            next = pc + VALUE;
            extra += timing.jump;
            break;
        case RISCV_JALR:
            offset = A + VALUE;
            x[i->to] = next;
            next = offset & ~UINT64_C(1);
            extra += timing.jump;
            break;
        case RISCV_BEQ:
            BRANCH(A == B);
        case RISCV_BNE:
            BRANCH(A != B);
        case RISCV_BLT:
            BRANCH(SA < SB);
        case RISCV_BGE:
            BRANCH(SA >= SB);
        case RISCV_BLTU:
            BRANCH(A < B);
        case RISCV_BGEU:
            BRANCH(A >= B);
        case RISCV_LB:
            LOAD(int8_t);
        case RISCV_LH:
            LOAD(int16_t);
        case RISCV_LW:
            LOAD(int32_t);
        case RISCV_LD:
            LOAD(int64_t);
        case RISCV_LBU:
            LOAD(uint8_t);
        case RISCV_LHU:
            LOAD(uint16_t);
        case RISCV_LWU:
            LOAD(uint32_t);
        case RISCV_SB:
            STORE(uint8_t);
        case RISCV_SH:
            STORE(uint16_t);
        case RISCV_SW:
            STORE(uint32_t);
        case RISCV_SD:
            STORE(uint64_t);
        case RISCV_ADDI:
            RESULT(A + VALUE);
        case RISCV_SLTI:
            RESULT(SA < i->value);
        case RISCV_SLTIU:
            RESULT(A < VALUE);
        case RISCV_XORI:
            RESULT(A ^ VALUE);
        case RISCV_ORI:
            RESULT(A | VALUE);
        case RISCV_ANDI:
            RESULT(A & VALUE);
        case RISCV_SLLI:
            RESULT(A << i->value);
        case RISCV_SRLI:
            RESULT(A >> i->value);
        case RISCV_SRAI:
            RESULT((uint64_t)(SA >> i->value));
        case RISCV_ADDIW:
            RESULT(sign_word(A + VALUE));
        case RISCV_SLLIW:
            RESULT(sign_word(A << i->value));
        case RISCV_SRLIW:
            RESULT(sign_word((uint32_t)A >> i->value));
        case RISCV_SRAIW:
            RESULT((uint64_t)(int64_t)(WA >> i->value));
        case RISCV_ADD:
            RESULT(A + B);
        case RISCV_SUB:
            RESULT(A - B);
        case RISCV_SLL:
            RESULT(A << (B & 63));
        case RISCV_SLT:
            RESULT(SA < SB);
        case RISCV_SLTU:
            RESULT(A < B);
        case RISCV_XOR:
            RESULT(A ^ B);
        case RISCV_SRL:
            RESULT(A >> (B & 63));
        case RISCV_SRA:
            RESULT((uint64_t)(SA >> (B & 63)));
        case RISCV_OR:
            RESULT(A | B);
        case RISCV_AND:
            RESULT(A & B);
        case RISCV_ADDW:
            RESULT(sign_word(A + B));
        case RISCV_SUBW:
            RESULT(sign_word(A - B));
        case RISCV_SLLW:
            RESULT(sign_word(A << (B & 31)));
        case RISCV_SRLW:
            RESULT(sign_word((uint32_t)A >> (B & 31)));
        case RISCV_SRAW:
            RESULT((uint64_t)(int64_t)(WA >> (B & 31)));
        case RISCV_MUL:
            RESULT_IN(multiply, A * B);
        case RISCV_MULH:
            RESULT_IN(multiply, high_product(A, B, true, true));
        case RISCV_MULHSU:
            RESULT_IN(multiply, high_product(A, B, true, false));
        case RISCV_MULHU:
            RESULT_IN(multiply, high_product(A, B, false, false));
        case RISCV_MULW:
            RESULT_IN(multiply, sign_word(A * B));
        case RISCV_DIV:
            RESULT_IN(divide, divide(SA, SB));
        case RISCV_DIVU:
            RESULT_IN(divide, B ? A / B : UINT64_MAX);
        case RISCV_REM:
            RESULT_IN(divide, remainder_of(SA, SB));
        case RISCV_REMU:
            RESULT_IN(divide, B ? A % B : A);
        case RISCV_DIVW:
            RESULT_IN(divide, sign_word(divide(WA, WB)));
        case RISCV_DIVUW:
            RESULT_IN(divide, (uint32_t)B ? sign_word((uint32_t)A / (uint32_t)B) : UINT64_MAX);
        case RISCV_REMW:
            RESULT_IN(divide, sign_word(remainder_of(WA, WB)));
        case RISCV_REMUW:
            RESULT_IN(divide, sign_word((uint32_t)B ? (uint32_t)A % (uint32_t)B : A));
        case RISCV_FENCE:
            break;
        case RISCV_WFI:
            if (hart->interrupt) break;
            stop = TLA_RISCV_WAITS;
            done--;
            goto ended;
        case RISCV_NOT_DECODED: /* its second half is not in the memory */
        case RISCV_UNKNOWN:
            address = pc;
            REFUSE(i->op == RISCV_UNKNOWN ? TLA_UNSUPPORTED : TLA_OUT_OF_RANGE, 0);
        }
        pc = next;
    }
ended:
    SETTLE();
    return stop;
refused:
    done--;
    SETTLE();
    return fail(hart, status, address);
}
