// Calls of the runtime, which a reset of the host ends, and what one leaves of all that it knows.
#include "host_pool.hpp"
#include "runtime_pager.hpp"
#include "runtime_slices.hpp"

namespace tlmalloc {

runtime::call::call(runtime &host, std::string what, tla_error *error)
    : host_(host), what_(std::move(what)), error_(error) {
    host_.call_begins();
}

runtime::call::~call() {
    host_.call_ends();
}

bool runtime::call::may_begin() const {
    return !host_.ends_calls();
}

tla_status runtime::call::result(tla_status status) const {
    if (!host_.ends_calls()) return status;
    return tla_error_set(error_, TLA_RESET, "%s: %s", what_.c_str(), tla_status_text(TLA_RESET));
}

void runtime::forget_all() {
    for (std::list<tensor> *const list : {&unfinished_, &tensors_, &freed_, &still_mapped_})
        list->clear();
    free_lists_.clear();
    owed_.clear();
    slices_->forget_all();
    refused_pages_.clear();
    if (pool_) pool_ = std::make_unique<pool>(*this);
    if (pager_) pager_->forget_all();
    next_request_ = next_correlation_ = 1;
}

} // namespace tlmalloc
