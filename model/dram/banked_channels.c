/* Burst-interleaved pseudo-channels with banks. */
#include "base/numbers.h"
#include "tlmalloc/dram/channels.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SHARERS_MAX = 2, SLAB_ACCESSES = 64, RING_FIRST = 16 };

/* An access that has arrived and has not ended yet. */
typedef struct access {
    struct access *next; /* in the list of those that are not used */
    void *tag;
    uint64_t bursts, end_ps; /* without an end yet; the latest end so far */
} access;

typedef struct slab {
    struct slab *next;
    access accesses[SLAB_ACCESSES];
} slab;

/* The rest of an access for a pseudo-channel: its lines from `line` to `last`. */
typedef struct waiting {
    access *access;
    uint64_t line, last;
    uint64_t arrival_ps;
    tla_hbm_op op;
    tla_purpose purpose;
} waiting;

/* The accesses of one pseudo-channel in the order of their arrival. */
typedef struct stream {
    waiting *ring;
    uint32_t room, first, count; /* room: a power of two, or 0 */
    uint64_t next_ps;            /* not offered before */
} stream;

typedef struct group {
    tla_hbm *hbm;
    stream streams[SHARERS_MAX];
    uint64_t in_hbm; /* bursts accepted, whose data has no place on the bus yet */
    tla_banked_channels *channels;
} group;

struct tla_banked_channels {
    tla_hbm_config timing;
    uint64_t latency_ps[2];
    uint32_t instances, instance_bits, burst_bits, sharers;
    uint32_t sharer_shift; /* bit of a line that selects one of two pseudo-channels */
    access *unused;
    slab *slabs;
    void (*done)(void *context, void *tag, uint64_t end_ps); /* of the current run */
    void *done_context;
    group groups[];
};

/* Rows do not change the timing, only how far addresses reach: more row bits on top of the map. */
static tla_status cover(const tla_banked_channels_config *config, tla_hbm_config *timing, tla_error *error) {
    *timing = config->timing;
    const tla_status status = tla_hbm_check(timing, error);
    if (status != TLA_OK) return status;
    if (timing->model != TLA_HBM_BANKS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "the profile has no banks: use flat channels");
    if (!is_power_of_two(config->count) || config->count < timing->row_bus_sharers)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu32 " pseudo-channels: must be a power of two, at least the %" PRIu32
                             " that share a row-command bus",
                             config->count, timing->row_bus_sharers);
    const uint64_t row_of_all =
        (uint64_t)config->count * timing->bank_groups * timing->banks_per_group * timing->row_bytes;
    uint64_t rows = timing->rows;
    uint32_t bits = 0;
    for (; rows * row_of_all < config->capacity && rows < UINT32_MAX; rows *= 2)
        bits++;
    tla_hbm_map *map = &timing->map;
    if (bits == 0) return TLA_OK;
    timing->rows = rows <= UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
    if (map->pieces[map->count - 1].field != TLA_HBM_FIELD_ROW) {
        if (map->count == TLA_HBM_MAP_MAX)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "the address map has no room for %" PRIu32 " more rows",
                                 bits);
        map->pieces[map->count].field = TLA_HBM_FIELD_ROW;
        map->pieces[map->count++].bits = 0;
    }
    map->pieces[map->count - 1].bits += bits;
    if (tla_hbm_check(timing, NULL) != TLA_OK)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%" PRIu64 " bytes in %" PRIu32 " pseudo-channels need more rows than a bank can have",
                             config->capacity, config->count);
    return TLA_OK;
}

tla_status tla_banked_channels_check(const tla_banked_channels_config *config, tla_error *error) {
    tla_hbm_config timing;
    return cover(config, &timing, error);
}

static uint32_t sharer_shift(const tla_hbm_map *map) {
    uint32_t shift = 0;
    for (uint32_t i = 0; i < map->count && map->pieces[i].field != TLA_HBM_FIELD_PSEUDO_CHANNEL; i++)
        shift += map->pieces[i].bits;
    return shift;
}

