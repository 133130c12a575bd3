/* A cache's reason and its driver's, in one text. */
#include "upstream_reason.h"

#include "tlmalloc/allocators/shortage.h"

#include <stdarg.h>
#include <stdio.h>

tla_status tla_port_driver_reason(const tla_upstream *driver, uint32_t device, uint64_t nbytes, uint64_t asked,
                                  uint64_t held, tla_error *error, const char *format, ...) {
    tla_error why = {.status = TLA_EXHAUSTED, .text = "which refused"};
    if (driver->explain) why.status = driver->explain(driver->context, device, asked, &why);
    if (!error) return why.status;
    char own[sizeof error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(own, sizeof own, format, arguments);
    va_end(arguments);
    const bool front = driver->explain && tla_shortage_of(asked, why.total_free, 0, held) == TLA_SHORTAGE_FRONT;
    tla_error_set(error, why.status, "%s: %s%s%s%s%s", own, why.text, front ? ", " : "",
                  front ? tla_shortage_name(TLA_SHORTAGE_FRONT) : "", front ? "; " : "",
                  front ? tla_shortage_remedy(TLA_SHORTAGE_FRONT) : "");
    error->requested = nbytes;
    error->total_free = why.total_free;
    error->largest_free = why.largest_free;
    return why.status;
}
