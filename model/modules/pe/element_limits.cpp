// When a kernel's time is over, simulated or real, and what becomes of the call in which it waits.
#include "stage_units.hpp"
#include "tlmalloc/modules/pe_ipcq.hpp"
#include "tlmalloc/modules/time.hpp"
#include "transfer_queue.hpp"

namespace tlmalloc {

bool processing_element::is_over_time() const {
    return host_time_over_ || (config_.time_limit_ps && local_ps(delay_) - run_.start_ps > config_.time_limit_ps);
}

// The kernel's time is over. It may never return from a call that waits.
void processing_element::end_wait() {
    if (!in_kernel_) return;
    if (messages_) messages_->give_up();
    if (stage_units_) stage_units_->drop_all();
    for (auto &transfers : queues_)
        transfers->give_up();
}

// Nothing has moved for pe.host_limit of real time.
void processing_element::watch_host() {
    if (!in_kernel_) return;
    host_time_over_ = true;
    end_wait();
}

} // namespace tlmalloc
