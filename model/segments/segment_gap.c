/* The gap between reserved and allocated bytes, segment by segment. */
#include "tlmalloc/segments/segment_cache.h"

static const char *const names[TLA_GAP_CLASS_COUNT] = {"pending", "hard", "soft", "stream", "other_pool"};

static const char *const remedies[TLA_GAP_CLASS_COUNT] = {
    "wait for the other streams (synchronize), or use record_stream less",
    "expandable_segments:True makes most of it releasable; max_split_size_mb keeps large blocks whole",
    "the retry releases it automatically, torch.cuda.empty_cache() immediately; expandable segments merge it",
    "the retry releases it automatically, torch.cuda.empty_cache() immediately; allocate on one stream",
    "the retry releases it automatically, torch.cuda.empty_cache() immediately; blocks of graphs after the graphs end"};

const char *tla_gap_class_name(tla_gap_class which) {
    return names[which];
}

const char *tla_gap_class_remedy(tla_gap_class which) {
    return remedies[which];
}

tla_gap_request tla_gap_request_of(const tla_segment_cache_config *config, uint64_t stream, uint64_t nbytes) {
    uint64_t rounded = tla_segment_cache_round_with(nbytes, config), unit = config->unit ? config->unit : 1 << 20;
    uint64_t rounding = config->max_non_split_rounding;
    return (tla_gap_request){.nbytes = rounded,
                             .stream = stream,
                             .small = rounded <= unit,
                             .max_split_size = config->max_split_size,
                             .max_non_split_rounding = rounding ? rounding : 20 * unit,
                             .exempt_expandable = config->exempt_expandable};
}

static bool is_of_pool(const tla_segment_block_info *b, const tla_gap_request *r) {
    return b->owner.a == r->owner.a && b->owner.b == r->owner.b && b->small == r->small;
}

static bool is_refused(const tla_segment_block_info *b, const tla_gap_request *r) {
    uint64_t rounding = r->max_non_split_rounding ? r->max_non_split_rounding : 20 << 20;
    if (!r->max_split_size || b->nbytes < r->nbytes || (r->exempt_expandable && b->granule)) return false;
    return r->nbytes < r->max_split_size ? b->nbytes >= r->max_split_size : b->nbytes - r->nbytes >= rounding;
}

/* Returns the bytes of a free block that can be released: of a plain segment all or nothing, of a range its whole
 * granules. */
static uint64_t releasable(const tla_segment_block_info *b, bool segment_is_used) {
    if (!b->granule) return segment_is_used ? 0 : b->nbytes;
    uint64_t from = b->address - b->segment, to = from + b->nbytes;
    uint64_t first = (from + b->granule - 1) / b->granule * b->granule, last = to / b->granule * b->granule;
    return last > first ? last - first : 0;
}

static void add_free(tla_gap *gap, const tla_segment_block_info *b, const tla_gap_request *r, bool segment_is_used) {
    bool pool = is_of_pool(b, r), own = pool && b->stream == r->stream;
    uint64_t back = releasable(b, segment_is_used);
    gap->classes[TLA_GAP_HARD] += b->nbytes - back;
    gap->classes[own ? TLA_GAP_SOFT : pool ? TLA_GAP_STREAM : TLA_GAP_OTHER_POOL] += back;
    if (!own) return;
    if (b->nbytes > gap->largest_free) gap->largest_free = b->nbytes;
    if (is_refused(b, r)) gap->refused += b->nbytes;
}

tla_gap tla_gap_explain(const tla_segment_block_info *blocks, size_t count, const tla_gap_request *request) {
    tla_gap gap = {0};
    for (size_t i = 0, next; i < count; i = next) {
        bool used = false;
        for (next = i; next < count && blocks[next].segment == blocks[i].segment; next++)
            used = used || blocks[next].state == TLA_SEGMENT_ALLOCATED || blocks[next].state == TLA_SEGMENT_PENDING;
        for (size_t k = i; k < next; k++) {
            const tla_segment_block_info *b = &blocks[k];
            if (b->state == TLA_SEGMENT_UNMAPPED) continue;
            gap.reserved += b->nbytes;
            if (b->state == TLA_SEGMENT_ALLOCATED) {
                gap.allocated += b->nbytes;
                gap.requested += b->requested;
            } else if (b->state == TLA_SEGMENT_PENDING) {
                gap.classes[TLA_GAP_PENDING] += b->nbytes;
            } else {
                add_free(&gap, b, request, used);
            }
        }
    }
    return gap;
}

tla_gap_class tla_gap_largest_class(const tla_gap *gap) {
    tla_gap_class largest = TLA_GAP_CLASS_COUNT;
    for (int i = 0; i < TLA_GAP_CLASS_COUNT; i++)
        if (gap->classes[i] && (largest == TLA_GAP_CLASS_COUNT || gap->classes[i] > gap->classes[largest]))
            largest = (tla_gap_class)i;
    return largest;
}
