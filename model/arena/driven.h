/* What stands behind an arena (engine.h), for the rest of the arena. Internal to model/arena. */
#ifndef TLMALLOC_ARENA_DRIVEN_H
#define TLMALLOC_ARENA_DRIVEN_H

#include "arena_state.h"
#include "tlmalloc/allocators/engine.h"

/* Takes it off, so that the arena's placement and state are its own again; NULL where there is none. */
tla_driven *tla_driven_take_off(tla_arena *arena);

/* Puts it back, over whatever state the arena has. */
void tla_driven_put_back(tla_arena *arena, tla_driven *driven);

/* Brings the engine, if there is one, to the list as it is. What goes wrong is the engine's. */
tla_status tla_driven_follow(tla_driven *driven, tla_error *error);

/* TLA_LIMIT, with a text, when the list has not so many nodes. */
tla_status tla_driven_has_room(const tla_driven *driven, uint64_t blocks, tla_error *error);

#endif
