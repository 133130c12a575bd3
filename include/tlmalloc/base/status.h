/* The results of calls: one enum for the whole library, and a readable text.
 *
 * Every call that can fail returns a tla_status. A failed call leaves the structure unchanged. Where a person will read
 * about the failure, the call also takes a tla_error (NULL = not wanted) and fills it. */
#ifndef TLMALLOC_STATUS_H
#define TLMALLOC_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_status {
    TLA_OK = 0,
    TLA_EXHAUSTED,        /* fewer bytes are free than requested */
    TLA_FRAGMENTED,       /* enough bytes are free, but no single block is large enough */
    TLA_INVALID_ARGUMENT, /* an argument is outside its documented range */
    TLA_OUT_OF_RANGE,     /* the address lies outside the region that the object owns */
    TLA_NOT_ALLOCATED,    /* free of a range that is not allocated: double free, unknown address */
    TLA_SIZE_MISMATCH,    /* free with a size that differs from that of the allocation */
    TLA_OVERLAP,          /* the range overlaps a range that is already mapped or reserved */
    TLA_UNMAPPED,         /* no mapping covers the virtual address */
    TLA_PERMISSION,       /* a mapping exists and forbids this kind of access */
    TLA_BAD_COMMAND,      /* a descriptor that cannot be decoded */
    TLA_MISDIRECTED,      /* a well-formed descriptor that was sent to the wrong kind of target */
    TLA_BUSY,             /* rejected for now: an earlier request has not completed, or a fault plan demands it */
    TLA_LIMIT,            /* a configured limit (entries, table memory) is used up */
    TLA_SYNTAX,           /* an input text does not follow its format */
    TLA_IO,               /* a file cannot be read or written */
    TLA_NO_HOST_MEMORY,   /* the host's malloc failed */
    TLA_BUS_ERROR,        /* a transaction received an error response */
    TLA_LEAK,             /* a block, a buffer or a reference was not released */
    TLA_UNSUPPORTED,      /* valid request, not implemented */
    TLA_WRONG_RESULT,     /* a computed result differs from its reference */
    TLA_USE_AFTER_FREE,   /* an access to a block that was freed */
    TLA_OUT_OF_BOUNDS,    /* an access that is not inside one live block */
    TLA_NOT_OWNER,        /* an access by another requester than the owner of the block */
    TLA_NEVER_WRITTEN,    /* a read of bytes that were never written */
    TLA_NOT_FOUND,        /* a named component or kernel does not exist */
    TLA_CRASHED,          /* a kernel was ended: a wild address, an overflow of its stack, a division by zero, abort */
    TLA_TIMEOUT,          /* a kernel was ended: it did not return within a limit */
    TLA_DEADLOCK,         /* a kernel was ended: it waited for a message, and no kernel could continue */
    TLA_NOT_RECEIVED,     /* a sent message was not received */
    TLA_ENGINE_DIFFERS,   /* the answer of an arena's engine differs from the core's, or is missing */
    TLA_RESET,            /* a reset ended or prevented the call: its inputs and results are lost */
    TLA_STATUS_COUNT
} tla_status;

/* Returns the name of a status as written above, "TLA_OK"; "TLA_?" for an unknown value. Never NULL. */
const char *tla_status_name(tla_status status);

/* Returns one short English sentence for a status, without a full stop. Never NULL. */
const char *tla_status_text(tla_status status);

/* A readable failure. Allocators fill requested, total_free and largest_free (bytes); otherwise they are 0. */
typedef struct tla_error {
    tla_status status;
    uint64_t requested;
    uint64_t total_free;
    uint64_t largest_free;
    char text[400];
} tla_error;

/* Fills *error (may be NULL) with a status and a printf-style text. Returns the status, so that a caller can write
 * `return tla_error_set(error, TLA_IO, "...")`. A too long text is cut. Control characters and bytes that are not
 * UTF-8, which names of files and other inputs may contain, appear as \xNN. */
tla_status tla_error_set(tla_error *error, tla_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
