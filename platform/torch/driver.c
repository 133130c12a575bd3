/* The driver of a replay as recorded: it answers as in the recording, which the next entries show, and compares the
 * actions of the cache with them. */
#include "torch/replayer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Entries */

/* A snapshot has the active bytes at its moment; a few bytes of older blocks may be unknown. */
static void check_snapshot(torch_replayer *r, const torch_entry *e) {
    const uint64_t active = tla_segment_cache_get_stats(r->cache).active - r->taken;
    if (e->nbytes >= active && e->nbytes - active <= r->uncertain) return;
    torch_replayer_differ(r, "%" PRIu64 " active bytes", active);
    snprintf(r->result->first.recorded, sizeof r->result->first.recorded, "snapshot of %" PRIu64 " active bytes",
             e->nbytes);
}

const torch_entry *torch_replayer_next(torch_replayer *r) {
    while (!r->result->differs && r->at < r->device->entry_count && r->device->entries[r->at].action == TORCH_SNAPSHOT)
        check_snapshot(r, &r->device->entries[r->at++]);
    return !r->result->differs && r->at < r->device->entry_count ? &r->device->entries[r->at] : NULL;
}

/* The same after a difference: nothing is compared any more. */
static const torch_entry *next_unchecked(const torch_replayer *r) {
    size_t at = r->at;
    while (at < r->device->entry_count && r->device->entries[at].action == TORCH_SNAPSHOT)
        at++;
    return at < r->device->entry_count ? &r->device->entries[at] : NULL;
}

static void print_entry(const torch_entry *e, char *text, size_t room) {
    if (!e)
        snprintf(text, room, "no more entries");
    else if (e->action == TORCH_OOM)
        snprintf(text, room, "oom for %" PRIu64 " bytes", e->nbytes);
    else
        snprintf(text, room, "%s of %" PRIu64 " bytes at 0x%" PRIx64, torch_action_name(e->action), e->nbytes,
                 e->address);
}

/* Records the involved segments. */
static void doubt(torch_replayer *r) {
    const torch_entry *next = next_unchecked(r), *request = torch_request_ahead(r);
    r->doubt.entry = next ? (size_t)(next - r->device->entries) : r->device->entry_count;
    r->doubt.involved[1] = next && next->action != TORCH_OOM ? next->address : 0;
    r->doubt.involved[2] = request && request->action == TORCH_ALLOC ? request->address : 0;
}

tla_status torch_replayer_differ(torch_replayer *r, const char *format, ...) {
    torch_difference *first = &r->result->first;
    if (r->result->differs) return TORCH_ABANDONED;
    r->result->differs = true;
    doubt(r);
    first->entry = r->result->equal;
    print_entry(next_unchecked(r), first->recorded, sizeof first->recorded);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(first->replayed, sizeof first->replayed, format, arguments);
    va_end(arguments);
    return TORCH_ABANDONED;
}

void torch_replayer_agree(torch_replayer *r) {
    r->at++;
    r->result->equal++;
}

/* The cache has acted: the next entry must agree. */
static tla_status expect(torch_replayer *r, torch_action action, uint64_t address, uint64_t nbytes) {
    const torch_entry *e = torch_replayer_next(r);
    if (e && e->action == action && e->address == address && e->nbytes == nbytes) {
        torch_replayer_agree(r);
        return TLA_OK;
    }
    if (!r->result->differs) r->doubt.involved[0] = address;
    return torch_replayer_differ(r, "%s of %" PRIu64 " bytes at 0x%" PRIx64, torch_action_name(action), nbytes,
                                 address);
}

/* The driver */

/* Whether it gave memory then. It was not even asked when the next entry is the block itself. */
static tla_status answer(torch_replayer *r, torch_action action, uint64_t nbytes, const torch_entry **entry) {
    *entry = torch_replayer_next(r);
    if (r->result->differs) return TORCH_ABANDONED;
    if (*entry && (*entry)->action == action) return TLA_OK;
    if (*entry && (*entry)->action == TORCH_ALLOC)
        return torch_replayer_differ(r, "%s of %" PRIu64 " bytes", torch_action_name(action), nbytes);
    if (!r->refused) r->refused = nbytes;
    return TLA_EXHAUSTED;
}

