/* The limit and the engine of an arena (engine.h), for the other files of the arena. Internal to model/arena. */
#ifndef TLMALLOC_ARENA_DRIVEN_H
#define TLMALLOC_ARENA_DRIVEN_H

#include "arena_state.h"
#include "base/phrase.h"
#include "tlmalloc/arena/engine.h"

struct tla_driven {
    tla_placement face; /* what arena.c sees */
    const tla_placement *list;
    void *list_state;
    tla_engine engine;             /* without `serve`: the core alone */
    uint64_t nodes;                /* of the list; buddies have none: UINT64_MAX */
    uint64_t base, unit, capacity; /* of the arena; capacity in units */
    uint64_t served;
    tla_error difference; /* the first; no status: none yet */
    tla_error *error;     /* the arena's */
};

static inline bool tla_driven_has_engine(const tla_driven *driven) {
    return driven->engine.serve != NULL;
}

/* driven.c: what arena.c sees of one, around the arena's own placement. */
tla_placement tla_driven_around(const tla_placement *list, bool engine);

/* TLA_UNSUPPORTED, with a text, for a batch in one block whose items an engine could not release: buddies of an engine
 * know the blocks that they have cut. */
tla_status tla_driven_may_cut(const tla_driven *driven, size_t items);

/* An answer as text: "done at 20", "no block". */
tla_phrase tla_driven_words(tla_engine_status status, bool give_back, uint64_t offset);

/* Detaches it, so that the arena has its own placement and state again; NULL if nothing is attached. */
tla_driven *tla_driven_take_off(tla_arena *arena);

/* Puts it back, over whatever state the arena has. */
void tla_driven_put_back(tla_arena *arena, tla_driven *driven);

/* Brings the engine, if one is attached, to the state of the arena that has one of these. Errors are those of the
 * engine, or TLA_UNSUPPORTED for live blocks of unknown sizes. */
tla_status tla_driven_follow(const tla_arena *arena, tla_error *error);

/* TLA_LIMIT, with a text, when the list has not so many nodes. */
tla_status tla_driven_has_room(const tla_driven *driven, uint64_t blocks, tla_error *error);

#endif
