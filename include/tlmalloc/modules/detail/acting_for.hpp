// On whose behalf a thread calls: what decides between threads that come at one time.
#ifndef TLMALLOC_MODULES_DETAIL_ACTING_FOR_HPP
#define TLMALLOC_MODULES_DETAIL_ACTING_FOR_HPP

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/systemc.hpp"

#include <cstddef>

namespace tlmalloc {

// As long as it exists, the calls of the current thread are those of another initiator. A foreign target that is called
// may call our modules in turn, from the same thread.
class acting_for {
  public:
    // `payload`: of the call, or NULL. It must live as long as this.
    acting_for(time_queue::caller who, const tlm::tlm_generic_payload *payload);
    ~acting_for();
    acting_for(const acting_for &) = delete;
    acting_for &operator=(const acting_for &) = delete;

    // Of the current thread. A thread that acts for nobody else is known by its own name.
    static time_queue::caller current_caller();
    // Who asked for the call within which the current thread calls; NULL: unknown. What a foreign target asks for
    // meanwhile, it may ask for with payloads of its own, and they say nothing of that.
    static const requester *current_requester() { return threads_ == 0 ? nullptr : requester_of_current(); }

  private:
    static const requester *requester_of_current();

    static inline std::size_t threads_ = 0; // that act for others
    const sc_core::sc_process_handle thread_;
};

} // namespace tlmalloc
#endif
