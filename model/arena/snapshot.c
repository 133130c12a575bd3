/* Writing the state of an arena as text; snapshot_reader.c reads it. */
#include "arena_state.h"
#include "tlmalloc/arena/arena.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    char *text;
    size_t room, length;
} sink;

__attribute__((format(printf, 2, 3))) static void put(sink *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t left = out->length < out->room ? out->room - out->length : 0;
    int n = vsnprintf(left ? out->text + out->length : NULL, left, format, arguments);
    va_end(arguments);
    if (n > 0) out->length += (size_t)n;
}

tla_status tla_arena_snapshot(const tla_arena *arena, char *text, size_t room, size_t *length) {
    const tla_placement *p = arena->placement;
    const tla_arena_config *c = &arena->config;
    size_t count = (size_t)p->count(arena->state);
    tla_block *blocks = malloc((count + 1) * sizeof *blocks);
    if (!blocks) return TLA_NO_HOST_MEMORY;
    if (p->saved)
        p->saved(arena->state, blocks);
    else
        p->copy(arena->state, 0, blocks, count);
    sink out = {text, room, 0};
    put(&out, "tlmalloc-arena 1\npolicy %s\nbase %" PRIu64 "\ncapacity %" PRIu64 "\nalignment %" PRIu64 "\n",
        tla_policy_name(c->policy), c->base, c->capacity, c->alignment);
    put(&out, "peak %" PRIu64 "\ncursor %" PRIu64 "\nfree %zu\n", arena->peak_used,
        p->cursor ? p->cursor(arena->state) : 0, count);
    for (size_t i = 0; i < count; i++)
        put(&out, "%" PRIu64 " %" PRIu64 "\n", blocks[i].offset, blocks[i].nbytes);
    free(blocks);
    if (arena->live) {
        put(&out, "live %zu\n", tla_live_blocks_count(arena->live));
        const tla_live_block *l = tla_live_blocks_at_or_above(arena->live, 0);
        for (; l; l = tla_live_blocks_at_or_above(arena->live, l->block.offset + 1))
            put(&out, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", l->block.offset, l->block.nbytes,
                l->owner.tag, l->owner.who, l->owner.time);
    }
    put(&out, "end\n");
    *length = out.length;
    return out.length < room ? TLA_OK : TLA_LIMIT;
}