/* A burst has ended; the access is over with the last of them. */
static void end_burst(tla_banked_channels *channels, access *a, uint64_t end_ps) {
    if (end_ps > a->end_ps) a->end_ps = end_ps;
    if (--a->bursts > 0) return;
    a->next = channels->unused;
    channels->unused = a;
    channels->done(channels->done_context, a->tag, a->end_ps);
}

/* A burst has its place on the data bus. That of a write may be one whose access has ended long ago. */
static void burst_done(void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps) {
    group *g = context;
    g->in_hbm--;
    if (op == TLA_HBM_READ) end_burst(g->channels, (access *)(uintptr_t)tag, end_ps);
}

/* Measures the time of one burst on an unused pseudo-channel. */
static tla_status measure_latency(tla_banked_channels *channels, tla_hbm_op op, tla_error *error) {
    tla_hbm *idle = NULL;
    const tla_status status = tla_hbm_create(&channels->timing, NULL, &idle, error);
    tla_hbm_transfer transfer;
    if (status == TLA_OK && tla_hbm_access(idle, 0, op, TLA_PURPOSE_KERNEL, 0, 1, &transfer) == TLA_OK)
        channels->latency_ps[op] = op == TLA_HBM_WRITE ? transfer.last_accepted_ps : transfer.last_end_ps;
    tla_hbm_destroy(idle);
    return status;
}

tla_status tla_banked_channels_create(const tla_banked_channels_config *config, tla_banked_channels **out,
                                      tla_error *error) {
    *out = NULL;
    tla_hbm_config timing;
    tla_status status = cover(config, &timing, error);
    if (status != TLA_OK) return status;
    const uint32_t sharers = timing.row_bus_sharers, instances = config->count / sharers;
    tla_banked_channels *channels = calloc(1, sizeof *channels + instances * sizeof channels->groups[0]);
    if (channels == NULL) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the pseudo-channels");
    channels->timing = timing;
    channels->instances = instances;
    channels->instance_bits = (uint32_t)__builtin_ctz(instances);
    channels->burst_bits = (uint32_t)__builtin_ctz(timing.burst_bytes);
    channels->sharers = sharers;
    channels->sharer_shift = sharer_shift(&timing.map);
    for (uint32_t i = 0; i < instances && status == TLA_OK; i++) {
        const tla_hbm_listener listener = {.context = &channels->groups[i], .done = burst_done};
        channels->groups[i].channels = channels;
        status = tla_hbm_create(&timing, &listener, &channels->groups[i].hbm, error);
    }
    if (status == TLA_OK) status = measure_latency(channels, TLA_HBM_READ, error);
    if (status == TLA_OK) status = measure_latency(channels, TLA_HBM_WRITE, error);
    if (status == TLA_OK)
        *out = channels;
    else
        tla_banked_channels_destroy(channels);
    return status;
}

void tla_banked_channels_destroy(tla_banked_channels *channels) {
    if (channels == NULL) return;
    for (uint32_t i = 0; i < channels->instances; i++) {
        group *g = &channels->groups[i];
        for (uint32_t k = 0; k < SHARERS_MAX; k++)
            free(g->streams[k].ring);
        tla_hbm_destroy(g->hbm);
    }
    while (channels->slabs) {
        slab *next = channels->slabs->next;
        free(channels->slabs);
        channels->slabs = next;
    }
    free(channels);
}

/* ---- accesses ---- */

static access *new_access(tla_banked_channels *channels) {
    if (!channels->unused) {
        slab *added = malloc(sizeof *added);
        if (!added) return NULL;
        added->next = channels->slabs;
        channels->slabs = added;
        for (uint32_t i = 0; i < SLAB_ACCESSES; i++) {
            added->accesses[i].next = channels->unused;
            channels->unused = &added->accesses[i];
        }
    }
    access *a = channels->unused;
    channels->unused = a->next;
    return a;
}

