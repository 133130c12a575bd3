/* What firmware can use of the core, without a C library: the driver of a control port, and physical addresses. Prints
 * the words that reach the port, and what the driver makes of the answers; the same on every processor. */
#include "tlmalloc/base/phys_addr.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/port_client.h"

void print(const char *text, unsigned length); /* of whoever starts this: freestanding_start.c, freestanding_host.c */
int run(void);

static void print_number(uint64_t number) {
    char text[17];
    for (unsigned i = 0; i < 16; i++)
        text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 15];
    text[16] = '\n';
    print(text, sizeof text);
}

/* A port whose engine answers every command at once with a number of its own. */
static uint32_t read_word(void *context, uint32_t offset) {
    const uint32_t *const written = context;
    return offset == TLA_PORT_STATE            ? TLA_PORT_DONE
           : offset == TLA_PORT_COMPLETION + 4 ? written[0]
                                               : 0x01020300 + *written;
}

static void write_word(void *context, uint32_t offset, uint32_t word) {
    uint32_t *const written = context;
    (*written)++;
    print_number((uint64_t)offset << 32 | word);
}

int run(void) {
    uint32_t written = 0;
    tla_port_client driver = {
        .polls_max = 8, .context = &written, .read = read_word, .write = write_word, .correlation_id = 7};
    tla_completion completion = {0};
    tla_paddr pa = {0};
    for (uint64_t nbytes = 1; nbytes != 0; nbytes *= 16)
        print_number((uint64_t)tla_port_client_alloc(&driver, TLA_HBM, nbytes, &pa, &completion));
    print_number(completion.value);
    print_number((uint64_t)tla_port_client_free(&driver, (tla_paddr){UINT64_C(0x123456789abcdef0)}, 4096, &completion));
    const tla_scope scope = {1, 2, 3};
    const tla_map_entry entries[] = {{{UINT64_C(1) << 40}, {UINT64_C(3) << 37}, UINT64_C(1) << 33, TLA_READ, 5},
                                     {{4096}, {8192}, 12288, TLA_READ | TLA_WRITE, 0}};
    print_number((uint64_t)tla_port_client_map(&driver, TLA_TARGET_PE_MMU, scope, entries, 2, &completion));
    print_number((uint64_t)tla_port_client_unmap(&driver, TLA_TARGET_PE_MMU, scope, entries, 1, &completion));
    print_number((uint64_t)tla_paddr_pe_hbm(1, 2, 3, 4096, UINT64_C(6) << 30, &pa));
    print_number(pa.value);
    return 0;
}
