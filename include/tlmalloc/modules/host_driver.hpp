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

// The core decides who is next, and counts (host_driver.h). Calls come from threads of the simulation and wait here; a
// thread that is killed gives up its place. Elaboration fails for a kind that is no driver, TLA_HOST_DRIVER_NONE
// included. A reset (resettable.hpp) ends every call with TLA_RESET; work in progress is waited for, and counts
// continue.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/HOST_DRIVER.md.
class host_driver : public instrumented, public resettable {
  public:
    struct config : tla_host_driver_parameters {
        config() : tla_host_driver_parameters{} {}
        explicit config(const tla_host_driver_parameters &parameters) : tla_host_driver_parameters(parameters) {}

        std::uint32_t devices = 1; // SIPs, in their order
    };

    host_driver(sc_core::sc_module_name name, const config &settings);

    // What a synchronous call waits by: returns when the device has done what it was given. Without one, nothing.
    std::function<void(std::uint32_t device)> wait_for_device;

    // A call of the thread that makes it: waits for the lock and, where the driver is synchronous, for the device; runs
    // `work`, which sends the command; and returns its status when the call's time is over, or when work is, if that
    // takes longer. Of an asynchronous driver it returns when work does, and the device is ready_ps then. Calls for one
    // device run their work one after the other. TLA_OUT_OF_RANGE for a device that there is not, TLA_RESET during a
    // reset; nothing runs then.
    tla_status call(std::uint32_t device, tla_host_driver_operation operation, const std::function<tla_status()> &work);

    // When the device has done all that an asynchronous driver has posted to it.
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
    std::deque<turnstile> turns_; // of each device: whose command is on its way
    std::vector<std::string> names_;
    sc_core::sc_event reset_began_;
    figure waiting_{*this, "waiting", 16}, inside_{*this, "inside", 16};
};

} // namespace tlmalloc
#endif
