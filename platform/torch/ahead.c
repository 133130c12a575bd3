/* Finds unrecorded facts from the later entries, by trying them on a copy of the cache. */
#include "torch/replayer.h"

bool torch_can_serve(const torch_replayer *r, const tla_segment_cache *cache, const torch_entry *request) {
    return tla_segment_cache_can_serve_from(cache, r->snapshot->pools[request->pool], request->stream, request->nbytes);
}

/* Another torch_replayer that has come as far, with a cache of its own; free_probe gives it back. Ages of blocks are
 * lost. */
static tla_status make_probe(const torch_replayer *r, torch_replayer *probe, torch_recorded *result) {
    static const torch_recorded_options nobody;
    *probe = *r;
    *result = *r->result;
    probe->result = result;
    probe->options = &nobody;
    probe->is_probe = true;
    probe->refused = 0;
    torch_replayer_connect(probe);
    tla_status status = torch_cache_copy(r->snapshot, r->cache, &probe->config, &probe->cache);
    if (!status) tla_segment_cache_on_synchronize(probe->cache, torch_replayer_synchronize, probe);
    if (!status) torch_replayer_retire_again(probe);
    return status;
}

static void free_probe(torch_replayer *probe) {
    tla_segment_cache_abandon(probe->cache);
}

/* Returns whether the entries up to a request agree with the cache's actions for it, during a capture or not. */
tla_status torch_would_agree(const torch_replayer *r, const torch_entry *e, bool capture, bool *agrees) {
    torch_replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status && capture) tla_segment_cache_begin_capture(probe.cache);
    if (!status) status = torch_replayer_serve(&probe, e);
    *agrees = !status && !result.differs;
    free_probe(&probe);
    return status == TLA_NO_HOST_MEMORY ? status : TLA_OK;
}

/* Returns whether a failing request can release nothing and finds no block, so that it fails with every course. */
static bool is_bare(const torch_replayer *r, const torch_entry *e) {
    tla_segment_cache_stats s = tla_segment_cache_get_stats(r->cache);
    return s.ranges == 0 && s.reserved == s.allocated + s.inactive_split && !torch_can_serve(r, r->cache, e);
}

/* Returns whether the entries before a failing request are possible during a capture: oversize blocks are released
 * then, and a part of a range may have been mapped. */
static bool may_be_captured(const torch_replayer *r, const torch_entry *e) {
    for (const torch_entry *at = &r->device->entries[r->at]; at < e; at++)
        if (at->action != TORCH_SEGMENT_FREE && at->action != TORCH_SEGMENT_MAP && at->action != TORCH_SNAPSHOT)
            return false;
    return !r->result->differs;
}

/* Captures of graphs, during which nothing is released before, are not recorded, and only newer versions record the
 * pool of a failed request. Selects the first combination that fails as it was recorded. */
tla_status torch_find_failure(torch_replayer *r, torch_entry *e, bool *captured) {
    const uint32_t first = e->has_pool ? e->pool : 0;
    const size_t behind = e->has_pool ? first + 1 : r->snapshot->pool_count - 1; /* the last is of no known pool */
    *captured = false;
    if (!may_be_captured(r, e) || is_bare(r, e)) return TLA_OK;
    for (int capture = 0; capture < 2; capture++)
        for (e->pool = first; e->pool < behind; e->pool++) {
            bool agrees;
            tla_status status = torch_would_agree(r, e, capture, &agrees);
            if (status) return status;
            *captured = capture;
            if (agrees) return TLA_OK;
        }
    e->pool = first;
    *captured = false;
    return TLA_OK;
}

/* The course of events: who completed frees and gave memory back */

/* The streams are done with these blocks. */
static tla_status complete_frees(torch_replayer *r) {
    tla_status status = TLA_OK;
    for (const torch_entry *e; !status && (e = torch_replayer_next(r)) && e->action == TORCH_FREE_COMPLETED;)
        status = torch_replayer_complete(r, e);
    return status;
}

/* The entries up to the request. */
static tla_status play_course(torch_replayer *probe, torch_course course, size_t request) {
    torch_entry *e = &probe->device->entries[request];
    bool captured = false;
    tla_status status = course.waited ? TLA_OK : complete_frees(probe);
    if (!status && course.emptied) status = tla_segment_cache_empty(probe->cache, NULL);
    if (!status && course.emptied) status = complete_frees(probe);
    if (!status && e->action == TORCH_OOM) status = torch_find_failure(probe, e, &captured);
    if (status) return status;
    probe->course = course;
    if (captured) tla_segment_cache_begin_capture(probe->cache);
    return torch_replayer_serve(probe, e);
}

/* Returns whether the driver may have failed a request of so many bytes: not if the device had as much at another time.
 * */
static bool may_have_been_refused(const torch_replayer *r, uint64_t nbytes) {
    const torch_start *start = r->start;
    const uint64_t had = start->capacity > start->peak_reserved ? start->capacity : start->peak_reserved;
    const uint64_t reserved = tla_segment_cache_get_stats(r->cache).reserved;
    return reserved > had || nbytes > had - reserved;
}

/* How good a course is: the entries that are as they would be in it, then whether it could have been. */
static tla_status try_course(const torch_replayer *r, torch_course course, size_t request, uint64_t *score) {
    torch_replayer probe;
    torch_recorded result;
    tla_status status = make_probe(r, &probe, &result);
    if (!status) status = play_course(&probe, course, request);
    const bool could_be = course.emptied || !probe.refused || may_have_been_refused(r, probe.refused);
    *score = 2 * result.equal + could_be;
    free_probe(&probe);
    return status == TLA_NO_HOST_MEMORY ? status : TLA_OK;
}

/* The first course that gives all entries up to the request and could have been; of none the best one. */
static tla_status choose_course(torch_replayer *r, const torch_stretch *s) {
    static const torch_course courses[] = {
        {0}, {.waited = true}, {.emptied = true}, {.limited = true}, {.waited = true, .limited = true}};
    uint64_t all = r->result->equal, best = 0;
    for (size_t i = r->at; i <= s->end; i++)
        all += r->device->entries[i].action != TORCH_SNAPSHOT;
    for (size_t i = 0; i < sizeof courses / sizeof courses[0] && best <= 2 * all; i++) {
        uint64_t score;
        if (courses[i].emptied && !s->gives) continue;
        tla_status status = try_course(r, courses[i], s->end, &score);
        if (status) return status;
        if (score <= best) continue;
        best = score;
        r->course = courses[i];
    }
    return TLA_OK;
}

/* Without memory that goes back a request waits only when memory is out, or for less to be mapped. */
static bool is_open(const torch_replayer *r, const torch_stretch *s) {
    if (!s->request) return false;
    return s->gives || ((s->takes || s->request->action == TORCH_OOM) && !torch_can_serve(r, r->cache, s->request));
}

tla_status torch_find_course(torch_replayer *r) {
    if (r->at < r->course_end) return TLA_OK;
    const torch_stretch s = torch_look_ahead(r);
    r->course = (torch_course){.emptied = !s.request};
    r->course_end = s.end;
    return is_open(r, &s) ? choose_course(r, &s) : TLA_OK;
}

bool torch_may_have_waited(const torch_replayer *r) {
    const torch_stretch s = torch_look_ahead(r);
    if (!is_open(r, &s) || torch_can_serve(r, r->cache, s.request)) return false;
    return s.gives || s.request->action == TORCH_OOM || r->config.expandable;
}
