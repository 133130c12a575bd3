/* The time of a message from one PE to another on four paths (KernBench's pe2pe): PE 0 of cube 0 sends its part of x to
 *
 *   h1  the next PE of the cube, in KernBench's layout on the next router      h3  the cube in the east
 *   h2  the PE half the cube further on, below it there                        h4  the cube in the south
 *
 * and back, a few times, one path after the other, so that no other traffic is on the links; paths that the platform
 * lacks are left out. The report's paths have the times, the first with the allocation of slots. */
#include "tlmalloc/kernel.h"

#include <string.h>

enum { X, Y, ROLE };
enum { WAYS = 4, ROUNDS = 4 };

/* Whom program 0 talks to on a way; itself where the platform has no such way. */
static tla_status receiver_of(tl_context *tl, uint32_t way, uint32_t *receiver) {
    const uint32_t pes = tl_num_programs(tl, TL_PE), cubes = tl_num_programs(tl, TL_CUBE),
                   columns = tl_mesh_columns(tl);
    const struct {
        bool there;
        uint32_t cube, pe;
    } ways[WAYS] = {{pes > 1, 0, 1}, {pes > 3, 0, pes / 2}, {columns > 1, 1, 0}, {cubes > columns, columns, 0}};
    *receiver = 0;
    return ways[way].there ? tl_program_at(tl, 0, ways[way].cube, ways[way].pe, receiver) : TLA_OK;
}

static tla_status there_and_back(tl_context *tl, uint32_t receiver, const tl_tile *tile, const tl_tile *back) {
    tla_status status = TLA_OK;
    for (uint32_t round = 0; status == TLA_OK && round < ROUNDS; round++) {
        status = tl_send(tl, receiver, tile);
        if (status == TLA_OK) status = tl_recv(tl, receiver, back);
    }
    return status;
}

static tla_status answer(tl_context *tl, const tl_tile *tile) {
    tla_status status = TLA_OK;
    for (uint32_t round = 0; status == TLA_OK && round < ROUNDS; round++) {
        status = tl_recv(tl, 0, tile);
        if (status == TLA_OK) status = tl_send(tl, 0, tile);
    }
    return status;
}

/* Arguments: addresses of x, y and the roles, elements of x. */
static tla_status run(tl_context *tl) {
    const uint32_t p = tl_program_id(tl, TL_ALL), programs = tl_num_programs(tl, TL_ALL);
    const uint32_t elements = (uint32_t)(tl_argument(tl, 3) / programs);
    const uint64_t bytes = (uint64_t)elements * 2;
    enum { TILE, BACK, ROLE_TILE, TILES };
    tl_tile tiles[TILES] = {[TILE] = {.rows = 1, .columns = elements, .dtype = TL_F16},
                            [BACK] = {.rows = 1, .columns = elements, .dtype = TL_F16},
                            [ROLE_TILE] = {.rows = 1, .columns = 1, .dtype = TL_I32}};
    tla_status status = tl_alloc_tiles(tl, tiles, TILES);
    if (status != TLA_OK) return status;
    status = tl_load(tl, &tiles[TILE], (tla_vaddr){tl_argument(tl, X) + p * bytes}, bytes);
    uint32_t role = 0; /* of program 0 how many have received, of others whether they have */
    for (uint32_t way = 0; status == TLA_OK && way < WAYS; way++) {
        uint32_t receiver = 0;
        status = receiver_of(tl, way, &receiver);
        if (status != TLA_OK || receiver == 0) continue;
        if (p == 0) status = there_and_back(tl, receiver, &tiles[TILE], &tiles[BACK]);
        if (p == receiver) status = answer(tl, &tiles[TILE]);
        role += p == 0 || p == receiver;
    }
    const uint32_t kept = p == 0 && role > 0 ? BACK : TILE;
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, Y) + p * bytes}, bytes, &tiles[kept]);
    if (status == TLA_OK) status = tl_fill(tl, &tiles[ROLE_TILE], (float)role);
    if (status == TLA_OK) status = tl_store(tl, (tla_vaddr){tl_argument(tl, ROLE) + p * 4}, 4, &tiles[ROLE_TILE]);
    return tl_free_tiles(tl, tiles, TILES, status);
}

/* A receiver has the bytes of program 0, every other program its own, and program 0 the bytes that returned to it. */
static tla_status check(const tl_workload *workload, const void *const *tensors, tla_error *error) {
    const unsigned char *x = tensors[X], *y = tensors[Y];
    const uint64_t part = workload->elements_per_pe * 2;
    uint64_t receivers = 0;
    for (uint64_t p = 0; p < workload->programs; p++) {
        const bool is_receiver = p > 0 && tl_element(tensors[ROLE], TL_I32, p) == 1;
        receivers += is_receiver;
        if (memcmp(y + p * part, x + (is_receiver ? 0 : p * part), part) != 0)
            return tl_wrong(error, "pe2pe: the bytes of program %llu differ from the bytes of program %llu",
                            (unsigned long long)p, is_receiver ? 0 : (unsigned long long)p);
    }
    if ((double)receivers != tl_element(tensors[ROLE], TL_I32, 0))
        return tl_wrong(error, "pe2pe: %llu programs received messages, but not the programs to which program 0 sent",
                        (unsigned long long)receivers);
    return TLA_OK;
}

TL_KERNEL(.name = "pe2pe", .description = "messages from one PE to its neighbours, in its cube and the next ones",
          .run = run, .uses = TL_USES_TRANSFERS | TL_USES_VECTOR | TL_USES_MESSAGES,
          .tensors = {[X] = {.name = "x", .dtype = TL_F16, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}},
                      [Y] = {.name = "y", .dtype = TL_F16, .shape = {TL_PER_PROGRAM(TL_PER_ELEMENT(1))}, .use = TL_OUT},
                      [ROLE] = {.name = "role", .dtype = TL_I32, .shape = {TL_PER_PROGRAM(1)}, .use = TL_OUT}},
          .arguments = {TL_ADDRESS_OF(X), TL_ADDRESS_OF(Y), TL_ADDRESS_OF(ROLE), TL_ELEMENTS_OF(X)}, .check = check);
