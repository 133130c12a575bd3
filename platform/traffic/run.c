/* Traffic against a timing: who offers which burst when, and how long the reads took. */
#include "traffic/channel.h"
#include "traffic/traffic.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS_MAX = 2 };

/* An access on its way. */
struct pending {
    uint64_t begin_ps, end_ps;
    uint64_t bursts; /* not answered yet */
    bool accepted;   /* one of them has been */
};

/* The bursts of one pseudo-channel, in the order of the trace. */
struct stream {
    size_t access;
    uint64_t line, last_line; /* of this access, in bursts */
    uint64_t next_ps;         /* not offered before */
    bool ended;
};

struct run {
    const tla_traffic *traffic;
    tla_traffic_result *result;
    struct pending *pending;
    uint32_t burst_bytes;
    uint32_t stream_count;
    uint32_t pc_shift; /* address bit that selects the stream, in bursts */
    bool too_late;     /* a burst ends past TLA_TRAFFIC_PS_MAX: times no longer mean anything */
    struct stream streams[STREAMS_MAX];
};

static void done(void *context, uint64_t tag, tla_hbm_op op, uint64_t end_ps) {
    struct run *run = context;
    struct pending *pending = &run->pending[tag];
    if (end_ps >= TLA_TRAFFIC_PS_MAX) run->too_late = true;
    if (end_ps > pending->end_ps) pending->end_ps = end_ps;
    if (--pending->bursts == 0 && op == TLA_HBM_READ)
        run->result->latencies_ps[run->result->latency_count++] = pending->end_ps - pending->begin_ps;
}

static void begin_access(struct run *run, struct stream *stream) {
    stream->ended = stream->access == run->traffic->count;
    if (stream->ended) return;
    const tla_traffic_access *access = &run->traffic->accesses[stream->access];
    stream->line = access->address / run->burst_bytes;
    stream->last_line = (access->address + access->nbytes - 1) / run->burst_bytes;
}

/* Goes on to the next burst that is this stream's. */
static void next_burst(struct run *run, uint32_t index, bool first) {
    struct stream *stream = &run->streams[index];
    if (first) begin_access(run, stream);
    for (bool again = !first; !stream->ended; again = true) {
        if (again && stream->line == stream->last_line) {
            stream->access++;
            begin_access(run, stream);
        } else if (again) {
            stream->line++;
        }
        if (stream->ended || run->stream_count == 1 || ((stream->line >> run->pc_shift) & 1) == index) return;
    }
}

static void offer(struct run *run, traffic_channel *channel, uint32_t index, uint64_t tck_ps) {
    struct stream *stream = &run->streams[index];
    const tla_traffic_access *access = &run->traffic->accesses[stream->access];
    struct pending *pending = &run->pending[stream->access];
    const uint64_t at_ps = stream->next_ps > access->at_ps ? stream->next_ps : access->at_ps;
    /* known before the offer, for a burst may be answered within the call */
    if (!pending->accepted) pending->begin_ps = run->traffic->timed ? access->at_ps : at_ps;
    const tla_hbm_request request = {
        .at_ps = at_ps, .address = stream->line * run->burst_bytes, .tag = stream->access, .op = access->op};
    uint64_t accepted_ps = 0;
    if (traffic_channel_offer(channel, &request, &accepted_ps) == TLA_BUSY) {
        stream->next_ps = accepted_ps;
        return;
    }
    pending->accepted = true;
    stream->next_ps = accepted_ps + tck_ps;
    next_burst(run, index, false);
}

static uint64_t next_time(const struct run *run, uint32_t index) {
    const struct stream *stream = &run->streams[index];
    if (stream->ended) return UINT64_MAX;
    const uint64_t at_ps = run->traffic->accesses[stream->access].at_ps;
    return stream->next_ps > at_ps ? stream->next_ps : at_ps;
}

static void drive(struct run *run, traffic_channel *channel, uint64_t tck_ps) {
    for (uint32_t i = 0; i < run->stream_count; i++)
        next_burst(run, i, true);
    if (run->stream_count == 1) {
        while (!run->streams[0].ended && !run->too_late)
            offer(run, channel, 0, tck_ps);
        return;
    }
    while ((!run->streams[0].ended || !run->streams[1].ended) && !run->too_late)
        offer(run, channel, next_time(run, 1) < next_time(run, 0) ? 1 : 0, tck_ps);
}

uint64_t tla_traffic_capacity(const tla_hbm_config *timing) {
    if (timing->model != TLA_HBM_BANKS) return UINT64_C(1) << 63;
    return (uint64_t)timing->row_bus_sharers * timing->bank_groups * timing->banks_per_group * timing->rows *
           timing->row_bytes;
}