static tla_status driver_alloc(void *context, uint32_t device, uint64_t nbytes, uint64_t *address, tla_work *work) {
    torch_replayer *r = context;
    const torch_entry *e;
    (void)device, (void)work;
    tla_status status = answer(r, TORCH_SEGMENT_ALLOC, nbytes, &e);
    if (status) return status;
    *address = e->address;
    return expect(r, TORCH_SEGMENT_ALLOC, e->address, nbytes);
}

static tla_status driver_free(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)device, (void)work;
    return expect(context, TORCH_SEGMENT_FREE, address, nbytes);
}

/* A new range begins at the next map; without a map the driver would map nothing of it: it fails the request. */
static tla_status range_reserve(void *context, uint32_t device, uint64_t nbytes, uint64_t granule, uint64_t *address,
                                tla_work *work) {
    torch_replayer *r = context;
    const torch_entry *e;
    (void)device, (void)nbytes, (void)work;
    tla_status status = answer(r, TORCH_SEGMENT_MAP, (r->rounded + granule - 1) / granule * granule, &e);
    if (!status) *address = e->address;
    return status;
}

static tla_status range_release(void *context, uint32_t device, uint64_t address, uint64_t nbytes, tla_work *work) {
    (void)context, (void)device, (void)address, (void)nbytes, (void)work;
    return TLA_OK;
}

/* How long a range is was not recorded: it is taken for very long until the first map of a request shows that it had no
 * room for it. */
static tla_status range_map(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                            tla_work *work) {
    torch_replayer *r = context;
    const torch_entry *e;
    (void)device, (void)work;
    tla_status status = answer(r, TORCH_SEGMENT_MAP, nbytes, &e);
    if (!status && e->address != address && r->at == r->request_at) {
        r->is_short = true;
        r->short_at = address;
        r->short_room = nbytes - granule;
        return TORCH_ABANDONED;
    }
    return status ? status : expect(r, TORCH_SEGMENT_MAP, address, nbytes);
}

static tla_status range_unmap(void *context, uint32_t device, uint64_t address, uint64_t nbytes, uint64_t granule,
                              tla_work *work) {
    (void)device, (void)granule, (void)work;
    return expect(context, TORCH_SEGMENT_UNMAP, address, nbytes);
}

uint64_t torch_replayer_pending(const torch_replayer *r) {
    tla_segment_cache_stats stats = tla_segment_cache_get_stats(r->cache);
    return stats.active - stats.allocated;
}

tla_status torch_replayer_check_size(torch_replayer *r, const torch_entry *e) {
    const uint64_t requested = tla_segment_cache_requested(r->cache, e->address);
    if (!requested || requested == e->nbytes) return TLA_OK;
    return torch_replayer_differ(r, "%s of %" PRIu64 " bytes at 0x%" PRIx64, torch_action_name(e->action), requested,
                                 e->address);
}

tla_status torch_replayer_complete(torch_replayer *r, const torch_entry *e) {
    tla_status status = torch_replayer_check_size(r, e);
    if (status) return status;
    if (tla_segment_cache_end_use(r->cache, e->address, NULL))
        return torch_replayer_differ(r, "no freed block there is in use by another stream");
    torch_replayer_agree(r);
    return TLA_OK;
}

/* The cache waits for all streams: the frees complete in the order that was recorded. */
void torch_replayer_synchronize(void *context) {
    torch_replayer *r = context;
    for (const torch_entry *e; (e = torch_replayer_next(r)) && e->action == TORCH_FREE_COMPLETED;)
        if (torch_replayer_complete(r, e)) break;
    if (torch_replayer_pending(r))
        torch_replayer_differ(r, "free_completed of the blocks that other streams use (%" PRIu64 " bytes)",
                              torch_replayer_pending(r));
}

void torch_replayer_connect(torch_replayer *r) {
    tla_segment_cache_config *c = &r->config;
    c->driver = (tla_upstream){.alloc = driver_alloc, .free = driver_free, .context = r};
    c->ranges = (tla_upstream_ranges){range_reserve, range_release, range_map, range_unmap, r};
}
