/* Mooncake's variant of offset_bins (its source at 3b5a594): a request is given the whole size of the bin from which it
 * searches, and all nodes are used. A region that becomes free then serves every request of its bin. */
#include "offset_bins.h"

static const tla_region_nodes regions = {
    .unit = tla_offset_bins_unit,
    .limit = tla_offset_bins_limit,
    .live = tla_offset_bins_live,
    .lacks_node = tla_offset_bins_lacks_node,
    .largest_bin = tla_offset_bins_largest_bin,
};

const tla_placement tla_offset_bins_rounded = {
    .create = tla_offset_bins_create,
    .destroy = tla_binned_list_destroy,
    .granted = tla_offset_bins_sufficient,
    .alloc = tla_offset_bins_alloc,
    .search_in_vain = tla_offset_bins_search_in_vain,
    .free = tla_offset_bins_free,
    .add = tla_offset_bins_add,
    .may_free = tla_list_may_free,
    .fits = tla_offset_bins_fits,
    .make_room = tla_binned_list_make_room,
    .largest = tla_list_largest,
    .count = tla_list_count,
    .copy = tla_list_copy,
    .saved = tla_binned_list_saved,
    .regions = &regions,
};
