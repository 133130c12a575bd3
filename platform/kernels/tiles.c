/* Several tiles taken and given back as one. */
#include "tiles.h"

tla_status tl_alloc_tiles(tl_context *tl, tl_tile *tiles, size_t count) {
    for (size_t i = 0; i < count; i++) {
        tla_status status = tl_alloc(tl, tiles[i].rows, tiles[i].columns, tiles[i].dtype, &tiles[i]);
        if (status != TLA_OK) return tl_free_tiles(tl, tiles, i, status);
    }
    return TLA_OK;
}

tla_status tl_free_tiles(tl_context *tl, const tl_tile *tiles, size_t count, tla_status status) {
    while (count-- > 0) {
        tla_status freed = tl_free(tl, &tiles[count]);
        if (status == TLA_OK) status = freed;
    }
    return status;
}