static uint32_t pseudo_channel_shift(const tla_hbm_map *map) {
    uint32_t shift = 0;
    for (uint32_t i = 0; i < map->count && map->pieces[i].field != TLA_HBM_FIELD_PSEUDO_CHANNEL; i++)
        shift += map->pieces[i].bits;
    return shift;
}

static tla_status check_access(const tla_traffic_access *access, uint64_t capacity, tla_error *error) {
    if (access->nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "the access has 0 bytes: an access needs at least 1 byte");
    if (access->address >= capacity || access->nbytes > capacity - access->address)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "address %" PRIu64 " + %" PRIu32 " bytes exceeds the %" PRIu64 " bytes of the address map",
                             access->address, access->nbytes, capacity);
    if (access->at_ps >= TLA_TRAFFIC_PS_MAX)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "the access at %" PRIu64 " ps is too late: times must be below 2^63 ps", access->at_ps);
    return TLA_OK;
}

/* Counts the bursts of every access. The number of the first access that is not possible goes to *bad. */
static tla_status count_bursts(const struct run *run, uint64_t capacity, uint64_t *total, size_t *reads, size_t *bad,
                               tla_error *error) {
    for (size_t i = 0; i < run->traffic->count; i++) {
        const tla_traffic_access *access = &run->traffic->accesses[i];
        const tla_status status = check_access(access, capacity, error);
        if (status != TLA_OK) {
            *bad = i;
            return status;
        }
        run->pending[i].bursts =
            (access->address + access->nbytes - 1) / run->burst_bytes - access->address / run->burst_bytes + 1;
        *total += run->pending[i].bursts;
        *reads += access->op == TLA_HBM_READ;
    }
    return TLA_OK;
}

tla_status tla_traffic_run(const tla_hbm_config *timing, const tla_traffic *traffic, tla_traffic_result *result,
                           size_t *bad, tla_error *error) {
    *result = (tla_traffic_result){0};
    tla_hbm_config config = *timing;
    config.window = traffic->window;
    struct run run = {.traffic = traffic,
                      .result = result,
                      .burst_bytes = config.burst_bytes,
                      .stream_count = config.model == TLA_HBM_BANKS ? config.row_bus_sharers : 1,
                      .pc_shift = pseudo_channel_shift(&config.map)};
    const tla_hbm_listener listener = {.context = &run, .done = done};
    traffic_channel *channel = NULL;
    tla_status status = traffic_channel_create(&config, &listener, &channel, error);
    if (status != TLA_OK) return status;
    uint64_t bursts = 0;
    size_t reads = 0;
    run.pending = calloc(traffic->count + 1, sizeof *run.pending);
    if (run.pending == NULL) status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the accesses");
    if (status == TLA_OK) status = count_bursts(&run, tla_traffic_capacity(&config), &bursts, &reads, bad, error);
    if (status == TLA_OK) {
        result->latencies_ps = malloc((reads + 1) * sizeof *result->latencies_ps);
        if (result->latencies_ps == NULL)
            status = tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the latencies");
    }
    if (status == TLA_OK) {
        drive(&run, channel, config.tck_ps);
        result->end_ps = traffic_channel_drain(channel);
        result->stats = traffic_channel_stats(channel);
        result->open_time = traffic_channel_open_time(channel, result->end_ps);
        result->nbytes = bursts * config.burst_bytes;
        if (run.too_late) {
            tla_traffic_result_free(result);
            status = tla_error_set(error, TLA_LIMIT, "the traffic ends after 2^63 ps: reduce it");
        }
    }
    free(run.pending);
    traffic_channel_destroy(channel);
    return status;
}

void tla_traffic_result_free(tla_traffic_result *result) {
    free(result->latencies_ps);
    *result = (tla_traffic_result){0};
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double percentile_ns(const tla_traffic_result *result, uint64_t percent) {
    const size_t rank = (size_t)((result->latency_count * percent + 99) / 100);
    return (double)result->latencies_ps[rank == 0 ? 0 : rank - 1] / 1000.0;
}

tla_traffic_latency tla_traffic_summarize(tla_traffic_result *result) {
    tla_traffic_latency latency = {0};
    if (result->latency_count == 0) return latency;
    qsort(result->latencies_ps, result->latency_count, sizeof *result->latencies_ps, by_value);
    double sum = 0;
    for (size_t i = 0; i < result->latency_count; i++)
        sum += (double)result->latencies_ps[i];
    latency.mean_ns = sum / (double)result->latency_count / 1000.0;
    latency.p50_ns = percentile_ns(result, 50);
    latency.p99_ns = percentile_ns(result, 99);
    return latency;
}
