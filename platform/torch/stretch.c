/* The entries before the next request. */
#include "torch/replayer.h"

torch_stretch torch_look_ahead(const torch_replayer *r) {
    torch_stretch s = {.end = r->at};
    for (; s.end < r->device->entry_count; s.end++) {
        const torch_entry *e = &r->device->entries[s.end];
        switch (e->action) {
        case TORCH_ALLOC:
        case TORCH_OOM:
            s.request = e;
            return s;
        case TORCH_FREE_COMPLETED:
            break;
        case TORCH_SEGMENT_ALLOC:
        case TORCH_SEGMENT_MAP:
            s.takes = true;
            break;
        case TORCH_SEGMENT_FREE:
        case TORCH_SEGMENT_UNMAP:
            s.gives = true;
            break;
        case TORCH_SNAPSHOT:
            if (s.takes) break;
            return s;
        default:
            return s;
        }
    }
    return s;
}

const torch_entry *torch_request_ahead(const torch_replayer *r) {
    return torch_look_ahead(r).request;
}
