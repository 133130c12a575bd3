/* A cache's reason and its driver's, in one text. */
#include "upstream_reason.h"

#include "shortage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

bool tla_pool_trim_init(tla_pool_trim *trim, size_t count) {
    *trim = (tla_pool_trim){.blocks = calloc(count ? count : 1, sizeof *trim->blocks)};
    return trim->blocks != NULL;
}

void tla_pool_trim_add(tla_pool_trim *trim, uint64_t address, uint64_t nbytes) {
    trim->blocks[trim->count++] = (tla_block){address, nbytes};
    trim->nbytes += nbytes;
}

uint64_t tla_pool_trim_end(tla_pool_trim *trim, const tla_upstream *driver, uint32_t device, uint64_t asked) {
    uint64_t back = 0;
    if (trim->count > 0 && driver->serves_after)
        back = driver->serves_after(driver->context, device, trim->blocks, trim->count, asked);
    free(trim->blocks);
    trim->blocks = NULL;
    return back;
}

/* The advice, behind a text. */
static const char *remedy(uint64_t trimmed) {
    return trimmed ? tla_shortage_remedy(TLA_SHORTAGE_FRONT) : "";
}

static const char *reason(uint64_t trimmed) {
    return trimmed ? tla_shortage_name(TLA_SHORTAGE_FRONT) : "";
}

tla_status tla_port_client_reason(const tla_upstream *driver, uint32_t device, uint64_t nbytes, uint64_t asked,
                                  uint64_t trimmed, tla_error *error, const char *format, ...) {
    tla_error why = {.status = TLA_EXHAUSTED, .text = "the allocation failed"};
    if (driver->explain) why.status = driver->explain(driver->context, device, asked, &why);
    if (!error) return why.status;
    char own[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(own, sizeof own, format, arguments);
    va_end(arguments);
    tla_error_set(error, why.status, "%s: %s%s%s%s%s", own, why.text, trimmed ? ", " : "", reason(trimmed),
                  trimmed ? "; " : "", remedy(trimmed));
    error->requested = nbytes;
    error->total_free = why.total_free;
    error->largest_free = why.largest_free;
    return why.status;
}

tla_status tla_pool_limit_reason(uint64_t nbytes, uint64_t trimmed, tla_error *error, const char *format, ...) {
    if (!error) return TLA_LIMIT;
    char own[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(own, sizeof own, format, arguments);
    va_end(arguments);
    tla_error_set(error, TLA_LIMIT, "%s%s%s%s%s", own, trimmed ? ": " : "", reason(trimmed), trimmed ? "; " : "",
                  remedy(trimmed));
    error->requested = nbytes;
    return TLA_LIMIT;
}
