// The host's driver as a module: threads wait for its locks in simulated time.
#ifndef TLMALLOC_MODULES_HOST_DRIVER_HPP
#define TLMALLOC_MODULES_HOST_DRIVER_HPP

#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/resettable.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>

namespace tlmalloc {

// The core decides which call is next, and counts (host_driver.h). Threads of the simulation make the calls and wait
// here; a thread that is killed releases its place. A reset (resettable.hpp) ends every call with TLA_RESET. The reset
// waits for work in progress, and counts continue.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/HOST_DRIVER.md.
class host_driver : public instrumented, public resettable {
  public:
    struct config : tla_host_driver_parameters {
        config() : tla_host_driver_parameters{} {}
        explicit config(const tla_host_driver_parameters &parameters) : tla_host_driver_parameters(parameters) {}

        std::uint32_t devices = 1; // number of SIPs, in their order; at least 1
    };

    // Reports an error /tlmalloc/host_driver/config for an unknown kind, for TLA_HOST_DRIVER_NONE, for 0 devices, and
    // without host memory.
    host_driver(sc_core::sc_module_name name, const config &settings);

    // Returns when the device has completed its work; a synchronous call waits with it. If it is empty, the call does
    // not wait.
    std::function<void(std::uint32_t device)> wait_for_device;

    // Makes a call in the calling thread: waits for the lock and, if the driver is synchronous, for the device. Runs
    // `work`, which sends the command, and returns its status. The call returns when its time is over, or when `work`
    // has returned, whichever is later. With an asynchronous driver it returns when `work` does, and the device is
    // ready at ready_ps. Calls for one device run their work one after the other. Returns TLA_OUT_OF_RANGE for a
    // missing device, and TLA_RESET for a call during a reset; `work` does not run then. Returns TLA_RESET if a reset
    // begins later; `work` may have run then.
    tla_status call(std::uint32_t device, tla_host_driver_operation operation, const std::function<tla_status()> &work);

    // The time in ps at which the device has completed all work that an asynchronous driver has posted to it.
    std::uint64_t ready_ps(std::uint32_t device) const { return tla_host_driver_ready_ps(driver_.get(), device); }

    tla_host_driver_stats get_statistics(std::uint32_t device) const {
        return tla_host_driver_get_stats(driver_.get(), device);
    }
    std::vector<statistics_group> list_statistics() const override;

  private:
    void begin_reset() override { reset_began_.notify(sc_core::SC_ZERO_TIME); }
    void make_new() override { tla_host_driver_make_idle(driver_.get()); }

    class pass;

    const config config_;
    std::unique_ptr<tla_host_driver, void (*)(tla_host_driver *)> driver_{nullptr, tla_host_driver_destroy};
    std::deque<turnstile> turns_; // per device: the call whose command is in flight
    std::vector<std::string> names_;
    sc_core::sc_event reset_began_;
    figure waiting_{*this, "waiting", 16}, inside_{*this, "inside", 16};
};

} // namespace tlmalloc
#endif
