/* The search for a plan below a height, after MiniMalloc (Moffitt, ASPLOS 2023), in one order of preference. Internal.
 *
 * The search can stop after any number of nodes, and later continues where it stopped. */
#ifndef TLMALLOC_PLAN_EXACT_SEARCH_H
#define TLMALLOC_PLAN_EXACT_SEARCH_H

#include "preference.h"

typedef struct plan_search plan_search;

/* `capacity` in bytes, at least the bound of the sections. TLA_NO_HOST_MEMORY; *search is NULL then. The model must
 * stay. */
tla_status plan_search_create(const plan_model *model, plan_preorder preorder, uint64_t capacity, plan_search **search);
void plan_search_destroy(plan_search *search); /* NULL is allowed */

/* Places at most `nodes` more tensors. TLA_OK: a plan is found; TLA_EXHAUSTED: no plan exists; TLA_LIMIT: neither is
 * known yet; TLA_NO_HOST_MEMORY: the search has ended without a result. *placed is the number of placed tensors. */
tla_status plan_search_run(plan_search *search, uint64_t nodes, uint64_t *placed);

/* The plan that was found, in bytes. */
void plan_search_offsets(const plan_search *search, uint64_t *offsets);

#endif
