/* The table through which a kernel calls its platform.
 *
 * A kernel in an object of its own (.so) has no undefined symbol of tlmalloc. Every tl_* call of language.h goes
 * through the table in the kernel's context. The runner of the kernel provides the table: a processing_element, or a
 * test with plain memory. Within a version, calls are only added at the end, and `bytes` is the size of the table. A
 * kernel runs only with a table of its version that is at least as large as the table of its own headers. */
#ifndef TLMALLOC_KERNEL_CALLS_H
#define TLMALLOC_KERNEL_CALLS_H

#include "tlmalloc/kernel/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Increases when an existing call or type changes. */
enum { TL_CALLS_VERSION = 2 };

typedef struct tl_context tl_context; /* one program on one PE */

/* Each member implements the tl_* call of the same name in language.h, pipeline.h or messages.h; see there. */
typedef struct tl_calls {
    uint32_t version; /* TL_CALLS_VERSION of the platform */
    uint32_t bytes;   /* sizeof(tl_calls) of the platform */

    uint32_t (*program_id)(const tl_context *tl, uint32_t axis);
    uint32_t (*num_programs)(const tl_context *tl, uint32_t axis);
    uint64_t (*argument)(const tl_context *tl, uint32_t index);
    tla_status (*fail)(tl_context *tl, tla_status status, const char *why);
    tla_status (*alloc)(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile);
    tla_status (*free)(tl_context *tl, const tl_tile *tile);
    tla_status (*load)(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch);
    tla_status (*store)(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile);
    tla_status (*dot)(tl_context *tl, const tl_tile *sum, const tl_tile *a, const tl_tile *b);
    tla_status (*fill)(tl_context *tl, const tl_tile *tile, float value);
    tla_status (*convert)(tl_context *tl, const tl_tile *out, const tl_tile *a);
    tla_status (*unary)(tl_context *tl, tl_unary what, const tl_tile *out, const tl_tile *a);
    tla_status (*binary)(tl_context *tl, tl_binary what, const tl_tile *out, const tl_tile *a, const tl_tile *b);
    tla_status (*ternary)(tl_context *tl, tl_ternary what, const tl_tile *out, const tl_tile *a, const tl_tile *b,
                          const tl_tile *c);
    tla_status (*reduce)(tl_context *tl, tl_reduction what, uint32_t axis, const tl_tile *out, const tl_tile *a);
    tla_status (*softmax)(tl_context *tl, const tl_tile *out, const tl_tile *a);
    tla_status (*hold)(tl_context *tl, tl_hold what, const tl_tile *tile, uint64_t timeout_ns);
    void (*end)(tl_context *tl, tla_status status, const char *why);
    tla_status (*load_tensor)(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *mask,
                              float other);
    tla_status (*store_tensor)(tl_context *tl, const tl_tensor *tensor, const tl_tile *tile, const tl_tile *mask);
    tla_status (*gather_rows)(tl_context *tl, const tl_tile *tile, const tl_tensor *tensor, const tl_tile *index);
    tla_status (*transpose)(tl_context *tl, const tl_tile *out, const tl_tile *a);
    tla_status (*load_async)(tl_context *tl, const tl_tile *tile, tla_vaddr source, uint64_t pitch, tl_handle *handle);
    tla_status (*store_async)(tl_context *tl, tla_vaddr destination, uint64_t pitch, const tl_tile *tile,
                              tl_handle *handle);
    tla_status (*wait)(tl_context *tl, tl_handle handle);
    tla_status (*wait_all)(tl_context *tl);
    tla_status (*scratch)(tl_context *tl, uint32_t rows, uint32_t columns, tl_dtype dtype, tl_tile *tile);
    tla_status (*composite)(tl_context *tl, const tl_composition *what, tl_handle *handle);
    tla_status (*send)(tl_context *tl, uint32_t peer, const tl_tile *tile);
    tla_status (*receive)(tl_context *tl, uint32_t peer, const tl_tile *tile);
    tla_status (*program_at)(tl_context *tl, uint32_t sip, uint32_t cube, uint32_t pe, uint32_t *program);
    uint32_t (*mesh_columns)(const tl_context *tl);
    tla_status (*receive_async)(tl_context *tl, uint32_t peer, const tl_tile *tile, tl_handle *handle);
    tla_status (*place_of)(tl_context *tl, uint32_t program, tl_place *place);
    void (*collective_settings)(const tl_context *tl, tl_collective_settings *settings);
} tl_calls;

/* The argument of a kernel; the platform's own data follows it. */
struct tl_context {
    const tl_calls *calls;
};

/* A kernel: 0 = done, else the status that stopped it. */
typedef tla_status (*tl_kernel)(tl_context *tl);

#ifdef __cplusplus
}
#endif
#endif
