/* What went wrong: one enum for the whole library, and a text for people.
 *
 * Every call that can fail returns a tla_status. A call that fails leaves the structure as it was. Where a person will
 * read about the failure, the call also takes a tla_error (NULL = not wanted) and fills it. */
#ifndef TLMALLOC_STATUS_H
#define TLMALLOC_STATUS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tla_status {
    TLA_OK = 0,
    TLA_EXHAUSTED,        /* fewer bytes are free than were asked for */
    TLA_FRAGMENTED,       /* enough bytes are free, but no single block is large enough */
    TLA_INVALID_ARGUMENT, /* an argument is outside its documented range */
    TLA_OUT_OF_RANGE,     /* the address lies outside the region that the object owns */
    TLA_NOT_ALLOCATED,    /* free of something that is not allocated: double free, unknown address */
    TLA_SIZE_MISMATCH,    /* free with a size that is not that of the allocation */
    TLA_OVERLAP,          /* the range overlaps one that is mapped or reserved already */
    TLA_UNMAPPED,         /* no mapping covers the virtual address */
    TLA_PERMISSION,       /* a mapping exists and forbids this kind of access */
    TLA_BAD_COMMAND,      /* a descriptor that cannot be decoded */
    TLA_MISDIRECTED,      /* a well-formed descriptor that was sent to the wrong kind of target */
    TLA_BUSY,             /* refused for now: what was asked before is not finished, or a fault plan says so */
    TLA_LIMIT,            /* a configured limit (entries, table memory) is used up */
    TLA_SYNTAX,           /* an input text is not what its format says */
    TLA_IO,               /* a file cannot be read or written */
    TLA_NO_HOST_MEMORY,   /* the host's malloc failed */
    TLA_BUS_ERROR,        /* a transaction was answered with an error response */
    TLA_LEAK,             /* something that should have been given back was not */
    TLA_UNSUPPORTED,      /* legal, but not built */
    TLA_WRONG_RESULT,     /* a computed result differs from its reference */
    TLA_USE_AFTER_FREE,   /* an access to a block that was freed */
    TLA_OUT_OF_BOUNDS,    /* an access that is not inside one live block */
    TLA_NOT_OWNER,        /* an access by somebody to whom the block does not belong */
    TLA_NEVER_WRITTEN,    /* a read of bytes that nobody has written */
    TLA_NOT_FOUND,        /* a part of the platform or a kernel that is named does not exist */
    TLA_CRASHED,          /* a kernel was ended: a wild address, an overflow of its stack, a division by zero, abort */
    TLA_TIMEOUT,          /* a kernel was ended: it did not return within a limit */
    TLA_DEADLOCK,         /* a kernel was ended: it waited for a message, and nobody could go on any more */
    TLA_NOT_RECEIVED,     /* a message was sent that nobody received */
    TLA_ENGINE_DIFFERS,   /* an engine behind an arena answered otherwise than the core, or not at all */
    TLA_RESET,            /* ended by a reset: what the command was given, or had, is gone */
    TLA_STATUS_COUNT
} tla_status;

/* Name of a status as written above, "TLA_OK"; "TLA_?" for a value that is none. Never NULL. */
const char *tla_status_name(tla_status status);

/* One short English sentence for a status, no full stop. Never NULL. */
const char *tla_status_text(tla_status status);

/* A failure told to a person. requested, total_free and largest_free are filled by allocators (bytes), else 0. */
typedef struct tla_error {
    tla_status status;
    uint64_t requested;
    uint64_t total_free;
    uint64_t largest_free;
    char text[400];
} tla_error;

/* Fills *error (may be NULL) with a status and a printf-style text; returns the status, so that a caller can write
 * `return tla_error_set(error, TLA_IO, "...")`. A text that is too long is cut; control characters and bytes that are
 * no UTF-8, which names of files and other inputs may hold, stand there as \xNN. */
tla_status tla_error_set(tla_error *error, tla_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