static tla_status make_room(stream *s) {
    if (s->count < s->room) return TLA_OK;
    const uint32_t room = s->room ? 2 * s->room : RING_FIRST;
    waiting *ring = malloc(room * sizeof *ring);
    if (!ring) return TLA_NO_HOST_MEMORY;
    for (uint32_t i = 0; i < s->count; i++)
        ring[i] = s->ring[(s->first + i) & (s->room - 1)];
    free(s->ring);
    s->ring = ring;
    s->room = room;
    s->first = 0;
    return TLA_OK;
}

/* The first line from `line` on that belongs to a sharer. */
static uint64_t own_line(const tla_banked_channels *channels, uint32_t sharer, uint64_t line) {
    if (channels->sharers == 1 || (line >> channels->sharer_shift & 1) == sharer) return line;
    return ((line >> channels->sharer_shift) + 1) << channels->sharer_shift;
}

tla_status tla_banked_channels_arrive(tla_banked_channels *channels, tla_hbm_op op, tla_purpose purpose,
                                      uint64_t offset, uint64_t nbytes, uint64_t arrival_ps, void *tag) {
    const uint64_t first = offset >> channels->burst_bits, last = (offset + nbytes - 1) >> channels->burst_bits;
    const uint64_t groups = last - first + 1 < channels->instances ? last - first + 1 : channels->instances;
    for (uint64_t i = 0; i < groups; i++)
        for (uint32_t k = 0; k < channels->sharers; k++)
            if (make_room(&channels->groups[(first + i) & (channels->instances - 1)].streams[k]))
                return TLA_NO_HOST_MEMORY;
    access *a = new_access(channels);
    if (!a) return TLA_NO_HOST_MEMORY;
    *a = (access){.tag = tag, .bursts = last - first + 1};
    for (uint64_t burst = first; burst < first + groups; burst++) {
        group *g = &channels->groups[burst & (channels->instances - 1)];
        const uint64_t line = burst >> channels->instance_bits;
        const uint64_t last_line = line + ((last - burst) >> channels->instance_bits);
        for (uint32_t k = 0; k < channels->sharers; k++) {
            const uint64_t own = own_line(channels, k, line);
            if (own > last_line) continue;
            stream *s = &g->streams[k];
            s->ring[(s->first + s->count++) & (s->room - 1)] = (waiting){a, own, last_line, arrival_ps, op, purpose};
        }
    }
    return TLA_OK;
}

uint32_t tla_banked_channels_groups(const tla_banked_channels *channels) {
    return channels->instances;
}

/* When the stream offers its next burst. */
static uint64_t offer_ps(const stream *s) {
    if (s->count == 0) return UINT64_MAX;
    const uint64_t arrival_ps = s->ring[s->first].arrival_ps;
    return s->next_ps > arrival_ps ? s->next_ps : arrival_ps;
}

/* Which stream offers next: the one whose turn comes first. */
static uint32_t next_stream(const tla_banked_channels *channels, const group *g) {
    return channels->sharers == 2 && offer_ps(&g->streams[1]) < offer_ps(&g->streams[0]) ? 1 : 0;
}

static void offer(tla_banked_channels *channels, group *g, uint32_t sharer) {
    stream *s = &g->streams[sharer];
    waiting *w = &s->ring[s->first];
    access *const of = w->access;
    const tla_hbm_request request = {.at_ps = offer_ps(s),
                                     .address = w->line << channels->burst_bits,
                                     .tag = (uint64_t)(uintptr_t)of,
                                     .op = w->op,
                                     .purpose = w->purpose};
    const uint64_t line = w->line, last = w->last;
    uint64_t accepted_ps = 0;
    g->in_hbm++; /* before the offer, in which it may be answered already */
    if (tla_hbm_offer(g->hbm, &request, &accepted_ps) == TLA_BUSY) {
        g->in_hbm--;
        s->next_ps = accepted_ps;
        return;
    }
    s->next_ps = accepted_ps + channels->timing.tck_ps;
    const uint64_t next = own_line(channels, sharer, line + 1);
    if (next <= last) {
        w->line = next;
    } else {
        s->first = (s->first + 1) & (s->room - 1);
        s->count--;
    }
    if (request.op == TLA_HBM_WRITE) end_burst(channels, of, accepted_ps);
}

