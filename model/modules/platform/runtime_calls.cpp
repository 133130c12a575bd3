// Calls of the runtime, which a reset of the host ends, and what one leaves of all that it knows.
#include "host_pool.hpp"

namespace tlmalloc {

tla_status runtime::as_call(const char *what, tla_error *error, const std::function<tla_status()> &work) {
    struct stay { // ends when the thread is killed, too
        explicit stay(runtime &of) : host(of) { host.call_begins(); }
        ~stay() { host.call_ends(); }
        runtime &host;
    };
    const stay here(*this);
    const tla_status status = ends_calls() ? TLA_RESET : work();
    return ends_calls() ? tla_error_set(error, TLA_RESET, "%s: %s", what, tla_status_text(TLA_RESET)) : status;
}

void runtime::forget_all() {
    tensors_.clear();
    free_lists_.clear();
    owed_.clear();
    refused_pages_.clear();
    if (pool_) pool_ = std::make_unique<pool>(*this);
    next_request_ = next_correlation_ = 1;
}

} // namespace tlmalloc
