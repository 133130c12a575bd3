/* RV64 programs on Unicorn, told by lines of text: what the hart is compared with.
 *
 * A program of its own that holds nothing of this library, because Unicorn's licence is the GPL, version 2. It reads
 *
 *     memory BASE BYTES     maps memory of zeros, both multiples of 4 KiB
 *     write ADDRESS HEX     bytes into it
 *     set NUMBER VALUE      register x1 .. x31; 32 is pc
 *     run                   until the next WFI, which is not executed: prints the instructions that were, and pc
 *     registers             prints x1 .. x31
 *     show ADDRESS COUNT    prints words of eight bytes
 *     sum                   prints the FNV-1a hash of all memory
 *     clear                 begins anew, without memory
 *
 * numbers as strtoull reads them, and prints numbers in hexadecimal, a line for each command that prints. */
#include <unicorn/unicorn.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGIONS = 4, LINE = 1 << 18 };

static struct region {
    uint64_t base, bytes;
    unsigned char *at;
} regions[REGIONS];
static unsigned region_count;
static uint64_t instructions;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "unicorn_oracle: %s: %s\n", what, why);
    exit(1);
}

static void check(uc_err error, const char *what) {
    if (error) fail(what, uc_strerror(error));
}

static unsigned char *at(uint64_t address, uint64_t bytes) {
    for (unsigned i = 0; i < region_count; i++)
        if (address - regions[i].base < regions[i].bytes && bytes <= regions[i].bytes - (address - regions[i].base))
            return regions[i].at + (address - regions[i].base);
    fail("an address", "there is no memory");
    return NULL;
}

static void on_instruction(uc_engine *uc, uint64_t address, uint32_t size, void *unused) {
    static const unsigned char wfi[4] = {0x73, 0x00, 0x50, 0x10};
    (void)unused;
    if (size == sizeof wfi && memcmp(at(address, sizeof wfi), wfi, sizeof wfi) == 0)
        uc_emu_stop(uc);
    else
        instructions++;
}

static void map(uc_engine *uc, uint64_t base, uint64_t bytes) {
    if (region_count == REGIONS) fail("memory", "too many");
    struct region *r = &regions[region_count++];
    *r = (struct region){base, bytes, aligned_alloc(4096, bytes)};
    if (!r->at) fail("memory", "none on the host");
    memset(r->at, 0, bytes);
    check(uc_mem_map_ptr(uc, base, bytes, UC_PROT_ALL, r->at), "memory");
}

static void write_hex(uint64_t address, const char *hex) {
    size_t bytes = strcspn(hex, "\n") / 2;
    unsigned char *to = at(address, bytes);
    for (size_t i = 0; i < bytes; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        to[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
}

static void sum(void) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (unsigned r = 0; r < region_count; r++)
        for (uint64_t i = 0; i < regions[r].bytes; i++)
            hash = (hash ^ regions[r].at[i]) * UINT64_C(0x100000001b3);
    printf("%" PRIx64 "\n", hash);
}

static void run(uc_engine *uc) {
    uint64_t pc;
    instructions = 0;
    uc_reg_read(uc, UC_RISCV_REG_PC, &pc);
    uc_err error = uc_emu_start(uc, pc, UINT64_MAX, 0, 0);
    uc_reg_read(uc, UC_RISCV_REG_PC, &pc);
    if (error) {
        fprintf(stderr, "pc %" PRIx64 ": ", pc);
        for (unsigned i = 0; i < 4; i++)
            fprintf(stderr, "%02x%s", at(pc, 4)[3 - i], i < 3 ? "" : "\n");
        fail("run", uc_strerror(error));
    }
    printf("%" PRIx64 " %" PRIx64 "\n", instructions, pc);
}

static uc_engine *open_engine(void) {
    uc_engine *uc;
    uc_hook hook;
    check(uc_open(UC_ARCH_RISCV, UC_MODE_RISCV64, &uc), "open");
    check(uc_hook_add(uc, &hook, UC_HOOK_CODE, __extension__(void *) on_instruction, NULL, 1, 0), "hook");
    return uc;
}

int main(void) {
    static char line[LINE];
    uc_engine *uc = open_engine();
    while (fgets(line, sizeof line, stdin)) {
        char word[16];
        int used = 0;
        if (sscanf(line, "%15s %n", word, &used) != 1) continue;
        char *rest = line + used;
        uint64_t first = strtoull(rest, &rest, 0);
        uint64_t second = strcmp(word, "write") == 0 ? 0 : strtoull(rest, NULL, 0);
        if (strcmp(word, "memory") == 0) {
            map(uc, first, second);
        } else if (strcmp(word, "write") == 0) {
            write_hex(first, rest + strspn(rest, " "));
        } else if (strcmp(word, "set") == 0) {
            uc_reg_write(uc, first == 32 ? UC_RISCV_REG_PC : UC_RISCV_REG_X0 + (int)first, &second);
        } else if (strcmp(word, "run") == 0) {
            run(uc);
        } else if (strcmp(word, "registers") == 0) {
            for (int i = 1; i < 32; i++) {
                uint64_t value;
                uc_reg_read(uc, UC_RISCV_REG_X0 + i, &value);
                printf(i < 31 ? "%" PRIx64 " " : "%" PRIx64 "\n", value);
            }
        } else if (strcmp(word, "show") == 0) {
            for (uint64_t i = 0; i < second; i++) {
                uint64_t value;
                memcpy(&value, at(first + 8 * i, 8), 8);
                printf(i + 1 < second ? "%" PRIx64 " " : "%" PRIx64 "\n", value);
            }
        } else if (strcmp(word, "sum") == 0) {
            sum();
        } else if (strcmp(word, "clear") == 0) {
            check(uc_close(uc), "close");
            while (region_count > 0)
                free(regions[--region_count].at);
            uc = open_engine();
        } else {
            fail(word, "unknown");
        }
    }
    uc_close(uc);
    return 0;
}