uint64_t tla_banked_channels_next_ps(tla_banked_channels *channels, uint32_t number) {
    group *g = &channels->groups[number];
    const uint64_t offered = offer_ps(&g->streams[next_stream(channels, g)]);
    const uint64_t ended = g->in_hbm > 0 ? tla_hbm_next_end(g->hbm) : UINT64_MAX;
    return offered < ended ? offered : ended;
}

void tla_banked_channels_run(tla_banked_channels *channels, uint32_t number, uint64_t now_ps,
                             void (*done)(void *context, void *tag, uint64_t end_ps), void *context) {
    group *g = &channels->groups[number];
    channels->done = done;
    channels->done_context = context;
    for (uint32_t k; offer_ps(&g->streams[k = next_stream(channels, g)]) <= now_ps;)
        offer(channels, g, k);
    if (g->in_hbm > 0) tla_hbm_advance(g->hbm, now_ps);
}

uint32_t tla_banked_channels_bank_of(const tla_banked_channels *channels, uint64_t offset) {
    const uint64_t burst = offset >> channels->burst_bits;
    return tla_hbm_bank_of(channels->groups[0].hbm, burst >> channels->instance_bits << channels->burst_bits);
}

static void add_stats(tla_hbm_stats *sum, const tla_hbm_stats *s) {
    sum->reads += s->reads;
    sum->writes += s->writes;
    sum->row_hits += s->row_hits;
    sum->row_misses += s->row_misses;
    sum->row_conflicts += s->row_conflicts;
    sum->forwarded += s->forwarded;
    sum->refreshes += s->refreshes;
    sum->activates += s->activates;
    sum->precharges += s->precharges;
    sum->precharges_all += s->precharges_all;
    sum->read_commands += s->read_commands;
    sum->write_commands += s->write_commands;
    for (int op = 0; op < TLA_HBM_OPS; op++)
        for (int i = 0; i < TLA_PURPOSE_COUNT; i++) {
            sum->commands_for[op][i] += s->commands_for[op][i];
            sum->activates_for[op][i] += s->activates_for[op][i];
        }
    sum->closed_form += s->closed_form;
    if (s->last_end_ps > sum->last_end_ps) sum->last_end_ps = s->last_end_ps;
}

tla_hbm_stats tla_banked_channels_get_stats(const tla_banked_channels *channels) {
    tla_hbm_stats sum = {0};
    for (uint32_t i = 0; i < channels->instances; i++) {
        const tla_hbm_stats s = tla_hbm_get_stats(channels->groups[i].hbm);
        add_stats(&sum, &s);
    }
    return sum;
}

tla_hbm_stats tla_banked_channels_stats_at(const tla_banked_channels *channels, uint64_t until_ps,
                                           tla_hbm_open_time *open_time) {
    tla_hbm_stats sum = {0};
    *open_time = (tla_hbm_open_time){0};
    for (uint32_t i = 0; i < channels->instances; i++) {
        const group *g = &channels->groups[i];
        tla_hbm_open_time t;
        tla_hbm_stats s;
        if (g->in_hbm == 0) {
            s = tla_hbm_stats_at(g->hbm, until_ps, &t);
        } else {
            s = tla_hbm_get_stats(g->hbm);
            t = tla_hbm_get_open_time(g->hbm, until_ps);
        }
        add_stats(&sum, &s);
        open_time->all_closed_ps += t.all_closed_ps;
        open_time->open_bank_ps += t.open_bank_ps;
    }
    return sum;
}

uint64_t tla_banked_channels_busy_ps(const tla_banked_channels *channels) {
    const tla_hbm_stats s = tla_banked_channels_get_stats(channels);
    return (s.reads + s.writes - s.forwarded) * channels->timing.burst_cycles * channels->timing.tck_ps;
}

uint64_t tla_banked_channels_latency_ps(const tla_banked_channels *channels, tla_hbm_op op) {
    return channels->latency_ps[op];
}
